// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Writing one run.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punctual_model::{Event, RunRecord, Sample, json};
use punctual_sys::dir::Dir;
use punctual_sys::{At as _, PathError};
use uuid::Uuid;

use crate::clean;
use crate::disk::{sync_dir, write_synced};
use crate::error::StoreError;
use crate::place::{
    ARTIFACT_LIMIT, EVENTS_FILE, Held, LOCK, RECORD_LIMIT, RUN_FILE, SAMPLES_FILE, TMP,
    is_artifact_name,
};
use crate::samples::{END_OF_SAMPLES, SampleWriter};

/// Compression of the events: few and repetitive.
const EVENTS_LEVEL: i32 = 3;
/// Compression of the samples: they come at any rate, during a measurement.
const SAMPLES_LEVEL: i32 = 1;

pub(crate) type ZstdFile = zstd::Encoder<'static, BufWriter<File>>;

/// Whether every sample is stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Raw {
    /// In `samples.zst`.
    Keep,
    /// No: there is no such file, and samples that are given are not looked at.
    Drop,
}

/// A run that is being written. Dropped without [`RunWriter::finish`], it leaves nothing.
pub struct RunWriter {
    id: Uuid,
    store: Arc<Held>,
    dir: Dir,
    events: Option<ZstdFile>,
    samples: Option<SampleWriter<ZstdFile>>,
    state: State,
    // Held as long as the directory has its temporary name.
    _lock: File,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Writing,
    Failed,
    Renamed,
}

impl fmt::Debug for RunWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunWriter")
            .field("dir", &self.dir.path())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl RunWriter {
    pub(crate) fn begin(store: &Arc<Held>, id: Uuid, raw: Raw) -> Result<Self, StoreError> {
        let runs = &store.runs;
        let (run, name) = (id.to_string(), temporary(id));
        let guard = clean::lock_shared(&store.home)?;
        if runs.stat(&run).is_ok() {
            let path = runs.path().join(run);
            return Err(StoreError::RunExists { path });
        }
        let (dir, lock) = clean::make_locked(&guard, runs, &name)?;
        drop(guard);
        // From here on, dropping the writer removes the directory.
        let mut writer = Self {
            id,
            store: Arc::clone(store),
            dir,
            events: None,
            samples: None,
            state: State::Writing,
            _lock: lock,
        };
        writer.events = Some(writer.compressed(EVENTS_FILE, EVENTS_LEVEL)?);
        if raw == Raw::Keep {
            let file = writer.compressed(SAMPLES_FILE, SAMPLES_LEVEL)?;
            let path = writer.dir.path().join(SAMPLES_FILE);
            writer.samples = Some(SampleWriter::new(file).at("write", &path)?);
        }
        Ok(writer)
    }

    /// Adds an event.
    ///
    /// # Errors
    /// `ENOSPC`, `EDQUOT`, `EIO` as [`StoreError::Path`]. The run cannot be finished then.
    pub fn event(&mut self, event: &Event) -> Result<(), StoreError> {
        let Some(file) = &mut self.events else {
            return Ok(());
        };
        let written = json::line(event)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                file.write_all(&line)
            });
        self.keep(written, EVENTS_FILE)
    }

    /// Adds samples of one thread, in the order of their time. Does nothing under [`Raw::Drop`].
    ///
    /// # Errors
    /// `ENOSPC`, `EDQUOT`, `EIO` as [`StoreError::Path`]. The run cannot be finished then.
    pub fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), StoreError> {
        let Some(file) = &mut self.samples else {
            return Ok(());
        };
        if thread == END_OF_SAMPLES {
            self.state = State::Failed;
            return Err(StoreError::ThreadNumber { thread });
        }
        let written = samples
            .iter()
            .try_for_each(|sample| file.push(thread, sample));
        self.keep(written, SAMPLES_FILE)
    }

    /// Writes another file, such as `latency.hlog`.
    ///
    /// # Errors
    /// [`StoreError::ArtifactName`] unless the name is letters, digits, `.`, `-` and `_` and not
    /// one of the store's own; [`StoreError::ArtifactSize`]; `ENOSPC`, `EDQUOT`, `EIO` as [`StoreError::Path`].
    pub fn artifact(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        if !is_artifact_name(name) {
            return Err(StoreError::ArtifactName {
                name: name.to_owned(),
            });
        }
        if bytes.len() as u64 > ARTIFACT_LIMIT {
            self.state = State::Failed;
            return Err(StoreError::ArtifactSize {
                path: self.dir.path().join(name),
                size: bytes.len() as u64,
                limit: ARTIFACT_LIMIT,
            });
        }
        let written = write_synced(&self.dir, name, bytes);
        if written.is_err() {
            self.state = State::Failed;
        }
        Ok(written?)
    }

    /// Writes the files of a run that another store has finished: those of events and samples as they
    /// are, the others as [`RunWriter::artifact`]; its record is left out. Then the record, as
    /// [`RunWriter::finish`].
    ///
    /// # Errors
    /// As [`RunWriter::artifact`] and [`RunWriter::finish`].
    pub fn adopt<'a>(
        mut self,
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
        record: &RunRecord,
    ) -> Result<PathBuf, StoreError> {
        for (name, bytes) in files {
            match name {
                RUN_FILE => {}
                EVENTS_FILE => {
                    // Empty as yet: nobody has told us an event.
                    drop(self.events.take());
                    write_synced(&self.dir, name, bytes)?;
                }
                SAMPLES_FILE => write_synced(&self.dir, name, bytes)?,
                _ => self.artifact(name, bytes)?,
            }
        }
        self.finish(record)
    }

    /// Copies a file of a run that another store has finished, of any size where it is samples or events.
    ///
    /// # Errors
    /// As [`RunWriter::artifact`].
    #[cfg(feature = "archive")]
    pub(crate) fn copy(&mut self, name: &str, mut from: File) -> Result<(), StoreError> {
        let path = self.dir.path().join(name);
        let size = from.metadata().at("read", &path)?.len();
        match name {
            EVENTS_FILE | SAMPLES_FILE => {}
            _ if !is_artifact_name(name) => {
                return Err(StoreError::ArtifactName {
                    name: name.to_owned(),
                });
            }
            _ if size > ARTIFACT_LIMIT => {
                return Err(StoreError::ArtifactSize {
                    path,
                    size,
                    limit: ARTIFACT_LIMIT,
                });
            }
            _ => {}
        }
        if name == EVENTS_FILE {
            // Empty as yet: nobody has told us an event.
            drop(self.events.take());
            self.dir.remove_file(name).at("replace", &path)?;
        }
        let mut to = self.dir.new_file(name).at("create", &path)?;
        let copied = io::copy(&mut io::Read::take(&mut from, size), &mut to);
        copied.at("write", &path)?;
        Ok(to.sync_all().at("sync", &path)?)
    }

    /// Writes the record, waits until all is on disk, and gives the run its final name.
    ///
    /// On an error nothing of the run stays.
    ///
    /// # Errors
    /// [`StoreError::Incomplete`] if an earlier write failed; [`StoreError::OtherRun`] if the
    /// record has another id; [`StoreError::RecordSize`]; [`StoreError::RunExists`]; `ENOSPC`, `EDQUOT`, `EIO` as
    /// [`StoreError::Path`].
    pub fn finish(mut self, record: &RunRecord) -> Result<PathBuf, StoreError> {
        let id = self.id.to_string();
        if self.state == State::Failed {
            return Err(StoreError::Incomplete {
                path: self.dir.path().to_owned(),
            });
        }
        if record.id != id {
            return Err(StoreError::OtherRun {
                path: self.dir.path().to_owned(),
                found: record.id.clone(),
            });
        }
        let events = self.events.take().map(zstd::Encoder::finish);
        close(events, &self.dir.path().join(EVENTS_FILE))?;
        let samples = self
            .samples
            .take()
            .map(|samples| samples.finish()?.finish());
        close(samples, &self.dir.path().join(SAMPLES_FILE))?;

        let text = record_text(record, &self.dir.path().join(RUN_FILE))?;
        write_synced(&self.dir, RUN_FILE, &text)?;
        self.rename(&id)
    }

    fn rename(&mut self, id: &str) -> Result<PathBuf, StoreError> {
        let runs = &self.store.runs;
        let run = runs.path().join(id);
        let _guard = clean::lock_shared(&self.store.home)?;
        let lock = self.dir.path().join(LOCK);
        self.dir.remove_file(LOCK).at("remove", &lock)?;
        sync_dir(&self.dir)?;
        match runs.rename(temporary(self.id), runs, id) {
            Err(err)
                if matches!(
                    err.kind(),
                    io::ErrorKind::AlreadyExists
                        | io::ErrorKind::DirectoryNotEmpty
                        | io::ErrorKind::NotADirectory
                ) =>
            {
                return Err(StoreError::RunExists { path: run });
            }
            result => result.at("create", &run)?,
        }
        self.state = State::Renamed;
        sync_dir(runs)?;
        Ok(run)
    }

    fn compressed(&self, name: &str, level: i32) -> Result<ZstdFile, PathError> {
        let path = self.dir.path().join(name);
        let file = self.dir.new_file(name).at("create", &path)?;
        let mut encoder = zstd::Encoder::new(BufWriter::new(file), level).at("create", &path)?;
        encoder.include_checksum(true).at("create", &path)?;
        Ok(encoder)
    }

    fn keep(&mut self, written: io::Result<()>, name: &str) -> Result<(), StoreError> {
        if written.is_err() {
            self.state = State::Failed;
        }
        Ok(written.at("write", &self.dir.path().join(name))?)
    }
}

impl Drop for RunWriter {
    fn drop(&mut self) {
        if self.state != State::Renamed {
            // Best effort: what stays is removed by the next start.
            drop(self.store.runs.remove_tree(temporary(self.id)));
        }
    }
}

/// The name of a run that is being written.
pub(crate) fn temporary(id: Uuid) -> String {
    format!("{TMP}{id}")
}

/// Writes a record as text, indented unless it is too large that way.
fn record_text(record: &RunRecord, path: &Path) -> Result<Vec<u8>, StoreError> {
    let fits = |text: &Vec<u8>| (text.len() as u64) < RECORD_LIMIT;
    let json = |text: serde_json::Result<_>| text.map_err(io::Error::from).at("write", path);
    let mut text: Vec<u8> = json(json::indented(record))?;
    if !fits(&text) {
        text = json(json::line(record))?;
    }
    if !fits(&text) {
        return Err(StoreError::RecordSize {
            path: path.to_owned(),
            size: text.len() as u64,
            limit: RECORD_LIMIT,
        });
    }
    text.push(b'\n');
    Ok(text)
}

/// Flushes what is buffered and waits until it is on disk.
fn close(file: Option<io::Result<BufWriter<File>>>, path: &Path) -> Result<(), PathError> {
    let Some(file) = file else {
        return Ok(());
    };
    let file = file
        .and_then(|buffered| {
            buffered
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
        })
        .at("write", path)?;
    file.sync_all().at("sync", path)
}
