// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A process and all that it has started, as /proc shows them.

use punctual_model::Nanos;
use punctual_sys::{SysRoot, process};

/// A clock tick of /proc: 10 ms, because `USER_HZ` is 100 (time(7)).
const TICK: Nanos = Nanos::from_millis(10);

/// Returns the processes below `root`, parents before their children.
pub(super) fn below(sys: &SysRoot, root: u32) -> Vec<u32> {
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

/// Returns the CPU time that everything below `root` has used, as far as it was waited for or goes
/// on: a process whose parent does not wait for it (`SIGCHLD` is ignored) takes its time along.
pub(super) fn cpu_time(sys: &SysRoot, root: u32) -> Nanos {
    let below = below(sys, root);
    let own = below.iter().filter_map(|pid| process::cpu_time(*pid));
    let of_children = std::iter::once(&root).chain(&below);
    let of_children = of_children.filter_map(|pid| time_of_children(sys, *pid));
    own.chain(of_children).fold(Nanos::ZERO, |sum, t| sum + t)
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

fn children_by_parent(sys: &SysRoot, parent: u32) -> Vec<u32> {
    let names = sys.names("/proc").unwrap_or_default();
    let pids = names.iter().filter_map(|name| name.parse::<u32>().ok());
    let is_child = |pid: &u32| stat_field(sys, *pid, 4) == Some(parent.into());
    pids.filter(is_child).collect()
}

/// Returns the CPU time of the children that `pid` has waited for, and of theirs.
fn time_of_children(sys: &SysRoot, pid: u32) -> Option<Nanos> {
    let ticks = stat_field(sys, pid, 16)? + stat_field(sys, pid, 17)?;
    Some(TICK.times(ticks))
}

/// Reads field `number` of a process's `stat` (proc(5)).
fn stat_field(sys: &SysRoot, pid: u32, number: usize) -> Option<u64> {
    let stat = sys.read(&format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may hold blanks and parentheses: fields count from behind it.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(number - 3)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::path::Path;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    /// Writes a process of a captured /proc: its parent, the time of its children, its children.
    fn write(root: &Path, pid: u32, parent: u32, ticks: u64, children: Option<&str>) {
        let dir = root.join(format!("proc/{pid}/task/{pid}"));
        std::fs::create_dir_all(&dir).unwrap();
        let stat = format!("{pid} (a) b) S {parent} 1 1 0 -1 0 0 0 0 0 5 6 {ticks} 1 20 0 1 0 7 0");
        std::fs::write(root.join(format!("proc/{pid}/stat")), stat).unwrap();
        if let Some(children) = children {
            std::fs::write(dir.join("children"), children).unwrap();
        }
    }

    #[test]
    fn all_below_a_process_are_found_with_and_without_lists_of_children() {
        for listed in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let list = |children| listed.then_some(children);
            write(dir.path(), 10, 1, 0, list("11 12 "));
            write(dir.path(), 11, 10, 0, list("13 "));
            write(dir.path(), 12, 10, 0, list(""));
            write(dir.path(), 13, 11, 0, list(""));
            write(dir.path(), 14, 1, 0, list(""));
            assert_eq!(below(&SysRoot::at(dir.path()), 10), [11, 12, 13]);
            assert_eq!(below(&SysRoot::at(dir.path()), 14), Vec::<u32>::new());
        }
    }

    #[test]
    fn time_of_children_is_in_ticks_behind_a_name_with_parentheses() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 5_000_000, 1, 3, Some(""));
        let sys = SysRoot::at(dir.path());
        assert_eq!(cpu_time(&sys, 5_000_000), Nanos::from_millis(40));
    }

    #[test]
    fn the_time_of_children_that_have_ended_counts_too() {
        let script = "sh -c 'n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done'; echo; read -r end";
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        let sys = SysRoot::live();
        let me = std::process::id();
        let ended = Instant::now() + Duration::from_secs(10);
        assert!(below(&sys, me).contains(&child.id()));
        while cpu_time(&sys, me) < Nanos::from_millis(10) {
            assert!(Instant::now() < ended, "{}", cpu_time(&sys, me));
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
