// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Real-time threads of which no verdict is made: those that compute on without a wait, and those beyond the limit.

use punctual_model::{Check, Nanos, Policy};
use punctual_sys::{SysRoot, sched};

use super::settle::OPEN;
use super::thread::{State, Thread};
use super::who::Tid;
use super::{Matters, THREADS, Watcher, words};

/// CPU time since its last wait from which on a thread does not merely begin, or rest.
const COMPUTES: Nanos = Nanos::from_millis(100);

/// Names of threads that are listed.
const NAMED: usize = 10;

/// What was known of a thread when watching began: it may do nothing that an event would tell, not even lose its CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    policy: Option<Policy>,
    cpu: Nanos,
}

impl Before {
    pub(super) fn read(sys: &SysRoot, tid: Tid) -> Self {
        Self {
            policy: sched::policy_of(tid).ok(),
            cpu: cpu_time(sys, tid),
        }
    }

    /// Its priority as the scheduler counts, where it is known: below 0 deadline, below 100 real-time.
    pub(super) fn prio(self) -> Option<i16> {
        Some(match self.policy? {
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => 99 - i16::from(priority),
            Policy::Deadline { .. } => -1,
            Policy::Other { nice } => 120 + i16::from(nice),
            _ => 120,
        })
    }
}

/// Returns the CPU time that a thread has had (Linux Documentation/scheduler/sched-stats.rst); none of one that is gone.
fn cpu_time(sys: &SysRoot, tid: Tid) -> Nanos {
    let text = sys.read(&format!("/proc/{tid}/schedstat"));
    let text = text.unwrap_or_default();
    let first = text.split_whitespace().next();
    Nanos::new(first.and_then(|ns| ns.parse().ok()).unwrap_or(0))
}

impl Watcher {
    /// Reads what those that were there when watching began have computed since.
    pub(super) fn note_computed(&mut self, sys: &SysRoot) {
        for (tid, before) in &self.before {
            let now = cpu_time(sys, *tid);
            let since = Nanos::new(now.get().saturating_sub(before.cpu.get()));
            self.computed.insert(*tid, since);
        }
    }

    /// Fails where a real-time thread went on to compute and had not waited when the run ended: whatever is said of the cycles of others, or
    /// of its own, says nothing of it. A periodic thread has a cycle that does not end instead (`settle`).
    pub(super) fn computes_on(&self) -> Option<Check> {
        if self.watch.matters != Matters::OfThePeriod {
            return None;
        }
        let names = &self.replay.names;
        let all = self.replay.threads.values().filter(|thread| {
            thread.prio < 100
                && thread.ended != Some(0)
                && !thread.has_left
                && self.watch.wants(thread.tid, names.text(thread.name))
                && self.is_computing(thread)
        });
        let mut all: Vec<String> = all
            .map(|thread| {
                format!(
                    "{} ({})",
                    names.text(thread.name),
                    words::policy(thread.prio)
                )
            })
            .collect();
        if all.is_empty() {
            return None;
        }
        let more = match all.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        all.truncate(NAMED);
        let detail = format!(
            "not judged: {}{more} computed to the end without waiting; if that is meant, name the others with --threads",
            all.join(", ")
        );
        Some(Check::fail("waits", detail))
    }

    fn is_computing(&self, thread: &Thread) -> bool {
        let tally = self.tallies.get(&thread.tid);
        if tally.is_some_and(|tally| tally.period().is_some()) {
            return false;
        }
        let longest = tally.and_then(|tally| tally.responses.histogram().max());
        let least = COMPUTES
            .get()
            .max(longest.unwrap_or(0).saturating_mul(OPEN));
        let to = thread.ended.unwrap_or(self.replay.now);
        let ns = match thread.now() {
            Some(_) => thread.computed_since_wait(to),
            None => self.computed.get(&thread.tid).map_or(0, |ns| ns.get()),
        };
        ns >= least
    }

    /// Fails where threads were not watched because there were too many, unless only some are asked for.
    pub(super) fn all_watched(&self) -> Option<Check> {
        let unwatched = self.replay.unwatched;
        (unwatched > 0 && self.watch.threads.is_empty()).then(|| {
            let detail = format!(
                "{unwatched} threads were not watched, as {THREADS} are at most: name those that count with --threads"
            );
            Check::fail("all-threads", detail)
        })
    }
}

impl Thread {
    /// Returns the time for which it had a CPU since its last wait, up to a moment, of what is kept.
    fn computed_since_wait(&self, to: u64) -> u64 {
        let mut ns = 0;
        for (span, from, to) in self.spans(0, to) {
            match span.state {
                State::Blocked { .. } => ns = 0,
                State::Running => ns += to - from,
                State::Ready { .. } | State::Unknown => {}
            }
        }
        ns
    }
}
