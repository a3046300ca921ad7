// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Looking again, without lying.
//!
//! Someone told "too few runs: 8 more" makes them and compares again. That is two looks, and two tests
//! at 5 % each are wrong more often than in 5 % of cases. So the level is split: while runs are
//! too few to find what matters, a verdict takes a p-value of 1 % where the level is 5 %; with enough
//! of them, one of 3.2 %, which four runs a side can reach, and five of them for four figures. The parts
//! add up to less than the level (Bonferroni), which leaves some for those who are advised to add runs
//! once more. Nobody has to remember that there was a look before.
//!
//! A margin is shown with many runs or not at all, so that both looks spend half of the level on it.

/// At which point of an experiment a comparison is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Look {
    /// The runs are too few to find what matters; more may be added.
    Early,
    /// They are enough.
    Final,
}

impl Look {
    /// The part of the level that this look may spend.
    pub const fn share(self) -> f64 {
        match self {
            Self::Early => 0.2,
            Self::Final => 0.64,
        }
    }

    /// The part of the level that each look may spend on showing that a change is within a margin.
    pub const OF_MARGIN: f64 = 0.5;

    /// A p-value that is at most the level where the p-value of the test is at most this look's part of
    /// it, or at most that of a look that was `planned`.
    pub(crate) fn corrected(self, p: Option<f64>, planned: Option<f64>) -> Option<f64> {
        Some((p? / planned.unwrap_or_else(|| self.share())).min(1.0))
    }

    /// The same of the test of a margin, at either look.
    pub(crate) fn margin_corrected(p: Option<f64>) -> Option<f64> {
        Some((p? / Self::OF_MARGIN).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_level() {
        assert!(Look::Early.share() + Look::Final.share() < 1.0);
        const { assert!(2.0 * Look::OF_MARGIN <= 1.0) };
        assert_eq!(Look::margin_corrected(Some(0.02)), Some(0.04));
        let level = Look::Early.corrected(Some(0.01), None);
        assert!(level.is_some_and(|level| (level - 0.05).abs() < 1e-12));
        assert_eq!(Look::Early.corrected(Some(0.4), None), Some(1.0));
        assert_eq!(Look::Early.corrected(Some(0.4), Some(0.8)), Some(0.5));
        assert_eq!(Look::Final.corrected(None, None), None);
    }
}
