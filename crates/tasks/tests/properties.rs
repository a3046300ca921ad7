// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The analyses against exact schedules and brute force, on thousands of random sets: utilisations by UUniFast (Bini and Buttazzo,
//! *Real-Time Systems* 30, 2005), periods log-uniform (Emberson, Stafford and Davis, WATERS 2010).
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "small numbers"
)]

use punctual_stats::RandomSource;
use punctual_tasks::audsley::{Order, order};
use punctual_tasks::demand::{Demand, edf};
use punctual_tasks::edf_response::{self, Due};
use punctual_tasks::response::{Bound, meets, response};
use punctual_tasks::several::{Global, densities, global};
use punctual_tasks::simulate::{Scheduler, Start, simulate};
use punctual_tasks::{Effort, Work, load};

/// What the deadlines of a set are.
#[derive(Clone, Copy, Debug)]
enum Deadlines {
    Periods,
    Constrained,
    Arbitrary,
}

/// `n` utilisations with this sum, evenly over all such.
fn uunifast(random: &mut RandomSource, n: usize, total: f64) -> Vec<f64> {
    let mut left = total;
    let mut all = Vec::with_capacity(n);
    for rest in (1..n).rev() {
        let next = left * random.uniform().powf(1.0 / rest as f64);
        all.push(left - next);
        left = next;
    }
    all.push(left);
    all
}

fn random_set(
    random: &mut RandomSource,
    n: usize,
    total: f64,
    periods: (f64, f64),
    deadlines: Deadlines,
    jitter: bool,
) -> Vec<Work> {
    let shares = uunifast(random, n, total);
    let each = shares.into_iter().map(|share| {
        let span = (periods.1 / periods.0).ln();
        let period = (periods.0 * (span * random.uniform()).exp()).round() as u64;
        let cost = ((share * period as f64) as u64).clamp(1, period);
        let within = |random: &mut RandomSource, low: u64, high: u64| {
            low + random.below((high - low + 1) as usize) as u64
        };
        let deadline = match deadlines {
            Deadlines::Periods => period,
            Deadlines::Constrained => within(random, cost, period),
            Deadlines::Arbitrary => within(random, cost, 4 * period),
        };
        let jitter = if jitter {
            within(random, 0, period / 2)
        } else {
            0
        };
        Work {
            jitter,
            ..Work::new(cost, period, deadline)
        }
    });
    each.collect()
}

/// A set with deadlines of each kind in turn, every fourth with jitter.
fn set_of_round(
    random: &mut RandomSource,
    round: usize,
    n: usize,
    total: f64,
    periods: (f64, f64),
) -> Vec<Work> {
    random_set(random, n, total, periods, kind_of(round), round % 4 == 3)
}

const fn kind_of(round: usize) -> Deadlines {
    match round % 3 {
        0 => Deadlines::Periods,
        1 => Deadlines::Constrained,
        _ => Deadlines::Arbitrary,
    }
}

fn at_once(set: &[Work]) -> Vec<Start> {
    set.iter()
        .map(|w| Start {
            at: 0,
            late: w.jitter,
        })
        .collect()
}

#[test]
fn response_times_are_those_of_an_exact_schedule_of_the_busy_interval() {
    let mut random = RandomSource::new(1);
    let (mut compared, mut later_jobs, mut late) = (0, 0, 0);
    for round in 0..6_000 {
        let n = 1 + random.below(8);
        let total = 0.3 + 0.69 * random.uniform();
        let mut set = random_set(
            &mut random,
            n,
            total,
            (10.0, 1_000.0),
            kind_of(round),
            round % 2 == 1,
        );
        set.sort_by_key(|w| w.deadline);
        for at in 0..set.len() {
            let mut effort = Effort::usual();
            let found = response(&set[at], &set[..at], 0, &mut effort);
            let Bound::At {
                response: bound,
                job,
                window,
            } = found
            else {
                // Costs of at least 1 may have made the set too heavy.
                assert_ne!(
                    load(&set[..=at], 1),
                    punctual_tasks::Load::Below,
                    "{set:?} {found:?}"
                );
                continue;
            };
            let upto = window.max(1) + 20 * set[at].period;
            let schedule = simulate(
                &set[..=at],
                &at_once(&set[..=at]),
                Scheduler::Fixed,
                1,
                upto,
                upto * 4,
            );
            let seen = schedule.worst(at).unwrap();
            assert!(
                seen <= bound,
                "{set:?} task {at}: {seen} seen, bound {bound}"
            );
            // The job that is worst is in the busy interval, so the schedule has it.
            assert_eq!(seen, bound, "{set:?} task {at}");
            let met = meets(&set[at], &set[..at], 0, &mut effort);
            assert_eq!(met, Some(bound <= set[at].deadline));
            compared += 1;
            later_jobs += u32::from(job > 0);
            late += u32::from(bound > set[at].deadline);
        }
    }
    assert!(
        compared > 20_000 && later_jobs > 20 && late > 500,
        "{compared} {later_jobs} {late}"
    );
}

#[test]
fn the_verdict_of_edf_is_that_of_an_exact_schedule() {
    let mut random = RandomSource::new(2);
    let (mut met, mut missed) = (0, 0);
    for round in 0..6_000 {
        let n = 1 + random.below(6);
        let total = 0.6 + 0.4 * random.uniform();
        let set = set_of_round(&mut random, round, n, total, (8.0, 60.0));
        if load(&set, 1) != punctual_tasks::Load::Below {
            continue;
        }
        let found = edf(&set, &[], &mut Effort::usual());
        let jitters = set.iter().any(|w| w.jitter + w.cost > w.deadline);
        let upto = 40_000;
        let schedule = simulate(&set, &at_once(&set), Scheduler::Edf, 1, upto, upto + 4_000);
        let late = schedule
            .done
            .iter()
            .any(|done| done.response > set[done.task].deadline);
        assert_eq!(found != Demand::Met, late || jitters, "{set:?}: {found:?}");
        if found == Demand::Met {
            met += 1
        } else {
            missed += 1
        }
    }
    assert!(met > 1_000 && missed > 500, "{met} {missed}");
}

#[test]
fn response_times_of_edf_are_those_of_exact_schedules_of_all_phases() {
    let mut random = RandomSource::new(3);
    let mut compared = 0;
    for round in 0..1_500 {
        let n = 1 + random.below(4);
        let total = 0.5 + 0.45 * random.uniform();
        let set = set_of_round(&mut random, round, n, total, (4.0, 20.0));
        if load(&set, 1) != punctual_tasks::Load::Below {
            continue;
        }
        // The last task loses ties, as in the analysis.
        let at = set.len() - 1;
        let Bound::At {
            response: bound, ..
        } = edf_response::response(&set, at, &[], Due::FromReleases, &mut Effort::usual())
        else {
            panic!("{set:?}");
        };
        let mut worst = 0;
        for first in 0..set[at].period {
            let mut starts = at_once(&set);
            starts[at].at = first;
            let schedule = simulate(&set, &starts, Scheduler::Edf, 1, 2_000, 4_000);
            worst = worst.max(schedule.worst(at).unwrap());
        }
        assert_eq!(worst, bound, "{set:?}");
        compared += 1;
    }
    assert!(compared > 1_000, "{compared}");
}

#[test]
fn audsley_finds_an_order_if_and_only_if_there_is_one() {
    fn any_order(set: &[Work], above: &mut Vec<usize>, effort: &mut Effort) -> bool {
        if above.len() == set.len() {
            return true;
        }
        for next in 0..set.len() {
            if above.contains(&next) {
                continue;
            }
            let higher: Vec<Work> = above.iter().map(|at| set[*at]).collect();
            if meets(&set[next], &higher, 0, effort) != Some(true) {
                continue;
            }
            above.push(next);
            if any_order(set, above, effort) {
                return true;
            }
            above.pop();
        }
        false
    }
    let mut random = RandomSource::new(4);
    let (mut found_some, mut found_none, mut not_by_deadline) = (0, 0, 0);
    for round in 0..3_000 {
        let n = 2 + random.below(5);
        let total = 0.6 + 0.38 * random.uniform();
        let deadlines = [Deadlines::Constrained, Deadlines::Arbitrary][round % 2];
        let set = random_set(
            &mut random,
            n,
            total,
            (5.0, 100.0),
            deadlines,
            round % 3 == 2,
        );
        if load(&set, 1) != punctual_tasks::Load::Below {
            continue;
        }
        let mut effort = Effort::usual();
        let exists = any_order(&set, &mut Vec::new(), &mut effort);
        match order(&set, &[], |_, _| 0, &mut effort) {
            Order::Found(order) => {
                assert!(exists, "{set:?}");
                let sorted: Vec<Work> = order.iter().map(|at| set[*at]).collect();
                for at in 0..sorted.len() {
                    assert_eq!(
                        meets(&sorted[at], &sorted[..at], 0, &mut effort),
                        Some(true)
                    );
                }
                found_some += 1;
                let mut by_deadline = set.clone();
                by_deadline.sort_by_key(|w| w.deadline);
                let each = (0..by_deadline.len()).all(|at| {
                    meets(&by_deadline[at], &by_deadline[..at], 0, &mut effort) == Some(true)
                });
                not_by_deadline += u32::from(!each);
            }
            Order::None(_) => {
                assert!(!exists, "{set:?}");
                found_none += 1;
            }
            Order::Unknown => panic!("{set:?}"),
        }
    }
    assert!(
        found_some > 500 && found_none > 500 && not_by_deadline > 10,
        "{found_some} {found_none} {not_by_deadline}"
    );
}

#[test]
fn nothing_is_later_on_several_cpus_than_the_global_tests_say() {
    let mut random = RandomSource::new(5);
    let (mut shown, mut dense) = (0, 0);
    for round in 0..2_000 {
        let n = 3 + random.below(5);
        let cpus = 2 + random.below(2);
        let total = cpus as f64 * (0.3 + 0.5 * random.uniform());
        let mut set = random_set(
            &mut random,
            n,
            total.min(n as f64 * 0.9),
            (10.0, 60.0),
            Deadlines::Constrained,
            false,
        );
        if set.iter().any(|w| w.cost > w.deadline) {
            continue;
        }
        set.sort_by_key(|w| w.deadline);
        let (policy, scheduler) = [
            (Global::Fixed, Scheduler::Fixed),
            (Global::Edf, Scheduler::Edf),
        ][round % 2];
        let bounds = global(&set, &[], cpus as u32, policy, &mut Effort::usual());
        let (sum, limit) = densities(&set, cpus as u32);
        let by_density = policy == Global::Edf && sum <= limit - 1e-9;
        for _ in 0..4 {
            let starts: Vec<Start> = set
                .iter()
                .map(|w| Start {
                    at: random.below(w.period as usize) as u64,
                    late: 0,
                })
                .collect();
            let schedule = simulate(&set, &starts, scheduler, cpus, 1_500, 3_000);
            for at in 0..set.len() {
                let seen = schedule.worst(at).unwrap_or(0);
                if let Some(bound) = bounds[at] {
                    assert!(
                        seen <= bound,
                        "{set:?} task {at}: {seen} seen, bound {bound}"
                    );
                    shown += 1;
                }
                if by_density {
                    assert!(seen <= set[at].deadline, "{set:?}");
                    dense += 1;
                }
            }
        }
    }
    assert!(shown > 3_000 && dense > 500, "{shown} {dense}");
}
