// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels compared in virtual time.

use punctual_model::{Band, BandVerdict, LatencyTest};
use std::fmt::Write as _;

use super::layout::{Column, clean, paragraph, table, wrapped};

/// Writes a row a kernel, model and load: bands over the seeds, and how they lie to the baseline's.
pub fn latency_test(test: &LatencyTest) -> String {
    let mut text = String::new();
    let invalid = test.cells.iter().filter(|cell| !cell.faults.is_empty());
    if !test.valid {
        text += "INVALID: a cell supports no claim\n";
    }
    for cell in invalid {
        let name = format!("{} {} {}", cell.kernel, cell.model, cell.load);
        text += &wrapped(
            "  ",
            4,
            &clean(&format!("{name}: {}", cell.faults.join("; "))),
        );
    }
    _ = writeln!(
        text,
        "Wake-up latency in virtual µs: instruction counts at {}, no latency of any hardware",
        test.instruction_ns
    );
    text += &cells(test);
    text.push('\n');
    for own in of_their_own(test) {
        text += &paragraph("Kernel", &clean(&own));
    }
    text += &paragraph("Bands", &bands(test));
    let agent = test.agent.as_ref();
    let agent = agent.map_or_else(String::new, |agent| format!(", agent {agent}"));
    text + &paragraph(
        "By",
        &clean(&format!("{}, {}{agent}", test.program, test.qemu)),
    )
}

fn cells(test: &LatencyTest) -> String {
    let mut header = vec![
        ("Kernel", Column::Left),
        ("Model", Column::Left),
        ("Load", Column::Left),
        ("Mean", Column::Right),
        ("Max", Column::Right),
    ];
    let compared = !test.comparisons.is_empty();
    if compared {
        header.extend([("Mean is", Column::Left), ("Max is", Column::Left)]);
    }
    let rows = test.cells.iter().map(|cell| {
        let mut row = vec![
            clean(&cell.kernel).into_owned(),
            clean(&cell.model).into_owned(),
            clean(&cell.load).into_owned(),
            band(cell.mean_ns),
            band(cell.max_ns),
        ];
        if compared {
            let of = test.comparisons.iter().filter(|of| {
                of.kernel == cell.kernel && of.model == cell.model && of.load == cell.load
            });
            let verdict = |figure: &str| {
                let mut found = of.clone().filter(|of| of.figure == figure);
                found.next().map_or("-", |of| word(of.verdict)).to_owned()
            };
            row.extend([verdict("mean_ns"), verdict("max_ns")]);
        }
        row
    });
    table(&header, rows.collect())
}

/// Says what each kernel has of its own, where it has something.
fn of_their_own(test: &LatencyTest) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cell in &test.cells {
        let mut parts = Vec::new();
        if !cell.append.is_empty() {
            parts.push(format!("arguments {}", cell.append.join(" ")));
        }
        if !cell.config.is_empty() {
            parts.push(format!("configuration has {}", cell.config.join(", ")));
        }
        let line = format!("{}: {}", cell.kernel, parts.join("; "));
        if !parts.is_empty() && !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// Says what cells are compared with.
fn baseline(test: &LatencyTest) -> Option<String> {
    let first = test.comparisons.first()?;
    let one = test
        .comparisons
        .iter()
        .all(|of| of.baseline_model == first.baseline_model);
    Some(match one {
        true => format!("{} {}", first.baseline, first.baseline_model),
        false => format!("{}, each model with the same one", first.baseline),
    })
}

const fn word(verdict: BandVerdict) -> &'static str {
    match verdict {
        BandVerdict::Worse => "WORSE",
        BandVerdict::NoDifference => "same",
        other => other.name(),
    }
}

fn band(band: Option<Band>) -> String {
    band.map_or_else(
        || "-".to_owned(),
        |band| format!("{:.1} .. {:.1}", band.low / 1e3, band.high / 1e3),
    )
}

fn bands(test: &LatencyTest) -> String {
    let mut text = format!(
        "from the smallest to the largest value of {} seeds, a boot each, {} samples a boot and load",
        test.seeds, test.samples
    );
    if let Some(baseline) = baseline(test) {
        _ = write!(
            text,
            "; better or worse than {}: the bands lie apart, by more than {:.1} % of the baseline. The bands of \
             two equal kernels do so by chance in {:.2} % of comparisons; here are {}",
            clean(&baseline),
            test.tolerance * 100.0,
            test.chance * 100.0,
            test.comparisons.len()
        );
    }
    text
}
