// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The rules themselves.

use std::collections::{BTreeMap, BTreeSet};

use punctual_host::{Machine, Unread};
use punctual_model::{HostFacts, RuleOutcome};

use super::changes::changes;
use super::common::{MACHINES, archive};
use super::{CASES, diagnose};

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
    for change in changes() {
        seen(&change.rule, change.outcome);
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
