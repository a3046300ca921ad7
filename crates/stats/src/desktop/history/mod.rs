// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a series of runs changed. The unit is the run: one value each, in the order in which they were
//! made.
//!
//! # Method
//!
//! *Statistic.* The values of a stretch are bounded at four robust deviations from their median, so that
//! no single run decides. Every place at which
//! the level may have changed is looked at, and the largest standardised difference of the means
//! before and after it counts (Page, *Biometrika* 42, 1955, as a scan). A level that goes back would hide
//! from that, so a second scan looks for a stretch inside that differs from the rest (Olshen, Venkatraman,
//! Lucito and Wigler, *Biostatistics* 5, 2004); it gets a tenth of the level.
//!
//! *Test.* Permutations of the runs, as E-divisive does (Matteson and James, *Journal of the American
//! Statistical Association* 109, 2014): exact where runs are exchangeable, whatever their distribution
//! is, ties included. Neighbouring runs may resemble each other; the lag-one correlation is estimated from
//! what is left without clear steps, and where it is noticed the permuted values are those that remain when
//! it is taken out, and it is put back in. What is left of few runs looks correlated by chance and can leave fewer
//! orders that show as much than there are, so the p-value is never below that of the permutations of the runs.
//!
//! *Several changes.* A stretch with a change is divided there and both parts are tested, each at the
//! share of the level that it is of the series, so that all of them together keep the level. At the end
//! every change is tested once more between its neighbours, and those that do not hold are dropped.
//!
//! *Where.* All places that a test of "it was here" does not reject: the runs on each side of the
//! place are permuted among themselves, which is exact. *How much*: Student's interval of the
//! difference of both levels, over all of these places.
//!
//! *Looking every night.* Whoever looks after each run finds something by chance sooner or later. The
//! newest runs are therefore judged by a test of their own ([`Newest`]) at a level so small that a hundred
//! looks keep the level together.

mod null;
mod place;
mod scan;

use std::ops::Range;

use self::null::{Null, correlation};
use self::scan::{Found, bounded, bump, least_p, step};
use crate::precision::Interval;
use crate::random::RandomSource;
use crate::runs::{Effect, Scale};
use crate::student::chi_squared;

/// The part of the level that looking for steps gets; the rest is for stretches that go back.
const OF_STEPS: f64 = 0.9;

/// As many hits decide that a p-value is not small: its relative error is then 7 % (Besag and Clifford,
/// *Biometrika* 78, 1991).
const ENOUGH_HITS: u32 = 200;

/// More permutations than this are never made.
const MOST_DRAWS: f64 = 1e6;

/// A p-value of this part of the level passes it, whatever the draws.
const CLEARLY: f64 = 0.9;

/// Fewer runs than this are no series.
pub const LEAST_RUNS: usize = 10;

/// A change is new while at most this number of runs were made since, or as many as were made of the newest label: a change lies before
/// the first of these.
pub const RECENT: usize = 10;

/// The part of the level that one look at the newest runs spends. Looks at neighbouring nights see
/// nearly the same runs, so that a hundred of them spend less than a hundred times as much; counted in
/// docs/methods/history.md.
pub const OF_ONE_LOOK: f64 = 0.015;

/// How to look for changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The share of series without a change in which one is found.
    pub level: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Permutations.
    pub draws: u32,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Options {
    /// 5 %, 95 %, 9999 permutations.
    fn default() -> Self {
        Self {
            level: 0.05,
            confidence: 0.95,
            draws: 9_999,
            seed: 1,
        }
    }
}

/// What a series shows.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// How values were compared.
    pub scale: Scale,
    /// The changes, in order.
    pub changes: Vec<Change>,
    /// The stretches between them.
    pub segments: Vec<Segment>,
    /// How runs of one stretch vary. `None` where no stretch has two.
    pub deviation: Option<Deviation>,
    /// The correlation of neighbouring runs that was allowed for, 0 to below 1.
    pub correlation: f64,
    /// What the newest runs show. `None` below [`LEAST_RUNS`].
    pub newest: Option<Newest>,
    /// The p-value of "no change at all". `None` where the runs are too few or do not vary.
    pub p: Option<f64>,
}

/// A change of level.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Number of the first run after it, from 0.
    pub first: usize,
    /// The earliest and the latest run that may be the first after it.
    pub places: (usize, usize),
    /// After over before. `None` on the linear scale.
    pub ratio: Option<Effect>,
    /// After minus before, in the unit of the values; on the logarithmic scale of the geometric means.
    pub difference: Effect,
    /// The p-value of "no change between the neighbouring changes".
    pub p: f64,
}

/// Runs between two changes.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its runs.
    pub runs: Range<usize>,
    /// Their geometric mean, or mean.
    pub estimate: f64,
    /// Student's t interval of it, with the deviation of all stretches.
    pub interval: Option<Interval>,
}

/// How the runs of one stretch vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The deviation between runs, as a share on the logarithmic scale (exp σ - 1), else in the unit of
    /// the values.
    pub estimate: f64,
    /// Its interval: χ², which takes it that values are normal on their scale.
    pub interval: Option<Interval>,
    /// The deviation on the scale of the comparison.
    pub on_scale: f64,
    /// Its degrees of freedom.
    pub freedom: f64,
}

/// What the newest runs show, for scripts that ask after every run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Newest {
    /// The number of the newest runs, [`RECENT`] or more: a change among them is new.
    pub recent: usize,
    /// The p-value of "no change in these".
    pub p: f64,
    /// The level that it is judged by.
    pub level: f64,
    /// Number of the first run after the change, where there is one.
    pub change: Option<usize>,
    /// The runs that are too few. `None` where a change in the newest ones could be found, or may not lie there.
    pub too_few: Option<TooFew>,
}

/// Runs of which no change whatever, in the newest of them, has a p-value that passes the level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct TooFew {
    /// The runs since the last change that is not new.
    pub runs: usize,
    /// As many would do at least.
    pub needed: usize,
}

/// Looks for changes in `values`, in the order of their runs. `may_change` says for each run whether the
/// level may have changed before it; everywhere where it is `None`.
///
/// `None` below two values, for values that are not finite, and where the places are not as many.
///
/// ```
/// use punctual_stats::history::{Options, changes};
///
/// let mut values: Vec<f64> = (0..30).map(|i| 50.0 + f64::from(i * 7 % 5)).collect();
/// values[20..].iter_mut().for_each(|x| *x *= 1.2);
/// let Some(history) = changes(&values, None, &Options::default()) else { return };
/// assert_eq!(history.changes.len(), 1);
/// assert_eq!(history.changes[0].first, 20);
/// ```
pub fn changes(values: &[f64], may_change: Option<&[bool]>, options: &Options) -> Option<History> {
    let fits = may_change.is_none_or(|places| places.len() == values.len());
    if values.len() < 2 || !fits || values.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let scale = match values.iter().all(|x| *x > 0.0) {
        true => Scale::Log,
        false => Scale::Linear,
    };
    let on_scale: Vec<f64> = match scale {
        Scale::Log => values.iter().map(|x| x.ln()).collect(),
        Scale::Linear => values.to_vec(),
    };
    let everywhere = vec![true; values.len()];
    let recent = recent(may_change.unwrap_or(&everywhere));
    let series = Series {
        recent,
        phi: correlation(&bounded(&on_scale)),
        values: on_scale,
        places: may_change.unwrap_or(&everywhere),
        options,
    };
    let all = 0..values.len();
    let mut found = Vec::new();
    let p = match values.len() >= LEAST_RUNS {
        true => series.divide(all.clone(), &mut found),
        false => None,
    };
    found.sort_unstable();
    let mut kept = series.hold(found);
    let newest = (values.len() >= LEAST_RUNS).then(|| series.newest(&kept));
    if let Some(first) = newest.as_ref().and_then(|newest| newest.change)
        && kept.iter().all(|(at, _)| *at + recent < values.len())
    {
        kept.push((first, newest.map_or(1.0, |newest| newest.p)));
    }
    let ends: Vec<usize> = kept.iter().map(|(at, _)| *at).collect();
    let deviation = series.deviation(&ends);
    let changes = kept.iter().enumerate();
    let changes = changes.map(|(at, (first, p))| {
        let around = series.around(&ends, at);
        series.change(scale, *first, *p, around, deviation.as_ref())
    });
    let changes = changes.collect();
    let segments = stretches(&ends, values.len())
        .map(|runs| series.segment(scale, runs, deviation.as_ref()))
        .collect();
    Some(History {
        scale,
        changes,
        segments,
        deviation: deviation.map(|deviation| deviation.shown(scale)),
        correlation: series.phi,
        newest,
        p,
    })
}

/// The stretches between changes.
fn stretches(ends: &[usize], all: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    let stops = ends.iter().copied().chain([all]);
    starts.zip(stops).map(|(from, until)| from..until)
}

/// A series on its scale, with what is common to all its tests.
struct Series<'a> {
    values: Vec<f64>,
    /// The newest runs, among which a change is new.
    recent: usize,
    places: &'a [bool],
    phi: f64,
    options: &'a Options,
}

/// The deviation of a series, with what of it is known.
#[derive(Clone, Copy, Debug)]
struct Spread {
    deviation: f64,
    freedom: f64,
    confidence: f64,
    /// What a mean varies more by than its independent runs would.
    inflation: f64,
}

impl Spread {
    fn shown(self, scale: Scale) -> Deviation {
        let back = |x: f64| match scale {
            Scale::Log => x.exp_m1(),
            Scale::Linear => x,
        };
        let tail = (1.0 - self.confidence) / 2.0;
        let end = |p: f64| {
            let chi = chi_squared(self.freedom, p)?;
            Some(back(self.deviation * (self.freedom / chi).sqrt()))
        };
        let interval = end(1.0 - tail).zip(end(tail));
        Deviation {
            estimate: back(self.deviation),
            interval: interval.map(|(low, high)| Interval {
                low,
                high,
                confidence: self.confidence,
                effective_samples: self.freedom,
            }),
            on_scale: self.deviation,
            freedom: self.freedom,
        }
    }
}

impl Series<'_> {
    /// Divides a stretch where it changes, and its parts; returns the p-value of "no change" in it.
    fn divide(&self, runs: Range<usize>, found: &mut Vec<usize>) -> Option<f64> {
        let share = runs.len() as f64 / self.values.len() as f64;
        let level = self.options.level * share;
        let bound = bounded(self.values.get(runs.clone())?);
        let places = self.places.get(runs.clone())?;
        let (up, there) = (step(&bound, places), bump(&bound, places));
        let observed = [up, there].map(|found| found.map(|found| found.z));
        let asked = observed.map(|seen| seen.is_some());
        let draws = self.options.draws;
        let p = self.permuted(&bound, runs.start, asked, draws, |drawn| {
            let beyond = |z: Option<Found>, seen: Option<f64>| match (z, seen) {
                (Some(z), Some(seen)) => z.z >= seen - 1e-9,
                _ => false,
            };
            [
                beyond(step(drawn, places), observed[0]),
                beyond(bump(drawn, places), observed[1]),
            ]
        });
        let least = up.map_or(0.0, |up| least_p(places, up.from));
        let of_step = p[0].map(|p| p.max(least) / OF_STEPS);
        let of_bump = p[1].map(|p| p / (1.0 - OF_STEPS));
        let (p, which) = match (of_step, of_bump) {
            (Some(a), Some(b)) if b < a => (b, there),
            (Some(a), _) => (a, up),
            (None, Some(b)) => (b, there),
            (None, None) => return None,
        };
        let p = p.min(1.0);
        if let Some(which) = which.filter(|_| p <= level) {
            let cuts = [which.from, which.until].map(|at| runs.start + at);
            let cuts = cuts
                .into_iter()
                .filter(|at| runs.start < *at && *at < runs.end);
            let cuts: Vec<usize> = cuts.collect();
            let mut start = runs.start;
            for cut in cuts.iter().copied().chain([runs.end]) {
                self.divide(start..cut, found);
                start = cut;
            }
            found.extend(cuts);
        }
        Some(p)
    }

    /// The stretch around a change up to its neighbours.
    fn around(&self, ends: &[usize], at: usize) -> Range<usize> {
        let from = at.checked_sub(1).and_then(|before| ends.get(before));
        from.copied().unwrap_or(0)..ends.get(at + 1).copied().unwrap_or(self.values.len())
    }

    /// Tests every change between its neighbours, moves it to where it fits best, and drops the weakest
    /// until all hold.
    fn hold(&self, mut ends: Vec<usize>) -> Vec<(usize, f64)> {
        let most = 2 * ends.len() + 1;
        for _ in 0..most {
            let each = (0..ends.len()).map(|at| self.one(self.around(&ends, at)));
            let each: Vec<Option<(usize, f64)>> = each.collect();
            let weakest = each
                .iter()
                .enumerate()
                .map(|(at, one)| (at, one.map_or(1.0, |(_, p)| p)))
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((at, p)) = weakest
                && p > self.options.level
            {
                ends.remove(at);
                continue;
            }
            let moved: Vec<usize> = each.iter().flatten().map(|(first, _)| *first).collect();
            if moved == ends || moved.windows(2).any(|pair| pair[0] >= pair[1]) {
                let p = each.iter().flatten().map(|(_, p)| *p);
                return ends.iter().copied().zip(p).collect();
            }
            ends = moved;
        }
        let one = |at| self.one(self.around(&ends, at)).map_or(1.0, |(_, p)| p);
        (0..ends.len()).map(|at| (ends[at], one(at))).collect()
    }

    /// The best place for one change in a stretch, and its p-value.
    fn one(&self, runs: Range<usize>) -> Option<(usize, f64)> {
        let bound = bounded(self.values.get(runs.clone())?);
        let places = self.places.get(runs.clone())?;
        let found = step(&bound, places)?;
        let p = self.p_of(&bound, places, found, runs.start, self.options.draws);
        Some((runs.start + found.from, p))
    }

    fn p_of(&self, bound: &[f64], places: &[bool], found: Found, salt: usize, draws: u32) -> f64 {
        let p = self.permuted(bound, salt, [true, false], draws, |drawn| {
            let drawn = step(drawn, places);
            [drawn.is_some_and(|drawn| drawn.z >= found.z - 1e-9), false]
        });
        p[0].map_or(1.0, |p| p.max(least_p(places, found.from)))
    }

    /// The p-values of up to two statistics; `beyond` says which of them are as large in another order as what was
    /// seen. Where a correlation is allowed for they are never below those of the permutations without it, which are
    /// exact where the runs are exchangeable.
    fn permuted(
        &self,
        bound: &[f64],
        salt: usize,
        asked: [bool; 2],
        draws: u32,
        beyond: impl Fn(&[f64]) -> [bool; 2],
    ) -> [Option<f64>; 2] {
        let under = |phi: f64, draws: u32| {
            let null = Null::of(bound, &[bound.len()], phi);
            let mut source = RandomSource::new(self.options.seed ^ salt as u64);
            small(asked, draws, || beyond(&null.draw(&mut source)))
        };
        let (allowed, drawn) = under(self.phi, draws);
        if self.phi <= 0.0 {
            return allowed;
        }
        // As many draws as it took to see that the other is not small tell whether this one is larger.
        let (exact, _) = under(0.0, drawn);
        [0, 1].map(|at| exact[at].zip(allowed[at]).map(|(a, b)| a.max(b)))
    }

    /// Judges the newest runs against those since the change before.
    fn newest(&self, kept: &[(usize, f64)]) -> Newest {
        let n = self.values.len();
        let old = kept.iter().map(|(at, _)| *at);
        let from = old.filter(|at| at + self.recent < n).max().unwrap_or(0);
        let level = self.options.level * OF_ONE_LOOK;
        let mut places = self.places[from..].to_vec();
        let until = places.len().saturating_sub(self.recent);
        places
            .iter_mut()
            .take(until)
            .for_each(|place| *place = false);
        let bound = bounded(&self.values[from..]);
        let found = step(&bound, &places);
        // A p-value below the level must be possible. In few runs all that are possible are close to it, and the draws
        // must not decide.
        let close = found.is_some_and(|found| least_p(&places, found.from) > level / 10.0);
        let hits = if close { f64::from(ENOUGH_HITS) } else { 3.0 };
        let least = crate::num::floor_u64((hits / level).clamp(1.0, MOST_DRAWS));
        let draws = self.options.draws.max(u32::try_from(least).unwrap_or(0));
        let p = found.map_or(1.0, |found| self.p_of(&bound, &places, found, n, draws));
        Newest {
            recent: self.recent,
            p,
            level,
            change: found.filter(|_| p <= level).map(|found| from + found.from),
            too_few: too_few(&places, level),
        }
    }

    /// The deviation inside all stretches.
    fn deviation(&self, ends: &[usize]) -> Option<Spread> {
        let (mut squares, mut freedom) = (0.0, 0.0);
        for runs in stretches(ends, self.values.len()) {
            let own = &self.values[runs];
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            squares += own.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
            freedom += own.len() as f64 - 1.0;
        }
        let deviation = (squares / freedom).sqrt();
        // Of values that are all the same only the rounding of their mean is left.
        let size = self
            .values
            .iter()
            .fold(0.0_f64, |most, x| most.max(x.abs()));
        let deviation = match deviation > 1e-12 * size {
            true => deviation,
            false => 0.0,
        };
        deviation.is_finite().then_some(Spread {
            deviation,
            freedom,
            confidence: self.options.confidence,
            inflation: ((1.0 + self.phi) / (1.0 - self.phi)).sqrt(),
        })
    }
}

/// The number of the newest runs, given where changes may lie.
fn recent(places: &[bool]) -> usize {
    let newest = places.iter().rev().position(|place| *place);
    newest.map_or(RECENT, |after| RECENT.max(after + 1))
}

/// Whether runs with these places for a change are too few for one that passes `level`.
fn too_few(places: &[bool], level: f64) -> Option<TooFew> {
    let passes = |places: &[bool]| {
        let own = (0..places.len()).filter(|at| places[*at]);
        own.map(|at| least_p(places, at))
            .any(|p| p <= CLEARLY * level)
    };
    let runs = places.len();
    if passes(places) || !places.iter().skip(1).any(|place| *place) {
        return None;
    }
    // A change of ten runs in a thousand has a p-value of 4e-24.
    let would_do = |n: &usize| {
        let all: Vec<bool> = (0..*n).map(|at| at + RECENT >= *n).collect();
        passes(&all)
    };
    let needed = (LEAST_RUNS..1_000).find(would_do).unwrap_or(1_000);
    // Where changes may lie only between commits, those of a few runs, or of many, are what is missing.
    let needed = needed.max(runs + 1);
    Some(TooFew { runs, needed })
}

/// The p-values of up to two statistics under the permutations that `draw` makes, and how many those were; each call
/// says which of them are as large as what was seen.
fn small(
    asked: [bool; 2],
    draws: u32,
    mut draw: impl FnMut() -> [bool; 2],
) -> ([Option<f64>; 2], u32) {
    let (mut hits, mut drawn) = ([1_u32; 2], 0_u32);
    let open = |hits: &[u32; 2]| (0..2).any(|at| asked[at] && hits[at] < ENOUGH_HITS);
    while drawn < draws && open(&hits) {
        drawn += 1;
        for (hits, hit) in hits.iter_mut().zip(draw()) {
            *hits += u32::from(hit);
        }
    }
    let p = |at: usize| asked[at].then(|| f64::from(hits[at]) / f64::from(drawn + 1));
    ([0, 1].map(p), drawn)
}

#[cfg(test)]
mod tests;
