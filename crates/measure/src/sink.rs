// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who listens to a run.

use std::error::Error;

use punctual_model::{Event, Sample};

/// What a listener's failure is to the run: it ends, and this is the reason.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// A listener: the store, the live view. Called on the thread that called
/// [`run`](crate::wakeup::run), never on a measuring thread.
pub trait Sink {
    /// Takes an event.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;

    /// Takes samples of `thread`, oldest first. Called only for a run with `raw`.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError>;
}
