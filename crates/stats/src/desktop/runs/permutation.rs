// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The permutation test of Welch's t, and the interval of what it does not reject.
//!
//! Permutations are exact where the groups are alike. Where one varies more than the other, small
//! groups reject too often: 3 runs at four times the deviation of 20 others in 12 % of cases without
//! an effect. Welch's own t is right there if the values are normal, and wrong elsewhere. So two groups
//! differ only where both do: the p-value is the larger of the two, and the interval holds
//! what either accepts. The differences of blocks are symmetric where nothing differs, whatever varies
//! more, and need no such care.
//!
//! For each arrangement only four sums are kept. From them follows t for the data with any effect δ
//! taken away from the candidate, so that the p-value as a function of δ costs nothing more than a
//! pass over the arrangements, and the interval is a search for where it crosses the level.

use super::question::{Contrast, Layout, QuestionError, differences};
use super::{Question, TestKind};
use crate::num::positive;
use crate::random::RandomSource;
use crate::student::student_t_cdf;

/// Arrangements up to this number are all looked at: 9 runs a side, 15 blocks.
const MOST_EXACT: u64 = 50_000;

/// Fewer random arrangements than this are never drawn, however many runs there are.
const LEAST_DRAWN: usize = 999;

/// Additions that drawing the arrangements may take.
const WORK: usize = 20_000_000;

/// Two values of t closer than this share of theirs are the same: sums in another order.
const SAME: f64 = 1e-9;

/// The arrangements of two groups, or of the sides of blocks.
#[derive(Clone, Debug)]
pub struct Permutations {
    rows: Rows,
    kind: TestKind,
    smallest: f64,
    contrast: Contrast,
}

#[derive(Clone, Debug)]
enum Rows {
    Groups(GroupRows),
    Pairs(PairRows),
}

/// The first row is the arrangement that was observed.
#[derive(Clone, Debug)]
struct GroupRows {
    counts: [f64; 2],
    sum: f64,
    square: f64,
    sum_b: f64,
    rows: Vec<GroupRow>,
}

/// The sums over those values that an arrangement gives to the baseline.
#[derive(Clone, Copy, Debug, Default)]
struct GroupRow {
    sum: f64,
    square: f64,
    /// Of those among them that are really of the candidate.
    sum_b: f64,
    count_b: f64,
}

#[derive(Clone, Debug)]
struct PairRows {
    count: f64,
    sum: f64,
    square: f64,
    /// The sum of the differences with their signs, and the sum of the signs.
    rows: Vec<(f64, f64)>,
}

impl Permutations {
    /// Prepares the test. `None` below two runs a side, or two blocks.
    ///
    /// `draws` random arrangements are taken where there are more than 50 000, fewer for thousands
    /// of runs.
    ///
    /// # Errors
    ///
    /// [`QuestionError`] for values that are not finite, or blocks that do not fit the values.
    pub fn of(
        question: &Question<'_>,
        draws: usize,
        seed: u64,
    ) -> Result<Option<Self>, QuestionError> {
        Ok(Self::of_layout(&question.data()?.layout, draws, seed))
    }

    pub(crate) fn of_layout(layout: &Layout, draws: usize, seed: u64) -> Option<Self> {
        let contrast = layout.contrast()?;
        let mut source = RandomSource::new(seed);
        let (rows, all, mirrored) = match layout {
            Layout::Groups(a, b) => {
                let all = choices(a.len() + b.len(), a.len());
                let rows = group_rows(a, b, all, draws, &mut source);
                (Rows::Groups(rows), all, a.len() == b.len())
            }
            Layout::Pairs(pairs) => {
                let all = 2_f64.powi(i32::try_from(pairs.len()).unwrap_or(i32::MAX));
                let rows = pair_rows(&differences(pairs), all, draws, &mut source);
                (Rows::Pairs(rows), all, true)
            }
        };
        let looked_at = rows.len() as u64;
        let exact = all <= MOST_EXACT as f64;
        // An arrangement and its mirror image are equally extreme.
        let rarest = if mirrored { 2.0 } else { 1.0 } / all;
        Some(Self {
            kind: if exact {
                TestKind::Exact {
                    arrangements: looked_at,
                }
            } else {
                TestKind::MonteCarlo {
                    drawn: looked_at - 1,
                }
            },
            smallest: if exact {
                rarest
            } else {
                rarest.max(1.0 / looked_at as f64)
            },
            rows,
            contrast: Contrast {
                freedom: layout.freedom(contrast.freedom),
                ..contrast
            },
        })
    }

    /// Whether all arrangements were looked at, and how many.
    pub fn kind(&self) -> TestKind {
        self.kind
    }

    /// The smallest p-value that data of this size can give.
    pub fn smallest_p(&self) -> f64 {
        self.smallest
    }

    /// The two-sided p-value of the effect `delta`: a difference, of logarithms on their scale. Of two
    /// groups it is at least Welch's.
    pub fn p(&self, delta: f64) -> f64 {
        self.permuted(delta)
            .max(2.0 * self.welch(delta, -1.0).min(self.welch(delta, 1.0)))
    }

    /// The share of arrangements that are as far from the effect `delta` as the observed one.
    pub(crate) fn permuted(&self, delta: f64) -> f64 {
        self.share(delta, |t, observed| t.abs() >= less(observed.abs()))
    }

    /// The p-value of "the effect is at most `delta`": small where it is more.
    pub fn p_above(&self, delta: f64) -> f64 {
        self.share(delta, |t, observed| t >= less(observed))
            .max(self.welch(delta, -1.0))
    }

    /// The p-value of "the effect is at least `delta`": small where it is less.
    pub fn p_below(&self, delta: f64) -> f64 {
        self.share(delta, |t, observed| -t >= less(-observed))
            .max(self.welch(delta, 1.0))
    }

    /// The p-value of "the effect is outside of ±`margin`": the larger one of both sides (Schuirmann,
    /// *Journal of Pharmacokinetics and Biopharmaceutics* 15, 1987).
    pub fn p_outside(&self, margin: f64) -> f64 {
        self.p_above(-margin).max(self.p_below(margin))
    }

    /// The effects that are not rejected at `1 - confidence`. `None` where the arrangements are too
    /// few to reject any effect, however large, and where the values have no spread.
    pub fn interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let level = 1.0 - confidence;
        if self.smallest > level || !positive(self.contrast.error) {
            return None;
        }
        let end = |direction: f64| {
            let (mut inside, mut step) = (0.0, 1.0);
            while self.p(self.contrast.estimate + direction * step * self.contrast.error) > level {
                (inside, step) = (step, 2.0 * step);
                if step > 1e6 {
                    return None;
                }
            }
            let mut outside = step;
            while outside - inside > 1e-4 * outside.max(1.0) {
                let middle = f64::midpoint(inside, outside);
                if self.p(self.contrast.estimate + direction * middle * self.contrast.error) > level
                {
                    inside = middle;
                } else {
                    outside = middle;
                }
            }
            Some(self.contrast.estimate + direction * outside * self.contrast.error)
        };
        Some((end(-1.0)?, end(1.0)?))
    }

    /// The one-sided p-value of Welch's t for the effect `delta`, of two groups; 0 of blocks. `side` is
    /// -1 where a larger effect speaks against it, 1 where a smaller one does.
    fn welch(&self, delta: f64, side: f64) -> f64 {
        let Contrast {
            estimate,
            error,
            freedom,
        } = self.contrast;
        if matches!(self.rows, Rows::Pairs(_)) || !positive(error) {
            return 0.0;
        }
        student_t_cdf(freedom, side * (estimate - delta) / error).unwrap_or(1.0)
    }

    fn share(&self, delta: f64, hit: impl Fn(f64, f64) -> bool) -> f64 {
        let observed = self.rows.t(0, delta);
        let all = self.rows.len();
        let hits = (0..all)
            .filter(|&row| hit(self.rows.t(row, delta), observed))
            .count();
        // The first row is the observed arrangement and always a hit, also of those drawn.
        hits.max(1) as f64 / all as f64
    }
}

/// A little less than `t`; infinity stays.
fn less(t: f64) -> f64 {
    if t.is_finite() {
        t - SAME * t.abs().max(1.0)
    } else {
        t
    }
}

impl Rows {
    fn len(&self) -> usize {
        match self {
            Self::Groups(groups) => groups.rows.len(),
            Self::Pairs(pairs) => pairs.rows.len(),
        }
    }

    /// Welch's t, or that of the differences, of one arrangement of the data less the effect `delta`.
    fn t(&self, row: usize, delta: f64) -> f64 {
        match self {
            Self::Groups(groups) => groups.t(groups.rows[row], delta),
            Self::Pairs(pairs) => pairs.t(pairs.rows[row], delta),
        }
    }
}

impl GroupRows {
    fn t(&self, row: GroupRow, delta: f64) -> f64 {
        let [na, nb] = self.counts;
        let sum = self.sum - delta * nb;
        let square = self.square + delta * (delta * nb - 2.0 * self.sum_b);
        let sum_a = row.sum - delta * row.count_b;
        let square_a = row.square + delta * (delta * row.count_b - 2.0 * row.sum_b);
        let (sum_b, square_b) = (sum - sum_a, square - square_a);
        let error2 = spread(sum_a, square_a, na) / (na * (na - 1.0))
            + spread(sum_b, square_b, nb) / (nb * (nb - 1.0));
        ratio(sum_b / nb - sum_a / na, error2, square / (na + nb))
    }
}

impl PairRows {
    fn t(&self, (sum, signs): (f64, f64), delta: f64) -> f64 {
        let n = self.count;
        let sum = sum - delta * signs;
        let square = self.square + delta * (delta * n - 2.0 * self.sum);
        let error2 = spread(sum, square, n) / (n * (n - 1.0));
        ratio(sum / n, error2, square / n)
    }
}

/// The sum of squares about the mean; what is left of rounding counts as nothing.
fn spread(sum: f64, square: f64, n: f64) -> f64 {
    let spread = square - sum * sum / n;
    if spread > 1e-12 * square { spread } else { 0.0 }
}

/// t; without any spread 0 where there is no difference either, else infinite.
fn ratio(difference: f64, error2: f64, scale2: f64) -> f64 {
    if error2 > 0.0 {
        difference / error2.sqrt()
    } else if difference * difference <= 1e-18 * scale2 || difference == 0.0 {
        0.0
    } else {
        difference.signum() * f64::INFINITY
    }
}

/// The number of ways to choose `k` of `n`.
fn choices(n: usize, k: usize) -> f64 {
    (0..k.min(n - k)).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64)
}

fn drawn(draws: usize, values: usize) -> usize {
    draws.min((WORK / values.max(1)).max(LEAST_DRAWN))
}

fn group_rows(
    a: &[f64],
    b: &[f64],
    all: f64,
    draws: usize,
    source: &mut RandomSource,
) -> GroupRows {
    let n = a.len() + b.len();
    let mean = a.iter().chain(b).sum::<f64>() / n as f64;
    // Sums of squares keep their digits around the mean.
    let values: Vec<f64> = a.iter().chain(b).map(|x| x - mean).collect();
    let row = |chosen: &[usize]| {
        chosen.iter().fold(GroupRow::default(), |mut row, &i| {
            let x = values[i];
            row.sum += x;
            row.square += x * x;
            if i >= a.len() {
                row.sum_b += x;
                row.count_b += 1.0;
            }
            row
        })
    };
    let mut rows = Vec::new();
    if all <= MOST_EXACT as f64 {
        each_choice(n, a.len(), |chosen| rows.push(row(chosen)));
    } else {
        let mut order: Vec<usize> = (0..n).collect();
        rows.push(row(&order[..a.len()]));
        for _ in 0..drawn(draws, n) {
            source.shuffle_first(&mut order, a.len());
            rows.push(row(&order[..a.len()]));
        }
    }
    GroupRows {
        counts: [a.len() as f64, b.len() as f64],
        sum: values.iter().sum(),
        square: values.iter().map(|x| x * x).sum(),
        sum_b: values[a.len()..].iter().sum(),
        rows,
    }
}

/// Calls `visit` with every choice of `k` of 0 to n - 1, first with the first k.
fn each_choice(n: usize, k: usize, mut visit: impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        visit(&chosen);
        let Some(at) = (0..k).rev().find(|&i| chosen[i] < n - k + i) else {
            return;
        };
        chosen[at] += 1;
        for i in at + 1..k {
            chosen[i] = chosen[i - 1] + 1;
        }
    }
}

fn pair_rows(d: &[f64], all: f64, draws: usize, source: &mut RandomSource) -> PairRows {
    let row = |minus: &dyn Fn(usize) -> bool| {
        d.iter()
            .enumerate()
            .fold((0.0, 0.0), |(sum, signs), (i, x)| {
                let sign = if minus(i) { -1.0 } else { 1.0 };
                (sum + sign * x, signs + sign)
            })
    };
    let mut rows = Vec::new();
    if all <= MOST_EXACT as f64 {
        for signs in 0..1_usize << d.len() {
            rows.push(row(&|i| signs >> i & 1 == 1));
        }
    } else {
        rows.push(row(&|_| false));
        let mut bits = vec![0_u64; d.len().div_ceil(64)];
        for _ in 0..drawn(draws, d.len()) {
            bits.fill_with(|| source.bits());
            rows.push(row(&|i| bits[i / 64] >> (i % 64) & 1 == 1));
        }
    }
    PairRows {
        count: d.len() as f64,
        sum: d.iter().sum(),
        square: d.iter().map(|x| x * x).sum(),
        rows,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::Direction;
    use crate::testing::{Samples, assert_close};

    fn of(a: &[f64], b: &[f64]) -> Permutations {
        let question = Question::new(a, b, Direction::Neither);
        Permutations::of(&question, 9_999, 1).unwrap().unwrap()
    }

    /// Every arrangement by hand, with t from the textbook.
    fn by_hand(a: &[f64], b: &[f64]) -> f64 {
        let all: Vec<f64> = a.iter().chain(b).copied().collect();
        let t = |chosen: &[usize]| {
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for (i, value) in all.iter().enumerate() {
                if chosen.contains(&i) {
                    x.push(*value);
                } else {
                    y.push(*value);
                }
            }
            Layout::Groups(x, y)
                .contrast()
                .map(|c| c.estimate / c.error)
                .unwrap()
        };
        let mut ts = Vec::new();
        each_choice(all.len(), a.len(), |chosen| ts.push(t(chosen)));
        let hits = ts.iter().filter(|t| t.abs() >= ts[0].abs() - 1e-9).count();
        hits as f64 / ts.len() as f64
    }

    #[test]
    fn the_exact_p_value_counts_every_arrangement() {
        let mut samples = Samples::new(1);
        for (na, nb) in [(3, 3), (4, 5), (2, 6), (6, 6)] {
            let a: Vec<f64> = (0..na).map(|_| -samples.normal().abs()).collect();
            let b: Vec<f64> = (0..nb).map(|_| samples.normal() + 1.0).collect();
            let test = of(&a, &b);
            assert_close(Some(test.permuted(0.0)), by_hand(&a, &b), 1e-12);
            assert!(matches!(test.kind(), TestKind::Exact { .. }));
        }
    }

    #[test]
    fn the_smallest_p_value_is_that_of_complete_separation() {
        let test = of(&[-1.0, -2.0, -3.5, -3.0], &[4.0, 5.0, 6.5, 6.0]);
        assert_close(Some(test.smallest_p()), 2.0 / 70.0, 1e-12);
        assert_close(Some(test.p(0.0)), 2.0 / 70.0, 1e-12);
        let pairs = Question::new(
            &[1.0, 2.0, 3.0, 4.0],
            &[2.0, 3.1, 4.2, 5.3],
            Direction::Neither,
        )
        .in_blocks(&[1, 2, 3, 4], &[1, 2, 3, 4]);
        let test = Permutations::of(&pairs, 99, 1).unwrap().unwrap();
        assert_eq!((test.smallest_p(), test.p(0.0)), (0.125, 0.125));
    }

    #[test]
    fn an_effect_that_is_taken_away_is_not_rejected() {
        let a = [-1.0, 1.2, -0.3, 0.4, 0.9, -0.7];
        let b: Vec<f64> = a.iter().map(|x| x + 7.0).collect();
        let test = of(&a, &b);
        assert!(test.p(0.0) < 0.01);
        assert_eq!(test.p(7.0), 1.0);
        assert!(test.p_above(0.0) < 0.01 && test.p_below(0.0) > 0.99);
        assert!(test.p_outside(10.0) < 0.01 && test.p_outside(6.0) > 0.9);
    }

    #[test]
    fn the_interval_ends_where_the_p_value_crosses_the_level() {
        let mut samples = Samples::new(2);
        for blocked in [false, true] {
            let a: Vec<f64> = (0..8).map(|_| samples.normal()).collect();
            let b: Vec<f64> = (0..8).map(|_| samples.normal() - 9.0).collect();
            let blocks: Vec<u64> = (0..8).collect();
            let mut question = Question::new(&a, &b, Direction::Neither);
            if blocked {
                question = question.in_blocks(&blocks, &blocks);
            }
            let test = Permutations::of(&question, 999, 1).unwrap().unwrap();
            let (low, high) = test.interval(0.95).unwrap();
            let inside = 1e-2 * (high - low);
            assert!(test.p(low) <= 0.05 && test.p(high) <= 0.05);
            assert!(test.p(low + inside) > 0.05 && test.p(high - inside) > 0.05);
        }
    }

    #[test]
    fn random_arrangements_agree_with_all_of_them() {
        let mut samples = Samples::new(3);
        let a: Vec<f64> = (0..9).map(|_| samples.normal()).collect();
        let b: Vec<f64> = (0..9).map(|_| samples.normal() + 0.8).collect();
        let exact = of(&a, &b);
        let data = Question::new(&a, &b, Direction::Neither).data().unwrap();
        let mut drawn = exact.clone();
        drawn.rows = Rows::Groups(group_rows(
            &data.a,
            &data.b,
            f64::INFINITY,
            9_999,
            &mut RandomSource::new(4),
        ));
        // Four standard errors of the share of 9999.
        let p = exact.permuted(0.0);
        assert!((drawn.permuted(0.0) - p).abs() < 4.0 * (p * (1.0 - p) / 9_999.0).sqrt() + 1e-4);
    }

    #[test]
    fn values_without_spread_are_no_evidence_of_more_than_their_difference() {
        let same = of(&[3.0; 5], &[3.0; 5]);
        assert_eq!((same.p(0.0), same.interval(0.95)), (1.0, None));
        let apart = of(&[0.0; 5], &[3.0; 5]);
        assert!(apart.p(0.0) < 0.01);
        assert_eq!(apart.interval(0.95), None);
        let question = Question::new(&[1.0], &[1.0, 2.0], Direction::Neither);
        assert!(Permutations::of(&question, 99, 1).unwrap().is_none());
    }

    #[test]
    fn groups_that_vary_differently_are_told_apart_only_where_welch_does_it_too() {
        // Three far runs against twenty that agree: permutations alone reject.
        let quiet: Vec<f64> = (0..20).map(|i| 0.01 * f64::from(i)).collect();
        let wide = [0.9, 2.0, 3.6];
        let test = of(&quiet, &wide);
        assert!(test.permuted(0.0) <= 0.002, "{}", test.permuted(0.0));
        // scipy.stats.ttest_ind(quiet, wide, equal_var=False).
        assert_close(Some(test.p(0.0)), 0.118, 1e-2);
        let (low, high) = test.interval(0.95).unwrap();
        assert!(low < 0.0 && high > 4.0, "{low} {high}");
        assert!(test.p_above(0.0) > 0.05 && test.p_below(0.0) > 0.9);
    }

    #[test]
    fn three_runs_a_side_reject_nothing_and_have_no_interval() {
        let test = of(&[1.0, 2.0, 3.0], &[101.0, 102.0, 103.5]);
        assert_close(Some(test.p(0.0)), 0.1, 1e-12);
        assert_eq!(test.interval(0.95), None);
    }
}
