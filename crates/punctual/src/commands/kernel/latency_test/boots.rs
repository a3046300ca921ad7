// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Booting every row with every seed, some at a time.
//!
//! In virtual time it does not matter what else the host does, so as many guests run at once as there
//! are CPUs.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use punctual_kernel::boot::Machine;
use punctual_kernel::guest::{Job, Model, RunAnswer, run_checks};
use punctual_kernel::latency_test::{CellInput, Row, Test, run_of};
use punctual_model::{Check, LatencyRun, RunRecord};

use super::view::Shown;
use crate::cli::LatencyTestArgs;
use crate::error::CliError;
use crate::guests::{Host, Visit};
use crate::signals::StopRequest;

/// What one boot gave: the model, and beside each load a run or the reason why not.
struct Boot {
    model: Option<String>,
    cells: Vec<Result<LatencyRun, String>>,
}

/// How one boot went.
struct Booted {
    model: Option<String>,
    cells: Vec<Result<LatencyRun, String>>,
    /// How it went, in a few words.
    told: String,
    /// Why it failed, if it did.
    failure: Option<CliError>,
}

/// Time between two looks whether all boots are done.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Boots all of it. A guest that fails makes its cells invalid, and the others go on.
pub(super) fn carry_out(
    host: &Host,
    rows: &[Row],
    test: &Test,
    args: &LatencyTestArgs,
    stop: &StopRequest,
) -> Result<Vec<Vec<CellInput>>, CliError> {
    let job = test.job();
    let wanted: Vec<(usize, u64)> = (0..rows.len())
        .flat_map(|row| (1..=u64::from(args.seeds)).map(move |seed| (row, seed)))
        .collect();
    let workers = match args.jobs.jobs {
        Some(jobs) => jobs,
        None => thread::available_parallelism().map_or(1, usize::from),
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<BTreeMap<(usize, u64), Boot>> = Mutex::default();
    let mut shown = Shown::new(args.quiet, stop, wanted.len(), test);
    let teller = shown.teller();
    let work = || {
        while let Some((place, seed)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(row) = rows.get(*place) else { return };
            if stop.is_set() {
                return;
            }
            let name = format!("{} {}, seed {seed}", row.kernel, row.model_name());
            teller.begin(&name);
            let boot = boot(host, row, test, &job, *seed, stop);
            let failure = boot.failure.filter(|_| !stop.is_set());
            teller.end(&name, &boot.told, (row, &boot.cells), failure);
            let cells = Boot {
                model: boot.model,
                cells: boot.cells,
            };
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.insert((*place, *seed), cells);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.min(wanted.len()))
            .map(|_| scope.spawn(work))
            .collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            teller.tick();
            thread::sleep(LOOK_EVERY);
        }
    });
    shown.end();
    if stop.is_set() {
        return Err(CliError::failed_to("finish the test: interrupted"));
    }
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(gather(rows, test, done))
}

/// Sorts what the boots gave into cells.
fn gather(rows: &[Row], test: &Test, done: BTreeMap<(usize, u64), Boot>) -> Vec<Vec<CellInput>> {
    let empty = |load: &punctual_kernel::latency_test::Load| CellInput {
        load: load.name.clone(),
        ..CellInput::default()
    };
    let row = || test.loads.iter().map(empty).collect::<Vec<_>>();
    let mut cells: Vec<Vec<CellInput>> = rows.iter().map(|_| row()).collect();
    for ((place, seed), boot) in done {
        for (cell, run) in cells.get_mut(place).into_iter().flatten().zip(boot.cells) {
            cell.model = cell.model.take().or_else(|| boot.model.clone());
            match run {
                Ok(run) => cell.runs.push(run),
                Err(why) => cell.faults.push(format!("seed {seed}: {why}")),
            }
        }
    }
    cells
}

/// Boots one row with one seed, and says how it went.
fn boot(host: &Host, row: &Row, test: &Test, job: &Job, seed: u64, stop: &StopRequest) -> Booted {
    let target = test.target(row, seed);
    let design = target.design(Machine::Virtual);
    match host.visit(&target, &design, job, &stop.flag()) {
        Ok(visit) => {
            let guest = |run: &_| run_checks(&visit.answer, run, &design, target.asked_model());
            let judged = judged(&visit, &guest, seed);
            Booted {
                model: judged.model,
                cells: judged.cells,
                told: format!("{:.1} s", visit.booted.took.as_secs_f64()),
                failure: None,
            }
        }
        Err(err) => {
            let why = err
                .cause()
                .map_or_else(|| err.what().to_owned(), ToString::to_string);
            Booted {
                model: None,
                cells: job.runs.iter().map(|_| Err(why.clone())).collect(),
                told: format!("failed to {why}"),
                failure: Some(err),
            }
        }
    }
}

fn judged(visit: &Visit, guest: &dyn Fn(&RunAnswer) -> Vec<Check>, seed: u64) -> Boot {
    let hello = &visit.answer.hello;
    let model = Model::running(&hello.host, hello.dynamic_preempt.as_deref());
    let runs = visit.answer.runs.iter();
    Boot {
        model: model.ok().map(|(model, _)| model.name().to_owned()),
        cells: runs
            .map(|answer| cell(answer, &guest(answer), seed))
            .collect(),
    }
}

/// Takes the figures of a run, if all its checks and the guest's passed.
fn cell(answer: &RunAnswer, guest: &[Check], seed: u64) -> Result<LatencyRun, String> {
    let Some(bytes) = answer.files.get("run.json") else {
        let said = answer.end.said.trim().replace('\n', ": ");
        return Err(format!("no run: {said}"));
    };
    let record: RunRecord =
        serde_json::from_slice(bytes).map_err(|err| format!("its run cannot be read: {err}"))?;
    let failed: Vec<String> = record
        .checks
        .iter()
        .chain(guest)
        .filter(|check| !check.passed())
        .map(|check| format!("{}: {}", check.id, check.detail))
        .collect();
    if !failed.is_empty() {
        return Err(failed.join("; "));
    }
    run_of(&record, seed).ok_or_else(|| "no samples".to_owned())
}
