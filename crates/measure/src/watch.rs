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
//! Events that the kernel lacks are listed, and time that no event accounts for is a phase of its own. One thing is
//! estimated: how long a page fault lasts, because the kernel tells when one begins and not when it ends (`thread`).

mod account;
mod basis;
mod beside;
mod changed;
mod culprits;
mod cycle;
pub(crate) mod event;
mod foreign;
mod habits;
mod history;
mod outside;
mod own;
mod polling;
mod probe;
mod replay;
mod results;
mod settle;
mod source;
mod stacks;
mod symbols;
mod table;
mod tally;
mod target;
#[cfg(test)]
mod tests;
mod thread;
mod wait;
pub(crate) mod who;
mod words;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use punctual_model::{CpuId, CpuSet, Ended, Finding, Nanos, Progress};
use punctual_stats::Keep;
use punctual_sys::{SysRoot, clock};

pub use self::beside::Beside;
use self::cycle::IdleExits;
use self::habits::Habits;
pub use self::habits::{Judge, rules as habit_rules};
use self::outside::Outside;
use self::polling::Before;
pub use self::probe::PREFIX as FUNCTION;
use self::replay::Replay;
use self::settle::Aside;
use self::source::{Kallsyms, Source};
use self::stacks::Stacks;
pub use self::stacks::Taken;
use self::symbols::Symbols;
use self::tally::Tally;
pub use self::target::{ProgramEnd, Target};
use self::target::{Started, Starter};
use self::thread::Waited;
use self::who::Tid;
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
pub use crate::trace::LARGEST_BUFFER_KIB;
use crate::trace::Lost;

/// Time between two looks at the buffers.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time of the trace after which cycles are made of it, in ns.
const SETTLE_EVERY: u64 = 100_000_000;

/// Threads that are watched at most: what is kept of one takes some 300 KiB, and of its longest cycles some megabytes.
const THREADS: usize = 256;

/// How often it is looked for threads that were started while watching began: who starts them then is followed after the second time.
const LISTINGS: u32 = 16;

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

/// What to watch, and how.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Watch {
    /// Whom.
    pub target: Target,
    /// A cycle that takes longer is late. None: one that takes longer than its period.
    pub deadline: Option<Nanos>,
    /// Time between releases: of a thread that waits so, the wait that comes at this interval ends a cycle. None: found from how
    /// waits come.
    pub period: Option<Nanos>,
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
    /// Which stacks are taken where a thread waits, or does what it should avoid.
    pub stacks: Taken,
    /// Trace buffer of each CPU, in KiB. None: as much as usually holds all that comes between two looks at it.
    pub buffer_kib: Option<u32>,
}

impl Watch {
    fn wants(&self, tid: Tid, name: &str) -> bool {
        let is_it = |wanted: &String| name.contains(wanted.as_str()) || wanted.parse() == Ok(tid);
        self.threads.is_empty() || self.threads.iter().any(is_it)
    }
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
        Target::Process(_) | Target::Named(_) | Target::Timerlat(_) => None,
    };
    let parent = starter.as_ref().map(|starter| starter.tid);
    let keep = (frame.keep(), frame.origin().get());
    let (mut watcher, mut source) = Watcher::begin(frame.sys(), watch, keep, parent)?;
    watcher.habits = Some(Habits::new(frame.sys().clone(), judge));
    let own = Target::Process(std::process::id());
    let own = target::threads_of(frame.sys(), &own)?;
    watcher.replay.owns(own.iter().map(|thread| thread.tid));
    frame.begin_now();
    watcher.origin = frame.origin().get();
    watcher.judged = Some(frame.setup().cpus.clone());
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
    let said = watcher.end.iter();
    found
        .findings
        .extend(said.map(|detail| Finding::observed("program-end", detail.clone())));
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
    /// What threads did before they were silent for long, of which it is not known yet what a cycle is.
    aside: BTreeMap<Tid, Vec<Aside>>,
    /// Threads that had a cycle, in the order in which they had their first. A thread that has had other cycles before is there once for
    /// each, with what is kept of them.
    order: Vec<(Tid, Option<Box<Tally>>)>,
    origin: u64,
    /// Cycles that were released before are not part of the run.
    from: u64,
    next_settling: u64,
    /// Every cycle, where that is asked for.
    table: Option<table::Table>,
    /// What real-time code should avoid, where that is looked for.
    habits: Option<Habits>,
    /// What is to be said of how the program ended.
    end: Option<String>,
    /// CPU time that reading and analysing the trace took.
    busy: Nanos,
    /// What the hypervisor and the firmware took, as far as that is counted, before.
    outside: Option<Outside>,
    /// The CPUs of which it is known what others took of them, where these may be fewer than those of the machine.
    judged: Option<CpuSet>,
    /// Where threads waited.
    stacks: Stacks,
    /// How the addresses of these are named.
    naming: Option<Naming>,
    /// What was known of the threads that were there when watching began, and the CPU time that they have had since.
    before: BTreeMap<Tid, Before>,
    computed: BTreeMap<Tid, Nanos>,
}

/// Names what lies at addresses.
#[derive(Debug)]
struct Naming {
    sys: SysRoot,
    kernel: Kallsyms,
    symbols: RefCell<Symbols>,
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
        let mut present = target::threads_of(sys, &watch.target)?;
        // Where they are too many, those that are asked for go first.
        present.sort_by_key(|thread| !watch.wants(thread.tid, &thread.name));
        let function = watch.cycle_at.as_deref();
        let function = function.and_then(|at| at.strip_prefix(FUNCTION));
        let place = function.map(|symbol| probe::find(sys, symbol, &watch.target));
        let place = place.transpose()?;
        let timerlat = matches!(watch.target, Target::Timerlat(_));
        let source = Source::new(
            sys,
            watch.buffer_kib,
            place.as_ref(),
            watch.stacks,
            timerlat,
        )?;
        let calls = source.decoder.has("raw_syscalls/sys_exit");
        let kernel = Kallsyms::read(sys);
        let mut replay = Replay::new(source.cpus().len(), calls, THREADS, kernel.beginnings());
        replay.fault_ns = source.fault_ns.unwrap_or(0).max(thread::ONE_FAULT);
        if let Some(parent) = parent {
            replay.watch_children_of(parent);
        }
        let followed: Vec<Tid> = present.iter().map(|t| t.tid).chain(parent).collect();
        let mut watcher = Self::new(watch, source::idle_exits(sys), replay, keep, origin);
        watcher.meet(sys, &present);
        watcher.outside = Some(Outside::begin(sys, source.cpus()));
        watcher.naming = Some(Naming {
            sys: sys.clone(),
            kernel,
            symbols: RefCell::new(Symbols::new(sys)),
        });
        source.follow(&followed)?;
        source.start()?;
        // All that took a while. Who was started meanwhile, by threads that nobody followed yet, is found in no other way.
        let mut known: BTreeSet<Tid> = followed.into_iter().collect();
        for _ in 0..LISTINGS {
            let new = target::newcomers(sys, &watcher.watch.target, &mut known);
            if new.is_empty() {
                break;
            }
            watcher.meet(sys, &new);
            let tids: Vec<Tid> = new.iter().map(|thread| thread.tid).collect();
            source.follow_too(&tids)?;
            present.extend(new);
        }
        // Of who has ended by now no event will tell.
        for thread in &present {
            let ended = !target::lives(sys, thread.tid);
            if let Some(known) = watcher.replay.threads.get_mut(&thread.tid) {
                known.ended = known.ended.or_else(|| ended.then_some(0));
            }
        }
        Ok((watcher, source))
    }

    /// Watches threads that are there.
    fn meet(&mut self, sys: &SysRoot, present: &[target::Present]) {
        let timerlat = matches!(self.watch.target, Target::Timerlat(_));
        for target::Present { tid, process, name } in present {
            match timerlat {
                true => self.replay.watch_in_kernel(*tid, name.as_bytes()),
                false => self.replay.watch(*tid, *process, name.as_bytes()),
            }
            let before = Before::read(sys, *tid);
            if let (Some(thread), Some(prio)) = (self.replay.threads.get_mut(tid), before.prio()) {
                thread.prio = prio;
            }
            self.before.insert(*tid, before);
        }
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
            aside: BTreeMap::new(),
            order: Vec::new(),
            origin,
            from: 0,
            next_settling: 0,
            table: watch.keep_cycles.then(table::Table::new),
            habits: None,
            end: None,
            busy: Nanos::ZERO,
            outside: None,
            judged: None,
            stacks: Stacks::default(),
            naming: None,
            before: BTreeMap::new(),
            computed: BTreeMap::new(),
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
            if let Some(end) = end {
                self.end = end.says(&self.left_alive(frame.sys()));
                return Ok((Ended::Completed, Some(end)));
            }
            let threads = &self.replay.threads;
            if started.is_none()
                && !threads.is_empty()
                && threads.values().all(|t| t.ended.is_some())
            {
                return Ok((Ended::Completed, None));
            }
            if frame.is_over() {
                let ended = frame.ended();
                // What a program does when it is asked to end belongs to no cycle.
                self.look(source)?;
                source.stop()?;
                let end = started.as_mut().map(Started::end);
                // It was us who asked it to end.
                if let Some(end @ ProgramEnd::Unknown(_)) = &end {
                    self.end = end.says(&[]);
                }
                return Ok((ended, end));
            }
        }
    }

    /// Returns the names of watched threads that go on although the program that was started has ended.
    fn left_alive(&self, sys: &SysRoot) -> Vec<&str> {
        let mut alive: Vec<&thread::Thread> = self.replay.threads.values().collect();
        // What ends together with it takes a moment.
        for pause in [Duration::ZERO, LOOK_EVERY] {
            if !alive.is_empty() {
                std::thread::sleep(pause);
            }
            alive.retain(|thread| thread.ended.is_none() && target::lives(sys, thread.tid));
        }
        let names = alive
            .iter()
            .map(|thread| self.replay.names.text(thread.name));
        names.collect()
    }

    /// Reads what was recorded since the last time, and takes it in.
    fn look(&mut self, source: &mut Source) -> Result<(), MeasureError> {
        let begun = clock::thread_cpu();
        let events = source.read(&mut self.replay.names, &mut self.stacks)?;
        if let Some(naming) = &self.naming {
            self.stacks.look_up(&naming.sys);
        }
        self.take_in(&events);
        if let Some(Naming { sys, .. }) = &self.naming {
            let sys = sys.clone();
            self.look_at_programs(&sys);
        }
        self.busy = self.busy + clock::thread_cpu().since(begun);
        Ok(())
    }

    /// Ends recording, and takes in what is left in the buffers. Returns what the kernel lost.
    fn conclude(&mut self, source: &mut Source) -> Result<Lost, MeasureError> {
        source.stop()?;
        if let Some(Naming { sys, .. }) = &self.naming {
            let sys = sys.clone();
            self.note_computed(&sys);
        }
        let begun = clock::thread_cpu();
        let rest = source.rest(&mut self.replay.names, &mut self.stacks)?;
        if let Some(naming) = &self.naming {
            self.stacks.look_up(&naming.sys);
        }
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

    /// Forgets the waits of threads that are not kept, whose numbers others may have by now.
    fn forget_gone(&mut self) {
        for tid in std::mem::take(&mut self.replay.gone) {
            self.pending.remove(&tid);
            self.aside.remove(&tid);
            self.tallies.remove(&tid);
            self.order.retain(|(own, _)| *own != tid);
        }
    }

    fn settle_those_known(&mut self) {
        self.forget_gone();
        self.next_settling = self.replay.now + SETTLE_EVERY;
        let tids: Vec<Tid> = self.replay.threads.keys().copied().collect();
        for tid in tids {
            self.settle(tid, false);
        }
        self.replay.forget();
    }

    /// Decides of every thread what a cycle is, also where little is known.
    fn settle_all(&mut self) {
        self.forget_gone();
        let tids: Vec<Tid> = self.replay.threads.keys().copied().collect();
        for tid in tids {
            self.settle(tid, true);
        }
        self.settle_open();
    }

    fn progress(&mut self) -> Progress {
        let series = (0..).zip(&mut self.order).filter_map(|(n, (tid, past))| {
            let tally = match past {
                Some(past) => past,
                None => self.tallies.get_mut(tid)?,
            };
            let mut progress = tally.progress();
            (progress.thread, progress.cpu) = (n, Some(tally.last_cpu));
            Some(progress)
        });
        Progress {
            series: series.collect(),
            ..Progress::default()
        }
    }
}
