// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! POSIX interval timers: `timer_create(2)` with a signal to this thread, `sigwaitinfo(2)`.

use std::mem::MaybeUninit;

use punctual_model::{Clock, Nanos};

use super::{Errno, Sleeper};
use crate::clock;
use crate::errno::last;

/// Arms a one-shot timer and waits for its signal.
///
/// The timer signals the thread that called [`Posix::new`]: sleep on that thread.
#[derive(Debug)]
pub struct Posix {
    timer: libc::timer_t,
    signals: libc::sigset_t,
}

impl Posix {
    /// Makes a timer on `clock` for the calling thread, in which its signal stays blocked.
    ///
    /// # Errors
    ///
    /// Fails with what `timer_create(2)` says.
    pub fn new(clock: Clock) -> Result<Self, Errno> {
        let signal = timer_signal();
        let signals = only(signal);
        // SAFETY: `signals` is a live, initialised set; a null old set is allowed.
        let rc = unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const signals, std::ptr::null_mut())
        };
        if rc != 0 {
            return Err(Errno::from_raw_os_error(rc));
        }
        // SAFETY: `sigevent` is plain integers and pointers, for which all-zero is valid.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer = MaybeUninit::<libc::timer_t>::uninit();
        // SAFETY: `event` is initialised, `timer` is writable; both live through the call.
        let rc =
            unsafe { libc::timer_create(clock::id(clock), &raw mut event, timer.as_mut_ptr()) };
        if rc != 0 {
            return Err(last());
        }
        Ok(Self {
            // SAFETY: `timer_create` returned 0, so it wrote the identity.
            timer: unsafe { timer.assume_init() },
            signals,
        })
    }
}

impl Sleeper for Posix {
    #[inline]
    fn sleep_until(&mut self, deadline: Nanos) -> Result<(), Errno> {
        let at = clock::to_timespec(deadline);
        let once = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: libc::timespec {
                tv_sec: at.tv_sec,
                tv_nsec: at.tv_nsec,
            },
        };
        // SAFETY: the timer is ours until drop; `once` is live; a null old value is allowed.
        let rc = unsafe {
            libc::timer_settime(
                self.timer,
                libc::TIMER_ABSTIME,
                &raw const once,
                std::ptr::null_mut(),
            )
        };
        if rc != 0 {
            return Err(last());
        }
        // SAFETY: the set is initialised; a null siginfo is allowed.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.signals, std::ptr::null_mut()) };
        if signal < 0 { Err(last()) } else { Ok(()) }
    }
}

impl Drop for Posix {
    fn drop(&mut self) {
        // SAFETY: the timer is ours and not used afterwards. It cannot fail for a live timer.
        unsafe { libc::timer_delete(self.timer) };
    }
}

/// The real-time signal of the timers. The C library keeps the first ones for itself.
fn timer_signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

fn only(signal: libc::c_int) -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `set` is writable; `sigemptyset` initialises all of it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: initialised by the line above.
    let mut set = unsafe { set.assume_init() };
    // SAFETY: `set` is initialised and `signal` is a valid number.
    unsafe { libc::sigaddset(&raw mut set, signal) };
    set
}
