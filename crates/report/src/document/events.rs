// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What happened in a run: the sample above the threshold, the precision that was reached, what its loads did.

use punctual_model::{LoadRecord, LoadReport, RunRecord, ThreadSample};

use super::named::{interval_in, micros};
use super::parts::{Block, Document, Table};
use super::runs::Named;
use crate::clock_or_count::Times;
use crate::number::{Missing, scaled, span};

/// Samples around a threshold hit that are shown at once, before and after.
const AROUND: usize = 3;

/// What happened in each run.
pub(super) fn blocks(runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in runs {
        let of = match runs.len() {
            1 => String::new(),
            _ => format!("{}: ", run.name),
        };
        blocks.extend(threshold(run.record(), &of));
        let precision = precision(run.record(), &of);
        if !precision.is_empty() {
            blocks.push(Block::items(precision));
        }
        if !run.record().loads.is_empty() {
            let mut table = loads(&run.record().loads);
            table.caption = format!("{of}Loads");
            blocks.push(Block::Table(table));
        }
    }
    blocks
}

/// Which sample was above the threshold, and what was around it.
fn threshold(run: &RunRecord, of: &str) -> Vec<Block> {
    let Some(hit) = &run.threshold else {
        return Vec::new();
    };
    let unit = Times::of_run(run).micros();
    let sample = hit.sample;
    let caption = format!(
        "{of}Threshold of {} exceeded: thread {} on CPU {} was {} {unit} late, {} s after the start",
        span(hit.threshold_ns),
        sample.thread,
        sample.cpu,
        micros(sample.latency_ns as f64),
        seconds(&sample),
    );
    let at = hit.around.iter().position(|s| *s == sample).unwrap_or(0);
    let near = at.saturating_sub(AROUND)..hit.around.len().min(at + AROUND + 1);
    let latency = format!("Latency {unit}");
    let columns = ["Time s", "Thread", "CPU", latency.as_str(), "<Above"];
    let table = |caption: &str, range: std::ops::Range<usize>| {
        let mut table = Table::new(caption, &columns);
        let around = hit.around.get(range).unwrap_or_default().iter();
        table.rows = around
            .map(|s| {
                vec![
                    seconds(s),
                    s.thread.to_string(),
                    s.cpu.to_string(),
                    micros(s.latency_ns as f64),
                    if s.latency_ns > hit.threshold_ns.get() {
                        "yes"
                    } else {
                        ""
                    }
                    .to_owned(),
                ]
            })
            .collect();
        table.without_empty_columns()
    };
    let (few, all) = (near.len(), hit.around.len());
    let mut blocks = vec![Block::Table(table(&caption, near))];
    if all > few {
        let title = format!("All {all} samples around it");
        blocks.push(Block::Fold(
            title.clone(),
            vec![Block::Table(table("", 0..all))],
        ));
    }
    blocks
}

fn seconds(sample: &ThreadSample) -> String {
    let (whole, micros) = (sample.t_ns / 1_000_000_000, sample.t_ns / 1_000 % 1_000_000);
    format!("{whole}.{micros:06}")
}

/// What became of each `--until` target.
fn precision(run: &RunRecord, of: &str) -> Vec<(String, String)> {
    let unit = Times::of_run(run).micros();
    let states = run.precision.iter().map(|state| {
        let figure = match (state.estimate_ns, &state.interval_ns) {
            (Some(ns), Some(interval)) => {
                format!("{} {unit}, {}", micros(ns), interval_in(interval, unit))
            }
            (Some(ns), None) => format!("{} {unit}, too few samples for an interval", micros(ns)),
            (None, _) => "not known".to_owned(),
        };
        let worth = state
            .effective_samples
            .map(|n| format!(", worth {n:.0} independent samples"));
        let met = if state.met { "reached" } else { "NOT reached" };
        let said = format!(
            "{of}{} of thread {}: {figure}{}",
            state.target,
            state.thread,
            worth.unwrap_or_default()
        );
        (met.to_owned(), said)
    });
    states.collect()
}

impl Document {
    /// Says what loads did that ran alone, and first which did not work.
    pub fn of_loads(report: &LoadReport) -> Self {
        let faults = report.loads.iter().filter_map(|load| {
            let fault = load.fault.as_ref()?;
            Some(("FAILED".to_owned(), format!("{}: {fault}", load.load)))
        });
        let faults: Vec<(String, String)> = faults.collect();
        let mut blocks = vec![Block::Table(loads(&report.loads))];
        if !faults.is_empty() {
            blocks.insert(0, Block::Facts(faults));
        }
        Self::of("Loads", blocks)
    }
}

/// A row a load.
fn loads(loads: &[LoadRecord]) -> Table {
    let mut table = Table::of(
        "",
        "<Load|Work|<of|Mean 1/s|?Least 1/s|?Most 1/s|??Full s|?Longest silence",
    );
    let mut missing = Missing::default();
    for load in loads {
        let extremes = |pick: fn(f64, f64) -> f64| load.seconds.iter().copied().reduce(pick);
        let short = "too short a run";
        table.rows.push(vec![
            load.load.clone(),
            scaled(load.work),
            load.unit.clone(),
            missing.or(load.per_second.map(scaled), short),
            missing.or(extremes(f64::min).map(scaled), short),
            missing.or(extremes(f64::max).map(scaled), short),
            load.seconds.len().to_string(),
            missing.or(
                load.longest_silence_ns.map(|ns| ns.to_string()),
                "no report",
            ),
        ]);
    }
    let is_outside = |load: &LoadRecord| {
        let mean = load.per_second.unwrap_or_default();
        let beyond =
            |second: fn(&f64, &f64) -> bool| load.seconds.iter().all(|of| second(of, &mean));
        !load.seconds.is_empty() && (beyond(|of, mean| of < mean) || beyond(|of, mean| of > mean))
    };
    if loads.iter().any(is_outside) {
        let of = "Least and most are of full seconds; the mean has the rest of the time, too.";
        table.notes.push(of.to_owned());
    }
    table.notes.extend(missing.reasons());
    table
}
