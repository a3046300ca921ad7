// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who had a CPU, in the recent past.

use std::collections::VecDeque;

use super::who::{Tid, Who};

/// Who had one CPU, and from when on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Entry {
    from: u64,
    who: Who,
    /// When it got the CPU: interrupts on its time do not take it away.
    since: u64,
    /// Whether the thread that had it before was still runnable.
    left_ready: bool,
    held: bool,
    went_idle: Option<u64>,
}

/// A stretch of time in which one had the CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Stretch {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) who: Who,
    /// When it got the CPU, which may be before the stretch and before interrupts on its time.
    pub(super) began: u64,
    /// Whether it was still runnable when it lost the CPU; nothing where it has it still.
    pub(super) left_ready: Option<bool>,
    /// Whether the scheduler keeps real-time threads of this CPU from running.
    pub(super) held: bool,
    /// When the CPU, which nobody had, entered an idle state last.
    pub(super) went_idle: Option<u64>,
}

/// A change of who has a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) time: u64,
    pub(super) who: Who,
    /// When it got the CPU: before `time`, where an interrupt on its time is over.
    pub(super) since: u64,
    /// Whether the one before was runnable still.
    pub(super) left_ready: bool,
    /// Whether the scheduler keeps real-time threads of this CPU from running.
    pub(super) held: bool,
}

/// Who had one CPU, since a time.
#[derive(Clone, Debug)]
pub(super) struct History {
    entries: VecDeque<Entry>,
    limit: usize,
}

impl History {
    /// Keeps at most `limit` changes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            entries: VecDeque::new(),
            limit: limit.max(2),
        }
    }

    /// Notes a change.
    pub(super) fn now(&mut self, change: Change) {
        let Change {
            time,
            who,
            since,
            left_ready,
            held,
        } = change;
        match self.entries.back_mut() {
            Some(last) if (last.who, last.since) == (who, since) => return,
            // A change in the same nanosecond leaves nothing of the one before.
            Some(last) if last.from >= time => {
                (last.who, last.since, last.held) = (who, since, held);
                last.went_idle = None;
                return;
            }
            _ => {}
        }
        if self.entries.len() >= self.limit {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry {
            from: time,
            who,
            since,
            left_ready,
            held,
            went_idle: None,
        });
    }

    /// Notes that it enters an idle state.
    pub(super) fn goes_idle(&mut self, time: u64) {
        if let Some(last) = self.entries.back_mut()
            && matches!(last.who, Who::Idle { .. })
        {
            last.went_idle = Some(time);
        }
    }

    /// Forgets what was before `time`.
    pub(super) fn forget_before(&mut self, time: u64) {
        while self
            .entries
            .get(1)
            .is_some_and(|second| second.from <= time)
        {
            self.entries.pop_front();
        }
    }

    /// Returns who had the CPU from `from` to `to`, without gaps; before anything is known, nobody that is known.
    pub(super) fn cut(&self, from: u64, to: u64) -> impl Iterator<Item = Stretch> + use<'_> {
        let first = self.entries.partition_point(|entry| entry.from <= from);
        let known = self.entries.front().map_or(u64::MAX, |e| e.from);
        let before = (known > from && to > from).then_some(Stretch {
            from,
            to: to.min(known),
            who: Who::Unknown,
            began: from,
            left_ready: None,
            held: false,
            went_idle: None,
        });
        let entries = self.entries.range(first.saturating_sub(1)..);
        let next = self.entries.range(
            first
                .saturating_sub(1)
                .saturating_add(1)
                .min(self.entries.len())..,
        );
        let ends = next.map(Some).chain(std::iter::repeat(None));
        let stretches = entries.zip(ends).map_while(move |(entry, next)| {
            (entry.from < to).then(|| Stretch {
                from: entry.from.max(from),
                to: next.map_or(to, |next| next.from.min(to)),
                who: entry.who,
                began: entry.since,
                left_ready: next.map(|next| next.left_ready),
                held: entry.held,
                went_idle: entry.went_idle,
            })
        });
        let stretches = stretches.filter(|stretch| stretch.from < stretch.to);
        before.into_iter().chain(stretches)
    }

    /// Returns the last time before `time` at which `tid` had the CPU, and whether it was runnable afterwards.
    pub(super) fn last_of(&self, tid: Tid, time: u64) -> Option<(u64, bool)> {
        let upto = self.entries.partition_point(|entry| entry.from < time);
        (0..upto).rev().find_map(|n| {
            let entry = self.entries.get(n)?;
            let next = self.entries.get(n + 1)?;
            (entry.who.tid() == Some(tid)).then_some((next.from, next.left_ready))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::who::Names;

    fn task(tid: Tid) -> Who {
        Who::Task {
            tid,
            name: Names::UNKNOWN,
            prio: 120,
        }
    }

    fn change(time: u64, tid: Tid, left_ready: bool) -> Change {
        Change {
            time,
            who: task(tid),
            since: time,
            left_ready,
            held: false,
        }
    }

    fn cut(history: &History, from: u64, to: u64) -> Vec<(u64, u64, Option<Tid>)> {
        let stretches = history.cut(from, to);
        stretches.map(|s| (s.from, s.to, s.who.tid())).collect()
    }

    #[test]
    fn a_cut_has_no_gap_and_begins_with_what_is_not_known() {
        let mut history = History::new(100);
        assert_eq!(cut(&history, 3, 7), [(3, 7, None)]);
        history.now(change(10, 1, false));
        history.now(change(20, 2, true));
        history.now(change(20, 3, true));
        history.now(change(30, 1, false));
        assert_eq!(
            cut(&history, 5, 25),
            [(5, 10, None), (10, 20, Some(1)), (20, 25, Some(3))]
        );
        assert_eq!(
            cut(&history, 12, 40),
            [(12, 20, Some(1)), (20, 30, Some(3)), (30, 40, Some(1))]
        );
        assert_eq!(cut(&history, 40, 50), [(40, 50, Some(1))]);
        assert_eq!(cut(&history, 50, 50), []);
        assert_eq!(history.last_of(1, 25), Some((20, true)));
        assert_eq!(history.last_of(9, 25), None);
    }

    #[test]
    fn what_is_forgotten_is_not_made_up() {
        let mut history = History::new(3);
        for (n, tid) in (0..10).zip(0..) {
            history.now(change(n * 10, tid, false));
        }
        assert_eq!(cut(&history, 60, 75), [(60, 70, None), (70, 75, Some(7))]);
        history.forget_before(85);
        assert_eq!(
            cut(&history, 70, 95),
            [(70, 80, None), (80, 90, Some(8)), (90, 95, Some(9))]
        );
    }
}
