// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! JSON as rt-tests and jitterdebugger print it: numbers that are not whole have two decimals, also
//! where these are zeros.

use std::io::{self, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Writes `value`, indented by two blanks, and a line break.
///
/// # Errors
/// What the output says.
pub fn two_decimals(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    let formatter = TwoDecimals(PrettyFormatter::new());
    value.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    out.write_all(b"\n")?;
    out.flush()
}

struct TwoDecimals(PrettyFormatter<'static>);

macro_rules! as_the_pretty_one {
    ($($name:ident($($argument:ident: $kind:ty),*);)+) => {
        $(fn $name<W: ?Sized + Write>(&mut self, out: &mut W $(, $argument: $kind)*) -> io::Result<()> {
            self.0.$name(out $(, $argument)*)
        })+
    };
}

impl Formatter for TwoDecimals {
    fn write_f64<W: ?Sized + Write>(&mut self, out: &mut W, value: f64) -> io::Result<()> {
        write!(out, "{value:.2}")
    }

    as_the_pretty_one! {
        begin_array();
        end_array();
        begin_array_value(first: bool);
        end_array_value();
        begin_object();
        end_object();
        begin_object_key(first: bool);
        begin_object_value();
        end_object_value();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_two_decimals_and_a_count_none() {
        let value =
            serde_json::json!({"cycles": 3, "avg": 46.0, "list": [0.125, 1e-9], "none": {}});
        let mut text = Vec::new();
        two_decimals(&value, &mut text).unwrap();
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "{\n  \"cycles\": 3,\n  \"avg\": 46.00,\n  \"list\": [\n    0.12,\n    0.00\n  ],\n  \"none\": {}\n}\n"
        );
    }
}
