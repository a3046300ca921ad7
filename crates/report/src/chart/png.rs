// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Charts as PNG: the SVG of [`super::svg`], drawn by `resvg`.
//!
//! Letters become outlines before that: each at the advance of the one before it, which is all that Latin, Greek and Cyrillic words
//! need. The font is in the program, a part of DejaVu Sans (fonts/LICENSE), so that a picture
//! is the same on a machine without fonts. A letter that it does not have is drawn as an empty box.

use std::fmt::Write as _;

use quick_xml::Reader;
use quick_xml::events::Event;
use quick_xml::events::attributes::Attributes;
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use ttf_parser::{Face, OutlineBuilder};

/// Pixels for each unit of the drawing: 760 units are 1520 pixels, some 15 cm at 250 a inch.
const PIXELS: f32 = 2.0;

static REGULAR: &[u8] = include_bytes!("../../fonts/DejaVuSans.ttf");
static BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSans-Bold.ttf");

/// A picture that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The drawing is not SVG as the library reads it.
    #[error("draw a chart")]
    Svg(#[from] resvg::usvg::Error),
    /// It is not XML.
    #[error("draw a chart")]
    Xml(#[from] quick_xml::Error),
    /// The font in this program is damaged.
    #[error("read the font")]
    Font(#[from] ttf_parser::FaceParsingError),
    /// It has no size, or one too large for memory.
    #[error("draw a chart of {width} x {height} pixels")]
    Size {
        /// Its width.
        width: u32,
        /// Its height.
        height: u32,
    },
    /// It could not be packed.
    #[error("pack a picture: {0}")]
    Encoding(String),
}

/// Draws SVG files as PNG.
#[derive(Debug, Default)]
pub struct Painter(());

impl Painter {
    /// Draws a file of [`super::svg`].
    ///
    /// # Errors
    /// As [`PngError`] says; of a file that this crate wrote only the memory may be too small.
    pub fn paint(&self, svg: &str) -> Result<Vec<u8>, PngError> {
        let tree = Tree::from_str(&outlined(svg)?, &Options::default())?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a size in pixels, above 0; the cast saturates"
        )]
        let pixels = |units: f32| (units * PIXELS).ceil() as u32;
        let (width, height) = (pixels(tree.size().width()), pixels(tree.size().height()));
        let mut pixmap = Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
        resvg::render(
            &tree,
            Transform::from_scale(PIXELS, PIXELS),
            &mut pixmap.as_mut(),
        );
        pixmap
            .encode_png()
            .map_err(|err| PngError::Encoding(err.to_string()))
    }
}

/// Replaces each text by the outlines of its letters; what else there is stays as it is.
fn outlined(svg: &str) -> Result<String, PngError> {
    let mut reader = Reader::from_str(svg);
    let mut out = String::with_capacity(svg.len() * 2);
    let mut line: Option<Line> = None;
    let mut from = 0;
    loop {
        let event = reader.read_event()?;
        let to = usize::try_from(reader.buffer_position()).unwrap_or(svg.len());
        match (event, &mut line) {
            (Event::Eof, _) => return Ok(out),
            (Event::Start(start), _) if start.name().as_ref() == b"text" => {
                line = Some(Line::of(start.attributes()));
            }
            (Event::End(end), Some(done)) if end.name().as_ref() == b"text" => {
                done.write(&mut out)?;
                line = None;
            }
            (_, Some(line)) => line.words += svg.get(from..to).unwrap_or_default(),
            (_, None) => out += svg.get(from..to).unwrap_or_default(),
        }
        from = to;
    }
}

/// A line of text: its attributes as they are written, and its words.
#[derive(Debug, Default)]
struct Line {
    class: String,
    x: f32,
    y: f32,
    anchor: String,
    transform: String,
    words: String,
}

impl Line {
    fn of(attributes: Attributes<'_>) -> Self {
        let mut line = Self::default();
        for attribute in attributes.flatten() {
            let value = String::from_utf8_lossy(&attribute.value).into_owned();
            match attribute.key.as_ref() {
                b"class" => line.class = value,
                b"x" => line.x = value.parse().unwrap_or_default(),
                b"y" => line.y = value.parse().unwrap_or_default(),
                b"text-anchor" => line.anchor = value,
                b"transform" => line.transform = value,
                _ => {}
            }
        }
        line
    }

    /// The size and the font, as [`super::svg::STYLE`] has them for its class.
    fn look(&self) -> (f32, &'static [u8]) {
        match self.class.as_str() {
            "t" => (14.0, BOLD),
            "w" => (11.0, BOLD),
            _ => (11.0, REGULAR),
        }
    }

    fn write(&self, out: &mut String) -> Result<(), PngError> {
        let (size, font) = self.look();
        let face = Face::parse(font, 0)?;
        let mut pen = Pen {
            scale: size / f32::from(face.units_per_em()),
            ..Pen::default()
        };
        let words = quick_xml::escape::unescape(&self.words).map_err(quick_xml::Error::from)?;
        for letter in words.chars() {
            let advance = match face.glyph_index(letter) {
                Some(glyph) => {
                    face.outline_glyph(glyph, &mut pen);
                    f32::from(face.glyph_hor_advance(glyph).unwrap_or(0))
                }
                None => pen.empty_box(f32::from(face.units_per_em())),
            };
            pen.at += advance * pen.scale;
        }
        let before = match self.anchor.as_str() {
            "middle" => pen.at / 2.0,
            "end" => pen.at,
            _ => 0.0,
        };
        // The colour is that of a text unless the class has another one.
        let _ = write!(
            out,
            "<path fill=\"#222\" class=\"{}\" transform=\"{} translate({:.2} {:.2})\" d=\"{}\"/>",
            self.class,
            self.transform,
            self.x - before,
            self.y,
            pen.path
        );
        Ok(())
    }
}

/// Writes outlines one after the other; a font's y goes up.
#[derive(Debug, Default)]
struct Pen {
    path: String,
    at: f32,
    scale: f32,
}

impl Pen {
    fn draw(&mut self, command: char, points: &[(f32, f32)]) {
        self.path.push(command);
        for (x, y) in points {
            let (x, y) = (self.at + x * self.scale, -y * self.scale);
            let _ = write!(self.path, "{x:.3} {y:.3} ");
        }
    }

    /// Draws a box in place of a letter; returns its advance.
    fn empty_box(&mut self, em: f32) -> f32 {
        let (left, right, top, line) = (0.06 * em, 0.54 * em, 0.7 * em, 0.05 * em);
        let outside = [(left, 0.0), (right, 0.0), (right, top), (left, top)];
        let (inner_left, inner_right) = (left + line, right - line);
        let (low, high) = (line, top - line);
        // The other way round: what is inside of both is empty.
        let inside = [
            (inner_left, low),
            (inner_left, high),
            (inner_right, high),
            (inner_right, low),
        ];
        for [first, rest @ ..] in [outside, inside] {
            self.draw('M', &[first]);
            self.draw('L', &rest);
            self.close();
        }
        0.6 * em
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.draw('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.draw('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.draw('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.draw('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.draw('Z', &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_without_a_font_of_the_machine() {
        let painter = Painter::default();
        let draw = |text: &str, class: &str, anchor: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\">\
                 <style>.k{{fill:#555}}</style>\
                 <text class=\"{class}\" x=\"100\" y=\"25\" text-anchor=\"{anchor}\">{text}</text></svg>"
            );
            let png = painter.paint(&svg).unwrap();
            assert!(png.starts_with(b"\x89PNG\r\n"));
            let drawn = Pixmap::decode_png(&png).unwrap();
            assert_eq!((drawn.width(), drawn.height()), (400, 80));
            drawn
        };
        let inked = |drawn: &Pixmap| drawn.pixels().iter().filter(|p| p.alpha() > 100).count();
        let plain = |text| inked(&draw(text, "", "start"));
        let (none, some, more) = (plain(" "), plain("µs"), plain("Latency in µs"));
        assert_eq!(none, 0);
        assert!(some > 20 && more > 2 * some, "{some} {more}");
        // Entities are letters, and what the font does not have is a box.
        assert_eq!(plain("&lt;"), plain("&#60;"));
        assert!(plain("漢") > 0);
        assert!(inked(&draw("Latency", "t", "start")) > plain("Latency"));
        let right_of_the_middle = |anchor| {
            let drawn = draw("Latency in µs", "", anchor);
            let pixels = drawn.pixels().chunks(400);
            let right = pixels.flat_map(|row| row.iter().skip(200));
            right.filter(|p| p.alpha() > 100).count()
        };
        assert_eq!(right_of_the_middle("start"), more);
        assert_eq!(right_of_the_middle("end"), 0);
        assert!((more / 4..more * 3 / 4).contains(&right_of_the_middle("middle")));
        let darkest = |class| {
            let drawn = draw("l", class, "start");
            let solid = drawn.pixels().iter().filter(|p| p.alpha() == 255);
            solid.map(|p| p.red()).min().unwrap()
        };
        assert_eq!((darkest(""), darkest("k")), (0x22, 0x55));
        assert!(painter.paint("not SVG").is_err());
        assert!(painter.paint("<svg><text>&never;</text></svg>").is_err());
    }

    #[test]
    fn letters_have_the_size_and_the_weight_of_the_style() {
        let style = super::super::svg::STYLE;
        for part in [
            "text{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:11px;fill:#222}",
            ".t{font-size:14px;font-weight:bold}",
            ".w{fill:#b00020;font-weight:bold}",
        ] {
            assert!(style.contains(part), "{part}");
        }
        assert_eq!(style.matches("font-size").count(), 2);
        assert_eq!(style.matches("font-weight").count(), 2);
    }
}
