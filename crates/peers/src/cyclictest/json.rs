// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cyclictest --json`, file version 1.
//!
//! The number of samples above the histogram is not stated: it is the cycles that are in no bucket.

use std::io::BufRead;

use punctual_stats::float;
use serde::Deserialize;

use crate::asked;
use crate::command::Affinity;
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::json::{self, Pairs, SysInfo};
use crate::lines::nanos;
use crate::series::SourceSeries;

#[derive(Debug, Deserialize)]
struct File {
    file_version: u64,
    #[serde(rename = "cmdline:")]
    cmdline: Option<String>,
    #[serde(rename = "rt_test_version:")]
    version: Option<String>,
    start_time: Option<String>,
    return_code: Option<i64>,
    #[serde(default)]
    sysinfo: SysInfo,
    num_threads: usize,
    resolution_in_ns: u64,
    thread: Pairs<Thread>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    histogram: Option<Pairs<u64>>,
    cycles: u64,
    min: u64,
    max: u64,
    avg: f64,
    cpu: Option<i64>,
}

pub(crate) fn read(input: impl BufRead) -> Result<Imported, ImportError> {
    let file: File = json::of_rt_tests(input)?;
    if file.file_version != 1 {
        let reason = format!(
            "file version {}; only version 1 is supported",
            file.file_version
        );
        return Err(ImportError::file(reason));
    }
    if file.num_threads != file.thread.0.len() {
        let reason = format!(
            "{} threads announced, but {} found",
            file.num_threads,
            file.thread.0.len()
        );
        return Err(ImportError::file(reason));
    }
    let threads = &file.thread.0;
    json::bounded(
        threads
            .iter()
            .map(|(_, t)| t.histogram.as_ref().map_or(0, |h| h.0.len())),
    )?;
    let unit_ns = match file.resolution_in_ns {
        0 => 1_000,
        1 => 1,
        n => {
            return Err(ImportError::file(format!(
                "resolution_in_ns is {n}, not 0 or 1"
            )));
        }
    };
    // Where rt-tests 2.4 has no CPU it writes the number of the thread.
    let threads = u32::try_from(file.num_threads).unwrap_or(u32::MAX);
    let options = asked::cyclictest(file.cmdline.as_deref(), threads);
    let options = options.as_ref();
    let cpus = options.is_some_and(|options| options.affinity != Affinity::Unbound);
    // Without -h the histogram is absent, or empty up to 2.6; with it one is empty where every sample
    // was above it.
    let has_histogram = options.is_some_and(|options| options.histogram.is_some())
        || file
            .thread
            .0
            .iter()
            .any(|(_, t)| t.histogram.as_ref().is_some_and(|h| !h.0.is_empty()));
    let mut imported = Imported::new(Format::CyclictestJson, "cyclictest");
    for (number, thread) in file.thread.0 {
        let mut series = series(number, &thread, unit_ns, has_histogram)?;
        series.cpu = thread
            .cpu
            .filter(|_| cpus)
            .and_then(|cpu| u32::try_from(cpu).ok());
        imported.series.push(series);
    }
    imported.resolution_ns = Some(unit_ns);
    // Each value is cut, and their mean has two decimals.
    imported.mean_error_ns = Some(float(unit_ns) * 1.005);
    imported.version = file.version;
    imported.command_line = file.cmdline;
    imported.started = json::time(file.start_time.as_deref());
    imported.host = file.sysinfo.host();
    imported.ask_cyclictest();
    if let Some(code) = file.return_code.filter(|code| *code != 0) {
        imported.state(format!("return code {code}"));
    }
    Ok(imported)
}

fn series(
    number: u64,
    thread: &Thread,
    unit_ns: u64,
    has_histogram: bool,
) -> Result<SourceSeries, ImportError> {
    let wrong = |what: &str| ImportError::file(format!("thread {number}: {what}"));
    let ns =
        |value| nanos(0, value, unit_ns).map_err(|_| wrong("a value is longer than any latency"));
    let pairs = thread.histogram.as_ref();
    let buckets = match pairs.filter(|_| has_histogram) {
        None => None,
        Some(pairs) => {
            let mut buckets = pairs.buckets(unit_ns, ns)?;
            if !buckets.close(thread.cycles) {
                return Err(wrong("the buckets have more samples than cycles"));
            }
            if !buckets.reach(ns(thread.min)?, ns(thread.max)?) {
                return Err(wrong("the extremes do not agree with the buckets"));
            }
            Some(buckets)
        }
    };
    let some = thread.cycles > 0;
    let mean = json::decimal(Some(thread.avg), unit_ns).filter(|_| some);
    let (min, max) = (ns(thread.min)?, ns(thread.max)?);
    Ok(SourceSeries {
        thread: u32::try_from(number).map_err(|_| wrong("thread number out of range"))?,
        count: thread.cycles,
        min_ns: some.then_some(min),
        max_ns: some.then_some(max + unit_ns - 1),
        mean_ns: mean,
        buckets,
        ..SourceSeries::default()
    })
}
