// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads that have another cycle by now: they were setting up when theirs was found, or left their loop for another one. Each
//! cycle that a thread has had keeps the figures of its own. A loop that goes on at another pace at the same wait keeps its period: its
//! rounds that are late tell nothing of a pace.

use punctual_model::Nanos;
use punctual_sys::sched;

use super::super::basis::{self, Basis};
use super::super::tally::Tally;
use super::super::thread::Waited;
use super::super::who::Tid;
use super::super::{Matters, Watcher, results};
use super::OPEN;

/// Waits that end a cycle among those that show one: a few of them come regularly by chance.
const RUN: usize = 20;

/// Waits without which nobody says what a thread does.
const FEW: usize = 6;

/// Waits that are looked at together, at most.
const MOST: usize = 10 * basis::WAITS;

/// How long a thread without a period has one before it is judged by that, in nanoseconds: any thread is regular for a while.
const LONG: u64 = 3_000_000_000;

/// Different cycles of one thread that have figures of their own, at most.
const CYCLES: usize = 8;

/// What tells whether a thread has the cycle still that was found.
#[derive(Debug, Default)]
pub(in crate::watch) struct Since {
    /// Waits that nobody has looked at yet for another cycle: all, or where one wait ends the cycle those since its last.
    recent: Vec<Waited>,
    /// The cycle that was found in them last, and since when it was found in all.
    regular: Option<(Basis, u64)>,
    /// When the thread went over to this cycle; 0 where it had none before.
    begun: u64,
    /// Waits since the last one that ended a cycle, and when the last of them was over.
    others: u64,
    last: u64,
    /// The most waits within a cycle that ended.
    most: u64,
    /// When the thread waited for the last time where its cycles ended before it went over to waits elsewhere, and whether it came back.
    pub(in crate::watch) left: Option<u64>,
    pub(in crate::watch) came_back: bool,
    /// Whether it waited elsewhere when the run or the thread ended, where no other cycle of it was found.
    pub(in crate::watch) is_gone: bool,
}

impl Since {
    fn note(&mut self, one: Waited, basis: Basis) {
        if basis.ends_at(one.wait) {
            self.most = self.most.max(self.others);
            self.others = 0;
            // What ends a cycle stays what it is as long as it comes.
            if basis.at.is_some() {
                self.recent.clear();
                return;
            }
        } else {
            self.others += 1;
            self.last = one.left;
        }
        if self.recent.len() < MOST {
            self.recent.push(one);
        }
    }

    /// The thread waits elsewhere in the end, and last waited where its cycles end at this time.
    pub(super) fn leaves(&mut self, at: u64) {
        self.left = self.left.or(Some(at));
        self.is_gone = true;
    }

    /// The thread waits again where these cycles end.
    pub(in crate::watch) fn comes_back(self) -> Self {
        Self {
            left: self.left,
            came_back: self.left.is_some(),
            begun: self.begun,
            ..Self::default()
        }
    }

    /// Whether the thread waited far more often since its last cycle than within any, and `at_least` so often.
    fn has_others(&self, at_least: usize) -> bool {
        self.others >= (at_least as u64).max(self.most.saturating_mul(OPEN))
    }

    /// Whether the thread goes on to wait elsewhere, and does not hang in the last of these waits or after it.
    fn goes_on(&self, since: u64, now: u64) -> bool {
        let each = self.last.saturating_sub(since) / self.others.max(1);
        now.saturating_sub(self.last) < each.saturating_mul(OPEN)
    }
}

impl Watcher {
    /// Notes waits that are over of a thread whose cycle is known.
    pub(super) fn note(&mut self, tid: Tid, over: &[Waited]) {
        if self.watch.matters != Matters::OfThePeriod {
            return;
        }
        if let Some(tally) = self.tallies.get_mut(&tid)
            && let Some(basis) = tally.basis
        {
            for one in over {
                tally.since.note(*one, basis);
            }
        }
    }

    /// Looks whether a thread has another cycle than the one that was found, and if so begins anew.
    pub(super) fn look_anew(&mut self, tid: Tid) {
        let (Some(thread), Some(tally)) =
            (self.replay.threads.get(&tid), self.tallies.get_mut(&tid))
        else {
            return;
        };
        let Some(basis) = tally.basis else { return };
        if tally.since.recent.len() < basis::WAITS {
            return;
        }
        let recent = std::mem::take(&mut tally.since.recent);
        let now = self.replay.now;
        let last = self.pending.get(&tid).and_then(|of| of.last());
        let last = last.map_or(tally.since.begun, |last| last.left);
        let left = basis.at.and_then(|at| {
            let is_away = tally.since.has_others(basis::WAITS)
                && now.saturating_sub(last) >= long(basis)
                && thread.due(at, now).is_none();
            is_away.then_some(last)
        });
        if basis.at.is_some() && left.is_none() {
            return;
        }
        let asked = self.watch.period.map(Nanos::get);
        let named = self.watch.cycle_at.as_deref();
        let found = basis::of(named, asked, &recent, thread.interval());
        let is_another = found.at.is_some() && (found.at != basis.at || found.period.is_some());
        let is_found = is_another && comes_throughout(found, asked, &recent, now);
        let found = match left {
            _ if !is_found => {
                tally.since.regular = None;
                // What went on for longer than the loop that it left is no try to go on with that.
                let first = tally.span().map_or(tally.since.begun, |(first, _)| first);
                let is_long = |left: u64| now.saturating_sub(left) >= left.saturating_sub(first);
                let is_other = named.is_none() && left.is_some_and(is_long);
                is_other.then_some(Basis::EVERY_WAIT)
            }
            Some(_) => Some(found),
            None => tally
                .is_regular_for_long(found, &recent, now)
                .then_some(found),
        };
        if let Some(found) = found {
            self.change(tid, found, &recent, left);
        }
    }

    /// Has a thread begin anew with the cycle `found`, which the waits `recent` tell, unless it has changed too often. `left`: when it
    /// waited for the last time where its cycles ended so far, where it does so no more.
    fn change(&mut self, tid: Tid, found: Basis, recent: &[Waited], left: Option<u64>) {
        let is_found = |tally: &Tally| tally.basis.is_some_and(|own| is_same(own, found));
        let of_thread = self.order.iter().filter(|(of, _)| *of == tid).count();
        // Where the figures are of what it did so far.
        let is_last = |(of, past): &(Tid, Option<Box<Tally>>)| *of == tid && past.is_none();
        let place = self.order.iter().position(is_last);
        let mut past = self.order.iter_mut();
        let known = past.find_map(|(of, past)| {
            let is_it = *of == tid && past.as_deref().is_some_and(is_found);
            is_it.then(|| past.take()).flatten()
        });
        if known.is_none() && of_thread >= CYCLES {
            return;
        }
        let (Some(thread), Some(mut old)) =
            (self.replay.threads.get_mut(&tid), self.tallies.remove(&tid))
        else {
            return;
        };
        let was = old.basis.and_then(|basis| basis.at);
        old.since.left = old.since.left.or(left);
        let was_judged = results::is_judged(thread, &old);
        let new = match known {
            Some(known) => known.goes_on(),
            None => {
                let asked = self.watch.period.map(Nanos::get);
                let ends = recent.iter().filter(|one| found.ends_at(one.wait));
                let mut new = Tally::new(&self.keep, self.watch.deadline.map(Nanos::get));
                new.policy = sched::policy_of(tid).ok().or(old.policy);
                new.basis = Some(found);
                new.spacing = basis::period_of(ends, thread.interval());
                new.spacing = new.spacing.filter(|_| found.period.is_some());
                new.is_asked = asked.is_some() && found.period == asked;
                new.since.begun = self.replay.now;
                new
            }
        };
        if let Some(habits) = &mut self.habits
            && results::is_judged(thread, &new)
            && !was_judged
        {
            habits.meet(tid);
        }
        if was != found.at {
            thread.decides_anew(found.at);
            self.pending.remove(&tid);
        }
        self.tallies.insert(tid, new);
        if let Some((_, past)) = place.and_then(|place| self.order.get_mut(place)) {
            *past = Some(Box::new(old));
        }
    }

    /// Returns when a thread waited for the last time where its cycles end, where it did so no more up to the end and went on to wait
    /// elsewhere: its last cycle is none that hangs, and what it did since is in no cycle.
    pub(super) fn has_left(&self, tid: Tid, tally: &Tally) -> Option<u64> {
        let thread = self.replay.threads.get(&tid)?;
        let basis = tally.basis?;
        let last = self.pending.get(&tid).and_then(|of| of.last());
        let last = last.map_or(tally.since.begun, |last| last.left);
        let now = thread.ended.unwrap_or(self.replay.now);
        let long = long(basis);
        // Who ends by itself clears up before.
        let long = match thread.has_left {
            true => long.max(tally.span().map_or(0, |(first, last)| last - first)),
            false => long,
        };
        let goes_on = tally.since.has_others(FEW) && tally.since.goes_on(last, now);
        let is_left = goes_on && now.saturating_sub(last) >= long;
        (is_left && thread.due(basis.at?, now).is_none()).then_some(last)
    }
}

/// How long a wait stays away that ends cycles, at least, where it does no more.
fn long(basis: Basis) -> u64 {
    basis
        .period
        .map_or(basis::TIME, |period| period.saturating_mul(OPEN))
}

/// Whether a wait that was found among others comes through most of their time, up to now: a few of them come regularly by chance.
fn comes_throughout(found: Basis, asked: Option<u64>, waits: &[Waited], now: u64) -> bool {
    let (Some(period), [first, .., last]) = (found.period, waits) else {
        return true;
    };
    let of_found = || waits.iter().filter(|one| found.ends_at(one.wait));
    let (times, newest) = (of_found().count(), of_found().next_back());
    let span = last.left.saturating_sub(first.left);
    (times >= RUN || found.period == asked)
        && period.saturating_mul(2 * times as u64) >= span
        && newest.is_some_and(|newest| now.saturating_sub(newest.left) < long(found))
}

/// Whether two cycles end at the same wait, and as often.
fn is_same(one: Basis, other: Basis) -> bool {
    let is_same_pace = match (one.period, other.period) {
        (Some(one), Some(other)) => basis::is_about(one, other),
        (one, other) => one == other,
    };
    one.at == other.at && is_same_pace
}

impl Tally {
    /// Whether the cycle `found` was there for at least as long as the thread had none before. Where others wake it, it is no loop:
    /// what they do may be regular for long.
    fn is_regular_for_long(&mut self, found: Basis, recent: &[Waited], now: u64) -> bool {
        let (Some((begun, _)), Some(first)) = (self.span(), recent.first()) else {
            return false;
        };
        let before = self.since.regular.filter(|(of, _)| is_same(*of, found));
        let since = before.map_or(first.left, |(_, since)| since);
        self.since.regular = Some((found, since));
        let ends = || recent.iter().filter(|one| found.ends_at(one.wait));
        let timed = ends().filter(|one| one.expiry.is_some()).count();
        2 * timed > ends().count()
            && now.saturating_sub(since) >= LONG.max(since.saturating_sub(begun))
    }
}
