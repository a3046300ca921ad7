// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune` as its users run it: on machines of files, and as root on this one.
//!
//! Everything that is changed on this machine is small, short, and compared with a dump taken from
//! outside of the program.
#![expect(clippy::unwrap_used, reason = "test helpers")]

#[path = "../common/mod.rs"]
#[expect(dead_code, reason = "shared with tests that use more of it")]
mod common;

mod alone;
mod bad_input;
mod boot;
mod experiment;
mod files;
mod keeper;
mod kill;
mod live;
mod measure;
mod namespace;
mod package;
mod record;
mod study;
mod tree;
mod trial;
