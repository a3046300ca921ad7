// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `oslat --json`: how long a busy loop was kept from running.
//!
//! Bucket k counts from k - 1 µs; whether up to k or up to k + 1 differs between versions, so both
//! are allowed for. The last bucket also counts what is longer. The mean that is stated is one of
//! bucket numbers, and is not taken.

use std::io::BufRead;

use punctual_model::Nanos;
use punctual_stats::Bucket;
use serde::Deserialize;

use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::json::{self, Pairs, SysInfo};
use crate::lines::nanos;
use crate::series::{Buckets, SourceSeries};

const US: u64 = 1_000;

#[derive(Debug, Deserialize)]
struct File {
    file_version: u64,
    #[serde(rename = "cmdline:")]
    cmdline: Option<String>,
    #[serde(rename = "rt_test_version:")]
    version: Option<String>,
    start_time: Option<String>,
    #[serde(default)]
    sysinfo: SysInfo,
    num_threads: usize,
    thread: Pairs<Thread>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    cpu: Option<u32>,
    min: u64,
    max: u64,
    duration: Option<f64>,
    histogram: Pairs<u64>,
}

pub(crate) fn read(input: impl BufRead) -> Result<Imported, ImportError> {
    let bytes = json::bytes(input)?;
    let file: File =
        json::parse(&bytes).or_else(|err| match json::with_escaped_command(&bytes) {
            Some(escaped) => json::parse(&escaped).map_err(|_| err),
            None => Err(err),
        })?;
    if file.file_version != 1 || file.num_threads != file.thread.0.len() {
        return Err(ImportError::file(format!(
            "file version {} with {} of {} threads; 1 with all of them is known",
            file.file_version,
            file.thread.0.len(),
            file.num_threads
        )));
    }
    let mut imported = Imported::new(Format::OslatJson, "oslat");
    let mut longest = 0.0_f64;
    for (number, thread) in file.thread.0 {
        longest = longest.max(thread.duration.unwrap_or(0.0));
        imported.series.push(series(number, &thread)?);
    }
    // Stated in ms.
    if (0.001..1e9).contains(&longest) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within the range"
        )]
        let ms = (longest * 1e3).round() as u64;
        imported.duration = Some(Nanos::from_millis(ms));
    }
    imported.resolution_ns = Some(2 * US);
    imported.version = file.version;
    imported.command_line = file.cmdline;
    imported.started = json::time(file.start_time.as_deref());
    imported.host = file.sysinfo.host();
    imported.ask_oslat();
    imported.stated.push(
        "bucket k is taken for more than k - 1 and less than k + 1 µs; the stated means are those \
         of bucket numbers and are left out"
            .to_owned(),
    );
    Ok(imported)
}

fn series(number: u64, thread: &Thread) -> Result<SourceSeries, ImportError> {
    let wrong = |what: &str| ImportError::file(format!("thread {number}: {what}"));
    let ns = |us| nanos(0, us, US).map_err(|_| wrong("a value is longer than any latency"));
    let pairs: Vec<_> = thread.histogram.0.iter().filter(|(_, n)| *n > 0).collect();
    let mut entries = Vec::with_capacity(pairs.len());
    let mut beyond = 0;
    for (at, (key, count)) in pairs.iter().enumerate() {
        if at + 1 == pairs.len() && thread.max > *key {
            // The last one is open.
            beyond = *count;
            continue;
        }
        entries.push(Bucket {
            from_ns: ns(key.saturating_sub(1))?,
            to_ns: ns(*key)? + US - 1,
            count: *count,
        });
    }
    let buckets = Buckets {
        entries,
        beyond: Some(beyond),
    };
    let count = buckets
        .counted()
        .and_then(|n| n.checked_add(beyond))
        .ok_or_else(|| wrong("its samples are more than 2^64 - 1"))?;
    if count == 0 || thread.min > thread.max {
        return Err(wrong(
            "it has no samples, or its minimum is above its maximum",
        ));
    }
    let (min_ns, max_ns) = (ns(thread.min.saturating_sub(1))?, ns(thread.max)? + US - 1);
    let first = pairs.first().map_or(0, |(key, _)| *key);
    let last = pairs.last().map_or(0, |(key, _)| *key);
    if thread.min > first || thread.min + 1 < first || thread.max + 1 < last {
        return Err(wrong("the extremes do not agree with the buckets"));
    }
    Ok(SourceSeries {
        thread: u32::try_from(number).map_err(|_| wrong("there are no so many threads"))?,
        cpu: thread.cpu,
        count,
        min_ns: Some(min_ns),
        max_ns: Some(max_ns),
        buckets: Some(buckets),
        ..SourceSeries::default()
    })
}
