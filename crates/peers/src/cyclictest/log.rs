// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `cyclictest -v`: a line a sample, `thread:cycle:value`.
//!
//! The cycles of a thread count up from 0 without a gap. With `-o` only the largest of some are
//! printed: a gap, so such a log is refused rather than taken for all samples. What may follow the
//! samples is in [`end`].

mod end;

use std::collections::BTreeMap;
use std::io::BufRead;

use punctual_model::{Sample, SampleTimes};

use self::end::End;
use super::text::row;
use super::{ASSUMED_US, Announced, DMA_LINE, Preamble, interval_line, is_remark};
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
    /// Samples that are counted and not there.
    lost: Option<u64>,
}

impl Thread {
    /// Returns the smallest and the largest value.
    fn extremes(&self) -> Option<(u64, u64)> {
        let (first, _) = self.counts.first_key_value()?;
        let (last, _) = self.counts.last_key_value()?;
        Some((*first, *last))
    }

    /// Takes the next sample of thread `number`. Returns whether its value is a new one.
    fn push(
        &mut self,
        number: usize,
        value: u64,
        latency_ns: u64,
        sink: &mut dyn SampleSink,
    ) -> Result<bool, ImportError> {
        let count = self.counts.entry(value).or_default();
        *count += 1;
        let is_new = *count == 1;
        self.block.push(Sample {
            t_ns: self.next,
            latency_ns,
            cpu: u32::MAX,
            skipped: 0,
        });
        self.next = self.next.saturating_add(1);
        if self.block.len() == BLOCK {
            self.flush(number, sink)?;
        }
        Ok(is_new)
    }

    fn flush(&mut self, number: usize, sink: &mut dyn SampleSink) -> Result<(), ImportError> {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        sink.samples(number, &self.block)
            .map_err(ImportError::Sink)?;
        self.block.clear();
        Ok(())
    }
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
    let mut end = End::default();
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
                end.summary(row, &intervals, &mut threads, unit, sink)?;
            } else if line == "# Histogram" {
                return Err(lines
                    .error("a histogram follows the samples")
                    .hinted("split the file before this line and import both parts"));
            } else if !is_remark(line) && !line.starts_with("Thread ") {
                preamble.odd(at)?;
            } else if !threads.is_empty() {
                if line.starts_with(DMA_LINE) {
                    return Err(second_run(at));
                }
                end.remark(at, line)?;
            }
            continue;
        };
        end.is_none()?;
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
        let latency_ns = nanos(at, value, unit_ns)?;
        distinct += usize::from(of.push(thread, value, latency_ns, sink)?);
        if distinct > MOST_BUCKETS {
            return Err(lines.error(format!("more than {MOST_BUCKETS} different values")));
        }
    }
    preamble.ends()?;
    end.broken(&mut threads, unit_ns, sink)?;
    let mut imported = Imported::new(Format::CyclictestLog, "cyclictest");
    for (number, mut thread) in threads.into_iter().enumerate() {
        thread.flush(number, sink)?;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let mut series = SourceSeries::of_values(number, &thread.counts, unit_ns);
        series.lost = thread.lost;
        imported.series.push(series);
    }
    if !end.is_whole(imported.series.len()) {
        return Err(lines.ended("the summary of each thread"));
    }
    if !end.has_summaries() {
        intervals.tell(preamble.command(), &mut imported);
    }
    end.tell(&mut imported);
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
