// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results that are no latencies, as a table.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use punctual_model::{Better, Gathered as _, RunRecord};

use super::csv::{cell, write_row};

/// Writes one row a figure, under `run,valid,instrument,figure`, a column for each label that any of them has, and
/// `value,unit,better,count,low,high,confidence,stddev,min,max`. What is missing is empty.
///
/// # Errors
/// What the output says.
pub fn csv_figures(run: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let labels: BTreeSet<&String> = run.figures.iter().flat_map(|f| f.labels.keys()).into_set();
    let mut header = ["run", "valid", "instrument", "figure"]
        .map(ToOwned::to_owned)
        .to_vec();
    header.extend(labels.iter().map(ToString::to_string));
    let fixed = [
        "value",
        "unit",
        "better",
        "count",
        "low",
        "high",
        "confidence",
        "stddev",
        "min",
        "max",
    ];
    header.extend(fixed.map(ToOwned::to_owned));
    write_row(&mut out, &header)?;
    for figure in &run.figures {
        let mut row = vec![
            run.id.clone(),
            run.is_valid().to_string(),
            run.instrument.clone(),
            figure.name.clone(),
        ];
        row.extend(labels.iter().map(|label| cell(figure.labels.get(*label))));
        let interval = figure.interval;
        row.extend([
            cell(figure.value),
            figure.unit.clone(),
            match figure.better {
                Better::Lower => "lower",
                Better::Higher => "higher",
                Better::Neither => "neither",
            }
            .to_owned(),
            figure.count.to_string(),
            cell(interval.map(|interval| interval.low)),
            cell(interval.map(|interval| interval.high)),
            cell(interval.map(|interval| interval.confidence)),
            cell(figure.stddev),
            cell(figure.min),
            cell(figure.max),
        ]);
        write_row(&mut out, &row)?;
    }
    out.flush()
}
