// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The largest standardised difference between stretches of a series.

use crate::student::normal_quantile;

/// The fewest runs on a side of a step, and in a stretch that goes back.
const LEAST_SIDE: usize = 3;

/// Robust deviations beyond which a run counts no more.
const FARTHEST: f64 = 4.0;

/// Pairs of ends that are looked at for stretches that go back: in longer series only short ones are.
const PAIRS: usize = 60_000;

/// A place with its standardised difference: the runs from `from` up to `until` differ from the others. Of
/// a step `until` is the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) z: f64,
    pub(super) from: usize,
    pub(super) until: usize,
}

/// Values as they are tested: in deviations from the median, but none beyond [`FARTHEST`], so that no single
/// run decides. Where more than half of them are equal, and the deviation is 0, the normal scores of
/// their ranks; equal values share the middle of theirs.
pub(super) fn bounded(values: &[f64]) -> Vec<f64> {
    let middle = median(values.to_vec());
    // That of a normal distribution is 1.4826 times the median distance from the median.
    let deviation = 1.4826 * median(values.iter().map(|x| (x - middle).abs()).collect());
    if deviation > 1e-12 * middle.abs() {
        let bound = |x: &f64| ((x - middle) / deviation).clamp(-FARTHEST, FARTHEST);
        return values.iter().map(bound).collect();
    }
    let n = values.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut scores = vec![0.0; n];
    let mut rank = 0;
    for same in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let middle = rank as f64 + f64::midpoint(1.0, same.len() as f64);
        let score = normal_quantile(middle / (n as f64 + 1.0)).unwrap_or(0.0);
        same.iter().for_each(|at| scores[*at] = score);
        rank += same.len();
    }
    scores
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len() % 2, middle.checked_sub(1)) {
        (0, Some(below)) => f64::midpoint(values[below], values[middle]),
        _ => values.get(middle).copied().unwrap_or(0.0),
    }
}

/// The sums of the first 0, 1, ... values less their mean, and their deviation. `None` where they do not
/// vary.
fn sums(values: &[f64]) -> Option<(Vec<f64>, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push(0.0);
    for x in values {
        sum += x - mean;
        squares += (x - mean).powi(2);
        sums.push(sum);
    }
    let deviation = (squares / (n - 1.0)).sqrt();
    (deviation > 1e-12).then_some((sums, deviation))
}

/// The standardised differences for a step before each run at which there may be one.
pub(super) fn profile(values: &[f64], places: &[bool]) -> Vec<(usize, f64)> {
    let n = values.len();
    let Some((sums, deviation)) = sums(values) else {
        return Vec::new();
    };
    let sides = LEAST_SIDE..(n + 1).saturating_sub(LEAST_SIDE);
    let allowed = sides.filter(|at| places[*at]);
    let z = |at: usize| {
        let (before, after) = (at as f64, (n - at) as f64);
        sums[at].abs() / (before * after / n as f64).sqrt() / deviation
    };
    allowed.map(|at| (at, z(at))).collect()
}

/// The step that shows most. `None` where there is no place for one, or nothing varies.
pub(super) fn step(values: &[f64], places: &[bool]) -> Option<Found> {
    let n = values.len();
    let (sums, deviation) = sums(values)?;
    let mut best: Option<Found> = None;
    for at in LEAST_SIDE..(n + 1).saturating_sub(LEAST_SIDE) {
        let z = sums[at] * sums[at] / (at as f64 * (n - at) as f64);
        if places[at] && best.is_none_or(|best| z > best.z) {
            best = Some(Found {
                z,
                from: at,
                until: n,
            });
        }
    }
    best.map(|best| Found {
        z: (best.z * n as f64).sqrt() / deviation,
        ..best
    })
}

/// The smallest p-value that permutations can give a step before run `at`. Orders with the same runs after it show as much,
/// and so do those with these runs first, where a step may be there. 1 where there can be none.
pub(super) fn least_p(places: &[bool], at: usize) -> f64 {
    let n = places.len();
    let may_be =
        |at: usize| (LEAST_SIDE..(n + 1).saturating_sub(LEAST_SIDE)).contains(&at) && places[at];
    if !may_be(at) {
        return 1.0;
    }
    let few = at.min(n - at);
    let choices: f64 = (1..=few).map(|i| (n - few + i) as f64 / i as f64).product();
    let alike = if may_be(n - at) { 2.0 } else { 1.0 };
    alike / choices
}

/// The stretch inside that differs most from the runs before and after it together.
pub(super) fn bump(values: &[f64], places: &[bool]) -> Option<Found> {
    let n = values.len();
    let (sums, deviation) = sums(values)?;
    let widest = n.saturating_sub(LEAST_SIDE).min(PAIRS / n.max(1));
    let mut best: Option<Found> = None;
    for from in (1..n).filter(|at| places[*at]) {
        let ends = from + LEAST_SIDE..n.min(from + widest + 1);
        for until in ends.filter(|at| places[*at]) {
            let inside = (until - from) as f64;
            let z = (sums[until] - sums[from]).powi(2) / (inside * (n as f64 - inside));
            if best.is_none_or(|best| z > best.z) {
                best = Some(Found { z, from, until });
            }
        }
    }
    best.map(|best| Found {
        z: (best.z * n as f64).sqrt() / deviation,
        ..best
    })
}
