// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Trees that lie, rave or are something else: judged without a panic, in bounded time and memory,
//! and never called healthy for what could not be read.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use common::{MACHINES, archive, unpacked};
use proptest::prelude::*;
use punctual_host::{Archive, Machine, Reading, Scope, Unread};
use punctual_model::{CpuSet, HostFacts, RuleOutcome};
use punctual_sys::SysRoot;

/// Contents that kernel files never have, or only on the worst of days.
const ODD: &[&str] = &[
    "",
    " ",
    "-1",
    "-9223372036854775809",
    "18446744073709551616",
    "0x7fffffff",
    "1e9",
    "NaN",
    "\u{0}\u{0}\u{0}",
    "0-",
    "-0",
    "0-4294967295",
    "3-1",
    "1023,0",
    "ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff,ffffffff",
    "[",
    "]",
    "[]",
    "[never",
    "(none",
    ")(",
    "cpu cpu cpu",
    "cpu0 -1 -1 -1 -1 -1 -1 -1 -1",
    "cpu0 18446744073709551615 18446744073709551615 18446744073709551615 1 1 1 1 18446744073709551615",
    "1 (",
    "1 ) (",
    "1 (a) R -1 -1",
    "           CPU0\n 1: 99999999999999999999 x",
    "CPU4294967295\n1: 1\n: :\n::::",
    "PREEMPT_DYNAMIC PREEMPT_RT PREEMPT",
    "isolcpus= nohz_full=,, rcu_nocbs=all preempt= -- =",
    "CONFIG_=y\nCONFIG_HZ=0\nCONFIG_HZ=-1\nCONFIG_PREEMPT_NONE",
    "0::/../../..\n1:cpu,cpuset:/../../../etc\n:::",
    "\u{202e}\u{1b}[2J",
    "µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ\
     µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ",
];

fn content() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(ODD).prop_map(ToOwned::to_owned),
        "[ -~\\n\\t]{0,80}",
        any::<Vec<u8>>().prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        any::<i64>().prop_map(|n| n.to_string()),
    ]
}

fn reading() -> impl Strategy<Value = Reading> {
    prop_oneof![
        8 => content().prop_map(Ok),
        1 => Just(Err(Unread::Denied)),
        1 => Just(Err(Unread::Missing)),
    ]
}

/// The files of a machine, some of them replaced.
fn machine() -> impl Strategy<Value = BTreeMap<String, Reading>> {
    let changes = prop::collection::vec((any::<prop::sample::Index>(), reading()), 0..200);
    (prop::sample::select(&MACHINES[..]), changes).prop_map(|(name, changes)| {
        let machine = archive(name).machine();
        let mut files: BTreeMap<String, Reading> = machine
            .under("/")
            .map(|(path, reading)| (path.to_owned(), reading.clone()))
            .collect();
        let paths: Vec<String> = files.keys().cloned().collect();
        for (index, reading) in changes {
            files.insert(index.get(&paths).clone(), reading);
        }
        files
    })
}

/// Judges a machine, and requires what holds for each.
fn judge(machine: &Machine, cpus: Option<&CpuSet>) {
    let diagnosis = punctual_host::diagnose(machine, HostFacts::default(), cpus);
    assert_eq!(diagnosis.verdicts.len(), punctual_host::rules().len());
    for verdict in &diagnosis.verdicts {
        for evidence in &verdict.evidence {
            assert!(
                evidence.value.is_some() != evidence.problem.is_some(),
                "{verdict:#?}"
            );
            let length = evidence
                .value
                .as_ref()
                .map_or(0, |value| value.chars().count());
            assert!(length < 200, "{verdict:#?}");
        }
        let silent = verdict.outcome == RuleOutcome::Unknown && verdict.evidence.is_empty();
        assert!(!silent, "{verdict:#?}");
    }
    let captured = Archive::of(machine);
    let again: Archive = captured.to_string().parse().unwrap();
    assert!(again.to_string() == captured.to_string());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_content_of_files_makes_it_panic(files in machine(), cpus in prop::collection::btree_set(0_u32..1024, 0..9)) {
        let machine = Machine::from_files(files);
        judge(&machine, None);
        let cpus: CpuSet = cpus.into_iter().collect();
        judge(&machine, Some(&cpus));
    }

    #[test]
    fn no_text_makes_an_archive_panic(text in "([/#|!: a-z0-9{},.-]{0,30}\n){0,12}") {
        if let Ok(archive) = text.parse::<Archive>() {
            judge(&archive.machine(), None);
        }
    }
}

/// What may stand where a file should be.
#[derive(Clone, Copy, Debug)]
enum Thing {
    Directory,
    Pipe,
    Loop,
    Binary,
    Huge,
    Secret,
}

fn put(path: &Path, thing: Thing) {
    fs::remove_file(path).unwrap();
    match thing {
        Thing::Directory => fs::create_dir(path).unwrap(),
        Thing::Pipe => punctual_sys::make_fifo(path).unwrap(),
        Thing::Loop => std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap(),
        Thing::Binary => fs::write(path, [0x1f, 0x8b, 8, 0, 0xff, 0xfe, 0, 0, 0, 0xc3]).unwrap(),
        // Sparse: it takes no room.
        Thing::Huge => fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
        Thing::Secret => {
            use std::os::unix::fs::PermissionsExt as _;
            fs::write(path, "1").unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o0)).unwrap();
        }
    }
}

#[test]
fn whatever_stands_where_a_file_should_be_is_said_and_not_waited_for() {
    let things = [
        Thing::Directory,
        Thing::Pipe,
        Thing::Loop,
        Thing::Binary,
        Thing::Huge,
        Thing::Secret,
    ];
    for name in ["kvm-guest", "arm-board-rk3399"] {
        let archive = archive(name);
        let paths: Vec<String> = archive
            .machine()
            .under("/")
            .map(|(p, _)| p.to_owned())
            .collect();
        for shift in 0..things.len() {
            let (sys, dir) = unpacked(&archive);
            for (index, path) in paths.iter().enumerate() {
                let full = dir.path().join(path.trim_start_matches('/'));
                // The list of CPUs decides what else is looked at: left alone in every second tree.
                let keep = path.ends_with("/cpu/online") && shift % 2 == 0;
                if full.is_file() && !keep {
                    put(&full, things[(index + shift) % things.len()]);
                }
            }
            let started = Instant::now();
            let machine = Machine::take(&sys, &Scope::Judged(None));
            judge(&machine, None);
            judge(&Machine::take(&sys, &Scope::Everything), None);
            drop(punctual_host::inspect(&sys));
            assert!(
                started.elapsed() < Duration::from_secs(1_800),
                "{name} {shift}"
            );
        }
    }
}

#[test]
fn nothing_at_all_is_unknown_and_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let machine = Machine::take(&SysRoot::at(dir.path()), &Scope::Judged(None));
    judge(&machine, None);
    let diagnosis = punctual_host::diagnose(&machine, HostFacts::default(), None);
    for verdict in &diagnosis.verdicts {
        let claims = matches!(verdict.outcome, RuleOutcome::Found | RuleOutcome::Fine);
        assert!(!claims, "{verdict:#?}");
    }
    assert!(diagnosis.cpus.is_empty());
}

#[test]
fn a_file_where_the_root_should_be_is_as_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let machine = Machine::take(&SysRoot::at(file.path()), &Scope::Everything);
    judge(&machine, None);
}

#[test]
fn a_directory_without_end_is_cut_and_says_so() {
    let dir = tempfile::Builder::new()
        .tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let irqs = dir.path().join("proc/irq");
    for irq in 0..20_000 {
        fs::create_dir_all(irqs.join(irq.to_string())).unwrap();
    }
    let machine = Machine::take(&SysRoot::at(dir.path()), &Scope::Judged(None));
    let cut = machine.under("/proc/irq/#/");
    let said = cut.filter(|(_, reading)| matches!(reading, Err(Unread::TooMany { .. })));
    assert!(said.count() > 0);
}

#[test]
fn a_file_in_debugfs_that_is_not_mounted_is_not_known_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("sys/kernel/debug")).unwrap();
    let read = || {
        let machine = Machine::take(&SysRoot::at(dir.path()), &Scope::Judged(None));
        let reading = machine.read("/sys/kernel/debug/sched/preempt");
        reading.unwrap_err().to_string()
    };
    assert_eq!(read(), "not read: debugfs is not mounted");
    fs::create_dir_all(dir.path().join("sys/kernel/debug/sched")).unwrap();
    assert_eq!(read(), "not there");
}
