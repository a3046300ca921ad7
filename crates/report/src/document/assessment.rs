// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An assessment: which deadlines this machine kept, idle and beside loads.

use punctual_model::{Assessment, RunRecord};
use punctual_verdict::claims;

use super::named::{counted, micros, validity};
use super::{Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone};
use crate::chart::{self, Axis, Chart, Drawing, Look, Mark, Point, Shape, Validity};
use crate::text::{bounded_quantile, span};

/// Adds an assessment.
pub(super) fn add(document: &mut Document, ids: &mut Ids, assessment: &Assessment) {
    document.answers.push(answer(assessment));
    let mut blocks = Vec::new();
    if let Some(obstacle) = &assessment.obstacle {
        blocks.push(Block::Text(format!(
            "NOT a real-time measurement: {obstacle}"
        )));
    }
    blocks.push(Block::Facts(vec![(
        "Claims".to_owned(),
        claims::claims(assessment),
    )]));
    blocks.push(deadlines(ids, assessment));
    blocks.push(latencies(ids, assessment));
    document.sections.push(Section {
        id: ids.make("assessment"),
        title: "Assessment".to_owned(),
        blocks,
    });
}

fn answer(assessment: &Assessment) -> Answer {
    let samples: u64 = assessment
        .conditions
        .iter()
        .map(|c| c.run.total.count)
        .sum();
    let mut sentence = claims::verdict(assessment);
    if let Some(first) = sentence.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    let sentence = sentence.trim_end_matches('.');
    let sentence = format!("{sentence} ({}).", counted(samples, "sample"));
    let figures = assessment.conditions.iter().filter_map(|condition| {
        let max = condition.run.total.max_ns?;
        Some(KeyFigure {
            name: format!("max, {}", condition.name),
            value: format!("{} µs", micros(max as f64)),
            detail: counted(condition.run.total.count, "sample"),
        })
    });
    let mut believed: Vec<Reason> = assessment
        .conditions
        .iter()
        .map(|condition| {
            let open: Vec<&str> = condition
                .run
                .checks
                .iter()
                .filter(|c| !c.passed())
                .map(|c| c.id.as_str())
                .collect();
            match open.is_empty() {
                true => Reason::from(format!(
                    "{}: {} checks passed",
                    condition.name,
                    condition.run.checks.len()
                )),
                false => {
                    Reason::fault(format!("{}: INVALID ({})", condition.name, open.join(", ")))
                }
            }
        })
        .collect();
    if !assessment.real_time {
        believed.insert(0, Reason::fault("not a real-time measurement"));
    }
    let kept = claims::kept(assessment).is_some();
    let (tone, word) = match (assessment.valid, assessment.real_time, kept) {
        (false, _, _) => (Tone::Bad, "INVALID"),
        (_, false, _) => (Tone::Bad, "not real-time"),
        (_, _, true) => (Tone::Plain, "assessed"),
        (_, _, false) => (Tone::Doubtful, "no deadline kept"),
    };
    Answer {
        tone,
        word: word.to_owned(),
        sentence,
        figures: figures.collect(),
        validity: believed,
    }
}

/// A figure of a run, in ns.
type Pick = fn(&RunRecord) -> Option<u64>;

fn latencies(ids: &mut Ids, assessment: &Assessment) -> Block {
    let mut table = Table::new(
        "Latency under each condition in µs",
        &[
            "<Condition",
            "<Valid",
            "Samples",
            "Min",
            "p50",
            "p99",
            "p99.9",
            "Max",
        ],
    );
    let mut series = Vec::new();
    let names: Vec<String> = assessment
        .conditions
        .iter()
        .map(|c| c.name.clone())
        .collect();
    let pick: [(&str, Pick); 4] = [
        ("p50", |r| bounded_quantile(&r.total, "p50")),
        ("p99", |r| bounded_quantile(&r.total, "p99")),
        ("p99.9", |r| bounded_quantile(&r.total, "p99.9")),
        ("max", |r| r.total.max_ns),
    ];
    for condition in &assessment.conditions {
        let total = &condition.run.total;
        let cell = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| micros(ns as f64));
        let mut row = vec![
            condition.name.clone(),
            validity(&condition.run).cell(),
            total.count.to_string(),
            cell(total.min_ns),
        ];
        row.extend(pick.iter().map(|(_, of)| cell(of(&condition.run))));
        table.rows.push(row);
    }
    for (number, (name, of)) in pick.into_iter().enumerate() {
        for wanted in [Validity::Valid, Validity::Invalid] {
            let points: Vec<Point> = assessment
                .conditions
                .iter()
                .enumerate()
                .filter(|(_, c)| validity(&c.run) == wanted)
                .filter_map(|(row, c)| {
                    let ns = of(&c.run)?;
                    Some(Point::at(ns as f64 / 1e3, row as f64).of(c.run.total.count))
                })
                .collect();
            if !points.is_empty() {
                series.push(chart::Series {
                    name: name.to_owned(),
                    counted: counted(points.len() as u64, "condition"),
                    shape: Shape::Points,
                    points,
                    validity: wanted,
                    shown: true,
                    look: Some(Look::of(number)),
                });
            }
        }
    }
    let samples: u64 = assessment
        .conditions
        .iter()
        .map(|c| c.run.total.count)
        .sum();
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
    let chart = Chart {
        id: ids.make("assessment-latency"),
        title: "Latency under each condition".to_owned(),
        note: format!(
            "{}; a quantile is shown where it has an interval. The largest is the largest seen, no bound.",
            counted(samples, "sample")
        ),
        x: Axis::fitting("Latency in µs", values.into_iter()),
        y: Axis::names("", names),
        series,
        marks: Vec::<Mark>::new(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}

fn deadlines(ids: &mut Ids, assessment: &Assessment) -> Block {
    let mut heading = vec!["<Deadline".to_owned(), "<Class".to_owned()];
    for condition in &assessment.conditions {
        heading.push(format!("Missed, {}", condition.name));
        heading.push("of wake-ups".to_owned());
        heading.push("at most".to_owned());
    }
    heading.push("At most, worst".to_owned());
    let columns: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = Table::new("Deadlines", &columns);
    let mut series: Vec<chart::Series> = Vec::new();
    for condition in &assessment.conditions {
        let point = |deadline: &punctual_model::DeadlineVerdict| {
            let misses = claims::rate(deadline, &condition.name)?;
            let most = misses.share_at_most?;
            Some(Point::at(deadline.deadline_ns.get() as f64 / 1e3, most).of(misses.wakeups))
        };
        let points: Vec<Point> = assessment.deadlines.iter().filter_map(point).collect();
        let wakeups = points.first().and_then(|p| p.count).unwrap_or(0);
        series.push(chart::Series {
            name: condition.name.clone(),
            counted: counted(wakeups, "wake-up"),
            shape: Shape::Dots,
            points,
            validity: validity(&condition.run),
            shown: true,
            look: None,
        });
    }
    for deadline in &assessment.deadlines {
        let class = deadline.class.map_or("-", claims::class);
        let mut row = vec![span(deadline.deadline_ns), class.to_owned()];
        for condition in &assessment.conditions {
            let misses = claims::rate(deadline, &condition.name);
            row.push(misses.map_or_else(|| "-".to_owned(), |m| m.missed.to_string()));
            row.push(misses.map_or_else(|| "-".to_owned(), |m| m.wakeups.to_string()));
            let most = misses.and_then(|m| m.share_at_most);
            row.push(most.map_or_else(|| "-".to_owned(), claims::at_most));
        }
        let worst = claims::worst(deadline);
        row.push(worst.map_or_else(|| "-".to_owned(), claims::at_most));
        table.rows.push(row);
    }
    table.notes.extend(claims::notes(assessment));
    let chart = Chart {
        id: ids.make("assessment-deadlines"),
        title: "Share of wake-ups that miss a deadline, at most".to_owned(),
        note: "The upper end of the one-sided 95 % interval under each condition.".to_owned(),
        x: Axis::log("Deadline in µs"),
        y: Axis::log("Share, at most"),
        series: series
            .into_iter()
            .filter(|s| !s.points.is_empty())
            .collect(),
        marks: Vec::new(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}
