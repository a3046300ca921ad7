// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Instruments and loads: the hot loops, their recorder, validity checks.
#![forbid(unsafe_code)]

pub mod crew;
pub mod cyclic;
pub mod deadline;
pub mod duty;
pub mod frame;
mod interim_checks;
pub mod interrupts;
pub mod io;
pub mod ipc;
pub mod irq;
pub mod linpack;
pub mod loads;
pub mod memory;
pub mod noise;
pub mod pacing;
pub mod pi;
pub mod refusal;
pub mod release;
pub mod stream;
pub mod task_set;
pub mod wakeup;
pub mod watch;
pub mod work;

mod available;
mod bpf_scheduler;
mod budget;
mod cgroup;
mod checks;
mod conditions;
mod ends;
mod error;
mod figures;
mod free_memory;
mod gate;
mod held;
mod median;
mod pool;
mod program;
mod quota;
mod rates;
mod repeats;
mod sink;
mod steadiness;
mod tasks;
#[cfg(test)]
mod testing;
mod throttling;
mod trace;

pub use error::MeasureError;
pub use sink::{Sink, SinkError};
