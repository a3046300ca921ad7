// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual report`.

mod files;
mod gather;

use std::path::{Path, PathBuf};

use punctual_report::document::{Document, Material};
use punctual_report::{html, markdown};

use crate::cli::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Destination;
use crate::pages::put;

/// Makes a report as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &ReportArgs) -> Result<Exit, CliError> {
    let output = output(args)?;
    // What exists is refused before minutes of reading.
    let target = output
        .as_ref()
        .map(|path| Destination::open(path, args.force))
        .transpose()?;
    let material = Material {
        title: args.title.clone(),
        ..gather::material(home, args)?
    };
    let document = Document::new(&material);
    if let (Some(target), Some(path)) = (target, &output) {
        let page = match args.format {
            ReportFormat::Html => html::page(&document),
            ReportFormat::Md => markdown::page(&document),
        };
        put(target, path, &page)?;
    }
    files::pictures(&document, args)?;
    Ok(Exit::Fine)
}

/// Where the report goes. Pictures alone are no report.
fn output(args: &ReportArgs) -> Result<Option<PathBuf>, CliError> {
    if args.png.is_some() && cfg!(not(feature = "pictures")) {
        return Err(
            CliError::left_out("--png").hint("--svg DIR writes the same charts as SVG files")
        );
    }
    let pictures = args.svg.is_some() || args.png.is_some();
    match (&args.output, args.format) {
        (Some(path), _) => Ok(Some(path.clone())),
        (None, ReportFormat::Md) => Ok(Some(PathBuf::from("-"))),
        (None, ReportFormat::Html) if pictures => Ok(None),
        (None, ReportFormat::Html) => Err(CliError::usage(format!(
            "report {}: name the file to write, such as -o report.html",
            args.what.join(" ")
        ))
        .hint("--format md prints Markdown to the terminal; --svg DIR and --png DIR write only the charts")),
    }
}
