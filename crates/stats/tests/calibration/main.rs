// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether verdicts are wrong as rarely, and intervals cover as often, as they say.
//!
//! Moderate sizes, fixed seeds. `make calibrate` does the same with thousands of experiments.

#![expect(
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    reason = "test helpers and small numbers"
)]

mod advice;
mod bursty;
mod correlation;
mod guards;
mod inside;
mod margins;
mod simulate;

use bursty::{Bursty, Taken, allowing, ruled};
use margins::{Counts, Setting, shown};
use punctual_stats::RandomSource;
use punctual_stats::requirement::{Basis, Requirement, Ruled, Ruling, Wanting};
use punctual_stats::runs::{
    Direction, IntervalMethod, Margin, Options, Outcome, Permutations, Question, Scale, Verdict,
    compare, compare_all,
};
use punctual_stats::sequential::{Looks, Spending};
use simulate::{FIGURES, MAX, P50, P99, World, column, figures};

/// The most hits of `n` trials that a true rate explains, at four standard errors: dozens of rates
/// are looked at, each with few experiments.
fn at_most(rate: f64, n: u32) -> u32 {
    let n = f64::from(n);
    let most = rate * n + 4.0 * (rate * (1.0 - rate) * n).sqrt();
    #[expect(clippy::cast_sign_loss, reason = "positive")]
    let most = most as u32;
    most
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

/// Compares `experiments` pairs of groups that are alike, each figure for itself; counts claims and
/// intervals that miss the truth.
fn alike(world: &World, runs: usize, experiments: u32) -> ([u32; 8], [u32; 8]) {
    let (mut false_claims, mut missed) = ([0; 8], [0; 8]);
    for seed in 0..experiments {
        let mut source = RandomSource::new(u64::from(seed) + 1_000);
        let a = figures(&world.group(&mut source, runs, 1.0));
        let b = figures(&world.group(&mut source, runs, 1.0));
        for figure in 0..FIGURES.len() {
            let (a, b) = (column(&a, figure), column(&b, figure));
            let question = Question::new(&a, &b, Direction::LowerIsBetter);
            let outcome = compare(&question, &options()).unwrap();
            false_claims[figure] += u32::from(claims(&outcome));
            let effect = match outcome.scale {
                Scale::Log => outcome.ratio,
                Scale::Linear => outcome.difference,
            };
            let none = match outcome.scale {
                Scale::Log => 1.0,
                Scale::Linear => 0.0,
            };
            // Without spread there is no interval; then both groups have one and the same value.
            let interval = effect.and_then(|effect| effect.interval);
            missed[figure] += u32::from(interval.is_some_and(|i| none < i.low || i.high < none));
        }
    }
    (false_claims, missed)
}

#[test]
fn without_an_effect_few_verdicts_claim_one_and_intervals_cover() {
    const EXPERIMENTS: u32 = 200;
    for (world, runs) in [
        (World::ordinary(1_500), 6),
        (World::heavy(1_500), 8),
        (World::disturbed(1_500), 12),
    ] {
        let (false_claims, missed) = alike(&world, runs, EXPERIMENTS);
        let most = at_most(0.05, EXPERIMENTS);
        for figure in 0..FIGURES.len() {
            let name = FIGURES[figure];
            let (claims, missed) = (false_claims[figure], missed[figure]);
            assert!(claims <= most, "{}, {name}: {claims}", world.name);
            // 93 to 97 %, give or take the error of this many experiments; figures with many equal
            // values (misses) cover more.
            assert!(
                missed <= at_most(0.07, EXPERIMENTS),
                "{}, {name}: {missed}",
                world.name
            );
            if name != FIGURES[7] {
                assert!(missed >= 2, "{}, {name}: {missed}", world.name);
            }
        }
    }
}

#[test]
fn many_figures_at_once_are_wrong_no_more_often_than_one() {
    const EXPERIMENTS: u32 = 200;
    let world = World::ordinary(1_000);
    let wrong = (0..EXPERIMENTS)
        .filter(|seed| {
            let mut source = RandomSource::new(u64::from(*seed) + 5_000);
            let a = figures(&world.group(&mut source, 10, 1.0));
            let b = figures(&world.group(&mut source, 10, 1.0));
            let columns: Vec<_> = (0..FIGURES.len())
                .map(|figure| (column(&a, figure), column(&b, figure)))
                .collect();
            let questions: Vec<_> = columns
                .iter()
                .map(|(a, b)| Question::new(a, b, Direction::LowerIsBetter))
                .collect();
            let outcomes = compare_all(&questions, &options()).unwrap();
            outcomes.iter().any(claims)
        })
        .count() as u32;
    assert!(wrong <= at_most(0.05, EXPERIMENTS), "{wrong}");
}

#[test]
fn ten_percent_of_p99_are_found_with_twelve_runs_a_side() {
    const EXPERIMENTS: u32 = 60;
    let world = World::ordinary(60_000);
    let mut found = 0;
    for seed in 0..EXPERIMENTS {
        let mut source = RandomSource::new(u64::from(seed) + 9_000);
        let a = figures(&world.group(&mut source, 12, 1.0));
        let b = figures(&world.group(&mut source, 12, 1.1));
        let (a, b) = (column(&a, P99), column(&b, P99));
        let question = Question::new(&a, &b, Direction::LowerIsBetter);
        let outcome = compare(&question, &options()).unwrap();
        found += u32::from(outcome.verdict == Verdict::Worse);
    }
    // Nine of ten with the part of the level that a look has; six experiments are 10 %.
    assert!(found * 20 >= EXPERIMENTS * 17, "{found} of {EXPERIMENTS}");
}

#[test]
fn the_margin_is_shown_rarely_where_it_is_the_truth_and_often_where_nothing_is() {
    const EXPERIMENTS: u32 = 300;
    let mut source = RandomSource::new(77);
    let mut shown = |margin: Margin, verdict: Verdict, truth: f64, runs: usize| {
        (0..EXPERIMENTS)
            .filter(|_| {
                let mut group = |center: f64| -> Vec<f64> {
                    (0..runs)
                        .map(|_| center * (0.05 * source.normal()).exp())
                        .collect()
                };
                let (a, b) = (group(50.0), group(50.0 * truth));
                let question = Question::new(&a, &b, Direction::LowerIsBetter);
                let with = Options {
                    margin: Some(margin),
                    ..options()
                };
                compare(&question, &with).unwrap().verdict == verdict
            })
            .count() as u32
    };
    for (margin, verdict) in [
        (Margin::Same(0.05), Verdict::Equivalent),
        (Margin::NotWorse(0.05), Verdict::NotWorse),
    ] {
        let at_the_margin = shown(margin, verdict, 1.05, 12);
        assert!(
            at_the_margin <= at_most(0.05, EXPERIMENTS),
            "{margin:?}: {at_the_margin}"
        );
        let alike = shown(margin, verdict, 1.0, 30);
        assert!(alike * 10 >= EXPERIMENTS * 9, "{margin:?}: {alike}");
    }
}

#[test]
fn a_margin_of_what_may_be_0_is_shown_rarely_where_it_is_the_truth() {
    const EXPERIMENTS: u32 = 2_000;
    let lower = Setting::at_not_worse(0.9, Direction::LowerIsBetter);
    let higher = Setting::at_not_worse(0.9, Direction::HigherIsBetter);
    let bursty = |of: Setting| Setting {
        counts: Counts::Bursty(5.0),
        ..of
    };
    let in_blocks = |of: Setting| Setting {
        in_blocks: true,
        ..of
    };
    let same = Setting {
        margin: Margin::Same(0.9),
        runs: 30,
        ..lower
    };
    for of in [
        lower,
        bursty(lower),
        in_blocks(bursty(lower)),
        Setting {
            runs: 30,
            ..bursty(lower)
        },
        higher,
        bursty(higher),
        same,
        Setting::at_not_worse(0.5, Direction::LowerIsBetter),
    ] {
        // Half of the level at each of two looks.
        let [wrong, all] = shown(of, EXPERIMENTS);
        assert!(wrong <= at_most(0.025, all), "{of:?}: {wrong} of {all}");
        assert!(all * 10 >= EXPERIMENTS * 8, "{of:?}: {all}");
    }
    for of in [lower, higher, same] {
        let alike = Setting {
            truth: 1.0,
            runs: 30,
            ..of
        };
        let [right, all] = shown(alike, EXPERIMENTS / 4);
        assert!(right * 10 >= all * 7, "{alike:?}: {right} of {all}");
    }
}

/// After how many of 20 blocks a difference is claimed, looking after each from the sixth on.
fn watched(world: &World, seed: u64, factor: f64, careful: bool) -> Option<u32> {
    let mut source = RandomSource::new(seed);
    let mut looks = Looks::new(0.05, Spending::OBrienFleming, 20, 1).unwrap();
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for block in 1..=20_u32 {
        // What the blocks have in common: a machine that gets slower by a fifth.
        let drift = 1.0 + f64::from(block) / 100.0;
        a.push(world.run(&mut source, drift).figures()[P50]);
        b.push(world.run(&mut source, drift * factor).figures()[P50]);
        if block < 6 {
            continue;
        }
        let blocks: Vec<u64> = (0..a.len() as u64).collect();
        let question = Question::new(&a, &b, Direction::LowerIsBetter).in_blocks(&blocks, &blocks);
        let test = Permutations::of(&question, 999, 1).unwrap().unwrap();
        let p = test.p(0.0);
        if careful {
            looks.look(block, &[Some(p)]).unwrap();
        }
        let found = if careful {
            looks.found()[0]
        } else {
            (p <= 0.05).then_some(block)
        };
        if found.is_some() {
            return found;
        }
    }
    None
}

#[test]
fn looking_often_with_spent_levels_is_wrong_rarely_and_without_them_often() {
    const EXPERIMENTS: u32 = 200;
    let world = World::ordinary(500);
    let wrong = |careful| {
        (0..EXPERIMENTS)
            .filter(|seed| watched(&world, u64::from(*seed) + 20_000, 1.0, careful).is_some())
            .count() as u32
    };
    let careful = wrong(true);
    assert!(careful <= at_most(0.05, EXPERIMENTS), "{careful}");
    let naive = wrong(false);
    assert!(naive * 100 > EXPERIMENTS * 12, "{naive}");
}

#[test]
fn a_permutation_interval_of_few_runs_covers() {
    const EXPERIMENTS: u32 = 300;
    let world = World::ordinary(1_000);
    let missed = (0..EXPERIMENTS)
        .filter(|seed| {
            let mut source = RandomSource::new(u64::from(*seed) + 30_000);
            let a = column(&figures(&world.group(&mut source, 5, 1.0)), MAX);
            let b = column(&figures(&world.group(&mut source, 5, 1.0)), MAX);
            let question = Question::new(&a, &b, Direction::LowerIsBetter);
            let ratio = compare(&question, &options()).unwrap().ratio.unwrap();
            let ends = ratio.interval.unwrap();
            1.0 < ends.low || ends.high < 1.0
        })
        .count() as u32;
    assert!(missed <= at_most(0.05, EXPERIMENTS), "{missed}");
}

#[test]
fn intervals_over_runs_and_their_blocks_of_samples_cover() {
    const EXPERIMENTS: u32 = 150;
    // Runs so short that their samples make more of the spread of p99 than the boots do.
    let world = World::ordinary(2_000);
    for runs in [6, 12] {
        let mut missed = 0;
        for seed in 0..EXPERIMENTS {
            let mut source = RandomSource::new(u64::from(seed) + 40_000);
            let ([a, b], [in_a, in_b]) = simulate::with_blocks(&world, &mut source, runs, 32);
            let question = Question::new(&a, &b, Direction::LowerIsBetter);
            let with = Options {
                interval: IntervalMethod::Hierarchical,
                ..options()
            };
            let outcome = compare(&question.with_redrawn(&in_a, &in_b), &with).unwrap();
            assert_eq!(outcome.interval_method, Some(IntervalMethod::Hierarchical));
            let ends = outcome.ratio.unwrap().interval.unwrap();
            missed += u32::from(1.0 < ends.low || ends.high < 1.0);
        }
        assert!(
            missed <= at_most(0.07, EXPERIMENTS),
            "{runs} runs: {missed}"
        );
        assert!(missed >= 2, "{runs} runs: {missed}");
    }
}

/// How many of `experiments` runs pass a requirement at 1 ms: by the rule, and as if samples without
/// a miss were independent.
fn passes(
    machine: Bursty,
    requirement: &Requirement,
    samples: u64,
    experiments: u32,
) -> (u32, u32) {
    let (mut now, mut naive) = (0, 0);
    for seed in 0..experiments {
        let taken = machine.run(&mut RandomSource::new(u64::from(seed) + 50_000), samples);
        now += u32::from(ruled(requirement, &taken).ruling == Ruling::Pass);
        naive += u32::from(requirement.rule(&taken.naive()).ruling == Ruling::Pass);
    }
    (now, naive)
}

#[test]
fn a_requirement_rarely_passes_falsely_however_misses_come() {
    const EXPERIMENTS: u32 = 300;
    for (allowed, samples) in [(0.001, 6_000), (0.01, 60_000), (0.05, 6_000)] {
        let requirement = allowing(allowed);
        for mean in [5.0, 20.0, 100.0] {
            for times in [1.0, 2.0] {
                let machine = Bursty {
                    share: times * allowed,
                    mean,
                };
                let (now, _) = passes(machine, &requirement, samples, EXPERIMENTS);
                assert!(
                    now <= at_most(0.05, EXPERIMENTS),
                    "{allowed} of {samples}, bursts of {mean}, {times}x: {now}"
                );
            }
        }
    }
    // What made the difference: the same runs, none of which saw how misses come.
    let machine = Bursty {
        share: 0.002,
        mean: 20.0,
    };
    let (now, naive) = passes(machine, &allowing(0.001), 6_000, EXPERIMENTS);
    assert!(now == 0 && 2 * naive > EXPERIMENTS, "{now}, {naive}");
}

fn over(requirement: &Requirement, runs: &[Taken]) -> Ruled {
    let evidence: Vec<_> = runs.iter().map(|run| run.evidence(requirement)).collect();
    requirement.rule_runs(&evidence)
}

#[test]
fn clean_runs_claim_nothing_of_bad_boots_that_were_not_measured() {
    const EXPERIMENTS: u32 = 300;
    let requirement = allowing(0.01);
    let clean = Bursty {
        share: 0.0,
        mean: 1.0,
    };
    let bad = Bursty {
        share: 0.5,
        mean: 20.0,
    };
    let (mut for_all, mut for_these, mut clean_ones, mut below) = (0, 0, 0, 0);
    for seed in 0..EXPERIMENTS {
        let mut source = RandomSource::new(u64::from(seed) + 60_000);
        let machines: Vec<bool> = (0..5).map(|_| source.uniform() <= 0.1).collect();
        let runs: Vec<Taken> = machines
            .iter()
            .map(|is_bad| if *is_bad { bad } else { clean }.run(&mut source, 20_000))
            .collect();
        let now = over(&requirement, &runs);
        let passed = now.ruling == Ruling::Pass;
        let any_bad = machines.contains(&true);
        clean_ones += u32::from(!any_bad);
        for_all += u32::from(passed && now.basis == Basis::Runs);
        for_these += u32::from(passed && any_bad);
        assert!(any_bad || passed, "{now:?}");
        below += u32::from(now.runs.unwrap().at_most < 0.1);
    }
    // In most experiments no boot was bad, which used to pass for all boots.
    assert!(2 * clean_ones > EXPERIMENTS, "{clean_ones}");
    let most = at_most(0.05, EXPERIMENTS);
    assert!(for_all == 0 && below == 0, "{for_all}, {below}");
    assert!(for_these <= most, "{for_these}");
}

#[test]
fn a_clean_machine_passes_after_the_time_that_was_announced() {
    for allowed in [0.05, 0.01, 0.001] {
        let requirement = allowing(allowed);
        let clean = Bursty {
            share: 0.0,
            mean: 1.0,
        };
        for seed in 0..5 {
            let mut source = RandomSource::new(seed + 70_000);
            let first = ruled(&requirement, &clean.followed(&mut source, 3_000)).ruling;
            let Ruling::Unclaimed(Wanting::ToPass(effort)) = first else {
                panic!("{first:?}");
            };
            let samples = effort.time_ns.unwrap() / 1_000_000;
            let then = ruled(&requirement, &clean.followed(&mut source, samples));
            assert_eq!(then.ruling, Ruling::Pass, "{samples}");
        }
    }
}

#[test]
fn runs_of_unequal_length_make_no_verdict_more_often_than_the_level() {
    const EXPERIMENTS: u32 = 200;
    let world = World::ordinary(0);
    let mut counted = [[0; 2]; 6];
    for seed in 0..EXPERIMENTS {
        let mut source = RandomSource::new(u64::from(seed) + 50_000);
        let told = guards::lengths(&world, 8, [500, 5_000], &mut source);
        for (sum, told) in counted.iter_mut().flatten().zip(told.iter().flatten()) {
            *sum += u32::from(*told);
        }
    }
    let most = at_most(0.05, EXPERIMENTS);
    assert!(
        counted.iter().all(|[_, ruled]| *ruled <= most),
        "{counted:?}"
    );
    // What the rule is for: the largest sample.
    assert!(counted[5][0] * 2 > EXPERIMENTS, "{counted:?}");
}

#[test]
fn groups_that_vary_differently_are_told_apart_no_more_often_than_the_level() {
    const EXPERIMENTS: u32 = 300;
    for (at, case) in (0_u64..).zip(&guards::UNEVEN) {
        let (mut effects, mut missed, mut before) = (0, 0, 0);
        for seed in 0..u64::from(EXPERIMENTS) {
            let mut source = RandomSource::new(60_000 + 1_000 * at + seed);
            let told = guards::spread(case, &mut source);
            effects += u32::from(told.effect);
            missed += u32::from(told.missed);
            before += u32::from(told.permutations);
        }
        let most = at_most(0.05, EXPERIMENTS);
        assert!(effects <= most, "{}: {effects}", case.0);
        assert!(missed <= at_most(0.06, EXPERIMENTS), "{}: {missed}", case.0);
        if at == 0 {
            assert!(before * 100 > 8 * EXPERIMENTS, "{}: {before}", case.0);
        }
    }
}

#[test]
fn misses_that_are_rare_are_never_called_indistinguishable() {
    const EXPERIMENTS: u32 = 300;
    for (at, bursts) in (0_u64..).zip([0.02, 0.1, 1.0]) {
        let (mut wrong, mut before) = (0, 0);
        for seed in 0..u64::from(EXPERIMENTS) {
            let mut source = RandomSource::new(80_000 + 1_000 * at + seed);
            let a = guards::misses(6, bursts, &mut source);
            let b = guards::misses(6, bursts, &mut source);
            let told = guards::told(&a, &b);
            assert!(!told.equal, "{a:?} {b:?}");
            wrong += u32::from(told.effect);
            before += u32::from(told.equal_before);
        }
        // A baseline without a miss was ground enough once.
        assert!(
            bursts > 0.1 || before * 3 > EXPERIMENTS,
            "{bursts}: {before}"
        );
        assert!(wrong <= at_most(0.05, EXPERIMENTS), "{bursts}: {wrong}");
    }
}

#[test]
fn clean_groups_rarely_have_an_outlier() {
    const EXPERIMENTS: u32 = 200;
    for (world, runs) in [(World::ordinary(1_500), 6), (World::heavy(1_500), 12)] {
        let mut hits = [0; 2];
        for seed in 0..EXPERIMENTS {
            let mut source = RandomSource::new(u64::from(seed) + 90_000);
            let told = guards::outlying(&world, runs, &mut source);
            hits[0] += u32::from(told[0]);
            hits[1] += u32::from(told[1]);
        }
        assert!(
            hits[1] <= at_most(0.05, EXPERIMENTS),
            "{}: {hits:?}",
            world.name
        );
        assert!(hits[0] * 2 > EXPERIMENTS, "{}: {hits:?}", world.name);
    }
}
