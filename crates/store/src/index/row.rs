// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One row of the index.

use std::collections::BTreeMap;

use punctual_model::{Nanos, RunListEntry, RunListFigures};
use rusqlite::types::Type;
use rusqlite::{Connection, Row, named_params, params};
use uuid::Uuid;

use crate::error::ReadError;
use crate::stored::StoredRun;

/// Kept by SQLite as it is written here, and compared with that.
pub(super) const CREATE_TABLE: &str = "CREATE TABLE runs (
        id TEXT PRIMARY KEY NOT NULL,
        mtime_ns INTEGER NOT NULL,
        size INTEGER NOT NULL,
        problem TEXT,
        started TEXT,
        name TEXT,
        tags TEXT,
        instrument TEXT,
        valid INTEGER,
        imported_from TEXT,
        host TEXT,
        kernel TEXT,
        threads INTEGER,
        count INTEGER,
        p50_ns INTEGER,
        p99_ns INTEGER,
        max_ns INTEGER,
        duration_ns INTEGER,
        ended TEXT
    ) STRICT";

pub(super) const CREATE_INDEX: &str = "CREATE INDEX runs_name ON runs (name)";

/// One run in the index.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunRow {
    /// The id.
    pub id: Uuid,
    /// The figures, or why the run cannot be read.
    pub figures: Result<RunListFigures, String>,
    /// The figures of a run that cannot be read, where it could be before.
    pub before: Option<RunListFigures>,
}

impl From<RunRow> for RunListEntry {
    fn from(row: RunRow) -> Self {
        let (figures, unreadable) = match row.figures {
            Ok(figures) => (Some(figures), None),
            Err(reason) => (None, Some(reason)),
        };
        Self {
            id: row.id.to_string(),
            figures,
            unreadable,
        }
    }
}

impl RunRow {
    pub(super) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let id: String = row.get("id")?;
        let id = Uuid::try_parse(&id)
            .map_err(|err| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, err.into()))?;
        let Some(problem) = row.get::<_, Option<String>>("problem")? else {
            return Ok(Self {
                id,
                figures: Ok(read(row)?),
                before: None,
            });
        };
        // Every run that could be read has one.
        let was_read = row.get::<_, Option<String>>("instrument")?.is_some();
        Ok(Self {
            id,
            figures: Err(problem),
            before: was_read.then(|| read(row)).transpose()?,
        })
    }
}

/// Reads the figures of a run. Numbers past 2^63 are 2^63 - 1.
fn read(row: &Row<'_>) -> rusqlite::Result<RunListFigures> {
    Ok(RunListFigures {
        started: row.get("started")?,
        name: row.get("name")?,
        tags: tags(row.get("tags")?),
        instrument: row.get("instrument")?,
        valid: row.get("valid")?,
        imported_from: row.get("imported_from")?,
        host: row.get("host")?,
        kernel: row.get("kernel")?,
        threads: number(row, "threads")?,
        count: number(row, "count")?,
        p50_ns: optional(row, "p50_ns")?,
        p99_ns: optional(row, "p99_ns")?,
        max_ns: optional(row, "max_ns")?,
        duration_ns: optional(row, "duration_ns")?.map(Nanos::new),
        ended: row.get("ended")?,
    })
}

/// Writes the row of a run. Of one that cannot be read any more it keeps what was known of it.
pub(super) fn write(
    connection: &Connection,
    id: &str,
    (mtime_ns, size): (i64, i64),
    run: &Result<StoredRun, ReadError>,
) -> rusqlite::Result<()> {
    let figures = match run {
        Ok(run) => RunListFigures::of(run.record()),
        Err(err) => {
            connection.execute(
                "INSERT INTO runs (id, mtime_ns, size, problem) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET mtime_ns = ?2, size = ?3, problem = ?4",
                params![id, mtime_ns, size, chain(err)],
            )?;
            return Ok(());
        }
    };
    connection.execute(
        "INSERT OR REPLACE INTO runs VALUES (:id, :mtime_ns, :size, NULL, :started, :name, :tags,
            :instrument, :valid, :imported_from, :host, :kernel, :threads, :count, :p50_ns, :p99_ns, :max_ns,
            :duration_ns, :ended)",
        named_params! {
            ":id": id,
            ":mtime_ns": mtime_ns,
            ":size": size,
            ":started": figures.started,
            ":name": figures.name,
            ":tags": (!figures.tags.is_empty()).then(|| tags_text(&figures.tags)),
            ":instrument": figures.instrument,
            ":valid": figures.valid,
            ":imported_from": figures.imported_from,
            ":host": figures.host,
            ":kernel": figures.kernel,
            ":threads": signed(figures.threads),
            ":count": signed(figures.count),
            ":p50_ns": figures.p50_ns.map(signed),
            ":p99_ns": figures.p99_ns.map(signed),
            ":max_ns": figures.max_ns.map(signed),
            ":duration_ns": figures.duration_ns.map(|ns| signed(ns.get())),
            ":ended": figures.ended,
        },
    )?;
    Ok(())
}

/// Writes an error and its sources in one line.
fn chain(err: &ReadError) -> String {
    let mut text = err.to_string();
    let mut source = std::error::Error::source(err);
    while let Some(err) = source {
        text.push_str(": ");
        text.push_str(&err.to_string());
        source = err.source();
    }
    text
}

/// Tags as a JSON object. The index is ours: what cannot be read is no tag.
fn tags(text: Option<String>) -> BTreeMap<String, String> {
    text.and_then(|text| serde_json::from_slice(text.as_bytes()).ok())
        .unwrap_or_default()
}

fn tags_text(tags: &BTreeMap<String, String>) -> String {
    serde_json::to_string(tags).unwrap_or_default()
}

/// SQLite's integers are signed.
fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn number(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    Ok(optional(row, column)?.unwrap_or_default())
}

fn optional(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let n: Option<i64> = row.get(column)?;
    Ok(n.map(|n| u64::try_from(n).unwrap_or_default()))
}
