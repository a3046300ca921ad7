// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plain text without colours: [`page`] writes documents as wide as the terminal is.
//!
//! What cannot be believed says so first; what is missing is a `-` with its reason below; what was
//! lost, clamped or skipped is stated also when it is nothing.

mod layout;
mod page;

use crate::document::{Document, Material, RunItem};

pub use crate::number::scaled;
pub use page::page;

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
