// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reading one run.

use std::io;
use std::path::{Path, PathBuf};

use punctual_model::{Event, NEWEST_RUN_FORMAT, RunRecord, Sample, ThreadSample};
use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};
use serde::Deserialize;
use uuid::Uuid;

use crate::decode::{self, EventFault};
use crate::disk::read_limited;
use crate::error::ReadError;
use crate::place::{
    ARTIFACT_LIMIT, EVENTS_FILE, Format, RECORD_LIMIT, RUN_FILE, Runs, SAMPLES_FILE,
    is_artifact_name,
};

/// A run whose record could be read.
#[derive(Clone, Debug)]
pub struct StoredRun {
    place: Place,
    path: PathBuf,
    record: Box<RunRecord>,
}

/// Where the directory of a run is looked for.
#[derive(Clone, Debug)]
enum Place {
    /// In a store, where a symbolic link is none.
    Store(Runs, Uuid),
    /// Where a user says.
    Path,
}

/// The keys of run.json that say whether the others can be read.
#[derive(Deserialize)]
struct Head {
    format: String,
}

impl StoredRun {
    /// Reads the run in a directory, in a store or not.
    ///
    /// # Errors
    /// [`ReadError::Newer`] if a newer program wrote it, [`ReadError::Record`] if run.json is
    /// damaged, [`ReadError::Path`] if it cannot be read.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, ReadError> {
        let path = path.into();
        let dir = Dir::open(&path).at("open", &path)?;
        Self::read(&dir, Place::Path, path)
    }

    /// Reads the run of this id in a store.
    pub(crate) fn of_store(runs: &Runs, id: Uuid) -> Result<Self, ReadError> {
        let path = runs.path(id);
        let place = Place::Store(runs.clone(), id);
        let dir = place.open(&path)?;
        Self::read(&dir, place, path)
    }

    fn read(dir: &Dir, place: Place, path: PathBuf) -> Result<Self, ReadError> {
        let file = path.join(RUN_FILE);
        let bytes = read_limited(dir, RUN_FILE, RECORD_LIMIT)?;
        if let Err(what) = decode::parts(&bytes) {
            return Err(PathError::new("read", &file, io::Error::other(what)).into());
        }
        let damaged = |source| ReadError::Record {
            path: file.clone(),
            source,
        };
        let head: Head = serde_json::from_slice(&bytes).map_err(damaged)?;
        match Format::of(&head.format, NEWEST_RUN_FORMAT) {
            Format::Known => {}
            Format::Newer => {
                return Err(ReadError::Newer {
                    path,
                    found: head.format,
                    supported: NEWEST_RUN_FORMAT,
                });
            }
            Format::Other => {
                return Err(ReadError::NotARun {
                    path: file,
                    found: head.format,
                });
            }
        }
        let record = serde_json::from_slice(&bytes).map_err(damaged)?;
        Ok(Self {
            place,
            path,
            record,
        })
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the record.
    pub fn record(&self) -> &RunRecord {
        &self.record
    }

    /// Returns the record alone.
    pub fn into_record(self) -> RunRecord {
        *self.record
    }

    /// Whether every sample is stored.
    pub fn has_samples(&self) -> bool {
        self.dir().is_ok_and(|dir| dir.has_file(SAMPLES_FILE))
    }

    /// Reads the samples one by one, in the order in which they were stored.
    ///
    /// After an error there is nothing more. Only after the last sample is it known that all are
    /// there and undamaged.
    ///
    /// # Errors
    /// [`ReadError::Path`] if there is no such file or it cannot be read.
    pub fn samples(
        &self,
    ) -> Result<impl Iterator<Item = Result<ThreadSample, ReadError>> + use<>, ReadError> {
        let samples = self.full_samples()?;
        Ok(samples.map(|next| {
            next.map(|(thread, sample)| ThreadSample {
                thread,
                t_ns: sample.t_ns,
                latency_ns: sample.latency_ns,
                cpu: sample.cpu,
            })
        }))
    }

    /// Reads the samples as [`StoredRun::samples`] does, with the number of their thread and with
    /// the deadlines that they skipped.
    ///
    /// # Errors
    /// [`ReadError::Path`] if there is no such file or it cannot be read.
    pub fn full_samples(
        &self,
    ) -> Result<impl Iterator<Item = Result<(u32, Sample), ReadError>> + use<>, ReadError> {
        let path = self.path.join(SAMPLES_FILE);
        let file = self.dir()?.file(SAMPLES_FILE).at("read", &path)?;
        let reader = decode::samples(file, &self.record).at("read", &path)?;
        Ok(reader.map(move |next| {
            next.map_err(|source| ReadError::Samples {
                path: path.clone(),
                source,
            })
        }))
    }

    /// Reads the events one by one. An event that a newer program added is an error of its line,
    /// and the next ones can be read.
    ///
    /// # Errors
    /// [`ReadError::Path`] if there is no such file or it cannot be read.
    pub fn events(
        &self,
    ) -> Result<impl Iterator<Item = Result<Event, ReadError>> + use<>, ReadError> {
        let path = self.path.join(EVENTS_FILE);
        let file = self.dir()?.file(EVENTS_FILE).at("read", &path)?;
        let reader = decode::events(file, &self.record).at("read", &path)?;
        Ok(reader.map(move |next| {
            next.map_err(|fault| match fault {
                EventFault::Line { line, source } => ReadError::Event {
                    path: path.clone(),
                    line,
                    source,
                },
                EventFault::Io(err) => PathError::new("read", &path, err).into(),
            })
        }))
    }

    /// Reads an artifact, such as `latency.hlog`. Returns `None` if none has this name.
    ///
    /// # Errors
    /// [`ReadError::Path`] if it cannot be read.
    pub fn artifact(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        if !is_artifact_name(name) {
            return Ok(None);
        }
        match read_limited(&self.dir()?, name, ARTIFACT_LIMIT) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(err) if err.is_missing() => Ok(None),
            Err(err) => Err(err.into()),
        }
    }

    /// Returns what the run takes on disk, in bytes of its files.
    ///
    /// # Errors
    /// [`ReadError::Path`] if the directory cannot be read.
    pub fn size_bytes(&self) -> Result<u64, ReadError> {
        let dir = self.dir()?;
        let names = dir.names().at("examine", &self.path)?;
        Ok(names.iter().fold(0_u64, |sum, name| {
            let size = dir.stat(name).map_or(0, |stat| stat.st_size);
            sum.saturating_add(u64::try_from(size).unwrap_or(0))
        }))
    }

    pub(crate) fn dir(&self) -> Result<Dir, PathError> {
        self.place.open(&self.path)
    }
}

impl Place {
    fn open(&self, path: &Path) -> Result<Dir, PathError> {
        match self {
            Self::Store(runs, id) => runs.open()?.runs.dir(id.to_string()).at("open", path),
            Self::Path => Dir::open(path).at("open", path),
        }
    }
}
