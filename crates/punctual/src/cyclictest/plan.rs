// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From cyclictest's options to the specification of a run.

use punctual_measure::pacing::{Begin, EndWith, Pacing};
use punctual_model::{Clock, CpuSet, Nanos, Pin, Policy, RunSpec, TimerKind};
use punctual_peers::command::{Affinity, Class, IdleStates, Options};
use std::time::Duration;

use super::tally::Resolution;
use crate::cpus::Cpus;

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
    let housekeeping = main_affinity(options, cpus).and_then(Result::ok);
    let housekeeping =
        housekeeping.unwrap_or_else(|| free_of(pin, &measured, options.threads, cpus));
    let resolution = resolution(options);
    Ok(RunSpec {
        threads: options.threads,
        cpus: measured,
        pin,
        priority: policy(options),
        priority_spread: options.priospread,
        interval_ns: Nanos::from_micros(options.interval_us),
        distance_ns: Nanos::from_micros(options.distance_us),
        duration_ns: duration(options),
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

/// Returns the CPUs of `--mainaffinity`. What cannot be read is no reason to end, as in the original,
/// but one to say so.
pub(super) fn main_affinity(options: &Options, cpus: &Cpus) -> Option<Result<CpuSet, String>> {
    let list = options.main_affinity.as_deref()?;
    (!list.is_empty()).then(|| cpu_list(list, cpus))
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

/// Returns the number of CPUs of a list, else of those that this process was given.
pub(super) fn count(list: Option<&str>, cpus: &Cpus) -> u32 {
    let given = || cpus.allowed.clone();
    // One that cannot be read is refused later.
    let set = list.map_or_else(given, |list| {
        cpu_list(list, cpus).unwrap_or_else(|_| given())
    });
    u32::try_from(set.len()).unwrap_or(u32::MAX)
}

/// Reads a CPU list as libnuma does: `0-3,5`, `all`, `!0` for all but 0, `+0-1` for the first two of
/// those that may be used, numbers as C has them (`0x1`, `01`); of `3-1` the first. `!` and `+` are about the CPUs that this process
/// was given; a plain list may also name others, as where the main thread was kept off the CPUs that are measured.
fn cpu_list(list: &str, cpus: &Cpus) -> Result<CpuSet, String> {
    let list = list.trim();
    let usable = match list.contains(['!', '+']) {
        true => &cpus.allowed,
        false => &cpus.reachable,
    };
    let wrong = |what: &str| format!("WARN: CPUs `{list}`: {what}");
    let (inverted, rest) = match list.strip_prefix('!') {
        Some(rest) => (true, rest),
        None => (false, list),
    };
    let (relative, rest) = match rest.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let number = |text: &str| c_number(text).ok_or_else(|| wrong("not a list of CPUs"));
    let mut wanted = Vec::new();
    for part in rest.split(',') {
        if part == "all" {
            wanted.extend(usable.iter());
            continue;
        }
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        let most = cpus.reachable.iter().last().unwrap_or(0);
        if first.max(last) > most {
            let cpu = first.max(last);
            return Err(format!(
                "WARN: CPU {cpu} is out of range: {usable} may be used"
            ));
        }
        wanted.extend(first..=last.max(first));
    }
    let wanted: CpuSet = wanted.into_iter().collect();
    let nth = |n: u32| usable.iter().nth(n as usize);
    let found: CpuSet = match relative {
        true => wanted.iter().filter_map(nth).collect(),
        false => wanted.clone(),
    };
    if found.len() < wanted.len() {
        return Err(wrong("there are not that many"));
    }
    let set = match inverted {
        true => usable.without(&found),
        false => found,
    };
    let unknown = set.without(usable);
    if set.is_empty() {
        Err(wrong("none are left"))
    } else if unknown.is_empty() {
        Ok(set)
    } else {
        Err(format!(
            "WARN: CPU {unknown} is out of range: {usable} may be used"
        ))
    }
}

/// Reads a number as `strtoul(3)` does where the base is not given.
fn c_number(text: &str) -> Option<u32> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, base) = match (hex, text) {
        (Some(hex), _) => (hex, 16),
        (None, "0") => (text, 10),
        (None, _) => (
            text.strip_prefix('0').unwrap_or(text),
            if text.starts_with('0') { 8 } else { 10 },
        ),
    };
    let plain = digits.bytes().all(|b| b.is_ascii_alphanumeric());
    plain
        .then(|| u32::from_str_radix(digits, base).ok())
        .flatten()
}

/// Until the first wake-up of any thread that is not before the time that was asked for, as in the original.
fn duration(options: &Options) -> Option<Nanos> {
    let wanted = Nanos::from_secs(options.duration_s);
    if wanted.is_zero() {
        return None;
    }
    let interval = Nanos::from_micros(options.interval_us);
    if timer(options) == TimerKind::Relative {
        // The next sleep begins where the one before ended: one that ended before the time is followed by another.
        return Some(wanted + interval - Nanos::new(1));
    }
    let last = |thread: u32| {
        let interval = interval + Nanos::from_micros(options.distance_us).times(thread.into());
        interval.times(wanted.get().div_ceil(interval.get().max(1)))
    };
    (0..options.threads).map(last).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(line: &str) -> Result<RunSpec, String> {
        planned_on("0-3", line)
    }

    /// The same by a process that was given some of the CPUs.
    fn planned_on(given: &str, line: &str) -> Result<RunSpec, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let cpus = Cpus {
            online: "0-3".parse().unwrap(),
            allowed: given.parse().unwrap(),
            reachable: "0-3".parse().unwrap(),
        };
        let options = punctual_peers::command::parse(&args, |list| count(list, &cpus));
        spec(&options.unwrap(), &cpus)
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
    fn a_duration_ends_with_the_first_wake_up_that_is_not_before_it() {
        let lasts = |line| planned(line).unwrap().duration_ns.unwrap();
        assert_eq!(lasts("-D 1"), Nanos::from_secs(1));
        assert_eq!(lasts("-D 1 -i 300000"), Nanos::from_millis(1_200));
        assert_eq!(lasts("-D 1 -i 2000000"), Nanos::from_secs(2));
        assert_eq!(lasts("-D 5 -i 2000000"), Nanos::from_secs(6));
        // The second thread wakes up at 1 s, the first one at 1.2 s.
        assert_eq!(lasts("-t 2 -D 1 -i 300000 -d 200000"), Nanos::from_secs(1));
        let relative = Nanos::new(1_299_999_999);
        assert_eq!(lasts("-r -D 1 -i 300000"), relative);
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
        for (list, expected) in [
            ("all", "0-3"),
            ("!1", "0,2-3"),
            ("+0-1", "0-1"),
            ("0x1", "1"),
            ("0x2,0", "0,2"),
            ("01", "1"),
            ("3-1", "3"),
            ("1-0,0", "0-1"),
            ("foo", "0-3"),
            (",0", "0-3"),
        ] {
            let spec = planned(&format!("-t -a {list}")).unwrap();
            assert_eq!(spec.cpus.to_string(), expected, "{list}");
        }
        for list in [
            "-a9",
            "-a!0-3",
            "-a+7",
            "-a0-x",
            "-a0,",
            "-a,0",
            "-a0-",
            "-a1x",
            "-a08",
            "-a0x",
            "-a0x9",
            "-a0:1",
            "-a-1",
            "-afoo",
            "--affinity=",
        ] {
            assert!(
                planned(list).unwrap_err().starts_with("WARN: CPU"),
                "{list}"
            );
        }
    }

    #[test]
    fn a_list_may_name_cpus_that_the_process_was_not_given() {
        for (line, threads, cpus) in [
            ("-a 1", 1, "1"),
            ("-a 1-3 -t", 3, "1-3"),
            ("-t -a all", 4, "0-3"),
            ("-t -a !1", 1, "0"),
            ("-t -a +0", 1, "0"),
            ("-t -a", 1, "0"),
            ("-S", 1, "0"),
        ] {
            let spec = planned_on("0", line).unwrap();
            assert_eq!(spec.threads, threads, "{line}");
            assert_eq!(spec.cpus.to_string(), cpus, "{line}");
        }
        for line in ["-a !0", "-a +1", "-a 4"] {
            assert!(planned_on("0", line).is_err(), "{line}");
        }
    }

    #[test]
    fn a_main_affinity_that_cannot_be_read_is_none() {
        let of = |line| planned(line).unwrap().housekeeping.to_string();
        assert_eq!(of("--mainaffinity=1-2"), "1-2");
        for line in ["--mainaffinity=7", "--mainaffinity=foo", "--mainaffinity="] {
            assert_eq!(of(line), of(""), "{line}");
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
