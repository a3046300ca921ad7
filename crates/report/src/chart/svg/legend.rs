// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What each series of a chart looks like, and of how many samples it is.

use super::super::{Series, Shape, Validity};
use super::{CHARACTER, WIDTH, bars, cut, look, text, widest};

/// Series that the legend names; more are counted.
const LEGEND: usize = 24;
pub(super) fn legend(out: &mut String, drawn: &[&Series], all: usize, bottom: &mut f64) {
    let name = |series: &Series| {
        let mark = match series.validity.mark() {
            "" => String::new(),
            mark => format!(" ({mark})"),
        };
        format!("{}{mark}, {}", series.name, series.counted)
    };
    let names: Vec<String> = drawn.iter().take(LEGEND).map(|s| name(s)).collect();
    let longest = widest(&names) * CHARACTER + 42.0;
    // Side by side where none would be cut.
    let columns = match (drawn.len(), longest <= (WIDTH - 28.0) / 2.0) {
        (2.., true) => 2,
        _ => 1,
    };
    let width = (WIDTH - 28.0) / f64::from(columns);
    let mut place = 0_u32;
    *bottom += 16.0;
    for (number, (series, name)) in drawn.iter().zip(&names).enumerate() {
        let column = place % columns;
        let x = 14.0 + width * f64::from(column);
        key(out, number, series, (x, *bottom - 4.0));
        let class = match series.validity.mark() {
            "" => "",
            _ => "w",
        };
        let most = (width - 42.0) / CHARACTER;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of characters"
        )]
        let most = most as usize;
        text(out, class, (x + 28.0, *bottom), "start", &cut(name, most));
        place += 1;
        if place.is_multiple_of(columns) {
            *bottom += 17.0;
        }
    }
    let hidden = all - drawn.len().min(LEGEND);
    if !place.is_multiple_of(columns) {
        *bottom += 17.0;
    }
    if hidden > 0 {
        let drawn = drawn.len().saturating_sub(LEGEND);
        let words = match drawn {
            0 if hidden == 1 => "1 more series is not drawn".to_owned(),
            0 => format!("{hidden} more series are not drawn"),
            n => format!("{} more drawn, {} not drawn", n, hidden - n),
        };
        text(out, "n", (14.0, *bottom), "start", &words);
        *bottom += 17.0;
    }
}

/// What a series looks like, before its name: a line, a dot, or both.
fn key(out: &mut String, number: usize, series: &Series, (x, y): (f64, f64)) {
    let (colour, dash) = look(number, series);
    if series.shape == Shape::Bars {
        *out += &format!(
            "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"22\" height=\"9\" stroke=\"{colour}\" stroke-dasharray=\"{dash}\" {}/>",
            y - 5.0,
            bars::fill(series, colour)
        );
        return;
    }
    if series.shape != Shape::Points {
        *out += &format!(
            "<path d=\"M{x:.1} {y:.1}h22\" stroke=\"{colour}\" stroke-width=\"2.5\" stroke-dasharray=\"{dash}\"/>"
        );
    }
    if matches!(series.shape, Shape::Points | Shape::Dots) {
        let fill = match series.validity {
            Validity::Valid | Validity::Virtual => colour,
            _ => "#fff",
        };
        *out += &format!(
            "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"3.6\" stroke=\"{colour}\" fill=\"{fill}\"/>",
            x + 11.0
        );
    }
}
