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
//! Nothing is guessed: what the kernel has no event for is said, and time that no event accounts for is a phase of its own.

mod basis;
mod beside;
mod culprits;
mod cycle;
mod event;
mod habits;
mod history;
mod replay;
mod source;
mod table;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod thread;
mod who;
mod words;

use std::collections::BTreeMap;
use std::process::ExitStatus;
use std::time::Duration;

use punctual_model::watch::{PhaseTime, ResponseStep, Watched, WatchedThread};
use punctual_model::{
    Better, Check, CpuSet, Ended, Figure, Finding, Nanos, Policy, Progress, Series,
};
use punctual_stats::Keep;
use punctual_sys::sched;
use punctual_sys::tracefs::Tracefs;

use self::basis::Basis;
pub use self::beside::Beside;
use self::cycle::{IdleExits, Phase};
use self::habits::Habits;
pub use self::habits::{Judge, rules as habit_rules};
use self::replay::Replay;
use self::source::Source;
use self::tally::Tally;
pub use self::target::Target;
use self::target::{Started, Starter};
use self::thread::Waited;
use self::who::Tid;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame, Throttling};

/// Time between two looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time of the trace after which cycles are made of it, in ns.
const SETTLE_EVERY: u64 = 100_000_000;

/// Threads that are watched at most: what is kept of one takes some 300 KiB, and of its longest cycles some megabytes.
const THREADS: usize = 256;

/// The name of the table of all cycles in the store.
pub const CYCLE_TABLE: &str = "cycles.csv";

/// Cycles without which a thread has no figures.
const FEW: u64 = 2;

/// What to watch, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Watch {
    /// Whom.
    pub target: Target,
    /// A cycle that takes longer is late. None: one that takes longer than its period.
    pub deadline: Option<Nanos>,
    /// The system call whose wait ends a cycle. None: found from how waits come.
    pub cycle_at: Option<String>,
    /// Only threads whose name contains one of these, or whose number is one of them. None: all.
    pub threads: Vec<String>,
    /// Whether a program that is started writes its output to our standard error: ours is somebody's input.
    pub output_to_stderr: bool,
    /// Whether every cycle is kept, as a line of a table.
    pub keep_cycles: bool,
    /// From what excess on somebody is a culprit.
    pub matters: Matters,
}

/// From what excess on somebody is a culprit.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Matters {
    /// A twentieth of the period, and 10 µs: what keeps a program from its work.
    #[default]
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
    watch: &Watch,
    judge: Judge,
    frame: &mut Frame<'_>,
) -> Result<(Found, Option<ExitStatus>), MeasureError> {
    let present = target::threads_of(frame.sys(), &watch.target)?;
    let tracefs = Tracefs::open(frame.sys())?;
    let cpus: CpuSet = frame
        .sys()
        .fact("/sys/devices/system/cpu/online")
        .unwrap_or_else(|| frame.setup().cpus.clone());
    let mut source = Source::new(frame.sys(), tracefs, cpus.clone())?;
    let symbols = source::symbols(frame.sys());
    let calls = source.decoder.has("raw_syscalls/sys_exit");
    let mut replay = Replay::new(cpus.len(), calls, THREADS, symbols);
    let starter = match &watch.target {
        Target::Command(words) => {
            let aside = watch.output_to_stderr;
            Some((Starter::new(words, frame.original_cpus(), aside)?, words))
        }
        Target::Process(_) | Target::Named(_) => None,
    };
    let mut tids: Vec<Tid> = present.iter().map(|(tid, _)| *tid).collect();
    for (tid, name) in &present {
        replay.watch(*tid, name);
    }
    if let Some((starter, _)) = &starter {
        tids.push(starter.tid);
        replay.watch_children_of(starter.tid);
    }
    source.follow(&tids)?;
    source.start()?;
    let started = match starter {
        Some((starter, words)) => match words.first() {
            Some(program) => Some(starter.start(program)?),
            None => None,
        },
        None => None,
    };
    let exits = source::idle_exits(frame.sys());
    let keep = frame.keep();
    let mut watcher = Watcher::new(watch, exits, replay, keep, frame.origin().get());
    watcher.habits = Some(Habits::new(frame.sys().clone(), judge));
    let (ended, status) = watcher.attend(frame, &mut source, started)?;
    source.stop()?;
    let rest = source.rest(&mut watcher.replay.names)?;
    watcher.take_in(&rest);
    watcher.settle_all();
    while watcher.habits.as_mut().is_some_and(Habits::judge_next) {}
    frame.last(watcher.progress());
    let lost = source.losses()?.all();
    let watched = watcher.watched(&source);
    let mut found = watcher.found(&watched, &source, lost);
    if let Some(table) = watcher.table.take() {
        found.artifacts.push((CYCLE_TABLE, table.bytes()));
    }
    source.remove()?;
    (found.ended, found.watched) = (ended, Some(Box::new(watched)));
    Ok((found, status))
}

/// What is known of the watched threads.
struct Watcher<'a> {
    watch: &'a Watch,
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
}

impl<'a> Watcher<'a> {
    fn new(watch: &'a Watch, exits: IdleExits, replay: Replay, keep: Keep, origin: u64) -> Self {
        Self {
            watch,
            exits,
            replay,
            keep: Keep {
                thresholds_ns: watch.deadline.iter().map(|d| d.get()).collect(),
                ..keep
            },
            tallies: BTreeMap::new(),
            pending: BTreeMap::new(),
            order: Vec::new(),
            origin,
            next_settling: 0,
            table: watch.keep_cycles.then(table::Table::new),
            habits: None,
        }
    }

    /// Reads the trace until the program has ended, or the run is to end.
    fn attend(
        &mut self,
        frame: &mut Frame<'_>,
        source: &mut Source,
        mut started: Option<Started>,
    ) -> Result<(Ended, Option<ExitStatus>), MeasureError> {
        loop {
            std::thread::sleep(LOOK_EVERY);
            // Looked at before the trace is read: what a program did before it ended is in the buffers then.
            let status = started.as_mut().and_then(Started::status);
            let events = source.read(&mut self.replay.names)?;
            self.take_in(&events);
            if let Some(habits) = &mut self.habits {
                habits.judge_next();
            }
            frame.look(|| self.progress());
            if status.is_some() {
                return Ok((Ended::Completed, status));
            }
            let threads = &self.replay.threads;
            if started.is_none() && !threads.is_empty() && threads.values().all(|t| t.ended) {
                return Ok((Ended::Completed, None));
            }
            if frame.is_over() {
                let ended = frame.ended();
                // What a program does when it is asked to end belongs to no cycle.
                let events = source.read(&mut self.replay.names)?;
                self.take_in(&events);
                source.stop()?;
                return Ok((ended, started.as_mut().and_then(Started::end)));
            }
        }
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
        for pair in pending.windows(2) {
            let [begin, end] = pair else { continue };
            let cycle =
                cycle::take_apart(&self.replay, &self.exits, thread, tally.cycles, begin, end);
            if tally.cycles == 0 {
                self.order.push(tid);
            }
            tally.add(&cycle, &self.replay, self.origin);
            if let Some(table) = &mut self.table {
                table.add(&cycle, self.origin);
            }
            if let Some(habits) = &mut self.habits {
                let every_wait = basis.at.is_none();
                habits.add(thread, &cycle, (begin, end), every_wait, &self.replay.names);
            }
        }
        let done = pending.len().saturating_sub(1);
        pending.drain(..done);
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
        let threads: Vec<WatchedThread> = self
            .shown()
            .map(|(n, thread, tally)| self.watched_thread(n, thread, tally))
            .collect();
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
            records: source.records,
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
            cycle_at: basis.at.map(|wait| wait.to_string()),
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

    fn found(&self, watched: &Watched, source: &Source, lost: u64) -> Found {
        let mut found = Found {
            throttling: Throttling::IsAResult,
            ..Found::default()
        };
        let mut tallies = Vec::new();
        for (n, thread, tally) in self.shown() {
            let series = figures::series(&tally.responses);
            found.series.push(Series {
                thread: Some(n),
                policy: Some(policy(thread, tally)),
                interval_ns: tally.basis.and_then(|b| b.period).map(Nanos::new),
                overruns: Some(tally.missed),
                lost: Some(0),
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
        (found.total.lost, found.total.warm_up_samples) = (Some(0), Some(0));
        found.figures = self.phase_figures();
        found.figures.extend(source.cost.clone());
        found.findings.extend(self.cost(source));
        found.checks = self.checks(watched, source, lost);
        found.findings.extend(watched.unknown.iter().map(|unknown| {
            let detail = format!("this kernel does not record {unknown}");
            Finding::observed("no-event", detail)
        }));
        found
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

    fn checks(&self, watched: &Watched, source: &Source, lost: u64) -> Vec<Check> {
        let cycles: u64 = watched.threads.iter().map(|thread| thread.cycles).sum();
        let unclear: u64 = self.shown().map(|(_, _, tally)| tally.unclear).sum();
        let wanted = source.buffer_kib.saturating_mul(4);
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
                lost == 0,
                match lost {
                    0 => format!("{} trace records were read, none was lost", source.records),
                    _ => format!(
                        "the kernel could not take {lost} trace records: buffers of {} KiB a CPU were full, {wanted} \
                         might do",
                        source.buffer_kib
                    ),
                },
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
    let is_named = |one: &&Waited| words::call_name(one.wait.call) == named;
    let at = waited.iter().find(is_named).map(|one| one.wait);
    let period = basis::period_of(waited.iter().filter(|one| Some(one.wait) == at));
    match at {
        Some(_) => Basis { at, period },
        None => Basis::EVERY_WAIT,
    }
}
