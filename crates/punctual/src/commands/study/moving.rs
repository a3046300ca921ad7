// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The moving statistics of runs over time, from their events.

use punctual_model::{Event, StudyCurve, StudyCurves, StudyPoint, WindowFigures, figure_words};
use punctual_store::{Store, StoredRun};
use punctual_verdict::comparison::GroupInput;
use punctual_verdict::number::{digits, unit};

/// A figure of a window.
type Of = fn(&WindowFigures) -> Option<f64>;

/// The figures, their units, and where each is in a window.
const FIGURES: [(&str, &str, Of); 8] = [
    ("moving_mean", "ns", |window| window.mean_ns),
    ("moving_stddev", "ns", |window| window.stddev_ns),
    ("moving_skewness", "1", |window| window.skewness),
    ("moving_excess_kurtosis", "1", |window| {
        window.excess_kurtosis
    }),
    ("moving_p5", "ns", |window| window.p5_ns),
    ("moving_p50", "ns", |window| window.p50_ns),
    ("moving_p95", "ns", |window| window.p95_ns),
    ("moving_p99", "ns", |window| window.p99_ns),
];

/// Fewer points show no course of anything.
const FEWEST: usize = 3;

/// The figures that the sentence names; the pictures have all.
const SAID: [&str; 3] = ["moving_mean", "moving_stddev", "moving_p99"];

/// The most points of a curve: longer runs have every second, every third.
const POINTS: usize = 400;

/// Draws the moving figures of the first run of each cell over time, those of its first thread. A run without such events
/// has none, and one with a few of them shows none.
pub(super) fn curves(store: &Store, groups: &[GroupInput], wanted: &[String]) -> Vec<StudyCurves> {
    let windows: Vec<(String, Vec<(f64, WindowFigures)>)> = groups
        .iter()
        .filter_map(|group| {
            let id = group.runs.first()?.record.id.parse().ok()?;
            let run = store.entry(id).run.ok()?;
            let level = group
                .name
                .split_once('=')
                .map_or("here", |(_, level)| level);
            Some((level.to_owned(), of(&run)))
        })
        .collect();
    let figures = FIGURES
        .iter()
        .filter(|(name, ..)| wanted.iter().any(|wanted| wanted == name));
    figures
        .map(|(name, unit, value)| picture(name, unit, *value, &windows))
        .filter(|picture| !picture.curves.is_empty())
        .collect()
}

fn picture(
    name: &str,
    unit: &str,
    value: Of,
    windows: &[(String, Vec<(f64, WindowFigures)>)],
) -> StudyCurves {
    let point = |(x, window): &(f64, WindowFigures)| {
        Some(StudyPoint {
            x: *x,
            y: value(window)?,
            interval: None,
            count: window.count,
        })
    };
    let curve = |(level, windows): &(String, Vec<(f64, WindowFigures)>)| StudyCurve {
        name: level.clone(),
        published: false,
        points: windows.iter().filter_map(point).collect(),
    };
    StudyCurves {
        figure: name.to_owned(),
        unit: unit.to_owned(),
        across: "time in s".to_owned(),
        note: "The first run of each level, its first thread: the latest samples at each moment."
            .to_owned(),
        curves: windows
            .iter()
            .map(curve)
            .filter(|curve| curve.points.len() >= FEWEST)
            .collect(),
        ..StudyCurves::default()
    }
}

/// The windows of the first thread of a run, with their times in seconds.
fn of(run: &StoredRun) -> Vec<(f64, WindowFigures)> {
    let Ok(events) = run.events() else {
        return Vec::new();
    };
    let mut windows = Vec::new();
    for event in events {
        // What cannot be read any more says nothing; the windows before it stand.
        let Ok(event) = event else { break };
        if let Event::Progress(progress) = event
            && let Some(window) = progress.series.into_iter().find_map(|s| s.window)
        {
            windows.push((progress.t_ns.as_secs_f64(), window));
        }
    }
    let step = windows.len().div_ceil(POINTS).max(1);
    windows.into_iter().step_by(step).collect()
}

/// Says between what each figure moves.
pub(super) fn said(curves: &[StudyCurves]) -> String {
    let range = |of: &StudyCurves| {
        let values = of.curves.iter().flat_map(|curve| &curve.points);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for point in values {
            low = low.min(point.y);
            high = high.max(point.y);
        }
        let (shown, scale) = unit(&of.unit);
        let text = format!(
            "{} {} to {} {shown}",
            figure_words(&of.figure),
            digits(low / scale),
            digits(high / scale)
        );
        text.trim_end().to_owned()
    };
    let said = |of: &&StudyCurves| SAID.contains(&of.figure.as_str());
    let ranges: Vec<String> = curves.iter().filter(said).map(range).collect();
    format!(
        "From the smallest to the largest window: {}.",
        ranges.join("; ")
    )
}
