// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The error numbers of calls that have no other way to tell.

use std::io;

use rustix::io::Errno;

/// The error of the C library's call before, as `errno` has it.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
