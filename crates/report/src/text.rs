// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plain text without colours: [`page`] writes documents as wide as the terminal is, what has no document is said here in at
//! most [`WIDTH`] columns.
//!
//! What cannot be believed says so first; what is missing is a `-` with its reason below; what was
//! lost, clamped or skipped is stated also when it is nothing.

mod diagnosis;
mod guest;
mod kernel;
mod latency_test;
mod layout;
mod number;
mod one_shot;
mod page;
mod requirement;
mod too_short;
mod tuning;
mod words;

use punctual_model::{Instrument, RunRecord};

use crate::document::{Document, Material, RunItem};

pub use diagnosis::{
    checked_config, diagnosis, process_diagnosis, process_verdict, verdict as rule_verdict,
};
pub(crate) use diagnosis::{found as diagnosis_found, meaning, remedy as diagnosis_remedy};
pub use guest::guest_boot;
pub(crate) use guest::{HEADING, VIRTUAL};
pub use kernel::{
    bisected, config_difference, kernel_builds, kernel_config, kernel_stock, patched, rebased,
};
pub use latency_test::latency_test;
pub(crate) use layout::clean;
pub use number::scaled;
pub(crate) use number::{
    Micros, Missing, difference, digits, percent, policy, range, range_ends, share, span, tiny,
};
pub use one_shot::{one_shot_plan, one_shot_status};
pub use page::page;
pub(crate) use punctual_verdict::number::unit as compared_unit;
pub(crate) use requirement::requirement;
pub(crate) use too_short::too_short;
pub use tuning::{boot, knobs, plan, trial, tuning};
pub(crate) use words::{duration, host_facts, measured, run_facts, seconds_of};

/// The width of the text in columns. Only what cannot be broken is longer.
pub const WIDTH: usize = 80;

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
