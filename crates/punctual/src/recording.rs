// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Measuring, with the store and the view listening, and making a record of it.

use std::collections::BTreeMap;
use std::error::Error;
use std::iter::{once, successors};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use punctual_measure::frame::{self, Control, Found, Frame, RunOutcome};
use punctual_measure::loads::{LoadProcess, LoadSpec};
use punctual_measure::pacing::Pacing;
use punctual_measure::watch::Beside as Explainer;
use punctual_measure::{MeasureError, Sink, SinkError, wakeup, work};
use punctual_model::{
    Better, Check, Event, Figure, HostFacts, INSTRUMENT_RUN_FORMAT, Nanos, Progress, RUN_FORMAT,
    RequirementResult, RunRecord, RunSpec, Sample, Setup,
};
use punctual_stats::requirement::Requirement;
use punctual_stats::{LatencyHistogram, TaggedHistogram, write_hlog};
use punctual_store::{Raw, RunWriter, Store, StoreError, free_bytes};
use punctual_sys::SysRoot;
use punctual_sys::thread::Tid;
use punctual_verdict::requirement::require;
use uuid::Uuid;

use crate::error::CliError;
use crate::metrics::Metrics;
use crate::signals::StopRequest;
use crate::view::View;

/// Progress is stored this often at most.
const STORE_PROGRESS_EVERY: Nanos = Nanos::from_secs(1);

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
        return Ok(Uuid::now_v7());
    };
    let id = given.to_str().and_then(|text| text.parse::<Uuid>().ok());
    id.filter(|id| id.get_version_num() == 7)
        .ok_or_else(|| CliError::usage(format!("{RUN_ID}: must be a UUID of version 7, or unset")))
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

/// What to measure and record.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// Name of the instrument in the record.
    pub(crate) instrument: &'static str,
    pub(crate) setup: Setup,
    /// What stands in the record in place of the set-up, for wake-ups.
    pub(crate) spec: Option<RunSpec>,
    pub(crate) name: Option<String>,
    pub(crate) note: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) requirements: Vec<Requirement>,
    pub(crate) loads: Vec<LoadSpec>,
    /// Who else learns how it goes.
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// Whether the user asked for the lock explicitly.
    pub(crate) insist_on_mlock: bool,
    /// Whether the user asked for the bound explicitly.
    pub(crate) insist_on_dma_latency: bool,
    /// Whether quantiles are estimated by P-square too.
    pub(crate) psquare: bool,
    /// Whether the measuring threads are watched, to say why a sample was late.
    pub(crate) explain: bool,
    /// How long ordinary work is done afterwards.
    pub(crate) work: Option<Nanos>,
}

impl Job {
    /// Measures as `setup` says.
    pub(crate) const fn of(instrument: &'static str, setup: Setup) -> Self {
        Self {
            instrument,
            setup,
            spec: None,
            name: None,
            note: None,
            tags: BTreeMap::new(),
            requirements: Vec::new(),
            loads: Vec::new(),
            metrics: None,
            insist_on_mlock: false,
            insist_on_dma_latency: false,
            psquare: false,
            explain: false,
            work: None,
        }
    }

    /// Measures wake-ups as `spec` says.
    pub(crate) fn wakeup(spec: RunSpec) -> Self {
        let setup = wakeup::setup(&spec);
        Self {
            spec: Some(spec),
            ..Self::of("wakeup", setup)
        }
    }

    /// Returns how it is done beyond its set-up.
    pub(crate) fn control(&self, id: String, stop: &StopRequest, progress_every: Nanos) -> Control {
        Control {
            id,
            stop: stop.flag(),
            insist_on_mlock: self.insist_on_mlock,
            insist_on_dma_latency: self.insist_on_dma_latency,
            progress_every,
            psquare: self.psquare,
        }
    }
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
        return Err(CliError::failed_to(format!(
            "start: {samples} samples take about {} MB in the store, and {} has {} MB free",
            wanted / 2_000_000,
            store.home().display(),
            free / 1_000_000
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
    let mut listener = Listener {
        progress_every: view.every(),
        writer: store.begin(id, raw)?,
        view,
        gap: Gap::default(),
        keep_samples,
        beside,
        metrics: job.metrics.clone(),
    };
    let mut load = start_load(&job.loads)?;
    let control = job.control(id.to_string(), stop, listener.progress_every);
    let started = SystemTime::now();
    let outcome = frame::run(
        sys,
        &job.setup,
        &control,
        load.as_mut(),
        &mut listener,
        |frame| {
            let explainer = match job.explain {
                true => Some(Explainer::start(sys, job.instrument)?),
                false => None,
            };
            let mut found = instrument(frame)?;
            if let Some(explainer) = explainer {
                explainer.finish(&mut found)?;
            }
            Ok(found)
        },
    );
    drop(load);
    listener.view.pause();
    let mut outcome = outcome?;
    let host = crate::tuning::host_facts(sys);
    let log = histogram_log(&outcome, started);
    let histograms = outcome.found.histograms.iter();
    let all = merged(histograms.map(|(_, histogram)| histogram));
    let artifacts = std::mem::take(&mut outcome.found.artifacts);
    let mut record = to_record(id, job, host, started, outcome);
    record.figures.extend(work_after(job, stop));
    if let Some(spec) = &mut record.spec {
        spec.raw = keep_samples;
    }
    record.requirements = judged(&job.requirements, &record, all.as_ref());
    let stored = keep(listener.writer, &log, &artifacts, &record);
    Ok(Recorded { record, stored })
}

/// Does ordinary work as `job` says, where nothing else goes on any more.
fn work_after(job: &Job, stop: &StopRequest) -> Option<Figure> {
    let span = job.work.filter(|_| !stop.is_set())?;
    let rate = work::rate(&job.setup.cpus, span.into(), &stop.flag())?;
    Some(Figure::single("work", "MB/s", Better::Higher, rate / 1e6))
}

/// All samples in one histogram.
fn merged<'a>(
    histograms: impl IntoIterator<Item = &'a LatencyHistogram>,
) -> Option<LatencyHistogram> {
    let mut histograms = histograms.into_iter();
    let mut all = histograms.next()?.clone();
    histograms.for_each(|histogram| all.merge(histogram));
    Some(all)
}

/// What the samples of a run allow to be said of each requirement.
fn judged(
    requirements: &[Requirement],
    record: &RunRecord,
    histogram: Option<&LatencyHistogram>,
) -> Vec<RequirementResult> {
    // Histograms of several kinds of samples are not those of the total.
    let histogram = histogram.filter(|all| all.count() == record.total.count);
    let rule = |asked| require(asked, once((record, histogram)));
    requirements.iter().map(rule).collect()
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
fn start_load(loads: &[LoadSpec]) -> Result<Option<LoadProcess>, CliError> {
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
    let load =
        LoadProcess::start(command, loads.to_vec()).map_err(|source| MeasureError::Load {
            load: names.join(","),
            source,
        })?;
    Ok(Some(load))
}

fn to_record(
    id: Uuid,
    job: &Job,
    host: HostFacts,
    started: SystemTime,
    outcome: RunOutcome,
) -> RunRecord {
    let found = outcome.found;
    let spec = job.spec.as_ref();
    let spec = spec.map(|spec| wakeup::carried_out(spec, &outcome.setup));
    let format = match &spec {
        Some(_) => RUN_FORMAT,
        None => INSTRUMENT_RUN_FORMAT,
    };
    RunRecord {
        format: format.to_owned(),
        id: id.to_string(),
        valid: found.checks.iter().all(Check::passed),
        checks: found.checks,
        instrument: job.instrument.to_owned(),
        origin: None,
        guest: None,
        name: job.name.clone(),
        note: job.note.clone(),
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        setup: spec.is_none().then_some(outcome.setup),
        spec,
        host,
        started: Timestamp::try_from(started).ok().map(|t| t.to_string()),
        duration_ns: Some(outcome.duration),
        ended: Some(found.ended),
        series: found.series,
        total: found.total,
        figures: found.figures,
        findings: found.findings,
        tags: job.tags.clone(),
        requirements: Vec::new(),
        watched: found.watched,
        loads: outcome.loads,
        threshold: found.threshold,
        precision: found.precision,
    }
}

fn histogram_log(outcome: &RunOutcome, started: SystemTime) -> Vec<u8> {
    let histograms = outcome.found.histograms.iter();
    let entries: Vec<TaggedHistogram> = histograms
        .map(|(tag, histogram)| TaggedHistogram {
            tag: Some(tag.clone()),
            start: Duration::ZERO,
            duration: outcome.duration.into(),
            histogram: histogram.clone(),
        })
        .collect();
    let mut log = Vec::new();
    // Memory takes everything, and these tags are sound: an error would be a defect of ours, and
    // the reader of the run would say that the histograms are missing.
    drop(write_hlog(&mut log, started, &entries));
    log
}

/// Progress is stored more rarely than it is shown; the maxima in between go along with what is stored.
#[derive(Debug, Default)]
struct Gap {
    next_stored: Nanos,
    /// The largest sample of each thread since what was stored last.
    maxima: BTreeMap<u32, u64>,
    /// The latest progress, where it is not stored.
    unstored: Option<Progress>,
}

impl Gap {
    /// Returns what is to be stored in place of `progress`, if it is time to.
    fn bridge(&mut self, progress: &Progress) -> Option<Progress> {
        for series in &progress.series {
            if let Some(max) = series.recent_max_ns {
                let known = self.maxima.entry(series.thread).or_default();
                *known = (*known).max(max);
            }
        }
        self.unstored = Some(progress.clone());
        if progress.t_ns < self.next_stored {
            return None;
        }
        // A little early, so that progress of four times a second is stored every fourth time.
        self.next_stored = progress.t_ns + STORE_PROGRESS_EVERY - Nanos::from_millis(50);
        self.rest()
    }

    /// Returns what was said since what was stored last: at the end of a run, its last part of a second.
    fn rest(&mut self) -> Option<Progress> {
        let mut progress = self.unstored.take()?;
        for series in &mut progress.series {
            series.recent_max_ns = self.maxima.remove(&series.thread);
        }
        Some(progress)
    }
}

/// Passes what a run says to the store and to the view.
struct Listener<'a> {
    writer: RunWriter,
    view: &'a mut View,
    progress_every: Nanos,
    gap: Gap,
    keep_samples: bool,
    beside: Option<&'a mut dyn Sink>,
    metrics: Option<Arc<Metrics>>,
}

impl Sink for Listener<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.view.event(event);
        if let Some(metrics) = &self.metrics {
            metrics.event(event);
        }
        if let Some(beside) = &mut self.beside {
            beside.event(event)?;
        }
        let progress = match event {
            Event::Progress(progress) => self.gap.bridge(progress),
            _ => self.gap.rest(),
        };
        if let Some(progress) = progress {
            self.writer.event(&Event::Progress(progress))?;
        }
        match event {
            Event::Progress(_) => Ok(()),
            event => Ok(self.writer.event(event)?),
        }
    }

    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError> {
        if let Some(beside) = &mut self.beside {
            beside.samples(thread, samples)?;
        }
        if self.keep_samples {
            self.writer.samples(thread, samples)?;
        }
        Ok(())
    }

    fn begun(&mut self, threads: &[Tid], origin: Nanos) -> Result<(), SinkError> {
        match &mut self.beside {
            Some(beside) => beside.begun(threads, origin),
            None => Ok(()),
        }
    }

    fn tick(&mut self) -> Result<(), SinkError> {
        match &mut self.beside {
            Some(beside) => beside.tick(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::SeriesProgress;

    use super::*;

    #[test]
    fn what_is_stored_has_the_maxima_of_what_was_only_shown() {
        let mut gap = Gap::default();
        let mut stored = Vec::new();
        for (quarter, max) in (1..=9).zip([5, 9, 1, 1, 2, 7, 3, 1, 4]) {
            let progress = Progress {
                t_ns: Nanos::from_millis(250 * quarter),
                series: vec![SeriesProgress {
                    recent_max_ns: Some(max),
                    ..SeriesProgress::default()
                }],
                ..Progress::default()
            };
            let kept = gap.bridge(&progress);
            stored.extend(kept.and_then(|p| Some((quarter, p.series[0].recent_max_ns?))));
        }
        assert_eq!(stored, [(1, 5), (5, 9), (9, 7)]);
    }

    #[test]
    fn the_last_part_of_a_second_is_stored_when_the_run_ends() {
        let mut gap = Gap::default();
        let of = |thread, max| SeriesProgress {
            thread,
            recent_max_ns: max,
            ..SeriesProgress::default()
        };
        let mut at = |millis, series| {
            let progress = Progress {
                t_ns: Nanos::from_millis(millis),
                series,
                ..Progress::default()
            };
            gap.bridge(&progress).is_some()
        };
        assert!(at(1_000, vec![of(4, Some(8))]));
        // A thread that comes later stands before the others.
        assert!(!at(1_250, vec![of(4, Some(90))]));
        assert!(!at(1_400, vec![of(2, Some(7)), of(4, Some(3))]));
        let rest = gap.rest().unwrap();
        let maxima: Vec<_> = rest.series.iter().map(|s| s.recent_max_ns).collect();
        assert_eq!(
            (rest.t_ns.get(), maxima),
            (1_400_000_000, vec![Some(7), Some(90)])
        );
        assert_eq!(gap.rest(), None);
    }
}
