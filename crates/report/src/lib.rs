// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs as text, CSV, JSON and Parquet. Pure: values in, bytes out.
//!
//! [`text`] is for people, [`export`] for programs, [`rules`] a page of documentation. The HdrHistogram log of a run is written when
//! the run is, and exported as it is.
#![forbid(unsafe_code)]

pub mod assessment;
mod bursts;
pub mod chart;
mod claims;
pub mod comparison;
pub mod document;
mod escape;
pub mod export;
pub mod extrapolation;
pub mod html;
pub mod markdown;
pub mod openmetrics;
mod order;
pub mod rules;
pub mod study;
pub mod text;
mod times;
