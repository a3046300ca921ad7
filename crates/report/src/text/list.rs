// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The list of runs.

use super::layout::{Column, clean, table, wrapped};
use super::number::{Micros, Missing};
use super::words::plural;

/// One run in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListLine {
    /// The whole id.
    pub id: String,
    /// What to say, or why the run cannot be read.
    pub figures: Result<ListFigures, String>,
}

/// What a list says about a run.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ListFigures {
    /// Start, RFC 3339 in UTC, where the run says.
    pub started: Option<String>,
    /// Name given by the user.
    pub name: Option<String>,
    /// What made the samples.
    pub instrument: String,
    /// Samples of all threads.
    pub count: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// Largest sample.
    pub max_ns: Option<u64>,
    /// Whether every check passed.
    pub valid: bool,
    /// Whether the run was imported: then nothing was checked.
    pub imported: bool,
}

/// The shortest id that a list shows.
const SHORT: usize = 8;

/// Writes one line a run, then the runs that cannot be read with their reasons.
///
/// Ids are cut to the length, at least 8, at which all of `lines` still differ. `foreign` is what
/// else was found among the runs.
pub fn run_list(lines: &[ListLine], foreign: &[String]) -> String {
    let length = id_length(lines);
    let mut missing = Missing::default();
    let decimals = |figure: fn(&ListFigures) -> Option<u64>| {
        Micros::up_to(readable(lines).filter_map(|(_, f)| figure(f)).max())
    };
    let (p50, p99, max) = (
        decimals(|f| f.p50_ns),
        decimals(|f| f.p99_ns),
        decimals(|f| f.max_ns),
    );
    let mut text = String::new();
    let rows: Vec<_> = readable(lines)
        .map(|(line, run)| {
            let mut figure = |ns: Option<u64>, micros: Micros| {
                missing.or(ns.map(|ns| micros.whole(ns)), "too few samples")
            };
            vec![
                short(&line.id, length),
                run.started.as_deref().map(minutes_of).unwrap_or_default(),
                clean(run.name.as_deref().unwrap_or_default()).into_owned(),
                clean(&run.instrument).into_owned(),
                run.count.to_string(),
                figure(run.p50_ns, p50),
                figure(run.p99_ns, p99),
                figure(run.max_ns, max),
                match (run.valid, run.imported) {
                    (true, _) => "yes",
                    (false, true) => "imported",
                    (false, false) => "INVALID",
                }
                .to_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        text += if lines.is_empty() {
            "No runs\n"
        } else {
            "No run that can be read\n"
        };
    } else {
        let header = [
            ("Run", Column::Left),
            ("Started UTC", Column::Left),
            ("Name", Column::Text),
            ("Instrument", Column::Left),
            ("Samples", Column::Right),
            ("p50 µs", Column::Right),
            ("p99 µs", Column::Right),
            ("Max µs", Column::Right),
            ("Valid", Column::Left),
        ];
        text += &table(&header, rows);
        text += &missing.note();
    }
    for line in lines {
        if let Err(reason) = &line.figures {
            let reason = format!(
                "{} cannot be read: {}",
                short(&line.id, length),
                clean(reason)
            );
            text += &wrapped(" ", 3, &reason);
        }
    }
    if !foreign.is_empty() {
        let names: Vec<_> = foreign.iter().map(|name| clean(name)).collect();
        let n = foreign.len();
        let reason = format!(
            "{n} thing{} among the runs that {} none: {}",
            plural(n),
            if n == 1 { "is" } else { "are" },
            names.join(" ")
        );
        text += &wrapped(" ", 3, &reason);
    }
    text
}

fn readable(lines: &[ListLine]) -> impl Iterator<Item = (&ListLine, &ListFigures)> {
    lines
        .iter()
        .filter_map(|line| Some((line, line.figures.as_ref().ok()?)))
}

fn short(id: &str, length: usize) -> String {
    clean(&id.chars().take(length).collect::<String>()).into_owned()
}

fn id_length(lines: &[ListLine]) -> usize {
    let mut ids: Vec<_> = lines.iter().map(|line| line.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    let common = ids.array_windows().map(|[a, b]| {
        let alike = a.chars().zip(b.chars()).take_while(|(a, b)| a == b);
        alike.count() + 1
    });
    common.max().unwrap_or_default().max(SHORT)
}

/// Cuts an RFC 3339 time to its minutes: the id has the rest.
fn minutes_of(time: &str) -> String {
    let cut = time.get(..16).unwrap_or(time);
    clean(cut).replace('T', " ")
}
