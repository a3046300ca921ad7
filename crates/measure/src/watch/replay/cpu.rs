// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One CPU: who has it, and the interrupts on top of that.

use super::super::history::{Change, History};
use super::super::who::{Tid, Who};

/// What an entry on the stack of interrupts ends with.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Nest {
    Irq,
    Vector,
    Softirq,
    Timer,
}

/// One CPU.
#[derive(Debug)]
pub(super) struct Cpu {
    /// The thread, or nobody, below all interrupts.
    pub(super) base: Who,
    /// When it got the CPU.
    pub(super) since: u64,
    /// Whether the scheduler took it from a real-time thread that was runnable still, for one of a lower class or nobody:
    /// real-time throttling, or the server of ordinary threads. It lasts until a real-time thread has it again.
    pub(super) held: bool,
    /// Real-time threads that lost it while they were runnable, and have not run since.
    pub(super) waiting: Vec<Tid>,
    pub(super) stack: Vec<(Nest, Who)>,
    /// When it last went out of an idle state, while nobody has it.
    pub(super) idle_ended: Option<u64>,
    pub(super) history: History,
}

impl Cpu {
    pub(super) fn top(&self) -> Who {
        self.stack.last().map_or(self.base, |(_, who)| *who)
    }

    /// Notes who has it from `time` on, after a change.
    pub(super) fn note(&mut self, time: u64, left_ready: bool) {
        let since = if self.stack.is_empty() {
            self.since
        } else {
            time
        };
        self.history.now(Change {
            time,
            who: self.top(),
            since,
            left_ready,
            held: self.held,
        });
    }

    /// It runs, has ended, or is on another CPU.
    pub(super) fn no_longer_waits(&mut self, tid: Tid) {
        self.waiting.retain(|waiting| *waiting != tid);
    }

    pub(super) fn is_idle(&self) -> bool {
        matches!(self.base, Who::Idle { .. })
    }
}
