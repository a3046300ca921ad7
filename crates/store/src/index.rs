// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The index: the figures of all runs in one SQLite file, so that a list need not read them all.
//!
//! It is derived. A run is in it under the modification time and size that its run.json had; when
//! these differ, or the directory is gone, the row is made anew or removed. A damaged file, or one
//! with another [`SCHEMA_VERSION`], is replaced. Where the file cannot be written the same index
//! is made in memory.

mod row;
mod sync;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, params};
use uuid::Uuid;

use crate::error::PathError;
use crate::store::Store;

pub use row::{RunFigures, RunRow};

/// Kept in SQLite's `user_version`. Every change of the table or of what is put in it raises it.
const SCHEMA_VERSION: i64 = 3;

/// Another process is never longer at the index.
const BUSY: Duration = Duration::from_secs(5);

/// The figures of all runs.
#[derive(Debug)]
pub struct Index {
    runs: PathBuf,
    connection: Connection,
    foreign: Vec<PathBuf>,
    fallback: Option<String>,
}

/// Which runs to list. The default is all of them.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Filter {
    /// Only runs of exactly this name.
    pub name: Option<String>,
    /// Only runs with this tag: key and value.
    pub tag: Option<(String, String)>,
    /// Only valid, or only invalid runs. One that cannot be read is not valid.
    pub valid: Option<bool>,
    /// The newest ones only.
    pub limit: Option<u32>,
}

/// The index could be made neither on disk nor in memory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The directory of the runs cannot be read.
    #[error(transparent)]
    Path(#[from] PathError),
    /// SQLite refused something.
    #[error("index the runs")]
    Sqlite(#[from] rusqlite::Error),
}

impl Store {
    /// Brings the index up to date with the runs.
    ///
    /// # Errors
    /// [`IndexError::Path`] if the directory of the runs cannot be read.
    pub fn index(&self) -> Result<Index, IndexError> {
        let (runs, file) = (self.runs_dir(), self.home().join("index.sqlite"));
        let first = match Index::on_disk(runs, &file) {
            Err(IndexError::Sqlite(err)) => err,
            result => return result,
        };
        if is_refusal(&first) {
            return Index::in_memory(runs, Some(&first));
        }
        // Damaged, or not ours: nothing is lost with it.
        remove_index(&file);
        match Index::on_disk(runs, &file) {
            Err(IndexError::Sqlite(err)) => Index::in_memory(runs, Some(&err)),
            result => result,
        }
    }
}

impl Index {
    /// Returns the runs that the filter lets through, newest first, the unreadable included.
    ///
    /// # Errors
    /// [`IndexError::Sqlite`] if the index is damaged; the next [`Store::index`] makes a new one.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, IndexError> {
        let mut query = self.connection.prepare(
            "SELECT * FROM runs
             WHERE (?1 IS NULL OR name = ?1)
               AND (?2 IS NULL OR coalesce(valid, 0) = ?2)
               AND (?4 IS NULL OR EXISTS (
                   SELECT 1 FROM json_each(runs.tags) WHERE key = ?4 AND value = ?5))
             ORDER BY id DESC LIMIT ?3",
        )?;
        let limit = filter.limit.map_or(-1, i64::from);
        let (key, value) = filter.tag.clone().unzip();
        let parameters = params![filter.name, filter.valid, limit, key, value];
        let rows = query.query_map(parameters, RunRow::read)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns what lies in the directory of the runs and is none.
    pub fn foreign(&self) -> &[PathBuf] {
        &self.foreign
    }

    /// Returns why the index is in memory only, if it is.
    pub fn fallback(&self) -> Option<&str> {
        self.fallback.as_deref()
    }

    fn on_disk(runs: &Path, file: &Path) -> Result<Self, IndexError> {
        Self::with(runs, Connection::open(file)?)
    }

    fn in_memory(runs: &Path, reason: Option<&rusqlite::Error>) -> Result<Self, IndexError> {
        let mut index = Self::with(runs, Connection::open_in_memory()?)?;
        index.fallback = reason.map(ToString::to_string);
        Ok(index)
    }

    fn with(runs: &Path, connection: Connection) -> Result<Self, IndexError> {
        connection.busy_timeout(BUSY)?;
        let mut index = Self {
            runs: runs.to_owned(),
            connection,
            foreign: Vec::new(),
            fallback: None,
        };
        index.sync()?;
        Ok(index)
    }
}

/// Whether SQLite could not use a file that may be in order.
fn is_refusal(err: &rusqlite::Error) -> bool {
    matches!(
        err.sqlite_error_code(),
        Some(
            ErrorCode::CannotOpen
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::DiskFull
                | ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
        )
    )
}

fn remove_index(file: &Path) {
    for suffix in ["", "-journal", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        // What cannot be removed is met again by the second attempt.
        drop(fs::remove_file(PathBuf::from(name)));
    }
}

/// Ids are stored as text, which sorts as they do.
fn id_text(id: Uuid) -> String {
    id.to_string()
}
