// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reading one run.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use punctual_model::{Event, NEWEST_RUN_FORMAT, RunRecord, Sample, ThreadSample};
use serde::Deserialize;

use crate::disk::{At as _, is_regular, open_regular, read_limited};
use crate::error::{PathError, ReadError};
use crate::samples::SampleReader;
use crate::store::Format;
use crate::writer::{EVENTS_FILE, RUN_FILE, SAMPLES_FILE, is_artifact_name};

/// The most that a record may have. Read, it takes many times that in memory, and it may be someone
/// else's. One of 4096 threads, the most that a run has, has about 10 MB.
pub(crate) const RECORD_LIMIT: u64 = 16 << 20;
/// More than any artifact has.
const ARTIFACT_LIMIT: u64 = 256 << 20;
/// More than any event has.
const LINE_LIMIT: u64 = 16 << 20;

/// A run whose record could be read.
#[derive(Clone, Debug)]
pub struct StoredRun {
    path: PathBuf,
    record: Box<RunRecord>,
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
        let file = path.join(RUN_FILE);
        let bytes = read_limited(&file, RECORD_LIMIT)?;
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
        Ok(Self { path, record })
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
        is_regular(&self.path.join(SAMPLES_FILE))
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
        let reader = SampleReader::new(decompressed(&path)?);
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
        let mut input = decompressed(&path)?;
        let mut line_number = 0_u64;
        let mut done = false;
        Ok(std::iter::from_fn(move || {
            if done {
                return None;
            }
            line_number += 1;
            let mut line = Vec::new();
            let read = (&mut input).take(LINE_LIMIT).read_until(b'\n', &mut line);
            match read {
                Ok(0) => {
                    done = true;
                    None
                }
                Ok(_) => {
                    // A line without an end is cut short, or too long.
                    done = line.last() != Some(&b'\n');
                    Some(
                        serde_json::from_slice(&line).map_err(|source| ReadError::Event {
                            path: path.clone(),
                            line: line_number,
                            source,
                        }),
                    )
                }
                Err(err) => {
                    done = true;
                    Some(Err(PathError::new("read", &path, err).into()))
                }
            }
        }))
    }

    /// Reads an artifact, such as `latency.hlog`. Returns `None` if there is none of this name.
    ///
    /// # Errors
    /// [`ReadError::Path`] if it cannot be read.
    pub fn artifact(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        if !is_artifact_name(name) {
            return Ok(None);
        }
        match read_limited(&self.path.join(name), ARTIFACT_LIMIT) {
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
        let size = || {
            fs::read_dir(&self.path)?.try_fold(0_u64, |sum, entry| {
                io::Result::Ok(sum.saturating_add(entry?.metadata()?.len()))
            })
        };
        Ok(size().at("examine", &self.path)?)
    }
}

fn decompressed(
    path: &Path,
) -> Result<BufReader<zstd::Decoder<'static, BufReader<File>>>, PathError> {
    let decoder = zstd::Decoder::new(open_regular(path)?).at("read", path)?;
    Ok(BufReader::with_capacity(64 << 10, decoder))
}
