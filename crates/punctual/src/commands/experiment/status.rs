// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment status`.

use std::path::Path;

use punctual_lab::outcome::Unmeasured;
use punctual_lab::shown::{ExperimentShown, StatusShown};

use crate::cli::ExperimentStatusArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::dir_of;
use crate::experiments::status::{Summary, must_exist, names, summary, text};
use crate::home;
use crate::output::{self, print};

/// Shows one experiment, or all.
pub(super) fn show(home: Option<&Path>, args: &ExperimentStatusArgs) -> Result<Exit, CliError> {
    let home = home::find(home)?;
    let names = match &args.name {
        Some(name) => {
            must_exist(&home, name)?;
            vec![name.clone()]
        }
        None => names(&home),
    };
    let mut all = Vec::new();
    for name in &names {
        all.push(summary(&dir_of(&home, name))?);
    }
    if args.json {
        let all = all.iter();
        let shown = |of: &Summary| {
            let names = |unmeasured: &Unmeasured<'_>| of.name(unmeasured);
            ExperimentShown::of(&of.snapshot, names)
        };
        let all = all.map(shown);
        output::json(&StatusShown::of(all.collect()))?;
    } else if all.is_empty() {
        print("No experiments.\n")?;
    } else {
        print(&all.iter().map(text).collect::<String>())?;
    }
    Ok(Exit::Fine)
}
