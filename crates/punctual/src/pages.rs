// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What pages are made of: runs with their histograms and what they said over time, when and by what they were made, and
//! where they are written.

mod maxima;

use jiff::Timestamp;
use punctual_report::document::{Material, RunItem};
use punctual_verdict::select::RunSource;

use crate::error::CliError;
use crate::output::{Destination, remark};

/// Bytes that the histograms of a page take: those of 250 runs of eight threads.
const HISTOGRAMS: usize = 512 << 20;

/// What says by what and when a report was made.
pub(crate) fn made_now() -> Material {
    let now = Timestamp::now();
    Material {
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        made: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        ..Material::default()
    }
}

/// Runs with their histograms and what they said over time.
pub(crate) fn items(sources: Vec<RunSource>) -> Result<Vec<RunItem>, CliError> {
    let mut left = HISTOGRAMS;
    let mut items = Vec::new();
    for source in sources {
        let item = item(source)?;
        let bytes = item.parts.iter().map(|part| part.histogram.memory_bytes());
        left = left.checked_sub(bytes.sum()).ok_or_else(|| {
            CliError::failed_to("draw these runs together")
                .because(format!(
                    "their histograms take more than {} MiB",
                    HISTOGRAMS >> 20
                ))
                .hint("name fewer runs")
        })?;
        items.push(item);
    }
    Ok(items)
}

/// A run with its histograms and what it said over time.
pub(crate) fn item(source: RunSource) -> Result<RunItem, CliError> {
    match source {
        RunSource::Record(record) => Ok(RunItem::from(*record)),
        RunSource::Stored(run) => {
            let failed =
                || CliError::failed_to(format!("read the histograms of run {}", run.record().id));
            let parts = run.histograms().map_err(|err| failed().because(err))?;
            let maxima = maxima::of(&run)?;
            Ok(RunItem {
                record: run.into_record(),
                parts: parts.unwrap_or_default(),
                group: None,
                maxima,
            })
        }
    }
}

/// Writes all of a page into `target`, and says so.
pub(crate) fn put(target: Destination, page: &str) -> Result<(), CliError> {
    let wrote = format!("Wrote {}.", target.path().display());
    let standard = target.is_standard_output();
    target.put(page.as_bytes())?;
    if !standard {
        remark(&wrote);
    }
    Ok(())
}
