// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The latency that the kernel's power management may add: `/dev/cpu_dma_latency`.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use punctual_model::Nanos;

use crate::{At as _, PathError, SysRoot};

const PATH: &str = "/dev/cpu_dma_latency";

/// A latency bound that holds as long as this lives; the kernel lifts it when the file closes,
/// also when the process is killed.
#[derive(Debug)]
pub struct HeldDmaLatency {
    _file: File,
}

impl HeldDmaLatency {
    /// Asks that no CPU goes into an idle state that takes longer than `bound` to leave.
    ///
    /// The kernel takes whole microseconds; a remainder is dropped, which asks for less latency.
    ///
    /// # Errors
    ///
    /// Fails when the file is missing (no cpuidle in the kernel) or may not be opened.
    pub fn hold(sys: &SysRoot, bound: Nanos) -> Result<Self, PathError> {
        let mut file = sys.open_held(PATH)?;
        let us = i32::try_from(bound.get() / 1_000).unwrap_or(i32::MAX);
        file.write_all(&us.to_ne_bytes())
            .at("write", Path::new(PATH))?;
        Ok(Self { _file: file })
    }
}
