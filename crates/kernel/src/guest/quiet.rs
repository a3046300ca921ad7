// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a guest's kernel is quiet: what else than the measurement ran.
//!
//! A kernel goes on working after its first process has started: it tests its ciphers (`cryptomgr_test`), frees what only
//! the boot needed, finds devices. A measurement meanwhile measures that. So the agent compares two [`Census`] a short
//! sleep apart until nothing of weight ran in between, before each measurement and after it.
//!
//! CPU times are the processes' CPU clocks (clock_getres(2), "dynamic clocks"), which are exact, unlike the ticks of
//! `/proc/PID/stat`. A thread that began and ended between two looks leaves no clock; the number of tasks that were ever
//! started (`processes` in `/proc/stat`, proc_stat(5)) counts it.

use std::collections::BTreeMap;

use punctual_model::{Clock, Gathered as _, Nanos, Ordered as _};
use punctual_sys::proc::Stat;
use punctual_sys::{SysRoot, clock, process};
use serde::{Deserialize, Serialize};

/// The process that all kernel threads are children of.
const KTHREADD: u32 = 2;

/// What of a guest's time may be used by others while it is quiet.
const QUIET_SHARE: f64 = 0.02;

/// Most names that are shown.
const NAMES: usize = 5;

/// What each process of a guest, but for this one, had used of the CPU at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    at_ns: u64,
    started: u64,
    processes: BTreeMap<u32, Process>,
}

#[derive(Clone, Debug, PartialEq)]
struct Process {
    name: String,
    kernel: bool,
    cpu_ns: u64,
}

impl Census {
    /// Takes it of a running system.
    pub fn take(sys: &SysRoot) -> Self {
        let ours = std::process::id();
        let names = sys.names("/proc").unwrap_or_default();
        let pids = names.iter().filter_map(|name| name.parse().ok());
        let processes = pids.filter(|pid| *pid != ours).filter_map(|pid| {
            let text = sys.read(&format!("/proc/{pid}/stat")).ok()?;
            let stat = Stat::parse(&text)?;
            let process = Process {
                name: stat.name.to_owned(),
                kernel: stat.number(4) == Some(KTHREADD) || pid == KTHREADD,
                cpu_ns: process::cpu_time(pid)?.get(),
            };
            Some((pid, process))
        });
        Self {
            processes: processes.into_map(),
            started: started(&sys.read("/proc/stat").unwrap_or_default()),
            at_ns: clock::read(Clock::Monotonic).get(),
        }
    }

    /// Returns what ran from `earlier` to this moment: all of it, or the kernel's threads alone.
    pub fn since(&self, earlier: &Self, of: Of) -> Activity {
        let grown = self.processes.iter().filter_map(|(pid, now)| {
            let before = earlier.processes.get(pid).map_or(0, |then| then.cpu_ns);
            let grown = now.cpu_ns.saturating_sub(before);
            (grown > 0 && (of == Of::All || now.kernel)).then_some((&now.name, grown))
        });
        let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, grown) in grown {
            *by_name.entry(name).or_default() += grown;
        }
        let mut ran: Vec<Ran> = by_name
            .into_iter()
            .map(|(name, cpu)| Ran {
                name: name.to_owned(),
                cpu_ns: Nanos::new(cpu),
            })
            .collect();
        ran.order_by(|a, b| b.cpu_ns.cmp(&a.cpu_ns).then_with(|| a.name.cmp(&b.name)));
        let cpu = ran.iter().map(|ran| ran.cpu_ns.get()).sum();
        ran.truncate(NAMES);
        let gone = earlier.processes.keys();
        let gone = gone.filter(|pid| !self.processes.contains_key(pid)).count();
        let threads = self.processes.values().filter(|process| process.kernel);
        Activity {
            window_ns: Nanos::new(self.at_ns.saturating_sub(earlier.at_ns)),
            cpu_ns: Nanos::new(cpu),
            started: self.started.saturating_sub(earlier.started),
            ended: gone as u64,
            threads: threads.count() as u64,
            ran,
        }
    }
}

/// Whose time counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Of {
    /// That of every process but this one.
    All,
    /// That of the kernel's threads.
    Kernel,
}

/// What ran in a time.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Activity {
    /// The time.
    pub window_ns: Nanos,
    /// CPU time that others used in it.
    pub cpu_ns: Nanos,
    /// Tasks that were started in it.
    pub started: u64,
    /// Processes that were there before it and not after it.
    pub ended: u64,
    /// Kernel threads that were looked at. Without any, nothing is known.
    pub threads: u64,
    /// Who ran, the longest first.
    pub ran: Vec<Ran>,
}

/// A process or kernel thread that ran.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Ran {
    /// Its name.
    pub name: String,
    /// The CPU time that it used.
    pub cpu_ns: Nanos,
}

impl Activity {
    /// Whether nothing of weight ran, and nothing was started or ended.
    pub fn is_quiet(&self) -> bool {
        self.is_known() && self.started == 0 && self.ended == 0 && self.share() <= QUIET_SHARE
    }

    /// Whether there is evidence at all.
    pub const fn is_known(&self) -> bool {
        self.threads > 0 && !self.window_ns.is_zero()
    }

    /// Returns the part of a CPU that was used.
    pub fn share(&self) -> f64 {
        part(self.cpu_ns, self.window_ns)
    }

    /// Says who ran, by name: `cryptomgr_test 61.0 %, 4 tasks started`.
    pub fn named(&self) -> String {
        let ran = self.ran.iter().map(|ran| {
            let share = 100.0 * part(ran.cpu_ns, self.window_ns);
            format!("{} {share:.1} %", ran.name)
        });
        let tasks = [(self.started, "started"), (self.ended, "ended")];
        let tasks = tasks.into_iter().filter(|(count, _)| *count > 0);
        let tasks = tasks.map(|(count, what)| match count {
            1 => format!("1 task {what}"),
            more => format!("{more} tasks {what}"),
        });
        let words: Vec<String> = ran.chain(tasks).collect();
        match words.is_empty() {
            true => "nothing ran".to_owned(),
            false => words.join(", "),
        }
    }
}

/// The looks around a measurement.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Quiet {
    /// The last look before it.
    pub before: Activity,
    /// What the kernel's threads did meanwhile.
    pub during: Activity,
    /// The last look after it.
    pub after: Activity,
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
fn part(of: Nanos, whole: Nanos) -> f64 {
    of.get() as f64 / (whole.get() as f64).max(1.0)
}

/// Takes the number of tasks that were ever started from `/proc/stat`.
fn started(text: &str) -> u64 {
    let lines = text.lines();
    let mut found = lines.filter_map(|line| line.strip_prefix("processes ")?.trim().parse().ok());
    found.next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn census(at_ns: u64, started: u64, processes: &[(u32, &str, bool, u64)]) -> Census {
        let processes = processes.iter().map(|(pid, name, kernel, cpu_ns)| {
            let process = Process {
                name: (*name).to_owned(),
                kernel: *kernel,
                cpu_ns: *cpu_ns,
            };
            (*pid, process)
        });
        Census {
            at_ns,
            started,
            processes: processes.collect(),
        }
    }

    #[test]
    fn a_kernel_that_tests_its_ciphers_is_not_quiet_and_the_thread_is_named() {
        let before = census(0, 9, &[(15, "rcu_preempt", true, 100)]);
        let now = [
            (15, "rcu_preempt", true, 1_100),
            (70, "cryptomgr_test", true, 680_000),
        ];
        let busy = census(1_000_000, 9, &now).since(&before, Of::All);
        assert!(!busy.is_quiet());
        assert_eq!(busy.named(), "cryptomgr_test 68.0 %, rcu_preempt 0.1 %");
        let quiet = census(1_000_000, 9, &now[..1]).since(&before, Of::All);
        assert!(quiet.is_quiet(), "{quiet:?}");
    }

    #[test]
    fn a_thread_that_came_and_went_between_two_looks_is_counted() {
        let idle = (15, "rcu_preempt", true, 100);
        let test = (70, "cryptomgr_test", true, 5);
        let before = census(0, 9, &[idle, test]);
        let activity = census(1_000_000, 12, &[idle]).since(&before, Of::All);
        assert!(!activity.is_quiet());
        assert_eq!(activity.named(), "3 tasks started, 1 task ended");
    }

    #[test]
    fn what_cannot_be_seen_is_not_quiet() {
        assert!(!Activity::default().is_quiet());
        let blind = census(1_000_000, 0, &[]).since(&Census::default(), Of::All);
        assert!(!blind.is_known() && !blind.is_quiet());
    }

    #[test]
    fn the_kernels_threads_are_told_from_a_measurement() {
        let now = [(2, "kthreadd", true, 10), (90, "punctual", false, 900_000)];
        let activity = census(1_000_000, 3, &now).since(&Census::default(), Of::Kernel);
        assert_eq!((activity.cpu_ns.get(), activity.ran.len()), (10, 1));
    }

    #[test]
    fn kernel_files_are_read() {
        assert_eq!(started("cpu 1 2\nprocesses 4711\nprocs_running 1\n"), 4_711);
        let live = Census::take(&SysRoot::live());
        assert!(!live.processes.contains_key(&std::process::id()));
        assert!(live.started > 0 && live.at_ns > 0);
    }
}
