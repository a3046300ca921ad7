// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Real-time cores next to Linux: `latmus` of EVL (Xenomai 4), and `latency` of Xenomai 2 and 3.
//!
//! Both print a line a second and a summary, in µs with three decimals:
//!
//! ```text
//! RTT|  00:00:01  (user, 1000 us period, priority 90, CPU1)
//! RTH|----lat min|----lat avg|----lat max|-overrun|---msw|---lat best|--lat worst
//! RTD|      1.211|      1.325|      2.476|       0|     0|      1.211|      2.476
//! ---|-----------|-----------|-----------|--------|------|-------------------------
//! RTS|      1.182|      1.316|      3.899|       0|     0|    00:00:08/00:00:08
//! ```
//!
//! `-g` writes a histogram for gnuplot, `latency -h` prints one. Cells count absolute values: of a run with early
//! wake-ups, which the calibration of the timer can cause, the histogram is left out. What the numbers of rows are differs:
//!
//! | file | row | count |
//! |---|---|---|
//! | `latmus -g` | lower end in µs; `+` at the last: longer ones too | as counted, in the first versions one more; newer ones have a column for each measurement |
//! | `latency -g` | middle of the cell in µs; one more row at each end | one more than counted |
//! | `latency -h` | `n - n+1`, in cells of `-B` | as counted |

mod whole;

use std::io::BufRead;

use punctual_model::Nanos;

use crate::error::ImportError;
use crate::format::{Format, begins_one};
use crate::imported::{Imported, cut};
use crate::lines::{Lines, number, plain, second_run};

const US: u64 = 1_000;

/// The most cells of a histogram: latmus takes 1000, and `latency` as many as one asks for.
const MOST_ROWS: usize = 1_000_000;

/// What `latency` calls where it measures.
const LATENCY_MODES: [&str; 3] = [
    "periodic user-mode task",
    "in-kernel periodic task",
    "in-kernel timer handler",
];

/// With what a file of `latmus -g` begins, in newer versions.
const NEWER_PLOT: &str = "# Test started on: ";

/// Tells which of both wrote a line that only its output has.
pub(crate) fn begins(line: &str) -> Option<Format> {
    let made_by_latmus = ["# libevl version: ", "# test started on: ", NEWER_PLOT];
    if made_by_latmus.iter().any(|start| line.starts_with(start)) {
        return Some(Format::Latmus);
    }
    if line.starts_with("== Sampling period: ") {
        return Some(Format::XenomaiLatency);
    }
    let head = line.strip_prefix("RTT|").or_else(|| {
        // The head of a file of `latency -g`.
        let rest = line.strip_prefix("# ")?;
        clock(rest.split_ascii_whitespace().next()?).map(|_| rest)
    })?;
    let of = Head::of(head)?;
    let latency = LATENCY_MODES.contains(&of.context.as_str());
    match (latency, line.starts_with('#')) {
        (true, _) => Some(Format::XenomaiLatency),
        (false, false) => Some(Format::Latmus),
        (false, true) => None,
    }
}

/// `00:00:01  (user, 1000 us period, priority 90, CPU1)`.
#[derive(Debug, Default)]
struct Head {
    /// How long it had gone on.
    time: Nanos,
    context: String,
    period: Option<Nanos>,
    priority: Option<u8>,
    cpu: Option<u32>,
    isolated: bool,
}

impl Head {
    fn of(text: &str) -> Option<Self> {
        let (time, rest) = text.trim().split_once(char::is_whitespace)?;
        let time = clock(time)?;
        let inside = rest.trim().strip_prefix('(')?.strip_suffix(')')?;
        let mut parts = inside.split(',').map(str::trim);
        let mut head = Self {
            time,
            context: cut(parts.next()?.to_owned()),
            isolated: true,
            ..Self::default()
        };
        for part in parts {
            if let Some(us) = part.strip_suffix(" us period") {
                let us: u64 = us.parse().ok()?;
                head.period = us.checked_mul(US).map(Nanos::new);
            } else if let Some(priority) = part.strip_prefix("priority ") {
                head.priority = priority.parse().ok();
            } else if let Some(cpu) = part.strip_prefix("CPU") {
                (head.cpu, head.isolated) = affinity(cpu);
            }
        }
        head.period.filter(|period| !period.is_zero())?;
        Some(head)
    }
}

/// The CPU, and whether it was isolated: `1`, `1-noisol`.
fn affinity(text: &str) -> (Option<u32>, bool) {
    let number = text.strip_suffix("-noisol");
    (number.unwrap_or(text).parse().ok(), number.is_none())
}

/// Reads `hh:mm:ss`.
fn clock(text: &str) -> Option<Nanos> {
    let parts: Vec<&str> = text.split(':').collect();
    let [h, m, s] = parts.as_slice() else {
        return None;
    };
    let digits = |part: &&str| part.len() >= 2 && part.bytes().all(|b| b.is_ascii_digit());
    if !parts.iter().all(digits) {
        return None;
    }
    let (h, m, s): (u64, u64, u64) = (h.parse().ok()?, m.parse().ok()?, s.parse().ok()?);
    let seconds = h
        .checked_mul(3_600)?
        .checked_add(m.checked_mul(60)?)?
        .checked_add(s)?;
    seconds
        .checked_mul(1_000_000_000)
        .filter(|ns| *ns < 1 << 62)
        .map(Nanos::new)
}

/// Reads µs with three decimals as ns: early ones are negative.
fn micros(line: u64, what: &str, text: &str) -> Result<i64, ImportError> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let number = digits.split_once('.').and_then(|(whole, part)| {
        let good = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
        let fits = part.len() == 3 && good(whole) && good(part);
        let whole: i64 = whole.parse().ok().filter(|us| *us < 1 << 50 && fits)?;
        Some(whole * 1_000 + part.parse::<i64>().ok()?)
    });
    number.map(|ns| sign * ns).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::at_line(
            line,
            format!("{what}: `{shown}` is not µs with three decimals"),
        )
    })
}

/// The columns of a line behind its mark.
fn columns(line: &str) -> Vec<&str> {
    line.split('|').skip(1).map(str::trim).collect()
}

/// Takes a figure of a plot, which a summary above it may state, too.
fn stated(at: u64, key: &str, value: &str, into: &mut Option<i64>) -> Result<(), ImportError> {
    let value = micros(at, key, value)?;
    if into.replace(value).is_some_and(|before| before != value) {
        let reason = format!("the {key} contradicts the one above");
        return Err(ImportError::at_line(at, reason));
    }
    Ok(())
}

fn several(at: u64) -> ImportError {
    ImportError::at_line(at, "latmus measured several things at once").hinted(
        "only a file of one measurement is supported: its rows have two columns, and its figures one name",
    )
}

/// What all lines said.
#[derive(Debug, Default)]
struct Found {
    head: Option<Head>,
    /// The least and the largest of the rows that came each second, since the start.
    best_and_worst: Option<(i64, i64)>,
    min: Option<i64>,
    avg: Option<i64>,
    max: Option<i64>,
    duration: Option<Nanos>,
    overruns: Option<u64>,
    switches: Option<u64>,
    /// Number of samples, where it is stated.
    count: Option<u64>,
    /// Rows of a histogram: latmus's cells in µs, `latency`'s of -h in cells.
    rows: Vec<(u64, u64)>,
    /// Rows of `latency -g`, in ns.
    plot: Vec<(u64, u64)>,
    /// Whether the last row has longer ones too.
    open: bool,
    /// Which measurement the figures of a plot are of, where it says so: newer versions of latmus can have several.
    measured: Option<String>,
    /// Whether the summary was read.
    over: bool,
    /// Whether a plot follows the summary, as newer versions of latmus print both.
    plot_follows: bool,
    /// The kernel's own line of a plot comes next.
    cmdline_next: bool,
    version_seen: bool,
}

pub(crate) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    format: Format,
) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(
        format,
        if format == Format::Latmus {
            "latmus"
        } else {
            "latency"
        },
    );
    let mut found = Found::default();
    while let Some(line) = lines.next()? {
        let line = plain(line).0;
        let line = line.trim();
        let at = lines.number();
        let is_latmus = format == Format::Latmus;
        if is_latmus && found.over && found.rows.is_empty() && line.starts_with(NEWER_PLOT) {
            (found.over, found.plot_follows) = (false, true);
        }
        let rows_end = !found.rows.is_empty() && format == Format::Latmus || !found.plot.is_empty();
        if found.over || rows_end && !line.starts_with(|c: char| c.is_ascii_digit()) {
            if line.starts_with("RTS|") && !found.over {
                found.summary(at, line)?;
            } else if line.starts_with("RTD|") || line.starts_with("HSD|") || begins_one(line) {
                return Err(second_run(at));
            }
            // A separator, a warning, a prompt.
            continue;
        }
        match (format, line.get(..4).unwrap_or_default()) {
            (_, "RTT|") => found.heading(at, line.get(4..).unwrap_or_default())?,
            (_, "RTS|") => found.summary(at, line)?,
            (Format::XenomaiLatency, "HSD|") => found.cell(at, line)?,
            (Format::XenomaiLatency, "HSS|") => found.statistics(at, line)?,
            (_, "RTD|") => found.second(at, line)?,
            (_, "RTH|" | "HSH|" | "---|") => {}
            (Format::XenomaiLatency, _) if line.starts_with('#') => found.plot_head(at, line)?,
            (Format::Latmus, _) if line.starts_with("# ") => {
                found.comment(at, &line[2..], &mut imported)?;
            }
            _ if line.starts_with(|c: char| c.is_ascii_digit()) && found.has_plot_head() => {
                found.row(at, line, format)?;
            }
            _ if begins(line).is_none_or(|of| of != format) && begins_one(line) => {
                return Err(second_run(at));
            }
            // What a terminal shows before, and what is said of warming up.
            _ => {}
        }
    }
    found.finish(lines, &mut imported)?;
    Ok(imported)
}

impl Found {
    fn heading(&mut self, at: u64, text: &str) -> Result<(), ImportError> {
        let head = Head::of(text)
            .ok_or_else(|| ImportError::at_line(at, "no time, context and period follow RTT"))?;
        // It is repeated above every few rows, with a later time.
        if let Some(before) = &self.head
            && ((before.period, &before.context) != (head.period, &head.context)
                || (self.best_and_worst.is_some() && head.time <= before.time))
        {
            return Err(second_run(at));
        }
        self.head = Some(head);
        Ok(())
    }

    /// `RTD|      0.480|      1.010|     12.120|       0|     0|      0.480|     12.120`: a second, and in its last columns all up to
    /// then. Of a run that was killed the last one may be cut off.
    fn second(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let columns = columns(line);
        let [_, _, _, _, .., best, worst] = columns.as_slice() else {
            return Ok(());
        };
        let (Ok(best), Ok(worst)) = (micros(at, "best", best), micros(at, "worst", worst)) else {
            return Ok(());
        };
        let before = self.best_and_worst.replace((best, worst));
        match before {
            Some((least, largest)) if best > least || worst < largest => Err(second_run(at)),
            _ => Ok(()),
        }
    }

    /// `RTS|      1.182|      1.316|      3.899|       0|     0|    00:00:08/00:00:08`, with which a run ends.
    fn summary(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let columns = columns(line);
        let [min, avg, max, overruns, switches, time] = columns.as_slice() else {
            return Err(ImportError::at_line(
                at,
                "RTS has not the columns of a summary",
            ));
        };
        if self.plot_follows {
            return Err(second_run(at));
        }
        let lasted = time.split('/').next().and_then(clock);
        let lasted = lasted.ok_or_else(|| ImportError::at_line(at, "the time of RTS is none"))?;
        let (min, avg, max) = (
            micros(at, "the minimum", min)?,
            micros(at, "the average", avg)?,
            micros(at, "the maximum", max)?,
        );
        if self.min.is_some_and(|of| of != min) || self.max.is_some_and(|of| of != max) {
            return Err(ImportError::at_line(
                at,
                "RTS contradicts the histogram's head",
            ));
        }
        if let Some((best, worst)) = self.best_and_worst
            && (best < min || worst > max)
        {
            let reason =
                "RTS contradicts the rows above it, one of which is beyond its minimum or maximum";
            return Err(ImportError::at_line(at, reason));
        }
        (self.min, self.avg, self.max) = (Some(min), Some(avg), Some(max));
        self.overruns = Some(number(at, "overruns", overruns)?);
        self.switches = Some(number(at, "mode switches", switches)?);
        self.duration = Some(lasted);
        self.over = true;
        Ok(())
    }

    /// `HSD|    avg|   1 -  2 |    12345`. Only the histogram of "avg" has each sample; those of "min" and "max" have one a second.
    fn cell(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let columns = columns(line);
        let [kind, range, count] = columns.as_slice() else {
            return Err(ImportError::at_line(
                at,
                "HSD has not the columns of a cell",
            ));
        };
        let (from, to) = range
            .split_once('-')
            .ok_or_else(|| ImportError::at_line(at, "the range of a cell is none"))?;
        let from = number(at, "a cell", from.trim())?;
        let to = number(at, "a cell", to.trim())?;
        let count = number(at, "a count", count)?;
        if from.checked_add(1) != Some(to) {
            return Err(ImportError::at_line(at, "a cell is not one wide"));
        }
        match *kind {
            "avg" => self.push(at, from, count),
            "min" | "max" => Ok(()),
            _ => Err(ImportError::at_line(
                at,
                "the histogram is of nothing known",
            )),
        }
    }

    /// `HSS|    avg|    599943|      2.200|      1.460`: of all samples, how many.
    fn statistics(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let columns = columns(line);
        let ["avg", count, ..] = columns.as_slice() else {
            return Ok(());
        };
        let count = number(at, "the number of samples", count)?;
        self.count = Some(count);
        Ok(())
    }

    /// What `latency -g` has above its rows.
    fn plot_head(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let rest = line.trim_start_matches('#').trim();
        let time = rest.split_ascii_whitespace().next().and_then(clock);
        if let Some(lasted) = time {
            if self.plot_seen() {
                return Err(second_run(at));
            }
            self.heading(at, rest)?;
            self.duration = Some(lasted);
        } else if self.head.is_some() && self.min.is_none() && rest.matches('|').count() == 5 {
            let columns: Vec<&str> = rest.split('|').map(str::trim).collect();
            if let [min, avg, max, overruns, switches, ""] = columns.as_slice()
                && !min.starts_with("--")
            {
                self.min = Some(micros(at, "the minimum", min)?);
                self.avg = Some(micros(at, "the average", avg)?);
                self.max = Some(micros(at, "the maximum", max)?);
                self.overruns = Some(number(at, "overruns", overruns)?);
                self.switches = Some(number(at, "mode switches", switches)?);
            }
        }
        Ok(())
    }

    fn plot_seen(&self) -> bool {
        self.min.is_some() || !self.plot.is_empty()
    }

    fn has_plot_head(&self) -> bool {
        self.head.is_some() && self.max.is_some()
    }

    /// A comment of `latmus -g`.
    fn comment(&mut self, at: u64, text: &str, to: &mut Imported) -> Result<(), ImportError> {
        if std::mem::take(&mut self.cmdline_next) && !text.starts_with("libevl version: ") {
            to.host.cmdline = Some(cut(text.to_owned()));
            return Ok(());
        }
        if let Some(rest) = text.strip_prefix("Linux version ") {
            to.host.kernel_release = rest
                .split_ascii_whitespace()
                .next()
                .map(|r| cut(r.to_owned()));
            to.host.kernel_version = rest.find('#').map(|from| cut(rest[from..].to_owned()));
            self.cmdline_next = true;
            return Ok(());
        }
        let Some((key, value)) = text.split_once(": ") else {
            if text == "C-state restricted" {
                to.state(text);
            } else if text.starts_with("DEGRADED MODE DETECTED") {
                to.state("latmus detected a degraded mode: its figures may be irrelevant");
            }
            return Ok(());
        };
        let key = self.figure(at, key)?;
        let head = self.head.get_or_insert_with(|| Head {
            isolated: true,
            ..Head::default()
        });
        match key {
            "test started on" | "Test started on" => {
                to.state(format!("started {value}, in an unnamed time zone"))
            }
            "libevl version" => {
                if std::mem::replace(&mut self.version_seen, true) {
                    return Err(second_run(at));
                }
                to.version = Some(cut(value.to_owned()));
            }
            "sampling period" => {
                let us = value.strip_suffix(" microseconds").unwrap_or_default();
                let us = number(at, "the sampling period", us)?;
                let ns = us.checked_mul(US).filter(|ns| (1..1 << 50).contains(ns));
                let ns =
                    ns.ok_or_else(|| ImportError::at_line(at, "that is no sampling period"))?;
                head.period = Some(Nanos::new(ns));
            }
            "context" => head.context = cut(value.to_owned()),
            "thread priority" => head.priority = value.parse().ok(),
            "thread affinity" => {
                (head.cpu, head.isolated) = affinity(value.strip_prefix("CPU").unwrap_or(value));
            }
            "duration (hhmmss)" => self.duration = clock(value),
            "min latency" => stated(at, key, value, &mut self.min)?,
            "avg latency" => stated(at, key, value, &mut self.avg)?,
            "max latency" => stated(at, key, value, &mut self.max)?,
            "sample count" => self.count = Some(number(at, key, value)?),
            "OVERRUNS" => self.overruns = Some(number(at, key, value)?),
            "IN-BAND SWITCHES" => self.switches = Some(number(at, key, value)?),
            "clock gravity" | "clocksource" | "vDSO access" | "peak (hhmmss)" => {
                to.state(format!("{key} {value}"));
            }
            _ => {}
        }
        Ok(())
    }

    /// The name of a figure without that of the measurement it is of: `min latency` of `response min latency`.
    fn figure<'a>(&mut self, at: u64, key: &'a str) -> Result<&'a str, ImportError> {
        let names = [
            "OVERRUNS",
            "peak (hhmmss)",
            "min latency",
            "avg latency",
            "max latency",
            "sample count",
        ];
        let found = names.iter().find_map(|name| {
            let of = key.strip_suffix(name)?.strip_suffix(' ')?;
            Some((of, key.get(of.len() + 1..)?))
        });
        let Some((of, name)) = found else {
            return Ok(key);
        };
        match &self.measured {
            Some(other) if other != of => Err(several(at)),
            _ => {
                self.measured = Some(cut(of.to_owned()));
                Ok(name)
            }
        }
    }

    fn row(&mut self, at: u64, line: &str, format: Format) -> Result<(), ImportError> {
        let mut words = line.split_ascii_whitespace();
        let (Some(value), Some(count), None) = (words.next(), words.next(), words.next()) else {
            // A measurement without samples has a column, too.
            if self.measured.is_some() {
                return Err(several(at));
            }
            return Err(ImportError::at_line(at, "this is not a row of a histogram"));
        };
        if format == Format::XenomaiLatency {
            let us: f64 = value.parse().unwrap_or(f64::NAN);
            if !(0.0..1e12).contains(&us) {
                return Err(ImportError::at_line(at, "this is not a row of a histogram"));
            }
            let count = number(at, "a count", count)?;
            if self.plot.len() >= MOST_ROWS {
                return Err(ImportError::at_line(at, "more rows than a histogram has"));
            }
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "the range was looked at"
            )]
            self.plot.push(((us * 1e3).round() as u64, count));
            return Ok(());
        }
        if self.open {
            return Err(ImportError::at_line(at, "a row comes after the last"));
        }
        // Behind the cell or behind the count, depending on the version.
        let (cell, count) = match (value.strip_suffix('+'), count.strip_suffix('+')) {
            (None, None) => (value, count),
            (cell, hits) => {
                self.open = true;
                (cell.unwrap_or(value), hits.unwrap_or(count))
            }
        };
        let (cell, count) = (number(at, "a cell", cell)?, number(at, "a count", count)?);
        self.push(at, cell, count)
    }

    fn push(&mut self, at: u64, cell: u64, count: u64) -> Result<(), ImportError> {
        if self.rows.last().is_some_and(|(last, _)| *last >= cell) {
            return Err(ImportError::at_line(at, "the rows do not ascend"));
        }
        if self.rows.len() >= MOST_ROWS || cell > 1 << 40 {
            return Err(ImportError::at_line(at, "more rows than a histogram has"));
        }
        self.rows.push((cell, count));
        Ok(())
    }
}
