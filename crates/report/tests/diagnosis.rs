// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A diagnosis as people read it, compared whole. `PUNCTUAL_TEST_BLESS=1` writes what is compared
//! with.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use common::compare;
use punctual_model::{
    CpuChoice, DIAGNOSIS_FORMAT, Diagnosis, Evidence, Fixer, Rule, RuleOutcome, Severity,
    TuneAdvice, Verdict,
};
use punctual_report::document::{Document, Material};
use punctual_report::text::{self, Detail};
use punctual_report::{html, markdown};

fn rule(id: &str, severity: Severity) -> Rule {
    Rule {
        id: id.to_owned(),
        severity,
        title: format!("the {id} is wrong"),
        why: "A reason of a sentence or two. This is the second.".to_owned(),
        fix: "write performance to /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor, one after the \
              other, or do something else"
            .to_owned(),
        fixed_by: vec![Fixer::Tune, Fixer::Boot],
        knobs: vec!["cpufreq.governor".to_owned(), "cpufreq.epp".to_owned()],
        source: "Linux Documentation/admin-guide/pm/cpufreq.rst".to_owned(),
    }
}

fn verdict(id: &str, severity: Severity, outcome: RuleOutcome, files: usize) -> Verdict {
    let evidence = (0..files).map(|n| Evidence {
        path: format!("/sys/devices/system/cpu/cpu{n}/cpufreq/scaling_governor"),
        value: (outcome != RuleOutcome::Unknown).then(|| "power\x1b[31msave".to_owned()),
        problem: (outcome == RuleOutcome::Unknown).then(|| "permission denied".to_owned()),
    });
    Verdict {
        rule: rule(id, severity),
        outcome,
        says: "powersave on CPUs 2-3".to_owned(),
        evidence: evidence.collect(),
        tune: None,
    }
}

fn diagnosis() -> Diagnosis {
    use RuleOutcome::{Fine, Found, NotApplicable, Unknown};
    use Severity::{High, Info, Low, Medium};
    Diagnosis {
        format: DIAGNOSIS_FORMAT.to_owned(),
        host: common::run().host,
        cpus: "2-3".parse().unwrap(),
        cpus_chosen: CpuChoice::Isolated,
        verdicts: vec![
            verdict("first", High, Found, 1),
            verdict("twenty-letters-long1", High, Found, 5),
            verdict("unseen", High, Unknown, 3),
            verdict("third", Medium, Found, 2),
            verdict("healthy", Medium, Fine, 2),
            verdict("small", Low, Found, 1),
            verdict("smaller", Low, Found, 0),
            verdict("smallest", Low, Found, 4),
            verdict("elsewhere", Low, NotApplicable, 0),
            verdict("circumstance", Info, Found, 1),
        ],
    }
}

fn page(diagnosis: &Diagnosis, detail: Detail) -> String {
    text::page(&Document::of_diagnosis(diagnosis), 80, detail)
}

#[test]
fn a_diagnosis_reads_as_it_did() {
    compare("diagnosis", &page(&diagnosis(), Detail::Summary));
    compare("diagnosis-full", &page(&diagnosis(), Detail::Full));
}

/// The page of a report has all that the terminal has: each sentence, what was seen, and commands to copy.
#[test]
fn pages_say_what_the_terminal_says() {
    let mut diagnosis = diagnosis();
    let command = "punctual tune apply --set kernel.watchdog=off";
    diagnosis.verdicts[0].tune = Some(TuneAdvice {
        setting: Some("kernel.watchdog=off".to_owned()),
        command: Some(command.to_owned()),
        obstacle: None,
    });
    diagnosis.verdicts[1].tune = Some(TuneAdvice {
        setting: None,
        command: None,
        obstacle: Some("this kernel or hardware has none".to_owned()),
    });
    let words = |text: &str| -> Vec<String> {
        let letters = |c: char| c.is_alphanumeric() || "/.,:;=-".contains(c);
        text.split(|c| !letters(c))
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let terminal = page(&diagnosis, Detail::Full);
    assert!(terminal.contains(&format!(" {command}\n")), "{terminal}");
    let material = Material {
        diagnoses: vec![diagnosis],
        ..Material::default()
    };
    let document = Document::new(&material);
    for (page, copied) in [
        (
            markdown::page(&document),
            format!("```text\n  {command}\n  ```"),
        ),
        (html::page(&document), format!("<pre>{command}</pre>")),
    ] {
        assert!(page.contains(&copied), "{page}");
        let page = words(&page);
        for word in words(&terminal) {
            assert!(page.contains(&word), "{word}");
        }
    }
}

#[test]
fn a_rule_is_explained_as_it_was() {
    let diagnosis = diagnosis();
    let document = Document::of_verdict(&diagnosis, &diagnosis.verdicts[1]);
    compare("rule", &text::page(&document, 80, Detail::Full));
}

#[test]
fn nothing_found_says_so_in_numbers() {
    let mut diagnosis = diagnosis();
    diagnosis
        .verdicts
        .retain(|v| v.outcome == RuleOutcome::Fine);
    let text = page(&diagnosis, Detail::Summary);
    let answer = "Nothing found: 1 rule judged CPUs 2-3, which the kernel isolates; 1 fine";
    assert!(text.starts_with(answer), "{text}");
    assert!(!text.contains("High:"), "{text}");
}
