// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One file of a machine changes, and with it what one rule says.

use punctual_host::Archive;
use punctual_model::RuleOutcome;

use super::common::archive;
use super::{judged, verdict};

/// What a rule says once some files of a machine are others.
#[derive(Debug)]
pub(crate) struct Change {
    machine: String,
    cpus: Option<String>,
    files: Archive,
    pub(crate) rule: String,
    pub(crate) outcome: RuleOutcome,
}

/// Returns those of `changes.txt`: a line `machine [cpus LIST]: rule is outcome`, and the files below it, indented.
pub(crate) fn changes() -> Vec<Change> {
    let text = include_str!("changes.txt");
    let blocks = text.split("\n\n").map(|block| {
        let lines = || block.lines().filter(|line| !line.starts_with('#'));
        let files: String = lines()
            .filter_map(|line| Some(format!("{}\n", line.strip_prefix("    ")?)))
            .collect();
        let heading = lines().next()?;
        let change = Change::new(heading, &files);
        Some(change.unwrap_or_else(|| panic!("{block}")))
    });
    blocks.flatten().collect()
}

impl Change {
    fn new(heading: &str, files: &str) -> Option<Self> {
        let (place, says) = heading.split_once(": ")?;
        let (machine, cpus) = match place.split_once(" cpus ") {
            Some((machine, cpus)) => (machine, Some(cpus.to_owned())),
            None => (place, None),
        };
        let (rule, outcome) = says.split_once(" is ")?;
        Some(Self {
            machine: machine.to_owned(),
            cpus,
            files: files.parse().ok()?,
            rule: rule.to_owned(),
            outcome: match outcome {
                "fine" => RuleOutcome::Fine,
                "found" => RuleOutcome::Found,
                "not applicable" => RuleOutcome::NotApplicable,
                "unknown" => RuleOutcome::Unknown,
                _ => return None,
            },
        })
    }
}

#[test]
fn one_file_decides() {
    let changes = changes();
    assert!(changes.len() > 90, "{}", changes.len());
    let mut wrong = Vec::new();
    for change in changes {
        let mut changed = archive(&change.machine);
        changed.overlay(change.files.clone());
        let diagnosis = judged(&changed, change.cpus.as_deref());
        let verdict = verdict(&diagnosis, &change.rule);
        if verdict.outcome != change.outcome {
            wrong.push((change, verdict.clone()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
