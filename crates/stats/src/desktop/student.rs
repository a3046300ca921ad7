// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Student's t, chi-squared and the normal distribution.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

use crate::num::finite;

/// The standard normal quantile; `None` for 0 and 1.
pub(crate) fn normal_quantile(p: f64) -> Option<f64> {
    finite(Normal::standard().inverse_cdf(p))
}

/// The `p` quantile of Student's t.
pub(crate) fn student_t(freedom: f64, p: f64) -> Option<f64> {
    // Four terms of the expansion in 1/ν (Abramowitz and Stegun 26.7.5), good to 1e-9 from here;
    // the general routine is slow and loses digits for many degrees of freedom.
    if freedom > 200.0 {
        let z = normal_quantile(p)?;
        let z2 = z * z;
        let g1 = z * (z2 + 1.0) / 4.0;
        let g2 = z * ((5.0 * z2 + 16.0) * z2 + 3.0) / 96.0;
        let g3 = z * (((3.0 * z2 + 19.0) * z2 + 17.0) * z2 - 15.0) / 384.0;
        return finite(z + (g1 + (g2 + g3 / freedom) / freedom) / freedom);
    }
    finite(StudentsT::new(0.0, 1.0, freedom).ok()?.inverse_cdf(p))
}

/// The `p` quantile of chi-squared; `None` unless it is above 0.
pub(crate) fn chi_squared(freedom: f64, p: f64) -> Option<f64> {
    // Wilson and Hilferty, *Proceedings of the National Academy of Sciences* 17, 1931: good to 1e-5 of
    // the quantile from here on, where the general routine takes long.
    if freedom > 1e3 {
        let c = 2.0 / (9.0 * freedom);
        return positive(freedom * (1.0 - c + normal_quantile(p)? * c.sqrt()).powi(3));
    }
    positive(ChiSquared::new(freedom).ok()?.inverse_cdf(p))
}

fn positive(x: f64) -> Option<f64> {
    finite(x).filter(|x| *x > 0.0)
}

/// The standard normal distribution function.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    Normal::standard().cdf(x)
}

/// P(T <= t) of Student's t; the normal one for as many degrees of freedom as make no difference.
pub(crate) fn student_t_cdf(freedom: f64, t: f64) -> Option<f64> {
    if freedom > 1e6 {
        return finite(normal_cdf(t));
    }
    finite(StudentsT::new(0.0, 1.0, freedom).ok()?.cdf(t))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn student_t_agrees_with_the_tables() {
        for (freedom, p, want) in [
            (1.0, 0.975, 12.706_204_736),
            (9.0, 0.975, 2.262_157_163),
            (9.0, 0.995, 3.249_835_544),
            (100.0, 0.975, 1.983_971_519),
            (1000.0, 0.975, 1.962_339_081),
            (1e9, 0.975, 1.959_963_987),
        ] {
            assert_close(student_t(freedom, p), want, 1e-8);
        }
    }

    #[test]
    fn the_two_forms_of_student_t_meet() {
        for p in [0.9, 0.975, 0.9995] {
            let (below, above) = (student_t(200.0, p), student_t(200.000_001, p));
            assert_close(below, above.unwrap(), 1e-7);
        }
    }

    #[test]
    fn chi_squared_agrees_with_the_tables() {
        for (freedom, p, want) in [
            (1.0, 0.2, 0.064_184_755),
            (6.0, 0.2, 3.070_088_405),
            (22.0, 0.2, 16.314_043_45),
            (1000.0, 0.2, 962.180_6),
            (1001.0, 0.2, 963.162),
        ] {
            assert_close(chi_squared(freedom, p), want, 1e-5);
        }
        assert_eq!(chi_squared(0.0, 0.2), None);
    }

    #[test]
    fn the_distribution_function_inverts_the_quantile() {
        for freedom in [1.0, 2.5, 11.0, 300.0, 1e7] {
            for p in [0.01, 0.5, 0.975] {
                let t = student_t(freedom, p).unwrap();
                assert!((student_t_cdf(freedom, t).unwrap() - p).abs() < 1e-6);
            }
        }
    }
}
