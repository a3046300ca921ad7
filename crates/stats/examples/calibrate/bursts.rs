// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How often a requirement passes that is not met, where misses come in bursts or boots are bad; and
//! how often a clean machine passes after the time that was announced.

use punctual_stats::clopper_pearson;
use punctual_stats::requirement::{Basis, Requirement, Ruling, Wanting};

use crate::bursty::{Bursty, Taken, allowing, ruled};
use crate::{Bounds, count, percent};

/// The fewest experiments of a cell.
const FEWEST: u32 = 1_000;

/// Requirements, and samples a run at 1 ms: each number is just enough for one of them to pass.
const ALLOWED: [(&str, f64); 3] = [("p95", 0.05), ("p99", 0.01), ("p99.9", 0.001)];
const SAMPLES: [u64; 3] = [6_000, 60_000, 600_000];

/// Counts all of it.
pub(crate) fn bursts(experiments: u32, bounds: &mut Bounds) {
    let experiments = experiments.max(FEWEST);
    false_verdicts(experiments, bounds);
    bad_boots(experiments, bounds);
    power(experiments, bounds);
}

/// A share of experiments in percent, with its 95 % interval.
fn rate(hits: u32, n: u32) -> String {
    let (low, high) = clopper_pearson(u64::from(hits), u64::from(n), 0.95).unwrap_or((0.0, 1.0));
    format!(
        "{:>5} ({:.1}..{:.1})",
        percent(hits, n),
        100.0 * low,
        100.0 * high
    )
}

fn passes(ruling: Ruling) -> u32 {
    u32::from(ruling == Ruling::Pass)
}

fn fails(ruling: Ruling) -> u32 {
    u32::from(ruling == Ruling::Fail)
}

fn false_verdicts(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\nOne run at 1 ms, misses in bursts, judged for bursts of at most 100 ms: false PASS, then false \
         FAIL where the share is just what is allowed, % of {experiments} experiments (95 % interval)\n"
    );
    println!(
        "{:<8}{:>9}{:>8}  {:<22}{:<22}{:<22}{:<22}{:>8}{:>8}",
        "",
        "samples",
        "bursts",
        "1x allowed, before",
        "1x allowed, now",
        "2x allowed, before",
        "2x allowed, now",
        "FAIL",
        "now"
    );
    for (name, allowed) in ALLOWED {
        let requirement = allowing(allowed);
        for samples in SAMPLES {
            for mean in [5.0, 20.0, 100.0] {
                let cells = [1.0, 2.0].map(|times| {
                    let machine = Bursty {
                        share: times * allowed,
                        mean,
                    };
                    count(experiments, |source| {
                        let taken = machine.run(source, samples);
                        let now = ruled(&requirement, &taken).ruling;
                        let naive = requirement.rule(&taken.naive()).ruling;
                        [passes(naive), passes(now), fails(naive), fails(now)]
                    })
                });
                println!(
                    "{name:<8}{samples:>9}{mean:>8}  {:<22}{:<22}{:<22}{:<22}{:>8}{:>8}",
                    rate(cells[0][0], experiments),
                    rate(cells[0][1], experiments),
                    rate(cells[1][0], experiments),
                    rate(cells[1][1], experiments),
                    percent(cells[0][2], experiments),
                    percent(cells[0][3], experiments),
                );
                let what = format!("{name}, {samples} samples, bursts of {mean}");
                for (cell, times) in cells.iter().zip([1, 2]) {
                    let what = format!("false pass, {what}, {times}x");
                    bounds.check(&what, cell[1], experiments, 0.0, 0.05);
                }
                let what = format!("false fail, {what}");
                bounds.check(&what, cells[0][3], experiments, 0.0, 0.05);
            }
        }
    }
}

/// One boot in ten is bad: it misses half of the time, and the others never.
fn bad_boots(experiments: u32, bounds: &mut Bounds) {
    const BAD: f64 = 0.1;
    println!(
        "\nOne boot in ten misses half of its wake-ups, the others none: 5 % of all. `p99`, runs of a minute, one a boot; \
         % of {experiments} experiments (95 % interval)\n"
    );
    println!(
        "{:<8}{:<30}{:<30}{:<30}{:<30}",
        "runs",
        "before: PASS, for all boots",
        "now: PASS, for all boots",
        "PASS for runs, one is bad",
        "bad boots above their bound"
    );
    let requirement = allowing(0.01);
    let clean = Bursty {
        share: 0.0,
        mean: 1.0,
    };
    let bad = Bursty {
        share: 0.5,
        mean: 20.0,
    };
    for runs in [2, 5, 10, 30, 60] {
        let counted = count(experiments, |source| {
            let machines: Vec<bool> = (0..runs).map(|_| source.uniform() <= BAD).collect();
            let taken: Vec<Taken> = machines
                .iter()
                .map(|is_bad| if *is_bad { bad } else { clean }.run(source, 60_000))
                .collect();
            let now = over(&requirement, &taken);
            let naive: Vec<_> = taken.iter().map(Taken::naive).collect();
            let naive = requirement.rule(&punctual_stats::requirement::Evidence::pooled(&naive));
            let pass = now.ruling == Ruling::Pass;
            let any_bad = machines.iter().any(|bad| *bad);
            let of_runs =
                machines.iter().filter(|bad| **bad).count() as f64 / f64::from(runs) * 0.5;
            [
                passes(naive.ruling),
                u32::from(pass && now.basis == Basis::Runs),
                u32::from(pass && now.basis == Basis::Time && any_bad && of_runs > 0.01),
                u32::from(now.runs.is_some_and(|between| between.at_most < BAD)),
            ]
        });
        println!(
            "{runs:<8}{:<30}{:<30}{:<30}{:<30}",
            rate(counted[0], experiments),
            rate(counted[1], experiments),
            rate(counted[2], experiments),
            rate(counted[3], experiments)
        );
        for (at, what) in [
            (1, "all boots"),
            (2, "these runs"),
            (3, "bound of bad boots"),
        ] {
            let what = format!("bad boots, {runs} runs, {what}");
            bounds.check(&what, counted[at], experiments, 0.0, 0.05);
        }
    }
    // A tenth of the boots misses all, and a tenth may: just what a pass by runs has to tell.
    let tenth = allowing(BAD);
    let lost = Bursty { share: 1.0, ..bad };
    let [wrong] = count(experiments, |source| {
        let mut taken = Vec::new();
        for _ in 0..30 {
            let machine = if source.uniform() <= BAD { lost } else { clean };
            taken.push(machine.run(source, 1_000));
        }
        let now = over(&tenth, &taken);
        [u32::from(
            now.ruling == Ruling::Pass && now.basis == Basis::Runs,
        )]
    });
    println!(
        "\n`p90` where one boot in ten misses all, 30 runs of a second: false PASS for all boots {}",
        rate(wrong, experiments)
    );
    bounds.check("pass by runs", wrong, experiments, 0.0, 0.05);
}

fn over(requirement: &Requirement, taken: &[Taken]) -> punctual_stats::requirement::Ruled {
    let evidence: Vec<_> = taken.iter().map(|run| run.evidence(requirement)).collect();
    requirement.rule_runs(&evidence)
}

/// A first run announces how long to measure; a run of that time then has to pass.
fn power(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\nA run of 6 s says how long to measure; PASS after that time, % of {experiments} experiments (95 % interval)\n"
    );
    for (name, allowed) in ALLOWED {
        let requirement = allowing(allowed);
        for (what, share, enforced) in [
            ("never misses", 0.0, true),
            ("misses a tenth of what is allowed", allowed / 10.0, false),
        ] {
            let machine = Bursty { share, mean: 5.0 };
            let [passed, announced] = count(experiments, |source| {
                let first = machine.followed(source, 6_000);
                let time = match ruled(&requirement, &first).ruling {
                    Ruling::Pass => return [1, 1],
                    Ruling::Fail | Ruling::Unclaimed(Wanting::ToFail(_) | Wanting::Unknown) => {
                        return [0, 0];
                    }
                    Ruling::Unclaimed(Wanting::ToPass(effort)) => effort.time_ns,
                };
                let samples = time.unwrap_or(0) / 1_000_000;
                let then = machine.followed(source, samples);
                [passes(ruled(&requirement, &then).ruling), 1]
            });
            println!(
                "{name:<8}{what:<40}{} of {announced}",
                rate(passed, experiments)
            );
            if enforced {
                let what = format!("power, {name}, {what}");
                bounds.check(&what, passed, experiments, 0.99, 1.0);
            }
        }
    }
}
