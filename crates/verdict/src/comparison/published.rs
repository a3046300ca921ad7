// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tables of means that somebody published.
//!
//! A CSV file with a heading: `name`, `mean`, `standard_error`, and the number of runs, `n`, or the
//! standard deviation, `deviation` or `deviation_percent` of the mean, from which it follows as
//! (deviation / error)². Further columns are ignored, lines that begin with `#` too.
//!
//! There are no runs to permute: Welch's t test takes their place, which trusts that the means are
//! normal.

mod remarks;
mod table;

use punctual_model::{
    Better, COMPARISON_FORMAT, ComparedFigure, ComparedGroup, Comparison, ComparisonScale,
    ComparisonVerdict, Effect, GroupFigure, Interval,
};
use punctual_stats::holm;
use punctual_stats::runs::{Options, Pilot, Summary, Welch, detectable, runs_to_detect, welch};

use self::remarks::remarks;
pub use self::table::{Row, TableError, read};
use super::interval;

/// What is compared, and in which direction it is good.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
}

/// Compares lines of a table with the first of `names`; with none, every line with the first.
///
/// # Errors
///
/// [`TableError::NoSuchLine`] for a name that is not there.
pub fn compare(
    rows: &[Row],
    names: &[String],
    figure: &Figure,
    options: &Options,
) -> Result<Comparison, TableError> {
    let chosen: Vec<&Row> = match names.is_empty() {
        true => rows.iter().collect(),
        false => names
            .iter()
            .map(|name| {
                let known = rows.iter().find(|row| row.name == *name);
                known.ok_or_else(|| TableError::NoSuchLine {
                    name: name.clone(),
                    known: rows
                        .iter()
                        .map(|r| r.name.as_str())
                        .collect::<Vec<_>>()
                        .join(", "),
                })
            })
            .collect::<Result<_, _>>()?,
    };
    let mut named = names.iter().enumerate();
    if let Some((_, name)) = named.find(|(at, name)| names.iter().take(*at).any(|of| of == *name)) {
        return Err(TableError::Itself { name: name.clone() });
    }
    if let [name] = names {
        return Err(TableError::One { name: name.clone() });
    }
    let [baseline, rest @ ..] = chosen.as_slice() else {
        return Err(TableError::Short);
    };
    if rest.is_empty() {
        return Err(TableError::Short);
    }
    let tests: Vec<Option<Welch>> = rest
        .iter()
        .map(|row| welch(&summary(baseline), &summary(row), options.confidence))
        .collect();
    let p: Vec<Option<f64>> = tests.iter().map(|test| Some(test.as_ref()?.p)).collect();
    let asked = p.iter().flatten().count();
    let results = rest
        .iter()
        .zip(&tests)
        .zip(holm(&p))
        .map(|((row, test), adjusted)| {
            result(baseline, row, *test, adjusted, asked, figure, options)
        })
        .collect();
    Ok(super::answer::answered(Comparison {
        format: COMPARISON_FORMAT.to_owned(),
        method: super::method("welch", options, asked as u64),
        groups: chosen.iter().map(|row| group(row)).collect(),
        results,
        answers: Vec::new(),
        remarks: remarks(rows, &chosen, names, options),
        requirements: Vec::new(),
    }))
}

fn summary(row: &Row) -> Summary {
    Summary {
        runs: row.mean.runs,
        mean: row.mean.mean,
        standard_error: row.mean.standard_error,
    }
}

fn group(row: &Row) -> ComparedGroup {
    ComparedGroup {
        name: row.name.clone(),
        runs: Vec::new(),
        refused: Vec::new(),
        distribution: None,
        published: Some(row.mean),
    }
}

fn side(row: &Row) -> GroupFigure {
    GroupFigure {
        group: row.name.clone(),
        runs: row.mean.runs,
        estimate: Some(row.mean.mean),
        deviation: Some(row.mean.standard_error * punctual_stats::float(row.mean.runs).sqrt()),
        ..GroupFigure::default()
    }
}

/// The verdict of a test that has only a p-value: whether it is `significant`, whether the candidate is `up`, and whether a change
/// that matters would have been found.
pub(super) fn by_p(significant: bool, better: Better, up: bool, finds: bool) -> ComparisonVerdict {
    match (significant, better, up) {
        (true, Better::Neither, _) => ComparisonVerdict::Different,
        (true, Better::Lower, true) | (true, Better::Higher, false) => ComparisonVerdict::Worse,
        (true, ..) => ComparisonVerdict::Better,
        (false, ..) if finds => ComparisonVerdict::NotDistinguishable,
        (false, ..) => ComparisonVerdict::TooFewRuns,
    }
}

fn result(
    baseline: &Row,
    row: &Row,
    test: Option<Welch>,
    adjusted: Option<f64>,
    asked: usize,
    figure: &Figure,
    options: &Options,
) -> ComparedFigure {
    let level = options.alpha / asked.max(1) as f64;
    let base = baseline.mean.mean;
    let smallest = test.and_then(|test| {
        // Not the difference over t: of equal means that is 0 over 0.
        let error = baseline.mean.standard_error.hypot(row.mean.standard_error);
        detectable(error, test.freedom, level, options.power)
    });
    let smallest = smallest.filter(|_| base > 0.0).map(|least| least / base);
    let significant = adjusted.is_some_and(|p| p <= options.alpha);
    let finds = test.is_some() && smallest.is_some_and(|least| least <= options.effect);
    let up = test.is_some_and(|test| test.difference > 0.0);
    let verdict = by_p(significant, figure.better, up, finds);
    let variance =
        |row: &Row| row.mean.standard_error.powi(2) * punctual_stats::float(row.mean.runs);
    let more_runs = (verdict == ComparisonVerdict::TooFewRuns && base > 0.0)
        .then(|| {
            let pilot = Pilot {
                variances: &[variance(baseline), variance(row)],
                freedom: test?.freedom,
            };
            let needed = runs_to_detect(pilot, options.effect * base, level, options.power)?;
            Some(
                needed
                    .saturating_sub(baseline.mean.runs.min(row.mean.runs))
                    .max(1),
            )
        })
        .flatten();
    let effect = |estimate: f64, ends: Option<Interval>| Effect {
        estimate,
        interval: ends,
    };
    ComparedFigure {
        figure: figure.name.clone(),
        unit: figure.unit.clone(),
        better: figure.better,
        verdict,
        withheld: None,
        more_runs,
        baseline: side(baseline),
        candidate: side(row),
        scale: ComparisonScale::Linear,
        ratio: test.and_then(|test| Some(effect(test.ratio?, test.ratio_interval.map(interval)))),
        difference: test
            .map(|test| effect(test.difference, Some(interval(test.difference_interval)))),
        interval_method: test.map(|_| "welch".to_owned()),
        interval_level: None,
        pairs: None,
        unpaired: 0,
        p: test.map(|test| test.p),
        adjusted_p: adjusted,
        smallest_p: None,
        arrangements: None,
        exact: None,
        equivalence_p: None,
        smallest_detectable: smallest,
        variance_inside: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Vec<Row> {
        read(include_str!("../../../../docs/data/anaya2018.csv")).unwrap()
    }

    fn figure() -> Figure {
        Figure {
            name: "AIO-Stress".to_owned(),
            unit: "MB/s".to_owned(),
            better: Better::Higher,
        }
    }

    #[test]
    fn a_pair_of_the_published_table_differs_alone_and_not_among_all() {
        let names = ["950000".to_owned(), "900000".to_owned()];
        let comparison = compare(&table(), &names, &figure(), &Options::default()).unwrap();
        let result = &comparison.results[0];
        assert!((result.p.unwrap() - 0.0157).abs() < 1e-4);
        assert_eq!(result.verdict, ComparisonVerdict::Better);
        let remark = comparison
            .remarks
            .iter()
            .find(|r| r.id == "one-of-many")
            .unwrap();
        assert!(remark.detail.contains("55 pairs"), "{}", remark.detail);
        assert!(comparison.remarks.iter().any(|r| r.id == "runs-by-noise"));
    }

    #[test]
    fn nothing_of_the_published_table_differs_from_the_default_among_all_levels() {
        let names: Vec<String> = std::iter::once("950000".to_owned())
            .chain(
                table()
                    .into_iter()
                    .map(|row| row.name)
                    .filter(|n| n != "950000"),
            )
            .collect();
        let comparison = compare(&table(), &names, &figure(), &Options::default()).unwrap();
        assert_eq!(comparison.results.len(), 10);
        for result in &comparison.results {
            assert!(result.adjusted_p.unwrap() > 0.05, "{result:?}");
            assert_eq!(result.verdict, ComparisonVerdict::TooFewRuns);
            assert!(result.more_runs.unwrap() > 3);
        }
    }

    #[test]
    fn equal_means_are_not_distinguishable_by_what_would_have_been_found() {
        let rows = read("name,mean,standard_error,n\na,93.71,0.01,50\nb,93.71,0.01,50\n").unwrap();
        let comparison = compare(&rows, &[], &figure(), &Options::default()).unwrap();
        let result = &comparison.results[0];
        assert_eq!(result.verdict, ComparisonVerdict::NotDistinguishable);
        assert_eq!(result.more_runs, None);
        let smallest = result.smallest_detectable.unwrap();
        assert!(smallest > 0.0 && smallest < 0.001, "{smallest}");
    }

    #[test]
    fn a_name_that_is_not_there_is_named() {
        let names = ["950000".to_owned(), "1".to_owned()];
        let err = compare(&table(), &names, &figure(), &Options::default()).unwrap_err();
        assert!(
            err.to_string().contains("`1`; names are 1000000, 950000"),
            "{err}"
        );
    }
}
