// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Charts as SVG, for papers and mail.
//!
//! Colours are after M. Okabe and K. Ito (2002), which people with any colour vision tell apart, without those of one hue
//! and darker where a thin line would be faint; beyond six series the dashes change too. What must not be believed is
//! said inside the picture, which may travel without its page.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

mod bars;
mod heat;
mod legend;

use std::fmt::Write as _;

use super::scale::Placed;
use super::{Axis, COLOURS, Chart, DASHES, Look, Point, Scale, Series, Shape, Validity};
use crate::escape::Xml;
pub use heat::heat;
use legend::legend;
use punctual_model::Ordered as _;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Width of the drawing, in its own units.
const WIDTH: f64 = 760.0;
/// Height of the plot itself.
const PLOT: f64 = 300.0;
/// Height of a row of an axis of names, at least.
const ROW: f64 = 26.0;
/// Lines for the names of marks above the plot.
const NAMED: usize = 6;
/// Points that are named; of more the table has the names.
const NAMED_POINTS: usize = 40;

/// Room that a point takes to each side.
const DOT: f64 = 4.0;
/// About the width of a character.
const CHARACTER: f64 = 6.4;
/// The same of a short text of wide letters: what must not lie over another needs room for that.
const WIDE: f64 = 6.8;

const COLOUR: [&str; COLOURS] = [
    "#0072b2", "#d55e00", "#009e73", "#a0569a", "#8a6d00", "#444444",
];
const DASH: [&str; DASHES] = ["", "6 3", "2 3", "8 3 2 3"];

/// The look, in a file of its own; the page has its own rules for the same classes.
pub(super) const STYLE: &str = "text{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:11px;fill:#222}\
.t{font-size:14px;font-weight:bold}.n,.k{fill:#555}.w{fill:#b00020;font-weight:bold}\
.o{fill:#fff;stroke:none}.g{stroke:#e3e3e3}.h{stroke:#f1f1f1}.a{stroke:#777}.m{stroke:#b00020;stroke-dasharray:5 3}.mt{fill:#b00020}";

/// Draws a chart as a file of its own.
pub fn chart(chart: &Chart) -> String {
    let drawn: Vec<&Series> = chart.series.iter().filter(|s| s.shown).collect();
    let warnings = super::Drawing::Chart(chart.clone()).warnings();
    let mut top = 26.0;
    let mut head = title(&chart.title);
    for line in folded(&chart.note, 112) {
        top += 15.0;
        line_of(&mut head, "n", top, &line);
    }
    warned(&mut head, &warnings, &mut top);
    // The names of marks stand above the curves, not among them.
    let named = chart.marks.iter().filter(|m| m.upright).count().min(NAMED);
    top += 16.0 + 13.0 * named as f64;
    let left = match &chart.y.scale {
        Scale::Names(names) => 24.0 + widest(names).min(30.0) * CHARACTER,
        _ => 76.0,
    };
    let lanes = lanes(&drawn, &chart.y.scale);
    let most = lanes.iter().map(Vec::len).max().unwrap_or(0);
    let plot = match &chart.y.scale {
        Scale::Names(names) => (names.len().max(1) as f64 * row(most)).max(60.0),
        _ => PLOT,
    };
    let (right, bottom) = (WIDTH - 18.0, top + plot);
    let x = Placed::new(&chart.x, extent(&drawn, chart, true), left, right);
    let y_ends = match chart.y.scale {
        // Names are read from above.
        Scale::Names(_) => (top, bottom),
        _ => (bottom, top),
    };
    let y = Placed::new(&chart.y, extent(&drawn, chart, false), y_ends.0, y_ends.1);
    let mut body = String::new();
    grid(&mut body, chart, &x, &y, (left, top, right, bottom));
    // Unique in a page as the chart's own id is; no id of a page has a dot.
    let clip = format!("clip.{}", chart.id);
    let clip = Xml(&clip);
    body += &format!(
        "<clipPath id=\"{clip}\"><rect x=\"{left:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/></clipPath>\
         <g clip-path=\"url(#{clip})\">",
        top - 6.0,
        right - left,
        plot + 7.0
    );
    let frame = Frame {
        x: &x,
        y: &y,
        names: matches!(chart.y.scale, Scale::Names(_)),
        lanes,
    };
    for (number, series) in drawn.iter().enumerate() {
        body += &frame.series(series, number);
    }
    body += "</g>";
    labels(&mut body, &drawn, chart, (&x, &y), (left + right) / 2.0);
    marks(&mut body, chart, &x, &y, (left, top, right, bottom));
    let mut bottom = bottom + 38.0;
    legend(&mut body, &drawn, chart.series.len(), &mut bottom);
    document(&chart.title, bottom, &(head + &body))
}

fn document(name: &str, height: f64, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{name}\"><style>{STYLE}</style>\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>{body}</svg>\n",
        name = Xml(name)
    )
}

fn title(text: &str) -> String {
    let mut out = String::new();
    line_of(&mut out, "t", 24.0, text);
    out
}

fn line_of(out: &mut String, class: &str, y: f64, words: &str) {
    text(out, class, (14.0, y), "start", words);
}

fn text(out: &mut String, class: &str, at: (f64, f64), anchor: &str, words: &str) {
    *out += &format!(
        "<text class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
        at.0,
        at.1,
        Xml(words)
    );
}

/// Divides a sentence into lines.
fn folded(words: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in words.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.width() + word.width() < width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Writes what must not be believed, in letters that are wider than others.
fn warned(out: &mut String, warnings: &[String], top: &mut f64) {
    for line in warnings.iter().flat_map(|text| folded(text, 98)) {
        *top += 16.0;
        line_of(out, "w", *top, &cut(&line, 98));
    }
}

fn widest(names: &[String]) -> f64 {
    names.iter().map(|n| n.width()).max().unwrap_or(0) as f64
}

/// Every value that an axis has to show.
fn extent<'a>(
    drawn: &'a [&Series],
    chart: &'a Chart,
    across: bool,
) -> impl Iterator<Item = f64> + 'a {
    let names = matches!(chart.y.scale, Scale::Names(_));
    let ends = move |point: &Point| {
        let own = if across { point.x } else { point.y };
        let interval = point.interval.filter(|_| across == names);
        let (low, high) = interval.unwrap_or((own, own));
        [own, low, high]
    };
    let marks = chart.marks.iter().filter(move |m| m.upright == across);
    let values = drawn.iter().flat_map(|s| &s.points).flat_map(ends);
    values.chain(marks.map(|m| m.at))
}

fn grid(
    out: &mut String,
    chart: &Chart,
    x: &Placed,
    y: &Placed,
    (left, top, right, bottom): (f64, f64, f64, f64),
) {
    let most = |axis: &Axis, room: f64, each: f64| match axis.scale {
        Scale::Names(_) => usize::MAX,
        _ => {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a small number of ticks"
            )]
            let most = (room / each).max(2.0) as usize;
            most
        }
    };
    for tick in x.ticks(&chart.x, most(&chart.x, right - left, 70.0)) {
        let Some(at) = x.place(tick.at) else { continue };
        let class = if tick.text.is_empty() { "h" } else { "g" };
        *out += &format!("<path class=\"{class}\" d=\"M{at:.1} {top:.1}V{bottom:.1}\"/>");
        // The last figure may be longer than the edge is wide.
        let label = cut(&tick.text, 18);
        let half = widest(std::slice::from_ref(&label)) * CHARACTER / 2.0;
        let at = at.max(half).min(WIDTH - half);
        text(out, "k", (at, bottom + 15.0), "middle", &label);
    }
    for tick in y.ticks(&chart.y, most(&chart.y, bottom - top, 45.0)) {
        let Some(at) = y.place(tick.at) else { continue };
        let class = if tick.text.is_empty() { "h" } else { "g" };
        *out += &format!("<path class=\"{class}\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>");
        text(
            out,
            "k",
            (left - 6.0, at + 4.0),
            "end",
            &cut(&tick.text, 30),
        );
    }
    *out += &format!(
        "<path class=\"a\" fill=\"none\" d=\"M{left:.1} {top:.1}V{bottom:.1}H{right:.1}\"/>"
    );
    text(
        out,
        "k",
        ((left + right) / 2.0, bottom + 31.0),
        "middle",
        &chart.x.label,
    );
    if !matches!(chart.y.scale, Scale::Names(_)) {
        let middle = (top + bottom) / 2.0;
        *out += &format!(
            "<text class=\"k\" text-anchor=\"middle\" transform=\"translate(18 {middle:.1}) rotate(-90)\">{}</text>",
            Xml(&chart.y.label)
        );
    }
}

fn cut(words: &str, most: usize) -> String {
    if words.width() <= most {
        return words.to_owned();
    }
    let mut text = String::new();
    for letter in words.chars() {
        if text.width() + letter.width().unwrap_or(0) >= most {
            break;
        }
        text.push(letter);
    }
    text.push('…');
    text
}

/// Where series are drawn.
struct Frame<'a> {
    x: &'a Placed,
    y: &'a Placed,
    names: bool,
    /// The numbers of the series that have a point in each row.
    lanes: Vec<Vec<usize>>,
}

impl Frame<'_> {
    fn series(&self, series: &Series, number: usize) -> String {
        let (colour, dash) = look(number, series);
        let dash = match dash {
            "" => String::new(),
            dash => format!(" stroke-dasharray=\"{dash}\""),
        };
        if series.shape == Shape::Bars {
            return self.bars(series, number);
        }
        let mut out = format!("<g stroke=\"{colour}\" fill=\"{colour}\">");
        if series.shape != Shape::Points {
            let path = self.path(series);
            out += &format!("<path fill=\"none\" stroke-width=\"1.4\"{dash} d=\"{path}\"/>");
        }
        for point in &series.points {
            out += &self.point(series, point, number);
        }
        out + "</g>"
    }

    fn path(&self, series: &Series) -> String {
        let mut path = String::new();
        let mut last: Option<(f64, f64)> = None;
        for point in &series.points {
            // What begins at 0 begins at the edge of a logarithmic axis.
            let edge = (series.shape == Shape::Step).then(|| self.x.floor());
            let Some(x) = self.x.place(point.x).or(edge) else {
                continue;
            };
            if !point.y.is_finite() {
                if last.take().is_some() {
                    let _written = write!(path, "H{x:.1}");
                }
                continue;
            }
            // Nothing is at the floor of a logarithmic axis.
            let y = self.y.place(point.y).unwrap_or_else(|| self.y.floor());
            // Writing to a string cannot fail.
            let _written = match (last, series.shape) {
                (None, _) => write!(path, "M{x:.1} {y:.1}"),
                (Some((_, before)), Shape::Step) if (before - y).abs() < 0.05 => {
                    write!(path, "H{x:.1}")
                }
                (Some(_), Shape::Step) => write!(path, "H{x:.1}V{y:.1}"),
                _ => write!(path, "L{x:.1} {y:.1}"),
            };
            last = Some((x, y));
        }
        path
    }

    fn point(&self, series: &Series, point: &Point, number: usize) -> String {
        // A single point has no line.
        if !matches!(series.shape, Shape::Dots | Shape::Points) && series.points.len() != 1 {
            return String::new();
        }
        let (Some(x), Some(y)) = (self.x.place(point.x), self.y.place(point.y)) else {
            return String::new();
        };
        if !y.is_finite() {
            return String::new();
        }
        // Series of the same row lie a little apart.
        let lane = self.lanes.iter().enumerate();
        let mut lane = lane.filter(|(row, _)| (point.y - *row as f64).abs() < 0.5);
        let apart = lane.next().and_then(|(_, lane)| {
            let place = lane.iter().position(|own| *own == number)?;
            Some(7.0 * (place as f64 - (lane.len() - 1) as f64 / 2.0))
        });
        let y = y + apart.unwrap_or(0.0);
        let mut out = String::new();
        if let Some((low, high)) = point.interval {
            let axis = if self.names { self.x } else { self.y };
            if let Some(high) = axis.place(high) {
                // An end that has no place is beyond the floor: it is open.
                let cap = match (axis.place(low), self.names) {
                    (Some(low), true) => format!("M{low:.1} {:.1}v8m0 -4", y - 4.0),
                    (Some(low), false) => format!("M{:.1} {low:.1}h8m-4 0", x - 4.0),
                    (None, true) => format!("M{:.1} {y:.1}", axis.floor()),
                    (None, false) => format!("M{x:.1} {:.1}", axis.floor()),
                };
                let path = match self.names {
                    true => format!("{cap}H{high:.1}m0 -4v8"),
                    false => format!("{cap}V{high:.1}m-4 0h8"),
                };
                out += &format!("<path fill=\"none\" d=\"{path}\"/>");
            }
        }
        let fill = match series.validity {
            Validity::Valid | Validity::Virtual => "",
            _ => " fill=\"#fff\"",
        };
        out + &format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"{fill}/>")
    }
}

/// Writes the names of points that have one of their own, where no axis names them: series of few points first, as long as
/// there is room for their names.
fn labels(
    out: &mut String,
    drawn: &[&Series],
    chart: &Chart,
    (x, y): (&Placed, &Placed),
    middle: f64,
) {
    if matches!(chart.y.scale, Scale::Names(_)) {
        return;
    }
    let mut points: Vec<&Series> = drawn
        .iter()
        .copied()
        .filter(|series| series.shape == Shape::Points)
        .collect();
    points.order_by_key(|series| series.points.len());
    let mut named: Vec<(&Point, &str)> = Vec::new();
    for series in &points {
        let own = series.points.iter();
        let own = own.filter_map(|p| Some((p, p.label.as_deref()?)));
        named.extend(own);
        if named.len() > NAMED_POINTS {
            named.truncate(named.len() - series.points.len());
            break;
        }
    }
    // No name is written over a point or another name.
    let dots = points.iter().flat_map(|series| &series.points);
    let mut taken: Vec<(f64, f64, f64)> = dots
        .filter_map(|point| Some((x.place(point.x)?, y.place(point.y)?)))
        .map(|(across, up)| (across - DOT, across + DOT, up + 4.0))
        .collect();
    for (point, name) in named {
        let (Some(at), Some(height)) = (x.place(point.x), y.place(point.y)) else {
            continue;
        };
        let name = cut(name, 40);
        let width = name.width() as f64 * WIDE;
        let (anchor, beside, from) = match at > middle {
            true => ("end", at - 7.0, at - 7.0 - width),
            false => ("start", at + 7.0, at + 7.0),
        };
        let free = |line: &f64| {
            let hits = |(a, b, own): &(f64, f64, f64)| {
                from < *b && from + width > *a && (own - line).abs() < 12.0
            };
            !taken.iter().any(hits)
        };
        // What has no room is read in the table.
        let mut lines = [4.0, -8.0, 16.0].map(|by| height + by).into_iter();
        if let Some(line) = lines.find(free) {
            taken.push((from, from + width, line));
            text(out, "k", (beside, line), anchor, &name);
        }
    }
}

/// The numbers of the series that have a point in each row of an axis of names.
fn lanes(drawn: &[&Series], scale: &Scale) -> Vec<Vec<usize>> {
    let Scale::Names(names) = scale else {
        return Vec::new();
    };
    let within = |row: usize| {
        let has = move |(_, series): &(usize, &&Series)| {
            let there = |point: &Point| (point.y - row as f64).abs() < 0.5;
            series.points.iter().any(there)
        };
        drawn
            .iter()
            .enumerate()
            .filter(has)
            // Bars fill their row.
            .filter(|(_, series)| series.shape != Shape::Bars)
            .map(|(number, _)| number)
    };
    (0..names.len()).map(|row| within(row).collect()).collect()
}

/// Height of a row that has a dot of each of so many series.
fn row(series: usize) -> f64 {
    (8.0 * series as f64 + 12.0).max(ROW)
}

/// Colour and dashes of a series. What is not valid is dotted.
fn look(number: usize, series: &Series) -> (&'static str, &'static str) {
    let look = series.look.unwrap_or_else(|| Look::of(number));
    let colour = COLOUR.get(look.colour).copied();
    let dash = match series.validity {
        Validity::Valid | Validity::Virtual => DASH.get(look.dash).copied(),
        Validity::Invalid | Validity::Imported | Validity::Published => Some("1.5 2.5"),
    };
    (colour.unwrap_or("#000"), dash.unwrap_or(""))
}

fn marks(
    out: &mut String,
    chart: &Chart,
    x: &Placed,
    y: &Placed,
    (left, top, right, bottom): (f64, f64, f64, f64),
) {
    let upright = chart.marks.iter().filter(|m| m.upright).count();
    let named = upright.min(NAMED);
    let mut above = 0_usize..;
    for mark in &chart.marks {
        let number = if mark.upright { above.next() } else { None }.unwrap_or(0);
        let place = if mark.upright { x } else { y }.place(mark.at);
        let Some(at) = place else { continue };
        let outside = match mark.upright {
            true => at < left - 0.5 || at > right + 0.5,
            false => at < top - 0.5 || at > bottom + 0.5,
        };
        if outside {
            continue;
        }
        if mark.upright {
            let up = named - number % named;
            let head = top - 13.0 * up as f64;
            *out += &format!("<path class=\"m\" d=\"M{at:.1} {head:.1}V{bottom:.1}\"/>");
            let at_end = at > (left + right) / 2.0;
            let (anchor, beside, room) = if at_end {
                ("end", -4.0, at)
            } else {
                ("start", 4.0, WIDTH - at)
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a few dozen letters"
            )]
            let name = cut(&mark.name, (room / WIDE).max(1.0) as usize);
            text(out, "mt", (at + beside, head + 10.0), anchor, &name);
        } else {
            *out += &format!("<path class=\"m\" d=\"M{left:.1} {at:.1}H{right:.1}\"/>");
            text(out, "mt", (right - 4.0, at - 4.0), "end", &mark.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lightness and the two colour axes of CIELAB (D65).
    fn lab(colour: &str) -> [f64; 3] {
        let channel = |at: usize| {
            let value = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let value = f64::from(value) / 255.0;
            match value <= 0.04045 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        let (r, g, b) = (channel(1), channel(3), channel(5));
        let bent = |t: f64| match t > 0.008_856 {
            true => t.cbrt(),
            false => 7.787 * t + 16.0 / 116.0,
        };
        let x = bent((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505);
        let y = bent(0.2126 * r + 0.7152 * g + 0.0722 * b);
        let z = bent((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089);
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    #[test]
    fn letters_of_two_columns_have_the_room_of_two() {
        assert_eq!(cut("測定した遅延", 8), "測定し…");
        assert_eq!(cut("測定した", 8), "測定した");
        assert!((widest(&["測定".to_owned(), "abc".to_owned()]) - 4.0).abs() < 1e-9);
        assert_eq!(folded("測定 した", 8), ["測定", "した"]);
    }

    #[test]
    fn no_two_of_the_first_24_series_look_alike() {
        for one in 0..24 {
            for other in 0..one {
                let (a, b) = (Look::of(one), Look::of(other));
                assert_ne!(a, b);
                if a.dash != b.dash {
                    continue;
                }
                let (a, b) = (lab(COLOUR[a.colour]), lab(COLOUR[b.colour]));
                let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                assert!(apart.sqrt() > 40.0, "{one} and {other}: {}", apart.sqrt());
            }
        }
    }
}
