// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cyclictest -v`: a line a sample, `thread:cycle:value`.
//!
//! The cycles of a thread count up from 0 without a gap. With `-o` only the largest of some are
//! printed: a gap, so such a log is refused rather than taken for all samples. With `-q` a summary of
//! each thread follows the samples, which has to agree with them.

use std::collections::BTreeMap;
use std::io::BufRead;

use punctual_model::{Nanos, Sample, SampleTimes};

use super::text::{Row, row};
use super::{ASSUMED_US, Announced, Preamble, interval_line, is_remark};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::{Lines, nanos, number, second_run};
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
    let mut summaries: Vec<Row> = Vec::new();
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
            } else if line.starts_with("T:") && !threads.is_empty() {
                let row = row(at, line)?;
                agrees(&row, summaries.len(), &threads)?;
                if let Some(shown) = row.unit.filter(|shown| shown.ns() != unit_ns) {
                    let error = lines.error(format!(
                        "it shows {}, and the samples were taken for {}",
                        shown.symbol(),
                        unit.unwrap_or(Unit::Microseconds).symbol()
                    ));
                    return Err(error.hinted(match shown {
                        Unit::Nanoseconds => "import it with --unit ns",
                        Unit::Microseconds => "import it with --unit us",
                    }));
                }
                summaries.push(row);
            } else if line == "# Histogram" {
                return Err(lines
                    .error("a histogram follows the samples")
                    .hinted("split the file before this line and import both parts"));
            } else if !is_remark(line) && !line.starts_with("Thread ") {
                preamble.odd(at)?;
            }
            continue;
        };
        if let Some(summary) = summaries.first() {
            return Err(second_run(summary.line));
        }
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
    if !summaries.is_empty() && summaries.len() != imported.series.len() {
        return Err(lines.ended("the summary of each thread"));
    }
    if summaries.is_empty() {
        intervals.tell(preamble.command(), &mut imported);
    }
    // Announced is the interval with the distance in it; here it has none.
    for (summary, series) in summaries.iter().zip(&mut imported.series) {
        series.interval = summary.interval.checked_mul(1_000).map(Nanos::new);
    }
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

/// Refuses a summary that is not of the samples before it.
fn agrees(row: &Row, next: usize, threads: &[Thread]) -> Result<(), ImportError> {
    let error = |reason: String| ImportError::at_line(row.line, reason);
    let thread = row.thread;
    let is_next = usize::try_from(thread).is_ok_and(|thread| thread == next);
    let Some(of) = threads.get(next).filter(|_| is_next) else {
        return Err(error(format!(
            "thread {thread} appears where {next} is expected"
        )));
    };
    let largest = of.counts.keys().next_back().copied().unwrap_or(0);
    match (row.cycles == of.next, row.max == largest) {
        (true, true) => Ok(()),
        (false, _) => Err(error(format!(
            "it counts {} cycles of thread {thread}, and {} are above",
            row.cycles, of.next
        ))
        .hinted("a log must be complete")),
        (true, false) => Err(error(format!(
            "the largest value of thread {thread} is {}, and {largest} above",
            row.max
        ))
        .hinted("a log must be complete")),
    }
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
