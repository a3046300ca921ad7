// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of several kinds: the phases of an interrupt, ways to wake a thread, protocols of a lock.
//!
//! Of different kinds there is no common distribution: each is a row and a series of its own.

use punctual_model::{Instrument, Interval, RunRecord, Series};

use super::named::counted;
use super::parts::{Block, Ids, Table};
use super::runs::Named;
use super::series::{self, micros_of, one, thread, whole};
use crate::chart::distribution::zeros;
use crate::chart::{self, Axis, Chart, Distribution, Drawing, Look, Point, Shape};
use crate::number::quantity_of;

/// The blocks of runs with several kinds of latencies.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in runs {
        blocks.extend(kinds(ids, run, runs.len() > 1));
    }
    blocks.extend(distribution(ids, runs));
    blocks.extend(series::threads(runs).map(Block::Table));
    blocks.extend(super::maxima::block(ids, runs));
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

/// The figures of one kind: those of the record where it has them together, else of the histograms.
struct Figures {
    count: u64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    p50: Option<(u64, Option<Interval>)>,
    p99: Option<(u64, Option<Interval>)>,
}

fn figures(run: &Named<'_>, context: &str) -> Figures {
    let of: Vec<&Series> = run
        .record()
        .series
        .iter()
        .filter(|s| s.context.as_deref() == Some(context))
        .collect();
    let stated = match of.as_slice() {
        [one] => Some(*one),
        several => {
            let together = several.iter().copied().find(|s| s.thread.is_none());
            together.or_else(|| total(run.record(), context))
        }
    };
    if let Some(series) = stated {
        let quantile = |name: &str| {
            let value = series.quantiles_ns.get(name).copied().flatten()?;
            let interval = series.quantile_intervals_ns.get(name).copied().flatten();
            // One without an interval is a number among many that fit as well.
            (interval.is_some() || run.record().origin.is_some()).then_some((value, interval))
        };
        return Figures {
            count: series.count,
            min_ns: series.min_ns,
            max_ns: series.max_ns,
            p50: quantile("p50"),
            p99: quantile("p99"),
        };
    }
    let count = of.iter().map(|s| s.count).fold(0, u64::saturating_add);
    Figures {
        count,
        min_ns: of.iter().filter_map(|s| s.min_ns).min(),
        max_ns: of.iter().filter_map(|s| s.max_ns).max(),
        // The record states the quantiles of each thread alone: together they have no interval.
        p50: None,
        p99: None,
    }
}

/// The total of a record, where it is of this kind.
fn total<'a>(record: &'a RunRecord, context: &str) -> Option<&'a Series> {
    let is = record.kind_of_total() == Some(context);
    Some(&record.total).filter(|total| is && total.mean_ns.is_some())
}

/// Median, 99th percentile and largest sample of each kind. No quantiles where only those of each thread are known.
fn kinds(ids: &mut Ids, run: &Named<'_>, several: bool) -> Option<Block> {
    let names = contexts(run);
    let quantity = quantity_of(run.record());
    let unit = micros_of(&[*run]);
    let mut p50 = Vec::new();
    let mut p99 = Vec::new();
    let mut max = Vec::new();
    let mut table = Table::new(
        format!("{quantity} of each kind, all threads together, in {unit}"),
        &[
            "<Kind", "Samples", "?Min", "p50", "?p50 low", "..high", "p99", "?p99 low", "..high",
            "Max",
        ],
    );
    for (row, name) in names.iter().enumerate() {
        let of = figures(run, name);
        let at = |ns: u64| Point::at(ns as f64 / 1e3, row as f64).of(of.count);
        let ends = |i: Option<Interval>| i.map(|i| (i.low / 1e3, i.high / 1e3));
        p50.extend(of.p50.map(|(ns, i)| at(ns).within(ends(i))));
        p99.extend(of.p99.map(|(ns, i)| at(ns).within(ends(i))));
        max.extend(of.max_ns.map(at));
        let cell = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), super::named::micros);
        let mut cells = vec![
            name.clone(),
            of.count.to_string(),
            cell(of.min_ns.map(|ns| ns as f64)),
        ];
        for quantile in [of.p50, of.p99] {
            let interval = quantile.and_then(|q| q.1);
            cells.push(cell(quantile.map(|q| q.0 as f64)));
            // Without any interval there is no column for one.
            let end = |end: Option<f64>| end.map(super::named::micros).unwrap_or_default();
            cells.push(end(interval.map(|i| i.low)));
            cells.push(end(interval.map(|i| i.high)));
        }
        cells.push(cell(of.max_ns.map(|ns| ns as f64)));
        table.rows.push(cells);
    }
    if table.rows.is_empty() {
        return None;
    }
    let mut table = table.without_empty_columns();
    table.notes.push(
        "Low, high: 95 % interval. -: the samples allow no quantile with an interval; what threads have is in the table of threads.".to_owned(),
    );
    let samples: u64 = max.iter().filter_map(|p| p.count).sum();
    let values = p50.iter().chain(&max).map(|p| p.x).collect::<Vec<_>>();
    let series = [("p50", p50), ("p99", p99), ("max", max)].map(|(name, points)| {
        chart::Series::new(
            name,
            counted(points.len() as u64, "kind"),
            Shape::Points,
            points,
            run.validity(),
        )
    });
    let of = if several {
        format!(", {}", run.name)
    } else {
        String::new()
    };
    let kinds = Instrument::of(&run.record().instrument).and_then(|instrument| instrument.kinds);
    let title = match kinds {
        Some(kinds) => format!("{kinds}{of}"),
        None => format!("{quantity} by kind{of}"),
    };
    let chart = Chart {
        id: ids.make(&format!("{}-kinds-{}", run.record().instrument, run.name)),
        title,
        note: format!(
            "{}; each dot is a figure of all samples of its kind, bars are 95 % intervals. The largest is the largest seen, no bound.",
            counted(samples, "sample")
        ),
        x: Axis::fitting(format!("{quantity} in {unit}"), values.into_iter()),
        y: Axis::names("", names),
        series: chart::Series::with_points(series),
        marks: Vec::new(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table)))
}

/// Every kind of every run as a distribution; those of threads are switched off at first.
fn distribution(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Block> {
    const BINS: u32 = 40;
    let mut all = Vec::new();
    let mut kinds: Vec<String> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        for context in contexts(run) {
            // Each kind has its colour, in every run the same, and each run its dashes.
            let kind = kinds.iter().position(|k| *k == context);
            let kind = kind.unwrap_or_else(|| {
                kinds.push(context.clone());
                kinds.len() - 1
            });
            let look = match number {
                0 => Look::of(kind),
                n => Look::of(kind).part(n - 1),
            };
            if let Some(histogram) = whole(run.item, Some(&context)).filter(|h| h.count() > 0) {
                all.push(one(
                    run,
                    context.clone(),
                    true,
                    (Some(&context), None),
                    &histogram,
                    BINS,
                    look,
                ));
            }
            let parts =
                run.item.parts.iter().filter(|part| {
                    part.context.as_deref() == Some(&context) && part.thread.is_some()
                });
            let parts: Vec<_> = parts.collect();
            if parts.len() < 2 {
                continue;
            }
            let parts = parts.iter().filter(|p| p.histogram.count() > 0);
            for (number, part) in parts.enumerate() {
                let name = format!("{context}, {}", thread(None, part.thread));
                all.push(one(
                    run,
                    name,
                    false,
                    (Some(&context), part.thread),
                    &part.histogram,
                    BINS,
                    look.part(number),
                ));
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
                "{}, one series per kind, {BINS} bins per decade (5.9 % wide).{}",
                counted(samples, "sample"),
                zeros(all.iter())
            ),
            quantity,
            unit: micros_of(runs),
            series: all,
            marks: series::marks(runs),
        };
        Block::Drawing(Box::new(Drawing::Distribution(distribution)), None)
    })
}
