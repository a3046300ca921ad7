// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Published studies as text: what they are, and what they say here.

use punctual_model::{
    ComparisonScale, ComparisonVerdict, GuestTime, PublishedTable, RealTimeClass, StudyAnswer,
    StudyDirection, StudyFacts, StudyJoint, StudyKernel, StudyPart, StudyPicture, StudyReport,
    StudyResult, StudyRow,
};

use super::comparison::{NO_INTERVAL, NO_RATIO, NO_TEST, NO_VALUE, digits, p_value, range, unit};
use super::layout::{Column, clean, paragraph, table, wrapped};
use super::number::{Missing, percent};

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
    sections.extend(study.published.iter().map(published));
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

fn published(published: &PublishedTable) -> String {
    let header: Vec<(&str, Column)> = published
        .columns
        .iter()
        .enumerate()
        .map(|(at, title)| {
            let kind = if at == 0 { Column::Left } else { Column::Right };
            (title.as_str(), kind)
        })
        .collect();
    let title = wrapped("Published: ", 1, &published.title);
    title + &table(&header, published.rows.clone())
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
        text += &part(at);
    }
    let answers: Vec<String> = result.answers.iter().map(answer).collect();
    text + "\n" + &answers.join("\n")
}

fn part(part: &StudyPart) -> String {
    let mut text = String::new();
    match &part.experiment {
        None => {}
        Some(name) => {
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
            text += &paragraph(
                "Measured",
                &format!(
                    "{}: {}; {} of {} runs valid{also}; {state}",
                    clean(name),
                    part.title,
                    part.valid,
                    part.planned
                ),
            );
        }
    }
    if !part.kernels.is_empty() {
        let kernels: Vec<String> = part.kernels.iter().map(kernel).collect();
        text += &paragraph("Kernels", &kernels.join("; "));
    }
    for skipped in &part.skipped {
        let line = format!("{}: {}", clean(&skipped.what), clean(&skipped.reason));
        text += &paragraph("Skipped", &line);
    }
    text
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
        text += &wrapped(" ", 3, super::guest::HEADING.trim_end());
    }
    text += &wrapped(" here: ", 3, &clean(&answer.conclusion));
    if !answer.joint.is_empty() {
        let joint: Vec<String> = answer.joint.iter().map(all_alike).collect();
        text += &wrapped(" all at once: ", 3, &joint.join("; "));
    }
    let mut figures: Vec<&str> = Vec::new();
    for row in &answer.rows {
        if !figures.contains(&row.figure.as_str()) {
            figures.push(&row.figure);
        }
    }
    let classes = answer.rows.iter().any(|row| row.class.is_some());
    let compared = answer.rows.iter().any(|row| row.verdict.is_some());
    if classes {
        text += &classes_table(&answer.rows);
        figures.clear();
    }
    for figure in figures {
        let rows: Vec<&StudyRow> = answer.rows.iter().filter(|r| r.figure == figure).collect();
        text += &match compared {
            true => comparison_table(&rows),
            false => estimates_table(&rows),
        };
    }
    for picture in &answer.pictures {
        text += &bars(picture);
    }
    for found in &answer.findings {
        let lead = format!(
            "{}, {} of {} runs of {}: {}",
            found.id, found.runs, found.of, found.cell, found.detail
        );
        text += &wrapped(" ", 3, &clean(&lead));
    }
    if answer.rows.iter().any(|row| row.more_runs.is_some()) {
        text += " (+n): so many more blocks would decide; + or - before a number in place of a ratio: a difference\n";
    }
    if let Some(method) = &answer.method {
        text += &wrapped(" method: ", 3, method);
    }
    text
}

fn all_alike(joint: &StudyJoint) -> String {
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

fn measured(missing: &mut Missing, row: &StudyRow) -> [String; 3] {
    let (_, scale) = unit(&row.unit);
    [
        row.runs.to_string(),
        missing.or(row.estimate.map(|x| digits(x / scale)), NO_VALUE),
        missing.or(row.interval.map(|ends| range(&ends, scale)), NO_INTERVAL),
    ]
}

fn comparison_table(rows: &[&StudyRow]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut missing = Missing::default();
    let (shown, scale) = unit(&first.unit);
    let published = rows.iter().any(|row| row.published.is_some());
    let ratios = rows.iter().any(|row| row.published_ratio.is_some());
    let several = rows.iter().any(|row| row.runs != first.runs);
    let directed = rows.iter().any(|row| {
        row.direction
            .is_some_and(|direction| direction != StudyDirection::NoClaim)
    });
    // What all cells begin with is the heading: the table is wide enough.
    let factor = first.cell.split_once('=');
    let factor = clean(factor.map_or("Cell", |(factor, _)| factor));
    let factor = factor.as_ref();
    let prefix = format!("{factor}=");
    let lines = rows
        .iter()
        .map(|row| {
            let name = row.cell.strip_prefix(&prefix).unwrap_or(&row.cell);
            let mut line = vec![clean(name).into_owned()];
            let [runs, estimate, interval] = measured(&mut missing, row);
            line.extend(several.then_some(runs));
            line.extend([estimate, interval]);
            line.extend(effect_of(&mut missing, row, scale, directed));
            if published {
                line.push(row.published.map(plain).unwrap_or_default());
            }
            if ratios {
                line.push(row.published_ratio.map(digits).unwrap_or_default());
            }
            line
        })
        .collect();
    let mut header = vec![(factor, Column::Left)];
    if several {
        header.push(("Runs", Column::Right));
    }
    header.extend([
        ("Here", Column::Right),
        ("interval", Column::Left),
        ("Ratio", Column::Right),
        ("interval", Column::Left),
        ("p", Column::Right),
        ("Verdict", Column::Text),
    ]);
    if published {
        header.push(("Published", Column::Right));
    }
    if ratios {
        header.push(("ratio", Column::Right));
    }
    let in_unit = match shown {
        "" => String::new(),
        shown => format!(" in {shown}"),
    };
    let runs = match several {
        true => String::new(),
        false => format!(", {} runs a cell", first.runs),
    };
    let of_work = rows.iter().find_map(|row| row.published_unit.clone());
    let of_work = of_work.map(|unit| format!("; published in {unit}"));
    let title = format!(
        "{}{in_unit}{runs}, with 95 % intervals{}",
        first.figure,
        of_work.unwrap_or_default()
    );
    wrapped(" ", 1, &title) + &table(&header, lines) + &missing.note()
}

/// The effect of a row with its interval, p-value and verdict.
fn effect_of(missing: &mut Missing, row: &StudyRow, scale: f64, directed: bool) -> [String; 4] {
    if row.verdict.is_none() {
        return ["(base)", "", "", ""].map(ToOwned::to_owned);
    }
    let linear = row.scale == Some(ComparisonScale::Linear);
    let (effect, scale) = match linear {
        true => (row.difference, scale),
        false => (row.ratio, 1.0),
    };
    let sign = |x: f64| match linear && x > 0.0 {
        true => format!("+{}", digits(x)),
        false => digits(x),
    };
    let ends = effect.and_then(|effect| effect.interval);
    [
        missing.or(effect.map(|e| sign(e.estimate / scale)), NO_RATIO),
        missing.or(ends.map(|ends| range(&ends, scale)), NO_INTERVAL),
        missing.or(row.p.map(p_value), NO_TEST),
        verdict(row, directed),
    ]
}

/// A published number as it was printed.
fn plain(x: f64) -> String {
    x.to_string()
}

fn verdict(row: &StudyRow, directed: bool) -> String {
    let verdict = match row.verdict {
        Some(ComparisonVerdict::Better) => "better".to_owned(),
        Some(ComparisonVerdict::Worse) => "worse".to_owned(),
        Some(ComparisonVerdict::Different) => "different".to_owned(),
        Some(ComparisonVerdict::Equivalent) => "the same".to_owned(),
        Some(ComparisonVerdict::NotDistinguishable) => "not distinguishable".to_owned(),
        Some(ComparisonVerdict::TooFewRuns) => match row.more_runs {
            Some(more) => format!("too few runs (+{more})"),
            None => "too few runs".to_owned(),
        },
        None => String::new(),
    };
    let direction = match row.direction {
        Some(StudyDirection::Same) => ", as published",
        Some(StudyDirection::Other) => ", not as published",
        _ => "",
    };
    match directed {
        true => verdict + direction,
        false => verdict,
    }
}

fn estimates_table(rows: &[&StudyRow]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let mut missing = Missing::default();
    let lines = rows
        .iter()
        .map(|row| {
            let mut line = vec![clean(&row.cell).into_owned()];
            line.extend(measured(&mut missing, row));
            line
        })
        .collect();
    let header = [
        ("Cell", Column::Left),
        ("Runs", Column::Right),
        ("Value", Column::Right),
        ("95 % interval", Column::Left),
    ];
    let (shown, _) = unit(&first.unit);
    let title = format!("{} {shown}", first.figure);
    wrapped(" ", 1, &clean(title.trim_end())) + &table(&header, lines) + &missing.note()
}

fn classes_table(rows: &[StudyRow]) -> String {
    let mut missing = Missing::default();
    let lines = rows
        .iter()
        .map(|row| {
            vec![
                clean(&row.cell).into_owned(),
                row.figure.trim_start_matches("missed:").to_owned(),
                row.runs.to_string(),
                missing.or(row.estimate.map(percent), NO_VALUE),
                missing.or(row.at_most.map(percent), NO_VALUE),
                match row.class {
                    Some(RealTimeClass::HundredPercent) => "100 %",
                    Some(RealTimeClass::NinetyFivePercent) => "95 %",
                    Some(RealTimeClass::Soft) => "soft",
                    None => "-",
                }
                .to_owned(),
            ]
        })
        .collect();
    let header = [
        ("Cell", Column::Left),
        ("Deadline", Column::Right),
        ("Runs", Column::Right),
        ("Missed", Column::Right),
        ("At most, worst run", Column::Right),
        ("Class", Column::Left),
    ];
    table(&header, lines) + &missing.note()
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
