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

/// Sleeps for one fixed span from now, as code that knows no absolute sleep does.
#[derive(Clone, Copy, Debug)]
pub struct Relative {
    clock: Clock,
    span: Nanos,
}

impl Relative {
    /// Makes a sleeper on `clock` that always asks for `span`.
    pub const fn new(clock: Clock, span: Nanos) -> Self {
        Self { clock, span }
    }
}

impl Sleeper for Relative {
    /// Sleeps for the span; the deadline is the caller's idea of when that ends.
    #[inline]
    fn sleep_until(&mut self, _deadline: Nanos) -> Result<(), Errno> {
        clock::sleep(self.clock, false, self.span)
    }
}
