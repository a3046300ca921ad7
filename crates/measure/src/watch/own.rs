// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether it was we who made cycles late: the threads that read the trace need a CPU, too.

use punctual_model::Check;
use punctual_model::watch::{Watched, WatchedThread};

use super::tally::Tally;
use super::{Watcher, culprits};

/// One late cycle by us leaves a run as it is, and so does one in this many of all cycles.
const RARE: u64 = 1_000;

impl Watcher {
    /// Checks that what was late was so by the program and its machine, and not mostly by our own threads. Nothing where
    /// it is not asked which threads are ours, because they are watched.
    pub(super) fn own_share(&self, watched: &Watched) -> Option<Check> {
        const ID: &str = "watcher";
        if !self.replay.knows_own() {
            return None;
        }
        // By the slowest hundredth nobody is late.
        let with_limit = watched.threads.iter().zip(self.shown());
        let with_limit = with_limit.filter(|(of, _)| of.late.rule != "p99" && of.late.count > 0);
        let of_each = with_limit.map(|(thread, (.., tally))| (self.by_us(thread, tally), thread));
        let Some((by_us, most)) = of_each.max_by_key(|(by_us, _)| *by_us) else {
            return Some(Check::pass(ID, "no cycle was late"));
        };
        let detail = format!(
            "{by_us} of {} late cycles of {} would have been in time without Punctual's own threads",
            most.late.examined, most.name
        );
        let ours = self.replay.names.text(self.replay.own_name);
        let first = most
            .culprits
            .first()
            .and_then(|first| first.name.as_deref());
        let is_ours = first == Some(ours) || by_us * 2 > most.late.examined;
        let is_rare = by_us < 2 || by_us * RARE <= most.cycles;
        Some(Check::of(ID, !is_ours || is_rare, detail))
    }

    /// Late cycles that would have been in time without our own threads.
    fn by_us(&self, thread: &WatchedThread, tally: &Tally) -> u64 {
        let limit = thread.late.limit_ns;
        culprits::in_time_without(&tally.longer_than(limit), limit, self.replay.own_name)
    }
}
