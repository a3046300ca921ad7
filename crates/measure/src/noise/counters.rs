// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel counts of what can interrupt a CPU.

use std::collections::BTreeMap;

use punctual_model::{CpuId, CpuSet, Gathered as _};
use punctual_sys::{SysRoot, msr, proc};

use crate::conditions::{self, Ticks};

/// Counts at one moment. Per CPU, by the name of the source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters {
    interrupts: Table,
    /// TLB shootdowns, where they are in a line of the interrupts already.
    shootdowns: BTreeMap<CpuId, u64>,
    softirqs: Table,
    ticks: BTreeMap<CpuId, Ticks>,
    /// System management interrupts, or why they cannot be read.
    smi: BTreeMap<CpuId, Result<u32, String>>,
}

/// Counts by CPU and source.
pub(crate) type Table = BTreeMap<CpuId, BTreeMap<String, u64>>;

impl Counters {
    /// Reads them for `cpus`.
    pub(crate) fn read(sys: &SysRoot, cpus: &CpuSet) -> Self {
        let table = |path| table(&sys.read(path).unwrap_or_default(), cpus);
        let smi = |cpu| {
            msr::smi_count(sys, cpu).map_err(|err| {
                let why = std::error::Error::source(&err);
                format!(
                    "{err}: {}",
                    why.map_or_else(String::new, ToString::to_string)
                )
            })
        };
        let mut interrupts = table("/proc/interrupts");
        Self {
            shootdowns: take_shootdowns(&mut interrupts, sys),
            interrupts,
            softirqs: table("/proc/softirqs"),
            ticks: conditions::ticks(&sys.read("/proc/stat").unwrap_or_default(), cpus),
            smi: cpus.iter().map(|cpu| (cpu, smi(cpu))).into_map(),
        }
    }

    /// Returns what was counted from `earlier` to this moment.
    pub(crate) fn since(&self, earlier: &Self) -> Deltas {
        let smi = self.smi.iter().map(|(cpu, now)| {
            let before = earlier.smi.get(cpu).cloned().unwrap_or(Ok(0));
            // The register has 32 bits.
            let grown = now.clone().and_then(|now| Ok(now.wrapping_sub(before?)));
            (*cpu, grown)
        });
        let stolen = self.ticks.iter().filter_map(|(cpu, now)| {
            let before = earlier.ticks.get(cpu)?;
            // A clock tick of /proc is 10 ms (USER_HZ is 100, time(7)).
            Some((*cpu, now.steal.saturating_sub(before.steal) * 10))
        });
        let shootdowns = self.shootdowns.iter().map(|(cpu, now)| {
            let before = earlier.shootdowns.get(cpu).copied().unwrap_or(0);
            (*cpu, now.saturating_sub(before))
        });
        Deltas {
            interrupts: grown(&earlier.interrupts, &self.interrupts),
            shootdowns: shootdowns.into_map(),
            softirqs: grown(&earlier.softirqs, &self.softirqs),
            stolen_ms: stolen.into_map(),
            smi: smi.into_map(),
        }
    }
}

/// What was counted in a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deltas {
    /// Interrupts, of those sources that had any.
    pub(crate) interrupts: Table,
    /// TLB shootdowns, where the interrupts have them in another line already.
    pub(crate) shootdowns: BTreeMap<CpuId, u64>,
    /// Softirqs, of those kinds that had any.
    pub(crate) softirqs: Table,
    /// Time that the hypervisor took, in ms, counted in steps of 10.
    pub(crate) stolen_ms: BTreeMap<CpuId, u64>,
    /// System management interrupts, or why they cannot be read.
    pub(crate) smi: BTreeMap<CpuId, Result<u32, String>>,
}

/// Returns the sum of all sources on `cpu`.
pub(crate) fn all_of(table: &Table, cpu: CpuId) -> u64 {
    table.get(&cpu).map_or(0, |sources| sources.values().sum())
}

/// Returns the sum of all CPUs by source.
pub(crate) fn by_source(table: &Table) -> BTreeMap<&str, u64> {
    let mut sums = BTreeMap::new();
    for (source, count) in table.values().flatten() {
        *sums.entry(source.as_str()).or_insert(0) += count;
    }
    sums
}

fn grown(before: &Table, after: &Table) -> Table {
    let of_cpu = |(cpu, sources): (&CpuId, &BTreeMap<String, u64>)| {
        let earlier = before.get(cpu);
        let grown = sources.iter().filter_map(|(source, now)| {
            let was = earlier.and_then(|e| e.get(source)).copied().unwrap_or(0);
            let grown = now.saturating_sub(was);
            (grown > 0).then(|| (source.clone(), grown))
        });
        (*cpu, grown.into_map())
    };
    after.iter().map(of_cpu).into_map()
}

/// Parses `/proc/interrupts` or `/proc/softirqs`: a heading that names the online CPUs, then a line
/// a source with a count for each of them, and words on what it is. Sums without a count for each
/// CPU (`ERR`) are left out.
fn table(text: &str, cpus: &CpuSet) -> Table {
    let mut lines = text.lines();
    let heading = lines.next().unwrap_or_default();
    let columns: Vec<CpuId> = heading
        .split_whitespace()
        .filter_map(|name| name.strip_prefix("CPU")?.parse().ok())
        .collect();
    let mut table = Table::new();
    for line in lines {
        let Some((id, rest)) = line.split_once(':') else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        let counts: Vec<u64> = words.iter().map_while(|w| w.parse().ok()).collect();
        if counts.len() < columns.len() {
            continue;
        }
        let source = source(id.trim(), words.get(columns.len()..).unwrap_or_default());
        for (cpu, count) in columns.iter().zip(&counts) {
            if cpus.contains(*cpu) {
                table
                    .entry(*cpu)
                    .or_default()
                    .insert(source.clone(), *count);
            }
        }
    }
    table
}

/// Takes the line `TLB` out where `CAL` has it already, so that nothing is counted twice.
///
/// On x86 one interrupt serves all function calls, TLB shootdowns among them. Linux 3.7 to 4.7 took them out of the line
/// `CAL`; since 4.8 it has them (arch/x86/kernel/irq.c), and `TLB` can be the larger of the two, since one interrupt
/// may serve several shootdowns.
fn take_shootdowns(interrupts: &mut Table, sys: &SysRoot) -> BTreeMap<CpuId, u64> {
    let release = sys.read("/proc/sys/kernel/osrelease").unwrap_or_default();
    if proc::release_numbers(&release).is_some_and(|since| since < (4, 8)) {
        return BTreeMap::new();
    }
    let mut shootdowns = BTreeMap::new();
    for (cpu, sources) in interrupts {
        let find = |id| sources.keys().find(|s| s.split(' ').next() == Some(id));
        if let (Some(tlb), Some(_)) = (find("TLB").cloned(), find("CAL"))
            && let Some(count) = sources.remove(&tlb)
        {
            shootdowns.insert(*cpu, count);
        }
    }
    shootdowns
}

/// Names a source: `LOC Local timer`, or number and devices of an interrupt line.
fn source(id: &str, words: &[&str]) -> String {
    let said = match said(id, words) {
        [said @ .., "interrupts"] => said,
        said => said,
    };
    let mut name = id.to_owned();
    for word in said {
        name.push(' ');
        name.push_str(word);
    }
    name
}

/// Returns what a line of `/proc/interrupts` says of an interrupt. Of a numbered one that stands behind its chip and its wire; on Arm the
/// kind of the wire has a word of its own.
pub(crate) fn said<'a, 'b>(id: &str, words: &'a [&'b str]) -> &'a [&'b str] {
    match words {
        [_, _, "Level" | "Edge", said @ ..] | [_, _, said @ ..]
            if id.bytes().all(|b| b.is_ascii_digit()) =>
        {
            said
        }
        said => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERRUPTS: &str = "           CPU0       CPU2       
 26:          0         14  IO-APIC   4-edge      ttyS0
 36:      66042      58058 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0, other
 11:      80123      70456     GICv3  27 Level     arch_timer
 12:          5          6     GICv3  33 Edge      uart-pl011, other
NMI:          0          0   Non-maskable interrupts
LOC:     376341     326494   Local timer interrupts
CAL:     150639       1606   Function call interrupts
TLB:      95041        948   TLB shootdowns
ERR:          0
";

    fn read(text: &str) -> Counters {
        read_on("6.18.44", text)
    }

    fn read_on(release: &str, text: &str) -> Counters {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        std::fs::write(dir.path().join("proc/sys/kernel/osrelease"), release).unwrap();
        std::fs::write(dir.path().join("proc/interrupts"), text).unwrap();
        std::fs::write(
            dir.path().join("proc/softirqs"),
            "        CPU0 CPU2\n  TIMER: 5 7\n    RCU: 1 1\n",
        )
        .unwrap();
        std::fs::write(
            dir.path().join("proc/stat"),
            "cpu2 1 1 1 1 1 1 1 3\nctxt 5\n",
        )
        .unwrap();
        Counters::read(&SysRoot::at(dir.path()), &"1-2".parse().unwrap())
    }

    #[test]
    fn columns_are_the_cpus_of_the_heading() {
        let counters = read(INTERRUPTS);
        let cpu = &counters.interrupts[&2];
        assert_eq!(
            counters.interrupts.len(),
            1,
            "CPU 1 is offline, CPU 0 not measured"
        );
        assert_eq!(cpu["26 ttyS0"], 14);
        assert_eq!(cpu["36 virtio1-req.0, other"], 58_058);
        assert_eq!(cpu["11 arch_timer"], 70_456);
        assert_eq!(cpu["12 uart-pl011, other"], 6);
        assert_eq!(cpu["LOC Local timer"], 326_494);
        assert!(!cpu.keys().any(|source| source.starts_with("ERR")));
        assert_eq!(counters.softirqs[&2]["TIMER"], 7);
    }

    #[test]
    fn only_what_grew_is_told() {
        let before = read(INTERRUPTS);
        let after = read(&INTERRUPTS.replace("326494", "326994"));
        let deltas = after.since(&before);
        assert_eq!(all_of(&deltas.interrupts, 2), 500);
        let sources = by_source(&deltas.interrupts);
        assert_eq!(
            sources.into_iter().collect::<Vec<_>>(),
            [("LOC Local timer", 500)]
        );
        assert_eq!(all_of(&deltas.softirqs, 2), 0);
        assert_eq!(deltas.stolen_ms[&2], 0);
        let why = deltas.smi[&2].clone().unwrap_err();
        assert!(why.contains("msr"), "{why}");
    }

    #[test]
    fn a_shootdown_is_one_interrupt() {
        let later = INTERRUPTS.replace("1606", "1706").replace("948 ", "1008 ");
        for (release, interrupts, shootdowns) in [
            ("6.18.44-rt", 100, Some(60)),
            ("4.8.0", 100, Some(60)),
            ("4.10", 100, Some(60)),
            ("4.7.10", 160, None),
            ("3.10.0-1160", 160, None),
        ] {
            let deltas = read_on(release, &later).since(&read_on(release, INTERRUPTS));
            assert_eq!(all_of(&deltas.interrupts, 2), interrupts, "{release}");
            assert_eq!(deltas.shootdowns.get(&2).copied(), shootdowns, "{release}");
            assert_eq!(by_source(&deltas.interrupts)["CAL Function call"], 100);
        }
        // Without the line that has them, they are all that there is.
        let alone = |text: &str| {
            let lines = text.lines().filter(|line| !line.starts_with("CAL"));
            read(&lines.collect::<Vec<_>>().join("\n"))
        };
        let deltas = alone(&later).since(&alone(INTERRUPTS));
        assert_eq!(all_of(&deltas.interrupts, 2), 60);
        assert!(deltas.shootdowns.is_empty());
    }

    #[test]
    fn this_machine_has_a_timer_interrupt_somewhere() {
        let cpus = punctual_sys::sched::affinity().unwrap();
        let counters = Counters::read(&SysRoot::live(), &cpus);
        let any: u64 = counters
            .interrupts
            .values()
            .flat_map(BTreeMap::values)
            .sum();
        assert!(any > 0);
        assert!(!counters.ticks.is_empty());
    }
}
