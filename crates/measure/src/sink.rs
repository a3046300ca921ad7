// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who listens to a run.

use std::error::Error;

use punctual_model::{Event, Nanos, Sample};
use punctual_sys::thread::Tid;

/// What a listener's failure is to the run: it ends, and this is the reason.
pub type SinkError = Box<dyn Error + Send + Sync>;

/// A listener: the store, the live view. Called on the thread that called
/// [`run`](crate::frame::run), never on a measuring thread.
pub trait Sink {
    /// Takes an event.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;

    /// Learns the kernel's numbers of the threads, and when on the run's clock they begin.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn begun(&mut self, _threads: &[Tid], _origin: Nanos) -> Result<(), SinkError> {
        Ok(())
    }

    /// Learns that the samples up to now have been passed on. Called only where the run's
    /// [`Pacing`](crate::pacing::Pacing) says so.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn tick(&mut self) -> Result<(), SinkError> {
        Ok(())
    }

    /// Takes samples of `thread`, oldest first. Called only for a run with `raw`.
    ///
    /// # Errors
    ///
    /// A failure ends the run.
    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError>;
}
