// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure`.

mod deadline;
#[cfg(feature = "workbench")]
mod guest;
mod instrument;
mod io;
mod ipc;
mod irq;
mod linpack;
mod memory;
mod noise;
mod pi;
mod plan;
mod release;
#[cfg(feature = "workbench")]
mod tuned;
#[cfg(feature = "workbench")]
mod watched;

use std::path::Path;

use punctual_model::{Ended, RequirementResult, RunRecord};
use punctual_report::text;
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_verdict::words::failed_checks;

use crate::cli::{self, CommonArgs, DmaLatency, Instrument, Switch, WakeupArgs};
use crate::cpus::cpus;
use crate::error::CliError;
use crate::exit::Exit;
use crate::metrics::Metrics;
use crate::output::{print, remark};
use crate::recording::{self, Job, Recorded};
use crate::signals::StopRequest;
use crate::view::View;
use crate::{home, output};

/// Measures with the instrument that was named, in a machine that is tuned as `tuning` says.
#[cfg(feature = "workbench")]
pub(crate) fn run(
    home: Option<&Path>,
    tuning: &cli::MeasureTuning,
    instrument: &Instrument,
) -> Result<Exit, CliError> {
    if let Some(target) = &tuning.target {
        return guest::run(home, target, instrument);
    }
    // What traces on for nobody disturbs every measurement.
    for instance in punctual_measure::irq::sweep(&SysRoot::live()) {
        remark(&format!(
            "Removed tracing instance {instance}, left by a run that was killed."
        ));
    }
    tuned::around(tuning, instrument, || here(home, instrument))
}

/// Measures in this machine as it is.
pub(crate) fn here(home: Option<&Path>, instrument: &Instrument) -> Result<Exit, CliError> {
    match instrument {
        Instrument::Wakeup(args) => wakeup(home, args),
        Instrument::Ipc(args) => ipc::run(home, args),
        Instrument::Pi(args) => pi::run(home, args),
        Instrument::Irq(args) => irq::run(home, args),
        Instrument::Release(args) => release::run(home, args),
        Instrument::Linpack(args) => linpack::run(home, args),
        Instrument::Memory(args) => memory::run(home, args),
        Instrument::Io(args) => io::run(home, args),
        Instrument::Deadline(args) => deadline::run(home, args),
        Instrument::Noise(args) => noise::run(home, args),
    }
}

/// Measures wake-up latency as `args` say.
fn wakeup(home: Option<&Path>, args: &WakeupArgs) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let spec = plan::plan(args, &cpus(&sys)?)?;
    let store = Store::open(home::find(home)?)?;
    recording::check_room(&store, &spec)?;
    let stop = StopRequest::on_signals()?;
    let common = &args.common;
    let job = asked(common, Job::wakeup(spec))?;
    let mut view = View::pick(common.quiet, &stop);
    view.title("wakeup");
    let recorded = recording::record_wakeup(&sys, &store, &job, &stop, &mut view)?;
    finish(&recorded, common.json, common.quiet)
}

/// Adds to `job` what all instruments can be asked for.
fn asked(common: &CommonArgs, job: Job) -> Result<Job, CliError> {
    Ok(Job {
        name: common.name.clone(),
        note: common.note.clone(),
        tags: cli::tags(&common.tag),
        requirements: cli::under(&common.require, common.burst),
        loads: common.loads.chosen()?,
        metrics: Metrics::of(&common.metrics, job.instrument, common.name.as_deref())?,
        insist_on_mlock: common.mlock == Some(Switch::On),
        insist_on_dma_latency: matches!(common.dma_latency, Some(DmaLatency::Hold(_))),
        psquare: common.psquare(),
        ..job
    })
}

/// Prints the run, says where it is, and turns it into an exit status.
fn finish(recorded: &Recorded, json: bool, quiet: bool) -> Result<Exit, CliError> {
    let record = &recorded.record;
    let printed = if json {
        output::write(|out| punctual_report::export::json_run(record, out))
    } else {
        print(&text::run(record, text::Detail::Summary))
    };
    if let (Err(err), Ok(path)) = (printed, recorded.kept()) {
        return Err(err.hint(format!("the run is recorded in {}", path.display())));
    }
    let path = recorded.kept()?;
    if !quiet && !json {
        print(&format!(
            "\nRecorded as {} in {}\n",
            record.id,
            path.display()
        ))?;
    }
    if json && !record.valid {
        remark(&format!("Invalid run: {}", failed_checks(record)));
    }
    Ok(exit_of(record))
}

/// A threshold that was passed is the answer to the question asked, also where the run is invalid.
/// Of an invalid run no requirement can be claimed, and that it is invalid is the reason.
pub(crate) fn exit_of(record: &RunRecord) -> Exit {
    if record.ended == Some(Ended::Threshold) {
        Exit::Verdict
    } else if !record.valid {
        Exit::Failed
    } else if record.requirements.iter().all(RequirementResult::is_met) && !is_missed(record) {
        Exit::Fine
    } else {
        Exit::Verdict
    }
}

/// Whether a deadline that was given was missed. What a requirement names the requirement judges, and the
/// deadline `auto` of `measure deadline` is calibrated: it is nobody's demand.
fn is_missed(record: &RunRecord) -> bool {
    let asked = record
        .setup
        .as_ref()
        .and_then(|s| s.options.get("deadline"));
    if asked.is_some_and(|deadline| deadline.starts_with("auto")) {
        return false;
    }
    let judged = |limit| record.requirements.iter().any(|r| r.limit_ns == limit);
    let counted = record.series.iter().chain([&record.total]);
    let mut misses = counted.flat_map(|series| &series.misses);
    misses.any(|misses| misses.all() > 0 && !judged(misses.deadline_ns))
}
