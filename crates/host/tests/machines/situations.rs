// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a reading does not show something, or a setting cannot help: nothing is called fine or offered then.

use punctual_model::RuleOutcome;

use super::common::archive;
use super::{judged, verdict};

#[test]
fn a_machine_without_sys_is_not_known_rather_than_fine() {
    let text = archive("kvm-guest").to_string();
    // A file with several lines has them below it.
    let mut kept = String::new();
    let mut keeps = true;
    for line in text.lines() {
        keeps = if line.starts_with('|') {
            keeps
        } else {
            !line.starts_with("/sys/")
        };
        if keeps {
            kept += line;
            kept.push('\n');
        }
    }
    let diagnosis = judged(&kept.parse().unwrap(), None);
    for rule in [
        "housekeeping",
        "isolation",
        "fair-server",
        "huge-pages",
        "mitigations",
        "pcie-aspm",
        "idle-states",
        "idle-halt-guest",
        "smt",
        "numa-span",
        "rcu-normal",
        "lockdown",
    ] {
        let verdict = verdict(&diagnosis, rule);
        assert_eq!(verdict.outcome, RuleOutcome::Unknown, "{verdict:#?}");
    }
}

#[test]
fn what_cannot_help_here_is_not_offered() {
    let knobs = |files: &str, cpus: Option<&str>, rule: &str| {
        let mut changed = archive("kvm-guest");
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, cpus);
        let verdict = verdict(&diagnosis, rule);
        assert_eq!(verdict.outcome, RuleOutcome::Found, "{verdict:#?}");
        verdict.rule.knobs.clone()
    };
    let none = "/sys/devices/system/cpu/cpu{0-1}/cpuidle/state0/latency! not there";
    assert!(knobs(none, None, "idle-halt-guest").is_empty());
    assert!(!knobs("", None, "idle-halt-guest").is_empty());
    let empty = "/sys/fs/cgroup/cpuset.cpus.isolated:";
    assert_eq!(knobs(empty, Some("1"), "isolation"), ["cgroup.partition"]);
    let none = "/sys/fs/cgroup/cpuset.cpus.isolated! not there";
    assert!(knobs(none, Some("1"), "isolation").is_empty());
    // These kernels say it of each group, which a container does not see.
    let root = format!(
        "{none}\n/proc/sys/kernel/osrelease: 6.6.30\n/sys/fs/cgroup/cpuset.cpus.effective: 0-1"
    );
    assert_eq!(knobs(&root, Some("1"), "isolation"), ["cgroup.partition"]);
    let container = format!("{root}\n/sys/fs/cgroup/cpuset.cpus.partition: member");
    assert!(knobs(&container, Some("1"), "isolation").is_empty());
}

#[test]
fn a_cpuset_with_one_of_the_judged_cpus_says_which() {
    let mut changed = archive("kvm-guest");
    let files = "/proc/self/cgroup: 3:cpuset:/a\n/sys/fs/cgroup/cpuset/a/cpuset.effective_cpus: 1";
    changed.overlay(files.parse().unwrap());
    let diagnosis = judged(&changed, Some("0-1"));
    let verdict = verdict(&diagnosis, "cpus-allowed");
    assert_eq!(verdict.says, "out of reach: CPU 0; within reach: CPU 1");
}

#[test]
fn a_capability_in_a_user_namespace_does_not_count() {
    let mut changed = archive("kvm-guest");
    let files = "/proc/self/status: CapEff:\t000001ffffffffff\n/proc/self/uid_map: 0 1000 1\n\
                 /proc/self/limits:\n|Max locked memory 65536 65536 bytes\n|Max realtime priority 0 0";
    changed.overlay(files.parse().unwrap());
    for (map, expected) in [
        ("0 1000 1", RuleOutcome::Found),
        ("0 0 4294967295", RuleOutcome::Fine),
    ] {
        changed.overlay(format!("/proc/self/uid_map: {map}").parse().unwrap());
        let diagnosis = judged(&changed, None);
        for rule in ["rt-priority-limit", "memory-lock-limit"] {
            let verdict = verdict(&diagnosis, rule);
            assert_eq!(verdict.outcome, expected, "{map}: {verdict:#?}");
        }
    }
}

#[test]
fn without_a_budget_the_fair_server_is_not_denied() {
    let says = |files: &str| {
        let mut changed = archive("kvm-guest");
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, None);
        let verdict = verdict(&diagnosis, "rt-throttling");
        assert_eq!(verdict.outcome, RuleOutcome::Fine, "{verdict:#?}");
        verdict.says.clone()
    };
    let open = "/proc/sys/kernel/sched_rt_runtime_us: -1\n/proc/sys/kernel/osrelease: 6.18.1";
    assert!(says(open).contains("see fair-server"));
    let files = "/sys/kernel/debug/sched/fair_server/cpu{0-1}/runtime: 0";
    assert!(says(&format!("{open}\n{files}")).contains("all CPU time"));
    assert!(says(&open.replace("6.18.1", "6.1.0")).contains("all CPU time"));
}

#[test]
fn a_counter_that_the_kernel_offers_is_not_one_that_it_does_not_trust() {
    let text = archive("kvm-guest").to_string();
    let without = text
        .replace(" constant_tsc", "")
        .replace(" nonstop_tsc", "");
    let diagnosis = judged(&without.parse().unwrap(), None);
    let found = verdict(&diagnosis, "tsc-unstable");
    assert_eq!(found.outcome, RuleOutcome::Found, "{found:#?}");
    assert!(
        found.says.ends_with("the kernel offers it all the same"),
        "{found:#?}"
    );
    let mut distrusted = archive("kvm-guest");
    let offers = "/sys/devices/system/clocksource/clocksource0/available_clocksource: kvm-clock";
    distrusted.overlay(offers.parse().unwrap());
    let diagnosis = judged(&distrusted, None);
    let found = verdict(&diagnosis, "tsc-unstable");
    assert_eq!(found.says, "the kernel does not trust it", "{found:#?}");
}

/// Judges a machine with other files, and returns what a rule answers.
fn outcome(name: &str, files: &str, cpus: Option<&str>, rule: &str) -> RuleOutcome {
    let mut changed = archive(name);
    changed.overlay(files.parse().unwrap());
    verdict(&judged(&changed, cpus), rule).outcome
}

#[test]
fn a_hypervisor_on_arm_is_found_by_what_its_firmware_says_or_not_known() {
    use RuleOutcome::{Fine, Found, Unknown};
    let dmi = |vendor: &str, product: &str| {
        format!("/sys/class/dmi/id/sys_vendor: {vendor}\n/sys/class/dmi/id/product_name: {product}")
    };
    let tree = "/sys/firmware/devicetree/base";
    for (files, expected) in [
        (dmi("Amazon EC2", "t4g.large"), Found),
        (dmi("Amazon EC2", "c7g.metal"), Fine),
        (dmi("Google", "Google Compute Engine"), Found),
        (dmi("Microsoft Corporation", "Virtual Machine"), Found),
        (
            dmi("Microsoft Corporation", "Surface Pro, 11th Edition"),
            Unknown,
        ),
        (
            dmi("Apple Inc.", "Apple Virtualization Generic Platform"),
            Found,
        ),
        (
            dmi(
                "Parallels International GmbH.",
                "Parallels ARM Virtual Machine",
            ),
            Found,
        ),
        (dmi("VMware, Inc.", "VMware20,1"), Found),
        (dmi("Hetzner", "vServer"), Unknown),
        (format!("{tree}/model! not there"), Unknown),
        (format!("{tree}/hypervisor/compatible: xen,xen-4.17"), Found),
        (format!("{tree}/compatible: linux,dummy-virt"), Found),
        (String::new(), Fine),
    ] {
        let is = outcome("raspberry-pi-5", &files, None, "hypervisor");
        assert_eq!(is, expected, "{files}");
        if expected == Unknown {
            for rule in ["clock-source-virtual", "idle-halt-guest"] {
                let is = outcome("raspberry-pi-5", &files, None, rule);
                assert_eq!(is, Unknown, "{rule}: {files}");
            }
        }
    }
    // Where a flag tells, a vendor of hardware does not.
    let files = dmi("Google", "Google Compute Engine");
    let is = outcome("desktop-i7-4770k", &files, None, "hypervisor");
    assert_eq!(is, Fine);
}

#[test]
fn links_that_the_kernel_leaves_to_the_firmware_are_not_called_awake() {
    let mut changed = archive("laptop-all-wrong");
    changed.overlay("/proc/cmdline: quiet pcie_aspm=off".parse().unwrap());
    let diagnosis = judged(&changed, None);
    let found = verdict(&diagnosis, "pcie-aspm");
    assert_eq!(found.outcome, RuleOutcome::Found, "{found:#?}");
    assert!(found.rule.fix.contains("pcie_aspm.policy=performance"));
}

#[test]
fn emulated_nodes_that_share_their_cpus_are_not_spanned() {
    let nodes = "/sys/devices/system/node/node{0-7}/cpulist: 0-3";
    for cpus in [Some("3"), Some("1-3")] {
        let is = outcome("raspberry-pi-5", nodes, cpus, "numa-span");
        assert_eq!(is, RuleOutcome::Fine, "{cpus:?}");
    }
}

#[test]
fn auditing_is_not_known_where_journald_may_have_switched_it_on() {
    let journal = "/proc/300/stat: 300 (systemd-journal) S 1 300 300 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 24 0 0 \
                   0 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
    let audit = |files: &str| outcome("kvm-guest", files, None, "audit");
    assert_eq!(audit(journal), RuleOutcome::Unknown);
    let off = format!("{journal}\n/proc/cmdline: quiet audit=0");
    assert_eq!(audit(&off), RuleOutcome::Fine);
    assert_eq!(audit(""), RuleOutcome::Fine);
}
