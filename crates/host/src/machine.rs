// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A machine as its kernel's files describe it: what was read, and what could not be, and why.
//!
//! [`Machine::take`] reads once; all that is said of the machine is a pure function of what it
//! found, and every statement can name the file it rests on. The same files make a capture, so
//! that a machine can be judged where it is not.

mod archive;
mod config;
mod files;
mod redact;

use std::collections::BTreeMap;

use punctual_model::CpuSet;
use punctual_sys::{PathError, proc};

pub(crate) use archive::numbered;
pub use archive::{Archive, ArchiveError};
pub(crate) use config::{Config, PLACES};
pub use files::Scope;

/// The directory of the CPUs.
pub(crate) const CPU: &str = "/sys/devices/system/cpu";

/// The files of a machine that a judgement needs.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    files: BTreeMap<String, Reading>,
    config: Option<Config>,
}

/// The content of a file without its final newlines, or why there is none.
pub type Reading = Result<String, Unread>;

/// Why a file could not be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unread {
    /// The kernel has no such file.
    #[error("not there")]
    Missing,
    /// The privilege is missing.
    #[error("permission denied")]
    Denied,
    /// The file is longer than such a file ever is.
    #[error("longer than {limit} bytes")]
    TooLong {
        /// What was allowed.
        limit: usize,
    },
    /// There are more such files than on any machine that makes sense.
    #[error("more than {limit} such files")]
    TooMany {
        /// What was allowed.
        limit: usize,
    },
    /// It was left alone.
    #[error("not read: {0}")]
    LeftAlone(&'static str),
    /// It does not hold what it should.
    #[error("not understood: `{0}`")]
    Odd(String),
    /// Anything else that the kernel says.
    #[error("{0}")]
    Failed(String),
}

impl From<&PathError> for Unread {
    fn from(err: &PathError) -> Self {
        if err.is_missing() {
            return Self::Missing;
        }
        if err.is_permission() {
            return Self::Denied;
        }
        let source = std::error::Error::source(err);
        Self::Failed(source.map_or_else(|| err.to_string(), ToString::to_string))
    }
}

impl Machine {
    /// Makes a machine of files that were read elsewhere.
    pub fn from_files(files: BTreeMap<String, Reading>) -> Self {
        let config = Config::find(&files);
        Self { files, config }
    }

    /// Returns what reading `path` gave. A file that nobody looked for is missing.
    pub fn read(&self, path: &str) -> Result<&str, &Unread> {
        match self.files.get(path) {
            Some(Ok(text)) => Ok(text),
            Some(Err(unread)) => Err(unread),
            None => Err(&Unread::Missing),
        }
    }

    /// Iterates over the files whose path begins with `prefix`, by path.
    pub fn under<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Reading)> {
        self.files
            .range(prefix.to_owned()..)
            .map(|(path, reading)| (path.as_str(), reading))
            .take_while(move |(path, _)| path.starts_with(prefix))
    }

    /// Returns the kernel's configuration, if it was found.
    pub(crate) const fn config(&self) -> Option<&Config> {
        self.config.as_ref()
    }

    /// Returns the first two numbers of the kernel's release.
    pub(crate) fn version(&self) -> Option<(u32, u32)> {
        proc::release_numbers(self.read("/proc/sys/kernel/osrelease").ok()?)
    }

    /// Returns a list of CPUs, empty where it cannot be read.
    pub(crate) fn cpus(&self, name: &str) -> CpuSet {
        let path = format!("{CPU}/{name}");
        self.read(&path)
            .ok()
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }

    /// Returns the CPUs that the kernel keeps ordinary work from.
    pub(crate) fn isolated(&self) -> CpuSet {
        let parts = [self.cpus("isolated"), self.cpus("nohz_full")];
        parts.iter().flat_map(CpuSet::iter).collect()
    }
}
