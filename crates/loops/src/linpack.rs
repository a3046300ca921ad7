// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! LINPACK: dense systems of linear equations.

mod kernel;
mod lu;
mod panel;
mod system;

pub use kernel::{FmaLoop, FmaWork, instructions};
pub use lu::{Factorisation, Meter, Unsolved};
pub use system::{RESIDUAL_LIMIT, Residual, System};
