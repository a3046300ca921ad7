// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs, written as other tools write theirs: whole µs, as those tools cut them.
//!
//! What a tool's format has no place for (checks, intervals, overruns) is not in there; a run that
//! is not valid says so in the command line, which every reader shows.

use std::io::{self, Write};

use punctual_model::{RunRecord, Series};
use quick_xml::escape::escape;
use serde_json::{Map, Value, json};

use crate::two_decimals;

const US: u64 = 1_000;

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
        self.buckets.iter().map(|(_, count)| count).sum()
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
        .map(|(us, _)| us + 1);
    let rows = rows.max().unwrap_or(1).min(1_000_000);
    let beyond = |c: &MicroCounts| {
        let above = c
            .buckets
            .iter()
            .filter(|(us, _)| *us >= rows)
            .map(|(_, n)| n);
        c.beyond + above.sum::<u64>()
    };
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
        line("Total", 9, &|c, _| c.counted() + c.beyond - beyond(c))
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
    writeln!(out)?;
    out.flush()
}

/// The mean as cyclictest has it: of the cut values, cut again.
fn whole_mean(counts: &MicroCounts, series: &Series) -> u64 {
    let sum: u128 = counts
        .buckets
        .iter()
        .map(|(us, n)| u128::from(*us) * u128::from(*n))
        .sum();
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
            "cycles": c.counted() + c.beyond,
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
        "realtime": u8::from(run.host.preempt_rt == Some(true)),
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
            "count": c.counted() + c.beyond,
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
    }
    two_decimals(
        &json!({ "version": 3, "sysinfo": info, "cpu": threads }),
        out,
    )
}

/// Writes a `summary.xml` with the elements of rteval's that a run has something to say in.
///
/// # Errors
/// What the output says.
pub fn rteval(run: &RunRecord, counts: &[MicroCounts], out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let text = |value: Option<&str>| escape(value.unwrap_or_default()).into_owned();
    let seconds = run.duration_ns.map_or(0, |ns| ns.get() / 1_000_000_000);
    let (date, time) = run
        .started
        .as_deref()
        .and_then(|t| t.split_once('T'))
        .unwrap_or_default();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<rteval version=\"{}\">", text(Some(&run.program)))?;
    writeln!(
        out,
        "  <run_info days=\"{}\" hours=\"{}\" minutes=\"{}\" seconds=\"{}\"><date>{}</date><time>{}</time></run_info>",
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
        text(Some(date)),
        text(time.get(..8))
    )?;
    let host = &run.host;
    writeln!(
        out,
        "  <SystemInfo><uname><node>{}</node><kernel is_RT=\"{}\">{}</kernel><arch>{}</arch></uname></SystemInfo>",
        text(host.hostname.as_deref()),
        u8::from(host.preempt_rt == Some(true)),
        text(host.kernel_release.as_deref()),
        text(host.architecture.as_deref())
    )?;
    writeln!(out, "  <Measurements>")?;
    writeln!(
        out,
        "    <cyclictest command_line=\"{}\">",
        text(Some(&command(run)))
    )?;
    for (number, (c, s)) in counts.iter().zip(&run.series).enumerate() {
        core(&mut out, number, c, s)?;
    }
    writeln!(out, "    </cyclictest>\n  </Measurements>\n</rteval>")?;
    out.flush()
}

fn core(out: &mut impl Write, number: usize, c: &MicroCounts, s: &Series) -> io::Result<()> {
    let (min, max) = extremes(c, s);
    let id = s
        .cpu
        .map_or_else(|| number.to_string(), |cpu| cpu.to_string());
    let priority = s
        .policy
        .as_deref()
        .and_then(|p| p.split(':').nth(1))
        .unwrap_or_default();
    let n = c.counted();
    writeln!(
        out,
        "      <core id=\"{id}\" priority=\"{}\">",
        escape(priority)
    )?;
    writeln!(
        out,
        "        <statistics><samples>{}</samples>",
        n + c.beyond
    )?;
    writeln!(
        out,
        "          <minimum unit=\"us\">{min}</minimum><maximum unit=\"us\">{max}</maximum>"
    )?;
    if let Some(median) = median(c) {
        writeln!(out, "          <median unit=\"us\">{median}</median>")?;
    }
    writeln!(
        out,
        "          <mean unit=\"us\">{:.3}</mean></statistics>",
        exact_mean(c, s)
    )?;
    writeln!(out, "        <histogram nbuckets=\"{}\">", c.buckets.len())?;
    for (us, count) in &c.buckets {
        writeln!(out, "          <bucket index=\"{us}\" value=\"{count}\"/>")?;
    }
    writeln!(out, "        </histogram>\n      </core>")
}

/// The value of the middle sample, counted with those above the buckets.
fn median(c: &MicroCounts) -> Option<u64> {
    let middle = (c.counted() + c.beyond).div_ceil(2);
    let mut below = 0;
    let found = c.buckets.iter().find(|(_, count)| {
        below += count;
        below >= middle
    });
    found.filter(|_| middle > 0).map(|(us, _)| *us)
}
