// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual doctor`: what on this machine hurts determinism.

use std::path::Path;

use punctual_host::knob::Survey;
use punctual_host::{Machine, Processes, Scope};
use punctual_model::{CpuSet, Diagnosis, Rule, RuleOutcome, Verdict};
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
    let processes = match (args.pid, &args.comm) {
        (Some(pid), _) => Some(Processes::Pid(pid)),
        (None, Some(name)) => Some(Processes::Named(name.clone())),
        (None, None) => None,
    };
    if let Some(processes) = processes {
        return of_processes(args, &sys, &processes);
    }
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
    Ok(gate(args, &diagnosis.verdicts))
}

/// Judges how processes are set up.
fn of_processes(args: &DoctorArgs, sys: &SysRoot, which: &Processes) -> Result<Exit, CliError> {
    let host = punctual_host::inspect(sys);
    let diagnosis = which
        .judge(sys, host)
        .map_err(|none| CliError::usage(none.to_string()))?;
    let (document, detail) = match (&args.explain, args.all) {
        (Some(id), _) => {
            let document = Document::of_process_verdict(&diagnosis, id);
            let rules = punctual_host::process_rules();
            (
                document.ok_or_else(|| no_rule(id, &rules, "--pid PID "))?,
                Detail::Full,
            )
        }
        (None, true) => (Document::of_processes(&diagnosis), Detail::Full),
        (None, false) => (Document::of_processes(&diagnosis), Detail::Summary),
    };
    output::show_in(detail, &diagnosis, args.json, |_| document)?;
    let processes = diagnosis.processes.into_iter();
    let verdicts: Vec<_> = processes.flat_map(|process| process.verdicts).collect();
    Ok(gate(args, &verdicts))
}

/// A rule that could not be judged may hide what the gate is to find.
fn gate(args: &DoctorArgs, verdicts: &[Verdict]) -> Exit {
    let Some(least) = args.fail_on else {
        return Exit::Fine;
    };
    let any = |outcome| {
        let mut verdicts = verdicts.iter();
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
        let mut of_configurations = punctual_kernel::config::rules().into_iter();
        if of_configurations.any(|rule| rule.id == id) {
            let error = CliError::usage(format!("--explain {id}: a rule about configurations"));
            return Err(error.hint(
                "`punctual kernel config check running --all` judges by it; with --json it has reason and source",
            ));
        }
        return Err(no_rule(id, &punctual_host::rules(), ""));
    };
    Ok(Document::of_verdict(diagnosis, verdict))
}

/// There is no rule `id` among `rules`, which `punctual doctor` lists with these options.
fn no_rule(id: &str, rules: &[Rule], options: &str) -> CliError {
    let all = rules.iter().map(|rule| rule.id.as_str());
    let near: Vec<_> = all
        .filter(|rule| rule.contains(id) || id.contains(rule))
        .collect();
    let hint = match near.is_empty() {
        true => format!("`punctual doctor {options}--all` lists every rule"),
        false => format!("there is {}", near.join(", ")),
    };
    CliError::usage(format!("--explain {id}: no such rule")).hint(hint)
}
