// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The moving statistics of a run, from its events.

use punctual_model::{Better, Event, Figure, RunRecord, WindowFigures};
use punctual_store::{Store, StoredRun};

/// A figure of a window.
type Of = fn(&WindowFigures) -> Option<f64>;

/// The figures, and where each is in a window.
const FIGURES: [(&str, Of); 3] = [
    ("moving_mean_most", |window| window.mean_ns),
    ("moving_stddev_most", |window| window.stddev_ns),
    ("moving_p99_most", |window| window.p99_ns),
];

/// Adds the largest value of each moving figure over the windows of all threads that the run's events
/// tell of, with the number of these windows. A run without such events gets none.
pub(super) fn add(store: &Store, record: &mut RunRecord) {
    let Ok(run) = StoredRun::open(store.runs_dir().join(&record.id)) else {
        return;
    };
    let Ok(events) = run.events() else { return };
    let mut windows: Vec<WindowFigures> = Vec::new();
    for event in events {
        // What cannot be read any more says nothing; the record's figures stand.
        let Ok(event) = event else { break };
        if let Event::Progress(progress) = event {
            windows.extend(
                progress
                    .series
                    .into_iter()
                    .filter_map(|series| series.window),
            );
        }
    }
    for (name, of) in FIGURES {
        let values: Vec<f64> = windows.iter().filter_map(of).collect();
        let Some(most) = values.iter().copied().reduce(f64::max) else {
            continue;
        };
        record.figures.push(Figure {
            count: values.len() as u64,
            min: values.iter().copied().reduce(f64::min),
            max: Some(most),
            ..Figure::single(name, "ns", Better::Lower, most)
        });
    }
}
