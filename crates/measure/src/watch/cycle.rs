// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Cycles of a watched thread: from the release to the next wait, every nanosecond with its phase and its cause.

mod held;
mod parts;
mod sites;

use std::collections::BTreeMap;

use punctual_model::{CpuId, Ordered as _};

pub(super) use self::parts::{Cause, Cycle, Phase, Piece};
use super::history::Stretch;
use super::replay::Replay;
use super::stacks::Site;
use super::thread::{Expiry, Own, Span, State, Thread, Waited};
use super::wait::Wait;
use super::who::{Name, Tid, Who};

/// What is known of a machine's idle states: the time that each takes to leave, in ns, by CPU and number. CPUs of one machine may differ.
pub(super) type IdleExits = BTreeMap<(CpuId, u8), u64>;

/// Time within which a CPU without a sleep state, or one that is not known, goes on: an interrupt's way.
const AWAKE: u64 = 5_000;

/// A thread that is runnable on an idle CPU for longer than this is not waiting for that CPU to wake up.
const NOT_IDLE: u64 = 1_000_000;

/// Takes a cycle apart: from the release after the wait `begin` to the call of the wait `end`.
pub(super) fn take_apart(
    replay: &Replay,
    exits: &IdleExits,
    thread: &Thread,
    number: u64,
    begin: &Waited,
    end: &Waited,
) -> Cycle {
    let woken = begin.woken.unwrap_or(begin.left);
    let release = begin.expiry.map_or(woken, |expiry| expiry.soft.min(woken));
    let mut cut = Cut {
        replay,
        exits,
        thread,
        begin: *begin,
        woken,
        is_moved_next: false,
        events: 0,
        pieces: Vec::new(),
        sites: Vec::new(),
        came: (0, Vec::new()),
    };
    let mut at = release;
    let mut spans = thread.spans(release, end.entered).peekable();
    while let Some((span, from, to)) = spans.next() {
        let begun = thread.begun.unwrap_or(0).max(at).min(from);
        cut.add(at, begun, span.cpu, Phase::Timer, Cause::NotCreated);
        cut.add(begun, from, span.cpu, Phase::Unaccounted, Cause::Unknown);
        cut.is_moved_next = spans.peek().is_some_and(|(next, ..)| is_moved(next));
        cut.span(&span, from, to);
        at = to;
    }
    cut.add(at, end.entered, 0, Phase::Unaccounted, Cause::Unknown);
    Cycle {
        tid: thread.tid,
        number,
        release,
        begun: begin.entered.clamp(release, end.entered.max(release)),
        asked: begin.expiry.is_some() && !begin.is_no_wait(),
        end: end.entered,
        missed: 0,
        events: cut.events,
        pieces: cut.pieces,
        sites: cut.sites,
    }
}

/// Whether a CPU came out of idle for an interrupt and went idle again: it saw no thread that it may run. Between the interrupt that
/// tells it of one and the switch to that it is in no idle state.
fn goes_back_to_idle(stretches: &[Stretch]) -> bool {
    let mut after_interrupt = stretches.iter().skip_while(|of| !of.who.interrupts());
    after_interrupt.any(|of| of.went_idle.is_some_and(|at| at + AWAKE < of.to))
}

/// Another has taken the CPU from the thread, which is there still.
const TAKEN: State = State::Ready {
    woken: false,
    moved: false,
};

fn is_moved(span: &Span) -> bool {
    matches!(span.state, State::Ready { moved: true, .. })
}

/// A stretch in two parts, each with its cause. The second may be empty.
type Parts = [(u64, u64, Cause); 2];

struct Cut<'a> {
    replay: &'a Replay,
    exits: &'a IdleExits,
    thread: &'a Thread,
    begin: Waited,
    woken: u64,
    /// Whether the span that is looked at ends with a move to another CPU.
    is_moved_next: bool,
    events: u32,
    pieces: Vec<Piece>,
    sites: Vec<(Cause, Site, u32)>,
    /// What the thread came to last, and when: a call or a fault is counted once, in however many pieces its time is.
    came: (u64, Vec<Cause>),
}

/// Holders of locks that wait for each other, at most.
const CHAIN: u32 = 8;

impl Cut<'_> {
    fn add(&mut self, from: u64, to: u64, cpu: CpuId, phase: Phase, cause: Cause) {
        if from >= to {
            return;
        }
        // Time without a known owner belongs to no phase.
        let phase = match cause {
            Cause::Unknown => Phase::Unaccounted,
            _ => phase,
        };
        // Each stretch began with an event.
        self.events += 1;
        if let Some(last) = self.pieces.last_mut()
            && (last.to, last.cpu, last.phase, last.cause) == (from, cpu, phase, cause)
        {
            last.to = to;
            return;
        }
        self.pieces.push(Piece {
            from,
            to,
            cpu,
            phase,
            cause,
        });
    }

    fn span(&mut self, span: &Span, from: u64, to: u64) {
        let cpu = span.cpu;
        match span.state {
            State::Unknown => self.add(from, to, cpu, Phase::Unaccounted, Cause::Unknown),
            State::Running => self.running(cpu, from, to),
            State::Ready { woken, .. } => self.ready(span, woken, from, to),
            State::Blocked { stopped: None, .. }
                if from < self.woken && span.from >= self.begin.entered =>
            {
                self.late_timer(cpu, from, to);
            }
            // It sleeps for an earlier release still, which was before this one.
            State::Blocked {
                call: Some((wait, _)),
                stopped: None,
                ..
            } if wait == self.begin.wait && wait.is_sleep() && from < self.begin.entered => {
                let expired = self.thread.expired_in(span.from);
                let expired = expired.map_or(from, |at| at.max(span.from));
                self.late_interrupt(cpu, (expired, from), to);
            }
            State::Blocked {
                call,
                stopped,
                fault,
                by,
            } => {
                let call = call.map(|(wait, _)| wait);
                let first = self.pieces.len();
                if let Some(by) = stopped {
                    self.add(from, to, cpu, Phase::Blocked, Cause::Stopped(by));
                } else if fault {
                    self.add(from, to, cpu, Phase::Blocked, Cause::Fault);
                } else if let (Some(Who::Task { tid, name, .. }), true) =
                    (by, call.is_some_and(Wait::is_lock))
                {
                    self.behind((tid, name), cpu, (from, to), CHAIN);
                } else {
                    let cause = Cause::Call {
                        call: call.map_or(-1, |wait| wait.call),
                        by: by.unwrap_or(Who::Unknown),
                    };
                    self.add(from, to, cpu, Phase::Blocked, cause);
                }
                self.note_wait(span, first);
            }
        }
    }

    fn running(&mut self, cpu: CpuId, from: u64, to: u64) {
        let replay = self.replay;
        for stretch in replay.cut(cpu, from, to) {
            let (from, to) = (stretch.from, stretch.to);
            if stretch.who.interrupts() {
                self.add(from, to, cpu, Phase::Interrupted, Cause::Taken(stretch.who));
                continue;
            }
            // What it ran before it came to wait belongs to the cycle before, and delays this one.
            let before = self.begin.entered.clamp(from, to);
            let works =
                [(from, before), (before, to)].map(|(from, to)| self.thread.own_work(from, to));
            for (from, to, own) in works.into_iter().flatten() {
                let cause = match own {
                    // The way back from the wait is no call of the cycle's.
                    Own::Call { .. } if from >= before && from < self.begin.left => Cause::Itself,
                    Own::Call { call, .. } => Cause::System { call },
                    Own::Fault => Cause::Fault,
                    Own::Code if from < before => Cause::Earlier,
                    Own::Code => Cause::Itself,
                };
                self.note_own(own, from, cause);
                self.add(from, to, cpu, Phase::Running, cause);
            }
        }
    }

    fn ready(&mut self, span: &Span, woken: bool, from: u64, to: u64) {
        let phase = if woken {
            Phase::Wakeup
        } else {
            Phase::Preempted
        };
        let stretches: Vec<_> = self.replay.cut(span.cpu, from, to).collect();
        let goes_back_to_idle = goes_back_to_idle(&stretches);
        let held_until = self.held_until(&stretches, span.from, woken);
        for stretch in stretches {
            // Whoever runs on a CPU that this thread may not have keeps it from nothing.
            let held = stretch.to.min(held_until);
            self.add(stretch.from, held, span.cpu, phase, Cause::Throttled);
            let stretch = Stretch {
                from: stretch.from.max(held_until),
                ..stretch
            };
            if stretch.from >= stretch.to {
                continue;
            }
            for (from, to, cause) in self.who_else(span, &stretch) {
                let cause = match cause {
                    Cause::Outside if goes_back_to_idle => self.held_back(span),
                    // Who moves it has the CPU that it leaves; on the other one it waits for whoever is to give way.
                    Cause::Taken(who) if self.is_moved_next && self.is_stopper(who) => Cause::Moved,
                    Cause::IdleExit | Cause::Unpreemptible(_) if is_moved(span) => Cause::Moved,
                    cause => cause,
                };
                self.add(from, to, span.cpu, phase, cause);
            }
        }
    }

    /// Returns why the scheduler does not choose a thread that is there to be chosen.
    const fn held_back(&self, span: &Span) -> Cause {
        match (self.thread.prio, span.state) {
            (0.., _) => Cause::Throttled,
            (_, State::Ready { woken: true, .. }) => Cause::NextPeriod,
            _ => Cause::OutOfRuntime,
        }
    }

    fn is_stopper(&self, who: Who) -> bool {
        who.is_stopper(&self.replay.names)
    }

    /// Says why the thread did not run while another, or nobody, had its CPU.
    fn who_else(&self, span: &Span, stretch: &Stretch) -> Parts {
        let Stretch { from, to, who, .. } = *stretch;
        // Who had the CPU next, which was taken from this thread.
        let is_next = span.state == TAKEN && stretch.began == span.from;
        // Whom the scheduler chose while this thread was there to be chosen.
        let chosen = is_next || stretch.began > span.from;
        let own = self.thread.prio;
        let cause = match who {
            Who::Unknown => Cause::Unknown,
            Who::Task { tid, .. } if tid == self.thread.tid => Cause::Itself,
            Who::Task { prio: 100.., .. } | Who::Idle { .. }
                if stretch.held && (0..100).contains(&own) =>
            {
                Cause::Throttled
            }
            // The scheduler chooses threads with deadlines first, but for the one that stops a CPU.
            Who::Task { prio: 0.., .. } if own < 0 && chosen && !self.is_stopper(who) => {
                self.held_back(span)
            }
            Who::Task { prio: 100.., .. } if own < 100 && chosen => Cause::Throttled,
            Who::Task { prio, .. } if own < 100 && prio > own => Cause::Unpreemptible(who),
            Who::Idle { .. } if is_next || (chosen && to - from > NOT_IDLE) => self.held_back(span),
            Who::Idle { state } => return self.out_of_idle(span.cpu, from, to, state),
            who => Cause::Taken(who),
        };
        [(from, to, cause), (to, to, cause)]
    }

    /// An idle CPU takes the time that its state is known for, and what is beyond came from outside.
    fn out_of_idle(&self, cpu: CpuId, from: u64, to: u64, state: Option<u8>) -> Parts {
        let known = state.and_then(|state| self.exits.get(&(cpu, state)));
        let awake = from
            .saturating_add(known.map_or(AWAKE, |exit| exit + AWAKE))
            .min(to);
        [(from, awake, Cause::IdleExit), (awake, to, Cause::Outside)]
    }

    /// The time between the release and the moment at which the thread was made runnable.
    fn late_timer(&mut self, cpu: CpuId, from: u64, to: u64) {
        let Some(Expiry {
            hard, cpu: timer, ..
        }) = self.begin.expiry
        else {
            return self.add(from, to, cpu, Phase::Timer, Cause::Unknown);
        };
        let expires = hard.clamp(from, to);
        self.add(from, expires, timer, Phase::Timer, Cause::Slack);
        self.late_interrupt(timer, (expires, expires), to);
    }

    /// The time for which the interrupt of a timer that had `expired` did not come, or did not come to the thread.
    fn late_interrupt(&mut self, timer: CpuId, (expired, from): (u64, u64), to: u64) {
        let replay = self.replay;
        let mut idle_since = None;
        let is_interrupt = |who| matches!(who, Who::Irq { .. } | Who::Vector { .. });
        let mut before = replay.cut(timer, expired.min(from), from);
        let mut came = before.any(|stretch| is_interrupt(stretch.who));
        for stretch in replay.cut(timer, from, to) {
            let Stretch { from, to, who, .. } = stretch;
            came |= is_interrupt(who);
            let cause = match who {
                Who::Unknown => Cause::Unknown,
                Who::Idle { state } => {
                    // The time that an idle state takes to leave passes once.
                    let parts = match idle_since.replace(from) {
                        None => self.out_of_idle(timer, from, to, state),
                        Some(_) => [(from, to, Cause::IdleExit), (to, to, Cause::IdleExit)],
                    };
                    for (from, to, cause) in parts {
                        self.add(from, to, timer, Phase::Timer, cause);
                    }
                    continue;
                }
                // On PREEMPT_RT most timers' functions run in the soft interrupt's thread, which waits for the CPU as others do. That
                // interrupts came shows that they were on.
                Who::Task { .. } if !came => Cause::Masked(who),
                who => Cause::Taken(who),
            };
            self.add(from, to, timer, Phase::Timer, cause);
        }
    }

    /// The time behind a lock, which the thread `holder` gave away in the end. It may have waited for another one's lock itself, and so
    /// on: no more than `deep` such steps are gone.
    fn behind(
        &mut self,
        (holder, name): (Tid, Name),
        cpu: CpuId,
        (from, to): (u64, u64),
        deep: u32,
    ) {
        let mut runs: Vec<(CpuId, Stretch)> = Vec::new();
        for cpu in self.replay.cpus() {
            let of = self.replay.cut(cpu, from, to);
            runs.extend(of.filter(|s| s.who.tid() == Some(holder)).map(|s| (cpu, s)));
        }
        runs.order_by_key(|(_, stretch)| stretch.from);
        let mut last = self
            .replay
            .last_of(holder, from)
            .map(|(_, cpu, ready)| (cpu, ready));
        let mut at = from;
        for (on, run) in runs {
            self.without_holder((holder, name), last, cpu, (at, run.from.max(at)), deep);
            self.add(
                run.from.max(at),
                run.to,
                cpu,
                Phase::Blocked,
                Cause::Holder(run.who),
            );
            at = run.to.max(at);
            last = Some((on, run.left_ready.unwrap_or(false)));
        }
        self.without_holder((holder, name), last, cpu, (at, to), deep);
    }

    /// Returns the times from `from` to `to` in which a watched thread waited for a lock, with who gave each away.
    fn locks_of(&self, tid: Tid, from: u64, to: u64, deep: u32) -> Vec<(u64, u64, (Tid, Name))> {
        let thread = self.replay.threads.get(&tid).filter(|_| deep > 0);
        let spans = thread.into_iter().flat_map(|thread| thread.spans(from, to));
        let locks = spans.filter_map(|(span, from, to)| match span.state {
            State::Blocked {
                call: Some((wait, _)),
                by: Some(Who::Task { tid, name, .. }),
                ..
            } if wait.is_lock() => Some((from, to, (tid, name))),
            _ => None,
        });
        locks.collect()
    }

    /// The time behind a lock while its holder, that was last on the CPU named, did not run.
    fn without_holder(
        &mut self,
        (tid, holder): (Tid, Name),
        last: Option<(CpuId, bool)>,
        cpu: CpuId,
        (from, to): (u64, u64),
        deep: u32,
    ) {
        let waits = Cause::HolderWaits(Who::Task {
            tid: 0,
            name: holder,
            prio: 0,
        });
        let Some((on, true)) = last else {
            // Where the holder is watched it is known whose lock it waits for.
            let mut at = from;
            for (of, until, next) in self.locks_of(tid, from, to, deep) {
                self.add(at, of, cpu, Phase::Blocked, waits);
                self.behind(next, cpu, (of, until), deep - 1);
                at = until;
            }
            return self.add(at, to, cpu, Phase::Blocked, waits);
        };
        let replay = self.replay;
        for stretch in replay.cut(on, from, to) {
            let cause = match stretch.who {
                Who::Unknown | Who::Idle { .. } => waits,
                who => Cause::KeptHolder { who, holder },
            };
            self.add(stretch.from, stretch.to, cpu, Phase::Blocked, cause);
        }
    }
}
