// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual explain`: who made the late cycles of a run late.

use std::path::Path;

use punctual_report::document::Document;
use punctual_store::Store;

use crate::cli::ExplainArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::home;
use crate::output::{self, print};
use punctual_model::json;

/// Says what was seen of the threads of a run.
pub(crate) fn run(home: Option<&Path>, args: &ExplainArgs) -> Result<Exit, CliError> {
    let run = find(&Store::open_existing(home::find(home)?)?, &args.run)?;
    let record = run.record();
    let (Some(watched), Some(document)) = (&record.watched, Document::explaining(record)) else {
        let error = CliError::usage(format!(
            "run {}: its threads were not watched, so the causes of its latencies are unknown",
            record.id
        ));
        return Err(
            error.hint("measure with --explain, or have your program watched by `punctual watch`")
        );
    };
    if args.json {
        output::write(|out| {
            out.write_all(&json::indented(watched)?)?;
            writeln!(out)
        })?;
    } else {
        print(&output::written(&document))?;
    }
    Ok(Exit::Fine)
}
