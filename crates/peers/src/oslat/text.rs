// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What oslat prints: a line a bucket with a column a thread, then the figures.
//!
//! ```text
//!         Core:  0 1
//! Counter Freq:  2445 2445 (Mhz)
//!     001 (us):  32313108 31243327
//!     032 (us):  363 369 (including overflows)
//!      Minimum:  1 1 (us)
//!      Average:  1.002 1.002 (us)
//!      Maximum:  31968 7728 (us)
//!      Max-Min:  31967 7727 (us)
//!     Duration:  0.983 0.987 (sec)
//! ```

use std::io::BufRead;
use std::str::FromStr;

use super::{ONE_WIDE, Thread, tell};
use crate::asked;
use crate::error::ImportError;
use crate::format::{Format, begins_one};
use crate::imported::{Imported, cut};
use crate::lines::{Lines, number, numbers, plain, second_run};
use crate::series::{MOST_BUCKETS, MOST_THREADS};

/// The first of the lines below the buckets, and the last.
const FIGURES: [&str; 5] = ["Minimum", "Average", "Maximum", "Max-Min", "Duration"];

/// Whether a line is the first of the results.
pub(crate) fn begins(line: &str) -> bool {
    let cpus = line.trim_start().strip_prefix("Core:\t");
    cpus.is_some_and(|cpus| !cpus.trim().is_empty() && columns::<u32>(cpus).is_some())
}

/// Reads a value a thread.
fn columns<T: FromStr>(text: &str) -> Option<Vec<T>> {
    let all = text.split_ascii_whitespace().take(MOST_THREADS + 1);
    all.map(|word| word.parse().ok()).collect()
}

pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(Format::OslatText, "oslat");
    let mut threads: Vec<Thread> = Vec::new();
    let (mut last, mut kept, mut stated) = (None, 0, 0);
    let mut above = Above::default();
    while let Some(line) = lines.next()? {
        let line = plain(line).0;
        let line = line.trim_end().to_owned();
        let at = lines.number();
        if begins(&line) {
            if !threads.is_empty() {
                return Err(second_run(at));
            }
            let cpus = line.trim_start().strip_prefix("Core:").unwrap_or_default();
            let cpus = columns::<u32>(cpus).unwrap_or_default();
            if cpus.len() > MOST_THREADS {
                return Err(lines.error(format!("more than {MOST_THREADS} threads")));
            }
            threads = cpus.into_iter().map(on).collect();
            continue;
        }
        if threads.is_empty() {
            above.take(&line);
            continue;
        }
        if stated == FIGURES.len() {
            // A prompt, or whatever a terminal had after it.
            if begins_one(line.trim()) {
                return Err(second_run(at));
            }
            continue;
        }
        let line = line.trim_start();
        if line.is_empty() || line == "..." || line.contains(" Freq:") {
            continue;
        }
        let (name, values) = line
            .split_once(':')
            .ok_or_else(|| lines.error("this is not a line of oslat output"))?;
        let values = without_unit(values);
        if let Some(bucket) = name.strip_suffix(" (us)") {
            let bucket = whole(at, bucket)?;
            if stated > 0 {
                return Err(lines.error("a bucket comes after the figures"));
            }
            if last.is_some_and(|last| bucket <= last) {
                return Err(lines.error("the buckets do not ascend"));
            }
            last = Some(bucket);
            let counts = expect(at, numbers(at, "a count", values)?, threads.len())?;
            for (thread, count) in threads.iter_mut().zip(counts) {
                if count > 0 {
                    thread.buckets.push((bucket, count));
                    kept += 1;
                }
            }
            if kept > MOST_BUCKETS {
                return Err(lines.error(format!("more than {MOST_BUCKETS} buckets")));
            }
            continue;
        }
        if FIGURES.get(stated) != Some(&name) {
            return Err(lines.error("this is not a line of oslat output"));
        }
        stated += 1;
        match name {
            "Minimum" | "Maximum" => {
                let values = expect(at, numbers(at, name, values)?, threads.len())?;
                for (thread, value) in threads.iter_mut().zip(values) {
                    match name {
                        "Minimum" => thread.min = value,
                        _ => thread.max = value,
                    }
                }
            }
            _ => {
                let values = columns::<f64>(values)
                    .filter(|values| values.iter().all(|value| value.is_finite()))
                    .ok_or_else(|| {
                        lines.error(format!("{name}: expected one number per thread"))
                    })?;
                let values = expect(at, values, threads.len())?;
                for (thread, value) in threads.iter_mut().zip(values) {
                    match name {
                        "Average" => thread.average = Some(value),
                        "Duration" => thread.seconds = Some(value),
                        _ => {}
                    }
                }
            }
        }
    }
    if stated < FIGURES.len() {
        return Err(lines.ended("`Duration:`"));
    }
    tell(&mut imported, &threads, above.bias.is_some())?;
    imported.version = above.version;
    imported.command_line = above.command;
    imported.ask_oslat();
    if let Some(priority) = above.priority {
        imported.ask_oslat_priority(&priority);
    }
    if let Some(bias) = above.bias {
        imported.state(bias);
    }
    Ok(imported)
}

fn on(cpu: u32) -> Thread {
    Thread {
        cpu: Some(cpu),
        ..Thread::default()
    }
}

/// What is said above the results.
#[derive(Debug, Default)]
struct Above {
    version: Option<String>,
    command: Option<String>,
    priority: Option<String>,
    bias: Option<String>,
}

impl Above {
    fn take(&mut self, line: &str) {
        let kept = |text: &str| Some(cut(text.trim().to_owned()));
        if let Some(version) = line.strip_prefix("oslat V ") {
            self.version = kept(version);
        } else if let Some(priority) = line.strip_prefix("Thread priority:") {
            self.priority = kept(priority);
        } else if line.starts_with("Global bias set to ") {
            self.bias = kept(line);
        } else if let Some(command) = asked::shown(line, "oslat") {
            self.command = kept(&command);
        }
    }
}

/// Cuts what follows the values: `(us)`, `(sec)`, `(including overflows)`.
fn without_unit(values: &str) -> &str {
    values.split_once('(').map_or(values, |(values, _)| values)
}

/// Reads the number of a bucket. With `--bucket-width` it has decimals.
fn whole(at: u64, text: &str) -> Result<u64, ImportError> {
    number(at, "the number of the bucket", text.trim()).map_err(|err| err.hinted(ONE_WIDE))
}

fn expect<T>(at: u64, values: Vec<T>, threads: usize) -> Result<Vec<T>, ImportError> {
    if values.len() == threads {
        return Ok(values);
    }
    let n = values.len();
    let reason = format!("{n} columns for {threads} threads");
    Err(ImportError::at_line(at, reason))
}
