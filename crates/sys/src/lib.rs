// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel boundary: every system call and every access to `/proc`, `/sys` and `/dev`.
//!
//! The one crate with `unsafe`: each block does one thing and says why it may. Wrappers are small
//! and safe. Files of the kernel are reached through a [`SysRoot`] that the caller passes in.
#![allow(
    unsafe_code,
    reason = "system calls that no safe library wraps; every other crate forbids it"
)]

pub mod calls;
pub mod child;
pub mod clock;
pub mod compute_loop;
pub mod dense;
pub mod dir;
pub mod guest;
pub mod icmp;
pub mod keep;
pub mod kernel_log;
pub mod kexec;
pub mod limits;
pub mod memory;
pub mod msr;
pub mod mutex;
pub mod namespace;
pub mod netns;
pub mod pages;
pub mod proc;
pub mod process;
pub mod random;
pub mod sched;
pub mod sched_ext;
pub mod scratch;
pub mod socket;
pub mod terminal;
pub mod thread;
pub mod timer;
pub mod tracefs;
pub mod tsc;
pub mod wake;

mod dma_latency;
mod errno;
mod fifo;
mod path_error;
mod root;

pub use dma_latency::HeldDmaLatency;
pub use fifo::make_fifo;
pub use path_error::{At, PathError, if_there};
pub use root::SysRoot;
