// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a quota of its group kept an ordinary thread from running.

use super::super::history::Stretch;
use super::super::who::Who;
use super::{AWAKE, Cut, NOT_IDLE};

/// Time after which a thread has an idle CPU, or one of a thread that gives way, once the quota of its group is renewed. That a renewal
/// falls into it by chance is as likely as this is part of the time between renewals: one in a thousand where that is the usual 100 ms.
const RENEWED: u64 = 100_000;

impl Cut<'_> {
    /// Returns the time until which the scheduler did not let an ordinary thread run that is ready since `ready`, and has the CPU after
    /// the last of `stretches`: a quota of its group was used up. That had begun when the thread was ready, and ends when the quota is
    /// renewed. It shows where the CPU went idle all the same, or where the thread waited until a quota was renewed, and no longer.
    pub(super) fn held_until(&self, stretches: &[Stretch], ready: u64, woken: bool) -> u64 {
        let Some(end) = stretches.last().map(|last| last.to) else {
            return 0;
        };
        if self.thread.prio < 100 {
            return 0;
        }
        let renewed = self.replay.renewals.next(end.saturating_sub(RENEWED));
        if let Some(renewed) = renewed.filter(|at| *at < end && end - ready > NOT_IDLE)
            && self.replay.renewals.are_rare(RENEWED)
        {
            return renewed;
        }
        // Whoever wakes a thread of another CPU has not told that CPU yet.
        let told = if woken { NOT_IDLE } else { AWAKE };
        let idle = stretches.iter().filter(|of| {
            matches!(of.who, Who::Idle { .. }) && of.began > ready && of.to - of.from > told
        });
        let Some(last) = idle.map(|of| of.to).max() else {
            return 0;
        };
        self.replay.renewals.next(last).unwrap_or(last)
    }
}
