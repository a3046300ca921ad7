// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is in a store, the unreadable included.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::clean::{TRASH, is_temporary};
use crate::disk::{At as _, remove_tree, sync_dir};
use crate::error::{PathError, ReadError, StoreError};
use crate::store::Store;
use crate::stored::StoredRun;

/// Everything in a store.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The runs, newest first.
    pub runs: Vec<RunEntry>,
    /// What lies in the directory of the runs and is none.
    pub foreign: Vec<PathBuf>,
}

/// One run, as far as it can be read.
#[derive(Debug)]
pub struct RunEntry {
    /// The id, from the name of the directory.
    pub id: Uuid,
    /// The directory.
    pub path: PathBuf,
    /// The run, or why it cannot be read. [`ReadError::Newer`]: by this program.
    pub run: Result<StoredRun, ReadError>,
}

/// The names in the directory of the runs.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Newest first.
    pub(crate) ids: Vec<Uuid>,
    pub(crate) foreign: Vec<PathBuf>,
}

impl Store {
    /// Reads every run.
    ///
    /// # Errors
    /// `EACCES` if the directory of the runs cannot be read. A run that cannot be read is no error
    /// but an entry.
    pub fn entries(&self) -> Result<Listing, StoreError> {
        let names = Names::read(self.runs_dir())?;
        let runs = names.ids.into_iter().map(|id| self.entry(id)).collect();
        Ok(Listing {
            runs,
            foreign: names.foreign,
        })
    }

    /// Reads the run of this id, as far as it can be read.
    pub fn entry(&self, id: Uuid) -> RunEntry {
        let path = run_path(self.runs_dir(), id);
        RunEntry {
            id,
            run: read_run(&path, id),
            path,
        }
    }

    /// Removes a run, readable or not. A crash meanwhile leaves it whole or gone.
    ///
    /// # Errors
    /// `ENOENT` if there is none, `EACCES`, `EROFS` as [`StoreError::Path`].
    pub fn remove(&self, id: Uuid) -> Result<(), StoreError> {
        let runs = self.runs_dir();
        let (run, trash) = (run_path(runs, id), runs.join(format!("{TRASH}{id}")));
        // From an earlier removal that did not come to its end.
        match trash.symlink_metadata() {
            Ok(meta) if meta.is_dir() => remove_tree(&trash)?,
            Ok(_) => {
                let kind = io::ErrorKind::AlreadyExists;
                let err = io::Error::new(kind, "in the way, and not of this program");
                return Err(PathError::new("replace", &trash, err).into());
            }
            Err(_) => {}
        }
        fs::rename(&run, &trash).at("remove", &run)?;
        sync_dir(runs)?;
        Ok(remove_tree(&trash)?)
    }
}

impl Names {
    /// Reads the names; no directory has none.
    pub(crate) fn read(runs: &Path) -> Result<Self, PathError> {
        let entries = match fs::read_dir(runs).at("read", runs) {
            Err(err) if err.is_missing() => return Ok(Self::default()),
            entries => entries?,
        };
        let mut names = Self::default();
        for entry in entries {
            let entry = entry.at("read", runs)?;
            let name = entry.file_name();
            match name.to_str().and_then(id_of_name) {
                Some(id) => names.ids.push(id),
                None if is_temporary(&entry) => {}
                None => names.foreign.push(entry.path()),
            }
        }
        names.ids.sort_unstable_by(|a, b| b.cmp(a));
        names.foreign.sort_unstable();
        Ok(names)
    }
}

/// Only the spelling that we write: another would be a second name for the same run.
pub(crate) fn id_of_name(name: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(name).ok()?;
    (id.to_string() == name).then_some(id)
}

pub(crate) fn run_path(runs: &Path, id: Uuid) -> PathBuf {
    runs.join(id.to_string())
}

/// Reads a run of the store, whose record must have the id that its directory has.
pub(crate) fn read_run(path: &Path, id: Uuid) -> Result<StoredRun, ReadError> {
    let run = StoredRun::open(path)?;
    if run.record().id != id.to_string() {
        return Err(ReadError::OtherId {
            path: path.to_owned(),
            found: run.record().id.clone(),
        });
    }
    Ok(run)
}
