// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latencies of threads: distributions, the table of threads, deadlines that were missed.

mod distribution;

use punctual_model::{RunRecord, Series};
use punctual_stats::ThreadHistogram;
use punctual_verdict::bursts;

pub(super) use self::distribution::marks;
use super::named::micros;
use super::parts::{Block, Ids, RunItem, Table};
use super::runs::Named;
use super::too_short::too_short;
use crate::chart::distribution::bins;
use crate::chart::{DistributionSeries, Drawing, Look, spark};
use crate::clock_or_count::Times;
use crate::number::{Missing, events_of, percent, policy, quantity_of, span};

/// With more series than this they are drawn with wider bins, and only all threads of a run together at first.
pub(super) const FINE: usize = 24;

/// The blocks of runs whose latencies are of one kind.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks: Vec<Block> = threads(runs).map(Block::Table).into_iter().collect();
    let quantiles = quantiles(runs, false);
    match distribution::distribution(ids, runs) {
        Some(distribution) => {
            let drawing = Box::new(Drawing::Distribution(distribution));
            blocks.push(Block::Drawing(drawing, quantiles));
        }
        None => blocks.extend(quantiles.map(Block::Table)),
    }
    blocks.extend(super::maxima::block(ids, runs));
    blocks
}

/// What few ask for: the shape of the distributions, what P-square estimated, the quantiles and misses of each thread.
pub(super) fn more(runs: &[Named<'_>]) -> Option<Block> {
    let tables = [
        shape(runs),
        psquare(runs),
        quantiles(runs, true),
        misses(runs, true),
    ];
    let tables: Vec<Block> = tables.into_iter().flatten().map(Block::Table).collect();
    let title = "More of each thread";
    (!tables.is_empty()).then(|| Block::Fold(title.to_owned(), tables))
}

const NO_SAMPLES: &str = "there are no samples";
const ABOVE_BUCKETS: &str = "above the buckets of the source, or too few samples lie beyond";
const NO_INTERVAL: &str = "too few samples for an interval";
const NO_SHAPE: &str = "not defined for so few or for equal samples";
const NO_CPU: &str = "the thread could move between CPUs";
const NOT_RECORDED: &str = "not recorded";

fn quantile(series: &Series, name: &str) -> Option<u64> {
    series.quantiles_ns.get(name).copied().flatten()
}

/// A quantile that has an interval. Without one it is a number among many that fit as well, and
/// has no place in a table that is compared with others.
pub(super) fn bounded_quantile(series: &Series, name: &str) -> Option<u64> {
    let interval = series.quantile_intervals_ns.get(name)?;
    quantile(series, name).filter(|_| interval.is_some())
}

/// Says why a quantile is missing.
fn why(run: &RunRecord, series: &Series, name: &str) -> &'static str {
    let above_all = series.clamped.unwrap_or(0) > 0 && run.origin.is_some();
    match (series.count, series.quantiles_ns.contains_key(name)) {
        (0, _) => NO_SAMPLES,
        (_, true) if above_all && quantile(series, name).is_none() => ABOVE_BUCKETS,
        // So few that there is no quantile are too few for its interval, too.
        (_, true) => NO_INTERVAL,
        (_, false) => NOT_RECORDED,
    }
}

/// The threads, and all of them together where that says something new.
fn rows(run: &RunRecord) -> impl Iterator<Item = &Series> {
    // The total of a run with several kinds of samples may be one of them.
    let total = (run.series.len() != 1).then_some(&run.total);
    let total = total.filter(|total| has_figures(run) && !run.series.contains(total));
    run.series.iter().chain(total)
}

/// Whether the total is more than counts: of different kinds of latencies there is no common distribution.
fn has_figures(run: &RunRecord) -> bool {
    let kinds = run.series.iter().any(|series| series.context.is_some());
    !kinds || run.total.count == 0 || run.total.mean_ns.is_some()
}

/// Whether the instrument, or the tool that an imported run is of, measures something else than latencies.
const fn takes_no_samples(run: &RunRecord) -> bool {
    let is_other = run.setup.is_some() || !run.figures.is_empty();
    is_other && run.series.is_empty() && run.total.count == 0
}

fn number(series: &Series) -> String {
    let thread = series.thread;
    thread.map_or_else(|| "all".to_owned(), |n| n.to_string())
}

/// The name of a run, where there are several.
pub(super) fn of_run(run: &Named<'_>, runs: &[Named<'_>]) -> String {
    match runs.len() {
        1 => String::new(),
        _ => run.name.to_owned(),
    }
}

fn shape(runs: &[Named<'_>]) -> Option<Table> {
    let mut table = Table::of(
        format!("Shape, deviation in {}", micros_of(runs)),
        "<Run|Thread|<Kind|Deviation|Skewness|Excess kurtosis|Independent samples",
    );
    let mut missing = Missing::default();
    for run in runs {
        let (no_shape, no_interval) = match run.record().origin {
            Some(_) => (NOT_RECORDED, NOT_RECORDED),
            None => (NO_SHAPE, NO_INTERVAL),
        };
        for series in rows(run.record()).filter(|s| s.stddev_ns.is_some()) {
            let plain = |figure: Option<f64>, decimals| figure.map(|x| format!("{x:.decimals$}"));
            table.rows.push(vec![
                of_run(run, runs),
                number(series),
                series.context.clone().unwrap_or_default(),
                missing.or(series.stddev_ns.map(micros), no_shape),
                missing.or(plain(series.skewness, 3), no_shape),
                missing.or(plain(series.excess_kurtosis, 3), no_shape),
                missing.or(plain(series.effective_samples, 0), no_interval),
            ]);
        }
    }
    table.notes.extend(missing.reasons());
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

/// What P-square estimated in constant memory, and the quantile that each estimate really is.
fn psquare(runs: &[Named<'_>]) -> Option<Table> {
    let caption = format!(
        "P-square estimates in {}, which have no error bound",
        micros_of(runs)
    );
    let names = [
        "<Run",
        "<Asked",
        "Thread",
        "<Kind",
        "Estimate",
        "Samples at or below",
    ];
    let mut table = Table::new(caption, &names);
    let mut missing = Missing::default();
    for run in runs {
        for series in rows(run.record()) {
            for key in crate::order::in_order(series.psquare_ns.keys()) {
                let estimate = series.psquare_ns.get(key).copied().flatten();
                let share = series.psquare_shares.get(key).copied().flatten();
                table.rows.push(vec![
                    of_run(run, runs),
                    key.clone(),
                    number(series),
                    series.context.clone().unwrap_or_default(),
                    missing.or(estimate.map(micros), NO_SAMPLES),
                    missing.or(share.map(|s| format!("{:.1} %", 100.0 * s)), NOT_RECORDED),
                ]);
            }
        }
    }
    table.notes.extend(missing.reasons());
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
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
    let parts = item.parts.iter().filter(of).map(|part| &part.histogram);
    punctual_stats::LatencyHistogram::merged(parts)
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

/// The largest of what a histogram holds, and how many samples are above its range, where the record has them: histograms are
/// stored without either.
fn recorded(
    run: &Named<'_>,
    (context, thread): (Option<&str>, Option<u32>),
) -> (Option<u64>, Option<u64>) {
    let series = || {
        let all = run.record().series.iter();
        all.filter(|s| s.context.as_deref() == context)
    };
    // Of all threads as the record has them; where it has each thread alone, all of those.
    let own = series().any(|s| s.thread == thread);
    let series = series().filter(|s| !own || s.thread == thread);
    let largest = series.clone().filter_map(|s| s.max_ns).max();
    let clamped = series.filter_map(|s| s.clamped);
    (largest, clamped.reduce(u64::saturating_add))
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
    let origin = run.record().origin.as_ref();
    let width_ns = origin.and_then(|origin| origin.resolution_ns);
    let (largest, clamped) = recorded(run, of);
    DistributionSeries {
        run: run.name.to_owned(),
        kernel: run.record().host.kernel_release.clone().unwrap_or_default(),
        part,
        whole,
        bins: bins(histogram, bins_a_decade, width_ns.unwrap_or(1)),
        rows: spark::rows(histogram),
        count: histogram.count(),
        clamped: clamped.unwrap_or_else(|| histogram.clamped()),
        max_ns: largest.or_else(|| histogram.max()),
        validity: run.validity(),
        shown: whole,
        group: run.group.unwrap_or_default().to_owned(),
        look,
    }
}

/// The quantiles with their intervals: of all threads together, or of each.
fn quantiles<'a>(runs: &'a [Named<'a>], each: bool) -> Option<Table> {
    let what = if each {
        "each thread"
    } else {
        "all threads together"
    };
    let mut table = Table::of(
        format!("Quantiles of {what} in {}", micros_of(runs)),
        "<Run|<Valid|Quantile|Thread|<Kind|Value|Low|..High|?Confidence|?Samples",
    );
    let mut missing = Missing::default();
    let of_record = |record: &'a RunRecord| -> &'a [Series] {
        match (each, record.series.len()) {
            _ if takes_no_samples(record) => &[],
            (true, 0 | 1) => &[],
            (true, _) => &record.series,
            (false, _) => std::slice::from_ref(&record.total),
        }
    };
    // A column of nothing but dashes says less than one sentence.
    let mut all = runs.iter().flat_map(|run| of_record(run.record()));
    let any = all.any(|of| of.quantile_intervals_ns.values().any(Option::is_some));
    for run in runs {
        let record = run.record();
        for series in of_record(record) {
            for name in crate::order::in_order(series.quantiles_ns.keys()) {
                let interval = series.quantile_intervals_ns.get(name).copied().flatten();
                let end =
                    |pick: fn(&punctual_model::Interval) -> f64| interval.map(|i| micros(pick(&i)));
                let value = quantile(series, name).map(|ns| micros(ns as f64));
                table.rows.push(vec![
                    of_run(run, runs),
                    valid_of(run, runs),
                    name.clone(),
                    if each { number(series) } else { String::new() },
                    series.context.clone().unwrap_or_default(),
                    missing.or(value, why(record, series, name)),
                    match any {
                        true => missing.or(end(|i| i.low), no_interval(record)),
                        false => String::new(),
                    },
                    end(|i| i.high).unwrap_or_default(),
                    interval.map_or_else(String::new, |i| percent(i.confidence)),
                    series.count.to_string(),
                ]);
            }
        }
    }
    let errors = runs
        .iter()
        .filter_map(|run| run.record().total.quantile_relative_error);
    if let Some(error) = errors.reduce(f64::max).filter(|error| *error > 0.0) {
        table
            .notes
            .push(format!("Histogram error at most {}.", percent(error)));
    }
    table.notes.extend(missing.reasons());
    // Without samples that is the reason, and said already.
    let counted = |run: &&'a Named<'a>| of_record(run.record()).iter().any(|of| of.count > 0);
    if let Some(run) = runs.iter().find(counted).filter(|_| !any) {
        let note = match run.record().origin {
            Some(_) => "Intervals are not recorded.",
            None => "There are too few samples for intervals.",
        };
        table.notes.push(note.to_owned());
    }
    if !each {
        let totals =
            |run: &Named<'_>| needs(run, runs, [&run.record().total], |name| name != "mean");
        table.notes.extend(runs.iter().filter_map(totals));
    }
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

const fn no_interval(record: &RunRecord) -> &'static str {
    match record.origin {
        Some(_) => NOT_RECORDED,
        None => NO_INTERVAL,
    }
}

/// Why figures of a run have no interval, and how long to measure.
fn needs<'a>(
    run: &Named<'_>,
    runs: &[Named<'_>],
    series: impl IntoIterator<Item = &'a Series>,
    of: impl Fn(&str) -> bool,
) -> Option<String> {
    let note = too_short(run.record().duration_ns, series.into_iter(), of)?;
    Some(match runs.len() {
        1 => note,
        _ => format!("{}: {note}", run.name),
    })
}

pub(super) fn valid(run: &Named<'_>) -> String {
    run.validity().cell()
}

/// The same, where there are several runs.
pub(super) fn valid_of(run: &Named<'_>, runs: &[Named<'_>]) -> String {
    match runs.len() {
        1 => String::new(),
        _ => valid(run),
    }
}

/// A row a thread.
pub(super) fn threads(runs: &[Named<'_>]) -> Option<Table> {
    let first = runs.first()?.record();
    let mut table = Table::of(
        format!("{} in {}", quantity_of(first), micros_of(runs)),
        "<Run|Thread|<Kind|CPU|?<Policy|??Interval|Samples|?Min|Mean|±|p50|p99|p99.9|Max|\
         ??Deviation|?Overruns|??Lost|??Clamped",
    );
    let mut missing = Missing::default();
    for run in runs {
        let record = run.record();
        for series in rows(record).filter(|_| !takes_no_samples(record)) {
            let absent = match series.count {
                0 => NO_SAMPLES,
                _ => NOT_RECORDED,
            };
            let whole = series.thread.is_none();
            let half = series
                .mean_interval_ns
                .zip(series.mean_ns)
                .map(|(i, mean)| (i.high - mean).max(mean - i.low));
            let mut row = vec![
                of_run(run, runs),
                number(series),
                series.context.clone().unwrap_or_default(),
            ];
            // All threads together have no CPU, policy or interval of their own.
            let no_cpu = record.origin.as_ref().map_or(NO_CPU, |_| NOT_RECORDED);
            // What an instrument of ours does not have is not unknown.
            let ours = whole || record.setup.is_some();
            let placed = [
                (series.cpu.map(|n| n.to_string()), no_cpu, whole),
                (series.policy.as_deref().map(policy), NOT_RECORDED, whole),
                (series.interval_ns.map(span), NOT_RECORDED, ours),
            ];
            row.extend(placed.map(|(text, why, none)| match (text, none) {
                (None, true) => String::new(),
                (text, _) => missing.or(text, why),
            }));
            row.push(series.count.to_string());
            let time = |ns: Option<u64>| ns.map(|ns| micros(ns as f64));
            row.push(missing.or(time(series.min_ns), absent));
            row.push(missing.or(series.mean_ns.map(micros), absent));
            row.push(half.map_or_else(String::new, micros));
            for name in ["p50", "p99", "p99.9"] {
                // An imported run has none with an interval: the order of its samples is lost.
                let value = match record.origin {
                    Some(_) => quantile(series, name),
                    None => bounded_quantile(series, name),
                };
                row.push(missing.or(time(value), why(record, series, name)));
            }
            row.push(missing.or(time(series.max_ns), absent));
            row.push(series.stddev_ns.map_or_else(String::new, micros));
            for count in [series.overruns, series.lost, series.clamped] {
                row.push(match (count, &record.setup) {
                    (None, Some(_)) => String::new(),
                    (count, _) => missing.or(count.map(|n| n.to_string()), NOT_RECORDED),
                });
            }
            table.rows.push(row);
        }
    }
    if table.rows.is_empty() {
        return None;
    }
    let all = || runs.iter().flat_map(|run| rows(run.record()));
    let intervals = || all().filter_map(|series| series.mean_interval_ns);
    if let Some(interval) = intervals().next() {
        let confidence = percent(interval.confidence);
        let cut = match intervals().any(|interval| interval.low <= 0.0) {
            true => " It ends at 0 at the latest: where that cuts it, ± is its longer half.",
            false => "",
        };
        table.notes.push(format!(
            "±: half the {confidence} interval of the mean, which allows for dependent samples.{cut}"
        ));
    }
    table.notes.extend(missing.reasons());
    let all = |run: &Named<'_>| {
        needs(run, runs, rows(run.record()), |name| {
            ["mean", "p50", "p99", "p99.9"].contains(&name)
        })
    };
    table.notes.extend(runs.iter().filter_map(all));
    Some(table.without_empty_columns())
}

/// Deadlines that were missed: by all threads together, or by each.
pub(super) fn misses(runs: &[Named<'_>], each: bool) -> Option<Table> {
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
            "<Kind",
            "Later samples",
            "Later overruns",
            &of,
            "<Share",
        ],
    );
    let mut missing = Missing::default();
    for run in runs {
        let record = run.record();
        // Threads that were calibrated have a deadline each.
        let missed = record.series.iter().any(|series| !series.misses.is_empty());
        let own = missed && (record.setup.is_some() || !has_figures(record));
        let total = std::slice::from_ref(&record.total);
        let series: &[Series] = match (each, own, record.series.len()) {
            (false, true, _) => &record.series,
            (false, false, _) => total,
            (true, false, 2..) => &record.series,
            (true, ..) => &[],
        };
        for series in series {
            let all = series.count.saturating_add(series.overruns.unwrap_or(0));
            for misses in &series.misses {
                table.rows.push(vec![
                    of_run(run, runs),
                    valid_of(run, runs),
                    span(misses.deadline_ns),
                    number(series),
                    series.context.clone().unwrap_or_default(),
                    misses.count.to_string(),
                    misses.overruns.to_string(),
                    all.to_string(),
                    missing.or(bursts::missed(record, series, misses), NO_SAMPLES),
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
    table.notes.extend(missing.reasons());
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}
