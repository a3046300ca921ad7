// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What doctor says of machines that we do not have. `PUNCTUAL_TEST_BLESS=1` writes what is
//! compared with.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use common::{MACHINES, archive, file, unpacked};
use punctual_host::{Archive, Machine, Scope, Unread};
use punctual_model::{CpuSet, Diagnosis, Evidence, HostFacts, RuleOutcome, Severity};
use punctual_sys::SysRoot;

/// Each machine, as it is and with CPUs that are meant for real-time work.
const CASES: [(&str, Option<&str>); 11] = [
    ("arm-board-rk3399", None),
    ("arm-board-rk3399", Some("3-5")),
    ("desktop-i7-4770k", None),
    ("desktop-i7-4770k", Some("2-3")),
    ("kvm-guest", None),
    ("kvm-guest", Some("1")),
    ("laptop-all-wrong", None),
    ("laptop-all-wrong", Some("0,6")),
    ("numa-server", None),
    ("numa-server", Some("8-17")),
    ("telco-node-rt", None),
];

fn diagnose(name: &str, cpus: Option<&str>) -> Diagnosis {
    judged(&archive(name), cpus)
}

fn judged(archive: &Archive, cpus: Option<&str>) -> Diagnosis {
    let cpus: Option<CpuSet> = cpus.map(|list| list.parse().unwrap());
    punctual_host::diagnose(&archive.machine(), HostFacts::default(), cpus.as_ref())
}

/// Writes a diagnosis so that a change to it can be read.
fn written(diagnosis: &Diagnosis) -> String {
    let mut text = format!(
        "judged: {} ({:?})\n\n",
        diagnosis.cpus, diagnosis.cpus_chosen
    );
    for verdict in diagnosis.with(RuleOutcome::Found) {
        let rule = &verdict.rule;
        writeln!(text, "{} {}: {}", rule.severity, rule.id, verdict.says).unwrap();
        for evidence in &verdict.evidence {
            writeln!(text, "    {}", cite(evidence)).unwrap();
        }
    }
    text.push('\n');
    for verdict in diagnosis.with(RuleOutcome::Unknown) {
        let files: Vec<_> = verdict.evidence.iter().map(cite).collect();
        writeln!(text, "unknown {}: {}", verdict.rule.id, files.join("; ")).unwrap();
    }
    text.push('\n');
    for verdict in diagnosis.with(RuleOutcome::Fine) {
        let files: Vec<_> = verdict.evidence.iter().take(1).map(cite).collect();
        writeln!(
            text,
            "fine {}: {} [{}]",
            verdict.rule.id,
            verdict.says,
            files.join("")
        )
        .unwrap();
    }
    text.push('\n');
    for verdict in diagnosis.with(RuleOutcome::NotApplicable) {
        writeln!(text, "no matter {}: {}", verdict.rule.id, verdict.says).unwrap();
    }
    text
}

fn cite(evidence: &Evidence) -> String {
    match (&evidence.value, &evidence.problem) {
        (Some(value), None) => format!("{}: {value}", evidence.path),
        (None, Some(problem)) => format!("{}! {problem}", evidence.path),
        other => panic!("{}: {other:?}", evidence.path),
    }
}

#[test]
fn every_machine_gets_the_findings_that_it_got() {
    let mut wrong = Vec::new();
    for (name, cpus) in CASES {
        let text = written(&diagnose(name, cpus));
        let suffix = cpus.map(|list| format!(".cpus-{list}")).unwrap_or_default();
        let path = file(&format!("{name}{suffix}.findings"));
        if std::env::var_os("PUNCTUAL_TEST_BLESS").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let golden = std::fs::read(&path).unwrap_or_default();
        let golden = String::from_utf8(golden).unwrap();
        if golden != text {
            wrong.push(format!(
                "{}\n--- is\n{text}\n--- was\n{golden}",
                path.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What a rule says once a file of a machine is another: machine, CPUs, files, rule, outcome.
const CHANGES: &[(&str, Option<&str>, &str, &str, RuleOutcome)] = {
    use RuleOutcome::{Fine, Found, NotApplicable, Unknown};
    &[
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=full",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=lazy",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=none -- preempt=full",
            "preempt-model",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: preempt=full preempt=voluntary",
            "preempt-model",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/debug/sched/preempt: none voluntary (full) lazy",
            "preempt-model",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz! permission denied",
            "preempt-model",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz! permission denied",
            "lockdep",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/version: #1 SMP PREEMPT_RT x",
            "preempt-rt",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/realtime: 1",
            "preempt-rt",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: threadirqs",
            "threaded-irqs",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: highres=off",
            "high-res-timers",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/dev/cpu_dma_latency: 0",
            "idle-halt-guest",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/cmdline: idle=poll",
            "idle-halt-guest",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource: kvm-clock",
            "clock-source-virtual",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/kernel/security/lockdown: none [integrity] confidentiality",
            "lockdown",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/stat:\n|cpu0 9 0 0 9999999 0 0 0 0 0 0\n|cpu1 9 0 0 9999999 0 0 0 0 0 0",
            "steal",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/stat:\n|cpu 1 2 3",
            "steal",
            Unknown,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz:\n|CONFIG_HZ=1000",
            "stack-checks",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/sched_rt_runtime_us: -1",
            "rt-throttling",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/sched_rt_runtime_us: -1",
            "rt-group-budget",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/config.gz:\n|CONFIG_HZ=1000",
            "rt-throttling",
            NotApplicable,
        ),
        (
            "kvm-guest",
            None,
            "/proc/sys/kernel/osrelease: 6.1.0",
            "rt-throttling",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/sys/fs/cgroup/cpu/cpu.rt_runtime_us: 0",
            "rt-group-denied",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000000000",
            "rt-priority-limit",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000800000",
            "rt-priority-limit",
            Fine,
        ),
        (
            "kvm-guest",
            None,
            "/proc/self/status:\n|CapEff:\t0000000000800000",
            "memory-lock-limit",
            Found,
        ),
        (
            "kvm-guest",
            None,
            "/proc/1/stat! permission denied",
            "other-real-time",
            Unknown,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/proc/2/comm: bash",
            "kernel-threads",
            NotApplicable,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/sys/devices/system/cpu/isolated: 1",
            "isolation",
            Fine,
        ),
        (
            "kvm-guest",
            Some("1"),
            "/sys/fs/cgroup/cpuset.cpus.isolated: 1",
            "isolation",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            Some("2-3"),
            "/proc/cmdline: isolcpus=domain,2,3",
            "isolation",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            None,
            "/sys/devices/system/cpu/intel_pstate/no_turbo: 1",
            "turbo",
            Fine,
        ),
        (
            "desktop-i7-4770k",
            None,
            "/sys/devices/system/machinecheck/machinecheck0/check_interval: 0",
            "machine-check-poll",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/sys/class/power_supply/AC/online: 1",
            "on-battery",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/stack_tracer_enabled: 0",
            "stack-tracer",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/latencytop: 0",
            "latencytop",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz: 4000000",
            "uncore-frequency",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/watchdog: 0",
            "lockup-watchdog",
            Fine,
        ),
        (
            "laptop-all-wrong",
            None,
            "/proc/sys/kernel/watchdog: x",
            "lockup-watchdog",
            Unknown,
        ),
        (
            "laptop-all-wrong",
            Some("0"),
            "/proc/sys/kernel/watchdog_cpumask: 4-7",
            "nmi-watchdog",
            Fine,
        ),
        (
            "numa-server",
            None,
            "/proc/sys/kernel/numa_balancing: 0",
            "numa-balancing",
            Fine,
        ),
        (
            "numa-server",
            Some("0-15,32-47"),
            "/proc/sys/kernel/watchdog: 1",
            "shared-cache",
            Fine,
        ),
        (
            "telco-node-rt",
            Some("2"),
            "/sys/kernel/debug/sched/fair_server/cpu2/runtime: 0",
            "fair-server",
            Fine,
        ),
        (
            "telco-node-rt",
            Some("2"),
            "/proc/irq/102/effective_affinity_list: 2",
            "interrupts",
            Found,
        ),
        (
            "telco-node-rt",
            None,
            "/proc/900/stat: 900 (irqbalance) S 1 0 0 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0",
            "irqbalance",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: nohz_full=4-5",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/proc/cmdline: rcu_nocbs=all",
            "rcu-nocbs",
            Fine,
        ),
        (
            "arm-board-rk3399",
            None,
            "/sys/devices/system/cpu/cpu5/power/pm_qos_resume_latency_us: n/a",
            "idle-deep",
            Fine,
        ),
    ]
};

#[test]
fn one_file_decides() {
    for (name, cpus, files, rule, expected) in CHANGES {
        let mut changed = archive(name);
        changed.overlay(files.parse().unwrap());
        let diagnosis = judged(&changed, *cpus);
        let verdict = diagnosis
            .verdicts
            .iter()
            .find(|v| v.rule.id == *rule)
            .unwrap();
        assert_eq!(verdict.outcome, *expected, "{name} {files}: {verdict:#?}");
    }
}

#[test]
fn every_rule_is_found_somewhere_and_fine_somewhere() {
    let mut outcomes: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut seen = |rule: &str, outcome: RuleOutcome| {
        let word = match outcome {
            RuleOutcome::Found => "found",
            RuleOutcome::Fine => "fine",
            _ => return,
        };
        outcomes.entry(rule.to_owned()).or_default().insert(word);
    };
    for (name, cpus) in CASES {
        for verdict in diagnose(name, cpus).verdicts {
            seen(&verdict.rule.id, verdict.outcome);
        }
    }
    for (_, _, _, rule, outcome) in CHANGES {
        seen(rule, *outcome);
    }
    let rules = punctual_host::rules();
    let missing: Vec<_> = rules
        .iter()
        .filter(|rule| outcomes.get(&rule.id).is_none_or(|seen| seen.len() < 2))
        .map(|rule| format!("{} is only {:?}", rule.id, outcomes.get(&rule.id)))
        .collect();
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn what_is_refused_is_unknown_and_never_fine() {
    for name in MACHINES {
        let machine = archive(name).machine();
        let refused = machine
            .under("/")
            .map(|(path, _)| (path.to_owned(), Err(Unread::Denied)));
        let refused = Machine::from_files(refused.collect());
        let diagnosis = punctual_host::diagnose(&refused, HostFacts::default(), None);
        for verdict in &diagnosis.verdicts {
            let says = matches!(verdict.outcome, RuleOutcome::Found | RuleOutcome::Fine);
            // That a device may not be opened is what this rule is about.
            let expected = verdict.rule.id == "idle-bound-closed";
            assert_eq!(says, expected, "{name}: {verdict:#?}");
        }
    }
}

#[test]
fn rules_are_whole_and_named_once() {
    let rules = punctual_host::rules();
    assert!(rules.len() >= 50, "{}", rules.len());
    let names: BTreeSet<_> = rules.iter().map(|rule| rule.id.as_str()).collect();
    assert_eq!(names.len(), rules.len());
    for rule in &rules {
        let id = &rule.id;
        let kebab = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(id.chars().all(kebab) && id.len() <= 20, "{id}");
        for text in [&rule.title, &rule.why, &rule.fix, &rule.source] {
            assert!(text.len() > 6 && !text.contains("  "), "{id}: {text}");
        }
        assert!(rule.why.ends_with('.'), "{id}: a reason is a sentence");
        assert!(
            !rule.fix.ends_with('.') && !rule.title.ends_with('.'),
            "{id}"
        );
        assert!(!rule.fixed_by.is_empty(), "{id}");
        let count = rule.why.matches(['.', ':'].as_slice()).count();
        assert!(count <= 6, "{id}: one or two sentences");
    }
}

#[test]
fn findings_have_evidence_and_come_worst_first() {
    for (name, cpus) in CASES {
        let diagnosis = diagnose(name, cpus);
        let severities: Vec<Severity> =
            diagnosis.verdicts.iter().map(|v| v.rule.severity).collect();
        assert!(severities.is_sorted_by(|a, b| a >= b));
        for verdict in &diagnosis.verdicts {
            let wanted = matches!(verdict.outcome, RuleOutcome::Found | RuleOutcome::Unknown);
            assert!(
                !wanted || !verdict.evidence.is_empty(),
                "{name}: {} has no evidence",
                verdict.rule.id
            );
        }
    }
}

#[test]
fn a_tuned_node_has_little_and_the_worst_laptop_nearly_everything() {
    let worst = |name, cpus| {
        let diagnosis = diagnose(name, cpus);
        let found = diagnosis.with(RuleOutcome::Found).count();
        (found, diagnosis.worst())
    };
    let (few, severity) = worst("telco-node-rt", None);
    assert!(few <= 8, "{few} on the tuned node");
    assert_eq!(severity, Some(Severity::Medium));
    let (many, severity) = worst("laptop-all-wrong", Some("0,6"));
    assert!(many >= 60, "{many} on the laptop");
    assert_eq!(severity, Some(Severity::High));
}

#[test]
fn an_archive_is_read_as_it_was_written() {
    for name in MACHINES {
        let archive = archive(name);
        let again: Archive = archive.to_string().parse().unwrap();
        assert!(again == archive, "{name}");
    }
}

#[test]
fn an_archive_that_is_unpacked_and_read_again_is_the_same_machine() {
    for name in MACHINES {
        let archive = archive(name);
        let (sys, _dir) = unpacked(&archive);
        let mut taken = Machine::take(&sys, &Scope::Everything);
        // Root may read everything below a directory of its own: what was refused there stays so.
        taken.refuse(&archive);
        for (path, reading) in archive.machine().under("/") {
            let was = reading.as_deref().map(str::trim);
            // Only one CPU's registers are read.
            if !path.starts_with("/dev/cpu/") {
                assert_eq!(taken.read(path).map(str::trim), was, "{name}: {path}");
            }
        }
        let facts = punctual_host::inspect(&sys);
        assert!(
            facts.kernel_release.is_some() && facts.cpu_count() > 1,
            "{facts:?}"
        );
    }
}

#[test]
fn a_capture_of_this_machine_is_judged_as_the_machine_is() {
    let machine = Machine::take(&SysRoot::live(), &Scope::Everything);
    let host = punctual_host::inspect(&SysRoot::live());
    let text = Archive::of(&machine).to_string();
    let captured: Archive = text.parse().unwrap();
    let live = punctual_host::diagnose(&machine, host.clone(), None);
    let there = punctual_host::diagnose(&captured.machine(), host, None);
    // A capture leaves out whose programs run, and puts them in the root of the cgroups.
    let own = ["other-real-time", "rt-group-denied", "cpus-allowed"];
    let told = |diagnosis: &Diagnosis| -> Vec<_> {
        let rules = diagnosis.verdicts.iter();
        rules
            .filter(|v| !own.contains(&v.rule.id.as_str()))
            .map(|v| (v.rule.id.clone(), v.outcome))
            .collect()
    };
    assert_eq!(told(&live), told(&there));
}

#[test]
fn a_capture_of_this_machine_tells_nothing_of_whose_it_is() {
    let machine = Machine::take(&SysRoot::live(), &Scope::Everything);
    let text = Archive::of(&machine).to_string();
    assert!(text.len() < 256 << 10, "{} bytes", text.len());
    for secret in [
        "/proc/sys/kernel/hostname",
        "/etc/machine-id",
        "/proc/sys/kernel/random/boot_id",
    ] {
        let Ok(secret) = std::fs::read(secret) else {
            continue;
        };
        let secret = String::from_utf8_lossy(&secret).trim().to_owned();
        // A name as short as `vm` is part of other words.
        assert!(secret.len() < 6 || !text.contains(&secret), "{secret}");
    }
    for net in std::fs::read_dir("/sys/class/net").unwrap().flatten() {
        let address = std::fs::read(net.path().join("address")).unwrap_or_default();
        let address = String::from_utf8_lossy(&address).trim().to_owned();
        assert!(address.len() < 17 || address.starts_with("00:00:00") || !text.contains(&address));
    }
}
