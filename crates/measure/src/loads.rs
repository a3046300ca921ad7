// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads: what disturbs a measurement, and proof that it did.
//!
//! Loads run in a process of their own, `punctual load`, so that they share no memory map and no
//! locked memory with the measuring threads, and so that they die with the measurement whatever
//! ends it. [`run`] is what that process does; [`LoadProcess`] is that process as the measurement
//! sees it. It says [`Report::Ready`] when every thread of every load has worked, then at once and
//! every [`REPORT_EVERY`] a [`Report::Work`] a load. A load whose rounds stand still makes the run
//! invalid: one thread that stands still is enough. Before it is ready
//! it may say [`Report::Preparing`]. Where something is unavailable, the process says [`Report::Refused`] instead, which the measurement tells as its own error.

mod check;
mod child;
mod compute;
mod disk;
mod foreign;
mod keeper;
mod kind;
mod ledger;
mod list;
mod own;
mod parse;
mod ping;
mod presets;
mod printk;
mod program;
mod registry;
mod report;
mod run;
mod sched;
mod settings;
mod shift;
mod spec;
mod tmpfs;
mod track;
mod tree;
mod words;

pub use child::LoadProcess;
pub use ledger::Ledger;
pub use list::LoadList;
pub use own::Role;
pub use parse::ParseLoadError;
pub use ping::Ping;
pub use registry::help;
pub use report::{Fault, NotAReport, Report};
pub use run::{be_first_to_go, run};
pub use settings::{Intensity, Settings};
pub use spec::LoadSpec;

use std::time::Duration;

/// Time between reports.
pub const REPORT_EVERY: Duration = Duration::from_millis(200);
