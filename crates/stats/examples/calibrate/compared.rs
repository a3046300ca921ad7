// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tables of what once made false verdicts: runs of unequal length, unequal spread, rare misses, and
//! the remark about outlier runs.

use punctual_stats::clopper_pearson;

use crate::guards::{ACROSS, UNEVEN, lengths, misses, outlying, spread, told};
use crate::simulate::{FIGURES, World};
use crate::{Bounds, count};

/// At least as many experiments a cell.
const LEAST: u32 = 1_000;

/// A rate in % with its 95 % interval.
fn rate(hits: u32, n: u32) -> String {
    let share = f64::from(hits) / f64::from(n) * 100.0;
    let ends = clopper_pearson(hits.into(), n.into(), 0.95);
    let ends = ends.map_or_else(String::new, |(low, high)| {
        format!("({:.1}..{:.1})", low * 100.0, high * 100.0)
    });
    format!("{share:>7.1} {ends:<14}")
}

/// Runs of unequal length.
pub(crate) fn unequal_lengths(experiments: u32, bounds: &mut Bounds) {
    let experiments = (experiments / 2).max(LEAST);
    println!(
        "\n\"Better\" or \"worse\" between runs of unequal length of one machine, 12 runs a side, % of {experiments}\n\
         experiments (95 % interval): by the test alone, and with the rule about lengths (at most 5)\n"
    );
    for (world, samples) in [
        (World::ordinary(0), [1_000, 20_000]),
        (World::heavy(0), [4_000, 20_000]),
        (World::ordinary(0), [4_000, 40_000]),
    ] {
        let counted = count(experiments, |source| {
            let told = lengths(&world, 12, samples, source);
            std::array::from_fn::<u32, 12, _>(|at| u32::from(told[at / 2][at % 2]))
        });
        println!("{}, {} and {} samples", world.name, samples[0], samples[1]);
        for (at, (figure, _)) in ACROSS.iter().enumerate() {
            let [alone, ruled] = [counted[2 * at], counted[2 * at + 1]];
            println!(
                "  {:<12}{} {}",
                FIGURES[*figure],
                rate(alone, experiments),
                rate(ruled, experiments)
            );
            let what = format!(
                "lengths, {} and {} samples, {}, {}",
                samples[0], samples[1], world.name, FIGURES[*figure]
            );
            bounds.check(&what, ruled, experiments, 0.0, 0.05);
        }
    }
}

/// Groups of one mean that vary differently.
pub(crate) fn unequal_spread(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(LEAST);
    println!(
        "\n\"Better\" or \"worse\" between groups of one mean that vary differently, % of {experiments} experiments\n\
         (95 % interval; at most 5), and 95 % intervals that miss it\n\n{:<34}{:<24}{:<24}interval misses",
        "runs", "permutations alone", "verdict"
    );
    for case in &UNEVEN {
        let counted = count(experiments, |source| {
            let told = spread(case, source);
            [told.permutations, told.effect, told.missed].map(u32::from)
        });
        let cells = counted.map(|hits| rate(hits, experiments));
        println!("{:<34}{}", case.0, cells.join(" "));
        bounds.check(
            &format!("spread, {}", case.0),
            counted[1],
            experiments,
            0.0,
            0.05,
        );
    }
}

/// Misses that most runs do not have.
pub(crate) fn rare_misses(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(LEAST);
    println!(
        "\nMisses a second in bursts, runs of a minute, % of {experiments} experiments (95 % interval)\n\n\
         {:<34}{:<24}{:<24}\"better\" or \"worse\"",
        "bursts a run; runs a side", "equal, before", "\"not distinguishable\""
    );
    for (bursts, factor) in [
        (0.02, 1.0),
        (0.1, 1.0),
        (1.0, 1.0),
        (0.02, 10.0),
        (0.1, 10.0),
    ] {
        for runs in [6, 12] {
            let counted = count(experiments, |source| {
                let a = misses(runs, bursts, source);
                let b = misses(runs, bursts * factor, source);
                let told = told(&a, &b);
                [told.equal_before, told.equal, told.effect].map(u32::from)
            });
            let name = match factor > 1.0 {
                true => format!("{bursts} and {:.1}; {runs}", bursts * factor),
                false => format!("{bursts}; {runs}"),
            };
            println!(
                "{name:<34}{}",
                counted.map(|hits| rate(hits, experiments)).join(" ")
            );
            // Grounds: a change of 10 % would have been found. Of so few misses none would.
            bounds.check(
                &format!("zeros, equal, {name}"),
                counted[1],
                experiments,
                0.0,
                0.0,
            );
            if factor <= 1.0 {
                bounds.check(
                    &format!("zeros, effect, {name}"),
                    counted[2],
                    experiments,
                    0.0,
                    0.05,
                );
            }
        }
    }
}

/// Clean groups in which a run is called an outlier.
pub(crate) fn clean_outliers(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(LEAST);
    println!(
        "\nComparisons of clean groups by p50, p99, p99.9 and max that call a run an outlier, % of {experiments}\n\
         experiments (95 % interval): 3.5 robust deviations, and the cut-off by the number of runs (at most 5)\n"
    );
    for world in [World::ordinary(3_000), World::heavy(3_000)] {
        for runs in [6, 12, 20] {
            let counted = count(experiments, |source| {
                outlying(&world, runs, source).map(u32::from)
            });
            let what = format!("{}, {runs} runs a side", world.name);
            let cells = counted.map(|hits| rate(hits, experiments));
            println!("{what:<44}{}", cells.join(" "));
            bounds.check(
                &format!("outliers, {what}"),
                counted[1],
                experiments,
                0.0,
                0.05,
            );
        }
    }
}
