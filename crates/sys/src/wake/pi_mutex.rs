// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The hand-over of a mutex with priority inheritance.

use std::io;

use super::{Errno, Futex, Path};
use crate::mutex::{Protocol, ProtocolMutex};

/// The sender holds the mutex, the receiver waits for it, the sender lets it go.
///
/// The receiver can wait only when the sender has the mutex, so the sender makes it ready first, over a
/// futex: that wake-up is not the one that is timed.
#[derive(Debug)]
pub struct PiMutex {
    mutex: ProtocolMutex,
    ready: Futex,
}

impl Path for PiMutex {
    const ARMS: bool = true;
    const SLEEPS: u64 = 2;

    fn new() -> io::Result<Self> {
        Ok(Self {
            mutex: ProtocolMutex::new(Protocol::Inherit)?,
            ready: Futex::new()?,
        })
    }

    #[inline]
    fn arm(&self) -> Result<(), Errno> {
        self.mutex.lock()?;
        self.ready.wake()
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        self.mutex.unlock()
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        self.ready.wait()?;
        self.mutex.lock()
    }

    #[inline]
    fn done(&self) -> Result<(), Errno> {
        self.mutex.unlock()
    }
}
