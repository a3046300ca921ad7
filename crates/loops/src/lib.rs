// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loops whose own speed is what is measured: over memory, and through a factorisation.
//!
//! They are a crate of their own since a compiler's options are chosen for a crate: these are as fast as can be also in a program that
//! is made to be small.

pub mod linpack;
pub mod memory;
