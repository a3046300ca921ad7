// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The settings of a machine that tuning knows: their names, where they are, how their values are
//! read and written, what a change costs, and how completely it can be taken back.

mod access;
mod place;
mod registry;
mod survey;
mod threads;

pub use access::{Access, AccessError, Fault, Live, Patient};
pub use place::Place;
pub use registry::{KNOBS, Knob, KnobKind, Threads, find};
pub(crate) use registry::{Part, all, of_threads, playing};
pub(crate) use survey::ABSENT;
pub use survey::{BalancedSet, PartitionRoot, Reading, Scope, Survey};
pub use threads::{Thread, list as list_threads, read as thread_of};
