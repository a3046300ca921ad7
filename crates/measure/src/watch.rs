// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A program's own threads, unchanged: their cycles, where the time of each goes, and who makes late ones late.
//!
//! The kernel records what happens in its own trace instances (`source`, `event`). From that the machine is played
//! again (`replay`): who has each CPU at every moment (`history`), and what the watched threads do (`thread`). A cycle
//! (`cycle`) is what a thread does from a release to its next wait for one; which wait that is follows from how its waits
//! come (`basis`). Each nanosecond of a cycle has a phase and a cause; `tally` keeps them, `culprits` ranks the causes of
//! late cycles by what would be in time without them.
//!
//! What the kernel has no event for is said, and time that no event accounts for is a phase of its own. One thing is
//! estimated: how long a page fault lasts, because the kernel tells when one begins and not when it ends (`thread`).

mod basis;
mod beside;
mod culprits;
mod cycle;
pub(crate) mod event;
mod habits;
mod history;
mod probe;
mod replay;
mod source;
mod table;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod thread;
pub(crate) mod who;
mod words;

use std::collections::BTreeMap;
use std::time::Duration;

use punctual_model::watch::{PhaseTime, ResponseStep, Watched, WatchedThread};
use punctual_model::{
    Better, Check, CpuId, CpuSet, Ended, Figure, Finding, Nanos, Policy, Progress, Series,
};
use punctual_stats::Keep;
use punctual_sys::{SysRoot, clock, sched};

use self::basis::Basis;
pub use self::beside::Beside;
use self::cycle::{Cause, Cycle, IdleExits, Phase};
use self::habits::Habits;
pub use self::habits::{Judge, rules as habit_rules};
pub use self::probe::PREFIX as FUNCTION;
use self::replay::Replay;
use self::source::Source;
use self::tally::Tally;
pub use self::target::{ProgramEnd, Target};
use self::target::{Started, Starter};
use self::thread::{Wait, Waited};
use self::who::Tid;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame, Throttling};
use crate::noise::counters::Counters;
use crate::trace::Lost;

/// Time between two looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time of the trace after which cycles are made of it, in ns.
const SETTLE_EVERY: u64 = 100_000_000;

/// Threads that are watched at most: what is kept of one takes some 300 KiB, and of its longest cycles some megabytes.
const THREADS: usize = 256;

/// Long cycles of all threads together that are kept with what went on around them, but for one a thread.
const WORST_IN_ALL: usize = 100;

/// The name of the table of all cycles in the store.
pub const CYCLE_TABLE: &str = "cycles.csv";

/// How far a release that a thread told may be from the one that its timer was set to, in ns.
const SAME: u64 = 1_000;

/// A wake-up that ended a run.
#[derive(Clone, Copy, Debug)]
struct Hit {
    /// When the thread read its clock, on the monotonic clock.
    at: u64,
    latency: u64,
    cpu: CpuId,
}

/// Cycles without which a thread has no figures.
const FEW: u64 = 2;

/// What to watch, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Watch {
    /// Whom.
    pub target: Target,
    /// A cycle that takes longer is late. None: one that takes longer than its period.
    pub deadline: Option<Nanos>,
    /// The system call whose wait ends a cycle, or [`FUNCTION`] and a function's name: the call of it does, and the first
    /// wait after it is for the next cycle. None: found from how waits come.
    pub cycle_at: Option<String>,
    /// Only threads whose name contains one of these, or whose number is one of them. None: all.
    pub threads: Vec<String>,
    /// Whether a program that is started writes its output to our standard error: ours is somebody's input.
    pub output_to_stderr: bool,
    /// Whether every cycle is kept, as a line of a table.
    pub keep_cycles: bool,
    /// From what excess on somebody is a culprit.
    pub matters: Matters,
    /// Trace buffer of each CPU, in KiB. None: as much as usually holds all that comes between two looks at it.
    pub buffer_kib: Option<u32>,
}

/// From what excess on somebody is a culprit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Matters {
    /// A twentieth of the period, and 10 µs: what keeps a program from its work.
    OfThePeriod,
    /// A quarter of the median response time, and 2 µs: for threads that do nothing but wake up.
    OfTheMedian,
}

/// Watches as `watch` says until the program ends, or the run does. Returns how a program that was started ended, too.
/// `judge` says of threads how they are set up, while they live.
///
/// # Errors
///
/// [`MeasureError::Tracing`] where tracing is unavailable; [`MeasureError::Spec`] where there is nobody to watch.
pub fn run(
    watch: Watch,
    judge: Judge,
    frame: &mut Frame<'_>,
) -> Result<(Found, Option<ProgramEnd>), MeasureError> {
    let starter = match &watch.target {
        Target::Command(words) => Some(Starter::new(
            words,
            frame.original_cpus(),
            watch.output_to_stderr,
        )?),
        Target::Process(_) | Target::Named(_) => None,
    };
    let parent = starter.as_ref().map(|starter| starter.tid);
    let keep = (frame.keep(), frame.origin().get());
    let (mut watcher, mut source) = Watcher::begin(frame.sys(), watch, keep, parent)?;
    watcher.habits = Some(Habits::new(frame.sys().clone(), judge));
    let started = starter.map(Starter::start).transpose()?;
    let (ended, end) = watcher.attend(frame, &mut source, started)?;
    let lost = watcher.conclude(&mut source)?;
    while watcher.habits.as_mut().is_some_and(Habits::judge_next) {}
    frame.last(watcher.progress());
    let watched = watcher.watched(&source);
    let mut found = watcher.found(&watched, &source, lost);
    if let Some(table) = watcher.table.take() {
        found.artifacts.push((CYCLE_TABLE, table.bytes()));
    }
    if let Some(ProgramEnd::Unknown(why)) = &end {
        let detail = format!("how the program ended is not known: {why}");
        found
            .findings
            .push(Finding::observed("program-end", detail));
    }
    source.remove()?;
    (found.ended, found.watched) = (ended, Some(Box::new(watched)));
    Ok((found, end))
}

/// What is known of the watched threads.
#[derive(Debug)]
struct Watcher {
    watch: Watch,
    exits: IdleExits,
    replay: Replay,
    keep: Keep,
    tallies: BTreeMap<Tid, Tally>,
    /// Waits that are over, of which the next cycle begins; before it is known what a cycle is, all.
    pending: BTreeMap<Tid, Vec<Waited>>,
    /// Threads that had a cycle, in the order in which they had their first.
    order: Vec<Tid>,
    origin: u64,
    next_settling: u64,
    /// Every cycle, where that is asked for.
    table: Option<table::Table>,
    /// What real-time code should avoid, where that is looked for.
    habits: Option<Habits>,
    /// CPU time that reading and analysing the trace took.
    busy: Nanos,
    /// What the hypervisor and the firmware took, as far as that is counted, before.
    outside: Option<Outside>,
}

/// Who counts what no event tells, since a moment.
#[derive(Debug)]
struct Outside {
    sys: SysRoot,
    cpus: CpuSet,
    before: Counters,
}

impl Outside {
    fn begin(sys: &SysRoot, cpus: &CpuSet) -> Self {
        Self {
            sys: sys.clone(),
            cpus: cpus.clone(),
            before: Counters::read(sys, cpus),
        }
    }

    /// Says what was counted.
    fn says(&self) -> String {
        let deltas = Counters::read(&self.sys, &self.cpus).since(&self.before);
        let stolen = deltas.stolen_ms.iter();
        let stolen: Vec<String> = stolen
            .map(|(cpu, ms)| format!("{ms} ms of CPU {cpu}"))
            .collect();
        let stolen = match stolen.is_empty() {
            true => "steal time cannot be read".to_owned(),
            false => format!(
                "the hypervisor took {} by the kernel's count (in steps of 10 ms)",
                stolen.join(", ")
            ),
        };
        let smi: Result<u32, String> = deltas.smi.into_values().sum();
        let smi = match smi {
            Ok(count) => format!("{count} system management interrupts were counted"),
            Err(why) => format!("system management interrupts cannot be counted: {why}"),
        };
        format!("{stolen}; {smi}")
    }
}

impl Watcher {
    /// Begins to record what the threads that are there do, and those that the thread `parent` starts. What is kept of
    /// response times, and when the run began, is the caller's.
    fn begin(
        sys: &SysRoot,
        watch: Watch,
        (keep, origin): (Keep, u64),
        parent: Option<Tid>,
    ) -> Result<(Self, Source), MeasureError> {
        let present = target::threads_of(sys, &watch.target)?;
        let function = watch.cycle_at.as_deref();
        let function = function.and_then(|at| at.strip_prefix(FUNCTION));
        let place = function.map(|symbol| probe::find(sys, symbol, &watch.target));
        let source = Source::new(sys, watch.buffer_kib, place.transpose()?.as_ref())?;
        let calls = source.decoder.has("raw_syscalls/sys_exit");
        let mut replay = Replay::new(source.cpus().len(), calls, THREADS, source::symbols(sys));
        for thread in &present {
            replay.watch(thread.tid, thread.process, thread.name.as_bytes());
        }
        if let Some(parent) = parent {
            replay.watch_children_of(parent);
        }
        let followed: Vec<Tid> = present.iter().map(|t| t.tid).chain(parent).collect();
        let mut watcher = Self::new(watch, source::idle_exits(sys), replay, keep, origin);
        watcher.outside = Some(Outside::begin(sys, source.cpus()));
        source.follow(&followed)?;
        source.start()?;
        // Of who has ended by now no event will tell.
        for thread in &present {
            let ended = !target::lives(sys, thread.tid);
            if let Some(known) = watcher.replay.threads.get_mut(&thread.tid) {
                known.ended |= ended;
            }
        }
        Ok((watcher, source))
    }

    fn new(watch: Watch, exits: IdleExits, replay: Replay, keep: Keep, origin: u64) -> Self {
        let thresholds_ns = watch.deadline.iter().map(|d| d.get()).collect();
        Self {
            exits,
            replay,
            keep: Keep {
                thresholds_ns,
                ..keep
            },
            tallies: BTreeMap::new(),
            pending: BTreeMap::new(),
            order: Vec::new(),
            origin,
            next_settling: 0,
            table: watch.keep_cycles.then(table::Table::new),
            habits: None,
            busy: Nanos::ZERO,
            outside: None,
            watch,
        }
    }

    /// Reads the trace until the program has ended, or the run is to end.
    fn attend(
        &mut self,
        frame: &mut Frame<'_>,
        source: &mut Source,
        mut started: Option<Started>,
    ) -> Result<(Ended, Option<ProgramEnd>), MeasureError> {
        loop {
            std::thread::sleep(LOOK_EVERY);
            // Looked at before the trace is read: what a program did before it ended is in the buffers then.
            let end = started.as_mut().and_then(Started::ended);
            self.look(source)?;
            if let Some(habits) = &mut self.habits {
                habits.judge_next();
            }
            frame.look(|| self.progress());
            if end.is_some() {
                return Ok((Ended::Completed, end));
            }
            let threads = &self.replay.threads;
            if started.is_none() && !threads.is_empty() && threads.values().all(|t| t.ended) {
                return Ok((Ended::Completed, None));
            }
            if frame.is_over() {
                let ended = frame.ended();
                // What a program does when it is asked to end belongs to no cycle.
                self.look(source)?;
                source.stop()?;
                return Ok((ended, started.as_mut().map(Started::end)));
            }
        }
    }

    /// Reads what was recorded since the last time, and takes it in.
    fn look(&mut self, source: &mut Source) -> Result<(), MeasureError> {
        let begun = clock::thread_cpu();
        let events = source.read(&mut self.replay.names)?;
        self.take_in(&events);
        self.busy = self.busy + clock::thread_cpu().since(begun);
        Ok(())
    }

    /// Ends recording, and takes in what is left in the buffers. Returns what the kernel lost.
    fn conclude(&mut self, source: &mut Source) -> Result<Lost, MeasureError> {
        source.stop()?;
        let begun = clock::thread_cpu();
        let rest = source.rest(&mut self.replay.names)?;
        self.take_in(&rest);
        self.settle_all();
        self.busy = self.busy + clock::thread_cpu().since(begun);
        source.lost()
    }

    fn take_in(&mut self, events: &[event::Event]) {
        for event in events {
            self.replay.apply(event);
            // What is read at once may be of seconds, and the past is kept for no longer.
            if event.time >= self.next_settling {
                self.settle_those_known();
            }
        }
        self.settle_those_known();
    }

    fn settle_those_known(&mut self) {
        self.next_settling = self.replay.now + SETTLE_EVERY;
        let tids: Vec<Tid> = self.replay.threads.keys().copied().collect();
        for tid in tids {
            self.settle(tid, false);
        }
        self.replay.forget();
    }

    /// Decides of every thread what a cycle is, also where little is known.
    fn settle_all(&mut self) {
        let tids: Vec<Tid> = self.replay.threads.keys().copied().collect();
        for tid in tids {
            self.settle(tid, true);
        }
    }

    /// Makes cycles of the waits of a thread that are over.
    fn settle(&mut self, tid: Tid, at_the_end: bool) {
        let Some(thread) = self.replay.threads.get_mut(&tid) else {
            return;
        };
        let name = self.replay.names.text(thread.name);
        let wanted = &self.watch.threads;
        let is_wanted = wanted.is_empty()
            || wanted
                .iter()
                .any(|w| name.contains(w.as_str()) || w.parse() == Ok(tid));
        if !is_wanted {
            thread.waited.clear();
            return;
        }
        let pending = self.pending.entry(tid).or_default();
        pending.extend(thread.waited.drain(..));
        let (Some(first), Some(last)) = (pending.first(), pending.last()) else {
            return;
        };
        let keep = &self.keep;
        let tally = self.tallies.entry(tid).or_insert_with(|| Tally::new(keep));
        let basis = match tally.basis {
            Some(basis) => basis,
            None => {
                let known = pending.len() >= basis::WAITS || last.left - first.left >= basis::TIME;
                if !known && !at_the_end {
                    return;
                }
                tally.policy = sched::policy_of(tid).ok();
                let basis = basis_of(self.watch.cycle_at.as_deref(), pending);
                (tally.basis, thread.cycle_at) = (Some(basis), basis.at);
                if let Some(habits) = &mut self.habits
                    && is_judged(thread, tally)
                {
                    habits.meet(tid);
                }
                basis
            }
        };
        pending.retain(|waited| basis.ends_at(waited.wait));
        let Some(thread) = self.replay.threads.get(&tid) else {
            return;
        };
        if let Some(habits) = &mut self.habits
            && let [first, _, ..] = pending[..]
        {
            habits.look(thread, first.left);
        }
        let done = pending.len().saturating_sub(1);
        let next = pending.get(done).copied();
        let over: Vec<Waited> = pending.drain(..done).chain(next).collect();
        for pair in over.windows(2) {
            if let [begin, end] = pair {
                self.add(tid, begin, end);
            }
        }
    }

    /// Takes in a cycle of a thread, from the wait `begin` to the wait `end`. Returns it.
    fn add(&mut self, tid: Tid, begin: &Waited, end: &Waited) -> Option<Cycle> {
        let thread = self.replay.threads.get(&tid)?;
        let tally = self.tallies.get_mut(&tid)?;
        let cycle = cycle::take_apart(&self.replay, &self.exits, thread, tally.cycles, begin, end);
        if tally.cycles == 0 {
            self.order.push(tid);
        }
        tally.add(&cycle, &self.replay, self.origin);
        if let Some(table) = &mut self.table {
            table.add(&cycle, self.origin);
        }
        if let Some(habits) = &mut self.habits {
            let every_wait = tally.basis.is_some_and(|basis| basis.at.is_none());
            habits.add(thread, &cycle, (begin, end), every_wait, &self.replay.names);
        }
        Some(cycle)
    }

    /// Makes a cycle of a wake-up after which its thread did not wait any more, and keeps it with what went on around it.
    fn add_last(&mut self, hit: &Hit) {
        let release = hit.at.saturating_sub(hit.latency);
        let found = self.pending.iter().find_map(|(tid, waited)| {
            let begin = *waited.last()?;
            let asked = begin.expiry?.soft;
            let mut spans = self.replay.threads.get(tid)?.spans(hit.at - 1, hit.at);
            let was_there = spans.any(|(span, ..)| span.cpu == hit.cpu);
            let is_it = asked.abs_diff(release) < SAME && begin.left <= hit.at && was_there;
            is_it.then_some((*tid, begin))
        });
        let Some((tid, begin)) = found else { return };
        let end = Waited {
            entered: hit.at,
            woken: None,
            left: hit.at,
            expiry: None,
            missed: 0,
            ..begin
        };
        if let Some(cycle) = self.add(tid, &begin, &end)
            && let Some(tally) = self.tallies.get_mut(&tid)
        {
            tally.keep(&cycle, &self.replay, self.origin);
        }
    }

    fn progress(&mut self) -> Progress {
        let series = (0..).zip(&self.order).filter_map(|(n, tid)| {
            let tally = self.tallies.get_mut(tid)?;
            let mut progress = tally.progress();
            (progress.thread, progress.cpu) = (n, Some(tally.last_cpu));
            Some(progress)
        });
        Progress {
            series: series.collect(),
            ..Progress::default()
        }
    }

    /// The threads that have figures, with what is kept of them.
    fn shown(&self) -> impl Iterator<Item = (u32, &thread::Thread, &Tally)> {
        let shown = self.order.iter().filter_map(|tid| {
            let tally = self.tallies.get(tid).filter(|tally| tally.cycles >= FEW)?;
            Some((self.replay.threads.get(tid)?, tally))
        });
        (0..)
            .zip(shown)
            .map(|(n, (thread, tally))| (n, thread, tally))
    }

    fn watched(&self, source: &Source) -> Watched {
        let mut threads: Vec<WatchedThread> = self
            .shown()
            .map(|(n, thread, tally)| self.watched_thread(n, thread, tally))
            .collect();
        // A record with all cycles of hundreds of threads would be too large for the store.
        let each = WORST_IN_ALL / threads.len().max(1);
        if each < tally::SHOWN {
            let kept = each.max(1);
            threads.iter_mut().for_each(|t| t.worst.truncate(kept));
        }
        let mut unknown: Vec<String> = Vec::new();
        for lacking in source.decoder.lacking() {
            let without = lacking.without.unwrap_or(lacking.event).to_owned();
            if !unknown.contains(&without) {
                unknown.push(without);
            }
        }
        let judged: Vec<(u32, Tid)> = self
            .shown()
            .filter(|(_, thread, tally)| is_judged(thread, tally))
            .map(|(n, thread, _)| (n, thread.tid))
            .collect();
        let habits = self.habits.as_ref();
        Watched {
            habits_judged: habits.map(|_| judged.len() as u64),
            habits: habits.map_or_else(Vec::new, |habits| habits.found(judged.into_iter())),
            idle_threads: (self.replay.threads.len() - threads.len()) as u64,
            unwatched_threads: self.replay.unwatched,
            records: source.records(),
            inferred_switches: self.replay.inferred,
            threads,
            unknown,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "times within days")]
    fn watched_thread(&self, n: u32, thread: &thread::Thread, tally: &Tally) -> WatchedThread {
        let names = &self.replay.names;
        let late = culprits::late(tally, self.watch.deadline.map(Nanos::get));
        let longs = tally.longer_than(late.limit_ns);
        let cycles = tally.cycles.max(1) as f64;
        let phases = (0..).zip(Phase::ALL).map(|(place, phase): (usize, Phase)| {
            let of_late: u64 = longs.iter().map(|long| long.phases[place]).sum();
            PhaseTime {
                phase: phase.name().to_owned(),
                mean_ns: tally.phase_sums[place] as f64 / cycles,
                late_mean_ns: (!longs.is_empty()).then(|| of_late as f64 / longs.len() as f64),
                max_ns: tally.phase_max[place],
            }
        });
        let by_response = tally.steps.iter().map(|(step, of)| ResponseStep {
            to_ns: tally::step_end(*step),
            count: of.count,
            phases_ns: of
                .phases
                .map(|ns| ns as f64 / of.count.max(1) as f64)
                .to_vec(),
        });
        let basis = tally.basis.unwrap_or(Basis::EVERY_WAIT);
        let mut calls: Vec<(String, u64)> = thread
            .calls
            .iter()
            .map(|(call, count)| (words::call_name(*call), *count))
            .collect();
        calls.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        WatchedThread {
            thread: n,
            tid: thread.tid,
            name: names.text(thread.name).to_owned(),
            policy: policy(thread, tally),
            cycle_at: basis.at.map(|wait| match &self.watch.cycle_at {
                Some(named) if wait == Wait::PROBE => named.clone(),
                _ => wait.to_string(),
            }),
            period_ns: basis.period.map(Nanos::new),
            timed_releases: tally.timed,
            cycles: tally.cycles,
            missed_releases: tally.missed,
            phases: phases.collect(),
            by_response: by_response.collect(),
            culprits: culprits::culprits(tally, &late, self.watch.matters, names),
            late,
            worst: tally.worst(),
            calls,
            page_faults: thread.faults,
            migrations: thread.migrations,
        }
    }

    fn found(&self, watched: &Watched, source: &Source, lost: Lost) -> Found {
        let mut found = Found {
            throttling: Throttling::IsAResult,
            ..Found::default()
        };
        // Of cycles that were in records that the kernel lost nobody knows the number.
        let none_lost = (lost.records == 0).then_some(0);
        let mut tallies = Vec::new();
        for (n, thread, tally) in self.shown() {
            let series = figures::series(&tally.responses);
            found.series.push(Series {
                thread: Some(n),
                policy: Some(policy(thread, tally)),
                interval_ns: tally.basis.and_then(|b| b.period).map(Nanos::new),
                overruns: Some(tally.missed),
                lost: none_lost,
                clamped: Some(tally.responses.histogram().clamped()),
                warm_up_samples: Some(0),
                misses: figures::misses(&tally.responses),
                ..series
            });
            let tag = n.to_string();
            found
                .histograms
                .push((tag, tally.responses.histogram().clone()));
            tallies.push(&tally.responses);
        }
        found.total = figures::total(&tallies);
        found.total.overruns = found.series.iter().map(|s| s.overruns).sum();
        found.total.clamped = found.series.iter().map(|s| s.clamped).sum();
        (found.total.lost, found.total.warm_up_samples) = (none_lost, Some(0));
        found.figures = self.phase_figures();
        found.figures.extend(source.cost.clone());
        found.figures.extend(self.analysis(source));
        found.findings.extend(self.evidence(source));
        found.checks = self.checks(watched, source, lost);
        found.findings.extend(watched.unknown.iter().map(|unknown| {
            let detail = format!("this kernel does not record {unknown}");
            Finding::observed("no-event", detail)
        }));
        found
    }

    /// What tracing cost those who are watched, and what is known of time that no event tells.
    fn evidence(&self, source: &Source) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.cost(source).into_iter().collect();
        let is_outside = |(cause, spent): (&Cause, &tally::Spent)| {
            matches!(cause, Cause::Outside | Cause::Unknown).then_some(spent.total)
        };
        let spent = self.shown().flat_map(|(.., tally)| &tally.spent);
        let ns: u64 = spent.filter_map(is_outside).sum();
        if let Some(outside) = self.outside.as_ref().filter(|_| ns > 0) {
            let detail = format!(
                "{:.1} µs of all cycles went to what is outside this kernel, or is not known; meanwhile {}",
                Nanos::new(ns).as_secs_f64() * 1e6,
                outside.says()
            );
            findings.push(Finding::observed("outside-evidence", detail));
        }
        findings
    }

    /// Time that a record took to be read and analysed.
    #[expect(clippy::cast_precision_loss, reason = "counts and times within days")]
    fn analysis(&self, source: &Source) -> Option<Figure> {
        let records = source.records();
        let ns = (records > 0).then(|| self.busy.get() as f64 / records as f64)?;
        Some(Figure {
            count: records,
            ..Figure::single("analysis_per_record", "ns", Better::Lower, ns)
        })
    }

    /// Says what tracing cost a cycle of the thread that it cost most.
    #[expect(clippy::cast_precision_loss, reason = "counts and times within days")]
    fn cost(&self, source: &Source) -> Option<Finding> {
        let ns = source.cost.as_ref()?.value?;
        let a_cycle = |tally: &Tally| tally.events as f64 / tally.cycles.max(1) as f64;
        let (most, thread) = self
            .shown()
            .map(|(_, thread, tally)| (a_cycle(tally), thread))
            .max_by(|(a, _), (b, _)| a.total_cmp(b))?;
        Some(Finding::observed(
            "tracing-cost",
            format!(
                "an event costs {ns:.0} ns here, and a cycle of {} has some {most:.0}: being watched made it about \
                 {:.1} µs longer",
                self.replay.names.text(thread.name),
                most * ns / 1e3
            ),
        ))
    }

    /// The mean time of each phase, for comparisons of two runs.
    #[expect(clippy::cast_precision_loss, reason = "times within days")]
    fn phase_figures(&self) -> Vec<Figure> {
        let mut all = Vec::new();
        for (n, _, tally) in self.shown() {
            for (place, phase) in (0_usize..).zip(Phase::ALL) {
                let mean = tally.phase_sums[place] as f64 / tally.cycles as f64;
                let figure = Figure::single("time_in_phase", "ns", Better::Lower, mean);
                all.push(Figure {
                    count: tally.cycles,
                    max: Some(tally.phase_max[place] as f64),
                    ..figure.at("thread", n).at("phase", phase.name())
                });
            }
        }
        all
    }

    fn checks(&self, watched: &Watched, source: &Source, lost: Lost) -> Vec<Check> {
        let cycles: u64 = watched.threads.iter().map(|thread| thread.cycles).sum();
        let unclear: u64 = self.shown().map(|(_, _, tally)| tally.unclear).sum();
        vec![
            Check::of(
                "samples",
                cycles > 0,
                match cycles {
                    0 => {
                        "no watched thread had a whole cycle: it waited less than twice".to_owned()
                    }
                    _ => format!("{cycles} whole cycles"),
                },
            ),
            Check::of(
                "lost-events",
                lost.records == 0,
                lost.says(source.records()),
            ),
            Check::of(
                "accounted",
                unclear * 100 <= cycles,
                format!(
                    "the phases of {} of {cycles} cycles add up to their response time within 2 µs",
                    cycles - unclear
                ),
            ),
        ]
    }
}

/// Whether a thread is to be in time: what real-time code should avoid is no matter to others.
fn is_judged(thread: &thread::Thread, tally: &Tally) -> bool {
    let period = tally.basis.and_then(|basis| basis.period);
    period.is_some() || thread.prio < 100 || tally.policy.is_some_and(Policy::is_real_time)
}

/// Returns a thread's policy as the kernel said it while it lived, else what its priority tells.
fn policy(thread: &thread::Thread, tally: &Tally) -> String {
    match tally.policy {
        Some(policy) => policy.to_string(),
        None => words::policy(thread.prio),
    }
}

/// Finds what ends a cycle, among waits that were seen or by the system call that the user named.
fn basis_of(named: Option<&str>, waited: &[Waited]) -> Basis {
    let Some(named) = named else {
        return basis::find(waited.iter());
    };
    let is_named = |one: &&Waited| match named.strip_prefix(FUNCTION) {
        Some(_) => one.wait == Wait::PROBE,
        None => words::call_name(one.wait.call) == named,
    };
    let at = waited.iter().find(is_named).map(|one| one.wait);
    let period = basis::period_of(waited.iter().filter(|one| Some(one.wait) == at));
    match at {
        Some(_) => Basis { at, period },
        None => Basis::EVERY_WAIT,
    }
}
