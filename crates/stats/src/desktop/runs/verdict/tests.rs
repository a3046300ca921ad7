// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use super::*;
use crate::testing::{Samples, assert_close};

/// Run-level values around `center` with a deviation of `share`.
fn runs(samples: &mut Samples, n: usize, center: f64, share: f64) -> Vec<f64> {
    (0..n)
        .map(|_| samples.lognormal(center.ln(), share))
        .collect()
}

fn ask(a: &[f64], b: &[f64]) -> Outcome {
    let question = Question::new(a, b, Direction::LowerIsBetter);
    compare(&question, &Options::default()).unwrap()
}

#[test]
fn a_clear_effect_is_worse_or_better_by_the_direction() {
    let mut samples = Samples::new(1);
    let a = runs(&mut samples, 8, 50.0, 0.02);
    let b = runs(&mut samples, 8, 60.0, 0.02);
    let outcome = ask(&a, &b);
    assert_eq!(outcome.verdict, Verdict::Worse);
    let ratio = outcome.ratio.unwrap();
    let interval = ratio.interval.unwrap();
    assert!(interval.low < 1.2 && 1.2 < interval.high, "{interval:?}");
    assert!((ratio.estimate - 1.2).abs() < 0.04);
    assert!((outcome.difference.unwrap().estimate - 10.0).abs() < 2.0);
    assert_eq!(ask(&b, &a).verdict, Verdict::Better);
    let asked = |direction| {
        let question = Question::new(&a, &b, direction);
        compare(&question, &Options::default()).unwrap().verdict
    };
    assert_eq!(asked(Direction::HigherIsBetter), Verdict::Better);
    assert_eq!(asked(Direction::Neither), Verdict::Different);
}

#[test]
fn equal_runs_have_no_interval_of_no_width() {
    for runs in [2, 8] {
        let outcome = ask(&vec![27.0; runs], &vec![31.0; runs]);
        assert_eq!(outcome.baseline.interval, None);
        assert_eq!(outcome.candidate.interval, None);
        assert_close(outcome.baseline.estimate, 27.0, 1e-12);
        assert_eq!(outcome.baseline.deviation, Some(0.0));
    }
    // Beside a baseline that does not vary, a candidate that does has an interval of both differences.
    let mut samples = Samples::new(3);
    let outcome = ask(&[50.0; 8], &runs(&mut samples, 8, 60.0, 0.02));
    assert_eq!(outcome.baseline.interval, None);
    let [ratio, difference] = [outcome.ratio, outcome.difference].map(|of| of.unwrap().interval);
    let (ratio, difference) = (ratio.unwrap(), difference.unwrap());
    assert!((difference.low - 50.0 * (ratio.low - 1.0)).abs() < 1e-9);
    assert!((difference.high - 50.0 * (ratio.high - 1.0)).abs() < 1e-9);
}

#[test]
fn one_run_a_side_concludes_nothing_and_says_how_many_are_missing() {
    let outcome = ask(&[50.0], &[90.0]);
    assert_eq!(outcome.verdict, Verdict::TooFewRuns { more: Some(3) });
    assert_eq!(outcome.test, None);
    assert_close(outcome.ratio.map(|r| r.estimate), 1.8, 1e-12);
    assert_eq!(outcome.ratio.unwrap().interval, None);
    let none = ask(&[], &[90.0]);
    assert_eq!(none.ratio, None);
    assert_eq!(none.verdict, Verdict::TooFewRuns { more: Some(4) });
}

#[test]
fn what_is_missing_is_enough_for_all_that_is_asked() {
    let (a, b) = ([50.0], [90.0]);
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    // 4 a side: 4 · 2/70 is no level. 5 a side: 4 · 2/252 is 0.64 of one.
    for outcome in compare_all(&[question; 4], &Options::default()).unwrap() {
        assert_eq!(outcome.verdict, Verdict::TooFewRuns { more: Some(4) });
    }
}

#[test]
fn three_runs_a_side_are_too_few_however_far_apart() {
    let outcome = ask(&[50.0, 51.0, 50.5], &[500.0, 502.0, 501.0]);
    assert_eq!(outcome.verdict, Verdict::TooFewRuns { more: Some(1) });
    assert_eq!(outcome.interval_method, Some(IntervalMethod::Welch));
    assert!(outcome.ratio.unwrap().interval.unwrap().low > 5.0);
}

#[test]
fn noisy_blocks_that_lie_on_one_side_by_chance_promise_nothing_for_a_few_more() {
    let before = [50.0, 50.0, 50.0, 50.0];
    let after = |spread: f64| [1.1, 1.1, 1.1, 1.1 + spread].map(|ratio| 50.0 * ratio);
    let more = |after: &[f64]| {
        let blocks = [0, 1, 2, 3];
        let question = Question::new(&before, after, Direction::LowerIsBetter);
        let question = question.in_blocks(&blocks, &blocks);
        // Nine comparisons: the tests of four blocks, and of ten, can reject nothing.
        let outcomes = compare_all(&[question; 9], &Options::default()).unwrap();
        match outcomes[0].verdict {
            Verdict::TooFewRuns { more } => more.unwrap(),
            other => panic!("{other:?}"),
        }
    };
    // All are slower by about the same: what is missing is a test that can say so.
    assert_eq!(more(&after(0.01)), 6);
    // One of four is slower by much: as likely as not the next are as fast as before.
    assert!(more(&after(3.0)) > 40, "{}", more(&after(3.0)));
}

#[test]
fn quiet_runs_without_an_effect_are_not_distinguishable_and_noisy_ones_too_few() {
    let mut samples = Samples::new(3);
    let quiet: Vec<_> = (0..2).map(|_| runs(&mut samples, 12, 50.0, 0.03)).collect();
    let outcome = ask(&quiet[0], &quiet[1]);
    assert_eq!(outcome.verdict, Verdict::NotDistinguishable);
    assert!(outcome.smallest_detectable.unwrap() < 0.1);
    let noisy: Vec<_> = (0..2).map(|_| runs(&mut samples, 12, 50.0, 0.5)).collect();
    let outcome = ask(&noisy[0], &noisy[1]);
    let Verdict::TooFewRuns { more: Some(more) } = outcome.verdict else {
        panic!("{outcome:?}");
    };
    // 16 (0.5/0.095)² = 440.
    assert!((150..1_200).contains(&more), "{more}");
    assert!(outcome.smallest_detectable.unwrap() > 0.1);
}

#[test]
fn the_same_within_a_margin_can_be_shown_and_wins_over_a_small_effect() {
    let mut samples = Samples::new(4);
    let a = runs(&mut samples, 12, 50.0, 0.01);
    let b = runs(&mut samples, 12, 51.0, 0.01);
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    let within = |margin: Option<f64>| {
        let options = Options {
            margin: margin.map(Margin::Same),
            ..Options::default()
        };
        compare(&question, &options).unwrap()
    };
    assert_eq!(within(None).verdict, Verdict::Worse);
    assert_eq!(within(Some(0.05)).verdict, Verdict::Equivalent);
    assert!(within(Some(0.05)).test.unwrap().p < 0.05);
    assert_eq!(within(Some(0.001)).verdict, Verdict::Worse);
}

#[test]
fn no_worse_than_a_margin_looks_to_one_side_alone() {
    let mut samples = Samples::new(4);
    let a = runs(&mut samples, 12, 50.0, 0.01);
    let (up, down) = (
        runs(&mut samples, 12, 51.0, 0.01),
        runs(&mut samples, 12, 40.0, 0.01),
    );
    let ask = |b: &[f64], direction, share| {
        let options = Options {
            margin: Some(Margin::NotWorse(share)),
            ..Options::default()
        };
        compare(&Question::new(&a, b, direction), &options).unwrap()
    };
    let lower = Direction::LowerIsBetter;
    // 2 % up: a small effect inside of 5 %, and one beyond 0.1 %.
    assert_eq!(ask(&up, lower, 0.05).verdict, Verdict::NotWorse);
    assert_eq!(ask(&up, lower, 0.001).verdict, Verdict::Worse);
    // What got better is not worse, however far it went.
    let better = ask(&down, lower, 0.05);
    assert_eq!(better.verdict, Verdict::Better);
    assert!(better.margin.unwrap().p.unwrap() < 0.001, "{better:?}");
    assert_eq!(
        ask(&down, Direction::HigherIsBetter, 0.05).verdict,
        Verdict::Worse
    );
    // Nothing is worse where no direction is bad.
    let none = ask(&up, Direction::Neither, 0.05);
    assert_eq!(
        (none.verdict, none.margin.unwrap().p),
        (Verdict::Different, None)
    );
    // One side takes fewer runs than two.
    let pilot = Pilot {
        variances: &[0.0025, 0.0025],
        freedom: f64::INFINITY,
    };
    let [one, two] = [runs_to_show_not_worse, runs_to_show_equivalence]
        .map(|needed| needed(pilot, 0.05, 0.05, 0.8).unwrap());
    assert!(one < two, "{one} and {two}");
}

#[test]
fn a_margin_of_what_may_be_0_counts_the_error_of_the_baseline() {
    // Misses of 12 runs a side. 1.9 of the baseline's mean taken as known, p would be 0.018: shown at half of 5 %.
    let a = [1, 1, 0, 2, 15, 8, 4, 7, 0, 8, 2, 1].map(f64::from);
    let b = [8, 7, 3, 2, 2, 6, 2, 1, 1, 7, 4, 8].map(f64::from);
    let p = |a: &[f64], b: &[f64], direction| {
        let options = Options {
            margin: Some(Margin::NotWorse(0.9)),
            ..Options::default()
        };
        let outcome = compare(&Question::new(a, b, direction), &options).unwrap();
        assert_eq!(outcome.scale, Scale::Linear);
        assert_ne!(outcome.verdict, Verdict::NotWorse);
        outcome.margin.unwrap().p.unwrap()
    };
    // Welch's, of b against 1.9 times a: scipy.stats.ttest_ind(b, 1.9 * a, equal_var=False, alternative="less").
    let less = p(&a, &b, Direction::LowerIsBetter);
    assert!((0.1018..0.11).contains(&less), "{less}");
    // That a is not less than b by the same factor is the same claim.
    let more = p(&b, &a, Direction::HigherIsBetter);
    assert!((less - more).abs() < 0.01, "{less} {more}");
}

#[test]
fn more_figures_make_each_verdict_harder() {
    let a = [50.0, 51.0, 50.5, 50.2];
    let b = [55.0, 56.0, 55.5, 55.2];
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    assert_eq!(ask(&a, &b).verdict, Verdict::Worse);
    let outcomes = compare_all(&[question; 4], &Options::default()).unwrap();
    for outcome in outcomes {
        assert_eq!(outcome.verdict, Verdict::TooFewRuns { more: Some(1) });
        let test = outcome.test.unwrap();
        // Four questions, and 0.64 of the level at this look.
        assert_close(Some(test.adjusted_p), 4.0 / 0.64 * test.p, 1e-12);
    }
}

#[test]
fn zeros_are_compared_as_differences() {
    let outcome = ask(&[0.0, 0.0, 0.0, 0.1, 0.0], &[2.0, 3.0, 2.5, 1.5, 2.0]);
    assert_eq!(outcome.scale, Scale::Linear);
    assert_eq!(outcome.verdict, Verdict::Worse);
    let difference = outcome.difference.unwrap();
    assert_close(Some(difference.estimate), 2.18, 1e-12);
    assert!(difference.interval.unwrap().low > 0.0);
    assert!(outcome.baseline.interval.unwrap().low >= 0.0);
}

#[test]
fn of_a_baseline_of_nothing_but_zeros_no_equality_is_claimed() {
    let never = [0.0; 6];
    for (a, b) in [
        (never, never),
        (never, [0.0, 0.0, 5.0, 0.0, 300.0, 0.0]),
        ([0.0, 0.0, 5.0, 0.0, 300.0, 0.0], never),
    ] {
        let outcome = ask(&a, &b);
        assert!(
            matches!(outcome.verdict, Verdict::TooFewRuns { .. }),
            "{outcome:?}"
        );
    }
    let nothing = ask(&never, &never);
    assert_eq!(nothing.verdict, Verdict::TooFewRuns { more: None });
    assert_eq!((nothing.smallest_detectable, nothing.ratio), (None, None));
    // What matters was said: then there is something to compare with.
    let question = Question::new(&never, &never, Direction::LowerIsBetter);
    let options = Options {
        difference: Some(1.0),
        ..Options::default()
    };
    let outcome = compare(&question, &options).unwrap();
    assert_eq!(outcome.verdict, Verdict::NotDistinguishable);
}

#[test]
fn a_few_runs_that_vary_more_than_twenty_others_have_no_verdict() {
    let mut samples = Samples::new(9);
    let many = runs(&mut samples, 20, 50.0, 0.05);
    for (few, lopsided) in [
        ([60.0, 90.0, 130.0].as_slice(), true),
        (&[60.0, 90.0, 130.0, 70.0, 110.0, 95.0], false),
    ] {
        let outcome = ask(&many, few);
        assert_eq!(outcome.lopsided, lopsided, "{outcome:?}");
        let verdict = outcome.verdict;
        let wanted = match lopsided {
            true => Verdict::TooFewRuns { more: Some(3) },
            false => Verdict::Worse,
        };
        assert_eq!(verdict, wanted, "{outcome:?}");
        assert_eq!(ask(few, &many).lopsided, lopsided);
    }
}

#[test]
fn a_difference_that_matters_decides_where_a_share_of_almost_nothing_cannot() {
    let a = [0.0, 0.1, 0.0, 0.2, 0.0, 0.1];
    let b = [0.1, 0.0, 0.2, 0.0, 0.1, 0.1];
    let of = |difference| {
        let question = Question::new(&a, &b, Direction::LowerIsBetter);
        let options = Options {
            difference,
            ..Options::default()
        };
        compare(&question, &options).unwrap().verdict
    };
    assert!(matches!(of(None), Verdict::TooFewRuns { more: Some(more) } if more > 100));
    assert_eq!(of(Some(1.0)), Verdict::NotDistinguishable);
    assert!(matches!(
        of(Some(0.01)),
        Verdict::TooFewRuns { more: Some(_) }
    ));
    // By their logarithms: 10 of a baseline of 50 is a fifth, which so small a spread would show.
    let (a, b) = ([50.0, 51.0, 49.0, 50.0], [50.5, 49.5, 51.0, 49.0]);
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    let with = |difference| Options {
        difference: Some(difference),
        ..Options::default()
    };
    let of = |difference| compare(&question, &with(difference)).unwrap().verdict;
    assert_eq!(of(10.0), Verdict::NotDistinguishable);
    assert!(matches!(of(0.5), Verdict::TooFewRuns { more: Some(_) }));
}

#[test]
fn blocks_find_an_effect_that_drift_hides() {
    let mut samples = Samples::new(5);
    let drift: Vec<f64> = (0..8).map(|i| 50.0 * 1.15_f64.powi(i)).collect();
    let a: Vec<f64> = drift
        .iter()
        .map(|x| x * samples.lognormal(0.0, 0.01))
        .collect();
    let b: Vec<f64> = drift
        .iter()
        .map(|x| x * samples.lognormal(0.05, 0.01))
        .collect();
    let blocks: Vec<u64> = (0..8).collect();
    assert!(matches!(
        ask(&a, &b).verdict,
        Verdict::TooFewRuns { more: Some(_) }
    ));
    let question = Question::new(&a, &b, Direction::LowerIsBetter).in_blocks(&blocks, &blocks);
    let outcome = compare(&question, &Options::default()).unwrap();
    assert_eq!(outcome.verdict, Verdict::Worse);
    assert_eq!(outcome.pairs, Some(8));
    assert_close(Some(outcome.test.unwrap().p), 2.0 / 256.0, 1e-12);
}

#[test]
fn the_same_seed_gives_the_same_outcome_with_any_method() {
    let mut samples = Samples::new(6);
    let a = runs(&mut samples, 14, 50.0, 0.1);
    let b = runs(&mut samples, 14, 53.0, 0.1);
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    for interval in [
        IntervalMethod::Permutation,
        IntervalMethod::Studentised,
        IntervalMethod::Welch,
    ] {
        let options = Options {
            interval,
            ..Options::default()
        };
        let outcome = compare(&question, &options).unwrap();
        assert_eq!(outcome, compare(&question, &options).unwrap());
        assert_eq!(outcome.interval_method, Some(interval));
        let ratio = outcome.ratio.unwrap();
        let ends = ratio.interval.unwrap();
        assert!(ends.low < ratio.estimate && ratio.estimate < ends.high);
    }
}

#[test]
fn while_runs_are_too_few_a_verdict_takes_a_fifth_of_the_level() {
    let mut samples = Samples::new(8);
    // 20 % between runs: six of them are too few for 10 %, and an effect of a third is found now and then.
    let mut early = Vec::new();
    for _ in 0..40 {
        let a = runs(&mut samples, 6, 50.0, 0.2);
        let b = runs(&mut samples, 6, 70.0, 0.2);
        let outcome = ask(&a, &b);
        let test = outcome.test.unwrap();
        assert_close(Some(test.adjusted_p), (5.0 * test.p).min(1.0), 1e-12);
        early.push((test.p, outcome.verdict));
    }
    for (p, verdict) in &early {
        assert_eq!(*verdict == Verdict::Worse, *p <= 0.01, "{p}: {verdict:?}");
    }
    assert!(early.iter().any(|(p, _)| *p > 0.01 && *p <= 0.05));
    assert!(early.iter().any(|(p, _)| *p <= 0.01));
}

#[test]
fn four_runs_a_side_promise_no_size_of_effect_and_groups_apart_need_one_more() {
    let mut samples = Samples::new(9);
    let a = runs(&mut samples, 4, 50.0, 0.2);
    let b = runs(&mut samples, 4, 500.0, 0.2);
    let outcome = ask(&a, &b);
    assert_eq!(outcome.smallest_detectable, None);
    assert_eq!(outcome.verdict, Verdict::TooFewRuns { more: Some(1) });
}

/// Eight blocks of which two are slow, and the candidate missing in those: of all runs the candidate's are faster.
fn of_blocks(baseline: &[f64; 8], candidate: &[f64; 6]) -> Outcome {
    let blocks: Vec<u64> = (0..8).collect();
    let question = Question::new(baseline, candidate, Direction::LowerIsBetter);
    compare(
        &question.in_blocks(&blocks, &blocks[..6]),
        &Options::default(),
    )
    .unwrap()
}

#[test]
fn both_estimates_are_of_the_pairs_that_the_interval_is_of() {
    let a = [50.0, 51.0, 49.0, 50.5, 49.5, 50.2, 100.0, 110.0];
    let b = [0.998, 1.001, 1.003, 0.999, 1.002, 0.997];
    let b: Vec<f64> = a.iter().zip(b).map(|(a, noise)| 1.04 * a * noise).collect();
    let outcome = of_blocks(&a, &b.try_into().unwrap());
    assert_eq!(outcome.scale, Scale::Log);
    assert_eq!((outcome.pairs, outcome.unpaired), (Some(6), 2));
    assert_eq!(outcome.verdict, Verdict::Worse);
    let (ratio, difference) = (outcome.ratio.unwrap(), outcome.difference.unwrap());
    assert!((ratio.estimate - 1.04).abs() < 0.002, "{ratio:?}");
    assert!((difference.estimate - 2.0).abs() < 0.1, "{difference:?}");
    for effect in [ratio, difference] {
        let ends = effect.interval.unwrap();
        assert!(
            ends.low <= effect.estimate && effect.estimate <= ends.high,
            "{effect:?}"
        );
    }
}

#[test]
fn on_the_linear_scale_the_ratio_is_of_the_pairs_too() {
    let a = [0.0, 50.0, 51.0, 49.0, 50.5, 49.5, 100.0, 110.0];
    let outcome = of_blocks(&a, &[2.0, 52.1, 52.9, 51.0, 52.4, 51.6]);
    assert_eq!(outcome.scale, Scale::Linear);
    let (ratio, difference) = (outcome.ratio.unwrap(), outcome.difference.unwrap());
    assert_close(Some(difference.estimate), 2.0, 1e-9);
    assert_close(Some(ratio.estimate), 262.0 / 250.0, 1e-12);
    let ends = difference.interval.unwrap();
    assert!(ends.low <= 2.0 && 2.0 <= ends.high, "{ends:?}");
}

/// Two levels, which is where a bootstrap of few runs is too narrow.
fn bimodal(samples: &mut Samples, n: usize, center: f64) -> Vec<f64> {
    let level = |u: f64| if u < 0.3 { 1.4 } else { 1.0 };
    (0..n)
        .map(|_| level(samples.uniform()) * samples.lognormal(center.ln(), 0.03))
        .collect()
}

#[test]
fn the_interval_of_the_difference_agrees_with_that_of_the_ratio_and_covers() {
    let mut samples = Samples::new(19);
    // The geometric mean of the two levels.
    let mean = |center: f64| center * 1.4_f64.powf(0.3) * 0.03_f64.powi(2).exp().sqrt();
    for (factor, sizes) in [(1.0, (5, 15)), (1.5, (8, 8)), (1.0, (6, 6))] {
        let mut missed = 0;
        for _ in 0..200 {
            let a = bimodal(&mut samples, sizes.0, 50.0);
            let b = bimodal(&mut samples, sizes.1, 50.0 * factor);
            let outcome = ask(&a, &b);
            let ratio = outcome.ratio.unwrap().interval.unwrap();
            let difference = outcome.difference.unwrap();
            let ends = difference.interval.unwrap();
            let includes = |low: f64, high: f64, none: f64| low <= none && none <= high;
            assert_eq!(
                includes(ends.low, ends.high, 0.0),
                includes(ratio.low, ratio.high, 1.0),
                "{ratio:?} {ends:?}"
            );
            assert!(includes(ends.low, ends.high, difference.estimate));
            let true_difference = mean(50.0) * (factor - 1.0);
            missed += u32::from(!includes(ends.low, ends.high, true_difference));
        }
        // 5 % of 200, and 2.6 of their deviations.
        assert!(missed <= 18, "{factor} {sizes:?}: {missed}");
    }
}
