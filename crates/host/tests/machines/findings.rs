// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What doctor finds on each machine, whole.

use std::fmt::Write as _;

use punctual_model::{Diagnosis, Evidence, RuleOutcome, Severity};

use super::{CASES, diagnose, differs};

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
        wrong.extend(differs(&format!("{name}{suffix}.findings"), &text));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
