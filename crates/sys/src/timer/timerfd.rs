// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One-shot `timerfd`, armed for each deadline. A periodic timer measured worse.

use std::os::fd::OwnedFd;

use punctual_model::{Clock, Nanos};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

use super::{Errno, Sleeper};
use crate::clock;

/// Arms a timer descriptor and reads it.
#[derive(Debug)]
pub struct Timerfd {
    fd: OwnedFd,
}

impl Timerfd {
    /// Opens a timer descriptor on `clock`.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` on `CLOCK_TAI`, which `timerfd_create(2)` does not know.
    pub fn new(clock: Clock) -> Result<Self, Errno> {
        let id = match clock {
            Clock::Monotonic => TimerfdClockId::Monotonic,
            Clock::Realtime => TimerfdClockId::Realtime,
            Clock::Boottime => TimerfdClockId::Boottime,
            Clock::Tai => return Err(Errno::INVAL),
        };
        timerfd_create(id, TimerfdFlags::CLOEXEC).map(|fd| Self { fd })
    }
}

impl Sleeper for Timerfd {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        let once = Itimerspec {
            it_interval: Timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: clock::to_timespec(deadline),
        };
        timerfd_settime(&self.fd, TimerfdTimerFlags::ABSTIME, &once)?;
        let mut expirations = [0_u8; 8];
        rustix::io::read(&self.fd, &mut expirations).map(|_| ())
    }
}
