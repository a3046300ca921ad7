// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs pack`.

use std::path::Path;

use punctual_store::archive::pack;
use punctual_store::{Store, StoredRun};

use crate::cli::PackArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::output::Destination;

/// Writes whole runs into one archive: those that are named, else all.
pub(super) fn run(home: &Path, args: &PackArgs) -> Result<Exit, CliError> {
    let store = Store::open_existing(home)?;
    let failed = || CliError::failed_to(format!("pack runs into {}", args.output.display()));
    let mut runs: Vec<StoredRun> = Vec::new();
    for selector in &args.runs {
        let run = find(&store, selector)?;
        if runs
            .iter()
            .all(|known| known.record().id != run.record().id)
        {
            runs.push(run);
        }
    }
    if args.runs.is_empty() {
        for entry in store.entries().map_err(|err| failed().because(err))?.runs {
            runs.push(entry.run.map_err(|err| failed().because(err))?);
        }
    }
    if runs.is_empty() {
        return Err(failed().because("the store has no runs"));
    }
    let mut target = Destination::open(&args.output, args.force)?;
    pack(&runs, &mut target.out).map_err(|err| failed().because(err))?;
    target.finish()?;
    Ok(Exit::Fine)
}
