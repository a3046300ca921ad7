// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An assessment as text.

use punctual_model::{Assessment, Condition, DeadlineVerdict, MissRate, RealTimeClass};
use punctual_stats::samples_for_bound;

use super::layout::{Column, clean, paragraph, table, wrapped};
use super::number::{Micros, Missing, span};
use super::{figures, verdict, words};
use crate::assessment::CONFIDENCE;
use crate::times::Times;

/// A rate that users like to ask for.
const ONE_IN_A_MILLION: f64 = 1e-6;

/// Says what a machine kept of its deadlines, and what that allows to be claimed.
pub fn assessment(assessment: &Assessment) -> String {
    let mut sections = Vec::new();
    if !assessment.real_time {
        sections.push(obstacle(assessment));
    }
    sections.extend(assessment.conditions.iter().filter_map(|condition| {
        let text = verdict::invalid(&condition.run)?;
        Some(format!("{}: {text}", capitalized(&condition.name)))
    }));
    if let Some(first) = assessment.conditions.first() {
        sections.push(words::host(&first.run.host) + &setting(assessment));
    }
    sections.push(latencies(assessment));
    sections.push(deadlines(assessment));
    sections.push(claims(assessment));
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
            true => "nothing of ours beside it".to_owned(),
            false => format!("beside load {}", loads.join(", ")),
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
            let rate = rate(deadline, &condition.name);
            row.push(missing.or(rate.map(|r| r.missed.to_string()), uncounted));
        }
        let worst = worst(deadline);
        row.push(missing.or(worst.map(share), uncounted));
        row.push(missing.or(deadline.class.map(|c| class(c).to_owned()), uncounted));
        row
    });
    let rows = rows.collect();
    let names: Vec<String> = assessment
        .conditions
        .iter()
        .map(|c| {
            let wakeups = c.run.total.count + c.run.total.overruns.unwrap_or(0);
            format!("{}, of {wakeups}", capitalized(&c.name))
        })
        .collect();
    let mut header = vec![("Deadline", Column::Right)];
    header.extend(names.iter().map(|name| (name.as_str(), Column::Right)));
    header.push(("At most", Column::Right));
    header.push(("Class", Column::Left));
    let mut text = "Wake-ups that missed a deadline, overruns included\n".to_owned();
    text += &table(&header, rows);
    text += &wrapped(
        " ",
        1,
        "At most: the share that misses under the worst condition, with 95 % confidence; misses that \
         come in bursts count as the fewer independent ones that they are worth, and of none seen \
         nothing is known but that. Classes after Bridgers 2015, by the worst condition: 100 %: none \
         missed, which claims no more than the column before; 95 %: at most 5 % miss; soft: more, or \
         too few wake-ups to say. Safe is no class that a measurement can give.",
    );
    text += &missing.note();
    text
}

fn rate<'a>(deadline: &'a DeadlineVerdict, condition: &str) -> Option<&'a MissRate> {
    deadline.misses.iter().find(|m| m.condition == condition)
}

fn worst(deadline: &DeadlineVerdict) -> Option<f64> {
    let shares = deadline.misses.iter().map(|m| m.share_at_most);
    shares
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .reduce(f64::max)
}

/// Writes an upper bound, rounded up: 0.003 %.
fn share(share: f64) -> String {
    let percents = share * 100.0;
    let decimals = (0..12)
        .find(|n| percents * 10_f64.powi(*n) >= 10.0)
        .unwrap_or(12);
    let scale = 10_f64.powi(decimals);
    let decimals = usize::try_from(decimals).unwrap_or(0);
    format!("{:.decimals$} %", (percents * scale).ceil() / scale)
}

const fn class(class: RealTimeClass) -> &'static str {
    match class {
        RealTimeClass::Soft => "soft",
        RealTimeClass::NinetyFivePercent => "95 %",
        RealTimeClass::HundredPercent => "100 %",
    }
}

/// What the wake-ups allow to be said of the shortest deadline that none of them missed.
fn claims(assessment: &Assessment) -> String {
    let kept = assessment
        .deadlines
        .iter()
        .find(|deadline| deadline.class.is_some() && deadline.misses.iter().all(|m| m.missed == 0));
    let Some((kept, bound)) = kept.and_then(|kept| Some((kept, worst(kept)?))) else {
        return paragraph("Claims", "none: no deadline of the table was always kept");
    };
    let needed = samples_for_bound(ONE_IN_A_MILLION, CONFIDENCE).map_or_else(String::new, |n| {
        format!(
            " To claim less than one in a million takes {n} independent wake-ups without a miss."
        )
    });
    let text = format!(
        "{} was never missed. With 95 % confidence that allows to claim that {} of the wake-ups miss \
         it at most, one in {:.0}: under these conditions, on this boot, no more.{needed}",
        span(kept.deadline_ns),
        share(bound),
        (1.0 / bound).floor(),
    );
    paragraph("Claims", &text)
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
