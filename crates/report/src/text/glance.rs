// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The looks of a run in characters: a histogram of each kind of latency, the largest samples over time.

use std::fmt::Write as _;

use punctual_model::{Instrument, Nanos};
use punctual_stats::LatencyHistogram;

use super::layout::clean;
use super::{WIDTH, span};
use crate::chart::scale::grouped;
use crate::chart::{distribution, spark};
use crate::document::{RunItem, about, together};
use crate::times::Times;

/// Rows of a histogram, about.
const ROWS: usize = 16;
/// Kinds of latencies that are drawn; the export has all.
const KINDS: usize = 4;
/// Threads that have a line over time.
const THREADS: usize = 8;

/// Draws the histograms of a run and its maxima over time; `None` where it has neither.
pub fn glance(run: &RunItem) -> Option<String> {
    let mut text = String::new();
    let mut contexts: Vec<Option<&str>> = Vec::new();
    for part in &run.parts {
        let context = part.context.as_deref();
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    let title = Instrument::samples_of(&run.record.instrument).title;
    for context in contexts.iter().take(KINDS) {
        text += &histogram(run, *context, title);
    }
    let more = contexts.len().saturating_sub(KINDS);
    if more > 0 {
        // Writing to a string cannot fail.
        let _written = writeln!(text, "{more} more kinds: punctual report draws them all\n");
    }
    text += &maxima(run);
    (!text.is_empty()).then(|| text.trim_end().to_owned() + "\n")
}

fn histogram(run: &RunItem, context: Option<&str>, title: &str) -> String {
    let of = || run.parts.iter().filter(|p| p.context.as_deref() == context);
    let mut all = LatencyHistogram::default();
    match of().find(|p| p.thread.is_none()) {
        Some(part) => all.merge(&part.histogram),
        None => of().for_each(|part| all.merge(&part.histogram)),
    }
    if all.count() == 0 {
        return String::new();
    }
    let kind = context.map_or_else(String::new, |c| format!(", {}", clean(c)));
    let mut text = format!(
        "{title}{kind}: {} samples; bars are logarithms of counts\n",
        grouped(all.count())
    );
    let bins = distribution::bins(&all, 100);
    for row in spark::histogram(&bins, ROWS, WIDTH - 40) {
        let line = format!(
            " from {:>8} {:>12} {}",
            span(Nanos::new(row.from_ns)),
            grouped(row.count),
            row.bar
        );
        let _written = writeln!(text, "{}", line.trim_end());
    }
    text + "\n"
}

fn maxima(run: &RunItem) -> String {
    let mut text = String::new();
    let all = match run.maxima.len() {
        0 | 1 => None,
        _ => together(&run.record, &run.maxima),
    };
    let mut longest = Nanos::ZERO;
    for maxima in all.iter().chain(run.maxima.iter().take(THREADS)) {
        let values: Vec<Option<f64>> = maxima
            .stretches
            .iter()
            .map(|stretch| Some(stretch.max_ns as f64 / 1e3))
            .collect();
        let lengths = maxima.stretches.iter().map(|s| s.until - s.from);
        longest = lengths.max().unwrap_or(Nanos::ZERO).max(longest);
        let Some(line) = spark::line(&spark::largest(&values, WIDTH - 45)) else {
            continue;
        };
        let ends = || values.iter().flatten().copied();
        let name = maxima
            .thread
            .map_or_else(|| "all".to_owned(), |n| format!("thread {n}"));
        let _written = writeln!(
            text,
            " {name:<10} {line} {:.1} .. {:.1} {}",
            ends().fold(f64::INFINITY, f64::min),
            ends().fold(0.0, f64::max),
            Times::of_run(&run.record).micros()
        );
    }
    if text.is_empty() {
        return text;
    }
    let more = run.maxima.len().saturating_sub(THREADS);
    if more > 0 {
        let _written = writeln!(text, " {more} more threads");
    }
    format!(
        "Over time, the largest of up to {} each\n{text}",
        about(longest)
    )
}
