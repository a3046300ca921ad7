// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs and verdicts as text, pages, CSV, JSON and Parquet. Pure: values in, bytes out. What is true of runs is decided in
//! `punctual_verdict`.
//!
//! [`text`] is for people, [`export`] for programs, [`rules`] a page of documentation. The HdrHistogram log of a run is written when
//! the run is, and exported as it is.
#![forbid(unsafe_code)]

pub mod chart;
mod clock_or_count;
pub mod document;
mod escape;
pub mod export;
pub mod html;
pub mod markdown;
mod number;
pub mod openmetrics;
mod order;
pub mod rules;
pub mod text;
