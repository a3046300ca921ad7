// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The `T:` lines, live or at the end, and a histogram if one follows.

use std::io::BufRead;

use punctual_model::{Ended, Nanos};

use super::{Announced, DMA_LINE, Preamble, hist, interval_line, is_remark};
use crate::Unit;
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::{Imported, Spike, cut};
use crate::lines::{Lines, nanos, number, plain, second_run};
use crate::series::{MOST_BUCKETS, MOST_THREADS, SourceSeries};

/// One `T:` line.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) line: u64,
    pub(super) thread: u32,
    pub(super) tid: u64,
    pub(super) priority: u64,
    pub(super) interval: u64,
    pub(super) cycles: u64,
    pub(super) min: u64,
    pub(super) avg: u64,
    pub(super) max: u64,
    pub(super) unit: Option<Unit>,
}

/// What was said before the figures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    class: Option<char>,
    /// Whether the line was there that comes once, at the start.
    pub(crate) begun: bool,
    pub(crate) intervals: Announced,
}

impl Said {
    /// Returns the policy of a thread as a record has it.
    fn policy(&self, row: &Row) -> Option<String> {
        self.class.map(|class| format!("{class}:{}", row.priority))
    }

    /// Gives the threads of a histogram what the lines before it say of them.
    fn tell(&self, at: u64, frame: &[Row], imported: &mut Imported) -> Result<(), ImportError> {
        if frame.is_empty() {
            return Ok(());
        }
        // With a histogram all threads have one interval.
        let apart = frame.array_windows().any(|[a, b]| a.interval != b.interval);
        if apart || frame.len() != imported.series.len() {
            return Err(second_run(at));
        }
        let unit_ns = imported.resolution_ns.unwrap_or(1);
        for (row, series) in frame.iter().zip(&mut imported.series) {
            let max = nanos(row.line, row.max, unit_ns)?;
            if row.cycles > series.count || series.max_ns.is_some_and(|most| max > most) {
                return Err(second_run(at));
            }
            series.policy = self.policy(row);
            series.interval = row.interval.checked_mul(1_000).map(Nanos::new);
        }
        Ok(())
    }
}

impl Row {
    /// Whether this can be a later line of the same thread of the same run.
    fn follows(&self, earlier: &Self) -> bool {
        // The first lines may be printed before a thread has a number.
        let same = earlier.tid == 0 || self.tid == earlier.tid;
        let asked = (self.priority, self.interval) == (earlier.priority, earlier.interval);
        let grew = self.cycles >= earlier.cycles && self.max >= earlier.max;
        same && asked && grew
    }
}

pub(crate) fn read<R: BufRead>(
    lines: &mut Lines<R>,
    unit: Option<Unit>,
) -> Result<Imported, ImportError> {
    let mut preamble = Preamble::default();
    let mut said = Said::default();
    let mut frame: Vec<Row> = Vec::new();
    let mut before: Vec<Row> = Vec::new();
    let mut threads = 0;
    let mut stated = Vec::new();
    let mut ended = None;
    let mut spikes = List::default();
    while let Some(line) = lines.next()? {
        // Live output goes up again for each frame.
        let (line, _) = plain(line);
        let line = line.trim_end();
        if preamble.is_command(line) {
            continue;
        }
        if line == "# Histogram" {
            preamble.ends()?;
            spikes.ended(lines)?;
            // What ended a run is said behind its histogram.
            if ended.is_some() {
                return Err(second_run(lines.number()));
            }
            let begins = lines.number();
            let unit = unit_shown(&frame, unit.or_else(|| preamble.unit()))?;
            let mut imported = hist::read(lines, unit, &said)?;
            said.tell(begins, &frame, &mut imported)?;
            imported.stated.extend(stated);
            spikes.into(&mut imported)?;
            preamble.tell(&mut imported);
            return Ok(imported);
        }
        if let Some(value) = line.strip_prefix("# Break value: ") {
            if ended.replace(Ended::Threshold).is_some() {
                return Err(second_run(lines.number()));
            }
            stated.push(cut(format!("break value {}", value.trim())));
        } else if let Some(policy) = line.strip_prefix("policy: ") {
            preamble.ends()?;
            said.class = class(policy);
        } else if let Some(interval) = interval_line(line) {
            said.intervals.push(interval);
        } else if line.starts_with("T:") && line.contains(" Spike:") {
            spikes.push(lines.number(), line)?;
        } else if let Some(count) = line.strip_prefix("spikes = ") {
            spikes.count = Some(number(lines.number(), "the number of spikes", count)?);
        } else if line.starts_with("T:") {
            preamble.ends()?;
            let row = row(lines.number(), line)?;
            let next = frame.len();
            if row.thread == 0 {
                if next < threads {
                    return Err(lines.error("thread 0 appears before the last thread's line"));
                }
                before = std::mem::take(&mut frame);
            } else if usize::try_from(row.thread).ok() != Some(next) {
                return Err(lines.error(format!(
                    "thread {} appears where {next} is expected",
                    row.thread
                )));
            }
            if before
                .get(frame.len())
                .is_some_and(|earlier| !row.follows(earlier))
            {
                return Err(second_run(row.line));
            }
            frame.push(row);
            threads = threads.max(frame.len());
            if threads > MOST_THREADS {
                return Err(lines.error(format!("more than {MOST_THREADS} threads")));
            }
        } else if line.starts_with(DMA_LINE) {
            preamble.ends()?;
            if std::mem::replace(&mut said.begun, true) {
                return Err(second_run(lines.number()));
            }
        } else if !is_remark(line) {
            preamble.odd(lines.number())?;
        }
    }
    preamble.ends()?;
    if frame.len() < threads || frame.is_empty() {
        return Err(lines.ended("the lines of all threads"));
    }
    spikes.ended(lines)?;
    let unit = unit.or_else(|| preamble.unit());
    let mut imported = summary(&frame, unit, &said, stated, ended)?;
    preamble.tell(&mut imported);
    if said.class.is_none() && imported.series.iter().any(|s| s.policy.is_none()) {
        let all: Vec<_> = frame.iter().map(|row| row.priority.to_string()).collect();
        imported.state(format!("priority {} (no policy)", all.join(" ")));
    }
    spikes.into(&mut imported)?;
    Ok(imported)
}

/// The list of `--spike`: `T: 0 Spike:      26: TS:   2220165803`, and how many there were, also of
/// those that did not fit the list.
#[derive(Debug, Default)]
struct List {
    /// Line, thread, value, time in µs.
    rows: Vec<(u64, u32, u64, u64)>,
    count: Option<u64>,
}

impl List {
    /// Fails where the list is not whole.
    fn ended<R: BufRead>(&self, lines: &Lines<R>) -> Result<(), ImportError> {
        if self.count.is_none() && !self.rows.is_empty() {
            return Err(lines.ended("`spikes = ` and their number"));
        }
        Ok(())
    }

    fn push(&mut self, at: u64, text: &str) -> Result<(), ImportError> {
        let wrong = || ImportError::at_line(at, "this is not a spike");
        let (thread, rest) = text
            .strip_prefix("T:")
            .and_then(|rest| rest.split_once(" Spike:"))
            .ok_or_else(wrong)?;
        let (value, time) = rest.split_once(": TS:").ok_or_else(wrong)?;
        let thread = number(at, "T", thread.trim())?;
        let row = (
            at,
            u32::try_from(thread).map_err(|_| wrong())?,
            number(at, "Spike", value.trim())?,
            number(at, "TS", time.trim())?,
        );
        if self.rows.len() == MOST_BUCKETS {
            return Err(ImportError::at_line(at, "more spikes than can be kept"));
        }
        self.rows.push(row);
        Ok(())
    }

    fn into(self, imported: &mut Imported) -> Result<(), ImportError> {
        let Some(count) = self.count else {
            return Ok(());
        };
        let unit_ns = imported.resolution_ns.unwrap_or(1);
        for (at, thread, value, us) in &self.rows {
            let latency_ns = nanos(*at, *value, unit_ns)?;
            let most = imported.series.get(*thread as usize).and_then(|s| s.max_ns);
            if most.is_none_or(|most| latency_ns > most) {
                let reason = format!("the spike is above the maximum of thread {thread}");
                return Err(ImportError::at_line(*at, reason));
            }
            imported.spikes.push(Spike {
                thread: *thread,
                t_ns: nanos(*at, *us, 1_000)?,
                latency_ns,
            });
        }
        let samples: u64 = imported
            .series
            .iter()
            .map(|s| s.count)
            .fold(0, u64::saturating_add);
        if count < self.rows.len() as u64 || count > samples {
            let reason = format!(
                "{count} spikes, and {} are listed of {samples} samples",
                self.rows.len()
            );
            return Err(ImportError::file(reason));
        }
        imported.state(format!(
            "{count} spikes, of which {} are listed with their times",
            self.rows.len()
        ));
        Ok(())
    }
}

/// The unit that lines show by their columns, else the one that was asked for.
///
/// # Errors
/// Lines that show two, or another one than was asked for.
pub(super) fn unit_shown(frame: &[Row], asked: Option<Unit>) -> Result<Option<Unit>, ImportError> {
    // All lines have the same unit: one that can be told tells it for all.
    let mut shown = frame.iter().filter_map(|row| Some((row.line, row.unit?)));
    let Some((line, known)) = shown.next() else {
        return Ok(asked);
    };
    if let Some((line, _)) = shown.find(|(_, unit)| *unit != known) {
        return Err(ImportError::at_line(line, "the lines have different units"));
    }
    if let Some(asked) = asked.filter(|asked| *asked != known) {
        let (wide, said) = (known.symbol(), asked.symbol());
        let reason = format!(
            "its columns are as wide as cyclictest prints {wide}, and --unit or the command line says {said}"
        );
        return Err(ImportError::at_line(line, reason)
            .hinted("import the file as cyclictest wrote it, or correct --unit"));
    }
    Ok(Some(known))
}

fn summary(
    frame: &[Row],
    unit: Option<Unit>,
    said: &Said,
    stated: Vec<String>,
    ended: Option<Ended>,
) -> Result<Imported, ImportError> {
    let line = frame.first().map_or(0, |row| row.line);
    let unit = unit_shown(frame, unit)?;
    let unit = unit.ok_or_else(|| {
        ImportError::at_line(line, "it does not show whether its values are µs or ns")
            .hinted("add --unit us or --unit ns")
    })?;
    let mut imported = Imported::new(Format::CyclictestText, "cyclictest");
    for row in frame {
        let ns = |value| nanos(row.line, value, unit.ns());
        let some = row.cycles > 0;
        let (min, avg, max) = (ns(row.min)?, ns(row.avg)?, ns(row.max)?);
        if some && !(row.min <= row.avg && row.avg <= row.max) {
            return Err(ImportError::at_line(
                row.line,
                "its mean is outside of its extremes",
            ));
        }
        imported.series.push(SourceSeries {
            thread: row.thread,
            policy: said.policy(row),
            interval: Some(Nanos::new(nanos(row.line, row.interval, 1_000)?)),
            count: row.cycles,
            min_ns: some.then_some(min),
            max_ns: some.then_some(max + unit.ns() - 1),
            mean_ns: some.then_some(punctual_stats::float(avg)),
            ..SourceSeries::default()
        });
    }
    imported.resolution_ns = Some(unit.ns());
    // Cut twice: each value, and their mean.
    imported.mean_error_ns = Some(2.0 * punctual_stats::float(unit.ns()));
    imported.stated = stated;
    imported.ended = ended;
    Ok(imported)
}

/// Takes `fifo` from `policy: fifo: loadavg: ...`.
fn class(policy: &str) -> Option<char> {
    match policy.split(':').next()? {
        "fifo" => Some('f'),
        "rr" => Some('r'),
        _ => None,
    }
}

pub(super) fn row(at: u64, text: &str) -> Result<Row, ImportError> {
    let mut rest = text;
    let mut field = |name: &str, next: &str| -> Result<String, ImportError> {
        let missing = || ImportError::at_line(at, format!("`{name}` is missing"));
        let (_, after) = rest.split_once(name).ok_or_else(missing)?;
        let end = match next {
            "" => after.len(),
            next => after
                .find(next)
                .ok_or_else(|| ImportError::at_line(at, format!("`{next}` is missing")))?,
        };
        let value = after.get(..end).unwrap_or_default().to_owned();
        rest = after.get(end..).unwrap_or_default();
        Ok(value)
    };
    let thread = field("T:", "(")?;
    let tid = field("(", ")")?;
    let priority = field("P:", " I:")?;
    let interval = field("I:", " C:")?;
    let cycles = field("C:", " Min:")?;
    let min = field("Min:", " Act:")?;
    let act = field("Act:", " Avg:")?;
    let avg = field("Avg:", " Max:")?;
    let max = field("Max:", "")?;
    let max = max.split_once(" SMI:").map_or(max.as_str(), |(max, _)| max);
    // Up to 0.11 every field has 8 columns, of µs too: the interval as well, which has none later.
    let is_old = interval.len() == 8 && interval.starts_with(' ');
    let untouched = !is_old && padded(&cycles, &min, max);
    let value = |what, text: &str| number(at, what, text.trim());
    value("Act", &act)?;
    let thread = value("T", &thread)?;
    Ok(Row {
        line: at,
        thread: u32::try_from(thread)
            .map_err(|_| ImportError::at_line(at, format!("thread {thread} is one too many")))?,
        tid: value("the number of the thread", &tid)?,
        priority: value("P", &priority)?,
        interval: value("I", &interval)?,
        cycles: value("C", &cycles)?,
        min: value("Min", &min)?,
        avg: value("Avg", &avg)?,
        max: value("Max", max)?,
        unit: match is_old {
            // There is no other yet.
            true => Some(Unit::Microseconds),
            false => unit_of(&act)
                .or_else(|| unit_of(&avg))
                .filter(|_| untouched),
        },
    })
}

/// Whether the blanks of a line are those that cyclictest printed: `C:%7lu Min:%7ld Max:%8ld`. Where somebody made one of several,
/// no width tells anything.
fn padded(cycles: &str, min: &str, max: &str) -> bool {
    let columns = [(cycles, 7), (min, 7), (max, 8)];
    let whole = columns.iter().all(|(field, width)| field.len() >= *width);
    whole || columns.iter().any(|(field, _)| field.starts_with("  "))
}

/// Tells the unit from the width of `Act` or `Avg`: `%5ld` of µs, `%8ld` of ns.
fn unit_of(field: &str) -> Option<Unit> {
    match (field.len(), field.starts_with(' ')) {
        (5..=7, false) | (5, true) => Some(Unit::Microseconds),
        (8, true) => Some(Unit::Nanoseconds),
        _ => None,
    }
}
