// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A condition variable of the C library, `pthread_cond_wait(3)`.

use std::cell::UnsafeCell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Errno, Path};
use crate::mutex::{Protocol, ProtocolMutex};

/// A flag, its mutex and its condition variable.
///
/// The sender sets the flag under the mutex, lets that go, and signals: a receiver that was signalled
/// under the mutex would only wait again, for the mutex.
pub struct Condvar {
    mutex: ProtocolMutex,
    /// In a place of its own: the C library's condition variables must not move.
    condition: Box<UnsafeCell<libc::pthread_cond_t>>,
    is_set: AtomicBool,
}

// SAFETY: a condition variable of the C library is made to be used by several threads at once.
unsafe impl Send for Condvar {}
// SAFETY: as above; every access goes through the C library's functions.
unsafe impl Sync for Condvar {}

impl std::fmt::Debug for Condvar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Condvar").finish_non_exhaustive()
    }
}

impl Path for Condvar {
    fn new() -> io::Result<Self> {
        Ok(Self {
            mutex: ProtocolMutex::new(Protocol::None)?,
            condition: Box::new(UnsafeCell::new(libc::PTHREAD_COND_INITIALIZER)),
            is_set: AtomicBool::new(false),
        })
    }

    // The receiver sleeps whenever it waits, so the mutex is free and locking it costs nothing: the
    // time of the signal is that of the wake-up.
    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        self.mutex.lock()?;
        self.is_set.store(true, Ordering::Relaxed);
        self.mutex.unlock()?;
        // SAFETY: the condition variable is initialised and has not moved since. It cannot fail.
        unsafe { libc::pthread_cond_signal(self.condition.get()) };
        Ok(())
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        self.mutex.lock()?;
        while !self.is_set.swap(false, Ordering::Relaxed) {
            // SAFETY: both are initialised and have not moved since; this thread holds the mutex.
            let rc = unsafe { libc::pthread_cond_wait(self.condition.get(), self.mutex.raw()) };
            if rc != 0 {
                return Err(Errno::from_raw_os_error(rc));
            }
        }
        self.mutex.unlock()
    }
}
