// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Deadline misses against the load, as in table 1 of Raju and Govindarajulu (2015).

use punctual_model::{Figure, RunRecord};

use super::named::counted;
use super::parts::{Block, Ids, Table};
use super::runs::Named;
use super::series::valid;
use crate::chart::{self, Axis, Chart, Drawing, Point, Shape};
use crate::clock_or_count::Times;
use crate::number::digits;

fn figures<'a>(run: &'a RunRecord, name: &'a str) -> impl Iterator<Item = &'a Figure> {
    run.figures.iter().filter(move |f| f.name == name)
}

/// The table of misses, and a chart of it where there are several runs.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let times = Times::of_runs(runs.iter().map(Named::record));
    let mut table = Table::of(
        "Failures of each real-time thread",
        &format!(
            "<Run|?<Valid|<Load|??Threads|Thread|Deadline {}|{}|Low|..High|Failed %|?Iterations",
            times.of_figure("ms"),
            times.of_figure("Failures/s")
        ),
    );
    let mut names = Vec::new();
    let mut parts: Vec<(chart::Validity, Vec<Point>)> = Vec::new();
    for run in runs {
        let record = run.record();
        let threads = record.setup.as_ref().and_then(|s| s.options.get("threads"));
        let loads = record.setup.as_ref().map_or(&[] as &[String], |s| &s.loads);
        let load = match loads {
            [] => "none".to_owned(),
            loads => loads.join(" "),
        };
        for rate in figures(record, "misses_per_second") {
            let same = |f: &&Figure| f.labels == rate.labels;
            let share = figures(record, "missed_share").find(same);
            let deadline = figures(record, "deadline").find(same);
            let number = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), digits);
            table.rows.push(vec![
                run.name.to_owned(),
                valid(run),
                load.clone(),
                threads.cloned().unwrap_or_default(),
                rate.labels.get("thread").cloned().unwrap_or_default(),
                number(deadline.and_then(|f| f.value).map(|ns| ns / 1e6)),
                number(rate.value),
                number(rate.interval.map(|i| i.low)),
                number(rate.interval.map(|i| i.high)),
                number(share.and_then(|f| f.value).map(|v| v * 100.0)),
                rate.count.to_string(),
            ]);
            if let Some(value) = rate.value {
                let point = Point::at(value, names.len() as f64)
                    .within(rate.interval.map(|i| (i.low.max(0.0), i.high)))
                    .of(rate.count);
                match parts.iter_mut().find(|(of, _)| *of == run.validity()) {
                    Some((_, points)) => points.push(point),
                    None => parts.push((run.validity(), vec![point])),
                }
                let thread = rate.labels.get("thread").map(String::as_str).unwrap_or("0");
                names.push(format!("{}, thread {thread}, load {load}", run.name));
            }
        }
    }
    if table.rows.is_empty() {
        return Vec::new();
    }
    table.notes.push(
        "The layout of Raju and Govindarajulu (2015): real-time threads, the load, failures a second. Low, High: 95 % interval. -: the iterations allow none.".to_owned(),
    );
    let of = |points: &[Point]| points.iter().filter_map(|p| p.count).sum();
    let iterations: u64 = parts.iter().map(|(_, points)| of(points)).sum();
    if names.len() < 2 {
        return vec![Block::Table(table)];
    }
    let series = parts.into_iter().map(|(validity, points)| {
        let iterations = counted(of(&points), "iteration");
        chart::Series::new("failures", iterations, Shape::Points, points, validity)
    });
    let chart = Chart {
        id: ids.make("deadline-failures"),
        title: "Failures a second".to_owned(),
        note: format!(
            "{}; bars are 95 % intervals.",
            counted(iterations, "iteration")
        ),
        x: Axis::linear(format!("Failures in {}", times.of_figure("1/s"))),
        y: Axis::names("", names),
        series: series.collect(),
        marks: Vec::new(),
    };
    vec![Block::Drawing(Box::new(Drawing::Chart(chart)), Some(table))]
}
