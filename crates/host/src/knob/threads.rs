// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The threads of a machine, as `/proc` shows them.

use punctual_model::{CpuSet, Policy, ThreadId};
use punctual_sys::SysRoot;
use punctual_sys::proc::Stat;

/// Flag of a kernel thread (`PF_KTHREAD` in include/linux/sched.h).
const KERNEL: u64 = 0x0020_0000;
/// Flag of a thread whose CPUs may not be changed from outside (`PF_NO_SETAFFINITY`).
const FIXED: u64 = 0x0400_0000;

/// What is known of a thread.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Thread {
    /// Which one.
    pub id: ThreadId,
    /// Its process.
    pub process: i32,
    /// The process that started that.
    pub parent: i32,
    /// Whether it is the kernel's own.
    pub kernel: bool,
    /// Whether its CPUs cannot be changed.
    pub fixed: bool,
    /// Whether it runs, or waits for a CPU.
    pub runnable: bool,
    /// The CPU that it ran on last.
    pub last_cpu: u32,
    /// CPUs that it may run on.
    pub cpus: CpuSet,
    /// Its scheduling policy. None where this program cannot read the policy.
    pub policy: Option<Policy>,
}

impl Thread {
    /// Returns the interrupt that this thread serves, if it does: threads of interrupts are called
    /// `irq/24-name`.
    pub fn irq(&self) -> Option<u32> {
        let rest = self.id.name.strip_prefix("irq/")?;
        let digits = rest.split_once('-').map_or(rest, |(digits, _)| digits);
        digits.parse().ok().filter(|_| self.kernel)
    }
}

/// Lists all threads. One that ends meanwhile is not listed.
pub fn list(sys: &SysRoot) -> Vec<Thread> {
    let numbers = |path: &str| -> Vec<i32> {
        // A process that ended has no threads any more.
        let names = sys.names(path).unwrap_or_default();
        let mut numbers: Vec<i32> = names.iter().filter_map(|name| name.parse().ok()).collect();
        numbers.sort_unstable();
        numbers
    };
    numbers("/proc")
        .into_iter()
        .flat_map(|process| {
            let tasks = numbers(&format!("/proc/{process}/task"));
            tasks.into_iter().map(move |tid| (process, tid))
        })
        .filter_map(|(process, tid)| read_in(sys, process, tid))
        .collect()
}

/// Reads one thread, or `None` where no thread has that number, or only what its parent has not
/// asked for yet.
pub fn read(sys: &SysRoot, tid: i32) -> Option<Thread> {
    // A thread is found under its own number too, though it is not listed there.
    let status = sys.read_lossy(&format!("/proc/{tid}/status")).ok()?;
    if field(&status, "State").is_some_and(|state| state.starts_with(['Z', 'X'])) {
        return None;
    }
    let process = field(&status, "Tgid")?.parse().ok()?;
    read_in(sys, process, tid)
}

fn read_in(sys: &SysRoot, process: i32, tid: i32) -> Option<Thread> {
    let task = format!("/proc/{process}/task/{tid}");
    let stat = sys.read_lossy(&format!("{task}/stat")).ok()?;
    let status = sys.read_lossy(&format!("{task}/status")).ok()?;
    parse(process, tid, &stat, &status)
}

/// Parses `stat` and `status` of a thread (proc(5)).
fn parse(process: i32, tid: i32, stat: &str, status: &str) -> Option<Thread> {
    let stat = Stat::parse(stat)?;
    let flags: u64 = stat.number(9)?;
    Some(Thread {
        id: ThreadId {
            tid,
            started_ticks: stat.number(22)?,
            name: stat.name.to_owned(),
        },
        process,
        parent: stat.number(4)?,
        kernel: flags & KERNEL != 0,
        fixed: flags & FIXED != 0,
        runnable: stat.field(3)? == "R",
        last_cpu: stat.number(39)?,
        cpus: field(status, "Cpus_allowed_list")?.parse().ok()?,
        policy: policy(stat.field(41)?, stat.field(40)?, stat.field(19)?),
    })
}

/// Builds a policy from its number (sched(7)), the priority and the niceness.
fn policy(number: &str, priority: &str, nice: &str) -> Option<Policy> {
    match number {
        "0" => nice.parse().ok().map(|nice| Policy::Other { nice }),
        "1" => priority
            .parse()
            .ok()
            .map(|priority| Policy::Fifo { priority }),
        "2" => priority
            .parse()
            .ok()
            .map(|priority| Policy::RoundRobin { priority }),
        "3" => Some(Policy::Batch),
        "5" => Some(Policy::Idle),
        "7" => Some(Policy::Ext),
        _ => None,
    }
}

fn field<'a>(status: &'a str, key: &str) -> Option<&'a str> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_has_ended_is_gone_though_nobody_asked_how() {
        let sys = SysRoot::live();
        let mut child = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = i32::try_from(child.id()).unwrap();
        assert!(read(&sys, pid).is_some());
        child.kill().unwrap();
        let end = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while read(&sys, pid).is_some() && std::time::Instant::now() < end {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(read(&sys, pid).is_none());
        assert!(
            sys.exists(&format!("/proc/{pid}/status")),
            "nobody has asked yet"
        );
        child.wait().unwrap();
    }

    const STATUS: &str = "Name:\tx\nTgid:\t7\nCpus_allowed:\tf\nCpus_allowed_list:\t0-3\n";

    fn stat(name: &str, flags: u64, policy: &str) -> String {
        let zeros = "0 ".repeat(9);
        format!(
            "9 ({name}) R 1 9 9 0 -1 {flags} {zeros}-5 1 0 1234 {}2 50 {policy} 0",
            "0 ".repeat(16)
        )
    }

    #[test]
    fn a_thread_is_read_whatever_its_name() {
        let thread = parse(7, 9, &stat("a) b (c", 0x40_0140, "0"), STATUS).unwrap();
        assert_eq!(thread.id.name, "a) b (c");
        assert_eq!(thread.id.started_ticks, 1234);
        assert_eq!(thread.policy, Some(Policy::Other { nice: -5 }));
        assert_eq!(thread.cpus.to_string(), "0-3");
        assert_eq!((thread.parent, thread.last_cpu), (1, 2));
        assert!(thread.runnable && !thread.kernel && !thread.fixed);
    }

    #[test]
    fn a_thread_whose_name_is_cut_in_a_letter_is_listed() {
        let dir = tempfile::tempdir().unwrap();
        let task = dir.path().join("proc/7/task/7");
        std::fs::create_dir_all(&task).unwrap();
        // The first byte of two.
        let cut = |text: String| {
            let bytes = text.into_bytes().into_iter();
            let bytes = bytes.map(|byte| if byte == b'?' { 0xc3 } else { byte });
            bytes.collect::<Vec<u8>>()
        };
        let status = cut(STATUS.replace("Name:\tx", "Name:\ta?"));
        std::fs::write(task.join("stat"), cut(stat("a?", 0, "0"))).unwrap();
        std::fs::write(task.join("status"), &status).unwrap();
        std::fs::write(dir.path().join("proc/7/status"), status).unwrap();
        let sys = SysRoot::at(dir.path());
        let all = list(&sys);
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].id.name, "a\u{fffd}");
        assert_eq!(read(&sys, 7).unwrap(), all[0]);
    }

    #[test]
    fn a_thread_of_an_interrupt_is_told() {
        let thread = parse(7, 9, &stat("irq/24-nvme0q1", KERNEL, "1"), STATUS).unwrap();
        assert_eq!(thread.irq(), Some(24));
        assert_eq!(thread.policy, Some(Policy::Fifo { priority: 50 }));
        let program = parse(7, 9, &stat("irq/24-nvme0q1", 0, "1"), STATUS).unwrap();
        assert_eq!(program.irq(), None);
    }

    #[test]
    fn our_own_threads_are_listed_on_this_machine() {
        let sys = SysRoot::live();
        let own = i32::try_from(std::process::id()).unwrap();
        let threads = list(&sys);
        let ours = threads.iter().find(|thread| thread.id.tid == own).unwrap();
        assert_eq!(ours.process, own);
        assert_eq!(read(&sys, own).unwrap().id, ours.id);
        assert!(!ours.kernel);
    }

    #[test]
    fn what_is_no_thread_is_none() {
        assert_eq!(parse(1, 1, "", ""), None);
        assert_eq!(parse(1, 1, "1 (x) R", STATUS), None);
        assert_eq!(read(&SysRoot::live(), i32::MAX), None);
    }
}
