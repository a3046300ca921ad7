// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histograms of a run by thread and kind of latency.

use punctual_report::export::Labelled;
use punctual_stats::{HistogramLog, LatencyHistogram};

/// The threads together.
const ALL: &str = "all";

/// A histogram with the thread and the kind of latency that its tag names: `0`, `0/handler`.
#[derive(Debug)]
pub(super) struct Own {
    thread: String,
    context: Option<String>,
    histogram: LatencyHistogram,
}

impl Own {
    pub(super) fn labelled(&self) -> Labelled<'_> {
        Labelled {
            thread: &self.thread,
            context: self.context.as_deref(),
            histogram: &self.histogram,
        }
    }
}

/// Takes the tags of a log apart. One without a tag is numbered by its place.
pub(super) fn of(log: HistogramLog) -> Vec<Own> {
    let own = |(number, entry): (usize, punctual_stats::TaggedHistogram)| {
        let tag = entry.tag.unwrap_or_else(|| number.to_string());
        let (thread, context) = match tag.split_once('/') {
            Some((thread, context)) => (thread.to_owned(), Some(context.to_owned())),
            None => (tag, None),
        };
        Own {
            thread,
            context,
            histogram: entry.histogram,
        }
    };
    log.entries.into_iter().enumerate().map(own).collect()
}

/// Adds the threads together, for each kind of latency that several have.
pub(super) fn with_totals(mut histograms: Vec<Own>) -> Vec<Own> {
    let mut contexts: Vec<Option<String>> = Vec::new();
    for own in &histograms {
        if !contexts.contains(&own.context) {
            contexts.push(own.context.clone());
        }
    }
    for context in contexts {
        let parts = || histograms.iter().filter(|own| own.context == context);
        if parts().count() < 2 || parts().any(|own| own.thread == ALL) {
            continue;
        }
        let mut all = LatencyHistogram::default();
        parts().for_each(|own| all.merge(&own.histogram));
        histograms.push(Own {
            thread: ALL.to_owned(),
            context,
            histogram: all,
        });
    }
    histograms
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_stats::TaggedHistogram;
    use std::time::Duration;

    fn log(tags: &[&str]) -> HistogramLog {
        let entries = tags.iter().map(|tag| {
            let mut histogram = LatencyHistogram::default();
            histogram.record(7);
            TaggedHistogram {
                tag: Some((*tag).to_owned()),
                start: Duration::ZERO,
                duration: Duration::ZERO,
                histogram,
            }
        });
        HistogramLog {
            start: None,
            entries: entries.collect(),
        }
    }

    fn labels(tags: &[&str]) -> Vec<(String, u64)> {
        let label = |own: &Own| {
            let context = own.context.as_deref().unwrap_or("-");
            (format!("{}/{context}", own.thread), own.histogram.count())
        };
        with_totals(of(log(tags))).iter().map(label).collect()
    }

    #[test]
    fn threads_are_added_up_by_the_kind_of_latency() {
        let found = labels(&["0/irq", "0/thread", "1/irq", "1/thread", "all/irq"]);
        assert_eq!(found.len(), 6);
        assert_eq!(found[5], ("all/thread".to_owned(), 2));
        assert_eq!(labels(&["0", "1"])[2], ("all/-".to_owned(), 2));
        assert_eq!(labels(&["0"]).len(), 1);
    }
}
