// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A signal to one thread, `tgkill(2)` and `sigwaitinfo(2)`.

use std::io;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicI32, Ordering};

use super::{Errno, Path};
use crate::errno::last;
use crate::mutex::check;
use crate::thread::Tid;

/// A blocked real-time signal for which the receiver waits: no handler runs.
#[derive(Debug)]
pub struct Signal {
    signals: libc::sigset_t,
    number: libc::c_int,
    receiver: AtomicI32,
}

impl Path for Signal {
    fn new() -> io::Result<Self> {
        // The C library keeps the first ones for itself; timers and interruptions have two.
        let number = libc::SIGRTMIN() + 3;
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `set` is writable; `sigemptyset` initialises all of it.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: initialised by the line above.
        let mut signals = unsafe { set.assume_init() };
        // SAFETY: `signals` is initialised and `number` is a valid number.
        unsafe { libc::sigaddset(&raw mut signals, number) };
        Ok(Self {
            signals,
            number,
            receiver: AtomicI32::new(0),
        })
    }

    fn prepare(&self) -> io::Result<()> {
        // SAFETY: `signals` is a live, initialised set; a null old set is allowed.
        let rc = unsafe {
            libc::pthread_sigmask(
                libc::SIG_BLOCK,
                &raw const self.signals,
                std::ptr::null_mut(),
            )
        };
        check(rc)?;
        self.receiver.store(Tid::current().get(), Ordering::Release);
        Ok(())
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        let receiver = self.receiver.load(Ordering::Acquire);
        if receiver == 0 {
            // Nobody blocks the signal yet: it would end the process.
            return Err(Errno::SRCH);
        }
        let process = std::process::id();
        // SAFETY: plain numbers; a thread that is gone is refused with ESRCH.
        let rc = unsafe { libc::syscall(libc::SYS_tgkill, process, receiver, self.number) };
        if rc == 0 { Ok(()) } else { Err(last()) }
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        // SAFETY: the set is initialised; a null siginfo is allowed.
        let signal = unsafe { libc::sigwaitinfo(&raw const self.signals, std::ptr::null_mut()) };
        if signal < 0 { Err(last()) } else { Ok(()) }
    }
}
