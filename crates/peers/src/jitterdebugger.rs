// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! jitterdebugger: `results.json`, versions 1 to 3, and `samples.raw`.
//!
//! Its histogram ends at 1 ms and leaves out what is longer: those are the samples counted that are
//! in no bucket. Key and `cpuid` are the number of the thread, not of a CPU.
//!
//! `samples.raw` is records of 28 bytes, little-endian: thread u32, seconds i64, nanoseconds i64,
//! value u64.

use std::collections::BTreeMap;
use std::io::{BufRead, ErrorKind};

use punctual_model::{Sample, SampleTimes};
use punctual_stats::float;
use serde::Deserialize;

use crate::error::{ImportError, Place};
use crate::format::Format;
use crate::imported::Imported;
use crate::json::{self, Pairs, SysInfo};
use crate::lines::nanos;
use crate::series::{MOST_BUCKETS, MOST_THREADS, SourceSeries};
use crate::{SampleSink, Unit};

/// Bytes of a record of `samples.raw`.
const RECORD: usize = 28;

#[derive(Debug, Deserialize)]
struct File {
    version: u64,
    #[serde(default)]
    sysinfo: SysInfo,
    cpu: Pairs<Thread>,
}

#[derive(Debug, Deserialize)]
struct Thread {
    histogram: Pairs<u64>,
    count: u64,
    min: u64,
    max: u64,
    avg: f64,
}

/// Reads `results.json`.
pub(crate) fn read_results(input: impl BufRead) -> Result<Imported, ImportError> {
    let file: File = json::parse(&json::bytes(input)?)?;
    if !(1..=3).contains(&file.version) {
        let reason = format!(
            "version {}; only versions 1 to 3 are supported",
            file.version
        );
        return Err(ImportError::file(reason));
    }
    json::bounded(file.cpu.0.iter().map(|(_, t)| t.histogram.0.len()))?;
    let unit_ns = match file.sysinfo.resolution_in_ns {
        // 0 is what rt-tests writes for µs.
        None | Some(0 | 1_000) => 1_000,
        Some(1) => 1,
        Some(n) => {
            return Err(ImportError::file(format!(
                "resolution_in_ns is {n}, not 1 or 1000"
            )));
        }
    };
    let mut imported = Imported::new(Format::JitterdebuggerJson, "jitterdebugger");
    for (number, thread) in &file.cpu.0 {
        imported.series.push(series(*number, thread, unit_ns)?);
    }
    imported.resolution_ns = Some(unit_ns);
    imported.mean_error_ns = Some(float(unit_ns) * 1.005);
    imported.command_line = file.sysinfo.cmdline.clone();
    imported.host = file.sysinfo.host();
    imported
        .stated
        .push(format!("file version {}", file.version));
    Ok(imported)
}

fn series(number: u64, thread: &Thread, unit_ns: u64) -> Result<SourceSeries, ImportError> {
    let wrong = |what: &str| ImportError::file(format!("thread {number}: {what}"));
    let ns =
        |value| nanos(0, value, unit_ns).map_err(|_| wrong("a value is longer than any latency"));
    let mut buckets = thread.histogram.buckets(unit_ns, ns)?;
    if !buckets.close(thread.count) {
        return Err(wrong("the buckets have more samples than it counts"));
    }
    let some = thread.count > 0;
    let (min, max) = match some {
        true => (ns(thread.min)?, ns(thread.max)?),
        false => (0, 0),
    };
    if !buckets.reach(min, max) {
        return Err(wrong("the extremes do not agree with the buckets"));
    }
    Ok(SourceSeries {
        thread: u32::try_from(number).map_err(|_| wrong("thread number out of range"))?,
        count: thread.count,
        min_ns: some.then_some(min),
        max_ns: some.then_some(max + unit_ns - 1),
        mean_ns: json::decimal(Some(thread.avg), unit_ns).filter(|_| some),
        buckets: Some(buckets),
        ..SourceSeries::default()
    })
}

/// Whether these bytes can be a record.
pub(crate) fn plausible(record: &[u8]) -> bool {
    fields(record).is_some()
}

/// Takes a record apart: thread, time, value.
fn fields(record: &[u8]) -> Option<(u32, u64, u64)> {
    let at = |from: usize| -> Option<u64> {
        Some(u64::from_le_bytes(
            record.get(from..from + 8)?.try_into().ok()?,
        ))
    };
    let thread = u32::from_le_bytes(record.get(..4)?.try_into().ok()?);
    let (seconds, nanoseconds, value) = (at(4)?, at(12)?, at(20)?);
    // A clock of 50 years that runs, and latencies below a day. A hole in a file, as a crash leaves it, is no sample.
    let sound = usize::try_from(thread).is_ok_and(|n| n < MOST_THREADS)
        && (seconds, nanoseconds) != (0, 0)
        && seconds < 4_000_000_000
        && nanoseconds < 1_000_000_000
        && value < 86_400_000_000_000;
    sound.then(|| (thread, seconds * 1_000_000_000 + nanoseconds, value))
}

#[derive(Debug, Default)]
struct Samples {
    counts: BTreeMap<u64, u64>,
    last: u64,
}

/// Reads `samples.raw`.
pub(crate) fn read_samples(
    mut input: impl BufRead,
    unit: Option<Unit>,
    sink: &mut dyn SampleSink,
) -> Result<Imported, ImportError> {
    let unit_ns = unit.unwrap_or(Unit::Microseconds).ns();
    let mut threads: BTreeMap<u32, Samples> = BTreeMap::new();
    let (mut offset, mut distinct) = (0_u64, 0);
    let mut record = [0; RECORD];
    while read_record(&mut input, &mut record, offset)? {
        let wrong = |reason: &str| ImportError::content(Place::Byte(offset), reason);
        let (thread, t_ns, value) =
            fields(&record).ok_or_else(|| wrong("this is not a sample of jitterdebugger"))?;
        let latency_ns =
            nanos(0, value, unit_ns).map_err(|_| wrong("the value is longer than any latency"))?;
        let of = threads.entry(thread).or_default();
        if t_ns < of.last {
            return Err(wrong(
                "the time is earlier than that of the thread's last sample",
            ));
        }
        of.last = t_ns;
        let count = of.counts.entry(value).or_insert_with(|| {
            distinct += 1;
            0
        });
        *count += 1;
        if distinct > MOST_BUCKETS {
            return Err(wrong("more different values than can be counted"));
        }
        let sample = Sample {
            t_ns,
            latency_ns,
            cpu: u32::MAX,
            skipped: 0,
        };
        sink.samples(thread, &[sample]).map_err(ImportError::Sink)?;
        offset += RECORD as u64;
    }
    let mut imported = Imported::new(Format::JitterdebuggerRaw, "jitterdebugger");
    for (thread, samples) in threads {
        let series = SourceSeries::of_values(thread, &samples.counts, unit_ns);
        imported.series.push(series);
    }
    imported.resolution_ns = Some(unit_ns);
    imported.mean_error_ns = Some(float(unit_ns));
    imported.sample_times = Some(SampleTimes::Clock);
    if unit.is_none() {
        imported
            .stated
            .push("the file does not state its unit; µs was assumed".to_owned());
    }
    Ok(imported)
}

/// Reads a whole record, or finds the end before it.
fn read_record(
    input: &mut impl BufRead,
    record: &mut [u8; RECORD],
    offset: u64,
) -> Result<bool, ImportError> {
    if input.fill_buf()?.is_empty() {
        return Ok(false);
    }
    match input.read_exact(record) {
        Ok(()) => Ok(true),
        Err(err) if err.kind() == ErrorKind::UnexpectedEof => Err(ImportError::content(
            Place::Byte(offset),
            "the file ends inside this record",
        )
        .hinted("import the whole file")),
        Err(err) => Err(err.into()),
    }
}
