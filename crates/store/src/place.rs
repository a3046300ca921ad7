// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a store is on disk: the names in it, its directories held open, and the versions of its formats.

use std::cmp::Ordering;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};
use uuid::Uuid;

use crate::error::StoreError;

/// The directory of the runs.
pub(crate) const RUNS: &str = "runs";
/// Prefix of a run that is being written.
pub(crate) const TMP: &str = ".tmp-";
/// Prefix of a run that is being removed.
pub(crate) const TRASH: &str = ".trash-";
/// The lock file, in the home and in a temporary directory.
pub(crate) const LOCK: &str = "lock";
pub(crate) const RUN_FILE: &str = "run.json";
pub(crate) const EVENTS_FILE: &str = "events.jsonl.zst";
pub(crate) const SAMPLES_FILE: &str = "samples.zst";

/// The most that a record may have. Read, it takes many times that in memory, and it may be someone
/// else's. One of 4096 threads, the most that a run has, has about 10 MB.
pub const RECORD_LIMIT: u64 = 16 << 20;
/// More than any artifact has.
pub(crate) const ARTIFACT_LIMIT: u64 = 64 << 20;

/// A store whose directories are held open.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) home: Dir,
    pub(crate) runs: Dir,
}

/// Where the runs are. A store that is only read is opened anew each time: it may come and go, and many
/// runs shall not hold many descriptors.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    pub(crate) home: PathBuf,
    pub(crate) held: Option<Arc<Held>>,
}

impl Held {
    pub(crate) fn of(home: Dir) -> Result<Self, StoreError> {
        let path = home.path().join(RUNS);
        let runs = home.make_dir(RUNS, 0o755).map_err(|err| match err.kind() {
            // "Not a directory" alone would not say what is one.
            io::ErrorKind::NotADirectory => {
                io::Error::new(io::ErrorKind::NotADirectory, "a file is in the way")
            }
            _ => err,
        });
        let runs = runs.at("create", &path)?;
        runs.check()?;
        Ok(Self { home, runs })
    }
}

impl Runs {
    /// Opens the directory of the runs.
    pub(crate) fn open(&self) -> Result<Arc<Held>, PathError> {
        if let Some(held) = &self.held {
            return Ok(Arc::clone(held));
        }
        let home = Dir::open(&self.home).at("read", &self.home)?;
        let runs = home.dir(RUNS).at("read", &self.home.join(RUNS))?;
        Ok(Arc::new(Held { home, runs }))
    }

    /// Returns the path of a run, to be shown.
    pub(crate) fn path(&self, id: Uuid) -> PathBuf {
        self.home.join(RUNS).join(id.to_string())
    }
}

/// Whether an artifact may have this name.
pub(crate) fn is_artifact_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && name.bytes().all(plain)
        && ![RUN_FILE, EVENTS_FILE, SAMPLES_FILE, LOCK].contains(&name)
}

/// Only the spelling that we write: another would be a second name for the same run.
pub(crate) fn id_of_name(name: &str) -> Option<Uuid> {
    let id = Uuid::try_parse(name).ok()?;
    (id.to_string() == name).then_some(id)
}

/// Whether a directory of a store has the name of a run.
pub fn is_run_name(name: &str) -> bool {
    id_of_name(name).is_some()
}

/// How a format that was found compares with the one that this program writes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Format {
    Known,
    Newer,
    Other,
}

impl Format {
    /// Compares `name/major`. A major version has any number of digits.
    pub(crate) fn of(found: &str, ours: &str) -> Self {
        let (Some((name, major)), Some((our_name, our_major))) =
            (found.split_once('/'), ours.split_once('/'))
        else {
            return Self::Other;
        };
        let digits = !major.is_empty() && major.bytes().all(|b| b.is_ascii_digit());
        if name != our_name || !digits {
            return Self::Other;
        }
        // Without leading zeros the longer number is the larger one.
        let major = major.trim_start_matches('0');
        match (major.len(), major).cmp(&(our_major.len(), our_major)) {
            _ if major.is_empty() => Self::Other,
            Ordering::Greater => Self::Newer,
            _ => Self::Known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Format;

    #[test]
    fn formats_compare_by_their_number_however_long() {
        let of = |major: &str| Format::of(&format!("x/{major}"), "x/9");
        for newer in ["10", "010", "4294967296", "99999999999999999999"] {
            assert_eq!(of(newer), Format::Newer, "{newer}");
        }
        for known in ["1", "9", "09", "00000000000000000000009"] {
            assert_eq!(of(known), Format::Known, "{known}");
        }
        for other in ["", "0", "00", "+1", "-1", "1.0", " 1", "x", "1/1"] {
            assert_eq!(of(other), Format::Other, "{other}");
        }
        assert_eq!(Format::of("x", "x/1"), Format::Other);
        assert_eq!(Format::of("y/2", "x/1"), Format::Other);
    }
}
