// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Taking whole runs from elsewhere: another store, an archive, another machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use punctual_model::json;
use punctual_sys::At as _;
use serde_json::Value;

use crate::archive::is_run_file;
use crate::clean::is_leftover;
use crate::disk::{read_limited, without_holes};
use crate::error::{ReadError, StoreError};
use crate::place::{RECORD_LIMIT, RUN_FILE, id_of_name};
use crate::store::Store;
use crate::stored::StoredRun;
use crate::writer::Raw;

/// The reason that a run was not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdoptError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Its id is not one that we give.
    #[error("read {}: `{id}` is not the id of a run", path.display())]
    Id {
        /// The directory of the run.
        path: PathBuf,
        /// What it says.
        id: String,
    },
    /// Its directory is that of another run.
    #[error("read {}: its record is of another run, {id}", path.display())]
    Place {
        /// The directory of the run.
        path: PathBuf,
        /// What the record says.
        id: String,
    },
    /// It is what was left of one.
    #[error("read {}: a run that was being written or removed need not be whole", path.display())]
    Leftover {
        /// The directory.
        path: PathBuf,
    },
    /// Its record has what this program would lose.
    #[error("read {}: a newer program wrote the key `{key}`, which this one would drop", path.display())]
    Unknown {
        /// The directory of the run.
        path: PathBuf,
        /// The key, with those around it.
        key: String,
    },
    /// The store has another run of the same id.
    #[error("write run {}: another run with this id already exists", path.display())]
    Another {
        /// The directory of that run.
        path: PathBuf,
    },
}

/// What became of a run that was to be taken.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Adopted {
    /// It is in the store now.
    New(PathBuf),
    /// It was there before, the same record.
    AlreadyThere(PathBuf),
}

impl Store {
    /// Copies a whole run into the store, with further tags.
    ///
    /// # Errors
    /// [`AdoptError`] if it cannot be read as a run is read, if its record would lose something, or if the store has another
    /// run of its id.
    pub fn adopt(
        &self,
        run: &StoredRun,
        tags: &BTreeMap<String, String>,
    ) -> Result<Adopted, AdoptError> {
        if is_leftover(run.path()) {
            return Err(AdoptError::Leftover {
                path: run.path().to_owned(),
            });
        }
        let mut record = run.record().clone();
        let id = id_of_name(&record.id).ok_or_else(|| AdoptError::Id {
            path: run.path().to_owned(),
            id: record.id.chars().take(100).collect(),
        })?;
        // A directory may be called anything, but not by the id of another run: then one of the two is not what it was.
        let name = run.path().file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| *name != record.id && id_of_name(name).is_some()) {
            return Err(AdoptError::Place {
                path: run.path().to_owned(),
                id: record.id,
            });
        }
        let dir = run.dir().map_err(ReadError::from)?;
        let text = read_limited(&dir, RUN_FILE, RECORD_LIMIT).map_err(ReadError::from)?;
        keeps_all(run.path(), &text, &record)?;
        record.tags.extend(tags.clone());

        let place = self.runs_dir().join(&record.id);
        if let Ok(known) = StoredRun::open(&place) {
            return match *known.record() == record {
                true => Ok(Adopted::AlreadyThere(place)),
                false => Err(AdoptError::Another { path: place }),
            };
        }
        let mut writer = self.begin(id, Raw::Drop)?;
        let names = dir.names().at("examine", run.path());
        let mut names = names.map_err(ReadError::from)?;
        names.sort_unstable();
        let names = names.iter().filter_map(|name| name.to_str());
        for name in names.filter(|name| *name != RUN_FILE && is_run_file(name)) {
            let path = run.path().join(name);
            let file = dir.file(name).at("read", &path).map_err(ReadError::from)?;
            without_holes(&file)
                .at("read", &path)
                .map_err(ReadError::from)?;
            writer.copy(name, file)?;
        }
        Ok(Adopted::New(writer.finish(&record)?))
    }
}

/// Checks that a record says as much as the text that it was read from.
fn keeps_all(
    path: &Path,
    text: &[u8],
    record: &punctual_model::RunRecord,
) -> Result<(), AdoptError> {
    let damaged = |source| ReadError::Record {
        path: path.join(RUN_FILE),
        source,
    };
    let original: Value = serde_json::from_slice(text).map_err(damaged)?;
    // By way of text, as records are written anyway: what makes values of them directly would be compiled for this alone.
    let kept = json::line(record).and_then(|line| serde_json::from_slice(&line));
    let kept = kept.map_err(damaged)?;
    match lost(&original, &kept) {
        None => Ok(()),
        Some(key) => Err(AdoptError::Unknown {
            path: path.to_owned(),
            key,
        }),
    }
}

/// Returns the first key that is in one value and not in the other. What says nothing may be left out.
fn lost(original: &Value, kept: &Value) -> Option<String> {
    let says_nothing = |value: &Value| match value {
        Value::Null => true,
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        _ => false,
    };
    match (original, kept) {
        (Value::Object(original), Value::Object(kept)) => original
            .iter()
            .filter(|(_, value)| !says_nothing(value))
            .find_map(|(key, value)| match kept.get(key) {
                None => Some(key.chars().take(100).collect()),
                Some(kept) => lost(value, kept).map(|inner| format!("{key}.{inner}")),
            }),
        (Value::Array(original), Value::Array(kept)) => {
            original.iter().zip(kept).find_map(|(a, b)| lost(a, b))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_would_be_lost_is_named() {
        let original = serde_json::json!({"a": 1, "b": {"c": null, "d": []}, "e": [{"f": 1}]});
        let kept = serde_json::json!({"a": 1, "b": {}, "e": [{}]});
        assert_eq!(lost(&original, &kept), Some("e.f".to_owned()));
        assert_eq!(lost(&original, &original), None);
        assert_eq!(lost(&kept, &original), None);
    }
}
