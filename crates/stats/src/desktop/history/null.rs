// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Series as they would be without a change, or with a change at one known place: the same values in
//! another order.

use super::scan::step;
use crate::random::RandomSource;

/// The strongest correlation that is allowed for: beyond it, drift and change are one.
const MOST: f64 = 0.9;

/// What is smaller than its standard error is not allowed for.
const NOTICED: f64 = 1.0;

/// Standard errors that are added to what is: to allow for too little makes false alarms.
const ADDED: f64 = 0.2;

/// A step of this size is taken out before the correlation is looked at, of one that is not too.
const CLEAR: f64 = 4.5;

/// The correlation of neighbours in what is left without the largest step, which is always taken out, and
/// without further clear ones. Each step that is taken out takes correlation with it: (4 + 9 φ)/n,
/// counted over simulated chains. 0 where it is not noticed.
pub(super) fn correlation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let places = vec![true; values.len()];
    let mut ends = vec![values.len()];
    let mut from = 0;
    let mut at = 0;
    // Stretches are divided from the left; what is divided is looked at again.
    while let Some(end) = ends.get(at).copied() {
        let whole = ends.len() == 1;
        let found = step(&values[from..end], &places[from..end]);
        match found.filter(|found| whole || found.z > CLEAR) {
            Some(found) if (ends.len() as f64) < n / 15.0 || whole => {
                ends.insert(at, from + found.from);
            }
            _ => (from, at) = (end, at + 1),
        }
    }
    let mut rest: Vec<f64> = Vec::with_capacity(values.len());
    let mut from = 0;
    for end in &ends {
        let own = &values[from..*end];
        let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
        rest.extend(own.iter().map(|x| x - mean));
        from = *end;
    }
    let squares: f64 = rest.iter().map(|x| x * x).sum();
    let products: f64 = rest.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let steps = (ends.len() - 1).max(1) as f64;
    // Of stretches without any spread only the rounding of their means is left.
    let all: f64 = values.iter().map(|x| x * x).sum();
    if squares <= 1e-18 * all {
        return 0.0;
    }
    let phi = (products / squares + 4.0 * steps / n) / (1.0 - (9.0 * steps / n).min(0.36));
    let error = 1.1 / n.sqrt();
    match phi.is_finite() && phi > NOTICED * error {
        true => (phi + ADDED * error).min(MOST),
        false => 0.0,
    }
}

/// What is permuted: the values of each stretch less its mean, and less what the run before explains.
#[derive(Debug)]
pub(super) struct Null {
    phi: f64,
    /// The end of each stretch and its mean.
    stretches: Vec<(usize, f64)>,
    rest: Vec<f64>,
}

impl Null {
    /// Prepares values whose stretches end at `ends`, the last one at the end.
    pub(super) fn of(values: &[f64], ends: &[usize], phi: f64) -> Self {
        let (mut from, mut before) = (0, None);
        let (mut stretches, mut rest) = (Vec::new(), Vec::with_capacity(values.len()));
        // The first has no run before it that would explain a part of it.
        let first = (1.0 - phi * phi).sqrt();
        for end in ends.iter().copied() {
            let own = &values[from..end];
            let mean = own.iter().sum::<f64>() / own.len().max(1) as f64;
            for x in own {
                let centred = x - mean;
                rest.push(before.map_or(centred * first, |before: f64| centred - phi * before));
                before = Some(centred);
            }
            stretches.push((end, mean));
            from = end;
        }
        Self {
            phi,
            stretches,
            rest,
        }
    }

    /// One more order of them.
    pub(super) fn draw(&self, source: &mut RandomSource) -> Vec<f64> {
        let mut drawn = self.rest.clone();
        let (mut from, mut before) = (0, None);
        for (end, mean) in self.stretches.iter().copied() {
            let own = &mut drawn[from..end];
            source.shuffle_first(own, own.len());
            for x in own {
                let centred = match before {
                    None => *x / (1.0 - self.phi * self.phi).sqrt(),
                    Some(before) => *x + self.phi * before,
                };
                before = Some(centred);
                *x = mean + centred;
            }
            from = end;
        }
        drawn
    }
}
