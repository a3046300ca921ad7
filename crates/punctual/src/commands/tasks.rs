// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tasks`.

use std::io::{self, Read as _};
use std::path::Path;

use punctual_model::CpuSet;
use punctual_model::tasks::{SetVerdict, TaskSet};
use punctual_report::document::Document;
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_tasks::file::{Draft, FILE_LIMIT};
use punctual_tasks::{Limits, TaskSetError, check, file, observe, rt_app};

use crate::cli::{TasksAction, TasksCheckArgs, TasksNewArgs};
use crate::cpus;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::home;
use crate::output::{self, Destination};

/// Analyses a set, or makes one of a run.
pub(super) fn run(home: Option<&Path>, action: &TasksAction) -> Result<Exit, CliError> {
    let home = home::find(home)?;
    match action {
        TasksAction::Check(args) => check_set(&home, args),
        TasksAction::New(args) => new(&home, args),
    }
}

fn check_set(home: &Path, args: &TasksCheckArgs) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let machine = cpus::cpus(&sys)?.online;
    let (mut set, not_understood) = read(home, &args.set)?;
    if let Some(run) = &args.overheads {
        let run = find(&Store::open_existing(home)?, run)?;
        let record = run.record();
        let observed = observe::overheads(record).ok_or_else(|| {
            CliError::failed_to(format!("take overheads from run {}", record.id))
                .because(format!("it is of {}, which has no wake-ups", record.instrument))
                .hint("`punctual measure wakeup` measures wake-ups, and `punctual watch` sees those of a program")
        })?;
        set.overheads = punctual_model::tasks::Overheads {
            switch_ns: set.overheads.switch_ns,
            interrupts: set.overheads.interrupts,
            ..observed
        };
    }
    let limits = limits(&sys, &machine);
    let cpus = args.cpus.clone().unwrap_or(machine);
    if cpus.is_empty() {
        return Err(CliError::usage("--cpus: expected at least one CPU"));
    }
    let found = check(&set, not_understood, &cpus, &limits);
    output::show(&found, args.json, Document::of_tasks_check)?;
    Ok(match found.verdict {
        SetVerdict::Shown => Exit::Fine,
        SetVerdict::Missed | SetVerdict::NotShown => Exit::Verdict,
    })
}

/// Reads a set, and looks up in the store what it says was observed.
pub(crate) fn read(home: &Path, path: &Path) -> Result<(TaskSet, Vec<String>), CliError> {
    draft(path)?.resolve(|run| {
        let run = find(&Store::open_existing(home)?, run)?;
        let record = run.record();
        let observed = observe::execution_times(record).ok_or_else(|| {
            CliError::usage(format!(
                "{}: run {} is of {}, which observes no execution times",
                path.display(),
                record.id,
                record.instrument
            ))
            .hint("`punctual watch` observes those of a program")
        })?;
        Ok((record.id.clone(), observed))
    })
}

fn draft(path: &Path) -> Result<Draft, CliError> {
    let name = path.display().to_string();
    let failed = |err: io::Error| CliError::failed_to(format!("read {name}")).because(err);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|f| f.take(FILE_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(|err| failed(err).exiting(Exit::Usage))?;
    if bytes.len() as u64 > FILE_LIMIT {
        let reason = format!("{name}: larger than {FILE_LIMIT} bytes, too large for a task set");
        return Err(CliError::usage(reason));
    }
    let text = String::from_utf8(bytes)
        .map_err(|err| CliError::usage(format!("{name}: not UTF-8 text: {err}")))?;
    let is_json = path.extension().is_some_and(|end| end == "json");
    let read = if is_json { rt_app::parse } else { file::parse };
    Ok(read(&name, &text)?)
}

impl From<TaskSetError> for CliError {
    fn from(err: TaskSetError) -> Self {
        let text = err.to_string();
        let error = Self::usage(text);
        match err {
            TaskSetError::RtApp { .. } => error.hint(
                "a set whose name does not end in .json is read as TOML, see docs/formats/tasks.md",
            ),
            _ => error,
        }
    }
}

/// What this machine's kernel allows `SCHED_DEADLINE` and real-time tasks.
fn limits(sys: &SysRoot, machine: &CpuSet) -> Limits {
    let count = u32::try_from(machine.len()).unwrap_or(u32::MAX);
    let usual = Limits::usual(count);
    let number = |name: &str| sys.fact::<i64>(&format!("/proc/sys/kernel/{name}"));
    let positive = |name: &str, otherwise: u64| {
        number(name)
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(otherwise)
    };
    let server = |file: &str| {
        let cpu = machine.iter().next()?;
        sys.fact::<u64>(&format!(
            "/sys/kernel/debug/sched/fair_server/cpu{cpu}/{file}"
        ))
    };
    Limits {
        runtime_us: match number("sched_rt_runtime_us") {
            Some(runtime) => u64::try_from(runtime).ok(),
            None => usual.runtime_us,
        },
        period_us: positive("sched_rt_period_us", usual.period_us),
        cpus: count,
        server_ns: match (server("runtime"), server("period")) {
            (Some(runtime), Some(period)) => Some((runtime, period)),
            _ => usual.server_ns.filter(|_| has_server(sys)),
        },
        shortest_period_us: positive("sched_deadline_period_min_us", usual.shortest_period_us),
        longest_period_us: positive("sched_deadline_period_max_us", usual.longest_period_us),
    }
}

/// Whether the kernel is one with a server for ordinary threads: 6.12 or later.
fn has_server(sys: &SysRoot) -> bool {
    let release: Option<String> = sys.fact("/proc/sys/kernel/osrelease");
    let mut numbers = release.as_deref().unwrap_or_default().split('.');
    let mut number = || numbers.next().and_then(|n| n.parse::<u32>().ok());
    (number(), number()) >= (Some(6), Some(12))
}

fn new(home: &Path, args: &TasksNewArgs) -> Result<Exit, CliError> {
    let run = find(&Store::open_existing(home)?, &args.from)?;
    let (set, remarks) = observe::set_of(run.record()).map_err(|reason| {
        CliError::failed_to("make a task set")
            .because(reason)
            .hint("`punctual watch -- CMD` or `--pid PID` records what a program's threads do")
    })?;
    if args.json {
        output::json(&set)?;
        return Ok(Exit::Fine);
    }
    let text = file::write(&set, &remarks);
    Destination::open(&args.output, args.force)?.put(&args.output, text.as_bytes())?;
    Ok(Exit::Fine)
}
