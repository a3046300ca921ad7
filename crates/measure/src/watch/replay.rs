// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The machine as its trace tells it: who has each CPU, and what the watched threads are doing.

mod cpu;
mod renewals;
mod timers;
mod watched;

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_model::CpuId;
use rustc_hash::{FxHashMap, FxHashSet};

use self::cpu::{Cpu, Nest};
use self::renewals::Renewals;
use super::account::Notes;
use super::event::{Event, What};
use super::history::{History, Stretch};
use super::thread::{KEPT_NS, ONE_FAULT, Thread};
use super::wait::Wait;
use super::who::{Name, Names, Tid, Who};

/// Changes of all CPUs together that are kept.
const HISTORY: usize = 1 << 21;

/// Timers, threads and workers that are remembered at most: those of programs that ended silently go first.
const REMEMBERED: usize = 1 << 16;

/// Names the functions of the kernel by their addresses.
pub(super) type Symbols = Arc<dyn Fn(u64) -> Option<String> + Send + Sync>;

/// Real-time threads that wait for one CPU and are remembered, at most.
const WAITING: usize = 64;

/// What our own threads are called as owners of a CPU: longer than the name that a program can give to a thread.
const OWN: &str = "Punctual's own thread";

/// Interrupts within interrupts, at most: a trace that lost records could nest them without end.
const NESTED: usize = 16;

/// Everything that is known of the machine at a moment, and of the recent past.
pub(super) struct Replay {
    cpus: BTreeMap<CpuId, Cpu>,
    pub(super) names: Names,
    pub(super) threads: BTreeMap<Tid, Thread>,
    /// Names and priorities of threads that were seen.
    seen: FxHashMap<Tid, (Name, i16)>,
    /// Set timers: the time asked for, that time with slack.
    timers: FxHashMap<u64, (u64, u64)>,
    /// Which watched thread set a timer.
    timer_of: FxHashMap<u64, Tid>,
    /// What each kernel worker works on.
    works: FxHashMap<Tid, Name>,
    functions: FxHashMap<u64, Name>,
    /// Nothing where the kernel hides where its functions are.
    symbols: Option<Symbols>,
    /// Whether the kernel tells system calls.
    calls: bool,
    history_limit: usize,
    /// Switches that were not recorded and followed from what was.
    pub(super) inferred: u64,
    /// The time up to which everything is known.
    pub(super) now: u64,
    /// Threads of our own process that are not watched, and what they are called where they have a CPU.
    own: FxHashSet<Tid>,
    pub(super) own_name: Name,
    /// A thread whose children are watched, and not itself.
    parent: Option<Tid>,
    /// Threads that are watched at most.
    limit: usize,
    /// Threads that are not watched because there are too many.
    pub(super) unwatched: u64,
    /// Threads that were watched, ended without a cycle, and are not kept.
    pub(super) forgotten: u64,
    /// Those of them of which the waits are still to be forgotten.
    pub(super) gone: Vec<Tid>,
    /// Who sent each process a signal that stops it, the last time.
    stoppers: FxHashMap<Tid, Who>,
    /// What the timerlat tracer said.
    pub(super) notes: Notes,
    /// When quotas of groups were renewed.
    pub(super) renewals: Renewals,
    /// Time that a page fault alone is taken to last, in ns.
    pub(super) fault_ns: u64,
}

impl std::fmt::Debug for Replay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Replay")
            .field("now", &self.now)
            .finish_non_exhaustive()
    }
}

impl Replay {
    /// Makes one that has seen no event yet, for a machine with `cpus` CPUs.
    pub(super) fn new(cpus: usize, calls: bool, limit: usize, symbols: Option<Symbols>) -> Self {
        let mut names = Names::default();
        Self {
            cpus: BTreeMap::new(),
            own: FxHashSet::default(),
            own_name: names.keep(OWN.as_bytes()),
            names,
            threads: BTreeMap::new(),
            seen: FxHashMap::default(),
            timers: FxHashMap::default(),
            timer_of: FxHashMap::default(),
            works: FxHashMap::default(),
            functions: FxHashMap::default(),
            symbols,
            calls,
            history_limit: HISTORY / cpus.max(1),
            inferred: 0,
            now: 0,
            parent: None,
            limit,
            unwatched: 0,
            forgotten: 0,
            gone: Vec::new(),
            stoppers: FxHashMap::default(),
            notes: Notes::default(),
            renewals: Renewals::default(),
            fault_ns: ONE_FAULT,
        }
    }

    /// These are the threads of our own process, and those that they start are too; but for those that are watched.
    pub(super) fn owns(&mut self, tids: impl IntoIterator<Item = Tid>) {
        let unwatched = tids
            .into_iter()
            .filter(|tid| !self.threads.contains_key(tid));
        self.own.extend(unwatched);
    }

    /// Whether it is known which threads are our own.
    pub(super) fn knows_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Returns who had `cpu` from `from` to `to`.
    pub(super) fn cut(
        &self,
        cpu: CpuId,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = Stretch> + use<'_> {
        let known = self.cpus.get(&cpu).map(|cpu| cpu.history.cut(from, to));
        let nothing = known.is_none().then_some(Stretch {
            from,
            to,
            who: Who::Unknown,
            began: from,
            left_ready: None,
            held: false,
            went_idle: None,
        });
        nothing.into_iter().chain(known.into_iter().flatten())
    }

    /// Returns the CPUs of which anything is known.
    pub(super) fn cpus(&self) -> impl Iterator<Item = CpuId> {
        self.cpus.keys().copied()
    }

    /// Returns when and where `tid` last lost a CPU before `time`, and whether it was runnable still.
    pub(super) fn last_of(&self, tid: Tid, time: u64) -> Option<(u64, CpuId, bool)> {
        let lasts = self.cpus.iter().filter_map(|(cpu, of)| {
            let (at, ready) = of.history.last_of(tid, time)?;
            Some((at, *cpu, ready))
        });
        lasts.max_by_key(|(at, ..)| *at)
    }

    /// Takes in the next event; they come in the order of their times.
    pub(super) fn apply(&mut self, event: &Event) {
        let Event {
            time,
            cpu,
            pid,
            what,
        } = *event;
        // Stacks are recorded apart, and may go on to be for a moment when the rest ends.
        if !matches!(what, What::Stack { .. }) {
            self.now = time;
        }
        // Who is at a place had the CPU, which says nothing of now: it is on its way to sleep. What the tracer says of a thread it may
        // say after that one has lost the CPU.
        if !matches!(what, What::Stack { .. } | What::Note(_)) {
            self.meet(time, cpu, pid);
        }
        match what {
            What::Switch {
                prev_prio,
                prev_state,
                next,
                next_prio,
                next_name,
            } => {
                self.remember(next, next_name, next_prio);
                self.switch(time, cpu, (pid, prev_prio, prev_state), next);
            }
            What::Waking {
                tid,
                prio,
                name,
                cpu: target,
            } => {
                self.remember(tid, name, prio);
                let by = self.cpus.get(&cpu).map(Cpu::top);
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.wakes(time, target, by);
                }
            }
            What::Forked {
                child,
                same_process,
            } => self.forked(pid, child, same_process),
            What::Exited { tid } => {
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.ends(time);
                }
                self.own.remove(&tid);
                self.seen.remove(&tid);
                self.works.remove(&tid);
                self.cpus
                    .values_mut()
                    .for_each(|of| of.no_longer_waits(tid));
            }
            What::Migrated { tid, to } => {
                self.cpus
                    .values_mut()
                    .for_each(|of| of.no_longer_waits(tid));
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.moves(time, to);
                }
            }
            What::Inherits { tid, prio, name } => {
                self.remember(tid, name, prio);
                // It may have a CPU other than that of the thread that waits.
                let on = self.cpus.iter().find(|(_, of)| of.base.tid() == Some(tid));
                if let Some((&on, _)) = on {
                    self.is_now(time, on, tid);
                }
            }
            What::Renamed { tid, name } => {
                let prio = self.seen.get(&tid).map_or(120, |(_, prio)| *prio);
                self.remember(tid, name, prio);
                // Who runs another program has its name.
                if let Some(thread) = self.threads.get_mut(&tid) {
                    thread.may_run_another_program();
                }
            }
            What::IrqEntry { irq, name } => self.push(time, cpu, Nest::Irq, Who::Irq { irq, name }),
            What::VectorEntry { name } => self.push(time, cpu, Nest::Vector, Who::Vector { name }),
            What::SoftirqEntry { vec } => {
                self.push(time, cpu, Nest::Softirq, Who::Softirq { vec });
            }
            What::IrqExit => self.pop(time, cpu, Nest::Irq),
            What::VectorExit => self.pop(time, cpu, Nest::Vector),
            // Says nothing of who has the CPU.
            What::SoftirqRaise { .. } => {}
            What::SoftirqExit => self.pop(time, cpu, Nest::Softirq),
            What::TimerExit => self.pop(time, cpu, Nest::Timer),
            What::TimerStart {
                timer,
                function,
                soft,
                hard,
            } => {
                remember(&mut self.timers, timer, (soft, hard));
                self.timer_set((time, cpu, pid), timer, (function, soft));
            }
            What::TimerEntry {
                timer,
                function,
                now,
            } => self.timer_expires(time, cpu, timer, function, now),
            What::Idle { state } => self.idle(time, cpu, state),
            What::Enter { call, args } => {
                if let Some(thread) = self.telling(pid) {
                    thread.enters(time, Wait::of(call, args));
                }
            }
            What::Exit { anew } => {
                if let Some(thread) = self.telling(pid) {
                    match anew {
                        true => thread.is_interrupted(time),
                        false => thread.leaves(time),
                    }
                }
            }
            What::Fault => {
                if let Some(thread) = self.threads.get_mut(&pid) {
                    thread.faults(time);
                }
            }
            What::Probe => {
                if let Some(thread) = self.threads.get_mut(&pid) {
                    thread.probes(time);
                }
            }
            What::Stack { at, site } => {
                if let Some(thread) = self.threads.get_mut(&pid) {
                    thread.is_at(time, at, site);
                }
            }
            What::Note(note) => self.notes.add(time, cpu, note),
            What::WorkStart { function } => {
                let function = self.function(function);
                let text = format!("{} (kernel worker)", self.names.text(function));
                let name = self.names.keep(text.as_bytes());
                remember(&mut self.works, pid, name);
                self.is_now(time, cpu, pid);
            }
            What::WorkEnd => {
                self.works.remove(&pid);
                self.is_now(time, cpu, pid);
            }
            What::Signal { signal, tid } => {
                // SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU: whichever thread they are sent to, its whole process stops.
                if (19..=22).contains(&signal)
                    && let Some(thread) = self.threads.get(&tid)
                {
                    self.stoppers.insert(thread.process, self.task(pid));
                }
            }
        }
    }

    /// Forgets what no cycle can reach any more.
    pub(super) fn forget(&mut self) {
        let old = self.now.saturating_sub(KEPT_NS);
        for cpu in self.cpus.values_mut() {
            cpu.history.forget_before(old);
        }
        self.notes.forget_before(old);
        self.renewals.forget_before(old);
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        let limit = self.history_limit;
        self.cpus.entry(cpu).or_insert_with(|| Cpu {
            base: Who::Unknown,
            since: 0,
            held: false,
            waiting: Vec::new(),
            stack: Vec::new(),
            idle_ended: None,
            history: History::new(limit),
        })
    }

    fn remember(&mut self, tid: Tid, name: Name, prio: i16) {
        if tid == 0 {
            return;
        }
        remember(&mut self.seen, tid, (name, prio));
        if let Some(thread) = self.threads.get_mut(&tid) {
            (thread.name, thread.prio) = (name, prio);
        }
    }

    /// Returns what a thread is called as the owner of a CPU.
    fn task(&self, tid: Tid) -> Who {
        if tid == 0 {
            return Who::Idle { state: None };
        }
        let (name, prio) = self
            .seen
            .get(&tid)
            .copied()
            .unwrap_or((Names::UNKNOWN, 120));
        let name = match self.own.contains(&tid) {
            true => self.own_name,
            false => self.works.get(&tid).copied().unwrap_or(name),
        };
        Who::Task { tid, name, prio }
    }

    /// Notes that `pid` has the CPU, where that is not what was known: a switch was not recorded.
    fn meet(&mut self, time: u64, cpu: CpuId, pid: Tid) {
        let task = self.task(pid);
        let of = self.cpu(cpu);
        let known = match of.base {
            Who::Unknown => {
                (of.base, of.since) = (task, time);
                of.note(time, false);
                self.runs(time, cpu, pid);
                return;
            }
            Who::Idle { .. } => 0,
            base => base.tid().unwrap_or(0),
        };
        if known == pid {
            return;
        }
        // Out of idle, the next thread has the CPU as soon as the idle state has ended.
        let at = of.idle_ended.filter(|_| of.is_idle()).unwrap_or(time);
        let ready = self.threads.get(&pid).and_then(Thread::now);
        let at = ready.map_or(at, |span| at.max(span.from)).min(time);
        let of = self.cpu(cpu);
        (of.base, of.since, of.idle_ended) = (task, at, None);
        of.no_longer_waits(pid);
        of.note(at, false);
        self.inferred += 1;
        if let Some(left) = self
            .threads
            .get_mut(&known)
            .filter(|t| t.is_running_on(cpu))
        {
            left.is_lost(at, cpu);
        }
        self.runs(at, cpu, pid);
    }

    fn runs(&mut self, time: u64, cpu: CpuId, tid: Tid) {
        if let Some(thread) = self.threads.get_mut(&tid) {
            thread.runs(time, cpu);
        }
    }

    fn switch(
        &mut self,
        time: u64,
        cpu: CpuId,
        (prev, prev_prio, prev_state): (Tid, i16, u32),
        next: Tid,
    ) {
        let task = self.task(next);
        let of = self.cpu(cpu);
        let left_ready = prev != 0 && prev_state & 0xff == 0;
        let was_real_time = prev != 0 && is_real_time_prio(prev_prio);
        of.no_longer_waits(next);
        if left_ready && was_real_time && of.waiting.len() < WAITING {
            of.waiting.push(prev);
        }
        of.held = match (was_real_time, is_real_time(task)) {
            (_, true) => false,
            // Where it is the one before that went to sleep, another may be kept from running.
            (true, false) => !of.waiting.is_empty(),
            (false, false) => of.held,
        };
        (of.base, of.since, of.idle_ended) = (task, time, None);
        // No interrupt lasts over a switch: what is still there lost its end.
        of.stack.clear();
        of.note(time, left_ready);
        let calls = self.calls;
        if let Some(thread) = self.threads.get_mut(&prev) {
            let stopper = self.stoppers.get(&thread.process).copied();
            let calls = calls && thread.tells_calls();
            thread.stops(time, cpu, (prev_prio, prev_state), calls, stopper);
        }
        self.runs(time, cpu, next);
    }

    fn push(&mut self, time: u64, cpu: CpuId, nest: Nest, who: Who) {
        let of = self.cpu(cpu);
        if of.stack.len() < NESTED {
            of.stack.push((nest, who));
        }
        of.note(time, false);
    }

    fn pop(&mut self, time: u64, cpu: CpuId, nest: Nest) {
        let of = self.cpu(cpu);
        if let Some(place) = of.stack.iter().rposition(|(own, _)| *own == nest) {
            of.stack.truncate(place);
        }
        of.note(time, false);
    }

    fn idle(&mut self, time: u64, cpu: CpuId, state: Option<u8>) {
        let of = self.cpu(cpu);
        of.base = Who::Idle {
            state: state.or(match of.base {
                Who::Idle { state } => state,
                _ => None,
            }),
        };
        of.idle_ended = state.is_none().then_some(time);
        of.note(time, false);
        if state.is_some() {
            of.history.goes_idle(time);
        }
    }

    /// Notes that `pid`, where it has the CPU, works on something else now or has another priority.
    fn is_now(&mut self, time: u64, cpu: CpuId, pid: Tid) {
        let task = self.task(pid);
        let of = self.cpu(cpu);
        if of.base.tid() == Some(pid) {
            of.base = task;
            of.note(time, true);
        }
    }

    fn function(&mut self, address: u64) -> Name {
        if let Some(name) = self.functions.get(&address) {
            return *name;
        }
        let known = self.symbols.as_ref().and_then(|names| names(address));
        let text = known.unwrap_or_else(|| format!("function at {address:#x}"));
        let name = self.names.keep(text.as_bytes());
        remember(&mut self.functions, address, name);
        name
    }
}

fn is_real_time(who: Who) -> bool {
    matches!(who, Who::Task { prio, .. } if is_real_time_prio(prio))
}

fn is_real_time_prio(prio: i16) -> bool {
    (0..100).contains(&prio)
}

/// Keeps `value`; a map that holds too much begins anew.
fn remember<K: std::hash::Hash + Eq, V>(map: &mut FxHashMap<K, V>, key: K, value: V) {
    if map.len() >= REMEMBERED && !map.contains_key(&key) {
        map.clear();
    }
    map.insert(key, value);
}
