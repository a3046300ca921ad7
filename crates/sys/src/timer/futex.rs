// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A futex wait that nobody wakes: what a condition variable with a timeout sleeps in.

use std::num::NonZeroU32;
use std::sync::atomic::AtomicU32;

use punctual_model::{Clock, Nanos};
use rustix::thread::futex::{self, Flags};

use super::{Errno, Sleeper};
use crate::clock;

/// Waits on a word of its own until the deadline.
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
    flags: Flags,
}

impl Futex {
    /// Makes a sleeper on `clock`.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` unless `clock` is the monotonic or the real-time clock; `futex(2)`
    /// knows no other.
    pub const fn new(clock: Clock) -> Result<Self, Errno> {
        let flags = match clock {
            Clock::Monotonic => Flags::PRIVATE,
            Clock::Realtime => Flags::PRIVATE.union(Flags::CLOCK_REALTIME),
            Clock::Tai | Clock::Boottime => return Err(Errno::INVAL),
        };
        Ok(Self {
            word: AtomicU32::new(0),
            flags,
        })
    }
}

impl Sleeper for Futex {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        let at = clock::to_timespec(deadline);
        match futex::wait_bitset(&self.word, self.flags, 0, Some(&at), NonZeroU32::MAX) {
            // The timeout is the purpose.
            Err(Errno::TIMEDOUT) => Ok(()),
            // Woken by nobody: spurious; the caller asks again.
            Ok(()) => Err(Errno::INTR),
            Err(errno) => Err(errno),
        }
    }
}
