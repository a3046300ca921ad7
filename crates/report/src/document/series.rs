// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of threads: distributions, the table of threads, deadlines that were missed.

use punctual_model::Series;
use punctual_stats::ThreadHistogram;
use punctual_verdict::bursts;

use super::named::{counted, micros};
use super::runs::Named;
use super::{Block, Ids, RunItem, Table};
use crate::chart::distribution::{self, bins};
use crate::chart::{Distribution, DistributionSeries, Drawing, Look};
use crate::text::{bounded_quantile, events_of, percent, quantity_of, span, too_short};
use crate::times::Times;

/// With more series than this they are drawn with wider bins, and only all threads of a run together at first.
pub(super) const FINE: usize = 24;

/// The blocks of runs whose latencies are of one kind.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let table = threads(runs);
    let rows = table.as_ref().map_or(0, |t| t.rows.len());
    if let Some(distribution) = distribution(ids, runs) {
        let quantiles = quantiles(runs);
        blocks.push(Block::Drawing(
            Box::new(Drawing::Distribution(distribution)),
            quantiles,
        ));
    }
    if let Some(table) = table {
        blocks.push(match rows {
            0..=30 => Block::Table(table),
            n => Block::Fold(format!("Every thread: {n} rows"), vec![Block::Table(table)]),
        });
    }
    blocks.extend(super::maxima::block(ids, runs));
    blocks
}

/// The unit of the times of `runs`.
pub(super) fn micros_of(runs: &[Named<'_>]) -> &'static str {
    Times::micros_of(runs.iter().map(Named::record))
}

/// All threads of a run together: stored as such, or added up.
pub(super) fn whole(
    item: &RunItem,
    context: Option<&str>,
) -> Option<punctual_stats::LatencyHistogram> {
    let of = |part: &&ThreadHistogram| part.context.as_deref() == context;
    if let Some(part) = item.parts.iter().filter(of).find(|p| p.thread.is_none()) {
        return Some(part.histogram.clone());
    }
    let mut parts = item.parts.iter().filter(of);
    let mut all = parts.next()?.histogram.clone();
    parts.for_each(|part| all.merge(&part.histogram));
    Some(all)
}

/// Name of a thread: `thread 0 on CPU 1`.
pub(super) fn thread(series: Option<&Series>, number: Option<u32>) -> String {
    let Some(number) = number else {
        return "all threads".to_owned();
    };
    match series.and_then(|s| s.cpu) {
        Some(cpu) => format!("thread {number} on CPU {cpu}"),
        None => format!("thread {number}"),
    }
}

/// The extremes of what a histogram holds, exact where the record has them.
fn extremes(
    run: &Named<'_>,
    (context, thread): (Option<&str>, Option<u32>),
) -> (Option<u64>, Option<u64>) {
    let of =
        |s: &&Series| s.context.as_deref() == context && (thread.is_none() || s.thread == thread);
    let series = || run.record().series.iter().filter(of);
    (
        series().filter_map(|s| s.min_ns).min(),
        series().filter_map(|s| s.max_ns).max(),
    )
}

/// One distribution of a histogram, of a kind of latency and a thread.
pub(super) fn one(
    run: &Named<'_>,
    part: String,
    whole: bool,
    of: (Option<&str>, Option<u32>),
    histogram: &punctual_stats::LatencyHistogram,
    bins_a_decade: u32,
    look: Look,
) -> DistributionSeries {
    let (min_ns, max_ns) = extremes(run, of);
    DistributionSeries {
        run: run.name.to_owned(),
        kernel: run.record().host.kernel_release.clone().unwrap_or_default(),
        part,
        whole,
        bins: bins(histogram, bins_a_decade),
        count: histogram.count(),
        clamped: histogram.clamped(),
        min_ns: min_ns.or_else(|| histogram.min()),
        max_ns: max_ns.or_else(|| histogram.max()),
        validity: run.validity(),
        shown: whole,
        group: run.group.unwrap_or_default().to_owned(),
        look,
    }
}

fn distribution(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Distribution> {
    let many: usize = runs.iter().map(|r| r.item.parts.len() + 1).sum();
    let bins_a_decade = if many > FINE { 40 } else { 100 };
    let mut series = Vec::new();
    for run in runs {
        let item = run.item;
        let Some(all) = whole(item, None) else {
            continue;
        };
        if all.count() == 0 {
            continue;
        }
        let threads: Vec<&ThreadHistogram> =
            item.parts.iter().filter(|p| p.thread.is_some()).collect();
        let name = match threads.as_slice() {
            [only] => thread(of(run, only), only.thread),
            _ => "all threads".to_owned(),
        };
        let look = run.look.unwrap_or_default();
        series.push(one(
            run,
            name,
            true,
            (None, None),
            &all,
            bins_a_decade,
            look,
        ));
        if threads.len() > 1 {
            let parts = threads.iter().filter(|part| part.histogram.count() > 0);
            series.extend(parts.enumerate().map(|(number, part)| {
                let name = thread(of(run, part), part.thread);
                let look = match run.look {
                    Some(look) => look.part(number),
                    None => Look::of(number + 1),
                };
                one(
                    run,
                    name,
                    false,
                    (None, part.thread),
                    &part.histogram,
                    bins_a_decade,
                    look,
                )
            }));
        }
    }
    if series.is_empty() {
        return None;
    }
    let first = runs.first()?;
    let quantity = quantity_of(first.record());
    let samples: u64 = series.iter().filter(|s| s.whole).map(|s| s.count).sum();
    let marks = marks(runs);
    Some(Distribution {
        id: ids.make(&format!("{}-distribution", first.record().instrument)),
        title: quantity.clone(),
        note: format!(
            "{} of {}, {bins_a_decade} bins per decade ({} % wide). Each step is a bin; the tables have the exact figures.{}{}",
            counted(samples, "sample"),
            counted(series.iter().filter(|s| s.whole).count() as u64, "run"),
            if bins_a_decade == 100 { "2.3" } else { "5.9" },
            match runs.iter().any(|run| run.record().origin.is_some()) {
                true =>
                    " Samples of an imported run are drawn at the upper end of the bucket that its source put them in.",
                false => "",
            },
            distribution::zeros(series.iter())
        ),
        quantity,
        unit: micros_of(runs),
        bins_a_decade,
        split_ns: split(&series),
        series,
        marks,
    })
}

/// The deadlines and thresholds of runs, in ns.
pub(super) fn marks(runs: &[Named<'_>]) -> Vec<(String, u64)> {
    let mut marks: Vec<(String, u64)> = Vec::new();
    for run in runs {
        let record = run.record();
        let series = record.series.iter().chain([&record.total]);
        for misses in series.flat_map(|s| &s.misses) {
            let mark = (
                format!("deadline {}", span(misses.deadline_ns)),
                misses.deadline_ns.get(),
            );
            if !marks.contains(&mark) && marks.len() < 6 {
                marks.push(mark);
            }
        }
        if let Some(hit) = &record.threshold {
            let mark = (
                format!("threshold {}", span(hit.threshold_ns)),
                hit.threshold_ns.get(),
            );
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
    }
    marks
}

fn of<'a>(run: &Named<'a>, part: &ThreadHistogram) -> Option<&'a Series> {
    run.record()
        .series
        .iter()
        .find(|s| s.thread == part.thread && s.context == part.context)
}

/// Where the head ends: where 99 % of the samples of every run lie below.
pub(super) fn split(series: &[DistributionSeries]) -> u64 {
    let quantile = |series: &DistributionSeries| {
        let mut below = 0_u64;
        let found = series.bins.iter().find(|bin| {
            below += bin.count;
            below.saturating_mul(100) >= series.count.saturating_mul(99)
        });
        found.map(|bin| bin.to_ns)
    };
    series.iter().filter_map(quantile).max().unwrap_or(1_000)
}

/// The quantiles of each run with their intervals.
fn quantiles(runs: &[Named<'_>]) -> Option<Table> {
    let names = crate::order::in_order(
        runs.iter()
            .flat_map(|run| run.record().total.quantiles_ns.keys()),
    );
    let mut table = Table::new(
        format!("Quantiles of all threads together in {}", micros_of(runs)),
        &[
            "<Run",
            "<Valid",
            "Quantile",
            "Value",
            "Low",
            "High",
            "Confidence",
            "Samples",
        ],
    );
    for run in runs {
        let record = run.record();
        for name in &names {
            let Some(value) = record.total.quantiles_ns.get(*name).copied().flatten() else {
                continue;
            };
            let interval = record
                .total
                .quantile_intervals_ns
                .get(*name)
                .copied()
                .flatten();
            let end = |pick: fn(&punctual_model::Interval) -> f64| {
                interval.map_or_else(|| "-".to_owned(), |i| micros(pick(&i)))
            };
            table.rows.push(vec![
                run.name.to_owned(),
                valid(run),
                (*name).clone(),
                micros(value as f64),
                end(|i| i.low),
                end(|i| i.high),
                interval.map_or_else(|| "-".to_owned(), |i| percent(i.confidence)),
                record.total.count.to_string(),
            ]);
        }
    }
    table
        .notes
        .push("-: the samples allow no interval. Quantiles are at most 0.1 % above the exact ones, where the run does not say otherwise.".to_owned());
    let totals = |run: &Named<'_>| needs(run, [&run.record().total], |name| name != "mean");
    table.notes.extend(runs.iter().filter_map(totals));
    (!table.rows.is_empty()).then_some(table)
}

/// Why figures of a run have no interval, and how long to measure.
fn needs<'a>(
    run: &Named<'_>,
    series: impl IntoIterator<Item = &'a Series>,
    of: impl Fn(&str) -> bool,
) -> Option<String> {
    let note = too_short(run.record().duration_ns, series.into_iter(), of)?;
    Some(format!("{}: {note}", run.name))
}

pub(super) fn valid(run: &Named<'_>) -> String {
    run.validity().cell()
}

/// A row a thread.
pub(super) fn threads(runs: &[Named<'_>]) -> Option<Table> {
    let mut table = Table::new(
        format!("Every thread, latencies in {}", micros_of(runs)),
        &[
            "<Run",
            "Thread",
            "<Kind",
            "CPU",
            "<Policy",
            "Interval ms",
            "Samples",
            "Min",
            "Mean",
            "± mean",
            "p50",
            "p99",
            "p99.9",
            "Max",
            "Deviation",
            "Overruns",
            "Lost",
            "Clamped",
        ],
    );
    for run in runs {
        let record = run.record();
        let total =
            (record.series.len() != 1 && record.total.mean_ns.is_some()).then_some(&record.total);
        for series in record.series.iter().chain(total) {
            let time = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), micros);
            let quantile = |name: &str| {
                let value = match record.origin {
                    Some(_) => series.quantiles_ns.get(name).copied().flatten(),
                    None => bounded_quantile(series, name),
                };
                time(value.map(|ns| ns as f64))
            };
            let half = series
                .mean_interval_ns
                .zip(series.mean_ns)
                .map(|(i, mean)| (i.high - mean).max(mean - i.low));
            let count = |n: Option<u64>| n.map_or_else(|| "-".to_owned(), |n| n.to_string());
            table.rows.push(vec![
                run.name.to_owned(),
                series
                    .thread
                    .map_or_else(|| "all".to_owned(), |n| n.to_string()),
                series.context.clone().unwrap_or_default(),
                series.cpu.map_or_else(String::new, |n| n.to_string()),
                series
                    .policy
                    .as_deref()
                    .map_or_else(String::new, crate::text::policy),
                series
                    .interval_ns
                    .map_or_else(String::new, |ns| crate::text::digits(ns.get() as f64 / 1e6)),
                series.count.to_string(),
                time(series.min_ns.map(|ns| ns as f64)),
                time(series.mean_ns),
                time(half),
                quantile("p50"),
                quantile("p99"),
                quantile("p99.9"),
                time(series.max_ns.map(|ns| ns as f64)),
                time(series.stddev_ns),
                count(series.overruns),
                count(series.lost),
                count(series.clamped),
            ]);
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    table.notes.push(
        "± mean: half of the 95 % interval of the mean, dependence of the samples taken into account. -: too few samples for a figure with an interval.".to_owned(),
    );
    let all = |run: &Named<'_>| {
        let record = run.record();
        needs(run, record.series.iter().chain([&record.total]), |name| {
            ["mean", "p50", "p99", "p99.9"].contains(&name)
        })
    };
    table.notes.extend(runs.iter().filter_map(all));
    Some(table.without_empty_columns())
}

/// Deadlines that were missed.
pub(super) fn misses(runs: &[Named<'_>]) -> Option<Block> {
    let events = runs
        .first()
        .map_or("Wake-ups", |run| events_of(run.record()));
    let of = format!("Of {}", events.to_lowercase());
    let mut table = Table::new(
        format!("{events} later than a deadline"),
        &[
            "<Run",
            "<Valid",
            "<Deadline",
            "Thread",
            "Later samples",
            "Later overruns",
            &of,
            "<Share",
        ],
    );
    for run in runs {
        let record = run.record();
        let total = (record.series.len() != 1).then_some(&record.total);
        for series in record.series.iter().chain(total) {
            let all = series.count + series.overruns.unwrap_or(0);
            for misses in &series.misses {
                table.rows.push(vec![
                    run.name.to_owned(),
                    valid(run),
                    span(misses.deadline_ns),
                    series
                        .thread
                        .map_or_else(|| "all".to_owned(), |n| n.to_string()),
                    misses.count.to_string(),
                    misses.overruns.to_string(),
                    all.to_string(),
                    bursts::missed(record, series, misses).unwrap_or_default(),
                ]);
            }
        }
    }
    let mut cells = table.rows.iter().flatten();
    if cells.any(|cell| cell.starts_with("<=")) {
        let mut notes: Vec<String> = runs.iter().map(|run| bursts::note(run.record())).collect();
        notes.sort_unstable();
        notes.dedup();
        table.notes.extend(notes);
    }
    (!table.rows.is_empty()).then_some(Block::Table(table))
}
