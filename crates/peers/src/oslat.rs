// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! oslat: how long a busy loop was kept from running, as `--json` and as text.
//!
//! Its numbers are whole µs, and versions differ in what they are. Up to 2.4 everything is rounded up:
//! `1` is up to 1 µs, and bucket k has what is stated as k. Later ones cut the extremes, so that bucket
//! k has what is stated as k - 1; some in between rounded up and counted a bucket higher. Which it is
//! shows in the first bucket and the minimum. Where it does not, a bucket is taken for both, 2 µs wide.
//! The last bucket also counts what is longer.

pub(crate) mod json;
pub(crate) mod text;

use std::collections::BTreeSet;
use std::time::Duration;

use punctual_model::Nanos;
use punctual_stats::{Bucket, float};

use crate::error::ImportError;
use crate::imported::Imported;
use crate::lines::nanos;
use crate::series::{Buckets, Rounded, SourceSeries};

const US: u64 = 1_000;

/// What is said where it may have been --bucket-width.
const ONE_WIDE: &str = "only buckets 1 µs wide are supported";

/// What either form says of a thread.
#[derive(Debug, Default)]
struct Thread {
    cpu: Option<u32>,
    min: u64,
    max: u64,
    /// Of the buckets' numbers.
    average: Option<f64>,
    seconds: Option<f64>,
    /// Buckets that hold samples.
    buckets: Vec<(u64, u64)>,
}

/// What the numbers of a file are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Numbers {
    /// Rounded up; bucket k has what is stated as k.
    Up,
    /// Cut; bucket k has what is stated as k - 1.
    Down,
    /// Bucket k has what is stated as k - 1, cut or rounded up.
    Either,
}

impl Numbers {
    fn of(threads: &[Thread]) -> Self {
        let same = |t: &Thread| t.buckets.first().is_some_and(|(first, _)| *first == t.min);
        if threads.iter().any(same) {
            Self::Up
        } else if threads.iter().any(|t| t.min == 0) {
            Self::Down
        } else {
            Self::Either
        }
    }

    const fn said(self) -> &'static str {
        match self {
            Self::Up => "oslat rounds up to whole µs: its figures are upper ends",
            Self::Down => "bucket k holds values from k - 1 to less than k µs",
            Self::Either => {
                "bucket k is read as more than k - 2 and less than k µs: versions differ, and \
                 their means are left out"
            }
        }
    }
}

/// Gives the threads, all of one version. With a bias the first bucket has all that is shorter too.
fn tell(imported: &mut Imported, threads: &[Thread], bias: bool) -> Result<(), ImportError> {
    let mut cpus = BTreeSet::new();
    let mut twice = threads.iter().filter_map(|thread| thread.cpu);
    if let Some(cpu) = twice.find(|cpu| !cpus.insert(*cpu)) {
        return Err(ImportError::file(format!("CPU {cpu} comes twice")));
    }
    let numbers = Numbers::of(threads);
    for (number, thread) in threads.iter().enumerate() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        imported.series.push(series(number, thread, numbers, bias)?);
    }
    let longest = threads.iter().filter_map(|t| t.seconds).fold(0.0, f64::max);
    // Stated in ms.
    if (0.001..1e9).contains(&longest) {
        let lasted = Duration::try_from_secs_f64(longest).unwrap_or_default();
        let ms = u64::try_from(lasted.as_micros().div_ceil(500) / 2).unwrap_or_default();
        imported.duration = Some(Nanos::from_millis(ms));
    }
    imported.resolution_ns = Some(match numbers {
        Numbers::Either => 2 * US,
        _ => US,
    });
    let any = imported.series.iter().any(|s| s.mean_ns.is_some());
    // The samples beyond the last bucket count 1 µs too short.
    imported.mean_error_ns = any.then_some(float(2 * US));
    imported.state(numbers.said());
    Ok(())
}

fn series(
    number: u32,
    thread: &Thread,
    numbers: Numbers,
    bias: bool,
) -> Result<SourceSeries, ImportError> {
    let wrong = |what: &str| ImportError::file(format!("thread {number}: {what}"));
    let ns = |us: u64| nanos(0, us, US).map_err(|_| wrong("a value is longer than any latency"));
    let (Some((first, _)), Some((last, _))) = (thread.buckets.first(), thread.buckets.last())
    else {
        return Err(wrong("it has no samples"));
    };
    if thread.min > thread.max {
        return Err(wrong("its minimum is above its maximum"));
    }
    // The largest number of a bucket that has what is stated as this.
    let bucket_of = |stated: u64| match numbers {
        Numbers::Up => stated,
        Numbers::Down | Numbers::Either => stated.saturating_add(1),
    };
    let lowest = bucket_of(thread.min);
    let far = *first > lowest.saturating_add(1) && !bias;
    if *first < lowest || far || bucket_of(thread.max) < *last {
        return Err(wrong("the extremes do not agree with the buckets").hinted(ONE_WIDE));
    }
    let ends = |from: u64, to: u64| -> Result<(u64, u64), ImportError> {
        Ok(match numbers {
            Numbers::Up => (ns(from.saturating_sub(1))? + 1, ns(to)?),
            Numbers::Down => (ns(from)?, ns(to)? + US - 1),
            Numbers::Either => (ns(from.saturating_sub(1))?, ns(to)? + US - 1),
        })
    };
    let mut entries = Vec::with_capacity(thread.buckets.len());
    let mut beyond = 0;
    for (key, count) in &thread.buckets {
        if key == last && bucket_of(thread.max) > *last {
            // The last one is open.
            beyond = *count;
            continue;
        }
        // What is stated of a sample in it.
        let stated = match numbers {
            Numbers::Up => *key,
            _ => key.saturating_sub(1),
        };
        let lowest = if key == first { thread.min } else { stated };
        let (from_ns, to_ns) = ends(lowest, stated)?;
        entries.push(Bucket {
            from_ns,
            to_ns,
            count: *count,
        });
    }
    let buckets = Buckets {
        entries,
        beyond: Some(beyond),
        rounded: match numbers {
            Numbers::Up => Rounded::Up,
            Numbers::Down => Rounded::Down,
            Numbers::Either => Rounded::Unknown,
        },
    };
    let count = buckets
        .counted()
        .and_then(|n| n.checked_add(beyond))
        .ok_or_else(|| wrong("it has more than 2^64 - 1 samples"))?;
    let (min_ns, (_, max_ns)) = (ns(thread.min)?, ends(thread.max, thread.max)?);
    let mean = match numbers {
        Numbers::Up => thread.average,
        Numbers::Down => thread.average.map(|us| us - 1.0),
        Numbers::Either => None,
    };
    // With --bias, and beyond the last bucket, the numbers that the mean is of are others.
    let mean = mean.map(|us| us * float(US));
    let mean = mean.filter(|ns| (float(min_ns)..=float(max_ns)).contains(ns));
    Ok(SourceSeries {
        thread: number,
        cpu: thread.cpu,
        count,
        min_ns: Some(min_ns),
        max_ns: Some(max_ns),
        mean_ns: mean,
        buckets: Some(buckets),
        ..SourceSeries::default()
    })
}
