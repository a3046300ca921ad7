// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the runs of an experiment say, and what is not said before its end.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use punctual_model::{
    ExperimentCell, ExperimentFactor, ExperimentResults, LevelChange, LookRule, RequirementRuling,
};
use punctual_verdict::comparison::experiment::{Design, MeasurementInput, experiment};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, RunInput};

const CELLS: [[&str; 2]; 4] = [["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"]];

/// A run of a cell in a block: level `b` of the first factor takes twice as long, and nothing else has an effect.
fn run(cell: usize, block: u32, quantiles: &[&str]) -> RunInput {
    let mut record = common::run();
    record.id = format!("{cell}-{block}");
    record.tags.insert("block".to_owned(), block.to_string());
    let level = if cell < 2 { 50_000 } else { 100_000 };
    let (number, of) = (u64::from(block), cell as u64);
    let noise = (number * 7 + of * 11) * (number + of * 3 + 5) % 13 * 100;
    let value = |name: &&str| ((*name).to_owned(), Some(level + noise));
    record.total.quantiles_ns = quantiles.iter().map(value).collect();
    RunInput {
        record,
        histogram: None,
        required: None,
        blocks: None,
        started_s: None,
    }
}

fn measurement(name: &str, blocks: u32, quantiles: &[&str]) -> MeasurementInput {
    let group = |(cell, levels): (usize, &[&str; 2])| GroupInput {
        name: levels.join(" "),
        runs: (0..blocks)
            .map(|block| run(cell, block, quantiles))
            .collect(),
        refused: Vec::new(),
    };
    MeasurementInput {
        name: name.to_owned(),
        groups: CELLS.iter().enumerate().map(group).collect(),
    }
}

fn design(rule: Option<LookRule>, finished: Option<&str>) -> Design {
    let factor = |name: &str, levels: [&str; 2]| ExperimentFactor {
        name: name.to_owned(),
        levels: levels.map(ToOwned::to_owned).to_vec(),
    };
    let cell = |levels: &[&str; 2]| ExperimentCell {
        name: levels.join(" "),
        levels: levels.map(ToOwned::to_owned).to_vec(),
    };
    Design {
        name: "e".to_owned(),
        finished: finished.map(ToOwned::to_owned),
        blocks_planned: 12,
        factors: vec![factor("f", ["a", "b"]), factor("g", ["x", "y"])],
        cells: CELLS.iter().map(cell).collect(),
        rule,
        ..Design::default()
    }
}

fn results(
    measurements: Vec<MeasurementInput>,
    metrics: &[&str],
    rule: Option<LookRule>,
    finished: Option<&str>,
) -> ExperimentResults {
    // The newest block has all its runs, and may be in progress.
    let groups = measurements.iter().flat_map(|of| &of.groups);
    let begun = groups.map(|group| group.runs.len()).max().unwrap_or(0);
    let over = usize::from(finished.is_none());
    let design = Design {
        blocks_done: u32::try_from(begun.saturating_sub(over)).unwrap(),
        ..design(rule, finished)
    };
    let asked = ComparisonRequest {
        metrics: metrics.iter().map(|text| text.parse().unwrap()).collect(),
        ..ComparisonRequest::default()
    };
    experiment(&design, measurements, &asked).unwrap()
}

#[test]
fn a_figure_that_no_run_has_is_named_and_one_of_another_measurement_is_not() {
    let asked = ["p99", "p99.999"];
    let alone = results(vec![measurement("m", 8, &["p99"])], &asked, None, None);
    assert_eq!(alone.missing, ["p99.999"]);
    let remarks = &alone.measurements[0].comparison.remarks;
    assert!(remarks.iter().any(|remark| remark.id == "missing"));
    let two = vec![
        measurement("m", 8, &["p99"]),
        measurement("n", 8, &["p99.999"]),
    ];
    assert!(results(two, &asked, None, None).missing.is_empty());
}

#[test]
fn a_measurement_of_which_no_run_has_a_figure_is_judged_by_what_is_required() {
    let required = |misses: u64, runs: u32| {
        let mut second = measurement("second", runs, &[]);
        for run in second.groups.iter_mut().flat_map(|group| &mut group.runs) {
            run.record.total.misses = common::misses(&[(100, misses)]);
        }
        let asked = ComparisonRequest {
            metrics: vec!["p99".parse().unwrap()],
            requirements: vec!["no sample > 100us in 2 at 50%".parse().unwrap()],
            ..ComparisonRequest::default()
        };
        let mut first = measurement("first", 8, &["p99"]);
        for run in first.groups.iter_mut().flat_map(|group| &mut group.runs) {
            run.record.total.misses = common::misses(&[(100, 0)]);
        }
        let of = experiment(&design(None, None), vec![first, second], &asked).unwrap();
        let names: Vec<&str> = of
            .measurements
            .iter()
            .map(|of| of.measurement.as_str())
            .collect();
        assert_eq!(names, ["first", "second"]);
        // One without a figure takes no part of the level.
        assert_eq!(of.measurements[0].comparison.method.alpha, 0.05);
        let comparison = &of.measurements[1].comparison;
        assert!(comparison.results.is_empty());
        let remarks = &comparison.remarks;
        assert!(remarks.iter().any(|remark| remark.id == "missing"));
        assert_eq!(comparison.requirements.len(), 4);
        comparison.requirements[0].result.ruling
    };
    assert_eq!(required(0, 8), RequirementRuling::Pass);
    assert_eq!(required(50, 8), RequirementRuling::Fail);
    assert_eq!(required(0, 0), RequirementRuling::Unclaimed);
}

#[test]
fn effects_over_cells_are_found_after_all_planned_blocks_where_there_are_looks() {
    let rule = LookRule {
        first: 4,
        every: 4,
        alpha: 0.05,
    };
    let found = |blocks: u32, rule: Option<LookRule>, finished: Option<&str>| {
        let results = results(
            vec![measurement("m", blocks, &["p99"])],
            &["p99"],
            rule,
            finished,
        );
        let of = &results.measurements[0];
        let said = of.comparison.remarks.iter().any(|of| of.id == "effects");
        // Only the level of the first factor has an effect.
        let found: Vec<bool> = of.effects.iter().map(|effect| effect.found).collect();
        assert_eq!(found.len(), 3);
        assert!(!found[1] && !found[2], "{:#?}", of.effects);
        (found[0], said)
    };
    let end = Some("all blocks are done");
    assert_eq!(found(8, None, None), (true, false));
    assert_eq!(found(8, Some(rule), None), (false, true));
    assert_eq!(found(8, Some(rule), Some("the time is up")), (false, true));
    // The last block may be in progress.
    assert_eq!(found(12, Some(rule), None), (false, true));
    assert_eq!(found(12, Some(rule), end), (true, false));
}

#[test]
fn what_has_no_verdict_is_not_decided_by_a_look() {
    let rule = LookRule {
        first: 4,
        every: 4,
        alpha: 0.05,
    };
    let of = |lengths_differ: bool| {
        let mut measurement = measurement("m", 12, &["p99"]);
        for (cell, group) in measurement.groups.iter_mut().enumerate() {
            for (block, run) in group.runs.iter_mut().enumerate() {
                let total = &mut run.record.total;
                // The largest of more samples is larger.
                total.count = match lengths_differ {
                    true => 20_000 + 1_000 * block as u64,
                    false => 20_000,
                };
                let noise = 100 * (block * 7 % 5) as u64;
                total.max_ns = Some(100_000 * (cell as u64 + 1) + noise);
            }
        }
        let end = Some("all blocks are done");
        let results = results(vec![measurement], &["max"], Some(rule), end);
        let looked = results.sequential.unwrap().comparisons;
        let found: Vec<bool> = looked.iter().map(|of| of.found_after.is_some()).collect();
        let results = &results.measurements[0].comparison.results;
        let withheld: Vec<bool> = results.iter().map(|of| of.withheld.is_some()).collect();
        (found, withheld)
    };
    assert_eq!(of(false), (vec![true; 3], vec![false; 3]));
    assert_eq!(of(true), (vec![false; 3], vec![true; 3]));
}

#[test]
fn what_a_fraction_cannot_tell_apart_is_tested_and_named_once() {
    // Three factors in four cells, the third the product of the others; the first one has an effect.
    let levels = ["no", "yes"].map(ToOwned::to_owned).to_vec();
    let factors = ["f0", "f1", "f2"].map(|name| ExperimentFactor {
        name: name.to_owned(),
        levels: levels.clone(),
    });
    let cells = [[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1]].map(|cell| {
        let levels: Vec<String> = cell.iter().map(|at: &usize| levels[*at].clone()).collect();
        ExperimentCell {
            name: levels.join(" "),
            levels,
        }
    });
    let mut input = measurement("m", 7, &["p99"]);
    for (group, cell) in input.groups.iter_mut().zip(&cells) {
        group.name.clone_from(&cell.name);
    }
    let design = Design {
        name: "e".to_owned(),
        finished: Some("all blocks are done".to_owned()),
        blocks_planned: 7,
        blocks_done: 7,
        factors: factors.to_vec(),
        cells: cells.to_vec(),
        ..Design::default()
    };
    let asked = ComparisonRequest {
        metrics: vec!["p99".parse().unwrap()],
        ..ComparisonRequest::default()
    };
    let results = experiment(&design, vec![input], &asked).unwrap();
    let effects = &results.measurements[0].effects;
    let names =
        |of: &[LevelChange]| -> Vec<String> { of.iter().map(|of| of.factor.clone()).collect() };
    let named: Vec<_> = effects
        .iter()
        .map(|effect| {
            let aliases = effect
                .aliased
                .iter()
                .map(|alias| names(&alias.of).join(" x "));
            (
                names(&effect.of).join(" x "),
                aliases.collect::<Vec<_>>().join(", "),
                effect.found,
            )
        })
        .collect();
    let of = |name: &str, alias: &str, found| (name.to_owned(), alias.to_owned(), found);
    assert_eq!(
        named,
        [
            of("f0", "f1 x f2", true),
            of("f1", "f0 x f2", false),
            of("f2", "f0 x f1", false)
        ]
    );
    // 2/2^7, times three and not six.
    let adjusted = effects[0].adjusted_p.unwrap();
    assert!((adjusted - 3.0 * 2.0 / 128.0).abs() < 1e-9, "{adjusted}");
}
