// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a machine and its kernel are.
#![forbid(unsafe_code)]

pub mod apply;
pub mod boot;
pub mod journal;
pub mod knob;
pub mod one_shot;
pub mod plan;
pub mod private_dir;
mod processor;
pub mod profile;
pub mod session;

mod debugfs;
mod dma_latency;
mod doctor;
mod inspect;
mod machine;
mod mounts;
mod preemption;
#[cfg(test)]
mod testing;
mod virtualization;

pub use doctor::{
    NoProcess, Processes, advice_scope, advise, diagnose, judge_thread, process_rules, rules,
};
pub use inspect::inspect;
pub use machine::{Archive, ArchiveError, Machine, Reading, Scope, Unread};
pub use one_shot::stay;
