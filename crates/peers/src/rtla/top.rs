// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `rtla timerlat top`: a row a CPU, of which the last screen counts.

use std::io::BufRead;

use punctual_model::Ended;
use punctual_stats::float;

use super::{Screens, cpu, drain, is_action, is_hit, is_title};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::{Lines, nanos, number, plain, second_run};
use crate::series::{MOST_THREADS, SourceSeries};

/// What a screen begins with.
const TITLE: &str = "Timer Latency";

/// The groups of four figures in a row, in their order.
const CONTEXTS: [&str; 3] = ["irq", "thread", "user"];

pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(Format::RtlaTimerlatTop, "timerlat");
    let mut unit_ns = None;
    let mut groups = 0;
    let mut screens = Screens::default();
    let mut heading = false;
    while let Some(line) = lines.next()? {
        let (line, cleared) = plain(line);
        let line = line.trim();
        let at = lines.number();
        if screens.any && line != TITLE && is_title(line) {
            return Err(second_run(at));
        } else if line.is_empty() || line.starts_with('#') || line.starts_with("---") {
        } else if line == TITLE {
            screens.title(at, cleared, &mut imported)?;
            heading = false;
        } else if !screens.any {
            // A prompt, or whatever a terminal had before.
        } else if line.contains("IRQ Timer Latency (") {
            unit_ns = match (line.contains("(us)"), line.contains("(ns)")) {
                (true, false) => Some(1_000),
                (false, true) => Some(1),
                _ => return Err(lines.error("the unit is neither us nor ns")),
            };
            groups = line.matches(" Latency (").count();
            let lasted = line.split('|').next().unwrap_or_default();
            screens.lasted(at, &mut imported, lasted)?;
        } else if line.starts_with("CPU COUNT") {
            heading = true;
        } else if is_hit(line) {
            imported.ended = Some(Ended::Threshold);
            drain(lines)?;
            break;
        } else if line.starts_with("ALL") || line.starts_with("rtla ") || is_action(line) {
            // The sum of all CPUs is ours to make.
        } else {
            let unit_ns = unit_ns
                .filter(|_| heading && (1..=CONTEXTS.len()).contains(&groups))
                .ok_or_else(|| lines.error("no heading above this"))?;
            row(&mut imported, at, line, groups, unit_ns)?;
        }
    }
    if imported.series.is_empty() {
        return Err(lines.ended("the row of any CPU"));
    }
    imported.resolution_ns = unit_ns;
    imported.mean_error_ns = unit_ns.map(|ns| 2.0 * float(ns));
    Ok(imported)
}

fn row(
    imported: &mut Imported,
    at: u64,
    line: &str,
    groups: usize,
    unit_ns: u64,
) -> Result<(), ImportError> {
    let wrong = |reason: &str| ImportError::at_line(at, reason);
    let parts: Vec<&str> = line.split('|').collect();
    let head: Vec<&str> = parts
        .first()
        .map_or(Vec::new(), |p| p.split_ascii_whitespace().collect());
    let [number_of_cpu, count] = head.as_slice() else {
        return Err(wrong("this is not a row of a CPU"));
    };
    let cpu = cpu(number_of_cpu).ok_or_else(|| wrong("this is not a row of a CPU"))?;
    let count = count
        .strip_prefix('#')
        .ok_or_else(|| wrong("the count has no `#`"))?;
    let count = number(at, "the count", count)?;
    if parts.len() != groups + 1 {
        return Err(wrong("the columns do not match the heading"));
    }
    for (context, part) in CONTEXTS.iter().zip(parts.iter().skip(1)) {
        let words: Vec<&str> = part.split_ascii_whitespace().collect();
        let [_, min, avg, max] = words.as_slice() else {
            return Err(wrong("the columns do not match the heading"));
        };
        let figure = |what: &str, word: &str| match word {
            "-" => Ok(None),
            word => nanos(at, number(at, what, word)?, unit_ns).map(Some),
        };
        let (min, avg, max) = (
            figure("min", min)?,
            figure("avg", avg)?,
            figure("max", max)?,
        );
        // The count is that of the interrupts; of a kind without samples there are dashes.
        let none = min.is_none() && avg.is_none() && max.is_none();
        if count == 0 && !none {
            return Err(wrong("it has figures but no samples").hinted(
                "rtla counts interrupts, and here a thread's sample came before the first: leave this row out, or make a longer run",
            ));
        }
        if min.zip(max).is_some_and(|(min, max)| min > max) {
            return Err(wrong("its minimum is above its maximum"));
        }
        let thread = u32::try_from(imported.series.len()).unwrap_or(u32::MAX);
        imported.series.push(SourceSeries {
            thread,
            cpu: Some(cpu),
            context: Some(context),
            count: if none { 0 } else { count },
            min_ns: min,
            max_ns: max.map(|max| max + unit_ns - 1),
            mean_ns: avg.map(float),
            ..SourceSeries::default()
        });
    }
    if imported.series.len() > 3 * MOST_THREADS {
        return Err(wrong("more CPUs than a machine has"));
    }
    Ok(())
}
