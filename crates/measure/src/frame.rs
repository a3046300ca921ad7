// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What every instrument has around it: the machine's conditions before and after, the
//! bound on idle states, the memory lock, the loads' evidence, progress, and the validity checks.
//!
//! An instrument is a function that gets a [`Frame`], starts its threads as a
//! [`Crew`], attends them, and returns what it [`Found`]. The frame judges the
//! rest. It changes nothing that outlives it.

mod judged;
#[cfg(test)]
pub(crate) mod testing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use punctual_model::tasks::TasksRun;
use punctual_model::watch::Watched;
use punctual_model::{
    Check, Clock, CpuSet, Ended, Event, Figure, Finding, LoadRecord, Nanos, Pin, PrecisionState,
    Progress, Sample, Series, Setup, ThresholdHit,
};
use punctual_stats::{Accumulator, Keep, LatencyHistogram};
use punctual_sys::memory::LockedMemory;
use punctual_sys::thread::{Tid, allow_interrupts};
use punctual_sys::{SysRoot, clock, sched};

use self::judged::judged;
use crate::checks::{self, Evidence, Expected, Locking};
use crate::conditions::Conditions;
use crate::crew::{Crew, ThreadEvidence, ThreadReport};
use crate::error::MeasureError;
use crate::held::{AffinityGuard, hold_idle_bound, lock_memory};
use crate::interim_checks::{loads_check, standing};
use crate::loads::LoadProcess;
use crate::sink::{Sink, SinkError};
use crate::steadiness::Steadiness;
use crate::throttling::{self, RtLoad};

/// Time between two looks at the threads, the clocks and the wish to stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time from the opening of the gate to the first deadline, at least: see [`Frame::start_at`].
pub(crate) const HEAD_START: Nanos = Nanos::from_millis(2);

/// How a run is done beyond its set-up.
#[derive(Clone, Debug)]
pub struct Control {
    /// Identity of the run, for its events.
    pub id: String,
    /// Set by whoever wants the run to end.
    pub stop: Arc<AtomicBool>,
    /// Whether a refused memory lock is an error, and not only told.
    pub insist_on_mlock: bool,
    /// Whether a refused bound on idle latency is an error, and not only told.
    pub insist_on_dma_latency: bool,
    /// Time between progress events.
    pub progress_every: Nanos,
    /// Whether quantiles are estimated by P-square too.
    pub psquare: bool,
}

/// Who judges whether real-time throttling hit the run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Throttling {
    /// The frame, as for a wake-up measurement: it makes a run invalid.
    #[default]
    Disturbs,
    /// The instrument, whose result it is.
    IsAResult,
}

/// What an instrument found.
#[derive(Debug, Default)]
pub struct Found {
    /// One entry a thread and kind of latency; none for an instrument that takes no samples.
    pub series: Vec<Series>,
    /// The latencies together, of the kind that the instrument's page names.
    pub total: Series,
    /// Histograms to store, each with its tag: the thread, or `THREAD/CONTEXT`, without a blank or a
    /// comma.
    pub histograms: Vec<(String, LatencyHistogram)>,
    /// Files to store next to the record, by their names.
    pub artifacts: Vec<(&'static str, Vec<u8>)>,
    /// Results that are no latencies.
    pub figures: Vec<Figure>,
    /// What the pattern shows.
    pub findings: Vec<Finding>,
    /// What was seen of a program's threads.
    pub watched: Option<Box<Watched>>,
    /// What was seen of a task set.
    pub tasks: Option<Box<TasksRun>>,
    /// The sample above the threshold that ended the run.
    pub threshold: Option<ThresholdHit>,
    /// State of the precision targets.
    pub precision: Vec<PrecisionState>,
    /// Checks of the instrument's own.
    pub checks: Vec<Check>,
    /// Why it ended.
    pub ended: Ended,
    /// The measuring threads. Those that only help need not be here.
    pub threads: Vec<ThreadReport>,
    /// How they were bound; as their CPUs show, where it is not said.
    pub pin: Option<Pin>,
    /// Whether a page fault in one of those threads spoils the result.
    pub faults_spoil: bool,
    /// Who judges throttling.
    pub throttling: Throttling,
    /// Options as carried out, in addition to or instead of those of the set-up.
    pub options: BTreeMap<String, String>,
}

impl Found {
    /// Has the histogram of `tally` stored.
    pub(crate) fn store(&mut self, tag: String, tally: &Accumulator) {
        self.histograms.push((tag, tally.histogram().clone()));
    }
}

/// What a run found, judged.
#[derive(Debug)]
pub struct RunOutcome {
    /// The set-up as carried out: what was refused and not insisted on is off.
    pub setup: Setup,
    /// What the instrument found, with all checks.
    pub found: Found,
    /// How long it took.
    pub duration: Nanos,
    /// What each load did.
    pub loads: Vec<LoadRecord>,
}

/// The run as the instrument sees it.
pub struct Frame<'a> {
    sys: &'a SysRoot,
    setup: Setup,
    control: &'a Control,
    sink: &'a mut dyn Sink,
    load: Option<&'a mut LoadProcess>,
    refused: Option<SinkError>,
    original: CpuSet,
    lock: Option<LockedMemory>,
    locking: Locking,
    watch: Steadiness,
    /// The clock that is watched.
    clock: Clock,
    origin: Nanos,
    /// How long the run took, where the instrument knows.
    lasted: Option<Nanos>,
    next_progress: Nanos,
    /// Whether the listener knows that the run began.
    announced: bool,
    /// Threads of the crew that was started.
    crew: Option<u32>,
}

impl std::fmt::Debug for Frame<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Frame")
            .field("setup", &self.setup)
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

impl Frame<'_> {
    /// Returns the machine.
    pub const fn sys(&self) -> &SysRoot {
        self.sys
    }

    /// Returns what was asked for, less what was refused.
    pub const fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Returns what is kept of each series.
    pub fn keep(&self) -> Keep {
        Keep {
            psquare: self.control.psquare,
            ..Keep::default()
        }
    }

    /// Returns the CPUs that the process was started with.
    pub const fn original_cpus(&self) -> &CpuSet {
        &self.original
    }

    /// Returns the flag that is set when the run must end. Threads look at it.
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.control.stop)
    }

    /// Whether a signal asked for the end.
    pub fn is_stopped(&self) -> bool {
        self.control.stop.load(Ordering::Relaxed)
    }

    /// Returns why a run ends now: by a signal, or as it should.
    pub fn ended(&self) -> Ended {
        if self.is_stopped() {
            Ended::Interrupted
        } else {
            Ended::Completed
        }
    }

    /// Returns time zero of the run, on the monotonic clock.
    pub const fn origin(&self) -> Nanos {
        self.origin
    }

    /// Returns the time since the start.
    pub fn elapsed(&self) -> Nanos {
        clock::monotonic() - self.origin
    }

    /// Whether the set-up's duration has passed, or a signal asked for the end.
    pub fn is_over(&self) -> bool {
        self.is_stopped()
            || self
                .setup
                .duration_ns
                .is_some_and(|duration| self.elapsed() >= duration)
    }

    /// Looks at the clocks, and says how far the run is if it is time to. To be called at least
    /// ten times a second, on the thread that the frame was given to.
    ///
    /// `progress` need not fill in the times.
    pub fn look(&mut self, progress: impl FnOnce() -> Progress) {
        self.watch.look();
        self.say_when_due(progress);
    }

    /// The same while something is made ready, however long a step of that takes: nothing is measured that it would disturb.
    pub(crate) fn look_before(&mut self, progress: impl FnOnce() -> Progress) {
        self.watch.look_again();
        self.say_when_due(progress);
    }

    fn say_when_due(&mut self, progress: impl FnOnce() -> Progress) {
        let now = self.elapsed();
        if now < self.next_progress {
            return;
        }
        self.next_progress = now + self.control.progress_every;
        self.say_progress(now, progress());
    }

    /// Says how far the run is once more when the threads are done, so that samples since the last look
    /// are included. To be called with the figures of all samples.
    ///
    /// `progress` need not fill in the times.
    pub fn last(&mut self, progress: Progress) {
        self.watch.look();
        self.say_progress(self.elapsed(), progress);
    }

    fn say_progress(&mut self, now: Nanos, mut progress: Progress) {
        progress.t_ns = now;
        if let Some(duration) = self.setup.duration_ns.filter(|d| !d.is_zero()) {
            #[expect(clippy::cast_precision_loss, reason = "for display")]
            let done = now.get() as f64 / duration.get() as f64;
            progress.done = Some(progress.done.unwrap_or(done).min(1.0));
            progress.left_ns = progress.left_ns.or(Some(duration - now));
        }
        if let Some(load) = &mut self.load {
            progress.loads = load.progress();
        }
        let (series, loads) = (&progress.series, &progress.loads);
        progress.checks = standing(series, loads, &self.watch, Clock::Monotonic);
        self.say(&Event::Progress(progress));
    }

    /// Passes on what a recorder of the instrument's own says; of progress it knows all but the loads.
    pub(crate) fn relay(&mut self, mut event: Event) {
        if let (Event::Progress(progress), Some(load)) = (&mut event, &mut self.load) {
            progress.loads = load.progress();
            progress.checks.push(loads_check(&progress.loads));
        }
        self.say(&event);
    }

    /// Takes over what that recorder saw of `clock`, and how long the run took.
    pub(crate) fn was_watched(&mut self, clock: Clock, watch: Steadiness, lasted: Nanos) {
        (self.clock, self.watch, self.lasted) = (clock, watch, Some(lasted));
    }

    /// Returns the time between progress events.
    pub(crate) const fn progress_every(&self) -> Nanos {
        self.control.progress_every
    }

    /// Has the run begin now: what it took to get ready is not part of it.
    pub(crate) fn begin_now(&mut self) {
        self.prepared();
        self.origin = clock::monotonic();
    }

    /// Has the loads judged from now on: nothing was measured that they would have disturbed before.
    pub(crate) fn prepared(&mut self) {
        self.watch.look_again();
        if let Some(load) = &mut self.load {
            load.begin_again();
        }
    }

    /// Tells the listener the kernel's numbers of the threads, and where their time zero lies on their clock. It is that of the run, too.
    pub(crate) fn begun(&mut self, threads: &[Tid], clock: Clock, origin: Nanos) {
        self.crew = u32::try_from(threads.len()).ok();
        self.origin = clock::monotonic() + origin - clock::read(clock);
        self.tell(|sink| sink.begun(threads, origin));
    }

    /// Tells the listener that the samples up to now have been passed on.
    pub(crate) fn tick(&mut self) {
        self.tell(|sink| sink.tick());
    }

    /// Lets all threads of `crew` work. Their memory is locked before, where memory is: it was mapped
    /// after the rest. Where that is refused it is present all the same, and the check of the memory
    /// counts the page faults.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Lock`], if the lock was insisted on.
    pub fn start<T: Send + 'static>(&mut self, crew: &Crew<T>) -> Result<(), MeasureError> {
        self.renew_lock()?;
        self.crew = u32::try_from(crew.tids().len()).ok();
        crew.go();
        self.tell(|_| Ok(()));
        Ok(())
    }

    /// Lets all threads of `crew` work towards deadlines from an origin that lies 2 ms ahead, and is passed to
    /// `begin` before. Nothing that can take long comes between the reading of the clock and the start: on a busy
    /// machine assembling threads and locking their memory takes tens of milliseconds, and what the first cycles waited for
    /// would be us.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub fn start_at<T: Send + 'static>(
        &mut self,
        crew: &Crew<T>,
        begin: impl FnOnce(Nanos),
    ) -> Result<(), MeasureError> {
        self.renew_lock()?;
        self.crew = u32::try_from(crew.tids().len()).ok();
        begin(clock::monotonic() + HEAD_START);
        crew.go();
        self.tell(|_| Ok(()));
        Ok(())
    }

    /// Locks what was mapped since the run began, where memory is locked, and says whether it is. Where that
    /// is refused, and not insisted on, nothing stays locked.
    pub(crate) fn renew_lock(&mut self) -> Result<bool, MeasureError> {
        match self.lock.as_ref().map(LockedMemory::renew) {
            None => return Ok(false),
            Some(Ok(())) => return Ok(true),
            Some(Err(err)) if self.control.insist_on_mlock => return Err(MeasureError::Lock(err)),
            Some(Err(err)) => self.locking = Locking::Refused(err.to_string()),
        }
        (self.lock, self.setup.mlock) = (None, false);
        Ok(false)
    }

    /// Waits for `crew`, looking and saying how far it is meanwhile. Threads that sleep are woken when the run is stopped: their next
    /// deadline may be far away.
    pub fn attend<T: Send + 'static>(
        &mut self,
        crew: &Crew<T>,
        mut progress: impl FnMut() -> Progress,
    ) {
        while !crew.is_done() {
            std::thread::sleep(LOOK_EVERY);
            self.look(&mut progress);
            if self.is_stopped() {
                crew.interrupt();
            }
        }
    }

    /// Waits for `span`, also beyond the time of the run, unless it is stopped, looking meanwhile.
    pub fn wait(&mut self, span: Nanos, mut progress: impl FnMut() -> Progress) {
        let end = self.elapsed() + span;
        while self.elapsed() < end && !self.is_stopped() {
            let left = Duration::from(end - self.elapsed());
            std::thread::sleep(left.min(LOOK_EVERY));
            self.look(&mut progress);
        }
    }

    /// Passes an event on. A listener that cannot take it ends the run.
    pub fn say(&mut self, event: &Event) {
        self.tell(|sink| sink.event(event));
    }

    /// Passes samples of `thread` on, oldest first.
    pub fn samples(&mut self, thread: u32, samples: &[Sample]) {
        self.tell(|sink| sink.samples(thread, samples));
    }

    /// Tells the listener something, and before the first thing that the run began.
    fn tell(&mut self, something: impl FnOnce(&mut dyn Sink) -> Result<(), SinkError>) {
        if self.refused.is_some() {
            return;
        }
        let mut told = Ok(());
        if !std::mem::replace(&mut self.announced, true) {
            told = self.sink.event(&self.started());
        }
        if let Err(err) = told.and_then(|()| something(self.sink)) {
            self.refused = Some(err);
            self.control.stop.store(true, Ordering::Relaxed);
        }
    }

    fn started(&self) -> Event {
        let asked = self.setup.options.get("threads");
        let asked = asked.and_then(|threads| threads.parse().ok());
        let cpus = || u32::try_from(self.setup.cpus.len()).unwrap_or(u32::MAX);
        Event::Started {
            id: self.control.id.clone(),
            threads: asked.or(self.crew).unwrap_or_else(cpus),
        }
    }
}

/// Carries `instrument` out as `setup` says, under `load`, and tells `sink` how it goes.
///
/// # Errors
///
/// Fails when the machine cannot do what is asked, when the instrument does, or when `sink` does.
pub fn run(
    sys: &SysRoot,
    setup: &Setup,
    control: &Control,
    load: Option<&mut LoadProcess>,
    sink: &mut dyn Sink,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<RunOutcome, MeasureError> {
    allow_interrupts().map_err(MeasureError::Spawn)?;
    let original = sched::affinity().map_err(|source| MeasureError::ReadBack { source })?;
    let mut setup = setup.clone();
    let (held, idle_bound) = hold_idle_bound(
        sys,
        &mut setup.dma_latency_ns,
        control.insist_on_dma_latency,
    )?;
    let before = Conditions::read(sys, &setup.cpus);
    let foreign_before = throttling::foreign_rt_ticks(sys, &[]);
    let _back = AffinityGuard::move_to(&setup.housekeeping, &original)?;
    let (lock, locking) = lock_memory(&mut setup.mlock, control.insist_on_mlock)?;
    let origin = clock::monotonic();
    let mut frame = Frame {
        sys,
        setup,
        control,
        sink,
        load,
        refused: None,
        original,
        lock,
        locking,
        watch: Steadiness::new(Clock::Monotonic, origin),
        clock: Clock::Monotonic,
        origin,
        lasted: None,
        next_progress: Nanos::ZERO,
        announced: false,
        crew: None,
    };
    let found = instrument(&mut frame)?;
    let duration = frame.lasted.unwrap_or_else(|| {
        // Without samples the last work was looked at when it ended; to give its memory back may take longer than a pause.
        match worst(&found) {
            Some(_) => frame.watch.look(),
            None => frame.watch.look_again(),
        }
        frame.elapsed()
    });
    frame.say(&Event::Ended {
        reason: found.ended,
        t_ns: duration,
    });
    let after = Conditions::read(sys, &frame.setup.cpus);
    let foreign = throttling::foreign_rt_ticks(sys, &[]);
    drop((frame.lock.take(), held));
    if let Some(err) = frame.refused {
        return Err(MeasureError::Sink(err));
    }
    let (setup, watch, locking) = (frame.setup, frame.watch, frame.locking);
    let stop = &frame.control.stop;
    let loads = frame.load.map(|load| load.evidence(stop));
    let loads = loads.unwrap_or_default();
    let (threads, found) = take_threads(found);
    let rt_load = RtLoad {
        bandwidth: [before.rt_bandwidth, after.rt_bandwidth],
        policy: setup.priority,
        ours: busiest_cpu(&setup.cpus, &threads),
        foreign_ticks: foreign.saturating_sub(foreign_before),
        duration,
        worst: worst(&found),
        interval: found.series.iter().filter_map(|s| s.interval_ns).max(),
        cpus: setup.cpus.clone(),
    };
    let (resolution, observed_step) = checks::observe(frame.clock);
    let evidence = Evidence {
        asked: Expected {
            priority: setup.priority,
            pin: found.pin.unwrap_or_else(|| pin(&threads)),
            clock: frame.clock,
            loads: setup.loads.len(),
        },
        threads: &threads,
        before: &before,
        after: &after,
        locking: &locking,
        idle_bound: &idle_bound,
        resolution,
        observed_step,
        rt_load: &rt_load,
        loads: &loads,
        watch: &watch,
    };
    Ok(judged(setup, found, duration, &evidence))
}

fn take_threads(mut found: Found) -> (Vec<ThreadEvidence>, Found) {
    let threads = std::mem::take(&mut found.threads);
    (threads.into_iter().map(|t| t.evidence).collect(), found)
}

fn worst(found: &Found) -> Option<Nanos> {
    let series = found.series.iter().chain([&found.total]);
    series.filter_map(|s| s.max_ns).max().map(Nanos::new)
}

fn pin(threads: &[ThreadEvidence]) -> Pin {
    match threads.iter().all(|t| t.asked_cpus.len() == 1) {
        true => Pin::Each,
        false => Pin::Set,
    }
}

/// Returns the CPU time of the threads that may run on the CPU where that is most.
fn busiest_cpu(cpus: &CpuSet, threads: &[ThreadEvidence]) -> Nanos {
    let on = |cpu: u32| {
        let there = threads.iter().filter(|t| t.asked_cpus.contains(cpu));
        there.fold(Nanos::ZERO, |sum, t| sum + t.finished.cpu_time)
    };
    cpus.iter().map(on).max().unwrap_or_default()
}
