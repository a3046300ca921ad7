// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use super::*;
use crate::testing::Samples;

fn options() -> Options {
    Options {
        draws: 999,
        ..Options::default()
    }
}

/// Runs at 50 that vary by 5 %, and from `at` on by `factor` more.
fn series(n: usize, at: usize, factor: f64, seed: u64) -> Vec<f64> {
    let mut samples = Samples::new(seed);
    let level = |run: usize| if run >= at { factor } else { 1.0 };
    (0..n)
        .map(|run| samples.lognormal(50_f64.ln(), 0.05) * level(run))
        .collect()
}

#[test]
fn a_step_is_found_with_its_place_and_its_size() {
    let values = series(60, 40, 1.2, 3);
    let history = changes(&values, None, &options()).unwrap();
    let [change] = history.changes.as_slice() else {
        panic!("{:?}", history.changes);
    };
    assert!((38..=42).contains(&change.first), "{change:?}");
    assert!(change.places.0 <= 40 && 40 <= change.places.1, "{change:?}");
    assert!(change.places.1 - change.places.0 <= 8, "{change:?}");
    let ratio = change.ratio.unwrap();
    let interval = ratio.interval.unwrap();
    assert!(interval.low < 1.2 && 1.2 < interval.high, "{ratio:?}");
    assert!(interval.low > 1.05, "{ratio:?}");
    let deviation = history.deviation.unwrap();
    assert!((0.035..0.07).contains(&deviation.estimate), "{deviation:?}");
    assert_eq!(history.segments.len(), 2);
    assert_eq!(history.segments[1].runs.end, 60);
    assert!(history.newest.unwrap().change.is_none(), "it is old");
}

#[test]
fn a_level_that_goes_back_is_two_changes() {
    let mut values = series(90, 90, 1.0, 4);
    values[40..52].iter_mut().for_each(|x| *x *= 1.25);
    let history = changes(&values, None, &options()).unwrap();
    let firsts: Vec<usize> = history.changes.iter().map(|c| c.first).collect();
    assert_eq!(firsts.len(), 2, "{firsts:?}");
    assert!(firsts[0].abs_diff(40) <= 1 && firsts[1].abs_diff(52) <= 1);
}

#[test]
fn a_new_step_is_new_for_ten_runs() {
    for (after, is_new) in [(8, true), (RECENT, true), (RECENT + 1, false), (20, false)] {
        let values = series(60 + after, 60, 1.4, 5);
        let history = changes(&values, None, &options()).unwrap();
        let newest = history.newest.unwrap();
        assert_eq!(newest.change, is_new.then_some(60), "{after} runs after");
        assert_eq!(history.changes.len(), 1, "{after} runs after");
    }
}

#[test]
fn constant_tied_and_short_series_have_no_change_and_no_panic() {
    let flat = changes(&[7.0; 50], None, &options()).unwrap();
    assert!(flat.changes.is_empty() && flat.p.is_none());
    assert_eq!(flat.deviation.unwrap().estimate, 0.0);
    let tied: Vec<f64> = (0..60).map(|i| f64::from(i * 7 % 3)).collect();
    assert!(changes(&tied, None, &options()).unwrap().changes.is_empty());
    for n in 2..LEAST_RUNS {
        let history = changes(&series(n, n / 2, 9.0, 1), None, &options()).unwrap();
        assert!(history.changes.is_empty() && history.newest.is_none() && history.p.is_none());
    }
    assert!(changes(&[1.0], None, &options()).is_none());
    assert!(changes(&[1.0, f64::NAN], None, &options()).is_none());
    assert!(changes(&[1.0, 2.0], Some(&[true]), &options()).is_none());
}

#[test]
fn a_constant_series_that_steps_is_found() {
    let mut values = vec![4.0; 30];
    values[18..].fill(5.0);
    let history = changes(&values, None, &options()).unwrap();
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.changes[0].first, 18);
    // That of 19 runs the one that differs is the last has a probability of 5.3 %.
    let places = history.changes[0].places;
    assert!(
        (17..=18).contains(&places.0) && (18..=19).contains(&places.1),
        "{places:?}"
    );
}

#[test]
fn the_level_changes_only_where_it_may() {
    let values = series(60, 31, 1.3, 6);
    let places: Vec<bool> = (0..60).map(|run| run % 5 == 0).collect();
    let history = changes(&values, Some(&places), &options()).unwrap();
    assert_eq!(history.changes.len(), 1);
    assert_eq!(history.changes[0].first % 5, 0);
    let nowhere = vec![false; 60];
    let history = changes(&values, Some(&nowhere), &options()).unwrap();
    assert!(history.changes.is_empty() && history.p.is_none());
}

#[test]
fn single_far_runs_are_no_change() {
    let mut values = series(60, 60, 1.0, 7);
    values[20] = 5_000.0;
    values[41] = 9_000.0;
    values[59] = 9_000.0;
    let history = changes(&values, None, &options()).unwrap();
    assert!(history.changes.is_empty(), "{:?}", history.changes);
    assert!(history.newest.unwrap().change.is_none());
}

#[test]
fn a_zero_is_compared_on_the_linear_scale() {
    let mut samples = Samples::new(8);
    let values: Vec<f64> = (0..40)
        .map(|run| {
            if run < 20 {
                0.0
            } else {
                3.0 + samples.uniform()
            }
        })
        .collect();
    let history = changes(&values, None, &options()).unwrap();
    assert_eq!(history.scale, Scale::Linear);
    assert_eq!(history.changes.len(), 1);
    assert!(history.changes[0].ratio.is_none());
    let interval = history.changes[0].difference.interval.unwrap();
    assert!(interval.low > 2.5 && interval.high < 4.5, "{interval:?}");
}

#[test]
fn the_correlation_of_neighbours_is_that_of_the_chain_whatever_steps_it_has() {
    // In short series with a clear step it is too high, and never too low.
    for (runs, step, most) in [
        (100, 2.0, 0.13),
        (100, 7.0, 0.13),
        (30, 0.0, 0.15),
        (30, 7.0, 0.22),
    ] {
        let mut samples = Samples::new(9);
        for phi in [0.0, 0.3, 0.6] {
            let (mut sum, mut before) = (0.0, samples.normal());
            for _ in 0..200 {
                let mut chain = Vec::new();
                for run in 0..runs {
                    before = phi * before + (1.0_f64 - phi * phi).sqrt() * samples.normal();
                    chain.push(before + if run >= runs / 2 { step } else { 0.0 });
                }
                sum += correlation(&chain);
            }
            let mean = sum / 200.0;
            let fits = (phi - 0.05..phi + most).contains(&mean);
            assert!(fits, "{runs} {step} {phi}: {mean}");
        }
    }
}

/// C(n, k).
fn choices(n: usize, k: usize) -> f64 {
    (1..=k).map(|i| (n - k + i) as f64 / i as f64).product()
}

#[test]
fn no_p_value_is_below_what_permutations_of_so_few_runs_can_give() {
    let mut allowed_for = 0;
    for (n, after) in [(10, 3), (11, 4), (13, 6), (16, 5)] {
        for seed in 0..30 {
            let values = series(n, n - after, 10.0, seed);
            let history = changes(&values, None, &Options::default()).unwrap();
            allowed_for += usize::from(history.correlation > 0.0);
            let least = 1.0 / choices(n, after) * (1.0 - 1e-9);
            let newest = history.newest.unwrap();
            let each = history.changes.iter().map(|change| change.p);
            for p in each.chain(history.p).chain([newest.p]) {
                assert!(p >= least, "{n} {after} {seed}: {p} < {least}, {history:?}");
            }
        }
    }
    assert!(allowed_for > 10, "{allowed_for}");
}

#[test]
fn runs_of_which_no_change_passes_the_level_of_a_look_are_too_few() {
    let of_four = Options {
        level: 0.05 / 4.0,
        ..Options::default()
    };
    for n in 10..=20 {
        let flat = changes(&series(n, n, 1.0, 3), None, &of_four).unwrap();
        let newest = flat.newest.unwrap();
        // 2 / C(16, 8) is 0.0155 %, 2 / C(15, 7) 0.031 %, and the level 0.019 %.
        let expected = (n < 16).then_some(TooFew {
            runs: n,
            needed: 16,
        });
        assert_eq!(newest.too_few, expected, "{n}");
    }
    for seed in 0..3 {
        let newest = |n: usize| {
            changes(&series(n, n - 8, 100.0, seed), None, &of_four)
                .unwrap()
                .newest
                .unwrap()
        };
        assert_eq!(
            (newest(15).change, newest(16).change),
            (None, Some(8)),
            "{seed}"
        );
    }
    // Between commits: one whose newest runs are too few, and one that is not new.
    let at = |first: usize| -> Vec<bool> { (0..60).map(|at| at == 0 || at == first).collect() };
    for (first, is_too_few) in [(58, true), (57, false), (50, false), (40, false)] {
        let history = changes(&series(60, 60, 1.0, 4), Some(&at(first)), &of_four).unwrap();
        let too_few = history.newest.unwrap().too_few;
        assert_eq!(too_few.is_some(), is_too_few, "{first}: {too_few:?}");
    }
}

#[test]
fn the_newest_label_is_new_however_many_runs_it_has() {
    for of_each in [5, 10, 11, 12, 30] {
        let n = 6 * of_each;
        let places: Vec<bool> = (0..n).map(|at| at % of_each == 0).collect();
        let values = series(n, n - of_each, 1.5, 7);
        let newest = changes(&values, Some(&places), &options()).unwrap();
        let newest = newest.newest.unwrap();
        assert_eq!(newest.change, Some(n - of_each), "{of_each}");
        assert_eq!(newest.recent, of_each.max(RECENT));
    }
}
