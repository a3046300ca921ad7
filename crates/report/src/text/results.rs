// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results that are no latencies, what the pattern of a run shows, and what its loads did.

use punctual_model::{Certainty, Figure, RunRecord};

use super::layout::{Column, clean, table, wrapped};
use super::number::percent;

/// A row a figure: where it holds, its value with half of its interval, its unit, the observations
/// behind it. Figures of one name and unit stand together in the order of the record.
pub(crate) fn figures(run: &RunRecord) -> Option<String> {
    if run.figures.is_empty() {
        return None;
    }
    let mut labels: Vec<&String> = Vec::new();
    for label in run.figures.iter().flat_map(|f| f.labels.keys()) {
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let spread = run
        .figures
        .iter()
        .any(|f| f.min.is_some() || f.max.is_some());
    let mut header = vec![("Figure".to_owned(), Column::Left)];
    let label_header = labels
        .iter()
        .map(|l| (clean(l).into_owned(), Column::Right));
    header.extend(label_header);
    header.push(("Value".to_owned(), Column::Right));
    header.push(("Unit".to_owned(), Column::Left));
    header.push(("Count".to_owned(), Column::Right));
    if spread {
        for name in ["Min", "Max", "Deviation"] {
            header.push((name.to_owned(), Column::Right));
        }
    }
    let rows = run.figures.iter().map(|figure| {
        let mut row = vec![clean(&figure.name).into_owned()];
        row.extend(labels.iter().map(|label| {
            let value = figure.labels.get(label.as_str());
            value.map_or_else(String::new, |v| clean(v).into_owned())
        }));
        row.push(value(figure));
        let unit = if figure.unit == "1" { "" } else { &figure.unit };
        row.push(clean(unit).into_owned());
        row.push(figure.count.to_string());
        if spread {
            let number = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| plain(x, x));
            row.extend([figure.min, figure.max, figure.stddev].map(number));
        }
        row
    });
    let rows = rows.collect();
    let header: Vec<(&str, Column)> = header.iter().map(|(n, c)| (n.as_str(), *c)).collect();
    let mut text = "Results\n".to_owned();
    text += &table(&header, rows);
    if let Some(confidence) = run
        .figures
        .iter()
        .find_map(|f| Some(f.interval?.confidence))
    {
        let confidence = percent(confidence);
        let note =
            format!(" ±: half of the {confidence} interval, the wider half where it is uneven\n");
        text += &note;
    }
    Some(text)
}

fn value(figure: &Figure) -> String {
    let Some(value) = figure.value else {
        return "-".to_owned();
    };
    match figure.interval {
        Some(interval) => {
            let half = (interval.high - value).max(value - interval.low);
            format!("{} ±{}", plain(value, half), plain(half, half))
        }
        None => plain(value, value),
    }
}

/// Writes `x` with as many decimals as `scale` has a use for: three significant digits of it.
fn plain(x: f64, scale: f64) -> String {
    let scale = scale.abs();
    let decimals = match scale {
        s if s >= 100.0 || s == 0.0 || x.fract() == 0.0 => 0,
        s if s >= 10.0 => 1,
        s if s >= 1.0 => 2,
        s if s >= 0.1 => 3,
        s if s >= 0.01 => 4,
        s if s >= 0.001 => 5,
        _ => 6,
    };
    format!("{x:.decimals$}")
}

/// Says what the pattern shows, and how sure that is.
pub(crate) fn findings(run: &RunRecord) -> Option<String> {
    if run.findings.is_empty() {
        return None;
    }
    let mut text = "What the run shows\n".to_owned();
    for finding in &run.findings {
        let sure = match finding.certainty {
            Certainty::Observed => "observed",
            Certainty::Inferred => "inferred",
        };
        let lead = format!(" {} ({sure}): ", clean(&finding.id));
        text += &wrapped(&lead, 3, &clean(&finding.detail));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_digits_that_their_interval_supports() {
        for (x, scale, text) in [
            (123.456, 123.456, "123"),
            (12.345, 12.345, "12.3"),
            (0.0123, 0.0123, "0.0123"),
            (5.0, 5.0, "5"),
            (1234.5678, 0.5, "1234.568"),
            (0.0, 0.0, "0"),
        ] {
            assert_eq!(plain(x, scale), text);
        }
    }
}
