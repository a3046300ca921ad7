// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sizes of memory and files.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The suffixes of sizes, each 1024 times the one before.
const SUFFIXES: [(char, u32); 4] = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];

/// A size in bytes. Serialized as a bare integer.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes(u64);

impl Bytes {
    /// Wraps a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns `self * n`, at most what can be said.
    #[must_use]
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl fmt::Display for Bytes {
    /// Writes it as it is read, with the largest suffix that leaves a whole number: `256M`, `1500`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, shift): &&(char, u32)| self.0 > 0 && self.0.trailing_zeros() >= *shift;
        match SUFFIXES.iter().rev().find(whole) {
            Some((suffix, shift)) => f.pad(&format!("{}{suffix}", self.0 >> shift)),
            None => f.pad(&self.0.to_string()),
        }
    }
}

impl FromStr for Bytes {
    type Err = ParseBytesError;

    /// Reads a whole number, with `K`, `M`, `G` or `T` after it for 2^10, 2^20, 2^30 or 2^40 bytes; `KiB` is the same, and so on.
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        let text = s.trim();
        let is_short = |rest: &&str| rest.ends_with(['K', 'M', 'G', 'T']);
        let text = text.strip_suffix("iB").filter(is_short).unwrap_or(text);
        let fail = || ParseBytesError { text: s.to_owned() };
        let suffix = |c: char| SUFFIXES.iter().find(|(s, _)| s.eq_ignore_ascii_case(&c));
        let (digits, shift) = match text.char_indices().next_back() {
            Some((at, c)) => match suffix(c) {
                Some((_, shift)) => (text.get(..at).unwrap_or_default(), *shift),
                None => (text, 0),
            },
            None => return Err(fail()),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(fail());
        }
        let number: u64 = digits.parse().map_err(|_| fail())?;
        number.checked_mul(1 << shift).map(Self).ok_or_else(fail)
    }
}

/// A size was not understood.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "`{text}` is not a size; write a whole number of bytes, or one with K, M, G or T, such as 256M"
)]
pub struct ParseBytesError {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_round_trip() {
        for (text, bytes) in [
            ("0", 0),
            ("1500", 1_500),
            ("4K", 4_096),
            ("256M", 256 << 20),
            ("3G", 3 << 30),
            ("16T", 16 << 40),
        ] {
            let size: Bytes = text.parse().unwrap();
            assert_eq!((size.get(), size.to_string().as_str()), (bytes, text));
        }
        assert_eq!("64m".parse(), Ok(Bytes::new(64 << 20)));
        assert_eq!("16MiB".parse(), Ok(Bytes::new(16 << 20)));
        assert_eq!("1024M".parse::<Bytes>().unwrap().to_string(), "1G");
    }

    #[test]
    fn what_is_no_size_is_named() {
        for text in [
            "",
            "M",
            "-1M",
            "1.5G",
            "1 M B",
            "é",
            "99999999T",
            "+1",
            "1MB",
            "1iB",
            "MiB",
        ] {
            let err = text.parse::<Bytes>().unwrap_err().to_string();
            assert!(err.starts_with(&format!("`{text}` is not a size")), "{err}");
        }
    }
}
