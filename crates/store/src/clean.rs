// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who owns a temporary directory, and the removal of those that nobody owns.
//!
//! The owner of `runs/.tmp-<id>` holds an exclusive flock(2) on the file `lock` in it; the kernel
//! drops it when the owner dies, however it dies. A directory without its lock file is nobody's.
//! Two moments would break that rule: after mkdir(2) and before the lock, and after the lock file
//! is taken out and before rename(2). Both are passed with `<home>/lock` held shared, and the
//! cleaner holds it exclusively, so it never sees them.

use std::fs::{self, DirEntry, File, OpenOptions};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use crate::disk::{At as _, remove_tree};
use crate::error::PathError;
use crate::list::id_of_name;

/// Prefix of a run that is being written.
pub(crate) const TMP: &str = ".tmp-";
/// Prefix of a run that is being removed.
pub(crate) const TRASH: &str = ".trash-";
/// The lock file, in the home and in a temporary directory.
pub(crate) const LOCK: &str = "lock";

/// Locks `dir/lock` and waits for it.
pub(crate) fn lock_shared(dir: &Path) -> Result<File, PathError> {
    lock(dir, FlockOperation::LockShared)
}

/// Locks `dir/lock` alone and waits for it.
pub(crate) fn lock_alone(dir: &Path) -> Result<File, PathError> {
    lock(dir, FlockOperation::LockExclusive)
}

fn lock(dir: &Path, operation: FlockOperation) -> Result<File, PathError> {
    let path = dir.join(LOCK);
    let file = open_lock(&path, true)?;
    retry_on_intr(|| flock(&file, operation)).at("lock", &path)?;
    Ok(file)
}

/// Locks `dir/lock` alone if nobody else holds it.
fn try_lock_alone(dir: &Path, create: bool) -> Result<Option<File>, PathError> {
    let path = dir.join(LOCK);
    let file = open_lock(&path, create)?;
    match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        result => result.at("lock", &path).map(|()| Some(file)),
    }
}

fn open_lock(path: &Path, create: bool) -> Result<File, PathError> {
    // Open for writing: where flock is made of byte-range locks (NFS), an exclusive one needs it.
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(create)
        .truncate(false)
        .open(path)
        .at("open", path)
}

/// Removes what dead processes left in `home/runs`, and returns what could not be removed.
///
/// Another cleaner, or a run that begins or ends right now, makes this one step back: the next
/// start cleans.
pub(crate) fn clean(home: &Path) -> Vec<PathError> {
    let left = leftovers(&home.join("runs"));
    if left.is_empty() {
        return Vec::new();
    }
    let _guard = match try_lock_alone(home, true) {
        Ok(Some(guard)) => guard,
        Ok(None) => return Vec::new(),
        Err(err) => return vec![err],
    };
    left.iter()
        .filter_map(|path| remove_stale(path).err())
        .collect()
}

fn leftovers(runs: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(runs) else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter(is_temporary)
        .map(|entry| entry.path())
        .collect()
}

/// Whether an entry of `runs/` is a run that is not there yet, or no more: a directory with a name
/// that we make. Anything else, such as `.tmp-notes` or a link, is someone's and not ours to remove.
pub(crate) fn is_temporary(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let ours = name
        .to_str()
        .and_then(|name| name.strip_prefix(TMP).or_else(|| name.strip_prefix(TRASH)))
        .is_some_and(|id| id_of_name(id).is_some());
    // Of the entry itself, not of what a link leads to.
    ours && entry.file_type().is_ok_and(|kind| kind.is_dir())
}

fn remove_stale(path: &Path) -> Result<(), PathError> {
    match try_lock_alone(path, false) {
        Ok(None) => Ok(()),
        Ok(Some(_guard)) => remove_tree(path),
        // No lock file: nobody's.
        Err(err) if err.is_missing() => remove_tree(path),
        Err(err) => Err(err),
    }
}
