// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! When a run was made, if its file does not say so: from a date without a time zone in it, from
//! names, or from the modification time. All but the last are taken as UTC.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
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
/// `-03-10`.
fn in_text(text: &str) -> Option<Timestamp> {
    let bytes = text.as_bytes();
    let starts = (0..bytes.len()).filter(|at| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !before.is_some_and(u8::is_ascii_digit)
    });
    let mut found = starts.filter_map(|at| {
        let mut rest = Digits(bytes.get(at..)?);
        let year = rest.number(4)?;
        let dashed = rest.one_of(b"-_.");
        let month = rest.number(2)?;
        if dashed != rest.one_of(b"-_.") {
            return None;
        }
        let day = rest.number(2)?;
        let time = rest.time();
        let has_more = time.is_none() && rest.0.first().is_some_and(u8::is_ascii_digit);
        if has_more || !(1990..2200).contains(&year) {
            return None;
        }
        let (hour, minute, second) = time.unwrap_or((0, 0, 0));
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
        Some(zoned.timestamp())
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

    /// Takes one of these characters, if it is next.
    fn one_of(&mut self, characters: &[u8]) -> bool {
        let is_next = self.0.first().is_some_and(|c| characters.contains(c));
        if is_next {
            self.0 = &self.0[1..];
        }
        is_next
    }

    /// Takes a time of day. Nothing is taken where none follows.
    fn time(&mut self) -> Option<(i16, i16, i16)> {
        let mut rest = *self;
        if !rest.one_of(b"Tt_- ") {
            return None;
        }
        let hour = rest.number(2)?;
        rest.one_of(b":-.h");
        let minute = rest.number(2)?;
        let mut after = rest;
        after.one_of(b":-.m");
        let second = after.number(2).filter(|second| *second < 60);
        if second.is_some() {
            rest = after;
        }
        let ends = !rest.0.first().is_some_and(u8::is_ascii_digit);
        if !ends || hour > 23 || minute > 59 {
            return None;
        }
        *self = rest;
        Some((hour, minute, second.unwrap_or(0)))
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
}
