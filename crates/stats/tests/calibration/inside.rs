// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Intervals inside a run, and advice that is followed, at a few hundred experiments each. Bounds are three
//! standard errors away from what is promised.

use punctual_stats::RandomSource;

use crate::advice::Runs;
use crate::correlation::{FIGURES, Process, Seen};

/// Three standard errors of `n` trials.
fn error(rate: f64, n: usize) -> f64 {
    3.0 * (rate * (1.0 - rate) / n as f64).sqrt()
}

fn remembering(time: f64) -> Process {
    Process::Remembering {
        time,
        deviation: 0.2,
    }
}

fn seen(process: Process, samples: usize, experiments: u64) -> Vec<Seen> {
    let truth = process.truth();
    (0..experiments)
        .map(|seed| process.intervals(truth, samples, &mut RandomSource::new(seed + 60_000)))
        .collect()
}

#[test]
fn intervals_inside_a_run_cover_however_long_samples_depend_on_each_other() {
    // Long against the correlation, and just long enough.
    for (time, samples, experiments) in [
        (1.0, 2_000, 400),
        (19.0, 2_000, 600),
        (19.0, 10_000, 300),
        (199.0, 20_000, 300),
    ] {
        let seen = seen(remembering(time), samples, experiments);
        for (at, figure) in FIGURES.iter().enumerate() {
            let made = seen.iter().filter(|seen| seen.made[at]).count();
            let covered = seen.iter().filter(|seen| seen.covered[at]).count();
            let share = covered as f64 / made.max(1) as f64;
            let what = format!("{figure}, {time}, {samples}: {covered} of {made}");
            assert!(made == 0 || share >= 0.93 - error(0.93, made), "{what}");
            if *figure == "mean" {
                assert!(made * 3 > seen.len(), "{what}");
                assert!(share <= 0.97 + error(0.97, made), "{what}");
            }
        }
    }
}

#[test]
fn a_run_that_is_short_against_its_correlation_has_no_interval() {
    for (time, samples, experiments) in [
        (199.0, 2_000, 100),
        (199.0, 10_000, 100),
        (1_999.0, 10_000, 100),
        (1_999.0, 60_000, 20),
    ] {
        let seen = seen(remembering(time), samples, experiments);
        for (at, figure) in FIGURES.iter().enumerate() {
            let made = seen.iter().filter(|seen| seen.made[at]).count();
            // 50 independent samples are taken for 100 once in a hundred runs or less.
            assert!(made <= 1, "{figure}, {time}, {samples}: {made}");
        }
    }
}

#[test]
fn bursts_that_a_run_has_a_hundred_of_leave_intervals_right() {
    let process = Process::Bursts {
        every: 200.0,
        length: 5.0,
    };
    let seen = seen(process, 30_000, 150);
    for (at, figure) in FIGURES.iter().enumerate() {
        let made = seen.iter().filter(|seen| seen.made[at]).count();
        let covered = seen.iter().filter(|seen| seen.covered[at]).count();
        let least = (0.93 - error(0.93, made.max(1))) * made as f64;
        assert!(covered as f64 >= least, "{figure}: {covered} of {made}");
    }
}

#[test]
fn who_follows_the_advice_finds_the_effect_and_is_not_wrong_more_often() {
    const EXPERIMENTS: usize = 300;
    for blocked in [false, true] {
        let runs = Runs {
            first: if blocked { 9 } else { 6 },
            deviation: 0.1,
            disturbed: 0.0,
            blocked,
        };
        let (mut wrong, mut advised, mut found, mut stated, mut shown) = (0, 0, 0, 0, 0);
        for seed in 0..EXPERIMENTS as u64 {
            let mut source = RandomSource::new(seed + 70_000);
            wrong += usize::from(runs.follow(&mut source, 1.0).said[2]);
            let some = runs.follow(&mut source, 1.1);
            advised += usize::from(some.advised);
            found += usize::from(some.advised && some.said[1]);
            let could = runs.could_show(&mut source);
            stated += usize::from(could.is_some());
            shown += usize::from(could == Some(true));
        }
        let share = |hits: usize, n: usize| hits as f64 / n as f64;
        let wrong = share(wrong, EXPERIMENTS);
        assert!(wrong <= 0.05 + error(0.05, EXPERIMENTS), "wrong {wrong}");
        let found = share(found, advised);
        assert!(advised * 2 > EXPERIMENTS, "{advised}");
        assert!(found >= 0.8 - error(0.8, advised), "found {found}");
        let shown = share(shown, stated);
        assert!(shown >= 0.8 - error(0.8, stated), "could show {shown}");
    }
}
