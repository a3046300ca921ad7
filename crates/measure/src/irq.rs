// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Interrupt latency apart from thread latency: the phases of each wake-up.
//!
//! A thread sleeps to a deadline as in the wake-up measurement, and the kernel records on the way:
//!
//! | phase | from | to |
//! |---|---|---|
//! | `delivery` | programmed expiry | the timer interrupt is handled |
//! | `handler` | | `sched_waking` of the thread |
//! | `irq-exit` | | the interrupt is handled |
//! | `switch` | | the thread is at the end of its system call |
//! | `return` | | the thread has read the clock |
//!
//! All are differences of times of one clock. The records go to a tracing instance of our own, which
//! the kernel fills and `events` reads as it stores them, with nanoseconds. Half of the run, in
//! blocks taken in turn, is measured without tracing: that is what tracing costs.
//!
//! Where the kernel has the timerlat tracer, that measures instead (`timerlat`): it is made for the
//! question, costs less and needs no threads of ours.

mod blocks;
mod events;
mod judge;
mod leftover;
mod marks;
mod pair;
mod probe;
mod timerlat;

use punctual_model::{Finding, Nanos};
use punctual_sys::tracefs::Tracefs;

use crate::error::MeasureError;
use crate::frame::{Found, Frame};

pub use self::leftover::sweep;
pub(crate) use self::leftover::{group as event_group, name as instance_name};

/// What to measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Irq {
    /// Time between the deadlines of a thread.
    pub interval: Nanos,
    /// What measures.
    pub source: IrqMethod,
    /// Whether the threads of the tracer are watched, and its account of their longest wake-ups is compared with ours.
    pub explain: bool,
}

/// What measures.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum IrqMethod {
    /// The tracer where the kernel has it and it can do what is asked, else the events.
    Auto,
    /// The kernel's timerlat tracer.
    Timerlat,
    /// Threads of ours and the kernel's trace events.
    Events,
}

/// Measures with one thread a CPU of the frame's set-up.
///
/// # Errors
///
/// [`MeasureError::Tracing`] where tracing is unavailable, [`MeasureError::Spec`] where the tracer that is asked for cannot do it;
/// else as a thread cannot be started or a sleep fails.
pub fn run(irq: Irq, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let tracefs = Tracefs::open_for_threads(frame.sys())?;
    let plan = match irq.source {
        IrqMethod::Events => return events::run(irq.interval, &tracefs, frame),
        IrqMethod::Auto | IrqMethod::Timerlat => {
            timerlat::plan(irq.interval, &frame.setup().cpus, &tracefs, frame.sys())
        }
    };
    match plan {
        Err(MeasureError::Lacks { .. }) if irq.source == IrqMethod::Auto && irq.explain => {
            Err(MeasureError::Spec {
                option: "--explain".to_owned(),
                reason:
                    "irq records the kernel's events itself, and this kernel has no timerlat tracer"
                        .to_owned(),
            })
        }
        Err(why @ (MeasureError::Lacks { .. } | MeasureError::Spec { .. }))
            if irq.source == IrqMethod::Auto && !irq.explain =>
        {
            let mut found = events::run(irq.interval, &tracefs, frame)?;
            let why = format!("measured by the kernel's trace events: {why}");
            found
                .findings
                .insert(0, Finding::observed("no-timerlat", why));
            Ok(found)
        }
        plan => timerlat::run(plan?, irq.explain, &tracefs, frame),
    }
}
