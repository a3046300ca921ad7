// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs export`.

mod distributions;
mod peers;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use punctual_model::{Nanos, json};
use punctual_report::export;
use punctual_stats::ThreadHistogram;
use punctual_store::StoredRun;

use crate::cli::{ExportData, ExportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Destination, remark};
use crate::recording::{BUCKET_TABLE, HISTOGRAM_LOG, SPIKE_TABLE};

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct What {
    pub(super) format: ExportFormat,
    pub(super) data: Option<ExportData>,
    pub(super) bin: Option<Nanos>,
}

/// Writes `run` to `output`.
pub(super) fn run(
    run: &StoredRun,
    what: What,
    output: &Path,
    force: bool,
) -> Result<Exit, CliError> {
    let (asked, format) = (what.data, what.format);
    let data = choose(run, format, asked)?;
    let bin = match (what.bin, data) {
        (None, _) => 0,
        (Some(bin), ExportData::Distribution) if !bin.is_zero() => bin.get(),
        (Some(_), ExportData::Distribution) => {
            return Err(CliError::usage("--bin 0: must be at least 1ns"));
        }
        (Some(_), _) => return Err(CliError::usage("--bin: only with --data distribution")),
    };
    if run.record().is_virtual() {
        let foreign = matches!(
            format,
            ExportFormat::CyclictestHist
                | ExportFormat::CyclictestJson
                | ExportFormat::Jitterdebugger
                | ExportFormat::Rteval
        );
        if foreign {
            return Err(CliError::usage(format!(
                "--format {}: it cannot mark a run as virtual time, in which times are instruction \
                 counts",
                name(&format)
            )));
        }
        remark("This run is in virtual time: its times are instruction counts, not latencies.");
    }
    let mut target = Destination::open(output, force)?;
    if (asked, data, format) == (None, ExportData::Summary, ExportFormat::Csv) {
        remark("No samples are stored; this is the summary of each thread.");
    }
    let written = match (format, run.record().is_virtual()) {
        (ExportFormat::Csv, true) => {
            let mut rows = export::Counted::new(BufWriter::new(&mut target.out));
            write(run, format, data, bin, &mut rows)
        }
        _ => write(run, format, data, bin, &mut target.out),
    };
    match written {
        Ok(()) => target.finish().map(|()| Exit::Fine),
        Err(err) if err.is_closed_pipe() && target.is_standard_output() => Ok(Exit::Fine),
        Err(err) => {
            Err(CliError::failed_to(format!("export run {}", run.record().id)).because(err))
        }
    }
}

/// Picks what to export, and refuses what does not go together.
fn choose(
    run: &StoredRun,
    format: ExportFormat,
    data: Option<ExportData>,
) -> Result<ExportData, CliError> {
    if format == ExportFormat::Parquet && cfg!(not(feature = "parquet")) {
        return Err(CliError::left_out("--format parquet"));
    }
    let data = data.unwrap_or_else(|| match format {
        ExportFormat::Hdr
        | ExportFormat::CyclictestHist
        | ExportFormat::CyclictestJson
        | ExportFormat::Jitterdebugger
        | ExportFormat::Rteval => ExportData::Histogram,
        ExportFormat::Parquet => ExportData::Samples,
        ExportFormat::Perfetto => ExportData::Cycles,
        // Where they were stored and are gone, the summary would pass for them.
        ExportFormat::Csv | ExportFormat::Json if had_samples(run) => ExportData::Samples,
        ExportFormat::Csv if has_only_results(run) => ExportData::Results,
        ExportFormat::Csv | ExportFormat::Json => ExportData::Summary,
    });
    let possible = match data {
        ExportData::Samples => matches!(
            format,
            ExportFormat::Csv | ExportFormat::Json | ExportFormat::Parquet
        ),
        ExportData::Summary => matches!(format, ExportFormat::Csv | ExportFormat::Json),
        ExportData::Histogram => !matches!(
            format,
            ExportFormat::Json | ExportFormat::Parquet | ExportFormat::Perfetto
        ),
        ExportData::Cycles => format == ExportFormat::Perfetto,
        ExportData::Events => format == ExportFormat::Json,
        ExportData::Results | ExportData::Spikes | ExportData::Distribution => {
            format == ExportFormat::Csv
        }
    };
    if !possible {
        return Err(CliError::usage(format!(
            "--data {}: not available with --format {}",
            name(&data),
            name(&format)
        ))
        .hint(
            "samples: csv, json, parquet; summary: csv, json; results: csv; histogram: csv, hdr, those of other tools; distribution: csv; events: json; spikes: csv; cycles: perfetto",
        ));
    }
    if data == ExportData::Cycles && run.record().watched.is_none() {
        let id = &run.record().id;
        return Err(
            CliError::failed_to(format!("export run {id}: it did not watch a program"))
                .hint("`punctual watch -- COMMAND` or `punctual watch --pid PID` makes a run that has cycles"),
        );
    }
    let latencies = matches!(data, ExportData::Histogram | ExportData::Distribution);
    if latencies && has_only_results(run) {
        let id = &run.record().id;
        return Err(CliError::failed_to(format!(
            "export run {id}: it has results, and no latencies"
        ))
        .hint("--data results --format csv has them"));
    }
    if let Some(why) = no_such_data(run, format, data) {
        let id = &run.record().id;
        return Err(CliError::failed_to(format!("export run {id}: {why}"))
            .hint("--data histogram --format csv has every histogram of the run"));
    }
    if data == ExportData::Samples && !had_samples(run) && !run.has_samples() {
        return Err(CliError::failed_to(format!(
            "export run {}: its samples are not stored",
            run.record().id
        ))
        .hint(match &*run.record().instrument {
            "wakeup" => "measure with --raw to store them, or export --data histogram or summary",
            "watch" => "--data histogram or summary; with --raw, watch stores its cycles (cycles.csv of the run)",
            _ => "this instrument stores none; export --data histogram or summary",
        }));
    }
    Ok(data)
}

/// Says why a run does not have `data` in a form that `format` can hold.
fn no_such_data(run: &StoredRun, format: ExportFormat, data: ExportData) -> Option<&'static str> {
    let record = run.record();
    let mut kinds = record.series.iter().map(|s| &s.context);
    let first = kinds.next();
    let several = match record.origin {
        // rteval itself makes one histogram of all kinds of a core.
        Some(_) => format != ExportFormat::Rteval && kinds.any(|kind| Some(kind) != first),
        None => record.series.iter().any(|s| s.context.is_some()),
    };
    match (data, format) {
        (ExportData::Distribution, _) if record.origin.is_some() => {
            Some("an imported run has the buckets of its source, not a distribution")
        }
        (ExportData::Histogram, ExportFormat::Csv | ExportFormat::Hdr) => None,
        (ExportData::Histogram, _) if several => {
            Some("it has several kinds of latencies, but this format allows one per thread")
        }
        _ => None,
    }
}

/// Whether the run measured something else than latencies.
fn has_only_results(run: &StoredRun) -> bool {
    let record = run.record();
    record.total.count == 0 && record.series.is_empty() && !record.figures.is_empty()
}

/// Whether the run was made with samples, whatever became of them.
fn had_samples(run: &StoredRun) -> bool {
    let record = run.record();
    let imported = record
        .origin
        .as_ref()
        .is_some_and(|o| o.sample_times.is_some());
    imported || record.spec.as_ref().is_some_and(|spec| spec.raw)
}

fn name(value: &impl clap::ValueEnum) -> String {
    value
        .to_possible_value()
        .map_or_else(String::new, |v| v.get_name().to_owned())
}

/// A comment in the log of histograms of a run in virtual time.
const COUNTED_LOG: &[u8] = b"#[Time: virtual (instruction counts, not latencies)]\n";

/// Why nothing, or not all, was exported.
#[derive(Debug)]
struct ExportFailure(Box<dyn std::error::Error + Send + Sync>);

impl ExportFailure {
    fn is_closed_pipe(&self) -> bool {
        let mut cause: Option<&dyn std::error::Error> = Some(self.0.as_ref());
        while let Some(err) = cause {
            let kind = err.downcast_ref::<io::Error>().map(io::Error::kind);
            if kind == Some(io::ErrorKind::BrokenPipe) {
                return true;
            }
            cause = err.source();
        }
        false
    }
}

impl std::fmt::Display for ExportFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ExportFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<ExportErrorOf<E>> for ExportFailure {
    fn from(err: ExportErrorOf<E>) -> Self {
        Self(Box::new(err.0))
    }
}

/// Wraps any error, so that one `?` serves them all.
struct ExportErrorOf<E>(E);

fn any<E>(err: E) -> ExportErrorOf<E> {
    ExportErrorOf(err)
}

fn write(
    run: &StoredRun,
    format: ExportFormat,
    data: ExportData,
    bin: u64,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportFailure> {
    let columns = export::Columns::of(run.record());
    match (data, format) {
        (ExportData::Samples, ExportFormat::Csv) => {
            export::csv_samples(run.samples().map_err(any)?, columns, &mut *out).map_err(any)?;
        }
        #[cfg(feature = "parquet")]
        (ExportData::Samples, ExportFormat::Parquet) => {
            export::parquet_samples(run.samples().map_err(any)?, columns, out).map_err(any)?;
        }
        (ExportData::Samples, _) => {
            export::json_samples(run.samples().map_err(any)?, columns, &mut *out).map_err(any)?;
        }
        (ExportData::Summary, ExportFormat::Csv) => {
            export::csv_summary(run.record(), &mut *out).map_err(any)?;
        }
        (ExportData::Results, _) => export::csv_figures(run.record(), &mut *out).map_err(any)?,
        (ExportData::Summary, _) => export::json_run(run.record(), &mut *out).map_err(any)?,
        (ExportData::Histogram, ExportFormat::Csv) => {
            // An imported run has the buckets of its source, which ours would divide.
            if let Some(table) = run.artifact(BUCKET_TABLE).map_err(any)? {
                let table = numbers_alone(&table).map_err(any)?;
                export::csv_buckets(run.record(), table, &mut *out).map_err(any)?;
                return Ok(out.flush().map_err(any)?);
            }
            let parts = histograms(run)?;
            if run.record().series.iter().any(|s| s.context.is_some()) {
                export::csv_contexts(&parts, &mut *out).map_err(any)?;
            } else {
                let threads = (0_u32..).zip(parts.iter().map(|part| &part.histogram));
                export::csv_histogram(threads, &mut *out).map_err(any)?;
            }
        }
        (ExportData::Distribution, _) => {
            let parts = distributions::with_totals(histograms(run)?);
            export::csv_distributions(&parts, bin, &mut *out).map_err(any)?;
        }
        (ExportData::Histogram, format) if format != ExportFormat::Hdr => {
            peers::write(run, format, out)?;
        }
        (ExportData::Histogram, _) => {
            let log = histogram_log(run)?;
            // The first line says the version of the format.
            let end = log.iter().position(|byte| *byte == b'\n');
            let (version, rest) = log.split_at(end.map_or(0, |end| end + 1));
            out.write_all(version).map_err(any)?;
            if run.record().is_virtual() {
                out.write_all(COUNTED_LOG).map_err(any)?;
            }
            out.write_all(rest).map_err(any)?;
        }
        (ExportData::Spikes, _) => {
            let missing =
                "the run has no list of spikes: only imported runs have one, if their file had";
            let table = run.artifact(SPIKE_TABLE).map_err(any)?;
            let table = table.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, missing));
            let table = table.map_err(any)?;
            out.write_all(numbers_alone(&table).map_err(any)?)
                .map_err(any)?;
        }
        (ExportData::Cycles, _) => {
            if let Some(watched) = &run.record().watched {
                export::perfetto(run.record(), watched, &mut *out).map_err(any)?;
            }
        }
        (ExportData::Events, _) => {
            for event in run.events().map_err(any)? {
                let event = event.map_err(any)?;
                let mut line = json::line(&event).map_err(any)?;
                if columns.counted && line.pop_if(|end| *end == b'}').is_some() {
                    line.extend_from_slice(b",\"time\":\"virtual\"}");
                }
                line.push(b'\n');
                out.write_all(&line).map_err(any)?;
            }
        }
    }
    out.flush().map_err(any)?;
    Ok(())
}

/// Returns a table that has a heading and numbers. A run may come from elsewhere, and with it a table
/// with anything else in it.
fn numbers_alone(table: &[u8]) -> io::Result<&[u8]> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its table is damaged");
    let end = table.iter().position(|b| *b == b'\n').ok_or_else(damaged)?;
    let (heading, rows) = table.split_at(end);
    let name = |b: &u8| b.is_ascii_lowercase() || b"_,".contains(b);
    let number = |b: &u8| b.is_ascii_digit() || b",\n".contains(b);
    let sound = heading.iter().all(name) && rows.iter().all(number);
    sound.then_some(table).ok_or_else(damaged)
}

/// Returns the log of the histograms as it is stored, if it is one.
fn histogram_log(run: &StoredRun) -> Result<Vec<u8>, ExportFailure> {
    histograms(run)?;
    let log = run.artifact(HISTOGRAM_LOG).map_err(any)?;
    let log = log.ok_or_else(missing_histograms).map_err(any)?;
    let plain = |b: &u8| matches!(b, b'\n' | b' '..=b'~');
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "its histograms are damaged");
    let sound = log.iter().all(plain).then_some(log);
    Ok(sound.ok_or_else(damaged).map_err(any)?)
}

fn histograms(run: &StoredRun) -> Result<Vec<ThreadHistogram>, ExportFailure> {
    let parts = run.histograms().map_err(any)?;
    Ok(parts.ok_or_else(missing_histograms).map_err(any)?)
}

fn missing_histograms() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the run has no histograms")
}
