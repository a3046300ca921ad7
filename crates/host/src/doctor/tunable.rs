// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which settings of `tune` fix what a rule finds, and which of them this machine has. A rule that is
//! not here, tune cannot fix.

use punctual_model::{CpuSet, Diagnosis, Fixer, RuleOutcome, TuneAdvice};

use crate::knob::{KnobKind, Scope, Survey, find};
use crate::plan::{PlanOptions, plan};
use crate::profile::Profile;

/// Rules and the settings for them, each by itself a fix: the first that is available is advised.
const FIXES: &[(&str, &[&str])] = &[
    ("preempt-model", &["sched.preempt=full"]),
    (
        "efi-runtime",
        &["workqueue.queue_cpumask@*efi*=housekeeping"],
    ),
    ("isolation", &["cgroup.partition=isolated", HOUSEKEEPING]),
    ("kernel-threads", &["kthreads.affinity=housekeeping"]),
    ("services", &[HOUSEKEEPING, "cgroup.cpus=housekeeping"]),
    ("smt", &["cpu.online@siblings=off", "smt=off"]),
    ("rt-throttling", &["kernel.sched_rt_runtime_us=-1"]),
    ("rt-group-budget", &["cgroup.rt_runtime_us={budget}"]),
    ("fair-server", &["sched.fair_server_runtime_ns=0"]),
    ("numa-balancing", &["kernel.numa_balancing=0"]),
    ("rcu-expedited", &["rcu.expedited=off"]),
    ("rcu-normal", &["rcu.normal=on"]),
    (
        "idle-deep",
        &["dma_latency=99us", "cpuidle.disable=above 99us"],
    ),
    (
        "idle-states",
        &["dma_latency=9us", "cpuidle.disable=above 9us"],
    ),
    (
        "idle-halt-guest",
        &["dma_latency=0us", "cpuidle.disable=above 0us"],
    ),
    ("governor", &["cpufreq.governor=performance"]),
    ("energy-preference", &["cpufreq.epp=performance"]),
    ("energy-bias", &["cpu.energy_perf_bias=0"]),
    ("turbo", &["cpufreq.turbo=off"]),
    ("clock-source", &["clocksource=tsc"]),
    ("clock-source-virtual", &["clocksource=tsc"]),
    ("timer-migration", &["kernel.timer_migration=off"]),
    ("interrupts", &["irq.affinity=housekeeping"]),
    ("default-affinity", &["irq.default_affinity=housekeeping"]),
    ("workqueues", &["workqueue.cpumask=housekeeping"]),
    ("packet-steering", &["net.rps_cpus=housekeeping"]),
    (
        "lockup-watchdog",
        &[
            "kernel.watchdog_cpumask=housekeeping",
            "kernel.watchdog=off",
        ],
    ),
    ("nmi-watchdog", &["kernel.nmi_watchdog=off"]),
    ("schedstats", &["kernel.sched_schedstats=off"]),
    ("latencytop", &["kernel.latencytop=off"]),
    ("bpf-stats", &["kernel.bpf_stats_enabled=off"]),
    ("stack-tracer", &["kernel.stack_tracer_enabled=off"]),
    ("split-lock", &["kernel.split_lock_mitigate=off"]),
    ("uncore-frequency", &["uncore.min_freq=max"]),
    ("swappiness", &["vm.swappiness=10"]),
    ("huge-pages", &["thp.enabled=madvise"]),
    ("huge-page-defrag", &["thp.defrag=madvise"]),
    ("same-page-merging", &["ksm.run=0"]),
    ("compaction", &["vm.compaction_proactiveness=0"]),
    ("zone-reclaim", &["vm.zone_reclaim_mode=0"]),
    ("vm-statistics", &["vm.stat_interval=120"]),
    ("serial-console", &["kernel.printk=1 4 1 7"]),
];

const HOUSEKEEPING: &str = "threads.affinity=housekeeping";

/// Returns the settings that fix what a rule finds.
fn fixes(rule: &str) -> &'static [&'static str] {
    let entry = FIXES.iter().find(|(id, _)| *id == rule);
    entry.map_or(&[], |(_, fixes)| fixes)
}

/// Returns the knobs that fix what a rule finds.
pub(super) fn knobs(rule: &str) -> Vec<&'static str> {
    fixes(rule).iter().map(|setting| knob_of(setting)).collect()
}

/// Returns the knob of `knob@which=value`.
fn knob_of(setting: &str) -> &str {
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
        let advice = advice(&verdict.rule.id, survey, &cpus);
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

fn advice(rule: &str, survey: &Survey, cpus: &CpuSet) -> TuneAdvice {
    let mut obstacle = None;
    for setting in fixes(rule) {
        match tried(setting, survey, cpus) {
            Ok((setting, cpus)) => {
                let cpus = cpus.map_or_else(String::new, |cpus| format!(" --cpus {cpus}"));
                return TuneAdvice {
                    command: Some(format!(
                        "{}punctual tune apply{cpus} --set {}",
                        if survey.privileged { "" } else { "sudo " },
                        quoted(&setting)
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
        leave: Vec::new(),
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

/// Writes a word so that a shell reads it as one.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._=@-,:/".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_one_that_tune_takes_and_every_rule_is_a_rule() {
        for (rule, fixes) in FIXES {
            assert!(
                super::super::rules::all().any(|entry| entry.id == *rule),
                "{rule}"
            );
            for setting in *fixes {
                let mut profile = Profile::empty("x");
                let setting = setting.replace("{budget}", "950000");
                profile.set(&setting).unwrap();
            }
            assert_eq!(
                FIXES.iter().filter(|(id, _)| id == rule).count(),
                1,
                "{rule}"
            );
        }
    }

    #[test]
    fn a_shell_reads_a_setting_as_one_word() {
        assert_eq!(quoted("vm.swappiness=10"), "vm.swappiness=10");
        assert_eq!(
            quoted("cpuidle.disable=above 9us"),
            "'cpuidle.disable=above 9us'"
        );
        assert_eq!(quoted("a@*efi*=0"), "'a@*efi*=0'");
    }
}
