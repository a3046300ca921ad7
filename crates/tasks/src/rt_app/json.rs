// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! JSON as rt-app reads it: with comments, and with keys that come twice.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// JSON with its keys in order, also those that come twice, as rt-app reads them.
#[derive(Clone, Debug)]
pub(super) enum Json {
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
    Text(String),
    Number(f64),
    Bool(bool),
    Null,
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Json::Object(pairs))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut all = Vec::new();
        while let Some(one) = seq.next_element()? {
            all.push(one);
        }
        Ok(Json::Array(all))
    }

    fn visit_str<E>(self, text: &str) -> Result<Json, E> {
        Ok(Json::Text(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Json, E> {
        Ok(Json::Number(punctual_stats::float(number)))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Json, E> {
        let size = punctual_stats::float(number.unsigned_abs());
        Ok(Json::Number(if number < 0 { -size } else { size }))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Json, E> {
        Ok(Json::Number(number))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Any)
    }
}

impl Json {
    /// Reads JSON in which comments may stand, as in C.
    pub(super) fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(without_comments(text).as_bytes())
    }

    pub(super) fn pairs(&self) -> &[(String, Self)] {
        match self {
            Self::Object(pairs) => pairs,
            _ => &[],
        }
    }

    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        let found = self.pairs().iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value)
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number.
    pub(super) fn number(&self) -> Option<u64> {
        match self {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "whole, in range"
            )]
            Self::Number(n) if n.fract() == 0.0 && (0.0..1e15).contains(n) => Some(*n as u64),
            _ => None,
        }
    }
}

/// The text with blanks in place of `/* */` and `//` comments outside of strings.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut string, mut escaped) = (false, false);
    while let Some(c) = chars.next() {
        if string {
            string = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|c| *c != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for c in chars.by_ref() {
                    if c == '\n' {
                        out.push('\n');
                    }
                    if (last, c) == ('*', '/') {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
            }
            _ => {
                string = c == '"';
                out.push(c);
            }
        }
    }
    out
}
