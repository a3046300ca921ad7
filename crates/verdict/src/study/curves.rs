// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Figures as curves: against a factor or a size, and distributions of several series in one picture.

use std::collections::BTreeMap;

use punctual_model::{Ordered as _, StudyCurve, StudyCurves, StudyPoint, StudyRow};
use punctual_stats::{LatencyHistogram, float};

use crate::comparison::GroupInput;

/// Bins a factor of ten has in a picture of a density.
const BINS: f64 = 12.0;

/// What rows are drawn against.
#[derive(Clone, Debug, Default)]
pub struct Across {
    /// The factor, or the label of the figures.
    pub name: String,
    /// What it is, in words with its unit.
    pub axis: String,
    /// Published curves by name: the value at each place.
    pub published: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Draws each figure of `rows` against a factor or a label, a curve for each setting of the others.
pub fn against(rows: &[StudyRow], across: &Across) -> Vec<StudyCurves> {
    let mut pictures: Vec<StudyCurves> = Vec::new();
    for row in rows {
        let Some((figure, name, x)) = place(row, &across.name) else {
            continue;
        };
        let Some(y) = row.estimate else { continue };
        let point = StudyPoint {
            x,
            y,
            interval: row.interval,
            count: row.runs,
        };
        let at = pictures.iter().position(|of| of.figure == figure);
        let at = at.unwrap_or_else(|| {
            pictures.push(StudyCurves {
                figure,
                unit: row.unit.clone(),
                across: across.axis.clone(),
                note: "The estimate over runs; bars are 95 % intervals.".to_owned(),
                ..StudyCurves::default()
            });
            pictures.len() - 1
        });
        let Some(picture) = pictures.get_mut(at) else {
            continue;
        };
        match picture.curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => picture.curves.push(StudyCurve {
                name,
                published: false,
                points: vec![point],
            }),
        }
    }
    if let Some(first) = pictures.first_mut() {
        first.curves.extend(across.published.iter().map(published));
    }
    for curve in pictures.iter_mut().flat_map(|of| &mut of.curves) {
        curve.points.order_by(|a, b| a.x.total_cmp(&b.x));
    }
    pictures
}

fn published((name, values): (&String, &BTreeMap<String, f64>)) -> StudyCurve {
    let point = |(place, y): (&String, &f64)| {
        Some(StudyPoint {
            x: place.parse().ok()?,
            y: *y,
            interval: None,
            count: 1,
        })
    };
    StudyCurve {
        name: format!("published, {name}"),
        published: true,
        points: values.iter().filter_map(point).collect(),
    }
}

/// The figure of a row without the label that it is drawn against, the name of its curve, and its place.
fn place(row: &StudyRow, across: &str) -> Option<(String, String, f64)> {
    let levels: Vec<(&str, &str)> = row
        .cell
        .split(' ')
        .filter_map(|part| part.split_once('='))
        .collect();
    let others = levels.iter().filter(|(factor, _)| *factor != across);
    let others: Vec<&str> = others.map(|(_, level)| *level).collect();
    let name = match others.is_empty() {
        true => "here".to_owned(),
        false => others.join(", "),
    };
    if let Some((_, level)) = levels.iter().find(|(factor, _)| *factor == across) {
        return Some((row.figure.clone(), name, level.parse().ok()?));
    }
    let (figure, labels) = row.figure.split_once('[')?;
    let labels = labels.strip_suffix(']')?.split(',');
    let (own, rest): (Vec<&str>, Vec<&str>) =
        labels.partition(|label| label.split_once('=').is_some_and(|(key, _)| key == across));
    let (_, value) = own.first()?.split_once('=')?;
    let figure = match rest.is_empty() {
        true => figure.to_owned(),
        false => format!("{figure}[{}]", rest.join(",")),
    };
    Some((figure, name, value.parse().ok()?))
}

/// The runs of a cell as series: their densities in one picture, their cumulative curves in another.
pub(super) fn series(group: &GroupInput) -> Vec<StudyCurves> {
    let runs: Vec<(u32, &LatencyHistogram)> = (1..)
        .zip(&group.runs)
        .filter_map(|(number, run)| Some((number, run.histogram.as_ref()?)))
        .filter(|(_, histogram)| histogram.count() > 0)
        .collect();
    if runs.is_empty() {
        return Vec::new();
    }
    let picture =
        |figure: &str, note: &str, of: fn(&LatencyHistogram) -> Vec<StudyPoint>| StudyCurves {
            figure: figure.to_owned(),
            unit: "1".to_owned(),
            across: "time".to_owned(),
            across_unit: "ns".to_owned(),
            stepped: true,
            note: note.to_owned(),
            curves: runs
                .iter()
                .map(|(number, histogram)| StudyCurve {
                    name: format!("series {number}"),
                    published: false,
                    points: of(histogram),
                })
                .collect(),
        };
    vec![
        picture(
            "density",
            "Share of the samples in each bin, twelve bins to a factor of ten.",
            density,
        ),
        picture(
            "cumulative_share",
            "Share of the samples up to each time.",
            cumulative,
        ),
    ]
}

/// The number of the bin that a time is in.
#[expect(
    clippy::cast_possible_truncation,
    reason = "of a time in ns, below 300"
)]
fn bin(ns: u64) -> i32 {
    (float(ns.max(1)).log10() * BINS).floor() as i32
}

fn density(histogram: &LatencyHistogram) -> Vec<StudyPoint> {
    let mut counts: BTreeMap<i32, u64> = BTreeMap::new();
    for bucket in histogram.buckets() {
        *counts.entry(bin(bucket.to_ns)).or_default() += bucket.count;
    }
    let (Some(first), Some(last)) = (counts.keys().next(), counts.keys().next_back()) else {
        return Vec::new();
    };
    let all = float(histogram.count());
    let point = |at: i32| {
        let count = counts.get(&at).copied().unwrap_or(0);
        StudyPoint {
            x: 10_f64.powf(f64::from(at) / BINS),
            y: float(count) / all,
            interval: None,
            count,
        }
    };
    // One bin further: there the last one ends.
    (*first..=*last + 1).map(point).collect()
}

fn cumulative(histogram: &LatencyHistogram) -> Vec<StudyPoint> {
    let all = float(histogram.count());
    let mut seen = 0;
    let mut points: Vec<StudyPoint> = Vec::new();
    for bucket in histogram.buckets() {
        seen += bucket.count;
        let point = StudyPoint {
            x: float(bucket.to_ns),
            y: float(seen) / all,
            interval: None,
            count: seen,
        };
        // A step that nobody sees is none.
        let near = points
            .last()
            .is_some_and(|last| point.y - last.y < 0.002 && point.x < last.x * 1.01);
        match near {
            true if seen < histogram.count() => {}
            _ => points.push(point),
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cell: &str, figure: &str, estimate: f64) -> StudyRow {
        StudyRow {
            cell: cell.to_owned(),
            figure: figure.to_owned(),
            unit: "GFLOPS".to_owned(),
            runs: 3,
            estimate: Some(estimate),
            ..StudyRow::default()
        }
    }

    #[test]
    fn a_curve_goes_along_a_factor_or_along_a_label() {
        let along_factor = [
            row("step=untuned ordinary=1", "m[thread=0]", 2.0),
            row("step=untuned ordinary=0", "m[thread=0]", 1.0),
            row("step=all ordinary=0", "m[thread=0]", 0.0),
        ];
        let values = BTreeMap::from([("0".to_owned(), 0.0), ("10".to_owned(), 5.0)]);
        let across = Across {
            name: "ordinary".to_owned(),
            published: BTreeMap::from([("untuned".to_owned(), values)]),
            ..Across::default()
        };
        let pictures = against(&along_factor, &across);
        let [picture] = pictures.as_slice() else {
            panic!("{pictures:#?}")
        };
        let names: Vec<&str> = picture.curves.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["untuned", "all", "published, untuned"]);
        let places: Vec<f64> = picture.curves[0].points.iter().map(|p| p.x).collect();
        assert_eq!(places, [0.0, 1.0]);
        assert!(picture.curves[2].published && picture.curves[2].points[1].y == 5.0);

        let along_label = [
            row("system=tuned", "gflops[n=1000,threads=2]", 40.0),
            row("system=tuned", "gflops[n=500,threads=2]", 30.0),
        ];
        let across = Across {
            name: "n".to_owned(),
            ..Across::default()
        };
        let pictures = against(&along_label, &across);
        assert_eq!(pictures[0].figure, "gflops[threads=2]");
        assert_eq!(pictures[0].curves[0].name, "tuned");
        assert_eq!(pictures[0].curves[0].points[0].y, 30.0);
    }

    #[test]
    fn the_density_adds_up_and_the_cumulative_curve_ends_at_all() {
        let mut histogram = LatencyHistogram::new(1_000_000_000);
        for n in 0..1_000_u64 {
            histogram.record(5_000 + n * 13);
        }
        let shares: f64 = density(&histogram).iter().map(|point| point.y).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        let curve = cumulative(&histogram);
        assert!((curve.last().unwrap().y - 1.0).abs() < 1e-12);
        assert!(curve.is_sorted_by(|a, b| a.x < b.x && a.y <= b.y));
    }
}
