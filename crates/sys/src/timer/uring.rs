// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An `io_uring` timeout with an absolute deadline.

use io_uring::types::{TimeoutFlags, Timespec};
use io_uring::{IoUring, opcode};
use punctual_model::{Clock, Nanos};

use super::{Errno, Sleeper};
use crate::clock;

/// Submits one timeout at a time and waits for its completion.
pub struct Uring {
    ring: IoUring,
    flags: TimeoutFlags,
    // The kernel copies it at submission; boxed so that it outlives a move of `self` anyway.
    at: Box<Timespec>,
    in_flight: bool,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring")
            .field("in_flight", &self.in_flight)
            .finish_non_exhaustive()
    }
}

impl Uring {
    /// Sets up a ring for timeouts on `clock`.
    ///
    /// # Errors
    ///
    /// Fails with `EINVAL` on `CLOCK_TAI`, and with what `io_uring_setup(2)` says: `ENOSYS`
    /// without `io_uring`, `EPERM` where it is disabled.
    pub fn new(clock: Clock) -> Result<Self, Errno> {
        let flags = match clock {
            Clock::Monotonic => TimeoutFlags::ABS,
            Clock::Realtime => TimeoutFlags::ABS | TimeoutFlags::REALTIME,
            Clock::Boottime => TimeoutFlags::ABS | TimeoutFlags::BOOTTIME,
            Clock::Tai => return Err(Errno::INVAL),
        };
        let ring = IoUring::new(2).map_err(|err| errno_of(&err))?;
        Ok(Self {
            ring,
            flags,
            at: Box::new(Timespec::new()),
            in_flight: false,
        })
    }
}

impl Sleeper for Uring {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        if !self.in_flight {
            let at = clock::to_timespec(deadline);
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "< 1e9"
            )]
            {
                *self.at = Timespec::new()
                    .sec(at.tv_sec as u64)
                    .nsec(at.tv_nsec as u32);
            }
            let entry = opcode::Timeout::new(&raw const *self.at)
                .flags(self.flags)
                .build();
            // SAFETY: `at` is boxed and lives as long as the ring; the kernel reads it during the
            // submission below, before anything can change it.
            let pushed = unsafe { self.ring.submission().push(&entry) };
            pushed.map_err(|_full| Errno::BUSY)?;
            self.in_flight = true;
        }
        self.ring.submit_and_wait(1).map_err(|err| errno_of(&err))?;
        let Some(done) = self.ring.completion().next() else {
            return Err(Errno::INTR);
        };
        self.in_flight = false;
        // Expiry is the purpose of a timeout; ETIME says that it came.
        match -done.result() {
            0 | libc::ETIME => Ok(()),
            errno => Err(Errno::from_raw_os_error(errno)),
        }
    }
}

fn errno_of(err: &std::io::Error) -> Errno {
    Errno::from_io_error(err).unwrap_or(Errno::IO)
}
