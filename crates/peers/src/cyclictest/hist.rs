// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The histogram text: every row from 0 up to rt-tests 2.6, only those that are not empty since.
//!
//! Each row has a count a thread, with `-H` their sum too. The lines below the rows say what the
//! rows must add up to.

use std::io::BufRead;

use punctual_model::Ended;
use punctual_stats::float;

use super::{ASSUMED_US, DMA_LINE, text::Said};
use crate::Unit;
use crate::error::ImportError;
use crate::export::COMMAND_LINE;
use crate::format::Format;
use crate::imported::{Imported, cut};
use crate::lines::{Lines, nanos, number, numbers, second_run};
use crate::series::{Buckets, MOST_BUCKETS, MOST_THREADS, SourceSeries};

/// The rows so far: counts above 0 of each column, with their value.
#[derive(Debug, Default)]
struct Rows {
    columns: Vec<Vec<(u64, u64)>>,
    last: Option<u64>,
    /// Whether the rows went up by one from 0.
    whole: bool,
    cells: usize,
}

/// The lines below the rows.
#[derive(Debug, Default)]
struct Below {
    total: Option<Vec<u64>>,
    min: Option<Vec<u64>>,
    avg: Option<Vec<u64>>,
    max: Option<Vec<u64>>,
    overflows: Option<Vec<u64>>,
    /// Threads whose overflows are listed, where they are.
    listed: Option<usize>,
    /// What ended the run, where something did.
    broken_by: Option<String>,
    /// The command line, where `runs export` wrote the file.
    command: Option<String>,
}

/// Reads what follows `# Histogram`.
pub(crate) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    unit: Option<Unit>,
    said: &Said,
) -> Result<Imported, ImportError> {
    let mut rows = Rows {
        whole: true,
        ..Rows::default()
    };
    let mut below = Below::default();
    while let Some(line) = lines.next()? {
        let line = line.trim_end().to_owned();
        let at = lines.number();
        if line.starts_with(|c: char| c.is_ascii_digit()) {
            if below.total.is_some() || below.min.is_some() {
                return Err(lines.error("a row comes after the totals"));
            }
            rows.push(at, &line)?;
        } else if line == "# Histogram" || line.starts_with(DMA_LINE) {
            return Err(second_run(at));
        } else if let Some(text) = line.strip_prefix("# ") {
            below.take(at, text)?;
        } else if !line.is_empty() && !super::is_remark(&line) {
            return Err(lines
                .error("this is not a line of a histogram")
                .hinted(super::ALONE));
        }
    }
    let end = lines.number();
    let (Some(min), Some(avg), Some(max), Some(overflows)) =
        (below.min, below.avg, below.max, below.overflows)
    else {
        return Err(lines.ended("`# Histogram Overflows:`"));
    };
    let threads = min.len();
    if below.listed.is_some_and(|listed| listed != threads) {
        return Err(lines.ended("the list of overflows of every thread"));
    }
    if threads == 0 || threads > MOST_THREADS {
        return Err(lines.error(format!("{threads} threads")));
    }
    let columns = rows.columns.len();
    let sums = match columns {
        0 => false,
        n if n == threads => false,
        n if n == threads + 1 => true,
        n => {
            return Err(ImportError::at_line(
                end,
                format!("the rows have {n} columns for {threads} threads"),
            ));
        }
    };
    let wanted = |what: &str, values: &[u64]| {
        if values.len() == threads || values.len() == threads + 1 {
            return Ok(());
        }
        let n = values.len();
        let reason = format!("{what} has {n} values for {threads} threads");
        Err(ImportError::at_line(end, reason))
    };
    wanted("# Avg Latencies", &avg)?;
    wanted("# Max Latencies", &max)?;
    wanted("# Histogram Overflows", &overflows)?;
    if let Some(total) = &below.total {
        wanted("# Total", total)?;
    }
    if sums {
        rows.check_sums(end)?;
    }
    let unit_ns = unit.unwrap_or(Unit::Microseconds).ns();
    let mut imported = Imported::new(Format::CyclictestHistogram, "cyclictest");
    let empty = Vec::new();
    for thread in 0..threads {
        let of = |values: &[u64]| values.get(thread).copied().unwrap_or_default();
        let thread_number = u32::try_from(thread).unwrap_or(u32::MAX);
        let claim = Claim {
            line: end,
            thread: thread_number,
            min: of(&min),
            avg: of(&avg),
            max: of(&max),
            beyond: of(&overflows),
            total: below.total.as_deref().map(of),
        };
        let column = rows.columns.get(thread).unwrap_or(&empty);
        let mut series = claim.series(column, unit_ns)?;
        series.interval = said.intervals.get(thread_number);
        imported.series.push(series);
    }
    imported.resolution_ns = Some(unit_ns);
    imported.mean_error_ns = Some(2.0 * float(unit_ns));
    if unit.is_none() {
        imported.state(ASSUMED_US);
    }
    imported.command_line = below.command;
    if let Some(value) = &below.broken_by {
        imported.ended = Some(Ended::Threshold);
        imported.state(format!("break value {value}"));
    }
    if let (true, Some(last)) = (rows.whole, rows.last) {
        let width = last.saturating_add(1);
        imported.state(format!("histogram of {width} rows"));
        imported.rows_end_ns = width.checked_mul(unit_ns).map(|end| end - 1);
    }
    Ok(imported)
}

impl Rows {
    fn push(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let (index, cells) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let index = number(at, "the value of the row", index)?;
        let cells = numbers(at, "a count", cells)?;
        if cells.is_empty() || cells.len() > MOST_THREADS + 1 {
            return Err(ImportError::at_line(at, format!("{} columns", cells.len())));
        }
        if self.columns.is_empty() {
            self.columns = vec![Vec::new(); cells.len()];
        }
        if cells.len() != self.columns.len() {
            let reason = format!(
                "{} columns, but earlier rows have {}",
                cells.len(),
                self.columns.len()
            );
            return Err(ImportError::at_line(at, reason));
        }
        if self.last.is_some_and(|last| index <= last) {
            return Err(ImportError::at_line(at, "the rows do not ascend"));
        }
        let next = self.last.map_or(Some(0), |last| last.checked_add(1));
        self.whole &= next == Some(index);
        self.last = Some(index);
        for (column, count) in self.columns.iter_mut().zip(cells) {
            if count > 0 {
                column.push((index, count));
                self.cells += 1;
            }
        }
        if self.cells > 2 * MOST_BUCKETS {
            return Err(ImportError::at_line(
                at,
                "more rows than a histogram can have",
            ));
        }
        Ok(())
    }

    /// Compares the last column with the sum of the others.
    fn check_sums(&self, at: u64) -> Result<(), ImportError> {
        let mut sums = std::collections::BTreeMap::<u64, u128>::new();
        let (last, columns) = self
            .columns
            .split_last()
            .unwrap_or((const { &Vec::new() }, &[]));
        for (index, count) in columns.iter().flatten() {
            *sums.entry(*index).or_default() += u128::from(*count);
        }
        let said = last
            .iter()
            .map(|(index, count)| (*index, u128::from(*count)));
        if sums.into_iter().eq(said) {
            return Ok(());
        }
        Err(ImportError::at_line(
            at,
            "the last column of the rows is not the sum of the others",
        ))
    }
}

impl Below {
    fn take(&mut self, at: u64, text: &str) -> Result<(), ImportError> {
        let (name, values) = text.split_once(':').unwrap_or((text, ""));
        let place = match name {
            "Total" => &mut self.total,
            // Early rt-tests spelt them so.
            "Min Latencies" | "Min Latencys" => &mut self.min,
            "Avg Latencies" | "Avg Latencys" => &mut self.avg,
            "Max Latencies" => &mut self.max,
            "Histogram Overflows" => &mut self.overflows,
            "Histogram Overflow at cycle number" => {
                self.listed = Some(0);
                return Ok(());
            }
            "Break value" => {
                self.broken_by = Some(cut(values.trim().to_owned()));
                return Ok(());
            }
            COMMAND_LINE => {
                self.command = Some(cut(values.trim().to_owned()));
                return Ok(());
            }
            _ => {
                // Not the `# Thread Ids:` of a run that was broken off.
                let of_thread = name.strip_prefix("Thread ");
                if of_thread.is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit())) {
                    self.listed = self.listed.map(|n| n + 1);
                }
                return Ok(());
            }
        };
        if place.is_some() {
            return Err(ImportError::at_line(at, format!("a second `# {name}:`")));
        }
        *place = Some(numbers(at, name, values)?);
        Ok(())
    }
}

/// What the lines below the rows say of one thread.
#[derive(Debug)]
struct Claim {
    line: u64,
    thread: u32,
    min: u64,
    avg: u64,
    max: u64,
    beyond: u64,
    total: Option<u64>,
}

impl Claim {
    fn wrong(&self, what: &str) -> ImportError {
        let reason = format!(
            "thread {}: {what} does not agree with the rows",
            self.thread
        );
        ImportError::at_line(self.line, reason)
    }

    fn series(&self, column: &[(u64, u64)], unit_ns: u64) -> Result<SourceSeries, ImportError> {
        let ns = |value| nanos(self.line, value, unit_ns);
        let buckets = Buckets {
            beyond: Some(self.beyond),
            ..Buckets::of(column, unit_ns, ns)?
        };
        let counted = buckets.counted().ok_or_else(|| self.wrong("the sum"))?;
        if self.total.is_some_and(|total| total != counted) {
            return Err(self.wrong("# Total"));
        }
        let count = counted
            .checked_add(self.beyond)
            .ok_or_else(|| self.wrong("# Histogram Overflows"))?;
        if column.first().is_some_and(|(first, _)| *first != self.min) {
            return Err(self.wrong("# Min Latencies"));
        }
        let last = column.last().map(|(last, _)| *last);
        let fits = match last {
            Some(last) if self.beyond == 0 => last == self.max,
            Some(last) => last < self.max,
            None => true,
        };
        if !fits {
            return Err(self.wrong("# Max Latencies"));
        }
        let sum: u128 = column
            .iter()
            .map(|(v, n)| u128::from(*v) * u128::from(*n))
            .sum();
        if self.beyond == 0 && counted > 0 && sum / u128::from(counted) != u128::from(self.avg) {
            return Err(self.wrong("# Avg Latencies"));
        }
        let some = count > 0;
        Ok(SourceSeries {
            thread: self.thread,
            count,
            min_ns: some.then(|| ns(self.min)).transpose()?,
            max_ns: some
                .then(|| ns(self.max))
                .transpose()?
                .map(|max| max + unit_ns - 1),
            mean_ns: some.then(|| ns(self.avg)).transpose()?.map(float),
            buckets: Some(buckets),
            ..SourceSeries::default()
        })
    }
}
