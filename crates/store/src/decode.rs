// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is read of a run that may be somebody else's: as a stream, and never more of it than its record
//! leads one to expect. A file of some kilobytes can otherwise unpack to gigabytes.
//!
//! docs/formats/run.md has the limits.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::Path;

use punctual_model::{Event, RunRecord, Sample};

use crate::samples::{SampleReader, SamplesFault};

/// Objects and arrays of a record; one of 4096 threads has some 100,000. Read, each takes some hundred
/// bytes.
const PARTS: usize = 500_000;

/// zstd asks for memory of a window of up to 2 to this, in bytes; what we write asks for 2 to 21.
const WINDOW: u32 = 23;

/// Longer than any event: one of 1024 threads has some 5 MB.
const LINE_LIMIT: u64 = 16 << 20;

/// Samples beyond those that the record counts, as a run may have that ended in between.
const MORE_SAMPLES: u64 = 1_000;

/// Events of a run that has no time, and of the start and the end of any other.
const EVENTS: u64 = 1_000;

/// Events in a second at most; one is stored.
const EVENTS_A_SECOND: u64 = 10;

/// All text of the events of any run, and what a thread may add to it in a second: of a stored progress it has some 1,400 bytes.
const TEXT_LIMIT: u64 = 4 << 30;
const TEXT_OF_A_THREAD: u64 = 4 << 10;

/// All entries of a thread in the events of any run, and of a thread in a second; one is stored.
const ENTRIES: u64 = 8 << 20;
const ENTRIES_OF_A_THREAD: u64 = 2;

/// Says what is wrong with a record, or another JSON of ours, that would take far more memory than any
/// that we write.
///
/// # Errors
/// How many parts it has.
pub fn parts(json: &[u8]) -> Result<(), String> {
    // Those in text count too, which a record has little of.
    let parts = json.iter().filter(|byte| matches!(byte, b'{' | b'['));
    match parts.count() {
        ..=PARTS => Ok(()),
        parts => Err(format!(
            "{parts} objects and arrays, more than the limit of {PARTS}"
        )),
    }
}

/// Reads a file of text that the user named, up to a size.
///
/// # Errors
/// As of the file; `InvalidData` if it is not UTF-8, `Other` if it is not a regular file or is larger.
pub fn text(path: &Path, limit: u64) -> io::Result<String> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(text)
}

/// Unpacks a stream. Only a window of it is in memory.
fn unpacked<R: Read>(packed: R) -> io::Result<BufReader<zstd::Decoder<'static, BufReader<R>>>> {
    let mut decoder = zstd::Decoder::new(packed)?;
    decoder.window_log_max(WINDOW)?;
    Ok(BufReader::with_capacity(64 << 10, decoder))
}

/// Reads the samples of a run from what `samples.zst` has: a record, and not more of them than it counts.
///
/// # Errors
/// Where zstd has no memory.
pub fn samples<R: Read>(
    packed: R,
    record: &RunRecord,
) -> io::Result<impl Iterator<Item = Result<(u32, Sample), SamplesFault>> + use<R>> {
    let of = |series: &punctual_model::Series| {
        let beside = [series.warm_up_samples, series.lost, series.clamped];
        let beside = beside.iter().flatten();
        beside.fold(series.count, |sum, n| sum.saturating_add(*n))
    };
    let series = record.series.iter().map(of);
    let said = series.fold(0, u64::saturating_add).max(of(&record.total));
    let most = said.saturating_add(MORE_SAMPLES);
    Ok(SampleReader::new(unpacked(packed)?, most))
}

/// What is wrong with a line of `events.jsonl.zst`, or with all of it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EventFault {
    /// The line is damaged, or of a kind that only newer programs know.
    #[error("line {line}")]
    Line {
        /// The line, from 1.
        line: u64,
        /// Where and why.
        source: serde_json::Error,
    },
    /// It cannot be read further.
    #[error(transparent)]
    Io(io::Error),
}

/// Reads the events of a run from what `events.jsonl.zst` has: not more of them than its duration leads
/// one to expect.
///
/// # Errors
/// Where zstd has no memory.
pub fn events<R: Read>(
    packed: R,
    record: &RunRecord,
) -> io::Result<impl Iterator<Item = Result<Event, EventFault>> + use<R>> {
    let seconds = record.duration_ns.map_or(0, |ns| ns.get() / 1_000_000_000);
    let most = EVENTS.saturating_add(seconds.saturating_mul(EVENTS_A_SECOND));
    let threads = record.series.len().max(1) as u64;
    let of_threads = |each: u64| seconds.saturating_mul(threads).saturating_mul(each);
    let most = Most {
        events: most,
        text: of_threads(TEXT_OF_A_THREAD).max(TEXT_LIMIT),
        entries: of_threads(ENTRIES_OF_A_THREAD).max(ENTRIES),
    };
    events_of(packed, most)
}

/// What events may have at most.
#[derive(Clone, Copy, Debug)]
struct Most {
    events: u64,
    /// Bytes.
    text: u64,
    /// Of threads.
    entries: u64,
}

fn events_of<R: Read>(
    packed: R,
    most: Most,
) -> io::Result<impl Iterator<Item = Result<Event, EventFault>> + use<R>> {
    let mut input = unpacked(packed)?.take(most.text);
    let (mut number, mut entries) = (0_u64, 0_u64);
    let mut done = false;
    let mut line = Vec::new();
    Ok(std::iter::from_fn(move || {
        if done {
            return None;
        }
        number += 1;
        line.clear();
        let read = (&mut input).take(LINE_LIMIT).read_until(b'\n', &mut line);
        let fault = match read {
            // The rest of a line is text beyond the limit, too.
            Ok(_) if input.limit() == 0 && line.last() != Some(&b'\n') => too_much("of text"),
            Ok(0) => {
                done = true;
                return None;
            }
            Ok(_) if number > most.events => too_much("events"),
            Ok(_) => {
                // A line without an end is cut short, or too long.
                done = line.last() != Some(&b'\n');
                let event: Result<Event, _> = serde_json::from_slice(&line);
                if let Ok(Event::Progress(progress)) = &event {
                    entries = entries.saturating_add(progress.series.len() as u64);
                }
                match event {
                    Ok(_) if entries > most.entries => too_much("entries of threads"),
                    Ok(event) => return Some(Ok(event)),
                    Err(source) => {
                        return Some(Err(EventFault::Line {
                            line: number,
                            source,
                        }));
                    }
                }
            }
            Err(err) => err,
        };
        done = true;
        Some(Err(EventFault::Io(fault)))
    }))
}

fn too_much(what: &str) -> io::Error {
    let why = format!("more {what} than a run of this duration can have");
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

#[cfg(test)]
mod tests {
    use punctual_model::{Progress, json};

    use super::*;

    #[test]
    fn text_beyond_the_limit_is_an_error_wherever_it_ends() {
        let event = Event::Progress(Progress::default());
        let mut line = json::line(&event).unwrap();
        line.push(b'\n');
        let size = line.len() as u64;
        let packed = zstd::encode_all(line.repeat(3).as_slice(), 1).unwrap();
        let most = Most {
            events: 10,
            text: u64::MAX,
            entries: u64::MAX,
        };
        let read = |text: u64| -> Vec<_> {
            let most = Most { text, ..most };
            events_of(&*packed, most).unwrap().collect()
        };
        for text in [2 * size, 2 * size + 1, 3 * size - 1] {
            let read = read(text);
            assert_eq!(read.len(), 3, "{text}");
            assert!(read[..2].iter().all(Result::is_ok), "{text}");
            let Some(Err(EventFault::Io(err))) = read.last() else {
                panic!("{text}: {read:?}");
            };
            assert_eq!(err.kind(), io::ErrorKind::FileTooLarge, "{text}");
        }
        assert!(read(3 * size + 1).iter().all(Result::is_ok));
    }

    #[test]
    fn what_each_second_of_each_thread_may_have_grows_with_both() {
        let progress = Progress {
            series: vec![punctual_model::SeriesProgress::default(); 4],
            ..Progress::default()
        };
        let mut line = json::line(&Event::Progress(progress)).unwrap();
        line.push(b'\n');
        let packed = zstd::encode_all(line.repeat(3).as_slice(), 1).unwrap();
        let most = |entries| Most {
            events: 10,
            text: u64::MAX,
            entries,
        };
        let read = |most| events_of(&*packed, most).unwrap().filter(Result::is_ok);
        assert_eq!(read(most(12)).count(), 3);
        assert_eq!(read(most(11)).count(), 2);
    }
}
