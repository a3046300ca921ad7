// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Measuring, with the store and the view listening, and making a record of it.

mod job;
mod listener;
mod record;

use std::error::Error;
use std::iter::successors;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::SystemTime;

use punctual_measure::frame::{self, Found, Frame};
use punctual_measure::loads::{LoadProcess, LoadSpec};
use punctual_measure::pacing::Pacing;
use punctual_measure::watch::Beside as Explainer;
use punctual_measure::{MeasureError, Sink, wakeup, work};
use punctual_model::{Better, Figure, RunRecord, RunSpec};
use punctual_store::{Raw, RunWriter, Store, StoreError, free_bytes};
use punctual_sys::{SysRoot, random};
use uuid::Uuid;

pub(crate) use self::job::Job;
use self::listener::{Gap, Listener};
use self::record::{histogram_log, judged, to_record};
use crate::error::CliError;
use crate::signals::StopRequest;
use crate::view::View;

/// The name of the histograms in the store: an interval log that other HDR tools read.
pub(crate) use punctual_store::HISTOGRAM_LOG;

/// The name of an imported run's histograms in the store, in the buckets of their source.
pub(crate) const BUCKET_TABLE: &str = "buckets.csv";

/// Environment variable with the id of the run to be made: set by an experiment, which must find the
/// run again should it end before the run does.
pub(crate) const RUN_ID: &str = "PUNCTUAL_RUN_ID";

/// Environment variable with the process that a measurement must not outlive.
pub(crate) const PARENT: &str = "PUNCTUAL_PARENT";

/// The name of the latencies that an imported run's source lists with their times.
pub(crate) const SPIKE_TABLE: &str = "spikes.csv";

/// Bytes that a stored sample takes before compression.
const SAMPLE_BYTES: u64 = 28;

/// Returns the id of the run to be made: as an experiment wants it, else a new one.
pub(crate) fn run_id() -> Result<Uuid, CliError> {
    let Some(given) = std::env::var_os(RUN_ID) else {
        return new_id();
    };
    let id = given.to_str().and_then(|text| text.parse::<Uuid>().ok());
    id.filter(|id| id.get_version_num() == 7)
        .ok_or_else(|| CliError::usage(format!("{RUN_ID}: must be a UUID of version 7, or unset")))
}

/// Makes an id.
pub(crate) fn new_id() -> Result<Uuid, CliError> {
    random::id().map_err(|err| CliError::failed_to("make an id").because(err))
}

/// Ends with the experiment that this measurement is part of, if it is part of one.
pub(crate) fn serve_parent() -> Result<(), CliError> {
    let Some(given) = std::env::var_os(PARENT) else {
        return Ok(());
    };
    let parent = given.to_str().and_then(|text| text.parse().ok());
    let parent = parent
        .ok_or_else(|| CliError::usage(format!("{PARENT}: must be a process number, or unset")))?;
    punctual_sys::thread::die_with_parent(parent)
        .map_err(|err| CliError::failed_to("serve the experiment").because(err))
}

/// A finished run. The figures are there even if the store could not take them.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) record: RunRecord,
    stored: Result<PathBuf, StoreError>,
}

impl Recorded {
    /// Returns where the run is stored, or why it is not.
    pub(crate) fn kept(&self) -> Result<&PathBuf, CliError> {
        self.stored.as_ref().map_err(|err| {
            // The causes go along as text: the error stays here.
            let causes: Vec<String> =
                successors(err.source(), |cause: &&dyn Error| (*cause).source())
                    .map(ToString::to_string)
                    .collect();
            let why = [vec![err.to_string()], causes].concat().join(": ");
            let error = CliError::failed_to("keep the run: only the figures above are left of it")
                .because(why);
            let full = err.is_full();
            error.hint(if full {
                "free some space, or put the store elsewhere with --home DIR or PUNCTUAL_HOME"
            } else {
                "put the store elsewhere with --home DIR or PUNCTUAL_HOME"
            })
        })
    }

    /// Makes one of a run that was measured elsewhere.
    pub(crate) const fn elsewhere(record: RunRecord, stored: Result<PathBuf, StoreError>) -> Self {
        Self { record, stored }
    }
}

/// Fails when the samples of a run that stores them cannot fit on the disk.
pub(crate) fn check_room(store: &Store, spec: &RunSpec) -> Result<(), CliError> {
    if !spec.raw {
        return Ok(());
    }
    let samples_of = |index: u32| {
        let by_time = spec
            .duration_ns
            .map(|d| d.get() / spec.interval_of(index).get().max(1));
        match (by_time, spec.samples) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b).unwrap_or(0),
        }
    };
    let samples: u64 = (0..spec.threads)
        .map(samples_of)
        .fold(0, u64::saturating_add);
    let wanted = samples.saturating_mul(SAMPLE_BYTES);
    let free = free_bytes(store.home()).map_err(|err| CliError::from(StoreError::from(err)))?;
    // Compression makes them about half as large; a disk that just fits them is too full anyway.
    if wanted / 2 > free {
        let megabytes = |bytes: u64| match bytes {
            0..10_000_000 => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
            _ => format!("{} MB", bytes / 1_000_000),
        };
        return Err(CliError::failed_to(format!(
            "start: {samples} samples take about {} in the store, and {} has {} free",
            megabytes(wanted / 2),
            store.home().display(),
            megabytes(free)
        ))
        .hint("measure without --raw or for a shorter time, or use another --home"));
    }
    Ok(())
}

/// Measures wake-ups as `job` says, and stores what was measured.
pub(crate) fn record_wakeup(
    sys: &SysRoot,
    store: &Store,
    job: &Job,
    stop: &StopRequest,
    view: &mut View,
) -> Result<Recorded, CliError> {
    record(sys, store, job, stop, view, |frame| {
        measure_wakeup(job, Pacing::default(), frame)
    })
}

fn measure_wakeup(job: &Job, pacing: Pacing, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    // A job that was made as one of wake-ups has it.
    let spec = job.spec.as_ref();
    let spec = spec.ok_or(MeasureError::Defect { thread: 0 })?;
    wakeup::run(spec, pacing, frame)
}

/// Measures with `instrument`, and stores what was measured.
pub(crate) fn record(
    sys: &SysRoot,
    store: &Store,
    job: &Job,
    stop: &StopRequest,
    view: &mut View,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<Recorded, CliError> {
    record_for(sys, store, job, stop, view, None, instrument)
}

/// Who listens besides the store, and how the run goes for its sake.
#[derive(Debug)]
pub(crate) struct Beside<S> {
    pub(crate) sink: S,
    pub(crate) pacing: Pacing,
}

/// Measures wake-ups for `beside`, which gets every sample, and stores the run without them.
pub(crate) fn record_beside<S: Sink>(
    sys: &SysRoot,
    store: &Store,
    job: &Job,
    stop: &StopRequest,
    beside: &mut Beside<S>,
) -> Result<Recorded, CliError> {
    let pacing = beside.pacing;
    let sink: &mut dyn Sink = &mut beside.sink;
    let (view, sink) = (&mut View::Quiet, Some(sink));
    record_for(sys, store, job, stop, view, sink, |frame| {
        measure_wakeup(job, pacing, frame)
    })
}

fn record_for<'a>(
    sys: &SysRoot,
    store: &Store,
    job: &Job,
    stop: &StopRequest,
    view: &'a mut View,
    beside: Option<&'a mut dyn Sink>,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<Recorded, CliError> {
    let id = run_id()?;
    let keep_samples = job.spec.as_ref().is_some_and(|spec| spec.raw) && beside.is_none();
    let raw = if keep_samples { Raw::Keep } else { Raw::Drop };
    let progress_every = view.every();
    let mut listener = Listener {
        writer: store.begin(id, raw)?,
        view,
        gap: Gap::default(),
        keep_samples,
        beside,
        metrics: job.metrics.clone(),
    };
    let mut load = start_load(&job.loads, stop)?;
    let control = job.control(id.to_string(), stop, progress_every);
    let started = SystemTime::now();
    let outcome = frame::run(
        sys,
        &job.setup,
        &control,
        load.as_mut(),
        &mut listener,
        |frame| {
            if job.explain {
                let explainer = Explainer::start(sys, job.instrument)?;
                let mut found = instrument(frame)?;
                explainer.finish(frame.origin(), &mut found)?;
                return Ok(found);
            }
            instrument(frame)
        },
    );
    drop(load);
    listener.view.pause();
    let mut outcome = outcome?;
    let host = crate::tuning::host_facts(sys);
    let log = histogram_log(&outcome, started);
    let histograms = std::mem::take(&mut outcome.found.histograms);
    let artifacts = std::mem::take(&mut outcome.found.artifacts);
    let mut record = to_record(id, job, host, started, outcome);
    record.figures.extend(work_after(job, stop));
    if let Some(spec) = &mut record.spec {
        spec.raw = keep_samples;
    }
    record.requirements = judged(&job.requirements, &record, &histograms);
    let stored = keep(listener.writer, &log, &artifacts, &record);
    Ok(Recorded { record, stored })
}

/// Does ordinary work as `job` says, where nothing else goes on any more.
fn work_after(job: &Job, stop: &StopRequest) -> Option<Figure> {
    let span = job.work.filter(|_| !stop.is_set())?;
    let rate = work::rate(&job.setup.cpus, span.into(), &stop.flag())?;
    Some(Figure::single("work", "MB/s", Better::Higher, rate / 1e6))
}

fn keep(
    mut writer: RunWriter,
    histograms: &[u8],
    artifacts: &[(&str, Vec<u8>)],
    record: &RunRecord,
) -> Result<PathBuf, StoreError> {
    writer.artifact(HISTOGRAM_LOG, histograms)?;
    for (name, bytes) in artifacts {
        writer.artifact(name, bytes)?;
    }
    writer.finish(record)
}

/// Starts the loads in a process of their own, out of reach of the terminal's Ctrl-C: they end
/// after the measurement, not before it.
fn start_load(loads: &[LoadSpec], stop: &StopRequest) -> Result<Option<LoadProcess>, CliError> {
    if loads.is_empty() {
        return Ok(None);
    }
    let names: Vec<String> = loads.iter().map(ToString::to_string).collect();
    // Our own program, also where the file was replaced since we started.
    let mut command = Command::new("/proc/self/exe");
    command
        .arg("load")
        .args(["--report-to", &std::process::id().to_string()])
        .args(&names)
        .process_group(0);
    if loads.iter().any(LoadSpec::reaches_consoles) {
        command.arg("--allow-console");
    }
    let load = LoadProcess::start(command, loads.to_vec(), &stop.flag()).map_err(|source| {
        MeasureError::Load {
            load: names.join(","),
            source,
        }
    })?;
    Ok(Some(load))
}
