// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a quota of CPU time stopped ordinary threads of this process's cgroup during a run.
//!
//! A group that has used its quota of a period waits for the next one (the kernel's
//! Documentation/scheduler/sched-bwc.rst): the loads and ordinary measuring threads do, real-time threads do not. The
//! kernel counts it in `cpu.stat`, in version 1 and 2 of cgroups alike.

use punctual_model::{Check, Nanos};
use punctual_sys::SysRoot;

use crate::cgroup;
use crate::frame::Throttling;

/// The name of the check, and of the rule of `doctor`.
const ID: &str = "cpu-quota";

/// The quota of one group, and how often it was used up.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Quota {
    directory: String,
    /// Time that its ordinary threads may use of each period, both in µs.
    limit: Option<(u64, u64)>,
    /// Missing where the group has no such counters.
    counted: Option<Counted>,
}

/// Counters of `cpu.stat`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Counted {
    periods: u64,
    throttled: u64,
    /// On all CPUs together.
    stood_still: Nanos,
}

/// Reads the quotas of this process's group and of those above it; none where that cannot be told.
pub(crate) fn read(sys: &SysRoot) -> Option<Vec<Quota>> {
    let mut quotas = Vec::new();
    for directory in cgroup::directories(sys, "cpu")? {
        let quota = Quota {
            limit: limit(sys, &directory).ok()?,
            counted: counted(
                &sys.read(&format!("{directory}/cpu.stat"))
                    .unwrap_or_default(),
            ),
            directory,
        };
        // A limit whose effect is not counted is not known to have had none.
        if quota.limit.is_some() && quota.counted.is_none() {
            return None;
        }
        quotas.push(quota);
    }
    quotas.retain(|quota| quota.counted.is_some());
    Some(quotas)
}

/// What is no number of µs.
struct Odd;

fn limit(sys: &SysRoot, directory: &str) -> Result<Option<(u64, u64)>, Odd> {
    let read = |name: &str| {
        let path = format!("{directory}/{name}");
        match sys.exists(&path) {
            true => sys.read(&path).map(Some).map_err(|_| Odd),
            false => Ok(None),
        }
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| Odd);
    if let Some(text) = read("cpu.max")? {
        let (quota, period) = text.split_once(' ').ok_or(Odd)?;
        return match quota {
            "max" => Ok(None),
            quota => Ok(Some((number(quota)?, number(period)?))),
        };
    }
    match read("cpu.cfs_quota_us")?.as_deref() {
        None | Some("-1") => Ok(None),
        Some(quota) => {
            let period = read("cpu.cfs_period_us")?.ok_or(Odd)?;
            Ok(Some((number(quota)?, number(&period)?)))
        }
    }
}

fn counted(stat: &str) -> Option<Counted> {
    let value = |key: &str| -> Option<u64> {
        let of = |line: &str| line.strip_prefix(key)?.strip_prefix(' ')?.parse().ok();
        stat.lines().find_map(of)
    };
    let stood_still = match value("throttled_usec") {
        Some(us) => Nanos::from_micros(us),
        None => Nanos::new(value("throttled_time")?),
    };
    Some(Counted {
        periods: value("nr_periods")?,
        throttled: value("nr_throttled")?,
        stood_still,
    })
}

/// What a run was, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Concerned {
    /// Whether the measuring threads are ordinary threads.
    pub(crate) threads: bool,
    /// Whether there are loads.
    pub(crate) loads: bool,
    /// Who judges what stops threads.
    pub(crate) throttling: Throttling,
}

/// Judges the quotas before and after a run; nothing where there was none.
pub(crate) fn check(
    before: Option<&[Quota]>,
    after: Option<&[Quota]>,
    concerned: Concerned,
) -> Option<Check> {
    let (Some(before), Some(after)) = (before, after) else {
        let what = "whether a CPU quota stopped threads of this cgroup cannot be read";
        return Some(Check::unknown(ID, what));
    };
    // Groups without a limit may come into view: what is watched may mount their file system.
    let limits = |all: &[Quota]| -> Vec<_> {
        let of = |quota: &Quota| Some((quota.directory.clone(), quota.limit?));
        all.iter().filter_map(of).collect()
    };
    if limits(before) != limits(after) {
        return Some(Check::fail(
            ID,
            "the CPU quota or the cgroup changed during the run",
        ));
    }
    let all = after.iter().filter_map(|after| {
        let before = before.iter().find(|of| of.directory == after.directory)?;
        let during = since(before.counted?, after.counted?);
        (after.limit.is_some() || during.throttled > 0).then_some((after, during))
    });
    // Of several groups the one that stood still longest.
    let (quota, during) = all.max_by_key(|(_, during)| (during.throttled, during.stood_still))?;
    let limit = quota.limit.map_or_else(String::new, |(quota, period)| {
        format!(", {quota} of each {period} µs,")
    });
    let used = format!(
        "the CPU quota of cgroup {}{limit} was used up in {} of {} periods",
        quota.directory, during.throttled, during.periods
    );
    if during.throttled == 0 {
        return Some(Check::pass(ID, used));
    }
    let stopped = format!(
        "{used}; its ordinary threads stood still for {} on all CPUs together",
        during.stood_still
    );
    Some(match concerned {
        Concerned {
            throttling: Throttling::IsAResult,
            ..
        } => Check::pass(ID, format!("{stopped}, which is part of the result")),
        Concerned { threads: true, .. } => {
            Check::fail(ID, format!("{stopped}, the measuring threads among them"))
        }
        Concerned { loads: true, .. } => {
            Check::fail(ID, format!("{stopped}, the loads among them"))
        }
        _ => Check::pass(
            ID,
            format!("{stopped}, but no measuring thread: these are real-time threads"),
        ),
    })
}

fn since(before: Counted, after: Counted) -> Counted {
    Counted {
        periods: after.periods.saturating_sub(before.periods),
        throttled: after.throttled.saturating_sub(before.throttled),
        stood_still: after.stood_still - before.stood_still,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use punctual_model::CheckStatus;

    const ORDINARY: Concerned = Concerned {
        threads: true,
        loads: false,
        throttling: Throttling::Disturbs,
    };
    const REAL_TIME: Concerned = Concerned {
        threads: false,
        ..ORDINARY
    };
    const LOADED: Concerned = Concerned {
        loads: true,
        ..REAL_TIME
    };
    const OLD: [(&str, &str); 4] = [
        (
            "proc/self/cgroup",
            "9:name=systemd:/\n2:cpu,cpuacct:/a/q\n0::/\n",
        ),
        (
            "proc/self/mounts",
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n",
        ),
        ("sys/fs/cgroup/cpu/a/q/cpu.cfs_quota_us", "50000\n"),
        ("sys/fs/cgroup/cpu/a/q/cpu.cfs_period_us", "100000\n"),
    ];
    const NEW: [(&str, &str); 4] = [
        ("proc/self/cgroup", "0::/a/q\n"),
        (
            "proc/self/mounts",
            "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
        ),
        ("sys/fs/cgroup/a/q/cpu.max", "max 100000\n"),
        ("sys/fs/cgroup/a/cpu.max", "50000 100000\n"),
    ];

    fn quotas(files: &[(&str, &str)]) -> Option<Vec<Quota>> {
        let (_dir, sys) = machine(files);
        read(&sys)
    }

    fn old(throttled: u64) -> Option<Vec<Quota>> {
        let stat = format!(
            "nr_periods {}\nnr_throttled {throttled}\nthrottled_time {}\n",
            throttled + 3,
            throttled * 50_000_000
        );
        let stat = ("sys/fs/cgroup/cpu/a/q/cpu.stat", stat.as_str());
        quotas(&[OLD.as_slice(), &[stat]].concat())
    }

    fn judged(before: Option<Vec<Quota>>, after: Option<Vec<Quota>>, of: Concerned) -> Check {
        check(before.as_deref(), after.as_deref(), of).unwrap()
    }

    #[test]
    fn a_quota_that_stopped_threads_or_loads_makes_a_run_invalid() {
        let during = |of| judged(old(5), old(27), of);
        let ordinary = during(ORDINARY);
        assert_eq!(ordinary.status, CheckStatus::Fail);
        for part in [
            "/sys/fs/cgroup/cpu/a/q, 50000 of each 100000 µs,",
            "22 of 22 periods",
            "1.10 s on all CPUs",
        ] {
            assert!(
                ordinary.detail.contains(part),
                "{part}: {}",
                ordinary.detail
            );
        }
        assert_eq!(during(LOADED).status, CheckStatus::Fail);
        let real_time = during(REAL_TIME);
        assert!(real_time.passed() && real_time.detail.contains("22 of 22 periods"));
        let watched = during(Concerned {
            throttling: Throttling::IsAResult,
            ..ORDINARY
        });
        assert!(watched.passed());
        assert!(judged(old(5), old(5), ORDINARY).passed());
    }

    #[test]
    fn version_2_is_read_too_and_a_group_above_counts() {
        let at = |throttled: u64| {
            let stat = format!(
                "usage_usec 9\nnr_periods 25\nnr_throttled {throttled}\nthrottled_usec 70000\n"
            );
            let own = ("sys/fs/cgroup/a/q/cpu.stat", "usage_usec 9\n");
            let above = ("sys/fs/cgroup/a/cpu.stat", stat.as_str());
            quotas(&[NEW.as_slice(), &[own, above]].concat())
        };
        let check = judged(at(0), at(7), ORDINARY);
        assert_eq!(check.status, CheckStatus::Fail);
        assert!(
            check.detail.contains("/sys/fs/cgroup/a, 50000"),
            "{}",
            check.detail
        );
    }

    #[test]
    fn what_cannot_be_read_is_unknown_and_where_there_is_no_quota_there_is_no_check() {
        // A limit without a count; a group whose directory cannot be seen; no /proc.
        for files in [OLD.as_slice(), &OLD[..1], &[]] {
            assert_eq!(quotas(files), None, "{files:?}");
        }
        let hidden = check(None, Some(&[]), ORDINARY).unwrap();
        assert_eq!(hidden.status, CheckStatus::Unknown);
        let status = ("proc/self/status", "Name:\tp\n");
        let root = [("proc/self/cgroup", "2:cpu:/\n0::/\n"), status];
        for files in [root.as_slice(), &[status]] {
            let none = quotas(files).unwrap();
            assert_eq!(check(Some(&none), Some(&none), ORDINARY), None);
        }
    }

    #[test]
    fn a_group_without_a_limit_that_comes_into_view_is_no_change() {
        let root = ("proc/self/cgroup", "1:cpu:/\n");
        let before = quotas(&[root, ("proc/self/mounts", "")]);
        let stat = "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n";
        let after = quotas(&[
            root,
            ("proc/self/mounts", "cgroup /mnt cgroup rw,cpu 0 0\n"),
            ("mnt/cpu.cfs_quota_us", "-1\n"),
            ("mnt/cpu.stat", stat),
        ]);
        assert_eq!(after.as_ref().unwrap().len(), 1);
        assert_eq!(check(before.as_deref(), after.as_deref(), ORDINARY), None);
    }

    #[test]
    fn a_quota_that_changes_meanwhile_is_no_quota() {
        let none = Some(Vec::new());
        assert_eq!(judged(none, old(5), ORDINARY).status, CheckStatus::Fail);
    }
}
