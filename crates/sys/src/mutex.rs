// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! POSIX mutexes with a priority protocol (`pthread_mutexattr_setprotocol(3)`).
//!
//! They are made of the kind that checks for errors: whoever unlocks what is not theirs, or locks what
//! they have, gets an error and no undefined behaviour. That costs two comparisons.

use std::cell::UnsafeCell;
use std::io;
use std::mem::MaybeUninit;

use rustix::io::Errno;

/// What a mutex does about the priority of the thread that holds it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Protocol {
    /// Nothing: `PTHREAD_PRIO_NONE`.
    None,
    /// It is that of the most urgent thread that waits for it: `PTHREAD_PRIO_INHERIT`.
    Inherit,
    /// It is this one, from the locking on: `PTHREAD_PRIO_PROTECT`.
    Protect {
        /// The priority, 1 to 99. More urgent threads may not lock it.
        ceiling: u8,
    },
}

/// A mutex that guards nothing but the time between lock and unlock.
pub struct ProtocolMutex {
    /// In a place of its own: the C library's mutexes must not move.
    raw: Box<UnsafeCell<libc::pthread_mutex_t>>,
}

// SAFETY: a mutex of the C library is made to be used by several threads at once.
unsafe impl Send for ProtocolMutex {}
// SAFETY: as above; every access goes through the C library's functions.
unsafe impl Sync for ProtocolMutex {}

impl std::fmt::Debug for ProtocolMutex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProtocolMutex").finish_non_exhaustive()
    }
}

impl ProtocolMutex {
    /// Makes a mutex that nobody holds.
    ///
    /// # Errors
    ///
    /// Fails with `ENOTSUP` where the C library or the kernel lacks the protocol, and with `EINVAL`
    /// on a ceiling that is no priority.
    pub fn new(protocol: Protocol) -> io::Result<Self> {
        let mut attributes = MaybeUninit::<libc::pthread_mutexattr_t>::uninit();
        // SAFETY: `attributes` is writable.
        check(unsafe { libc::pthread_mutexattr_init(attributes.as_mut_ptr()) })?;
        let made = Self::with(attributes.as_mut_ptr(), protocol);
        // SAFETY: initialised above and not used afterwards.
        unsafe { libc::pthread_mutexattr_destroy(attributes.as_mut_ptr()) };
        made
    }

    /// `attributes` points to initialised attributes.
    fn with(attributes: *mut libc::pthread_mutexattr_t, protocol: Protocol) -> io::Result<Self> {
        let number = match protocol {
            Protocol::None => 0,
            Protocol::Inherit => 1,
            Protocol::Protect { .. } => 2,
        };
        // SAFETY: the caller's attributes are initialised.
        let checks =
            unsafe { libc::pthread_mutexattr_settype(attributes, libc::PTHREAD_MUTEX_ERRORCHECK) };
        check(checks)?;
        // SAFETY: as above. A number that the C library does not know is refused.
        check(unsafe { libc::pthread_mutexattr_setprotocol(attributes, number) })?;
        if let Protocol::Protect { ceiling } = protocol {
            set_ceiling(attributes, ceiling)?;
        }
        let raw = Box::new(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
        // SAFETY: the mutex is in its place for good, and nobody uses it yet.
        check(unsafe { libc::pthread_mutex_init(raw.get(), attributes) })?;
        Ok(Self { raw })
    }

    /// Waits until this thread holds the mutex.
    ///
    /// Hot path: allocates nothing.
    ///
    /// # Errors
    ///
    /// Fails with `EDEADLK` if this thread holds it already, and with `EINVAL` or `EPERM` if its
    /// priority is above the ceiling or may not be raised to it.
    #[inline]
    pub fn lock(&self) -> Result<(), Errno> {
        // SAFETY: the mutex is initialised and has not moved since.
        errno(unsafe { libc::pthread_mutex_lock(self.raw.get()) })
    }

    /// Lets the mutex go.
    ///
    /// Hot path: allocates nothing.
    ///
    /// # Errors
    ///
    /// Fails with `EPERM` if this thread does not hold it.
    #[inline]
    pub fn unlock(&self) -> Result<(), Errno> {
        // SAFETY: the mutex is initialised and has not moved since; it checks who unlocks it.
        errno(unsafe { libc::pthread_mutex_unlock(self.raw.get()) })
    }

    pub(crate) const fn raw(&self) -> *mut libc::pthread_mutex_t {
        self.raw.get()
    }
}

// It is not destroyed: on Linux a mutex is its memory and nothing else, and to destroy one that
// somebody still holds is undefined.

#[cfg(target_env = "gnu")]
fn set_ceiling(attributes: *mut libc::pthread_mutexattr_t, ceiling: u8) -> io::Result<()> {
    unsafe extern "C" {
        // pthread_mutexattr_setprioceiling(3p); the libc crate does not declare it.
        fn pthread_mutexattr_setprioceiling(
            attributes: *mut libc::pthread_mutexattr_t,
            ceiling: libc::c_int,
        ) -> libc::c_int;
    }
    // SAFETY: the caller's attributes are initialised; what is no priority is refused.
    check(unsafe { pthread_mutexattr_setprioceiling(attributes, ceiling.into()) })
}

#[cfg(not(target_env = "gnu"))]
fn set_ceiling(_: *mut libc::pthread_mutexattr_t, _: u8) -> io::Result<()> {
    Err(Errno::NOTSUP.into())
}

fn errno(rc: libc::c_int) -> Result<(), Errno> {
    match rc {
        0 => Ok(()),
        errno => Err(Errno::from_raw_os_error(errno)),
    }
}

pub(crate) fn check(rc: libc::c_int) -> io::Result<()> {
    Ok(errno(rc)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn mistakes_are_errors_and_not_undefined() {
        for protocol in [Protocol::None, Protocol::Inherit] {
            let mutex = ProtocolMutex::new(protocol).unwrap();
            assert_eq!(mutex.unlock(), Err(Errno::PERM));
            mutex.lock().unwrap();
            assert_eq!(mutex.lock(), Err(Errno::DEADLK));
            std::thread::scope(|scope| {
                let other = scope.spawn(|| mutex.unlock());
                assert_eq!(other.join().unwrap(), Err(Errno::PERM));
            });
            mutex.unlock().unwrap();
        }
        assert!(ProtocolMutex::new(Protocol::Protect { ceiling: 100 }).is_err());
    }

    #[test]
    fn only_one_thread_is_inside() {
        let mutex = Arc::new(ProtocolMutex::new(Protocol::Inherit).unwrap());
        let inside = Arc::<AtomicU32>::default();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (mutex, inside) = (Arc::clone(&mutex), Arc::clone(&inside));
                std::thread::spawn(move || {
                    for _ in 0..1_000 {
                        mutex.lock().unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                        inside.fetch_sub(1, Ordering::Relaxed);
                        mutex.unlock().unwrap();
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
    }
}
