// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reading a published table.

use punctual_model::PublishedMean;

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
    #[error("line {line}: `{name}` is also the name of an earlier line")]
    Twice {
        /// Number of the line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// There are fewer than two lines to compare.
    #[error("fewer than two lines below the heading")]
    Short,
    /// Only one line was named.
    #[error("only `{name}` was named: a comparison takes two lines or more")]
    One {
        /// Its name.
        name: String,
    },
    /// A line was named twice.
    #[error("`{name}` is named twice: a line is not compared with itself")]
    Itself {
        /// Its name.
        name: String,
    },
    /// No line has this name.
    #[error("no line is named `{name}`; names are {known}")]
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
                "line 3: `a` is also the name",
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
}
