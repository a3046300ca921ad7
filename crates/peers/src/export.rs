// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs, written as other tools write theirs: whole µs, as those tools cut them.
//!
//! What a tool's format has no place for (checks, intervals, overruns) is not in there; a run that
//! is not valid says so behind the command line, for which every format has a place that its readers accept.

mod rteval;

use std::io::{self, Write};

use punctual_model::{RunRecord, Series};
use serde_json::{Map, Value, json};

pub use self::rteval::rteval;
use crate::two_decimals;

const US: u64 = 1_000;

/// What the comment with the command line is called in a histogram.
pub(crate) const COMMAND_LINE: &str = "Command line";

/// The counts of one thread a whole µs, ascending.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct MicroCounts {
    /// µs and count.
    pub buckets: Vec<(u64, u64)>,
    /// Samples above all buckets.
    pub beyond: u64,
}

impl MicroCounts {
    fn counted(&self) -> u64 {
        self.of_those(|_| true)
    }

    /// Counts the samples in the buckets that `are` meant. A file of somebody else may count more than there can be.
    fn of_those(&self, are: impl Fn(u64) -> bool) -> u64 {
        let meant = self.buckets.iter().filter(|(us, _)| are(*us));
        meant.fold(0, |sum, (_, count)| sum.saturating_add(*count))
    }

    fn total(&self) -> u64 {
        self.counted().saturating_add(self.beyond)
    }

    fn of(&self, us: u64) -> u64 {
        let found = self.buckets.binary_search_by_key(&us, |(at, _)| *at);
        found
            .ok()
            .and_then(|at| self.buckets.get(at))
            .map_or(0, |(_, count)| *count)
    }
}

fn micros(ns: Option<u64>) -> u64 {
    ns.unwrap_or(0) / US
}

fn mean(series: &Series) -> f64 {
    series.mean_ns.unwrap_or(0.0) / 1e3
}

/// What a reader sees in place of the command line.
fn command(run: &RunRecord) -> String {
    let origin = run.origin.as_ref().and_then(|o| o.command_line.clone());
    let said = match (run.valid, &run.origin) {
        (true, _) => "",
        (false, Some(_)) => " (imported, not checked)",
        (false, None) => " (INVALID run)",
    };
    match origin {
        Some(line) => line + said,
        None => format!("{} run {}{said}", run.program, run.id),
    }
}

/// Writes the histogram of `cyclictest -h`: every row from 0 to the last that is not empty, at most
/// a million.
///
/// # Errors
/// What the output says.
pub fn cyclictest_histogram(
    run: &RunRecord,
    counts: &[MicroCounts],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let rows = counts
        .iter()
        .filter_map(|c| c.buckets.last())
        .map(|(us, _)| us.saturating_add(1));
    let rows = rows.max().unwrap_or(1).min(1_000_000);
    let beyond = |c: &MicroCounts| c.beyond.saturating_add(c.of_those(|us| us >= rows));
    writeln!(out, "# Histogram")?;
    for us in 0..rows {
        let cells: Vec<_> = counts.iter().map(|c| format!("{:06}", c.of(us))).collect();
        writeln!(out, "{us:06} {}", cells.join("\t"))?;
    }
    let line = |name: &str, width: usize, value: &dyn Fn(&MicroCounts, &Series) -> u64| {
        let cells: Vec<_> = counts
            .iter()
            .zip(&run.series)
            .map(|(c, s)| format!(" {:0width$}", value(c, s)))
            .collect();
        format!("# {name}:{}", cells.concat())
    };
    writeln!(
        out,
        "{}",
        line("Total", 9, &|c, _| c.of_those(|us| us < rows))
    )?;
    writeln!(
        out,
        "{}",
        line("Min Latencies", 5, &|c, s| {
            c.buckets
                .first()
                .map_or_else(|| micros(s.min_ns), |(us, _)| *us)
        })
    )?;
    writeln!(out, "{}", line("Avg Latencies", 5, &whole_mean))?;
    writeln!(
        out,
        "{}",
        line(
            "Max Latencies",
            5,
            &|c, s| match (beyond(c), c.buckets.last()) {
                (0, Some((us, _))) => *us,
                _ => micros(s.max_ns),
            }
        )
    )?;
    writeln!(out, "{}", line("Histogram Overflows", 5, &|c, _| beyond(c)))?;
    writeln!(out, "# Histogram Overflow at cycle number:")?;
    for thread in 0..counts.len() {
        // Which samples they were a histogram does not say.
        writeln!(out, "# Thread {thread}:")?;
    }
    // Behind the rows, since scripts may count the lines before them.
    let command = command(run).replace(char::is_control, " ");
    writeln!(out, "# {COMMAND_LINE}: {command}")?;
    writeln!(out)?;
    out.flush()
}

/// The mean as cyclictest has it: of the cut values, cut again.
fn whole_mean(counts: &MicroCounts, series: &Series) -> u64 {
    let weighed = counts.buckets.iter();
    let weighed = weighed.map(|(us, n)| u128::from(*us) * u128::from(*n));
    let sum = weighed.fold(0, u128::saturating_add);
    match (counts.beyond, counts.counted()) {
        (0, n) if n > 0 => u64::try_from(sum / u128::from(n)).unwrap_or(u64::MAX),
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a mean latency is neither negative nor longer than 2^64 µs"
        )]
        _ => mean(series) as u64,
    }
}

fn exact_mean(counts: &MicroCounts, series: &Series) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a figure of two decimals")]
    match (counts.beyond, counts.counted()) {
        (0, n) if n > 0 => {
            let weighed = counts.buckets.iter().map(|(us, n)| *us as f64 * *n as f64);
            weighed.sum::<f64>() / n as f64
        }
        _ => mean(series),
    }
}

fn histogram(counts: &MicroCounts) -> Value {
    let pairs = counts
        .buckets
        .iter()
        .map(|(us, n)| (us.to_string(), json!(n)));
    Value::Object(pairs.collect::<Map<_, _>>())
}

fn extremes(counts: &MicroCounts, series: &Series) -> (u64, u64) {
    let min = counts
        .buckets
        .first()
        .map_or_else(|| micros(series.min_ns), |(us, _)| *us);
    let max = match (counts.beyond, counts.buckets.last()) {
        (0, Some((us, _))) => *us,
        _ => micros(series.max_ns),
    };
    (min, max)
}

fn rfc2822(run: &RunRecord) -> Option<String> {
    let started: jiff::Timestamp = run.started.as_deref()?.parse().ok()?;
    jiff::fmt::rfc2822::to_string(&started.to_zoned(jiff::tz::TimeZone::UTC)).ok()
}

/// Writes what `cyclictest --json` writes, file version 1.
///
/// # Errors
/// What the output says.
pub fn cyclictest_json(
    run: &RunRecord,
    counts: &[MicroCounts],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut threads = Map::new();
    for (number, (c, s)) in counts.iter().zip(&run.series).enumerate() {
        let (min, max) = extremes(c, s);
        let thread = json!({
            "histogram": histogram(c),
            "cycles": c.total(),
            "min": min,
            "max": max,
            "avg": exact_mean(c, s),
            "cpu": s.cpu.map_or(-1, i64::from),
            "node": 0,
        });
        threads.insert(number.to_string(), thread);
    }
    let started = rfc2822(run);
    let file = json!({
        "file_version": 1,
        "cmdline:": command(run),
        "rt_test_version:": run.program,
        "start_time": started,
        "return_code": 0,
        "sysinfo": sysinfo(run),
        "num_threads": counts.len(),
        "resolution_in_ns": 0,
        "thread": threads,
    });
    two_decimals(&file, out)
}

fn sysinfo(run: &RunRecord) -> Value {
    json!({
        "sysname": "Linux",
        "nodename": run.host.hostname,
        "release": run.host.kernel_release,
        "version": run.host.kernel_version,
        "machine": run.host.architecture,
        "realtime": run.host.preempt_rt.map(u8::from),
    })
}

/// Writes `results.json` of jitterdebugger, version 3.
///
/// # Errors
/// What the output says.
pub fn jitterdebugger(
    run: &RunRecord,
    counts: &[MicroCounts],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut threads = Map::new();
    for (number, (c, s)) in counts.iter().zip(&run.series).enumerate() {
        let (min, max) = extremes(c, s);
        let thread = json!({
            "histogram": histogram(c),
            "count": c.total(),
            "min": min,
            "max": max,
            "avg": exact_mean(c, s),
        });
        threads.insert(number.to_string(), thread);
    }
    let mut info = sysinfo(run);
    if let Value::Object(info) = &mut info {
        info.remove("realtime");
        info.insert("cpus_online".to_owned(), json!(run.host.cpu_count()));
        info.insert("resolution_in_ns".to_owned(), json!(1_000));
        info.insert("cmdline".to_owned(), json!(command(run)));
    }
    two_decimals(
        &json!({ "version": 3, "sysinfo": info, "cpu": threads }),
        out,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Labels, NoSamples, import};

    type Writer = fn(&RunRecord, &[MicroCounts], &mut dyn Write) -> io::Result<()>;

    #[test]
    fn a_run_that_is_not_valid_is_told_by_every_format_and_by_its_import() {
        let text = &include_bytes!("../tests/golden/cyclictest-2.4-histofall.json")[..];
        let read = import(text, Format::CyclictestJson, None, &mut NoSamples);
        let mut imported = read.unwrap().record(Labels::default()).unwrap();
        let command = imported.origin.as_mut().unwrap();
        command.command_line = Some("cyclictest -q\n-h 100".to_owned());
        let mut measured = imported.clone();
        (measured.origin, measured.program) = (None, "punctual 1".to_owned());
        let counts = MicroCounts {
            buckets: vec![(3, 2), (7, 1)],
            beyond: 0,
        };
        let counts = vec![counts; imported.series.len()];
        let formats: [(Writer, Format); 4] = [
            (cyclictest_histogram, Format::CyclictestHistogram),
            (cyclictest_json, Format::CyclictestJson),
            (jitterdebugger, Format::JitterdebuggerJson),
            (rteval, Format::Rteval),
        ];
        for (write, format) in formats {
            for (run, mark) in [
                (&imported, "(imported, not checked)"),
                (&measured, "(INVALID run)"),
            ] {
                let mut out = Vec::new();
                write(run, &counts, &mut out).unwrap();
                assert_eq!(crate::detect(&out), Some(format));
                let read = import(&out[..], format, None, &mut NoSamples).unwrap();
                let command = read.command_line.unwrap_or_default();
                assert!(command.ends_with(mark), "{format:?}: {command}");
            }
        }
    }

    #[test]
    fn more_than_can_be_counted_is_written_as_the_most_that_can() {
        let text = &include_bytes!("../tests/golden/cyclictest-2.4-histofall.json")[..];
        let read = import(text, Format::CyclictestJson, None, &mut NoSamples);
        let run = read.unwrap().record(Labels::default()).unwrap();
        let most = MicroCounts {
            buckets: vec![(3, u64::MAX), (2_000_000, u64::MAX), (u64::MAX, u64::MAX)],
            beyond: u64::MAX,
        };
        let without = MicroCounts {
            beyond: 0,
            ..most.clone()
        };
        for write in [
            cyclictest_histogram,
            cyclictest_json,
            jitterdebugger,
            rteval,
        ] {
            let mut out = Vec::new();
            write(&run, &[most.clone(), without.clone()], &mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.contains(&u64::MAX.to_string()), "{text:.2000}");
        }
    }
}
