// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Locking memory, and keeping it small enough to lock.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::mm::{MlockAllFlags, mlockall, munlockall};

/// Makes every thread allocate from one heap.
///
/// By default the C library reserves 64 MiB of address space for each allocating thread, and
/// locking counts all of it: 15 threads would lock close to 1 GB. Call it before any thread starts.
pub fn use_one_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: `mallopt` is called before other threads exist; a refused parameter changes nothing.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Makes an empty file in memory that has no name in any file system. It ends with its last
/// descriptor; /proc shows it as `name`.
///
/// # Errors
///
/// Fails as `memfd_create(2)` does.
pub fn nameless_file(name: &str) -> io::Result<File> {
    Ok(memfd_create(name, MemfdFlags::CLOEXEC)?.into())
}

/// A file in memory that programs started by this one can open.
#[derive(Debug)]
pub struct SharedMemory(File);

impl SharedMemory {
    /// Makes one with `content`. /proc shows it as `name`.
    ///
    /// # Errors
    ///
    /// Fails as `memfd_create(2)` and `write(2)` do.
    pub fn filled(name: &str, content: &[u8]) -> io::Result<Self> {
        // Inherited: a path through this process's number is closed to others where it has
        // capabilities that they lack.
        let mut file = File::from(memfd_create(name, MemfdFlags::empty())?);
        file.write_all(content)?;
        Ok(Self(file))
    }

    /// Returns the path under which a program that inherits it opens it.
    pub fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.0.as_raw_fd())
    }

    /// Returns the file.
    pub const fn file(&self) -> &File {
        &self.0
    }

    /// Returns what is in it now, whoever wrote it: `most` bytes at most.
    ///
    /// # Errors
    ///
    /// Fails as `pread(2)` does.
    pub fn content(&self, most: u64) -> io::Result<Vec<u8>> {
        let length = self.0.metadata()?.len().min(most);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let mut bytes = vec![0; length];
        self.0.read_exact_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

/// The process's memory is locked as long as this lives.
#[derive(Debug)]
pub struct LockedMemory(());

impl LockedMemory {
    /// Locks, and so makes present, all that is mapped now. What is mapped later is not locked:
    /// a measuring thread maps nothing, and everything else may fault.
    ///
    /// # Errors
    ///
    /// Fails with `EPERM` or `ENOMEM` when the memory is larger than `RLIMIT_MEMLOCK` and the
    /// process lacks `CAP_IPC_LOCK`.
    pub fn lock_all() -> io::Result<Self> {
        mlockall(MlockAllFlags::CURRENT)?;
        Ok(Self(()))
    }

    /// Locks what was mapped since: threads that were started have stacks of their own.
    ///
    /// # Errors
    ///
    /// As [`LockedMemory::lock_all`].
    pub fn renew(&self) -> io::Result<()> {
        Ok(mlockall(MlockAllFlags::CURRENT)?)
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // It fails for no reason that could be acted on; the lock ends with the process anyway.
        let _ = munlockall();
    }
}
