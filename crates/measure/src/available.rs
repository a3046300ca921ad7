// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How much memory may be taken without harm: what the machine has, and what the control groups that this
//! process is in leave of it (`cgroups(7)`).

use punctual_model::Bytes;
use punctual_sys::{SysRoot, proc};

use crate::cgroup;

/// What one version of the controller `memory` calls its files.
struct Version {
    limit: &'static str,
    used: &'static str,
    /// The lines of `memory.stat` with what is held of files: it is given back on demand, as of the machine's (`MemAvailable`).
    files: [&'static str; 2],
}

const VERSIONS: [Version; 2] = [
    Version {
        limit: "memory.limit_in_bytes",
        used: "memory.usage_in_bytes",
        files: ["total_inactive_file ", "total_active_file "],
    },
    Version {
        limit: "memory.max",
        used: "memory.current",
        files: ["inactive_file ", "active_file "],
    },
];

/// Returns how much memory this process may still take; `None` where the kernel does not say.
pub(crate) fn available(sys: &SysRoot) -> Option<Bytes> {
    let groups = cgroup::directories(sys, "memory").unwrap_or_default();
    let in_groups = groups
        .iter()
        .filter_map(|group| VERSIONS.iter().find_map(|version| version.left(sys, group)));
    of_machine(sys).into_iter().chain(in_groups).min()
}

fn of_machine(sys: &SysRoot) -> Option<Bytes> {
    let text = sys.read("/proc/meminfo").ok()?;
    let kib = proc::kib(&text, "MemAvailable:")?;
    Some(Bytes::new(kib).times(1_024))
}

impl Version {
    /// Returns what is left in the group of a directory, if it has a limit of this version.
    fn left(&self, sys: &SysRoot, group: &str) -> Option<Bytes> {
        let file = |name: &str| format!("{group}/{name}");
        // `max` stands for no limit.
        let limit: u64 = sys.fact(&file(self.limit))?;
        let used: u64 = sys.fact(&file(self.used))?;
        let stat = sys.read(&file("memory.stat")).unwrap_or_default();
        let of = |name: &&str| stat.lines().find_map(|line| line.strip_prefix(*name));
        let files = self.files.iter().filter_map(of);
        let files: u64 = files.filter_map(|n| n.trim().parse::<u64>().ok()).sum();
        Some(Bytes::new(limit.saturating_sub(used.saturating_sub(files))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const MEMINFO: (&str, &str) = ("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:   4000 kB\n");

    #[test]
    fn without_groups_it_is_what_the_machine_has() {
        let (_dir, sys) = machine(&[MEMINFO]);
        assert_eq!(available(&sys), Some(Bytes::new(4_096_000)));
        let (_dir, sys) = machine(&[]);
        assert_eq!(available(&sys), None);
    }

    #[test]
    fn the_tightest_of_all_groups_counts() {
        let group = "sys/fs/cgroup/a/b/";
        let (limit, used) = (
            format!("{group}memory.max"),
            format!("{group}memory.current"),
        );
        let stat = format!("{group}memory.stat");
        let (_dir, sys) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/a/b\n"),
            (
                "proc/self/mounts",
                "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
            ),
            (&limit, "max\n"),
            (&used, "500\n"),
            (&stat, "anon 1\ninactive_file 100\nactive_file 200\n"),
            ("sys/fs/cgroup/a/memory.max", "9000\n"),
            ("sys/fs/cgroup/a/memory.current", "5000\n"),
        ]);
        assert_eq!(available(&sys), Some(Bytes::new(4_000)));
        std::fs::write(_dir.path().join(&limit), "1000\n").unwrap();
        assert_eq!(available(&sys), Some(Bytes::new(800)));
    }

    #[test]
    fn the_older_hierarchy_is_known_too_and_a_container_sees_its_own_root() {
        let (_dir, sys) = machine(&[
            MEMINFO,
            (
                "proc/self/cgroup",
                "5:cpu:/x\n4:cpuset,memory:/docker/0123\n0::/\n",
            ),
            (
                "proc/self/mounts",
                "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "7000\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "8000\n"),
            (
                "sys/fs/cgroup/memory/memory.stat",
                "inactive_file 9\ntotal_inactive_file 500\ntotal_active_file 1500\n",
            ),
        ]);
        assert_eq!(available(&sys), Some(Bytes::new(1_000)));
    }
}
