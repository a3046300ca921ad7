// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A published study as it was carried out here: a section each, with the published figures next to the measured ones.

use punctual_model::{
    ComparisonVerdict, GuestTime, StudyAnswer, StudyBin, StudyFacts, StudyFinding, StudyJoint,
    StudyKernel, StudyPart, StudyPicture, StudyResult, StudyRow, StudySkipped,
};
use punctual_verdict::words;

use super::experiment::number;
use super::named::counted;
use super::study_tables as tables;
use super::verdicts::p_value;
use super::{Answer, Block, Document, Ids, Reason, Section, Table, Tone};
use super::{facts, guest};
use crate::chart::{Axis, Chart, Drawing, Point, Series, Shape, Validity};
use crate::text::compared_unit;

/// Fewer levels are in their table.
const SWEEP: usize = 3;

/// Adds a study.
pub(super) fn add(document: &mut Document, ids: &mut Ids, result: &StudyResult) {
    document.answers.push(together(result));
    let facts = &result.study;
    let id = ids.make(&facts.name);
    let mut blocks = vec![Block::Facts(said_of(result))];
    blocks.extend(published(facts).map(|table| {
        Block::Table(Table {
            aside: true,
            ..table
        })
    }));
    for (at, answer) in result.answers.iter().enumerate() {
        blocks.extend(answered(ids, answer, &format!("{id}-{}", at + 1)));
    }
    blocks.extend(how(facts));
    document.sections.push(Section {
        id,
        title: format!("{}: {}", facts.name, facts.title),
        blocks,
    });
}

/// What all answers of a study say, in numbers: each is in its section.
fn together(result: &StudyResult) -> Answer {
    let skipped = result.answers.iter().filter(|a| a.skipped.is_some());
    let skipped = skipped.count();
    let rows = || result.answers.iter().flat_map(|answer| &answer.rows);
    let with = |verdict| rows().filter(|row| row.verdict == Some(verdict)).count();
    let verdicts = [
        ComparisonVerdict::Better,
        ComparisonVerdict::Worse,
        ComparisonVerdict::Different,
        ComparisonVerdict::Equivalent,
        ComparisonVerdict::NotWorse,
        ComparisonVerdict::NotDistinguishable,
        ComparisonVerdict::TooFewRuns,
    ];
    let verdicts: Vec<String> = verdicts
        .into_iter()
        .map(|verdict| (with(verdict), verdict))
        .filter(|(count, _)| *count > 0)
        .map(|(count, verdict)| match verdict {
            ComparisonVerdict::TooFewRuns => format!("{count} with {}", words::verdict(verdict)),
            _ => format!("{count} {}", words::verdict(verdict)),
        })
        .collect();
    let compared = match verdicts.is_empty() {
        true => "nothing is compared".to_owned(),
        false => format!("compared figures: {}", verdicts.join(", ")),
    };
    let runs: u64 = result.parts.iter().map(|part| part.valid).sum();
    let parts = result.parts.iter().flat_map(|part| &part.skipped);
    let mut validity: Vec<Reason> = (runs > 0)
        .then(|| counted(runs, "valid run").into())
        .into_iter()
        .collect();
    let left_out = |left: &StudySkipped| format!("skipped: {}: {}", left.what, left.reason).into();
    validity.extend(parts.map(left_out));
    Answer {
        tone: Tone::Plain,
        word: result.study.name.clone(),
        sentence: format!(
            "{} of {} answered; {compared}.",
            result.answers.len() - skipped,
            counted(result.answers.len() as u64, "question"),
        ),
        figures: Vec::new(),
        validity,
    }
}

/// The work, the machines, and what was measured.
fn said_of(result: &StudyResult) -> Vec<(String, String)> {
    let facts = &result.study;
    let number = result.number.map(|n| format!(", carried out {n}"));
    let scale = format!("{}{}", result.scale, number.unwrap_or_default());
    let mut out = vec![
        ("Work".to_owned(), facts.citation.clone()),
        ("Theirs".to_owned(), facts.machine.clone()),
    ];
    out.extend(result.host.iter().flat_map(facts::host_facts));
    out.push(("Scale".to_owned(), scale));
    let parts = result.parts.iter().flat_map(facts_of);
    out.extend(parts.map(|(label, line)| (label.to_owned(), line)));
    out
}

/// A question with its answer.
fn answered(ids: &mut Ids, answer: &StudyAnswer, id: &str) -> Vec<Block> {
    let mut items = vec![
        ("question".to_owned(), answer.question.clone()),
        ("published".to_owned(), answer.paper.clone()),
    ];
    let mut add = |mark: &str, line: String| items.push((mark.to_owned(), line));
    if let Some(reason) = &answer.skipped {
        add("skipped", reason.clone());
        return vec![Block::items(items)];
    }
    if answer.virtual_time {
        add("virtual time", guest::HEADING.to_owned());
    }
    add("here", answer.conclusion.clone());
    for joint in &answer.joint {
        add("all at once", all_alike(joint));
    }
    for found in &answer.findings {
        add("found", finding(found));
    }
    if let Some(method) = &answer.method {
        add("method", method.clone());
    }
    let mut blocks = vec![Block::items(items)];
    for table in tables::of_answer(answer) {
        blocks.push(Block::Table(table));
    }
    let mut figures: Vec<&str> = Vec::new();
    for row in &answer.rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
            blocks.extend(sweep(ids, answer, &row.figure, id).into_iter().flatten());
        }
    }
    blocks.extend(answer.pictures.iter().map(|of| picture(ids, of, id)));
    blocks
}

/// A figure against levels that are numbers, with the published values; and how narrow its intervals are.
fn sweep(ids: &mut Ids, answer: &StudyAnswer, figure: &str, id: &str) -> Option<[Block; 2]> {
    let rows = answer.rows.iter().filter(|row| row.figure == figure);
    let rows: Vec<&StudyRow> = rows
        .filter(|row| row.verdict.is_some() || row.runs > 0)
        .collect();
    let factor = tables::factor(&rows)?;
    let levels: Option<Vec<f64>> = rows
        .iter()
        .map(|row| number(tables::level(row, Some(factor))))
        .collect();
    let levels = levels.filter(|levels| levels.len() >= SWEEP)?;
    let first = rows.first()?;
    let (unit, scale) = compared_unit(&first.unit);
    let points = |of: &dyn Fn(f64, &StudyRow) -> Option<Point>| {
        let mut points: Vec<Point> = levels
            .iter()
            .zip(&rows)
            .filter_map(|(x, row)| of(*x, row))
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        points
    };
    let here = points(&|x, row| {
        let interval = row.interval.map(|i| (i.low / scale, i.high / scale));
        Some(
            Point::at(x, row.estimate? / scale)
                .within(interval)
                .of(row.runs),
        )
    });
    let published = points(&|x, row| Some(Point::at(x, row.published?)));
    let spread = points(&|x, row| {
        let interval = row.interval?;
        let half = (interval.high - interval.low) / 2.0 / scale;
        Some(Point::at(x, half).of(row.runs))
    });
    let series = |name: String, counted: String, points: Vec<Point>, validity| Series {
        name,
        counted,
        shape: Shape::Dots,
        points,
        validity,
        shown: true,
        look: None,
    };
    let valid = match answer.virtual_time {
        true => Validity::Virtual,
        false => Validity::Valid,
    };
    let runs = here.iter().filter_map(|p| p.count).sum();
    let runs = counted(runs, "run");
    let of_work = first.published_unit.as_deref().unwrap_or_default();
    let of_work = format!("published {of_work}").trim_end().to_owned();
    let values = counted(published.len() as u64, "value");
    let both = vec![
        series("here".to_owned(), runs.clone(), here, valid),
        series(of_work, values, published, Validity::Imported),
    ];
    let widths = vec![series("here".to_owned(), runs, spread, valid)];
    let mut chart = |what: &str, note: &str, series: Vec<Series>| {
        let series: Vec<Series> = series
            .into_iter()
            .filter(|s| !s.points.is_empty())
            .collect();
        let heights: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.y).collect();
        let label = format!("{what} {unit}");
        let chart = Chart {
            id: ids.make(&format!("{id}-{what}")),
            title: format!("{what} against {factor}"),
            note: note.to_owned(),
            x: Axis::fitting(factor, levels.iter().copied()),
            y: Axis::fitting(label.trim_end(), heights.into_iter()),
            series,
            marks: Vec::new(),
        };
        Block::Drawing(Box::new(Drawing::Chart(chart)), None)
    };
    let estimates = "The estimate of each level; bars are 95 % intervals between runs.";
    let errors = "Half of the 95 % interval of each level: about two standard errors.";
    Some([
        chart(figure, estimates, both),
        chart(&format!("error of {figure}"), errors, widths),
    ])
}

/// The head or the tail of a distribution.
#[expect(clippy::cast_precision_loss, reason = "display only")]
fn picture(ids: &mut Ids, of: &StudyPicture, id: &str) -> Block {
    let mut points: Vec<Point> = of
        .bins
        .iter()
        .map(|bin| Point::at(bin.from_ns as f64 / 1e3, bin.count as f64))
        .collect();
    points.extend(
        of.bins
            .last()
            .map(|bin| Point::at(bin.to_ns as f64 / 1e3, 0.0)),
    );
    let inside: u64 = of.bins.iter().map(|bin| bin.count).sum();
    let title = format!("{} of {}", of.part, of.cell);
    let count = format!("{inside} of {}", counted(of.samples, "sample"));
    let mut table = Table::new(
        format!("{title}: {count}"),
        &["From µs", "..To µs", "Samples"],
    );
    let micros = |ns: u64| format!("{:.1}", ns as f64 / 1e3);
    let bins = of.bins.iter();
    let row = |bin: &StudyBin| {
        vec![
            micros(bin.from_ns),
            micros(bin.to_ns),
            bin.count.to_string(),
        ]
    };
    table.rows = bins.map(row).collect();
    let places: Vec<f64> = points.iter().map(|point| point.x).collect();
    let chart = Chart {
        id: ids.make(&format!("{id}-{}-{}", of.cell, of.part)),
        title: title.clone(),
        note: format!("{count}."),
        x: Axis::fitting("Latency in µs", places.into_iter()),
        y: Axis::linear("Samples in a bin"),
        series: vec![Series {
            name: of.part.clone(),
            counted: counted(inside, "sample"),
            shape: Shape::Step,
            points,
            validity: Validity::Valid,
            shown: true,
            look: None,
        }],
        marks: Vec::new(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}

/// What the authors did, and what is done differently.
fn how(facts: &StudyFacts) -> Vec<Block> {
    vec![Block::Fold(
        "What the authors did, and what is done differently here".to_owned(),
        steps(facts),
    )]
}

fn steps(facts: &StudyFacts) -> Vec<Block> {
    let mut steps = Table::new("Steps of the authors", &["<Step", "<Here"]);
    let rows = facts.steps.iter();
    steps.rows = rows
        .map(|step| vec![step.text.clone(), step.here.clone()])
        .collect();
    let differences = facts.differences.iter();
    let differences = differences.map(|line| ("differs".to_owned(), line.clone()));
    let mut blocks = vec![Block::Facts(vec![(
        "Method".to_owned(),
        facts.method.clone(),
    )])];
    if !steps.rows.is_empty() {
        blocks.push(Block::Table(steps));
    }
    blocks.push(Block::items(differences));
    blocks
}

fn published(facts: &StudyFacts) -> impl Iterator<Item = Table> {
    let tables = facts.published.iter().map(tables::published);
    tables.map(|table| Table {
        caption: format!("Published: {}", table.caption),
        ..table
    })
}

impl Document {
    /// Says what studies there are.
    pub fn of_studies(studies: &[StudyFacts]) -> Self {
        let mut table = Table::new("", &["<Study", "<Title"]);
        let row = |study: &StudyFacts| vec![study.name.clone(), study.title.clone()];
        table.rows = studies.iter().map(row).collect();
        Self::of("Studies", vec![Block::Table(table)])
    }

    /// Says what a study is: the work, what it reports, what is done differently here.
    pub fn of_study(study: &StudyFacts) -> Self {
        let facts = [
            ("Study", &study.title),
            ("Work", &study.citation),
            ("Machine", &study.machine),
        ];
        let facts = facts.map(|(name, said)| (name.to_owned(), said.clone()));
        let mut blocks = vec![Block::Facts(facts.into())];
        blocks.extend(published(study).map(Block::Table));
        blocks.extend(steps(study));
        Self::of(&study.name, blocks)
    }
}

/// What is to be said of a part of a study, each with its label.
fn facts_of(part: &StudyPart) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(name) = &part.experiment {
        let bad = part.invalid + part.failed;
        let also = match bad {
            0 => String::new(),
            _ => format!(
                ", {} invalid and {} failed tries are in no figure",
                part.invalid, part.failed
            ),
        };
        let state = match &part.finished {
            Some(reason) => format!("over: {reason}"),
            None => "not over: these are the results so far".to_owned(),
        };
        let line = format!(
            "{name}: {}; {} of {} runs valid{also}; {state}",
            part.title, part.valid, part.planned
        );
        facts.push(("Measured", line));
    }
    if !part.kernels.is_empty() {
        let kernels: Vec<String> = part.kernels.iter().map(kernel).collect();
        facts.push(("Kernels", kernels.join("; ")));
    }
    let skipped = part.skipped.iter();
    facts.extend(skipped.map(|left| ("Skipped", format!("{}: {}", left.what, left.reason))));
    facts
}

fn kernel(kernel: &StudyKernel) -> String {
    let known = [kernel.release.as_deref(), kernel.preemption.as_deref()];
    let known: Vec<&str> = known.into_iter().flatten().collect();
    let time = match kernel.guest.as_ref().map(|guest| guest.time) {
        None => "",
        Some(GuestTime::Real) => ", a guest by KVM",
        Some(GuestTime::Emulated) => ", an emulated guest",
        Some(GuestTime::Virtual) => ", a guest in virtual time, a seed a block",
    };
    format!("{}: {}{time}", kernel.level, known.join(" "))
}

/// What the runs of a cell show, and how many of them.
fn finding(found: &StudyFinding) -> String {
    format!(
        "{}, {} of {} runs of {}: {}",
        found.id, found.runs, found.of, found.cell, found.detail
    )
}

/// What the question whether all cells are alike found.
fn all_alike(joint: &StudyJoint) -> String {
    let says = match joint.differ {
        true => "they differ",
        false => "not distinguishable",
    };
    format!(
        "{}: p {} that all {} are alike, dealt anew inside blocks: {says}",
        joint.figure,
        p_value(joint.p),
        joint.cells
    )
}
