// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ways in which one thread wakes another.
//!
//! Each is a [`Path`] that both threads share. The functions of the threads' loops are hot: they
//! allocate nothing, and enter the kernel to wake, to wait and for nothing else.

mod condvar;
mod eventfd;
mod futex;
mod pi_mutex;
mod pipe;
mod queue;
mod signal;

use std::io;

pub use self::condvar::Condvar;
pub use self::eventfd::Eventfd;
pub use self::futex::Futex;
pub use self::pi_mutex::PiMutex;
pub use self::pipe::Pipe;
pub use self::queue::Queue;
pub use self::signal::Signal;
pub use rustix::io::Errno;

/// A way from one sender to one receiver.
///
/// The sender calls [`arm`](Path::arm) if [`ARMS`](Path::ARMS), then [`wake`](Path::wake); the receiver
/// [`prepare`](Path::prepare) once, then [`wait`](Path::wait) and [`done`](Path::done) in turn.
pub trait Path: Send + Sync + 'static {
    /// Whether the receiver can sleep only after the sender made ready for that.
    const ARMS: bool = false;

    /// Times that the receiver sleeps for each wake-up.
    const SLEEPS: u64 = 1;

    /// Makes the path.
    ///
    /// # Errors
    ///
    /// Fails with what the kernel or the C library says where it lacks the path.
    fn new() -> io::Result<Self>
    where
        Self: Sized;

    /// Makes the calling thread the receiver.
    ///
    /// # Errors
    ///
    /// Fails with what the kernel says.
    fn prepare(&self) -> io::Result<()> {
        Ok(())
    }

    /// Lets the receiver go to sleep on what [`wake`](Path::wake) will give.
    ///
    /// # Errors
    ///
    /// Fails with what the kernel says.
    fn arm(&self) -> Result<(), Errno> {
        Ok(())
    }

    /// Wakes the receiver.
    ///
    /// # Errors
    ///
    /// Fails with what the kernel says.
    fn wake(&self) -> Result<(), Errno>;

    /// Sleeps until the sender wakes.
    ///
    /// # Errors
    ///
    /// Fails with `EINTR` when a signal came first; the caller asks again, or ends. Fails with what
    /// the kernel says otherwise.
    fn wait(&self) -> Result<(), Errno>;

    /// Gives back what [`wait`](Path::wait) got.
    ///
    /// # Errors
    ///
    /// Fails with what the kernel says.
    fn done(&self) -> Result<(), Errno> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::time::{Duration, Instant};

    /// Sends some messages, each after the one before arrived.
    fn every_message_arrives_once<P: Path>() {
        const MESSAGES: u32 = 20;
        let path = Arc::new(P::new().unwrap());
        let (ready, seen) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let receiver = {
            let (path, ready, seen) = (Arc::clone(&path), Arc::clone(&ready), Arc::clone(&seen));
            std::thread::spawn(move || {
                path.prepare().unwrap();
                ready.store(true, Ordering::Release);
                while seen.load(Ordering::Relaxed) < MESSAGES {
                    match path.wait() {
                        Ok(()) => {
                            path.done().unwrap();
                            seen.fetch_add(1, Ordering::Release);
                        }
                        Err(errno) => assert_eq!(errno, Errno::INTR),
                    }
                }
            })
        };
        let until = |what: &dyn Fn() -> bool| {
            let end = Instant::now() + Duration::from_secs(1_800);
            while !what() {
                assert!(Instant::now() < end, "it does not arrive");
                std::thread::sleep(Duration::from_micros(50));
            }
        };
        until(&|| ready.load(Ordering::Acquire));
        for n in 0..MESSAGES {
            assert_eq!(seen.load(Ordering::Acquire), n);
            if P::ARMS {
                path.arm().unwrap();
                std::thread::sleep(Duration::from_millis(1));
                assert_eq!(
                    seen.load(Ordering::Acquire),
                    n,
                    "it did not wait for the wake"
                );
            }
            path.wake().unwrap();
            until(&|| seen.load(Ordering::Acquire) == n + 1);
        }
        receiver.join().unwrap();
    }

    #[test]
    fn a_futex_wakes() {
        every_message_arrives_once::<Futex>();
    }

    #[test]
    fn a_pipe_wakes() {
        every_message_arrives_once::<Pipe>();
    }

    #[test]
    fn an_eventfd_wakes() {
        every_message_arrives_once::<Eventfd>();
    }

    #[test]
    fn a_message_queue_wakes() {
        if Queue::new().is_err_and(|err| err.raw_os_error() == Some(libc::ENOSYS)) {
            // A kernel without CONFIG_POSIX_MQUEUE.
            return;
        }
        every_message_arrives_once::<Queue>();
    }

    #[test]
    fn a_signal_wakes() {
        every_message_arrives_once::<Signal>();
    }

    #[test]
    fn a_condition_variable_wakes() {
        every_message_arrives_once::<Condvar>();
    }

    #[test]
    fn a_mutex_is_handed_over() {
        every_message_arrives_once::<PiMutex>();
    }
}
