// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The moving statistics of a run, from its events.

use punctual_model::{Better, Event, Figure, WindowFigures};
use punctual_store::StoredRun;

/// A figure of a window.
type Of = fn(&WindowFigures) -> Option<f64>;

/// The figures, and where each is in a window.
const FIGURES: [(&str, Of); 3] = [
    ("moving_mean_most", |window| window.mean_ns),
    ("moving_stddev_most", |window| window.stddev_ns),
    ("moving_p99_most", |window| window.p99_ns),
];

/// Returns the largest value of each moving figure over the windows of all threads that the run's events
/// tell of, with the number of these windows. A run without such events gets none.
pub(super) fn of(run: &StoredRun) -> Vec<Figure> {
    let Ok(events) = run.events() else {
        return Vec::new();
    };
    let mut found = FIGURES.map(|figure| (figure, Extremes::default()));
    for event in events {
        // What cannot be read any more says nothing; the record's figures stand.
        let Ok(event) = event else { break };
        if let Event::Progress(progress) = event {
            let windows = progress.series.iter().filter_map(|s| s.window.as_ref());
            for window in windows {
                for ((_, of), extremes) in &mut found {
                    of(window).into_iter().for_each(|value| extremes.add(value));
                }
            }
        }
    }
    let figure = |((name, _), extremes): ((&str, Of), Extremes)| {
        let (least, most) = extremes.ends?;
        Some(Figure {
            count: extremes.count,
            min: Some(least),
            max: Some(most),
            ..Figure::single(name, "ns", Better::Lower, most)
        })
    };
    found.into_iter().filter_map(figure).collect()
}

/// The number of values, the smallest and the largest.
#[derive(Clone, Copy, Debug, Default)]
struct Extremes {
    count: u64,
    ends: Option<(f64, f64)>,
}

impl Extremes {
    fn add(&mut self, value: f64) {
        self.count += 1;
        let (least, most) = self.ends.unwrap_or((value, value));
        self.ends = Some((least.min(value), most.max(value)));
    }
}
