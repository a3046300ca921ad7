// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files and directories, with the path in every error.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};

use crate::error::PathError;

/// Puts what was tried, and on what, into an I/O error.
pub(crate) trait At<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError> {
        self.map_err(|err| PathError::new(action, path, err))
    }
}

impl<T> At<T> for rustix::io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError> {
        self.map_err(|err| PathError::new(action, path, err.into()))
    }
}

/// Returns the bytes that an unprivileged process may still write at `home`, or at the nearest
/// directory above it that exists.
///
/// # Errors
/// `EACCES` where a directory cannot be looked at.
pub fn free_bytes(home: &Path) -> Result<u64, PathError> {
    let mut path = home;
    loop {
        match rustix::fs::statvfs(path) {
            Ok(stat) => return Ok(stat.f_bavail.saturating_mul(stat.f_frsize)),
            Err(rustix::io::Errno::NOENT) => {
                path = match path.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => parent,
                    // A relative path: what is above it is the working directory.
                    Some(_) => Path::new("."),
                    None => {
                        return Err(PathError::new(
                            "examine",
                            home,
                            io::ErrorKind::NotFound.into(),
                        ));
                    }
                };
            }
            Err(err) => return Err(PathError::new("examine", path, err.into())),
        }
    }
}

/// Writes a whole new file and waits until it is on disk.
pub(crate) fn write_synced(path: &Path, bytes: &[u8]) -> Result<(), PathError> {
    let mut file = File::create(path).at("create", path)?;
    file.write_all(bytes).at("write", path)?;
    file.sync_all().at("sync", path)
}

/// Waits until the names in a directory are on disk.
pub(crate) fn sync_dir(path: &Path) -> Result<(), PathError> {
    File::open(path)
        .and_then(|dir| dir.sync_all())
        .at("sync", path)
}

/// Opens a regular file to read it.
///
/// What lies in a run directory may be someone else's: a symbolic link would lead out of it, and a
/// FIFO would make open(2) wait for a writer.
pub(crate) fn open_regular(path: &Path) -> Result<File, PathError> {
    let refused = |why| {
        let err = io::Error::new(io::ErrorKind::InvalidInput, why);
        PathError::new("read", path, err)
    };
    let flags =
        OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())) {
        // A loop of links further up reads the same, and is none of ours.
        Err(Errno::LOOP) if path.is_symlink() => {
            return Err(refused("a symbolic link, not a regular file"));
        }
        // open(2) of a socket.
        Err(Errno::NXIO) => return Err(refused("not a regular file")),
        file => File::from(file.at("read", path)?),
    };
    if !file.metadata().at("read", path)?.is_file() {
        return Err(refused("not a regular file"));
    }
    Ok(file)
}

/// Whether `path` is a regular file that [`open_regular`] would open.
pub(crate) fn is_regular(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_file())
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>, PathError> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .at("read", path)?;
    if bytes.len() as u64 > limit {
        let err = io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {}, the most that is read", size(limit)),
        );
        return Err(PathError::new("read", path, err));
    }
    Ok(bytes)
}

/// Writes a size of whole KiB.
fn size(bytes: u64) -> String {
    match bytes >> 10 {
        kib if kib % 1_024 == 0 => format!("{} MiB", kib >> 10),
        kib => format!("{kib} KiB"),
    }
}

/// Removes a directory tree. One that is gone already, or goes while we look, is fine.
pub(crate) fn remove_tree(path: &Path) -> Result<(), PathError> {
    match fs::remove_dir_all(path) {
        Err(_) if matches!(path.try_exists(), Ok(false)) => Ok(()),
        result => result.at("remove", path),
    }
}
