// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether this kernel has a fair server, and what that takes.

use punctual_model::CpuId;
use punctual_sys::{SysRoot, proc};

use super::Budget;

/// What the fair server takes of a period unless somebody changed it.
const FAIR_DEFAULT: Budget = Budget {
    runtime_us: 950_000,
    period_us: 1_000_000,
};

/// The fair server of this kernel.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum FairServer {
    /// The kernel is older than it.
    #[default]
    Absent,
    /// What it leaves to others, as read for the CPU.
    Known(Budget),
    /// It is there, and cannot be read: what it leaves by default.
    Assumed,
    /// Not known whether the kernel has it.
    Unknown,
}

impl FairServer {
    /// Returns what it leaves to real-time threads, where it takes anything.
    pub(crate) fn budget(self) -> Option<Budget> {
        match self {
            Self::Absent => None,
            Self::Known(budget) => (!budget.is_open()).then_some(budget),
            Self::Assumed | Self::Unknown => Some(FAIR_DEFAULT),
        }
    }

    /// Returns what it leaves to real-time threads, also where that is all of the time, and none where nothing is known of it.
    pub(super) const fn limit(self) -> Option<Budget> {
        match self {
            Self::Absent | Self::Unknown => None,
            Self::Known(budget) => Some(budget),
            Self::Assumed => Some(FAIR_DEFAULT),
        }
    }
}

/// The first release with a fair server, and without throttling by the system's budget.
const SINCE: (u32, u32) = (6, 12);

/// Reads what is known of the fair server of `cpu`.
pub(crate) fn fair_server(sys: &SysRoot, cpu: Option<CpuId>) -> FairServer {
    if let Some(budget) = cpu.and_then(|cpu| debugfs(sys, cpu)) {
        return FairServer::Known(budget);
    }
    match sys
        .read("/proc/sys/kernel/osrelease")
        .ok()
        .as_deref()
        .and_then(proc::release_numbers)
    {
        Some(release) if release < SINCE => FairServer::Absent,
        Some(_) => FairServer::Assumed,
        None => FairServer::Unknown,
    }
}

/// Reads what the fair servers of all CPUs leave to real-time threads, the least, where the kernel has such servers and they are what
/// limits those threads.
pub(super) fn least(sys: &SysRoot) -> FairServer {
    let cpus = sys.names("/sys/devices/system/cpu").unwrap_or_default();
    let numbered = |name: &String| name.strip_prefix("cpu")?.parse::<CpuId>().ok();
    let known = cpus.iter().filter_map(numbered);
    let known = known.filter_map(|cpu| debugfs(sys, cpu));
    match fair_server(sys, None) {
        FairServer::Assumed => known
            .min_by(|a, b| a.share().total_cmp(&b.share()))
            .map_or(FairServer::Assumed, FairServer::Known),
        other => other,
    }
}

/// Reads what the server leaves, from files that only root may read and lockdown may hide.
fn debugfs(sys: &SysRoot, cpu: CpuId) -> Option<Budget> {
    let file = |name| {
        let path = format!("/sys/kernel/debug/sched/fair_server/cpu{cpu}/{name}");
        sys.fact::<i64>(&path).map(|ns| ns / 1_000)
    };
    let period_us = file("period")?;
    Some(Budget {
        runtime_us: period_us - file("runtime")?,
        period_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> FairServer {
        let dir = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        fair_server(&SysRoot::at(dir.path()), Some(1))
    }

    #[test]
    fn the_release_says_whether_there_is_one() {
        const OSRELEASE: &str = "proc/sys/kernel/osrelease";
        assert_eq!(
            machine(&[(OSRELEASE, "6.1.0-18-amd64\n")]),
            FairServer::Absent
        );
        assert_eq!(machine(&[(OSRELEASE, "6.18.44-fc\n")]), FairServer::Assumed);
        assert_eq!(machine(&[(OSRELEASE, "7.0\n")]), FairServer::Assumed);
        assert_eq!(machine(&[]), FairServer::Unknown);
    }

    #[test]
    fn debugfs_says_what_it_takes() {
        let dir = "sys/kernel/debug/sched/fair_server/cpu1";
        let (runtime, period) = (format!("{dir}/runtime"), format!("{dir}/period"));
        let known = machine(&[(&runtime, "30000000\n"), (&period, "1000000000\n")]);
        let budget = Budget {
            runtime_us: 970_000,
            period_us: 1_000_000,
        };
        assert_eq!(known, FairServer::Known(budget));
        let off = machine(&[(&runtime, "0\n"), (&period, "1000000000\n")]);
        assert!(matches!(off, FairServer::Known(budget) if budget.is_open()));
    }
}
