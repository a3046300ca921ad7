// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The list of runs.

use std::borrow::Cow;

use punctual_model::{RunListEntry, RunListFigures};

use super::layout::{Column, clean, table, wrapped};
use super::number::{Micros, Missing};
use super::words::plural;

/// The shortest id that a list shows.
const SHORT: usize = 8;

/// Writes one line a run, then the runs that cannot be read with their reasons.
///
/// Ids are cut to the length, at least 8, at which all of `lines` still differ. `foreign` is what
/// else was found among the runs.
pub fn run_list(lines: &[RunListEntry], foreign: &[String]) -> String {
    let length = id_length(lines);
    let mut missing = Missing::default();
    let decimals = |figure: fn(&RunListFigures) -> Option<u64>| {
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
                clean(&instrument(run)).into_owned(),
                run.count.to_string(),
                figure(run.p50_ns, p50),
                figure(run.p99_ns, p99),
                figure(run.max_ns, max),
                match (run.valid, run.imported_from.is_some()) {
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
        if let Some(reason) = &line.unreadable {
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

fn short(id: &str, length: usize) -> String {
    clean(&id.chars().take(length).collect::<String>()).into_owned()
}

fn id_length(lines: &[RunListEntry]) -> usize {
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
