// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From two groups of runs to a verdict.

use super::look::Look;
use super::margin::{AtMargin, Beyond};
use super::outcome::{Effect, IntervalMethod, Margin, MarginTest, Outcome, Side, Test, Verdict};
use super::permutation::Permutations;
use super::power::{
    Pilot, detectable, provable, provable_one_sided, runs_for_level, runs_to_detect,
    runs_to_show_equivalence, runs_to_show_not_worse, variances,
};
use super::question::{Contrast, Data, Layout, QuestionError, Scale, moments};
use super::{Direction, Question, bootstrap};
use crate::holm::holm;
use crate::precision::{Interval, mean_interval};
use crate::student::student_t;

/// The fewest runs of a group that varies more than the others, with which it is compared at all.
const LEAST_OF_WIDER: u64 = 6;

/// How to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Level of the tests: the share of comparisons without an effect that are called one, by whoever
    /// makes the "more runs" of the verdict and compares again too ([`Look`](super::Look)).
    pub alpha: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// The smallest change that matters, as a share: what decides between "not distinguishable" and
    /// "too few runs".
    pub effect: f64,
    /// The smallest difference that matters, in the unit of the values, in place of `effect`: of what
    /// may be 0, as a rate of misses, no share says what matters.
    pub difference: Option<f64>,
    /// The power: probability of finding an effect that matters.
    pub power: f64,
    /// The change that is to be shown not to be there, if that is the question.
    pub margin: Option<Margin>,
    /// The part of the level that this look spends, where the looks are planned ([`Looks`](crate::sequential::Looks)).
    /// `None`: there is a second one, with more runs.
    pub share: Option<f64>,
    /// How the intervals are made.
    pub interval: IntervalMethod,
    /// Random arrangements, and resamples of a bootstrap.
    pub draws: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Options {
    /// 5 %, 95 %, a change of 10 % found with a power of 80 %, permutation intervals.
    fn default() -> Self {
        Self {
            alpha: 0.05,
            confidence: 0.95,
            effect: 0.1,
            difference: None,
            power: 0.8,
            margin: None,
            share: None,
            interval: IntervalMethod::default(),
            draws: 9_999,
            seed: 1,
        }
    }
}

/// Compares two groups of runs by one figure.
///
/// ```
/// use punctual_stats::runs::{Direction, Options, Question, Verdict, compare};
///
/// # fn main() -> Result<(), punctual_stats::runs::QuestionError> {
/// let before = [50.1, 51.3, 49.8, 50.7, 50.9];
/// let after = [44.0, 45.2, 43.9, 44.8, 45.0];
/// let question = Question::new(&before, &after, Direction::LowerIsBetter);
/// let outcome = compare(&question, &Options::default())?;
/// assert_eq!(outcome.verdict, Verdict::Better);
/// // All 252 ways to divide ten runs were looked at; only this one and its mirror are so extreme.
/// assert_eq!(outcome.test.map(|test| test.p), Some(2.0 / 252.0));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`QuestionError`] for values that are not finite, or blocks that do not fit the values.
pub fn compare(question: &Question<'_>, options: &Options) -> Result<Outcome, QuestionError> {
    let analysis = Analysis::of(question, options)?;
    let look = analysis.look(options, 1);
    let p = look.corrected(analysis.p(), options.share);
    let beyond = Look::margin_corrected(analysis.beyond);
    let asked = Asked { tested: 1, all: 1 };
    Ok(analysis.conclude(options, asked, look, p, beyond))
}

/// Compares two groups of runs by several figures, with Holm's correction for their number: the
/// probability of any wrong verdict among them is at most the level.
///
/// # Errors
///
/// As [`compare`].
pub fn compare_all(
    questions: &[Question<'_>],
    options: &Options,
) -> Result<Vec<Outcome>, QuestionError> {
    let analyses: Vec<Analysis> = questions
        .iter()
        .map(|question| Analysis::of(question, options))
        .collect::<Result<_, _>>()?;
    let tested = analyses.iter().filter(|a| a.permutations.is_some());
    let asked = Asked {
        tested: tested.count().max(1),
        all: analyses.len().max(1),
    };
    let look = |a: &Analysis| a.look(options, asked.tested);
    let looks: Vec<Look> = analyses.iter().map(look).collect();
    let each = analyses.iter().zip(&looks);
    let p: Vec<_> = each
        .map(|(a, look)| look.corrected(a.p(), options.share))
        .collect();
    let each = analyses.iter();
    let beyond: Vec<_> = each.map(|a| Look::margin_corrected(a.beyond)).collect();
    let (p, beyond) = (holm(&p), holm(&beyond));
    let adjusted = looks.into_iter().zip(p.into_iter().zip(beyond));
    Ok(analyses
        .into_iter()
        .zip(adjusted)
        .map(|(analysis, (look, (p, beyond)))| analysis.conclude(options, asked, look, p, beyond))
        .collect())
}

/// How many questions share the level.
#[derive(Clone, Copy)]
struct Asked {
    /// Those that have enough runs for a test.
    tested: usize,
    /// With those that do not have them yet.
    all: usize,
}

/// One question with its data on their scale and its tests, before the correction.
struct Analysis {
    direction: Direction,
    data: Data,
    contrast: Option<Contrast>,
    permutations: Option<Permutations>,
    /// The p-value of "beyond the margin", if a margin was given and means something.
    beyond: Option<f64>,
}

impl Analysis {
    fn of(question: &Question<'_>, options: &Options) -> Result<Self, QuestionError> {
        let data = question.data()?;
        let analysis = Self {
            direction: question.direction,
            contrast: data.layout.contrast(),
            permutations: Permutations::of_layout(&data.layout, options.draws, options.seed),
            data,
            beyond: None,
        };
        let beyond = analysis.beyond_margin(options);
        Ok(Self { beyond, ..analysis })
    }

    fn p(&self) -> Option<f64> {
        Some(self.permutations.as_ref()?.p(0.0))
    }

    /// The p-value of "beyond the margin", if a margin was given and means something.
    fn beyond_margin(&self, options: &Options) -> Option<f64> {
        let permutations = self.permutations.as_ref()?;
        let sides = self.at_margin(options)?;
        let p = sides.iter().map(|at| at.p(permutations, options));
        p.collect::<Option<Vec<f64>>>()?
            .into_iter()
            .reduce(f64::max)
    }

    /// The groups at each side of the margin that was asked for.
    fn at_margin(&self, options: &Options) -> Option<Vec<AtMargin<'_>>> {
        let (share, sides): (f64, &[Beyond]) = match (self.margin(options)?, self.direction) {
            (Margin::Same(share), _) => (share, &[Beyond::Above, Beyond::Below]),
            (Margin::NotWorse(share), Direction::HigherIsBetter) => (share, &[Beyond::Below]),
            (Margin::NotWorse(share), _) => (share, &[Beyond::Above]),
        };
        let at = |beyond: &Beyond| AtMargin::of(&self.data, *beyond, share);
        sides.iter().map(at).collect()
    }

    /// The side of the margin on which most runs are needed.
    fn hardest(&self, options: &Options) -> Option<AtMargin<'_>> {
        let error = |at: &AtMargin<'_>| at.contrast().map_or(0.0, |contrast| contrast.error);
        let sides = self.at_margin(options)?.into_iter();
        sides.max_by(|a, b| error(a).total_cmp(&error(b)))
    }

    /// The margin that was asked for: nothing gets worse where no direction is bad.
    fn margin(&self, options: &Options) -> Option<Margin> {
        options.margin.filter(|margin| {
            matches!(margin, Margin::Same(_)) || self.direction != Direction::Neither
        })
    }

    /// A change given as a share, as a difference on the scale of the data.
    fn on_scale(&self, share: f64) -> Option<f64> {
        match self.data.scale {
            Scale::Log => Some(share.ln_1p()),
            Scale::Linear => moments(&self.data.a)
                .mean()
                .filter(|mean| *mean > 0.0)
                .map(|mean| mean * share),
        }
    }

    /// The smallest change that matters, on the scale of the data.
    fn matters(&self, options: &Options) -> Option<f64> {
        let Some(difference) = options.difference else {
            return self.on_scale(options.effect);
        };
        match self.data.scale {
            Scale::Log => {
                let base = moments(&self.data.a).mean()?.exp();
                Some((difference / base).ln_1p())
            }
            Scale::Linear => Some(difference),
        }
    }

    /// The other way round.
    fn as_share(&self, difference: f64) -> Option<f64> {
        match self.data.scale {
            Scale::Log => Some(difference.exp_m1()),
            Scale::Linear => moments(&self.data.a)
                .mean()
                .filter(|mean| *mean > 0.0)
                .map(|mean| difference / mean),
        }
    }

    /// The level at which enough runs answer what is asked.
    fn level(&self, options: &Options, asked: usize) -> f64 {
        match self.margin(options) {
            Some(_) => options.alpha * Look::OF_MARGIN / asked as f64,
            None => level(options, asked, Look::Final),
        }
    }

    /// Whether the runs are enough for what is asked; `asked` questions share the level.
    fn look(&self, options: &Options, asked: usize) -> Look {
        let level = self.level(options, asked);
        let at = self.hardest(options);
        let contrast = at.as_ref().map_or(self.contrast, AtMargin::contrast);
        let Some(contrast) = contrast.filter(|contrast| contrast.error > 0.0) else {
            // Without spread more runs change nothing.
            return Look::Final;
        };
        let of = |least: fn(f64, f64, f64, f64) -> Option<f64>| {
            least(contrast.error, contrast.freedom, level, options.power)
        };
        let room = at.map(|at| at.room);
        let (wanted, least) = match self.margin(options) {
            Some(Margin::Same(_)) => (room, of(provable)),
            Some(Margin::NotWorse(_)) => (room, of(provable_one_sided)),
            None => (self.matters(options), of(detectable)),
        };
        match wanted.zip(least) {
            Some((wanted, least)) if least > wanted => Look::Early,
            // Without a baseline there is no size of effect to speak of.
            _ => Look::Final,
        }
    }

    fn conclude(
        self,
        options: &Options,
        asked: Asked,
        look: Look,
        adjusted_p: Option<f64>,
        adjusted_beyond: Option<f64>,
    ) -> Outcome {
        // Where a test finds only groups that are wholly apart, the power of t is not its power.
        let possible = self.permutations.as_ref().map(Permutations::smallest_p);
        let possible =
            possible.is_some_and(|p| 2.0 * p <= level(options, asked.tested, Look::Early));
        let smallest = self
            .contrast
            .filter(|contrast| possible && contrast.error > 0.0)
            .and_then(|c| {
                let level = level(options, asked.tested, look);
                detectable(c.error, c.freedom, level, options.power)
            });
        let test = self.permutations.as_ref().map(|permutations| {
            let p = permutations.p(0.0);
            let alone = self.look(options, 1).corrected(Some(p), options.share);
            Test {
                p,
                permutations_p: permutations.permuted(0.0),
                adjusted_p: adjusted_p.unwrap_or(p),
                alone_p: alone.unwrap_or(p),
                kind: permutations.kind(),
                smallest_p: permutations.smallest_p(),
            }
        });
        let margin = options.margin.map(|margin| MarginTest {
            margin,
            p: self.beyond,
            adjusted_p: adjusted_beyond,
        });
        let verdict = self.verdict(options, asked, look, test, margin);
        let (interval, method) = self.interval(options).unzip();
        let (ratio, difference) = self.effects(options, interval);
        Outcome {
            scale: self.data.scale,
            baseline: side(&self.data.a, self.data.scale, options.confidence),
            candidate: side(&self.data.b, self.data.scale, options.confidence),
            pairs: match &self.data.layout {
                Layout::Pairs(pairs) => Some(pairs.len()),
                Layout::Groups(..) => None,
            },
            unpaired: self.data.unpaired,
            ratio,
            difference,
            interval_method: method,
            test,
            margin,
            lopsided: self.data.layout.is_lopsided(),
            smallest_detectable: smallest.and_then(|least| self.as_share(least)),
            verdict,
        }
    }

    fn verdict(
        &self,
        options: &Options,
        asked: Asked,
        look: Look,
        test: Option<Test>,
        margin: Option<MarginTest>,
    ) -> Verdict {
        // The runs with which a verdict is possible at all, however large the effect is.
        let fewest = |of: usize| runs_for_level(self.blocked(), level(options, of, look));
        let (Some(test), Some(contrast)) = (test, self.contrast) else {
            // With those runs all that is asked has its test.
            return self.too_few(fewest(asked.all));
        };
        if self.data.layout.is_lopsided() {
            // Neither test holds its level there; as many runs as on the other side do.
            return self.too_few(LEAST_OF_WIDER);
        }
        let shown = |p: Option<f64>| p.is_some_and(|p| p <= options.alpha);
        let within = margin.filter(|margin| shown(margin.adjusted_p));
        if let Some(Margin::Same(_)) = within.map(|margin| margin.margin) {
            return Verdict::Equivalent;
        }
        let found = match (self.direction, contrast.estimate > 0.0) {
            (Direction::Neither, _) => Verdict::Different,
            (Direction::LowerIsBetter, true) | (Direction::HigherIsBetter, false) => Verdict::Worse,
            _ => Verdict::Better,
        };
        let effect = (test.adjusted_p <= options.alpha).then_some(found);
        match (effect, within) {
            // What is better is not worse, and says more: a second test of a closed family.
            (Some(Verdict::Better), _) => return Verdict::Better,
            (_, Some(_)) => return Verdict::NotWorse,
            (Some(effect), None) => return effect,
            (None, None) => {}
        }
        if self.matters(options).is_none() {
            // A baseline of 0 has no size, and of its runs that are all 0 the spread is not known.
            return Verdict::TooFewRuns { more: None };
        }
        let needed = self.needed(options, self.level(options, asked.tested));
        let detected = level(options, asked.tested, look);
        if test.smallest_p > detected {
            // Where groups are wholly apart, what they are apart by is to be found: that may be much, or chance.
            let apart = test.permutations_p <= test.smallest_p;
            let needed = match apart {
                true => self.found_by(options, detected, contrast.estimate.abs()),
                false => needed,
            };
            // Without spread nothing is needed but a test that can say so.
            let is_unknown = needed.is_none() && contrast.error > 0.0;
            return match is_unknown {
                true => Verdict::TooFewRuns { more: None },
                false => self.too_few(needed.unwrap_or(0).max(fewest(asked.tested))),
            };
        }
        // Asked whether it is within the margin; as long as that is not shown, more runs may.
        let open = self.margin(options).is_some() && contrast.error > 0.0;
        match (look, needed) {
            (Look::Final, _) if !open => Verdict::NotDistinguishable,
            (_, Some(needed)) => self.too_few(needed),
            (_, None) => Verdict::TooFewRuns { more: None },
        }
    }

    /// The runs a side, or blocks, that would find what matters, or show that it is not there.
    fn needed(&self, options: &Options, level: f64) -> Option<u64> {
        let at = self.hardest(options);
        let layout = at.as_ref().map_or(&self.data.layout, |at| &at.layout);
        let variances = variances(layout)?;
        let (pilot, power) = (pilot(layout, &variances)?, options.power);
        match self.margin(options) {
            Some(Margin::Same(_)) => runs_to_show_equivalence(pilot, at?.room, level, power),
            Some(Margin::NotWorse(_)) => runs_to_show_not_worse(pilot, at?.room, level, power),
            None => runs_to_detect(pilot, self.matters(options)?, level, power),
        }
    }

    /// The runs a side, or blocks, that would find an effect of this size, or one that matters where that is larger.
    fn found_by(&self, options: &Options, level: f64, effect: f64) -> Option<u64> {
        let variances = variances(&self.data.layout)?;
        let pilot = pilot(&self.data.layout, &variances)?;
        let effect = self.matters(options)?.max(effect);
        runs_to_detect(pilot, effect, level, options.power)
    }

    fn too_few(&self, needed: u64) -> Verdict {
        let have = self.data.layout.units() as u64;
        Verdict::TooFewRuns {
            more: Some(needed.saturating_sub(have).max(1)),
        }
    }

    fn blocked(&self) -> bool {
        matches!(self.data.layout, Layout::Pairs(_))
    }

    /// The interval of the effect on the scale of the data, and how it was made.
    fn interval(&self, options: &Options) -> Option<((f64, f64), IntervalMethod)> {
        let nested = match (options.interval, &self.data.noise) {
            (IntervalMethod::Hierarchical, Some(noise)) => {
                bootstrap::nested(&self.data.layout, [&noise[0], &noise[1]], options)
            }
            _ => None,
        };
        let method = match options.interval {
            IntervalMethod::Hierarchical if nested.is_none() => IntervalMethod::Studentised,
            method => method,
        };
        let made = match method {
            IntervalMethod::Hierarchical => nested,
            IntervalMethod::Permutation => self
                .permutations
                .as_ref()
                .and_then(|permutations| permutations.interval(options.confidence)),
            IntervalMethod::Studentised => bootstrap::studentised(
                &self.data.layout,
                |a, b| bootstrap::Smooth {
                    value: b - a,
                    by_a: -1.0,
                    by_b: 1.0,
                },
                options,
            ),
            IntervalMethod::Welch => None,
        };
        let contrast = self.contrast.filter(|contrast| contrast.error > 0.0)?;
        let welch = || {
            let half = student_t(contrast.freedom, f64::midpoint(1.0, options.confidence))?
                * contrast.error;
            Some((contrast.estimate - half, contrast.estimate + half))
        };
        match made {
            Some(made) => Some((made, method)),
            None => Some((welch()?, IntervalMethod::Welch)),
        }
    }

    /// The ratio and the difference, each with its interval.
    fn effects(
        &self,
        options: &Options,
        interval: Option<(f64, f64)>,
    ) -> (Option<Effect>, Option<Effect>) {
        let effect = |estimate: f64, interval: Option<(f64, f64)>| Effect {
            estimate,
            interval: interval.map(|(low, high)| Interval {
                low,
                high,
                confidence: options.confidence,
                effective_samples: (self.data.a.len() + self.data.b.len()) as f64,
            }),
        };
        let Some((a, b)) = self.data.means() else {
            return (None, None);
        };
        // Inside blocks the effect is the mean of their differences, not that of all runs.
        let estimate = self.contrast.map_or(b - a, |contrast| contrast.estimate);
        match self.data.scale {
            Scale::Log => {
                let ratio = interval.map(|(low, high)| (low.exp(), high.exp()));
                let difference = ratio.zip(self.baseline(options)).map(|(r, a)| {
                    let ends = |share: f64| (a.0 * (share - 1.0), a.1 * (share - 1.0));
                    let (low, high) = (ends(r.0), ends(r.1));
                    (low.0.min(low.1), high.0.max(high.1))
                });
                (
                    Some(effect(estimate.exp(), ratio)),
                    Some(effect(b.exp() - a.exp(), difference)),
                )
            }
            Scale::Linear => (
                (a > 0.0 && b > 0.0).then(|| effect(b / a, None)),
                Some(effect(estimate, interval)),
            ),
        }
    }
}

impl Analysis {
    /// The interval of the baseline that the ratio is of. With it every ratio of its interval is a difference: the two
    /// intervals include "no effect" together or not at all.
    fn baseline(&self, options: &Options) -> Option<(f64, f64)> {
        let values: Vec<f64> = match &self.data.layout {
            Layout::Groups(a, _) => a.clone(),
            Layout::Pairs(pairs) => pairs.iter().map(|(a, _)| *a).collect(),
        };
        let of = side(&values, self.data.scale, options.confidence);
        let interval = of.interval.map(|interval| (interval.low, interval.high));
        // A baseline that does not vary is known by its value.
        let constant = of.deviation.is_some_and(|deviation| deviation == 0.0);
        interval.or_else(|| of.estimate.filter(|_| constant).map(|a| (a, a)))
    }
}

fn pilot<'a>(layout: &Layout, variances: &'a [f64]) -> Option<Pilot<'a>> {
    let freedom = layout.contrast()?.freedom;
    Some(Pilot { variances, freedom })
}

/// The level of one question among those asked at a look: Holm's first step, the hardest, for what one
/// question alone could show is no promise.
fn level(options: &Options, asked: usize, look: Look) -> f64 {
    options.alpha * options.share.unwrap_or_else(|| look.share()) / asked as f64
}

fn side(values: &[f64], scale: Scale, confidence: f64) -> Side {
    let moments = moments(values);
    // Equal values do not say how far the next one may be from them; that nothing was seen is said of any number of runs.
    let tells = moments.std_dev().is_some_and(|deviation| deviation > 0.0)
        || (matches!(scale, Scale::Linear) && values.iter().all(|value| *value == 0.0));
    let interval = mean_interval(&moments, values.len() as f64, confidence).filter(|_| tells);
    let back = |x: f64| match scale {
        Scale::Log => x.exp(),
        Scale::Linear => x,
    };
    // What cannot be below 0 has no interval below 0.
    let least = match values.iter().all(|x| *x >= 0.0) {
        true => 0.0,
        false => f64::NEG_INFINITY,
    };
    Side {
        runs: values.len(),
        estimate: moments.mean().map(back),
        deviation: moments.std_dev().map(|deviation| match scale {
            Scale::Log => deviation.exp_m1(),
            Scale::Linear => deviation,
        }),
        interval: interval.map(|interval| Interval {
            low: match scale {
                Scale::Log => interval.low.exp(),
                Scale::Linear => interval.low.max(least),
            },
            high: back(interval.high),
            ..interval
        }),
    }
}

#[cfg(test)]
mod tests;
