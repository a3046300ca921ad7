// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The time stamp counter of x86 processors: a clock that is read in some ten nanoseconds.
//!
//! It is a clock only where it counts at one rate whatever the CPU does (`constant_tsc`), and goes
//! on in every idle state (`nonstop_tsc`). How fast it counts is measured against
//! `CLOCK_MONOTONIC_RAW`, which nobody slews.

use punctual_model::Nanos;

use crate::clock;
use crate::root::SysRoot;

/// Readings of both clocks of which the closest pair counts.
const TRIES: u32 = 20;

/// Whether every CPU of this machine has a counter that is a clock.
pub fn is_a_clock(sys: &SysRoot) -> bool {
    let text = sys.read("/proc/cpuinfo").unwrap_or_default();
    let mut cpus = text
        .lines()
        .filter_map(|line| line.split_once(':'))
        .filter(|(key, _)| key.trim() == "flags")
        .peekable();
    let both = |flags: &str| {
        ["constant_tsc", "nonstop_tsc"]
            .iter()
            .all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
    };
    cfg!(target_arch = "x86_64") && cpus.peek().is_some() && cpus.all(|(_, flags)| both(flags))
}

/// Reads the counter. 0 on other processors than x86-64, where [`is_a_clock`] is false.
///
/// Hot: one instruction.
#[inline]
pub fn read() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction. Where the kernel forbids it to a
        // program (PR_SET_TSC), the program asked for that itself.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        0
    }
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Moment {
    /// The counter.
    pub ticks: u64,
    /// `CLOCK_MONOTONIC_RAW`.
    pub raw: Nanos,
}

impl Moment {
    /// Reads both clocks as close together as some tries allow.
    pub fn now() -> Self {
        let pair = || {
            let before = read();
            let raw = clock::monotonic_raw();
            let after = read();
            let width = after.saturating_sub(before);
            let ticks = before.saturating_add(width / 2);
            (width, Self { ticks, raw })
        };
        let mut best = pair();
        for _ in 1..TRIES {
            let next = pair();
            if next.0 < best.0 {
                best = next;
            }
        }
        best.1
    }

    /// Returns how many ticks the counter makes in a second, from this moment to `later`. None if no
    /// time passed.
    #[expect(clippy::cast_precision_loss, reason = "a rate")]
    pub fn rate_to(&self, later: &Self) -> Option<f64> {
        let seconds = (later.raw - self.raw).as_secs_f64();
        let ticks = later.ticks.checked_sub(self.ticks)?;
        (seconds > 0.0 && ticks > 0).then(|| ticks as f64 / seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cpu_must_have_both_flags() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc")).unwrap();
        let sys = SysRoot::at(dir.path());
        assert!(!is_a_clock(&sys), "nothing is known");
        let good = "flags\t\t: fpu constant_tsc nonstop_tsc\n";
        for (text, want) in [
            (good.to_owned(), true),
            (format!("{good}{good}"), true),
            (format!("{good}flags\t: constant_tsc\n"), false),
            (
                "flags : tsc nonstop_tsc_s3 constant_tsc\n".to_owned(),
                false,
            ),
        ] {
            std::fs::write(dir.path().join("proc/cpuinfo"), &text).unwrap();
            assert_eq!(
                is_a_clock(&sys),
                want && cfg!(target_arch = "x86_64"),
                "{text}"
            );
        }
    }

    #[test]
    fn the_rate_is_that_of_the_counter() {
        if !is_a_clock(&SysRoot::live()) {
            return;
        }
        let rates = || {
            let start = Moment::now();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let middle = Moment::now();
            std::thread::sleep(std::time::Duration::from_millis(20));
            let end = Moment::now();
            [start.rate_to(&middle), middle.rate_to(&end)].map(Option::unwrap)
        };
        // The CPU may be taken from all tries of a moment: one pair of moments that nobody disturbed is enough.
        let is_steady = |rates: [f64; 2]| {
            (1e8..1e10).contains(&rates[0]) && (rates[0] / rates[1] - 1.0).abs() < 0.01
        };
        assert!((0..200).any(|_| is_steady(rates())), "{:?}", rates());
        let moment = Moment::now();
        assert_eq!(moment.rate_to(&moment), None);
    }
}
