// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual report`.

mod files;
mod gather;

use std::path::{Path, PathBuf};

use clap::ValueEnum as _;
use clap::builder::PossibleValue;
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
    if let Some(path) = &args.output {
        agrees(path, args.format)?;
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

/// Refuses a name whose end promises another form than the file will have.
fn agrees(path: &Path, format: ReportFormat) -> Result<(), CliError> {
    let end = path.extension().unwrap_or_default().to_ascii_lowercase();
    let option = match (end.to_str().unwrap_or_default(), format) {
        ("html" | "htm", ReportFormat::Html)
        | ("md" | "markdown", ReportFormat::Md)
        | ("xml", ReportFormat::Junit)
        | ("tap", ReportFormat::Tap) => return Ok(()),
        ("html" | "htm", _) => "--format html writes such a file",
        ("md" | "markdown", _) => "--format md writes such a file",
        ("xml", _) => "--format junit writes such a file",
        ("tap", _) => "--format tap writes such a file",
        ("svg", _) => "--svg DIR writes the charts as SVG files",
        ("png", _) => "--png DIR writes the charts as PNG files",
        ("json", _) => "`punctual runs show RUN --json` prints the record of a run",
        ("csv", _) => "`punctual runs export RUN --format csv` writes the samples of a run",
        ("pdf", _) => "write a page, -o report.html, and print it to a PDF in a browser",
        _ => return Ok(()),
    };
    let form = format.to_possible_value();
    let form = form.as_ref().map_or("", PossibleValue::get_name);
    let path = path.display();
    Err(CliError::usage(format!("-o {path}: the format is {form}")).hint(option))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_promises_another_form_is_refused() {
        use ReportFormat::{Html, Junit, Md, Tap};
        for (name, format) in [
            ("-", Html),
            ("page", Md),
            ("page.txt", Md),
            ("page.HTML", Html),
            ("a.svg/page.htm", Html),
            ("page.md", Md),
            ("junit.xml", Junit),
            ("x.tap", Tap),
        ] {
            assert!(agrees(Path::new(name), format).is_ok(), "{name}");
        }
        for (name, format, option) in [
            ("x.png", Html, "--png DIR"),
            ("x.SVG", Md, "--svg DIR"),
            ("x.md", Html, "--format md"),
            ("x.html", Md, "--format html"),
            ("x.xml", Html, "--format junit"),
            ("x.tap", Junit, "--format tap"),
            ("x.json", Html, "--json"),
            ("x.csv", Md, "--format csv"),
            ("x.pdf", Html, "report.html"),
        ] {
            let err = agrees(Path::new(name), format).unwrap_err();
            assert_eq!(err.exit(), Exit::Usage, "{name}");
            let said = format!("{err:?}");
            assert!(said.contains(name) && said.contains(option), "{said}");
        }
    }
}
