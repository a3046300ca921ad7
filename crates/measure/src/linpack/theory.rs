// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The theoretical peak: CPUs x frequency x operations per cycle of the instruction set.
//!
//! Published tables state it. It ignores the frequency under such work, hardware threads that share a unit, and what a
//! hypervisor takes; so the share that counts is that of the measured peak.

use punctual_model::CpuSet;
use punctual_sys::SysRoot;

/// What the theoretical peak is made of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Theory {
    /// Cores of the measured CPUs: hardware threads of one core count once.
    pub(super) cores: usize,
    /// Their nominal frequency.
    pub(super) gigahertz: f64,
    /// Where that was read.
    pub(super) source: &'static str,
    /// Operations on doubles per cycle of a core.
    pub(super) per_cycle: f64,
}

impl Theory {
    /// Returns what this machine states of itself. `None` where it states no frequency.
    pub(super) fn of(sys: &SysRoot, cpus: &CpuSet, instructions: &str) -> Option<Self> {
        let (gigahertz, source) = frequency(sys, cpus)?;
        Some(Self {
            cores: cores(sys, cpus),
            gigahertz,
            source,
            per_cycle: per_cycle(instructions)?,
        })
    }

    /// Returns the peak in GFLOPS.
    #[expect(clippy::cast_precision_loss, reason = "a number of cores")]
    pub(super) fn gflops(&self) -> f64 {
        self.cores as f64 * self.gigahertz * self.per_cycle
    }

    /// Says what it is made of.
    pub(super) fn said(&self) -> String {
        format!(
            "{} cores x {:.3} GHz ({}) x {} FLOP per cycle",
            self.cores, self.gigahertz, self.source, self.per_cycle
        )
    }
}

/// Two units of multiply-add in each core, as server processors have them. With one the peak is half of that.
fn per_cycle(instructions: &str) -> Option<f64> {
    Some(match instructions {
        "avx512" => 32.0,
        "avx2" => 16.0,
        "neon" => 8.0,
        _ => return None,
    })
}

/// The frequency that the processor is sold with, in GHz.
fn frequency(sys: &SysRoot, cpus: &CpuSet) -> Option<(f64, &'static str)> {
    let first = cpus.iter().next()?;
    let kilohertz = |file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{first}/cpufreq/{file}");
        let text = sys.read(&path).ok()?;
        let value: f64 = text.trim().parse().ok()?;
        (value > 0.0).then_some(value / 1e6)
    };
    if let Some(base) = kilohertz("base_frequency") {
        return Some((base, "base_frequency"));
    }
    let info = sys.read("/proc/cpuinfo").unwrap_or_default();
    if let Some(name) = of_name(&info) {
        return Some((name, "the processor's name"));
    }
    if let Some(most) = kilohertz("cpuinfo_max_freq") {
        return Some((most, "cpuinfo_max_freq"));
    }
    let line = info.lines().find(|line| line.starts_with("cpu MHz"))?;
    let value: f64 = line.split_once(':')?.1.trim().parse().ok()?;
    (value > 0.0).then_some((value / 1e3, "/proc/cpuinfo"))
}

/// `Intel(R) Xeon(R) CPU E5-2695 v3 @ 2.30GHz` says it.
fn of_name(info: &str) -> Option<f64> {
    let line = info.lines().find(|line| line.starts_with("model name"))?;
    let value = line.split_once('@')?.1.trim().strip_suffix("GHz")?;
    value.trim().parse().ok().filter(|value| *value > 0.0)
}

/// Cores, counting hardware threads of one once.
fn cores(sys: &SysRoot, cpus: &CpuSet) -> usize {
    let mut seen: Vec<String> = Vec::new();
    for cpu in cpus.iter() {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        let core = sys
            .read(&path)
            .map_or_else(|_| cpu.to_string(), |text| text.trim().to_owned());
        if !seen.contains(&core) {
            seen.push(core);
        }
    }
    seen.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_peak_of_a_server_follows_from_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let name = "Intel(R) Xeon(R) CPU E5-2695 v3 @ 2.30GHz";
        put(
            "proc/cpuinfo",
            &format!("processor\t: 0\nmodel name\t: {name}\ncpu MHz\t\t: 1200.0\n"),
        );
        // Two sockets of 14 cores, with two hardware threads each.
        for core in 0..28 {
            for cpu in [core, core + 28] {
                let path = format!("sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
                put(&path, &format!("{core},{}\n", core + 28));
            }
        }
        let sys = SysRoot::at(dir.path());
        let cpus: CpuSet = "0-55".parse().unwrap();
        let theory = Theory::of(&sys, &cpus, "avx2").unwrap();
        assert_eq!((theory.cores, theory.source), (28, "the processor's name"));
        // The paper's 1030 GFLOPS.
        assert!((theory.gflops() - 1030.4).abs() < 1e-9, "{theory:?}");
        assert_eq!(
            theory.said(),
            "28 cores x 2.300 GHz (the processor's name) x 16 FLOP per cycle"
        );
        assert_eq!(Theory::of(&sys, &cpus, "scalar"), None);
    }

    #[test]
    fn a_machine_that_tells_no_frequency_has_no_theoretical_peak() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert_eq!(Theory::of(&sys, &"0".parse().unwrap(), "avx512"), None);
    }
}
