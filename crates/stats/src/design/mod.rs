// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Designs of experiments, and what their cells say.
//!
//! - [`fraction`]: two-level fractional factorial designs of resolution III and IV, with what is
//!   aliased with what;
//! - [`contrast`]: main effects and interactions as contrasts between cells, judged by how they vary
//!   from block to block;
//! - [`pareto`]: which cells no other beats in everything.

pub mod contrast;
pub mod fraction;
mod pareto;

pub use contrast::{Contrast, ContrastResult, Factor, contrasts, estimate};
pub use fraction::{Fraction, FractionError, Resolution};
pub use pareto::pareto;
