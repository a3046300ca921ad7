// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A watched thread: its states, its waits, and what woke it.

mod calls;
mod clock;
mod sites;

use std::collections::{BTreeMap, VecDeque};

use punctual_model::CpuId;

use self::calls::{Broken, Forwarded};
pub(super) use self::clock::ClockOff;
use super::stacks::{At, Site};
use super::wait::Wait;
use super::who::{Name, Tid, Who};

/// States that are kept of a thread at most.
const SPANS: usize = 1 << 16;

/// How long states are kept after they ended, in ns.
pub(super) const KEPT_NS: u64 = 2_500_000_000;

/// When a timer was to expire, on the monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Expiry {
    /// The time that was asked for.
    pub(super) soft: u64,
    /// That time and the slack that the kernel may add.
    pub(super) hard: u64,
    /// The CPU on which it expired.
    pub(super) cpu: CpuId,
    /// Whether the timer is that of the system call in which it was set, and none that a descriptor or a signal tells of: these may be
    /// waited for at any time after.
    pub(super) of_call: bool,
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
}

impl Waited {
    /// A call of the function that ends a cycle, after which the thread did not wait and called it again.
    const fn passed(time: u64) -> Self {
        Self {
            wait: Wait::PROBE,
            entered: time,
            woken: None,
            left: time,
            expiry: None,
        }
    }

    /// Whether it is such a call.
    pub(super) fn is_no_wait(&self) -> bool {
        self.wait == Wait::PROBE && self.entered == self.left
    }

    /// Whether it is such a call whose release is not known yet.
    pub(super) fn is_passed(&self) -> bool {
        self.is_no_wait() && self.expiry.is_none()
    }

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

/// What program a thread runs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Program {
    /// It was not looked at yet.
    Unknown,
    /// One whose system calls have the numbers of this kernel.
    Ours,
    /// One for 32 bits on a kernel for 64, whose numbers are others.
    Of32Bits,
}

/// One watched thread.
#[derive(Debug)]
pub(super) struct Thread {
    pub(super) tid: Tid,
    /// Its process, by the number of that one's first thread.
    pub(super) process: Tid,
    pub(super) name: Name,
    /// As the scheduler counts; see [`Who::Task`].
    pub(super) prio: i16,
    /// When it ended; 0 where it had before it could be seen.
    pub(super) ended: Option<u64>,
    /// Whether it ended of its own accord: what it did after its last cycle was its end. Nothing else tells that from a cycle.
    pub(super) has_left: bool,
    /// Whether it is one of the kernel, which makes no system calls: each sleep is a wait.
    pub(super) in_kernel: bool,
    /// What it runs.
    pub(super) program: Program,
    spans: VecDeque<Span>,
    call: Option<Call>,
    faulted: bool,
    expiries: VecDeque<Expiry>,
    /// All expiries with the times at which they came, until it is known what ends a cycle.
    early: Option<VecDeque<(u64, Expiry)>>,
    /// Waits whose timers expired: begin, end, when these were to expire.
    expired: VecDeque<(u64, u64, u64)>,
    /// Waits that are over and were not looked at yet.
    waited: VecDeque<Waited>,
    broken: Option<Broken>,
    /// The wait that ends a cycle, where it is known.
    cycle_at: Option<Wait>,
    /// When it was there first, where it was seen to be created.
    pub(super) begun: Option<u64>,
    is_created: bool,
    /// Waits that are over, in all.
    pub(super) waits: u64,
    /// When it called the function that ends a cycle, until it has waited since.
    probed: Vec<u64>,
    /// System calls that are over: begin, end, which.
    own_calls: VecDeque<(u64, u64, Wait)>,
    fault_times: VecDeque<u64>,
    /// Where it was as it waited, called or faulted.
    sites: VecDeque<(u64, At, Site)>,
    /// What the clock of its last timer showed beyond the trace's.
    pub(super) clock_off: Option<ClockOff>,
    /// How far its interval timers were set forward.
    forwarded: Forwarded,
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
            ended: None,
            has_left: false,
            forwarded: Forwarded::default(),
            in_kernel: false,
            program: Program::Unknown,
            spans: VecDeque::new(),
            call: None,
            faulted: false,
            expiries: VecDeque::new(),
            early: Some(VecDeque::new()),
            expired: VecDeque::new(),
            waited: VecDeque::new(),
            broken: None,
            cycle_at: None,
            begun: None,
            is_created: false,
            waits: 0,
            probed: Vec::new(),
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

    /// It has another name, as who runs another program has.
    pub(super) fn may_run_another_program(&mut self) {
        if self.program == Program::Ours {
            self.program = Program::Unknown;
        }
    }

    /// Whether it is known which system calls it makes, where the kernel tells of them at all.
    pub(super) const fn tells_calls(&self) -> bool {
        !self.in_kernel && !matches!(self.program, Program::Of32Bits)
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

    /// Whether it waited so seldom that it has no cycle with a figure.
    pub(super) const fn has_no_cycle(&self) -> bool {
        self.waits < 3
    }

    /// Whether it has given up the rest of its job and waits for the next one.
    pub(super) fn has_ended_job(&self) -> bool {
        let waits = |call: Call| call.wait.is_yield() && call.blocked && call.woken.is_none();
        self.call.is_some_and(waits)
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

    /// It loses the CPU, with a priority and a state. Without system calls to look at (`calls`), each sleep is a wait.
    /// Where a signal stops it, `stopper` sent that.
    pub(super) fn stops(
        &mut self,
        time: u64,
        cpu: CpuId,
        (prio, task_state): (i16, u32),
        calls: bool,
        stopper: Option<Who>,
    ) {
        // Without a timer the next job's time has come already, and it is there to be chosen.
        let ends_job = |call: Call| call.wait.is_yield() && call.target.is_some();
        let ends_job = prio < 0 && self.call.is_some_and(ends_job);
        // The states that say what a thread waits for; the bit above says that it was preempted (include/linux/sched.h).
        if task_state & 0xff == 0 && !ends_job {
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
            self.ends_repeated();
            let state = State::Ready {
                woken: true,
                moved: false,
            };
            self.begin(time, cpu, state);
        }
    }

    /// Where another thread ends a wait for a lock, those before it that were over with their time and begun anew at once were for that
    /// thread too.
    fn ends_repeated(&mut self) {
        let mut spans = self.spans.iter_mut().rev();
        let Some(&mut Span {
            state:
                State::Blocked {
                    call: Some((wait, _)),
                    by: Some(ender @ Who::Task { .. }),
                    ..
                },
            from,
            ..
        }) = spans.next()
        else {
            return;
        };
        let either = wait.either_word();
        let is_same = |of: Wait| of == wait || either.is_some_and(|both| both.covers(of));
        let (mut next, mut ran) = (from, 0);
        for span in spans.filter(|_| wait.is_lock()) {
            match &mut span.state {
                State::Running => ran += next - span.from,
                State::Ready { .. } => {}
                State::Blocked {
                    call: Some((of, _)),
                    by: Some(by @ Who::Timer { .. }),
                    ..
                } if is_same(*of) && ran < ANEW => (*by, ran) = (ender, 0),
                State::Blocked { .. } | State::Unknown => return,
            }
            next = span.from;
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

    /// It takes a page fault.
    pub(super) fn faults(&mut self, time: u64) {
        self.faults += 1;
        self.faulted = true;
        keep(&mut self.fault_times, time, |at| *at);
    }

    /// Returns when it took the last page fault before `time`.
    pub(super) fn last_fault(&self, time: u64) -> Option<u64> {
        let upto = self.fault_times.partition_point(|at| *at <= time);
        self.fault_times.get(upto.checked_sub(1)?).copied()
    }

    /// Returns when the timer was to expire of the wait that it was in as it went to sleep at `time`, where that is over.
    pub(super) fn expired_in(&self, time: u64) -> Option<u64> {
        let upto = self
            .expired
            .partition_point(|(entered, ..)| *entered <= time);
        let (_, left, at) = self.expired.get(upto.checked_sub(1)?)?;
        (time <= *left).then_some(*at)
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
            let own = Own::Call {
                call: call.call,
                from: *begin,
                to: *end,
            };
            let (begin, end) = ((*begin).max(at), (*end).min(to));
            self.outside_calls(at, begin, &mut work);
            if begin < end {
                work.push((begin, end, own));
            }
            at = end.max(at);
        }
        // A call that goes on still.
        let going_on = self.call.map_or(to, |call| call.at.clamp(at, to));
        self.outside_calls(at, going_on, &mut work);
        if let Some(call) = self.call.filter(|_| going_on < to) {
            let own = Own::Call {
                call: call.wait.call,
                from: call.at,
                to: u64::MAX,
            };
            work.push((going_on, to, own));
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
    /// In a system call, from its begin to its end.
    Call {
        call: i64,
        from: u64,
        to: u64,
    },
    Fault,
}

/// A thread that runs for no longer than this between two waits for the same begins the second one at once, in ns.
const ANEW: u64 = 1_000_000;

/// Faults that come within this time are one after the other, in ns.
const FAULT_AFTER_FAULT: u64 = 20_000;

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
