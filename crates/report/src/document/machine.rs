// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machines and kernels that runs were made on, how they were measured, and what `doctor` found.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use punctual_model::{Diagnosis, HostFacts, RuleOutcome, RunRecord};

use super::named;
use super::{Block, Document, Ids, Material, Section, Table};
use crate::text;

/// Adds a card a machine.
pub(super) fn add(document: &mut Document, ids: &mut Ids, material: &Material) {
    let mut blocks = Vec::new();
    let shown = material.runs.iter().map(|run| &run.record);
    let records: Vec<&RunRecord> = shown.chain(&material.behind).collect();
    let names = named::all(records.iter().copied());
    let mut hosts: Vec<(HostFacts, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(&names) {
        match hosts.iter_mut().find(|(host, _)| *host == record.host) {
            Some((_, runs)) => runs.push(name),
            None => hosts.push((record.host.clone(), vec![name])),
        }
    }
    for assessment in &material.assessments {
        for condition in &assessment.conditions {
            if hosts.iter().all(|(host, _)| *host != condition.run.host) {
                hosts.push((condition.run.host.clone(), Vec::new()));
            }
        }
    }
    let several = hosts.len() > 1;
    for (host, runs) in &hosts {
        let mut facts = card(host);
        if several && !runs.is_empty() {
            let more = runs.len().saturating_sub(8);
            let mut listed: Vec<String> = runs.iter().take(8).map(ToString::to_string).collect();
            if more > 0 {
                listed.push(format!("{more} more"));
            }
            facts.push(("Runs".to_owned(), listed.join(", ")));
        }
        blocks.push(Block::Facts(facts));
    }
    for diagnosis in &material.diagnoses {
        blocks.extend(findings(diagnosis));
    }
    blocks.extend(measured(&records, &names));
    if !blocks.is_empty() {
        document.sections.push(Section {
            id: ids.make("machine"),
            title: "Machine and method".to_owned(),
            blocks,
        });
    }
}

fn card(host: &HostFacts) -> Vec<(String, String)> {
    let mut facts: Vec<(String, String)> = Vec::new();
    let mut fact = |name: &str, value: Option<String>| {
        facts.push((
            name.to_owned(),
            value.unwrap_or_else(|| "unknown".to_owned()),
        ));
    };
    fact("Machine", host.hostname.clone());
    fact("Processor", host.cpu_model.clone());
    let mut cpus = format!("{} online ({})", host.cpu_count(), host.cpus_online);
    if !host.cpus_isolated.is_empty() {
        cpus += &format!(", {} isolated", host.cpus_isolated);
    }
    if !host.cpus_nohz_full.is_empty() {
        cpus += &format!(", {} nohz_full", host.cpus_nohz_full);
    }
    fact("CPUs", Some(cpus));
    if let Some(active) = host.smt_active {
        fact(
            "SMT",
            Some(if active { "active" } else { "not active" }.to_owned()),
        );
    }
    if let Some(nodes) = host.numa_nodes {
        fact("NUMA nodes", Some(nodes.to_string()));
    }
    let gib = host
        .memory_bytes
        .map(|b| format!("{:.1} GiB", b as f64 / (1_u64 << 30) as f64));
    fact("Memory", gib);
    if let Some(hypervisor) = &host.hypervisor {
        fact("Virtual", Some(hypervisor.clone()));
    }
    let release = host
        .kernel_release
        .clone()
        .map(|release| match &host.architecture {
            Some(architecture) => format!("{release}, {architecture}"),
            None => release,
        });
    fact("Kernel", release);
    if let Some(version) = &host.kernel_version {
        fact("Kernel version", Some(version.clone()));
    }
    fact(
        "Preemption",
        match host.preempt_rt {
            Some(true) => Some("PREEMPT_RT".to_owned()),
            _ => host.preemption.clone(),
        },
    );
    fact("Clock source", host.clocksource.clone());
    if !host.cpufreq_governors.is_empty() {
        fact("Governor", Some(host.cpufreq_governors.join(" ")));
    }
    if let Some(cpuidle) = &host.cpuidle {
        fact("Idle driver", Some(cpuidle.clone()));
    }
    if let (Some(runtime), Some(period)) = (host.sched_rt_runtime_us, host.sched_rt_period_us) {
        let value = match runtime {
            -1 => "not throttled".to_owned(),
            n => format!("{n} µs in {period} µs"),
        };
        fact("Real-time share", Some(value));
    }
    if let Some(cmdline) = &host.cmdline {
        fact("Command line", Some(cmdline.clone()));
    }
    fact(
        "Tuned",
        Some(match &host.tuning {
            Some(tuning) => text::tuned(tuning),
            None => "nothing that was seen".to_owned(),
        }),
    );
    facts
}

/// What `doctor` found, the worst first.
fn findings(diagnosis: &Diagnosis) -> Vec<Block> {
    let mut table = Table::new(
        "What hurts determinism here, by punctual doctor",
        &["<Severity", "<Rule", "<What was found", "<What helps"],
    );
    let mut found: Vec<_> = diagnosis.with(RuleOutcome::Found).collect();
    found.sort_by_key(|verdict| std::cmp::Reverse(verdict.rule.severity));
    for verdict in found {
        table.rows.push(vec![
            verdict.rule.severity.name().to_owned(),
            verdict.rule.id.clone(),
            text::diagnosis_found(verdict),
            text::diagnosis_remedy(verdict),
        ]);
    }
    let count = |outcome| diagnosis.with(outcome).count();
    table.notes.push(format!(
        "{} rules found something, {} are fine, {} could not be read, {} have no meaning on this machine ({}).",
        count(RuleOutcome::Found),
        count(RuleOutcome::Fine),
        count(RuleOutcome::Unknown),
        count(RuleOutcome::NotApplicable),
        diagnosis.host.hostname.as_deref().unwrap_or("host unknown"),
    ));
    vec![Block::Table(table)]
}

/// How runs were measured, the same once.
fn measured(records: &[&RunRecord], names: &[String]) -> Option<Block> {
    let mut ways: Vec<(String, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        let way = format!("{}: {}", record.instrument, text::measured(record));
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, of)) => of.push(name),
            None => ways.push((way, vec![name])),
        }
    }
    let facts: Vec<(String, String)> = ways
        .into_iter()
        .map(|(way, of)| {
            let name = match of.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("{} runs", several.len()),
            };
            (name, way)
        })
        .collect();
    (!facts.is_empty())
        .then(|| Block::Fold("How it was measured".to_owned(), vec![Block::Facts(facts)]))
}
