// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What two groups of runs allow to be said.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use punctual_model::{
    Better, Comparison, ComparisonVerdict as Verdict, Figure, Nanos, Origin, WithheldReason,
};
use punctual_stats::runs::Options;
use punctual_verdict::comparison::{
    ComparisonRequest, GroupInput, RunInput, compare, default_metrics,
};

/// Groups a and b with these values of p99 in ns, of runs whose p50 is about the same.
fn compared(sides: [&[u64]; 2], asked: &ComparisonRequest, steps_ns: Option<u64>) -> Comparison {
    let run = |side: &str, number: usize, ns: u64| {
        let mut record = common::run();
        record.id = format!("{side}-{number}");
        record.name = None;
        record.origin = steps_ns.map(|steps| Origin {
            tool: "cyclictest".to_owned(),
            version: None,
            format: "cyclictest-histogram".to_owned(),
            file: format!("{side}-{number}.txt"),
            command_line: None,
            resolution_ns: Some(steps),
            rows_end_ns: None,
            mean_error_ns: None,
            sample_times: None,
            started_from: None,
            stated: Vec::new(),
        });
        // Two imports with the same figures are of one file.
        let p50 = 20_000 + 10 * (number as u64 * 5 % 7) + u64::from(side == "b");
        record.total.quantiles_ns = [("p50", p50), ("p99", ns)]
            .map(|(name, ns)| (name.to_owned(), Some(ns)))
            .into();
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: None,
        }
    };
    let group = |(name, values): (&str, &[u64])| GroupInput {
        name: name.to_owned(),
        runs: (0..)
            .zip(values)
            .map(|(number, ns)| run(name, number, *ns))
            .collect(),
        refused: Vec::new(),
    };
    let groups = ["a", "b"].into_iter().zip(sides).map(group);
    compare(groups.collect(), asked).unwrap()
}

fn asked(metrics: &[&str], options: Options) -> ComparisonRequest {
    ComparisonRequest {
        metrics: metrics.iter().map(|text| text.parse().unwrap()).collect(),
        options,
        ..ComparisonRequest::default()
    }
}

#[test]
fn steps_are_compared_with_the_difference_that_matters() {
    // Whole microseconds: the true values may be 31.0 and 31.9 µs.
    let alike = [&[31_000; 8][..], &[31_000; 8]];
    let of = |difference: Option<f64>| {
        let options = Options {
            difference,
            ..Options::default()
        };
        let comparison = compared(alike, &asked(&["p99"], options), Some(1_000));
        comparison.results[0].clone()
    };
    let fine = of(Some(200.0));
    assert_eq!(fine.verdict, Verdict::TooFewRuns);
    let withheld = fine.withheld.unwrap();
    assert_eq!(withheld.reason, WithheldReason::Resolution);
    assert!(
        withheld.detail.contains(
            "steps of 1.000 µs, which hides a change of up to 1.000 µs, while 0.2000 µs matters"
        ),
        "{}",
        withheld.detail
    );
    for coarse in [of(Some(2_000.0)), of(None)] {
        assert_eq!(
            (coarse.verdict, coarse.withheld),
            (Verdict::NotDistinguishable, None)
        );
    }
}

#[test]
fn a_figure_that_would_not_differ_alone_is_not_said_to() {
    let values = [
        &[
            56_500, 42_900, 51_300, 48_300, 48_700, 49_400, 44_300, 49_300,
        ][..],
        &[
            50_800, 65_300, 54_200, 52_400, 52_600, 51_400, 50_200, 52_300,
        ],
    ];
    let of = |metrics: &[&str]| compared(values, &asked(metrics, Options::default()), None);
    let (alone, together) = (of(&["p99"]), of(&["p99", "p50"]));
    let p = alone.results[0].p.unwrap();
    assert!(p > 0.032 && p <= 0.05, "{p}");
    assert_eq!(alone.results[0].verdict, Verdict::TooFewRuns);
    for comparison in [alone, together] {
        let remarks = comparison.remarks.iter().map(|remark| remark.id.as_ref());
        let remarks: Vec<&str> = remarks
            .filter(|id| ["look", "correction"].contains(id))
            .collect();
        assert_eq!(remarks, ["look"], "{:#?}", comparison.remarks);
    }
}

/// Groups a and b of five runs with the figure `name`, 10 a second, with these lengths in seconds and numbers of samples.
fn of_figure(name: &str, seconds: [u64; 2], samples: [u64; 2]) -> Comparison {
    let run = |side: usize, number: u64| {
        let mut record = common::run();
        record.id = format!("{side}-{number}");
        record.duration_ns = Some(Nanos::from_secs(seconds[side]));
        record.total.count = samples[side];
        let value = (10 * seconds[side] + number) as f64;
        record.figures = vec![Figure::single(name, "1", Better::Lower, value)];
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: None,
        }
    };
    let group = |(side, name): (usize, &str)| GroupInput {
        name: name.to_owned(),
        runs: (0..5).map(|number| run(side, number)).collect(),
        refused: Vec::new(),
    };
    let groups = ["a", "b"].into_iter().enumerate().map(group);
    compare(groups.collect(), &asked(&[name], Options::default())).unwrap()
}

#[test]
fn a_count_depends_on_the_time_of_a_run_and_a_percentile_does_not() {
    for name in ["smi", "unpaired"] {
        let apart = of_figure(name, [10, 60], [1_000, 1_000]);
        let result = &apart.results[0];
        assert_eq!(result.verdict, Verdict::TooFewRuns, "{name}");
        let withheld = result.withheld.as_ref().unwrap();
        assert_eq!(withheld.reason, WithheldReason::Lengths, "{name}");
        assert_eq!(
            withheld.detail,
            format!(
                "runs of a last 10 s, of b 60 s, and {name} depends on that: make all runs equally long"
            )
        );
        // More gaps in the same time make no run longer.
        let alike = of_figure(name, [10, 10], [1_000, 5_000]);
        assert_eq!(alike.results[0].withheld, None, "{name}");
    }
    for name in ["gaps_per_second", "handler_p50"] {
        let rate = of_figure(name, [10, 60], [1_000, 1_000]);
        assert_eq!(rate.results[0].withheld, None, "{name}");
    }
}

#[test]
fn what_is_of_one_moment_is_no_figure_to_compare_by() {
    let gap = Figure::single("largest_gap", "ns", Better::Lower, 9.0).at("cpu", 1);
    let named = |figure: &Figure| {
        let mut run = common::run();
        run.figures = vec![figure.clone()];
        let metrics = default_metrics([&run].into_iter());
        metrics.iter().any(|metric| metric.is_figure("largest_gap"))
    };
    assert!(named(&gap));
    assert!(!named(&gap.at("at", "0.5 s")));
}
