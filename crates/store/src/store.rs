// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Opening a store.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punctual_sys::dir::{Dir, Missing};
use punctual_sys::{At as _, PathError};
use serde::Deserialize;
use uuid::Uuid;

use crate::clean;
use crate::disk::{read_limited, sync_dir, write_synced};
use crate::error::StoreError;
use crate::place::{Format, Held, RUNS, Runs};
use crate::writer::{Raw, RunWriter};

/// The name and major version of the store that this program writes.
pub const STORE_FORMAT: &str = "punctual.store/1";

/// Larger than any `store.json`.
const STORE_FILE_LIMIT: u64 = 64 << 10;

/// The file that says that a directory is a store.
const STORE_FILE: &str = "store.json";

/// A directory of runs.
#[derive(Debug)]
pub struct Store {
    place: Runs,
    path: PathBuf,
    is_trusted: bool,
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
    /// [`StoreError::Unsafe`] if somebody else than root and the caller could change or replace it;
    /// [`StoreError::NewerStore`] if a newer program made it, [`StoreError::NotAStore`] if
    /// `store.json` is something else, `EACCES`, `EROFS` or `ENOSPC` if it cannot be made.
    pub fn open(home: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let home = home.into();
        let found = match Dir::trusted(&home, Missing::Leave)? {
            Some(dir) if check_format(&dir)? => dir,
            _ => create(&home)?,
        };
        let held = Held::of(found)?;
        let leftovers = clean::clean(&held.home, &held.runs);
        let mut store = Self::at(home, true);
        store.place.held = Some(Arc::new(held));
        store.leftovers = leftovers;
        Ok(store)
    }

    /// Opens the store at `home` to read it. Makes nothing; no store there is an empty store. Somebody
    /// else's store is read like one's own: no symbolic link in it is followed, and nothing is removed.
    ///
    /// # Errors
    /// [`StoreError::NewerStore`] if a newer program made it, [`StoreError::NotAStore`] if
    /// `store.json` is something else, `EACCES` if it cannot be read.
    pub fn open_existing(home: impl Into<PathBuf>) -> Result<Self, StoreError> {
        let mut store = Self::at(home.into(), false);
        let is_store = match Dir::open(&store.place.home).at("read", &store.place.home) {
            Err(err) if err.is_missing() => false,
            dir => check_format(&dir?)?,
        };
        if is_store && let Ok(held) = store.held_to_write() {
            store.is_trusted = true;
            store.leftovers = clean::clean(&held.home, &held.runs);
        }
        Ok(store)
    }

    /// Begins a run. Nothing of it is seen by readers before [`RunWriter::finish`].
    ///
    /// # Errors
    /// [`StoreError::RunExists`]; [`StoreError::Unsafe`]; `ENOSPC`, `EDQUOT`, `EROFS`, `EACCES` as
    /// [`StoreError::Path`].
    pub fn begin(&self, id: Uuid, raw: Raw) -> Result<RunWriter, StoreError> {
        RunWriter::begin(&self.held_to_write()?, id, raw)
    }

    /// Whether the directory of the runs is there. Without it a store that was moved away, or whose disk is not mounted, looks
    /// like one without runs.
    pub fn is_there(&self) -> bool {
        !self.place.open().is_err_and(|err| err.is_missing())
    }

    /// Returns the directory of the store.
    pub fn home(&self) -> &Path {
        &self.place.home
    }

    /// Returns the directory of the runs.
    pub fn runs_dir(&self) -> &Path {
        &self.path
    }

    /// Returns what dead processes left and this one was not allowed to remove.
    pub fn leftovers(&self) -> &[PathError] {
        &self.leftovers
    }

    pub(crate) fn runs(&self) -> &Runs {
        &self.place
    }

    /// Returns where a file of the store may be written that is reached by a path, if nobody else can
    /// lead that path elsewhere.
    #[cfg(feature = "index")]
    pub(crate) fn trusted_path(&self, name: &str) -> Option<PathBuf> {
        let home = match self.is_trusted {
            true => self.held_to_write().ok()?,
            false => return None,
        };
        home.home.real_path().ok().map(|home| home.join(name))
    }

    /// Holds the store open, as one that nobody else can change.
    pub(crate) fn held_to_write(&self) -> Result<Arc<Held>, StoreError> {
        if let Some(held) = &self.place.held {
            return Ok(Arc::clone(held));
        }
        let home = &self.place.home;
        let missing = || PathError::new("open", home, io::ErrorKind::NotFound.into());
        let dir = Dir::trusted(home, Missing::Leave)?.ok_or_else(missing)?;
        Ok(Arc::new(Held::of(dir)?))
    }

    fn at(home: PathBuf, is_trusted: bool) -> Self {
        Self {
            path: home.join(RUNS),
            place: Runs { home, held: None },
            is_trusted,
            leftovers: Vec::new(),
        }
    }
}

fn create(path: &Path) -> Result<Dir, StoreError> {
    let missing = || PathError::new("create", path, io::ErrorKind::NotFound.into());
    let home = Dir::trusted(path, Missing::Make)?.ok_or_else(missing)?;
    // Two first starts at once: one writes, the other finds it written.
    let _guard = clean::lock_alone(&home)?;
    if check_format(&home)? {
        return Ok(home);
    }
    const TMP: &str = ".tmp-store.json";
    let text = format!("{{\"format\":\"{STORE_FORMAT}\"}}\n");
    let written = write_synced(&home, TMP, text.as_bytes()).and_then(|()| {
        home.rename(TMP, &home, STORE_FILE)
            .at("create", &path.join(STORE_FILE))
    });
    if let Err(err) = written {
        // Best effort: the first error is the one to tell, and the next start writes over it.
        drop(home.remove_file(TMP));
        return Err(err.into());
    }
    sync_dir(&home)?;
    Ok(home)
}

/// Returns whether `home` has a `store.json` of a version that this program knows.
fn check_format(home: &Dir) -> Result<bool, StoreError> {
    let path = home.path().join(STORE_FILE);
    let bytes = match read_limited(home, STORE_FILE, STORE_FILE_LIMIT) {
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
            path: home.path().to_owned(),
            found: file.format,
            supported: STORE_FORMAT,
        }),
        Format::Other => Err(StoreError::NotAStore {
            path,
            reason: format!("its format is `{}`, not `{STORE_FORMAT}`", file.format),
        }),
    }
}
