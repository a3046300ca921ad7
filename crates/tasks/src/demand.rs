// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Earliest deadline first on one CPU, exactly: utilisation and processor demand.
//!
//! Within any interval of length t the jobs that are released and due in it need
//!
//! ```text
//! h(t) = sum over tasks with D_i - J_i <= t: floor((t + T_i + J_i - D_i) / T_i) C_i
//! ```
//!
//! Every deadline is met if and only if the utilisation is at most 1 and h(t) <= t for every t up to the end of the longest busy
//! interval: Baruah, Rosier and Howell, *Real-Time Systems* 2, 1990; with jitter Spuri, INRIA 2772, 1996. Not every t is
//! looked at: from the end backwards, all between h(t) and t are fine if h(t) < t (QPA: Zhang and Burns, *IEEE Transactions on
//! Computers* 58, 2009).

use crate::work::{Effort, HORIZON, Load, Work, busy_period, load};

/// What the test of processor demand finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Demand {
    /// Every deadline is met.
    Met,
    /// More is due within an interval of this length than it has time.
    Exceeded {
        /// Length of the interval.
        interval: u64,
        /// What is due in it.
        demand: u64,
    },
    /// The utilisation is above 1.
    Overload,
    /// Not found within the effort or the horizon.
    Unknown,
}

/// The time of the jobs that are released and due within `interval`.
pub fn demand(set: &[Work], interval: u64) -> u64 {
    set.iter().fold(0, |sum, work| {
        let reach = interval.saturating_add(work.jitter);
        match reach.checked_sub(work.deadline) {
            Some(after) => sum.saturating_add((after / work.period + 1).saturating_mul(work.cost)),
            None => sum,
        }
    })
}

/// The last deadline before `before` of a job in the busy interval.
fn last_deadline(set: &[Work], before: u64) -> Option<u64> {
    let last = |work: &Work| {
        // Deadlines are at D - J + k T, the first not before the start.
        let reach = (before + work.jitter).checked_sub(work.deadline + 1)?;
        let at = work.deadline + reach / work.period * work.period;
        at.checked_sub(work.jitter)
    };
    set.iter().filter_map(last).max()
}

/// The jobs that are late where their release comes after their deadline: no interval shows it.
fn hopeless(set: &[Work]) -> bool {
    set.iter()
        .any(|w| w.cost.saturating_add(w.jitter) > w.deadline)
}

/// Whether every deadline of `set` is met under earliest deadline first, below `above`, which goes first whatever is due.
pub fn edf(set: &[Work], above: &[Work], effort: &mut Effort) -> Demand {
    if set.is_empty() {
        return Demand::Met;
    }
    let all: Vec<Work> = set.iter().chain(above).copied().collect();
    match load(&all, 1) {
        Load::Above => return Demand::Overload,
        Load::Unclear => return Demand::Unknown,
        Load::Below | Load::Equal => {}
    }
    if hopeless(set) {
        // In an interval of D - J the job is due with all its cost.
        let work = set.iter().find(|w| w.cost + w.jitter > w.deadline);
        return work.map_or(Demand::Unknown, |w| Demand::Exceeded {
            interval: w.deadline.saturating_sub(w.jitter),
            demand: w.cost,
        });
    }
    let relaxed = |w: &Work| w.deadline >= w.period + w.jitter;
    if above.is_empty() && set.iter().all(relaxed) {
        return Demand::Met;
    }
    let Some(end) = end(&all, above.len(), effort) else {
        return Demand::Unknown;
    };
    backwards(set, above, end + 1, effort)
}

/// The end of the intervals that have to be looked at. The last `above` of the set are due at once.
fn end(set: &[Work], above: usize, effort: &mut Effort) -> Option<u64> {
    let due = |at: usize, w: &Work| match at + above < set.len() {
        true => w.deadline,
        false => 0,
    };
    let utilisation: f64 = set.iter().map(Work::utilisation).sum();
    let mut share = effort.share(2);
    let busy = busy_period(set, 0, &mut share);
    // L_a: beyond it h(t) <= U t + sum of U (T + J - D) <= t. Rounded up by far more than the error of the sum.
    let excess: f64 = set
        .iter()
        .enumerate()
        .map(|(at, w)| {
            let late =
                punctual_stats::float(w.period + w.jitter) - punctual_stats::float(due(at, w));
            w.utilisation() * late.max(0.0)
        })
        .sum();
    let room = 1.0 - utilisation;
    let bound = excess / room * (1.0 + 1e-6) + 1.0;
    let from_demand = (room > 1e-9 && bound < punctual_stats::float(HORIZON)).then(|| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive and below the horizon"
        )]
        let whole = bound as u64;
        let longest = set
            .iter()
            .map(|w| w.deadline.saturating_sub(w.jitter))
            .max();
        whole.max(longest.unwrap_or(0))
    });
    match (busy, from_demand) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

/// QPA over the intervals below `until`.
fn backwards(set: &[Work], above: &[Work], until: u64, effort: &mut Effort) -> Demand {
    let Some(mut at) = last_deadline(set, until) else {
        return Demand::Met;
    };
    loop {
        if !effort.spend(set.len() + above.len()) {
            return Demand::Unknown;
        }
        let first = above.iter().map(|work| work.demand(at));
        let first = first.fold(0, u64::saturating_add);
        let needed = demand(set, at).saturating_add(first);
        if needed > at {
            return Demand::Exceeded {
                interval: at,
                demand: needed,
            };
        }
        // What is needed by `needed` itself is asked next: all between are fine.
        let next = match needed < at {
            true => last_deadline(set, needed + 1),
            false => last_deadline(set, at),
        };
        let Some(next) = next else {
            return Demand::Met;
        };
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(random: &mut punctual_stats::RandomSource, below: u64) -> u64 {
        random.below(usize::try_from(below).unwrap()) as u64
    }

    fn naive(set: &[Work], upto: u64) -> bool {
        (0..=upto).all(|t| demand(set, t) <= t)
    }

    #[test]
    fn qpa_agrees_with_looking_at_every_instant() {
        let mut random = punctual_stats::RandomSource::new(7);
        let (mut met, mut missed) = (0, 0);
        for _ in 0..3_000 {
            let n = 1 + random.below(4);
            let set: Vec<Work> = (0..n)
                .map(|_| {
                    let period = 2 + small(&mut random, 12);
                    let cost = 1 + small(&mut random, period.div_ceil(3));
                    let deadline = cost + small(&mut random, period * 2);
                    Work {
                        jitter: small(&mut random, 3),
                        ..Work::new(cost, period, deadline)
                    }
                })
                .collect();
            if load(&set, 1) != Load::Below {
                continue;
            }
            let expected = naive(
                &set,
                100_000.min(4 * crate::work::hyperperiod(&set).unwrap() + 100),
            );
            let found = edf(&set, &[], &mut Effort::usual());
            assert_eq!(found == Demand::Met, expected, "{set:?}: {found:?}");
            if expected { met += 1 } else { missed += 1 }
        }
        assert!(met > 100 && missed > 100, "{met} {missed}");
    }

    #[test]
    fn a_density_above_one_may_still_meet_every_deadline() {
        // Sum of C / min(D, T) is 1.08; demand shows that all is met.
        let set = [Work::new(2, 6, 5), Work::new(2, 8, 4), Work::new(4, 22, 22)];
        assert_eq!(edf(&set, &[], &mut Effort::usual()), Demand::Met);
        let tight = [Work::new(2, 6, 3), Work::new(2, 8, 3)];
        let found = edf(&tight, &[], &mut Effort::usual());
        assert_eq!(
            found,
            Demand::Exceeded {
                interval: 3,
                demand: 4
            }
        );
    }

    #[test]
    fn full_utilisation_is_decided_and_hostile_periods_end() {
        let set = [Work::new(1, 2, 2), Work::new(1, 2, 2)];
        assert_eq!(edf(&set, &[], &mut Effort::usual()), Demand::Met);
        let set = [Work::new(1, 2, 1), Work::new(1, 2, 2)];
        assert_eq!(edf(&set, &[], &mut Effort::usual()), Demand::Met);
        let day = crate::work::LONGEST;
        let hostile = [Work::new(1, 2, 2), Work::new(day / 2 - 1, day - 1, day - 2)];
        let mut effort = Effort::usual().share(10_000);
        assert!(matches!(
            edf(&hostile, &[], &mut effort),
            Demand::Unknown | Demand::Met
        ));
    }
}
