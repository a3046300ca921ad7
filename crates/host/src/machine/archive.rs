// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A machine in one text file, so that a change to it can be read as a change.
//!
//! ```text
//! # What is behind a number sign is a remark.
//! /proc/sys/kernel/osrelease: 6.12.9-rt8
//! /sys/devices/system/cpu/cpu{0-3}/cpufreq/scaling_governor: performance
//! /proc/swaps:
//! |Filename  Type  Size  Used  Priority
//! |/dev/a  partition  8388604  0  -2
//! /sys/kernel/debug/sched/preempt! permission denied
//! ```
//!
//! A value of one line stands behind its path, any other below it, each line behind a `|`. Braces
//! with a CPU list stand for a file each. Behind a `!` is why a file could not be read.
//! `/proc/config.gz` and `/dev/cpu/*/msr` are as text what they are not on a machine.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;
use std::str::FromStr;

use punctual_model::CpuSet;

use super::{Machine, Reading, Unread};

/// More files than any capture has.
const MOST: usize = 100_000;

/// The first register of the file of registers that counts system management interrupts.
const SMI_COUNT: usize = 0x34;

/// The files of a machine, to be written as text or unpacked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    pub(super) files: BTreeMap<String, Reading>,
}

/// A text is no archive.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ArchiveError {
    line: usize,
    reason: String,
}

impl Archive {
    /// Returns the machine as it was captured, also what could not be read there.
    pub fn machine(&self) -> Machine {
        Machine::from_files(self.files.clone())
    }

    /// Takes the files of another archive besides, and instead of those of the same path.
    pub fn overlay(&mut self, other: Self) {
        self.files.extend(other.files);
    }

    /// Writes the files below `directory`. What could not be read is not there.
    ///
    /// # Errors
    ///
    /// Fails as `mkdir(2)`, `open(2)` and `write(2)` do.
    pub fn unpack(&self, directory: &Path) -> io::Result<()> {
        for (path, reading) in &self.files {
            let Ok(text) = reading else { continue };
            let full = directory.join(path.trim_start_matches('/'));
            if let Some(parent) = full.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(full, raw(path, text)?)?;
        }
        Ok(())
    }
}

/// Returns the bytes that a file has on a machine.
fn raw(path: &str, text: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == "/proc/config.gz" {
        let mut packed = flate2::write::GzEncoder::new(bytes, flate2::Compression::fast());
        packed.write_all(text.as_bytes())?;
        packed.write_all(b"\n")?;
        return packed.finish();
    }
    match text.parse::<u32>() {
        Ok(count) if path.starts_with("/dev/cpu/") => {
            bytes.resize(SMI_COUNT, 0);
            bytes.extend(u64::from(count).to_le_bytes());
        }
        _ => {
            bytes.extend(text.as_bytes());
            bytes.push(b'\n');
        }
    }
    Ok(bytes)
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut alike: BTreeMap<(String, Option<String>, &str), Vec<u32>> = BTreeMap::new();
        for (path, reading) in &self.files {
            let (pattern, number) = match numbered(path) {
                Some((pattern, number)) => (pattern, Some(number)),
                None => (path.clone(), None),
            };
            let text = reading.as_deref().unwrap_or_default();
            alike
                .entry((pattern, reading.as_ref().err().map(Unread::to_string), text))
                .or_default()
                .extend(number);
        }
        for ((pattern, unread, text), numbers) in alike {
            let list: CpuSet = numbers.iter().copied().collect();
            let path = match numbers[..] {
                [] => pattern,
                [one] => pattern.replacen("{}", &one.to_string(), 1),
                _ => pattern.replacen("{}", &format!("{{{list}}}"), 1),
            };
            match unread {
                Some(unread) => writeln!(f, "{path}! {unread}")?,
                None if !text.is_empty() && !text.contains('\n') && text.trim() == text => {
                    writeln!(f, "{path}: {text}")?;
                }
                None => {
                    writeln!(f, "{path}:")?;
                    for line in text.split('\n').filter(|_| !text.is_empty()) {
                        writeln!(f, "|{line}")?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Takes the number of a CPU or interrupt out of a path, and leaves `{}` in its place.
pub(crate) fn numbered(path: &str) -> Option<(String, u32)> {
    const BEFORE: [&str; 4] = [
        "/cpu/cpu",
        "/clockevents/clockevent",
        "/fair_server/cpu",
        "/proc/irq/",
    ];
    BEFORE.iter().find_map(|before| {
        let start = path.find(before)? + before.len();
        let digits = path[start..].bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = path[start..start + digits].parse().ok()?;
        let tail = &path[start + digits..];
        let fits = number < punctual_model::CPU_LIMIT && tail.starts_with('/');
        // A leading zero would be lost.
        let same = number.to_string().len() == digits;
        (fits && same).then(|| (format!("{}{{}}{tail}", &path[..start]), number))
    })
}

impl FromStr for Archive {
    type Err = ArchiveError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut files = BTreeMap::new();
        let mut last: Vec<String> = Vec::new();
        let mut fresh = true;
        for (index, line) in text.split('\n').enumerate() {
            let err = |reason: String| ArchiveError {
                line: index + 1,
                reason,
            };
            if let Some(more) = line.strip_prefix('|') {
                if last.is_empty() {
                    return Err(err("a value without a path".to_owned()));
                }
                append(&mut files, &last, more, fresh);
                fresh = false;
                continue;
            }
            last.clear();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (pattern, reading, below) = entry(line).ok_or_else(|| {
                err(format!(
                    "`{line}` is none of `/path: value`, `/path:` and `/path! reason`"
                ))
            })?;
            let paths = braces(pattern).map_err(err)?;
            for path in &paths {
                if files.insert(path.clone(), reading.clone()).is_some() {
                    return Err(err(format!("{path} is there twice")));
                }
            }
            if files.len() > MOST {
                return Err(err(format!("more than {MOST} files")));
            }
            if below {
                fresh = true;
                last = paths;
            }
        }
        Ok(Self { files })
    }
}

/// Splits a line into path, value, and whether the value may go on below.
fn entry(line: &str) -> Option<(&str, Reading, bool)> {
    let end = line
        .find([':', '!'].as_slice())
        .filter(|_| line.starts_with('/'))?;
    // A colon may be part of a name, such as a PCI address: the one that ends a path is followed
    // by a blank or nothing.
    let ends = |at: usize| {
        let rest = &line[at + 1..];
        rest.is_empty() || rest.starts_with(' ')
    };
    let end = (end..line.len())
        .filter(|at| line.is_char_boundary(*at))
        .find(|at| matches!(line.as_bytes()[*at], b':' | b'!') && ends(*at))?;
    let (path, rest) = (&line[..end], &line[end + 1..]);
    let value = rest.strip_prefix(' ').unwrap_or(rest);
    if path.split('/').any(|part| part == "..") {
        return None;
    }
    if line.as_bytes()[end] == b'!' {
        let unread = match value {
            "permission denied" => Unread::Denied,
            "not there" => Unread::Missing,
            reason => Unread::Failed(reason.to_owned()),
        };
        return Some((path, Err(unread), false));
    }
    Some((path, Ok(value.to_owned()), value.is_empty()))
}

fn append(files: &mut BTreeMap<String, Reading>, paths: &[String], line: &str, fresh: bool) {
    for path in paths {
        if let Some(Ok(text)) = files.get_mut(path) {
            if !fresh {
                text.push('\n');
            }
            text.push_str(line);
        }
    }
}

/// Returns the paths that a pattern with braces stands for.
fn braces(pattern: &str) -> Result<Vec<String>, String> {
    let Some((before, rest)) = pattern.split_once('{') else {
        return Ok(vec![pattern.to_owned()]);
    };
    let (list, after) = rest
        .split_once('}')
        .ok_or_else(|| format!("`{pattern}` has a brace that is not closed"))?;
    let numbers: CpuSet = list.parse().map_err(|err| format!("{err}"))?;
    let tails = braces(after)?;
    if numbers.len() * tails.len() > MOST {
        return Err(format!("`{pattern}` stands for more than {MOST} files"));
    }
    let paths = numbers
        .iter()
        .flat_map(|n| tails.iter().map(move |tail| format!("{before}{n}{tail}")));
    Ok(paths.collect())
}
