// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which memory nodes there are, and which CPUs are theirs.

use punctual_model::CpuSet;
use punctual_sys::SysRoot;
use punctual_sys::pages::NodeId;

const NODES: &str = "/sys/devices/system/node";

/// The nodes of a machine, as far as they are measured.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Nodes {
    /// Nodes with CPUs that are measured, and those CPUs.
    pub(super) cpus: Vec<(NodeId, CpuSet)>,
    /// Nodes with memory.
    pub(super) memory: Vec<NodeId>,
    /// Whether the kernel knows nodes at all, so that memory can be bound to one.
    pub(super) known: bool,
}

impl Nodes {
    /// Reads them. A kernel that knows no nodes has one, number 0, with everything.
    pub(super) fn read(sys: &SysRoot, measured: &CpuSet) -> Self {
        let list = |name: &str| -> Option<CpuSet> {
            // Node lists have the form of CPU lists (Documentation/ABI/stable/sysfs-devices-node).
            sys.fact(&format!("{NODES}/{name}"))
        };
        let Some(online) = list("online").filter(|nodes| !nodes.is_empty()) else {
            return Self {
                cpus: vec![(0, measured.clone())],
                memory: vec![0],
                known: false,
            };
        };
        let cpus = online.iter().filter_map(|node| {
            let cpus: CpuSet = sys.fact(&format!("{NODES}/node{node}/cpulist"))?;
            let cpus = cpus.common(measured);
            (!cpus.is_empty()).then_some((node, cpus))
        });
        let memory = list("has_memory").filter(|nodes| !nodes.is_empty());
        Self {
            cpus: cpus.collect(),
            memory: memory.unwrap_or(online).iter().collect(),
            known: true,
        }
    }
}

/// Returns the size of the largest cache of `cpu`, in bytes.
pub(super) fn largest_cache(sys: &SysRoot, cpu: u32) -> Option<u64> {
    let caches = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let names = sys.names(&caches).ok()?;
    let sizes = names.iter().filter(|n| n.starts_with("index"));
    sizes
        .filter_map(|name| {
            let text = sys.read(&format!("{caches}/{name}/size")).ok()?;
            let kib: u64 = text.strip_suffix('K')?.parse().ok()?;
            kib.checked_mul(1_024)
        })
        .max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    #[test]
    fn nodes_without_memory_and_without_cpus_are_told_apart() {
        let (_dir, sys) = machine(&[
            ("sys/devices/system/node/online", "0-2\n"),
            ("sys/devices/system/node/has_memory", "0,2\n"),
            ("sys/devices/system/node/node0/cpulist", "0-3\n"),
            ("sys/devices/system/node/node1/cpulist", "4-7\n"),
            ("sys/devices/system/node/node2/cpulist", "\n"),
        ]);
        let nodes = Nodes::read(&sys, &"2-5".parse().unwrap());
        let cpus: Vec<(u32, String)> = nodes
            .cpus
            .iter()
            .map(|(node, cpus)| (*node, cpus.to_string()))
            .collect();
        assert_eq!(cpus, [(0, "2-3".to_owned()), (1, "4-5".to_owned())]);
        assert_eq!(nodes.memory, [0, 2]);
        assert!(nodes.known);
    }

    #[test]
    fn a_kernel_without_nodes_has_one() {
        let (_dir, sys) = machine(&[]);
        let nodes = Nodes::read(&sys, &"0-1".parse().unwrap());
        assert_eq!(nodes.memory, [0]);
        assert_eq!(nodes.cpus.len(), 1);
        assert!(!nodes.known);
        assert_eq!(largest_cache(&sys, 0), None);
    }

    #[test]
    fn the_largest_cache_is_found() {
        let (_dir, sys) = machine(&[
            ("sys/devices/system/cpu/cpu3/cache/index0/size", "32K\n"),
            ("sys/devices/system/cpu/cpu3/cache/index3/size", "32768K\n"),
        ]);
        assert_eq!(largest_cache(&sys, 3), Some(32 << 20));
    }
}
