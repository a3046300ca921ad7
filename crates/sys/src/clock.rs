// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Clocks. Nothing here allocates; reading a clock is not a system call where the vDSO has it.

use punctual_model::{Clock, Nanos};
use rustix::io::Errno;
use rustix::time::Timespec;

const NS_PER_SEC: u64 = 1_000_000_000;

/// Reads `clock`.
///
/// Hot path: allocates nothing, locks nothing.
#[inline]
pub fn read(clock: Clock) -> Nanos {
    read_id(id(clock))
}

#[inline]
fn read_id(clock: libc::clockid_t) -> Nanos {
    let mut at = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `at` is live and writable. The clocks exist in every kernel since 3.10, so
    // the call cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut at) };
    from_timespec(at)
}

/// Reads `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic() -> Nanos {
    read(Clock::Monotonic)
}

/// Returns the CPU time that this thread has used.
#[inline]
pub fn thread_cpu() -> Nanos {
    read_id(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Reads `CLOCK_MONOTONIC_RAW`, which runs as the hardware does: nobody sets or slews it.
#[inline]
pub fn monotonic_raw() -> Nanos {
    read_id(libc::CLOCK_MONOTONIC_RAW)
}

/// Returns the resolution that the kernel states for `clock`.
pub fn resolution(clock: Clock) -> Nanos {
    let mut step = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `step` is writable and initialised, so a refusal leaves it zero.
    unsafe { libc::clock_getres(id(clock), &raw mut step) };
    from_timespec(step)
}

/// Sleeps on `clock` until `at` if `absolute`, else for `at`.
///
/// Hot path: allocates nothing, locks nothing.
#[inline]
pub(crate) fn sleep(clock: Clock, absolute: bool, at: Nanos) -> Result<(), Errno> {
    let at = to_timespec(at);
    let request = libc::timespec {
        tv_sec: at.tv_sec,
        tv_nsec: at.tv_nsec,
    };
    let flags = if absolute { libc::TIMER_ABSTIME } else { 0 };
    // SAFETY: `request` is live; a null remainder is allowed.
    let rc = unsafe {
        libc::clock_nanosleep(id(clock), flags, &raw const request, std::ptr::null_mut())
    };
    match rc {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

/// Returns the smallest step that `reads` readings of `clock` show, if the clock moved at all.
pub fn observed_step(clock: Clock, reads: u32) -> Option<Nanos> {
    let mut last = read(clock);
    let mut smallest: Option<Nanos> = None;
    for _ in 0..reads {
        let now = read(clock);
        let step = now.since(last);
        if !step.is_zero() {
            smallest = Some(smallest.map_or(step, |s| s.min(step)));
        }
        last = now;
    }
    smallest
}

pub(crate) const fn id(clock: Clock) -> libc::clockid_t {
    match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
        Clock::Tai => libc::CLOCK_TAI,
        Clock::Boottime => libc::CLOCK_BOOTTIME,
    }
}

#[inline]
pub(crate) const fn to_timespec(t: Nanos) -> Timespec {
    Timespec {
        tv_sec: (t.get() / NS_PER_SEC).cast_signed(),
        tv_nsec: (t.get() % NS_PER_SEC).cast_signed(),
    }
}

#[inline]
#[expect(clippy::cast_sign_loss, reason = "these clocks are never negative")]
const fn from_timespec(t: libc::timespec) -> Nanos {
    Nanos::new(t.tv_sec as u64 * NS_PER_SEC + t.tv_nsec as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_moves_forward() {
        for clock in Clock::ALL {
            let before = read(*clock);
            assert!(read(*clock) >= before, "{clock}");
            assert!(resolution(*clock).get() > 0, "{clock}");
        }
        assert!(observed_step(Clock::Monotonic, 1_000).is_some());
    }
}
