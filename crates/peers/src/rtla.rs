// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! rtla: the histograms of timerlat and osnoise, and what their `top` prints.

mod all;
pub(crate) mod hist;
pub(crate) mod noise;
pub(crate) mod top;

use std::io::BufRead;

use punctual_model::Nanos;

use crate::error::ImportError;
use crate::imported::Imported;
use crate::lines::{Lines, plain, second_run};

/// Reads `0 00:10:00`: days, hours, minutes and seconds.
pub(crate) fn duration(text: &str) -> Option<Nanos> {
    let mut words = text.split_ascii_whitespace();
    let days: u64 = words.next()?.parse().ok()?;
    let mut parts = words
        .next()?
        .split(':')
        .map(|part| part.parse::<u64>().ok());
    let (h, m, s) = (parts.next()??, parts.next()??, parts.next()??);
    let seconds = days
        .checked_mul(86_400)?
        .checked_add(h.checked_mul(3_600)?)?
        .checked_add(m.checked_mul(60)?)?
        .checked_add(s)?;
    seconds.checked_mul(1_000_000_000).map(Nanos::new)
}

/// Reads the CPU of `IRQ-003`.
fn cpu(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty();
    digits.then(|| text.parse().ok()).flatten()
}

/// The screens of a `top`, of which the last counts. Each but the first clears the terminal.
#[derive(Debug, Default)]
struct Screens {
    any: bool,
    /// How long the run had lasted on the screen before.
    before: Option<Nanos>,
}

impl Screens {
    /// Takes the title of a screen, which clears the terminal or does not.
    fn title(
        &mut self,
        at: u64,
        cleared: bool,
        imported: &mut Imported,
    ) -> Result<(), ImportError> {
        if std::mem::replace(&mut self.any, true) && !cleared {
            return Err(second_run(at));
        }
        self.before = imported.duration.take().or(self.before);
        imported.series.clear();
        imported.stated.clear();
        Ok(())
    }

    /// Takes how long the run has lasted.
    fn lasted(&self, at: u64, imported: &mut Imported, text: &str) -> Result<(), ImportError> {
        imported.duration = duration(text);
        match imported.duration.zip(self.before) {
            Some((now, before)) if now < before => Err(second_run(at)),
            _ => Ok(()),
        }
    }
}

/// Whether a line is the first of a file of rtla.
fn is_title(line: &str) -> bool {
    [
        "Timer Latency",
        "Operating System Noise",
        "Hardware-related Noise",
    ]
    .contains(&line)
        || line.starts_with("# RTLA ")
}

/// Whether a line says that the threshold ended the run: `rtla timerlat hit stop tracing`, of rtla 6.18 on without `rtla`.
fn is_hit(line: &str) -> bool {
    line.ends_with("hit stop tracing")
}

/// Whether a line says what rtla does at the end or at a hit (`--on-end`, `--on-threshold`, `-t`): between screens too.
fn is_action(line: &str) -> bool {
    line.starts_with("Saving trace to ")
}

/// Reads the sum of all CPUs, or the analysis of a hit, to the end, so that a second run there is an error. Returns whether it tells
/// of a hit.
fn drain<R: BufRead>(lines: &mut Lines<R>) -> Result<bool, ImportError> {
    let mut hit = false;
    while let Some(line) = lines.next()? {
        let line = plain(line).0.trim().to_owned();
        if crate::format::begins_one(&line) {
            return Err(second_run(lines.number()));
        }
        hit |= is_hit(&line);
    }
    Ok(hit)
}
