// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which image a guest boots: a build leaves another one at the same path.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sha2::{Digest as _, Sha256};

use crate::file::open_regular;

/// Checksums that are kept for the next guests: a comparison has a few images.
const KEPT: usize = 16;

/// A file as it was when it was read.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Identity {
    device: u64,
    inode: u64,
    size: u64,
    changed: (i64, i64),
}

impl Identity {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let data = open_regular(path)?.metadata()?;
        Ok(Self {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            changed: (data.mtime(), data.mtime_nsec()),
        })
    }
}

/// What was read, the last one last.
static KNOWN: Mutex<Vec<(Identity, String)>> = Mutex::new(Vec::new());

/// Returns the SHA-256 of the image at `path`, in hexadecimal digits. It is read once, unless it changes.
///
/// # Errors
///
/// Fails where it cannot be read.
pub(super) fn sha256(path: &Path) -> io::Result<String> {
    let identity = Identity::of(path)?;
    // Guests that are to start meanwhile wait for it, and do not do the same.
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, sha256)) = known.iter().find(|(of, _)| *of == identity) {
        return Ok(sha256.clone());
    }
    let mut hash = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hash)?;
    let sha256 = format!("{:x}", hash.finalize());
    if known.len() == KEPT {
        known.remove(0);
    }
    known.push((identity, sha256.clone()));
    Ok(sha256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_was_built_anew_is_another_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("vmlinuz");
        let replaced = |content: &str| {
            let new = dir.path().join("vmlinuz.new");
            std::fs::write(&new, content).unwrap();
            std::fs::rename(&new, &path).unwrap();
            sha256(&path).unwrap()
        };
        let first = replaced("one");
        assert_eq!(sha256(&path).unwrap(), first);
        assert_eq!(first, format!("{:x}", Sha256::digest("one")));
        assert_eq!(replaced("two"), format!("{:x}", Sha256::digest("two")));
        sha256(&dir.path().join("none")).unwrap_err();
    }
}
