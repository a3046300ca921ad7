// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is kept of a study that was begun: which experiments it made, with which parameters.
//!
//! `studies/NAME-NUMBER.json` in the store. It is written whole before anything is measured and never changed;
//! how far the study is, its experiments say.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use punctual_lab::state::Snapshot;
use punctual_model::{RtStep, json};
use punctual_store::decode;
use punctual_sys::dir::read_regular;
use serde::{Deserialize, Serialize};

use crate::error::CliError;
use crate::experiments::dir_of;

const FORMAT: &str = "punctual.study-run/1";

/// A larger note is none of ours.
const MOST_BYTES: u64 = 1 << 20;

/// One carrying out of a study.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct Note {
    format: String,
    /// The study.
    pub(super) study: String,
    /// Which carrying out of it, from 1.
    pub(super) number: u32,
    /// `quick`, `default`, `paper` or `budget`.
    pub(super) scale: String,
    /// What was asked in addition to the scale, to recognise the same request.
    pub(super) wish: Vec<String>,
    /// How the kernels were made, where `--build` asked for that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) built: Vec<RtStep>,
    /// The parts, in their order.
    pub(super) parts: Vec<PartNote>,
}

/// One part.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub(super) struct PartNote {
    /// Its name.
    pub(super) name: String,
    /// Name of its experiment. Null if it is left out.
    pub(super) experiment: Option<String>,
    /// Why it is left out.
    pub(super) skipped: Option<String>,
    /// The parameters of its file.
    pub(super) parameters: toml::Table,
}

impl Note {
    /// Makes the note of a new carrying out.
    pub(super) fn new(study: &str, number: u32, scale: &str, wish: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            study: study.to_owned(),
            number,
            scale: scale.to_owned(),
            wish,
            built: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Whether no part is left to do.
    pub(super) fn is_over(&self, home: &Path) -> bool {
        self.parts.iter().all(|part| {
            part.experiment.as_ref().is_none_or(|name| {
                Snapshot::read(&dir_of(home, name)).is_ok_and(|state| state.finished.is_some())
            })
        })
    }

    /// Writes it, synced.
    pub(super) fn write(&self, home: &Path) -> Result<(), CliError> {
        let dir = dir(home);
        let path = dir.join(format!("{}-{}.json", self.study, self.number));
        let failed = || CliError::failed_to(format!("write {}", path.display()));
        let mut json = json::indented(self).map_err(|err| failed().because(err))?;
        json.push(b'\n');
        let whole = || {
            fs::create_dir_all(&dir)?;
            let new = path.with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&json)?;
            file.sync_all()?;
            // One that was written meanwhile is somebody else's.
            fs::hard_link(&new, &path)?;
            fs::remove_file(&new)?;
            File::open(&dir)?.sync_all()
        };
        whole().map_err(|err| failed().because(err))
    }

    /// Reads the one of that number, or the latest.
    pub(super) fn read(
        home: &Path,
        study: &str,
        number: Option<u32>,
    ) -> Result<Option<Self>, CliError> {
        let numbers = numbers(home, study);
        let Some(number) = number.or_else(|| numbers.last().copied()) else {
            return Ok(None);
        };
        if !numbers.contains(&number) {
            return Ok(None);
        }
        let path = dir(home).join(format!("{study}-{number}.json"));
        let failed = || CliError::failed_to(format!("read {}", path.display()));
        let bytes = read_regular(&path, MOST_BYTES).map_err(|err| failed().because(err))?;
        decode::parts(&bytes).map_err(|what| failed().because(what))?;
        let note: Self = serde_json::from_slice(&bytes).map_err(|err| failed().because(err))?;
        if note.format != FORMAT {
            return Err(failed().because(format!("format `{}` is not {FORMAT}", note.format)));
        }
        Ok(Some(note))
    }

    /// Returns the number of the next one.
    pub(super) fn next(home: &Path, study: &str) -> u32 {
        numbers(home, study).last().map_or(1, |last| last + 1)
    }
}

fn dir(home: &Path) -> PathBuf {
    home.join("studies")
}

fn numbers(home: &Path, study: &str) -> Vec<u32> {
    let entries = fs::read_dir(dir(home)).into_iter().flatten();
    let number = |name: String| {
        let rest = name.strip_prefix(study)?.strip_prefix('-')?;
        rest.strip_suffix(".json")?.parse().ok()
    };
    let mut numbers: Vec<u32> = entries
        .filter_map(|entry| number(entry.ok()?.file_name().into_string().ok()?))
        .collect();
    numbers.sort_unstable();
    numbers
}
