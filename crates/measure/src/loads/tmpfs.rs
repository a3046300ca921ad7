// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `tmpfs`: files in memory that are written and truncated.
//!
//! Each write takes pages from the kernel and fills them, each truncation gives them all back. The
//! files lie in the kernel's own tmpfs and have no name (memfd_create(2)), so nothing of them is
//! left, whatever ends the load.

use std::io::{self, Seek as _, Write as _};

use super::shift::Task;

/// Length of a write in bytes.
const WRITE: usize = 64 << 10;

/// Returns a task with a file of its own.
pub(super) fn prepare(size: u64) -> io::Result<Task> {
    let mut file = punctual_sys::memory::nameless_file("punctual-load")?;
    Ok(Box::new(move |shift| {
        let block = vec![0x55_u8; WRITE];
        while !shift.is_over() {
            file.rewind()?;
            let mut left = size;
            while left > 0 && !shift.is_over() {
                let part = usize::try_from(left).map_or(WRITE, |left| left.min(WRITE));
                file.write_all(block.get(..part).unwrap_or(&block))?;
                left -= part as u64;
                shift.did(part as u64);
            }
            file.set_len(0)?;
        }
        Ok(())
    }))
}
