// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Comma-separated values: one header line, a dot in decimals, nothing for a missing figure.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::fmt::Display;
use std::io::{self, Write};

use punctual_model::{Gathered as _, RunRecord, Series, ThreadSample};
use punctual_stats::{Bucket, LatencyHistogram, ThreadHistogram, float};

use super::{Columns, ExportError};
use crate::number::clean;
use crate::order::in_order;

/// Adds to every row a last column `time`, which says `virtual`: the times are instruction counts. Cells have no line breaks.
#[derive(Debug)]
pub struct Counted<W> {
    out: W,
    is_below_heading: bool,
}

impl<W: Write> Counted<W> {
    /// Writes to `out`.
    pub const fn new(out: W) -> Self {
        Self {
            out,
            is_below_heading: false,
        }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, rows: &[u8]) -> io::Result<usize> {
        for piece in rows.split_inclusive(|byte| *byte == b'\n') {
            match piece.strip_suffix(b"\n") {
                None => self.out.write_all(piece)?,
                Some(row) => {
                    self.out.write_all(row)?;
                    self.out.write_all(match self.is_below_heading {
                        true => b",virtual\n",
                        false => b",time\n",
                    })?;
                    self.is_below_heading = true;
                }
            }
        }
        Ok(rows.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Writes one row a sample, under `thread,cpu,t_ns,latency_ns`, and returns their number.
///
/// # Errors
/// [`ExportError::Samples`] if the samples end in an error, [`ExportError::Write`].
pub fn csv_samples<E: StdError>(
    samples: impl IntoIterator<Item = Result<ThreadSample, E>>,
    columns: Columns,
    out: &mut dyn Write,
) -> Result<u64, ExportError<E>> {
    let mut out = io::BufWriter::new(out);
    let mut count = 0;
    writeln!(out, "thread,cpu,t_ns,latency_ns")?;
    for sample in samples {
        let ThreadSample {
            thread,
            cpu,
            t_ns,
            latency_ns,
        } = sample.map_err(ExportError::Samples)?;
        if columns == Columns::ALL {
            writeln!(out, "{thread},{cpu},{t_ns},{latency_ns}")?;
        } else {
            let (cpu, t_ns) = (columns.cpu.then_some(cpu), columns.time.then_some(t_ns));
            writeln!(out, "{thread},{},{},{latency_ns}", cell(cpu), cell(t_ns))?;
        }
        count += 1;
    }
    out.flush()?;
    Ok(count)
}

/// Writes one row a thread and one for all of them, whose `thread` is `all`.
///
/// The columns are the keys of the series in run.json; a quantile is `p99_ns`, its P-square
/// estimate `psquare_p99_ns`, and `above_100000_ns` the samples above that deadline. Every row
/// says whether the run is valid. Where a run has several kinds of latencies, the last column is
/// their `context`.
///
/// # Errors
/// What the output says.
pub fn csv_summary(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let all = || run.series.iter().chain([&run.total]);
    let quantiles = in_order(all().flat_map(|s| s.quantiles_ns.keys()));
    let psquare = in_order(all().flat_map(|s| s.psquare_ns.keys()));
    let deadlines: BTreeSet<_> = all()
        .flat_map(|s| s.misses.iter().map(|m| m.deadline_ns))
        .into_set();

    let contexts = all().any(|s| s.context.is_some());
    let mut header: Vec<String> = FIXED.map(ToOwned::to_owned).into();
    header.extend(quantiles.iter().map(|name| format!("{name}_ns")));
    header.extend(psquare.iter().map(|name| format!("psquare_{name}_ns")));
    for deadline in &deadlines {
        header.push(format!("above_{}_ns", deadline.get()));
        header.push(format!("overruns_above_{}_ns", deadline.get()));
    }
    header.extend(contexts.then(|| "context".to_owned()));
    write_row(&mut out, &header)?;
    for series in all() {
        let mut row = fixed_cells(run, series);
        row.extend(
            quantiles
                .iter()
                .map(|name| cell(series.quantiles_ns.get(name.as_str()).copied().flatten())),
        );
        row.extend(
            psquare
                .iter()
                .map(|name| cell(series.psquare_ns.get(name.as_str()).copied().flatten())),
        );
        for deadline in &deadlines {
            let misses = series.misses.iter().find(|m| m.deadline_ns == *deadline);
            row.push(cell(misses.map(|m| m.count)));
            row.push(cell(misses.map(|m| m.overruns)));
        }
        row.extend(contexts.then(|| cell(series.context.as_deref())));
        write_row(&mut out, &row)?;
    }
    out.flush()
}

/// Writes one row a bucket that holds samples, under `thread,from_ns,to_ns,count`; both ends
/// belong to the bucket.
///
/// # Errors
/// What the output says.
pub fn csv_histogram<'a>(
    threads: impl IntoIterator<Item = (u32, &'a LatencyHistogram)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(out, "thread,from_ns,to_ns,count")?;
    for (thread, histogram) in threads {
        for bucket in histogram.buckets() {
            let (from, to) = (bucket.from_ns, bucket.to_ns);
            writeln!(out, "{thread},{from},{to},{}", bucket.count)?;
        }
    }
    out.flush()
}

/// Writes one row a bucket that holds samples, under `thread,context,from_ns,to_ns,count`, for runs
/// with several kinds of latencies.
///
/// # Errors
/// What the output says.
pub fn csv_contexts<'a>(
    items: impl IntoIterator<Item = &'a ThreadHistogram>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(out, "thread,context,from_ns,to_ns,count")?;
    for item in items {
        let (thread, context) = (thread_of(item), item.context.as_deref().unwrap_or_default());
        for bucket in item.histogram.buckets() {
            let (from, to, count) = (bucket.from_ns, bucket.to_ns, bucket.count);
            writeln!(out, "{thread},{},{from},{to},{count}", quoted(context))?;
        }
    }
    out.flush()
}

/// Writes a `table` of buckets that begins with the thread as it is, or, where `run` has several kinds of latencies, with the
/// context of each thread behind its number.
///
/// # Errors
/// What the output says.
pub fn csv_buckets(run: &RunRecord, table: &[u8], out: &mut dyn Write) -> io::Result<()> {
    let contexts: BTreeMap<String, &str> = run
        .series
        .iter()
        .filter_map(|s| Some((s.thread?.to_string(), s.context.as_deref()?)))
        .collect();
    if contexts.is_empty() {
        return out.write_all(table);
    }
    let mut out = io::BufWriter::new(out);
    for (number, line) in String::from_utf8_lossy(table).lines().enumerate() {
        let (thread, rest) = line.split_once(',').unwrap_or((line, ""));
        let context = match number {
            0 => "context",
            _ => contexts.get(thread).copied().unwrap_or_default(),
        };
        writeln!(out, "{thread},{},{rest}", quoted(context))?;
    }
    out.flush()
}

/// Writes density and cumulative distribution, one row a bin that holds samples, under
/// `thread,context,from_ns,to_ns,count,density_per_ns,cumulative`; both ends belong to the bin.
///
/// `bin` is the width of a bin in ns; 0 takes the histogram's own buckets, of which none is wider than
/// a thousandth of its value. A bucket that is in two bins counts in the lower one, and a bin is
/// never narrower than its buckets.
///
/// # Errors
/// What the output says.
pub fn csv_distributions<'a>(
    items: impl IntoIterator<Item = &'a ThreadHistogram>,
    bin: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(
        out,
        "thread,context,from_ns,to_ns,count,density_per_ns,cumulative"
    )?;
    for item in items {
        let (thread, context) = (thread_of(item), item.context.as_deref().unwrap_or_default());
        let all = float(item.histogram.count());
        let mut below = 0;
        for bucket in binned(&item.histogram, bin) {
            let (from, to, count) = (bucket.from_ns, bucket.to_ns, bucket.count);
            below += count;
            let density = float(count) / all / (float(to - from) + 1.0);
            let cumulative = float(below) / all;
            let context = quoted(context);
            writeln!(
                out,
                "{thread},{context},{from},{to},{count},{density},{cumulative}"
            )?;
        }
    }
    out.flush()
}

/// The number of a thread, or `all`.
fn thread_of(item: &ThreadHistogram) -> String {
    item.thread
        .map_or_else(|| "all".to_owned(), |thread| thread.to_string())
}

/// Puts the buckets of a histogram together in bins.
fn binned(histogram: &LatencyHistogram, bin: u64) -> Vec<Bucket> {
    if bin == 0 {
        return histogram.buckets().collect();
    }
    let mut bins: Vec<Bucket> = Vec::new();
    for bucket in histogram.buckets() {
        match bins.last_mut().filter(|last| bucket.from_ns <= last.to_ns) {
            Some(last) => {
                last.count += bucket.count;
                last.to_ns = last.to_ns.max(bucket.to_ns);
            }
            None => {
                let from_ns = bucket.from_ns / bin * bin;
                let own = bins.last().map_or(0, |last| last.to_ns + 1);
                bins.push(Bucket {
                    from_ns: from_ns.max(own),
                    to_ns: (from_ns + bin - 1).max(bucket.to_ns),
                    count: bucket.count,
                });
            }
        }
    }
    bins
}

const FIXED: [&str; 20] = [
    "run",
    "valid",
    "thread",
    "cpu",
    "policy",
    "interval_ns",
    "count",
    "min_ns",
    "max_ns",
    "mean_ns",
    "mean_low_ns",
    "mean_high_ns",
    "stddev_ns",
    "skewness",
    "excess_kurtosis",
    "effective_samples",
    "overruns",
    "lost",
    "clamped",
    "warm_up_samples",
];

fn fixed_cells(run: &RunRecord, series: &Series) -> Vec<String> {
    let mean = series.mean_interval_ns;
    let cells: [String; FIXED.len()] = [
        run.id.clone(),
        run.is_valid().to_string(),
        series
            .thread
            .map_or_else(|| "all".to_owned(), |n| n.to_string()),
        cell(series.cpu),
        cell(series.policy.as_deref()),
        cell(series.interval_ns.map(punctual_model::Nanos::get)),
        series.count.to_string(),
        cell(series.min_ns),
        cell(series.max_ns),
        cell(series.mean_ns),
        cell(mean.map(|interval| interval.low)),
        cell(mean.map(|interval| interval.high)),
        cell(series.stddev_ns),
        cell(series.skewness),
        cell(series.excess_kurtosis),
        cell(series.effective_samples),
        cell(series.overruns),
        cell(series.lost),
        cell(series.clamped),
        cell(series.warm_up_samples),
    ];
    cells.into()
}

/// Writes a figure as JSON does: the shortest decimal that reads back as the same number.
pub(super) fn cell(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

pub(super) fn write_row(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    let row: Vec<_> = cells.iter().map(|cell| quoted(cell)).collect();
    writeln!(out, "{}", row.join(","))
}

/// Makes a text a cell: quotes what would end it (RFC 4180), replaces what commands a terminal, and
/// keeps what a spreadsheet would take for a formula from being one. A run may come from elsewhere.
fn quoted(text: &str) -> Cow<'_, str> {
    // Some spreadsheets read the full-width forms too.
    let begins = [
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ];
    let formula = text.starts_with(begins) && text.len() > 1;
    let formula = formula && text.parse::<f64>().is_err();
    let mut text = clean(text);
    if formula {
        text = Cow::Owned(format!("'{text}"));
    }
    if text.contains([',', '"', '\n', '\r']) {
        return Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_cell_is_no_formula_and_commands_no_terminal() {
        for (text, cell) in [
            ("p99", "p99"),
            ("a,b", "\"a,b\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
            ("-1+cmd|' /C calc'!A0", "'-1+cmd|' /C calc'!A0"),
            ("\u{ff1d}1+1", "'\u{ff1d}1+1"),
            ("-1.5e-3", "-1.5e-3"),
            ("-", "-"),
            ("\u{1b}[2Jx\nnext", "\u{fffd}[2Jx\u{fffd}next"),
            ("\t=1+1", "\u{fffd}=1+1"),
        ] {
            assert_eq!(quoted(text), cell, "{text:?}");
        }
    }
}
