// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each knob of a trial buys, of runs whose figures are known.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use punctual_model::{Better, Figure, RefusedRun, TrialReport, TrialVerdict};
use punctual_stats::RandomSource;
use punctual_verdict::comparison::{GroupInput, RunInput};
use punctual_verdict::trial::{Tried, trial};

/// Without anything, with what halves the latency, and with what does nothing.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "some microseconds"
)]
fn groups(blocks: u64) -> Vec<GroupInput> {
    let mut source = RandomSource::new(7);
    let names = ["nothing", "halves", "idles"];
    let mut groups = names.map(|name| GroupInput {
        name: name.to_owned(),
        runs: Vec::new(),
        refused: Vec::new(),
    });
    for block in 0..blocks {
        // A block is as good or bad as the hour.
        let hour = 1.0 + 0.5 * source.uniform();
        for (at, factor) in [1.0, 0.5, 1.0].into_iter().enumerate() {
            let mut value = |base: f64| base * hour * (0.98 + 0.04 * source.uniform());
            let mut record = common::run();
            let number = block * 3 + at as u64;
            record.id = format!("019aa0f0-1234-7abc-8def-{number:012x}");
            record.started = Some(format!(
                "2026-11-20T09:{:02}:{:02}Z",
                number / 60,
                number % 60
            ));
            record.tags = [("experiment", "t".to_owned()), ("block", block.to_string())]
                .map(|(key, value)| (key.to_owned(), value))
                .into();
            for (name, base) in [("p50", 40_000.0), ("p99", 90_000.0)] {
                let value = value(base * factor) as u64;
                record
                    .total
                    .quantiles_ns
                    .insert(name.to_owned(), Some(value));
            }
            let work = value(1e3);
            record.figures = vec![Figure::single("work", "MB/s", Better::Higher, work)];
            groups[at].runs.push(RunInput {
                record,
                histogram: None,
                required: None,
                blocks: None,
                started_s: None,
            });
        }
    }
    groups.into()
}

fn report(groups: Vec<GroupInput>) -> TrialReport {
    let tried = ["halves", "idles"].map(|name| Tried {
        name: name.to_owned(),
        settings: 1,
    });
    trial(&tried, groups, 0.1).unwrap()
}

#[test]
fn an_effect_is_found_and_none_is_not_made_up() {
    let report = report(groups(12));
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
    let work = report.treatments[1].effects[2].estimate.unwrap();
    assert!((1e9..2e9).contains(&work), "bytes a second: {work}");
}

#[test]
fn invalid_runs_are_counted_and_left_out() {
    let mut groups = groups(12);
    for group in &mut groups[..2] {
        let run = group.runs.remove(1);
        group.refused.push(RefusedRun {
            id: run.record.id,
            reason: "invalid (steal)".to_owned(),
            started: None,
            unreadable: false,
        });
    }
    let report = report(groups);
    assert_eq!(report.invalid_runs, 2);
    assert_eq!(report.treatments[0].runs, 11);
    assert_eq!(report.baseline[0].runs, 11);
    // Of the third, another block has no run.
    assert_eq!(report.treatments[0].effects[0].pairs, Some(11));
    assert_eq!(report.treatments[1].effects[0].pairs, Some(11));
    assert!(report.treatments[0].effects[0].ratio.unwrap() < 0.55);
}

#[test]
fn two_blocks_are_too_few_to_say_anything_and_none_say_nothing() {
    let verdict = report(groups(2)).treatments[0].effects[0].verdict;
    assert!(
        matches!(verdict, TrialVerdict::TooFewBlocks { .. }),
        "{verdict:?}"
    );
    let none = report(groups(0));
    assert_eq!(none.baseline[0].runs, 0);
    let verdict = none.treatments[1].effects[2].verdict;
    assert_eq!(verdict, TrialVerdict::TooFewBlocks { more: None });
}
