// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How running processes are set up, by the rules of `doctor` about processes.

use punctual_model::{
    CpuChoice, Diagnosis, JudgedProcess, Ordered as _, ProcessDiagnosis, RuleOutcome, Verdict,
};

use super::super::facts::{machine_facts, plural};
use super::super::named::counted;
use super::super::parts::{Block, Document, Item, More};
use super::{about, answer, cite, entries, findings, rest, severities};

/// Threads of a process that are listed; the others are counted.
const THREADS: usize = 8;

/// Verdicts of processes as those of a machine: what is said of them is the same.
fn with(of: &ProcessDiagnosis, verdicts: Vec<Verdict>) -> Diagnosis {
    Diagnosis {
        format: of.format.clone(),
        host: of.host.clone(),
        cpus: punctual_model::CpuSet::default(),
        cpus_chosen: CpuChoice::Online,
        verdicts,
    }
}

fn named(process: &JudgedProcess) -> String {
    format!("{} (pid {})", process.name, process.pid)
}

impl Document {
    /// Says what was found of processes, the worst first, one process after the other.
    pub fn of_processes(diagnosis: &ProcessDiagnosis) -> Self {
        let all = diagnosis.processes.iter().flat_map(|p| p.verdicts.clone());
        let together = with(diagnosis, all.collect());
        let (tone, word) = answer(&together);
        let count = |outcome| together.with(outcome).count();
        let names: Vec<String> = diagnosis.processes.iter().map(named).collect();
        let sentence = format!(
            "{}{} judged {}; {} fine, {} unknown, {} not applicable.",
            severities(&together),
            counted(together.verdicts.len() as u64, "rule"),
            names.join(", "),
            count(RuleOutcome::Fine),
            count(RuleOutcome::Unknown),
            count(RuleOutcome::NotApplicable),
        );
        let mut blocks = vec![Block::Facts(machine_facts(&diagnosis.host))];
        for process in &diagnosis.processes {
            blocks.push(Block::Part(named(process), of_one(diagnosis, process)));
        }
        let next = "`punctual doctor --pid PID --explain RULE` says why, how to fix it, and gives the source; `--all` also \
                    lists what is fine and what is not applicable.";
        blocks.push(Block::facts([("Next", next)]));
        Self::of("How processes are set up", blocks).answering(tone, &word, sentence)
    }

    /// Says all about one rule, and what it says of each process; nothing where there is no such rule.
    pub fn of_process_verdict(diagnosis: &ProcessDiagnosis, id: &str) -> Option<Self> {
        let mut items = Vec::new();
        let mut rule = None;
        for process in &diagnosis.processes {
            let verdict = process.verdicts.iter().find(|v| v.rule.id == id)?;
            let outcome = match verdict.outcome {
                RuleOutcome::Found => "found",
                RuleOutcome::Fine => "fine",
                RuleOutcome::Unknown => "unknown",
                RuleOutcome::NotApplicable => "not applicable",
            };
            let said = format!("{outcome}: {}", verdict.says);
            let mut item = Item::from((named(process).as_str(), said));
            item.more
                .extend(verdict.evidence.iter().map(cite).map(More::Said));
            items.push(item);
            rule = Some(&verdict.rule);
        }
        let rule = rule?;
        let mut facts = about(rule);
        facts.extend(machine_facts(&diagnosis.host));
        let blocks = vec![Block::Items(items), Block::Facts(facts)];
        let sentence = format!("{} ({})", rule.title, rule.id);
        Some(Self::of(&rule.id, blocks).answering(super::Tone::Plain, "Rule", sentence))
    }
}

fn of_one(diagnosis: &ProcessDiagnosis, process: &JudgedProcess) -> Vec<Block> {
    let real_time = process.threads.iter().filter(|t| t.is_real_time).count();
    let all = process.threads.len();
    let judged = match real_time {
        0 if all == 1 => "1 thread, which is not real-time".to_owned(),
        0 => format!("{all} threads, none of them real-time"),
        n => format!("{n} real-time thread{} of {all}", plural(n)),
    };
    let mut threads: Vec<_> = process.threads.iter().collect();
    threads.order_by_key(|thread| (!thread.is_real_time, thread.tid));
    let mut shown: Vec<String> = threads
        .iter()
        .take(THREADS)
        .map(|t| {
            format!(
                "{} {}: {}, CPU{} {}",
                t.tid,
                t.name,
                t.policy,
                plural(t.cpus.len()),
                t.cpus
            )
        })
        .collect();
    if all > THREADS {
        shown.push(format!("and {} more", all - THREADS));
    }
    let as_machine = with(diagnosis, process.verdicts.clone());
    let mut blocks = vec![Block::Facts(vec![
        ("Judged".to_owned(), judged),
        ("Threads".to_owned(), shown.join("; ")),
    ])];
    blocks.extend(findings(&as_machine));
    let unknown = entries(&as_machine, RuleOutcome::Unknown);
    if !unknown.is_empty() {
        let heading = "Not known, because a file could not be read".to_owned();
        blocks.push(Block::Part(heading, vec![Block::Items(unknown)]));
    }
    blocks.extend(rest(&as_machine, RuleOutcome::Fine, "Fine"));
    blocks.extend(rest(
        &as_machine,
        RuleOutcome::NotApplicable,
        "Not applicable here",
    ));
    blocks
}
