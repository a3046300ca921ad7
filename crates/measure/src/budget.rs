// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much of a CPU's time real-time threads may use: what the kernel's throttling goes by.
//!
//! There is one limit for the system, `sched_rt_runtime_us` of each `sched_rt_period_us`, and, on a
//! kernel with `CONFIG_RT_GROUP_SCHED`, one for each cgroup of the `cpu` controller (version 1; the
//! kernel's Documentation/scheduler/sched-rt-group.rst). There the groups throttle, the root group
//! too: to open the system's limit alone changes nothing, unless it is turned off (-1).
//!
//! Since Linux 6.12 the system's limit stops nobody on a kernel without such groups. The *fair server* runs ordinary threads instead, for
//! at most its own time of each of its periods.

mod fair_server;

use punctual_model::Nanos;
use punctual_sys::SysRoot;

pub(crate) use self::fair_server::{FairServer, fair_server};
use crate::cgroup;

/// A limit in µs, as the kernel's files have it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Budget {
    /// Time that real-time threads may use in a period. Negative: without a limit.
    pub(crate) runtime_us: i64,
    /// The period.
    pub(crate) period_us: i64,
}

impl Budget {
    /// Whether real-time threads may use all of the time.
    pub(crate) const fn is_open(self) -> bool {
        self.runtime_us < 0 || self.runtime_us >= self.period_us
    }

    /// Returns the part of the time that may be used, from 0 to 1.
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    pub(crate) fn share(self) -> f64 {
        if self.is_open() {
            return 1.0;
        }
        self.runtime_us as f64 / self.period_us as f64
    }

    /// Returns the period.
    pub(crate) fn period(self) -> Nanos {
        micros(self.period_us)
    }

    /// Returns what is left of a period: how long a throttled CPU rests.
    pub(crate) fn rest(self) -> Nanos {
        if self.is_open() {
            return Nanos::ZERO;
        }
        micros(self.period_us - self.runtime_us)
    }
}

fn micros(us: i64) -> Nanos {
    Nanos::from_micros(u64::try_from(us).unwrap_or(0))
}

/// The limits that a thread of this process is under.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Budgets {
    /// The system's.
    pub(crate) system: Option<Budget>,
    /// Those of the cgroups, from the thread's own to the root, each with its directory. None on a
    /// kernel without such limits.
    pub(crate) groups: Vec<(String, Budget)>,
    /// What the fair server leaves, on a kernel where it has taken the place of throttling by the system's budget.
    pub(crate) server: FairServer,
    /// Whether this process has a group with a budget of its own, perhaps, which cannot be seen.
    pub(crate) hidden: bool,
}

impl Budgets {
    /// Reads them.
    pub(crate) fn read(sys: &SysRoot) -> Self {
        let budget = |runtime: &str, period: &str| {
            Some(Budget {
                runtime_us: sys.fact(runtime)?,
                period_us: sys.fact(period)?,
            })
        };
        let directories = cgroup::of_version_1(sys);
        let hidden = directories.is_none();
        let groups = directories
            .unwrap_or_default()
            .into_iter()
            .filter_map(|dir| {
                let limit = budget(
                    &format!("{dir}/cpu.rt_runtime_us"),
                    &format!("{dir}/cpu.rt_period_us"),
                )?;
                Some((dir, limit))
            });
        Self {
            system: budget(
                "/proc/sys/kernel/sched_rt_runtime_us",
                "/proc/sys/kernel/sched_rt_period_us",
            ),
            server: fair_server::least(sys),
            groups: groups.collect(),
            hidden,
        }
    }

    /// Returns the limit that is met first, none also where one of a group may be and cannot be seen.
    pub(crate) fn judged(&self) -> Option<Budget> {
        let off = self.system.is_some_and(|system| system.runtime_us < 0);
        match self.hidden && !off {
            true => None,
            false => self.tightest(),
        }
    }

    /// Returns the limit that is met first. None where the system's cannot be read.
    pub(crate) fn tightest(&self) -> Option<Budget> {
        match self.server.limit() {
            Some(server) if self.groups.is_empty() => Some(server),
            _ => self.throttling(),
        }
    }

    /// Whether real-time threads on all CPUs leave something to others: not where throttling is off, and not where a fair server that has
    /// taken its place is.
    pub(crate) fn leave_something(&self) -> bool {
        let limits = |budget: Option<Budget>| budget.is_some_and(|budget| !budget.is_open());
        limits(self.throttling()) && limits(self.tightest())
    }

    /// The same of what stops real-time threads whether or not anybody else wants the CPU.
    pub(crate) fn throttling(&self) -> Option<Budget> {
        let system = self.system?;
        // Where the system's is off the kernel counts none of the groups' either (rt_bandwidth_enabled() in kernel/sched/rt.c).
        if system.runtime_us < 0 {
            return Some(system);
        }
        let groups = self.groups.iter().map(|(_, budget)| *budget);
        let all = groups.chain([system]);
        all.min_by(|a, b| a.share().total_cmp(&b.share()))
    }

    /// Says what was read, in the kernel's words.
    pub(crate) fn describe(&self) -> String {
        let mut text = match self.system {
            Some(b) => format!(
                "sched_rt_runtime_us is {} of {} µs",
                b.runtime_us, b.period_us
            ),
            None => "sched_rt_runtime_us cannot be read".to_owned(),
        };
        for (dir, b) in &self.groups {
            let group = format!(
                ", cpu.rt_runtime_us in {dir} is {} of {} µs",
                b.runtime_us, b.period_us
            );
            text += &group;
        }
        if self.groups.is_empty() {
            text += ", no cgroup has a limit";
        }
        if let Some(server) = self.server.limit() {
            let what = match self.server {
                FairServer::Known(_) => "has",
                _ => "has by default",
            };
            let (rest, period) = (server.rest(), server.period());
            let server = format!(", the fair server {what} {rest} of each {period}");
            text += &server;
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const OPEN_SYSTEM: [(&str, &str); 2] = [
        ("proc/sys/kernel/sched_rt_runtime_us", "1000000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ];

    #[test]
    fn a_group_that_is_not_open_is_what_throttles() {
        let group = [
            (
                "proc/self/cgroup",
                "3:cpu,cpuacct:/a/b\n1:name=systemd:/\n0::/\n",
            ),
            (
                "proc/self/mounts",
                "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct 0 0\n",
            ),
            ("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000\n"),
            ("sys/fs/cgroup/cpu/cpu.rt_period_us", "1000000\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.rt_runtime_us", "400000\n"),
            ("sys/fs/cgroup/cpu/a/b/cpu.rt_period_us", "500000\n"),
        ];
        let (_dir, sys) = machine(&[OPEN_SYSTEM.as_slice(), &group].concat());
        let budgets = Budgets::read(&sys);
        let dirs: Vec<&str> = budgets.groups.iter().map(|(dir, _)| dir.as_str()).collect();
        assert_eq!(dirs, ["/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu"]);
        let tightest = budgets.tightest().unwrap();
        assert_eq!(
            (tightest.runtime_us, tightest.period_us),
            (400_000, 500_000)
        );
        assert_eq!(tightest.rest(), Nanos::from_millis(100));
        assert!(
            budgets
                .describe()
                .contains("cpu.rt_runtime_us in /sys/fs/cgroup/cpu is 950000")
        );
    }

    #[test]
    fn where_the_systems_budget_is_off_no_group_throttles() {
        let budget = |runtime_us| Budget {
            runtime_us,
            period_us: 1_000_000,
        };
        let with = |system| Budgets {
            system: Some(budget(system)),
            groups: vec![("/sys/fs/cgroup/cpu".to_owned(), budget(950_000))],
            server: FairServer::Absent,
            hidden: false,
        };
        assert!(!with(-1).leave_something());
        assert!(with(950_000).leave_something());
        assert!(with(1_000_000).leave_something());
    }

    #[test]
    fn a_group_that_cannot_be_seen_is_no_proof_that_it_has_no_budget() {
        let group = ("proc/self/cgroup", "1:cpu:/a\n");
        let mounts = "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n";
        let mounted = ("proc/self/mounts", mounts);
        let info = "30 20 0:25 /.. /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n";
        let foreign = ("proc/self/mountinfo", info);
        let judged = |runtime: &str, files: &[(&str, &str)]| {
            let system = [
                ("proc/sys/kernel/sched_rt_runtime_us", runtime),
                ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
            ];
            let (_dir, sys) = machine(&[&system, files].concat());
            Budgets::read(&sys).judged()
        };
        assert_eq!(judged("950000\n", &[group]), None);
        assert_eq!(judged("950000\n", &[group, mounted, foreign]), None);
        assert!(judged("950000\n", &[group, mounted]).is_some());
        assert!(judged("950000\n", &[]).is_some());
        assert!(judged("-1\n", &[group]).is_some(), "no group counts then");
    }

    #[test]
    fn without_groups_the_system_decides() {
        let (_dir, sys) = machine(&OPEN_SYSTEM);
        let budgets = Budgets::read(&sys);
        assert!(budgets.tightest().unwrap().is_open());
        assert_eq!(budgets.tightest().unwrap().rest(), Nanos::ZERO);
        let (_dir, hidden) = machine(&[]);
        assert_eq!(Budgets::read(&hidden).tightest(), None);
    }

    #[test]
    fn since_there_is_a_fair_server_that_is_the_limit() {
        let newer = [("proc/sys/kernel/osrelease", "6.18.44\n")];
        let system = [
            ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ];
        let (_dir, sys) = machine(&[newer.as_slice(), &system].concat());
        let budgets = Budgets::read(&sys);
        // Its default, where it cannot be read.
        assert_eq!(budgets.tightest().unwrap().rest(), Nanos::from_millis(50));
        let said = budgets.describe();
        assert!(
            said.ends_with(", the fair server has by default 50 ms of each 1 s"),
            "{said}"
        );
        assert!(budgets.throttling().unwrap().is_open());
        assert!(!budgets.leave_something());
        let off = [
            ("sys/devices/system/cpu/cpu0/online", "1\n"),
            ("sys/kernel/debug/sched/fair_server/cpu0/runtime", "0\n"),
            (
                "sys/kernel/debug/sched/fair_server/cpu0/period",
                "1000000000\n",
            ),
        ];
        let limited = [
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ];
        let (_dir, sys) = machine(&[newer.as_slice(), &limited, &off].concat());
        let budgets = Budgets::read(&sys);
        // What was the limit before stops nobody now.
        assert!(budgets.tightest().unwrap().is_open());
        assert!(!budgets.leave_something());
        assert!(
            budgets.describe().contains("fair server has 0 "),
            "{}",
            budgets.describe()
        );
        let older = [("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")];
        let (_dir, sys) = machine(&[older.as_slice(), &limited, &off].concat());
        assert!(Budgets::read(&sys).leave_something());
    }

    #[test]
    fn a_negative_runtime_is_no_limit() {
        let budget = Budget {
            runtime_us: -1,
            period_us: 1_000_000,
        };
        assert!(budget.is_open());
        assert!((budget.share() - 1.0).abs() < 1e-12);
    }
}
