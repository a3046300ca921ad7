// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a budget is, and how its figures are judged.

use super::context::Context;

/// A figure that must not be exceeded, and the way to measure it.
#[derive(Debug)]
pub(crate) struct Budget {
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) limit: Limit,
    pub(crate) needs: &'static [Need],
    pub(crate) measure: fn(&Context) -> anyhow::Result<Outcome>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Nanos,
    Bytes,
    Samples,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Limit {
    /// The median of the ratios ours / theirs is at most this.
    Ratio(f64),
    /// The median of our figures is at most this.
    Figure(f64),
    /// Measured for information.
    None,
}

/// What a machine must have for a budget to be measured on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Root,
    Punctual,
    Cyclictest,
    /// QEMU, and a kernel for it.
    Guests,
    /// Ansible, and an SSH server for the hosts that it reaches.
    Ansible,
}

/// Our figure and that of cyclictest, or of whatever else a budget is relative to, taken one directly after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub(crate) ours: f64,
    pub(crate) theirs: Option<f64>,
}

impl Pair {
    fn ratio(self) -> Option<f64> {
        self.theirs
            .filter(|theirs| *theirs > 0.0)
            .map(|theirs| self.ours / theirs)
    }
}

#[derive(Debug)]
pub(crate) enum Outcome {
    Measured {
        pairs: Vec<Pair>,
        /// What breaks the budget whatever the figures are.
        faults: Vec<String>,
    },
    /// This machine cannot measure it.
    NotMeasured(String),
    /// A program that was to be measured failed.
    Failed(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Ok,
    Over,
    Information,
    NotMeasured,
    Failed,
}

impl Verdict {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Over => "over",
            Self::Information => "no limit",
            Self::NotMeasured => "not measured",
            Self::Failed => "failed",
        }
    }
}

/// A budget with what was measured.
#[derive(Debug)]
pub(crate) struct Row<'a> {
    pub(crate) budget: &'a Budget,
    pub(crate) outcome: Outcome,
    pub(crate) notes: Vec<String>,
}

impl Row<'_> {
    pub(crate) fn pairs(&self) -> &[Pair] {
        match &self.outcome {
            Outcome::Measured { pairs, .. } => pairs,
            Outcome::NotMeasured(_) | Outcome::Failed(_) => &[],
        }
    }

    pub(crate) fn ours(&self) -> Option<Spread> {
        Spread::of(self.pairs().iter().map(|pair| pair.ours))
    }

    pub(crate) fn theirs(&self) -> Option<Spread> {
        Spread::of(self.pairs().iter().filter_map(|pair| pair.theirs))
    }

    pub(crate) fn ratio(&self) -> Option<Spread> {
        Spread::of(self.pairs().iter().filter_map(|pair| pair.ratio()))
    }

    /// Returns how far cyclictest is from itself, from one run to its next: a ratio within this means no difference.
    pub(crate) fn noise(&self) -> Option<Spread> {
        let theirs: Vec<_> = self.pairs().iter().filter_map(|pair| pair.theirs).collect();
        Spread::of(
            theirs
                .windows(2)
                .filter(|runs| runs[0] > 0.0)
                .map(|runs| runs[1] / runs[0]),
        )
    }

    pub(crate) fn verdict(&self) -> Verdict {
        let faults = match &self.outcome {
            Outcome::Measured { faults, .. } => faults,
            Outcome::NotMeasured(_) => return Verdict::NotMeasured,
            Outcome::Failed(_) => return Verdict::Failed,
        };
        let (figure, limit) = match self.budget.limit {
            Limit::Ratio(limit) => (self.ratio(), limit),
            Limit::Figure(limit) => (self.ours(), limit),
            Limit::None => return Verdict::Information,
        };
        match figure {
            _ if !faults.is_empty() => Verdict::Over,
            Some(figure) if figure.median <= limit => Verdict::Ok,
            Some(_) => Verdict::Over,
            None => Verdict::Failed,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    pub(crate) fn of(figures: impl Iterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<_> = figures.collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self {
            min,
            median: f64::midpoint(low, high),
            max,
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    fn unused(_: &Context) -> anyhow::Result<Outcome> {
        unreachable!("these tests measure nothing")
    }

    pub(crate) const RATIO: Budget = Budget {
        name: "toy",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.02),
        needs: &[],
        measure: unused,
    };

    pub(crate) fn row<'a>(budget: &'a Budget, pairs: &[(f64, f64)]) -> Row<'a> {
        let pairs = pairs
            .iter()
            .map(|&(ours, theirs)| Pair {
                ours,
                theirs: Some(theirs),
            })
            .collect();
        Row {
            budget,
            outcome: Outcome::Measured {
                pairs,
                faults: vec![],
            },
            notes: vec![],
        }
    }

    #[test]
    fn the_median_of_the_ratios_is_judged_not_the_ratio_of_the_medians() {
        // Medians 200 / 100 would be far over; pair by pair the programs are equal but once.
        let judged = row(&RATIO, &[(100.0, 100.0), (200.0, 80.0), (300.0, 300.0)]);
        assert_eq!(
            judged.ratio(),
            Some(Spread {
                min: 1.0,
                median: 1.0,
                max: 2.5
            })
        );
        assert_eq!(judged.verdict(), Verdict::Ok);
        assert_eq!(row(&RATIO, &[(103.0, 100.0)]).verdict(), Verdict::Over);
    }

    #[test]
    fn noise_is_how_cyclictest_differs_from_its_next_run() {
        let judged = row(&RATIO, &[(1.0, 100.0), (1.0, 50.0), (1.0, 100.0)]);
        assert_eq!(
            judged.noise(),
            Some(Spread {
                min: 0.5,
                median: 1.25,
                max: 2.0
            })
        );
        assert_eq!(row(&RATIO, &[(1.0, 100.0)]).noise(), None);
    }

    #[test]
    fn a_fault_is_over_whatever_the_figures_are() {
        let mut judged = row(&RATIO, &[(1.0, 100.0)]);
        judged.outcome = Outcome::Measured {
            pairs: judged.pairs().to_vec(),
            faults: vec!["uncounted".into()],
        };
        assert_eq!(judged.verdict(), Verdict::Over);
    }

    #[test]
    fn no_figures_are_no_success() {
        assert_eq!(row(&RATIO, &[]).verdict(), Verdict::Failed);
        assert_eq!(row(&RATIO, &[(1.0, 0.0)]).verdict(), Verdict::Failed);
    }

    #[test]
    fn a_figure_may_equal_its_limit() {
        let none_lost = Budget {
            limit: Limit::Figure(0.0),
            ..RATIO
        };
        assert_eq!(row(&none_lost, &[(0.0, 0.0)]).verdict(), Verdict::Ok);
        assert_eq!(row(&none_lost, &[(1.0, 0.0)]).verdict(), Verdict::Over);
    }

    #[test]
    fn the_median_of_an_even_number_is_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 2.0, 3.0].into_iter()).unwrap();
        assert!((spread.median - 2.5).abs() < f64::EPSILON);
        assert_eq!(Spread::of(std::iter::empty()), None);
    }
}
