// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Looking often without lying: group-sequential levels by alpha spending.
//!
//! Who tests at 5 % after every block of an experiment and stops at the first p-value below it finds
//! an "effect" in some 25 % of experiments that have none. Here each look has a level of its own,
//! such that all looks together come to alpha: at the information fraction t (blocks done of blocks
//! planned) as much has been spent as a spending function says (Lan and DeMets, *Biometrika* 70,
//! 1983), whenever and however often one looks:
//!
//! - O'Brien-Fleming-like, 4 - 4Φ(z₁₋α/₄/√t), which is the one-sided function of Lan and DeMets for
//!   each side: almost nothing early, almost all of alpha at the end;
//! - Pocock-like, α ln(1 + (e - 1)t): about the same at each look.
//!
//! The levels follow from the joint normal distribution of the test statistics at the looks,
//! integrated numerically (Armitage, McPherson and Rowe, *Journal of the Royal Statistical Society A*
//! 132, 1969; Jennison and Turnbull, *Group Sequential Methods*, 2000, chapter 19), and are then
//! compared with the p-values of the test that is really made ("significance level approach", same,
//! section 3.8).
//!
//! Several comparisons at once: at each look Holm's procedure, with the levels of alpha over the
//! number of comparisons that are still open (Ye, Li, Liu and Yao, *Statistics in Medicine* 32, 2013).

use crate::student::{normal_cdf, normal_quantile};

/// How the level is spent over an experiment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Spending {
    /// Late: an early stop takes overwhelming evidence, and the last look costs next to nothing.
    #[default]
    OBrienFleming,
    /// Evenly: stops earlier where the effect is large, and the last look is harder.
    Pocock,
}

impl Spending {
    /// The part of `alpha` that may have been spent at the information fraction `t`, 0 to 1.
    pub fn spent(self, alpha: f64, t: f64) -> f64 {
        let t = t.clamp(0.0, 1.0);
        if t == 0.0 {
            return 0.0;
        }
        match self {
            Self::OBrienFleming => {
                let z = normal_quantile(1.0 - alpha / 4.0).unwrap_or(f64::INFINITY);
                4.0 * normal_cdf(-z / t.sqrt())
            }
            Self::Pocock => alpha * ((std::f64::consts::E - 1.0) * t).ln_1p(),
        }
    }
}

/// The levels of the looks were asked for in a way that makes no sense.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LooksError {
    /// The level is not between 0 and 1.
    #[error("level {alpha} is not between 0 and 1")]
    Alpha {
        /// The level.
        alpha: f64,
    },
    /// The fractions do not rise from above 0 to at most 1.
    #[error("a look at fraction {fraction} of the plan is not between the previous look and 1")]
    Fractions {
        /// Its fraction.
        fraction: f64,
    },
}

/// The two-sided level of each look at rising information fractions.
///
/// ```
/// use punctual_stats::sequential::{Spending, levels};
///
/// # fn main() -> Result<(), punctual_stats::sequential::LooksError> {
/// let levels = levels(0.05, Spending::OBrienFleming, &[0.25, 0.5, 0.75, 1.0])?;
/// // Practically never at the first look, and 4.4 % are left of 5 % for the last.
/// assert!(levels[0] < 2e-5 && (levels[3] - 0.0440).abs() < 1e-4);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`LooksError`] for a level or fractions that make no sense.
pub fn levels(alpha: f64, spending: Spending, fractions: &[f64]) -> Result<Vec<f64>, LooksError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        return Err(LooksError::Alpha { alpha });
    }
    let mut before = 0.0;
    for &fraction in fractions {
        if !(fraction > before && fraction <= 1.0) {
            return Err(LooksError::Fractions { fraction });
        }
        before = fraction;
    }
    let mut walk = Walk::new(alpha, spending);
    Ok(fractions.iter().map(|&t| walk.level(t)).collect())
}

/// Simpson's rule over this many intervals, an even number.
const INTERVALS: usize = 200;

/// No boundary is further out: beyond it lies 10⁻¹⁵.
const FARTHEST: f64 = 8.0;

/// A Brownian motion that has not yet crossed a boundary: its density on a grid.
#[derive(Clone, Debug, PartialEq)]
struct Walk {
    alpha: f64,
    spending: Spending,
    t: f64,
    spent: f64,
    /// Positions and densities times the weights of Simpson's rule. Empty before the first look.
    mass: Vec<(f64, f64)>,
}

impl Walk {
    const fn new(alpha: f64, spending: Spending) -> Self {
        Self {
            alpha,
            spending,
            t: 0.0,
            spent: 0.0,
            mass: Vec::new(),
        }
    }

    /// The two-sided level of the next look, at `t`.
    fn level(&mut self, t: f64) -> f64 {
        let by_now = self.spending.spent(self.alpha, t);
        let z = self.boundary(t, by_now - self.spent);
        self.spent = by_now;
        2.0 * normal_cdf(-z)
    }

    /// The boundary z at `t` that lets `share` of all walks cross there, and the walk on from it.
    fn boundary(&mut self, t: f64, share: f64) -> f64 {
        let (mut low, mut high) = (0.0, FARTHEST);
        for _ in 0..40 {
            let middle = f64::midpoint(low, high);
            if self.crossing(t, middle) > share {
                low = middle;
            } else {
                high = middle;
            }
        }
        let z = f64::midpoint(low, high);
        self.go_on(t, z);
        z
    }

    /// The probability to be beyond ±z for the first time at `t`.
    fn crossing(&self, t: f64, z: f64) -> f64 {
        let edge = z * t.sqrt();
        if self.mass.is_empty() {
            return 2.0 * normal_cdf(-z);
        }
        let step = (t - self.t).sqrt();
        let beyond = |x: f64| normal_cdf((-edge - x) / step) + normal_cdf((x - edge) / step);
        self.mass.iter().map(|(x, mass)| mass * beyond(*x)).sum()
    }

    fn go_on(&mut self, t: f64, z: f64) {
        let edge = z * t.sqrt();
        let width = 2.0 * edge / INTERVALS as f64;
        let step = (t - self.t).sqrt();
        let density = |x: f64| {
            let normal =
                |d: f64| (-0.5 * (d / step).powi(2)).exp() / (step * std::f64::consts::TAU.sqrt());
            if self.mass.is_empty() {
                normal(x)
            } else {
                self.mass
                    .iter()
                    .map(|(from, mass)| mass * normal(x - from))
                    .sum()
            }
        };
        self.mass = (0..=INTERVALS)
            .map(|i| {
                let x = -edge + width * i as f64;
                let weight = match i {
                    0 | INTERVALS => 1.0,
                    _ if i % 2 == 1 => 4.0,
                    _ => 2.0,
                };
                (x, density(x) * weight * width / 3.0)
            })
            .collect();
        self.t = t;
    }
}

/// An experiment that is looked at while it goes on.
///
/// ```
/// use punctual_stats::sequential::{Looks, Spending};
///
/// # fn main() -> Result<(), punctual_stats::sequential::LooksError> {
/// // Two comparisons, 20 blocks planned.
/// let mut looks = Looks::new(0.05, Spending::OBrienFleming, 20, 2)?;
/// assert!(!looks.look(10, &[Some(0.01), Some(0.4)])?);
/// assert!(!looks.look(15, &[Some(0.0002), Some(0.2)])?);
/// // The first is found; the second now has all of alpha to itself.
/// assert_eq!(looks.found(), [Some(15), None]);
/// looks.look(20, &[None, Some(0.03)])?;
/// assert_eq!(looks.found(), [Some(15), Some(20)]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Looks {
    planned: u32,
    blocks: u32,
    /// For the smallest p-value of 1, 2, ... open comparisons.
    walks: Vec<Walk>,
    /// The levels of the latest look.
    levels: Vec<f64>,
    found: Vec<Option<u32>>,
}

impl Looks {
    /// Plans an experiment of at most `planned` blocks and a number of comparisons.
    ///
    /// # Errors
    ///
    /// [`LooksError::Alpha`] for a level outside 0 to 1.
    pub fn new(
        alpha: f64,
        spending: Spending,
        planned: u32,
        comparisons: usize,
    ) -> Result<Self, LooksError> {
        if !(alpha > 0.0 && alpha < 1.0) {
            return Err(LooksError::Alpha { alpha });
        }
        let walk = |open: usize| Walk::new(alpha / open as f64, spending);
        Ok(Self {
            planned: planned.max(1),
            blocks: 0,
            walks: (1..=comparisons).map(walk).collect(),
            levels: vec![0.0; comparisons],
            found: vec![None; comparisons],
        })
    }

    /// Looks after `blocks` blocks at the p-value of each comparison; `None` where it has none yet.
    /// Returns whether every comparison has been decided. A comparison stays found.
    ///
    /// # Errors
    ///
    /// [`LooksError::Fractions`] if there was a look after this number of blocks, or more than planned; it
    /// then did not happen.
    pub fn look(&mut self, blocks: u32, p: &[Option<f64>]) -> Result<bool, LooksError> {
        let fraction = f64::from(blocks) / f64::from(self.planned);
        if blocks <= self.blocks || fraction > 1.0 {
            return Err(LooksError::Fractions { fraction });
        }
        self.blocks = blocks;
        for (walk, level) in self.walks.iter_mut().zip(&mut self.levels) {
            *level = walk.level(fraction);
        }
        loop {
            let open = self.found.iter().filter(|found| found.is_none()).count();
            if open == 0 {
                return Ok(true);
            }
            let level = self.level(open);
            let best = p
                .iter()
                .zip(&self.found)
                .enumerate()
                .filter_map(|(at, (p, found))| Some((at, (*p)?, found)))
                .filter(|(_, _, found)| found.is_none())
                .min_by(|a, b| a.1.total_cmp(&b.1));
            match best {
                Some((at, p, _)) if p <= level => self.found[at] = Some(blocks),
                _ => return Ok(false),
            }
        }
    }

    /// The level of the latest look for the smallest p-value of `open` comparisons, from 1 to their
    /// number. Before the first look 0.
    pub fn level(&self, open: usize) -> f64 {
        self.levels
            .get(open.wrapping_sub(1))
            .copied()
            .unwrap_or(0.0)
    }

    /// After how many blocks each comparison was found.
    pub fn found(&self) -> &[Option<u32>] {
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RandomSource;
    use crate::testing::assert_close;

    fn z(levels: &[f64]) -> Vec<f64> {
        levels
            .iter()
            .map(|level| normal_quantile(1.0 - level / 2.0).unwrap())
            .collect()
    }

    #[test]
    fn boundaries_agree_with_the_published_tables() {
        // Five equal looks, alpha 0.05 two-sided (Jennison and Turnbull, and the programs of DeMets).
        let fifths = [0.2, 0.4, 0.6, 0.8, 1.0];
        let late = z(&levels(0.05, Spending::OBrienFleming, &fifths).unwrap());
        for (got, want) in late.iter().zip([4.8769, 3.3569, 2.6803, 2.2898, 2.0310]) {
            assert!((got - want).abs() < 5e-4, "{late:?}");
        }
        let even = z(&levels(0.05, Spending::Pocock, &fifths).unwrap());
        for (got, want) in even.iter().zip([2.4380, 2.4268, 2.4101, 2.3966, 2.3859]) {
            assert!((got - want).abs() < 5e-4, "{even:?}");
        }
    }

    #[test]
    fn one_look_at_the_end_has_the_whole_level() {
        for spending in [Spending::OBrienFleming, Spending::Pocock] {
            let level = levels(0.05, spending, &[1.0]).unwrap()[0];
            assert_close(Some(level), 0.05, 1e-6);
        }
    }

    #[test]
    fn all_looks_together_cross_as_often_as_alpha_says() {
        let mut source = RandomSource::new(1);
        let fractions: Vec<f64> = (1..=10).map(|k| f64::from(k) / 10.0).collect();
        for spending in [Spending::OBrienFleming, Spending::Pocock] {
            let levels = levels(0.05, spending, &fractions).unwrap();
            let crossed = (0..20_000)
                .filter(|_| {
                    let mut s = 0.0;
                    fractions.iter().zip(&levels).any(|(t, level)| {
                        s += source.normal() * 0.1_f64.sqrt();
                        2.0 * normal_cdf(-(s / t.sqrt()).abs()) <= *level
                    })
                })
                .count();
            // Four standard errors of 1000 of 20 000.
            assert!(crossed.abs_diff(1_000) < 125, "{spending:?}: {crossed}");
        }
    }

    #[test]
    fn many_close_looks_stay_within_alpha() {
        let fractions: Vec<f64> = (1..=60).map(|k| f64::from(k) / 60.0).collect();
        let levels = levels(0.05, Spending::OBrienFleming, &fractions).unwrap();
        assert!(levels.windows(2).all(|w| w[1] >= w[0] * 0.999));
        assert!(levels[59] > 0.025 && levels[59] < 0.05, "{}", levels[59]);
    }

    #[test]
    fn looks_that_go_back_are_refused_and_change_nothing() {
        let mut looks = Looks::new(0.05, Spending::Pocock, 10, 1).unwrap();
        looks.look(5, &[Some(0.5)]).unwrap();
        let before = looks.clone();
        for blocks in [5, 4, 11] {
            assert!(looks.look(blocks, &[Some(0.001)]).is_err(), "{blocks}");
        }
        assert_eq!(looks, before);
        assert!(Looks::new(0.0, Spending::Pocock, 10, 1).is_err());
    }

    #[test]
    fn spending_rises_from_nothing_to_alpha() {
        for spending in [Spending::OBrienFleming, Spending::Pocock] {
            assert_eq!(spending.spent(0.05, 0.0), 0.0);
            assert_close(Some(spending.spent(0.05, 1.0)), 0.05, 1e-9);
            assert!(spending.spent(0.05, 0.3) < spending.spent(0.05, 0.31));
        }
    }
}
