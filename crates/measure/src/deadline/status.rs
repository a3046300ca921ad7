// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel says of a thread and of its CPU just before it begins and just after its end.
//!
//! Context switches and allowed CPUs are read where Raju and Govindarajulu (2015) read them, in the
//! `status` file, but in that of the thread and not of its process.

use punctual_model::{CpuId, Nanos};
use punctual_sys::SysRoot;
use punctual_sys::thread::{self, Tid, Usage};

use crate::conditions::{self, Ticks};
use crate::tasks::field_of;

/// One moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Moment {
    /// `voluntary_ctxt_switches`.
    pub(crate) voluntary: Option<u64>,
    /// `nonvoluntary_ctxt_switches`.
    pub(crate) nonvoluntary: Option<u64>,
    /// `Cpus_allowed_list`.
    pub(crate) allowed: Option<String>,
    /// Clock ticks of the CPU that the thread is pinned to.
    pub(crate) ticks: Option<Ticks>,
    /// What the thread has used.
    pub(crate) usage: Usage,
}

impl Moment {
    /// Reads them on the thread itself.
    pub(crate) fn now(sys: &SysRoot, pinned_to: Option<CpuId>) -> Self {
        let path = format!("/proc/self/task/{}/status", Tid::current().get());
        let status = sys.read(&path).unwrap_or_default();
        let count = |key| field_of(&status, key).and_then(|n| n.parse().ok());
        let ticks = pinned_to.and_then(|cpu| {
            let stat = sys.read("/proc/stat").ok()?;
            conditions::ticks(&stat, &std::iter::once(cpu).collect()).remove(&cpu)
        });
        Self {
            voluntary: count("voluntary_ctxt_switches"),
            nonvoluntary: count("nonvoluntary_ctxt_switches"),
            allowed: field_of(&status, "Cpus_allowed_list").map(ToOwned::to_owned),
            ticks,
            usage: thread::usage(),
        }
    }
}

/// Where the CPU's time went between two moments.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct CpuTime {
    /// Nothing ran.
    pub(crate) idle: Nanos,
    /// The hypervisor gave it to others.
    pub(crate) stolen: Nanos,
    /// Others than the thread ran.
    pub(crate) others: Nanos,
}

impl CpuTime {
    /// Returns it, where the thread was pinned and the kernel says.
    pub(crate) fn between(before: &Moment, after: &Moment) -> Option<Self> {
        let (was, is) = (before.ticks?, after.ticks?);
        // A clock tick of /proc is 10 ms (USER_HZ is 100, time(7)).
        let span = |was: u64, is: u64| Nanos::from_millis(is.saturating_sub(was) * 10);
        let (idle, stolen) = (span(was.idle, is.idle), span(was.steal, is.steal));
        let own = after.usage.cpu_time - before.usage.cpu_time;
        Some(Self {
            idle,
            stolen,
            others: span(was.total, is.total) - idle - stolen - own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_finds_itself() {
        let moment = Moment::now(&SysRoot::live(), Some(0));
        assert_eq!(
            moment.allowed.unwrap(),
            punctual_sys::sched::affinity().unwrap().to_string()
        );
        assert!(moment.voluntary.is_some() && moment.nonvoluntary.is_some());
        assert!(moment.ticks.is_some());
    }

    #[test]
    fn what_is_neither_idle_nor_stolen_nor_own_is_others() {
        let moment = |total, idle, steal, own_ms| Moment {
            ticks: Some(Ticks { total, steal, idle }),
            usage: Usage {
                cpu_time: Nanos::from_millis(own_ms),
                ..Usage::default()
            },
            ..Moment::default()
        };
        let time = CpuTime::between(&moment(0, 0, 0, 0), &moment(100, 5, 2, 900)).unwrap();
        assert_eq!(time.idle, Nanos::from_millis(50));
        assert_eq!(time.stolen, Nanos::from_millis(20));
        assert_eq!(time.others, Nanos::from_millis(30));
        assert_eq!(
            CpuTime::between(&Moment::default(), &moment(1, 1, 1, 1)),
            None
        );
    }
}
