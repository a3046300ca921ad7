// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What may lie beyond the largest sample: an extrapolation, and the reasons not to make it.
//!
//! Two methods look at the tail of samples in the order in which they were measured:
//!
//! - *block maxima*: the largest of each block of samples follows, for long blocks, a generalised
//!   extreme value distribution (Fisher and Tippett 1928, Gnedenko 1943), fitted by probability
//!   weighted moments (Hosking, Wallis and Wood, *Technometrics* 27, 1985);
//! - *peaks over threshold*: what clusters of samples exceed a high threshold by (that of the largest
//!   1 % of samples, at most 500 of them) follows a
//!   generalised Pareto distribution (Pickands, *Annals of Statistics* 3, 1975), fitted in the same
//!   way (Hosking and Wallis, *Technometrics* 29, 1987). Exceedances closer than the gap are one
//!   cluster (Davison and Smith, *JRSS B* 52, 1990).
//!
//! The return level is the time that is passed once on average in a number of further samples. Its
//! interval is the bias-corrected percentile interval of a parametric bootstrap; of some hundred
//! extremes it covers 90 to 96 % of experiments where it says 95 % (the tests count it).
//!
//! Samples that were cut to whole units are ties that no continuous distribution has, and the test of fit sees nothing
//! else (Deidda and Puliga, *Physics and Chemistry of the Earth* 31, 2006). Each gets a uniform part of its unit back, as
//! Machado and Santos Silva do with counts (*Journal of the American Statistical Association* 100, 2005). Where the scale
//! of the tail is hardly more than the unit, its shape is lost, and that is said.
//!
//! None of that holds where the machine changes over the run, where extremes come together, or where
//! the distribution does not fit: [`extrapolate`] then [refuses](TailRefusal) and says why. What it
//! cannot see is what did not happen during the run, such as a job once a day: a level is advice about
//! more of the same, never a bound.

mod checks;
mod fit;
mod judge;

use self::checks::{kolmogorov_smirnov, ljung_box, ranks, uniform};
use self::fit::Family;
use self::judge::Extremes;
use crate::RandomSource;
use crate::num::index;
use crate::pvalue::PValue;

/// The level of each check that can refuse.
pub const GATE: f64 = 0.01;

/// The fewest blocks, and the fewest clusters.
pub const FEWEST: usize = 60;

/// The fewest samples of a block: maxima of fewer are hardly extreme.
pub const SHORTEST_BLOCK: usize = 100;

/// How much further than the run an extrapolation may reach.
pub const FARTHEST: f64 = 100.0;

/// Blocks that are made where there are samples enough.
const BLOCKS: usize = 100;

/// The share of samples above the threshold.
const ABOVE: f64 = 0.01;

/// The most samples above it: the more samples, the further out is what the limit holds for.
const MOST_ABOVE: usize = 500;

/// From this shape on the mean of squares, and soon the mean, does not exist.
const HEAVIEST: f64 = 0.5;

/// The least scale, in the units that samples were cut to. From 1.5 on the intervals cover as they do without a unit
/// (tails.md); with an exponential tail of half a unit the fit is wrong and passes.
const FINEST: f64 = 1.5;

/// Samples below the threshold that part two clusters.
const GAP: usize = 10;

/// A tail that fits, and what it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailFit {
    /// How it was fitted.
    pub method: TailMethod,
    /// The time that is passed once on average in the further samples.
    pub level: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// The shape ξ: below 0 the tail ends, above 0 it is heavier than exponential.
    pub shape: f64,
    /// The scale σ, in the unit of the samples.
    pub scale: f64,
    /// The location μ of block maxima, or the threshold.
    pub location: f64,
    /// Block maxima, or clusters.
    pub extremes: usize,
    /// P-values of the checks, none below [`GATE`].
    pub checks: TailChecks,
}

/// How a tail was fitted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TailMethod {
    /// Block maxima, of blocks of this number of samples.
    BlockMaxima {
        /// Samples a block.
        block: usize,
    },
    /// Peaks over a threshold.
    PeaksOverThreshold,
}

/// P-values of what makes a run steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyChecks {
    /// No trend in the extremes (Mann and Kendall).
    pub trend: f64,
    /// The first half of the extremes is as the second (Kolmogorov and Smirnov).
    pub halves: f64,
    /// The ranks of the extremes do not depend on those before (Ljung and Box).
    pub independence: f64,
    /// Clusters come as often all over the run (Kolmogorov and Smirnov). Of block maxima, which come
    /// once a block, `None`.
    pub rate: Option<f64>,
}

impl SteadyChecks {
    fn of(extremes: &[f64], places: Option<&[f64]>, trend: f64) -> Self {
        let (first, second) = extremes.split_at(extremes.len() / 2);
        Self {
            trend,
            halves: kolmogorov_smirnov(first, second),
            independence: ljung_box(&ranks(extremes)),
            rate: places.map(uniform),
        }
    }

    /// What failed, in words.
    fn failed(&self) -> Vec<String> {
        let said = [
            (
                "they rise or fall during it (Mann-Kendall",
                Some(self.trend),
            ),
            ("its halves differ (Kolmogorov-Smirnov", Some(self.halves)),
            (
                "they depend on earlier ones (Ljung-Box on ranks",
                Some(self.independence),
            ),
            (
                "they are more frequent at some times than at others (Kolmogorov-Smirnov",
                self.rate,
            ),
        ];
        let said = said.iter().filter_map(|(what, p)| Some((what, (*p)?)));
        let failed = said.filter(|(_, p)| *p < GATE);
        failed
            .map(|(what, p)| format!("{what} {})", PValue(p)))
            .collect()
    }
}

/// P-values of what an extrapolation takes for granted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TailChecks {
    /// Of a steady run.
    pub steady: SteadyChecks,
    /// The distribution fits (Anderson and Darling, by parametric bootstrap).
    pub fit: f64,
}

/// The reason that nothing is said of the tail.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TailRefusal {
    /// Too few samples.
    #[error(
        "too few samples ({samples}): {needed} are needed for {FEWEST} blocks of {SHORTEST_BLOCK}"
    )]
    TooFew {
        /// What there is.
        samples: usize,
        /// What would do.
        needed: usize,
    },
    /// Too few clusters above the threshold.
    #[error("{clusters} separate exceedances of the threshold are too few: {FEWEST} are needed")]
    TooFewClusters {
        /// What there is.
        clusters: usize,
    },
    /// No further than the run itself.
    #[error("that is no further than the samples taken: the largest sample is the answer")]
    TooNear,
    /// Too far.
    #[error(
        "that is {factor:.0} times as long as the run; the limit is {FARTHEST} times: {needed} samples would be enough"
    )]
    TooFar {
        /// Samples asked for over samples there.
        factor: f64,
        /// Samples that would do.
        needed: u64,
    },
    /// The extremes rise or fall, differ between the halves of the run, or depend on each other. These
    /// checks see the same from three sides: a slow dependence looks like a trend in one run, and a
    /// trend like dependence. All that failed are named, and none is the true reason alone.
    #[error("the {extremes} do not come from a steady run: {}", checks.failed().join(", "))]
    Unsteady {
        /// Of what.
        extremes: &'static str,
        /// The p-values.
        checks: SteadyChecks,
    },
    /// The distribution does not fit.
    #[error(
        "the {extremes} do not follow the {distribution} distribution (Anderson-Darling {})", PValue(*p)
    )]
    Misfit {
        /// Of what.
        extremes: &'static str,
        /// Which distribution.
        distribution: &'static str,
        /// The p-value.
        p: f64,
    },
    /// The tail is too heavy to say anything.
    #[error(
        "the tail of the {extremes} is too heavy (shape {shape:.2}, at least {HEAVIEST}): any level would fit"
    )]
    Heavy {
        /// Of what.
        extremes: &'static str,
        /// The shape.
        shape: f64,
    },
    /// What the samples were cut to is as wide as the tail.
    #[error(
        "the samples are cut to whole units, too coarse for this tail: the scale of the {extremes} is {scale:.2} units, and {FINEST} are needed"
    )]
    TooCoarse {
        /// Of what.
        extremes: &'static str,
        /// The scale in units.
        scale: f64,
    },
    /// All extremes are the same.
    #[error("the {extremes} do not vary")]
    Constant {
        /// Of what.
        extremes: &'static str,
    },
}

/// Extrapolates from `samples`, in the order in which they were measured, to `horizon` further ones,
/// by block maxima and by peaks over threshold. `unit` is what each was cut down to a multiple of, 0 if they were not.
///
/// ```
/// use punctual_stats::RandomSource;
/// use punctual_stats::tail::extrapolate;
///
/// let mut source = RandomSource::new(1);
/// // Exponential: once in a million samples ln 10⁶ = 13.8 is passed.
/// let samples: Vec<f64> = (0..20_000).map(|_| -source.uniform().ln()).collect();
/// let [maxima, peaks] = extrapolate(&samples, 0.0, 1e6, 0.95, 1);
/// for fit in [maxima, peaks].into_iter().flatten() {
///     assert!(fit.low < 13.8 && 13.8 < fit.high);
/// }
/// ```
pub fn extrapolate(
    samples: &[f64],
    unit: f64,
    horizon: f64,
    confidence: f64,
    seed: u64,
) -> [Result<TailFit, TailRefusal>; 2] {
    let samples = &uncut(samples, unit, seed);
    [
        block_maxima(samples, unit, horizon, confidence, seed),
        peaks(samples, unit, horizon, confidence, seed),
    ]
}

/// Gives samples a uniform part of the unit that they were cut to.
fn uncut(samples: &[f64], unit: f64, seed: u64) -> Vec<f64> {
    // Not the numbers that the bootstrap draws.
    let mut source = RandomSource::new(!seed);
    let part = |x: &f64| x + unit * source.uniform();
    samples.iter().map(part).collect()
}

fn enough(samples: &[f64], horizon: f64) -> Result<(), TailRefusal> {
    let needed = FEWEST * SHORTEST_BLOCK;
    let n = samples.len();
    if n < needed {
        return Err(TailRefusal::TooFew { samples: n, needed });
    }
    let factor = horizon / n as f64;
    // A horizon that is no number is refused too.
    if factor.is_nan() || factor <= 1.0 {
        return Err(TailRefusal::TooNear);
    }
    if factor > FARTHEST {
        return Err(TailRefusal::TooFar {
            factor,
            needed: crate::num::floor_u64((horizon / FARTHEST).ceil()),
        });
    }
    Ok(())
}

/// Extrapolates by the maxima of blocks.
fn block_maxima(
    samples: &[f64],
    unit: f64,
    horizon: f64,
    confidence: f64,
    seed: u64,
) -> Result<TailFit, TailRefusal> {
    enough(samples, horizon)?;
    let block = (samples.len() / BLOCKS).max(SHORTEST_BLOCK);
    let blocks = samples.chunks_exact(block);
    let maxima: Vec<f64> = blocks
        .map(|b| b.iter().copied().fold(f64::MIN, f64::max))
        .collect();
    let fit = Extremes {
        method: TailMethod::BlockMaxima { block },
        name: "block maxima",
        unit,
        family: Family::Gev,
        // The largest of this many further maxima is passed once on average.
        further: horizon / block as f64,
        location: 0.0,
    };
    fit.judge(&maxima, None, confidence, seed)
}

/// Extrapolates by the peaks of clusters above the 99 % quantile.
fn peaks(
    samples: &[f64],
    unit: f64,
    horizon: f64,
    confidence: f64,
    seed: u64,
) -> Result<TailFit, TailRefusal> {
    enough(samples, horizon)?;
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = samples.len();
    let beyond = index(crate::num::floor_u64(n as f64 * ABOVE)).min(MOST_ABOVE);
    let threshold = sorted[n - 1 - beyond];
    let mut clusters: Vec<f64> = Vec::new();
    let mut places: Vec<f64> = Vec::new();
    let mut last: Option<usize> = None;
    for (at, x) in samples.iter().enumerate().filter(|(_, x)| **x > threshold) {
        let excess = x - threshold;
        match clusters.last_mut() {
            Some(peak) if last.is_some_and(|last| at - last <= GAP) => *peak = peak.max(excess),
            _ => {
                clusters.push(excess);
                places.push((at as f64 + 0.5) / n as f64);
            }
        }
        last = Some(at);
    }
    if clusters.len() < FEWEST {
        return Err(TailRefusal::TooFewClusters {
            clusters: clusters.len(),
        });
    }
    let fit = Extremes {
        method: TailMethod::PeaksOverThreshold,
        name: "peaks over the threshold",
        unit,
        family: Family::Pareto,
        further: clusters.len() as f64 / n as f64 * horizon,
        location: threshold,
    };
    fit.judge(&clusters, Some(&places), confidence, seed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Samples;

    fn made(n: usize, seed: u64, mut one: impl FnMut(&mut Samples) -> f64) -> Vec<f64> {
        let mut samples = Samples::new(seed);
        (0..n).map(|_| one(&mut samples)).collect()
    }

    #[test]
    fn intervals_of_the_level_cover_it_as_often_as_they_say() {
        // Independent samples of a known distribution, and its value that one in 10⁶ is above.
        type Draw = fn(&mut Samples) -> f64;
        let known: [(&str, Draw, f64); 3] = [
            ("exponential", Samples::exponential, 1e6_f64.ln()),
            ("Pareto 5", |s| s.pareto(5.0), 1e6_f64.powf(0.2)),
            (
                "ends at 1",
                |s| 1.0 - s.uniform().powf(0.25),
                1.0 - 1e-6_f64.powf(0.25),
            ),
        ];
        for (name, draw, truth) in known {
            let mut counts = [[0_usize; 2]; 2];
            for seed in 0..80 {
                let samples = made(12_000, seed, draw);
                for (method, fit) in extrapolate(&samples, 0.0, 1e6, 0.95, seed)
                    .iter()
                    .enumerate()
                {
                    if let Ok(fit) = fit {
                        counts[method][0] += 1;
                        counts[method][1] += usize::from(fit.low <= truth && truth <= fit.high);
                    }
                }
            }
            for [answered, covered] in counts {
                // Four checks at 1 % refuse a few; the percentile interval of so few extremes is a
                // little too short.
                assert!(answered >= 68, "{name} {counts:?}");
                assert!(covered * 100 >= answered * 82, "{name} {counts:?}");
            }
        }
    }

    #[test]
    fn a_day_is_extrapolated_from_a_quarter_of_an_hour() {
        // 15 minutes at 1 kHz; dependent from sample to sample, with exponential tails.
        let mut last = 0.0_f64;
        let samples = made(900_000, 11, |s| {
            last = (0.3 * last).max(s.exponential());
            last
        });
        let day = 86_400e3_f64;
        // Once in a day of the largest: the clusters' peaks are those of the exponential samples.
        let truth = day.ln();
        for fit in extrapolate(&samples, 0.0, day, 0.95, 1) {
            let fit = fit.unwrap();
            assert!(fit.low < truth && truth < fit.high, "{fit:?}");
            // Wide, as it should be, but not beyond use.
            assert!(fit.high < 3.0 * truth, "{fit:?}");
        }
    }

    #[test]
    fn what_is_not_stationary_independent_or_fitting_is_refused_by_name() {
        let n = 20_000;
        let mut at = 0.0;
        let rising = made(n, 1, |s| {
            at += 1.0;
            s.exponential() * (1.0 + at / n as f64)
        });
        let unsteady = |samples: &[f64]| match block_maxima(samples, 0.0, 1e6, 0.95, 1) {
            Err(TailRefusal::Unsteady { checks, .. }) => checks,
            other => panic!("{other:?}"),
        };
        assert!(unsteady(&rising).trend < GATE);
        // What a late peak exceeds the threshold by is as before: there are more of them.
        match peaks(&rising, 0.0, 1e6, 0.95, 1) {
            Err(TailRefusal::Unsteady { checks, .. }) => {
                assert!(checks.rate.unwrap() < GATE, "{checks:?}");
            }
            other => panic!("{other:?}"),
        }
        let mut at = 0;
        let stepped = made(n, 2, |s| {
            at += 1;
            // Up and down again: no trend over the whole, but not the same all over.
            s.exponential()
                * if (n / 4..n / 2).contains(&at) {
                    3.0
                } else {
                    1.0
                }
        });
        let checks = unsteady(&stepped);
        assert!(
            checks.halves < GATE || checks.independence < GATE,
            "{checks:?}"
        );
        let mut state = 0.0;
        let slow = made(n, 3, |s| {
            state = 0.998 * state + s.normal();
            state
        });
        // So slow that the run may well rise or fall over its length too: which it is, one run cannot
        // tell, and both are said.
        assert!(unsteady(&slow).independence < GATE);
        let said = block_maxima(&slow, 0.0, 1e6, 0.95, 1)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("depend on earlier ones (Ljung-Box on ranks p "),
            "{said}"
        );
        // Two kinds of maxima: usual ones, and a stall in a third of the blocks.
        let mixed = made(n, 4, |s| match s.uniform() < 0.002 {
            true => 50.0 + s.uniform(),
            false => s.exponential(),
        });
        assert!(matches!(
            block_maxima(&mixed, 0.0, 1e6, 0.95, 1),
            Err(TailRefusal::Misfit { .. })
        ));
        let heavy = made(n, 5, |s| s.pareto(1.0));
        let refused = peaks(&heavy, 0.0, 1e6, 0.95, 1).unwrap_err();
        assert!(
            matches!(
                refused,
                TailRefusal::Heavy { .. } | TailRefusal::Misfit { .. }
            ),
            "{refused}"
        );
    }

    #[test]
    fn too_few_too_far_and_constant_samples_are_refused() {
        let few = made(5_999, 1, Samples::exponential);
        assert!(matches!(
            extrapolate(&few, 0.0, 1e6, 0.95, 1),
            [
                Err(TailRefusal::TooFew { needed: 6_000, .. }),
                Err(TailRefusal::TooFew { .. })
            ]
        ));
        let some = made(6_000, 1, Samples::exponential);
        let far = block_maxima(&some, 0.0, 1e6, 0.95, 1).unwrap_err();
        assert_eq!(
            far,
            TailRefusal::TooFar {
                factor: 1e6 / 6e3,
                needed: 10_000
            }
        );
        assert_eq!(
            block_maxima(&some, 0.0, 6e3, 0.95, 1),
            Err(TailRefusal::TooNear)
        );
        assert_eq!(
            peaks(&some, 0.0, f64::NAN, 0.95, 1),
            Err(TailRefusal::TooNear)
        );
        let same = vec![3.0; 10_000];
        assert!(matches!(
            block_maxima(&same, 0.0, 1e5, 0.95, 1),
            Err(TailRefusal::Constant { .. })
        ));
        assert!(matches!(
            peaks(&same, 0.0, 1e5, 0.95, 1),
            Err(TailRefusal::TooFewClusters { .. })
        ));
    }

    #[test]
    fn samples_in_whole_units_are_extrapolated_as_those_that_were_not_cut_or_refused_for_it() {
        let truth = |scale: f64| 20.0 + scale * 1e6_f64.ln();
        for (scale, answers) in [(0.25, false), (0.5, false), (3.0, true), (8.0, true)] {
            let mut counts = [[0_usize; 2]; 2];
            for seed in 0..20 {
                let samples = made(12_000, seed, |s| (20.0 + scale * s.exponential()).floor());
                let found = extrapolate(&samples, 1.0, 1e6, 0.95, seed);
                for (counts, fit) in counts.iter_mut().zip(&found) {
                    match fit {
                        Ok(fit) => {
                            counts[0] += 1;
                            let covers = fit.low <= truth(scale) && truth(scale) <= fit.high;
                            counts[1] += usize::from(covers);
                        }
                        Err(TailRefusal::TooCoarse { .. }) => assert!(!answers, "{scale}"),
                        Err(_) => {}
                    }
                }
            }
            for [answered, covered] in counts {
                match answers {
                    true => assert!(answered >= 17 && covered >= 14, "{scale} {counts:?}"),
                    false => assert_eq!(answered, 0, "{scale} {counts:?}"),
                }
            }
        }
        let coarse = made(12_000, 1, |s| (20.0 + 0.5 * s.exponential()).floor());
        for refused in extrapolate(&coarse, 1.0, 1e6, 0.95, 1) {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("are cut to whole units"), "{said}");
        }
    }
}
