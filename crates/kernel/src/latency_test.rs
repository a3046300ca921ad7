// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time: which boots that takes, and what their figures say.
//!
//! A row is a kernel with a preemption model; a cell is a row beside a load. Every row is booted once
//! a seed, and each boot measures beside one load after the other. What the seeds give is a band from
//! the smallest value to the largest. A cell is worse than its baseline when its whole band lies above
//! the other one: of two equal kernels with N seeds each that happens by chance, in one or the other
//! direction, with probability 2 / C(2N, N), all orders of the 2N values being equally probable.

mod bands;
mod kernel;
mod plan;

pub use bands::{CellInput, chance, conclude, run_of};
pub use kernel::{Kernel, ParseKernelError};
pub use plan::{Baseline, Load, PlanError, Row, Test, rows};
