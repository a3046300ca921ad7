// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the waits of a thread that are over to its cycles.

mod anew;
mod passed;

use punctual_model::Nanos;
use punctual_sys::sched;

pub(super) use self::anew::Since;
pub(super) use self::passed::Passed;
use super::basis::{self, Basis};
use super::cycle::{self, Cycle};
use super::tally::Tally;
use super::thread::{Thread, Waited};
use super::wait::Wait;
use super::who::Tid;
use super::{Hit, Matters, SAME, Watcher, results};

/// A cycle that counts where every wait of its thread ends one, with its waits.
#[derive(Debug)]
pub(super) struct Aside {
    cycle: Cycle,
    begin: Waited,
    end: Waited,
}

/// Periods after which a cycle that has not ended when the run does is not only on its way.
pub(super) const OPEN: u64 = 10;

/// Waits without which a thread that is silent then is not known to have had a period.
const BURST: usize = basis::WAITS / 2;

/// Cycles without which a thread that waits for others may have been periodic by chance.
pub(super) const LOOPS: u64 = 50;

impl Watcher {
    /// Makes cycles of the waits of a thread that are over.
    pub(super) fn settle(&mut self, tid: Tid, at_the_end: bool) {
        let Some(thread) = self.replay.threads.get_mut(&tid) else {
            return;
        };
        let is_wanted = self.watch.wants(tid, self.replay.names.text(thread.name));
        let is_last = at_the_end || thread.ended.is_some();
        let over: Vec<Waited> = thread.over(is_last).collect();
        if !is_wanted {
            return;
        }
        self.note(tid, &over);
        let pending = self.pending.entry(tid).or_default();
        pending.extend(over);
        if pending.is_empty() && !self.aside.contains_key(&tid) {
            return;
        }
        let basis = self.tallies.get(&tid).and_then(|tally| tally.basis);
        let Some(basis) = basis.or_else(|| self.decide(tid, at_the_end)) else {
            return;
        };
        let (Some(thread), Some(pending)) =
            (self.replay.threads.get(&tid), self.pending.get_mut(&tid))
        else {
            return;
        };
        pending.retain(|waited| basis.ends_at(waited.wait));
        passed::give_releases(pending, basis.period);
        if let Some(habits) = &mut self.habits
            && let [first, _, ..] = pending[..]
        {
            habits.look(thread, first.left);
        }
        let now = self.replay.now;
        let mut pairs = take_pairs(pending);
        pairs.extend(take_last(pending, thread, basis, (now, basis::TIME)));
        for [begin, end] in pairs {
            self.add(tid, &begin, &end);
        }
        if !is_last {
            self.look_anew(tid);
        }
    }

    /// Takes in the cycles that had not ended when the run or their thread did.
    pub(super) fn settle_open(&mut self) {
        // Our own threads are told when to end.
        if self.watch.matters != Matters::OfThePeriod {
            return;
        }
        let tallies = self.tallies.iter();
        let left = tallies.filter_map(|(tid, tally)| Some((*tid, self.has_left(*tid, tally)?)));
        let left: Vec<(Tid, u64)> = left.collect();
        for (tid, at) in left {
            if let Some(tally) = self.tallies.get_mut(&tid) {
                tally.since.leaves(at);
            }
        }
        let periodic = self.tallies.iter().filter_map(|(tid, tally)| {
            let basis = tally.basis.filter(|_| !tally.since.is_gone)?;
            let thread = self
                .replay
                .threads
                .get(tid)
                .filter(|t| t.ended != Some(0) && !t.has_left)?;
            let is_real_time = results::is_real_time(thread, tally);
            let is_loop = is_real_time || tally.cycles >= LOOPS;
            Some((*tid, (basis.at?, tally.period()?), is_loop, is_real_time))
        });
        let periodic: Vec<(Tid, (Wait, u64), bool, bool)> = periodic.collect();
        let any_real_time = periodic.iter().any(|(.., real_time)| *real_time);
        for (tid, basis, is_loop, is_real_time) in periodic {
            // Beside real-time threads others may have been periodic for a while, and wait for those since.
            let may_wait = !is_loop || (any_real_time && !is_real_time);
            self.add_open(tid, basis, may_wait);
        }
    }

    /// Decides what a cycle of a thread is, where that can be said.
    fn decide(&mut self, tid: Tid, at_the_end: bool) -> Option<Basis> {
        let thread = self.replay.threads.get_mut(&tid)?;
        let pending = self.pending.get_mut(&tid)?;
        let named = self.watch.cycle_at.as_deref();
        if let Some(named) = named {
            // What came before the first of them is in no cycle.
            let first = pending.iter().position(|one| basis::is_named(named, one));
            pending.drain(..first.unwrap_or(pending.len()));
            if pending.is_empty() {
                return None;
            }
        }
        let (keep, deadline) = (&self.keep, self.watch.deadline.map(Nanos::get));
        let new = || Tally::new(keep, deadline);
        let tally = self.tallies.entry(tid).or_insert_with(new);
        // What is left of those that were put aside is their end.
        let was_quiet = self.aside.contains_key(&tid);
        let (first, last) = (pending.get(usize::from(was_quiet)), pending.last());
        let first = first.map_or(u64::MAX, |first| first.left);
        let span = |to: u64| to.saturating_sub(first);
        // Of who has ended there is no more to come, and what went on around its waits is not known for long.
        let is_quiet = span(self.replay.now) >= basis::TIME;
        let is_known = pending.len() >= basis::WAITS
            || last.is_some_and(|last| span(last.left) >= basis::TIME)
            || (is_quiet && was_quiet)
            || thread.ended.is_some()
            || at_the_end;
        if !is_known && !is_quiet {
            return None;
        }
        let asked = self.watch.period.map(Nanos::get);
        let interval = thread.interval();
        let basis = basis::of(named, asked, pending, interval);
        let is_loop = pending.len() >= BURST || (asked.is_some() && basis.period == asked);
        if !(is_known || is_loop && basis.period.is_some()) {
            // It may have done no more than begin, and a burst of waits looks regular.
            let now = self.replay.now;
            let mut pairs = take_pairs(pending);
            pairs.extend(take_last(pending, thread, Basis::EVERY_WAIT, (now, 0)));
            let thread = self.replay.threads.get(&tid)?;
            let begun = pairs.into_iter().map(|[begin, end]| {
                let cycle = cycle::take_apart(&self.replay, &self.exits, thread, 0, &begin, &end);
                Aside { cycle, begin, end }
            });
            let begun = begun.collect();
            self.aside.insert(tid, begun);
            return None;
        }
        tally.policy = sched::policy_of(tid).ok();
        tally.basis = Some(basis);
        if named.is_some() {
            tally.passed_over = thread.waits.saturating_sub(pending.len() as u64);
        }
        let ends_cycle = pending.iter().filter(|waited| basis.ends_at(waited.wait));
        tally.spacing = basis::period_of(ends_cycle, interval).filter(|_| basis.period.is_some());
        tally.is_asked = asked.is_some() && basis.period == asked;
        thread.decide(basis.at, pending);
        if let Some(habits) = &mut self.habits
            && results::is_judged(thread, tally)
        {
            habits.meet(tid);
        }
        for Aside { cycle, begin, end } in self.aside.remove(&tid).into_iter().flatten() {
            if basis.at.is_none() {
                self.take_cycle(tid, cycle, &begin, &end);
            }
        }
        Some(basis)
    }

    /// Takes in a cycle of a thread, from the wait `begin` to the wait `end`. Returns it.
    fn add(&mut self, tid: Tid, begin: &Waited, end: &Waited) -> Option<Cycle> {
        let thread = self.replay.threads.get(&tid)?;
        let cycle = cycle::take_apart(&self.replay, &self.exits, thread, 0, begin, end);
        self.take_cycle(tid, cycle, begin, end)
    }

    fn take_cycle(
        &mut self,
        tid: Tid,
        mut cycle: Cycle,
        begin: &Waited,
        end: &Waited,
    ) -> Option<Cycle> {
        let thread = self.replay.threads.get(&tid)?;
        let tally = self.tallies.get_mut(&tid)?;
        cycle.number = tally.cycles;
        if cycle.release < self.from {
            return None;
        }
        cycle.missed = tally.passed.unserved(tally.spacing, begin, end);
        if tally.cycles == 0 {
            self.order.push((tid, None));
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

    /// Takes in the cycle of a periodic thread that had begun many periods before the run or the thread ended, and has no end: its loop
    /// came to a halt. That it is late is certain; what is known is the time up to then.
    fn add_open(&mut self, tid: Tid, (at, period): (Wait, u64), may_wait: bool) {
        let Some(thread) = self.replay.threads.get(&tid) else {
            return;
        };
        let now = thread.ended.unwrap_or(self.replay.now);
        let due = thread.due(at, now);
        if due.is_none() && may_wait {
            return;
        }
        let last = self.pending.get(&tid).and_then(|of| of.last().copied());
        let Some(begin) = due.unwrap_or(last) else {
            return;
        };
        let release = begin.release();
        let most = self.watch.deadline.map_or(period, |d| d.get().max(period));
        if now.saturating_sub(release) < most.saturating_mul(OPEN) {
            return;
        }
        if let (Some(Some(end)), Some(begin)) = (due, last) {
            self.add(tid, &begin, &end);
        }
        let end = Waited {
            entered: now,
            woken: None,
            left: now,
            expiry: None,
            ..begin
        };
        let unclear = self.tallies.get(&tid).map_or(0, |tally| tally.unclear);
        let cycle = self.add(tid, &begin, &end);
        if let (Some(cycle), Some(tally)) = (cycle, self.tallies.get_mut(&tid)) {
            tally.open = Some(cycle.response());
            // How it began may be longer ago than anything is known of.
            tally.unclear = unclear;
        }
    }

    /// Makes a cycle of a wake-up after which its thread did not wait any more, and keeps it with what went on around it.
    pub(super) fn add_last(&mut self, hit: &Hit) {
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
            ..begin
        };
        if let Some(cycle) = self.add(tid, &begin, &end)
            && let Some(tally) = self.tallies.get_mut(&tid)
        {
            tally.keep(&cycle, &self.replay, self.origin);
        }
    }
}

/// Takes each wait with the next one; the last stays.
fn take_pairs(pending: &mut Vec<Waited>) -> Vec<[Waited; 2]> {
    let pairs = pending.windows(2).filter_map(|pair| pair.try_into().ok());
    let pairs = pairs.collect();
    let done = pending.len().saturating_sub(1);
    pending.drain(..done);
    pairs
}

/// Takes the last wait with the one that the thread is in, where that lasts for `long` already: what was before may be forgotten
/// when it is over.
fn take_last(
    pending: &mut Vec<Waited>,
    thread: &Thread,
    basis: Basis,
    (now, long): (u64, u64),
) -> Option<[Waited; 2]> {
    let end = thread.waits(now).filter(|end| basis.ends_at(end.wait))?;
    if now.saturating_sub(end.entered) < long {
        return None;
    }
    Some([pending.pop()?, end])
}
