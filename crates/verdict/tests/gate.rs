// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run was asked and did not do.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use punctual_model::{Misses, Nanos, RequirementRuling, RunRecord, Series};
use punctual_stats::LatencyHistogram;
use punctual_stats::requirement::Requirement;
use punctual_verdict::gate::unmet;
use punctual_verdict::requirement::{Required, require};

#[test]
fn a_missed_deadline_is_named_with_its_counts() {
    let mut run = common::run();
    let misses = |limit, count| Misses {
        deadline_ns: Nanos::from_micros(limit),
        count,
        overruns: 0,
        effective: None,
    };
    run.series.clear();
    run.total.misses = vec![misses(1, 7), misses(1_000, 0)];
    let samples = run.total.count;
    let said: Vec<String> = unmet(&run).collect();
    assert_eq!(
        said,
        [format!("deadline 1 µs: 7 of {samples} wake-ups later")]
    );
}

/// What a requirement says of a run of which the histogram has all samples.
fn ruled(run: &RunRecord, requirement: &str) -> (RequirementRuling, u64, u64) {
    let requirement: Requirement = requirement.parse().unwrap();
    let mut histogram = LatencyHistogram::default();
    histogram.record_n(5_000, run.total.count);
    let required = Required::from(histogram);
    let result = require(&requirement, [(run, Some(&required))].into_iter());
    (result.ruling, result.samples, result.above)
}

#[test]
fn releases_without_a_sample_are_late_for_a_requirement_by_the_histogram() {
    let mut run = common::run();
    run.total.misses.clear();
    run.total.overruns = Some(0);
    let samples = run.total.count;
    let (ruling, of, above) = ruled(&run, "p90 <= 1ms");
    assert_eq!((ruling, of, above), (RequirementRuling::Pass, samples, 0));
    // A stall of most of the run.
    run.total.overruns = Some(9 * samples);
    run.total.max_ns = Some(906_000_000);
    for instrument in ["wakeup", "irq", "release", "deadline", "watch"] {
        instrument.clone_into(&mut run.instrument);
        let (ruling, of, above) = ruled(&run, "p90 <= 1ms");
        assert_eq!(ruling, RequirementRuling::Fail, "{instrument}");
        assert_eq!((of, above), (10 * samples, 9 * samples));
    }
    // None of wake-ups was later than the largest of them; what was never served is later than any time.
    let longest = format!("p90 <= {}ns", run.total.max_ns.unwrap());
    for instrument in ["wakeup", "irq"] {
        instrument.clone_into(&mut run.instrument);
        let (ruling, of, above) = ruled(&run, &longest);
        let all = 10 * samples;
        assert_eq!((ruling, of, above), (RequirementRuling::Pass, all, 0));
    }
    "watch".clone_into(&mut run.instrument);
    assert_eq!(ruled(&run, &longest).0, RequirementRuling::Fail);
    // More than can be counted are not few.
    run.total.overruns = Some(u64::MAX);
    assert_eq!(ruled(&run, "p90 <= 1ms").0, RequirementRuling::Fail);
}

#[test]
fn releases_that_passed_while_not_traced_are_late_like_the_others() {
    let mut run = common::run();
    "irq".clone_into(&mut run.instrument);
    let samples = run.total.count;
    run.total.overruns = Some(0);
    run.series.push(Series {
        thread: Some(0),
        context: Some("untraced".to_owned()),
        count: samples,
        overruns: Some(samples),
        max_ns: Some(906_000_000),
        ..run.total.clone()
    });
    let mut histogram = LatencyHistogram::default();
    histogram.record_n(5_000, 2 * samples);
    let required = Required::from(histogram);
    let ruled = |requirement: &str| {
        let requirement: Requirement = requirement.parse().unwrap();
        let result = require(&requirement, [(&run, Some(&required))].into_iter());
        (result.ruling, result.samples, result.above)
    };
    let all = 3 * samples;
    let late = ruled("p90 <= 1ms");
    assert_eq!(late, (RequirementRuling::Fail, all, samples));
    assert_eq!(ruled("p90 <= 906ms"), (RequirementRuling::Pass, all, 0));
}
