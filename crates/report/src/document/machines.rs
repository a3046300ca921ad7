// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines of a fleet: which are not like the others, what machines and what runs differ by, and the figures of each.

use punctual_model::{
    ComparisonScale, HistoryDirection, Machines, MachinesDeviation, MachinesFigure, MachinesGroup,
    MachinesOutlier, MachinesOutlierFigure, Ordered as _,
};

use super::comparison::unreadable;
use super::history::by_share;
use super::named::counted;
use super::parts::{
    Answer, Block, Document, Ids, KeyFigure, Reason, Section, Table, Tone, remarks,
};
use crate::chart::{self, Axis, Chart, Drawing, Mark, Point, Shape};
use crate::clock_or_count::Times;
use crate::number::{digits, percent};

/// Outliers that an answer names.
const NAMED: usize = 5;

/// Charts of a group: further figures have their rows in the tables.
const CHARTS: usize = 4;

/// Adds a fleet.
pub(super) fn add(document: &mut Document, ids: &mut Ids, fleet: &Machines) {
    document.answers.push(answer(fleet));
    for group in &fleet.groups {
        let title = match fleet.groups.len() {
            1 => "Machines".to_owned(),
            _ => format!("Machines with {}", group.name),
        };
        document.sections.push(Section {
            id: ids.make(&title),
            title,
            blocks: blocks(ids, group),
        });
    }
    let mut blocks = Vec::new();
    let items: Vec<(String, String)> = remarks(&fleet.remarks).collect();
    if !items.is_empty() {
        blocks.push(Block::items(items));
    }
    blocks.push(Block::Text(format!(
        "Method: each run counts once, and machines are compared with those of the same hardware and kernel that were measured in the same way. A machine is an outlier if it is farther from the others than a normal distribution allows (Rosner's test). Probability of any wrong outlier on this page, if machines are normally distributed: about {} (shared by {} of groups). Deviations between machines and between runs are those of a one-way random model, without outliers.",
        percent(fleet.method.level),
        counted(fleet.method.tests, "figure"),
    )));
    document.sections.push(Section {
        id: ids.make("Machines method"),
        title: "How it was judged".to_owned(),
        blocks,
    });
}

/// A title for pages of it.
pub(super) fn title(fleet: &Machines) -> String {
    format!("Fleet of {}", counted(machines(fleet), "machine"))
}

fn machines(fleet: &Machines) -> u64 {
    let mut names: Vec<&str> = fleet
        .groups
        .iter()
        .flat_map(|group| &group.machines)
        .map(|machine| machine.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.len() as u64
}

fn answer(fleet: &Machines) -> Answer {
    let times = Times::of_machines(fleet);
    let outliers: Vec<(&MachinesGroup, &MachinesOutlier)> = fleet
        .groups
        .iter()
        .flat_map(|group| group.outliers.iter().map(move |outlier| (group, outlier)))
        .collect();
    let figures = || fleet.groups.iter().flat_map(|group| &group.figures);
    let judged = figures().filter(|figure| figure.judged).count();
    let runs: u64 = fleet
        .groups
        .iter()
        .flat_map(|group| &group.machines)
        .map(|machine| machine.runs)
        .sum();
    let of = format!(
        "{} with {}",
        counted(machines(fleet), "machine"),
        counted(runs, "run")
    );
    let worse = |(_, outlier): &(&MachinesGroup, &MachinesOutlier)| {
        let mut figures = outlier.figures.iter();
        figures.any(|figure| figure.direction != HistoryDirection::Better)
    };
    let (tone, word, sentence) = match outliers.as_slice() {
        [] if judged == 0 => (
            Tone::Doubtful,
            "too few machines",
            format!(
                "No group of {of} has the {} machines that it takes to say which is not like the others.",
                fleet.method.least_machines
            ),
        ),
        [] => (
            Tone::Good,
            "no outlier",
            format!("None of {of} is unlike the others of its group."),
        ),
        some => {
            let named: Vec<String> = some
                .iter()
                .take(NAMED)
                .map(|(group, one)| named(group, one))
                .collect();
            let more = match some.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            (
                match some.iter().any(worse) {
                    true => Tone::Bad,
                    false => Tone::Plain,
                },
                "outliers",
                format!(
                    "{} of {of} {} not like the others: {}{more}.",
                    some.len(),
                    if some.len() == 1 { "is" } else { "are" },
                    named.join(", ")
                ),
            )
        }
    };
    let groups = fleet.groups.iter();
    let each = groups.flat_map(|group| group.figures.iter().map(move |figure| (group, figure)));
    let key = each
        .filter(|(_, figure)| figure.judged)
        .take(4)
        .map(|(group, figure)| {
            let times = Times::of_group(group);
            let (unit, scale) = times.unit(&figure.unit);
            KeyFigure {
                name: times.verdict(&*figure.figure),
                value: format!("{} {unit}", digits(figure.mean / scale))
                    .trim_end()
                    .to_owned(),
                detail: format!(
                    "between machines {}, between runs {}",
                    deviation(times, figure, figure.between_machines.as_ref()),
                    deviation(times, figure, figure.between_runs.as_ref())
                ),
            }
        });
    let unjudged = figures().count() - judged;
    let mut validity = Vec::new();
    if unjudged > 0 {
        let text = format!(
            "not judged: {} of groups",
            counted(unjudged as u64, "figure")
        );
        validity.push(Reason::fault(text));
    }
    validity.extend(unreadable(&fleet.refused));
    Answer {
        tone,
        word: times.verdict(word),
        sentence: times.heading(sentence.trim_end_matches('.')) + ".",
        figures: key.collect(),
        validity,
    }
}

/// `rig37 (p99 +31 %)`.
fn named(group: &MachinesGroup, outlier: &MachinesOutlier) -> String {
    let largest = outlier.figures.first();
    let more = outlier.figures.len().saturating_sub(1);
    let more = match more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    largest.map_or_else(
        || outlier.machine.clone(),
        |figure| {
            let size = size(group, figure);
            format!("{} ({} {size}{more})", outlier.machine, figure.figure)
        },
    )
}

fn size(group: &MachinesGroup, of: &MachinesOutlierFigure) -> String {
    match of.ratio {
        Some(ratio) => by_share(ratio),
        None => {
            let mut figures = group.figures.iter();
            let found = figures.find(|figure| figure.figure == of.figure);
            let raw = found.map_or("", |figure| figure.unit.as_str());
            let (unit, scale) = Times::of_group(group).unit(raw);
            format!("{:+.4} {unit}", of.difference / scale)
        }
    }
}

fn deviation(
    times: Times,
    figure: &MachinesFigure,
    deviation: Option<&MachinesDeviation>,
) -> String {
    let Some(deviation) = deviation else {
        return "-".to_owned();
    };
    let shown = |x: f64| share(times, figure, x);
    match &deviation.interval {
        Some(interval) => format!(
            "{} ({} .. {})",
            shown(deviation.estimate),
            shown(interval.low),
            shown(interval.high)
        ),
        None => shown(deviation.estimate),
    }
}

fn share(times: Times, figure: &MachinesFigure, x: f64) -> String {
    let (unit, scale) = times.unit(&figure.unit);
    match figure.scale {
        ComparisonScale::Log => format!("{:.1} %", x * 100.0),
        ComparisonScale::Linear => format!("{} {unit}", digits(x / scale)),
    }
}

fn blocks(ids: &mut Ids, group: &MachinesGroup) -> Vec<Block> {
    let mut blocks = Vec::new();
    for outlier in &group.outliers {
        let sizes: Vec<String> = outlier
            .figures
            .iter()
            .map(|figure| format!("{} {}", figure.figure, size(group, figure)))
            .collect();
        let facts = outlier.differs.iter();
        let mut items: Vec<(String, String)> = facts
            .map(|fact| (fact.id.clone(), fact.detail.clone()))
            .collect();
        if items.is_empty() {
            let nothing = "no recorded fact or finding that most of the others do not have too";
            items.push(("differs".to_owned(), nothing.to_owned()));
        }
        blocks.push(Block::Part(
            format!("{}: {}", outlier.machine, sizes.join(", ")),
            vec![Block::items(items)],
        ));
    }
    blocks.push(Block::Table(summary(group)));
    blocks.push(Block::Drawing(
        Box::new(Drawing::Chart(match group.figures.first() {
            Some(figure) => chart(ids, group, figure),
            None => return blocks,
        })),
        Some(every(group)),
    ));
    for figure in group.figures.iter().take(CHARTS).skip(1) {
        let chart = chart(ids, group, figure);
        blocks.push(Block::Drawing(Box::new(Drawing::Chart(chart)), None));
    }
    blocks
}

fn summary(group: &MachinesGroup) -> Table {
    let times = Times::of_group(group);
    let rows = group.figures.iter().map(|figure| {
        let (unit, scale) = times.unit(&figure.unit);
        let outliers = figure.machines.iter().filter(|value| value.outlier).count();
        [
            format!("{} {unit}", figure.figure).trim_end().to_owned(),
            figure.machines.len().to_string(),
            digits(figure.mean / scale),
            figure.interval.map_or_else(String::new, |interval| {
                format!(
                    "{} .. {}",
                    digits(interval.low / scale),
                    digits(interval.high / scale)
                )
            }),
            deviation(times, figure, figure.between_machines.as_ref()),
            deviation(times, figure, figure.between_runs.as_ref()),
            match (figure.judged, &figure.withheld) {
                (true, _) => outliers.to_string(),
                (false, Some(_)) => times.verdict("unequal lengths"),
                (false, None) => times.verdict("too few machines"),
            },
        ]
    });
    let mut table = Table::of(
        times.heading("What machines and what runs of one machine differ by"),
        "<Figure|?Machines|Mean|??<95 % interval|<Between machines|<Between runs|<Outliers",
    )
    .with(rows);
    table
        .notes
        .push("Deviations with their 95 % intervals, without the outliers.".to_owned());
    table
}

/// The figures of every machine.
fn every(group: &MachinesGroup) -> Table {
    let times = Times::of_group(group);
    let mut columns = vec!["<Machine".to_owned(), "Runs".to_owned()];
    for figure in &group.figures {
        let (unit, _) = times.unit(&figure.unit);
        columns.push(format!("{} {unit}", figure.figure).trim_end().to_owned());
        columns.push("<95 % interval".to_owned());
    }
    columns.push("<Outlier".to_owned());
    let names: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut rows: Vec<Vec<String>> = group
        .machines
        .iter()
        .map(|machine| vec![machine.name.clone(), machine.runs.to_string()])
        .collect();
    let mut marked = vec![false; rows.len()];
    for (number, figure) in group.figures.iter().enumerate() {
        let (_, scale) = times.unit(&figure.unit);
        for value in &figure.machines {
            let at = usize::try_from(value.machine).unwrap_or(usize::MAX);
            if let (Some(row), Some(mark)) = (rows.get_mut(at), marked.get_mut(at)) {
                row.push(digits(value.estimate / scale));
                row.push(value.interval.map_or_else(String::new, |interval| {
                    format!(
                        "{} .. {}",
                        digits(interval.low / scale),
                        digits(interval.high / scale)
                    )
                }));
                *mark |= value.outlier;
            }
        }
        // A machine without the figure has empty cells.
        rows.iter_mut()
            .for_each(|row| row.resize(4 + 2 * number, String::new()));
    }
    for (row, mark) in rows.iter_mut().zip(marked) {
        row.push(if mark { "OUTLIER" } else { "" }.to_owned());
    }
    let mut table = Table::new(times.heading("Every machine"), &names).with(rows);
    table.aside = true;
    table
}

fn chart(ids: &mut Ids, group: &MachinesGroup, figure: &MachinesFigure) -> Chart {
    let times = Times::of_group(group);
    let (unit, scale) = times.unit(&figure.unit);
    let heading = match unit.as_ref() {
        "" => times.verdict(format!("{} of each machine", figure.figure)),
        unit => format!("{} of each machine, {unit}", figure.figure),
    };
    let mut order: Vec<&punctual_model::MachinesValue> = figure.machines.iter().collect();
    order.order_by(|a, b| a.estimate.total_cmp(&b.estimate));
    let mut parts = [Vec::new(), Vec::new()];
    for (place, value) in order.into_iter().enumerate() {
        let ends = value.interval.map(|i| (i.low / scale, i.high / scale));
        let mut point = Point::at(place as f64 + 1.0, value.estimate / scale)
            .within(ends)
            .of(value.runs);
        let at = usize::try_from(value.machine).unwrap_or(usize::MAX);
        point.label = group.machines.get(at).map(|machine| machine.name.clone());
        parts[usize::from(value.outlier)].push(point);
    }
    let [usual, outliers] = parts;
    let drawn = [("machines", usual), ("outliers", outliers)].into_iter();
    let series = drawn
        .filter(|(_, points)| !points.is_empty())
        .map(|(name, points)| {
            chart::Series::new(
                name,
                counted(points.len() as u64, "machine"),
                Shape::Points,
                points,
                times.validity(true),
            )
        });
    let series: Vec<chart::Series> = series.collect();
    let values = figure.machines.iter().map(|value| value.estimate / scale);
    Chart {
        id: ids.make(&format!("fleet-{}", figure.figure)),
        title: heading.clone(),
        note: "Each dot is a machine, from the lowest to the highest; bars are the 95 % intervals of its own runs.".to_owned(),
        x: Axis::linear("Machine, by its figure"),
        y: Axis::fitting(heading, values),
        series,
        marks: vec![Mark {
            name: "mean without outliers".to_owned(),
            at: figure.mean / scale,
            upright: false,
        }],
    }
}
