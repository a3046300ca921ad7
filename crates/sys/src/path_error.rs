// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What was tried on which path, and why it failed.

use std::io;
use std::path::{Path, PathBuf};

/// The operating system refused something on a path.
#[derive(Debug, thiserror::Error)]
#[error("{action} {}", path.display())]
#[non_exhaustive]
pub struct PathError {
    /// What was tried, one verb.
    pub action: &'static str,
    /// On what.
    pub path: PathBuf,
    /// The refusal.
    pub source: io::Error,
}

impl PathError {
    /// Says that `action` failed on `path`.
    pub fn new(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self {
            action,
            path: path.to_owned(),
            source,
        }
    }

    /// What `map_err` takes: `fs::write(&path, bytes).map_err(PathError::at("write", &path))?`.
    pub fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::new(action, path, source)
    }

    /// Whether there is no room (`ENOSPC`) or the quota is used up (`EDQUOT`).
    pub fn is_full(&self) -> bool {
        matches!(
            self.source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    }

    /// Whether the file system is read-only (`EROFS`).
    pub fn is_read_only(&self) -> bool {
        self.source.kind() == io::ErrorKind::ReadOnlyFilesystem
    }

    /// Whether permission is missing (`EACCES`, `EPERM`).
    pub fn is_permission(&self) -> bool {
        self.source.kind() == io::ErrorKind::PermissionDenied
    }

    /// Returns the kernel's error number, if the kernel refused.
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// Whether nothing is there (`ENOENT`).
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// Makes `None` of the error that nothing is there (`ENOENT`).
///
/// # Errors
///
/// All others of `found`.
pub fn if_there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Puts what was tried, and on what, into an error of the operating system.
pub trait At<T> {
    /// Says that `action` failed on `path`: `fs::write(&path, bytes).at("write", &path)?`.
    ///
    /// # Errors
    ///
    /// Those of `self`, with both in them.
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError> {
        self.map_err(PathError::at(action, path))
    }
}

impl<T> At<T> for rustix::io::Result<T> {
    fn at(self, action: &'static str, path: &Path) -> Result<T, PathError> {
        self.map_err(|err| PathError::new(action, path, err.into()))
    }
}
