// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the threads of a run wait until every one of them is ready.

use std::sync::{Condvar, Mutex, PoisonError};

use punctual_model::Nanos;

/// What all threads wait at until every one of them is ready.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, Default)]
enum GateState {
    #[default]
    Closed,
    Open(Start),
    CalledOff,
}

/// How the threads start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Time zero on the run's clock.
    pub(crate) origin: Nanos,
    /// Whether the threads touch what they will need first, since it is not locked in memory.
    pub(crate) rehearse: bool,
    /// How much later than the thread before it each thread starts.
    pub(crate) stagger: Nanos,
    /// Samples to take after one was above the threshold.
    pub(crate) after_threshold: u32,
}

impl Gate {
    /// Lets the threads measure.
    pub(crate) fn open(&self, start: Start) {
        self.set(GateState::Open(start));
    }

    /// Sends the threads home.
    pub(crate) fn call_off(&self) {
        self.set(GateState::CalledOff);
    }

    fn set(&self, state: GateState) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_all();
    }

    /// Waits; returns how to start, or nothing when the run is called off.
    pub(crate) fn wait(&self) -> Option<Start> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match *state {
                GateState::Open(start) => return Some(start),
                GateState::CalledOff => return None,
                GateState::Closed => {
                    state = self
                        .changed
                        .wait(state)
                        .unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }
}
