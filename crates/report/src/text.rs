// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plain text without colours: [`page`] writes documents as wide as the terminal is.
//!
//! What cannot be believed says so first; what is missing is a `-` with its reason below; what was
//! lost, clamped or skipped is stated also when it is nothing.

mod layout;
mod number;
mod page;

use punctual_model::{Instrument, RunRecord};

use crate::document::{Document, Material, RunItem};

pub use number::scaled;
pub(crate) use number::{
    Micros, Missing, difference, digits, lasting, percent, policy, range, range_ends, share, span,
    tiny,
};
pub use page::page;
pub(crate) use punctual_verdict::number::unit as compared_unit;
pub(crate) use punctual_verdict::words::clean;

/// How much is said about a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Detail {
    /// What decides: the figures, and the checks that did not pass.
    #[default]
    Summary,
    /// All that the record has: shape, P-square, intervals and misses of each thread, every check.
    Full,
}

/// Says what a run says, in lines of `width` columns.
pub fn run(item: RunItem, width: usize, detail: Detail) -> String {
    let material = Material {
        runs: vec![item],
        ..Material::default()
    };
    page(&Document::new(&material), width, detail)
}

/// What the samples of a run have a deadline or are: `Wake-ups`.
pub(crate) fn events_of(run: &RunRecord) -> &'static str {
    Instrument::samples_of(&run.instrument).events
}

/// What a sample of a run is: `Latency`.
pub(crate) fn quantity_of(run: &RunRecord) -> String {
    Instrument::samples_of(&run.instrument).title.to_owned()
}
