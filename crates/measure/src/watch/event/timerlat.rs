// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel's timerlat tracer writes.

use super::super::account::{Noise, Note};
use super::{Of, Wanted, What};

/// What the timerlat tracer writes of each wake-up.
pub(super) const TIMERLAT: &str = "ftrace/timerlat";

/// What the timerlat tracer tells (kernel/trace/trace_osnoise.c, include/trace/events/osnoise.h).
pub(super) const OF_TIMERLAT: [Wanted; 5] = [
    Wanted {
        event: TIMERLAT,
        of: Of::All,
        without: Some(LATENCIES),
        read: |l, r, _| {
            let ns = l.unsigned(1, r)?;
            match l.number(0, r)? {
                0 => Some(What::Note(Note::IrqLatency(ns))),
                1 => Some(What::Note(Note::ThreadLatency(ns))),
                _ => None,
            }
        },
        fields: &["context", "timer_latency"],
    },
    Wanted {
        event: "osnoise/irq_noise",
        of: Of::All,
        without: Some(NOISE),
        read: |l, r, names| {
            let name = l.name(1, r, names)?;
            Some(What::Note(Note::Noise(Noise::Irq(name), l.unsigned(0, r)?)))
        },
        fields: &["duration", "desc"],
    },
    Wanted {
        event: "osnoise/softirq_noise",
        of: Of::All,
        without: Some(NOISE),
        read: |l, r, _| {
            let vec = u8::try_from(l.number(1, r)?).ok()?;
            Some(What::Note(Note::Noise(
                Noise::Softirq(vec),
                l.unsigned(0, r)?,
            )))
        },
        fields: &["duration", "vector"],
    },
    Wanted {
        event: "osnoise/thread_noise",
        of: Of::All,
        without: Some(NOISE),
        read: |l, r, names| {
            let noise = Noise::Thread(l.tid(1, r)?, l.name(2, r, names)?);
            Some(What::Note(Note::Noise(noise, l.unsigned(0, r)?)))
        },
        fields: &["duration", "pid", "comm"],
    },
    Wanted {
        event: "osnoise/nmi_noise",
        of: Of::All,
        without: Some(NOISE),
        read: |l, r, _| Some(What::Note(Note::Noise(Noise::Nmi, l.unsigned(0, r)?))),
        fields: &["duration"],
    },
];

const LATENCIES: &str = "what the timerlat tracer itself says of a wake-up";
const NOISE: &str = "what the timerlat tracer says took the time of a wake-up";
