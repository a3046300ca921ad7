// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time: which boots that takes.
//!
//! A row is a kernel with a preemption model; a cell is a row under a load. Every row is booted once
//! a seed, and each boot measures under one load after the other. What the seeds give is a band from
//! the smallest value to the largest.

mod kernel;
mod plan;

pub use kernel::{Kernel, ParseKernelError};
pub use plan::{Baseline, Common, PlanError, Row, rows};
