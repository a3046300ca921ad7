// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines of a fleet, each with several runs: what machines differ by, what runs of one machine differ
//! by, and which machines are not like the others.
//!
//! *Components.* A run is the fleet's mean, plus what its machine adds, plus what is left: the one-way random
//! model (Searle, Casella and McCulloch, *Variance Components*, 1992, chapter 3). The variance between
//! machines is estimated by restricted maximum likelihood (Patterson and Thompson, *Biometrika* 58,
//! 1971); its interval is the exact one for the ratio of both variances (Wald, *Annals of Mathematical
//! Statistics* 11, 1940; also with unequal numbers of runs), times the variance inside machines.
//!
//! *Outliers.* The means of machines are taken in deviations that their number of runs lets expect.
//! The generalised extreme Studentised deviate (Rosner, *Technometrics* 25, 1983) says how far a
//! machine may be if machines are normal, whatever number of others is an outlier too. It keeps the
//! level for all machines together. Where machines have a long tail it finds more than the level says; so the machines
//! that are left are tested for normality.

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

use crate::num::positive;
use crate::precision::Interval;
use crate::runs::Scale;
use crate::shape::normal_p;
use crate::student::{chi_squared, student_t};

/// Fewer machines than this are no fleet: one that differs could as well be the one that does not.
pub const LEAST_MACHINES: usize = 8;

/// At most this share of machines can be outliers.
const MOST_OUTLIERS: usize = 5;

/// What the values of a fleet show.
#[derive(Clone, Debug, PartialEq)]
pub struct Fleet {
    /// How values were compared.
    pub scale: Scale,
    /// The mean of all machines that are no outliers.
    pub mean: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// The deviation between machines, without outliers: a share on the logarithmic scale. `None` where no machine
    /// has two runs.
    pub between: Option<Component>,
    /// The deviation between runs of one machine.
    pub within: Option<Component>,
    /// One entry a machine, in their order.
    pub machines: Vec<Machine>,
    /// The numbers of the outliers. `None` below [`LEAST_MACHINES`].
    pub outliers: Option<Vec<usize>>,
    /// The p-value of "machines that are no outliers are normal" (Shapiro and Francia). `None` where they are fewer than 8 or do
    /// not vary.
    pub normal_p: Option<f64>,
}

/// A deviation with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Component {
    /// As a share on the logarithmic scale (exp σ - 1), else in the unit of the values.
    pub deviation: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// One machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Number of its runs.
    pub runs: usize,
    /// Their geometric mean, or mean.
    pub estimate: f64,
    /// Student's t interval of it, of its own runs. `None` below two.
    pub interval: Option<Interval>,
    /// How far it is from the mean of the others, in deviations that its number of runs lets expect.
    pub distance: f64,
}

/// Looks at a fleet: the values of each machine. `level` is that of all outliers together. `None` where a machine
/// has no run or a value is not finite, and below two machines.
///
/// ```
/// use punctual_stats::fleet::fleet;
///
/// let mut machines: Vec<Vec<f64>> = (0..20)
///     .map(|machine| (0..5).map(|run| 50.0 + f64::from((machine * 7 + run * 3) % 11)).collect())
///     .collect();
/// machines[4].iter_mut().for_each(|x| *x *= 1.5);
/// let fleet = fleet(&machines, 0.05, 0.95);
/// assert_eq!(fleet.and_then(|fleet| fleet.outliers), Some(vec![4]));
/// ```
pub fn fleet(machines: &[Vec<f64>], level: f64, confidence: f64) -> Option<Fleet> {
    let values = || machines.iter().flatten();
    let odd = machines.iter().any(Vec::is_empty) || values().any(|x| !x.is_finite());
    if odd || machines.len() < 2 {
        return None;
    }
    let scale = match values().all(|x| *x > 0.0) {
        true => Scale::Log,
        false => Scale::Linear,
    };
    let sums: Vec<Sums> = machines.iter().map(|own| Sums::of(own, scale)).collect();
    let enough = sums.len() >= LEAST_MACHINES;
    // Outliers would widen what they are judged by: they are taken out, and all are judged again.
    let mut outside: Vec<usize> = Vec::new();
    let mut model = Model::of(&sums)?;
    if enough {
        for _ in 0..5 {
            let places: Vec<f64> = sums.iter().map(|own| model.distance(own)).collect();
            let found = far(&places, level);
            if found == outside {
                break;
            }
            outside = found;
            let left = sums.iter().enumerate();
            let left = left.filter(|(at, _)| !outside.contains(at));
            let left: Vec<Sums> = left.map(|(_, own)| *own).collect();
            model = Model::of(&left)?;
        }
    }
    let usual = sums.iter().enumerate();
    let usual = usual.filter(|(at, _)| !outside.contains(at));
    let usual: Vec<f64> = usual.map(|(_, own)| model.distance(own)).collect();
    let back = |x: f64| match scale {
        Scale::Log => x.exp(),
        Scale::Linear => x,
    };
    let share = |x: f64| match scale {
        Scale::Log => x.exp_m1(),
        Scale::Linear => x,
    };
    let ends = |(low, high): (f64, f64), effective_samples: f64| Interval {
        low,
        high,
        confidence,
        effective_samples,
    };
    let component = |deviation: f64, limits: Option<(f64, f64)>, n: f64| Component {
        deviation: share(deviation),
        interval: limits.map(|(low, high)| ends((share(low), share(high)), n)),
    };
    let each = sums.iter().map(|own| {
        let half = student_t(own.runs - 1.0, f64::midpoint(1.0, confidence))
            .filter(|_| own.runs > 1.0)
            .map(|t| t * (own.squares / (own.runs - 1.0) / own.runs).sqrt());
        Machine {
            runs: crate::num::index(crate::num::floor_u64(own.runs)),
            estimate: back(own.mean),
            interval: half
                .map(|half| ends((back(own.mean - half), back(own.mean + half)), own.runs)),
            distance: model.distance(own),
        }
    });
    let half = student_t(model.machines - 1.0, f64::midpoint(1.0, confidence))
        .map(|t| t * model.mean_error);
    Some(Fleet {
        scale,
        mean: back(model.mean),
        interval: half.map(|half| {
            ends(
                (back(model.mean - half), back(model.mean + half)),
                model.machines,
            )
        }),
        between: model.within.map(|within| {
            let limits = model.ratio_interval(confidence);
            let limits = limits.map(|(low, high)| {
                (
                    (low * within).max(0.0).sqrt(),
                    (high * within).max(0.0).sqrt(),
                )
            });
            component(model.between.sqrt(), limits, model.machines)
        }),
        within: model.within.map(|within| {
            let tail = (1.0 - confidence) / 2.0;
            let end = |p: f64| {
                chi_squared(model.freedom, p).map(|chi| (within * model.freedom / chi).sqrt())
            };
            component(within.sqrt(), end(1.0 - tail).zip(end(tail)), model.freedom)
        }),
        machines: each.collect(),
        outliers: enough.then_some(outside),
        normal_p: normal_p(&usual),
    })
}

/// The runs of one machine.
#[derive(Clone, Copy, Debug)]
struct Sums {
    runs: f64,
    mean: f64,
    /// Squared deviations from the mean.
    squares: f64,
}

impl Sums {
    fn of(values: &[f64], scale: Scale) -> Self {
        let on_scale = |x: &f64| match scale {
            Scale::Log => x.ln(),
            Scale::Linear => *x,
        };
        let runs = values.len() as f64;
        let mean = values.iter().map(on_scale).sum::<f64>() / runs;
        let squares = values.iter().map(|x| (on_scale(x) - mean).powi(2)).sum();
        Self {
            runs,
            mean,
            squares,
        }
    }
}

/// The one-way random model of some machines.
struct Model {
    machines: f64,
    mean: f64,
    mean_error: f64,
    /// Variance between machines; where that inside is not known, the variance of their values.
    between: f64,
    within: Option<f64>,
    freedom: f64,
    sums: Vec<Sums>,
}

impl Model {
    fn of(sums: &[Sums]) -> Option<Self> {
        let machines = sums.len() as f64;
        if machines < 2.0 {
            return None;
        }
        let freedom = sums.iter().map(|own| own.runs).sum::<f64>() - machines;
        let inside: f64 = sums.iter().map(|own| own.squares).sum();
        let within = (freedom > 0.0).then(|| inside / freedom);
        let mut model = Self {
            machines,
            mean: 0.0,
            mean_error: 0.0,
            between: 0.0,
            within: within.filter(|within| positive(*within)),
            freedom,
            sums: sums.to_vec(),
        };
        match model.within {
            Some(_) => {
                let ratio = model.most_likely();
                // Both variances of the same likelihood.
                let all = model.freedom + machines - 1.0;
                let within = (inside + model.spread(ratio).1) / all;
                model.within = Some(within);
                model.between = ratio * within;
                let (mean, _) = model.spread(ratio);
                model.mean = mean;
                let weights: f64 = sums.iter().map(|own| 1.0 / (ratio + 1.0 / own.runs)).sum();
                model.mean_error = (within / weights).sqrt();
            }
            None => {
                model.mean = sums.iter().map(|own| own.mean).sum::<f64>() / machines;
                let squares: f64 = sums.iter().map(|own| (own.mean - model.mean).powi(2)).sum();
                model.between = squares / (machines - 1.0);
                model.mean_error = (model.between / machines).sqrt();
            }
        }
        Some(model)
    }

    /// The mean and the weighted squares of the machines about it, for a ratio of the variance between
    /// machines to that inside.
    fn spread(&self, ratio: f64) -> (f64, f64) {
        let weight = |own: &Sums| 1.0 / (ratio + 1.0 / own.runs);
        let weights: f64 = self.sums.iter().map(weight).sum();
        let mean = self
            .sums
            .iter()
            .map(|own| weight(own) * own.mean)
            .sum::<f64>()
            / weights;
        let each = self.sums.iter();
        let squares = each.map(|own| weight(own) * (own.mean - mean).powi(2));
        (mean, squares.sum())
    }

    /// The ratio with the largest restricted likelihood.
    fn most_likely(&self) -> f64 {
        let inside: f64 = self.sums.iter().map(|own| own.squares).sum();
        let all = self.freedom + self.machines - 1.0;
        let minus_twice = |ratio: f64| {
            let weight = |own: &Sums| 1.0 / (ratio + 1.0 / own.runs);
            let each = self.sums.iter();
            let logs: f64 = each.map(|own| (own.runs * ratio + 1.0).ln()).sum();
            let weights: f64 = self.sums.iter().map(weight).sum();
            all * (inside + self.spread(ratio).1).ln() + logs + weights.ln()
        };
        // By the logarithm of the ratio: a coarse look, then a fine one around the best.
        let at = |step: f64| 10_f64.powf(step);
        let coarse = (-60..=60).map(|n| f64::from(n) / 10.0);
        let best = coarse.min_by(|a, b| minus_twice(at(*a)).total_cmp(&minus_twice(at(*b))));
        let (mut low, mut high) = best.map_or((-6.0, 6.0), |best| (best - 0.1, best + 0.1));
        for _ in 0..60 {
            let third = (high - low) / 3.0;
            match minus_twice(at(low + third)) < minus_twice(at(high - third)) {
                true => high -= third,
                false => low += third,
            }
        }
        let ratio = at(f64::midpoint(low, high));
        match minus_twice(ratio) < minus_twice(0.0) {
            true => ratio,
            false => 0.0,
        }
    }

    /// The exact interval of the ratio: those at which the weighted squares are as an F distribution has them.
    fn ratio_interval(&self, confidence: f64) -> Option<(f64, f64)> {
        let inside: f64 = self.sums.iter().map(|own| own.squares).sum();
        let within = inside / self.freedom;
        let f = FisherSnedecor::new(self.machines - 1.0, self.freedom).ok()?;
        let tail = (1.0 - confidence) / 2.0;
        let quotient = |ratio: f64| self.spread(ratio).1 / (self.machines - 1.0) / within;
        let end = |p: f64| {
            let wanted = f.inverse_cdf(p);
            if quotient(0.0) <= wanted {
                return 0.0;
            }
            let (mut low, mut high) = (0.0, 1.0);
            while quotient(high) > wanted && high < 1e12 {
                high *= 4.0;
            }
            for _ in 0..100 {
                let middle = f64::midpoint(low, high);
                match quotient(middle) > wanted {
                    true => low = middle,
                    false => high = middle,
                }
            }
            high
        };
        Some((end(1.0 - tail), end(tail)))
    }

    fn distance(&self, own: &Sums) -> f64 {
        let variance = self.between + self.within.unwrap_or(0.0) / own.runs;
        match positive(variance) {
            true => (own.mean - self.mean) / variance.sqrt(),
            false => 0.0,
        }
    }
}

/// Rosner's test.
fn far(places: &[f64], level: f64) -> Vec<usize> {
    let n = places.len();
    let mut left: Vec<(usize, f64)> = places.iter().copied().enumerate().collect();
    let (mut removed, mut outliers) = (Vec::new(), 0);
    for _ in 0..n / MOST_OUTLIERS {
        let m = left.len() as f64;
        let mean = left.iter().map(|(_, x)| x).sum::<f64>() / m;
        let squares: f64 = left.iter().map(|(_, x)| (x - mean).powi(2)).sum();
        let deviation = (squares / (m - 1.0)).sqrt();
        let away = |x: f64| (x - mean).abs();
        let most = left.iter().enumerate();
        let most = most.max_by(|a, b| away(a.1.1).total_cmp(&away(b.1.1)));
        let Some((at, (number, x))) = most.map(|(at, one)| (at, *one)) else {
            break;
        };
        if !positive(deviation) || m < 4.0 {
            break;
        }
        let Some(t) = student_t(m - 2.0, 1.0 - level / (2.0 * m)) else {
            break;
        };
        let limit = (m - 1.0) * t / ((m - 2.0 + t * t) * m).sqrt();
        left.swap_remove(at);
        removed.push(number);
        if away(x) / deviation > limit {
            outliers = removed.len();
        }
    }
    removed.truncate(outliers);
    removed.sort_unstable();
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Samples, assert_close};

    /// Machines of `runs` runs each: 3 % between machines, 5 % between runs.
    fn made(machines: usize, runs: usize, samples: &mut Samples) -> Vec<Vec<f64>> {
        (0..machines)
            .map(|_| {
                let own = samples.lognormal(50_f64.ln(), 0.03).ln();
                (0..runs).map(|_| samples.lognormal(own, 0.05)).collect()
            })
            .collect()
    }

    #[test]
    fn balanced_components_are_those_of_the_analysis_of_variance() {
        let machines = [
            vec![9.0, 11.0, 12.0, 12.0],
            vec![17.0, 15.0, 14.0, 18.0],
            vec![12.0, 10.0, 9.0, 13.0],
            vec![0.0, 3.0, 5.0, 4.0],
        ];
        let fleet = fleet(&machines, 0.05, 0.95).unwrap();
        assert_eq!(fleet.scale, Scale::Linear);
        let means = [11.0, 16.0, 11.0, 3.0];
        let mean = means.iter().sum::<f64>() / 4.0;
        let between = 4.0 * means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 3.0;
        let inside = (6.0 + 10.0 + 10.0 + 14.0) / 12.0;
        assert_close(fleet.within.map(|c| c.deviation), f64::sqrt(inside), 1e-6);
        let want = ((between - inside) / 4.0).sqrt();
        assert_close(fleet.between.map(|c| c.deviation), want, 1e-6);
        assert_eq!(fleet.outliers, None, "four machines are no fleet");
    }

    #[test]
    fn twelve_planted_outliers_of_a_thousand_are_found_and_no_others() {
        let mut samples = Samples::new(3);
        let mut machines = made(1_000, 10, &mut samples);
        let planted: Vec<usize> = (0..12).map(|n| 37 + 80 * n).collect();
        for at in &planted {
            machines[*at].iter_mut().for_each(|x| *x *= 1.3);
        }
        let fleet = fleet(&machines, 0.05, 0.95).unwrap();
        assert_eq!(fleet.outliers, Some(planted));
        assert_close(fleet.between.map(|c| c.deviation), 0.03, 0.1);
        assert_close(fleet.within.map(|c| c.deviation), 0.0513, 0.05);
    }

    #[test]
    fn fleets_without_an_outlier_have_one_as_rarely_as_the_level_says() {
        let mut samples = Samples::new(4);
        for (machines, runs) in [(8, 5), (20, 3), (100, 10)] {
            let wrong = (0..400).filter(|_| {
                let fleet = fleet(&made(machines, runs, &mut samples), 0.05, 0.95).unwrap();
                fleet.outliers != Some(Vec::new())
            });
            // 20, and three standard errors of 4.4.
            let wrong = wrong.count();
            assert!(wrong <= 33, "{machines} machines: {wrong}");
        }
    }

    #[test]
    fn a_long_tail_of_machines_is_noticed_and_a_planted_outlier_makes_none() {
        let mut samples = Samples::new(7);
        let noticed = |far: &mut dyn FnMut() -> f64, samples: &mut Samples| {
            let each = (0..40).filter_map(|_| {
                let own = (0..100).map(|_| {
                    let own = 50_f64.ln() + 0.1 * far();
                    (0..10).map(|_| samples.lognormal(own, 0.05)).collect()
                });
                let own: Vec<Vec<f64>> = own.collect();
                let fleet = fleet(&own, 0.05, 0.95).unwrap();
                let found = !fleet.outliers.unwrap().is_empty();
                found.then_some(fleet.normal_p.unwrap() < 0.05)
            });
            let each: Vec<bool> = each.collect();
            (each.len(), each.iter().filter(|noticed| **noticed).count())
        };
        // An exponential tail: most machines alike, some slower by any amount.
        let mut other = Samples::new(8);
        let (called, of_those) = noticed(&mut || -(1.0 - other.uniform()).ln(), &mut samples);
        assert!(
            called > 20 && of_those > called * 9 / 10,
            "{called} {of_those}"
        );
        let mut other = Samples::new(9);
        let mut at = 0_u32;
        let mut planted = || {
            at += 1;
            if at % 100 == 17 { 9.0 } else { other.normal() }
        };
        let (called, of_those) = noticed(&mut planted, &mut samples);
        // 2, and three standard errors of 1.4.
        assert!(called == 40 && of_those <= 6, "{called} {of_those}");
    }

    #[test]
    fn intervals_of_both_deviations_cover_them() {
        let mut samples = Samples::new(5);
        for (machines, unequal) in [(8, false), (12, true)] {
            let mut covered = [0; 2];
            for _ in 0..400 {
                let mut made = made(machines, 6, &mut samples);
                if unequal {
                    made.iter_mut()
                        .enumerate()
                        .for_each(|(at, own)| own.truncate(2 + at % 5));
                }
                let fleet = fleet(&made, 0.05, 0.95).unwrap();
                let truths = [(fleet.between, 0.03_f64), (fleet.within, 0.05)];
                for (count, (component, truth)) in covered.iter_mut().zip(truths) {
                    let interval = component.unwrap().interval.unwrap();
                    let truth = truth.exp_m1();
                    *count += i32::from(interval.low <= truth && truth <= interval.high);
                }
            }
            // 380, and three standard errors of 4.4.
            assert!(
                covered.iter().all(|count| *count >= 366),
                "{machines}: {covered:?}"
            );
        }
    }

    #[test]
    fn odd_fleets_have_no_figure_and_no_panic() {
        assert!(fleet(&[vec![1.0]], 0.05, 0.95).is_none());
        assert!(fleet(&[vec![1.0], Vec::new()], 0.05, 0.95).is_none());
        assert!(fleet(&[vec![1.0], vec![f64::NAN]], 0.05, 0.95).is_none());
        let flat = fleet(&vec![vec![3.0; 4]; 10], 0.05, 0.95).unwrap();
        assert_eq!(flat.outliers, Some(Vec::new()));
        let single: Vec<Vec<f64>> = (0..30).map(|n| vec![50.0 + f64::from(n * 7 % 5)]).collect();
        let single = fleet(&single, 0.05, 0.95).unwrap();
        assert!(single.between.is_none() && single.machines[0].interval.is_none());
    }
}
