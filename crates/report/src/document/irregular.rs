// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of several kinds: the phases of an interrupt, ways to wake a thread, protocols of a lock.
//!
//! Of different kinds there is no common distribution: each is a row and a series of its own.

use super::named::counted;
use super::runs::Named;
use super::series::{self, one, split, thread, whole};
use super::{Block, Ids, Table};
use crate::chart::{self, Axis, Chart, Distribution, Drawing, Point, Shape};
use crate::text::quantity_of;

/// The blocks of runs with several kinds of latencies.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in runs {
        blocks.push(kinds(ids, run, runs.len() > 1));
    }
    blocks.extend(distribution(ids, runs));
    if let Some(table) = series::threads(runs) {
        blocks.push(match table.rows.len() {
            0..=40 => Block::Table(table),
            n => Block::Fold(format!("Every thread: {n} rows"), vec![Block::Table(table)]),
        });
    }
    blocks.extend(series::maxima(ids, runs));
    blocks
}

/// The kinds of a run, in the order of the record.
fn contexts(run: &Named<'_>) -> Vec<String> {
    let mut contexts: Vec<String> = Vec::new();
    for context in run.record().series.iter().filter_map(|s| s.context.clone()) {
        if !contexts.contains(&context) {
            contexts.push(context);
        }
    }
    contexts
}

/// Median, 99th percentile and largest sample of each kind.
fn kinds(ids: &mut Ids, run: &Named<'_>, several: bool) -> Block {
    let names = contexts(run);
    let quantity = quantity_of(run.record());
    let mut p50 = Vec::new();
    let mut p99 = Vec::new();
    let mut max = Vec::new();
    let mut table = Table::new(
        format!("{quantity} of each kind, all threads together, in µs"),
        &["<Kind", "Samples", "Min", "p50", "p99", "Max"],
    );
    let micros = |ns: u64| ns as f64 / 1e3;
    for (row, name) in names.iter().enumerate() {
        let Some(all) = whole(run.item, Some(name)) else {
            continue;
        };
        let at = |ns: u64| Point::at(micros(ns), row as f64).of(all.count());
        // One sample beyond a quantile at least: else it is the largest.
        let beyond = |q: f64| {
            all.quantile(q)
                .filter(|_| all.count() as f64 * (1.0 - q) >= 1.0)
        };
        p50.extend(beyond(0.5).map(at));
        p99.extend(beyond(0.99).map(at));
        max.extend(all.max().map(at));
        let cell = |ns: Option<u64>| {
            ns.map_or_else(|| "-".to_owned(), |ns| super::named::micros(ns as f64))
        };
        table.rows.push(vec![
            name.clone(),
            all.count().to_string(),
            cell(all.min()),
            cell(beyond(0.5)),
            cell(beyond(0.99)),
            cell(all.max()),
        ]);
    }
    table
        .notes
        .push("Quantiles of all threads together, without an interval; those of a thread, with theirs, are in the table of threads.".to_owned());
    let samples: u64 = run.record().series.iter().map(|s| s.count).sum();
    let values = p50.iter().chain(&max).map(|p| p.x).collect::<Vec<_>>();
    let series = [("p50", p50), ("p99", p99), ("max", max)].map(|(name, points)| chart::Series {
        name: name.to_owned(),
        counted: counted(points.len() as u64, "kind"),
        shape: Shape::Points,
        points,
        validity: run.validity(),
        shown: true,
    });
    let of = if several {
        format!(", {}", run.name)
    } else {
        String::new()
    };
    let title = match run.record().instrument.as_str() {
        "irq" => format!("Where the time of a wake-up goes{of}"),
        "ipc" => format!("Ways to wake a thread{of}"),
        "pi" => format!("Wait for the lock, by protocol{of}"),
        _ => format!("{quantity} by kind{of}"),
    };
    let chart = Chart {
        id: ids.make(&format!("{}-kinds-{}", run.record().instrument, run.name)),
        title,
        note: format!(
            "{} of {} threads; each dot is a figure of all samples of its kind. The largest is the largest seen, no bound.",
            counted(samples, "sample"),
            run.record()
                .series
                .iter()
                .filter_map(|s| s.thread)
                .collect::<std::collections::BTreeSet<_>>()
                .len()
        ),
        x: Axis::fitting(format!("{quantity} in µs"), values.into_iter()),
        y: Axis::names("", names),
        series: series
            .into_iter()
            .filter(|s| !s.points.is_empty())
            .collect(),
        marks: Vec::new(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}

/// Every kind of every run as a distribution; those of threads are switched off at first.
fn distribution(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Block> {
    const BINS: u32 = 40;
    let mut all = Vec::new();
    for run in runs {
        for context in contexts(run) {
            if let Some(histogram) = whole(run.item, Some(&context)).filter(|h| h.count() > 0) {
                all.push(one(run, context.clone(), true, &histogram, BINS));
            }
            let parts =
                run.item.parts.iter().filter(|part| {
                    part.context.as_deref() == Some(&context) && part.thread.is_some()
                });
            let parts: Vec<_> = parts.collect();
            if parts.len() < 2 {
                continue;
            }
            for part in parts.iter().filter(|p| p.histogram.count() > 0) {
                let name = format!("{context}, {}", thread(None, part.thread));
                all.push(one(run, name, false, &part.histogram, BINS));
            }
        }
    }
    let quantity = quantity_of(runs.first()?.record());
    // More than ten curves cannot be told apart; the legend has the others.
    let mut drawn = 0;
    for series in &mut all {
        series.shown = series.whole && drawn < 10;
        drawn += usize::from(series.shown);
    }
    let samples: u64 = all.iter().filter(|s| s.whole).map(|s| s.count).sum();
    (!all.is_empty()).then(|| {
        let distribution = Distribution {
            id: ids.make(&format!("{}-distribution", runs[0].record().instrument)),
            title: format!("{quantity} by kind"),
            note: format!(
                "{}, each kind a series of its own, in {BINS} bins a factor of ten (5.9 % wide).",
                counted(samples, "sample")
            ),
            quantity,
            bins_a_decade: BINS,
            split_ns: split(&all),
            series: all,
            marks: Vec::new(),
        };
        Block::Drawing(Box::new(Drawing::Distribution(distribution)), None)
    })
}
