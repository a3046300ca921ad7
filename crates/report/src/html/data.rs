// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The values of charts for the script of the page. Keys are short: a report of a hundred runs has hundreds of series.

use serde_json::{Value, json};

use crate::chart::{
    Axis, Distribution, DistributionSeries, Drawing, Look, Point, Scale, Series, Shape,
};

/// Writes a drawing; a matrix has none, since it is drawn without the script.
pub(super) fn drawing(drawing: &Drawing) -> Value {
    match drawing {
        Drawing::Distribution(distribution) => self::distribution(distribution),
        Drawing::Chart(chart) => {
            let marks = chart
                .marks
                .iter()
                .map(|m| json!([m.name, m.at, u8::from(m.upright)]));
            json!({
                "k": "xy",
                "id": chart.id,
                "x": axis(&chart.x),
                "y": axis(&chart.y),
                "m": marks.collect::<Vec<_>>(),
                "s": chart.series.iter().map(series).collect::<Vec<_>>(),
            })
        }
        Drawing::Heat(_) => Value::Null,
    }
}

fn axis(axis: &Axis) -> Value {
    match &axis.scale {
        Scale::Linear => json!({"l": axis.label, "s": "lin"}),
        Scale::Log => json!({"l": axis.label, "s": "log"}),
        Scale::Names(names) => json!({"l": axis.label, "s": "names", "names": names}),
    }
}

fn series(series: &Series) -> Value {
    let shape = match series.shape {
        Shape::Step => "step",
        Shape::Line => "line",
        Shape::Dots => "dots",
        Shape::Points => "points",
        Shape::Bars => "bars",
    };
    json!({
        "n": series.name,
        "r": series.run,
        "c": series.counted,
        "sh": shape,
        "v": series.validity.word(),
        "on": u8::from(series.shown),
        "lk": series.look.map(look),
        "p": series.points.iter().map(point).collect::<Vec<_>>(),
    })
}

fn look(look: Look) -> Value {
    json!([look.colour, look.dash])
}

/// Place, interval, count, label; without what is missing at the end. The end of a level has a place across alone.
fn point(point: &Point) -> Value {
    let (low, high) = point.interval.unzip();
    let mut values = vec![
        number(point.x),
        number(point.y),
        low.map_or(Value::Null, number),
        high.map_or(Value::Null, number),
        json!(point.count),
        json!(point.label),
    ];
    while values.len() > 2 && values.last().is_some_and(Value::is_null) {
        values.pop();
    }
    Value::Array(values)
}

/// A number as short as it is: 3 and not 3.0.
fn number(value: f64) -> Value {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "only where it is a whole number of that size"
    )]
    if value.fract() == 0.0 && value.abs() < 9e15 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

fn distribution(distribution: &Distribution) -> Value {
    json!({
        "k": "dist",
        "id": distribution.id,
        "q": distribution.quantity,
        "u": distribution.unit,
        "m": distribution.marks.iter().map(|(name, ns)| json!([name, ns])).collect::<Vec<_>>(),
        "s": distribution.series.iter().map(part).collect::<Vec<_>>(),
    })
}

/// Bins as one row of numbers: the gap to the bin before, the width, the count.
fn part(series: &DistributionSeries) -> Value {
    let mut bins = Vec::with_capacity(series.bins.len() * 3);
    let mut at = 0;
    for bin in &series.bins {
        bins.extend([
            bin.from_ns.saturating_sub(at),
            bin.to_ns - bin.from_ns,
            bin.count,
        ]);
        at = bin.to_ns;
    }
    json!({
        "r": series.run,
        "kn": series.kernel,
        "p": series.part,
        "w": u8::from(series.whole),
        "v": series.validity.word(),
        "n": series.count,
        "c": series.clamped,
        "max": series.max_ns,
        "on": u8::from(series.shown),
        "g": series.group,
        "lk": look(series.look),
        "b": bins,
    })
}
