// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs over time: where figures changed, the series behind that, and how much runs vary without a change.

use punctual_model::{
    Effect, History, HistoryChange, HistoryDirection, HistoryLine, HistoryRun, HistorySeries,
    HistoryVerdict,
};

use super::comparison::unreadable;
use super::named::counted;
use super::parts::{
    Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone, remarks,
};
use super::verdicts::p_value;
use crate::chart::scale::counted_stretches;
use crate::chart::{self, Axis, Chart, Drawing, Mark, Point, Shape, Validity};
use crate::clock_or_count::Times;
use crate::number::{digits, percent};

/// Changes that an answer names.
const NAMED: usize = 3;

/// Charts of a line: further figures have their rows in the tables.
const CHARTS: usize = 8;

/// Adds a history.
pub(super) fn add(document: &mut Document, ids: &mut Ids, history: &History) {
    document.answers.push(answer(history));
    let several = history.lines.len() > 1;
    for line in &history.lines {
        let title = match several {
            true => format!("History of {}", line.name),
            false => "History".to_owned(),
        };
        document.sections.push(Section {
            id: ids.make(&title),
            title,
            blocks: line_blocks(ids, history, line),
        });
    }
    let items: Vec<(String, String)> = remarks(&history.remarks).collect();
    let mut blocks = Vec::new();
    if !items.is_empty() {
        blocks.push(Block::items(items));
    }
    blocks.push(Block::Text(method(history)));
    if !history.refused.is_empty() {
        let refused = history.refused.iter();
        let rows = refused.map(|run| [run.id.clone(), run.reason.clone()]);
        let table = Table::new("Runs that were left out", &["<Run", "<Reason"]).with(rows);
        let caption = counted(history.refused.len() as u64, "run");
        blocks.push(Block::Fold(
            format!("{caption} left out"),
            vec![Block::Table(table)],
        ));
    }
    document.sections.push(Section {
        id: ids.make("History method"),
        title: "How it was judged".to_owned(),
        blocks,
    });
}

/// A title for pages of it.
pub(super) fn title(history: &History) -> String {
    match history.lines.as_slice() {
        [line] => format!("History of {}", line.name),
        lines => format!("History of {} series", lines.len()),
    }
}

type Found<'a> = (&'a HistoryLine, &'a HistorySeries, &'a HistoryChange);

fn found(history: &History) -> Vec<Found<'_>> {
    let mut all = Vec::new();
    for line in &history.lines {
        for series in &line.series {
            all.extend(series.changes.iter().map(|change| (line, series, change)));
        }
    }
    all
}

fn answer(history: &History) -> Answer {
    let times = Times::of_history(history);
    let changes = found(history);
    let new: Vec<&Found<'_>> = changes.iter().filter(|(.., change)| change.new).collect();
    let series = history.lines.iter().flat_map(|line| &line.series);
    let is_judged = |series: &&HistorySeries| series.verdict != HistoryVerdict::TooFewRuns;
    let (judged, all) = (series.clone().filter(is_judged).count(), series.count());
    let is_worse = |found: &&&Found<'_>| found.2.direction == HistoryDirection::Worse;
    // Runs of which nothing was judged are not among those without a change.
    let judged_runs = |line: &HistoryLine| {
        let judged: Vec<&HistorySeries> = line.series.iter().filter(is_judged).collect();
        let has = |at: &usize| {
            let mut values = judged.iter().map(|series| series.values.get(*at));
            values.any(|value| value.is_some_and(Option::is_some))
        };
        (0..line.runs.len()).filter(has).count()
    };
    let runs: usize = history.lines.iter().map(judged_runs).sum();
    let of = format!(
        "{} of {}",
        series_of(judged as u64),
        counted(runs as u64, "run")
    );
    // One reason for all of them.
    let withheld = || {
        let mut details = history.lines.iter().flat_map(|line| &line.series);
        let first = &details.next()?.withheld.as_ref()?.detail;
        let same = |of: &HistorySeries| of.withheld.as_ref().is_some_and(|of| of.detail == *first);
        details.all(same).then_some(first)
    };
    let (tone, word, sentence) = match (new.as_slice(), changes.len()) {
        ([], 0) if judged == 0 => (
            Tone::Doubtful,
            "too few runs",
            match withheld() {
                Some(detail) => format!("No verdict: {detail}."),
                None => format!(
                    "No series is long enough: finding a change takes {} runs of one machine, measured in one way.",
                    punctual_stats::history::LEAST_RUNS
                ),
            },
        ),
        ([], 0) => (
            Tone::Good,
            "no change",
            format!("No change was found in {of}."),
        ),
        ([], n) => (
            Tone::Plain,
            "no new change",
            format!(
                "{} in {of}; none in the newest {} runs is significant enough for a nightly check. {}",
                counted(n as u64, "change"),
                history.method.recent,
                sentences(history, &changes.iter().rev().collect::<Vec<_>>())
            ),
        ),
        (new, _) => (
            match new.iter().any(|found| is_worse(&found)) {
                true => Tone::Bad,
                false => Tone::Plain,
            },
            "new change",
            sentences(history, new),
        ),
    };
    let figures = new.iter().take(4).map(|(line, series, change)| KeyFigure {
        name: Times::of_line(line).verdict(match history.lines.len() {
            1 => series.figure.clone(),
            _ => format!("{} of {}", series.figure, line.name),
        }),
        value: size(line, series, change),
        detail: format!(
            "{}; {}",
            interval(line, series, change),
            p_value(change.p).replace("< ", "p < ")
        ),
    });
    let mut validity = Vec::new();
    if judged < all {
        let short = series_of((all - judged) as u64);
        validity.push(Reason::fault(format!(
            "too few runs or no verdict: {short}"
        )));
    }
    for (of, what) in [
        (Validity::Invalid, "not valid"),
        (Validity::Imported, "not checked"),
    ] {
        let runs = history.lines.iter().flat_map(|line| &line.runs);
        let of = runs
            .filter(|run| !run.valid && validity_of(history, run, &times) == of)
            .count();
        if of > 0 {
            let of = counted(of as u64, "run");
            validity.push(Reason::fault(format!("{of} {what}")));
        }
    }
    validity.extend(unreadable(&history.refused));
    Answer {
        tone,
        word: times.verdict(word),
        sentence: times.heading(sentence.trim_end_matches('.')) + ".",
        figures: figures.collect(),
        validity,
    }
}

/// `p99 is 12 % higher since ...`, a sentence for each of the first changes, and how many more there are.
fn sentences(history: &History, changes: &[&Found<'_>]) -> String {
    let several = history.lines.len() > 1;
    let one = |(line, series, change): &&Found<'_>| {
        let of = match several {
            true => format!(" of {}", line.name),
            false => String::new(),
        };
        format!(
            "{}{of}: {} since {} ({}; {}).",
            series.figure,
            size(line, series, change),
            place(line, change.run),
            interval(line, series, change),
            Times::of_line(line).verdict(direction(change.direction)),
        )
    };
    let mut said: Vec<String> = changes.iter().take(NAMED).map(one).collect();
    if changes.len() > NAMED {
        let more = changes.len() - NAMED;
        said.push(format!("{} below.", counted(more as u64, "more change")));
    }
    said.join(" ")
}

const fn direction(direction: HistoryDirection) -> &'static str {
    match direction {
        HistoryDirection::Better => "better",
        HistoryDirection::Worse => "worse",
        HistoryDirection::Different => "different",
        HistoryDirection::Unclear => "direction unclear",
    }
}

/// `+12.3 %`, or a difference with its unit.
fn size(line: &HistoryLine, series: &HistorySeries, change: &HistoryChange) -> String {
    match &change.ratio {
        Some(ratio) => by_share(ratio.estimate),
        None => {
            let (unit, scale) = Times::of_line(line).unit(&series.unit);
            let (text, _) = crate::number::difference(&change.difference, scale);
            format!("{text} {unit}").trim_end().to_owned()
        }
    }
}

pub(super) fn by_share(ratio: f64) -> String {
    match ratio {
        ratio if ratio >= 3.0 => format!("×{}", digits(ratio)),
        ratio => format!("{:+.1} %", (ratio - 1.0) * 100.0),
    }
}

fn interval(line: &HistoryLine, series: &HistorySeries, change: &HistoryChange) -> String {
    let ends = |effect: &Effect, text: &dyn Fn(f64) -> String| {
        effect.interval.map(|interval| {
            let (low, high) = (text(interval.low), text(interval.high));
            format!("{} interval {low} to {high}", percent(interval.confidence))
        })
    };
    let told = match &change.ratio {
        Some(ratio) => ends(ratio, &by_share),
        None => {
            let (unit, scale) = Times::of_line(line).unit(&series.unit);
            ends(&change.difference, &|x| {
                format!("{} {unit}", digits(x / scale))
            })
        }
    };
    told.unwrap_or_else(|| "no interval".to_owned())
}

/// What a run is called among those of its line.
fn place(line: &HistoryLine, number: u64) -> String {
    let number = usize::try_from(number).unwrap_or(usize::MAX);
    line.runs.get(number).map_or_else(String::new, called)
}

/// How far a run of `history` can be believed. Files of older programs do not say which runs were imported, but that some were.
fn validity_of(history: &History, run: &HistoryRun, times: &Times) -> Validity {
    let mut runs = history.lines.iter().flat_map(|line| &line.runs);
    let says = |history: &History| history.remarks.iter().any(|remark| remark.id == "imported");
    match run.imported || (!run.valid && says(history) && !runs.any(|run| run.imported)) {
        true => Validity::Imported,
        false => times.validity(run.valid),
    }
}

fn called(run: &HistoryRun) -> String {
    let label = run.label.as_ref().or(run.name.as_ref());
    let date = run.started.as_deref().and_then(|at| at.get(..16));
    let date = date.map(|at| at.replace('T', " "));
    match (label, date) {
        (Some(label), Some(date)) if !date.starts_with(label.as_str()) => {
            format!("{} ({date})", shortened(label))
        }
        (Some(label), _) => shortened(label),
        (None, Some(date)) => date,
        (None, None) => run.id.clone(),
    }
}

/// A label shortened to what identifies it: a commit's first digits, a kernel's release without its build date.
fn shortened(label: &str) -> String {
    const MOST: usize = 40;
    match label.chars().count() {
        n if n > MOST => label.chars().take(MOST - 1).chain(['…']).collect(),
        _ => label.to_owned(),
    }
}

fn line_blocks(ids: &mut Ids, history: &History, line: &HistoryLine) -> Vec<Block> {
    let times = Times::of_line(line);
    let mut blocks = Vec::new();
    let changes: Vec<(&HistorySeries, &HistoryChange)> = line
        .series
        .iter()
        .flat_map(|series| series.changes.iter().map(move |change| (series, change)))
        .collect();
    if !changes.is_empty() {
        let rows = changes.iter().map(|(series, change)| {
            let between = match (change.earliest, change.latest) {
                (a, b) if a == b => "this run".to_owned(),
                (a, b) => format!("{} .. {}", a + 1, b + 1),
            };
            [
                series.figure.clone(),
                place(line, change.run),
                (change.run + 1).to_string(),
                between,
                size(line, series, change),
                interval(line, series, change).replace("95 % interval ", ""),
                p_value(change.p),
                times.verdict(match change.new {
                    true => format!("NEW, {}", direction(change.direction)),
                    false => direction(change.direction).to_owned(),
                }),
            ]
        });
        let mut table = Table::of(
            times.heading("Changes"),
            "<Figure|<Since|Run|?<May be run|Change|?<95 % interval|??p|<Verdict",
        )
        .with(rows);
        table.notes.push(format!(
            "Run: the first of {} after the change. May be run: each interval of places holds the true one with a probability of {}.",
            line.runs.len(),
            percent(history.method.confidence)
        ));
        blocks.push(Block::Table(table));
    }
    match line.series.is_empty() {
        true => blocks.push(Block::Text(
            "None of these runs has a figure that was asked for.".to_owned(),
        )),
        false => blocks.push(Block::Table(levels(line))),
    }
    let mut said: Vec<&[punctual_model::Finding]> = Vec::new();
    for (series, change) in &changes {
        // Figures that change together differ in the same.
        if !change.differs.is_empty() && !said.contains(&change.differs.as_slice()) {
            said.push(&change.differs);
            let items = change.differs.iter();
            let items = items.map(|fact| ("differs".to_owned(), fact.detail.clone()));
            blocks.push(Block::Part(
                format!(
                    "What differs before and after the change of {} at {}",
                    series.figure,
                    place(line, change.run)
                ),
                vec![Block::items(items)],
            ));
        }
    }
    blocks.extend(
        line.series
            .iter()
            .take(CHARTS)
            .map(|series| chart(ids, history, line, series)),
    );
    if line.series.len() > CHARTS {
        let more = line.series.len() - CHARTS;
        blocks.push(Block::Text(format!(
            "Not drawn: {more} more figures; --metric chooses them."
        )));
    }
    blocks
}

fn levels(line: &HistoryLine) -> Table {
    let times = Times::of_line(line);
    let rows = line.series.iter().map(|series| {
        let (unit, scale) = Times::of_line(line).unit(&series.unit);
        let now = series.segments.last();
        let share = |x: f64| match &series.scale {
            punctual_model::ComparisonScale::Log => format!("{:.1} %", x * 100.0),
            punctual_model::ComparisonScale::Linear => format!("{} {unit}", digits(x / scale)),
        };
        let ends = series.deviation_interval;
        [
            format!("{} {unit}", series.figure).trim_end().to_owned(),
            series.values.iter().flatten().count().to_string(),
            now.map_or_else(|| "-".to_owned(), |now| digits(now.estimate / scale)),
            now.and_then(|now| now.interval)
                .map_or_else(String::new, |interval| {
                    format!(
                        "{} .. {}",
                        digits(interval.low / scale),
                        digits(interval.high / scale)
                    )
                }),
            series.deviation.map_or_else(|| "-".to_owned(), share),
            ends.map_or_else(String::new, |ends| {
                format!("{} .. {}", share(ends.low), share(ends.high))
            }),
            times.verdict(match (series.verdict, &series.withheld) {
                (_, Some(withheld)) => punctual_verdict::words::obstacle(withheld.reason),
                (HistoryVerdict::Changed, _) => "changed",
                (HistoryVerdict::NoChange, _) => "no change",
                (HistoryVerdict::TooFewRuns, _) => "too few runs",
            }),
        ]
    });
    let mut table = Table::of(
        times.heading("Level since the last change, and how runs vary without one"),
        "<Figure|Runs|Level|?<95 % interval|Deviation|?<its interval|<Verdict",
    )
    .with(rows)
    .without_empty_columns();
    let resemble = line.series.iter().filter(|series| series.correlation > 0.0);
    let resemble: Vec<String> = resemble
        .map(|series| format!("{} {:.2}", series.figure, series.correlation))
        .collect();
    if !resemble.is_empty() {
        table.notes.push(format!(
            "Neighbouring runs resemble each other; this correlation was allowed for: {}. It is an estimate from {}, \
             rather too high than too low.{}",
            resemble.join(", "),
            counted(line.runs.len() as u64, "run"),
            match line.series.iter().any(|series| series.correlation > 0.6) {
                true =>
                    " Above 0.6, up to twice as many wrong changes were found as the method says.",
                false => "",
            }
        ));
    }
    table
}

fn chart(ids: &mut Ids, history: &History, line: &HistoryLine, series: &HistorySeries) -> Block {
    let (unit, scale) = Times::of_line(line).unit(&series.unit);
    let heading = match unit.as_ref() {
        "" => Times::of_line(line).verdict(format!("{} of each run", series.figure)),
        unit => format!("{} of each run, {unit}", series.figure),
    };
    let times = Times::of_line(line);
    let mut parts: Vec<(Validity, Vec<Point>)> = Vec::new();
    let mut table = Table::new(
        times.heading(&heading),
        &["Run", "<Called", "<Valid", "Value"],
    );
    table.aside = true;
    for (number, (run, value)) in line.runs.iter().zip(&series.values).enumerate() {
        let Some(value) = value else { continue };
        let mut point = Point::at(number as f64 + 1.0, value / scale);
        point.label = Some(called(run));
        let validity = validity_of(history, run, &times);
        match parts.iter_mut().find(|(of, _)| *of == validity) {
            Some((_, points)) => points.push(point),
            None => parts.push((validity, vec![point])),
        }
        table.rows.push(vec![
            (number + 1).to_string(),
            called(run),
            validity.cell(),
            digits(value / scale),
        ]);
    }
    // Those that hold first.
    parts.sort_by_key(|(validity, _)| !validity.is_valid());
    let mut drawn: Vec<chart::Series> = parts
        .into_iter()
        .map(|(validity, points)| {
            let n = counted(points.len() as u64, "run");
            chart::Series::new("runs", n, Shape::Points, points, validity)
        })
        .collect();
    let mut level = Vec::new();
    for segment in &series.segments {
        level
            .push(Point::at(segment.first as f64 + 0.5, segment.estimate / scale).of(segment.runs));
        level.push(Point::end(segment.last as f64 + 1.5));
    }
    if !level.is_empty() {
        drawn.push(chart::Series::new(
            "level",
            counted_stretches(series.segments.len()),
            Shape::Step,
            level,
            times.validity(true),
        ));
    }
    let marks = series.changes.iter().map(|change| Mark {
        name: format!(
            "{} at {}",
            size(line, series, change),
            place(line, change.run)
        ),
        at: change.run as f64 + 0.5,
        upright: true,
    });
    let values = series.values.iter().flatten().map(|value| value / scale);
    let chart = Chart {
        id: ids.make(&format!("history-{}", series.figure)),
        title: heading.clone(),
        note: format!(
            "Each dot is one run, in order; lines are the levels between changes. {}",
            match (series.changes.len(), series.verdict) {
                (0, HistoryVerdict::TooFewRuns) => "No change was looked for.".to_owned(),
                (0, _) => "No change was found.".to_owned(),
                (n, _) => format!("{}, marked.", counted(n as u64, "change")),
            }
        ),
        x: Axis::linear(match history.method.by.as_str() {
            "run" => "Run, by start".to_owned(),
            by => format!("Run, by {by}"),
        }),
        y: Axis::fitting(heading, values),
        series: drawn,
        marks: marks.collect(),
    };
    Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))
}

fn series_of(count: u64) -> String {
    format!("{count} series")
}

fn method(history: &History) -> String {
    let method = &history.method;
    let between = match method.by.as_str() {
        "run" => "any two runs",
        "commit" => "two commits",
        "kernel" => "two kernels",
        _ => "two days",
    };
    let shared = match method.series {
        1 => String::new(),
        n => format!(" ({} share it)", series_of(n)),
    };
    format!(
        "Method: each run counts once. A change may lie between {between}; it is looked for with permutations of the runs, and the correlation of neighbouring runs is allowed for. Probability of any wrong change on this page: at most {}{shared}, and somewhat more where neighbouring runs are a little alike. A change is new if it lies in the newest {} runs and passes a level of {:.2} %: of a hundred looks, one after each run, at most {} of series without a change raise an alarm.",
        percent(method.level),
        method.recent,
        method.look_level * 100.0,
        percent(method.level),
    )
}
