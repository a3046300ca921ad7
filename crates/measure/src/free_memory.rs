// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether there is memory for what is asked.

use punctual_model::Bytes;
use punctual_sys::pages::NodeId;
use punctual_sys::{SysRoot, proc};

use crate::error::MeasureError;

/// Part of the available memory that may be asked for, in percent. The rest is for everybody else.
const SHARE: u64 = 80;

/// Refuses `option`, which takes `wanted` bytes, where that is more than most of what is available.
/// `MemAvailable` of proc(5) is what can be taken without taking it from others.
pub(crate) fn check(sys: &SysRoot, option: &str, wanted: Bytes) -> Result<(), MeasureError> {
    let text = sys.read("/proc/meminfo").unwrap_or_default();
    judge(option, wanted, bytes(&text, "MemAvailable:"), "")
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

    #[test]
    fn more_than_there_is_is_refused_with_figures() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let sys = SysRoot::at(dir.path());
        check(&sys, "--order 9", Bytes::new(u64::MAX)).unwrap();
        let text = "MemTotal: 4000 kB\nMemAvailable:    2000000 kB\n";
        std::fs::write(dir.path().join("proc/meminfo"), text).unwrap();
        check(&sys, "--order 9", Bytes::new(1_600_000_000)).unwrap();
        let err = check(&sys, "--order 9", Bytes::new(1_700_000_000)).unwrap_err();
        assert_eq!(
            err.to_string(),
            "--order 9: needs 1700 MB, more than 80 % of the 2048 MB available"
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
