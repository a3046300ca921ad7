// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Namespaces of processes and of time: whose numbers of processes and starts mean the same (`pid_namespaces(7)`,
//! `time_namespaces(7)`).

use std::io;
use std::os::unix::fs::MetadataExt as _;

use crate::SysRoot;
use crate::proc::numbers;

/// The namespace of processes that a machine boots with (`PROC_PID_INIT_INO` in the kernel's
/// include/linux/proc_ns.h).
pub const INITIAL: u64 = 0xEFFF_FFFC;

/// Returns the number of the namespace of processes that `process`, a number or `self`, is in.
///
/// # Errors
///
/// Fails as `stat(2)` does: with [`io::ErrorKind::NotFound`] once the process has ended.
pub fn of(sys: &SysRoot, process: &str) -> io::Result<u64> {
    let file = sys.full(&format!("/proc/{process}/ns/pid"));
    Ok(std::fs::metadata(file)?.ino())
}

/// Whether nobody is left in the namespace of processes `namespace`. What cannot be seen is there.
pub fn is_empty(sys: &SysRoot, namespace: u64) -> bool {
    // Only in the first namespace the processes of all others are seen.
    if namespace == INITIAL || !of(sys, "self").is_ok_and(|ours| ours == INITIAL) {
        return false;
    }
    let (first, others): (Vec<u32>, Vec<u32>) =
        numbers(sys, "/proc").partition(|process| *process == 1);
    // Whoever does not see process 1 may not see others either (`hidepid`). It is of the first namespace, which root without
    // all its capabilities may not read.
    !first.is_empty()
        && others
            .into_iter()
            .all(|process| match of(sys, &process.to_string()) {
                Ok(other) => other != namespace,
                // It has ended, if nobody has waited for it yet.
                Err(err) => err.kind() == io::ErrorKind::NotFound,
            })
}

/// Returns a process that is in the namespace of processes `namespace`, with its number here: the one that started it, where
/// that is seen.
pub fn member(sys: &SysRoot, namespace: u64) -> Option<u32> {
    numbers(sys, "/proc")
        .filter(|process| of(sys, &process.to_string()).is_ok_and(|other| other == namespace))
        .min()
}

/// Returns by how much the time since boot of this process is ahead of the machine's, in nanoseconds. None without namespaces
/// of time, where there is one clock.
///
/// It tells clocks apart better than the number of a namespace: that is given again once a namespace is gone.
pub fn boottime_offset(sys: &SysRoot) -> Option<i64> {
    let text = sys.read("/proc/self/timens_offsets").ok()?;
    let mut words = text
        .lines()
        .find_map(|line| line.strip_prefix("boottime"))?
        .split_whitespace();
    let mut next = || words.next()?.parse::<i64>().ok();
    let (seconds, nanos) = (next()?, next()?);
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_in_a_namespace_that_is_none_if_all_can_be_seen() {
        let sys = SysRoot::live();
        let ours = of(&sys, "self").unwrap();
        assert!(!is_empty(&sys, ours) && member(&sys, ours).is_some());
        assert!(ours == INITIAL || !is_empty(&sys, 5));
        assert_eq!(member(&sys, 5), None);
        let dir = tempfile::tempdir().unwrap();
        let nothing = SysRoot::at(dir.path());
        assert!(of(&nothing, "self").is_err() && !is_empty(&nothing, 5));
        if ours != INITIAL {
            return;
        }
        let own = dir.path().join("proc/self/ns");
        std::fs::create_dir_all(&own).unwrap();
        std::os::unix::fs::symlink("/proc/self/ns/pid", own.join("pid")).unwrap();
        assert!(!is_empty(&nothing, 5), "process 1 is not seen");
        std::fs::create_dir_all(dir.path().join("proc/1")).unwrap();
        assert!(is_empty(&nothing, 5));
        // A process of another namespace, as its inode says.
        let other = dir.path().join("proc/7/ns");
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("pid"), "").unwrap();
        let theirs = of(&nothing, "7").unwrap();
        assert!(!is_empty(&nothing, theirs));
        assert_eq!(member(&nothing, theirs), Some(7));
        // One that cannot be looked at may be in any.
        std::fs::remove_dir_all(&other).unwrap();
        std::os::unix::fs::symlink(&other, &other).unwrap();
        assert!(!is_empty(&nothing, 5));
    }

    #[test]
    fn the_offset_of_a_clock_is_that_of_boot_time() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        assert_eq!(boottime_offset(&sys), None);
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let cases = [
            ("100000          3", Some(100_000_000_000_003)),
            ("-7 0", Some(-7_000_000_000)),
            ("x", None),
        ];
        for (said, offset) in cases {
            let text = format!("monotonic           1         0\nboottime            {said}\n");
            std::fs::write(dir.path().join("proc/self/timens_offsets"), text).unwrap();
            assert_eq!(boottime_offset(&sys), offset, "{said}");
        }
    }
}
