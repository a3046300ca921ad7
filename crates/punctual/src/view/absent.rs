// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The view in a guest, where nobody looks.

use punctual_model::{Event, Nanos};

use crate::signals::StopRequest;

/// Has no screen to give back.
pub(crate) const fn give_back(_printed_there: bool) {}

/// Shows nothing.
#[derive(Debug)]
pub(crate) enum View {
    /// As the whole program does with `--quiet`.
    Quiet,
}

impl View {
    /// Returns the only one.
    pub(crate) const fn pick(_quiet: bool, _stop: &StopRequest) -> Self {
        Self::Quiet
    }

    /// Sets no heading.
    pub(crate) const fn title(&mut self, _text: &str) {}

    /// Returns how often progress is said, for the store.
    pub(crate) const fn every(&self) -> Nanos {
        Nanos::from_secs(1)
    }

    /// Shows nothing of an event.
    pub(crate) const fn event(&mut self, _event: &Event) {}

    /// Has no screen to give back.
    pub(crate) const fn pause(&mut self) {}
}
