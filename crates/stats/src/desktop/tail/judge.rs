// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a distribution fits the extremes, and the level that it gives.

use super::checks::anderson_darling;
use super::fit::Family;
use super::{FINEST, GATE, HEAVIEST, SteadyChecks, TailChecks, TailFit, TailMethod, TailRefusal};
use crate::RandomSource;
use crate::num::index;
use crate::runs::trend;
use crate::student::{normal_cdf, normal_quantile};

/// Resamples of the interval and of the test of fit.
const DRAWS: usize = 499;

/// What is to be fitted, and what for.
pub(super) struct Extremes {
    pub(super) method: TailMethod,
    pub(super) name: &'static str,
    pub(super) family: Family,
    /// What the samples were cut to, or 0.
    pub(super) unit: f64,
    /// Extremes to come.
    pub(super) further: f64,
    /// The threshold.
    pub(super) location: f64,
}

impl Extremes {
    /// Fits the extremes, which lie at `places` of the run, 0 to 1, where that is not given.
    pub(super) fn judge(
        &self,
        extremes: &[f64],
        places: Option<&[f64]>,
        confidence: f64,
        seed: u64,
    ) -> Result<TailFit, TailRefusal> {
        let name = self.name;
        let Some((_, trend, _)) = trend(extremes) else {
            return Err(TailRefusal::Constant { extremes: name });
        };
        let steady = SteadyChecks::of(extremes, places, trend);
        if !steady.failed().is_empty() {
            return Err(TailRefusal::Unsteady {
                extremes: name,
                checks: steady,
            });
        }
        let constant = TailRefusal::Constant { extremes: name };
        let tail = self.family.fit(extremes).ok_or(constant)?;
        if tail.scale < FINEST * self.unit {
            return Err(TailRefusal::TooCoarse {
                extremes: name,
                scale: tail.scale / self.unit,
            });
        }
        if tail.shape >= HEAVIEST {
            return Err(TailRefusal::Heavy {
                extremes: name,
                shape: tail.shape,
            });
        }
        let distance = anderson_darling(&tail, extremes);
        let (mut farther, mut fitted) = (0_usize, 0_usize);
        let mut levels: Vec<f64> = Vec::with_capacity(DRAWS);
        let mut source = RandomSource::new(seed);
        let mut drawn = vec![0.0; extremes.len()];
        for _ in 0..DRAWS {
            for x in &mut drawn {
                *x = tail.quantile(1.0 - source.uniform());
            }
            let Some(again) = self.family.fit(&drawn) else {
                continue;
            };
            fitted += 1;
            farther += usize::from(anderson_darling(&again, &drawn) >= distance);
            levels.push(again.quantile(1.0 - 1.0 / self.further));
        }
        let fit = (farther + 1) as f64 / (fitted + 1) as f64;
        if fit < GATE {
            return Err(TailRefusal::Misfit {
                extremes: name,
                distribution: self.family.name(),
                p: fit,
            });
        }
        levels.sort_by(f64::total_cmp);
        let level = tail.quantile(1.0 - 1.0 / self.further);
        let outside = (1.0 - confidence) / 2.0;
        let low = corrected(&levels, level, outside).unwrap_or(level);
        let high = corrected(&levels, level, 1.0 - outside).unwrap_or(level);
        Ok(TailFit {
            method: self.method,
            level: self.location + level,
            low: self.location + low,
            high: self.location + high,
            shape: tail.shape,
            scale: tail.scale,
            location: match self.family {
                Family::Gev => tail.location,
                Family::Pareto => self.location,
            },
            extremes: extremes.len(),
            checks: TailChecks { steady, fit },
        })
    }
}

/// The percentile of sorted resampled levels, after the correction for their bias (Efron and
/// Tibshirani, *An Introduction to the Bootstrap*, 1993, 14.3).
fn corrected(levels: &[f64], level: f64, share: f64) -> Option<f64> {
    let n = levels.len() as f64;
    let below = levels.partition_point(|x| *x < level) as f64 / n;
    let bias = normal_quantile(below.clamp(0.5 / n, 1.0 - 0.5 / n))?;
    let share = normal_cdf(2.0 * bias + normal_quantile(share)?);
    let at = index(crate::num::floor_u64(share * n));
    levels.get(at.min(levels.len().checked_sub(1)?)).copied()
}
