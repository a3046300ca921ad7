// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the runs of a trial to what each knob buys.

use punctual_model::{
    CpuSet, Nanos, TRIAL_FORMAT, Treatment, TrialEffect, TrialFigure, TrialQuantity, TrialReport,
    TrialVerdict,
};
use punctual_stats::runs::{Direction, Options, Outcome, Question, Verdict, compare_all};

use super::Trying;
use crate::cli::Percent;

/// One treatment, or none, in one block.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) block: u64,
    pub(super) treatment: Option<usize>,
    /// None if the run was invalid.
    pub(super) figures: Option<Figures>,
    pub(super) failed: u64,
}

/// What a cell gave.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    pub(super) p50: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) work: Option<f64>,
}

const QUANTITIES: [TrialQuantity; 3] = [
    TrialQuantity::P50Ns,
    TrialQuantity::P99Ns,
    TrialQuantity::WorkBytesPerSecond,
];

impl Figures {
    const fn of(self, quantity: TrialQuantity) -> Option<f64> {
        match quantity {
            TrialQuantity::P50Ns => self.p50,
            TrialQuantity::P99Ns => self.p99,
            TrialQuantity::WorkBytesPerSecond => self.work,
        }
    }
}

const fn direction(quantity: TrialQuantity) -> Direction {
    match quantity {
        TrialQuantity::P50Ns | TrialQuantity::P99Ns => Direction::LowerIsBetter,
        TrialQuantity::WorkBytesPerSecond => Direction::HigherIsBetter,
    }
}

/// Returns a latency as a number to compute with.
#[expect(
    clippy::cast_precision_loss,
    reason = "latencies are far below 2^53 ns"
)]
pub(super) const fn exact(ns: u64) -> f64 {
    ns as f64
}

/// The values of a quantity, and the blocks that they are of.
type Values = (Vec<f64>, Vec<u64>);

fn values(cells: &[Cell], treatment: Option<usize>, quantity: TrialQuantity) -> Values {
    let of = |cell: &Cell| Some((cell.figures?.of(quantity)?, cell.block));
    cells
        .iter()
        .filter(|cell| cell.treatment == treatment)
        .filter_map(of)
        .unzip()
}

/// Compares every treatment with none, inside the blocks; corrected for all comparisons together.
pub(super) fn report(
    tried: &[Trying],
    cells: &[Cell],
    blocks: u64,
    (seed, matters): (u64, Percent),
) -> TrialReport {
    let options = Options {
        effect: matters.0,
        ..Options::default()
    };
    let baseline: Vec<Values> = QUANTITIES
        .iter()
        .map(|quantity| values(cells, None, *quantity))
        .collect();
    let treated: Vec<Vec<Values>> = (0..tried.len())
        .map(|at| {
            let of = |quantity: &TrialQuantity| values(cells, Some(at), *quantity);
            QUANTITIES.iter().map(of).collect()
        })
        .collect();
    let mut questions = Vec::new();
    for treatment in &treated {
        for ((quantity, before), after) in QUANTITIES.iter().zip(&baseline).zip(treatment) {
            let question = Question::new(&before.0, &after.0, direction(*quantity));
            questions.push(question.in_blocks(&before.1, &after.1));
        }
    }
    // Figures are finite and have their block: there is no other error.
    let outcomes = compare_all(&questions, &options).unwrap_or_default();
    let mut outcomes = outcomes.iter();
    let treatments = tried.iter().enumerate().map(|(at, trying)| {
        let own = || cells.iter().filter(move |cell| cell.treatment == Some(at));
        Treatment {
            name: trying.name.clone(),
            settings: trying.settings,
            failed: own().map(|cell| cell.failed).max().unwrap_or_default(),
            runs: own().filter(|cell| cell.figures.is_some()).count() as u64,
            effects: QUANTITIES
                .iter()
                .zip(outcomes.by_ref())
                .map(|(quantity, outcome)| effect(*quantity, outcome))
                .collect(),
        }
    });
    TrialReport {
        format: TRIAL_FORMAT.to_owned(),
        profile: String::new(),
        hostname: None,
        kernel_release: None,
        cpus: CpuSet::default(),
        blocks,
        cell_ns: Nanos::ZERO,
        seed,
        confidence: options.confidence,
        effect: options.effect,
        invalid_runs: cells.iter().filter(|cell| cell.figures.is_none()).count() as u64,
        treatments: treatments.collect(),
        baseline: QUANTITIES
            .iter()
            .zip(&baseline)
            .map(|(quantity, values)| figure(*quantity, values, &options))
            .collect(),
        left_out: Vec::new(),
        complete: true,
    }
}

/// Describes a quantity without any treatment.
fn figure(quantity: TrialQuantity, values: &Values, options: &Options) -> TrialFigure {
    let alone = Question::new(&values.0, &values.0, Direction::Neither);
    let side = punctual_stats::runs::compare(&alone, options).map(|outcome| outcome.baseline);
    let interval = side.as_ref().ok().and_then(|side| side.interval);
    TrialFigure {
        quantity,
        runs: values.0.len() as u64,
        estimate: side.ok().and_then(|side| side.estimate),
        low: interval.as_ref().map(|interval| interval.low),
        high: interval.as_ref().map(|interval| interval.high),
    }
}

fn effect(quantity: TrialQuantity, outcome: &Outcome) -> TrialEffect {
    let interval = outcome
        .ratio
        .as_ref()
        .and_then(|ratio| ratio.interval.as_ref());
    TrialEffect {
        quantity,
        estimate: outcome.candidate.estimate,
        ratio: outcome.ratio.as_ref().map(|ratio| ratio.estimate),
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        p: outcome.test.as_ref().map(|test| test.p),
        adjusted_p: outcome.test.as_ref().map(|test| test.adjusted_p),
        smallest_detectable: outcome.smallest_detectable,
        verdict: match outcome.verdict {
            Verdict::Better => TrialVerdict::Gain,
            Verdict::Worse | Verdict::Different => TrialVerdict::Loss,
            Verdict::Equivalent | Verdict::NotWorse | Verdict::NotDistinguishable => {
                TrialVerdict::NoMeasurableGain
            }
            Verdict::TooFewRuns { more } => TrialVerdict::TooFewBlocks { more },
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_host::profile::Profile;
    use punctual_stats::Source;

    fn trying(name: &str) -> Trying {
        Trying {
            name: name.to_owned(),
            profile: Profile::empty(name),
            settings: 1,
        }
    }

    /// Runs whose figures are known: treatment 0 halves the latency, treatment 1 does nothing.
    fn cells(blocks: u64) -> Vec<Cell> {
        let mut source = Source::new(7);
        let mut cells = Vec::new();
        for block in 0..blocks {
            // A block is as good or bad as the hour.
            let hour = 1.0 + 0.5 * source.uniform();
            for (treatment, factor) in [(None, 1.0), (Some(0), 0.5), (Some(1), 1.0)] {
                let mut value = |base: f64| Some(base * hour * (0.98 + 0.04 * source.uniform()));
                let (p50, p99) = (value(40_000.0 * factor), value(90_000.0 * factor));
                cells.push(Cell {
                    block,
                    treatment,
                    figures: Some(Figures {
                        p50,
                        p99,
                        work: value(1e9),
                    }),
                    failed: 0,
                });
            }
        }
        cells
    }

    #[test]
    fn an_effect_is_found_and_none_is_not_made_up() {
        let tried = [trying("halves"), trying("nothing")];
        let report = report(&tried, &cells(12), 12, (7, Percent(0.1)));
        let verdicts = |at: usize| -> Vec<TrialVerdict> {
            let effects = &report.treatments[at].effects;
            effects.iter().map(|effect| effect.verdict).collect()
        };
        assert_eq!(
            verdicts(0),
            [
                TrialVerdict::Gain,
                TrialVerdict::Gain,
                TrialVerdict::NoMeasurableGain
            ]
        );
        assert_eq!(verdicts(1), [TrialVerdict::NoMeasurableGain; 3]);
        let halved = &report.treatments[0].effects[0];
        let (low, high) = (halved.low.unwrap(), halved.high.unwrap());
        assert!(low < 0.5 && 0.5 < high && high < 0.55, "{halved:?}");
        assert!(report.baseline[0].low.unwrap() > 40_000.0);
    }

    #[test]
    fn invalid_runs_are_counted_and_left_out() {
        let mut cells = cells(12);
        cells[1].figures = None;
        cells[3].figures = None;
        let report = report(
            &[trying("halves"), trying("nothing")],
            &cells,
            12,
            (7, Percent(0.1)),
        );
        assert_eq!(report.invalid_runs, 2);
        assert_eq!(report.treatments[0].runs, 11);
        assert_eq!(report.baseline[0].runs, 11);
        assert!(report.treatments[0].effects[0].ratio.unwrap() < 0.55);
    }

    #[test]
    fn two_blocks_are_too_few_to_say_anything() {
        let report = report(
            &[trying("halves"), trying("nothing")],
            &cells(2),
            2,
            (7, Percent(0.1)),
        );
        let verdict = report.treatments[0].effects[0].verdict;
        assert!(
            matches!(verdict, TrialVerdict::TooFewBlocks { .. }),
            "{verdict:?}"
        );
    }
}
