// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results that are no latencies: GFLOPS against size, bandwidth between NUMA nodes, all others as a table.

use std::collections::BTreeSet;

use punctual_model::{
    Figure, Gathered as _, Instrument, Ordered as _, Picture, figure_heading, figure_words,
    label_words,
};

use super::named::counted;
use super::parts::{Block, Ids, Table};
use super::runs::Named;
use super::series::{of_run, valid_of};
use crate::chart::{self, Axis, Cell, Chart, Drawing, Heat, Mark, Point, Shape};
use crate::clock_or_count::Times;
use crate::number::{digits, percent};

/// The charts that figures of an instrument make.
pub(super) fn charts(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let of = runs
        .first()
        .and_then(|run| Instrument::of(&run.record().instrument));
    match of.map_or(Picture::None, |of| of.picture) {
        Picture::Sizes => linpack(ids, runs).into_iter().collect(),
        Picture::NodePairs => runs.iter().flat_map(|run| memory(ids, run)).collect(),
        Picture::Dots => rates(ids, runs).into_iter().collect(),
        Picture::None => Vec::new(),
    }
}

fn interval(figure: &Figure) -> Option<(f64, f64)> {
    figure.interval.map(|i| (i.low, i.high))
}

/// GFLOPS against the number of equations, a series a run.
fn linpack(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Block> {
    let mut series = Vec::new();
    let mut solved = 0;
    for (name, title) in [("gflops", "LINPACK"), ("product", "matrix product")] {
        for run in runs {
            let of = run.record().figures.iter().filter(|f| f.name == name);
            let point = |figure: &Figure| {
                let n: f64 = figure.labels.get("n")?.parse().ok()?;
                let point = Point::at(n, figure.value?);
                Some(point.within(interval(figure)).of(figure.count))
            };
            let mut points: Vec<Point> = of.filter_map(point).collect();
            points.order_by(|a, b| a.x.total_cmp(&b.x));
            if points.is_empty() {
                continue;
            }
            let count: u64 = points.iter().filter_map(|p| p.count).sum();
            solved += count;
            series.push(chart::Series::new(
                format!("{}, {title}", run.name),
                counted(count, "solution"),
                Shape::Dots,
                points,
                run.validity(),
            ));
        }
    }
    if series.is_empty() {
        return None;
    }
    let chart = Chart {
        id: ids.make("linpack-size"),
        title: "GFLOPS against problem size".to_owned(),
        note: format!(
            "{}; bars are 95 % intervals of the mean.",
            counted(solved, "solution")
        ),
        x: Axis::linear("Number of equations"),
        y: Axis::linear("GFLOPS"),
        series,
        marks: Vec::new(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), None))
}

/// A heat map for each loop: from which node's CPUs to which node's memory.
fn memory(ids: &mut Ids, run: &Named<'_>) -> Vec<Block> {
    let record = run.record();
    let label = |figure: &Figure, name: &str| figure.labels.get(name).cloned();
    let nodes = |name: &str| {
        let all: BTreeSet<String> = record
            .figures
            .iter()
            .filter_map(|f| label(f, name))
            .into_set();
        let mut all: Vec<String> = all.into_iter().collect();
        all.order_by_key(|n| n.parse::<u64>().unwrap_or(u64::MAX));
        all
    };
    let (rows, columns) = (nodes("cpu_node"), nodes("memory_node"));
    let mut blocks = Vec::new();
    let single = rows.len() * columns.len() <= 1;
    if single {
        blocks.extend(rates(ids, &[*run]));
    }
    let mut names: Vec<(String, String)> = Vec::new();
    for figure in record
        .figures
        .iter()
        .filter(|f| f.labels.contains_key("cpu_node"))
    {
        let key = (figure.name.clone(), figure.unit.clone());
        if !names.contains(&key) {
            names.push(key);
        }
    }
    for (name, unit) in names {
        let of: Vec<&Figure> = record
            .figures
            .iter()
            .filter(|f| f.name == name && f.unit == unit)
            .collect();
        let cell = |figure: &&Figure| {
            let row = rows
                .iter()
                .position(|n| label(figure, "cpu_node").as_ref() == Some(n))?;
            let column = columns
                .iter()
                .position(|n| label(figure, "memory_node").as_ref() == Some(n))?;
            Some(Cell {
                row,
                column,
                value: figure.value?,
                count: figure.count,
            })
        };
        let cells: Vec<Cell> = of.iter().filter_map(cell).collect();
        if cells.is_empty() || single {
            continue;
        }
        let observations: u64 = cells.iter().map(|c| c.count).sum();
        let shown = Times::of_run(record).of_figure(&unit).into_owned();
        let node =
            |names: &[String], what: &str| names.iter().map(|n| format!("{what} {n}")).collect();
        blocks.push(Block::Drawing(
            Box::new(Drawing::Heat(Heat {
                id: ids.make(&format!("memory-{name}-{}", run.name)),
                title: figure_heading(&name, &shown),
                note: format!(
                    "{}, the mean of each pair of nodes, {}.",
                    counted(observations, "observation"),
                    run.name
                ),
                x_label: "memory node".to_owned(),
                y_label: "CPU node".to_owned(),
                columns: node(&columns, "memory"),
                rows: node(&rows, "CPUs"),
                unit: shown,
                cells,
                validity: run.validity(),
                name: run.name.to_owned(),
            })),
            None,
        ));
    }
    blocks
}

/// The figures of the unit that most of them have, with their intervals, a row each.
fn rates(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Block> {
    let has = |figure: &&Figure| figure.value.is_some() && figure.interval.is_some();
    let all = || {
        runs.iter()
            .flat_map(|run| run.record().figures.iter().filter(has))
    };
    let units: BTreeSet<&str> = all().map(|f| f.unit.as_str()).into_set();
    let count = |unit: &&str| all().filter(|f| f.unit == **unit).count();
    let unit = units.into_iter().max_by_key(count)?;
    let shown = Times::of_runs(runs.iter().map(Named::record)).of_figure(unit);
    // What all figures have alike says nothing.
    let alike = |label: &&String| {
        let mut of = all()
            .filter(|f| f.unit == unit)
            .map(|f| f.labels.get(label.as_str()));
        let first = of.next().flatten();
        of.all(|value| value == first)
    };
    let labels: BTreeSet<&String> = all().flat_map(|f| f.labels.keys()).into_set();
    let constant: Vec<&String> = labels.into_iter().filter(alike).collect();
    let mut names: Vec<String> = Vec::new();
    let mut series = Vec::new();
    let mut observations = 0;
    for run in runs {
        let mut points = Vec::new();
        for figure in run
            .record()
            .figures
            .iter()
            .filter(has)
            .filter(|f| f.unit == unit)
        {
            let name = with_labels(figure, |label| !constant.contains(&label));
            let row = names.iter().position(|n| *n == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            });
            observations += figure.count;
            points.extend(figure.value.map(|value| {
                Point::at(value, row as f64)
                    .within(interval(figure))
                    .of(figure.count)
            }));
        }
        if points.is_empty() {
            continue;
        }
        let count: u64 = points.iter().filter_map(|p| p.count).sum();
        series.push(chart::Series::new(
            run.name,
            counted(count, "observation"),
            Shape::Points,
            points,
            run.validity(),
        ));
    }
    if names.len() < 2 && runs.len() < 2 {
        return None;
    }
    let instrument = &runs.first()?.record().instrument;
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|p| p.x).collect();
    let chart = Chart {
        id: ids.make(&format!("{instrument}-figures")),
        title: format!("Results in {shown}"),
        note: format!(
            "{}; bars are the intervals of the record, 95 % where it says nothing else.",
            counted(observations, "observation")
        ),
        x: Axis::fitting(shown, values.into_iter()),
        y: Axis::names("", names),
        series,
        marks: Vec::<Mark>::new(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), None))
}

/// A figure in words, with those of its labels that are `wanted`: `misses per second (thread 0)`.
pub(super) fn with_labels(figure: &Figure, wanted: impl Fn(&String) -> bool) -> String {
    let labels = labels(figure, wanted);
    match labels.is_empty() {
        true => figure_words(&figure.name),
        false => format!("{} ({})", figure_words(&figure.name), labels.join(", ")),
    }
}

fn labels(figure: &Figure, wanted: impl Fn(&String) -> bool) -> Vec<String> {
    let labels = figure.labels.iter().filter(|(label, _)| wanted(label));
    labels.map(|(k, v)| label_words(k, v)).collect()
}

/// Every figure of every run.
pub(super) fn tables(runs: &[Named<'_>]) -> Option<Block> {
    let rows: Vec<Vec<String>> = runs
        .iter()
        // The phases of a program's cycles have a table of their own.
        .filter(|run| run.record().watched.is_none())
        .flat_map(|run| run.record().figures.iter().map(|f| row(run, runs, f)))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let mut table = Table::of(
        "Results",
        "<Run|<Valid|<Figure|<Where|Value|<Unit|Low|..High|??Confidence|??Deviation|?Min|\
         ..Max|?Observations",
    );
    table.rows = rows;
    Some(Block::Table(table.without_empty_columns()))
}

fn row(run: &Named<'_>, runs: &[Named<'_>], figure: &Figure) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or_else(String::new, digits);
    vec![
        of_run(run, runs),
        valid_of(run, runs),
        figure_words(&figure.name),
        labels(figure, |_| true).join(", "),
        figure.value.map_or_else(|| "-".to_owned(), digits),
        if figure.unit == "1" {
            String::new()
        } else {
            Times::of_run(run.record())
                .of_figure(&figure.unit)
                .into_owned()
        },
        number(figure.interval.map(|i| i.low)),
        number(figure.interval.map(|i| i.high)),
        figure
            .interval
            .map_or_else(String::new, |i| percent(i.confidence)),
        number(figure.stddev),
        number(figure.min),
        number(figure.max),
        figure.count.to_string(),
    ]
}
