// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exports in the formats of other tools, which count whole microseconds.

use std::collections::BTreeMap;
use std::io::{self, Write};

use punctual_model::RunRecord;
use punctual_peers::export::{self, MicroCounts};
use punctual_store::StoredRun;

use super::{ExportFailure, any, histograms};
use crate::cli::ExportFormat;
use crate::recording::BUCKET_TABLE;

const US: u64 = 1_000;

/// Rows of a histogram: these formats have one for each microsecond.
const MOST_COUNTS: usize = 4 << 20;

/// Rows of a histogram, up to a limit.
#[derive(Debug)]
struct Counts {
    /// A thread and a value in µs, with their count.
    rows: BTreeMap<(u32, u64), u64>,
    most: usize,
}

impl Counts {
    const fn at_most(most: usize) -> Self {
        Self {
            rows: BTreeMap::new(),
            most,
        }
    }

    fn add(&mut self, thread: u32, us: u64, n: u64) -> io::Result<()> {
        let count = self.rows.entry((thread, us)).or_default();
        *count = count.saturating_add(n);
        match self.rows.len() > self.most {
            true => Err(io::Error::other(format!(
                "more than {} latencies differ, in whole microseconds",
                self.most
            ))),
            false => Ok(()),
        }
    }
}

/// Writes `run` as the tool of `format` does.
pub(super) fn write(
    run: &StoredRun,
    format: ExportFormat,
    out: &mut dyn Write,
) -> Result<(), ExportFailure> {
    let counts = if let Some(table) = run.artifact(BUCKET_TABLE).map_err(any)? {
        of_table(&table, MOST_COUNTS).map_err(any)?
    } else if run.record().origin.is_some() {
        return Err(any(io::Error::other("the source of the run has no histogram")).into());
    } else if run.has_samples() {
        of_samples(run)?
    } else {
        of_histograms(run)?
    };
    let counts = threads(run.record(), &counts);
    match format {
        ExportFormat::CyclictestJson => export::cyclictest_json(run.record(), &counts, out),
        ExportFormat::Jitterdebugger => export::jitterdebugger(run.record(), &counts, out),
        ExportFormat::Rteval => export::rteval(run.record(), &counts, out),
        _ => export::cyclictest_histogram(run.record(), &counts, out),
    }
    .map_err(any)?;
    Ok(())
}

/// Puts the counts in the order of the series.
fn threads(record: &RunRecord, counts: &Counts) -> Vec<MicroCounts> {
    let imported = record.origin.is_some();
    let of = |series: &punctual_model::Series| {
        let thread = series.thread.unwrap_or_default();
        let own = counts.rows.range((thread, 0)..=(thread, u64::MAX));
        let buckets: Vec<(u64, u64)> = own.map(|((_, us), n)| (*us, *n)).collect();
        let held = buckets
            .iter()
            .fold(0, |sum: u64, (_, n)| sum.saturating_add(*n));
        MicroCounts {
            // What a measured run clamped is counted at the end of its histogram. An imported one has
            // above all rows what it counts and no row holds, also where it does not call it so.
            beyond: match imported {
                true => series.count.saturating_sub(held),
                false => 0,
            },
            buckets,
        }
    };
    record.series.iter().map(of).collect()
}

/// Cuts every sample, as the other tools do.
fn of_samples(run: &StoredRun) -> Result<Counts, ExportFailure> {
    let mut counts = Counts::at_most(MOST_COUNTS);
    for sample in run.samples().map_err(any)? {
        let sample = sample.map_err(any)?;
        let added = counts.add(sample.thread, sample.latency_ns / US, 1);
        added.map_err(any)?;
    }
    Ok(counts)
}

/// Takes the upper end of each bucket, so that nothing is understated: up to a thousandth too high.
fn of_histograms(run: &StoredRun) -> Result<Counts, ExportFailure> {
    let mut counts = Counts::at_most(MOST_COUNTS);
    let parts = histograms(run)?;
    for (series, part) in run.record().series.iter().zip(&parts) {
        let thread = series.thread.unwrap_or_default();
        for bucket in part.histogram.buckets() {
            let top = bucket.to_ns.min(series.max_ns.unwrap_or(u64::MAX));
            counts.add(thread, top / US, bucket.count).map_err(any)?;
        }
    }
    Ok(counts)
}

/// Reads the buckets of an imported run, which must lie within a microsecond each.
fn of_table(table: &[u8], most: usize) -> io::Result<Counts> {
    let damaged = || {
        io::Error::new(
            io::ErrorKind::InvalidData,
            "the table of buckets is damaged",
        )
    };
    let text = std::str::from_utf8(table).map_err(|_| damaged())?;
    let mut counts = Counts::at_most(most);
    for line in text.lines().skip(1) {
        let numbers: Option<Vec<u64>> = line.split(',').map(|cell| cell.parse().ok()).collect();
        let Some(&[thread, from, to, n]) = numbers.as_deref() else {
            return Err(damaged());
        };
        if to < from || to - from >= US {
            return Err(io::Error::other(
                "its buckets are wider than the 1 µs of this format",
            ));
        }
        let thread = u32::try_from(thread).map_err(|_| damaged())?;
        // What is rounded up, as oslat does, keeps its number.
        counts.add(thread, to / US, n)?;
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run that does not say how many were above all rows counts them nevertheless.
    #[test]
    fn what_no_row_of_an_imported_run_holds_is_above_all_rows() {
        let text = r#"{"file_version": 1, "num_threads": 2, "resolution_in_ns": 0, "thread": {
            "0": {"histogram": {}, "cycles": 2000, "min": 5, "max": 206, "avg": 9.35},
            "1": {"histogram": {"4": 17}, "cycles": 2000, "min": 4, "max": 177, "avg": 9.68}}}"#;
        let format = punctual_peers::Format::CyclictestJson;
        let mut none = punctual_peers::NoSamples;
        let imported = punctual_peers::import(text.as_bytes(), format, None, &mut none).unwrap();
        let table = of_table(imported.bucket_table().unwrap().as_bytes(), 9).unwrap();
        let mut record = imported.record(punctual_peers::Labels::default()).unwrap();
        record.series[0].clamped = None;
        let beyond: Vec<u64> = threads(&record, &table).iter().map(|c| c.beyond).collect();
        assert_eq!(beyond, [2_000, 1_983]);
    }

    #[test]
    fn a_table_of_more_rows_than_fit_is_refused() {
        let table = b"thread,from_ns,to_ns,count\n0,0,999,1\n0,1000,1999,1\n1,0,999,1\n1,0,999,2\n";
        let counts = of_table(table, 3).unwrap();
        assert_eq!(counts.rows[&(1, 0)], 3);
        let err = of_table(table, 2).unwrap_err().to_string();
        assert!(err.starts_with("more than 2 latencies"), "{err}");
    }
}
