// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Numbers, sizes and settings of loads, as the command line says them.

use std::fmt;
use std::ops::RangeInclusive;

/// Threads of one load: more than any machine runs at once.
pub(super) const THREADS: RangeInclusive<u32> = 1..=4_096;

/// Settings that were given and not taken yet.
#[derive(Debug)]
pub(super) struct Given<'a>(pub(super) Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    pub(super) fn take(&mut self, wanted: &str) -> Option<&'a str> {
        let at = self.0.iter().position(|(key, _)| *key == wanted)?;
        Some(self.0.remove(at).1)
    }
}

pub(super) fn count(text: &str, range: RangeInclusive<u32>, what: &str) -> Result<u32, String> {
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok();
    number
        .filter(|n| digits && range.contains(n))
        .ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            format!("the number of {what} must be from {low} to {high}")
        })
}

pub(super) fn bytes(text: &str) -> Result<u64, String> {
    size(text)
        .filter(|n| (4_096..=1 << 40).contains(n))
        .ok_or_else(|| "the size must be from 4K to 1T, such as 64M".to_owned())
}

fn size(text: &str) -> Option<u64> {
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 10),
        (at, 'M' | 'm') => (&text[..at], 20),
        (at, 'G' | 'g') => (&text[..at], 30),
        (at, 'T' | 't') => (&text[..at], 40),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .filter(|_| digits.bytes().all(|b| b.is_ascii_digit()))?
        .checked_mul(1 << shift)
}

/// A number of bytes in the largest unit that it is whole in.
pub(super) struct Size(pub(super) u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
        let whole = |(shift, _): &&(u32, &str)| self.0.is_multiple_of(1 << shift);
        match units.iter().find(whole) {
            Some((shift, unit)) => write!(f, "{}{unit}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

/// A load was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{load}`: {reason}")]
pub struct ParseLoadError {
    pub(super) load: String,
    pub(super) reason: String,
}
