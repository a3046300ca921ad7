// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a report says of compared groups and of the cells of an experiment.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use punctual_model::{
    Better, Comparison, ExperimentCell, ExperimentFactor, ExperimentResults, Figure, Origin,
    PublishedMean,
};
use punctual_report::chart::{Drawing, Validity, svg};
use punctual_report::document::{Document, Material};
use punctual_report::text::{self, Detail};
use punctual_report::{html, markdown};
use punctual_stats::runs::Options;
use punctual_verdict::comparison::experiment::{Design, MeasurementInput, experiment};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, RunInput, compare};

/// Runs in twelve blocks with means around `ns`, and a cost that is neither good nor bad.
fn group(name: &str, ns: f64, cost: f64) -> GroupInput {
    let run = |block: u32| {
        let mut record = common::run();
        record.id = format!("{name}-{block}");
        record.name = Some(record.id.clone());
        record.tags.insert("block".to_owned(), block.to_string());
        let noise = 1.0 + 0.001 * f64::from(block);
        record.total.mean_ns = Some(ns * noise);
        let cost = Figure::single("cost", "1", Better::Neither, cost * noise);
        record.figures.push(cost);
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: Some(f64::from(block)),
        }
    };
    GroupInput {
        name: name.to_owned(),
        runs: (1..=12).map(run).collect(),
        refused: Vec::new(),
    }
}

fn asked(figures: &[&str]) -> ComparisonRequest {
    ComparisonRequest {
        metrics: figures.iter().map(|name| name.parse().unwrap()).collect(),
        options: Options::default(),
        ..ComparisonRequest::default()
    }
}

fn cells(cells: &[(&str, f64, f64)]) -> ExperimentResults {
    let levels: Vec<String> = cells.iter().map(|cell| cell.0.to_owned()).collect();
    let design = Design {
        name: "kernels".to_owned(),
        blocks_planned: 12,
        factors: vec![ExperimentFactor {
            name: "kernel".to_owned(),
            levels: levels.clone(),
        }],
        cells: levels
            .iter()
            .map(|level| ExperimentCell {
                name: level.clone(),
                levels: vec![level.clone()],
            })
            .collect(),
        ..Design::default()
    };
    let groups = cells.iter().map(|(name, ns, cost)| group(name, *ns, *cost));
    let measurement = MeasurementInput {
        name: "wakeup".to_owned(),
        groups: groups.collect(),
    };
    experiment(&design, vec![measurement], &asked(&["mean", "cost"])).unwrap()
}

#[test]
fn many_cells_are_counted_by_their_verdicts_and_named_by_their_names() {
    let results = cells(&[
        ("base", 30e3, 1.0),
        ("fast", 20e3, 1.0),
        ("slow", 90e3, 1.0),
        ("slower", 99e3, 1.0),
        ("other", 30e3, 5.0),
        ("equal", 30e3, 1.0),
        ("faster", 10e3, 1.0),
    ]);
    let effects_aside = ExperimentResults {
        measurements: results
            .measurements
            .iter()
            .map(|of| punctual_model::MeasurementResults {
                effects: Vec::new(),
                ..of.clone()
            })
            .collect(),
        ..results
    };
    let document = Document::new(&Material {
        experiments: vec![effects_aside],
        ..Material::default()
    });
    let [answer] = document.answers.as_slice() else {
        panic!("{:?}", document.answers);
    };
    assert_eq!(
        answer.sentence,
        "wakeup: of 6 cells compared with base, 2 better, 2 worse, 1 different, 1 not distinguishable; better: fast, faster."
    );
    assert_eq!(answer.word, "mixed");
    let names: Vec<&str> = answer.figures.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "fast, mean: better",
            "slow, mean: worse",
            "slower, mean: worse",
            "faster, mean: better"
        ]
    );
}

fn of(comparison: Comparison) -> Document {
    Document::new(&Material {
        comparisons: vec![comparison],
        ..Material::default()
    })
}

/// A document as it is written in each format, with its pictures.
fn written(document: &Document) -> String {
    let mut all = text::page(document, 80, Detail::Full);
    all += &markdown::page(document);
    let page = html::page(document);
    all += page.split("<script").next().unwrap();
    for drawing in document.drawings() {
        if let Drawing::Chart(chart) = drawing {
            all += &svg::chart(chart);
        }
    }
    all
}

fn validities(document: &Document) -> Vec<Validity> {
    let drawings = document.drawings().into_iter();
    let charts = drawings.filter_map(|drawing| match drawing {
        Drawing::Chart(chart) => Some(chart),
        _ => None,
    });
    charts
        .flat_map(|chart| &chart.series)
        .map(|series| series.validity)
        .collect()
}

#[test]
fn the_method_names_the_difference_that_matters() {
    let mut asked = asked(&["mean"]);
    asked.options.difference = Some(40_000.0);
    let groups = vec![group("a", 50e3, 1.0), group("b", 50e3, 1.0)];
    let written = written(&of(compare(groups, &asked).unwrap()));
    let words: Vec<&str> = written.split_whitespace().collect();
    assert!(
        words
            .join(" ")
            .contains("if a change of 40.00 µs would be found in 80 %"),
        "{written}"
    );
}

#[test]
fn imported_runs_are_not_checked_and_never_invalid() {
    let mut groups = vec![group("before", 30e3, 1.0), group("after", 90e3, 1.0)];
    for (number, run) in groups.iter_mut().flat_map(|g| &mut g.runs).enumerate() {
        run.record.valid = false;
        run.record.checks.clear();
        run.record.total.max_ns = Some(100_000 + number as u64);
        run.record.origin = Some(Origin::default());
    }
    let document = of(compare(groups, &asked(&["mean"])).unwrap());
    let all = written(&document);
    assert!(!all.contains("INVALID"), "{all}");
    assert!(!all.contains("not valid"), "{all}");
    assert!(all.contains("before: 12 runs, 12 not checked"), "{all}");
    assert!(all.contains("not checked: after over before"), "{all}");
    // One that was measured and failed a check is.
    let mut groups = vec![group("before", 30e3, 1.0), group("after", 90e3, 1.0)];
    groups[1].runs[0].record.valid = false;
    let document = of(compare(groups, &asked(&["mean"])).unwrap());
    let all = written(&document);
    assert!(all.contains("after: 12 runs, 1 of them not valid"), "{all}");
    assert!(validities(&document).contains(&Validity::Invalid));
}

#[test]
fn published_means_have_the_runs_of_their_table_and_no_chart_of_runs() {
    let mut comparison = compare(
        vec![group("before", 30e3, 1.0), group("after", 90e3, 1.0)],
        &asked(&["mean"]),
    )
    .unwrap();
    for group in &mut comparison.groups {
        group.runs.clear();
        group.published = Some(PublishedMean {
            runs: 40,
            mean: 30e3,
            standard_error: 10.0,
            runs_inferred: false,
        });
    }
    let document = of(comparison);
    let drawings = document.drawings();
    let titles: Vec<&str> = drawings.iter().map(|of| of.title()).collect();
    assert_eq!(titles, ["Ratio to the first group"]);
    assert_eq!(validities(&document), [Validity::Published]);
    let all = written(&document);
    assert!(all.contains("40 runs") && !all.contains(" 0 runs"), "{all}");
}
