// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From cyclictest's options to the specification of a run.

use punctual_measure::pacing::{Begin, EndWith, Pacing};
use punctual_model::{Clock, CpuSet, Nanos, Pin, Policy, RunSpec, TimerKind};
use punctual_peers::command::{Affinity, Class, IdleStates, Options};
use std::time::Duration;

use super::tally::Resolution;
use crate::commands::measure::plan::Cpus;

/// Time between two looks where somebody watches, as in the original.
const WATCHED: Duration = Duration::from_millis(10);

/// Time between two looks else: a signal waits so long for its answer.
const UNWATCHED: Duration = Duration::from_millis(50);

/// Returns the run that `options` ask for.
pub(super) fn spec(options: &Options, cpus: &Cpus) -> Result<RunSpec, String> {
    let (pin, measured) = match &options.affinity {
        Affinity::Unbound => (Pin::None, cpus.allowed.clone()),
        Affinity::Every => (Pin::Each, cpus.allowed.clone()),
        Affinity::Listed(list) => (Pin::Each, cpu_list(list, cpus)?),
    };
    let housekeeping = match &options.main_affinity {
        Some(list) => cpu_list(list, cpus)?,
        None => free_of(pin, &measured, options.threads, cpus),
    };
    let resolution = resolution(options);
    Ok(RunSpec {
        threads: options.threads,
        cpus: measured,
        pin,
        priority: policy(options),
        priority_spread: options.priospread,
        interval_ns: Nanos::from_micros(options.interval_us),
        distance_ns: Nanos::from_micros(options.distance_us),
        duration_ns: (options.duration_s > 0).then(|| Nanos::from_secs(options.duration_s)),
        samples: (options.loops > 0).then_some(options.loops),
        warm_up_ns: Nanos::ZERO,
        timer: timer(options),
        clock: if options.realtime_clock {
            Clock::Realtime
        } else {
            Clock::Monotonic
        },
        dma_latency_ns: match options.idle {
            IdleStates::Bound(us) => Some(Nanos::from_micros(us.into())),
            IdleStates::Laptop | IdleStates::Untouched | IdleStates::Deepest(_) => None,
        },
        mlock: options.mlock,
        housekeeping,
        raw: true,
        until: Vec::new(),
        on_threshold_ns: u64::try_from(options.break_above)
            .ok()
            .filter(|limit| *limit > 0)
            .map(|limit| Nanos::new(resolution.not_above(limit))),
        deadlines_ns: Vec::new(),
        loads: Vec::new(),
    })
}

/// Returns how the run goes.
pub(super) fn pacing(options: &Options) -> Pacing {
    let watched = !options.quiet || options.verbose || options.fifo.is_some();
    Pacing {
        tick: if watched { WATCHED } else { UNWATCHED },
        tell_ticks: true,
        after_threshold: 0,
        end: EndWith::First,
        begin: match options.secaligned_us {
            Some(us) => Begin::FullSecond(Nanos::from_micros(us)),
            None => Begin::Soon,
        },
        stagger: Nanos::from_micros(options.aligned_us.unwrap_or(0)),
    }
}

/// Returns the unit of all that is printed.
pub(super) const fn resolution(options: &Options) -> Resolution {
    if options.nsecs {
        Resolution::Nanos
    } else {
        Resolution::Micros
    }
}

const fn policy(options: &Options) -> Policy {
    let priority = options.priority;
    match options.class {
        Class::Other => Policy::Other { nice: 0 },
        Class::Batch => Policy::Batch,
        Class::Idle => Policy::Idle,
        Class::Fifo => Policy::Fifo { priority },
        Class::RoundRobin => Policy::RoundRobin { priority },
    }
}

const fn timer(options: &Options) -> TimerKind {
    if options.posix_timers {
        // A timer that fires again and again lies on the grid also where its first span is
        // relative, so `-r` changes nothing here.
        TimerKind::Posix
    } else if options.system || options.relative {
        TimerKind::Relative
    } else {
        TimerKind::Nanosleep
    }
}

/// Picks the CPUs that no thread is bound to; all, where there is none.
fn free_of(pin: Pin, measured: &CpuSet, threads: u32, cpus: &Cpus) -> CpuSet {
    let busy: CpuSet = match pin {
        Pin::Each => measured.iter().take(threads as usize).collect(),
        Pin::Set | Pin::None => CpuSet::default(),
    };
    let free = cpus.allowed.without(&busy);
    if free.is_empty() {
        cpus.allowed.clone()
    } else {
        free
    }
}

/// Reads a CPU list as libnuma does: `0-3,5`, `all`, `!0` for all but 0, `+0-1` for the first two of
/// those that may be used.
fn cpu_list(list: &str, cpus: &Cpus) -> Result<CpuSet, String> {
    let list = list.trim();
    if list == "all" {
        return Ok(cpus.allowed.clone());
    }
    let parsed = |text: &str| {
        text.parse::<CpuSet>()
            .map_err(|err| format!("WARN: CPUs `{list}`: {err}"))
    };
    let set = if let Some(not) = list.strip_prefix('!') {
        cpus.allowed.without(&parsed(not)?)
    } else if let Some(relative) = list.strip_prefix('+') {
        let wanted = parsed(relative)?;
        let nth = |n: u32| cpus.allowed.iter().nth(n as usize);
        let found: CpuSet = wanted.iter().filter_map(nth).collect();
        if found.len() < wanted.len() {
            return Err(format!("WARN: CPUs `{list}`: there are not that many"));
        }
        found
    } else {
        parsed(list)?
    };
    let unknown = set.without(&cpus.allowed);
    if set.is_empty() {
        Err(format!("WARN: CPUs `{list}`: none are left"))
    } else if unknown.is_empty() {
        Ok(set)
    } else {
        Err(format!(
            "WARN: CPU {unknown} is out of range: {} may be used",
            cpus.allowed
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Result<RunSpec, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let cpus = Cpus {
            online: "0-3".parse().unwrap(),
            allowed: "0-3".parse().unwrap(),
            reachable: "0-3".parse().unwrap(),
        };
        spec(&punctual_peers::command::parse(&args, 4).unwrap(), &cpus)
    }

    #[test]
    fn the_defaults_are_those_of_the_original() {
        let spec = planned("").unwrap();
        assert_eq!((spec.threads, spec.pin), (1, Pin::None));
        assert_eq!(spec.priority, Policy::Other { nice: 0 });
        assert_eq!(spec.distance_ns, Nanos::from_micros(500));
        assert_eq!((spec.samples, spec.duration_ns), (None, None));
        assert!(!spec.mlock);
    }

    #[test]
    fn threads_get_cpus_priorities_and_intervals_in_turn() {
        let spec = planned("-p80 -t3 -a1,3 --priospread -i 200 -d 100").unwrap();
        let cpus: Vec<_> = (0..3).map(|i| spec.cpu_of(i)).collect();
        assert_eq!(cpus, [Some(1), Some(3), Some(1)]);
        assert_eq!(spec.policy_of(2), Policy::Fifo { priority: 78 });
        assert_eq!(spec.interval_of(2), Nanos::from_micros(400));
        assert_eq!(spec.housekeeping.to_string(), "0,2");
    }

    #[test]
    fn cpu_lists_are_those_of_libnuma() {
        for (list, expected) in [("all", "0-3"), ("!1", "0,2-3"), ("+0-1", "0-1")] {
            let spec = planned(&format!("-t -a {list}")).unwrap();
            assert_eq!(spec.cpus.to_string(), expected, "{list}");
        }
        for list in ["-a9", "-a!0-3", "-a+7", "-a0-x", "--mainaffinity=7"] {
            assert!(
                planned(list).unwrap_err().starts_with("WARN: CPU"),
                "{list}"
            );
        }
    }

    #[test]
    fn a_break_needs_a_value_above_whole_units() {
        let limit = |line| planned(line).unwrap().on_threshold_ns.map(Nanos::get);
        assert_eq!(limit("-b 5"), Some(5_999));
        assert_eq!(limit("-b 5 -N"), Some(5));
        assert_eq!((limit("-b 0"), limit("-b -5")), (None, None));
    }

    #[test]
    fn timers_are_told_apart() {
        for (line, timer) in [
            ("-n", TimerKind::Nanosleep),
            ("-r", TimerKind::Relative),
            ("-s", TimerKind::Relative),
            ("-x", TimerKind::Posix),
            ("-x -r", TimerKind::Posix),
        ] {
            assert_eq!(planned(line).unwrap().timer, timer, "{line}");
        }
    }
}
