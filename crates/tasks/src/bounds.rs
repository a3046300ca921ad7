// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bounds on the utilisation: a set below one is fine under rate-monotonic priorities and deadlines at the ends of periods; of
//! one above it they say nothing.

use crate::work::Work;

/// The bound of Liu and Layland, *Journal of the ACM* 20, 1973: n (2^(1/n) - 1).
pub fn liu_layland(tasks: usize) -> f64 {
    let n = punctual_stats::float(tasks as u64);
    match tasks {
        0 => 1.0,
        _ => n * ((1.0 / n).exp2() - 1.0),
    }
}

/// The product of (U_i + 1), at most 2 for a set that is fine: Bini, Buttazzo and Buttazzo, *IEEE Transactions on Computers*
/// 52, 2003.
pub fn hyperbolic(set: &[Work]) -> f64 {
    set.iter().map(|work| work.utilisation() + 1.0).product()
}

/// The sum of utilisations.
pub fn utilisation(set: &[Work]) -> f64 {
    // An empty sum of floats is -0.
    set.iter().map(Work::utilisation).sum::<f64>() + 0.0
}

/// Rounding of a sum or product of 1000 quotients is far below this; a bound passes only with that much room.
pub(crate) const ROUNDING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bounds_are_those_of_liu_and_layland_1973() {
        // The figures of the paper: 0.83 for two tasks, 0.78 for three, ln 2 for many.
        assert!((liu_layland(1) - 1.0).abs() < 1e-12);
        assert!((liu_layland(2) - 0.828_427).abs() < 1e-6);
        assert!((liu_layland(3) - 0.779_763).abs() < 1e-6);
        assert!((liu_layland(1_000_000) - std::f64::consts::LN_2).abs() < 1e-6);
    }

    #[test]
    fn the_hyperbolic_bound_accepts_more_than_liu_and_layland() {
        let set = [Work::new(2, 10, 10), Work::new(66, 100, 100)];
        assert!(utilisation(&set) > liu_layland(2));
        assert!(hyperbolic(&set) <= 2.0);
    }
}
