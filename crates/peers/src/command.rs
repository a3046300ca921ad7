// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The command line of cyclictest of rt-tests 2.4 to 2.10, with what was dropped before.
//!
//! `getopt` takes a line apart as `getopt_long(3)` does, `options` understands it.

mod getopt;
mod number;
mod options;

pub use options::{Affinity, Class, IdleStates, Options, Refused, parse};
