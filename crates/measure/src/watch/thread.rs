// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A watched thread: its states, its waits, and what woke it.

use std::collections::{BTreeMap, VecDeque};

use punctual_model::CpuId;
use punctual_sys::calls;

use super::stacks::Site;
use super::wait::Wait;
use super::who::{Name, Tid, Who};

/// States that are kept of a thread at most.
const SPANS: usize = 1 << 16;

/// How long states are kept after they ended, in ns.
pub(super) const KEPT_NS: u64 = 2_500_000_000;

/// Expiries that a thread has not waited for yet, at most: it reads them all at once.
const EXPIRIES: usize = 64;

/// When a timer was to expire, on the monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Expiry {
    /// The time that was asked for.
    pub(super) soft: u64,
    /// That time and the slack that the kernel may add.
    pub(super) hard: u64,
    /// The CPU on which it expired.
    pub(super) cpu: CpuId,
}

/// What a thread is doing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// Not known yet, or not any more.
    Unknown,
    /// It has the CPU.
    Running,
    /// It is to run and does not: it was woken, or another has taken the CPU from it.
    Ready {
        woken: bool,
        /// Whether it was moved here after another CPU was taken from it.
        moved: bool,
    },
    /// It waits for something.
    Blocked {
        /// In which system call, and since when it is in that.
        call: Option<(Wait, u64)>,
        /// Whether a signal or a debugger stopped it, and who sent the signal.
        stopped: Option<Who>,
        /// Whether it took a page fault just before.
        fault: bool,
        /// Who ended it.
        by: Option<Who>,
    },
}

/// A state and its beginning; it lasts until the next one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) cpu: CpuId,
    pub(super) state: State,
}

/// A wait that is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Waited {
    pub(super) wait: Wait,
    /// When the thread called the kernel.
    pub(super) entered: u64,
    /// When it was made runnable again; nothing where it did not have to wait.
    pub(super) woken: Option<u64>,
    /// When it went on.
    pub(super) left: u64,
    /// The expiry for which it had waited.
    pub(super) expiry: Option<Expiry>,
    /// Expiries that passed before it came to wait for them, beyond that one.
    pub(super) missed: u32,
}

impl Waited {
    /// When what it had waited for came: the time that it asked its timer for, or that at which it was woken.
    pub(super) fn release(&self) -> u64 {
        let woken = self.woken.unwrap_or(self.left);
        self.expiry.map_or(woken, |expiry| expiry.soft)
    }
}

/// A system call that the thread is in.
#[derive(Clone, Copy, Debug)]
struct Call {
    wait: Wait,
    at: u64,
    blocked: bool,
    woken: Option<u64>,
    /// When a signal interrupted it, until it is known whether it is made anew.
    interrupted: Option<u64>,
    /// The time that it set a timer to which has not expired, on that timer's clock.
    target: Option<u64>,
    /// When the wait began, where a signal interrupted it and this call goes on with it.
    since: Option<u64>,
}

/// A wait for time that a signal interrupted: what the thread does next tells whether it goes on.
#[derive(Clone, Copy, Debug)]
struct Broken {
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

/// Expiries that are kept of a thread of which it is not known yet what ends a cycle.
const EARLY_EXPIRIES: usize = 1 << 12;

/// One watched thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: Tid,
    /// Its process, by the number of that one's first thread.
    pub(super) process: Tid,
    pub(super) name: Name,
    /// As the scheduler counts; see [`Who::Task`].
    pub(super) prio: i16,
    pub(super) ended: bool,
    /// Whether it is one of the kernel, which makes no system calls: each sleep is a wait.
    pub(super) in_kernel: bool,
    spans: VecDeque<Span>,
    call: Option<Call>,
    faulted: bool,
    expiries: VecDeque<Expiry>,
    /// All expiries with the times at which they came, until it is known what ends a cycle.
    early: Option<VecDeque<(u64, Expiry)>>,
    /// Waits that are over and were not looked at yet.
    waited: VecDeque<Waited>,
    broken: Option<Broken>,
    /// The wait that ends a cycle, where it is known.
    cycle_at: Option<Wait>,
    /// When it was there first, where it was seen to be created.
    pub(super) begun: Option<u64>,
    is_created: bool,
    /// When it called the function that ends a cycle, until it has waited since.
    probed: Option<u64>,
    /// System calls that are over: begin, end, which.
    own_calls: VecDeque<(u64, u64, Wait)>,
    fault_times: VecDeque<u64>,
    /// Where it was as it waited, called or faulted.
    sites: VecDeque<(u64, Site)>,
    /// What the clock of its last timer showed beyond the trace's.
    pub(super) clock_off: Option<i128>,
    /// How often each system call was made, and page faults.
    pub(super) calls: BTreeMap<i64, u64>,
    pub(super) faults: u64,
    /// Time that a fault alone is taken to last, in ns.
    pub(super) fault_ns: u64,
    pub(super) migrations: u64,
}

impl Thread {
    pub(super) fn new(tid: Tid, process: Tid, name: Name, prio: i16) -> Self {
        Self {
            tid,
            process,
            name,
            prio,
            ended: false,
            in_kernel: false,
            spans: VecDeque::new(),
            call: None,
            faulted: false,
            expiries: VecDeque::new(),
            early: Some(VecDeque::new()),
            waited: VecDeque::new(),
            broken: None,
            cycle_at: None,
            begun: None,
            is_created: false,
            probed: None,
            own_calls: VecDeque::new(),
            fault_times: VecDeque::new(),
            sites: VecDeque::new(),
            clock_off: None,
            calls: BTreeMap::new(),
            faults: 0,
            fault_ns: ONE_FAULT,
            migrations: 0,
        }
    }

    /// It is created now: it begins with the first event of it.
    pub(super) const fn is_created(&mut self) {
        self.is_created = true;
    }

    /// Returns what it is doing, on which CPU.
    pub(super) fn now(&self) -> Option<Span> {
        self.spans.back().copied()
    }

    pub(super) const fn is_in_a_call(&self) -> bool {
        self.call.is_some()
    }

    pub(super) fn is_running_on(&self, cpu: CpuId) -> bool {
        self.now()
            .is_some_and(|s| s.cpu == cpu && s.state == State::Running)
    }

    fn begin(&mut self, time: u64, cpu: CpuId, state: State) {
        let time = self.now().map_or(time, |last| last.from.max(time));
        if self.is_created {
            self.begun.get_or_insert(time);
        }
        if self.spans.len() >= SPANS {
            self.spans.pop_front();
        }
        self.spans.push_back(Span {
            from: time,
            cpu,
            state,
        });
        let old = time.saturating_sub(KEPT_NS);
        while self.spans.get(1).is_some_and(|second| second.from < old) {
            self.spans.pop_front();
        }
    }

    /// It gets the CPU.
    pub(super) fn runs(&mut self, time: u64, cpu: CpuId) {
        let state = self.now().map(|s| s.state);
        if let Some(State::Blocked { .. }) = state {
            // It was woken while it went to sleep, before the switch was recorded.
            self.wakes(time, cpu, None);
        }
        self.begin(time, cpu, State::Running);
        if self.call.is_some_and(|call| call.wait == Wait::UNKNOWN) {
            self.leaves(time);
        }
    }

    /// It loses the CPU. Without system calls to look at (`calls`), each sleep is a wait.
    /// Where a signal stops it, `stopper` sent that.
    pub(super) fn stops(
        &mut self,
        time: u64,
        cpu: CpuId,
        task_state: u32,
        calls: bool,
        stopper: Option<Who>,
    ) {
        // The states that say what a thread waits for; the bit above says that it was preempted (include/linux/sched.h).
        if task_state & 0xff == 0 {
            let state = State::Ready {
                woken: false,
                moved: false,
            };
            return self.begin(time, cpu, state);
        }
        if !calls {
            self.enters(time, Wait::UNKNOWN);
        }
        if let Some(call) = &mut self.call {
            (call.blocked, call.woken) = (true, None);
        }
        let fault = std::mem::take(&mut self.faulted);
        let call = self.call.map(|call| (call.wait, call.at));
        // TASK_STOPPED and TASK_TRACED (include/linux/sched.h).
        let stopped = match task_state & 0xc {
            0 => None,
            0x4 => Some(stopper.unwrap_or(Who::Unknown)),
            _ => Some(Who::Unknown),
        };
        let state = State::Blocked {
            call,
            stopped,
            fault,
            by: None,
        };
        self.begin(time, cpu, state);
    }

    /// It is made runnable on `cpu`, by `by` where that is known.
    pub(super) fn wakes(&mut self, time: u64, cpu: CpuId, by: Option<Who>) {
        if let Some(call) = &mut self.call {
            call.woken = call.woken.or(Some(time));
        }
        if let Some(Span {
            state: State::Blocked { by: ender, .. },
            ..
        }) = self.spans.back_mut()
        {
            *ender = by;
            let state = State::Ready {
                woken: true,
                moved: false,
            };
            self.begin(time, cpu, state);
        }
    }

    /// It is moved to another CPU.
    pub(super) fn moves(&mut self, time: u64, to: CpuId) {
        self.migrations += 1;
        if let Some(Span {
            state: State::Ready { woken, .. },
            cpu,
            ..
        }) = self.now()
            && cpu != to
        {
            let moved = !woken;
            self.begin(time, to, State::Ready { woken, moved });
        }
    }

    /// Nothing is known of it any more.
    pub(super) fn is_lost(&mut self, time: u64, cpu: CpuId) {
        self.begin(time, cpu, State::Unknown);
    }

    /// A timer that it waits for, or will, expires.
    /// It was set to `target` on its clock.
    pub(super) fn expires(&mut self, time: u64, target: u64, expiry: Expiry) {
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

    /// It calls the kernel.
    pub(super) fn enters(&mut self, time: u64, wait: Wait) {
        if let Some(call) = &mut self.call
            && let Some(at) = call.interrupted.take()
        {
            // The same call again, or what stands for one that knows how far it was: the wait goes on.
            if wait == call.wait || calls::name(wait.call) == Some("restart_syscall") {
                return;
            }
            let whole = *call;
            self.leaves(at);
            if let Some(target) = whole.target {
                self.broken = self.waited.len().checked_sub(1).map(|place| Broken {
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
        if wait.is_sleep() {
            // What expired before it began to sleep was of another wait.
            self.expiries.clear();
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
    pub(super) fn sets_timer(&mut self, time: u64, target: u64) {
        let Some(call) = &mut self.call else { return };
        call.target = Some(target);
        let resolves = |broken: &mut Broken| call.wait == broken.wait || call.wait.is_sleep();
        if let Some(broken) = self.broken.take_if(resolves)
            && broken.goes_on(call.wait, time, target)
        {
            // Both are one wait, and what it waited for in between is none of the loop's.
            call.since = Some(broken.since);
            self.waited.truncate(broken.place);
        }
    }

    /// It calls the function that ends a cycle.
    pub(super) fn probes(&mut self, time: u64) {
        self.probed.get_or_insert(time);
    }

    /// It takes a page fault.
    pub(super) fn faults(&mut self, time: u64) {
        self.faults += 1;
        self.faulted = true;
        keep(&mut self.fault_times, time, |at| *at);
    }

    /// It was at this place as it waited, called or faulted.
    pub(super) fn is_at(&mut self, time: u64, site: Site) {
        match self.sites.back_mut() {
            Some((last, known)) if *last == time => *known = known.and(site),
            _ => keep(&mut self.sites, (time, site), |(at, _)| *at),
        }
    }

    /// Returns where it was at a moment at which it began to wait, called the kernel or faulted. Each instance gives the
    /// same event a time of its own.
    pub(super) fn site(&self, time: u64) -> Option<Site> {
        let from = self
            .sites
            .partition_point(|(at, _)| at.saturating_add(APART) < time);
        let near = self.sites.range(from..);
        let near = near.take_while(|(at, _)| *at <= time.saturating_add(APART));
        let nearest = near.min_by_key(|(at, _)| at.abs_diff(time))?;
        Some(nearest.1).filter(|site| !site.is_unknown())
    }

    /// A signal has it come back from the kernel before its call is done.
    pub(super) fn is_interrupted(&mut self, time: u64) {
        match &mut self.call {
            Some(call) => call.interrupted = Some(time),
            None => self.leaves(time),
        }
    }

    /// It is back from the kernel.
    pub(super) fn leaves(&mut self, time: u64) {
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
        let missed = u32::try_from(self.expiries.len().saturating_sub(1)).unwrap_or(u32::MAX);
        let expiry = self.expiries.pop_front();
        self.expiries.clear();
        let (wait, entered) = match self.probed.take() {
            Some(at) => (Wait::PROBE, at),
            None => (call.wait, call.since.unwrap_or(call.at)),
        };
        // Whoever does something else for long does not go on with a wait.
        self.broken = self.broken.filter(|broken| {
            time.saturating_sub(broken.at) < BROKEN_FOR && self.waited.len() < BROKEN_WAITS
        });
        self.waited.push_back(Waited {
            wait,
            entered,
            woken: call.woken,
            left: time,
            expiry,
            missed,
        });
    }

    /// Takes the waits that are over, but for one that may go on and what came after it, unless `all` are asked for.
    pub(super) fn over(&mut self, all: bool) -> impl Iterator<Item = Waited> {
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
    pub(super) fn decide(&mut self, at: Option<Wait>, waited: &mut Vec<Waited>) {
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
            woken: None,
            left,
            expiry: None,
            missed: 0,
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
            let came = early.partition_point(|(time, _)| *time <= one.left);
            let is_for = |(time, _): &(u64, Expiry)| !one.wait.is_sleep() || *time >= one.entered;
            let mut its = early.drain(..came).filter(is_for);
            one.expiry = its.next().map(|(_, expiry)| expiry);
            one.missed = u32::try_from(its.count()).unwrap_or(u32::MAX);
        }
        let sleeps_since = self.call.filter(|call| call.wait.is_sleep());
        let sleeps_since = sleeps_since.map_or(0, |call| call.at);
        let left = early.iter().filter(|(time, _)| *time >= sleeps_since);
        self.expiries = left.map(|(_, expiry)| *expiry).take(EXPIRIES).collect();
    }

    /// Where the thread is in the wait `at` though what it waits for has come, returns that wait as if it were over `now`; nothing in
    /// it where it waits by right. Nothing at all where it is in no such wait.
    pub(super) fn due(&self, at: Wait, now: u64) -> Option<Option<Waited>> {
        let call = self.call.filter(|call| at.covers(call.wait))?;
        let off = self.clock_off.unwrap_or(0);
        // A timer that a signal took away expires no more.
        let passed = call.interrupted.and(call.target).and_then(|target| {
            let soft = u64::try_from(i128::from(target) - off).ok()?;
            let cpu = self.now()?.cpu;
            let hard = soft;
            (soft <= now).then_some(Expiry { soft, hard, cpu })
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
            missed: 0,
        }))
    }

    /// Returns the wait that it is in as if that were over `now`.
    pub(super) fn waits(&self, now: u64) -> Option<Waited> {
        let blocked = |call: &Call| call.blocked && call.woken.is_none();
        let call = self.call.filter(blocked)?;
        Some(Waited {
            wait: call.wait,
            entered: call.since.unwrap_or(call.at),
            woken: None,
            left: now,
            expiry: None,
            missed: 0,
        })
    }

    /// Returns its states from `from` to `to`, each with its end.
    pub(super) fn spans(&self, from: u64, to: u64) -> impl Iterator<Item = (Span, u64, u64)> {
        let first = self.spans.partition_point(|span| span.from <= from);
        let spans = self.spans.range(first.saturating_sub(1)..);
        let ends = self.spans.range(first.max(1).min(self.spans.len())..);
        let ends = ends
            .map(|next| next.from)
            .chain(std::iter::repeat(u64::MAX));
        spans.zip(ends).map_while(move |(span, end)| {
            let (begin, end) = (span.from.max(from), end.min(to));
            (span.from < to).then_some((*span, begin, end.max(begin)))
        })
    }

    /// Returns the system calls that began and ended from `from` to `to`, with their times.
    pub(super) fn calls_within(
        &self,
        from: u64,
        to: u64,
    ) -> impl Iterator<Item = (u64, u64, Wait)> {
        let first = self.own_calls.partition_point(|(begin, ..)| *begin < from);
        let calls = self.own_calls.range(first..).copied();
        calls.take_while(move |(_, end, _)| *end <= to)
    }

    /// Returns the number of page faults from `from` to `to`.
    pub(super) fn faults_within(&self, from: u64, to: u64) -> u64 {
        let before = |time: u64| self.fault_times.partition_point(|at| *at < time);
        before(to).saturating_sub(before(from)) as u64
    }

    /// Returns what the thread did itself while it ran from `from` to `to`: the system calls that it was in, the page
    /// faults that it took, and nothing where it was its own code.
    pub(super) fn own_work(&self, from: u64, to: u64) -> Vec<(u64, u64, Own)> {
        let mut work = Vec::new();
        let mut at = from;
        let first = self.own_calls.partition_point(|(_, end, _)| *end <= from);
        for (begin, end, call) in self.own_calls.range(first..) {
            if *begin >= to {
                break;
            }
            let (begin, end) = ((*begin).max(at), (*end).min(to));
            self.outside_calls(at, begin, &mut work);
            if begin < end {
                work.push((begin, end, Own::Call(call.call)));
            }
            at = end.max(at);
        }
        // A call that goes on still.
        let going_on = self.call.map_or(to, |call| call.at.clamp(at, to));
        self.outside_calls(at, going_on, &mut work);
        if let Some(call) = self.call.filter(|_| going_on < to) {
            work.push((going_on, to, Own::Call(call.wait.call)));
        }
        work
    }

    /// Adds its own code from `from` to `to`, with the page faults in it. The kernel tells when a fault begins and not when
    /// it ends: where they come one after the other each lasts until the next.
    fn outside_calls(&self, from: u64, to: u64, work: &mut Vec<(u64, u64, Own)>) {
        let mut at = from;
        let first = self.fault_times.partition_point(|time| *time < from);
        let mut times = self
            .fault_times
            .range(first..)
            .take_while(|time| **time < to)
            .peekable();
        while let Some(time) = times.next() {
            let next = times.peek().map_or(to, |next| **next);
            let after_fault = FAULT_AFTER_FAULT.max(2 * self.fault_ns);
            let end = match next - time <= after_fault {
                true => next,
                false => next.min(time + self.fault_ns),
            };
            if at < *time {
                work.push((at, *time, Own::Code));
            }
            work.push((*time, end, Own::Fault));
            at = end;
        }
        if at < to {
            work.push((at, to, Own::Code));
        }
    }
}

/// What a thread does while it runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Own {
    Code,
    Call(i64),
    Fault,
}

/// Faults that come within this time are one after the other, in ns.
const FAULT_AFTER_FAULT: u64 = 20_000;

/// How far apart the times are that two instances give to one event, in ns, at most.
const APART: u64 = 10_000;

/// Time that a fault alone is taken to last at least, in ns.
pub(super) const ONE_FAULT: u64 = 1_000;

/// Keeps one more, and of the older ones those that a cycle can still reach.
fn keep<T>(all: &mut VecDeque<T>, one: T, time: impl Fn(&T) -> u64) {
    if all.len() >= SPANS {
        all.pop_front();
    }
    let old = time(&one).saturating_sub(KEPT_NS);
    all.push_back(one);
    while all.front().is_some_and(|first| time(first) < old) {
        all.pop_front();
    }
}
