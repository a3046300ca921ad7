// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! When a run was made, if its file does not say so: from a date without a time zone in it, from
//! names, or from the modification time. What has no time zone is taken as UTC.

use std::fs;
use std::path::Path;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use punctual_model::DateOrigin;
use punctual_peers::Imported;

use crate::cli::DateSource;

/// Sets the start of what was read of `file` from the first of `sources` that has one, and returns where it is
/// from.
pub(super) fn date(
    imported: &mut Imported,
    file: &Path,
    sources: &[DateSource],
) -> Option<DateOrigin> {
    if imported.started.is_some() {
        return Some(DateOrigin::Content);
    }
    let mut found = sources.iter().filter_map(|source| match source {
        DateSource::Content => {
            let local = imported.local_start.as_deref()?;
            Some((in_text(local)?, DateOrigin::ContentAsUtc))
        }
        DateSource::Name => {
            let names = file.components().rev();
            let mut dates = names.filter_map(|name| in_text(&name.as_os_str().to_string_lossy()));
            Some((dates.next()?, DateOrigin::Name))
        }
        DateSource::Mtime => {
            let modified = fs::metadata(file).ok()?.modified().ok()?;
            Some((Timestamp::try_from(modified).ok()?, DateOrigin::Mtime))
        }
    });
    let (start, from) = found.next()?;
    imported.started = Some(start.to_string());
    Some(from)
}

/// The first date in a text: `2024-05-17`, `20240517`, each with or without a time: `T03:10:59`, `_0310`,
/// `-03-10`, `T03:10:59+02:00`. Digits that a letter follows are no time: `_1000us`.
fn in_text(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let starts = (0..bytes.len()).filter(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !before.is_some_and(u8::is_ascii_digit)
    });
    let mut found = starts.filter_map(|at| {
        let mut rest = Digits(bytes.get(at..)?);
        let (year, month, day) = rest.date()?;
        let time = rest.time();
        if time.is_none() && rest.0.first().is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let (hour, minute, second) = time.unwrap_or((0, 0, 0));
        let east = rest.offset().filter(|_| time.is_some());
        let small = |n: i16| i8::try_from(n).ok();
        let civil = DateTime::new(
            year,
            small(month)?,
            small(day)?,
            small(hour)?,
            small(minute)?,
            small(second)?,
            0,
        );
        let zoned = civil.ok()?.to_zoned(TimeZone::UTC).ok()?;
        let east = SignedDuration::from_mins(east.unwrap_or(0).into());
        zoned.timestamp().checked_sub(east).ok()
    });
    found.next()
}

/// The rest of a text of digits.
#[derive(Clone, Copy)]
struct Digits<'a>(&'a [u8]);

impl Digits<'_> {
    /// Takes a number of exactly `digits` digits.
    fn number(&mut self, digits: usize) -> Option<i16> {
        let text = std::str::from_utf8(self.0.get(..digits)?).ok()?;
        let number = text.bytes().all(|c| c.is_ascii_digit()).then_some(text)?;
        self.0 = self.0.get(digits..)?;
        number.parse().ok()
    }

    /// Takes one of these characters, if it is next, and returns it.
    fn take(&mut self, characters: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        let is_next = characters.contains(first);
        is_next.then(|| {
            self.0 = rest;
            *first
        })
    }

    /// Takes one of these characters. Returns whether it was next.
    fn one_of(&mut self, characters: &[u8]) -> bool {
        self.take(characters).is_some()
    }

    /// Whether no letter or digit comes next; all that is not ASCII counts as a letter, as in `µs`.
    fn is_end(self) -> bool {
        let is_letter = |c: &u8| c.is_ascii_alphanumeric() || !c.is_ascii();
        !self.0.first().is_some_and(is_letter)
    }

    /// Takes a date. What is left where none is here is of no use.
    fn date(&mut self) -> Option<(i16, i16, i16)> {
        let year = self.number(4).filter(|year| (1990..2200).contains(year))?;
        let dashed = self.one_of(b"-_.");
        let month = self.number(2)?;
        if dashed != self.one_of(b"-_.") {
            return None;
        }
        Some((year, month, self.number(2)?))
    }

    /// Takes a time of day. Nothing is taken where none follows.
    fn time(&mut self) -> Option<(i16, i16, i16)> {
        let mut rest = *self;
        if !rest.one_of(b"Tt_- ") {
            return None;
        }
        // From one day to another: the digits of a year are no time.
        let mut day = rest;
        if day.date().is_some() && day.is_end() {
            return None;
        }
        let hour = rest.number(2).filter(|hour| *hour < 24)?;
        let between = rest.take(b":-.h");
        let minute = rest.number(2).filter(|minute| *minute < 60)?;
        // `03h10m59s`, and the Z of UTC.
        let ends = |mut rest: Self| {
            rest.one_of(if between == Some(b'h') {
                b"msZz"
            } else {
                b"Zz"
            });
            rest.is_end().then_some(rest)
        };
        // What is not divided as hour and minute are is no second: `0310-05`.
        let with_second = || {
            let mut rest = rest;
            let divided = match between {
                Some(b'h') => rest.one_of(b"m"),
                Some(sign) => rest.one_of(&[sign]),
                None => true,
            };
            let second = rest.number(2).filter(|second| divided && *second < 60)?;
            Some((ends(rest)?, second))
        };
        let (rest, second) = with_second().or_else(|| Some((ends(rest)?, 0)))?;
        *self = rest;
        Some((hour, minute, second))
    }

    /// Takes how many minutes east of UTC a time is: `+0200`, `+02:00`, `-05:00`. A `-0500` may as well
    /// be a number of something.
    fn offset(mut self) -> Option<i16> {
        let is_west = self.0.first() == Some(&b'-');
        if !self.one_of(b"+-") {
            return None;
        }
        let hour = self.number(2).filter(|hour| *hour < 24)?;
        let is_clear = self.one_of(b":") || !is_west;
        let minute = self.number(2).filter(|minute| *minute < 60)?;
        let minutes = hour * 60 + minute;
        (is_clear && self.is_end()).then_some(if is_west { -minutes } else { minutes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_found_in_names_as_people_write_them() {
        for (name, date) in [
            ("cyclictest-2024-05-17.txt", "2024-05-17T00:00:00Z"),
            ("20240517.hist", "2024-05-17T00:00:00Z"),
            ("rig3_20240517T031059Z.json", "2024-05-17T03:10:59Z"),
            ("run-2024-05-17_03-10.json", "2024-05-17T03:10:00Z"),
            ("2024_05_17-0310.json", "2024-05-17T03:10:00Z"),
            ("2024-05-17 03:10:59", "2024-05-17T03:10:59Z"),
            ("rteval-20240517-1.tar", "2024-05-17T00:00:00Z"),
            ("v6.6.31-rt31-2024-05-17", "2024-05-17T00:00:00Z"),
            ("2024-05-17_03h10.txt", "2024-05-17T03:10:00Z"),
            ("2024-05-17_03h10m59s.txt", "2024-05-17T03:10:59Z"),
            ("2024-05-17_0310-05.txt", "2024-05-17T03:10:00Z"),
            ("2024-05-17_03-10-1000us.txt", "2024-05-17T03:10:00Z"),
        ] {
            let found = in_text(name).map(|date| date.to_string());
            assert_eq!(found.as_deref(), Some(date), "{name}");
        }
        for name in [
            "run-1",
            "2024-13-17",
            "120240517",
            "202405171",
            "20240230",
            "",
            "2024",
            "18000101",
        ] {
            assert_eq!(in_text(name), None, "{name}");
        }
    }

    #[test]
    fn an_interval_a_number_of_loops_or_another_date_is_no_time() {
        for name in [
            "2024-05-17_1000us.txt",
            "2024-05-17_1000µs.txt",
            "2024-05-17-2000us-p80.txt",
            "2024-05-17-100000loops",
            "2024-05-17-100kloops",
            "2024-05-17-1000Hz",
            "2024-05-17-1200s",
            "20240517_1000us",
            "2024-05-17_2024-05-23",
            "2024-05-17-2024-05-23.txt",
            "20240517-20240523.txt",
        ] {
            let found = in_text(name).map(|date| date.to_string());
            assert_eq!(found.as_deref(), Some("2024-05-17T00:00:00Z"), "{name}");
        }
    }

    #[test]
    fn a_stated_zone_counts() {
        for (name, date) in [
            ("2024-05-17T031011+0200.txt", "2024-05-17T01:10:11Z"),
            ("2024-05-17T03-10-11+0200.txt", "2024-05-17T01:10:11Z"),
            ("2024-05-17T03:10:11+02:00", "2024-05-17T01:10:11Z"),
            ("2024-05-17T03:10+0530", "2024-05-16T21:40:00Z"),
            ("2024-05-17T03:10-05:00", "2024-05-17T08:10:00Z"),
            ("2024-05-17T03:10:11-05:00", "2024-05-17T08:10:11Z"),
            ("20240517-0310-0100.txt", "2024-05-17T03:10:00Z"),
            ("2024-05-17T0310+irq", "2024-05-17T03:10:00Z"),
            ("2024-05-17+0200", "2024-05-17T00:00:00Z"),
        ] {
            let found = in_text(name).map(|date| date.to_string());
            assert_eq!(found.as_deref(), Some(date), "{name}");
        }
    }
}
