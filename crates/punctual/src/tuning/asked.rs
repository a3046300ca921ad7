// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was asked for by `--set`, and is unavailable.

use punctual_model::{Plan, SkipReason, Skipped};

use crate::error::CliError;
use crate::exit::Exit;

/// Whether `--set` names this knob.
pub(crate) fn is_asked(set: &[String], knob: &str) -> bool {
    let name = |setting: &String| setting.split(['=', '@']).next() == Some(knob);
    set.iter().any(name)
}

/// The error about a setting that was asked for and is unavailable.
pub(crate) fn not_had(what: &str, why: &str) -> CliError {
    CliError::failed_to(format!("set {what}: {why}"))
        .exiting(Exit::Unsupported)
        .hint("`punctual tune plan` with the same options shows what is available here")
}

/// Fails where a setting that was asked for explicitly is unavailable, if only for one of several interrupts or threads: what is measured
/// then would not be what was asked for.
pub(crate) fn insist_on_all(set: &[String], plan: &Plan) -> Result<(), CliError> {
    let asked = |skipped: &&Skipped| is_asked(set, &skipped.knob);
    match plan.skipped.iter().find(asked) {
        None => Ok(()),
        Some(skipped) => Err(not_had(&skipped.knob, &skipped.detail)),
    }
}

/// Fails where nothing of a setting that was asked for explicitly is available.
pub(crate) fn insist(set: &[String], plan: &Plan) -> Result<(), CliError> {
    match lacking(set, plan) {
        None => Ok(()),
        Some(skipped) => Err(not_had(&skipped.knob, &skipped.detail)),
    }
}

/// The first setting that was asked for explicitly and of which nothing is available. What belongs where it is, such as a thread that its owner
/// bound, is no lack.
pub(crate) fn lacking<'a>(set: &[String], plan: &'a Plan) -> Option<&'a Skipped> {
    let has_some = |knob: &str| plan.steps.iter().any(|step| step.knob == knob);
    plan.skipped.iter().find(|skipped| {
        let whole =
            skipped.instances.is_empty() || (plan.satisfied == 0 && !has_some(&skipped.knob));
        is_asked(set, &skipped.knob) && skipped.reason != SkipReason::Bound && whole
    })
}

/// The error about a plan of which nothing can be done.
pub(crate) fn out_of_reach(plan: &Plan) -> CliError {
    let why = plan.skipped.first();
    let why = why.map_or_else(String::new, |s| {
        format!("; the first, {}: {}", s.knob, s.detail)
    });
    CliError::failed_to(format!(
        "tune: none of these settings is available here{why}"
    ))
    .exiting(Exit::Unsupported)
    .hint("`punctual tune plan` with the same options names all of them")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without(knob: &str, instances: &[&str], reason: SkipReason) -> Plan {
        Plan {
            skipped: vec![Skipped {
                knob: knob.to_owned(),
                instances: instances.iter().map(|&of| of.to_owned()).collect(),
                reason,
                detail: "none".to_owned(),
            }],
            ..Plan::default()
        }
    }

    #[test]
    fn a_setting_that_was_asked_for_and_cannot_be_had_is_an_error() {
        let plan = without("cpufreq.governor", &[], SkipReason::Absent);
        for insist in [insist, insist_on_all] {
            let set = |text: &str| insist(&[text.to_owned()], &plan).is_ok();
            assert!(set("vm.swappiness=1") && insist(&[], &plan).is_ok());
            assert!(!set("cpufreq.governor=performance") && !set("cpufreq.governor@1=x"));
        }
    }

    #[test]
    fn one_of_several_that_cannot_be_had_is_none_where_the_others_can() {
        let set = ["irq.affinity=1".to_owned()];
        let mut plan = without("irq.affinity", &["9"], SkipReason::ReadOnly);
        assert!(insist(&set, &plan).is_err() && insist_on_all(&set, &plan).is_err());
        plan.satisfied = 1;
        assert!(insist(&set, &plan).is_ok() && insist_on_all(&set, &plan).is_err());
        let set = ["kthreads.affinity=1".to_owned()];
        let bound = without("kthreads.affinity", &["2"], SkipReason::Bound);
        assert!(insist(&set, &bound).is_ok());
    }
}
