// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Evidence of what no event of this kernel shows: time that a hypervisor took, and system management interrupts.

use punctual_model::CpuSet;
use punctual_sys::SysRoot;

use crate::noise::counters::Counters;

/// Who counts what no event tells, since a moment.
#[derive(Debug)]
pub(super) struct Outside {
    sys: SysRoot,
    cpus: CpuSet,
    before: Counters,
}

impl Outside {
    /// Begins to count on these CPUs.
    pub(super) fn begin(sys: &SysRoot, cpus: &CpuSet) -> Self {
        Self {
            sys: sys.clone(),
            cpus: cpus.clone(),
            before: Counters::read(sys, cpus),
        }
    }

    /// Says what was counted.
    pub(super) fn says(&self) -> String {
        let deltas = Counters::read(&self.sys, &self.cpus).since(&self.before);
        let stolen = deltas.stolen_ms.iter();
        let stolen: Vec<String> = stolen
            .map(|(cpu, ms)| format!("{ms} ms of CPU {cpu}"))
            .collect();
        let stolen = match stolen.is_empty() {
            true => "steal time cannot be read".to_owned(),
            false => format!(
                "the hypervisor took {} by the kernel's count (in steps of 10 ms)",
                stolen.join(", ")
            ),
        };
        let smi: Result<u32, String> = deltas.smi.into_values().sum();
        let smi = match smi {
            Ok(count) => format!("{count} system management interrupts were counted"),
            Err(why) => format!("system management interrupts cannot be counted: {why}"),
        };
        format!("{stolen}; {smi}")
    }
}
