// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a reader of a published table should know.

use punctual_model::Finding;
use punctual_stats::runs::{Options, welch};
use punctual_stats::{float, holm};

use super::{Row, summary};

pub(super) fn remarks(
    rows: &[Row],
    chosen: &[&Row],
    names: &[String],
    options: &Options,
) -> Vec<Finding> {
    let mut remarks = vec![Finding::observed(
        "published",
        "only means are available: drift, order, outliers and the shape of the distribution cannot \
         be checked, and Welch's t assumes that the means are normal",
    )];
    if chosen.iter().any(|row| row.mean.runs_inferred) {
        let counts: Vec<String> = chosen
            .iter()
            .map(|row| format!("{} {}", row.name, row.mean.runs))
            .collect();
        remarks.push(Finding::inferred(
            "runs",
            format!(
                "numbers of runs derived from deviation and standard error: {}",
                counts.join(", ")
            ),
        ));
    }
    remarks.extend(one_of_many(rows, chosen, names, options));
    remarks.extend(noisy_have_more(rows));
    remarks
}

/// A pair that was picked out of a table because it looks apart has been looked for among all pairs.
fn one_of_many(
    rows: &[Row],
    chosen: &[&Row],
    names: &[String],
    options: &Options,
) -> Option<Finding> {
    let [a, b] = chosen else { return None };
    if names.is_empty() || rows.len() < 3 {
        return None;
    }
    let mut pairs = Vec::new();
    for (at, first) in rows.iter().enumerate() {
        for second in rows.iter().skip(at + 1) {
            pairs.push((first, second));
        }
    }
    let p: Vec<Option<f64>> = pairs
        .iter()
        .map(|(a, b)| Some(welch(&summary(a), &summary(b), options.confidence)?.p))
        .collect();
    let adjusted = holm(&p);
    let here = pairs.iter().position(|(x, y)| {
        (x.name == a.name && y.name == b.name) || (x.name == b.name && y.name == a.name)
    })?;
    let (alone, among) = (p.get(here).copied()??, adjusted.get(here).copied()??);
    Some(Finding::observed(
        "one-of-many",
        format!(
            "this is one of the {} pairs of the table. The p-value of {} holds if these two were \
             chosen before the figures were seen; picked out afterwards, it is {} (Holm over all \
             pairs)",
            pairs.len(),
            above_zero(alone, 4),
            above_zero(among, 2)
        ),
    ))
}

/// A p-value to `digits` decimal places; one that would round to 0 is given as a bound.
fn above_zero(p: f64, digits: usize) -> String {
    let least = 0.1_f64.powi(i32::try_from(digits).unwrap_or(i32::MAX));
    match p < least {
        true => format!("less than {least:.digits$}"),
        false => format!("{p:.digits$}"),
    }
}

/// Whether lines that vary more rest on more runs, as where runs were added because they varied.
fn noisy_have_more(rows: &[Row]) -> Option<Finding> {
    let noise =
        |row: &Row| row.mean.standard_error * float(row.mean.runs).sqrt() / row.mean.mean.abs();
    let least = rows.iter().map(|row| row.mean.runs).min()?;
    let most = rows.iter().map(|row| row.mean.runs).max()?;
    let loudest_of_few = rows
        .iter()
        .filter(|row| row.mean.runs == least)
        .map(noise)
        .fold(0.0, f64::max);
    let quietest_of_more = rows
        .iter()
        .filter(|row| row.mean.runs > least)
        .map(noise)
        .fold(f64::INFINITY, f64::min);
    (most > least && quietest_of_more.is_finite() && quietest_of_more >= 0.9 * loudest_of_few).then(|| {
        Finding::inferred(
            "runs-by-noise",
            format!(
                "lines that vary more have more runs ({least} to {most}): runs seem to have been \
                 added where they varied, and a line with few runs may have looked quiet by \
                 chance. The p-values ignore that and are too small"
            ),
        )
    })
}
