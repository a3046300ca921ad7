// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Memory: how fast it is copied, streamed and reached at random places, from each CPU node in the memory of each node.

mod nodes;
mod run;

pub use punctual_loops::memory::Kernel;
pub use run::{Memory, run};
