// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bringing the index up to date.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior, params};
use uuid::Uuid;

use super::row::{self, CREATE_TABLE};
use super::{Index, IndexError, SCHEMA_VERSION, id_text};
use crate::list::{Names, read_run, run_path};
use crate::writer::RUN_FILE;

/// What tells whether run.json is still the one that was indexed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Stamp {
    mtime_ns: i64,
    size: i64,
}

impl Stamp {
    /// The stamp of a run without run.json, or with one that cannot be looked at.
    const NONE: Self = Self {
        mtime_ns: 0,
        size: -1,
    };

    fn of(run: &Path) -> Self {
        fs::symlink_metadata(run.join(RUN_FILE)).map_or(Self::NONE, |meta| Self {
            mtime_ns: meta
                .mtime()
                .saturating_mul(1_000_000_000)
                .saturating_add(meta.mtime_nsec()),
            size: i64::try_from(meta.len()).unwrap_or(i64::MAX),
        })
    }
}

impl Index {
    pub(super) fn sync(&mut self) -> Result<(), IndexError> {
        // Most often nothing changed, and no lock is needed to see that.
        if version(&self.connection)? == SCHEMA_VERSION {
            let (found, foreign) = scan(&self.runs)?;
            if found == indexed(&self.connection)? {
                self.foreign = foreign;
                return Ok(());
            }
        }
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? != SCHEMA_VERSION {
            transaction.execute_batch("DROP TABLE IF EXISTS runs")?;
            transaction.execute_batch(CREATE_TABLE)?;
            transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
        }
        // Looked at again under the lock: else a run that another process has just indexed, and
        // that we do not know yet, would be taken out.
        let (found, foreign) = scan(&self.runs)?;
        let indexed = indexed(&transaction)?;
        for id in indexed.keys().filter(|id| !found.contains_key(*id)) {
            transaction.execute("DELETE FROM runs WHERE id = ?1", params![id])?;
        }
        for (id, stamp) in &found {
            if indexed.get(id) != Some(stamp) {
                index_run(&transaction, &self.runs, id, *stamp)?;
            }
        }
        transaction.commit()?;
        self.foreign = foreign;
        Ok(())
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

type Stamps = BTreeMap<String, Stamp>;

fn scan(runs: &Path) -> Result<(Stamps, Vec<std::path::PathBuf>), IndexError> {
    let names = Names::read(runs)?;
    let stamp = |id: Uuid| (id_text(id), Stamp::of(&run_path(runs, id)));
    Ok((names.ids.into_iter().map(stamp).collect(), names.foreign))
}

fn indexed(connection: &Connection) -> rusqlite::Result<Stamps> {
    let mut query = connection.prepare("SELECT id, mtime_ns, size FROM runs")?;
    let rows = query.query_map([], |row| {
        let stamp = Stamp {
            mtime_ns: row.get(1)?,
            size: row.get(2)?,
        };
        Ok((row.get(0)?, stamp))
    })?;
    rows.collect()
}

fn index_run(
    connection: &Connection,
    runs: &Path,
    id: &str,
    stamp: Stamp,
) -> Result<(), IndexError> {
    // The ids come from `scan`, so this one can be read.
    let Ok(uuid) = Uuid::try_parse(id) else {
        return Ok(());
    };
    let run = read_run(&run_path(runs, uuid), uuid);
    row::write(connection, id, (stamp.mtime_ns, stamp.size), &run)?;
    Ok(())
}
