// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is said of threads whose cycle became another one, or that never had the one that was named.

use punctual_model::{Check, Finding, Nanos, Policy};

use super::basis::WAITS;
use super::results::is_real_time;
use super::settle::LOOPS;
use super::tally::Tally;
use super::thread::Thread;
use super::wait::Wait;
use super::who::Tid;
use super::{FUNCTION, Matters, Watcher, words};

/// Threads that are listed.
const LISTED: usize = 5;

impl Watcher {
    /// Says of threads that have figures several times from when on they had which cycles, and how much came before the first cycle that
    /// was named.
    pub(super) fn changes(&self) -> Vec<Finding> {
        let mut said = Vec::new();
        let mut of_several: Vec<Tid> = Vec::new();
        for (_, thread, tally) in self.shown() {
            let name = self.replay.names.text(thread.name);
            if tally.passed_over >= WAITS as u64
                && let (Some(wait), Some((first, _))) = (self.at(tally), tally.span())
            {
                said.push(format!(
                    "{} waits of {name} before {} were not at {wait}, and are in no cycle",
                    tally.passed_over,
                    self.since_start(first)
                ));
            }
            if !of_several.contains(&thread.tid) && self.is_apart(thread.tid) {
                of_several.push(thread.tid);
                let own = self.shown().filter(|(_, of, _)| of.tid == thread.tid);
                let parts: Vec<String> = own.map(|(n, _, tally)| self.part(n, tally)).collect();
                said.push(format!(
                    "what ends a cycle of {name} changed, so that it is judged in parts: {}",
                    parts.join("; ")
                ));
            }
        }
        let said = said.into_iter();
        said.map(|detail| Finding::observed("cycle-changed", detail))
            .collect()
    }

    /// Whether a thread has figures several times, because it had several cycles.
    pub(super) fn is_apart(&self, tid: Tid) -> bool {
        self.shown().filter(|(_, of, _)| of.tid == tid).count() > 1
    }

    fn part(&self, n: u32, tally: &Tally) -> String {
        let (first, last) = tally.span().unwrap_or_default();
        let wait = self.at(tally);
        let wait = wait.map_or_else(|| "every wait".to_owned(), |wait| format!("at {wait}"));
        let period = tally.period().map_or_else(String::new, |period| {
            format!(" each {}", Nanos::new(period / 1_000 * 1_000))
        });
        format!(
            "thread {n}, {wait}{period}, from {} to {}",
            self.since_start(first),
            self.since_start(last)
        )
    }

    fn at(&self, tally: &Tally) -> Option<String> {
        Some(self.says_wait(tally.basis?.at?))
    }

    /// Returns what a wait that ends a cycle is called.
    pub(super) fn says_wait(&self, wait: Wait) -> String {
        match &self.watch.cycle_at {
            Some(named) if wait == Wait::PROBE => named.clone(),
            _ => wait.to_string(),
        }
    }

    fn since_start(&self, time: u64) -> String {
        let since = Nanos::new(time.saturating_sub(self.origin));
        format!("{:.1} s", since.as_secs_f64())
    }

    /// Checks that cycles ended where they are to: at what was named, or else for each thread at the wait that was found, until the end.
    /// Nothing where nothing was named and none of them went over to waits elsewhere.
    pub(super) fn ended_where_found(&self) -> Option<Check> {
        const ID: &str = "cycle-at";
        if self.watch.matters != Matters::OfThePeriod {
            return None;
        }
        let named = self.watch.cycle_at.as_deref();
        let mut faults: Vec<String> = named
            .and_then(|named| self.never_at(named))
            .into_iter()
            .collect();
        let mut left: Vec<String> = self.left().collect();
        left.truncate(LISTED);
        if !left.is_empty() {
            faults.push(format!(
                "{}: whether the loop hung there is not known; {}",
                left.join(", "),
                match named {
                    Some(_) => "a function says it more closely, uprobe:SYMBOL",
                    None => "--cycle-at says what ends a cycle",
                }
            ));
        }
        match (faults.is_empty(), named) {
            (false, Some(named)) => Some(Check::fail(
                ID,
                format!("--cycle-at {named}: {}", faults.join("; ")),
            )),
            (false, None) => Some(Check::fail(ID, faults.join("; "))),
            (true, Some(named)) => Some(Check::pass(ID, format!("cycles ended at {named}"))),
            (true, None) => None,
        }
    }

    /// Says that no cycle ended at what was named, or who never waited there and is real-time: no cycle of it is judged.
    fn never_at(&self, named: &str) -> Option<String> {
        let is_there = |tid: Tid| self.shown().any(|(_, thread, _)| thread.tid == tid);
        if self.shown().next().is_none() {
            return Some(match named.starts_with(FUNCTION) {
                true => "no watched thread called this function and then waited, twice or more: the compiler may have \
                         put its code where it is called, or the program has it from another file"
                    .to_owned(),
                false => "no watched thread waited so, twice or more: a library may make another system call for it"
                    .to_owned(),
            });
        }
        let names = &self.replay.names;
        let others = self.replay.threads.iter().filter(|(tid, thread)| {
            let policy = self.tallies.get(tid).and_then(|tally| tally.policy);
            (thread.prio < 100 || policy.is_some_and(Policy::is_real_time))
                && thread.waits >= WAITS as u64
                && self.watch.wants(**tid, names.text(thread.name))
                && !is_there(**tid)
        });
        let others: Vec<String> = others
            .map(|(_, thread)| {
                let policy = words::policy(thread.prio);
                format!("{} ({policy})", names.text(thread.name))
            })
            .take(LISTED)
            .collect();
        (!others.is_empty()).then(|| {
            format!(
                "{} waited only elsewhere and is not judged; if that is meant, name the others with --threads",
                others.join(", ")
            )
        })
    }

    /// Says which threads went over to waits elsewhere, where what they did before was not their setting up.
    fn left(&self) -> impl Iterator<Item = String> {
        self.order.iter().filter_map(|(tid, past)| {
            let now = self.tallies.get(tid);
            let tally = past.as_deref().or(now)?;
            let thread = self.replay.threads.get(tid)?;
            let at = tally.since.left?;
            let first = tally.span().map_or(at, |(first, _)| first);
            let end = thread.ended.unwrap_or(self.replay.now);
            // What came before a loop that went on for at least as long set it up.
            let is_set_up = past.is_some()
                && !tally.since.came_back
                && now.is_some_and(|now| now.cycles > 0 && !now.since.is_gone)
                && at.saturating_sub(first) <= end.saturating_sub(at);
            let is_free = self.watch.cycle_at.is_none() && self.may_wait(thread, tally);
            if is_set_up || is_free {
                return None;
            }
            let back = match tally.since.came_back {
                true => "waited elsewhere for a while",
                false => "waited elsewhere since",
            };
            Some(format!(
                "{} left {} at {} and {back}",
                self.replay.names.text(thread.name),
                self.at(tally)?,
                self.since_start(at)
            ))
        })
    }

    /// Whether a thread may have become one that waits for others, and be no loop any more.
    fn may_wait(&self, thread: &Thread, tally: &Tally) -> bool {
        let own = is_real_time(thread, tally);
        let any = self.tallies.iter().any(|(tid, of)| {
            let thread = self.replay.threads.get(tid);
            of.period().is_some() && thread.is_some_and(|thread| is_real_time(thread, of))
        });
        !own && (any || tally.cycles < LOOPS)
    }
}
