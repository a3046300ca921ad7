// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments: what is varied, in which order it is measured, and a state on disk that survives.
//!
//! [`mod@file`] reads an experiment, [`plan`] crosses its factors to cells and blocks, [`order`] shuffles
//! each block from a recorded seed, [`state`] keeps what is done, [`engine`] carries it out with
//! something that can do one run; [`shown`] is what of it is printed as JSON. Nothing here measures or changes a machine by itself.
#![forbid(unsafe_code)]

pub mod engine;
pub mod file;
pub mod order;
pub mod outcome;
pub mod parameters;
pub mod plan;
pub mod replan;
pub mod shown;
pub mod state;
pub mod study;
pub mod sweep;

mod error;
mod target;

pub use error::LabError;
