// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The error numbers of calls that have no other way to tell.

use std::io;

use rustix::io::Errno;

/// Makes a result of what a call returned that returns 0 where it succeeds, and nothing to be read.
pub(crate) fn done(returned: impl Into<i64>) -> io::Result<()> {
    match returned.into() {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The error of the C library's call before, as `errno` has it.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
