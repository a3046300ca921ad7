// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which of the settings of `tune` that fix a finding are available on this machine.

use punctual_model::{CpuSet, Diagnosis, Fixer, RuleOutcome, TuneAdvice};
use punctual_sys::child::shell_word;

use super::case::Entry;
use crate::knob::{KnobKind, Scope, Survey, find};
use crate::plan::{PlanOptions, plan};
use crate::profile::Profile;

/// Returns the knob of `knob@which=value`.
pub(super) fn knob_of(setting: &str) -> &str {
    setting.split(['=', '@']).next().unwrap_or(setting)
}

/// How much of the machine [`advise`] needs to see.
pub fn advice_scope(diagnosis: &Diagnosis) -> Scope {
    let threads =
        |knob: &String| find(knob).is_some_and(|knob| matches!(knob.kind, KnobKind::ThreadCpus(_)));
    let mut found = diagnosis.with(RuleOutcome::Found);
    if found.any(|verdict| verdict.rule.knobs.iter().any(threads)) {
        Scope::WithThreads
    } else {
        Scope::Settings
    }
}

/// Adds to each finding that `tune` can fix the command that does it on the machine of `survey`. Where
/// none does, it says why, and `tune` is no longer named among those who can.
pub fn advise(diagnosis: &mut Diagnosis, survey: &Survey) {
    let cpus = diagnosis.cpus.clone();
    for verdict in &mut diagnosis.verdicts {
        if verdict.outcome != RuleOutcome::Found || verdict.rule.knobs.is_empty() {
            continue;
        }
        let knobs = verdict.rule.knobs.clone();
        let helps = |setting: &&str| knobs.iter().any(|knob| knob == knob_of(setting));
        let advice = advice(settings(&verdict.rule.id).filter(helps), survey, &cpus);
        match &advice.setting {
            Some(setting) => verdict.rule.knobs = vec![knob_of(setting).to_owned()],
            None => {
                verdict.rule.knobs.clear();
                verdict.rule.fixed_by.retain(|fixer| *fixer != Fixer::Tune);
            }
        }
        verdict.tune = Some(advice);
    }
}

/// Returns the settings that fix what a rule finds, each by itself: the first that is available is advised.
fn settings(rule: &str) -> impl Iterator<Item = &'static str> {
    let entry = super::rules::all().find(|entry| entry.id == rule);
    entry.into_iter().flat_map(Entry::settings)
}

fn advice(
    settings: impl Iterator<Item = &'static str>,
    survey: &Survey,
    cpus: &CpuSet,
) -> TuneAdvice {
    let mut obstacle = None;
    for setting in settings {
        match tried(setting, survey, cpus) {
            Ok((setting, cpus)) => {
                let cpus = cpus.map_or_else(String::new, |cpus| format!(" --cpus {cpus}"));
                return TuneAdvice {
                    command: Some(format!(
                        "{}punctual tune apply{cpus} --set {}",
                        if survey.privileged { "" } else { "sudo " },
                        shell_word(&setting)
                    )),
                    setting: Some(setting),
                    obstacle: None,
                };
            }
            Err(why) => {
                obstacle.get_or_insert_with(|| format!("{}: {why}", knob_of(setting)));
            }
        }
    }
    TuneAdvice {
        setting: None,
        command: None,
        obstacle,
    }
}

/// Makes the plan of one setting; returns the setting and the CPUs that the command must name, if it
/// does what it says here.
fn tried(
    setting: &str,
    survey: &Survey,
    cpus: &CpuSet,
) -> Result<(String, Option<CpuSet>), String> {
    let budget = survey
        .value("kernel.sched_rt_runtime_us")
        .unwrap_or("950000");
    let setting = setting.replace("{budget}", budget);
    let mut profile = Profile::empty("doctor");
    profile.set(&setting).map_err(|err| err.problem)?;
    // All that are online are nothing to be named: then nothing is left for all else.
    let apart = !cpus.is_empty() && !survey.online.without(cpus).is_empty();
    let named = apart.then(|| cpus.clone());
    let options = PlanOptions {
        cpus: named.clone(),
        ..PlanOptions::default()
    };
    let plan = plan(&profile, survey, &options).map_err(|err| err.to_string())?;
    if let Some(refusal) = plan.refusals.first() {
        return Err(refusal.reason.clone());
    }
    if !plan.is_empty() {
        return Ok((setting, named));
    }
    Err(match plan.skipped.first() {
        Some(skipped) => skipped.detail.clone(),
        None => "it already has the wanted value".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_one_that_tune_takes() {
        for setting in super::super::rules::all().flat_map(Entry::settings) {
            let mut profile = Profile::empty("x");
            let setting = setting.replace("{budget}", "950000");
            profile.set(&setting).unwrap();
        }
    }
}
