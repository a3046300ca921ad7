// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every thread of the machine, as `/proc` shows it (proc(5)).

use punctual_model::{CpuId, CpuSet};
use punctual_sys::SysRoot;
use punctual_sys::proc::Stat;

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
        Self::parse(&sys.read(path).ok()?)
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
