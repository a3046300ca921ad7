// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The files of a report.

use std::fs;
use std::path::Path;

#[cfg(feature = "pictures")]
use punctual_report::chart::png::Painter;
use punctual_report::chart::{Drawing, View, svg};
use punctual_report::document::Document;

use crate::cli::ReportArgs;
use crate::error::CliError;
use crate::output::{Destination, remark};

/// Writes the charts into the directories that were asked for.
pub(super) fn pictures(document: &Document, args: &ReportArgs) -> Result<(), CliError> {
    let drawings = files(document);
    if let Some(dir) = &args.svg {
        make(dir)?;
        for (name, text) in &drawings {
            one(
                &dir.join(format!("{name}.svg")),
                text.as_bytes(),
                args.force,
            )?;
        }
        said(dir, drawings.len(), "SVG");
    }
    #[cfg(feature = "pictures")]
    if let Some(dir) = &args.png {
        make(dir)?;
        let painter = Painter::default();
        for (name, text) in &drawings {
            let picture = painter
                .paint(text)
                .map_err(|err| CliError::failed_to(format!("make {name}.png")).because(err))?;
            one(&dir.join(format!("{name}.png")), &picture, args.force)?;
        }
        said(dir, drawings.len(), "PNG");
    }
    Ok(())
}

fn said(dir: &Path, count: usize, kind: &str) {
    let plural = if count == 1 { "" } else { "s" };
    remark(&format!(
        "Wrote {count} {kind} file{plural} into {}.",
        dir.display()
    ));
}

fn make(dir: &Path) -> Result<(), CliError> {
    fs::create_dir_all(dir).map_err(|err| {
        CliError::failed_to(format!("make directory {}", dir.display())).because(err)
    })
}

fn one(path: &Path, bytes: &[u8], force: bool) -> Result<(), CliError> {
    Destination::open(path, force)?.put(bytes)
}

/// Every chart by its name; a distribution in each of its views.
fn files(document: &Document) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for drawing in document.drawings() {
        match drawing {
            Drawing::Chart(chart) => files.push((chart.id.clone(), svg::chart(chart))),
            Drawing::Heat(heat) => files.push((heat.id.clone(), svg::heat(heat))),
            Drawing::Distribution(distribution) => files.extend(View::ALL.iter().map(|view| {
                let chart = distribution.chart(*view);
                (chart.id.clone(), svg::chart(&chart))
            })),
        }
    }
    files
}
