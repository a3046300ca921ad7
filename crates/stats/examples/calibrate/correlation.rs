// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether intervals inside a run cover, however long samples depend on each other.

use crate::simulate_correlation::{FIGURES, Process};
use crate::{Bounds, count, rate};

const LENGTHS: [usize; 5] = [2_000, 5_000, 10_000, 20_000, 60_000];

/// Prints how often there is an interval, and how often those that there are cover.
pub(crate) fn table(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(1_000);
    println!(
        "\nIntervals inside a run, {experiments} experiments: runs with an interval, %, and those of them that cover, % with 95 % intervals\n"
    );
    let figures = FIGURES.map(|name| format!("{name:>26}")).concat();
    println!("{:<24}{:>8}{figures}", "dependence", "samples");
    let remembering = [1.0, 19.0, 199.0, 1_999.0].map(|time| {
        let process = Process::Remembering {
            time,
            deviation: 0.2,
        };
        (format!("correlation time {time}"), process, 0.0)
    });
    let bursts = [(200.0, 5.0), (2_000.0, 50.0), (200.0, 50.0)].map(|(every, length)| {
        let process = Process::Bursts { every, length };
        // Of what comes a few times in a run, or never, the run cannot tell: shown, and not checked.
        let least = 100.0 * (every + length);
        (format!("bursts of {length}, 1 in {every}"), process, least)
    });
    for (name, process, least) in remembering.into_iter().chain(bursts) {
        let truth = process.truth();
        for samples in LENGTHS {
            let counted: [u32; 8] = count(experiments, |source| {
                let seen = process.intervals(truth, samples, source);
                std::array::from_fn(|at| match at {
                    0..4 => seen.made[at].into(),
                    _ => seen.covered[at - 4].into(),
                })
            });
            let mut row = format!("{name:<24}{samples:>8}");
            for (at, figure) in FIGURES.iter().enumerate() {
                let (made, covered) = (counted[at], counted[at + 4]);
                if made == 0 {
                    row += &" ".repeat(25);
                    row.push('-');
                    continue;
                }
                let share = f64::from(made) / f64::from(experiments) * 100.0;
                let cell = format!("{share:>9.1} {:>16}", rate(covered, made));
                row += &cell;
                // Ranks are whole numbers, and rounded outward: intervals of few samples beyond cover more.
                let high = if at < 2 { 0.97 } else { 1.0 };
                if samples as f64 >= least {
                    let what = format!("{figure}, {name}, {samples} samples");
                    bounds.check(&what, covered, made, 0.93, high);
                }
            }
            println!("{row}");
        }
    }
}
