// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How JSON is written: on one line, or indented.
//!
//! Records and results are written by these two functions, so that each type is compiled once, and not once more for each kind of output
//! and layout.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};

/// Returns a value as JSON on one line, without an end of line.
///
/// # Errors
///
/// Fails if a map in it has keys that are no text.
pub fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    written(value, Layout::Line(CompactFormatter))
}

/// Returns a value as JSON that people read too, without an end of line.
///
/// # Errors
///
/// Fails if a map in it has keys that are no text.
pub fn indented(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    written(value, Layout::Indented(PrettyFormatter::new()))
}

fn written(value: &impl Serialize, layout: Layout) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, layout))?;
    Ok(bytes)
}

/// The layout is chosen as it is written.
enum Layout {
    Line(CompactFormatter),
    Indented(PrettyFormatter<'static>),
}

/// Passes each method on to the layout.
macro_rules! passed_on {
    ($($method:ident($($argument:ident)?)),* $(,)?) => {
        $(
            fn $method<W: Write + ?Sized>(&mut self, out: &mut W $(, $argument: bool)?) -> io::Result<()> {
                match self {
                    Self::Line(layout) => layout.$method(out $(, $argument)?),
                    Self::Indented(layout) => layout.$method(out $(, $argument)?),
                }
            }
        )*
    };
}

impl Formatter for Layout {
    passed_on!(
        begin_array(),
        end_array(),
        begin_array_value(first),
        end_array_value(),
        begin_object(),
        end_object(),
        begin_object_key(first),
        end_object_key(),
        begin_object_value(),
        end_object_value(),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_layouts_are_those_of_the_library() {
        let value = serde_json::json!({
            "empty": {}, "none": [], "list": [1, -2.5, "µs \"x\"\n", null, true], "nested": { "deep": [[{}], [{ "a": 1e300 }]] },
        });
        assert_eq!(line(&value).unwrap(), serde_json::to_vec(&value).unwrap());
        let theirs = serde_json::to_vec_pretty(&value).unwrap();
        assert_eq!(indented(&value).unwrap(), theirs);
        assert!(line(&std::collections::BTreeMap::from([((1, 2), 3)])).is_err());
    }
}
