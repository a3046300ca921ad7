// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a run may be believed, and what it was asked to reach.

use punctual_model::{Check, CheckStatus, Origin, RunRecord, ThreadSample};

use super::Detail;
use super::layout::{Column, clean, paragraph, table};
use super::number::{Micros, percent, span};
use super::words::plural;
use crate::times::Times;

/// Says first why a run supports no claim. A record that calls itself valid beside a check that
/// did not pass is not believed.
pub(crate) fn invalid(run: &RunRecord) -> Option<String> {
    if is_valid(run) {
        return None;
    }
    if let Some(origin) = &run.origin {
        return Some(imported(origin));
    }
    let open: Vec<_> = run.checks.iter().filter(|c| !c.passed()).collect();
    if open.is_empty() {
        return Some("INVALID run: its record says so without a failed check\n".to_owned());
    }
    let ids: Vec<_> = open.iter().map(|c| clean(&c.id)).collect();
    let mut text = format!("INVALID run: {}\n", ids.join(", "));
    text += &evidence(open.into_iter());
    text += " No claim can be based on the figures below.\n";
    Some(text)
}

fn imported(origin: &Origin) -> String {
    let version = origin.version.as_ref().map(|v| format!(" {v}"));
    let tool = format!("{}{}", origin.tool, version.unwrap_or_default());
    format!(
        "IMPORTED from {}, not checked\n Whether the measurement was valid is not known.\n",
        clean(&tool)
    )
}

pub(crate) fn is_valid(run: &RunRecord) -> bool {
    run.is_valid()
}

pub(super) fn evidence<'a>(checks: impl Iterator<Item = &'a Check>) -> String {
    let rows = checks.map(|check| {
        let status = match check.status {
            CheckStatus::Pass => "pass",
            CheckStatus::Fail => "fail",
            CheckStatus::Unknown => "unknown",
        };
        vec![
            status.to_owned(),
            clean(&check.id).into_owned(),
            clean(&check.detail).into_owned(),
        ]
    });
    let header = [
        ("Status", Column::Left),
        ("Check", Column::Left),
        ("Evidence", Column::Text),
    ];
    table(&header, rows.collect())
}

/// Says how many checks passed; in full, each with its evidence.
pub(crate) fn checks(run: &RunRecord, detail: Detail) -> Option<String> {
    let all = run.checks.len();
    let passed = run.checks.iter().filter(|c| c.passed()).count();
    let mut text = match (all, passed) {
        (0, _) => "No checks were made\n".to_owned(),
        _ if all == passed => format!("{all} check{} passed\n", plural(all)),
        _ => format!("{passed} of {all} checks passed\n"),
    };
    if detail == Detail::Full && all > 0 {
        text += &evidence(run.checks.iter());
    }
    Some(text)
}

/// Samples around a threshold hit that a summary shows, before and after.
const AROUND: usize = 3;

/// Says which sample was above the threshold, and what was around it.
pub(crate) fn threshold(run: &RunRecord, detail: Detail) -> Option<String> {
    let hit = run.threshold.as_ref()?;
    let unit = Times::of_run(run).micros();
    let sample = hit.sample;
    let largest = hit.around.iter().chain([&sample]).map(|s| s.latency_ns);
    let micros = Micros::up_to(largest.max());
    let mut text = format!(
        "Threshold of {} exceeded: thread {} on CPU {} was {} {unit} late, {} s after the start\n",
        span(hit.threshold_ns),
        sample.thread,
        sample.cpu,
        micros.whole(sample.latency_ns),
        seconds(&sample),
    );
    let at = hit.around.iter().position(|s| *s == sample);
    let shown = match (detail, at) {
        (Detail::Summary, Some(at)) => {
            let last = hit.around.len().min(at + AROUND + 1);
            hit.around.get(at.saturating_sub(AROUND)..last)
        }
        (Detail::Summary, None) => None,
        (Detail::Full, _) => Some(hit.around.as_slice()),
    };
    let shown = shown.unwrap_or_default();
    if !shown.is_empty() {
        let rows = shown.iter().map(|s| {
            vec![
                seconds(s),
                s.thread.to_string(),
                s.cpu.to_string(),
                micros.whole(s.latency_ns),
                if *s == sample { "<" } else { "" }.to_owned(),
            ]
        });
        let title = format!("Latency {unit}");
        let header = [
            ("Time s", Column::Right),
            ("Thread", Column::Right),
            ("CPU", Column::Right),
            (title.as_str(), Column::Right),
            ("", Column::Left),
        ];
        text += &table(&header, rows.collect());
    }
    let hidden = hit.around.len() - shown.len();
    if hidden > 0 {
        let more = format!(" and {hidden} more sample{} around it\n", plural(hidden));
        text += &more;
    }
    Some(text)
}

fn seconds(sample: &ThreadSample) -> String {
    let (whole, micros) = (sample.t_ns / 1_000_000_000, sample.t_ns / 1_000 % 1_000_000);
    format!("{whole}.{micros:06}")
}

/// Says what became of each `--until` target.
pub(crate) fn precision(run: &RunRecord) -> Option<String> {
    if run.precision.is_empty() {
        return None;
    }
    let unit = Times::of_run(run).micros();
    let text = run.precision.iter().map(|state| {
        let micros = Micros::up_to_all(state.estimate_ns.into_iter());
        let figure = match (state.estimate_ns, &state.interval_ns) {
            (Some(ns), Some(interval)) => format!(
                "{} {unit}, {} interval {}",
                micros.of(ns),
                percent(interval.confidence),
                micros.interval(interval)
            ),
            (Some(ns), None) => {
                format!("{} {unit}, too few samples for an interval", micros.of(ns))
            }
            (None, _) => "- (not known)".to_owned(),
        };
        let worth = state
            .effective_samples
            .map(|n| format!(", worth {n:.0} independent samples"));
        let line = format!(
            "{} of thread {} {}: {figure}{}",
            clean(&state.target),
            state.thread,
            if state.met { "reached" } else { "NOT reached" },
            worth.unwrap_or_default()
        );
        paragraph("Precision", &line)
    });
    Some(text.collect())
}
