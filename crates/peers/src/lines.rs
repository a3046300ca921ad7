// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Lines of text with their numbers, in bounded memory.

use std::io::{BufRead, Read as _};

use crate::error::ImportError;
use crate::series::MOST_THREADS;

/// The longest line. The list of overflows of a cyclictest histogram is the longest that is real.
const LONGEST: u64 = 16 << 20;

const HINT: &str = "import the whole file, as the tool wrote it; if only its last line break is \
                    missing, add that";

/// Reads lines one by one. A line without an end is an error: it may be cut short. Commands for a terminal alone are no
/// line: `cyclictest -M` moves the cursor last.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// Returns the next line without its end.
    pub(crate) fn next(&mut self) -> Result<Option<&str>, ImportError> {
        self.buffer.clear();
        self.number += 1;
        let read = (&mut self.input)
            .take(LONGEST)
            .read_until(b'\n', &mut self.buffer)?;
        if read == 0 {
            // What is said of the end is said of the last line.
            self.number -= 1;
            return Ok(None);
        }
        let at = self.number;
        let Some(line) = self.buffer.strip_suffix(b"\n") else {
            if is_only_commands(&self.buffer) {
                self.number -= 1;
                return Ok(None);
            }
            let reason = match read as u64 {
                LONGEST => "the line is longer than any of this format",
                _ => "the file ends inside this line",
            };
            return Err(ImportError::at_line(at, reason).hinted(HINT));
        };
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::str::from_utf8(line) {
            Ok(line) if !line.contains('\0') => Ok(Some(line)),
            _ => Err(ImportError::at_line(at, "this is not text")),
        }
    }

    /// Returns the number of the line that was read last, from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Makes an error of the line that was read last.
    pub(crate) fn error(&self, reason: impl Into<String>) -> ImportError {
        ImportError::at_line(self.number, reason)
    }

    /// Makes the error of a file that ends too early.
    pub(crate) fn ended(&self, missing: &str) -> ImportError {
        ImportError::at_line(self.number, format!("the file ends before {missing}")).hinted(HINT)
    }
}

/// Removes what commands a terminal: `ESC c`, `ESC [ 2 J` and the like. Also says whether one of these
/// two, which clear it, was there.
pub(crate) fn plain(line: &str) -> (String, bool) {
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    let mut cleared = false;
    for part in parts {
        let end = match part.strip_prefix('[') {
            // Parameters, then one letter (ECMA-48).
            Some(rest) => rest
                .find(|c: char| !c.is_ascii_digit() && c != ';')
                .map(|at| at + 1),
            None => Some(0),
        };
        let (command, rest) = match end.and_then(|end| part.char_indices().nth(end)) {
            Some((at, last)) => part.split_at(at + last.len_utf8()),
            None => (part, ""),
        };
        cleared |= command == "c" || command == "[2J";
        text.push_str(rest);
    }
    (text, cleared)
}

/// Whether this is nothing but whole commands for a terminal.
fn is_only_commands(text: &[u8]) -> bool {
    text.last().is_some_and(u8::is_ascii_alphabetic)
        && std::str::from_utf8(text).is_ok_and(|text| plain(text).0.is_empty())
}

/// The error of a file in which another run follows.
pub(crate) fn second_run(line: u64) -> ImportError {
    ImportError::at_line(line, "a second run begins here")
        .hinted("a file must have one run: split it before this line and import the parts")
}

/// Reads a number that has nothing but digits.
pub(crate) fn number(line: u64, what: &str, text: &str) -> Result<u64, ImportError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parsed = digits.then(|| text.parse().ok()).flatten();
    parsed.ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        ImportError::at_line(
            line,
            format!("{what}: `{shown}` is not a number from 0 to 2^64 - 1"),
        )
    })
}

/// Reads numbers that blanks or tabs divide: one a thread, and perhaps their sum.
pub(crate) fn numbers(line: u64, what: &str, text: &str) -> Result<Vec<u64>, ImportError> {
    let numbers: Vec<u64> = text
        .split_ascii_whitespace()
        .take(MOST_THREADS + 2)
        .map(|word| number(line, what, word))
        .collect::<Result<_, _>>()?;
    if numbers.len() > MOST_THREADS + 1 {
        let reason = format!("{what}: more than {MOST_THREADS} columns");
        return Err(ImportError::at_line(line, reason));
    }
    Ok(numbers)
}

/// Returns the time of `units` of `unit_ns` each.
pub(crate) fn nanos(line: u64, units: u64, unit_ns: u64) -> Result<u64, ImportError> {
    units
        .checked_mul(unit_ns)
        .filter(|ns| *ns <= u64::MAX / 4)
        .ok_or_else(|| ImportError::at_line(line, format!("{units} is longer than any latency")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_for_a_terminal_are_removed() {
        for (line, expected) in [
            ("plain", ("plain", false)),
            (
                "\u{1b}c\u{1b}[2;37;40m title \u{1b}[0;0;0m",
                (" title ", true),
            ),
            ("\u{1b}[2J\u{1b}[3A x", (" x", true)),
            ("x\u{1b}", ("x", false)),
            ("x\u{1b}[12", ("x", false)),
            ("\u{1b}\u{1b}é", ("", false)),
        ] {
            assert_eq!(plain(line), (expected.0.to_owned(), expected.1), "{line:?}");
        }
    }

    #[test]
    fn commands_for_a_terminal_at_the_end_are_no_cut_line() {
        for end in ["", "\u{1b}[4A\u{1b}[4B", "\u{1b}c"] {
            let text = format!("T: 0\n{end}");
            let mut lines = Lines::new(text.as_bytes());
            assert_eq!(lines.next().unwrap(), Some("T: 0"));
            assert_eq!(lines.next().unwrap(), None, "{end:?}");
            assert_eq!(lines.number(), 1);
        }
        for end in ["x", "\u{1b}[4AT: 1", "\u{1b}[4", "\u{1b}", "\u{1b}[4A "] {
            let text = format!("T: 0\n{end}");
            let mut lines = Lines::new(text.as_bytes());
            lines.next().unwrap();
            let said = lines.next().unwrap_err().to_string();
            assert_eq!(said, "line 2: the file ends inside this line", "{end:?}");
        }
    }
}
