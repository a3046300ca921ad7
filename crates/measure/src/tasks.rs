// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every thread of the machine, as `/proc` shows it (proc(5)).

use std::os::unix::fs::MetadataExt as _;

use punctual_model::{CpuId, CpuSet, Policy};
use punctual_sys::proc::Stat;
use punctual_sys::{SysRoot, sched};

/// What matters here of a thread's `stat` file.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Task {
    /// The kernel's number of the thread.
    pub(crate) id: u32,
    /// Its name, of at most 15 bytes.
    pub(crate) name: String,
    /// `R` runs or wants to, `S` sleeps, and so on.
    pub(crate) state: char,
    /// Threads of its process.
    threads: u32,
    /// CPU that it last ran on.
    pub(crate) cpu: CpuId,
    policy: u32,
    /// User plus system time, in clock ticks.
    pub(crate) ticks: u64,
}

impl Task {
    fn read(sys: &SysRoot, path: &str) -> Option<Self> {
        Self::parse(&sys.read_lossy(path).ok()?)
    }

    /// Parses a line of `stat`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let stat = Stat::parse(line)?;
        let ticks = |n| stat.number::<u64>(n);
        Some(Self {
            id: stat.id,
            name: stat.name.to_owned(),
            state: stat.field(3)?.chars().next()?,
            threads: stat.number(20)?,
            cpu: stat.number(39)?,
            policy: stat.number(41)?,
            ticks: ticks(14)?.saturating_add(ticks(15)?),
        })
    }

    /// Whether it runs before every ordinary thread.
    pub(crate) const fn is_real_time(&self) -> bool {
        // SCHED_FIFO 1, SCHED_RR 2, SCHED_DEADLINE 6.
        matches!(self.policy, 1 | 2 | 6)
    }

    /// Whether it shares the time that real-time threads leave: `SCHED_OTHER`, `BATCH`, `IDLE`.
    pub(crate) const fn is_ordinary(&self) -> bool {
        matches!(self.policy, 0 | 3 | 5)
    }

    /// Whether it runs or wants to.
    pub(crate) const fn is_runnable(&self) -> bool {
        self.state == 'R'
    }

    /// Reads which CPUs it may run on.
    pub(crate) fn allowed(&self, sys: &SysRoot) -> Option<CpuSet> {
        // Also the numbers of threads that are not first in their process are found there,
        // although they are not listed.
        let status = sys.read(&format!("/proc/{}/status", self.id)).ok()?;
        field_of(&status, "Cpus_allowed_list")?.parse().ok()
    }
}

/// Returns a field of a `status` file.
pub(crate) fn field_of<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    let value = |line: &'a str| line.strip_prefix(key)?.strip_prefix(':');
    Some(status.lines().find_map(value)?.trim())
}

/// Calls `see` for every thread that there is. Those that end meanwhile may be missing.
pub(crate) fn each(sys: &SysRoot, mut see: impl FnMut(&Task)) {
    for process in numbers(sys, "/proc") {
        let main = Task::read(sys, &format!("/proc/{process}/stat"));
        // Most processes have one thread: one file to read, and no directory.
        if let Some(main) = main.filter(|main| main.threads == 1) {
            see(&main);
            continue;
        }
        let tasks = format!("/proc/{process}/task");
        for task in numbers(sys, &tasks) {
            if let Some(task) = Task::read(sys, &format!("{tasks}/{task}/stat")) {
                see(&task);
            }
        }
    }
}

/// Calls `see` for every real-time thread that there is. Those that end meanwhile may be missing.
///
/// Their `stat` files alone are read: the kernel takes ten times as long to write one as to say a thread's policy, and most threads are
/// ordinary ones.
pub(crate) fn each_real_time(sys: &SysRoot, mut see: impl FnMut(&Task)) {
    if !numbers_are_ours(sys) {
        each(sys, |task| {
            if task.is_real_time() {
                see(task);
            }
        });
        return;
    }
    for process in numbers(sys, "/proc") {
        let tasks = format!("/proc/{process}/task");
        // A directory has two links, and one for each thread's.
        let links = std::fs::metadata(sys.full(&tasks)).map(|dir| dir.nlink());
        let threads = match links {
            Ok(3) => vec![process],
            _ => numbers(sys, &tasks),
        };
        for thread in threads
            .into_iter()
            .filter(|thread| may_be_real_time(*thread))
        {
            let task = Task::read(sys, &format!("{tasks}/{thread}/stat"));
            if let Some(task) = task.filter(Task::is_real_time) {
                see(&task);
            }
        }
    }
}

/// Whether the numbers in `/proc` are those of this process's own calls, and not of a captured tree or of another namespace of processes.
fn numbers_are_ours(sys: &SysRoot) -> bool {
    let own = std::fs::read_link(sys.full("/proc/self")).ok();
    let own = own.and_then(|own| own.to_str()?.parse().ok());
    sys.is_live() && own == Some(std::process::id())
}

/// Whether a thread is a real-time thread, or that cannot be asked.
fn may_be_real_time(thread: u32) -> bool {
    sched::policy_of(thread.cast_signed()).map_or(true, Policy::is_real_time)
}

fn numbers(sys: &SysRoot, path: &str) -> Vec<u32> {
    let names = sys.names(path).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line of `stat` with these fields, numbered as in proc(5).
    fn line(fields: &[(usize, &str)]) -> String {
        let mut all = vec!["0"; 50];
        all[0] = "S";
        for (number, text) in fields {
            all[number - 3] = text;
        }
        format!("12 (evil ) name) {}", all.join(" "))
    }

    #[test]
    fn stat_lines_are_read_behind_the_name() {
        let real_time = line(&[
            (3, "R"),
            (14, "7"),
            (15, "5"),
            (20, "1"),
            (39, "3"),
            (41, "1"),
        ]);
        let task = Task::parse(&real_time).unwrap();
        assert_eq!((task.id, task.name.as_str()), (12, "evil ) name"));
        assert_eq!((task.threads, task.cpu, task.ticks), (1, 3, 12));
        assert!(task.is_runnable() && task.is_real_time() && !task.is_ordinary());
        let ordinary = Task::parse(&line(&[(41, "0")])).unwrap();
        assert!(ordinary.is_ordinary() && !ordinary.is_real_time() && !ordinary.is_runnable());
        assert_eq!(Task::parse("garbage"), None);
    }

    #[test]
    fn real_time_threads_are_those_among_all_whatever_their_names_are() {
        let sys = SysRoot::live();
        let (ready, go_on) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let own = scope.spawn(|| {
                // A name of bytes that are no text, which `comm` takes as they are.
                std::fs::write("/proc/thread-self/comm", b"rt \xff\xfe)").unwrap();
                let own = punctual_sys::thread::Tid::current().get().cast_unsigned();
                let became = sched::set_policy(Policy::Fifo { priority: 1 }).is_ok();
                ready.wait();
                go_on.wait();
                became.then_some(own)
            });
            ready.wait();
            let mut found = Vec::new();
            each_real_time(&sys, |task| found.push(task.id));
            let mut among_all = Vec::new();
            each(&sys, |task| {
                if task.is_real_time() {
                    among_all.push(task.id);
                }
            });
            go_on.wait();
            // Without the privilege there is nothing to look for.
            let Some(own) = own.join().unwrap() else {
                return;
            };
            assert!(found.contains(&own) && among_all.contains(&own), "{own}");
        });
    }

    #[test]
    fn this_thread_is_among_all() {
        let own = punctual_sys::thread::Tid::current().get().cast_unsigned();
        let sys = SysRoot::live();
        let mut found = None;
        each(&sys, |task| {
            if task.id == own {
                found = Some(task.clone());
            }
        });
        let found = found.unwrap();
        assert_eq!(
            found.allowed(&sys).unwrap(),
            punctual_sys::sched::affinity().unwrap()
        );
    }
}
