// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Published studies as text: what they are, and what they say here.

use punctual_model::{
    GuestTime, StudyAnswer, StudyFacts, StudyFinding, StudyJoint, StudyKernel, StudyPart,
    StudyPicture, StudyReport, StudyResult,
};

use super::layout::{Column, clean, paragraph, table, wrapped};
use crate::document::study_tables as tables;
use crate::document::{self, Table, p_value};

/// Columns that the longest bar of a picture takes.
const BAR: u64 = 40;

/// Lists studies, a line each.
pub fn study_list(studies: &[StudyFacts]) -> String {
    let rows = studies
        .iter()
        .map(|study| vec![study.name.clone(), study.title.clone()])
        .collect();
    table(&[("Study", Column::Left), ("", Column::Text)], rows)
}

/// Says what a study is: the work, what it reports, what is done differently here.
pub fn study(study: &StudyFacts) -> String {
    let mut sections = vec![
        paragraph("Study", &format!("{}: {}", study.name, study.title))
            + &paragraph("Work", &study.citation)
            + &paragraph("Machine", &study.machine)
            + &paragraph("Method", &study.method),
    ];
    sections.extend(
        study
            .published
            .iter()
            .map(|published| table_of("Published: ", &tables::published(published))),
    );
    if !study.steps.is_empty() {
        let rows = study.steps.iter();
        let rows = rows.map(|step| vec![step.text.clone(), step.here.clone()]);
        let header = [("Step", Column::Text), ("Here", Column::Text)];
        sections.push(table(&header, rows.collect()));
    }
    let lines = study.differences.iter();
    let lines: String = lines.map(|line| wrapped(" - ", 3, line)).collect();
    sections.push(format!("What is done differently here, and why\n{lines}"));
    sections.join("\n")
}

/// Writes a table with its heading and what has to be known of it.
fn table_of(lead: &str, of: &Table) -> String {
    let kind = |column: &document::Column| match column {
        column if column.figures => Column::Right,
        column if column.name == "Verdict" => Column::Text,
        _ => Column::Left,
    };
    let names: Vec<_> = of
        .columns
        .iter()
        .map(|column| clean(&column.name))
        .collect();
    let kinds = of.columns.iter().map(kind);
    let header: Vec<(&str, Column)> = names.iter().map(AsRef::as_ref).zip(kinds).collect();
    let cells = |row: &Vec<String>| row.iter().map(|cell| clean(cell).into_owned()).collect();
    let rows = of.rows.iter().map(cells).collect();
    let notes: String = of.notes.iter().map(|note| wrapped(" ", 4, note)).collect();
    wrapped(lead, 1, &clean(&of.caption)) + &table(&header, rows) + &notes
}

/// Says what studies say here, one after the other.
pub fn studies(report: &StudyReport) -> String {
    let studies: Vec<String> = report.studies.iter().map(result).collect();
    studies.join("\n")
}

fn result(result: &StudyResult) -> String {
    let facts = &result.study;
    let number = result.number.map(|n| format!(", carried out {n}"));
    let heading = format!(
        "{}: {} (scale {}{})",
        facts.name,
        facts.title,
        clean(&result.scale),
        number.unwrap_or_default()
    );
    let line = "=".repeat(heading.chars().count().min(super::WIDTH));
    let mut text = wrapped("", 0, &heading) + &line + "\n";
    text += &paragraph("Work", &facts.citation);
    text += &paragraph("Theirs", &facts.machine);
    if let Some(host) = &result.host {
        text += &super::words::host(host);
    }
    for at in &result.parts {
        for (label, line) in facts_of(at) {
            text += &paragraph(label, &line);
        }
    }
    let answers: Vec<String> = result.answers.iter().map(answer).collect();
    text + "\n" + &answers.join("\n")
}

/// What is to be said of a part of a study, each with its label.
pub(crate) fn facts_of(part: &StudyPart) -> Vec<(&'static str, String)> {
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
            Some(reason) => format!("over: {}", clean(reason)),
            None => "not over: these are the results so far".to_owned(),
        };
        let line = format!(
            "{}: {}; {} of {} runs valid{also}; {state}",
            clean(name),
            part.title,
            part.valid,
            part.planned
        );
        facts.push(("Measured", line));
    }
    if !part.kernels.is_empty() {
        let kernels: Vec<String> = part.kernels.iter().map(kernel).collect();
        facts.push(("Kernels", kernels.join("; ")));
    }
    facts.extend(part.skipped.iter().map(|skipped| {
        let line = format!("{}: {}", clean(&skipped.what), clean(&skipped.reason));
        ("Skipped", line)
    }));
    facts
}

fn kernel(kernel: &StudyKernel) -> String {
    let known = [kernel.release.as_deref(), kernel.preemption.as_deref()];
    let known: Vec<_> = known.into_iter().flatten().map(clean).collect();
    let time = match kernel.guest.as_ref().map(|guest| guest.time) {
        None => "",
        Some(GuestTime::Real) => ", a guest by KVM",
        Some(GuestTime::Emulated) => ", an emulated guest",
        Some(GuestTime::Virtual) => ", a guest in virtual time, a seed a block",
    };
    format!("{}: {}{time}", clean(&kernel.level), known.join(" "))
}

fn answer(answer: &StudyAnswer) -> String {
    let mut text = wrapped("Question: ", 1, &answer.question);
    text += &wrapped(" published: ", 3, &answer.paper);
    if let Some(reason) = &answer.skipped {
        return text + &wrapped(" skipped: ", 3, &clean(reason));
    }
    if answer.virtual_time {
        text += &wrapped(" ", 3, super::guest::HEADING);
    }
    text += &wrapped(" here: ", 3, &clean(&answer.conclusion));
    if !answer.joint.is_empty() {
        let joint: Vec<String> = answer.joint.iter().map(all_alike).collect();
        text += &wrapped(" all at once: ", 3, &joint.join("; "));
    }
    for table in tables::of_answer(answer) {
        text += &table_of(" ", &table);
    }
    for picture in &answer.pictures {
        text += &bars(picture);
    }
    for found in &answer.findings {
        text += &wrapped(" ", 3, &clean(&finding(found)));
    }
    if let Some(method) = &answer.method {
        text += &wrapped(" method: ", 3, method);
    }
    text
}

/// What the runs of a cell show, and how many of them.
pub(crate) fn finding(found: &StudyFinding) -> String {
    format!(
        "{}, {} of {} runs of {}: {}",
        found.id, found.runs, found.of, found.cell, found.detail
    )
}

/// What the question whether all cells are alike found.
pub(crate) fn all_alike(joint: &StudyJoint) -> String {
    let says = match joint.differ {
        true => "they differ",
        false => "not distinguishable",
    };
    format!(
        "{}: p {} that all {} are alike, dealt anew inside blocks: {says}",
        clean(&joint.figure),
        p_value(joint.p),
        joint.cells
    )
}

fn bars(picture: &StudyPicture) -> String {
    let most = picture.bins.iter().map(|bin| bin.count).max().unwrap_or(0);
    let inside: u64 = picture.bins.iter().map(|bin| bin.count).sum();
    let mut text = format!(
        " {} of {}: {inside} of {} samples\n",
        picture.part,
        clean(&picture.cell),
        picture.samples
    );
    for bin in &picture.bins {
        // At least a dot for a sample: what is rare is what a tail is about.
        let length = (bin.count * BAR).checked_div(most).unwrap_or(0);
        let bar = match (length, bin.count) {
            (0, 0) => String::new(),
            (0, _) => ".".to_owned(),
            (n, _) => "#".repeat(usize::try_from(n).unwrap_or(0)),
        };
        let line = format!(
            "  {:>10} .. {:>10} µs {:>9}  {bar}",
            digits_of(bin.from_ns),
            digits_of(bin.to_ns),
            bin.count
        );
        text += line.trim_end();
        text += "\n";
    }
    text
}

#[expect(clippy::cast_precision_loss, reason = "display only")]
fn digits_of(ns: u64) -> String {
    format!("{:.1}", ns as f64 / 1e3)
}
