// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `measure pi` found, in a sentence: with which protocols other work never came between a thread and its lock.

use punctual_model::RunRecord;

use super::named::{counted, micros};
use super::parts::{KeyFigure, Tone};
use crate::clock_or_count::Times;

/// What was seen with a protocol.
struct Seen<'a> {
    protocol: &'a str,
    cycles: u64,
    inverted: u64,
    longest: Option<u64>,
}

impl Seen<'_> {
    fn words(&self) -> String {
        match self.protocol {
            "none" => "without a protocol".to_owned(),
            "inherit" => "with priority inheritance".to_owned(),
            "protect" => "with a priority ceiling".to_owned(),
            other => format!("with protocol {other}"),
        }
    }
}

/// What a run says of its protocols. None where no cycle of any went as arranged.
pub(super) fn answer(
    run: &RunRecord,
    name: &str,
) -> Option<(Tone, String, String, Vec<KeyFigure>)> {
    let seen = protocols(run);
    if seen.is_empty() {
        return None;
    }
    let [kept, came]: [Vec<&Seen<'_>>; 2] = [
        seen.iter().filter(|seen| seen.inverted == 0).collect(),
        seen.iter().filter(|seen| seen.inverted > 0).collect(),
    ];
    let unit = Times::of_run(run).micros();
    let mut clauses = Vec::new();
    if !kept.is_empty() {
        let words: Vec<String> = kept.iter().map(|seen| seen.words()).collect();
        let cycles = kept.iter().map(|seen| seen.cycles).sum();
        let longest = kept.iter().filter_map(|seen| seen.longest).max();
        clauses.push(format!(
            "{} other work never came before the lock in {}{}",
            words.join(" and "),
            counted(cycles, "cycle"),
            waits(longest, unit)
        ));
    }
    for seen in &came {
        let work = if clauses.is_empty() {
            "other work"
        } else {
            "it"
        };
        clauses.push(format!(
            "{} {work} came before the lock in {} of {}{}",
            seen.words(),
            seen.inverted,
            counted(seen.cycles, "cycle"),
            waits(seen.longest, unit)
        ));
    }
    let (tone, word) = match (
        came.iter().any(|seen| seen.protocol != "none"),
        kept.iter().any(|seen| seen.protocol != "none"),
    ) {
        (true, _) => (Tone::Bad, "not bounded"),
        (false, true) => (Tone::Good, "bounded"),
        // Nothing bounds the wait without a protocol, whether that was seen or not.
        (false, false) => (Tone::Plain, "valid"),
    };
    let sentence = format!("{name}: {}.", clauses.join("; "));
    Some((tone, word.to_owned(), sentence, Vec::new()))
}

fn waits(longest: Option<u64>, unit: &str) -> String {
    longest.map_or_else(String::new, |ns| {
        format!(" (waits of up to {} {unit})", micros(ns as f64))
    })
}

fn protocols(run: &RunRecord) -> Vec<Seen<'_>> {
    if run.instrument != "pi" {
        return Vec::new();
    }
    let shares = run.figures.iter().filter(|of| of.name == "inverted");
    let seen = shares.filter_map(|share| {
        let protocol = share.labels.get("protocol")?;
        let of_kind = run.series.iter().filter(|series| {
            let kind = series.context.as_deref().unwrap_or_default();
            kind.strip_prefix(protocol.as_str())
                .is_some_and(|rest| rest.starts_with('-'))
        });
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a number of cycles"
        )]
        let inverted = (share.value? * share.count as f64).round() as u64;
        Some(Seen {
            protocol,
            cycles: share.count,
            inverted,
            longest: of_kind.filter_map(|series| series.max_ns).max(),
        })
    });
    seen.collect()
}
