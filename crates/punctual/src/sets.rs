// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files of task sets, and what of them only this machine and its store know.

use std::io::{self, Read as _};
use std::path::Path;

use punctual_model::CpuSet;
use punctual_model::tasks::TaskSet;
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_tasks::file::{Draft, FILE_LIMIT};
use punctual_tasks::{Limits, TaskSetError, example, file, observe, rt_app};

use crate::error::CliError;
use crate::finding::find;
use crate::home;

/// Gives the set the overheads that a run observed.
fn take_overheads(home: Option<&Path>, set: &mut TaskSet, run: &str) -> Result<(), CliError> {
    let run = find(&Store::open_existing(home::find(home)?)?, run)?;
    let record = run.record();
    if observe::take_overheads(set, record) {
        return Ok(());
    }
    Err(CliError::failed_to(format!("take overheads from run {}", record.id))
        .because(format!("it is of {}, which has no wake-ups", record.instrument))
        .hint("`punctual measure wakeup` measures wake-ups, and `punctual watch` sees those of a program"))
}

/// Reads a set, and looks up in the store, where it names runs, what was observed in them. It has the overheads of the run
/// `overheads`, and is what `change` makes of it, before its tasks get priorities.
pub(crate) fn read(
    home: Option<&Path>,
    path: &Path,
    overheads: Option<&str>,
    change: impl FnOnce(&mut TaskSet),
) -> Result<(TaskSet, Vec<String>), CliError> {
    let look_up = |run: &str| {
        let run = find(&Store::open_existing(home::find(home)?)?, run)?;
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
    };
    draft(path)?.resolve_as(look_up, |set| {
        if let Some(run) = overheads {
            take_overheads(home, set, run)?;
        }
        change(set);
        Ok(())
    })
}

fn draft(path: &Path) -> Result<Draft, CliError> {
    let name = path.display().to_string();
    if let Some(wanted) = name.strip_prefix(example::PREFIX) {
        let mut known = example::EXAMPLES.into_iter();
        let Some((_, text)) = known.find(|(known, _)| *known == wanted) else {
            let names = example::EXAMPLES.map(|(known, _)| known).join(", ");
            return Err(CliError::usage(format!("{name}: there is no such example"))
                .hint(format!("there are {names}")));
        };
        return Ok(file::parse(&name, text)?);
    }
    let failed = |err: io::Error| CliError::failed_to(format!("read {name}")).because(err);
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|f| f.take(FILE_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
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
            TaskSetError::RtApp { place, .. } if place == "JSON" => error.hint(
                "a set whose name does not end in .json is read as TOML, see docs/formats/tasks.md",
            ),
            _ => error,
        }
    }
}

/// What this machine's kernel allows `SCHED_DEADLINE` and real-time tasks.
pub(crate) fn limits(sys: &SysRoot, machine: &CpuSet) -> Limits {
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
