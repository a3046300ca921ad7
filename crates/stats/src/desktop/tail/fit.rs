// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two distributions of extremes, fitted by probability weighted moments.

use statrs::function::gamma::gamma;

#[derive(Clone, Copy, Debug)]
pub(super) enum Family {
    Gev,
    Pareto,
}

/// A fitted distribution of extremes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    pub(super) family: Family,
    pub(super) location: f64,
    pub(super) scale: f64,
    pub(super) shape: f64,
}

/// Closer to 0 than this a shape is 0: the limit is the same, and the division would lose digits.
const FLAT: f64 = 1e-6;

impl Family {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Gev => "generalised extreme value",
            Self::Pareto => "generalised Pareto",
        }
    }

    /// Fits by probability weighted moments. `None` where the values do not vary.
    pub(super) fn fit(self, values: &[f64]) -> Option<Tail> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let tail = match self {
            Self::Gev => {
                // Unbiased moments b0, b1, b2.
                let (mut b0, mut b1, mut b2) = (0.0, 0.0, 0.0);
                for (i, x) in sorted.iter().enumerate() {
                    let i = i as f64;
                    b0 += x;
                    b1 += x * i / (n - 1.0);
                    b2 += x * i * (i - 1.0) / ((n - 1.0) * (n - 2.0));
                }
                let (b0, b1, b2) = (b0 / n, b1 / n, b2 / n);
                let spread = 2.0 * b1 - b0;
                let c = spread / (3.0 * b2 - b0) - 2.0_f64.ln() / 3.0_f64.ln();
                let k = 7.859 * c + 2.9554 * c * c;
                let (scale, shift) = if k.abs() < FLAT {
                    let scale = spread / 2.0_f64.ln();
                    // Euler's constant.
                    (scale, -0.577_215_664_901_532_9 * scale)
                } else {
                    let gamma = gamma(1.0 + k);
                    let scale = spread * k / (gamma * (1.0 - 2.0_f64.powf(-k)));
                    (scale, scale * (gamma - 1.0) / k)
                };
                Tail {
                    family: self,
                    location: b0 + shift,
                    scale,
                    shape: -k,
                }
            }
            Self::Pareto => {
                let (mut a0, mut a1) = (0.0, 0.0);
                for (i, x) in sorted.iter().enumerate() {
                    let p = (i as f64 + 0.65) / n;
                    a0 += x;
                    a1 += x * (1.0 - p);
                }
                let (a0, a1) = (a0 / n, a1 / n);
                Tail {
                    family: self,
                    location: 0.0,
                    scale: 2.0 * a0 * a1 / (a0 - 2.0 * a1),
                    shape: 2.0 - a0 / (a0 - 2.0 * a1),
                }
            }
        };
        (tail.scale > 0.0 && tail.scale.is_finite() && tail.shape.is_finite()).then_some(tail)
    }
}

impl Tail {
    pub(super) fn quantile(&self, p: f64) -> f64 {
        let y = match self.family {
            Family::Gev => -p.ln(),
            Family::Pareto => 1.0 - p,
        };
        let grown = match self.shape.abs() < FLAT {
            true => -y.ln(),
            false => (y.powf(-self.shape) - 1.0) / self.shape,
        };
        self.location + self.scale * grown
    }

    pub(super) fn cdf(&self, x: f64) -> f64 {
        let z = (x - self.location) / self.scale;
        let y = match self.shape.abs() < FLAT {
            true => (-z).exp(),
            // Beyond the end of a tail that ends.
            false => (1.0 + self.shape * z).max(0.0).powf(-1.0 / self.shape),
        };
        match self.family {
            Family::Gev => (-y).exp(),
            Family::Pareto => 1.0 - y.min(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Samples;

    #[test]
    fn fits_find_the_shapes_that_values_were_drawn_from() {
        for shape in [-0.3, 0.0, 0.2] {
            for family in [Family::Gev, Family::Pareto] {
                let tail = Tail {
                    family,
                    location: 0.0,
                    scale: 2.0,
                    shape,
                };
                let values = {
                    let mut samples = Samples::new(7);
                    (0..20_000)
                        .map(|_| tail.quantile(1.0 - samples.uniform()))
                        .collect::<Vec<f64>>()
                };
                let values: Vec<f64> = values.into_iter().filter(|x| x.is_finite()).collect();
                let fit = family.fit(&values).unwrap();
                assert!(
                    (fit.shape - shape).abs() < 0.03,
                    "{family:?} {shape}: {fit:?}"
                );
                assert!(
                    (fit.scale - 2.0).abs() < 0.06,
                    "{family:?} {shape}: {fit:?}"
                );
                for p in [0.01, 0.5, 0.999] {
                    assert!((tail.cdf(tail.quantile(p)) - p).abs() < 1e-9);
                }
            }
        }
    }
}
