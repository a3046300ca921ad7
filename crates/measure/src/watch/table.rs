// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Every cycle as a line of a CSV table.

use std::fmt::Write as _;

use super::cycle::{Cycle, Phase};

/// The table, as bytes of CSV.
#[derive(Debug)]
pub(super) struct Table(String);

impl Table {
    pub(super) fn new() -> Self {
        let mut head = "tid,cycle,release_ns,asked,response_ns".to_owned();
        for phase in Phase::ALL {
            head.push(',');
            head.push_str(&phase.name().replace('-', "_"));
            head.push_str("_ns");
        }
        head.push('\n');
        Self(head)
    }

    /// Adds a cycle. Times are since `origin`, the start of the run.
    pub(super) fn add(&mut self, cycle: &Cycle, origin: u64) {
        // Writing to memory does not fail.
        let _ = write!(
            self.0,
            "{},{},{},{},{}",
            cycle.tid,
            cycle.number,
            cycle.release.saturating_sub(origin),
            u8::from(cycle.asked),
            cycle.response()
        );
        for ns in cycle.phases() {
            let _ = write!(self.0, ",{ns}");
        }
        self.0.push('\n');
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.0.into_bytes()
    }
}
