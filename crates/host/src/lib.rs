// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a machine and its kernel are.
#![forbid(unsafe_code)]

pub mod knob;

mod inspect;
mod preemption;

pub use inspect::inspect;
