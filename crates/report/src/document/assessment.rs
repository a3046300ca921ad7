// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An assessment: which deadlines this machine kept, idle and under load.

use punctual_model::{Assessment, Condition, RunRecord};
use punctual_verdict::claims;

use super::answer::believed;
use super::facts::{duration, measured};
use super::named::{capital, counted, micros, validity};
use super::parts::{Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone};
use super::series::bounded_quantile;
use super::watched;
use crate::chart::{self, Axis, Chart, Drawing, Look, Mark, Point, Shape, Validity};
use crate::number::{Missing, span};

const NO_SAMPLES: &str = "no samples";
const UNBOUNDED: &str = "too few samples for a 95 % interval of that quantile";
const UNCOUNTED: &str = "not counted, or no samples";

/// Adds an assessment.
pub(super) fn add(document: &mut Document, ids: &mut Ids, assessment: &Assessment) {
    if !assessment.real_time {
        let obstacle = assessment.obstacle.as_deref();
        let why = obstacle.unwrap_or("no real-time policy was asked for");
        let caveat = format!("NOT a real-time measurement: {why}");
        document.caveats.push(caveat);
    }
    let left_out = assessment.left_out.as_deref();
    document.caveats.extend(left_out.map(capital));
    document.answers.push(answer(assessment));
    let fact = |name: &str, said: String| Block::Facts(vec![(name.to_owned(), said)]);
    document.sections.push(Section {
        id: ids.make("assessment"),
        title: "Assessment".to_owned(),
        blocks: [
            Some(fact("Claims", claims::claims(assessment))),
            why(assessment).map(|why| fact("Why", why)),
            Some(deadlines(ids, assessment)),
            Some(latencies(ids, assessment)),
            Some(Block::Facts(setting(assessment))),
            Some(fact("Next", next(assessment).to_owned())),
        ]
        .into_iter()
        .flatten()
        .collect(),
    });
}

/// What to do now.
fn next(assessment: &Assessment) -> &'static str {
    match (
        assessment.valid,
        assessment.real_time,
        claims::kept(assessment),
    ) {
        (false, ..) => {
            "remove what made a run invalid (the failed checks are at the top), and measure again; \
             `punctual doctor` lists what can delay this machine"
        }
        (_, false, _) => "measure again with the right to use real-time scheduling",
        (.., None) => {
            "`punctual doctor` lists what can delay this machine, `punctual assess --explain` names what \
             did, `punctual tune plan` shows which settings can be changed"
        }
        (.., Some(_)) => {
            "`punctual assess --duration 8h` supports stronger claims; `punctual watch` does the same for \
             the threads of your own program"
        }
    }
}

/// Who made the latest samples of the worst condition late, where that was asked for.
fn why(assessment: &Assessment) -> Option<String> {
    let worst = assessment
        .conditions
        .iter()
        .max_by_key(|c| c.run.total.max_ns)?;
    let why = watched::why(&worst.run)?;
    Some(format!("{}: {why}", capital(&worst.name)))
}

/// What was measured, once: the runs differ in their loads only.
fn setting(assessment: &Assessment) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if let Some(first) = assessment.conditions.first() {
        let mut first = first.run.clone();
        first.spec.iter_mut().for_each(|spec| spec.loads.clear());
        facts.push(("Measured".to_owned(), measured(&first)));
    }
    facts.extend(assessment.conditions.iter().map(|condition| {
        let run = &condition.run;
        let loads = run.spec.as_ref().map_or(&[] as &[_], |spec| &spec.loads);
        let load = match loads {
            [] => "no extra load".to_owned(),
            loads => format!("under load: {}", loads.join(", ")),
        };
        let around = run.checks.iter();
        let around = around.filter(|c| matches!(c.id.as_str(), "cpu-use" | "steal"));
        let around: String = around.map(|check| format!("; {}", check.detail)).collect();
        let said = format!("{load}, {}{around}; run {}", duration(run), run.id);
        (capital(&condition.name), said)
    }));
    facts
}

fn answer(assessment: &Assessment) -> Answer {
    let conditions = || assessment.conditions.iter();
    let samples: u64 = conditions().map(|c| c.run.total.count).sum();
    let sentence = capital(&claims::verdict(assessment));
    let sentence = sentence.trim_end_matches('.');
    let incomplete = claims::incomplete(assessment);
    let figures = conditions().filter_map(|condition| {
        let max = condition.run.total.max_ns?;
        Some(KeyFigure {
            name: format!("max, {}", condition.name),
            value: format!("{} µs", micros(max as f64)),
            detail: counted(condition.run.total.count, "sample"),
        })
    });
    let reasons = |condition: &Condition| {
        let name = condition.name.clone();
        let group = format!("the {name} run");
        let invalid = (validity(&condition.run) == Validity::Invalid)
            .then(|| Reason::fault(format!("{name}: INVALID")));
        let reasons = believed(&condition.run, Some(&group)).into_iter();
        let reasons = reasons.map(move |reason| Reason {
            text: format!("{name}: {}", reason.text),
            ..reason
        });
        invalid.into_iter().chain(reasons)
    };
    let mut believed: Vec<Reason> = conditions().flat_map(reasons).collect();
    if !assessment.real_time {
        believed.insert(0, Reason::fault("not a real-time measurement"));
    }
    let kept = claims::kept(assessment).is_some();
    let (tone, word) = match (assessment.valid, assessment.real_time, kept) {
        (false, _, _) => (Tone::Bad, "INVALID"),
        (_, false, _) => (Tone::Bad, "not real-time"),
        (_, _, true) => (Tone::Plain, "assessed"),
        (_, _, false) => (Tone::Doubtful, "not OK"),
    };
    let samples = counted(samples, "sample");
    let (tone, word, sentence) = match incomplete {
        Some(said) => (
            Tone::Bad,
            "INCOMPLETE",
            format!("{said}. {sentence} ({samples})."),
        ),
        None => (tone, word, format!("{sentence} ({samples}).")),
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
    let mut missing = Missing::default();
    let mut table = Table::of(
        "Latency of all threads under each condition in µs",
        "<Condition|??<Valid|Samples|?Min|?Mean|±|p50|p99|p99.9|p99.99|Max|??Overruns",
    );
    let mut series = Vec::new();
    let names = assessment.conditions.iter().map(|c| c.name.clone());
    let names: Vec<String> = names.collect();
    let pick: [(&str, Pick); 5] = [
        ("p50", |r| bounded_quantile(&r.total, "p50")),
        ("p99", |r| bounded_quantile(&r.total, "p99")),
        ("p99.9", |r| bounded_quantile(&r.total, "p99.9")),
        ("p99.99", |r| bounded_quantile(&r.total, "p99.99")),
        ("max", |r| r.total.max_ns),
    ];
    for condition in &assessment.conditions {
        let total = &condition.run.total;
        let mut cell = |ns: Option<f64>, why| missing.or(ns.map(micros), why);
        let half = total.mean_interval_ns.zip(total.mean_ns);
        let half = half.map(|(i, mean)| (i.high - mean).max(mean - i.low));
        let mut row = vec![
            condition.name.clone(),
            validity(&condition.run).cell(),
            total.count.to_string(),
            cell(total.min_ns.map(|ns| ns as f64), NO_SAMPLES),
            cell(total.mean_ns, NO_SAMPLES),
            cell(half, UNBOUNDED),
        ];
        for (name, of) in pick {
            let why = if name == "max" { NO_SAMPLES } else { UNBOUNDED };
            row.push(cell(of(&condition.run).map(|ns| ns as f64), why));
        }
        row.push(missing.or(total.overruns.map(|n| n.to_string()), "not recorded"));
        table.rows.push(row);
    }
    table
        .notes
        .push("±: half of the 95 % interval of the mean.".to_owned());
    table.notes.extend(missing.reasons());
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
                series.push(
                    chart::Series::new(
                        name,
                        counted(points.len() as u64, "condition"),
                        Shape::Points,
                        points,
                        wanted,
                    )
                    .looking(Look::of(number)),
                );
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
    let mut missing = Missing::default();
    let mut heading = vec!["<Deadline".to_owned()];
    for condition in &assessment.conditions {
        let name = capital(&condition.name);
        heading.push(format!("{name}: missed"));
        heading.push("/wake-ups".to_owned());
        heading.push(format!("?{name}: at most"));
    }
    heading.extend(["At most, worst", "<Class"].map(str::to_owned));
    let columns: Vec<&str> = heading.iter().map(String::as_str).collect();
    let mut table = Table::new(
        "Wake-ups that missed a deadline, overruns included",
        &columns,
    );
    let mut series: Vec<chart::Series> = Vec::new();
    for condition in &assessment.conditions {
        let point = |deadline: &punctual_model::DeadlineVerdict| {
            let misses = claims::rate(deadline, &condition.name)?;
            let most = misses.share_at_most?;
            Some(Point::at(deadline.deadline_ns.get() as f64 / 1e3, most).of(misses.wakeups))
        };
        let points: Vec<Point> = assessment.deadlines.iter().filter_map(point).collect();
        let wakeups = points.first().and_then(|p| p.count).unwrap_or(0);
        series.push(chart::Series::new(
            condition.name.clone(),
            counted(wakeups, "wake-up"),
            Shape::Dots,
            points,
            validity(&condition.run),
        ));
    }
    for deadline in &assessment.deadlines {
        let mut cell = |text: Option<String>| missing.or(text, UNCOUNTED);
        let mut row = vec![span(deadline.deadline_ns)];
        for condition in &assessment.conditions {
            let misses = claims::rate(deadline, &condition.name);
            row.push(cell(misses.map(|m| m.missed.to_string())));
            row.push(cell(misses.map(|m| m.wakeups.to_string())));
            row.push(cell(
                misses.and_then(|m| m.share_at_most).map(claims::at_most),
            ));
        }
        row.push(cell(claims::worst(deadline).map(claims::at_most)));
        row.push(cell(deadline.class.map(|of| claims::class(of).to_owned())));
        table.rows.push(row);
    }
    table.notes.extend(missing.reasons());
    table.notes.extend(claims::notes(assessment));
    let chart = Chart {
        id: ids.make("assessment-deadlines"),
        title: "Share of wake-ups that miss a deadline, at most".to_owned(),
        note: "The upper end of the one-sided 95 % interval under each condition.".to_owned(),
        x: Axis::log("Deadline in µs"),
        y: Axis::log("Share, at most"),
        series: chart::Series::with_points(series),
        marks: Vec::new(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}
