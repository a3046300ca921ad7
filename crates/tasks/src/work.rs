// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What analysis sees of a task: some numbers in nanoseconds, and exact arithmetic on them.

/// The longest time that analysis looks at: 52 days. Nothing that is no longer than this overflows.
pub const HORIZON: u64 = 1 << 52;

/// The longest period, deadline or jitter of a task: a day.
pub const LONGEST: u64 = 86_400_000_000_000;

/// The most tasks of a set.
pub const MOST_TASKS: usize = 1_000;

/// A task as analysis sees it. Times are in ns.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Work {
    /// Longest execution time of a job.
    pub cost: u64,
    /// Shortest time between releases.
    pub period: u64,
    /// Time until the job must be done.
    pub deadline: u64,
    /// How late a release may be.
    pub jitter: u64,
    /// What a job may have of the time that the one before, which came late, left in its reservation: it goes before others then,
    /// because it is due when that one was.
    pub early: u64,
}

impl Work {
    /// Makes a task without jitter.
    pub const fn new(cost: u64, period: u64, deadline: u64) -> Self {
        Self {
            cost,
            period,
            deadline,
            jitter: 0,
            early: 0,
        }
    }

    /// Its share of a CPU.
    pub fn utilisation(&self) -> f64 {
        punctual_stats::float(self.cost) / punctual_stats::float(self.period.max(1))
    }

    /// The most jobs that are released within `window`, which ends before the last instant.
    pub(crate) const fn releases(&self, window: u64) -> u64 {
        window.saturating_add(self.jitter).div_ceil(self.period)
    }

    /// The most work that is released within `window`.
    pub(crate) const fn demand(&self, window: u64) -> u64 {
        self.releases(window).saturating_mul(self.cost)
    }
}

/// Work that an analysis may do before it gives up: hostile sets have periods that differ by a factor of 10^12.
#[derive(Clone, Copy, Debug)]
pub struct Effort(u64);

/// About half a second: a step takes some 5 ns.
const USUAL: u64 = 100_000_000;

impl Effort {
    /// Enough for every set that people make: about half a second.
    pub const fn usual() -> Self {
        Self(USUAL)
    }

    /// The steps that were taken of [`Self::usual`].
    pub(crate) const fn spent(self) -> u64 {
        USUAL.saturating_sub(self.0)
    }

    /// Takes some; `false` where nothing is left.
    pub(crate) const fn spend(&mut self, terms: usize) -> bool {
        let terms = terms as u64 + 1;
        let enough = self.0 >= terms;
        self.0 = self.0.saturating_sub(terms);
        enough
    }

    /// Whether it ran out.
    pub(crate) const fn is_over(self) -> bool {
        self.0 == 0
    }

    /// At most a part of what is left, for one question among several.
    pub(crate) const fn share(self, parts: u64) -> Self {
        Self(self.0 / parts)
    }
}

/// How a sum of utilisations compares with a whole number, exactly.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Load {
    /// Less.
    Below,
    /// The same.
    Equal,
    /// More.
    Above,
    /// Too close to be told in 128 bits.
    Unclear,
}

/// Compares the utilisation of a set with `cpus`.
///
/// In units of 2^-64 each quotient is rounded down, so that n of them are at most n units too small. Only a sum that close to
/// the limit is computed with a common denominator.
pub fn load(set: &[Work], cpus: u64) -> Load {
    let mut low: u128 = 0;
    let mut inexact: u128 = 0;
    for work in set {
        let scaled = u128::from(work.cost) << 64;
        let period = u128::from(work.period);
        low = low.saturating_add(scaled / period);
        inexact += u128::from(!scaled.is_multiple_of(period));
    }
    let limit = u128::from(cpus) << 64;
    if low > limit || (low == limit && inexact > 0) {
        return Load::Above;
    }
    if low + inexact < limit {
        return Load::Below;
    }
    if inexact == 0 {
        return Load::Equal;
    }
    match exact_sum(set) {
        Some((sum, one)) => match sum.cmp(&(one.saturating_mul(u128::from(cpus)))) {
            std::cmp::Ordering::Less => Load::Below,
            std::cmp::Ordering::Equal => Load::Equal,
            std::cmp::Ordering::Greater => Load::Above,
        },
        None => Load::Unclear,
    }
}

/// The sum of utilisations as a fraction; nothing where its denominator is too large.
fn exact_sum(set: &[Work]) -> Option<(u128, u128)> {
    let mut one: u128 = 1;
    for work in set {
        let period = u128::from(work.period / gcd(work.period.into(), work.cost.into()));
        one = one.checked_mul(period / gcd_wide(one, period))?;
    }
    let mut sum: u128 = 0;
    for work in set {
        let common = gcd(work.period.into(), work.cost.into());
        let (cost, period) = (work.cost / common, work.period / common);
        let part = (one / u128::from(period)).checked_mul(u128::from(cost))?;
        sum = sum.checked_add(part)?;
    }
    Some((sum, one))
}

fn gcd(a: u128, b: u128) -> u64 {
    u64::try_from(gcd_wide(a, b)).unwrap_or(1).max(1)
}

const fn gcd_wide(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The least common multiple of the periods; nothing beyond the horizon.
pub fn hyperperiod(set: &[Work]) -> Option<u64> {
    set.iter().try_fold(1_u64, |all, work| {
        let common = gcd(all.into(), work.period.into());
        let longer = (all / common).checked_mul(work.period)?;
        (longer <= HORIZON).then_some(longer)
    })
}

/// The length of the longest interval in which the CPU is never idle: all tasks are released at its start, each as late as
/// its jitter allows. Nothing where it is beyond the horizon, or the effort ran out.
pub(crate) fn busy_period(set: &[Work], blocking: u64, effort: &mut Effort) -> Option<u64> {
    if set.is_empty() {
        return Some(blocking);
    }
    if !matches!(load(set, 1), Load::Below | Load::Equal) {
        return None;
    }
    let mut length = blocking + set.iter().map(|work| work.cost).sum::<u64>();
    loop {
        if !effort.spend(set.len()) || length > HORIZON {
            return None;
        }
        let all = set.iter().map(|work| work.demand(length));
        let longer = all.fold(blocking, u64::saturating_add);
        if longer <= length {
            return Some(length);
        }
        length = longer;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_thirds_is_exactly_one() {
        let third = Work::new(1, 3, 3);
        assert_eq!(load(&[third; 3], 1), Load::Equal);
        assert_eq!(load(&[third; 2], 1), Load::Below);
        assert_eq!(load(&[third; 4], 1), Load::Above);
        let huge = Work::new(LONGEST - 1, LONGEST, LONGEST);
        assert_eq!(load(&[huge], 1), Load::Below);
        let rest = Work::new(1, LONGEST, LONGEST);
        assert_eq!(load(&[huge, rest], 1), Load::Equal);
        assert_eq!(load(&[huge, rest, rest], 1), Load::Above);
    }

    #[test]
    fn a_sum_that_is_near_one_is_told_from_one() {
        let primes = [
            86_399_999_999_989_u64,
            86_399_999_999_977,
            86_399_999_999_963,
        ];
        let mut set: Vec<Work> = primes.iter().map(|p| Work::new(p / 3, *p, *p)).collect();
        assert_eq!(load(&set, 1), Load::Below);
        set[0].cost += 1_000_000;
        assert_eq!(load(&set, 1), Load::Above);
    }

    #[test]
    fn the_hyperperiod_of_the_textbook_and_of_a_hostile_set() {
        let set = [Work::new(1, 4, 4), Work::new(1, 6, 6), Work::new(1, 10, 10)];
        assert_eq!(hyperperiod(&set), Some(60));
        let set = [Work::new(1, LONGEST, 1), Work::new(1, LONGEST - 1, 1)];
        assert_eq!(hyperperiod(&set), None);
    }
}
