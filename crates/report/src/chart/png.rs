// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Charts as PNG: the SVG of [`super::svg`], drawn by `resvg`.
//!
//! The font is in the program, a part of DejaVu Sans (Latin, Greek and Cyrillic letters; fonts/LICENSE), so that a picture
//! is the same on a machine without fonts. A letter that it does not have is drawn as an empty box.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Pixels for each unit of the drawing: 760 units are 1520 pixels, some 15 cm at 250 a inch.
const PIXELS: f32 = 2.0;

/// A picture that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PngError {
    /// The drawing is not SVG as the library reads it.
    #[error("draw a chart")]
    Svg(#[from] resvg::usvg::Error),
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

/// Draws SVG files as PNG; it reads the fonts once.
#[derive(Debug)]
pub struct Painter {
    options: Options<'static>,
}

impl Default for Painter {
    fn default() -> Self {
        let mut fonts = fontdb::Database::new();
        fonts.load_font_data(include_bytes!("../../fonts/DejaVuSans.ttf").to_vec());
        fonts.load_font_data(include_bytes!("../../fonts/DejaVuSans-Bold.ttf").to_vec());
        fonts.set_sans_serif_family("DejaVu Sans");
        Self {
            options: Options {
                font_family: "DejaVu Sans".to_owned(),
                fontdb: Arc::new(fonts),
                ..Options::default()
            },
        }
    }
}

impl Painter {
    /// Draws a file of [`super::svg`].
    ///
    /// # Errors
    /// As [`PngError`] says; of a file that this crate wrote only the memory may be too small.
    pub fn paint(&self, svg: &str) -> Result<Vec<u8>, PngError> {
        let tree = Tree::from_str(svg, &self.options)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_drawn_without_a_font_of_the_machine() {
        let painter = Painter::default();
        let draw = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"200\" height=\"40\">\
                 <style>text{{font-family:'DejaVu Sans',Verdana,sans-serif;font-size:20px}}</style>\
                 <text x=\"5\" y=\"25\">{text}</text></svg>"
            );
            let png = painter.paint(&svg).unwrap();
            assert!(png.starts_with(b"\x89PNG\r\n"));
            let drawn = Pixmap::decode_png(&png).unwrap();
            assert_eq!((drawn.width(), drawn.height()), (400, 80));
            drawn.pixels().iter().filter(|p| p.alpha() > 100).count()
        };
        let (none, some, more) = (draw(" "), draw("µs"), draw("Latency in µs"));
        assert_eq!(none, 0);
        assert!(some > 50 && more > 2 * some, "{some} {more}");
        assert!(painter.paint("not SVG").is_err());
    }
}
