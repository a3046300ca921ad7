// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a running process is set up for real-time work, without tracing it.
//!
//! The rules look at the threads with a real-time policy, or at all threads of a process that has none. Unlike a
//! machine, a process may end while it is read: then nothing is said of it.

mod cpus;
mod memory;
mod policy;
#[cfg(test)]
mod tests;

use punctual_model::{
    CpuSet, HostFacts, JudgedProcess, JudgedThread, Ordered as _, PROCESS_DIAGNOSIS_FORMAT,
    ProcessDiagnosis, Rule, RuleOutcome, Verdict,
};
use punctual_sys::SysRoot;
use punctual_sys::proc::{self, Stat, numbers};

use super::answered;
use super::case::{self, Answer, NotKnown, odd};
use super::groups::Groups;
use super::parse::{is_of_user_namespace, status};
use crate::machine::Unread;

/// A rule about a process.
type Entry = case::Entry<fn(&Subject<'_>) -> Answer>;

fn all() -> impl Iterator<Item = &'static Entry> {
    [policy::RULES, memory::RULES, cpus::RULES]
        .into_iter()
        .flatten()
}

/// Returns every rule about processes, in the order of the documentation.
pub fn process_rules() -> Vec<Rule> {
    all().map(Entry::rule).collect()
}

/// Which processes are judged.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Processes {
    /// One, by its number or that of one of its threads.
    Pid(u32),
    /// All that call themselves this.
    Named(String),
}

/// There is no process to judge.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum NoProcess {
    /// Nobody has this number.
    #[error("--pid {0}: there is no such process, or /proc does not show it to this user")]
    Missing(u32),
    /// It ended meanwhile.
    #[error("--pid {0}: the process ended while it was judged")]
    Ended(u32),
    /// Nobody has this name.
    #[error("--comm {0}: no process has this name, or /proc does not show it to this user")]
    NoneNamed(String),
}

impl Processes {
    /// Judges these processes. `host` goes into the record as it is.
    ///
    /// # Errors
    ///
    /// Fails where there is no such process, or it has ended.
    pub fn judge(&self, sys: &SysRoot, host: HostFacts) -> Result<ProcessDiagnosis, NoProcess> {
        let pids = match self {
            Self::Pid(pid) => vec![*pid],
            Self::Named(name) => proc::named(sys, name),
        };
        let mut processes = Vec::new();
        let mut ended = None;
        for pid in pids {
            match judged(sys, pid, None) {
                Ok(process) => processes.push(process),
                Err(none) => ended = Some(none),
            }
        }
        match (processes.is_empty(), self, ended) {
            (true, Self::Named(name), _) => Err(NoProcess::NoneNamed(name.clone())),
            (true, _, Some(none)) => Err(none),
            _ => Ok(ProcessDiagnosis {
                format: PROCESS_DIAGNOSIS_FORMAT.to_owned(),
                host,
                processes,
            }),
        }
    }
}

/// Returns what is wrong with how one thread is set up; nothing once it is gone.
pub fn judge_thread(sys: &SysRoot, tid: i32) -> Vec<Verdict> {
    let Ok(tid) = u32::try_from(tid) else {
        return Vec::new();
    };
    let verdicts = judged(sys, tid, Some(tid)).map(|process| process.verdicts);
    let mut verdicts = verdicts.unwrap_or_default();
    verdicts.retain(|verdict| verdict.outcome == RuleOutcome::Found);
    verdicts
}

/// Judges a process, or of it the thread `only`.
fn judged(sys: &SysRoot, pid: u32, only: Option<u32>) -> Result<JudgedProcess, NoProcess> {
    let Ok(text) = sys.read_lossy(&format!("/proc/{pid}/status")) else {
        return Err(NoProcess::Missing(pid));
    };
    // The number may be that of any of its threads.
    let pid = status(&text, "Tgid")
        .and_then(|n| n.parse().ok())
        .unwrap_or(pid);
    let name = status(&text, "Name").unwrap_or("?").to_owned();
    let tids = numbers(sys, &format!("/proc/{pid}/task"));
    let mut threads: Vec<Thread> = tids
        .filter(|tid| only.is_none_or(|only| only == *tid))
        .filter_map(|tid| Thread::read(sys, pid, tid))
        .collect();
    threads.sort_unstable_by_key(|thread| thread.of.tid);
    let subject = Subject {
        sys,
        pid,
        threads,
        online: sys
            .fact("/sys/devices/system/cpu/online")
            .unwrap_or_default(),
    };
    let mut verdicts: Vec<Verdict> = all()
        .map(|entry| answered(entry.rule(), (entry.check)(&subject)))
        .collect();
    verdicts.order_by_key(|verdict| std::cmp::Reverse(verdict.rule.severity));
    // What was read of a process that ended meanwhile is half of one process, and may be half of another.
    if subject.threads.is_empty() || !sys.exists(&format!("/proc/{pid}/status")) {
        return Err(NoProcess::Ended(pid));
    }
    Ok(JudgedProcess {
        pid,
        name,
        threads: subject
            .threads
            .into_iter()
            .map(|thread| thread.of)
            .collect(),
        verdicts,
    })
}

/// Returns the names in a directory that are numbers.
/// One thread.
#[derive(Debug)]
struct Thread {
    of: JudgedThread,
    /// Its fixed priority, 0 if it has none.
    priority: u32,
    /// Whether it has deadlines, which come before every priority.
    has_deadlines: bool,
}

impl Thread {
    fn read(sys: &SysRoot, pid: u32, tid: u32) -> Option<Self> {
        let dir = format!("/proc/{pid}/task/{tid}");
        let text = sys.read_lossy(&format!("{dir}/stat")).ok()?;
        let stat = Stat::parse(&text)?;
        let (nice, priority): (i32, u32) = (stat.number(19)?, stat.number(40)?);
        // include/uapi/linux/sched.h
        let policy: u32 = stat.number(41)?;
        let words = match policy {
            0 => format!("SCHED_OTHER, nice {nice}"),
            1 => format!("SCHED_FIFO {priority}"),
            2 => format!("SCHED_RR {priority}"),
            3 => format!("SCHED_BATCH, nice {nice}"),
            5 => "SCHED_IDLE".to_owned(),
            6 => "SCHED_DEADLINE".to_owned(),
            7 => "SCHED_EXT".to_owned(),
            other => format!("policy {other}"),
        };
        let text = sys.read_lossy(&format!("{dir}/status")).ok()?;
        let cpus = status(&text, "Cpus_allowed_list").and_then(|list| list.parse().ok());
        Some(Self {
            of: JudgedThread {
                tid,
                name: stat.name.to_owned(),
                policy: words,
                is_real_time: matches!(policy, 1 | 2 | 6),
                cpus: cpus.unwrap_or_default(),
            },
            priority,
            has_deadlines: policy == 6,
        })
    }
}

/// A process that is judged.
#[derive(Debug)]
struct Subject<'a> {
    sys: &'a SysRoot,
    pid: u32,
    threads: Vec<Thread>,
    online: CpuSet,
}

impl Subject<'_> {
    fn real_time(&self) -> Vec<&Thread> {
        self.threads
            .iter()
            .filter(|thread| thread.of.is_real_time)
            .collect()
    }

    /// Returns the threads that the rules look at: those with a real-time policy, or all where none has one.
    fn judged(&self) -> Vec<&Thread> {
        let real_time = self.real_time();
        match real_time.is_empty() {
            true => self.threads.iter().collect(),
            false => real_time,
        }
    }

    /// Returns the path of a file of the process.
    fn file(&self, name: &str) -> String {
        format!("/proc/{}/{name}", self.pid)
    }

    /// Returns the path of a file of a thread.
    fn thread_file(&self, thread: &Thread, name: &str) -> String {
        format!("/proc/{}/task/{}/{name}", self.pid, thread.of.tid)
    }

    /// Returns the group of a controller that the process is in, and those above it.
    fn groups(&self, controller: &str) -> Result<Groups, NotKnown> {
        let text = self.read(&self.file("cgroup"))?;
        Ok(Groups::find(self.sys, &text, controller)?)
    }

    fn read(&self, path: &str) -> Result<String, NotKnown> {
        let text = self.sys.read_lossy(path);
        text.map_err(|err| NotKnown(vec![case::unread(path, &Unread::from(&err))]))
    }

    /// Whether its capabilities are those of a user namespace, which do not count.
    fn in_user_namespace(&self) -> Result<bool, NotKnown> {
        let map = self.read_if(&self.file("uid_map"))?;
        Ok(map.is_some_and(|map| is_of_user_namespace(&map)))
    }

    fn read_if(&self, path: &str) -> Result<Option<String>, NotKnown> {
        match self.sys.read_if_present(path) {
            // A file of a cgroup may be gone, or not be one of this controller's.
            Ok(text) => Ok(text),
            Err(err) => Err(NotKnown(vec![case::unread(path, &Unread::from(&err))])),
        }
    }
}

/// Names a number of threads: `1 thread`, `all 3 threads`, `2 of 3 threads`.
fn threads(some: usize, all: usize) -> String {
    match (some, all) {
        (1, 1) => "the thread".to_owned(),
        (some, all) if some == all => format!("all {all} threads"),
        (some, all) => format!("{some} of {all} threads"),
    }
}
