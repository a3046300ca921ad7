// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a process and all that it has started have used, as /proc shows it.

use punctual_model::Nanos;
use punctual_sys::proc::{below, stat_number};
use punctual_sys::{SysRoot, process};

/// A clock tick of /proc: 10 ms, because `USER_HZ` is 100 (time(7)).
const TICK: Nanos = Nanos::from_millis(10);

/// Returns the CPU time that everything below `root` has used, as far as it was waited for or goes
/// on: a process whose parent does not wait for it (`SIGCHLD` is ignored) takes its time along.
pub(super) fn cpu_time(sys: &SysRoot, root: u32) -> Nanos {
    let below = below(sys, root);
    let own = below.iter().filter_map(|pid| process::cpu_time(*pid));
    let of_children = std::iter::once(&root).chain(&below);
    let of_children = of_children.filter_map(|pid| time_of_children(sys, *pid));
    own.chain(of_children).fold(Nanos::ZERO, |sum, t| sum + t)
}

/// Returns the CPU time of the children that `pid` has waited for, and of theirs.
fn time_of_children(sys: &SysRoot, pid: u32) -> Option<Nanos> {
    let ticks = stat_number::<u64>(sys, pid, 16)? + stat_number::<u64>(sys, pid, 17)?;
    Some(TICK.times(ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn time_of_children_is_in_ticks_behind_a_name_with_parentheses() {
        let dir = tempfile::tempdir().unwrap();
        let stat = "5000000 (a) b) S 1 1 1 0 -1 0 0 0 0 0 5 6 3 1 20 0 1 0 7 0";
        let place = dir.path().join("proc/5000000");
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join("stat"), stat).unwrap();
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
        let ended = Instant::now() + Duration::from_secs(1_800);
        assert!(below(&sys, me).contains(&child.id()));
        while cpu_time(&sys, me) < Nanos::from_millis(10) {
            assert!(Instant::now() < ended, "{}", cpu_time(&sys, me));
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
