// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The list of runs.

use std::borrow::Cow;
use std::collections::BTreeSet;

use punctual_model::{RunListEntry, RunListFigures};

use super::parts::{Block, Document, Table};
use crate::number::{Micros, Missing};

/// The shortest id that a list shows.
const SHORT: usize = 8;

/// As many characters at the beginning of an id are its time in ms (RFC 9562, version 7). What began in the same one differs in the rest.
const TIME: usize = 13;

/// What is shown of each id.
#[derive(Clone, Copy)]
enum Shown {
    First(usize),
    Last(usize),
}

impl Document {
    /// Makes a list of a row a run, then the runs that cannot be read with their reasons.
    ///
    /// Of ids as much of the beginning is shown, or of the end where that is shorter, as tells each of `lines` from all others
    /// and from the runs of the store that are not listed, `ids`; and at least 8 characters. `foreign` is what else was found
    /// among the runs.
    pub fn of_list(lines: &[RunListEntry], ids: &[String], foreign: &[String]) -> Self {
        let shown = shown(lines, ids);
        let mut blocks = Vec::new();
        let table = table(lines, shown);
        blocks.push(match (lines.is_empty(), table.rows.is_empty()) {
            (true, _) => Block::Text("No runs".to_owned()),
            (_, true) => Block::Text("No run that can be read".to_owned()),
            _ => Block::Table(table),
        });
        let unreadable = lines.iter().filter_map(|line| {
            let reason = line.unreadable.as_ref()?;
            Some((short(&line.id, shown), format!("cannot be read: {reason}")))
        });
        let mut left: Vec<(String, String)> = unreadable.collect();
        if !foreign.is_empty() {
            left.push(("not a run".to_owned(), foreign.join(" ")));
        }
        if !left.is_empty() {
            blocks.push(Block::items(left));
        }
        Self::of("Runs", blocks)
    }
}

fn table(lines: &[RunListEntry], shown: Shown) -> Table {
    let mut missing = Missing::default();
    let decimals = |figure: fn(&RunListFigures) -> Option<u64>| {
        Micros::up_to(readable(lines).filter_map(|(_, f)| figure(f)).max())
    };
    let (p50, p99) = (decimals(|f| f.p50_ns), decimals(|f| f.p99_ns));
    let max = decimals(|f| f.max_ns);
    let mut table = Table::of(
        "",
        "<Run|?<Started UTC|<Name|<Instrument|Samples|p50 µs|p99 µs|Max µs|<Valid",
    );
    for (line, run) in readable(lines) {
        let mut figure = |ns: Option<u64>, micros: Micros| {
            missing.or(ns.map(|ns| micros.whole(ns)), "too few samples")
        };
        let valid = match (run.valid, run.imported_from.is_some()) {
            (true, _) => "yes",
            (false, true) => "imported",
            (false, false) => "INVALID",
        };
        table.rows.push(vec![
            short(&line.id, shown),
            run.started.as_deref().map(minutes_of).unwrap_or_default(),
            run.name.clone().unwrap_or_default(),
            instrument(run).into_owned(),
            run.count.to_string(),
            figure(run.p50_ns, p50),
            figure(run.p99_ns, p99),
            figure(run.max_ns, max),
            valid.to_owned(),
        ]);
    }
    table.notes.extend(missing.reasons());
    if readable(lines).any(|(_, f)| f.p50_ns.or(f.p99_ns).is_some()) {
        let note = "p50 and p99 stand here without their intervals; `punctual runs show` has them.";
        table.notes.push(note.to_owned());
    }
    table
}

fn readable(lines: &[RunListEntry]) -> impl Iterator<Item = (&RunListEntry, &RunListFigures)> {
    lines
        .iter()
        .filter_map(|line| Some((line, line.figures.as_ref()?)))
}

/// What made the samples, and whether they are instruction counts.
fn instrument(run: &RunListFigures) -> Cow<'_, str> {
    match run.tags.get("time").is_some_and(|time| time == "virtual") {
        true => Cow::Owned(format!("{} (virtual)", run.instrument)),
        false => Cow::Borrowed(&run.instrument),
    }
}

fn short(id: &str, shown: Shown) -> String {
    match shown {
        Shown::First(length) => id.chars().take(length).collect(),
        Shown::Last(length) => {
            let skipped = id.chars().count().saturating_sub(length);
            format!("…{}", id.chars().skip(skipped).collect::<String>())
        }
    }
}

fn shown(lines: &[RunListEntry], ids: &[String]) -> Shown {
    let first = different(lines, ids, |id| id.to_owned());
    if first <= TIME {
        return Shown::First(first);
    }
    let last = different(lines, ids, |id| id.chars().rev().collect());
    if last < first {
        Shown::Last(last)
    } else {
        Shown::First(first)
    }
}

/// The length, at least 8, at which each of the listed ids, read as `turn` does, differs from all that are not the same.
fn different(lines: &[RunListEntry], ids: &[String], turn: impl Fn(&str) -> String) -> usize {
    let listed: BTreeSet<String> = lines.iter().map(|line| turn(&line.id)).collect();
    let mut all = listed.clone();
    all.extend(ids.iter().map(|id| turn(id)));
    let all: Vec<String> = all.into_iter().collect();
    let common = all.array_windows().filter_map(|[a, b]| {
        let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
        (listed.contains(a) || listed.contains(b)).then(|| alike.count() + 1)
    });
    common.max().unwrap_or_default().max(SHORT)
}

/// Cuts an RFC 3339 time to its minutes: the id has the rest.
fn minutes_of(time: &str) -> String {
    let cut = time.get(..16).unwrap_or(time);
    cut.replace('T', " ")
}
