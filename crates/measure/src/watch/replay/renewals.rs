// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! When the kernel renewed quotas of CPU time. Its events tell of no group, so neither does this.

use std::collections::VecDeque;

/// Those that are remembered, at most: of a machine with that many in the past that is known they say nothing anyway.
const MOST: usize = 1 << 16;

/// Renewals are rare where they take up less than one part in this many of the time.
const RARE: u64 = 50;

/// Times at which quotas were renewed.
#[derive(Debug, Default)]
pub(in super::super) struct Renewals(VecDeque<u64>);

impl Renewals {
    pub(super) fn add(&mut self, time: u64) {
        if self.0.len() < MOST {
            self.0.push_back(time);
        }
    }

    pub(super) fn forget_before(&mut self, time: u64) {
        let forgotten = self.0.partition_point(|at| *at < time);
        self.0.drain(..forgotten);
    }

    /// Returns when the quota of some group was renewed first from `time` on.
    pub(in super::super) fn next(&self, time: u64) -> Option<u64> {
        let next = self.0.partition_point(|at| *at < time);
        self.0.get(next).copied()
    }

    /// Whether quotas are renewed so rarely that a stretch of `span` ns is unlikely to meet a renewal by chance. On a machine with many
    /// groups it often does, and that says nothing.
    pub(in super::super) fn are_rare(&self, span: u64) -> bool {
        let (Some(first), Some(last)) = (self.0.front(), self.0.back()) else {
            return true;
        };
        let between = self.0.len() as u64 - 1;
        between.saturating_mul(span) <= (last - first) / RARE
    }
}
