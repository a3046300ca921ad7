// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The best trade-offs of an experiment (its Pareto front).

use punctual_model::{Better, ExperimentResults, Ordered as _, ParetoCell, figure_heading};

use super::super::named::counted;
use super::super::parts::{Block, Ids, Table};
use super::believed;
use crate::chart::{self, Axis, Chart, Drawing, Point, Shape};
use crate::clock_or_count::Times;
use crate::number::digits;

/// The cells by their first two figures, and which of them no other beats.
pub(super) fn front(ids: &mut Ids, results: &ExperimentResults) -> Option<Block> {
    let cells = results.pareto.as_ref()?;
    let first = cells.first()?;
    let times = Times::of_experiment(results);
    let heading: Vec<String> = first
        .values
        .iter()
        .map(|v| {
            let (unit, _) = times.unit(&v.unit);
            match results.measurements.len() {
                1 => figure_heading(&v.figure, &unit),
                _ => format!("{}: {}", v.measurement, figure_heading(&v.figure, &unit)),
            }
        })
        .collect();
    let mut columns: Vec<&str> = vec!["<Cell", "<Best"];
    columns.extend(heading.iter().map(String::as_str));
    let best = cells.iter().filter(|cell| cell.undominated).count();
    let caption = format!("Best trade-offs (Pareto front): {best} of {}", cells.len());
    let mut table = Table::new(times.heading(caption), &columns);
    let mut order: Vec<&ParetoCell> = cells.iter().collect();
    order.order_by_key(|cell| !cell.undominated);
    for cell in order {
        let mut row = vec![
            cell.cell.clone(),
            if cell.undominated { "yes" } else { "no" }.to_owned(),
        ];
        row.extend(cell.values.iter().map(|v| {
            let (_, scale) = times.unit(&v.unit);
            v.estimate
                .map_or_else(|| "-".to_owned(), |x| digits(x / scale))
        }));
        table.rows.push(row);
    }
    table.notes.push("By the estimates as they are: cells that cannot be told apart may both be on the front, or one by chance.".to_owned());
    let [x, y, ..] = first.values.as_slice() else {
        return Some(Block::Table(table));
    };
    let labels = (heading.first()?.clone(), heading.get(1)?.clone());
    let point = |cell: &ParetoCell| {
        let at = |n: usize| {
            let value = cell.values.get(n)?;
            Some(value.estimate? / times.unit(&value.unit).1)
        };
        let mut point = Point::at(at(0)?, at(1)?);
        point.label = Some(cell.cell.clone());
        Some(point)
    };
    let valid = results.measurements.iter().all(|m| believed(m).is_valid());
    let series = |name: &str, on: bool| {
        let points: Vec<Point> = cells
            .iter()
            .filter(|c| c.undominated == on)
            .filter_map(point)
            .collect();
        chart::Series::new(
            name,
            counted(points.len() as u64, "cell"),
            Shape::Points,
            points,
            times.validity(valid),
        )
    };
    let series = vec![
        series("on the front", true),
        series("beaten by another", false),
    ];
    let values = |pick: fn(&Point) -> f64| -> Vec<f64> {
        series.iter().flat_map(|s| &s.points).map(pick).collect()
    };
    let better = |b| match b {
        Better::Lower => "less is better",
        Better::Higher => "more is better",
        Better::Neither => "no direction is good",
    };
    let mut note = match (x.better, y.better) {
        (Better::Lower, Better::Lower) => "One dot per cell; lower left is better.".to_owned(),
        (x, y) => format!(
            "One dot per cell; {} across, {} upwards.",
            better(x),
            better(y)
        ),
    };
    if let Some(others @ [_, ..]) = heading.get(2..) {
        let others = others.join(", ");
        note +=
            &format!(" A cell may be on the front for {others}, which the chart does not show.");
    }
    let chart = Chart {
        id: ids.make(&format!("{}-front", results.name)),
        title: "Best trade-offs".to_owned(),
        note,
        x: Axis::fitting(labels.0, values(|p| p.x).into_iter()),
        y: Axis::fitting(labels.1, values(|p| p.y).into_iter()),
        series: chart::Series::with_points(series),
        marks: Vec::new(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table)))
}
