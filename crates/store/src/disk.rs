// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files and directories, with the path in every error.

use std::io::{self, Write as _};
use std::path::Path;

use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};

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

/// Writes a whole file, in the place of one that is there, and waits until it is on disk.
pub(crate) fn write_synced(dir: &Dir, name: &str, bytes: &[u8]) -> Result<(), PathError> {
    let path = dir.path().join(name);
    match dir.remove_file(name) {
        Err(err) if err.kind() != io::ErrorKind::NotFound => {
            return Err(PathError::new("replace", &path, err));
        }
        _ => {}
    }
    let mut file = dir.new_file(name).at("create", &path)?;
    file.write_all(bytes).at("write", &path)?;
    file.sync_all().at("sync", &path)
}

/// Requires that a file is not mostly holes (lseek(2)): packed data have none, and a copy of zeros that somebody else never stored
/// could fill the disk. A file system that compresses may count what it saves as holes.
#[cfg(feature = "archive")]
pub(crate) fn without_holes(file: &std::fs::File) -> io::Result<()> {
    use rustix::fs::{SeekFrom, seek};
    use rustix::io::Errno;
    use std::os::unix::fs::MetadataExt as _;
    let found = file.metadata()?;
    let size = found.len();
    // In an empty file there is nothing to seek, and not every file system knows of holes.
    let hole = match seek(file, SeekFrom::Hole(0)) {
        Ok(place) => place,
        Err(Errno::NXIO | Errno::INVAL | Errno::OPNOTSUPP) => size,
        Err(err) => return Err(err.into()),
    };
    if hole < size && found.blocks().saturating_mul(512) < size / 16 {
        return Err(io::Error::other(
            "it is a sparse file, which no run has; it is damaged or no run of ours",
        ));
    }
    seek(file, SeekFrom::Start(0))?;
    Ok(())
}

/// Waits until the names in a directory are on disk.
pub(crate) fn sync_dir(dir: &Dir) -> Result<(), PathError> {
    dir.sync().at("sync", dir.path())
}

/// Reads a regular file of at most `limit` bytes.
pub(crate) fn read_limited(dir: &Dir, name: &str, limit: u64) -> Result<Vec<u8>, PathError> {
    dir.read(name, limit).at("read", &dir.path().join(name))
}
