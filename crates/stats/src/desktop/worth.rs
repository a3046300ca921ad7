// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What n correlated samples are worth, and how well that is known.
//!
//! The mean of n samples varies as that of n/τ independent ones. Two estimates of τ are made of the
//! means of batches, and they use different parts of the spectrum, so that one may judge the other:
//!
//! *How wide.* τ is the spectrum at frequency 0 over the variance of the samples, and the lowest
//! frequencies tell it: the mean square of B cosine-weighted sums of the batch means, j = 1 to B half
//! periods over the run (Müller, *Journal of Econometrics* 141, 2007; Lazarus, Lewis, Stock and Watson,
//! *Journal of Business & Economic Statistics* 36, 2018). The mean over its estimated error then has
//! Student's t with B degrees of freedom. B is 12 to 48: the fewer, the longer the correlation
//! may be against the run; the bias is smaller than that of as many joined batches, because it grows
//! with the square of B.
//!
//! *Whether.* The correlation of neighbouring batches tells how long a run is against its
//! correlation: that of batches of m samples is r = (1 - e⁻ᵃ)²/2(a - 1 + e⁻ᵃ), a = 2m/τ, of a
//! correlation that falls exponentially. Below [`Worth::LEAST`] independent samples by this
//! measure there is no interval. An estimate that says "long enough" must not be the one that sets the
//! width: a τ that is too small by chance would pass, and be too narrow.

use std::f64::consts::PI;

use crate::batch::{BatchMeans, Batches};
use crate::num::finite;
use crate::student::{normal_quantile, student_t};

/// What correlated samples are worth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// Their number.
    pub count: u64,
    /// The integrated autocorrelation time τ, in samples, at least 1.
    pub autocorrelation_time: f64,
    /// Degrees of freedom of τ.
    pub freedom: f64,
    /// The number of independent samples by the correlation of neighbouring batches alone.
    neighbours: f64,
}

/// The fewest cosine-weighted sums, and the most.
const FREEDOM: (f64, f64) = (12.0, 48.0);

/// Sums for each independent sample: at the highest of their frequencies the spectrum of a correlation that
/// falls exponentially has lost 4 %.
const SUMS_EACH: f64 = 0.12;

/// Independent samples below which the larger of both estimates of τ counts: runs that pass by chance are
/// among them.
const CLOSE: f64 = 2.0 * Worth::LEAST;

impl Worth {
    /// The fewest independent samples that an interval is made of.
    pub const LEAST: f64 = 100.0;

    /// The same by the estimate that sets the width, which only shall not contradict.
    const NOT_BELOW: f64 = 0.6 * Self::LEAST;

    /// `variance` is that of the samples. `None` for fewer than [`BatchMeans::MINIMUM`] of them.
    pub(crate) fn of(batches: &Batches, count: u64, variance: f64) -> Option<Self> {
        if count < BatchMeans::MINIMUM || variance.is_nan() {
            return None;
        }
        let mut worth = Self {
            count,
            autocorrelation_time: 1.0,
            freedom: FREEDOM.1,
            neighbours: f64::INFINITY,
        };
        if variance <= 0.0 {
            return Some(worth);
        }
        let means = centred(batches.means());
        let batches_in_run = count as f64 / batches.size() as f64;
        worth.neighbours = independent(&means) * batches_in_run;
        worth.freedom = (SUMS_EACH * worth.neighbours)
            .clamp(FREEDOM.0, FREEDOM.1)
            .floor();
        let spectrum = lowest(&joined(means), worth.freedom);
        let mut tau = spectrum * count as f64 / variance;
        if worth.neighbours < CLOSE {
            tau = tau.max(count as f64 / worth.neighbours);
        }
        worth.autocorrelation_time = finite(tau)?.max(1.0);
        Some(worth)
    }

    /// The same dependence of another number of samples.
    pub(crate) fn of_count(self, count: u64) -> Self {
        let longer = count as f64 / self.count as f64;
        Self {
            count,
            neighbours: self.neighbours * longer,
            ..self
        }
    }

    /// The same, if a run that is too short for another figure is too short for this one too.
    #[must_use]
    pub fn gated_by(self, other: &Self) -> Self {
        let neighbours = other.neighbours * (self.count as f64 / other.count as f64);
        Self {
            neighbours: self.neighbours.min(neighbours),
            ..self
        }
    }

    /// The same, if the dependence is not less than that of another figure.
    #[must_use]
    pub fn limited_by(self, other: &Self) -> Self {
        let gated = self.gated_by(other);
        if other.autocorrelation_time > self.autocorrelation_time {
            return Self {
                autocorrelation_time: other.autocorrelation_time,
                freedom: other.freedom,
                ..gated
            };
        }
        gated
    }

    /// The number of independent samples that would say as much: n/τ.
    pub fn effective_samples(&self) -> f64 {
        self.count as f64 / self.autocorrelation_time
    }

    /// Whether the run is long enough against the correlation for an interval.
    pub fn is_enough(&self) -> bool {
        self.neighbours >= Self::LEAST && self.effective_samples() >= Self::NOT_BELOW
    }

    /// (t/z)²: by how many more samples an interval is paid for whose width is itself an estimate.
    pub fn widening(&self, confidence: f64) -> Option<f64> {
        let p = f64::midpoint(1.0, confidence);
        let ratio = student_t(self.freedom, p)? / normal_quantile(p)?;
        finite(ratio * ratio)
    }

    /// The number of samples with which an interval could be made that takes `independent` ones; no less
    /// than that, for a run that is short against its correlation shows too little of it.
    pub fn samples_for(&self, independent: f64) -> f64 {
        let n = self.count as f64;
        let fewest = self.effective_samples().min(self.neighbours);
        n * independent.max(Self::LEAST) / fewest
    }
}

/// Less their mean.
fn centred(mut means: Vec<f64>) -> Vec<f64> {
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    means.iter_mut().for_each(|x| *x -= mean);
    means
}

/// Neighbours joined until fewer than 128 are left: the lowest frequencies need no more.
fn joined(mut means: Vec<f64>) -> Vec<f64> {
    while means.len() >= 128 {
        let pairs = means.as_chunks::<2>().0.iter();
        means = pairs.map(|[a, b]| f64::midpoint(*a, *b)).collect();
    }
    means
}

/// Independent samples in each batch, by the correlation of neighbours.
fn independent(means: &[f64]) -> f64 {
    let squares: f64 = means.iter().map(|x| x * x).sum();
    let neighbours = means.iter().zip(&means[1..]);
    let r = neighbours.map(|(a, b)| a * b).sum::<f64>() / squares;
    // Kendall's correction, *Biometrika* 41, 1954: taking the mean away takes correlation away.
    let r = r + (1.0 + 3.0 * r.max(0.0)) / means.len() as f64;
    // A NaN too: batches without any spread.
    if r.is_nan() || r <= 0.0 {
        return f64::INFINITY;
    }
    // It falls from 1 to 0 as a grows.
    let correlation = |a: f64| (1.0 - (-a).exp()).powi(2) / (2.0 * (a - 1.0 + (-a).exp()));
    let (mut low, mut high) = (1e-4_f64, 1e4_f64);
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        if correlation(middle) > r {
            low = middle;
        } else {
            high = middle;
        }
    }
    low / 2.0
}

/// The variance of the mean of all batches, by as many cosine-weighted sums.
fn lowest(means: &[f64], sums: f64) -> f64 {
    let n = means.len() as f64;
    let square = |half_periods: f64| {
        let step = PI * half_periods / n;
        let waves = means.iter().enumerate();
        let sum: f64 = waves
            .map(|(i, x)| x * (step * (i as f64 + 0.5)).cos())
            .sum();
        2.0 * (sum / n).powi(2)
    };
    let mut all = 0.0;
    let mut half_periods = 1.0;
    while half_periods <= sums {
        all += square(half_periods);
        half_periods += 1.0;
    }
    all / sums
}
