// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Designs of experiments, and what their cells say.
//!
//! - [`fraction`]: two-level fractional factorial designs of resolution III and IV, with what is
//!   aliased with what;
//! - [`contrast`]: main effects and interactions as contrasts between cells, judged by how they vary
//!   from block to block;
//! - [`joint_p`]: whether the levels of a factor differ at all;
//! - [`pareto`]: which cells no other beats in everything.

pub mod contrast;
pub mod fraction;
mod joint;
mod pareto;

pub use contrast::{Contrast, ContrastResult, Factor, contrasts, estimate};
pub use fraction::{Fraction, FractionError, Resolution};
pub use joint::joint_p;
pub use pareto::pareto;
