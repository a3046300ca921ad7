// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Latency of a wake-up: the median, of one pinned thread at 1 ms.
//!
//! cyclictest keeps a histogram in whole nanoseconds under `-N -h`: its median is exact. Ours has the stated relative
//! error of the histogram, far below the budget's two per cent.

use std::time::Duration;

use anyhow::Context as _;
use serde_json::Value;

use super::budget::Outcome;
use super::context::Context;
use super::program;

/// Longest latency in cyclictest's histogram, in ns; more is counted as overflow.
const HISTOGRAM_NS: u32 = 1_000_000;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let interval = Duration::from_millis(1);
    let (pairs, samples) = if context.quick { (3, 1000) } else { (10, 5000) };
    let samples = samples.to_string();
    let ours = || {
        let mut command = program::punctual(context, 1, interval);
        command.args(["--samples", &samples]);
        let (run, _) = program::punctual_json(context, command)?;
        run["series"][0]["quantiles_ns"]["p50"]
            .as_f64()
            .context("no p50 in the JSON of punctual")
    };
    let theirs = || {
        let mut command = program::cyclictest(context, 1, interval);
        // The histogram goes to the JSON, empty buckets left out; the million lines of text go nowhere.
        command.args([
            "-N",
            "-h",
            &HISTOGRAM_NS.to_string(),
            "--histfile=/dev/null",
            "-l",
            &samples,
        ]);
        let (thread, _) = program::cyclictest_thread(context, command)?;
        median(&thread).context("failed to find the median in cyclictest's histogram")
    };
    Ok(Outcome::Measured {
        pairs: context.pairs(pairs, ours, theirs)?,
        faults: vec![],
    })
}

/// Returns the smallest bucket below which half of all cycles lie. Cycles that overflowed count as slower than any.
fn median(thread: &Value) -> Option<f64> {
    let cycles = thread["cycles"].as_u64().filter(|cycles| *cycles > 0)?;
    let mut buckets: Vec<(u32, u64)> = thread["histogram"]
        .as_object()?
        .iter()
        .map(|(latency, count)| Some((latency.parse().ok()?, count.as_u64()?)))
        .collect::<Option<_>>()?;
    buckets.sort_unstable();
    let mut seen = 0;
    for (latency, count) in buckets {
        seen += count;
        if seen >= cycles.div_ceil(2) {
            return Some(f64::from(latency));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn exact(figure: f64) -> impl Fn(f64) -> bool {
        move |found| (found - figure).abs() < f64::EPSILON
    }

    #[test]
    fn the_median_is_found_in_numeric_not_alphabetic_order() {
        let thread = json!({"histogram": {"100": 2, "99": 2, "20000": 1}, "cycles": 5});
        assert!(median(&thread).is_some_and(exact(100.0)));
    }

    #[test]
    fn overflows_count_as_slow() {
        let thread = json!({"histogram": {"10": 1, "20": 1}, "cycles": 4});
        assert!(median(&thread).is_some_and(exact(20.0)));
        let thread = json!({"histogram": {"10": 1}, "cycles": 4});
        assert_eq!(median(&thread), None);
    }

    #[test]
    fn no_cycles_have_no_median() {
        assert_eq!(median(&json!({"histogram": {}, "cycles": 0})), None);
        assert_eq!(median(&json!({})), None);
    }
}
