// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The latencies of a stored run: its histograms, and its samples by thread.
//!
//! What is held in memory of a run's files, which may be somebody else's, is as much as its record leads one to expect, and
//! never more than a limit that no record raises.

use std::collections::BTreeMap;

use punctual_model::RunRecord;
use punctual_stats::{
    HistogramLog, HlogLimits, LatencyHistogram, TaggedHistogram, ThreadHistogram, read_hlog_within,
};

use crate::error::ReadError;
use crate::stored::StoredRun;

/// The artifact with the histograms: an HdrHistogram interval log with a tag a thread.
pub const HISTOGRAM_LOG: &str = "latency.hlog";

impl StoredRun {
    /// Reads the histograms in the order of the log. `None` if the run has none.
    ///
    /// # Errors
    /// [`ReadError::Path`] if they cannot be read, [`ReadError::Histograms`] if they are damaged or far more than the record
    /// leads one to expect.
    pub fn histograms(&self) -> Result<Option<Vec<ThreadHistogram>>, ReadError> {
        let Some(log) = self.artifact(HISTOGRAM_LOG)? else {
            return Ok(None);
        };
        let most = HlogLimits::default();
        // One a series, and totals of each kind.
        let series = self.record().series.len();
        let expected = series.saturating_mul(2).saturating_add(64);
        let limits = HlogLimits {
            entries: most.entries.min(expected),
            ..most
        };
        let log = read_hlog_within(&mut log.as_slice(), limits)?;
        Ok(Some(by_thread(log, &self.record().instrument)))
    }

    /// Reads the histogram of the samples of the total: of several kinds of latency those of the kind that it is of. `None` if
    /// the run has no such histograms.
    ///
    /// # Errors
    /// As [`StoredRun::histograms`].
    pub fn histogram(&self) -> Result<Option<LatencyHistogram>, ReadError> {
        let parts: Vec<ThreadHistogram> = self.histograms()?.into_iter().flatten().collect();
        let parts = parts
            .iter()
            .map(|part| (part.context.as_deref(), &part.histogram));
        Ok(of_total(self.record(), parts))
    }

    /// Reads the histogram of the samples that requirements are about, as [`of_required`].
    ///
    /// # Errors
    /// As [`StoredRun::histograms`].
    pub fn required(&self) -> Result<Option<LatencyHistogram>, ReadError> {
        let parts: Vec<ThreadHistogram> = self.histograms()?.into_iter().flatten().collect();
        let parts = parts
            .iter()
            .map(|part| (part.context.as_deref(), &part.histogram));
        Ok(of_required(self.record(), parts))
    }

    /// Reads the latencies in ns of each thread, in the order in which they were measured. All of them are held in memory.
    ///
    /// # Errors
    /// As [`StoredRun::samples`].
    pub fn latencies(&self) -> Result<Vec<Vec<u64>>, ReadError> {
        let mut threads: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
        for sample in self.samples()? {
            let sample = sample?;
            let of_thread = threads.entry(sample.thread).or_default();
            of_thread.push(sample.latency_ns);
        }
        Ok(threads.into_values().collect())
    }
}

/// Merges those of a run's histograms, each with its kind, that make up the total: of several kinds of samples those of one. `None` where their number differs from the total's.
fn of_total<'a>(
    record: &RunRecord,
    parts: impl Iterator<Item = (Option<&'a str>, &'a LatencyHistogram)> + Clone,
) -> Option<LatencyHistogram> {
    let total = &record.total;
    let merged = |parts: &mut dyn Iterator<Item = &'a LatencyHistogram>| {
        LatencyHistogram::merged(parts).filter(|all| all.count() == total.count)
    };
    let kind = record.kind_of_total();
    let mut of_kind = parts
        .clone()
        .filter(|(own, _)| own.is_some() && *own == kind)
        .map(|(_, part)| part);
    merged(&mut parts.map(|(_, part)| part)).or_else(|| merged(&mut of_kind))
}

/// Returns the samples that requirements are about: those of the total, and those that `irq` took without tracing. What is
/// required of wake-ups is required of both halves. `None` where one of them is missing.
pub fn of_required<'a>(
    record: &RunRecord,
    parts: impl Iterator<Item = (Option<&'a str>, &'a LatencyHistogram)> + Clone,
) -> Option<LatencyHistogram> {
    let all = of_total(record, parts.clone())?;
    let untraced: u64 = record.untraced().map(|series| series.count).sum();
    if untraced > 0 {
        // Of several threads there is one of each, and one of all together.
        let mut parts = parts.filter(|(kind, _)| *kind == Some("untraced"));
        let (_, half) = parts.find(|(_, half)| half.count() == untraced)?;
        return LatencyHistogram::merged([&all, half]);
    }
    Some(all)
}

/// Takes the tags of a log apart, which are thread and kind: `0`, `0/handler`, `all/handler`. What has none is numbered by
/// its place.
fn by_thread(log: HistogramLog, instrument: &str) -> Vec<ThreadHistogram> {
    // `0-response` is how `deadline` wrote them once.
    let dashed = instrument == "deadline";
    let own = |(number, entry): (u32, TaggedHistogram)| {
        let tag = entry.tag.unwrap_or_else(|| number.to_string());
        let parts = tag.split_once('/');
        let (thread, context) = match parts.or_else(|| tag.split_once('-').filter(|_| dashed)) {
            Some((thread, context)) => (thread, Some(context.to_owned())),
            None => (tag.as_str(), None),
        };
        ThreadHistogram {
            thread: match thread {
                "all" => None,
                thread => Some(thread.parse().unwrap_or(number)),
            },
            context,
            histogram: entry.histogram,
        }
    };
    (0..).zip(log.entries).map(own).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn labels(tags: &[Option<&str>], instrument: &str) -> Vec<(Option<u32>, Option<String>)> {
        let entries = tags.iter().map(|tag| TaggedHistogram {
            tag: tag.map(ToOwned::to_owned),
            start: Duration::ZERO,
            duration: Duration::ZERO,
            histogram: LatencyHistogram::default(),
        });
        let log = HistogramLog {
            start: None,
            entries: entries.collect(),
        };
        let own = by_thread(log, instrument).into_iter();
        own.map(|own| (own.thread, own.context)).collect()
    }

    #[test]
    fn a_tag_is_a_thread_and_a_kind() {
        let kind = |kind: &str| Some(kind.to_owned());
        assert_eq!(
            labels(&[Some("3"), Some("all/irq"), None], "irq"),
            [(Some(3), None), (None, kind("irq")), (Some(2), None)]
        );
        assert_eq!(
            labels(&[Some("0-response")], "deadline"),
            [(Some(0), kind("response"))]
        );
        assert_eq!(labels(&[Some("0-response")], "irq"), [(Some(0), None)]);
    }
}
