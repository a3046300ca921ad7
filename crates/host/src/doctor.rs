// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What on a machine hurts determinism.
//!
//! [`diagnose`] is a pure function of a [`Machine`]: each rule looks at files that were read before
//! and answers found, fine, unknown or not applicable, with the files that it rests on. Severities
//! are what the documentation says a thing can cost; what it costs here is for a measurement to
//! say. [`advise`] adds what `tune` can do about the findings on this machine.

mod case;
mod groups;
mod parse;
mod process;
mod rules;
mod tunable;

use punctual_model::{
    CpuChoice, CpuSet, DIAGNOSIS_FORMAT, Diagnosis, Evidence, Fixer, HostFacts, Ordered as _, Rule,
    RuleOutcome, Verdict,
};

use self::case::{Answer, Case, Entry, Fix};
use self::tunable::knob_of;
use crate::machine::{Machine, numbered};

pub use self::process::{NoProcess, Processes, judge_thread, process_rules};
pub use self::tunable::{advice_scope, advise};
pub(crate) use case::named;
pub(crate) use groups::{Groups, NOT_THE_ROOT, is_root, top_group};
pub(crate) use parse::{Process, SERVICES};

/// Judges a machine, and on it the CPUs that are `asked` for, or else those that the kernel
/// isolates, or else all that are online. `host` goes into the record as it is.
pub fn diagnose(machine: &Machine, host: HostFacts, asked: Option<&CpuSet>) -> Diagnosis {
    let online = machine.cpus("online");
    let (cpus, cpus_chosen) = match (asked, machine.set_apart()) {
        (Some(cpus), _) => (cpus.clone(), CpuChoice::Asked),
        (None, Some(cpus)) => (cpus, CpuChoice::Isolated),
        (None, None) => (online.clone(), CpuChoice::Online),
    };
    let case = Case {
        machine,
        cpus: cpus.clone(),
        online,
    };
    let mut verdicts: Vec<_> = rules::all().map(|entry| verdict(entry, &case)).collect();
    // Stable: rules of a severity stay in the order of the documentation.
    verdicts.order_by_key(|verdict| std::cmp::Reverse(verdict.rule.severity));
    Diagnosis {
        format: DIAGNOSIS_FORMAT.to_owned(),
        host,
        cpus,
        cpus_chosen,
        verdicts,
    }
}

/// Returns every rule, in the order of the documentation.
pub fn rules() -> Vec<Rule> {
    rules::all().map(Entry::rule).collect()
}

fn verdict(entry: &Entry, case: &Case<'_>) -> Verdict {
    let answer = (entry.check)(case);
    // Where no CPU is known, none can be set apart.
    let answer = answer.and_then(|verdict| match verdict.says == rules::NOT_APART {
        true => case.some_cpu().map(|()| verdict),
        false => Ok(verdict),
    });
    answered(entry.rule(), answer)
}

/// Makes a verdict of what a rule answered.
fn answered(mut rule: Rule, answer: Answer) -> Verdict {
    match answer {
        Ok(outcome) => {
            if !outcome.useless.is_empty() {
                rule.knobs
                    .retain(|knob| !outcome.useless.contains(&knob.as_str()));
                let tunable = !rule.knobs.is_empty();
                rule.fixed_by
                    .retain(|fixer| tunable || *fixer != Fixer::Tune);
            }
            Verdict {
                rule,
                outcome: outcome.outcome,
                says: outcome.says,
                evidence: folded(outcome.evidence),
                tune: None,
            }
        }
        Err(unknown) => Verdict {
            rule,
            outcome: RuleOutcome::Unknown,
            says: "what this rests on could not be read".to_owned(),
            evidence: folded(unknown.0),
            tune: None,
        },
    }
}

/// Puts together files of several CPUs that say the same: `cpu{0-3}/cpufreq/scaling_governor`.
fn folded(all: Vec<Evidence>) -> Vec<Evidence> {
    let mut kept: Vec<(String, Evidence, Vec<u32>)> = Vec::new();
    for evidence in all {
        let (pattern, number) = numbered(&evidence.path).map_or_else(
            || (evidence.path.clone(), None),
            |(pattern, n)| (pattern, Some(n)),
        );
        let alike = kept.iter_mut().find(|(known, other, numbers)| {
            *known == pattern
                && !numbers.is_empty()
                && other.value == evidence.value
                && other.problem == evidence.problem
        });
        match (alike, number) {
            (Some((_, _, numbers)), Some(number)) => numbers.push(number),
            _ => kept.push((pattern, evidence, number.into_iter().collect())),
        }
    }
    kept.into_iter()
        .map(|(pattern, mut evidence, numbers)| {
            if numbers.len() > 1 {
                let list: CpuSet = numbers.into_iter().collect();
                evidence.path = pattern.replacen("{}", &format!("{{{list}}}"), 1);
            }
            evidence
        })
        .collect()
}

impl<Check> Entry<Check> {
    /// The settings of `tune` that fix it, each by itself.
    fn settings(&self) -> impl Iterator<Item = &'static str> + use<Check> {
        let by = self.by;
        by.iter().filter_map(|fix| match fix {
            Fix::Tune(setting) => Some(*setting),
            _ => None,
        })
    }

    fn rule(&self) -> Rule {
        let mut fixed_by: Vec<Fixer> = self.by.iter().map(|fix| fix.fixer()).collect();
        fixed_by.dedup();
        Rule {
            id: self.id.to_owned(),
            severity: self.severity,
            title: self.title.to_owned(),
            why: self.why.to_owned(),
            fix: self.fix.to_owned(),
            fixed_by,
            knobs: self.settings().map(|s| knob_of(s).to_owned()).collect(),
            source: self.source.to_owned(),
        }
    }
}
