// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ways to sleep to a deadline: one type a kernel interface, all behind [`Sleeper`].
//!
//! Every type takes its memory and descriptors in `new`; [`Sleeper::sleep_until`] is hot: it
//! allocates nothing, locks nothing, and enters the kernel only to sleep.

mod futex;
mod nanosleep;
mod posix;
mod timerfd;
mod uring;

pub use futex::Futex;
pub use nanosleep::{Nanosleep, Relative};
pub use posix::Posix;
pub use rustix::io::Errno;
pub use timerfd::Timerfd;
pub use uring::Uring;

use punctual_model::Nanos;

/// The number of the system call that [`Nanosleep`] sleeps in.
pub const CLOCK_NANOSLEEP: std::ffi::c_long = libc::SYS_clock_nanosleep;

/// Something that sleeps to a deadline on the clock that it was made for.
pub trait Sleeper {
    /// Sleeps until `deadline`.
    ///
    /// # Errors
    ///
    /// Fails with `EINTR` when a signal came first; the caller asks again, or ends. Fails with
    /// what the kernel interface says otherwise.
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use punctual_model::Clock;

    /// Sleeps as a caller does: an interruption, by a signal or by a stray futex wake of the test
    /// runner's, is followed by another try.
    fn sleep(sleeper: &mut dyn Sleeper, deadline: Nanos) {
        loop {
            match sleeper.sleep_until(deadline) {
                Err(Errno::INTR) => {}
                other => return other.unwrap(),
            }
        }
    }

    fn wakes_after_its_deadline(sleeper: &mut dyn Sleeper, clock: Clock) {
        for _ in 0..3 {
            let deadline = clock::read(clock) + Nanos::from_millis(2);
            sleep(sleeper, deadline);
            assert!(clock::read(clock) >= deadline);
        }
        // A deadline in the past does not block.
        sleep(sleeper, clock::read(clock) - Nanos::from_millis(1));
    }

    #[test]
    fn every_sleeper_wakes_after_its_deadline_on_every_clock_it_knows() {
        for clock in Clock::ALL.iter().copied() {
            wakes_after_its_deadline(&mut Nanosleep::new(clock), clock);
            wakes_after_its_deadline(&mut Relative::new(clock, Nanos::from_millis(2)), clock);
            wakes_after_its_deadline(&mut Posix::new(clock).unwrap(), clock);
            if clock != Clock::Tai {
                wakes_after_its_deadline(&mut Timerfd::new(clock).unwrap(), clock);
                wakes_after_its_deadline(&mut Uring::new(clock).unwrap(), clock);
            }
            if matches!(clock, Clock::Monotonic | Clock::Realtime) {
                wakes_after_its_deadline(&mut Futex::new(clock).unwrap(), clock);
            }
        }
    }

    #[test]
    fn clocks_that_an_interface_lacks_are_refused() {
        assert_eq!(Timerfd::new(Clock::Tai).unwrap_err(), Errno::INVAL);
        assert_eq!(Uring::new(Clock::Tai).unwrap_err(), Errno::INVAL);
        assert_eq!(Futex::new(Clock::Boottime).unwrap_err(), Errno::INVAL);
    }
}
