// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bringing the index up to date.

use std::collections::BTreeMap;

use rusqlite::{Connection, TransactionBehavior, params};
use uuid::Uuid;

use super::row::{self, CREATE_INDEX, CREATE_TABLE};
use super::{APPLICATION, Index, IndexError, SCHEMA_VERSION, Trouble};
use punctual_model::Gathered as _;
use punctual_sys::dir::Dir;

use crate::error::ReadError;
use crate::list::{Names, read_run};
use crate::place::{RUN_FILE, Runs};

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

    /// That of no file, so that the next list tries again.
    const AGAIN: Self = Self {
        mtime_ns: 0,
        size: -2,
    };

    fn of(runs: &Dir, id: Uuid) -> Self {
        let run = runs.dir(id.to_string());
        let stat = run.and_then(|run| run.stat(RUN_FILE));
        stat.map_or(Self::NONE, |stat| Self {
            mtime_ns: stat
                .st_mtime
                .saturating_mul(1_000_000_000)
                .saturating_add_unsigned(stat.st_mtime_nsec),
            size: stat.st_size,
        })
    }
}

/// What a database file is to us.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    /// It has nothing in it yet.
    Empty,
    /// It has the tables that we make.
    Current,
}

impl Index {
    pub(super) fn sync(&mut self) -> Result<(), Trouble> {
        // Most often nothing changed, and no lock is needed to see that.
        if state(&self.connection)? == State::Current {
            let (found, foreign) = scan(&self.runs)?;
            if found == indexed(&self.connection)? {
                self.foreign = foreign;
                return Ok(());
            }
        }
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        if state(&transaction)? == State::Empty {
            transaction.execute_batch(CREATE_TABLE)?;
            transaction.execute_batch(CREATE_INDEX)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
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

/// Looks whose a database is, and whether its tables are those that we make.
fn state(connection: &Connection) -> Result<State, Trouble> {
    let number = |name: &str| -> rusqlite::Result<i64> {
        connection.pragma_query_value(None, name, |row| row.get(0))
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    // SQLite's own indices have no text.
    let mut query = connection.prepare(
        "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex_%' ORDER BY name",
    )?;
    let rows = query.query_map([], |row| {
        Ok((row.get(0)?, row.get::<_, Option<String>>(1)?))
    })?;
    let found: Vec<(String, Option<String>)> = rows.collect::<Result<_, _>>()?;
    match (application, found.is_empty()) {
        (0 | APPLICATION, true) => Ok(State::Empty),
        (APPLICATION, false) => {
            let ours = [("runs", CREATE_TABLE), ("runs_name", CREATE_INDEX)];
            let found = found
                .iter()
                .map(|(name, sql)| (name.as_str(), sql.as_deref().unwrap_or_default()));
            match version == SCHEMA_VERSION && found.eq(ours) {
                true => Ok(State::Current),
                false => Err(Trouble::Tables),
            }
        }
        // Those that were made before the files had a mark.
        (0, false) if (1..=3).contains(&version) && found.iter().all(is_old) => {
            Err(Trouble::Tables)
        }
        _ => Err(Trouble::Foreign),
    }
}

/// Whether a table or index is one that we made in a file without a mark.
fn is_old((name, sql): &(String, Option<String>)) -> bool {
    let sql = sql.as_deref().unwrap_or_default();
    match name.as_str() {
        "runs" => {
            sql.starts_with("CREATE TABLE runs")
                && sql.contains("mtime_ns INTEGER NOT NULL")
                && sql.ends_with("STRICT")
        }
        "runs_name" => sql == CREATE_INDEX,
        _ => false,
    }
}

type Stamps = BTreeMap<String, Stamp>;

fn scan(runs: &Runs) -> Result<(Stamps, Vec<std::path::PathBuf>), IndexError> {
    let names = Names::read(runs)?;
    let held = match names.ids.is_empty() {
        true => None,
        false => Some(runs.open()?),
    };
    let stamp = |id: Uuid| {
        let stamp = held.as_ref().map(|held| Stamp::of(&held.runs, id));
        // Text of ids sorts as they do.
        (id.to_string(), stamp.unwrap_or(Stamp::NONE))
    };
    Ok((names.ids.into_iter().map(stamp).into_map(), names.foreign))
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
    runs: &Runs,
    id: &str,
    stamp: Stamp,
) -> Result<(), IndexError> {
    // The ids come from `scan`, so this one can be read.
    let Ok(uuid) = Uuid::try_parse(id) else {
        return Ok(());
    };
    let run = read_run(runs, uuid);
    // What the system refused says nothing about the run: descriptors or permissions were missing, perhaps.
    let stamp = match &run {
        Err(ReadError::Path(err))
            if err.source.raw_os_error().is_some() && stamp != Stamp::NONE =>
        {
            Stamp::AGAIN
        }
        _ => stamp,
    };
    row::write(connection, id, (stamp.mtime_ns, stamp.size), &run)?;
    Ok(())
}
