// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `futex(2)`: a word in memory that the kernel knows waiters of.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self as kernel, Flags};

use super::{Errno, Path};

/// A word that is 1 when there is something, and a waiter that sets it back.
#[derive(Debug, Default)]
pub struct Futex {
    word: AtomicU32,
}

impl Path for Futex {
    fn new() -> io::Result<Self> {
        Ok(Self::default())
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        self.word.store(1, Ordering::Release);
        kernel::wake(&self.word, Flags::PRIVATE, 1).map(|_| ())
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        while self.word.swap(0, Ordering::Acquire) == 0 {
            match kernel::wait(&self.word, Flags::PRIVATE, 0, None) {
                // The word changed before the kernel looked.
                Ok(()) | Err(Errno::AGAIN) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}
