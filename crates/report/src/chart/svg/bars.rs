// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Bars in the rows of an axis of names: stretches of time on a lane, parts of a whole.

use unicode_width::UnicodeWidthStr as _;

use super::super::{Look, Point, Series};
use super::{CHARACTER, Frame, cut, look, text};

/// Share of a row that a bar fills.
const FILLED: f64 = 0.72;
/// Shortest text that is worth its place, in characters.
const SHORTEST: usize = 4;
/// Bars that are narrower have no outline.
const THIN: f64 = 3.0;

/// Whether bars have an outline only: what nobody had, and what is not known. Colours are for what is.
pub(super) fn is_hollow(series: &Series) -> bool {
    series.look.is_some_and(|look: Look| look.dash > 0)
}

/// How bars of a series are filled. What must not be believed is pale.
pub(super) fn fill(series: &Series, colour: &str) -> String {
    match (is_hollow(series), series.validity.is_valid()) {
        (true, _) => "fill=\"#fff\"".to_owned(),
        (false, true) => format!("fill=\"{colour}\""),
        (false, false) => format!("fill=\"{colour}\" fill-opacity=\"0.6\""),
    }
}

impl Frame<'_> {
    pub(super) fn bars(&self, series: &Series, number: usize) -> String {
        let (colour, dash) = look(number, series);
        let (stroke, dash) = match is_hollow(series) {
            true => (colour, dash),
            // The ground between them separates neighbours of one colour.
            false => ("#fff", ""),
        };
        let mut out = format!(
            "<g stroke=\"{stroke}\" stroke-width=\"0.5\" stroke-dasharray=\"{dash}\" {}>",
            fill(series, colour)
        );
        let mut words = String::new();
        for point in &series.points {
            // White can be read on full colours only.
            let is_light = is_hollow(series) || !series.validity.is_valid();
            self.bar(point, is_light, (&mut out, &mut words));
        }
        out + "</g>" + &words
    }

    fn bar(&self, point: &Point, is_light: bool, (bars, words): (&mut String, &mut String)) {
        let ends = point
            .interval
            .and_then(|(low, high)| self.x.place(low).zip(self.x.place(high)));
        let rows = self
            .y
            .place(point.y)
            .zip(self.y.place(point.y + FILLED / 2.0));
        let (Some((from, to)), Some((middle, edge))) = (ends, rows) else {
            return;
        };
        let half = (edge - middle).abs();
        // The ground on both sides would hide what is short.
        let bare = if to - from < THIN {
            " stroke=\"none\""
        } else {
            ""
        };
        *bars += &format!(
            "<rect x=\"{from:.2}\" y=\"{:.1}\" width=\"{:.2}\" height=\"{:.1}\"{bare}/>",
            middle - half,
            to - from,
            2.0 * half
        );
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small number of characters; the cast saturates"
        )]
        let room = ((to - from - 6.0) / CHARACTER) as usize;
        // A part of a name says something, a part of a figure something else.
        if let Some(label) = &point.label
            && room >= SHORTEST
            && (room >= label.width() || !label.starts_with(|c: char| c.is_ascii_digit()))
        {
            let class = if is_light { "" } else { "o" };
            let at = (from + 4.0, middle + 4.0);
            text(words, class, at, "start", &cut(label, room));
        }
    }
}
