// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The answers to a study's questions: directions beside published ones, agreement of series.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::collections::BTreeMap;

use punctual_model::{
    ComparisonVerdict, Interval, LoadRecord, Misses, Nanos, PublishedClaim, StudyAnswer,
    StudyDirection,
};
use punctual_verdict::comparison::{GroupInput, Metric, RunInput};
use punctual_verdict::study::{
    Cells, Published, agreement, classes, compared, derived, findings, table,
};

/// A cell whose runs have these means, each in a block of its own.
fn cell(name: &str, means: &[f64]) -> GroupInput {
    let run = |(block, mean): (usize, &f64)| {
        let mut record = common::run();
        record.id = format!("{name}-{block}");
        record.tags.insert("block".to_owned(), block.to_string());
        record.total.mean_ns = Some(*mean);
        RunInput {
            record,
            histogram: None,
            required: None,
            started_s: None,
            blocks: None,
        }
    };
    GroupInput {
        name: name.to_owned(),
        runs: means.iter().enumerate().map(run).collect(),
        refused: Vec::new(),
    }
}

const LOW: [f64; 8] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2, 99.8, 100.1];
const HIGH: [f64; 8] = [200.0, 203.0, 199.0, 201.0, 198.0, 202.0, 200.5, 199.5];

fn answer(candidate: &[f64], published: [(&str, f64); 2], claim: PublishedClaim) -> StudyAnswer {
    let cells = Cells {
        groups: vec![cell("a", &LOW), cell("b", candidate)],
        levels: vec!["a".to_owned(), "b".to_owned()],
    };
    let values: BTreeMap<String, f64> = published
        .iter()
        .map(|(level, x)| ((*level).to_owned(), *x))
        .collect();
    let published = Published {
        values,
        unit: Some("MB/s".to_owned()),
        claim,
        ..Published::default()
    };
    compared(cells, &[Metric::Mean], &published, None).unwrap()
}

#[test]
fn an_effect_has_the_published_direction_or_not_and_none_is_no_match() {
    let of = |candidate: &[f64], published, claim| {
        let answer = answer(candidate, published, claim);
        let row = answer.rows[1].clone();
        (row.verdict.unwrap(), row.direction.unwrap())
    };
    let (up, same) = ([("a", 10.0), ("b", 20.0)], [("a", 10.0), ("b", 10.0)]);
    let worse = ComparisonVerdict::Worse;
    assert_eq!(
        of(&HIGH, up, PublishedClaim::Values),
        (worse, StudyDirection::Same)
    );
    assert_eq!(
        of(&HIGH, up, PublishedClaim::Lower),
        (worse, StudyDirection::Other)
    );
    assert_eq!(
        of(&HIGH, same, PublishedClaim::Values),
        (worse, StudyDirection::Other)
    );
    assert_eq!(
        of(&HIGH, up, PublishedClaim::None),
        (worse, StudyDirection::NoClaim)
    );
    let shuffled: Vec<f64> = LOW.iter().rev().copied().collect();
    let none = ComparisonVerdict::NotDistinguishable;
    assert_eq!(
        of(&shuffled, up, PublishedClaim::Values),
        (none, StudyDirection::NotDistinguishable)
    );
    assert_eq!(
        of(&shuffled, same, PublishedClaim::Values),
        (none, StudyDirection::Same)
    );
    let few = ComparisonVerdict::TooFewRuns;
    assert_eq!(
        of(&HIGH[..2], up, PublishedClaim::Values),
        (few, StudyDirection::TooFewRuns)
    );
}

#[test]
fn a_figure_that_was_published_as_the_same_is_so_whatever_the_claim_of_others_is() {
    let shuffled: Vec<f64> = LOW.iter().rev().copied().collect();
    let of = |candidate: &[f64], figure: &str| {
        let cells = Cells {
            groups: vec![cell("a", &LOW), cell("b", candidate)],
            levels: vec!["a".to_owned(), "b".to_owned()],
        };
        let published = Published {
            claim: PublishedClaim::Lower,
            same: vec![figure.to_owned()],
            ..Published::default()
        };
        let answer = compared(cells, &[Metric::Mean], &published, None).unwrap();
        answer.rows[1].direction.unwrap()
    };
    assert_eq!(of(&shuffled, "mean"), StudyDirection::Same);
    assert_eq!(of(&HIGH, "mean"), StudyDirection::Other);
    // Of another figure the claim holds.
    assert_eq!(of(&shuffled, "p5"), StudyDirection::NotDistinguishable);
}

#[test]
fn published_values_stand_beside_with_their_ratio_and_the_base_has_no_verdict() {
    let answer = answer(&HIGH, [("a", 10.0), ("b", 15.0)], PublishedClaim::Values);
    let [base, other] = answer.rows.as_slice() else {
        panic!("{answer:#?}")
    };
    assert_eq!(
        (base.runs, base.published, base.verdict),
        (8, Some(10.0), None)
    );
    assert_eq!(other.published_ratio, Some(1.5));
    assert_eq!(other.published_unit.as_deref(), Some("MB/s"));
    // As published tables have them: a deviation of 1.62 between eight runs.
    let (error, deviation) = (
        other.standard_error.unwrap(),
        other.relative_deviation.unwrap(),
    );
    assert!((error - 0.57282).abs() < 1e-5, "{error}");
    assert!((deviation - 0.0080858).abs() < 1e-6, "{deviation}");
    let ratio = other.ratio.unwrap();
    assert!((ratio.estimate - 2.0).abs() < 0.05, "{ratio:?}");
    assert!(
        answer.conclusion.contains("worse in mean (x2.0"),
        "{}",
        answer.conclusion
    );
}

#[test]
fn series_agree_while_their_own_intervals_have_a_value_in_common() {
    let cells = |ends: &[(f64, f64)]| {
        let mut group = cell("all runs", &vec![100.0; ends.len()]);
        for (run, (low, high)) in group.runs.iter_mut().zip(ends) {
            run.record.total.mean_interval_ns = Some(Interval {
                low: *low,
                high: *high,
                confidence: 0.95,
            });
        }
        Cells {
            groups: vec![group],
            levels: vec![String::new()],
        }
    };
    let said = |ends: &[(f64, f64)]| agreement(&cells(ends), &[Metric::Mean]).conclusion;
    assert!(said(&[(90.0, 110.0), (105.0, 120.0), (100.0, 107.0)]).contains("agree"));
    assert!(said(&[(90.0, 104.0), (105.0, 120.0), (100.0, 107.0)]).contains("differ"));
    assert!(said(&[(90.0, 104.0)]).contains("too few"));
}

#[test]
fn what_a_record_has_elsewhere_becomes_a_figure() {
    let mut group = cell("x", &LOW[..2]);
    for run in &mut group.runs {
        run.record.total.skewness = Some(2.5);
        run.record.loads.push(LoadRecord {
            load: "cpu:1".to_owned(),
            unit: "additions".to_owned(),
            per_second: Some(1e9),
            ..LoadRecord::default()
        });
        run.record.figures.extend(derived(&run.record));
    }
    let cells = Cells {
        groups: vec![group],
        levels: vec![String::new()],
    };
    let metrics: Vec<Metric> = ["load_work", "skewness", "psquare"]
        .iter()
        .map(|name| name.parse().unwrap())
        .collect();
    let series = agreement(&cells, &metrics).rows;
    let of_first = series.iter().find(|row| row.figure == "skewness").unwrap();
    assert_eq!(of_first.estimate, Some(2.5));
    // What machines were published with is shown next to what was measured, and is no run of anybody.
    let machine = BTreeMap::from([("g9test1".to_owned(), 32_119.49)]);
    let published = BTreeMap::from([("skewness".to_owned(), machine)]);
    let answer = table(cells, &metrics, &published, Some("MB/s")).unwrap();
    let theirs = answer
        .rows
        .iter()
        .find(|row| row.cell == "g9test1")
        .unwrap();
    assert_eq!((theirs.runs, theirs.estimate), (0, None));
    assert_eq!(theirs.published, Some(32_119.49));
    assert_eq!(theirs.figure, "skewness");
    assert!(
        !answer.conclusion.contains("32119"),
        "{}",
        answer.conclusion
    );
    let row = |name: &str| answer.rows.iter().find(|row| row.figure == name).unwrap();
    assert_eq!(row("load_work[load=cpu:1]").unit, "additions/s");
    assert_eq!(row("skewness").estimate, Some(2.5));
    assert!(
        answer
            .rows
            .iter()
            .any(|row| row.figure.starts_with("psquare[q=p"))
    );
    let mut measured = answer.rows.iter().filter(|row| row.published.is_none());
    assert!(measured.all(|row| row.runs == 2));
}

#[test]
fn a_difference_that_matters_is_named_and_decides() {
    let shuffled: Vec<f64> = LOW.iter().rev().copied().collect();
    let of = |difference| {
        let cells = Cells {
            groups: vec![cell("a", &LOW), cell("b", &shuffled)],
            levels: vec!["a".to_owned(), "b".to_owned()],
        };
        let published = Published::default();
        let answer = compared(cells, &[Metric::Mean], &published, difference).unwrap();
        (answer.rows[1].verdict.unwrap(), answer.method.unwrap())
    };
    let (verdict, method) = of(Some(50.0));
    assert_eq!(verdict, ComparisonVerdict::NotDistinguishable);
    assert!(
        method.contains("powered to detect a difference of 50 ns"),
        "{method}"
    );
    let (verdict, _) = of(Some(0.01));
    assert_eq!(verdict, ComparisonVerdict::TooFewRuns);
    assert!(of(None).1.contains("powered to detect a change of 10 %"));
}

#[test]
fn runs_too_short_to_name_a_cause_are_said_to_be() {
    let said = |seconds, id: &str| {
        let mut group = cell("a", &LOW[..2]);
        for run in &mut group.runs {
            run.record.duration_ns = Some(Nanos::from_secs(seconds));
        }
        let cells = Cells {
            groups: vec![group],
            levels: vec![String::new()],
        };
        findings(&cells, &[id.to_owned()]).conclusion
    };
    let why = "three stalls are the least";
    let short = said(1, "stalls");
    assert!(short.contains(why) && short.contains("took 1 s"), "{short}");
    assert!(!said(4, "stalls").contains(why));
    // Of another finding the length says nothing.
    assert!(!said(1, "throttled").contains(why));
}

#[test]
fn estimates_of_several_runs_are_not_said_to_be_what_was_seen() {
    let of = |means: &[f64]| {
        let cells = Cells {
            groups: vec![cell("a", means)],
            levels: vec![String::new()],
        };
        let published = BTreeMap::new();
        let answer = table(cells, &[Metric::Mean], &published, None).unwrap();
        answer.conclusion
    };
    let said = of(&[400_000.0, 900_000.0]);
    assert!(
        said.starts_with("Mean 600.0 µs (each the geometric mean of a cell's runs)."),
        "{said}"
    );
    let said = of(&[0.0, 900_000.0]);
    assert!(
        said.starts_with("Mean 450.0 µs (each the mean of a cell's runs)."),
        "{said}"
    );
    let said = of(&[900_000.0]);
    assert!(said.starts_with("Mean 900.0 µs. Not compared"), "{said}");
}

#[test]
fn a_class_of_few_wake_ups_says_how_many_may_miss() {
    let mut group = cell("a", &LOW[..1]);
    let deadline = Nanos::from_millis(1);
    for run in &mut group.runs {
        run.record.total.misses = vec![Misses {
            deadline_ns: deadline,
            count: 0,
            overruns: 0,
            effective: None,
        }];
    }
    let cells = Cells {
        groups: vec![group],
        levels: vec![String::new()],
    };
    let answer = classes(&cells, &[deadline]);
    let share = punctual_verdict::claims::at_most(answer.rows[0].at_most.unwrap());
    let said = answer.conclusion;
    assert!(said.starts_with("a: 100 % at 1ms."), "{said}");
    let may = format!("Where none was missed, up to {share} of wake-ups may miss.");
    assert!(
        said.contains(&may) && said.contains("100 %: none missed;"),
        "{said}"
    );
}
