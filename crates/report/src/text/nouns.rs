// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the samples of each instrument are called: a release that spun the last stretch has no
//! wake-up latency, and a gap was nobody's deadline.

use punctual_model::RunRecord;

/// The words for the samples of a run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Nouns {
    /// Heading of the table.
    pub(crate) title: &'static str,
    /// Heading of a column of single values.
    pub(crate) value: &'static str,
    /// Heading of what has a deadline.
    pub(crate) events: &'static str,
}

/// Returns the words for `run`.
pub(crate) fn of(run: &RunRecord) -> Nouns {
    let (title, value, events) = match run.instrument.as_str() {
        "release" => ("Release lateness", "Lateness", "Releases"),
        "deadline" => ("Response time", "Response", "Iterations"),
        "noise" => ("Gaps", "Gap", "Gaps"),
        "pi" => ("Wait for the lock", "Wait", "Waits"),
        _ => ("Latency", "Latency", "Wake-ups"),
    };
    Nouns {
        title,
        value,
        events,
    }
}
