// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual doctor`: what on this machine hurts determinism.

use std::path::Path;

use punctual_host::knob::Survey;
use punctual_host::{Machine, Scope};
use punctual_model::{CpuSet, Diagnosis, RuleOutcome, Severity};
use punctual_report::document::Document;
use punctual_report::text::Detail;
use punctual_sys::SysRoot;

use crate::cli::DoctorArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output;

/// Judges this machine, or a captured one.
pub(crate) fn run(args: &DoctorArgs) -> Result<Exit, CliError> {
    let sys = match &args.root {
        Some(root) => captured(root)?,
        None => SysRoot::live(),
    };
    let machine = Machine::take(&sys, &Scope::Judged(args.cpus.clone()));
    let host = punctual_host::inspect(&sys);
    check_cpus(args.cpus.as_ref(), &host.cpus_online)?;
    let mut diagnosis = punctual_host::diagnose(&machine, host, args.cpus.as_ref());
    let privileged = args.root.is_some() || punctual_sys::thread::is_root();
    let survey = Survey::read(&sys, punctual_host::advice_scope(&diagnosis), privileged);
    punctual_host::advise(&mut diagnosis, &survey);
    let (document, detail) = match (&args.explain, args.all) {
        (Some(id), _) => (explain(&diagnosis, id)?, Detail::Full),
        (None, true) => (Document::of_diagnosis(&diagnosis), Detail::Full),
        (None, false) => (Document::of_diagnosis(&diagnosis), Detail::Summary),
    };
    output::show_in(detail, &diagnosis, args.json, |_| document)?;
    Ok(args
        .fail_on
        .map_or(Exit::Fine, |least| gate(&diagnosis, least)))
}

/// A rule that could not be judged may hide what the gate is to find.
fn gate(diagnosis: &Diagnosis, least: Severity) -> Exit {
    let any = |outcome| {
        let mut verdicts = diagnosis.verdicts.iter();
        verdicts.any(|of| of.outcome == outcome && of.rule.severity.is_at_least(least))
    };
    Exit::of_gate(any(RuleOutcome::Found), !any(RuleOutcome::Unknown))
}

fn captured(root: &Path) -> Result<SysRoot, CliError> {
    let is_machine = ["proc", "sys"].iter().any(|name| root.join(name).is_dir());
    if !is_machine {
        return Err(CliError::usage(format!(
            "--root {}: has neither proc nor sys",
            root.display()
        ))
        .hint("name the directory that contains the captured /proc and /sys"));
    }
    Ok(SysRoot::at(root))
}

fn check_cpus(asked: Option<&CpuSet>, online: &CpuSet) -> Result<(), CliError> {
    let Some(asked) = asked else {
        return Ok(());
    };
    if asked.is_empty() {
        return Err(CliError::usage("--cpus: the list is empty"));
    }
    let missing = asked.without(online);
    if missing.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--cpus {asked}: CPU {missing} is not online (online: {online})"
    )))
}

fn explain(diagnosis: &Diagnosis, id: &str) -> Result<Document, CliError> {
    let verdict = diagnosis
        .verdicts
        .iter()
        .find(|verdict| verdict.rule.id == id);
    let Some(verdict) = verdict else {
        let all = diagnosis
            .verdicts
            .iter()
            .map(|verdict| verdict.rule.id.as_str());
        let near = all.filter(|rule| rule.contains(id) || id.contains(rule));
        let near: Vec<_> = near.collect();
        let hint = match near.is_empty() {
            true => "`punctual doctor --all` lists every rule".to_owned(),
            false => format!("there is {}", near.join(", ")),
        };
        return Err(CliError::usage(format!("--explain {id}: no such rule")).hint(hint));
    };
    Ok(Document::of_verdict(diagnosis, verdict))
}
