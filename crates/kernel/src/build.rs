// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Builds: out of tree, logged, and resumable.
//!
//! A build lives in `builds/NAME/`: `obj/` is what make calls O=, next to it are `config`, `vmlinuz`, `build.log` and
//! `build.json`. Make is asked to end with all that it has started when the end is asked for; it removes what it was
//! writing, and the same order goes on from there. Time stamp, user and host in the kernel are fixed, so that the same
//! source and options give the same release and banner.

mod debian;
mod estimate;
mod prerequisites;
mod progress;
mod run;

pub use estimate::Estimate;
pub use progress::{Meter, Step};
pub use run::{BuildError, Order, build};
