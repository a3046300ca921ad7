// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `pipe(2)`: a byte written, a byte read.

use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};

use super::{Errno, Path};

/// Both ends of a pipe.
#[derive(Debug)]
pub struct Pipe {
    reader: OwnedFd,
    writer: OwnedFd,
}

impl Path for Pipe {
    fn new() -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self { reader, writer })
    }

    #[inline]
    fn wake(&self) -> Result<(), Errno> {
        rustix::io::write(&self.writer, &[1]).map(|_| ())
    }

    #[inline]
    fn wait(&self) -> Result<(), Errno> {
        rustix::io::read(&self.reader, &mut [0_u8; 1]).map(|_| ())
    }
}
