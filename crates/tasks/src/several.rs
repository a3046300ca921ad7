// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Several CPUs: tasks that may run on all of them, and tasks that are assigned to one each.

use crate::edf_response::{self, Due};
use crate::response::meets;
use crate::work::{Effort, HORIZON, Work};
use punctual_model::Ordered as _;

/// Under which policy tasks on several CPUs run.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Global {
    /// Fixed priorities: tasks are in their order, the highest first.
    Fixed,
    /// Earliest deadline first.
    Edf,
}

/// The density of a task against the limit of Goossens, Funk and Baruah, *Real-Time Systems* 25, 2003: under global earliest
/// deadline first all deadlines are met if the sum of densities is at most m - (m - 1) times the largest of them.
pub fn densities(set: &[Work], cpus: u32) -> (f64, f64) {
    let density = |w: &Work| {
        let span = w.deadline.min(w.period).saturating_sub(w.jitter);
        punctual_stats::float(w.cost) / punctual_stats::float(span.max(1))
    };
    let sum: f64 = set.iter().map(density).sum();
    let largest = set.iter().map(density).fold(0.0, f64::max);
    (sum, f64::from(cpus) - (f64::from(cpus) - 1.0) * largest)
}

/// The limit of Andersson, Baruah and Jonsson, RTSS 2001, for rate-monotonic priorities that put tasks of a utilisation above
/// m / (3m - 2) first: m^2 / (3m - 2).
pub fn rm_us(cpus: u32) -> (f64, f64) {
    let m = f64::from(cpus);
    (m * m / (3.0 * m - 2.0), m / (3.0 * m - 2.0))
}

/// Bounds on the responses of all tasks on `cpus` CPUs, no longer than their deadlines; nothing from the first task on that
/// cannot be shown to meet its own. Deadlines must not be longer than periods.
///
/// Within the problem window of length L task i has at most W_i(L) = N C_i + min(C_i, L + D_i + J_i - C_i - N T_i) to do, with N =
/// floor((L + D_i + J_i - C_i) / T_i), and task k is delayed for (1/m) sum of min(W_i, L - C_k + 1) at most: Bertogna and Cirinei, RTSS
/// 2007.
///
/// `above` is what each CPU has to do first, such as interrupts: a job that migrates may meet those of every CPU, so they count
/// whole and once a CPU.
pub fn global(
    set: &[Work],
    above: &[Work],
    cpus: u32,
    policy: Global,
    effort: &mut Effort,
) -> Vec<Option<u64>> {
    let constrained = set
        .iter()
        .all(|w| w.deadline <= w.period && w.jitter < w.period);
    let mut bounds = vec![None; set.len()];
    let hopeless = |w: &Work| w.cost.saturating_add(w.jitter) > w.deadline;
    if !constrained || cpus == 0 || policy == Global::Edf && set.iter().any(hopeless) {
        return bounds;
    }
    for (at, own) in set.iter().enumerate() {
        // A task may rely on those above it meeting their deadlines; under EDF on all.
        let others: Vec<usize> = match policy {
            Global::Fixed => (0..at).collect(),
            Global::Edf => (0..set.len()).filter(|other| *other != at).collect(),
        };
        if policy == Global::Fixed && bounds[..at].iter().any(Option::is_none) {
            break;
        }
        bounds[at] = one((set, above), own, &others, cpus, policy, effort);
    }
    if policy == Global::Edf && bounds.iter().any(Option::is_none) {
        // Each was shown under the assumption that all others meet theirs.
        bounds.fill(None);
    }
    bounds
}

fn one(
    (set, above): (&[Work], &[Work]),
    own: &Work,
    others: &[usize],
    cpus: u32,
    policy: Global,
    effort: &mut Effort,
) -> Option<u64> {
    let limit = own.deadline.checked_sub(own.jitter)?;
    let delay = |other: &Work, window: u64| {
        let work = workload(other, window);
        match policy {
            Global::Fixed => work,
            Global::Edf => work.min(due_first(other, own, window)),
        }
    };
    let others: Vec<&Work> = others.iter().map(|other| &set[*other]).collect();
    let mut window = start(own, &others, delay, (cpus, limit), effort)?;
    while window <= limit {
        if !effort.spend(above.len() + others.len()) {
            return None;
        }
        let cap = window - own.cost + 1;
        let each = others.iter().map(|other| delay(other, window).min(cap));
        let total = each.fold(0, u64::saturating_add);
        let first = above.iter().map(|work| work.demand(window));
        let first = first.map(|on_one| on_one.saturating_mul(cpus.into()));
        let first = first.fold(own.cost, u64::saturating_add);
        let longer = first.saturating_add(total / u64::from(cpus));
        if longer <= window {
            return Some(window + own.jitter);
        }
        window = longer.min(HORIZON);
    }
    None
}

/// The shortest window in which fewer than `cpus` tasks have as much to do as it takes to keep `own` from its end: in a shorter one
/// they do, and the next one to look at would be longer by 1. A task's work grows no faster than the window, so each has one window
/// from which on it has less.
fn start(
    own: &Work,
    others: &[&Work],
    delay: impl Fn(&Work, u64) -> u64,
    (cpus, limit): (u32, u64),
    effort: &mut Effort,
) -> Option<u64> {
    let mut enough: Vec<u64> = Vec::with_capacity(others.len());
    for other in others {
        let (mut low, mut high) = (own.cost, limit.max(own.cost) + 1);
        while low < high {
            if !effort.spend(0) {
                return None;
            }
            let middle = low + (high - low) / 2;
            match delay(other, middle) > middle - own.cost {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        enough.push(low);
    }
    enough.sort_unstable_by_key(|window| std::cmp::Reverse(*window));
    let busy = usize::try_from(cpus).unwrap_or(usize::MAX);
    Some(enough.get(busy - 1).map_or(own.cost, |window| *window))
}

/// What `other` has to do within the window of a job of `own` under earliest deadline first: jobs that are due no later, and what of
/// its jobs may be served early.
fn due_first(other: &Work, own: &Work, window: u64) -> u64 {
    let whole = |reach: u64, cost: u64| {
        let jobs = (reach / other.period).saturating_mul(cost);
        jobs.saturating_add(cost.min(reach % other.period))
    };
    let due = whole(own.deadline.saturating_add(other.jitter), other.cost);
    due.saturating_add(whole(
        window + other.jitter.saturating_sub(other.early),
        other.early,
    ))
}

fn workload(work: &Work, window: u64) -> u64 {
    let reach = window + work.deadline + work.jitter - work.cost;
    let jobs = reach / work.period;
    jobs.saturating_mul(work.cost)
        .saturating_add(work.cost.min(reach % work.period))
}

/// The largest tardiness under global earliest deadline first of tasks whose deadlines are the ends of their periods, if the set
/// does not ask for more than all CPUs (Devi and Anderson, *Real-Time Systems* 38, 2008). It is that of the task with the largest cost.
pub fn tardiness(set: &[Work], cpus: u32) -> Option<u64> {
    if set.iter().any(|w| w.deadline < w.period) {
        return None;
    }
    let total: f64 = set.iter().map(Work::utilisation).sum();
    if total > f64::from(cpus) || cpus == 0 || set.is_empty() {
        return None;
    }
    if cpus == 1 {
        return Some(0);
    }
    let mut costs: Vec<u64> = set.iter().map(|w| w.cost).collect();
    costs.sort_unstable_by(|a, b| b.cmp(a));
    let mut shares: Vec<f64> = set.iter().map(Work::utilisation).collect();
    shares.sort_unstable_by(|a, b| b.total_cmp(a));
    let busy = cpus as usize - 1;
    let heavy: u64 = costs.iter().take(busy).sum();
    let least = *costs.last()?;
    let room = f64::from(cpus) - shares.iter().take(busy.saturating_sub(1)).sum::<f64>();
    if room <= 0.0 {
        return None;
    }
    let late = punctual_stats::float(heavy.saturating_sub(least)) / room;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, at most the sum of costs"
    )]
    let late = late.ceil() as u64;
    Some(late.saturating_add(*costs.first()?))
}

/// How a CPU decides whether a task fits with those it has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Fit<'a> {
    /// By response times, with these priorities of the set's tasks. Tasks of the same one delay each other.
    Fixed(&'a [u8]),
    /// By processor demand, or by response times where deadlines count from wake-ups.
    Edf(Due),
}

/// An assignment: the tasks of each CPU, and those that fit on none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Assigned {
    /// Numbers of the tasks, by CPU.
    pub cpus: Vec<Vec<usize>>,
    /// Numbers of the tasks that fit on none.
    pub left_over: Vec<usize>,
}

/// Assigns tasks, the largest utilisation first, to the first CPU on which they fit, or (`worst`) to the one with the most room.
/// `above` is what each CPU has to do first; `may(task, cpu, there)` says whether a task is allowed on a CPU with those there.
pub fn assign(
    set: &[Work],
    cpus: usize,
    above: &[Work],
    fit: Fit<'_>,
    worst: bool,
    may: impl Fn(usize, usize, &[usize]) -> bool,
    effort: &mut Effort,
) -> Assigned {
    let mut order: Vec<usize> = (0..set.len()).collect();
    order.order_by(|a, b| set[*b].utilisation().total_cmp(&set[*a].utilisation()));
    let mut assigned = Assigned {
        cpus: vec![Vec::new(); cpus],
        left_over: Vec::new(),
    };
    for task in order {
        let mut places: Vec<usize> = (0..cpus)
            .filter(|cpu| may(task, *cpu, &assigned.cpus[*cpu]))
            .collect();
        if worst {
            let used = |cpu: usize| -> f64 {
                assigned.cpus[cpu]
                    .iter()
                    .map(|t| set[*t].utilisation())
                    .sum()
            };
            places.order_by(|a, b| used(*a).total_cmp(&used(*b)));
        }
        let fits = |cpu: &usize, effort: &mut Effort| {
            let mut with = assigned.cpus[*cpu].clone();
            with.push(task);
            fits((set, above), &mut with, fit, effort)
        };
        match places.into_iter().find(|cpu| fits(cpu, effort)) {
            Some(cpu) => assigned.cpus[cpu].push(task),
            None => assigned.left_over.push(task),
        }
    }
    for tasks in &mut assigned.cpus {
        tasks.sort_unstable();
    }
    assigned
}

fn fits(
    (set, above): (&[Work], &[Work]),
    tasks: &mut [usize],
    fit: Fit<'_>,
    effort: &mut Effort,
) -> bool {
    match fit {
        Fit::Edf(counted) => {
            tasks.sort_unstable();
            let works: Vec<Work> = tasks.iter().map(|task| set[*task]).collect();
            match counted {
                Due::FromReleases => {
                    crate::demand::edf(&works, above, effort) == crate::demand::Demand::Met
                }
                Due::FromWakeUps => (0..works.len()).all(|at| {
                    let found = edf_response::response(&works, at, above, counted, effort);
                    let response = found.response();
                    response.is_some_and(|response| response <= works[at].deadline)
                }),
            }
        }
        Fit::Fixed(levels) => tasks.iter().all(|own| {
            let delays = |other: &&usize| *other != own && levels[**other] >= levels[*own];
            let others = tasks.iter().filter(delays).map(|other| &set[*other]);
            let first: Vec<Work> = above.iter().chain(others).copied().collect();
            meets(&set[*own], &first, 0, effort) == Some(true)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dhalls_set_fits_on_two_cpus_only_if_it_is_partitioned() {
        // Dhall and Liu, Operations Research 26, 1978: light tasks of short periods keep the heavy one from both CPUs.
        let set = [
            Work::new(20, 100, 100),
            Work::new(20, 100, 100),
            Work::new(95, 101, 101),
        ];
        let mut effort = Effort::usual();
        for policy in [Global::Fixed, Global::Edf] {
            assert!(
                global(&set, &[], 2, policy, &mut effort).contains(&None),
                "{policy:?}"
            );
        }
        for (fit, worst) in [
            (Fit::Edf(Due::FromReleases), false),
            (Fit::Edf(Due::FromReleases), true),
            (Fit::Fixed(&[3, 2, 1]), false),
            (Fit::Fixed(&[3, 2, 1]), true),
        ] {
            let assigned = assign(&set, 2, &[], fit, worst, |_, _, _| true, &mut effort);
            assert!(assigned.left_over.is_empty(), "{assigned:?}");
        }
        let (sum, limit) = densities(&set, 2);
        assert!(sum > limit);
        assert!(tardiness(&set, 2).is_some());
    }

    #[test]
    fn first_fit_fills_and_worst_fit_spreads() {
        let set = [Work::new(3, 10, 10), Work::new(2, 10, 10)];
        let of = |worst| {
            assign(
                &set,
                2,
                &[],
                Fit::Edf(Due::FromReleases),
                worst,
                |_, _, _| true,
                &mut Effort::usual(),
            )
            .cpus
        };
        assert_eq!(of(false), [vec![0, 1], vec![]]);
        assert_eq!(of(true), [vec![0], vec![1]]);
    }

    #[test]
    fn tasks_of_one_priority_delay_each_other() {
        // The second would have the first respond after 6.
        let set = [Work::new(1, 10, 2), Work::new(5, 10, 10)];
        let together = |levels: &[u8]| {
            let fit = Fit::Fixed(levels);
            let mut effort = Effort::usual();
            let assigned = assign(&set, 1, &[], fit, false, |_, _, _| true, &mut effort);
            assigned.left_over.is_empty()
        };
        assert!(together(&[51, 50]));
        assert!(!together(&[50, 50]));
    }

    #[test]
    fn a_task_that_may_not_be_elsewhere_stays_over() {
        let set = [Work::new(6, 10, 10), Work::new(5, 10, 10)];
        let assigned = assign(
            &set,
            2,
            &[],
            Fit::Edf(Due::FromReleases),
            false,
            |_, cpu, _| cpu == 1,
            &mut Effort::usual(),
        );
        assert_eq!(assigned.left_over, [1]);
    }

    #[test]
    fn the_limit_of_rm_us_is_that_of_the_paper() {
        let (limit, heavy) = rm_us(2);
        assert!((limit - 1.0).abs() < 1e-12 && (heavy - 0.5).abs() < 1e-12);
    }
}
