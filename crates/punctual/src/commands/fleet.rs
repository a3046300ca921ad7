// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual fleet`: one command on the hosts of an inventory, carried out by Ansible.

mod collection;
mod hosts;
mod inventory;
mod playbook;
mod programs;

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Parser as _;
use clap::error::ErrorKind;
use jiff::Timestamp;
use punctual_model::{FLEET_FORMAT, FleetReport, FleetState, Nanos};
use punctual_report::document::Document;
use punctual_store::Store;
use punctual_verdict::words::clean;
use serde_json::json;

use self::hosts::Hosts;
use self::inventory::{inventory, obeyed};
use self::playbook::{Ended, Line, Workshop};
use crate::cli::{Cli, Command, ExperimentAction, FleetAction, FleetArgs, TuneAction};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::output::{self, print, remark};
use crate::signals::StopRequest;

/// What Ansible would take for code of its own in a text.
const TEMPLATES: [&str; 3] = ["{{", "{%", "{#"];

/// A verb and what it does on a host.
struct Verb {
    name: &'static str,
    /// Whether what it prints with `--json` is its result, besides runs.
    answers: bool,
    arguments: Vec<String>,
    /// What the user on a host must have: empty, `root` or a policy.
    needs: String,
}

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: &FleetAction) -> Result<Exit, CliError> {
    let (name, args) = match action {
        FleetAction::Measure(args) => ("measure", args),
        FleetAction::Assess(args) => ("assess", args),
        FleetAction::Doctor(args) => ("doctor", args),
        FleetAction::Tune(args) => ("tune", args),
        FleetAction::Experiment(args) => ("experiment", args),
        FleetAction::Collection { dir } => {
            let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
            let place = collection::write(&dir)?;
            print(&format!("{}\n", clean(&place.display().to_string())))?;
            return Ok(Exit::Fine);
        }
    };
    let verb = verb(name, &args.arguments)?;
    let store = Store::open(home::find(home)?)?;
    let report = carry_out(&store, &verb, args)?;
    output::show(&report, args.json, Document::of_fleet)?;
    Ok(exit(&report))
}

/// Checks the command line of the hosts as they will, and adds what a result needs.
fn verb(name: &'static str, arguments: &[String]) -> Result<Verb, CliError> {
    let words = ["punctual", name].into_iter().map(str::to_owned);
    let line: Vec<String> = words.chain(arguments.iter().cloned()).collect();
    let parsed = Cli::try_parse_from(&line).map_err(|err| {
        if err.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            return CliError::usage(format!(
                "behind --: the arguments of `punctual {name}` are missing"
            ))
            .hint("for example `punctual fleet measure -i hosts.ini -- wakeup --duration 60s`");
        }
        let text = err.render().to_string();
        let first = text.lines().next().unwrap_or_default();
        let what = first.trim_start_matches("error: ");
        CliError::usage(format!("behind --: {what}")).hint(format!("see `punctual {name} --help`"))
    })?;
    if parsed.home.is_some() {
        return Err(
            CliError::usage("behind --: --home: each host has a store of its own")
                .hint("put --home before `fleet` to name the store here"),
        );
    }
    let (answers, quiet) = match &parsed.command {
        Command::Assess(args) => (!args.json, !args.quiet),
        Command::Doctor(args) => {
            if args.explain.is_some() || args.all {
                return Err(CliError::usage(
                    "behind --: --explain and --all are for one machine; the JSON has every rule",
                ));
            }
            (!args.json, false)
        }
        Command::Tune(args) => match &args.action {
            TuneAction::Apply { json, .. }
            | TuneAction::Plan { json, .. }
            | TuneAction::Status { json }
            | TuneAction::Revert { json } => (!json, false),
            _ => {
                return Err(CliError::usage(
                    "behind --: only `plan`, `apply`, `status` and `revert` work on a fleet",
                ));
            }
        },
        Command::Experiment { action } => match action {
            ExperimentAction::Run(args) => (false, !args.quiet),
            _ => {
                return Err(CliError::usage(
                    "behind --: only `run FILE` works on a fleet, with --file FILE before --",
                ));
            }
        },
        _ => (
            false,
            !arguments
                .iter()
                .any(|word| word == "-q" || word == "--quiet"),
        ),
    };
    let mut arguments = arguments.to_vec();
    let wants_answer = matches!(name, "assess" | "doctor" | "tune");
    if wants_answer && answers {
        arguments.push("--json".to_owned());
    }
    if quiet {
        arguments.push("--quiet".to_owned());
    }
    Ok(Verb {
        name,
        answers: wants_answer,
        arguments,
        needs: needs(&parsed.command),
    })
}

/// What a command needs of the user who runs it, `root` or a real-time policy, as far as its words say that: an experiment's file and
/// a task set are not read here, and an assessment does with what it has.
fn needs(command: &Command) -> String {
    const ROOT: &str = "root";
    let needed = match command {
        Command::Measure { tuning, instrument } if tuning.target.is_none() => {
            let tunes = tuning.tune.is_some() || !tuning.set.is_empty() || tuning.isolate.is_some();
            match instrument.policy() {
                _ if tunes || instrument.traces() => Some(ROOT.to_owned()),
                Some(policy) if policy.is_real_time() => Some(policy.to_string()),
                _ => None,
            }
        }
        Command::Tune(args) => match &args.action {
            TuneAction::Apply { .. } | TuneAction::Revert { .. } => Some(ROOT.to_owned()),
            _ => None,
        },
        _ => None,
    };
    needed.unwrap_or_default()
}

fn carry_out(store: &Store, verb: &Verb, args: &FleetArgs) -> Result<FleetReport, CliError> {
    let began = Instant::now();
    let started = Timestamp::now().to_string();
    let inventory = inventory(&args.inventory)?;
    let programs = match args.installed {
        true => BTreeMap::new(),
        false => programs::by_machine(&args.program)?,
    };
    let files: Vec<PathBuf> = args
        .file
        .iter()
        .map(|file| uploaded(file))
        .collect::<Result<_, _>>()?;
    let mut workshop = Workshop::new()?;
    if let Some(config) = config()? {
        workshop.obey(config);
    }
    let packed = match args.installed || args.check {
        true => json!({}),
        false => json!(programs::packed(&programs, workshop.path())?),
    };
    let fetched = workshop.fetched();
    let variables = json!({
        "program_files": programs,
        "program_packed": packed,
        "program_directory": args.keep.as_deref().unwrap_or_default(),
        "program_base": args.base.as_deref().unwrap_or_default(),
        "program_installed": args.installed,
        "program_version": env!("CARGO_PKG_VERSION"),
        "program_needs": verb.needs,
        "program_notes": fetched,
        "command_verb": verb.name,
        "command_arguments": verb.arguments,
        "command_answer": verb.answers,
        "command_uploads": files,
        "command_fetch": fetched,
        "command_limit": args.limit.get(),
        "command_one_by_one": args.serial,
        "command_timeout": args.timeout.map_or(0, |span| span.get().div_ceil(1_000_000_000)),
    });
    let text = variables.to_string();
    if let Some(template) = TEMPLATES.iter().find(|template| text.contains(*template)) {
        return Err(CliError::usage(format!(
            "`{template}` in an argument or path: Ansible would take it for a template"
        )));
    }
    // A controller that is one of the hosts copies the program to itself, and what goes with it.
    let copied = programs.values().chain(&files);
    let copied = copied.filter_map(|path| Some(std::fs::metadata(path).ok()?.len()));
    let most = args.limit.get().max(hosts::ANSWER_LIMIT);
    let most = copied.fold(most, u64::max);
    let arguments = arguments(&workshop, &inventory, args, &text)?;
    let stop = StopRequest::on_signals()?;
    let mut hosts = Hosts::new(store, &fetched);
    let ended = workshop.play("command.yml", &arguments, most, &stop, |line| match line {
        Line::Hosts { hosts: names } => hosts.expect(names),
        Line::Task(task) => {
            if let Some(text) = hosts.note(*task).filter(|_| !args.quiet) {
                remark(&text);
            }
        }
        Line::End {} => {}
    })?;
    clean_up(&workshop, &inventory, args, &mut hosts, &ended)?;
    if !hosts.is_empty() {
        hosts.miss(&unmatched(&ended.complaint));
    }
    let hosts = hosts.finish();
    if hosts.is_empty() {
        return Err(no_hosts(args, &ended));
    }
    let duration = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
    Ok(FleetReport {
        format: FLEET_FORMAT.to_owned(),
        verb: verb.name.to_owned(),
        arguments: verb.arguments.clone(),
        check_only: args.check,
        started,
        duration_ns: Nanos::new(duration),
        hosts,
    })
}

fn arguments(
    workshop: &Workshop,
    inventory: &Path,
    args: &FleetArgs,
    variables: &str,
) -> Result<Vec<OsString>, CliError> {
    let file = workshop.path().join("variables.json");
    fs::write(&file, variables)
        .map_err(|err| CliError::failed_to(format!("write {}", file.display())).because(err))?;
    let mut from_file = OsString::from("@");
    from_file.push(&file);
    let mut arguments: Vec<OsString> = vec![
        "--inventory".into(),
        inventory.into(),
        "--extra-vars".into(),
        from_file,
        "--forks".into(),
        args.forks.to_string().into(),
    ];
    if let Some(hosts) = &args.hosts {
        // One word: a pattern is no option of Ansible, whatever it begins with.
        arguments.push(format!("--limit={hosts}").into());
    }
    if args.r#become {
        arguments.push("--become".into());
    }
    if args.check {
        arguments.push("--check".into());
    }
    Ok(arguments)
}

/// Where the play was cut short, hosts have what nobody removed. One more play does.
fn clean_up(
    workshop: &Workshop,
    inventory: &Path,
    args: &FleetArgs,
    hosts: &mut Hosts<'_>,
    ended: &Ended,
) -> Result<(), CliError> {
    let unclean = hosts.unclean();
    if unclean.is_empty() || args.check {
        return Ok(());
    }
    if ended.stopped {
        remark("Stopped: removing what is left on the hosts.");
    }
    let variables = json!({ "fleet_places": unclean }).to_string();
    let mut arguments = arguments(
        workshop,
        inventory,
        &FleetArgs {
            hosts: None,
            inventory: args.inventory.clone(),
            program: Vec::new(),
            keep: None,
            base: None,
            file: Vec::new(),
            arguments: Vec::new(),
            ..*args
        },
        &variables,
    )?;
    // A name may be a pattern that means other hosts. Where nothing is left, nothing is done and nobody asked.
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if unclean.keys().all(|name| name.chars().all(plain)) {
        let names: Vec<&str> = unclean.keys().map(String::as_str).collect();
        let list = workshop.path().join("unclean");
        fs::write(&list, names.join("\n"))
            .map_err(|err| CliError::failed_to(format!("write {}", list.display())).because(err))?;
        let mut limit = OsString::from("--limit=@");
        limit.push(&list);
        arguments.push(limit);
    }
    let stop = StopRequest::on_signals()?;
    workshop.play("cleanup.yml", &arguments, 1 << 30, &stop, |line| {
        if let Line::Task(task) = line {
            hosts.note(*task);
        }
    })?;
    Ok(())
}

/// Names of `--hosts` that Ansible passed over, which it says in lines of some width.
fn unmatched(complaint: &str) -> Vec<String> {
    const SAID: &str = "Could not match supplied host pattern, ignoring: ";
    let text = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    let names = text.split(SAID).skip(1);
    names
        .filter_map(|rest| Some(clean(rest.split(' ').next()?).into_owned()))
        .collect()
}

fn no_hosts(args: &FleetArgs, ended: &Ended) -> CliError {
    let said: Vec<String> = ended
        .complaint
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| clean(line.trim()).into_owned())
        .collect();
    let last = said.len().saturating_sub(12);
    let what = match (&args.hosts, ended.status) {
        _ if ended.stopped => "run the playbook: stopped".to_owned(),
        (Some(pattern), _)
            if said
                .iter()
                .any(|line| line.contains("Specified inventory, host pattern")) =>
        {
            format!("find hosts: none matches {pattern}")
        }
        (_, Some(0)) => "find hosts: the inventory has none".to_owned(),
        (_, Some(status)) => {
            format!("run the playbook: ansible-playbook ended with status {status}")
        }
        (_, None) => "run the playbook: ansible-playbook was killed".to_owned(),
    };
    CliError::failed_to(what)
        .log(said.into_iter().skip(last).collect())
        .hint(format!(
            "`ansible-inventory --graph -i {}` shows what Ansible reads",
            args.inventory.display()
        ))
}

/// Returns the settings of Ansible that the site has here, if they may be obeyed. Ansible itself is started elsewhere.
fn config() -> Result<Option<PathBuf>, CliError> {
    if env::var_os("ANSIBLE_CONFIG").is_some() {
        return Ok(None);
    }
    let here = env::current_dir()
        .map_err(|err| CliError::failed_to("find the current directory").because(err))?;
    let file = here.join("ansible.cfg");
    if !file.is_file() {
        return Ok(None);
    }
    match obeyed(&file, "settings") {
        Ok(()) => Ok(Some(file)),
        Err(_) => {
            remark(&format!(
                "Note: {} is ignored: others could have written it.",
                file.display()
            ));
            Ok(None)
        }
    }
}

/// Checks a file that hosts get, and returns its absolute path. It keeps its name there.
fn uploaded(file: &Path) -> Result<PathBuf, CliError> {
    let failed = |why: &str| {
        CliError::usage(format!(
            "--file {}: {why}",
            clean(&file.display().to_string())
        ))
    };
    let path = std::path::absolute(file).map_err(|err| failed(&err.to_string()))?;
    let meta = fs::metadata(&path).map_err(|err| failed(&err.to_string()))?;
    if !meta.is_file() {
        return Err(failed("not a regular file"));
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match name.filter(|name| name.chars().all(plain) && !name.starts_with(['-', '.'])) {
        Some(_) => Ok(path),
        None => Err(failed(
            "its name must have letters, digits, `.`, `-` and `_` only",
        )),
    }
}

/// The exit status: what is certain first, whatever else failed.
fn exit(report: &FleetReport) -> Exit {
    let any = |states: &[FleetState]| report.hosts.iter().any(|host| states.contains(&host.state));
    let fine = |host: &punctual_model::FleetHost| host.state.is_fine() && host.left.is_empty();
    if any(&[FleetState::NotRestored]) {
        return Exit::NotRestored;
    }
    if any(&[FleetState::Verdict]) {
        return Exit::Verdict;
    }
    if report.hosts.iter().all(fine) {
        return Exit::Fine;
    }
    let only = |states: &[FleetState]| {
        let mut bad = report.hosts.iter().filter(|host| !fine(host));
        bad.all(|host| states.contains(&host.state) && host.left.is_empty())
    };
    if only(&[FleetState::Unjudged]) {
        return Exit::Unjudged;
    }
    if only(&[
        FleetState::Unsupported,
        FleetState::NoPrivilege,
        FleetState::WrongArchitecture,
        FleetState::Unjudged,
    ]) {
        return Exit::Unsupported;
    }
    Exit::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_needs_on_a_host_is_known_of_its_words() {
        for (name, words, needed) in [
            ("measure", "wakeup", "f:80"),
            ("measure", "wakeup --priority=r:5", "r:5"),
            ("measure", "wakeup --priority=o", ""),
            ("measure", "wakeup --priority=o --explain", "root"),
            ("measure", "wakeup --set=vm.swappiness=10", "root"),
            ("measure", "wakeup --target=guest:any", ""),
            ("measure", "irq", "root"),
            ("measure", "noise", ""),
            ("measure", "deadline", "f:99"),
            ("measure", "tasks set.toml", ""),
            ("tune", "apply latency", "root"),
            ("tune", "revert", "root"),
            ("tune", "status", ""),
            ("assess", "", ""),
            ("doctor", "", ""),
        ] {
            let words: Vec<String> = words.split_whitespace().map(ToOwned::to_owned).collect();
            let verb = verb(name, &words).unwrap();
            assert_eq!(verb.needs, needed, "{name} {words:?}");
        }
    }
}
