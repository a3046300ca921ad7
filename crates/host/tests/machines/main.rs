// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What doctor says of machines that we do not have, and what tune would do there.
//! `PUNCTUAL_TEST_BLESS=1` writes what is compared with.
#![expect(clippy::unwrap_used, reason = "test helpers")]

#[path = "../common/mod.rs"]
mod common;

mod captures;
mod changes;
mod findings;
mod plans;
mod rules;
mod situations;

use common::{archive, file};
use punctual_host::Archive;
use punctual_model::{CpuSet, Diagnosis, HostFacts, Verdict};

/// Each machine, as it is and with CPUs that are meant for real-time work.
pub(crate) const CASES: [(&str, Option<&str>); 14] = [
    ("arm-board-rk3399", None),
    ("arm-board-rk3399", Some("3-5")),
    ("desktop-i7-4770k", None),
    ("desktop-i7-4770k", Some("2-3")),
    ("jetson-agx-orin", None),
    ("kvm-guest", None),
    ("kvm-guest", Some("1")),
    ("laptop-all-wrong", None),
    ("laptop-all-wrong", Some("0,6")),
    ("numa-server", None),
    ("numa-server", Some("8-17")),
    ("raspberry-pi-4", None),
    ("raspberry-pi-5", Some("3")),
    ("telco-node-rt", None),
];

/// Judges a machine.
pub(crate) fn diagnose(name: &str, cpus: Option<&str>) -> Diagnosis {
    judged(&archive(name), cpus)
}

/// Judges an archive.
pub(crate) fn judged(archive: &Archive, cpus: Option<&str>) -> Diagnosis {
    let cpus: Option<CpuSet> = cpus.map(|list| list.parse().unwrap());
    punctual_host::diagnose(&archive.machine(), HostFacts::default(), cpus.as_ref())
}

/// Returns what a rule says.
pub(crate) fn verdict<'a>(diagnosis: &'a Diagnosis, rule: &str) -> &'a Verdict {
    let mut verdicts = diagnosis.verdicts.iter();
    verdicts.find(|verdict| verdict.rule.id == rule).unwrap()
}

/// Compares a text with the one that is kept, or keeps it; returns both where they differ.
pub(crate) fn differs(name: &str, text: &str) -> Option<String> {
    let path = file(name);
    if std::env::var_os("PUNCTUAL_TEST_BLESS").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read(&path).unwrap_or_default();
    let golden = String::from_utf8(golden).unwrap();
    let path = path.display();
    (golden != text).then(|| format!("{path}\n--- is\n{text}\n--- was\n{golden}"))
}
