// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A mark in the kernel's trace where a latency was above the limit of `-b`.

use punctual_sys::SysRoot;

use crate::output::remark;

/// Where tracefs is, the present place first.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The trace of the running kernel.
#[derive(Debug)]
pub(super) struct Trace {
    sys: SysRoot,
    place: &'static str,
}

impl Trace {
    /// Finds the trace.
    pub(super) fn find(sys: &SysRoot) -> Option<Self> {
        let there = |place: &&str| sys.exists(&format!("{place}/trace_marker"));
        PLACES.into_iter().find(there).map(|place| Self {
            sys: sys.clone(),
            place,
        })
    }

    /// Writes the mark, and stops a trace that is running, so that what led to it is not
    /// overwritten. A trace that is off is left alone: then nothing would take the mark either.
    pub(super) fn mark(&mut self, value: u64, limit: u64) {
        let on = format!("{}/tracing_on", self.place);
        if self.sys.fact::<u8>(&on) != Some(1) {
            remark("WARN: --tracemark: tracing is off, so no mark was written");
            return;
        }
        let mark = format!("hit latency threshold ({value} > {limit})\n");
        let marker = format!("{}/trace_marker", self.place);
        let written = self
            .sys
            .write(&marker, &mark)
            .and_then(|()| self.sys.write(&on, "0\n"));
        match written {
            Ok(()) => remark("INFO: --tracemark: the trace is stopped (tracing_on is 0)"),
            Err(err) => remark(&format!("WARN: --tracemark: {err}")),
        }
    }
}
