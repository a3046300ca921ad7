// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether a change is beyond a margin, which is a share of the baseline.
//!
//! Of logarithms a share is a difference that is known, and the data are tested against it. Of values as they are, which may
//! be 0, it is a share of a mean that the runs of the baseline estimate: taken as known, a baseline that is high by chance
//! makes its own margin wide, and a margin of 90 % is shown in up to 8 % of cases in which it is the truth, where 2.5 % may
//! be. So what is tested there is whether mean(b) - (1 + share) mean(a) is below 0, with the values of the baseline
//! multiplied before they are permuted (Sasabuchi, *Biometrika* 67, 1980; Hauschke, Kieser and Hothorn, *Biometrical Journal*
//! 41, 1999); the other side is (1 + share) mean(b) - mean(a) above 0. The ratios that such a test does not reject are
//! Fieller's interval (*Journal of the Royal Statistical Society B* 16, 1954).

use std::borrow::Cow;

use super::permutation::Permutations;
use super::question::{Contrast, Data, Layout, Scale, moments};
use super::verdict::Options;

/// On which side of a margin.
#[derive(Clone, Copy, Debug)]
pub(super) enum Beyond {
    /// The candidate is larger by the share: (1 + share) times the baseline.
    Above,
    /// It is smaller by it: the baseline is (1 + share) times the candidate.
    Below,
}

/// Two groups at one side of a margin.
#[derive(Clone, Debug)]
pub(super) struct AtMargin<'a> {
    beyond: Beyond,
    /// The data, scaled where the margin is a share of what they estimate.
    pub(super) layout: Cow<'a, Layout>,
    /// The effect in them that is just the margin.
    effect: f64,
    /// How far from it groups are that are alike.
    pub(super) room: f64,
}

impl<'a> AtMargin<'a> {
    /// `None` where a baseline that is not above 0 has no share.
    pub(super) fn of(data: &'a Data, beyond: Beyond, share: f64) -> Option<Self> {
        let (layout, effect, room) = match data.scale {
            Scale::Log => {
                let room = share.ln_1p();
                let effect = match beyond {
                    Beyond::Above => room,
                    Beyond::Below => -room,
                };
                (Cow::Borrowed(&data.layout), effect, room)
            }
            Scale::Linear => {
                let mean = moments(&data.a).mean().filter(|mean| *mean > 0.0)?;
                let times = match beyond {
                    Beyond::Above => [1.0 + share, 1.0],
                    Beyond::Below => [1.0, 1.0 + share],
                };
                (Cow::Owned(data.layout.scaled(times)), 0.0, share * mean)
            }
        };
        Some(Self {
            beyond,
            layout,
            effect,
            room,
        })
    }

    /// The p-value of "the change is beyond the margin". `None` where the test does not hold its level: the smaller group, as it
    /// is scaled, varies far more than the other.
    pub(super) fn p(&self, unscaled: &Permutations, options: &Options) -> Option<f64> {
        let permutations = match &self.layout {
            Cow::Borrowed(_) => Cow::Borrowed(unscaled),
            Cow::Owned(layout) if layout.is_lopsided() => return None,
            Cow::Owned(layout) => {
                let scaled = Permutations::of_layout(layout, options.draws, options.seed);
                Cow::Owned(scaled?)
            }
        };
        Some(match self.beyond {
            Beyond::Above => permutations.p_below(self.effect),
            Beyond::Below => permutations.p_above(self.effect),
        })
    }

    /// The effect in the data at the margin, with its error.
    pub(super) fn contrast(&self) -> Option<Contrast> {
        self.layout.contrast()
    }
}
