// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Changes in series of runs: how often one is seen where there is none, how soon one is found, and
//! whether its intervals hold it.

use punctual_stats::RandomSource;
use punctual_stats::history::{Options, RECENT, changes};

use crate::counting::{Bounds, count, percent, rate};

/// What runs do without a change, besides how neighbours resemble each other.
pub(crate) type Noise = fn(&mut RandomSource) -> f64;

const NOISES: [(&str, Noise); 4] = [
    ("normal", |s| s.normal()),
    ("skewed (exponential)", |s| -s.uniform().ln()),
    ("heavy tails (t, 2)", |s| {
        s.normal() / (-s.uniform().ln()).sqrt()
    }),
    ("few distinct values", |s| s.normal().round()),
];

const DEVIATION: f64 = 0.05;

/// Runs at 50 that vary by 5 %, each like the one before by `phi`, and `factor` times as high from `first` on.
pub(crate) fn runs(
    source: &mut RandomSource,
    n: usize,
    noise: Noise,
    phi: f64,
    (first, factor): (usize, f64),
) -> Vec<f64> {
    let mut before = 0.0;
    let settle = if phi > 0.0 { 50 } else { 0 };
    let mut chain = || {
        before = phi * before + (1.0 - phi * phi).sqrt() * noise(source);
        before
    };
    for _ in 0..settle {
        chain();
    }
    (0..n)
        .map(|run| 50.0 * (DEVIATION * chain()).exp() * if run >= first { factor } else { 1.0 })
        .collect()
}

fn options() -> Options {
    Options {
        draws: 1_999,
        ..Options::default()
    }
}

pub(crate) fn tables(experiments: u32, bounds: &mut Bounds) {
    false_alarms(experiments, bounds);
    power(experiments, bounds);
    nightly((experiments / 5).max(50), bounds);
}

fn false_alarms(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\nSeries without a change in which one is found, % of {experiments} (95 % interval; at most 5)\n\n{:<26}{:<18}{:<18}{:<18}{:<18}100, 0.4",
        "runs, correlation", "30, 0", "100, 0", "100, 0.1", "100, 0.2"
    );
    for (name, noise) in NOISES {
        let cells = [(30, 0.0), (100, 0.0), (100, 0.1), (100, 0.2), (100, 0.4)].map(|(n, phi)| {
            let [found] = count(experiments, |source| {
                let values = runs(source, n, noise, phi, (n, 1.0));
                let history = changes(&values, None, &options());
                [u32::from(
                    history.is_some_and(|history| !history.changes.is_empty()),
                )]
            });
            let what = format!("series, {name}, {n} runs, correlated {phi}");
            bounds.check(&what, found, experiments, 0.0, 0.05);
            format!("{:<18}", rate(found, experiments))
        });
        println!("{name:<26}{}", cells.concat().trim_end());
    }
}

fn power(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\nA step of 10 % at 5 % deviation, % of {experiments}: found at one look (of 100, after 6 runs: at least 90); of those found,\n\
         how often the intervals hold the place and the size (at least 95); runs in the interval of the place\n\n{:<26}{:>8}{:>8}{:>8}{:>16}",
        "runs, of them after it", "found", "place", "size", "places, mean"
    );
    for (n, after) in [
        (100, 4),
        (100, 6),
        (100, 8),
        (100, 50),
        (40, 6),
        (40, 10),
        (20, 10),
    ] {
        let first = n - after;
        let [found, place, size, places] = count(experiments, |source| {
            let values = runs(source, n, NOISES[0].1, 0.0, (first, 1.1));
            let history = changes(&values, None, &options());
            let found = history.iter().flat_map(|history| &history.changes);
            let mut found = found.map(|change| {
                let (low, high) = change.places;
                let interval = change.ratio.and_then(|ratio| ratio.interval);
                let covers = interval.is_some_and(|i| i.low <= 1.1 && 1.1 <= i.high);
                let held = (low..=high).contains(&first);
                let wide = u32::try_from(high - low + 1).unwrap_or(0);
                [1, u32::from(held), u32::from(covers), wide]
            });
            found.next().unwrap_or_default()
        });
        println!(
            "{:<26}{:>8}{:>8}{:>8}{:>16.1}",
            format!("{n}, {after}"),
            percent(found, experiments),
            percent(place, found.max(1)),
            percent(size, found.max(1)),
            f64::from(places) / f64::from(found.max(1))
        );
        let what = format!("series, step before the last {after} of {n}");
        if (n, after) == (100, 6) {
            bounds.check(&what, found, experiments, 0.9, 1.0);
        }
        // Of those found: where few are, they are those that look large.
        bounds.check(&format!("{what}, place"), place, found.max(1), 0.95, 1.0);
        bounds.check(&format!("{what}, size"), size, found.max(1), 0.95, 1.0);
    }
}

/// Looks after each of a hundred runs.
fn nightly(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\nA look after each run from the 20th to the 120th, % of {experiments} series without a change in which any look raises an\n\
         alarm (95 % interval; at most 5), and a step of 10 % after 90 runs: the runs it took until a look found it\n"
    );
    for (name, noise, phi) in [
        ("normal", NOISES[0].1, 0.0),
        ("skewed (exponential)", NOISES[1].1, 0.0),
        ("normal, correlated 0.3", NOISES[0].1, 0.3),
    ] {
        let [alarmed] = count(experiments, |source| {
            let values = runs(source, 120, noise, phi, (120, 1.0));
            [u32::from((20..=120).any(|n| is_new(&values[..n])))]
        });
        println!("{name:<26}{}", rate(alarmed, experiments));
        bounds.check(
            &format!("series, nightly, {name}"),
            alarmed,
            experiments,
            0.0,
            0.05,
        );
    }
    let by = count(experiments, |source| {
        let values = runs(source, 90 + RECENT, NOISES[0].1, 0.0, (90, 1.1));
        let first = (3..=RECENT).find(|after| is_new(&values[..90 + after]));
        [4, 6, 7, 8, 10].map(|after| u32::from(first.is_some_and(|first| first <= after)))
    });
    let cells = [4, 6, 7, 8, 10].iter().zip(by);
    let cells = cells.map(|(after, hits)| format!("{after} runs {}", percent(hits, experiments)));
    println!(
        "step of 10 %, found within  {}",
        cells.collect::<Vec<_>>().join("   ")
    );
}

fn is_new(values: &[f64]) -> bool {
    let options = Options {
        draws: 9_999,
        ..Options::default()
    };
    let newest = changes(values, None, &options).and_then(|history| history.newest);
    newest.is_some_and(|newest| newest.change.is_some())
}
