// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The largest samples of a run over time: of its samples where they are stored, else of what it said meanwhile.

use std::collections::BTreeMap;

use punctual_model::{Event, Progress, SampleTimes};
use punctual_report::document::Maxima;
use punctual_store::{ReadError, StoredRun};

use crate::error::CliError;

/// Stretches that stored samples are divided into.
const STRETCHES: u64 = 400;

/// More stored samples take longer than a picture is worth: then what the run said is taken.
const MOST_SAMPLES: u64 = 4_000_000;

/// Reads the maxima, and what each of them is the largest of.
pub(super) fn of(run: &StoredRun) -> Result<(Vec<Maxima>, String), CliError> {
    let record = run.record();
    let timed = record
        .origin
        .as_ref()
        .is_none_or(|o| o.sample_times == Some(SampleTimes::Clock));
    let duration = record.duration_ns.map_or(0, |ns| ns.get());
    let read = match () {
        () if run.has_samples() && timed && duration > 0 && record.total.count <= MOST_SAMPLES => {
            samples(run, duration)
        }
        () => events(run),
    };
    match read {
        Ok(found) => Ok(found),
        // An imported run has no events; a run without them has no picture over time.
        Err(ReadError::Path(err)) if err.is_missing() => Ok((Vec::new(), String::new())),
        Err(err) => {
            let what = format!("read what run {} said over time", record.id);
            Err(CliError::failed_to(what).because(err))
        }
    }
}

fn samples(run: &StoredRun, duration: u64) -> Result<(Vec<Maxima>, String), ReadError> {
    let stretch = (duration / STRETCHES).max(1);
    let mut found: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
    for sample in run.samples()? {
        let sample = sample?;
        let stretches = found.entry(sample.thread).or_default();
        let largest = stretches.entry(sample.t_ns / stretch).or_default();
        *largest = (*largest).max(sample.latency_ns);
    }
    let maxima = found.into_iter().map(|(thread, stretches)| Maxima {
        thread: Some(thread),
        points: stretches
            .into_iter()
            .map(|(n, largest)| ((n * stretch) as f64 / 1e9, largest))
            .collect(),
    });
    let millis = stretch as f64 / 1e6;
    Ok((
        maxima.collect(),
        format!("the samples of {millis:.1} ms of a thread, exact"),
    ))
}

fn events(run: &StoredRun) -> Result<(Vec<Maxima>, String), ReadError> {
    let mut found: BTreeMap<u32, Vec<(f64, u64)>> = BTreeMap::new();
    let mut window = 0;
    for event in run.events()? {
        match event {
            Ok(Event::Progress(progress)) => take(&progress, &mut found, &mut window),
            Ok(_) => {}
            // What a newer program added is not for this picture.
            Err(ReadError::Event { .. }) => {}
            Err(err) => return Err(err),
        }
    }
    let maxima = found.into_iter().map(|(thread, points)| Maxima {
        thread: Some(thread),
        points,
    });
    Ok((
        maxima.collect(),
        format!("the {window} samples of a thread before it, stored about once a second"),
    ))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a latency in ns, at or above 0"
)]
fn take(progress: &Progress, found: &mut BTreeMap<u32, Vec<(f64, u64)>>, window: &mut u64) {
    for series in &progress.series {
        let Some(figures) = &series.window else {
            continue;
        };
        let Some(max) = figures.max_ns else { continue };
        *window = (*window).max(figures.count);
        let at = progress.t_ns.get() as f64 / 1e9;
        found
            .entry(series.thread)
            .or_default()
            .push((at, max.max(0.0) as u64));
    }
}
