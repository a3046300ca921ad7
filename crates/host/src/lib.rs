// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a machine and its kernel are.
#![forbid(unsafe_code)]

mod boot;
pub mod knob;
pub mod plan;
pub mod profile;

mod inspect;
mod preemption;
#[cfg(test)]
mod testing;

pub use inspect::inspect;
