// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `tmpfs`: files in memory that are written and truncated.
//!
//! Each write takes pages from the kernel and fills them, each truncation gives them all back. The
//! files lie in the kernel's own tmpfs and have no name (memfd_create(2)), so nothing of them is
//! left, whatever ends the load.

use std::fmt;
use std::io::{self, Seek as _, Write as _};
use std::sync::Arc;

use super::kind::{Load, LoadKind, Site};
use super::parse::{Size, bytes};
use super::shift::Task;

pub(super) const KIND: LoadKind = LoadKind {
    name: "tmpfs",
    usage: "tmpfs[:SIZE]",
    help: &["threads that write files of SIZE in memory and truncate them [default: 4M]"],
    unit: "bytes",
    parse: |size, _| {
        let size = size.map_or(Ok(DEFAULT_FILE), bytes)?;
        Ok(Arc::new(Tmpfs { size }))
    },
    ..LoadKind::THREADS
};

/// What each thread writes before it truncates.
const DEFAULT_FILE: u64 = 4 << 20;

/// Length of a write in bytes.
const WRITE: usize = 64 << 10;

/// A thread a CPU that writes a file in memory and truncates it.
#[derive(Debug)]
struct Tmpfs {
    /// Size of each thread's file, in bytes.
    size: u64,
}

impl Load for Tmpfs {
    fn threads(&self, cpus: u32) -> u32 {
        cpus
    }

    fn memory(&self, threads: u32) -> u64 {
        self.size.saturating_mul(threads.into())
    }

    fn prepare(&self, _site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        (0..threads)
            .map(|_| write_and_truncate(self.size))
            .collect()
    }
}

impl fmt::Display for Tmpfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.size {
            DEFAULT_FILE => Ok(()),
            size => write!(f, ":{}", Size(size)),
        }
    }
}

/// Returns a task with a file of its own.
fn write_and_truncate(size: u64) -> io::Result<Task> {
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
