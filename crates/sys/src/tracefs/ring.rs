// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Pages of the kernel's trace ring buffers, as `trace_pipe_raw` gives them.
//!
//! A page begins with a time stamp and the length of what is committed, laid out as
//! `events/header_page` says. Records follow. Each begins with 32 bits: 5 bits of type or length and
//! 27 bits of time since the record before (`events/header_event`; include/linux/ring_buffer.h):
//!
//! | type | meaning |
//! |---|---|
//! | 0 | data; the length in bytes, itself included, is the next 32 bits |
//! | 1 to 28 | data of that many 32-bit words |
//! | 29 | padding to the end of the page, or a discarded record of a length as with type 0 |
//! | 30 | the time moves on by the next 32 bits, shifted left by 27, plus the 27 bits |
//! | 31 | the time is that sum, with the upper 5 bits of the page's time |

use std::str::FromStr;

use super::format::{Field, FormatError, fields, find};

/// Bits of the length: the upper ones say that records were lost before this page.
const LENGTH: u64 = (1 << 20) - 1;
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;

const TYPE_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Bits of an absolute time stamp. The rest comes from the page.
const ABSOLUTE_BITS: u32 = 59;

/// How the pages of the ring buffers are laid out.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PageLayout {
    time: Field,
    commit: Field,
    data: usize,
    bytes: usize,
}

impl PageLayout {
    /// Returns the bytes of a page.
    pub const fn bytes(self) -> usize {
        self.bytes
    }
}

impl FromStr for PageLayout {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let fields = fields(text)?;
        let data = find(&fields, "data")?;
        Ok(Self {
            time: find(&fields, "timestamp")?,
            commit: find(&fields, "commit")?,
            data: data.offset,
            bytes: data.offset.saturating_add(data.size),
        })
    }
}

/// Whether records were lost before a page.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Missed {
    /// None.
    Nothing,
    /// This many.
    Records(u64),
    /// Some; the page had no room for their number.
    Some,
}

/// One record of an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Record<'a> {
    /// Time on the instance's clock, in ns where that counts those.
    pub time: u64,
    /// The record, which begins with the number of the event.
    pub data: &'a [u8],
}

impl Record<'_> {
    /// Returns the number of the event.
    pub fn id(&self) -> Option<u16> {
        let bytes = self.data.get(..2)?;
        Some(u16::from_ne_bytes(bytes.try_into().ok()?))
    }
}

/// The records of one page, oldest first. It ends early where the page is damaged.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
    time: u64,
    page_time: u64,
    missed: Missed,
}

impl<'a> Records<'a> {
    /// Reads the head of `page`; nothing where it is too short for one.
    pub fn of(page: &'a [u8], layout: PageLayout) -> Option<Self> {
        let time = layout.time.read(page)?.cast_unsigned();
        let commit = layout.commit.read(page)?.cast_unsigned();
        let length = usize::try_from(commit & LENGTH).ok()?;
        let end = layout.data.checked_add(length)?;
        let rest = page.get(layout.data..end)?;
        let missed = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => Missed::Nothing,
            // The number, an unsigned long, follows what is committed.
            (true, true) => page
                .get(end..end.checked_add(size_of::<usize>())?)
                .and_then(|bytes| bytes.try_into().ok())
                .map_or(Missed::Some, |bytes| {
                    Missed::Records(usize::from_ne_bytes(bytes) as u64)
                }),
            (true, false) => Missed::Some,
        };
        Some(Self {
            rest,
            time,
            page_time: time,
            missed,
        })
    }

    /// Whether records were lost before this page.
    pub const fn missed(&self) -> Missed {
        self.missed
    }

    /// Returns the number of bytes that the records which were not read yet take, with their times.
    pub const fn bytes(&self) -> usize {
        self.rest.len()
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(u32::from_ne_bytes(*word))
    }

    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (data, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        Some(data)
    }

    /// Reads a length that counts its own four bytes.
    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.word()?).ok()?.checked_sub(4)
    }

    /// Reads one entry: a record, or nothing where it was none. Ends with `None`.
    fn entry(&mut self) -> Option<Option<Record<'a>>> {
        let word = self.word()?;
        let (kind, delta) = head(word);
        match kind {
            PADDING if delta == 0 => {
                self.rest = &[];
                return None;
            }
            PADDING => {
                self.time = self.time.wrapping_add(delta);
                let length = self.length()?;
                self.take(length)?;
                return Some(None);
            }
            TIME_EXTEND | TIME_STAMP => {
                let span = (u64::from(self.word()?) << DELTA_BITS).wrapping_add(delta);
                self.time = if kind == TIME_EXTEND {
                    self.time.wrapping_add(span)
                } else {
                    self.page_time >> ABSOLUTE_BITS << ABSOLUTE_BITS
                        | span & ((1 << ABSOLUTE_BITS) - 1)
                };
                return Some(None);
            }
            _ => {}
        }
        self.time = self.time.wrapping_add(delta);
        let bytes = match kind {
            0 => self.length()?,
            words => words as usize * 4,
        };
        let (time, data) = (self.time, self.take(bytes)?);
        Some(Some(Record { time, data }))
    }
}

/// Takes type and time of an entry's first word apart. The fields are bit-fields of C, which begin
/// at the lowest bit on little-endian machines and at the highest on others.
fn head(word: u32) -> (u32, u64) {
    if cfg!(target_endian = "little") {
        (word & ((1 << TYPE_BITS) - 1), u64::from(word >> TYPE_BITS))
    } else {
        (
            word >> DELTA_BITS,
            u64::from(word & ((1 << DELTA_BITS) - 1)),
        )
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        loop {
            if let Some(record) = self.entry()? {
                return Some(record);
            }
        }
    }
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    const LAYOUT: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;";

    fn layout() -> PageLayout {
        LAYOUT.parse().unwrap()
    }

    fn page(time: u64, flags: u64, words: &[u32]) -> Vec<u8> {
        let mut page = time.to_ne_bytes().to_vec();
        page.extend(((words.len() as u64 * 4) | flags).to_ne_bytes());
        page.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        page
    }

    fn entry(kind: u32, delta: u32) -> u32 {
        kind | delta << TYPE_BITS
    }

    fn read(page: &[u8]) -> Vec<(u64, Option<u16>, usize)> {
        Records::of(page, layout())
            .unwrap()
            .map(|record| (record.time, record.id(), record.data.len()))
            .collect()
    }

    #[test]
    fn every_kind_of_entry_is_read() {
        let words = [
            entry(2, 5),
            375,
            0, // 8 bytes of data, 5 ns later
            entry(0, 1),
            12,
            165,
            0, // its length in the next word: 12 - 4
            entry(PADDING, 2),
            8,
            0, // discarded, and its time counts
            entry(TIME_EXTEND, 3),
            1, // 2^27 + 3 ns
            entry(1, 0),
            7,
            entry(TIME_STAMP, 9),
            2, // 2 * 2^27 + 9
            entry(1, 1),
            8,
            entry(PADDING, 0),
            99,
            99, // the rest of the page
        ];
        assert_eq!(layout().bytes(), 4_096);
        let expected = [
            (1_005, Some(375), 8),
            (1_006, Some(165), 8),
            (1_008 + (1 << 27) + 3, Some(7), 4),
            ((2 << 27) + 10, Some(8), 4),
        ];
        assert_eq!(read(&page(1_000, 0, &words)), expected);
    }

    #[test]
    fn absolute_times_keep_the_upper_bits_of_the_page() {
        let high = 3 << ABSOLUTE_BITS;
        let words = [entry(TIME_STAMP, 4), 0, entry(1, 0), 7];
        assert_eq!(read(&page(high | 77, 0, &words)), [(high | 4, Some(7), 4)]);
    }

    #[test]
    fn lost_records_are_told() {
        let words = [entry(1, 0), 7];
        let missed = |page: &[u8]| Records::of(page, layout()).unwrap().missed();
        assert_eq!(missed(&page(0, 0, &words)), Missed::Nothing);
        assert_eq!(missed(&page(0, MISSED, &words)), Missed::Some);
        let mut counted = page(0, MISSED | MISSED_STORED, &words);
        counted.extend(42_u64.to_ne_bytes());
        assert_eq!(missed(&counted), Missed::Records(42));
        assert_eq!(read(&counted).len(), 1);
    }

    #[test]
    fn damaged_pages_end_early_and_never_panic() {
        assert!(Records::of(&[0; 15], layout()).is_none());
        // More is committed than there is.
        assert!(Records::of(&page(0, 4_000, &[1, 2]), layout()).is_none());
        for kind in 0..32 {
            for length in 0..5 {
                let words: Vec<u32> = (0..length).map(|n| entry(kind, n)).collect();
                drop(read(&page(u64::MAX, 0, &words)));
            }
        }
    }
}
