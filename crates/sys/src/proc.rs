// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Processes and threads as `/proc` shows them: their `stat` files, and which one started which; memory; and
//! the release of the kernel.

use std::str::FromStr;

use crate::SysRoot;

/// Returns the processes below `root`, parents before their children.
pub fn below(sys: &SysRoot, root: u32) -> Vec<u32> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(pid) = found.get(next).copied() {
        next += 1;
        for child in children(sys, pid) {
            if !found.contains(&child) {
                found.push(child);
            }
        }
    }
    found.split_off(1)
}

/// Returns the value of a line `key: value` of a status file (proc_pid_status(5)).
pub fn status<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))
        .map(str::trim)
}

/// Whether this process is in another user namespace than the first one. False where its map of users cannot be read.
pub fn is_in_user_namespace(sys: &SysRoot) -> bool {
    let map = sys.read("/proc/self/uid_map").unwrap_or_default();
    is_of_user_namespace(&map)
}

/// Whether a `uid_map` is of another user namespace than the first one: only there every user has a number. Capabilities do
/// not count for real-time scheduling and locked memory elsewhere (user_namespaces(7)). An empty one is of none.
pub fn is_of_user_namespace(uid_map: &str) -> bool {
    let mut words = uid_map.split_whitespace().peekable();
    words.peek().is_some() && !words.eq(["0", "0", "4294967295"])
}

/// A line of `/proc/PID/stat` or `/proc/PID/task/TID/stat` (proc_pid_stat(5)).
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stat<'a> {
    /// Number of the process or thread.
    pub id: u32,
    /// Its name, at most 15 bytes of a user's, up to 63 of a kernel's worker. It may hold blanks and
    /// parentheses.
    pub name: &'a str,
    fields: Vec<&'a str>,
}

impl<'a> Stat<'a> {
    /// Takes a line apart.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (head, rest) = line.rsplit_once(')')?;
        let (id, name) = head.split_once('(')?;
        Some(Self {
            id: id.trim().parse().ok()?,
            name,
            fields: rest.split_whitespace().collect(),
        })
    }

    /// Returns field `number` as the manual page counts them, from 3 (the state) on.
    pub fn field(&self, number: usize) -> Option<&'a str> {
        self.fields.get(number.checked_sub(3)?).copied()
    }

    /// Returns field `number` as a number.
    pub fn number<T: FromStr>(&self, number: usize) -> Option<T> {
        self.field(number)?.parse().ok()
    }
}

/// Reads a number from the `stat` of a process; none once it is gone.
pub fn stat_number<T: FromStr>(sys: &SysRoot, pid: u32, number: usize) -> Option<T> {
    let stat = sys.read_lossy(&format!("/proc/{pid}/stat")).ok()?;
    Stat::parse(&stat)?.number(number)
}

/// Returns the numbers that are names below `dir`: the processes of `/proc`, the threads of a `task` directory.
pub fn numbers(sys: &SysRoot, dir: &str) -> impl Iterator<Item = u32> + use<> {
    let names = sys.names(dir).unwrap_or_default();
    names.into_iter().filter_map(|name| name.parse().ok())
}

/// Returns the processes that call themselves `name`, lowest number first, without this one.
pub fn named(sys: &SysRoot, name: &str) -> Vec<u32> {
    let own = std::process::id();
    let is_named = |pid: &u32| {
        let is_own = *pid == own && sys.is_live();
        !is_own
            && sys
                .read_lossy(&format!("/proc/{pid}/comm"))
                .is_ok_and(|comm| comm == name)
    };
    let mut named: Vec<u32> = numbers(sys, "/proc").filter(is_named).collect();
    named.sort_unstable();
    named
}

/// Returns the parent of a process; none once it is gone.
pub fn parent(sys: &SysRoot, pid: u32) -> Option<u32> {
    stat_number(sys, pid, 4)
}

/// Returns what stands behind `name` in a text such as that of `/proc/meminfo`, in KiB.
pub fn kib(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.trim_start().strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns the first two numbers of a kernel's release, such as `6.12.9-rt8`.
pub fn release_numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

fn children(sys: &SysRoot, pid: u32) -> Vec<u32> {
    let tasks = format!("/proc/{pid}/task");
    let mut children = Vec::new();
    let mut listed = false;
    for task in sys.names(&tasks).unwrap_or_default() {
        // Needs CONFIG_PROC_CHILDREN.
        if let Ok(text) = sys.read(&format!("{tasks}/{task}/children")) {
            listed = true;
            children.extend(
                text.split_whitespace()
                    .filter_map(|n| n.parse::<u32>().ok()),
            );
        }
    }
    match listed {
        true => children,
        false => children_by_parent(sys, pid),
    }
}

fn children_by_parent(sys: &SysRoot, of: u32) -> Vec<u32> {
    let pids = numbers(sys, "/proc");
    pids.filter(|pid| parent(sys, *pid) == Some(of)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Writes a process of a captured /proc: its parent and its children.
    fn write(root: &Path, pid: u32, parent: u32, children: Option<&str>) {
        let dir = root.join(format!("proc/{pid}/task/{pid}"));
        std::fs::create_dir_all(&dir).unwrap();
        let stat = format!("{pid} (a) b) S {parent} 1 1 0 -1 0 0 0 0 0 5 6 3 1 20 0 1 0 7 0");
        std::fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
        if let Some(children) = children {
            std::fs::write(dir.join("children"), children).unwrap();
        }
    }

    #[test]
    fn the_first_user_namespace_maps_every_id_to_itself() {
        assert!(!is_of_user_namespace("         0          0 4294967295\n"));
        assert!(is_of_user_namespace("         0       1000          1\n"));
        assert!(is_of_user_namespace("0 0 1\n"));
        assert!(!is_of_user_namespace(""));
    }

    #[test]
    fn all_below_a_process_are_found_with_and_without_lists_of_children() {
        for listed in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let list = |children| listed.then_some(children);
            write(dir.path(), 10, 1, list("11 12 "));
            write(dir.path(), 11, 10, list("13 "));
            write(dir.path(), 12, 10, list(""));
            write(dir.path(), 13, 11, list(""));
            write(dir.path(), 14, 1, list(""));
            let sys = SysRoot::at(dir.path());
            assert_eq!(below(&sys, 10), [11, 12, 13]);
            assert_eq!(below(&sys, 14), Vec::<u32>::new());
            assert_eq!((parent(&sys, 13), parent(&sys, 15)), (Some(11), None));
        }
    }

    #[test]
    fn processes_are_found_by_their_whole_name() {
        let dir = tempfile::tempdir().unwrap();
        for (pid, name) in [(20, "loop\n"), (9, "loop\n"), (10, "loops\n"), (11, "\n")] {
            write(dir.path(), pid, 1, None);
            std::fs::write(dir.path().join(format!("proc/{pid}/comm")), name).unwrap();
        }
        let sys = SysRoot::at(dir.path());
        assert_eq!(named(&sys, "loop"), [9, 20]);
        assert_eq!(named(&sys, "nobody"), Vec::<u32>::new());
        // Without a file of its own a process has no name, for any reader.
        let own = named(&SysRoot::live(), "punctual-nobody");
        assert!(own.is_empty());
    }

    #[test]
    fn fields_count_from_behind_a_name_with_parentheses() {
        let stat = Stat::parse("7 (kworker/0:1-(a) b) I 2 0 0 0 -1 69238880 0 0").unwrap();
        assert_eq!((stat.id, stat.name), (7, "kworker/0:1-(a) b"));
        assert_eq!((stat.field(3), stat.number(4)), (Some("I"), Some(2)));
        assert_eq!(Stat::parse("7"), None);
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 10, 1, None);
        let sys = SysRoot::at(dir.path());
        assert_eq!(
            [2, 3, 4, 16, 99].map(|number| stat_number::<u64>(&sys, 10, number)),
            [None, None, Some(1), Some(3), None]
        );
    }
}
