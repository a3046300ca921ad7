// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Other kernels than the one that runs: where they come from, and what becomes of them in a guest.
//!
//! [`boot`] starts a kernel in QEMU with an initial RAM file system that is made in memory: this
//! program is all that is in it. [`guest`] is what the host and this program as a guest's first process
//! say to each other.
//!
//! [`source`] keeps sources and images, [`patch`] puts a series into a source whole or not at all,
//! [`config`] makes a configuration and says what was not honoured,
//! [`build`] runs make and keeps what it built. [`rebase`] puts a vendor's
//! branch on another one, [`bisect`] finds the commit that made something worse.
#![forbid(unsafe_code)]

pub mod bisect;
pub mod boot;
pub mod build;
pub mod config;
pub mod guest;
pub mod latency_test;
pub mod modules;
pub mod package;
pub mod patch;
pub mod rebase;
pub mod source;

mod beneath;
mod file;
mod git;
mod target;
mod tool;
mod unpack;

pub use target::{GuestTarget, ParseTargetError};
pub use tool::ToolError;
pub use unpack::UnpackError;
