// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A matrix, drawn as a file of its own.

use super::super::{Drawing, Heat};
use super::{CHARACTER, WIDTH, document, folded, line_of, text, title, warned, widest};

/// Draws a matrix as a file of its own.
pub fn heat(heat: &Heat) -> String {
    let mut top = 26.0;
    let mut head = title(&heat.title);
    for line in folded(&heat.note, 112) {
        top += 15.0;
        line_of(&mut head, "n", top, &line);
    }
    let warnings = Drawing::Heat(heat.clone()).warnings();
    warned(&mut head, &warnings, &mut top);
    top += 34.0;
    let left = 40.0 + widest(&heat.rows).min(30.0) * CHARACTER;
    let width = ((WIDTH - 18.0 - left) / heat.columns.len().max(1) as f64).min(150.0);
    let height = 40.0;
    let (least, most) = extremes(heat);
    let mut body = String::new();
    for (n, name) in heat.columns.iter().enumerate() {
        let at = left + width * (n as f64 + 0.5);
        text(&mut body, "k", (at, top - 6.0), "middle", name);
    }
    for (n, name) in heat.rows.iter().enumerate() {
        let at = top + height * (n as f64 + 0.5) + 4.0;
        text(&mut body, "k", (left - 8.0, at), "end", name);
    }
    for cell in &heat.cells {
        let share = match most > least {
            true => (cell.value - least) / (most - least),
            false => 0.5,
        };
        let (x, y) = (
            left + width * cell.column as f64,
            top + height * cell.row as f64,
        );
        body += &format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#0072b2\" fill-opacity=\"{:.2}\"/>",
            width - 2.0,
            height - 2.0,
            0.10 + 0.45 * share
        );
        let middle = (x + width / 2.0 - 1.0, y + height / 2.0 + 4.0);
        let value = crate::number::digits(cell.value);
        text(&mut body, "", middle, "middle", &value);
    }
    let bottom = top + height * heat.rows.len() as f64 + 18.0;
    let label = format!(
        "{} down, {} across; {}",
        heat.y_label, heat.x_label, heat.unit
    );
    text(&mut body, "k", (left, bottom), "start", &label);
    document(&heat.title, bottom + 12.0, &(head + &body))
}

fn extremes(heat: &Heat) -> (f64, f64) {
    let values = heat.cells.iter().map(|c| c.value);
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
        (low.min(v), high.max(v))
    })
}
