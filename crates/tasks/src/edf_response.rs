// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Exact response times under earliest deadline first on one CPU (Spuri, INRIA report 2772, 1996).
//!
//! The worst response of task i is found in a busy interval in which every other task is released at the start and as often
//! as it may, and a job of i at a. That job ends at the smallest w with
//!
//! ```text
//! w = (1 + floor(a / T_i)) C_i + sum over j with D_j <= a + D_i + J_j:
//!     min(ceil((w + J_j) / T_j), 1 + floor((a + D_i - D_j + J_j) / T_j)) C_j
//! ```
//!
//! and its response is max(C_i, w - a). Only those a matter at which the job's deadline is that of another job.
//!
//! The kernel does not know when a release was due: it counts the deadline from the wake-up, so that a job that comes J_i late is
//! due J_i later, and other tasks may go first that much longer ([`Due::FromWakeUps`]). What a job may have early adds to what goes
//! first, but no more than all jobs of the interval.

use crate::response::Bound;
use crate::work::{Effort, Load, Work, busy_period, load};

/// From when a scheduler counts a job's deadline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Due {
    /// From when its release was due, whenever it came.
    FromReleases,
    /// From when it came.
    FromWakeUps,
}

impl Due {
    /// How much earlier than its release says a job of `own` may be due, at most.
    const fn early(self, own: &Work) -> u64 {
        match self {
            Self::FromReleases => own.jitter,
            Self::FromWakeUps => 0,
        }
    }
}

/// Returns the largest response of task `of` of `set`, below `above`, which goes first whatever is due. It counts from when the
/// release was due, and is exact for deadlines that do so too.
pub fn response(
    set: &[Work],
    of: usize,
    above: &[Work],
    counted: Due,
    effort: &mut Effort,
) -> Bound {
    let Some(own) = set.get(of) else {
        return Bound::Unknown;
    };
    let all: Vec<Work> = set.iter().chain(above).copied().collect();
    if load(&all, 1) == Load::Above {
        return Bound::Overload;
    }
    let Some(busy) = busy_period(&all, 0, effort) else {
        return Bound::Unknown;
    };
    let mut worst = Bound::Unknown;
    for a in Candidates::new(set, of, counted.early(own), busy) {
        let Some(window) = window((set, above), of, (a, counted), busy, effort) else {
            return Bound::Unknown;
        };
        // Its release was due at a - J_i, and it came at a.
        let response = (window + own.jitter)
            .saturating_sub(a)
            .max(own.cost + own.jitter);
        if worst.response().is_none_or(|known| response > known) {
            worst = Bound::At {
                response,
                window,
                job: a / own.period,
            };
        }
    }
    worst
}

/// The end of the job of `own` that came at `a`, J_i late.
fn window(
    (set, above): (&[Work], &[Work]),
    of: usize,
    (a, counted): (u64, Due),
    busy: u64,
    effort: &mut Effort,
) -> Option<u64> {
    let own = set.get(of)?;
    let base = (1 + a / own.period) * own.cost;
    let mut window = base;
    loop {
        if !effort.spend(set.len() + above.len()) {
            return None;
        }
        let first = above.iter().map(|work| work.demand(window));
        let mut longer = first.fold(base, u64::saturating_add);
        for (at, other) in set.iter().enumerate() {
            if at == of {
                continue;
            }
            let jobs = other.releases(window);
            let early = jobs.saturating_mul(other.early);
            let all = jobs.saturating_mul(other.cost);
            let urgent = (a + own.deadline + other.jitter)
                .checked_sub(other.deadline + counted.early(own))
                .map_or(0, |after| {
                    (after / other.period + 1).saturating_mul(other.cost)
                });
            longer = longer.saturating_add(all.min(urgent.saturating_add(early)));
        }
        if longer <= window {
            return Some(window);
        }
        // Nothing is left at the end of the longest busy interval.
        if longer > busy {
            return Some(busy.max(window));
        }
        window = longer;
    }
}

/// The times `a` that matter, each once per task: where the job's deadline is that of another job, and 0.
#[derive(Debug)]
struct Candidates<'a> {
    set: &'a [Work],
    of: usize,
    early: u64,
    end: u64,
    task: usize,
    next: Option<u64>,
}

impl<'a> Candidates<'a> {
    fn new(set: &'a [Work], of: usize, early: u64, end: u64) -> Self {
        let mut all = Self {
            set,
            of,
            early,
            end,
            task: 0,
            next: None,
        };
        all.next = all.first();
        all
    }

    /// The first time of the task: a + D_i = D_j - J_j + k T_j, or a + D_i - J_i, not below 0. Its own are those of its releases.
    fn first(&self) -> Option<u64> {
        let other = self.set.get(self.task)?;
        if self.task == self.of {
            return Some(0);
        }
        let own = self.set.get(self.of)?;
        let wanted =
            i128::from(other.deadline) - i128::from(other.jitter) - i128::from(own.deadline)
                + i128::from(self.early);
        let period = i128::from(other.period);
        u64::try_from(if wanted >= 0 {
            wanted
        } else {
            wanted.rem_euclid(period)
        })
        .ok()
    }
}

impl Iterator for Candidates<'_> {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let other = self.set.get(self.task)?;
            let at = self.next?;
            if at < self.end {
                self.next = Some(at + other.period);
                return Some(at);
            }
            self.task += 1;
            self.next = self.first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_tasks_by_hand() {
        // C/T: 2/4 and 3/7: the longer one ends at 5 at the latest when both come at once; its worst is later.
        let set = [Work::new(2, 4, 4), Work::new(3, 7, 7)];
        let of = |at| {
            response(&set, at, &[], Due::FromReleases, &mut Effort::usual())
                .response()
                .unwrap()
        };
        assert!(of(0) >= 2 && of(0) <= 4, "{}", of(0));
        assert!(of(1) >= 5 && of(1) <= 7, "{}", of(1));
    }
}
