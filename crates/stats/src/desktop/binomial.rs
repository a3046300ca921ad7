// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tails of the binomial distribution, and the probabilities that give a wanted tail.
//!
//! Library routines for the incomplete beta function lose digits at n = 10⁹ (a difference of
//! logarithms of gamma functions near 10¹⁰) and stop after a fixed number of terms. Here the point
//! probability is Loader's saddle-point form (*Fast and accurate computation of binomial
//! probabilities*, 2000), which has no such difference, and a tail is that times the sum of ratios
//! of neighbours: all terms positive, their number a few standard deviations √(np(1-p)).

/// A tail: its logarithm, and the factor by which it exceeds its largest point probability.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tail {
    ln: f64,
    terms: f64,
}

impl Tail {
    pub(crate) fn probability(self) -> f64 {
        self.ln.exp().min(1.0)
    }
}

/// P(X >= k) of `n` trials with success probability `p`.
pub(crate) fn upper(k: u64, n: u64, p: f64) -> Tail {
    upper_of(k, n, p, 1.0 - p)
}

/// P(X <= k) of `n` trials with success probability `p`.
pub(crate) fn lower(k: u64, n: u64, p: f64) -> Tail {
    lower_of(k, n, p, 1.0 - p)
}

/// The upper tail, given q = 1 - p with all its digits.
fn upper_of(k: u64, n: u64, p: f64, q: f64) -> Tail {
    if k == 0 {
        return Tail {
            ln: 0.0,
            terms: 1.0,
        };
    }
    tail(ln_point(k, n, p, q), k, n, p / q)
}

/// The lower tail, given q = 1 - p with all its digits.
fn lower_of(k: u64, n: u64, p: f64, q: f64) -> Tail {
    if k >= n {
        return Tail {
            ln: 0.0,
            terms: 1.0,
        };
    }
    tail(ln_point(k, n, p, q), n - k, n, q / p)
}

/// The probability p at which P(X >= k) = `alpha`, for 1 <= k <= n.
pub(crate) fn p_of_upper(k: u64, n: u64, alpha: f64) -> f64 {
    let kf = k as f64;
    // In ln p the logarithm of the tail is concave with slope k / terms, so that Newton's method
    // converges from anywhere, from below after the first step.
    let start = (kf / n as f64).ln().min(-1e-16);
    newton(start, alpha, |ln_p| {
        (upper_of(k, n, ln_p.exp(), -ln_p.exp_m1()), kf)
    })
    .exp()
}

/// The probability p at which P(X <= k) = `alpha`, for k < n.
pub(crate) fn p_of_lower(k: u64, n: u64, alpha: f64) -> f64 {
    // The mirror image: concave in ln(1 - p), which keeps all digits of a tiny p.
    let start = (-(k as f64 / n as f64)).ln_1p();
    let rest = (n - k) as f64;
    -newton(start, alpha, |ln_q| (lower_of_ln_q(k, n, ln_q), rest)).exp_m1()
}

fn lower_of_ln_q(k: u64, n: u64, ln_q: f64) -> Tail {
    if k == 0 {
        // (1-p)^n, also where p is 0.
        return Tail {
            ln: n as f64 * ln_q,
            terms: 1.0,
        };
    }
    lower_of(k, n, -ln_q.exp_m1(), ln_q.exp())
}

fn newton(start: f64, alpha: f64, tail: impl Fn(f64) -> (Tail, f64)) -> f64 {
    let target = alpha.ln();
    let mut at = start;
    for _ in 0..60 {
        let (tail, power) = tail(at);
        let step = (target - tail.ln) * tail.terms / power;
        at = (at + step).min(-f64::MIN_POSITIVE);
        if step.abs() <= 1e-14 * at.abs() {
            break;
        }
    }
    at
}

/// The sum over j >= k of the point probabilities, from that of `k` and the odds.
fn tail(ln_point: f64, k: u64, n: u64, odds: f64) -> Tail {
    let (mut sum, mut term) = (1.0, 1.0);
    let (mut left, mut next) = ((n - k) as f64, k as f64 + 1.0);
    while left > 0.0 {
        term *= left / next * odds;
        sum += term;
        // Terms fall from here on at least geometrically; below this they add no digit.
        if term < 1e-17 * sum {
            break;
        }
        left -= 1.0;
        next += 1.0;
    }
    Tail {
        ln: ln_point + f64::ln(sum),
        terms: sum,
    }
}

/// ln P(X = k), given p and q = 1 - p.
fn ln_point(k: u64, n: u64, p: f64, q: f64) -> f64 {
    let (kf, nf) = (k as f64, n as f64);
    if k == 0 {
        return nf * (-p).ln_1p();
    }
    if k == n {
        return nf * p.ln();
    }
    let rest = nf - kf;
    stirling_error(n)
        - stirling_error(k)
        - stirling_error(n - k)
        - deviance(kf, nf * p)
        - deviance(rest, nf * q)
        + 0.5 * (nf / (std::f64::consts::TAU * kf * rest)).ln()
}

/// ln n! minus Stirling's formula.
pub(crate) fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (2..=n).map(|i| i as f64).product();
        return factorial.ln() - ((x + 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln());
    }
    let y = 1.0 / (x * x);
    (1.0 / 12.0 - y * (1.0 / 360.0 - y * (1.0 / 1260.0 - y / 1680.0))) / x
}

/// x ln(x/m) + m - x, without cancellation where x is near m.
pub(crate) fn deviance(x: f64, m: f64) -> f64 {
    let v = (x - m) / (x + m);
    if v.abs() > 0.1 {
        return x * (x / m).ln() + m - x;
    }
    // x ln(x/m) = 2x artanh v, whose first term joins with m - x to (x - m) v.
    let (mut sum, mut power) = ((x - m) * v, 2.0 * x * v);
    for j in 1..100 {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_close;

    #[test]
    fn tails_are_the_sums_of_exact_point_probabilities() {
        // P(X <= 3), n = 10, p = 0.3 and P(X >= 4).
        assert_close(
            Some(lower(3, 10, 0.3).probability()),
            0.649_610_718_4,
            1e-13,
        );
        assert_close(
            Some(upper(4, 10, 0.3).probability()),
            0.350_389_281_6,
            1e-13,
        );
        for n in [1u64, 7, 30, 1000] {
            for k in 1..=n {
                let sum = lower(k - 1, n, 0.37).probability() + upper(k, n, 0.37).probability();
                assert!((sum - 1.0).abs() < 1e-12, "{k} of {n}: {sum}");
            }
        }
    }

    #[test]
    fn the_tails_add_up_at_a_billion_trials() {
        let n = 1_000_000_000;
        for (p, k) in [(0.5, 500_010_000), (1e-8, 17), (0.999, 999_000_100)] {
            let sum = lower(k - 1, n, p).probability() + upper(k, n, p).probability();
            assert!((sum - 1.0).abs() < 1e-9, "{p}: {sum}");
        }
    }

    #[test]
    fn inversion_returns_the_probability_of_the_tail() {
        for n in [5u64, 100, 1_000_000] {
            for k in [1, 2, n / 2, n - 1] {
                for alpha in [1e-9, 0.025, 0.5] {
                    let p = p_of_upper(k, n, alpha);
                    assert_close(Some(upper(k, n, p).probability()), alpha, 1e-9);
                    if k > n / 2 {
                        // A p near 1 as a double has too few digits of 1 - p for the check.
                        continue;
                    }
                    let p = p_of_lower(k, n, alpha);
                    assert_close(Some(lower(k, n, p).probability()), alpha, 1e-8);
                }
            }
        }
    }
}
