// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `clock_nanosleep(2)`, absolute and relative.

use punctual_model::{Clock, Nanos};

use super::{Errno, Sleeper};
use crate::clock;

/// Sleeps to an absolute deadline.
#[derive(Clone, Copy, Debug)]
pub struct Nanosleep {
    clock: Clock,
}

impl Nanosleep {
    /// Makes a sleeper on `clock`.
    pub const fn new(clock: Clock) -> Self {
        Self { clock }
    }
}

impl Sleeper for Nanosleep {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        clock::sleep(self.clock, true, deadline)
    }
}

/// Sleeps for the span from now to the deadline, as code that knows no absolute sleep does.
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    clock: Clock,
}

impl Relative {
    /// Makes a sleeper on `clock`.
    pub const fn new(clock: Clock) -> Self {
        Self { clock }
    }

    /// Sleeps for `span`.
    ///
    /// # Errors
    ///
    /// Fails with `EINTR` when a signal came first.
    #[inline]
    pub fn sleep_for(&mut self, span: Nanos) -> Result<(), Errno> {
        clock::sleep(self.clock, false, span)
    }
}

impl Sleeper for Relative {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        let span = deadline.since(clock::read(self.clock));
        if span.is_zero() {
            return Ok(());
        }
        self.sleep_for(span)
    }
}
