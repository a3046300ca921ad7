// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From runs to verdicts. Pure, values in and values out, but for `select`, which finds the runs that a user means.
//!
//! [`comparison`] tells groups of runs apart, [`requirement`] judges what was required of runs, [`assessment`] deadlines,
//! [`extrapolation`] what may lie beyond the largest sample, and [`study`] answers the questions of a published study. What is
//! said of a verdict in a sentence is here too, so that a terminal, a page and JSON say the same; how it is laid out is not.
#![forbid(unsafe_code)]

pub mod assessment;
pub mod bands;
pub mod bursts;
pub mod claims;
pub mod comparison;
pub mod extrapolation;
pub mod gate;
pub mod history;
pub mod machines;
pub mod number;
pub mod requirement;
#[cfg(feature = "select")]
pub mod select;
pub mod study;
pub mod trial;
pub mod words;
