// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual report`.

mod files;
mod gather;

use std::path::{Path, PathBuf};

use punctual_report::document::{Document, Material};
use punctual_report::{export, html, markdown};

use crate::cli::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Destination;
use crate::pages::put;

/// Makes a report as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &ReportArgs) -> Result<Exit, CliError> {
    let output = output(args)?;
    // What exists is refused before minutes of reading.
    let target = Destination::open_if(output.as_ref(), args.force)?;
    let material = Material {
        title: args.title.clone(),
        ..gather::material(home, args)?
    };
    let document = Document::new(&material);
    if let ReportFormat::Junit | ReportFormat::Tap = args.format {
        files::pictures(&document, args)?;
        return judged(&material, target, args);
    }
    if let Some(target) = target {
        let page = match args.format {
            ReportFormat::Md => markdown::page(&document),
            _ => html::page(&document),
        };
        put(target, &page)?;
    }
    files::pictures(&document, args)?;
    Ok(Exit::Fine)
}

/// Writes what was judged as the cases of a test.
fn judged(
    material: &Material,
    target: Option<Destination>,
    args: &ReportArgs,
) -> Result<Exit, CliError> {
    let cases = export::cases(material);
    let what = args.what.join(" ");
    if cases.is_empty() {
        return Err(CliError::failed_to(format!(
            "report {what}: nothing in it was judged"
        )));
    }
    let mut text = Vec::new();
    let written = match args.format {
        ReportFormat::Tap => export::tap(&cases, &mut text),
        _ => export::junit("punctual", &cases, &mut text),
    };
    written.map_err(|err| CliError::failed_to(format!("report {what}")).because(err))?;
    if let Some(target) = target {
        target.put(&text)?;
    }
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
        (None, ReportFormat::Md | ReportFormat::Junit | ReportFormat::Tap) => {
            Ok(Some(PathBuf::from("-")))
        }
        (None, ReportFormat::Html) if pictures => Ok(None),
        (None, ReportFormat::Html) => Err(CliError::usage(format!(
            "report {}: name the file to write, such as -o report.html",
            args.what.join(" ")
        ))
        .hint("--format md prints Markdown to the terminal; --svg DIR and --png DIR write only the charts")),
    }
}
