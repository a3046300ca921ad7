// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment rm`.

use std::collections::BTreeSet;
use std::path::Path;

use punctual_lab::state::{Snapshot, State};
use punctual_store::Store;
use uuid::Uuid;

use crate::cli::ExperimentRmArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::{self, dir_of, status};
use crate::home;
use crate::output::remark;

/// Removes experiments, and their runs where that is asked for.
pub(super) fn run(home: Option<&Path>, args: &ExperimentRmArgs) -> Result<Exit, CliError> {
    let store = Store::open(home::find(home)?)?;
    // All are found before the first is removed: a mistake in the list removes nothing.
    for name in &args.names {
        status::must_exist(store.home(), name)?;
    }
    for name in args.names.iter().collect::<BTreeSet<_>>() {
        let dir = dir_of(store.home(), name);
        let runs = runs_of(&dir);
        if args.runs
            && let Err(err) = &runs
        {
            return Err(CliError::failed_to(format!("find the runs of `{name}`"))
                .because(err.to_string())
                .hint("without --runs the experiment is removed, but its runs are kept"));
        }
        State::remove(&dir).map_err(|err| {
            let hint = experiments::hint(&err);
            CliError::failed_to(format!("remove experiment `{name}`"))
                .because(err)
                .hints(hint)
        })?;
        let Ok(runs) = runs else {
            // Its log cannot be read, so nobody knows how many there are.
            remark(&format!(
                "Removed experiment `{name}`. Its runs stay in the store: `punctual runs list --name {name}`."
            ));
            continue;
        };
        let kept = stored(&store, &runs);
        if args.runs {
            for run in &kept {
                store.remove(*run)?;
            }
            remark(&format!(
                "Removed experiment `{name}` and {} of its runs.",
                kept.len()
            ));
        } else {
            remark(&format!(
                "Removed experiment `{name}`. {} of its runs stay in the store: `punctual runs list --name {name}`.",
                kept.len()
            ));
        }
    }
    Ok(Exit::Fine)
}

fn runs_of(dir: &Path) -> Result<Vec<Uuid>, punctual_lab::LabError> {
    let snapshot = Snapshot::read(dir)?;
    Ok(snapshot
        .attempts
        .iter()
        .map(|attempt| attempt.run)
        .collect())
}

/// Those of `runs` that are in the store.
fn stored(store: &Store, runs: &[Uuid]) -> Vec<Uuid> {
    let is_there = |run: &&Uuid| store.runs_dir().join(run.to_string()).is_dir();
    runs.iter().filter(is_there).copied().collect()
}
