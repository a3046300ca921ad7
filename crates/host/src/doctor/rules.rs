// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The rules, by what they look at.

mod container;
mod cpus;
mod debugging;
mod environment;
mod frequency;
mod idle;
mod interrupts;
mod kernel;
mod memory;
mod scheduling;
mod time;
mod tracing;

use super::case::Entry;

/// Why a rule about CPUs set apart says nothing.
pub(super) const NOT_APART: &str = "all CPUs are judged; name those for real-time work with --cpus";

/// Returns every rule, in the order of the documentation.
pub(super) fn all() -> impl Iterator<Item = &'static Entry> {
    [
        kernel::RULES,
        cpus::RULES,
        scheduling::RULES,
        idle::RULES,
        frequency::RULES,
        time::RULES,
        interrupts::RULES,
        memory::RULES,
        tracing::RULES,
        debugging::RULES,
        environment::RULES,
        container::RULES,
    ]
    .into_iter()
    .flatten()
}
