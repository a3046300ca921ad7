// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs extrapolate`.

use std::path::Path;

use punctual_report::document::Document;
use punctual_store::{Store, StoredRun};
use punctual_verdict::extrapolation::extrapolation;

use crate::cli::ExtrapolateArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::output;

/// Samples of a run that are held at once: those of four hours at 1 kHz.
const MOST_SAMPLES: u64 = 16 << 20;

/// Says what may lie beyond the largest sample of a run, or why that cannot be said.
pub(super) fn run(home: &Path, args: &ExtrapolateArgs) -> Result<Exit, CliError> {
    let run = find(&Store::open_existing(home)?, &args.run)?;
    let failed = || CliError::failed_to(format!("extrapolate from run {}", run.record().id));
    if !run.has_samples() {
        let err = failed().because("its samples are not stored, only their histogram and figures");
        return Err(match run.record().origin {
            // What another program did not write down is in no file.
            Some(_) => err,
            None => err.hint("`punctual measure wakeup --raw` stores every sample"),
        });
    }
    let count = run.record().total.count;
    if count > MOST_SAMPLES {
        return Err(failed().because(format!(
            "it has {count} samples, more than the limit of {MOST_SAMPLES}"
        )));
    }
    let samples = in_order(&run)?;
    let found = extrapolation(
        run.record(),
        &samples,
        args.horizon,
        args.confidence.0,
        args.seed,
    );
    let found = found.ok_or_else(|| match samples.is_empty() {
        true => failed().because("it has no samples"),
        false => failed().because(
            "its record says neither how long it was nor its interval, so its samples have no rate",
        ),
    })?;
    output::show(&found, args.json, Document::of_extrapolation)?;
    Ok(Exit::Fine)
}

/// The latencies in ns of all threads, by the time of their deadline.
fn in_order(run: &StoredRun) -> Result<Vec<u64>, CliError> {
    let failed = || CliError::failed_to(format!("read the samples of run {}", run.record().id));
    let mut samples = Vec::new();
    for sample in run.samples().map_err(|err| failed().because(err))? {
        let sample = sample.map_err(|err| failed().because(err))?;
        samples.push((sample.t_ns, sample.latency_ns));
    }
    // Stable: samples of one time stay in the order of their threads.
    samples.sort_by_key(|(t_ns, _)| *t_ns);
    Ok(samples.into_iter().map(|(_, ns)| ns).collect())
}
