// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The figures of a run.

use std::collections::BTreeSet;

use punctual_model::{Instrument, Nanos, RunRecord, Series};
use punctual_verdict::bursts;

use super::Detail;
use super::layout::{Column, paragraph, table as layout, wrapped};
use super::number::{Micros, Missing, percent, policy, span};
use super::too_short;
use crate::order::in_order;
use crate::times::Times;

const NO_SAMPLES: &str = "there are no samples";
const NO_QUANTILE: &str = "fewer than one sample lies beyond that quantile";
const ABOVE_BUCKETS: &str = "above the buckets of the source, or too few samples lie beyond";
const NO_INTERVAL: &str = "too few samples for an interval";
const NO_SHAPE: &str = "not defined for so few or for equal samples";
const NO_CPU: &str = "the thread could move between CPUs";
pub(crate) const NOT_RECORDED: &str = "not recorded";

/// The column of what was measured, where a run has several kinds.
const KIND: &str = "Kind";

/// Quantiles in the first table; the others are in the full text.
const COLUMNS: [&str; 3] = ["p50", "p99", "p99.9"];

/// Whether the instrument measures something else than latencies.
const fn takes_no_samples(run: &RunRecord) -> bool {
    run.setup.is_some() && run.series.is_empty() && run.total.count == 0
}

/// The threads, and all of them together where that says something new.
fn rows(run: &RunRecord) -> impl Iterator<Item = &Series> {
    let total = (run.series.len() != 1 && has_figures(run)).then_some(&run.total);
    run.series.iter().chain(total)
}

/// Whether the total is more than counts: of different kinds of latencies there is no common
/// distribution.
fn has_figures(run: &RunRecord) -> bool {
    let kinds = run.series.iter().any(|series| series.context.is_some());
    !kinds || run.total.count == 0 || run.total.mean_ns.is_some()
}

/// The threads where all is asked for, and all of them together.
fn rows_of(run: &RunRecord, detail: Detail) -> impl Iterator<Item = &Series> {
    let threads = match detail {
        Detail::Full if run.series.len() != 1 => run.series.as_slice(),
        _ => &[],
    };
    threads.iter().chain(has_figures(run).then_some(&run.total))
}

/// Chooses the decimals of a column.
fn decimals<'a>(run: &'a RunRecord, figure: impl Fn(&'a Series) -> Option<u64>) -> Micros {
    Micros::up_to(rows(run).filter_map(figure).max())
}

/// Chooses the decimals of a column of means or estimates.
fn decimals_of<'a>(run: &'a RunRecord, figure: impl Fn(&'a Series) -> Option<f64>) -> Micros {
    Micros::up_to_all(rows(run).filter_map(figure))
}

fn quantile(series: &Series, name: &str) -> Option<u64> {
    series.quantiles_ns.get(name).copied().flatten()
}

/// A quantile that has an interval. Without one it is a number among many that fit as well, and
/// has no place in a table that is compared with others.
pub(crate) fn bounded_quantile(series: &Series, name: &str) -> Option<u64> {
    let interval = series.quantile_intervals_ns.get(name)?;
    quantile(series, name).filter(|_| interval.is_some())
}

fn number(series: &Series) -> String {
    series
        .thread
        .map_or_else(|| "all".to_owned(), |n| n.to_string())
}

fn kind(series: &Series) -> String {
    let context = series.context.as_deref();
    context.map_or_else(String::new, |c| super::layout::clean(c).into_owned())
}

fn name(series: &Series) -> String {
    let thread = number(series);
    match &series.context {
        Some(_) => format!("{thread} {}", kind(series)),
        None => thread,
    }
}

/// A row a thread, and one for all of them.
pub(crate) fn table(run: &RunRecord) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    let least = decimals(run, |s| s.min_ns);
    let means = decimals_of(run, |s| s.mean_ns);
    let quantiles = COLUMNS.map(|name| (name, decimals(run, |s| quantile(s, name))));
    let most = decimals(run, |s| s.max_ns);
    let mut missing = Missing::default();
    let header = [
        ("Thread", Column::Right),
        (KIND, Column::Left),
        ("CPU", Column::Right),
        ("Policy", Column::Left),
        ("Interval", Column::Right),
        ("Samples", Column::Right),
        ("Min", Column::Right),
        ("Mean", Column::Right),
        ("p50", Column::Right),
        ("p99", Column::Right),
        ("p99.9", Column::Right),
        ("Max", Column::Right),
        ("Overruns", Column::Right),
    ];
    let cells = rows(run).map(|series| {
        let mut row = placement(run, series, &mut missing);
        row.push(series.count.to_string());
        let absent = match series.count {
            0 => NO_SAMPLES,
            _ => NOT_RECORDED,
        };
        row.push(missing.or(series.min_ns.map(|ns| least.whole(ns)), absent));
        row.push(missing.or(mean(series, means), absent));
        row.extend(quantiles.map(|(name, micros)| {
            // An imported run has none with an interval: the order of its samples is lost.
            let figure = match run.origin {
                Some(_) => quantile(series, name),
                None => bounded_quantile(series, name),
            };
            let figure = figure.map(|ns| micros.whole(ns));
            let reason = match quantile(series, name) {
                Some(_) => NO_INTERVAL,
                None => why(run, series, name),
            };
            missing.or(figure, reason)
        }));
        row.push(missing.or(series.max_ns.map(|ns| most.whole(ns)), absent));
        let overruns = series.overruns.map(|n| n.to_string());
        row.push(if_any(run, overruns, &mut missing));
        row
    });
    let (header, rows) = with_content(run, &header, cells.collect());
    let mut text = format!(
        "{} in {}\n",
        Instrument::samples_of(&run.instrument).title,
        Times::of_run(run).micros()
    );
    text += &layout(&header, rows);
    let confidence = rows_confidence(run);
    if let Some(confidence) = confidence {
        let confidence = percent(confidence);
        let note = format!(" ±: half of the {confidence} interval of the mean\n");
        text += &note;
    }
    text += &missing.note();
    text += &needs(run, self::rows(run), |name| {
        name == "mean" || COLUMNS.contains(&name)
    });
    Some(text)
}

/// Why figures have no interval, and how long to measure.
fn needs<'a>(
    run: &RunRecord,
    series: impl Iterator<Item = &'a Series>,
    of: impl Fn(&str) -> bool,
) -> String {
    let note = too_short(run.duration_ns, series, of);
    note.map_or_else(String::new, |note| wrapped(" ", 1, &note))
}

/// Writes what an instrument of ours may not have: that is then not "not recorded".
fn if_any(run: &RunRecord, text: Option<String>, missing: &mut Missing) -> String {
    match (text, &run.setup) {
        (None, Some(_)) => "-".to_owned(),
        (text, _) => missing.or(text, NOT_RECORDED),
    }
}

/// Leaves out the columns of what an instrument does not have: a gap has no interval.
fn with_content<'a>(
    run: &RunRecord,
    header: &[(&'a str, Column)],
    rows: Vec<Vec<String>>,
) -> (Vec<(&'a str, Column)>, Vec<Vec<String>>) {
    let all = |lacks: fn(&Series) -> bool| run.setup.is_some() && self::rows(run).all(lacks);
    let kinds = self::rows(run).any(|s| s.context.is_some());
    // What is the same for every thread stands above the table, and a table with kinds is wide.
    let threads = || self::rows(run).filter(|s| s.thread.is_some());
    let one = |same: fn(&Series, &Series) -> bool| {
        kinds && run.setup.is_some() && threads().zip(threads().skip(1)).all(|(a, b)| same(a, b))
    };
    let (policies, intervals, overruns) = (
        one(|a, b| a.policy == b.policy),
        all(|s| s.interval_ns.is_none()) || one(|a, b| a.interval_ns == b.interval_ns),
        all(|s| s.overruns.is_none()),
    );
    let kept: Vec<bool> = header
        .iter()
        .map(|(name, _)| match *name {
            KIND => kinds,
            "Policy" => !policies,
            "Interval" => !intervals,
            "Overruns" => !overruns,
            _ => true,
        })
        .collect();
    let keep = |row: Vec<String>| {
        let cells = row.into_iter().zip(&kept);
        cells.filter(|(_, kept)| **kept).map(|(c, _)| c).collect()
    };
    let header = header.iter().zip(&kept).filter(|(_, kept)| **kept);
    (
        header.map(|(column, _)| *column).collect(),
        rows.into_iter().map(keep).collect(),
    )
}

fn rows_confidence(run: &RunRecord) -> Option<f64> {
    rows(run).find_map(|series| Some(series.mean_interval_ns?.confidence))
}

fn placement(run: &RunRecord, series: &Series, missing: &mut Missing) -> Vec<String> {
    // All threads together have no CPU, policy or interval of their own.
    let (thread, kind) = (number(series), kind(series));
    if series.thread.is_none() {
        let none = String::new;
        return vec![thread, kind, none(), none(), none()];
    }
    let no_cpu = match run.origin {
        Some(_) => NOT_RECORDED,
        None => NO_CPU,
    };
    vec![
        thread,
        kind,
        missing.or(series.cpu.map(|cpu| cpu.to_string()), no_cpu),
        missing.or(series.policy.as_deref().map(policy), NOT_RECORDED),
        if_any(run, series.interval_ns.map(span), missing),
    ]
}

/// Says why a quantile is missing.
fn why(run: &RunRecord, series: &Series, quantile: &str) -> &'static str {
    let above_all = series.clamped.unwrap_or(0) > 0 && run.origin.is_some();
    match (series.count, series.quantiles_ns.contains_key(quantile)) {
        (0, _) => NO_SAMPLES,
        (_, true) if above_all => ABOVE_BUCKETS,
        (_, true) => NO_QUANTILE,
        (_, false) => NOT_RECORDED,
    }
}

/// Writes the mean and half of its interval.
pub(crate) fn mean(series: &Series, micros: Micros) -> Option<String> {
    let mean = series.mean_ns?;
    let text = micros.of(mean);
    Some(match &series.mean_interval_ns {
        Some(interval) => {
            // The wider half, should the interval not be even.
            let half = (interval.high - mean).max(mean - interval.low);
            format!("{text} ±{}", micros.of(half))
        }
        None => text,
    })
}

/// The shape of the distributions, and the P-square estimates.
pub(crate) fn shape(run: &RunRecord, detail: Detail) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    let imported = run.origin.is_some();
    let nothing = rows(run).all(|s| s.stddev_ns.is_none() && s.psquare_ns.is_empty());
    if detail == Detail::Summary || (imported && nothing) {
        return None;
    }
    let (no_shape, no_interval) = match imported {
        true => (NOT_RECORDED, NOT_RECORDED),
        false => (NO_SHAPE, NO_INTERVAL),
    };
    let deviations = decimals_of(run, |s| s.stddev_ns);
    let mut missing = Missing::default();
    let header = [
        ("Thread", Column::Right),
        ("Deviation", Column::Right),
        ("Skewness", Column::Right),
        ("Excess kurtosis", Column::Right),
        ("Independent samples", Column::Right),
    ];
    let cells = rows(run).map(|series| {
        let plain = |figure: Option<f64>, decimals| figure.map(|x| format!("{x:.decimals$}"));
        vec![
            name(series),
            missing.or(series.stddev_ns.map(|ns| deviations.of(ns)), no_shape),
            missing.or(plain(series.skewness, 3), no_shape),
            missing.or(plain(series.excess_kurtosis, 3), no_shape),
            missing.or(plain(series.effective_samples, 0), no_interval),
        ]
    });
    let rows = cells.collect();
    let mut text = format!("Shape, deviation in {}\n", Times::of_run(run).micros());
    text += &layout(&header, rows);
    text += &missing.note();
    Some(text)
}

/// What P-square estimated in constant memory, and the quantile that each estimate really is.
pub(crate) fn psquare(run: &RunRecord, detail: Detail) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    if detail == Detail::Summary {
        return None;
    }
    let mut missing = Missing::default();
    let mut lines = Vec::new();
    for series in rows(run) {
        for key in in_order(series.psquare_ns.keys()) {
            let estimate = series.psquare_ns.get(key).copied().flatten();
            let share = series.psquare_shares.get(key).copied().flatten();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "decimals only"
            )]
            let micros = Micros::up_to(estimate.map(|ns| ns as u64));
            lines.push(vec![
                super::layout::clean(key).into_owned(),
                name(series),
                missing.or(estimate.map(|ns| micros.of(ns)), NO_SAMPLES),
                missing.or(share.map(|s| format!("{:.1} %", 100.0 * s)), NOT_RECORDED),
            ]);
        }
    }
    if lines.is_empty() {
        return None;
    }
    let header = [
        ("Asked", Column::Left),
        ("Thread", Column::Right),
        ("Estimate", Column::Right),
        ("Samples at or below", Column::Right),
    ];
    let mut text = format!(
        "P-square estimates in {}: no error bound; the last column says what each is\n",
        Times::of_run(run).micros()
    );
    text += &layout(&header, lines);
    text += &missing.note();
    Some(text)
}

/// The quantiles with their intervals: of all threads together, in full also of each.
pub(crate) fn intervals(run: &RunRecord, detail: Detail) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    let mut missing = Missing::default();
    let no_interval = match run.origin {
        Some(_) => NOT_RECORDED,
        None => NO_INTERVAL,
    };
    let mut lines = Vec::new();
    for series in rows_of(run, detail) {
        let keys = series.quantiles_ns.keys();
        for name in in_order(keys.chain(series.quantile_intervals_ns.keys())) {
            let ns = quantile(series, name);
            let micros = Micros::up_to(ns);
            let intervals = &series.quantile_intervals_ns;
            let interval = intervals.get(name.as_str()).copied().flatten();
            lines.push(vec![
                super::layout::clean(name).into_owned(),
                self::name(series),
                missing.or(ns.map(|ns| micros.whole(ns)), why(run, series, name)),
                missing.or(interval.map(|i| micros.interval(&i)), no_interval),
                interval.map(|i| percent(i.confidence)).unwrap_or_default(),
            ]);
        }
    }
    if lines.is_empty() {
        return None;
    }
    let header = [
        ("Quantile", Column::Left),
        ("Thread", Column::Right),
        (Instrument::samples_of(&run.instrument).value, Column::Right),
        ("Interval", Column::Right),
        ("Confidence", Column::Right),
    ];
    let error = run.total.quantile_relative_error;
    let mut text = format!("Quantiles in {}", Times::of_run(run).micros());
    if let Some(error) = error.filter(|error| *error > 0.0) {
        let bound = format!(", at most {} above the exact ones", percent(error));
        text += &bound;
    }
    text.push('\n');
    text += &layout(&header, lines);
    text += &missing.note();
    text += &needs(run, rows_of(run, detail), |name| name != "mean");
    Some(text)
}

/// What is not in the figures, also when it is nothing.
pub(crate) fn counts(run: &RunRecord) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    let total = &run.total;
    let mut text = format!("samples {}", total.count);
    for (what, count, where_to) in [
        (", lost", total.lost, ""),
        (", clamped", total.clamped, ""),
        (", overruns", total.overruns, ""),
        (", in the warm-up", total.warm_up_samples, " (in no figure)"),
    ] {
        // What an instrument of ours does not have is not unknown.
        if count.is_some() || run.setup.is_none() {
            let count = count.map_or_else(|| "unknown".to_owned(), |n| n.to_string());
            text.extend([what, " ", &count, where_to]);
        }
    }
    Some(paragraph("Counted", &text))
}

/// How many samples were later than each deadline.
pub(crate) fn misses(run: &RunRecord, detail: Detail) -> Option<String> {
    if takes_no_samples(run) {
        return None;
    }
    let deadlines: BTreeSet<Nanos> = run
        .series
        .iter()
        .chain([&run.total])
        .flat_map(|series| series.misses.iter().map(|m| m.deadline_ns))
        .collect();
    if deadlines.is_empty() {
        return None;
    }
    let mut missing = Missing::default();
    let mut lines = Vec::new();
    for deadline in deadlines {
        let due = |series: &Series| series.misses.iter().any(|m| m.deadline_ns == deadline);
        // Threads that were calibrated have a deadline each.
        let rows: Vec<&Series> = match run.setup {
            Some(_) => run.series.iter().filter(|s| due(s)).collect(),
            None => rows_of(run, detail).collect(),
        };
        for series in rows {
            let misses = series.misses.iter().find(|m| m.deadline_ns == deadline);
            let wakeups = series.count.saturating_add(series.overruns.unwrap_or(0));
            let share = misses.and_then(|m| bursts::missed(run, series, m));
            lines.push(vec![
                span(deadline),
                name(series),
                missing.or(misses.map(|m| m.count.to_string()), NOT_RECORDED),
                missing.or(misses.map(|m| m.overruns.to_string()), NOT_RECORDED),
                wakeups.to_string(),
                missing.or(share, NO_SAMPLES),
            ]);
        }
    }
    let events = Instrument::samples_of(&run.instrument).events;
    let header = [
        ("Deadline", Column::Right),
        ("Thread", Column::Right),
        ("Later samples", Column::Right),
        ("Later overruns", Column::Right),
        (events, Column::Right),
        ("Share", Column::Right),
    ];
    let bounded = lines.iter().flatten().any(|cell| cell.starts_with("<="));
    let mut text = format!("{events} later than a deadline\n");
    text += &layout(&header, lines);
    if bounded {
        text += &wrapped(" ", 1, &bursts::note(run));
    }
    text += &missing.note();
    Some(text)
}
