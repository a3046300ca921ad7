// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exact response times under fixed priorities on one CPU.
//!
//! The (q+1)-th job of task i in a busy interval that begins with the release of everything ends at the smallest w with
//!
//! ```text
//! w = (q + 1) C_i + B_i + sum over tasks j of at least its priority: ceil((w + J_j) / T_j) C_j
//! ```
//!
//! Its response is w - q T_i + J_i, and the largest of those of all jobs of the interval is the bound: Joseph and Pandya, *The
//! Computer Journal* 29, 1986, for one job; Lehoczky, RTSS 1990, and Tindell, Burns and Wellings, *Real-Time Systems* 6,
//! 1994, for deadlines beyond the period, jitter and blocking.

use crate::work::{Effort, HORIZON, Load, Work, load};

/// What analysis finds of the responses of a task.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Bound {
    /// None is longer. `window` is the interval from the start of the busy interval to the end of the job whose response it
    /// is, and `job` the number of that job.
    At {
        /// The bound.
        response: u64,
        /// From the start of the busy interval to the end of the job.
        window: u64,
        /// Number of the job in the busy interval, from 0.
        job: u64,
    },
    /// They grow without bound: the CPU is asked for more than it has.
    Overload,
    /// Not found within the effort or the horizon.
    Unknown,
}

impl Bound {
    /// Returns the bound.
    pub const fn response(self) -> Option<u64> {
        match self {
            Self::At { response, .. } => Some(response),
            Self::Overload | Self::Unknown => None,
        }
    }
}

/// Returns the largest response of `own` below `above`, blocked by no more than `blocking`.
pub fn response(own: &Work, above: &[Work], blocking: u64, effort: &mut Effort) -> Bound {
    let mut worst = Bound::Unknown;
    let outcome = each_job(own, above, blocking, effort, |job, window| {
        let response = window + own.jitter - job * own.period;
        if worst.response().is_none_or(|known| response > known) {
            worst = Bound::At {
                response,
                window,
                job,
            };
        }
        true
    });
    outcome.map_or(worst, |failed| failed)
}

/// Whether every response of `own` is within its deadline; nothing where it was not found.
pub fn meets(own: &Work, above: &[Work], blocking: u64, effort: &mut Effort) -> Option<bool> {
    let mut met = true;
    let outcome = each_job(own, above, blocking, effort, |job, window| {
        met = window + own.jitter - job * own.period <= own.deadline;
        met
    });
    match outcome {
        None => Some(met),
        Some(Bound::Overload) => Some(false),
        Some(_) => None,
    }
}

/// Hands the end of each job of the longest busy interval to `each`, until it has enough. Returns why that failed.
fn each_job(
    own: &Work,
    above: &[Work],
    blocking: u64,
    effort: &mut Effort,
    mut each: impl FnMut(u64, u64) -> bool,
) -> Option<Bound> {
    // Tasks above alone must leave something, and with this one nothing may pile up.
    let total = Total::of(own, above);
    match total {
        Total::Room => {}
        Total::Full if blocking == 0 && above.iter().chain([own]).all(|w| w.jitter == 0) => {}
        // The CPU is never idle again: responses may be bounded, but the busy interval has no end.
        Total::Full => return Some(Bound::Unknown),
        Total::Over => return Some(Bound::Overload),
    }
    let mut window = blocking + own.cost;
    for job in 0.. {
        let base = (job + 1) * own.cost + blocking;
        window = window.max(base);
        loop {
            if !effort.spend(above.len()) || window > HORIZON {
                return Some(Bound::Unknown);
            }
            let demand = above.iter().map(|work| work.demand(window));
            let longer = demand.fold(base, u64::saturating_add);
            if longer <= window {
                break;
            }
            window = longer;
        }
        if !each(job, window) {
            return None;
        }
        // The busy interval ends where this job ends before the next one is there.
        if window + own.jitter <= (job + 1) * own.period {
            return None;
        }
    }
    None
}

enum Total {
    Room,
    Full,
    Over,
}

impl Total {
    fn of(own: &Work, above: &[Work]) -> Self {
        let sum: f64 = above.iter().map(Work::utilisation).sum::<f64>() + own.utilisation();
        // Rounding of 1000 quotients is far below this.
        if sum < 1.0 - 1e-9 {
            return Self::Room;
        }
        if sum > 1.0 + 1e-9 {
            return Self::Over;
        }
        let mut all = above.to_vec();
        all.push(*own);
        match load(&all, 1) {
            Load::Below => Self::Room,
            Load::Equal | Load::Unclear => Self::Full,
            Load::Above => Self::Over,
        }
    }
}

/// The delay that each task of `above` causes within `window`: its jobs and their time.
pub fn interference(above: &[Work], window: u64) -> Vec<(u64, u64)> {
    let each = above.iter();
    each.map(|work| (work.releases(window), work.demand(window)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(set: &[Work]) -> Vec<Option<u64>> {
        let each = set.iter().enumerate();
        each.map(|(at, own)| response(own, &set[..at], 0, &mut Effort::usual()).response())
            .collect()
    }

    #[test]
    fn the_jobs_of_lehoczky_1990_end_as_published() {
        // Lehoczky, RTSS 1990, section 3: C = 26, T = 70 and C = 62, T = 100. The first job is not the worst.
        let (first, second) = (Work::new(26, 70, 70), Work::new(62, 100, 200));
        let mut responses = Vec::new();
        let mut effort = Effort::usual();
        each_job(&second, &[first], 0, &mut effort, |job, window| {
            responses.push(window - job * second.period);
            true
        });
        assert_eq!(responses, [114, 102, 116, 104, 118, 106, 94]);
        let bound = response(&second, &[first], 0, &mut effort);
        assert_eq!(bound.response(), Some(118));
    }

    #[test]
    fn the_sets_of_burns_and_wellings_end_as_published() {
        // Burns and Wellings, Real-Time Systems and Programming Languages: the set of response-time analysis, and the one of
        // utilisation 1 that meets its deadlines all the same.
        let set = [
            Work::new(3, 7, 7),
            Work::new(3, 12, 12),
            Work::new(5, 20, 20),
        ];
        assert_eq!(bounds(&set), [Some(3), Some(6), Some(20)]);
        let set = [
            Work::new(5, 20, 20),
            Work::new(10, 40, 40),
            Work::new(40, 80, 80),
        ];
        assert_eq!(bounds(&set), [Some(5), Some(15), Some(80)]);
    }

    #[test]
    fn the_example_of_sha_and_goodenough_1990_ends_at_300() {
        // Sha and Goodenough, IEEE Computer 23(4), 1990: 40/100, 40/150, 100/350 has utilisation 0.953, beyond the bound of
        // 0.779, and its third task ends at 300.
        let set = [
            Work::new(40, 100, 100),
            Work::new(40, 150, 150),
            Work::new(100, 350, 350),
        ];
        assert_eq!(bounds(&set), [Some(40), Some(80), Some(300)]);
    }

    #[test]
    fn liu_and_layland_1973_can_double_one_cost_under_one_order_only() {
        // Liu and Layland, JACM 20(1), 1973, section 4: T = 2 and 5. With the shorter period first C2 can grow to 2 and no
        // further; the other way round neither of the two can be more than 1.
        let mut effort = Effort::usual();
        let mut fits = |own: Work, above: Work| {
            meets(&above, &[], 0, &mut effort) == Some(true)
                && meets(&own, &[above], 0, &mut effort) == Some(true)
        };
        let (short, long) = (|c| Work::new(c, 2, 2), |c| Work::new(c, 5, 5));
        assert!(fits(long(2), short(1)) && !fits(long(3), short(1)));
        assert!(fits(short(1), long(1)) && !fits(short(1), long(2)) && !fits(short(2), long(1)));
    }

    #[test]
    fn a_hostile_set_ends_without_a_verdict() {
        let tiny = Work::new(999_999, 1_000_000, 1_000_000);
        let day = crate::work::LONGEST;
        let own = Work::new(day / 1_000_001, day, day);
        let mut effort = Effort::usual().share(1_000);
        assert_eq!(response(&own, &[tiny], 0, &mut effort), Bound::Unknown);
        let over = response(&Work::new(2, 3, 3), &[Work::new(2, 3, 3)], 0, &mut effort);
        assert_eq!(over, Bound::Overload);
    }

    #[test]
    fn a_full_cpu_with_blocking_has_no_bound() {
        let half = Work::new(1, 2, 100);
        assert_eq!(
            response(&half, &[half], 0, &mut Effort::usual()).response(),
            Some(2)
        );
        assert_eq!(
            response(&half, &[half], 1, &mut Effort::usual()),
            Bound::Unknown
        );
    }
}
