// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who owns a temporary directory, and the removal of those that nobody owns.
//!
//! The owner of `runs/.tmp-<id>` holds an exclusive flock(2) on the file `lock` in it; the kernel
//! drops it when the owner dies, however it dies. A directory without its lock file is nobody's.
//! Two moments would break that rule: after mkdir(2) and before the lock, and after the lock file
//! is taken out and before rename(2). Both are passed with `<home>/lock` held shared, and the
//! cleaner holds it exclusively, so it never sees them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;

use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};
use rustix::fs::{FlockOperation, flock};
use rustix::io::{Errno, retry_on_intr};

use crate::place::{LOCK, TMP, TRASH, is_run_name};

/// Locks the file `lock` in `dir` and waits for it.
pub(crate) fn lock_shared(dir: &Dir) -> Result<File, PathError> {
    lock(dir, FlockOperation::LockShared)
}

/// Locks the file `lock` in `dir` alone and waits for it.
pub(crate) fn lock_alone(dir: &Dir) -> Result<File, PathError> {
    lock(dir, FlockOperation::LockExclusive)
}

// Open for writing: where flock is made of byte-range locks (NFS), an exclusive one needs it.
fn lock(dir: &Dir, operation: FlockOperation) -> Result<File, PathError> {
    let path = dir.path().join(LOCK);
    let file = dir.file_or_new(LOCK).at("open", &path)?;
    retry_on_intr(|| flock(&file, operation)).at("lock", &path)?;
    Ok(file)
}

/// Makes a temporary directory and locks it. The guard is [`lock_shared`] of the home.
pub(crate) fn make_locked(_guard: &File, runs: &Dir, name: &str) -> Result<(Dir, File), PathError> {
    let path = runs.path().join(name);
    runs.make_new_dir(name, 0o755).at("create", &path)?;
    let dir = runs.dir(name).at("open", &path);
    let made = dir.and_then(|dir| {
        let lock = lock_alone(&dir)?;
        Ok((dir, lock))
    });
    if made.is_err() {
        // Best effort: the first error is the one to tell, and the next start cleans.
        drop(runs.remove_tree(name));
    }
    made
}

/// Locks a file `lock` alone if nobody else holds it.
fn try_lock_alone(dir: &Dir, file: std::io::Result<File>) -> Result<Option<File>, PathError> {
    let path = dir.path().join(LOCK);
    let file = file.at("open", &path)?;
    match retry_on_intr(|| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        result => result.at("lock", &path).map(|()| Some(file)),
    }
}

/// Removes what dead processes left in `runs`, and returns what could not be removed.
///
/// Another cleaner, or a run that begins or ends right now, makes this one step back: the next
/// start cleans.
pub(crate) fn clean(home: &Dir, runs: &Dir) -> Vec<PathError> {
    let left = leftovers(runs);
    if left.is_empty() {
        return Vec::new();
    }
    let _guard = match try_lock_alone(home, home.file_or_new(LOCK)) {
        Ok(Some(guard)) => guard,
        Ok(None) => return Vec::new(),
        Err(err) => return vec![err],
    };
    left.iter()
        .filter_map(|name| remove_stale(runs, name).err())
        .collect()
}

fn leftovers(runs: &Dir) -> Vec<OsString> {
    let mut names = runs.names().unwrap_or_default();
    names.retain(|name| is_temporary(runs, name));
    names
}

/// Whether an entry of `runs/` is a run that is not there yet, or no more: a directory with a name
/// that we make. Anything else, such as `.tmp-notes` or a link, is someone's and not ours to remove.
pub(crate) fn is_temporary(runs: &Dir, name: &OsStr) -> bool {
    is_leftover(Path::new(name)) && runs.has_dir(name)
}

/// Whether a directory has the name of a run that is being written or removed, or was: it need not be whole.
pub fn is_leftover(path: &Path) -> bool {
    let name = path.file_name().and_then(OsStr::to_str);
    name.and_then(|name| name.strip_prefix(TMP).or_else(|| name.strip_prefix(TRASH)))
        .is_some_and(is_run_name)
}

fn remove_stale(runs: &Dir, name: &OsStr) -> Result<(), PathError> {
    let path = runs.path().join(name);
    let remove = || runs.remove_tree(name).at("remove", &path);
    let dir = match runs.dir(name).at("open", &path) {
        // Its owner, or another cleaner, was quicker.
        Err(err) if err.is_missing() => return Ok(()),
        dir => dir?,
    };
    match try_lock_alone(&dir, dir.file_to_write(LOCK)) {
        Ok(None) => Ok(()),
        Ok(Some(_guard)) => remove(),
        // No lock file: nobody's.
        Err(err) if err.is_missing() => remove(),
        Err(err) => Err(err),
    }
}
