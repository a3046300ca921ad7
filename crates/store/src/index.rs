// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The index: the figures of all runs in one SQLite file, so that a list need not read them all.
//!
//! It is derived. A run is in it under the modification time and size that its run.json had; when
//! these differ, or the directory is gone, the row is made anew or removed. A damaged file, or one of
//! ours ([`APPLICATION`]) that has not the tables that we make, is replaced. Somebody else's database
//! is left alone, and not read further: then, and where the file cannot be written or somebody else
//! could lead us to another, the same index is made in memory.

mod row;
mod sync;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use crate::place::Runs;
use crate::store::Store;
use punctual_sys::PathError;

pub use row::RunRow;

/// Kept in SQLite's `application_id`: `PNCT`. Only such a file is ours to replace.
const APPLICATION: i64 = 0x504e_4354;

/// Kept in SQLite's `user_version`. Every change of the table or of what is put in it raises it.
const SCHEMA_VERSION: i64 = 5;

/// Another process is never longer at the index.
const BUSY: Duration = Duration::from_secs(5);

/// The figures of all runs.
#[derive(Debug)]
pub struct Index {
    runs: Runs,
    /// Where it is on disk.
    file: Option<PathBuf>,
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
        let runs = self.runs();
        let Some(file) = self.trusted_path("index.sqlite") else {
            return Index::in_memory(runs, Some("other users can write to the store".to_owned()));
        };
        let kept_out = |err: Trouble| match err {
            Trouble::Index(err) if is_refusal(&err) => Ok(err.to_string()),
            Trouble::Foreign => Ok(format!("{} is another program's", file.display())),
            other => Err(other),
        };
        let first = match Index::on_disk(runs, &file) {
            Ok(index) => return Ok(index),
            Err(err) => kept_out(err),
        };
        match first {
            Ok(reason) => return Index::in_memory(runs, Some(reason)),
            // Damaged, or of another version: it is made anew from the runs. What it knew of those that cannot be read any more goes.
            Err(_) => remove_index(&file),
        }
        match Index::on_disk(runs, &file) {
            Ok(index) => Ok(index),
            Err(Trouble::Index(IndexError::Path(err))) => Err(err.into()),
            Err(err) => Index::in_memory(runs, Some(err.to_string())),
        }
    }
}

/// Why the file of the index is not the index.
#[derive(Debug, thiserror::Error)]
enum Trouble {
    #[error(transparent)]
    Index(#[from] IndexError),
    /// A database that is not ours.
    #[error("it belongs to another program")]
    Foreign,
    /// Ours, and not of this version, or changed.
    #[error("its tables belong to another version")]
    Tables,
}

impl From<rusqlite::Error> for Trouble {
    fn from(err: rusqlite::Error) -> Self {
        Self::Index(err.into())
    }
}

impl From<PathError> for Trouble {
    fn from(err: PathError) -> Self {
        Self::Index(err.into())
    }
}

impl Index {
    /// Returns the runs that the filter lets through, the unreadable included: by their start, newest first, and those without
    /// one last. Of the same start, or none, the newest id is first.
    ///
    /// Where a row of the file makes no sense, the list is made of the runs, and the next [`Store::index`]
    /// makes a new file.
    ///
    /// # Errors
    /// [`IndexError::Path`] if the directory of the runs cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<RunRow>, IndexError> {
        match (self.query(filter), &self.file) {
            (Err(IndexError::Sqlite(err)), Some(file)) => {
                if !is_refusal(&IndexError::Sqlite(err)) {
                    remove_index(file);
                }
                Self::in_memory(&self.runs, None)?.query(filter)
            }
            (result, _) => result,
        }
    }

    fn query(&self, filter: &Filter) -> Result<Vec<RunRow>, IndexError> {
        // Without its Z a whole second sorts before the fractions of it.
        let mut query = self.connection.prepare(
            "SELECT * FROM runs
             WHERE (?1 IS NULL OR name = ?1)
               AND (?2 IS NULL OR (problem IS NULL AND coalesce(valid, 0)) = ?2)
               AND (?4 IS NULL OR EXISTS (
                   SELECT 1 FROM json_each(runs.tags) WHERE key = ?4 AND value = ?5))
             ORDER BY CASE WHEN problem IS NULL THEN rtrim(started, 'Z') END DESC, id DESC LIMIT ?3",
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

    fn on_disk(runs: &Runs, file: &Path) -> Result<Self, Trouble> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let mut index = Self::with(runs, Connection::open_with_flags(file, flags)?)?;
        index.file = Some(file.to_owned());
        Ok(index)
    }

    fn in_memory(runs: &Runs, reason: Option<String>) -> Result<Self, IndexError> {
        let mut index = match Self::with(runs, Connection::open_in_memory()?) {
            Ok(index) => index,
            Err(Trouble::Index(err)) => return Err(err),
            // It had no tables but those that we made.
            Err(Trouble::Foreign | Trouble::Tables) => {
                return Err(rusqlite::Error::InvalidQuery.into());
            }
        };
        index.fallback = reason;
        Ok(index)
    }

    fn with(runs: &Runs, connection: Connection) -> Result<Self, Trouble> {
        connection.busy_timeout(BUSY)?;
        let mut index = Self {
            runs: runs.clone(),
            file: None,
            connection,
            foreign: Vec::new(),
            fallback: None,
        };
        index.sync()?;
        Ok(index)
    }
}

/// Whether SQLite could not use a file that may be in order.
fn is_refusal(err: &IndexError) -> bool {
    let IndexError::Sqlite(err) = err else {
        return false;
    };
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
