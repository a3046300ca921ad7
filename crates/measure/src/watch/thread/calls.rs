// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The system calls of a watched thread, and which of them are waits that are over.

use punctual_sys::calls;

use super::{Call, Expiry, State, Thread, Waited, keep};
use crate::watch::wait::Wait;

/// Expiries that a thread has not waited for yet, at most: it reads them all at once.
const EXPIRIES: usize = 64;

/// A wait for time that a signal interrupted: what the thread does next tells whether it goes on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Broken {
    /// Its place among the waits that are over. Those from there on are held back.
    place: usize,
    wait: Wait,
    since: u64,
    at: u64,
    target: u64,
}

impl Broken {
    /// Whether a wait that sets a timer to `target` at `time` goes on with this one: for the same time, or for what was left.
    fn goes_on(&self, wait: Wait, time: u64, target: u64) -> bool {
        let left = |target: u64, time: u64| i128::from(target) - i128::from(time);
        let (was_left, is_left) = (left(self.target, self.at), left(target, time));
        wait == self.wait
            && (target == self.target
                || (!wait.is_absolute() && was_left.abs_diff(is_left) < SAME_LEFT))
    }
}

/// How far what a thread sleeps for after a signal may be off what was left, in ns.
const SAME_LEFT: u128 = 50_000;

/// How long it is waited for a thread to go on with a wait that a signal interrupted, in ns, and for how many other waits.
const BROKEN_FOR: u64 = 1_000_000_000;
const BROKEN_WAITS: usize = 1_000;

/// Calls of the function that ends a cycle that are kept apart between two waits. Further ones are in the last of these cycles.
const MARKS: usize = 64;

/// Expiries that are kept of a thread of which it is not known yet what ends a cycle.
const EARLY_EXPIRIES: usize = 1 << 12;

/// How far interval timers are set forward. One that a descriptor or a signal tells of fires once, and goes on only when that is
/// read: from the time at which it fired by as many intervals as have passed (fs/timerfd.c, kernel/time/posix-timers.c).
#[derive(Debug, Default)]
pub(super) struct Forwarded {
    /// The time that each timer is set to.
    last: Vec<(u64, u64)>,
    /// The timer that was set forward, and the longest time of which every step of it is a multiple. Nothing where there are several:
    /// which of them a wait is for, their steps do not say.
    steps: Option<(u64, Option<u64>)>,
}

impl Forwarded {
    /// `timer` is set to a time; `anew` where the program does so itself.
    fn set(&mut self, timer: u64, soft: u64, anew: bool) {
        let is_room = self.last.len() < EXPIRIES;
        let Some((_, last)) = self.last.iter_mut().find(|(own, _)| *own == timer) else {
            self.last.extend(is_room.then_some((timer, soft)));
            return;
        };
        let step = soft.saturating_sub(std::mem::replace(last, soft));
        if anew || step == 0 {
            return;
        }
        self.steps = Some(match self.steps {
            None => (timer, Some(step)),
            Some((own, interval)) => (
                own,
                interval.filter(|_| own == timer).map(|of| common(of, step)),
            ),
        });
    }

    /// The interval of the only timer that was set forward, or a multiple of it.
    fn interval(&self) -> Option<u64> {
        self.steps.and_then(|(_, interval)| interval)
    }
}

/// Returns the greatest common divisor.
const fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Thread {
    /// It sets an interval timer, or one that a descriptor tells of; or the kernel does so for it, as that is read.
    pub(in crate::watch) fn sets_interval_timer(&mut self, timer: u64, soft: u64) {
        let by = self.call.and_then(|call| calls::name(call.wait.call));
        let anew = by.is_some_and(|by| by.contains("settime") || by.contains("timer"));
        self.forwarded.set(timer, soft, anew);
    }

    /// Returns the interval of its interval timers, as far as it is known: they are set to multiples of it.
    pub(in crate::watch) fn interval(&self) -> Option<u64> {
        self.forwarded.interval()
    }

    /// A timer that it waits for, or will, expires. It was set to `target` on its clock.
    pub(in crate::watch) fn expires(&mut self, time: u64, target: u64, expiry: Expiry) {
        if let Some(call) = &mut self.call {
            call.target = call.target.filter(|own| *own != target);
        }
        // Without all of them none is given to another wait.
        self.early = self
            .early
            .take()
            .filter(|early| early.len() < EARLY_EXPIRIES);
        if let Some(early) = &mut self.early {
            early.push_back((time, expiry));
        }
        if self.expiries.len() < EXPIRIES {
            self.expiries.push_back(expiry);
        }
    }

    /// It ends. Where system calls are not recorded, nobody can say that it was ended.
    pub(in crate::watch) fn ends(&mut self, time: u64) {
        let by = self.call.and_then(|call| calls::name(call.wait.call));
        self.has_left = matches!(by, Some("exit" | "exit_group")) || self.calls.is_empty();
        self.ended = Some(time);
    }

    /// What was taken for its calls were others. Where it waits in one, it does so still.
    pub(in crate::watch) fn forget_calls(&mut self) {
        self.call = self.call.filter(|call| call.blocked);
        if let Some(call) = &mut self.call {
            call.wait = Wait::UNKNOWN;
        }
        for span in &mut self.spans {
            if let State::Blocked {
                call: Some((wait, _)),
                ..
            } = &mut span.state
            {
                *wait = Wait::UNKNOWN;
            }
        }
        self.expiries.clear();
        self.broken = None;
        self.calls.clear();
        self.own_calls.clear();
        self.waited.clear();
    }

    /// It calls the kernel.
    pub(in crate::watch) fn enters(&mut self, time: u64, wait: Wait) {
        if let Some(call) = &mut self.call
            && let Some(at) = call.interrupted.take()
        {
            // The same call again, or what stands for one that knows how far it was: the wait goes on.
            if wait == call.wait || calls::name(wait.call) == Some("restart_syscall") {
                return;
            }
            let whole = *call;
            // With it are held back the calls of the named function that came before it.
            let place = self.waited.len();
            self.leaves(at);
            if let Some(target) = whole.target
                && place < self.waited.len()
            {
                self.broken = Some(Broken {
                    place,
                    wait: whole.wait,
                    since: whole.since.unwrap_or(whole.at),
                    at,
                    target,
                });
            }
        }
        *self.calls.entry(wait.call).or_default() += 1;
        self.faulted = false;
        if wait.is_sleep() || (wait.is_yield() && self.prio < 0) {
            // What expired before it began to sleep was of another wait.
            let ends_cycle = self.may_end_cycle(wait);
            self.expiries.retain(|of| !ends_cycle && !of.of_call);
        }
        self.call = Some(Call {
            wait,
            at: time,
            blocked: false,
            woken: None,
            interrupted: None,
            target: None,
            since: None,
        });
    }

    /// It sets a timer that wakes it, on that timer's clock.
    pub(in crate::watch) fn sets_timer(&mut self, time: u64, target: u64) {
        let Some(call) = &mut self.call else { return };
        call.target = Some(target);
        let resolves = |broken: &mut Broken| call.wait == broken.wait || call.wait.is_sleep();
        if let Some(broken) = self.broken.take_if(resolves)
            && broken.goes_on(call.wait, time, target)
        {
            // Both are one wait, and what it waited for in between is none of the loop's.
            call.since = Some(broken.since);
            let undone = self.waited.drain(broken.place.min(self.waited.len())..);
            let marks = undone.filter(|one| one.wait == Wait::PROBE);
            self.probed = marks.map(|one| one.entered).collect();
        }
    }

    /// Whether a timer that the scheduler sets on its time is the one of its next job: it gives up this one. Of several that is the first,
    /// the others are those of the CPU's fair server (kernel/sched/deadline.c).
    pub(in crate::watch) fn is_to_be_released(&self) -> bool {
        self.call
            .is_some_and(|call| call.wait.is_yield() && call.target.is_none())
    }

    /// It calls the function that ends a cycle.
    pub(in crate::watch) fn probes(&mut self, time: u64) {
        // The last of them all ends the last of these cycles.
        self.probed.truncate(MARKS - 1);
        self.probed.push(time);
    }

    /// A signal has it come back from the kernel before its call is done.
    pub(in crate::watch) fn is_interrupted(&mut self, time: u64) {
        match &mut self.call {
            Some(call) => call.interrupted = Some(time),
            None => self.leaves(time),
        }
    }

    /// Whether a wait may be the one that ends a cycle, as far as that is known.
    fn may_end_cycle(&self, wait: Wait) -> bool {
        self.cycle_at
            .is_none_or(|at| at == Wait::PROBE || at.covers(wait))
    }

    /// Takes the expiry that a wait was for, and forgets those that no later wait is for. What a descriptor or a signal tells of is left to
    /// the wait that ends a cycle, where that is known: it may come while the thread waits for something else.
    fn take_expiry(&mut self, wait: Wait) -> Option<Expiry> {
        let ends_cycle = self.may_end_cycle(wait);
        let only_own = !ends_cycle || wait.is_sleep();
        let mut expiries = self.expiries.iter();
        let its = expiries.find(|of| of.of_call || !only_own).copied();
        self.expiries.retain(|of| !ends_cycle && !of.of_call);
        its
    }

    /// It is back from the kernel.
    pub(in crate::watch) fn leaves(&mut self, time: u64) {
        let Some(call) = self.call.take() else {
            return;
        };
        let done = (call.at, time, call.wait);
        keep(&mut self.own_calls, done, |(_, end, _)| *end);
        let ends_cycle = self.cycle_at.is_some_and(|at| at.covers(call.wait));
        let is_wait = call.blocked || call.wait.is_sleep() || ends_cycle;
        if !is_wait {
            return;
        }
        let expiry = self.take_expiry(call.wait);
        if let Some(expiry) = expiry {
            let one = (call.at, time, expiry.hard);
            keep(&mut self.expired, one, |(_, end, _)| *end);
        }
        let (wait, entered) = match self.probed.pop() {
            Some(at) => (Wait::PROBE, at),
            None => (call.wait, call.since.unwrap_or(call.at)),
        };
        // Whoever does something else for long does not go on with a wait.
        self.broken = self.broken.filter(|broken| {
            time.saturating_sub(broken.at) < BROKEN_FOR && self.waited.len() < BROKEN_WAITS
        });
        self.waits += 1 + self.probed.len() as u64;
        self.waited
            .extend(self.probed.drain(..).map(Waited::passed));
        let at_once = (wait.is_yield() && !call.blocked).then_some(entered);
        self.waited.push_back(Waited {
            wait,
            entered,
            woken: call.woken.or(at_once),
            left: time,
            expiry,
        });
    }

    /// Takes the waits that are over, but for one that may go on and what came after it, unless `all` are asked for.
    pub(in crate::watch) fn over(&mut self, all: bool) -> impl Iterator<Item = Waited> {
        let held = match (&mut self.broken, all) {
            (Some(broken), false) => Some(std::mem::take(&mut broken.place)),
            _ => None,
        };
        let upto = held.unwrap_or(self.waited.len()).min(self.waited.len());
        if held.is_none() {
            self.broken = None;
        }
        self.waited.drain(..upto)
    }

    /// Says which wait ends a cycle. `waited` are those that are over; where such a call came back at once, because what it waits
    /// for had come before, it was not known to be a wait and is added. Expiries are given to whom they are for then.
    pub(in crate::watch) fn decide(&mut self, at: Option<Wait>, waited: &mut Vec<Waited>) {
        self.cycle_at = at;
        let early = self.early.take();
        let Some(at) = at.filter(|at| *at != Wait::PROBE) else {
            return;
        };
        let Some(first) = waited.iter().find(|one| at.covers(one.wait)).copied() else {
            return;
        };
        // What is held back comes later.
        let upto = self.waited.front().map_or(u64::MAX, |held| held.entered);
        let is_new = |(begin, end, wait): &&(u64, u64, Wait)| {
            let within = |one: &Waited| one.entered <= *begin && *end <= one.left;
            at.covers(*wait) && *begin >= first.left && *end <= upto && !waited.iter().any(within)
        };
        let at_once = self.own_calls.iter().filter(is_new);
        let at_once = at_once.map(|&(entered, left, wait)| Waited {
            wait,
            entered,
            woken: wait.is_yield().then_some(entered),
            left,
            expiry: None,
        });
        let at_once: Vec<Waited> = at_once.collect();
        if at_once.is_empty() {
            return;
        }
        waited.extend(at_once);
        waited.sort_unstable_by_key(|one| one.left);
        let Some(mut early) = early else { return };
        // The first one has its own, and what came before it is of others.
        early.retain(|(time, _)| *time > waited.first().map_or(0, |one| one.left));
        for one in waited.iter_mut().skip(1) {
            let ends_cycle = at.covers(one.wait);
            let only_own = !ends_cycle || one.wait.is_sleep();
            let is_for =
                |(time, of): &(u64, Expiry)| !only_own || (of.of_call && *time >= one.entered);
            let upto = early.partition_point(|(time, _)| *time <= one.left);
            let came: Vec<(u64, Expiry)> = early.drain(..upto).collect();
            one.expiry = came.iter().find(|one| is_for(one)).map(|(_, of)| *of);
            let kept = came.into_iter().rev();
            let kept = kept.filter(|(_, of)| !ends_cycle && !of.of_call);
            kept.for_each(|one| early.push_front(one));
        }
        let sleep = self.call.filter(|call| call.wait.is_sleep());
        let is_later = |(time, of): &&(u64, Expiry)| {
            sleep.is_none_or(|call| *time >= call.at || !(of.of_call || at.covers(call.wait)))
        };
        let left = early.iter().filter(is_later).map(|(_, of)| *of);
        self.expiries = left.take(EXPIRIES).collect();
    }

    /// Another wait ends its cycles by now. Of which wait the descriptors' timers were that expired so far, nobody knows any more.
    pub(in crate::watch) fn decides_anew(&mut self, at: Option<Wait>) {
        self.cycle_at = at;
        self.expiries.retain(|of| of.of_call);
    }

    /// Where the thread is in the wait `at` though what it waits for has come, returns that wait as if it were over `now`; nothing in
    /// it where it waits by right. Nothing at all where it is in no such wait.
    pub(in crate::watch) fn due(&self, at: Wait, now: u64) -> Option<Option<Waited>> {
        let call = self.call.filter(|call| at.covers(call.wait))?;
        let off = self.clock_off.map_or(0, |off| off.shift());
        // A timer that a signal took away expires no more.
        let passed = call.interrupted.and(call.target).and_then(|target| {
            let soft = u64::try_from(i128::from(target) - off).ok()?;
            let cpu = self.now()?.cpu;
            let hard = soft;
            let of_call = true;
            (soft <= now).then_some(Expiry {
                soft,
                hard,
                cpu,
                of_call,
            })
        });
        let expiry = self.expiries.front().copied().or(passed);
        let woken = call.woken.filter(|_| call.interrupted.is_none());
        let is_due = expiry.is_some() || woken.is_some();
        Some(is_due.then_some(Waited {
            wait: call.wait,
            entered: call.since.unwrap_or(call.at),
            woken,
            left: now,
            expiry,
        }))
    }

    /// Returns the wait that it is in as if that were over `now`.
    pub(in crate::watch) fn waits(&self, now: u64) -> Option<Waited> {
        let blocked = |call: &Call| call.blocked && call.woken.is_none();
        let call = self.call.filter(blocked)?;
        Some(Waited {
            wait: call.wait,
            entered: call.since.unwrap_or(call.at),
            woken: None,
            left: now,
            expiry: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Forwarded;

    #[test]
    fn the_steps_of_one_timer_tell_its_interval_and_those_of_several_tell_none() {
        let mut forwarded = Forwarded::default();
        for (soft, anew) in [(1_000, true), (3_000, false), (4_000, false), (9_000, true)] {
            forwarded.set(7, soft, anew);
        }
        assert_eq!(forwarded.interval(), Some(1_000));
        // Of 3 ms and of 10 ms: neither comes each millisecond.
        for soft in [10_000, 20_000] {
            forwarded.set(8, soft, false);
        }
        assert_eq!(forwarded.interval(), None);
        forwarded.set(7, 12_000, false);
        assert_eq!(forwarded.interval(), None);
    }
}
