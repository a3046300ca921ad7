// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `eventfd(2)`: a counter behind a descriptor.

use std::io;
use std::os::fd::OwnedFd;

use rustix::event::{EventfdFlags, eventfd};

use super::{Errno, Path};

/// A counter that the sender raises and the receiver takes.
#[derive(Debug)]
pub struct Eventfd {
    fd: OwnedFd,
}

impl Path for Eventfd {
    fn new() -> io::Result<Self> {
        let fd = eventfd(0, EventfdFlags::CLOEXEC)?;
        Ok(Self { fd })
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        rustix::io::write(&self.fd, &1_u64.to_ne_bytes()).map(|_| ())
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        rustix::io::read(&self.fd, &mut [0_u8; 8]).map(|_| ())
    }
}
