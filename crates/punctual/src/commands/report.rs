// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual report`.

mod files;
mod gather;
mod maxima;

use std::path::{Path, PathBuf};

pub(crate) use self::gather::{item, items};
use jiff::Timestamp;
use punctual_report::document::{Document, Material};
use punctual_report::{html, markdown};

use crate::cli::{ReportArgs, ReportFormat};
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{Target, remark};

/// Makes a report as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &ReportArgs) -> Result<Exit, CliError> {
    let output = output(args)?;
    // What exists is refused before minutes of reading.
    let target = output
        .as_ref()
        .map(|path| Target::open(path, args.force))
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

/// Writes all of a page into `target`, which was opened at `path`, and says so.
pub(crate) fn put(mut target: Target, path: &Path, page: &str) -> Result<(), CliError> {
    files::put(&mut target, page.as_bytes(), Some(path))?;
    let standard = target.is_standard_output();
    target.finish()?;
    if !standard {
        remark(&format!("Wrote {}.", path.display()));
    }
    Ok(())
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

/// What says by what and when a report was made.
pub(crate) fn made_now() -> Material {
    let now = Timestamp::now();
    Material {
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        made: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        ..Material::default()
    }
}
