// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A guest, which nobody tunes.

use punctual_model::HostFacts;
use punctual_sys::SysRoot;

/// Reads the facts of the machine.
pub(crate) fn host_facts(sys: &SysRoot) -> HostFacts {
    punctual_host::inspect(sys)
}
