// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment results`.

use std::path::Path;

use punctual_report::document::{Document, Material};
use punctual_store::Store;

use crate::cli::{self, ExperimentResultsArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::results::{Wish, of};
use crate::experiments::status;
use crate::output;
use crate::{gate, home};

/// Shows what the runs of an experiment say.
pub(super) fn show(home: Option<&Path>, args: &ExperimentResultsArgs) -> Result<Exit, CliError> {
    let home = home::find(home)?;
    status::must_exist(&home, &args.name)?;
    let store = Store::open_existing(home)?;
    gate::check(&args.fail_on, args.equivalence, args.not_worse)?;
    let wish = Wish {
        metrics: args.metric.iter().flat_map(|list| list.0.clone()).collect(),
        margin: gate::margin(args.equivalence, args.not_worse),
        effect: args.effect.0,
        level: args.level.map(|level| level.0),
        requirements: cli::under(&args.require, args.burst),
        allow_invalid: args.allow_invalid,
        is_gate: !args.fail_on.is_empty(),
    };
    let results = of(&store, &args.name, &wish)?;
    output::show(&results, args.json, |results| {
        Document::new(&Material {
            experiments: vec![results.clone()],
            ..Material::default()
        })
    })?;
    let exits: Vec<Exit> = results
        .measurements
        .iter()
        .map(|measurement| gate::exit(&measurement.comparison, &args.fail_on))
        .collect();
    // A figure that no run has is in none of the results.
    let missing = !args.fail_on.is_empty() && !results.missing.is_empty();
    let unjudged = exits.contains(&Exit::Unjudged) || missing;
    Ok(Exit::of_gate(exits.contains(&Exit::Verdict), !unjudged))
}
