// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Storage: how much fio reads and writes, how long each request takes, and how far repeats differ.

mod fio;
mod run;
mod workload;

pub(crate) use fio::bytes_done;
pub(crate) use run::fill;
pub use run::run;
pub use workload::{Access, AsyncEngine, Io, Job, Pattern};
