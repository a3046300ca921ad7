// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histograms of a run by thread and kind of latency.

use punctual_stats::{LatencyHistogram, ThreadHistogram};

/// Adds the threads together, for each kind of latency that several have.
pub(super) fn with_totals(mut histograms: Vec<ThreadHistogram>) -> Vec<ThreadHistogram> {
    let mut contexts: Vec<Option<String>> = Vec::new();
    for own in &histograms {
        if !contexts.contains(&own.context) {
            contexts.push(own.context.clone());
        }
    }
    for context in contexts {
        let parts = || histograms.iter().filter(|own| own.context == context);
        if parts().count() < 2 || parts().any(|own| own.thread.is_none()) {
            continue;
        }
        let mut all = LatencyHistogram::default();
        parts().for_each(|own| all.merge(&own.histogram));
        histograms.push(ThreadHistogram {
            thread: None,
            context,
            histogram: all,
        });
    }
    histograms
}

#[cfg(test)]
mod tests {
    use super::*;

    type Label = (Option<u32>, Option<&'static str>);

    fn labels(parts: &[Label]) -> Vec<(Option<u32>, Option<String>, u64)> {
        let part = |(thread, context): &Label| {
            let mut histogram = LatencyHistogram::default();
            histogram.record(7);
            ThreadHistogram {
                thread: *thread,
                context: context.map(ToOwned::to_owned),
                histogram,
            }
        };
        let all = with_totals(parts.iter().map(part).collect()).into_iter();
        all.map(|own| (own.thread, own.context, own.histogram.count()))
            .collect()
    }

    #[test]
    fn threads_are_added_up_by_the_kind_of_latency() {
        let (irq, thread) = (Some("irq"), Some("thread"));
        let found = labels(&[
            (Some(0), irq),
            (Some(0), thread),
            (Some(1), irq),
            (Some(1), thread),
            (None, irq),
        ]);
        assert_eq!(found.len(), 6);
        assert_eq!(found[5], (None, Some("thread".to_owned()), 2));
        assert_eq!(
            labels(&[(Some(0), None), (Some(1), None)])[2],
            (None, None, 2)
        );
        assert_eq!(labels(&[(Some(0), None)]).len(), 1);
    }
}
