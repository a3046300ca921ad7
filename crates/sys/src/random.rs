// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Random bytes that nobody can guess.

use std::io;

use rustix::rand::{GetRandomFlags, getrandom};

/// Returns `N` bytes of the kernel's (getrandom(2)).
///
/// # Errors
///
/// `ENOSYS` where a filter forbids the call.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        filled += match getrandom(rest, GetRandomFlags::empty()) {
            Err(rustix::io::Errno::INTR) => 0,
            result => result?,
        };
    }
    Ok(bytes)
}
