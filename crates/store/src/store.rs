// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Opening a store.

use std::cmp::Ordering;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use uuid::Uuid;

use crate::clean;
use crate::disk::{At as _, read_limited, sync_dir, write_synced};
use crate::error::{PathError, StoreError};
use crate::writer::{Raw, RunWriter};

/// The name and major version of the store that this program writes.
pub const STORE_FORMAT: &str = "punctual.store/1";

/// Larger than any `store.json`.
const STORE_FILE_LIMIT: u64 = 64 << 10;

/// A directory of runs.
#[derive(Debug)]
pub struct Store {
    home: PathBuf,
    runs: PathBuf,
    leftovers: Vec<PathError>,
}

#[derive(Deserialize)]
struct StoreFile {
    format: String,
}

impl Store {
    /// Opens the store at `home`, makes it if there is none, and removes what dead processes left.
    ///
    /// # Errors
    /// [`StoreError::NewerStore`] if a newer program made it, [`StoreError::NotAStore`] if
    /// `store.json` is something else, `EACCES`, `EROFS` or `ENOSPC` if it cannot be made.
    pub fn open(home: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::at(home.into());
        if !check_format(&store.home)? {
            store.create()?;
        }
        make_dir(&store.runs, 0o777)?;
        store.leftovers = clean::clean(&store.home);
        Ok(store)
    }

    /// Opens the store at `home` to read it. Makes nothing; no store there is an empty store.
    ///
    /// # Errors
    /// [`StoreError::NewerStore`] if a newer program made it, [`StoreError::NotAStore`] if
    /// `store.json` is something else, `EACCES` if it cannot be read.
    pub fn open_existing(home: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::at(home.into());
        if check_format(&store.home)? {
            store.leftovers = clean::clean(&store.home);
        }
        Ok(store)
    }

    /// Begins a run. Nothing of it is seen by readers before [`RunWriter::finish`].
    ///
    /// # Errors
    /// [`StoreError::RunExists`]; `ENOSPC`, `EDQUOT`, `EROFS`, `EACCES` as
    /// [`StoreError::Path`].
    pub fn begin(&self, id: Uuid, raw: Raw) -> Result<RunWriter, StoreError> {
        RunWriter::begin(&self.home, id, raw)
    }

    /// Returns the directory of the store.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Returns the directory of the runs.
    pub fn runs_dir(&self) -> &Path {
        &self.runs
    }

    /// Returns what dead processes left and this one was not allowed to remove.
    pub fn leftovers(&self) -> &[PathError] {
        &self.leftovers
    }

    fn at(home: PathBuf) -> Self {
        Self {
            runs: home.join("runs"),
            home,
            leftovers: Vec::new(),
        }
    }

    fn create(&self) -> Result<(), StoreError> {
        make_dir(&self.home, 0o700)?;
        // Two first starts at once: one writes, the other finds it written.
        let _guard = clean::lock_alone(&self.home)?;
        if check_format(&self.home)? {
            return Ok(());
        }
        let (path, tmp) = (
            self.home.join("store.json"),
            self.home.join(".tmp-store.json"),
        );
        let text = format!("{{\"format\":\"{STORE_FORMAT}\"}}\n");
        let written = write_synced(&tmp, text.as_bytes())
            .and_then(|()| fs::rename(&tmp, &path).at("create", &path));
        if let Err(err) = written {
            // Best effort: the first error is the one to tell, and the next start writes over it.
            drop(fs::remove_file(&tmp));
            return Err(err.into());
        }
        make_dir(&self.runs, 0o777)?;
        Ok(sync_dir(&self.home)?)
    }
}

/// Returns whether `home` has a `store.json` of a version that this program knows.
fn check_format(home: &Path) -> Result<bool, StoreError> {
    let path = home.join("store.json");
    let bytes = match read_limited(&path, STORE_FILE_LIMIT) {
        Ok(bytes) => bytes,
        Err(err) if err.is_missing() => return Ok(false),
        Err(err) => return Err(err.into()),
    };
    let file: StoreFile = serde_json::from_slice(&bytes).map_err(|err| StoreError::NotAStore {
        path: path.clone(),
        reason: err.to_string(),
    })?;
    match Format::of(&file.format, STORE_FORMAT) {
        Format::Known => Ok(true),
        Format::Newer => Err(StoreError::NewerStore {
            path: home.to_owned(),
            found: file.format,
            supported: STORE_FORMAT,
        }),
        Format::Other => Err(StoreError::NotAStore {
            path,
            reason: format!("its format is `{}`, not `{STORE_FORMAT}`", file.format),
        }),
    }
}

/// How a format that was found compares with the one that this program writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    Known,
    Newer,
    Other,
}

impl Format {
    /// Compares `name/major`. A major version has any number of digits.
    pub(crate) fn of(found: &str, ours: &str) -> Self {
        let (Some((name, major)), Some((our_name, our_major))) =
            (found.split_once('/'), ours.split_once('/'))
        else {
            return Self::Other;
        };
        let digits = !major.is_empty() && major.bytes().all(|b| b.is_ascii_digit());
        if name != our_name || !digits {
            return Self::Other;
        }
        // Without leading zeros the longer number is the larger one.
        let major = major.trim_start_matches('0');
        match (major.len(), major).cmp(&(our_major.len(), our_major)) {
            _ if major.is_empty() => Self::Other,
            Ordering::Greater => Self::Newer,
            _ => Self::Known,
        }
    }
}

fn make_dir(path: &Path, mode: u32) -> Result<(), PathError> {
    match DirBuilder::new().recursive(true).mode(mode).create(path) {
        // What is in the way may be a file; "File exists" alone would not say so.
        Err(err) if err.kind() == io::ErrorKind::AlreadyExists => Err(PathError::new(
            "create",
            path,
            io::Error::new(io::ErrorKind::NotADirectory, "a file is in the way"),
        )),
        result => result.at("create", path),
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn formats_compare_by_their_number_however_long() {
        let of = |major: &str| Format::of(&format!("x/{major}"), "x/9");
        for newer in ["10", "010", "4294967296", "99999999999999999999"] {
            assert_eq!(of(newer), Format::Newer, "{newer}");
        }
        for known in ["1", "9", "09", "00000000000000000000009"] {
            assert_eq!(of(known), Format::Known, "{known}");
        }
        for other in ["", "0", "00", "+1", "-1", "1.0", " 1", "x", "1/1"] {
            assert_eq!(of(other), Format::Other, "{other}");
        }
        assert_eq!(Format::of("x", "x/1"), Format::Other);
        assert_eq!(Format::of("y/2", "x/1"), Format::Other);
    }
}
