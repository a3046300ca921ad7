// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Seeded sample sources for the unit tests.

use crate::num::floor_u64;
use crate::random::RandomSource;

/// A reproducible source of samples.
pub(crate) struct Samples(RandomSource);

impl Samples {
    pub(crate) fn new(seed: u64) -> Self {
        Self(RandomSource::new(seed))
    }

    /// Uniform in (0, 1].
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.uniform()
    }

    pub(crate) fn normal(&mut self) -> f64 {
        self.0.normal()
    }

    pub(crate) fn lognormal(&mut self, mu: f64, sigma: f64) -> f64 {
        (mu + sigma * self.normal()).exp()
    }

    /// A lognormal of σ = 0.8 and median `scale`, rounded down.
    pub(crate) fn lognormal_integer(&mut self, scale: f64) -> i64 {
        i64::try_from(floor_u64(self.lognormal(0.0, 0.8) * scale)).unwrap()
    }

    pub(crate) fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// Pareto with minimum 1.
    pub(crate) fn pareto(&mut self, alpha: f64) -> f64 {
        self.uniform().powf(-1.0 / alpha)
    }
}

#[track_caller]
pub(crate) fn assert_close(got: Option<f64>, want: f64, relative: f64) {
    let got = got.expect("a figure");
    let error = (got - want).abs() / want.abs().max(f64::MIN_POSITIVE);
    assert!(
        error <= relative,
        "got {got}, want {want}, relative error {error:e}"
    );
}
