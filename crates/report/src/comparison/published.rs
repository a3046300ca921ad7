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

use punctual_model::{
    Better, COMPARISON_FORMAT, ComparedFigure, ComparedGroup, Comparison, ComparisonScale,
    ComparisonVerdict, Effect, Finding, GroupFigure, Interval, PublishedMean,
};
use punctual_stats::holm;
use punctual_stats::runs::{Options, Summary, Welch, detectable, runs_to_detect, welch};

use super::interval;

/// One line of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What the line is about.
    pub name: String,
    /// Its figures.
    pub mean: PublishedMean,
}

/// The reason that a table was rejected.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// It has no heading, or one without the columns that are needed.
    #[error("line {line}: the heading lacks {missing}; it has {found}")]
    Heading {
        /// Number of the line, from 1.
        line: usize,
        /// The column.
        missing: &'static str,
        /// What there is.
        found: String,
    },
    /// A line has more or fewer cells than the heading.
    #[error("line {line}: has {cells} cells, the heading has {columns}")]
    Cells {
        /// Number of the line, from 1.
        line: usize,
        /// Its cells.
        cells: usize,
        /// Those of the heading.
        columns: usize,
    },
    /// A cell is not the number that its column holds.
    #[error("line {line}, column {column}: `{cell}` is not {expected}")]
    Cell {
        /// Number of the line, from 1.
        line: usize,
        /// Name of the column.
        column: &'static str,
        /// The cell.
        cell: String,
        /// What would be.
        expected: &'static str,
    },
    /// A name is there twice.
    #[error("line {line}: `{name}` is the name of an earlier line too")]
    Twice {
        /// Number of the line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// There are fewer than two lines to compare.
    #[error("there are fewer than two lines below the heading")]
    Short,
    /// No line has this name.
    #[error("no line is named `{name}`; there are {known}")]
    NoSuchLine {
        /// The name.
        name: String,
        /// The names.
        known: String,
    },
}

/// The columns of a table, by their place.
struct Columns {
    name: usize,
    mean: usize,
    error: usize,
    runs: Option<usize>,
    deviation: Option<(usize, bool)>,
}

impl Columns {
    fn of(line: usize, heading: &[&str]) -> Result<Self, TableError> {
        let place = |names: &[&str]| {
            heading
                .iter()
                .position(|cell| names.iter().any(|name| cell.eq_ignore_ascii_case(name)))
        };
        let needed = |names: &[&str], missing| {
            place(names).ok_or_else(|| TableError::Heading {
                line,
                missing,
                found: heading.join(", "),
            })
        };
        let columns = Self {
            name: needed(&["name"], "`name`")?,
            mean: needed(&["mean"], "`mean`")?,
            error: needed(&["standard_error", "se"], "`standard_error`")?,
            runs: place(&["n", "runs"]),
            deviation: place(&["deviation", "sd"])
                .map(|at| (at, false))
                .or_else(|| place(&["deviation_percent", "sd_percent"]).map(|at| (at, true))),
        };
        if columns.runs.is_none() && columns.deviation.is_none() {
            return Err(TableError::Heading {
                line,
                missing: "`n`, or `deviation` or `deviation_percent` from which it follows",
                found: heading.join(", "),
            });
        }
        Ok(columns)
    }

    fn row(&self, line: usize, cells: &[&str]) -> Result<Row, TableError> {
        let number = |at: usize, column, expected, holds: fn(f64) -> bool| {
            let cell = cells.get(at).copied().unwrap_or_default();
            let value = cell
                .parse::<f64>()
                .ok()
                .filter(|x| x.is_finite() && holds(*x));
            value.ok_or_else(|| TableError::Cell {
                line,
                column,
                cell: cell.to_owned(),
                expected,
            })
        };
        let mean = number(self.mean, "mean", "a number", |_| true)?;
        let positive = "a number above 0";
        let error = number(self.error, "standard_error", positive, |x| x > 0.0)?;
        let (runs, inferred) = match (self.runs, self.deviation) {
            (Some(at), _) => {
                let whole = |x: f64| x >= 2.0 && x.fract() == 0.0 && x < 1e9;
                let expected = "a whole number of at least 2";
                (number(at, "n", expected, whole)?, false)
            }
            (None, Some((at, percent))) => {
                let deviation = number(at, "deviation", positive, |x| x > 0.0)?;
                let deviation = match percent {
                    true => deviation / 100.0 * mean.abs(),
                    false => deviation,
                };
                let runs = (deviation / error).powi(2).round();
                if !(2.0..1e9).contains(&runs) {
                    return Err(TableError::Cell {
                        line,
                        column: "deviation",
                        cell: cells.get(at).copied().unwrap_or_default().to_owned(),
                        expected: "larger than the standard error by the root of 2 runs or more",
                    });
                }
                (runs, true)
            }
            // The heading has one of both.
            (None, None) => (2.0, true),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "whole, and between 2 and a billion"
        )]
        let runs = runs as u64;
        Ok(Row {
            name: cells.get(self.name).copied().unwrap_or_default().to_owned(),
            mean: PublishedMean {
                runs,
                mean,
                standard_error: error,
                runs_inferred: inferred,
            },
        })
    }
}

/// Reads a table.
///
/// # Errors
///
/// [`TableError`] with the line.
pub fn read(text: &str) -> Result<Vec<Row>, TableError> {
    let mut lines = text
        .trim_start_matches('\u{feff}')
        .lines()
        .zip(1..)
        .map(|(text, line)| (line, text.trim()))
        .filter(|(_, text)| !text.is_empty() && !text.starts_with('#'));
    let Some((line, heading)) = lines.next() else {
        return Err(TableError::Short);
    };
    let heading: Vec<&str> = heading.split(',').map(str::trim).collect();
    let columns = Columns::of(line, &heading)?;
    let mut rows: Vec<Row> = Vec::new();
    for (line, text) in lines {
        let cells: Vec<&str> = text.split(',').map(str::trim).collect();
        if cells.len() != heading.len() {
            return Err(TableError::Cells {
                line,
                cells: cells.len(),
                columns: heading.len(),
            });
        }
        let row = columns.row(line, &cells)?;
        if rows.iter().any(|other| other.name == row.name) {
            return Err(TableError::Twice {
                line,
                name: row.name,
            });
        }
        rows.push(row);
    }
    if rows.len() < 2 {
        return Err(TableError::Short);
    }
    Ok(rows)
}

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
    Ok(Comparison {
        format: COMPARISON_FORMAT.to_owned(),
        method: super::method("welch", options, asked as u64),
        groups: chosen.iter().map(|row| group(row)).collect(),
        results,
        remarks: remarks(rows, &chosen, names, options),
        requirements: Vec::new(),
    })
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
        without: 0,
        estimate: Some(row.mean.mean),
        interval: None,
        deviation: Some(row.mean.standard_error * super::metric::float(row.mean.runs).sqrt()),
        outliers: Vec::new(),
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
        let error = test.difference / test.t;
        detectable(error.abs(), test.freedom, level, options.power)
    });
    let smallest = smallest.filter(|_| base > 0.0).map(|least| least / base);
    let verdict = match (adjusted, test) {
        (Some(p), Some(test)) if p <= options.alpha => match (figure.better, test.difference > 0.0)
        {
            (Better::Neither, _) => ComparisonVerdict::Different,
            (Better::Lower, true) | (Better::Higher, false) => ComparisonVerdict::Worse,
            _ => ComparisonVerdict::Better,
        },
        (Some(_), _) if smallest.is_some_and(|least| least <= options.effect) => {
            ComparisonVerdict::NotDistinguishable
        }
        _ => ComparisonVerdict::TooFewRuns,
    };
    let variance =
        |row: &Row| row.mean.standard_error.powi(2) * super::metric::float(row.mean.runs);
    let more_runs = (verdict == ComparisonVerdict::TooFewRuns && base > 0.0)
        .then(|| {
            let variances = [variance(baseline), variance(row)];
            let needed = runs_to_detect(&variances, options.effect * base, level, options.power)?;
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

fn remarks(rows: &[Row], chosen: &[&Row], names: &[String], options: &Options) -> Vec<Finding> {
    let mut remarks = vec![Finding::observed(
        "published",
        "the runs themselves are not there: drift, order, outliers and the shape of the \
         distribution cannot be looked at, and Welch's t trusts that means are normal",
    )];
    if chosen.iter().any(|row| row.mean.runs_inferred) {
        let counts: Vec<String> = chosen
            .iter()
            .map(|row| format!("{} {}", row.name, row.mean.runs))
            .collect();
        remarks.push(Finding::inferred(
            "runs",
            format!(
                "the numbers of runs follow from deviation and standard error: {}",
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
            "this is one of the {} pairs of the table. The p-value of {alone:.4} holds if these two \
             were chosen before the figures were seen; picked out afterwards, it is {among:.2} \
             (Holm over all pairs)",
            pairs.len()
        ),
    ))
}

/// Whether lines that vary more rest on more runs, as where runs were added because they varied.
fn noisy_have_more(rows: &[Row]) -> Option<Finding> {
    let noise = |row: &Row| {
        row.mean.standard_error * super::metric::float(row.mean.runs).sqrt() / row.mean.mean.abs()
    };
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
                "lines that vary more rest on more runs ({least} to {most}): runs seem to have been \
                 added where they varied, and a line with few runs may have looked quiet by chance. \
                 The p-values do not know that and are too small"
            ),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_runs_is_read_or_follows_from_the_deviation() {
        let stated = read("name,mean,se,n\na,10,1,4\nb,12,1,4\n").unwrap();
        assert_eq!(
            (stated[0].mean.runs, stated[0].mean.runs_inferred),
            (4, false)
        );
        let text = "# Anaya 2018\nname,mean,standard_error,deviation_percent\n\
                    950000, 93.71, 4.23, 11.08\n900000, 108.60, 1.54, 2.46\n";
        let inferred = read(text).unwrap();
        assert_eq!((inferred[0].mean.runs, inferred[1].mean.runs), (6, 3));
        assert!(inferred[0].mean.runs_inferred);
    }

    #[test]
    fn a_bad_table_is_rejected_with_the_line() {
        for (text, part) in [
            ("", "fewer than two"),
            (
                "name,mean\na,1\n",
                "line 1: the heading lacks `standard_error`",
            ),
            ("name,mean,se\na,1,1\n", "line 1: the heading lacks `n`"),
            ("name,mean,se,n\na,1,1,2\n", "fewer than two"),
            ("name,mean,se,n\na,1,1,2\nb,1,1\n", "line 3: has 3 cells"),
            (
                "name,mean,se,n\na,1,1,2\nb,x,1,2\n",
                "line 3, column mean: `x`",
            ),
            (
                "name,mean,se,n\na,1,0,2\nb,1,1,2\n",
                "line 2, column standard_error: `0`",
            ),
            (
                "name,mean,se,n\na,1,1,1\nb,1,1,2\n",
                "line 2, column n: `1`",
            ),
            (
                "name,mean,se,n\na,1,NaN,2\nb,1,1,2\n",
                "column standard_error: `NaN`",
            ),
            (
                "name,mean,se,n\na,1,1,2\na,1,1,2\n",
                "line 3: `a` is the name",
            ),
            (
                "name,mean,se,sd\na,1,5,1\nb,1,1,2\n",
                "line 2, column deviation: `1`",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text:?}: {message}");
        }
    }

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
    fn a_name_that_is_not_there_is_named() {
        let names = ["950000".to_owned(), "1".to_owned()];
        let err = compare(&table(), &names, &figure(), &Options::default()).unwrap_err();
        assert!(
            err.to_string().contains("`1`; there are 1000000, 950000"),
            "{err}"
        );
    }
}
