// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Each result of a published work, and where it is measured: on this machine, in guests, or not here and why.

use std::path::Path;

use punctual_lab::state::Snapshot;
use punctual_lab::study::{PaperRow, Place, Study};
use punctual_model::{StudyPaperRow, StudyPlace};
use punctual_store::Store;

use super::kernels;
use super::note::Note;
use super::scale;
use crate::cli::StudyRunArgs;
use crate::error::CliError;
use crate::experiments::{dir_of, plan};
use crate::home;

/// The rows as the study's file has them.
pub(super) fn as_written(study: &Study) -> Vec<StudyPaperRow> {
    study.rows.iter().map(written).collect()
}

fn written(row: &PaperRow) -> StudyPaperRow {
    let part = row.part.as_ref().map(|part| format!("part {part}"));
    let how = row.reason.clone().or_else(|| row.how.clone()).or(part);
    StudyPaperRow {
        text: row.text.clone(),
        place: match row.place {
            Place::Here => StudyPlace::Here,
            Place::Guests => StudyPlace::Guests,
            Place::Nowhere => StudyPlace::NotHere,
        },
        how: how.unwrap_or_default(),
    }
}

/// The rows with what this machine lacks, and with what its store has.
pub(super) fn of_machine(
    home: Option<&Path>,
    study: &Study,
) -> Result<Vec<StudyPaperRow>, CliError> {
    let found = home::find(home)?;
    let store = Store::open_existing(found.clone()).ok();
    let done = match &store {
        Some(store) => Note::read(store.home(), &study.name, None)?,
        None => None,
    };
    let kernels = kernels::of(&StudyRunArgs::default(), None, &found)?;
    let machine = scale::of_machine(&kernels)?;
    let mut rows = Vec::new();
    for row in &study.rows {
        let mut told = written(row);
        if let Some(note) = done
            .as_ref()
            .filter(|note| row.built && !note.built.is_empty())
        {
            told.place = StudyPlace::Done;
            told.how = format!("run {} of the study", note.number);
        }
        if let Some(part) = row.part.as_ref().and_then(|part| study.part(part)) {
            let lack = scale::lack_of_part(part, &StudyRunArgs::default(), &kernels);
            let lack = match (lack, &row.level) {
                (None, Some(level)) => lack_of_level(study, &part.name, level, &machine)?,
                (lack, _) => lack,
            };
            let of_part = |note: &Note| {
                let mut parts = note.parts.iter();
                let noted = parts.find(|noted| noted.name == part.name)?;
                let home = store.as_ref()?.home();
                let state = Snapshot::read(&dir_of(home, noted.experiment.as_ref()?)).ok()?;
                state.finished.is_some().then_some(note.number)
            };
            match (done.as_ref().and_then(of_part), lack) {
                (_, Some(lack)) => {
                    told.place = StudyPlace::NotHere;
                    told.how = lack;
                }
                (Some(number), None) => {
                    told.place = StudyPlace::Done;
                    told.how = format!("{}: run {number} of the study", told.how);
                }
                (None, None) => {}
            }
        }
        rows.push(told);
    }
    Ok(rows)
}

/// Why this machine cannot have a level or a measurement of a part.
fn lack_of_level(
    study: &Study,
    part: &str,
    level: &str,
    machine: &toml::Table,
) -> Result<Option<String>, CliError> {
    let parameters = scale::of_part(study, part, "default", 0, machine, &[]);
    let read = scale::experiment(study, part, &parameters)?;
    // Running it reports what cannot be planned at all.
    let Ok(plan) = plan::of(&read, Some(0)) else {
        return Ok(None);
    };
    let mut skipped = plan.skipped.iter();
    let skipped = skipped.find(|skipped| skipped.what == level);
    Ok(skipped.map(|skipped| skipped.reason.clone()))
}
