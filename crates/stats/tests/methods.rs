// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The worked examples of docs/methods, computed again: a figure there is a figure here.

#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_stats::requirement::{DEFAULT_BURST_NS, Seen};
use punctual_stats::runs::{
    Direction, IntervalMethod, Margin, Options, Outcome, Pilot, Question, Verdict, compare,
    detectable, runs_to_detect,
};
use punctual_stats::sequential::{Spending, levels};
use punctual_stats::{
    LatencyHistogram, Moments, RandomSource, clopper_pearson, exceedance_upper_bound, holm,
    quantile_ranks, samples_for_bound,
};

#[track_caller]
fn close(got: f64, want: f64, within: f64) {
    assert!((got - want).abs() <= within, "got {got}, want {want}");
}

#[test]
fn samples_md() {
    let mut histogram = LatencyHistogram::new(1 << 40);
    histogram.record_slice(&[18_000, 21_000, 21_500, 22_000, 100_000]);
    // Rank ⌈0.5 · 5⌉ = 3, in a bucket of 16 ns.
    assert_eq!(histogram.quantile(0.5), Some(21_503));
    // In a bucket of 64 ns that begins at 99 968.
    assert_eq!(histogram.buckets().last().unwrap().from_ns, 99_968);
    assert_eq!(histogram.buckets().last().unwrap().to_ns, 100_031);

    let mut moments = Moments::new();
    moments.extend_from_slice(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]);
    close(moments.mean().unwrap(), 5.0, 0.0);
    close(moments.std_dev().unwrap(), 2.138, 5e-4);
    close(moments.skewness().unwrap(), 0.656, 5e-4);
    close(moments.excess_kurtosis().unwrap(), -0.219, 5e-4);

    // AR(1) of 0.9: 10 000 samples are worth 526.
    let mut source = RandomSource::new(1);
    let (mut batches, mut x) = (punctual_stats::BatchMeans::new(), 0.0);
    for _ in 0..1_000_000 {
        x = 0.9 * x + source.normal();
        batches.push(x);
    }
    close(batches.autocorrelation_time().unwrap(), 19.0, 6.0);
}

#[test]
fn bounds_md() {
    assert_eq!(quantile_ranks(100, 0.5, 0.95), Some((40, 61)));
    assert_eq!(quantile_ranks(100, 0.99, 0.95), None);
    close(
        exceedance_upper_bound(0, 1_000, 0.95).unwrap(),
        0.002_991,
        1e-6,
    );
    close(
        exceedance_upper_bound(2, 1_000, 0.95).unwrap(),
        0.006_283,
        1e-5,
    );
    let (low, high) = clopper_pearson(3, 10, 0.95).unwrap();
    close(low, 0.0667, 5e-5);
    close(high, 0.6525, 5e-5);
    assert_eq!(samples_for_bound(1e-4, 0.95), Some(29_956));
    assert_eq!(samples_for_bound(1e-6, 0.95), Some(2_995_731));
    assert_eq!(samples_for_bound(0.01, 0.95), Some(299));
    // Two threads at 1 ms for 60 s.
    let seen = Seen {
        samples: 120_000,
        above: 0,
        of_one_thread: 60_000,
        time_ns: 60e9,
        dependence_ns: 0.0,
    };
    let bound = |burst| seen.evidence(burst).share_at_most(0.95);
    assert_eq!(seen.evidence(DEFAULT_BURST_NS).trials(), 600);
    close(bound(DEFAULT_BURST_NS), 0.004_98, 5e-6);
    close(bound(1_000_000), 0.000_05, 1e-6);
    let bad = |runs| exceedance_upper_bound(0, runs, 0.95).unwrap();
    close(bad(5), 0.45, 1e-3);
    close(bad(30), 0.095, 1e-4);
    assert!(bad(29) <= 0.1 && bad(28) > 0.1);
}

const BEFORE: [f64; 5] = [50.1, 51.3, 49.8, 50.7, 50.9];
const AFTER: [f64; 5] = [44.0, 45.2, 43.9, 44.8, 45.0];

fn asked(a: &[f64], b: &[f64], options: &Options) -> Outcome {
    compare(&Question::new(a, b, Direction::LowerIsBetter), options).unwrap()
}

#[test]
fn runs_md() {
    let with = |interval| {
        let options = Options {
            interval,
            ..Options::default()
        };
        let outcome = asked(&BEFORE, &AFTER, &options);
        let ratio = outcome.ratio.unwrap();
        close(ratio.estimate, 0.8817, 5e-5);
        let ends = ratio.interval.unwrap();
        (outcome, ends.low, ends.high)
    };
    let (outcome, low, high) = with(IntervalMethod::Permutation);
    assert_eq!(outcome.verdict, Verdict::Better);
    close(outcome.test.unwrap().p, 2.0 / 252.0, 1e-12);
    println!("permutation {low} {high}");
    for method in [IntervalMethod::Studentised, IntervalMethod::Welch] {
        let (_, low, high) = with(method);
        println!("{method:?} {low} {high}");
    }
    let blocks = [1, 2, 3, 4, 5];
    let question =
        Question::new(&BEFORE, &AFTER, Direction::LowerIsBetter).in_blocks(&blocks, &blocks);
    let paired = compare(&question, &Options::default()).unwrap();
    close(paired.test.unwrap().p, 2.0 / 32.0, 1e-12);
    assert!(matches!(paired.verdict, Verdict::TooFewRuns { .. }));
    assert_eq!(
        holm(&[Some(0.01), None, Some(0.04), Some(0.03)]),
        [Some(0.03), None, Some(0.06), Some(0.06)]
    );
}

#[test]
fn power_md() {
    let a = [100.0, 101.0, 99.0, 100.0, 102.0, 98.0];
    let b = [100.0, 99.0, 101.0, 101.0, 99.0, 100.0];
    let options = Options {
        margin: Some(Margin::Same(0.05)),
        ..Options::default()
    };
    let outcome = asked(&a, &b, &options);
    assert_eq!(outcome.verdict, Verdict::Equivalent);
    close(outcome.margin.unwrap().p.unwrap(), 1.0 / 924.0, 1e-12);
    let one_side = Options {
        margin: Some(Margin::NotWorse(0.05)),
        ..Options::default()
    };
    let outcome = asked(&a, &b, &one_side);
    assert_eq!(outcome.verdict, Verdict::NotWorse);
    close(outcome.margin.unwrap().p.unwrap(), 1.0 / 924.0, 1e-12);
    // 12 runs a side, 5 %: error 0.05 √(2/12).
    close(
        detectable(0.020_412, 22.0, 0.05, 0.8).unwrap(),
        0.0676,
        1e-4,
    );
    let pilot = Pilot {
        variances: &[0.0025, 0.0025],
        freedom: 8.0,
    };
    let runs = runs_to_detect(pilot, 0.1_f64.ln_1p(), 0.032, 0.8);
    assert_eq!(runs, Some(12));
}

#[test]
fn sequential_md() {
    let looks = [0.25, 0.5, 0.75, 1.0];
    println!(
        "{:?}",
        levels(0.05, Spending::OBrienFleming, &looks).unwrap()
    );
    for (spending, want) in [
        (Spending::OBrienFleming, [0.000_015, 0.0030, 0.0183, 0.0440]),
        (Spending::Pocock, [0.0179, 0.0179, 0.0184, 0.0188]),
    ] {
        for (level, want) in levels(0.05, spending, &looks)
            .unwrap()
            .into_iter()
            .zip(want)
        {
            close(level, want, 6e-5);
        }
    }
}

#[test]
fn tails_md() {
    // Levels by the formulas of the page.
    close(40.0 + 50.0 * (6_000_f64.powf(0.1) - 1.0), 109.3, 0.05);
    let y = -(1.0 - 1.0 / 5_000_f64).ln();
    close(60.0 + 80.0 * (y.powf(-0.1) - 1.0), 167.5, 0.05);
}
