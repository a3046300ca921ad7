// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machines and kernels that runs were made on, how they were measured, and what `doctor` found.
use punctual_model::{HostFacts, RunRecord};

use super::parts::{Block, Document, Ids, Material, Section};
use super::{diagnosis, facts, named};

/// Ways to measure that are shown at once, at most.
const FEW: usize = 4;

/// Adds the facts of each machine.
pub(super) fn add(document: &mut Document, ids: &mut Ids, material: &Material) {
    let mut blocks = Vec::new();
    let shown = material.runs.iter().map(|run| &run.record);
    let records: Vec<&RunRecord> = shown.chain(&material.behind).collect();
    let names = named::all(records.iter().copied());
    if material.runs.len() <= super::runs::MANY {
        let of = material
            .runs
            .iter()
            .map(|run| facts::run_facts(&run.record));
        blocks.extend(of.map(Block::Facts));
    }
    let mut hosts: Vec<(HostFacts, bool, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(&names) {
        let is_imported = record.origin.is_some();
        let same = |(host, imported, _): &&mut (HostFacts, bool, Vec<&str>)| {
            *host == record.host && *imported == is_imported
        };
        match hosts.iter_mut().find(same) {
            Some((.., runs)) => runs.push(name),
            None => hosts.push((record.host.clone(), is_imported, vec![name])),
        }
    }
    for assessment in &material.assessments {
        for condition in &assessment.conditions {
            if hosts.iter().all(|(host, ..)| *host != condition.run.host) {
                hosts.push((condition.run.host.clone(), false, Vec::new()));
            }
        }
    }
    let several = hosts.len() > 1;
    for (host, is_imported, runs) in &hosts {
        let mut facts = facts::host_facts(host, *is_imported);
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
    blocks.extend(measured(&records, &names));
    if !blocks.is_empty() {
        document.sections.push(Section {
            id: ids.make("machine"),
            title: "Machine and method".to_owned(),
            blocks,
        });
    }
    for of in &material.diagnoses {
        diagnosis::add(document, ids, of);
    }
}

/// How runs were measured, the same once.
fn measured(records: &[&RunRecord], names: &[String]) -> Option<Block> {
    let mut ways: Vec<(String, Vec<&str>)> = Vec::new();
    for (record, name) in records.iter().zip(names) {
        let way = format!("{}: {}", record.instrument, facts::measured(record));
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, of)) => of.push(name),
            None => ways.push((way, vec![name])),
        }
    }
    let facts: Vec<(String, String)> = ways
        .into_iter()
        .map(|(way, of)| {
            let name = match of.as_slice() {
                [_] if records.len() == 1 => "Measured".to_owned(),
                [one] => (*one).to_owned(),
                several => format!("{} runs", several.len()),
            };
            (name, way)
        })
        .collect();
    match facts.len() {
        0 => None,
        1..=FEW => Some(Block::Facts(facts)),
        n => {
            let title = format!("How it was measured, in {n} ways");
            Some(Block::Fold(title, vec![Block::Facts(facts)]))
        }
    }
}
