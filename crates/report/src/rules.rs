// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The rules of `doctor` as a page of documentation.

use punctual_model::{Fixer, Rule, Severity};
use punctual_verdict::words::capital;

use crate::document::meaning;

/// Writes the rules as Markdown, those about a machine, those about a program and those about a kernel's configuration: a table of all, and then each with its
/// reason, fix and source.
pub fn markdown(rules: &[Rule], of_programs: &[Rule], of_configurations: &[Rule]) -> String {
    let severities: String = Severity::ALL
        .iter()
        .map(|severity| format!("| {severity} | {} |\n", escaped(meaning(*severity))))
        .collect();
    let fixers: String = Fixer::ALL
        .iter()
        .map(|fixer| format!("| {fixer} | {} |\n", who(*fixer)))
        .collect();
    let [machines, programs, configurations] =
        [rules, of_programs, of_configurations].map(|rules| {
            let rows: String = rules.iter().map(row).collect();
            let chapters: String = rules.iter().map(chapter).collect();
            format!("| rule | severity | finds | fixed by |\n|---|---|---|---|\n{rows}{chapters}")
        });
    format!(
        "# The rules of `punctual doctor`\n\n\
         Written by `make generate` from the rules themselves; [the guide](guide/doctor.md) says how to \
         use them. There are {}, {} about programs and {} about configurations.\n\n## Severities\n\n\
         What a finding can cost, after the rule's source. What it costs on a machine, a measurement says.\n\n\
         | severity | |\n|---|---|\n{severities}\n\
         ## Who can fix it\n\n| | |\n|---|---|\n{fixers}\n\
         ## All rules\n\n{machines}\n\
         ## Rules about programs\n\n\
         `punctual doctor --pid` judges how a process is set up; `punctual watch` does too, and finds the others in what \
         the threads do in their cycles: [how](guide/watch-habits.md).\n\n\
         {programs}\n\
         ## Rules about configurations\n\n\
         `punctual kernel config check` judges the configuration of a kernel that need not run: by these rules, and by those \
         about a machine that look at options alone: [how](guide/kernel-build.md#configurations).\n\n\
         {configurations}",
        rules.len(),
        of_programs.len(),
        of_configurations.len()
    )
}

fn row(rule: &Rule) -> String {
    format!(
        "| [{id}](#{id}) | {} | {} | {} |\n",
        rule.severity,
        escaped(&rule.title),
        fixers(rule),
        id = rule.id,
    )
}

fn chapter(rule: &Rule) -> String {
    let knobs = match rule.knobs[..] {
        [] => String::new(),
        _ => format!("- Settings of tune: `{}`\n", rule.knobs.join("`, `")),
    };
    format!(
        "\n### {}\n\n{}. Severity {}, fixed by {}.\n\n- Why: {}\n- Fix: {}\n{knobs}- Source: {}\n",
        rule.id,
        escaped(&capital(&rule.title)),
        rule.severity,
        fixers(rule),
        escaped(&rule.why),
        escaped(&rule.fix),
        escaped(&rule.source),
    )
}

const fn who(fixer: Fixer) -> &'static str {
    match fixer {
        Fixer::Tune => {
            "a setting of the running kernel, which `punctual tune` changes and takes back"
        }
        Fixer::Setup => {
            "any other setting of the running system: a file to write to, a service, a limit, a cable"
        }
        Fixer::Boot => "the kernel command line",
        Fixer::Firmware => "the firmware's settings, or the hardware",
        Fixer::Rebuild => "another kernel, or another configuration of it",
        Fixer::Hypervisor => "whoever runs the hypervisor",
        Fixer::Program => "the program's own code",
    }
}

fn fixers(rule: &Rule) -> String {
    let names: Vec<_> = rule.fixed_by.iter().map(|fixer| fixer.name()).collect();
    names.join(", ")
}

/// Keeps Markdown from taking characters for its own.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '|' | '<' | '[' | ']' | '`' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_has_a_row_and_a_chapter() {
        let rule = Rule {
            id: "toy".to_owned(),
            severity: Severity::Low,
            title: "the toy is on".to_owned(),
            why: "It plays with a|b*.".to_owned(),
            fix: "take it away".to_owned(),
            fixed_by: vec![Fixer::Tune, Fixer::Boot],
            knobs: vec!["toy.on".to_owned()],
            source: "toys(7)".to_owned(),
        };
        let program = Rule {
            id: "loop".to_owned(),
            ..rule.clone()
        };
        let option = Rule {
            id: "config-toy".to_owned(),
            ..rule.clone()
        };
        let text = markdown(&[rule], &[program], &[option]);
        assert!(
            text.contains("There are 1, 1 about programs and 1 about configurations.\n"),
            "{text}"
        );
        assert!(
            text.contains("| [loop](#loop) |") && text.contains("\n### loop\n"),
            "{text}"
        );
        assert!(
            text.contains("| [config-toy](#config-toy) |") && text.contains("\n### config-toy\n"),
            "{text}"
        );
        assert!(
            text.contains("| [toy](#toy) | low | the toy is on | tune, boot |\n"),
            "{text}"
        );
        assert!(
            text.contains("\n### toy\n\nThe toy is on. Severity low, fixed by tune, boot.\n"),
            "{text}"
        );
        assert!(text.contains("a\\|b\\*"), "{text}");
        assert!(text.contains("- Settings of tune: `toy.on`\n"), "{text}");
    }
}
