// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether there is memory for what is asked.

use punctual_model::Bytes;
use punctual_sys::pages::NodeId;
use punctual_sys::{SysRoot, proc};

use crate::available::available;
use crate::error::MeasureError;

/// Part of the available memory that may be asked for, in percent. The rest is for everybody else.
const SHARE: u64 = 80;

/// Refuses `option`, which takes `wanted` bytes, where that is more than most of what is available.
pub(crate) fn check(sys: &SysRoot, option: &str, wanted: Bytes) -> Result<(), MeasureError> {
    judge(option, wanted, available(sys).map(Bytes::get), "")
}

/// As [`check`], for memory of one node. There, what files hold counts as available only if it was not used lately.
pub(crate) fn check_node(
    sys: &SysRoot,
    option: &str,
    node: NodeId,
    wanted: Bytes,
) -> Result<(), MeasureError> {
    let path = format!("/sys/devices/system/node/node{node}/meminfo");
    let text = sys.read(&path).unwrap_or_default();
    let of = |name: &str| bytes(&text, &format!("Node {node} {name}:"));
    let free = of("MemFree");
    let available = free.map(|free| free.saturating_add(of("Inactive(file)").unwrap_or(0)));
    judge(option, wanted, available, &format!(" on node {node}"))
}

fn judge(
    option: &str,
    wanted: Bytes,
    available: Option<u64>,
    place: &str,
) -> Result<(), MeasureError> {
    // Where the kernel does not say what is available, the allocation itself will tell.
    let Some(available) = available else {
        return Ok(());
    };
    let wanted = wanted.get();
    if wanted <= available / 100 * SHARE {
        return Ok(());
    }
    let (wanted, available) = (megabytes(wanted), megabytes(available));
    Err(MeasureError::Spec {
        option: option.to_owned(),
        reason: format!(
            "needs {wanted} MB, more than {SHARE} % of the {available} MB available{place}"
        ),
    })
}

fn bytes(text: &str, name: &str) -> Option<u64> {
    proc::kib(text, name)?.checked_mul(1_024)
}

const fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const MEMINFO: (&str, &str) = (
        "proc/meminfo",
        "MemTotal: 4000 kB\nMemAvailable:    2000000 kB\n",
    );

    #[test]
    fn more_than_there_is_is_refused_with_figures() {
        let (_dir, sys) = machine(&[]);
        check(&sys, "--order 9", Bytes::new(u64::MAX)).unwrap();
        let (_dir, sys) = machine(&[MEMINFO]);
        check(&sys, "--order 9", Bytes::new(1_600_000_000)).unwrap();
        let err = check(&sys, "--order 9", Bytes::new(1_700_000_000)).unwrap_err();
        assert_eq!(
            err.to_string(),
            "--order 9: needs 1700 MB, more than 80 % of the 2048 MB available"
        );
    }

    #[test]
    fn more_than_the_control_group_leaves_is_refused_however_much_the_machine_has() {
        let (_dir, sys) = machine(&[
            MEMINFO,
            ("proc/self/cgroup", "0::/docker\n"),
            (
                "proc/self/mounts",
                "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n",
            ),
            ("sys/fs/cgroup/docker/memory.max", "512000000\n"),
            ("sys/fs/cgroup/docker/memory.current", "12000000\n"),
        ]);
        check(&sys, "--size 64M", Bytes::new(400_000_000)).unwrap();
        let err = check(&sys, "--size 256M", Bytes::new(1_074_000_000)).unwrap_err();
        assert_eq!(
            err.to_string(),
            "--size 256M: needs 1074 MB, more than 80 % of the 500 MB available"
        );
    }

    #[test]
    fn a_node_has_what_is_free_or_idle_there() {
        let dir = tempfile::tempdir().unwrap();
        let node = dir.path().join("sys/devices/system/node/node1");
        std::fs::create_dir_all(&node).unwrap();
        let text = "Node 1 MemTotal: 9000 kB\nNode 1 MemFree: 1000000 kB\nNode 1 Inactive(file): 500000 kB\n";
        std::fs::write(node.join("meminfo"), text).unwrap();
        let sys = SysRoot::at(dir.path());
        check_node(&sys, "--size 1", 1, Bytes::new(1_200_000_000)).unwrap();
        let err = check_node(&sys, "--size 1", 1, Bytes::new(1_300_000_000)).unwrap_err();
        assert!(
            err.to_string().contains("1536 MB available on node 1"),
            "{err}"
        );
        check_node(&sys, "--size 1", 0, Bytes::new(u64::MAX)).unwrap();
    }
}
