// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where a change was, and how large.

use std::ops::Range;

use super::null::Null;
use super::scan::{bounded, profile};
use super::{Change, Segment, Series, Spread};
use crate::precision::Interval;
use crate::random::RandomSource;
use crate::runs::{Effect, Scale};
use crate::student::student_t;

/// Runs before and after a change among which its place is looked for.
const FARTHEST: usize = 150;

/// Permutations of the test of one place.
const DRAWS: u32 = 399;

/// As many places in a row that are rejected end the search.
const GIVE_UP: usize = 4;

impl Series<'_> {
    /// All that there is to say of a change before run `first`.
    pub(super) fn change(
        &self,
        scale: Scale,
        first: usize,
        p: f64,
        around: Range<usize>,
        spread: Option<&Spread>,
    ) -> Change {
        let near = around.start.max(first.saturating_sub(FARTHEST))
            ..around.end.min(first.saturating_add(FARTHEST));
        let places = self.possible(&near, first);
        let mean = |runs: Range<usize>| {
            let own = &self.values[runs];
            own.iter().sum::<f64>() / own.len().max(1) as f64
        };
        let (before, after) = (mean(around.start..first), mean(first..around.end));
        let ends = spread.and_then(|spread| {
            let quantile = student_t(spread.freedom, f64::midpoint(1.0, spread.confidence))?;
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for at in places.0..=places.1 {
                let sizes = [at - around.start, around.end - at].map(|n| 1.0 / n as f64);
                let half =
                    quantile * spread.inflation * spread.deviation * (sizes[0] + sizes[1]).sqrt();
                let apart = mean(at..around.end) - mean(around.start..at);
                low = low.min(apart - half);
                high = high.max(apart + half);
            }
            (low <= high).then_some((low, high))
        });
        let effect = |estimate: f64, ends: Option<(f64, f64)>| Effect {
            estimate,
            interval: ends.zip(spread).map(|((low, high), spread)| Interval {
                low,
                high,
                confidence: spread.confidence,
                effective_samples: around.len() as f64,
            }),
        };
        let apart = after - before;
        let (ratio, difference) = match scale {
            Scale::Log => {
                // In their unit, with the level before as the measure.
                let base = before.exp();
                let part = |x: f64| base * x.exp_m1();
                (
                    Some(effect(apart.exp(), ends.map(|(a, b)| (a.exp(), b.exp())))),
                    effect(part(apart), ends.map(|(a, b)| (part(a), part(b)))),
                )
            }
            Scale::Linear => (None, effect(apart, ends)),
        };
        Change {
            first,
            places,
            ratio,
            difference,
            p,
        }
    }

    /// The earliest and the latest place at which a test of "it was here" does not reject. Given the
    /// place, the runs on each side of it may be in any order; how much more another place shows is what
    /// is tested.
    fn possible(&self, near: &Range<usize>, first: usize) -> (usize, usize) {
        let bound = bounded(&self.values[near.clone()]);
        let allowed = &self.places[near.clone()];
        let level = 1.0 - self.options.confidence;
        let here = |at: usize| -> bool {
            let gain = |values: &[f64]| {
                let all = profile(values, allowed);
                let own = all.iter().find(|(place, _)| *place == at)?.1;
                let best = all.iter().map(|(_, z)| *z).fold(0.0, f64::max);
                Some(best * best - own * own)
            };
            let Some(seen) = gain(&bound) else {
                return false;
            };
            let null = Null::of(&bound, &[at, bound.len()], self.phi);
            let mut source = RandomSource::new(self.options.seed ^ at as u64);
            let most = level * f64::from(DRAWS + 1);
            let mut hits = 1.0;
            for _ in 0..DRAWS {
                let drawn = gain(&null.draw(&mut source));
                hits += f64::from(u8::from(drawn.is_some_and(|drawn| drawn >= seen - 1e-9)));
                if hits > most {
                    return true;
                }
            }
            false
        };
        let place = first - near.start;
        let search = |steps: &mut dyn Iterator<Item = usize>| {
            let (mut last, mut rejected) = (place, 0);
            for at in steps.filter(|at| allowed[*at]) {
                match here(at) {
                    true => (last, rejected) = (at, 0),
                    false => rejected += 1,
                }
                if rejected >= GIVE_UP {
                    break;
                }
            }
            near.start + last
        };
        let earliest = search(&mut (1..place).rev());
        let latest = search(&mut (place + 1..bound.len()));
        (earliest, latest)
    }

    /// A stretch with its level.
    pub(super) fn segment(
        &self,
        scale: Scale,
        runs: Range<usize>,
        spread: Option<&Spread>,
    ) -> Segment {
        let own = &self.values[runs.clone()];
        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
        let back = |x: f64| match scale {
            Scale::Log => x.exp(),
            Scale::Linear => x,
        };
        let interval = spread.and_then(|spread| {
            let quantile = student_t(spread.freedom, f64::midpoint(1.0, spread.confidence))?;
            let half = quantile * spread.inflation * spread.deviation / (own.len() as f64).sqrt();
            Some(Interval {
                low: back(mean - half),
                high: back(mean + half),
                confidence: spread.confidence,
                effective_samples: own.len() as f64,
            })
        });
        Segment {
            estimate: back(mean),
            interval,
            runs,
        }
    }
}
