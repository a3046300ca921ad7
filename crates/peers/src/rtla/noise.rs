// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `rtla osnoise top` and `rtla hwnoise`: a row a CPU.
//!
//! A sample is the noise of one period, so that the count is that of the periods. Their sum is
//! stated, and with it their mean; the smallest is not.

use std::io::BufRead;

use super::{Screens, cpu, drain, is_action, is_hit, is_title};
use punctual_stats::float;

use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::{Lines, nanos, number, plain, second_run};
use crate::series::{MOST_THREADS, SourceSeries};

const US: u64 = 1_000;

/// Columns of a row before the kinds of noise.
const FIXED: usize = 7;

pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(Format::RtlaNoiseTop, "");
    let mut kinds: Option<Vec<String>> = None;
    let mut unit = false;
    let mut screens = Screens::default();
    while let Some(line) = lines.next()? {
        let (line, cleared) = plain(line);
        let line = line.trim();
        let at = lines.number();
        let title = line == "Operating System Noise" || line == "Hardware-related Noise";
        if screens.any && !title && is_title(line) {
            return Err(second_run(at));
        } else if line.is_empty() || line.starts_with('#') || is_action(line) {
        } else if title {
            screens.title(at, cleared, &mut imported)?;
            let instrument = match line {
                "Hardware-related Noise" => "hwnoise",
                _ => "osnoise",
            };
            let before = std::mem::replace(&mut imported.instrument, instrument);
            if !before.is_empty() && before != instrument {
                return Err(second_run(at));
            }
            kinds = None;
        } else if imported.instrument.is_empty() {
            // A prompt, or whatever a terminal had before.
        } else if let Some(rest) = line.strip_prefix("duration:") {
            unit = rest.trim_end().ends_with("time is in us");
            let lasted = rest.split('|').next().unwrap_or_default();
            screens.lasted(at, &mut imported, lasted)?;
        } else if let Some(rest) = line.strip_prefix("CPU Period") {
            let kind = rest.split_once("Max Single").map(|(_, kinds)| kinds);
            let words = kind.map(|kinds| kinds.split_ascii_whitespace().map(ToOwned::to_owned));
            kinds = words.map(Iterator::collect);
        } else if is_hit(line) {
            imported.ended = Some(punctual_model::Ended::Threshold);
            drain(lines)?;
            break;
        } else {
            let known = kinds
                .as_ref()
                .filter(|_| unit && !imported.instrument.is_empty());
            let kinds = known.ok_or_else(|| lines.error("no heading above this"))?;
            row(&mut imported, at, line, kinds)?;
        }
    }
    if imported.series.is_empty() {
        return Err(lines.ended("the row of any CPU"));
    }
    imported.resolution_ns = Some(US);
    imported.mean_error_ns = Some(float(US));
    imported
        .stated
        .insert(0, "each sample is the noise of one period".to_owned());
    Ok(imported)
}

fn row(imported: &mut Imported, at: u64, line: &str, kinds: &[String]) -> Result<(), ImportError> {
    let wrong = |reason: &str| ImportError::at_line(at, reason);
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    if words.len() != FIXED + kinds.len() {
        return Err(wrong("the columns do not match the heading"));
    }
    let (fixed, noises) = words.split_at(FIXED);
    let &[
        number_of_cpu,
        periods,
        runtime,
        noise,
        available,
        most,
        single,
    ] = fixed
    else {
        return Err(wrong("the columns do not match the heading"));
    };
    let cpu = cpu(number_of_cpu).ok_or_else(|| wrong("this is not a row of a CPU"))?;
    let periods = periods
        .strip_prefix('#')
        .ok_or_else(|| wrong("the periods have no `#`"))?;
    let periods = number(at, "the periods", periods)?;
    let runtime = number(at, "the runtime", runtime)?;
    let noise = number(at, "the noise", noise)?;
    let most = number(at, "the largest noise", most)?;
    let single = number(at, "the largest single noise", single)?;
    if !available
        .parse::<f64>()
        .is_ok_and(|share| (0.0..=100.0).contains(&share))
    {
        return Err(wrong("the available share is not between 0 and 100"));
    }
    if noise > runtime || single > most || most > noise {
        return Err(wrong(
            "the noise does not agree with its largest part or the runtime",
        ));
    }
    let mut parts = Vec::new();
    for (kind, count) in kinds.iter().zip(noises) {
        parts.push(format!("{kind} {}", number(at, kind, count)?));
    }
    imported.state(format!(
        "CPU {cpu}: {available} % available, largest single noise {single} µs, {}",
        parts.join(", ")
    ));
    let some = periods > 0;
    let thread = u32::try_from(imported.series.len()).unwrap_or(u32::MAX);
    if imported.series.len() >= MOST_THREADS {
        return Err(wrong("more CPUs than a machine has"));
    }
    let sum = float(nanos(at, noise, US)?);
    imported.series.push(SourceSeries {
        thread,
        cpu: Some(cpu),
        count: periods,
        max_ns: some
            .then(|| nanos(at, most, US))
            .transpose()?
            .map(|max| max + US - 1),
        mean_ns: some.then(|| sum / float(periods)),
        ..SourceSeries::default()
    });
    Ok(())
}
