// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether real-time throttling can have hit a run.
//!
//! The kernel lets real-time threads use `sched_rt_runtime_us` of each `sched_rt_period_us` and
//! stops them for the rest (sched(7), "Limiting the CPU usage of real-time processes"). It says
//! so once since boot, in the log, and counts nowhere. But a CPU whose real-time threads used far
//! less than the budget cannot have been throttled, and what they used can be read. The fair server,
//! since Linux 6.12, is a budget likewise.

use punctual_model::{Check, CpuSet, Nanos, Policy};
use punctual_sys::SysRoot;
use punctual_sys::thread::Tid;

use crate::budget::Budget;
use crate::tasks;

/// The name of the check.
const ID: &str = "rt-throttling";

/// A load below this share of the budget is taken as proof: in some period it would have to be a
/// quarter above its mean to reach the budget, and no sample may be as long as the rest of one.
const SAFE_SHARE: f64 = 0.8;

/// CPU time used by real-time threads that are not ours, in clock ticks since boot.
///
/// Threads of the kernel's stop class (`migration/N`) are listed as real-time and cost nothing
/// here. Threads that end during the run are missed.
pub(crate) fn foreign_rt_ticks(sys: &SysRoot, ours: &[Tid]) -> u64 {
    let is_ours = |task: u32| ours.iter().any(|tid| tid.get().cast_unsigned() == task);
    let mut sum = 0;
    tasks::each_real_time(sys, |task| {
        if !is_ours(task.id) {
            sum += task.ticks;
        }
    });
    sum
}

/// What is known of the real-time load of a run.
#[derive(Clone, Debug)]
pub(crate) struct RtLoad {
    /// The limit that is met first, before and after.
    pub(crate) bandwidth: [Option<Budget>; 2],
    /// Whether our threads are real-time threads.
    pub(crate) policy: Policy,
    /// CPU time of the busiest measured CPU's measuring threads; of all, where they can move.
    pub(crate) ours: Nanos,
    /// CPU time of all other real-time threads of the machine, in ticks of 10 ms.
    pub(crate) foreign_ticks: u64,
    /// How long the threads measured.
    pub(crate) duration: Nanos,
    /// Largest sample.
    pub(crate) worst: Option<Nanos>,
    /// Longest time between deadlines of a thread, where threads have deadlines.
    pub(crate) interval: Option<Nanos>,
    /// CPUs measured.
    pub(crate) cpus: CpuSet,
}

impl RtLoad {
    /// Returns the largest sample, if it may be a pause of `rest`. Of a thread that keeps waking up a pause takes at most two intervals less:
    /// the kernel may see the limit one later than it was reached, and the thread has no deadline until the next one.
    fn stalled(&self, rest: Nanos) -> Option<Nanos> {
        let about = Nanos::new(rest.get() / 5 * 4);
        let seen = |interval: Nanos| (rest - interval.times(2)).max(about);
        let least = self.interval.map_or(about, seen);
        self.worst.filter(|worst| *worst >= least)
    }
}

/// Judges whether throttling can have hit the run.
pub(crate) fn check(load: &RtLoad) -> Check {
    if !load.policy.is_real_time() {
        return Check::pass(ID, "the measuring threads are not real-time threads");
    }
    let (Some(before), Some(after)) = (load.bandwidth[0], load.bandwidth[1]) else {
        return Check::unknown(
            ID,
            "the real-time budget of the system or of this cgroup cannot be read",
        );
    };
    if before != after {
        return Check::fail(
            ID,
            format!(
                "the real-time budget changed during the run, from {} of {} µs to {} of {} µs",
                before.runtime_us, before.period_us, after.runtime_us, after.period_us
            ),
        );
    }
    if before.is_open() {
        let (runtime, period) = (before.runtime_us, before.period_us);
        return Check::pass(
            ID,
            format!("off: real-time threads may use {runtime} of each {period} µs"),
        );
    }
    judge(load, before)
}

#[expect(clippy::cast_precision_loss, reason = "shares of a second")]
fn judge(load: &RtLoad, limit: Budget) -> Check {
    let seconds = load.duration.as_secs_f64().max(1e-9);
    // USER_HZ is 100 on every architecture that Linux runs real-time threads on (time(7)).
    let foreign = load.foreign_ticks as f64 / 100.0 / seconds;
    let ours = load.ours.as_secs_f64() / seconds;
    let budget = limit.share();
    let used = format!(
        "known real-time threads used {:.1} % of CPU {} (Punctual's {:.1} %, all others {:.1} % if \
         all ran there); the budget is {:.1} % of each {} µs",
        100.0 * (ours + foreign),
        load.cpus,
        100.0 * ours,
        100.0 * foreign,
        100.0 * budget,
        limit.period_us
    );
    // Real-time threads that came and went during the run are in no sum. But a throttled CPU lets
    // nothing real-time run for the rest of the period.
    let rest = limit.rest();
    let stalled = load.stalled(rest);
    if ours + foreign < SAFE_SHARE * budget {
        // Nobody uses anything during a pause. Threads that sleep in between reach the limit late in a period, and what is left of that is shorter.
        let longest = load.worst.unwrap_or(Nanos::ZERO).min(load.duration);
        let outside = (seconds - longest.as_secs_f64()).max(1e-9);
        let then = (ours + foreign) * seconds / outside;
        return match stalled {
            None if then >= SAFE_SHARE * budget => Check::unknown(
                ID,
                format!(
                    "{used}; but {:.1} % of the time outside of the largest sample, {longest}, which may be a throttling \
                     pause",
                    100.0 * then
                ),
            ),
            Some(worst) => Check::unknown(
                ID,
                format!(
                    "{used}; but the largest sample, {worst}, may contain a throttling pause \
                     (up to {rest}), and real-time threads that ended during the run are not counted"
                ),
            ),
            None => Check::pass(ID, used),
        };
    }
    match stalled {
        Some(worst) => Check::fail(
            ID,
            format!(
                "{used}; the largest sample, {worst}, may contain a throttling pause (up to {rest})"
            ),
        ),
        None => Check::unknown(ID, format!("{used}: throttling cannot be excluded")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::CheckStatus;

    const fn limit(runtime_us: i64) -> Budget {
        Budget {
            runtime_us,
            period_us: 1_000_000,
        }
    }

    fn load(ours_ms: u64) -> RtLoad {
        RtLoad {
            bandwidth: [Some(limit(950_000)); 2],
            policy: Policy::Fifo { priority: 80 },
            ours: Nanos::from_millis(ours_ms),
            foreign_ticks: 0,
            duration: Nanos::from_secs(1),
            worst: Some(Nanos::from_micros(80)),
            interval: Some(Nanos::from_millis(1)),
            cpus: "0".parse().unwrap(),
        }
    }

    #[test]
    fn a_light_load_cannot_have_been_throttled() {
        assert!(check(&load(20)).passed());
    }

    #[test]
    fn a_heavy_load_fails_closed() {
        assert_eq!(check(&load(940)).status, CheckStatus::Unknown);
        let mut stalled = load(940);
        stalled.worst = Some(Nanos::from_millis(50));
        assert_eq!(check(&stalled).status, CheckStatus::Fail);
        let mut foreign = load(20);
        foreign.foreign_ticks = 90;
        assert_eq!(check(&foreign).status, CheckStatus::Unknown);
    }

    #[test]
    fn a_stall_as_long_as_throttling_is_never_excluded() {
        let mut stalled = load(20);
        stalled.worst = Some(Nanos::from_millis(53));
        assert_eq!(check(&stalled).status, CheckStatus::Unknown);
    }

    #[test]
    fn a_sample_that_is_shorter_than_a_pause_is_none() {
        let of = |worst, interval: Option<u64>| {
            check(&RtLoad {
                worst: Some(Nanos::from_millis(worst)),
                interval: interval.map(Nanos::from_millis),
                ..load(20)
            })
        };
        // A pause of 50 ms makes a thread that wakes up each millisecond at least 48 ms late.
        assert!(of(45, Some(1)).passed());
        assert!(of(47, Some(1)).passed());
        assert_eq!(of(48, Some(1)).status, CheckStatus::Unknown);
        assert_eq!(of(606, Some(1)).status, CheckStatus::Unknown);
        // Where deadlines are rare, or there are none, what is about as long may be one.
        for interval in [Some(20), Some(100), None] {
            assert!(of(39, interval).passed());
            assert_eq!(of(40, interval).status, CheckStatus::Unknown);
        }
    }

    #[test]
    fn a_pause_that_lowers_the_mean_use_is_not_excluded_by_it() {
        let of = |ours, worst| {
            check(&RtLoad {
                bandwidth: [Some(limit(100_000)); 2],
                worst: Some(Nanos::from_millis(worst)),
                interval: Some(Nanos::from_micros(50)),
                ..load(ours)
            })
        };
        // 27 % of the CPU in the 361 ms in which they ran, where 10 % are allowed.
        assert_eq!(of(72, 639).status, CheckStatus::Unknown);
        // 2 % in all, whatever a stall took of it.
        assert!(of(20, 300).passed());
        assert!(of(72, 2).passed());
    }

    #[test]
    fn no_throttling_passes_and_no_evidence_does_not() {
        let mut off = load(990);
        off.bandwidth = [Some(limit(-1)); 2];
        assert!(check(&off).passed());
        let mut hidden = load(1);
        hidden.bandwidth = [None; 2];
        assert_eq!(check(&hidden).status, CheckStatus::Unknown);
        let mut changed = load(1);
        changed.bandwidth[1] = Some(limit(-1));
        assert_eq!(check(&changed).status, CheckStatus::Fail);
    }
}
