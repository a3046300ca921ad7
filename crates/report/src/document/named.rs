// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What runs are called in a report, and figures with their unit.

use punctual_model::{Interval, RunRecord};
pub(crate) use punctual_verdict::words::capital;

use super::parts::RunItem;
use crate::chart::Validity;
pub(crate) use crate::chart::scale::counted;

/// A run's own name, else the end of its id: ids of a day begin alike.
pub(crate) fn own(run: &RunRecord) -> String {
    run.name.clone().unwrap_or_else(|| short(&run.id))
}

fn short(id: &str) -> String {
    let from = id.char_indices().rev().nth(7).map_or(0, |(at, _)| at);
    format!("…{}", id.get(from..).unwrap_or(id))
}

/// Names of runs, each used once.
pub(crate) fn all<'a>(runs: impl Iterator<Item = &'a RunRecord> + Clone) -> Vec<String> {
    runs.clone()
        .map(|run| {
            let name = own(run);
            match runs.clone().filter(|other| own(other) == name).count() {
                0 | 1 => name,
                _ => format!("{name} {}", short(&run.id)),
            }
        })
        .collect()
}

/// The group of each run: the one that it was named with, else the name that it shares with others but for a number
/// (`before-1`, `before-2`). None where runs have no groups, or all of them one.
pub(crate) fn groups(runs: &[RunItem]) -> Vec<String> {
    let of = |run: &RunItem| {
        run.group.clone().or_else(|| {
            let name = run.record.name.as_deref()?;
            let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let stem = stem.trim_end_matches(['-', '_', '.', '#', ' ']);
            (!stem.is_empty()).then(|| stem.to_owned())
        })
    };
    let groups: Vec<String> = runs.iter().map_while(of).collect();
    let mut distinct: Vec<&String> = groups.iter().collect();
    distinct.sort_unstable();
    distinct.dedup();
    match groups.len() == runs.len() && (2..runs.len()).contains(&distinct.len()) {
        true => groups,
        false => Vec::new(),
    }
}

/// Whether a run may be believed. A record that calls itself valid although a check did not pass is not.
pub(crate) fn validity(run: &RunRecord) -> Validity {
    match (&run.origin, run.is_valid()) {
        (Some(_), _) => Validity::Imported,
        (None, true) if run.is_virtual() => Validity::Virtual,
        (None, true) => Validity::Valid,
        (None, false) => Validity::Invalid,
    }
}

/// Writes a time in µs, with the digits that it has a use for.
pub(crate) fn micros(ns: f64) -> String {
    let value = ns / 1e3;
    let decimals = match value.abs() {
        v if v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}")
}

/// Writes an interval of times in µs, or what stands for them: `95 % interval 40.1 .. 45.2 µs`.
pub(crate) fn interval_in(interval: &Interval, unit: &str) -> String {
    format!(
        "{} interval {} .. {} {unit}",
        crate::number::percent(interval.confidence),
        micros(interval.low),
        micros(interval.high)
    )
}
