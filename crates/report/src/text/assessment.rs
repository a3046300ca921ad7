// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An assessment as text.

use punctual_model::{Assessment, Condition};
use punctual_verdict::{bursts, claims};

use super::layout::{Column, clean, paragraph, table, wrapped};
use super::number::{Micros, Missing, span};
use super::{figures, verdict, words};
use crate::times::Times;

/// Says what a machine kept of its deadlines, and what that allows to be claimed: the verdict first.
pub fn assessment(assessment: &Assessment) -> String {
    let mut sections = Vec::new();
    if !assessment.real_time {
        sections.push(obstacle(assessment));
    }
    sections.extend(assessment.conditions.iter().filter_map(|condition| {
        let text = verdict::invalid(&condition.run)?;
        Some(format!("{}: {text}", capitalized(&condition.name)))
    }));
    sections.push(
        paragraph("Verdict", &claims::verdict(assessment))
            + &paragraph("Claims", &claims::claims(assessment)),
    );
    sections.push(deadlines(assessment));
    sections.push(latencies(assessment));
    if let Some(first) = assessment.conditions.first() {
        sections.push(words::host(&first.run.host) + &setting(assessment));
    }
    let required = requirements(assessment);
    if !required.is_empty() {
        sections.push(required);
    }
    sections.push(checks(assessment));
    sections.join("\n")
}

fn requirements(assessment: &Assessment) -> String {
    let of = |condition: &Condition| -> String {
        let group = format!("the {} run", condition.name);
        let results = condition.run.requirements.iter();
        let times = Times::of_run(&condition.run);
        results
            .map(|result| super::requirement(result, Some(&group), times))
            .collect()
    };
    assessment.conditions.iter().map(of).collect()
}

fn obstacle(assessment: &Assessment) -> String {
    let reason = assessment
        .obstacle
        .as_deref()
        .unwrap_or("no real-time policy was asked for");
    wrapped(
        "",
        0,
        &format!("NOT a real-time measurement: {}", clean(reason)),
    )
}

fn capitalized(word: &str) -> String {
    let mut letters = clean(word).into_owned();
    if let Some(first) = letters.get_mut(0..1) {
        first.make_ascii_uppercase();
    }
    letters
}

/// What was measured, once: the runs differ in their loads only.
fn setting(assessment: &Assessment) -> String {
    let mut text = String::new();
    let spec = |condition: &'_ Condition| condition.run.spec.clone();
    if let Some(first) = assessment.conditions.first().and_then(spec) {
        text += &paragraph("Measured", &words::spec(&first));
    }
    for condition in &assessment.conditions {
        let loads = spec(condition).map(|spec| spec.loads).unwrap_or_default();
        let beside = match loads.is_empty() {
            true => "no extra load".to_owned(),
            false => format!("under load: {}", loads.join(", ")),
        };
        let checks = condition.run.checks.iter();
        let around: String = checks
            .filter(|check| matches!(check.id.as_str(), "cpu-use" | "steal"))
            .map(|check| format!("; {}", clean(&check.detail)))
            .collect();
        text += &paragraph(
            &capitalized(&condition.name),
            &format!("{beside}, {}{around}", words::duration(&condition.run)),
        );
    }
    text
}

fn latencies(assessment: &Assessment) -> String {
    let total = |c: &Condition| c.run.total.clone();
    let totals: Vec<_> = assessment.conditions.iter().map(total).collect();
    let decimals = |figure: fn(&punctual_model::Series) -> Option<u64>| {
        Micros::up_to(totals.iter().filter_map(figure).max())
    };
    let (least, most) = (decimals(|s| s.min_ns), decimals(|s| s.max_ns));
    let mut missing = Missing::default();
    let none = "there are no samples";
    let unbounded = "too few samples for a 95 % interval of that quantile";
    let rows = assessment
        .conditions
        .iter()
        .zip(&totals)
        .map(|(condition, s)| {
            let mut row = vec![clean(&condition.name).into_owned(), s.count.to_string()];
            row.push(missing.or(s.min_ns.map(|ns| least.whole(ns)), none));
            row.push(missing.or(
                figures::mean(s, Micros::up_to_all(s.mean_ns.into_iter())),
                none,
            ));
            for name in ["p50", "p99", "p99.9", "p99.99"] {
                let value = figures::bounded_quantile(s, name);
                let text = value.map(|ns| Micros::up_to(value).whole(ns));
                row.push(missing.or(text, unbounded));
            }
            row.push(missing.or(s.max_ns.map(|ns| most.whole(ns)), none));
            row.push(missing.or(s.overruns.map(|n| n.to_string()), figures::NOT_RECORDED));
            row
        });
    let rows = rows.collect();
    let header = [
        ("Condition", Column::Left),
        ("Samples", Column::Right),
        ("Min", Column::Right),
        ("Mean", Column::Right),
        ("p50", Column::Right),
        ("p99", Column::Right),
        ("p99.9", Column::Right),
        ("p99.99", Column::Right),
        ("Max", Column::Right),
        ("Overruns", Column::Right),
    ];
    let mut text = "Wake-up latency of all threads in µs\n".to_owned();
    text += &table(&header, rows);
    text += " ±: half of the 95 % interval of the mean\n";
    text += &missing.note();
    text
}

fn deadlines(assessment: &Assessment) -> String {
    let mut missing = Missing::default();
    let uncounted = "not counted, or no samples";
    let rows = assessment.deadlines.iter().map(|deadline| {
        let mut row = vec![span(deadline.deadline_ns)];
        for condition in &assessment.conditions {
            let rate = claims::rate(deadline, &condition.name);
            row.push(missing.or(rate.map(|r| r.missed.to_string()), uncounted));
        }
        let worst = claims::worst(deadline);
        row.push(missing.or(worst.map(claims::at_most), uncounted));
        let class = deadline.class.map(|c| claims::class(c).to_owned());
        row.push(missing.or(class, uncounted));
        row
    });
    let rows = rows.collect();
    let names: Vec<String> = assessment
        .conditions
        .iter()
        .map(|c| {
            format!(
                "{}, of {}",
                capitalized(&c.name),
                bursts::wakeups(&c.run.total)
            )
        })
        .collect();
    let mut header = vec![("Deadline", Column::Right)];
    header.extend(names.iter().map(|name| (name.as_str(), Column::Right)));
    header.push(("At most", Column::Right));
    header.push(("Class", Column::Left));
    let mut text = "Wake-ups that missed a deadline, overruns included\n".to_owned();
    text += &table(&header, rows);
    for note in claims::notes(assessment) {
        text += &wrapped(" ", 1, &note);
    }
    text += &missing.note();
    text
}

fn checks(assessment: &Assessment) -> String {
    let runs: Vec<String> = assessment
        .conditions
        .iter()
        .map(|condition| {
            let checks = &condition.run.checks;
            let passed = checks.iter().filter(|c| c.passed()).count();
            format!(
                "{} {passed} of {} passed",
                clean(&condition.name),
                checks.len()
            )
        })
        .collect();
    let mut text = paragraph("Checks", &runs.join(", "));
    for condition in &assessment.conditions {
        let id = format!("{} is {}", clean(&condition.name), clean(&condition.run.id));
        text += &paragraph("Run", &id);
    }
    text
}
