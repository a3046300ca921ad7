// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Locking memory, and keeping it small enough to lock.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::ptr;

use rustix::fs::{MemfdFlags, major, memfd_create, minor};
use rustix::mm::{MlockAllFlags, mlock, mlockall, munlockall};

use crate::SysRoot;

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
        // To walk once more over the program, which stays as it was mapped, takes longer than all else that is done before a start.
        let renewed = beside_the_program().is_some_and(|ranges| {
            ranges.into_iter().all(|(from, length)| {
                // SAFETY: it changes no memory and frees none; what is not mapped any more is an error.
                unsafe { mlock(ptr::without_provenance_mut(from), length) }.is_ok()
            })
        });
        if !renewed {
            // Something was unmapped meanwhile, or is of a kind that cannot be locked alone.
            mlockall(MlockAllFlags::CURRENT)?;
        }
        Ok(())
    }
}

/// Returns where memory that can be read begins, and its length in bytes, without that of the program's own file: each line of
/// `/proc/self/maps` (proc_pid_maps(5)) has `FROM-END ACCESS OFFSET MAJOR:MINOR INODE`, all hexadecimal but the last.
fn beside_the_program() -> Option<Vec<(usize, usize)>> {
    let program = fs::metadata("/proc/self/exe").ok()?;
    let file = format!(
        "{:02x}:{:02x} {} ",
        major(program.dev()),
        minor(program.dev()),
        program.ino()
    );
    let range = |line: &str| {
        let (range, rest) = line.split_once(' ')?;
        let (access, rest) = rest.split_once(' ')?;
        let (_, of) = rest.split_once(' ')?;
        let (from, end) = range.split_once('-')?;
        let [from, end] = [from, end].map(|at| usize::from_str_radix(at, 16).ok());
        let kept = access.starts_with('r') && !of.starts_with(&file);
        Some((from?, end?.checked_sub(from?)?)).filter(|_| kept)
    };
    let maps = SysRoot::live().read_lossy("/proc/self/maps").ok()?;
    Some(maps.lines().filter_map(range).collect())
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // It fails for no reason that could be acted on; the lock ends with the process anyway.
        let _ = munlockall();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What of the lines of `/proc/self/smaps` from that of the mapping at `address` on begins with `key`.
    fn of_mapping(address: usize, key: &str) -> String {
        let smaps = SysRoot::live().read_lossy("/proc/self/smaps").unwrap();
        let has = |line: &str| {
            let (from, rest) = line.split_once('-')?;
            let from = usize::from_str_radix(from, 16).ok()?;
            let end = usize::from_str_radix(rest.split_once(' ')?.0, 16).ok()?;
            (from..end).contains(&address).then_some(())
        };
        let mut lines = smaps.lines().skip_while(|line| has(line).is_none());
        let line = lines.find_map(|line| line.strip_prefix(key)).unwrap();
        line.trim().to_owned()
    }

    #[test]
    fn what_is_mapped_after_the_lock_is_locked_by_renewing_it() {
        let Ok(lock) = LockedMemory::lock_all() else {
            eprintln!("skipped: memory may not be locked");
            return;
        };
        // So much that the C library maps it alone.
        let later = vec![1_u8; 32 << 20];
        let address = later.as_ptr().addr() + 4096;
        assert!(!of_mapping(address, "VmFlags:").contains("lo"));
        lock.renew().unwrap();
        assert!(of_mapping(address, "VmFlags:").contains("lo"));
        let program = what_is_mapped_after_the_lock_is_locked_by_renewing_it as fn();
        assert!(of_mapping((program as *const ()).addr(), "VmFlags:").contains("lo"));
        drop(lock);
        assert!(!of_mapping(address, "VmFlags:").contains("lo"));
    }
}
