// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cyclictest -v`: a line a sample, `thread:cycle:value`.
//!
//! The cycles of a thread count up from 0 without a gap. With `-o` only the largest of some are
//! printed: a gap, so such a log is refused rather than taken for all samples.

use std::collections::BTreeMap;
use std::io::BufRead;

use punctual_model::{Sample, SampleTimes};

use super::{ASSUMED_US, Announced, Preamble, interval_line, is_remark};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::{Lines, nanos, number};
use crate::series::{MOST_BUCKETS, MOST_THREADS, SourceSeries};
use crate::{SampleSink, Unit};

/// Samples handed on at a time. Small, because every thread of a log has such a block.
const BLOCK: usize = 256;

/// One thread so far.
#[derive(Debug, Default)]
struct Thread {
    next: u64,
    counts: BTreeMap<u64, u64>,
    block: Vec<Sample>,
}

pub(crate) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    unit: Option<Unit>,
    sink: &mut dyn SampleSink,
) -> Result<Imported, ImportError> {
    let mut preamble = Preamble::default();
    let mut unit = unit;
    let mut unit_ns = 0;
    let mut threads: Vec<Thread> = Vec::new();
    let mut intervals = Announced::default();
    let mut distinct = 0;
    loop {
        let at = lines.number() + 1;
        let Some(line) = lines.next()? else {
            break;
        };
        // A prompt may begin with the time.
        if preamble.is_command(line) {
            continue;
        }
        let Some((thread, rest)) = line.split_once(':').filter(|(t, _)| is_number(t)) else {
            if let Some(announced) = interval_line(line) {
                preamble.ends()?;
                intervals.push(announced);
            } else if line == "# Histogram" {
                return Err(lines
                    .error("a histogram follows the samples")
                    .hinted("split the file before this line and import both parts"));
            } else if !is_remark(line) && !line.starts_with("Thread ") {
                preamble.odd(at)?;
            }
            continue;
        };
        if threads.is_empty() {
            preamble.ends()?;
            unit = unit.or_else(|| preamble.unit());
            unit_ns = unit.unwrap_or(Unit::Microseconds).ns();
        }
        let (cycle, value) = rest.split_once(':').unwrap_or((rest, ""));
        let (thread, cycle, value) = (thread.trim(), cycle.trim(), value.trim());
        let parsed = sample(thread, cycle, value);
        let Some((thread, cycle, value)) = parsed else {
            number(at, "the thread", thread)?;
            number(at, "the cycle", cycle)?;
            number(at, "the value", value)?;
            return Err(lines.error("this is not a sample"));
        };
        if thread >= MOST_THREADS {
            return Err(lines.error(format!("thread {thread} is one too many")));
        }
        if threads.len() <= thread {
            threads.resize_with(thread + 1, Thread::default);
        }
        let Some(of) = threads.get_mut(thread) else {
            continue;
        };
        if cycle != of.next {
            let reason = format!(
                "cycle {cycle} of thread {thread} appears where {} is expected",
                of.next
            );
            return Err(lines.error(reason).hinted(
                "a log must be complete: output of -o, or a part of a log, lacks samples",
            ));
        }
        of.next = cycle.saturating_add(1);
        let latency_ns = nanos(at, value, unit_ns)?;
        let count = of.counts.entry(value).or_insert_with(|| {
            distinct += 1;
            0
        });
        *count += 1;
        of.block.push(Sample {
            t_ns: cycle,
            latency_ns,
            cpu: u32::MAX,
            skipped: 0,
        });
        if of.block.len() == BLOCK {
            flush(thread, of, sink)?;
        }
        if distinct > MOST_BUCKETS {
            return Err(lines.error(format!("more than {MOST_BUCKETS} different values")));
        }
    }
    preamble.ends()?;
    let mut imported = Imported::new(Format::CyclictestLog, "cyclictest");
    for (number, mut thread) in threads.into_iter().enumerate() {
        flush(number, &mut thread, sink)?;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let series = SourceSeries::of_values(number, &thread.counts, unit_ns);
        imported.series.push(series);
    }
    intervals.tell(preamble.command(), &mut imported);
    preamble.tell(&mut imported);
    imported.resolution_ns = Some(unit_ns);
    // Each value is cut; their mean is ours.
    imported.mean_error_ns = Some(punctual_stats::float(unit_ns));
    imported.sample_times = Some(SampleTimes::Unknown);
    if unit.is_none() {
        imported.state(ASSUMED_US);
    }
    Ok(imported)
}

fn is_number(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

fn sample(thread: &str, cycle: &str, value: &str) -> Option<(usize, u64, u64)> {
    let all = [thread, cycle, value].iter().all(|text| is_number(text));
    let parse = || {
        Some((
            thread.parse().ok()?,
            cycle.parse().ok()?,
            value.parse().ok()?,
        ))
    };
    all.then(parse).flatten()
}

fn flush(number: usize, thread: &mut Thread, sink: &mut dyn SampleSink) -> Result<(), ImportError> {
    let number = u32::try_from(number).unwrap_or(u32::MAX);
    sink.samples(number, &thread.block)
        .map_err(ImportError::Sink)?;
    thread.block.clear();
    Ok(())
}
