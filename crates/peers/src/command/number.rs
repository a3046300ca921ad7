// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Numbers as `strtol(3)` reads them: the digits at the start count, the rest does not.

/// Returns the number that `text` begins with, blanks skipped; 0 where there is none.
pub(super) fn leading(text: &str) -> i64 {
    let text = text.trim_start();
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let value = digits
        .bytes()
        .take_while(u8::is_ascii_digit)
        .fold(0_i64, |n, digit| {
            n.saturating_mul(10).saturating_add(i64::from(digit - b'0'))
        });
    if negative { -value } else { value }
}

/// Returns the seconds that `text` says: a number, then perhaps `m`, `h` or `d`.
pub(super) fn seconds(text: &str) -> u64 {
    let text = text.trim_start();
    let digits = text.trim_start_matches('+');
    let unit = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = match unit.chars().next() {
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        _ => 1,
    };
    u64::try_from(leading(text))
        .unwrap_or(0)
        .saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_up_to_what_is_none() {
        for (text, expected) in [
            ("80", 80),
            (" 3500", 3_500),
            ("-5x", -5),
            ("+7", 7),
            ("x", 0),
            ("", 0),
            ("99999999999999999999", i64::MAX),
        ] {
            assert_eq!(leading(text), expected, "{text}");
        }
    }

    #[test]
    fn durations_have_suffixes() {
        for (text, expected) in [("2", 2), ("3m", 180), ("1h", 3_600), ("2d", 172_800)] {
            assert_eq!(seconds(text), expected, "{text}");
        }
        assert_eq!((seconds("1x"), seconds("x"), seconds("-1")), (1, 0, 0));
        assert_eq!(seconds("99999999999999999999d"), u64::MAX);
    }
}
