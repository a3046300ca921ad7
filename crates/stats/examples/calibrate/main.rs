// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How often verdicts are wrong and intervals miss, counted over thousands of made-up experiments,
//! and what other comparisons say of the same data.
//!
//! `make calibrate`, or `cargo run --release -p punctual-stats --example calibrate -- [EXPERIMENTS]
//! [SECTION...]`.
//! Every number follows from the seeds, on any number of processors. Exits 1 if a share is out of
//! its bounds by more than three standard errors of its own.

#![expect(clippy::print_stdout, reason = "the tables are what it is for")]

mod advice;
mod bursts;
#[path = "../../tests/calibration/bursty.rs"]
mod bursty;
mod compared;
mod correlation;
mod counting;
#[path = "../../tests/calibration/guards.rs"]
mod guards;
#[path = "../../tests/calibration/margins.rs"]
mod margins;
#[path = "../../tests/calibration/others.rs"]
mod others;
mod series;
#[path = "../../tests/calibration/simulate.rs"]
mod simulate;
#[path = "../../tests/calibration/advice.rs"]
mod simulate_advice;
#[path = "../../tests/calibration/correlation.rs"]
mod simulate_correlation;

use std::process::ExitCode;

use counting::{Bounds, count, percent, rate};
use punctual_stats::RandomSource;
use punctual_stats::runs::{
    Direction, IntervalMethod, Margin, Options, Outcome, Permutations, Question, Scale, Verdict,
    compare, compare_all,
};
use punctual_stats::sequential::{Looks, Spending};
use punctual_stats::tail::extrapolate;
use simulate::{FIGURES, P50, P99, Run, World, column, figures, with_blocks};

const METHODS: [IntervalMethod; 3] = [
    IntervalMethod::Permutation,
    IntervalMethod::Studentised,
    IntervalMethod::Welch,
];

/// Counts over so many experiments.
type Section = fn(u32, &mut Bounds);

/// What is counted, each by the name by which it can be asked for alone.
const SECTIONS: [(&str, Section); 16] = [
    ("verdicts", wrong_verdicts),
    ("intervals", coverage),
    ("inside", inside),
    ("together", together),
    ("sequential", sequential),
    ("equivalence", equivalence),
    ("tails", tails),
    ("bursts", bursts::bursts),
    ("lengths", compared::unequal_lengths),
    ("spread", compared::unequal_spread),
    ("zeros", compared::rare_misses),
    ("outliers", compared::clean_outliers),
    ("correlation", correlation::table),
    ("advice", advice::table),
    ("series", series::tables),
    ("others", |experiments, bounds| {
        beside_others((experiments / 5).max(100), bounds);
    }),
];

fn main() -> ExitCode {
    let (mut experiments, mut sections) = (2_000, Vec::new());
    for argument in std::env::args().skip(1) {
        match argument.parse() {
            Ok(n) if n > 0 => experiments = n,
            _ if SECTIONS.iter().any(|(name, _)| *name == argument) => sections.push(argument),
            _ => {
                let names: Vec<&str> = SECTIONS.iter().map(|(name, _)| *name).collect();
                println!("usage: calibrate [EXPERIMENTS] [{}]", names.join("|"));
                return ExitCode::from(2);
            }
        }
    }
    let mut bounds = Bounds::default();
    for (name, section) in SECTIONS {
        if sections.is_empty() || sections.iter().any(|asked| asked == name) {
            section(experiments, &mut bounds);
        }
    }
    bounds.report()
}

fn claims(outcome: &Outcome) -> bool {
    matches!(
        outcome.verdict,
        Verdict::Better | Verdict::Worse | Verdict::Different
    )
}

fn options() -> Options {
    Options {
        draws: 999,
        ..Options::default()
    }
}

fn worlds() -> [World; 3] {
    [
        World::ordinary(3_000),
        World::heavy(3_000),
        World::disturbed(3_000),
    ]
}

/// The effect on the scale of the comparison and what it is without an effect.
fn misses(outcome: &Outcome) -> bool {
    let (effect, none) = match outcome.scale {
        Scale::Log => (outcome.ratio, 1.0),
        Scale::Linear => (outcome.difference, 0.0),
    };
    let interval = effect.and_then(|effect| effect.interval);
    interval.is_some_and(|interval| none < interval.low || interval.high < none)
}

fn wrong_verdicts(experiments: u32, bounds: &mut Bounds) {
    println!(
        "Verdicts \"better\" or \"worse\" without an effect, % of {experiments} experiments (at most 5)\n"
    );
    println!(
        "{:<28}{:>26}{:>26}{:>26}",
        "",
        worlds()[0].name,
        worlds()[1].name,
        worlds()[2].name
    );
    println!(
        "{:<28}{}",
        "runs a side",
        "     4     6    12    20  ".repeat(3)
    );
    let mut table = vec![String::new(); FIGURES.len()];
    for world in worlds() {
        for runs in [4, 6, 12, 20] {
            let wrong = count(experiments, |source| {
                let a = figures(&world.group(source, runs, 1.0));
                let b = figures(&world.group(source, runs, 1.0));
                std::array::from_fn::<u32, 6, _>(|figure| {
                    let (a, b) = (column(&a, figure), column(&b, figure));
                    let question = Question::new(&a, &b, Direction::LowerIsBetter);
                    let test = Permutations::of(&question, 999, 1).ok().flatten();
                    u32::from(test.is_some_and(|test| test.p(0.0) <= 0.05))
                })
            });
            for (figure, hits) in wrong.iter().enumerate() {
                let cell = format!("{:>6}", percent(*hits, experiments));
                table[figure] += &cell;
                let what = format!("{}, {runs} runs, {}", world.name, FIGURES[figure]);
                bounds.check(&what, *hits, experiments, 0.0, 0.05);
            }
        }
        for row in &mut table {
            *row += "  ";
        }
    }
    for (figure, row) in FIGURES.iter().zip(&table) {
        println!("{figure:<28}{row}");
    }
}

fn coverage(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\n95 % intervals of the ratio that cover it, % of {experiments} experiments; p99 and max\n"
    );
    println!("{:<28}{:<8}{:>22}{:>22}", "", "", "p99", "max");
    println!(
        "{:<28}{:<8}{}",
        "",
        "runs",
        "  perm  stud Welch    ".repeat(2)
    );
    for world in worlds() {
        for runs in [4, 5, 6, 8, 12, 20] {
            let covered = count(experiments, |source| {
                let a = figures(&world.group(source, runs, 1.0));
                let b = figures(&world.group(source, runs, 1.0));
                std::array::from_fn::<u32, 8, _>(|at| {
                    let figure = [P99, simulate::MAX][at / 3];
                    let (a, b) = (column(&a, figure), column(&b, figure));
                    let question = Question::new(&a, &b, Direction::LowerIsBetter);
                    let options = Options {
                        interval: METHODS[at % 3],
                        ..options()
                    };
                    u32::from(compare(&question, &options).is_ok_and(|outcome| !misses(&outcome)))
                })
            });
            let cells: Vec<String> = covered
                .iter()
                .map(|hits| format!("{:>6}", percent(*hits, experiments)))
                .collect();
            println!(
                "{:<28}{runs:<8}{}    {}",
                world.name,
                cells[..3].concat(),
                cells[3..].concat()
            );
            for at in [0, 3] {
                // Four runs a side have 70 arrangements: two of them are 2.9 %, four 5.7 %.
                let high = if runs < 5 { 0.975 } else { 0.97 };
                let what = format!("coverage, {}, {runs} runs, {at}", world.name);
                bounds.check(&what, covered[at], experiments, 0.93, high);
            }
        }
    }
}

/// Intervals over runs and the blocks of samples inside them.
fn inside(experiments: u32, bounds: &mut Bounds) {
    println!(
        "\n95 % intervals of the ratio of p99 that cover it, % of {experiments} experiments: runs, then blocks inside\n"
    );
    println!(
        "{:<28}{:>12}{:>12}{:>12}",
        "samples a run", "1000", "3000", "10000"
    );
    for runs in [4, 6, 12] {
        let cells = [1_000, 3_000, 10_000].map(|samples| {
            let world = World {
                samples,
                ..World::ordinary(samples)
            };
            // Blocks of 50 samples or more.
            let blocks = (samples / 50).min(32);
            let [covered] = count(experiments, |source| {
                let ([a, b], [in_a, in_b]) = with_blocks(&world, source, runs, blocks);
                let question = Question::new(&a, &b, Direction::LowerIsBetter);
                let options = Options {
                    interval: IntervalMethod::Hierarchical,
                    ..options()
                };
                let outcome = compare(&question.with_redrawn(&in_a, &in_b), &options);
                [u32::from(outcome.is_ok_and(|outcome| !misses(&outcome)))]
            });
            let what = format!("hierarchical, {runs} runs of {samples}");
            bounds.check(&what, covered, experiments, 0.93, 0.975);
            format!("{:>12}", percent(covered, experiments))
        });
        println!("{:<28}{}", format!("{runs} runs a side"), cells.concat());
    }
}

fn together(experiments: u32, bounds: &mut Bounds) {
    let world = World::ordinary(3_000);
    let counted = count(experiments, |source| {
        let a = figures(&world.group(source, 12, 1.0));
        let b = figures(&world.group(source, 12, 1.0));
        let columns: Vec<_> = (0..FIGURES.len())
            .map(|figure| (column(&a, figure), column(&b, figure)))
            .collect();
        let questions: Vec<_> = columns
            .iter()
            .map(|(a, b)| Question::new(a, b, Direction::LowerIsBetter))
            .collect();
        let outcomes = compare_all(&questions, &options()).unwrap_or_default();
        let alone = |outcome: &Outcome| outcome.test.is_some_and(|test| test.p <= 0.05);
        [
            u32::from(outcomes.iter().any(claims)),
            u32::from(outcomes.iter().any(alone)),
        ]
    });
    println!(
        "\nAny wrong verdict among {} figures, 12 runs a side: {} % with Holm's correction, {} % without",
        FIGURES.len(),
        percent(counted[0], experiments),
        percent(counted[1], experiments)
    );
    bounds.check("Holm", counted[0], experiments, 0.0, 0.05);
}

fn sequential(experiments: u32, bounds: &mut Bounds) {
    let world = World::ordinary(1_000);
    println!(
        "\nLooking after each of 20 blocks from the sixth on, on a machine that gets 20 % slower; median"
    );
    let watch = |factor: f64| {
        count(experiments, |source| {
            let mut found = [0_u32; 6];
            let mut looks = [Spending::OBrienFleming, Spending::Pocock]
                .map(|spending| Looks::new(0.05, spending, 20, 1).ok());
            let (mut a, mut b) = (Vec::new(), Vec::new());
            for block in 1..=20_u32 {
                let drift = 1.0 + f64::from(block) / 100.0;
                a.push(world.run(source, drift).figures()[P50]);
                b.push(world.run(source, drift * factor).figures()[P50]);
                if block < 6 {
                    continue;
                }
                let blocks: Vec<u64> = (0..u64::from(block)).collect();
                let question =
                    Question::new(&a, &b, Direction::LowerIsBetter).in_blocks(&blocks, &blocks);
                let test = Permutations::of(&question, 999, 1).ok().flatten();
                let p = test.map(|test| test.p(0.0));
                for (at, looks) in looks.iter_mut().enumerate() {
                    let Some(looks) = looks else { continue };
                    if found[2 * at] == 0 && looks.look(block, &[p]).unwrap_or(false) {
                        found[2 * at] = 1;
                        found[2 * at + 1] = block;
                    }
                }
                if found[4] == 0 && p.is_some_and(|p| p <= 0.05) {
                    found[4] = 1;
                    found[5] = block;
                }
            }
            for at in [0, 2, 4] {
                if found[at] == 0 {
                    found[at + 1] = 20;
                }
            }
            found
        })
    };
    let (none, some) = (watch(1.0), watch(1.1));
    println!(
        "{:<28}{:>18}{:>24}{:>18}",
        "", "wrong verdicts %", "10 % effect found %", "blocks it took"
    );
    let names = ["O'Brien-Fleming-like", "Pocock-like", "5 % at every look"];
    for (at, name) in names.iter().enumerate() {
        println!(
            "{name:<28}{:>18}{:>24}{:>18.1}",
            percent(none[2 * at], experiments),
            percent(some[2 * at], experiments),
            f64::from(some[2 * at + 1]) / f64::from(experiments)
        );
        if at < 2 {
            bounds.check(name, none[2 * at], experiments, 0.0, 0.05);
        }
    }
}

fn equivalence(experiments: u32, bounds: &mut Bounds) {
    let asked = [
        ("the same within 5 %", Margin::Same(0.05)),
        ("not worse by 5 %", Margin::NotWorse(0.05)),
    ];
    for (verdict, margin) in asked {
        println!("\nVerdict \"{verdict}\", 5 % between runs, % of {experiments} experiments\n");
        println!("{:<28}{:>12}{:>12}{:>12}", "runs a side", "6", "12", "30");
        for (name, truth) in [
            ("the truth is 5 % more", 1.05),
            ("the truth is the same", 1.0),
        ] {
            let cells = [6, 12, 30].map(|runs| {
                let [shown] = count(experiments, |source| {
                    [u32::from(shows(margin, runs, truth, source))]
                });
                if truth > 1.0 {
                    let name = format!("{verdict}, {runs} runs");
                    bounds.check(&name, shown, experiments, 0.0, 0.05);
                }
                format!("{:>12}", percent(shown, experiments))
            });
            println!("{name:<28}{}", cells.concat());
        }
    }
    of_counts(experiments, bounds);
}

/// The same of counts that may be 0, where the margin is a share of an estimate.
fn of_counts(experiments: u32, bounds: &mut Bounds) {
    use margins::{Counts, Setting, shown};
    println!(
        "\n\"Not worse\" at one look, counts with a 0, the truth is the margin, % of {experiments} experiments\n"
    );
    println!("{:<40}{:>9}{:>9}{:>9}", "margin", "20 %", "50 %", "90 %");
    for (name, counts) in [
        ("Poisson, mean 2", Counts::Poisson(2.0)),
        ("varying rates, mean 5", Counts::Bursty(5.0)),
    ] {
        for runs in [12, 30] {
            for (direction, better) in [
                (Direction::LowerIsBetter, "less"),
                (Direction::HigherIsBetter, "more"),
            ] {
                let cells = [0.2, 0.5, 0.9].map(|share| {
                    let of = Setting {
                        counts,
                        runs,
                        ..Setting::at_not_worse(share, direction)
                    };
                    let [wrong, all] = shown(of, experiments);
                    bounds.check(name, wrong, all, 0.0, 0.025);
                    format!("{:>9}", percent(wrong, all))
                });
                let row = format!("{name}, {runs} a side, {better}");
                println!("{row:<40}{}", cells.concat());
            }
        }
    }
}

/// Whether a comparison of runs with a deviation of 5 % shows that the margin is not reached.
fn shows(margin: Margin, runs: usize, truth: f64, source: &mut RandomSource) -> bool {
    let mut group = |center: f64| -> Vec<f64> {
        (0..runs)
            .map(|_| center * (0.05 * source.normal()).exp())
            .collect()
    };
    let (a, b) = (group(50.0), group(50.0 * truth));
    let question = Question::new(&a, &b, Direction::LowerIsBetter);
    let options = Options {
        margin: Some(margin),
        ..options()
    };
    compare(&question, &options).is_ok_and(|outcome| {
        // What is called better is shown not to be worse, too.
        let within = outcome.margin.and_then(|margin| margin.adjusted_p);
        within.is_some_and(|p| p <= options.alpha)
    })
}

/// Extrapolations of known tails to a hundred times the samples, at most.
fn tails(experiments: u32, bounds: &mut Bounds) {
    const FAR: f64 = 1e6;
    type Draw = fn(&mut RandomSource) -> f64;
    let known: [(&str, Draw, f64); 4] = [
        ("exponential", |s| -s.uniform().ln(), FAR.ln()),
        ("Pareto, index 5", |s| s.uniform().powf(-0.2), FAR.powf(0.2)),
        (
            "Pareto, index 3",
            |s| s.uniform().powf(-1.0 / 3.0),
            FAR.powf(1.0 / 3.0),
        ),
        (
            "ends at 1",
            |s| 1.0 - s.uniform().powf(0.25),
            1.0 - FAR.powf(-0.25),
        ),
    ];
    let experiments = (experiments / 2).max(50);
    println!(
        "\nExtrapolation to what one sample in {FAR:.0} is above, % of {experiments} experiments of 20000 samples\n"
    );
    println!(
        "{:<28}{:>22}{:>22}",
        "", "block maxima", "peaks over threshold"
    );
    println!("{:<28}{}", "", "   answered   covered".repeat(2));
    for (name, draw, truth) in known {
        let counted = count(experiments, |source| {
            let samples: Vec<f64> = (0..20_000).map(|_| draw(source)).collect();
            let mut counts = [0; 4];
            for (at, fit) in extrapolate(&samples, 0.0, FAR, 0.95, 1).iter().enumerate() {
                if let Ok(fit) = fit {
                    counts[2 * at] = 1;
                    counts[2 * at + 1] = u32::from(fit.low <= truth && truth <= fit.high);
                }
            }
            counts
        });
        let mut cells = Vec::new();
        for at in [0, 2] {
            let [answered, covered] = [counted[at], counted[at + 1]];
            let (share, of_them) = (
                percent(answered, experiments),
                percent(covered, answered.max(1)),
            );
            cells.push(format!("{share:>11}{of_them:>11}"));
            bounds.check(
                &format!("tail, {name}"),
                covered,
                answered.max(1),
                0.85,
                0.98,
            );
        }
        println!("{name:<28}{}", cells.concat());
    }
}

/// What comparisons that the field uses say of the same runs.
fn beside_others(experiments: u32, bounds: &mut Bounds) {
    let world = World::ordinary(60_000);
    println!(
        "\n12 runs a side of {} samples, 5 % between boots, % of {experiments} experiments\n",
        world.samples
    );
    let judge = |factor: f64| {
        count(experiments, |source| {
            let a = world.group(source, 12, 1.0);
            let b = world.group(source, 12, factor);
            let mut hits = [0; 10];
            for (hit, claim) in hits.iter_mut().zip(verdicts(&a, &b)) {
                *hit = u32::from(claim);
            }
            hits
        })
    };
    let (none, some) = (judge(1.0), judge(1.1));
    println!(
        "{:<44}{:>20}{:>20}",
        "", "wrong \"worse\" or", "p99 worse by 10 %:"
    );
    println!(
        "{:<44}{:>20}{:>20}",
        "", "\"better\", no effect", "found \"worse\""
    );
    for (at, name) in OTHERS.iter().enumerate() {
        println!(
            "{name:<44}{:>20}{:>20}",
            percent(none[at], experiments),
            percent(some[at + 5], experiments)
        );
    }
    bounds.check("punctual compare, wrong", none[0], experiments, 0.0, 0.05);
    bounds.check("punctual compare, power", some[5], experiments, 0.75, 1.0);
}

const OTHERS: [&str; 5] = [
    "punctual compare, p99, 12 runs a side",
    "larger of two maxima, 1 run a side",
    "p99 differs by more than 10 %, 1 run a side",
    "t-test of all samples, 12 runs a side",
    "Kolmogorov-Smirnov of all samples, 12 runs",
];

/// Whether each claims an effect at all, then whether each claims "worse".
fn verdicts(a: &[Run], b: &[Run]) -> [bool; 10] {
    let (p99_a, p99_b) = (column(&figures(a), P99), column(&figures(b), P99));
    let question = Question::new(&p99_a, &p99_b, Direction::LowerIsBetter);
    let verdict = compare(&question, &options()).map(|outcome| outcome.verdict);
    let maxima = (a[0].histogram.max(), b[0].histogram.max());
    let ratio = p99_b[0] / p99_a[0];
    let t = others::sample_t(a, b);
    let (ks, later) = others::kolmogorov_smirnov(a, b);
    [
        matches!(verdict, Ok(Verdict::Better | Verdict::Worse)),
        maxima.0 != maxima.1,
        !(1.0 / 1.1..=1.1).contains(&ratio),
        t.abs() > 1.96,
        ks < 0.05,
        matches!(verdict, Ok(Verdict::Worse)),
        maxima.1 > maxima.0,
        ratio > 1.1,
        t > 1.96,
        ks < 0.05 && later,
    ]
}
