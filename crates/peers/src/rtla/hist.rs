// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `rtla timerlat hist` and `rtla osnoise hist`.
//!
//! The width of the buckets is not stated: it divides the distance of all rows, and empty rows are
//! left out. So the greatest common divisor of the rows is taken, which is the width or more. Where it
//! is more than a unit, a mean is the one that `avg:` states, or else of the mid-points of the rows. The
//! `avg:` of osnoise is of the lower ends of its rows, or less: there the mid-points come first.

use std::collections::BTreeSet;
use std::io::BufRead;

use punctual_stats::{Bucket, float};

use super::all::All;
use super::{cpu, drain, duration, is_action, is_hit};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::{Lines, nanos, number, numbers, plain, second_run};
use crate::series::{Buckets, MOST_BUCKETS, MOST_THREADS, Rounded, SourceSeries};

/// The CPU of a column, and its kind of latency if there are several.
pub(super) type Column = (u32, Option<&'static str>);

/// The rows below the buckets.
#[derive(Debug, Default)]
pub(super) struct Below {
    pub(super) over: Option<Vec<u64>>,
    pub(super) count: Option<Vec<u64>>,
    pub(super) min: Option<Vec<Option<u64>>>,
    pub(super) avg: Option<Vec<Option<u64>>>,
    pub(super) max: Option<Vec<Option<u64>>>,
}

pub(crate) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Imported, ImportError> {
    let mut imported = Imported::new(Format::RtlaHist, "");
    let mut unit_ns = None;
    let mut columns: Vec<Column> = Vec::new();
    // Rows and counts above 0 of each column.
    let mut cells: Vec<Vec<(u64, u64)>> = Vec::new();
    let mut below = Below::default();
    let mut last = None;
    let mut divisor = 0;
    let mut cells_kept = 0;
    while let Some(line) = lines.next()? {
        let line = plain(line).0.trim().to_owned();
        let at = lines.number();
        if let Some(rest) = line.strip_prefix("# ") {
            if let Some(tool) = rest.strip_prefix("RTLA ") {
                if !imported.instrument.is_empty() {
                    return Err(second_run(at));
                }
                imported.instrument = match tool {
                    "timerlat histogram" => "timerlat",
                    "osnoise histogram" => "osnoise",
                    _ => return Err(lines.error("this is not a histogram of timerlat or osnoise")),
                };
            } else if rest.starts_with("Time unit is") {
                unit_ns = match rest {
                    _ if rest.ends_with("(us)") => Some(1_000),
                    _ if rest.ends_with("(ns)") => Some(1),
                    _ => return Err(lines.error("the unit is neither us nor ns")),
                };
            } else if let Some(time) = rest.strip_prefix("Duration:") {
                imported.duration = duration(time);
            }
            continue;
        }
        // A prompt, or whatever a terminal had before.
        if imported.instrument.is_empty() {
            continue;
        }
        let (name, row) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
        let below_max = below.max.is_some();
        match name {
            "" => {}
            // What comes after the figures is the analysis of a hit, or the sum of all CPUs.
            _ if below_max => {
                if is_action(&line) {
                    continue;
                }
                if name == "ALL:" || is_hit(&line) || line.starts_with("rtla ") {
                    let mut hit = is_hit(&line);
                    if name == "ALL:" && imported.instrument == "timerlat" {
                        let (all, found) = All::read(lines, row)?;
                        all.check(&columns, &below)?;
                        hit = found;
                    }
                    if hit | drain(lines)? {
                        imported.ended = Some(punctual_model::Ended::Threshold);
                    }
                    break;
                }
                return Err(lines.error("this line follows the end of a histogram"));
            }
            "Index" => {
                if !columns.is_empty() {
                    return Err(lines.error("a second heading"));
                }
                if row.trim().is_empty() {
                    return Err(without_samples(at, imported.instrument));
                }
                columns = heading(at, row)?;
                cells = vec![Vec::new(); columns.len()];
            }
            _ if columns.is_empty() => return Err(lines.error("no heading above this")),
            // Zeros, one for all columns: what newer versions write where no bucket has a sample, whatever is above them.
            "over:" if imported.instrument == "osnoise" && last.is_none() && row.trim() == "0" => {
                return Err(without_samples(at, imported.instrument));
            }
            "over:" => below.over = Some(counts(at, row, columns.len())?),
            "count:" => below.count = Some(counts(at, row, columns.len())?),
            "min:" => below.min = Some(figures(at, row, columns.len())?),
            "avg:" => below.avg = Some(figures(at, &without_decimals(row), columns.len())?),
            "max:" => below.max = Some(figures(at, row, columns.len())?),
            _ => {
                let index = number(at, "the value of the row", name)?;
                if below.over.is_some() || below.count.is_some() {
                    return Err(lines.error("a row comes after the totals"));
                }
                if last.is_some_and(|last| index <= last) {
                    return Err(lines.error("the rows do not ascend"));
                }
                last = Some(index);
                divisor = gcd(divisor, index);
                for (column, count) in cells.iter_mut().zip(counts(at, row, columns.len())?) {
                    if count > 0 {
                        column.push((index, count));
                        cells_kept += 1;
                    }
                }
                if cells_kept > MOST_BUCKETS {
                    return Err(lines.error("more rows than a histogram can have"));
                }
            }
        }
    }
    let end = lines.number();
    let Below {
        over: Some(over),
        count: Some(count),
        min: Some(min),
        avg,
        max: Some(max),
    } = below
    else {
        return Err(lines.ended("its totals `over:`, `count:`, `min:` and `max:`"));
    };
    let unit_ns =
        unit_ns.ok_or_else(|| ImportError::at_line(end, "`# Time unit is` is missing"))?;
    if imported.instrument.is_empty() {
        return Err(ImportError::at_line(
            end,
            "`# RTLA ... histogram` is missing",
        ));
    }
    // osnoise states its extremes in whole buckets too.
    let width = Some(divisor).filter(|width| *width > 0);
    let extreme = match (imported.instrument, width) {
        ("timerlat", _) => Some(1),
        (_, width) => width,
    };
    let mut mean_error = None;
    for (at, ((cpu, context), cells)) in columns.iter().zip(cells).enumerate() {
        let value = |values: &[Option<u64>]| values.get(at).copied().flatten();
        let total = |values: &[u64]| values.get(at).copied().unwrap_or_default();
        let wrong = |what: &str| ImportError::at_line(end, format!("column {}: {what}", at + 1));
        let mut entries = Vec::with_capacity(cells.len());
        for (index, count) in cells {
            let from_ns = nanos(end, index, unit_ns)?;
            let width_ns = nanos(end, width.unwrap_or(1), unit_ns)?;
            entries.push(Bucket {
                from_ns,
                to_ns: from_ns + width_ns - 1,
                count,
            });
        }
        let buckets = Buckets {
            entries,
            beyond: Some(total(&over)),
            rounded: match width {
                Some(1) => Rounded::Down,
                _ => Rounded::Wide,
            },
        };
        let sum = buckets.counted().and_then(|n| n.checked_add(total(&over)));
        if sum != Some(total(&count)) {
            return Err(wrong("`count:` is not the sum of the rows and `over:`"));
        }
        let some = total(&count) > 0;
        let (least, most) = (value(&min).filter(|_| some), value(&max).filter(|_| some));
        let apart = match imported.instrument {
            "timerlat" => width.unwrap_or(u64::MAX),
            _ => 1,
        };
        check_extremes(&buckets, least, most, unit_ns, apart)
            .map_err(|()| wrong("its extremes do not agree with the rows"))?;
        let ns = |value: u64| nanos(end, value, unit_ns);
        let stated = avg
            .as_deref()
            .and_then(value)
            .filter(|_| some)
            .map(ns)
            .transpose()?;
        let timerlat = imported.instrument == "timerlat";
        let mean = stated.filter(|_| timerlat || buckets.mean().is_none());
        let error = match timerlat && mean.is_some() {
            true => Some(2 * unit_ns),
            // That of osnoise is one of lower ends.
            false => width.map(|width| width.saturating_add(1).saturating_mul(unit_ns)),
        };
        mean_error = mean_error.max(error);
        imported.series.push(SourceSeries {
            thread: u32::try_from(at).unwrap_or(u32::MAX),
            cpu: Some(*cpu),
            context: *context,
            count: total(&count),
            min_ns: least.map(ns).transpose()?,
            max_ns: match (most, extreme) {
                (Some(most), Some(extreme)) => Some(
                    ns(most)?
                        .checked_add(ns(extreme)? - 1)
                        .ok_or_else(|| wrong("its maximum is too large"))?,
                ),
                _ => None,
            },
            mean_ns: mean.map(float),
            // A width that is not known leaves no upper end.
            buckets: width.map(|_| buckets),
            ..SourceSeries::default()
        });
    }
    let resolution = width.map(|width| nanos(end, width, unit_ns)).transpose()?;
    imported.resolution_ns = resolution;
    imported.mean_error_ns = mean_error.map(float);
    imported.state(match width {
        Some(width) => format!("buckets of {width} units or less: the width is not stated"),
        None => "only one bucket, of a width that is not stated".to_owned(),
    });
    Ok(imported)
}

/// Compares the extremes with the first and the last row; each is less than `apart` above its row.
fn check_extremes(
    buckets: &Buckets,
    least: Option<u64>,
    most: Option<u64>,
    unit_ns: u64,
    apart: u64,
) -> Result<(), ()> {
    let fits = |bucket: &Bucket, value: Option<u64>| {
        value.is_none_or(|value| {
            let index = bucket.from_ns / unit_ns;
            value >= index && value - index < apart
        })
    };
    let low = buckets.entries.first().is_none_or(|b| fits(b, least));
    let high = buckets
        .entries
        .last()
        .is_none_or(|b| match buckets.complete() {
            true => fits(b, most),
            false => most.is_none_or(|most| most >= b.from_ns / unit_ns),
        });
    match low && high {
        true => Ok(()),
        false => Err(()),
    }
}

/// Cuts the two decimals with which newer versions of osnoise state means. They are less than a bucket.
fn without_decimals(cells: &str) -> String {
    let cut = |cell: &str| match cell.split_once('.') {
        Some((whole, part)) if part.len() == 2 && cpu(part).is_some() => format!("{whole} "),
        _ => format!("{cell} "),
    };
    cells.split_ascii_whitespace().map(cut).collect()
}

fn without_samples(at: u64, instrument: &str) -> ImportError {
    let err = ImportError::at_line(at, "it has no samples in its buckets");
    match instrument {
        "osnoise" => {
            err.hinted("measure longer, with a lower threshold (-T) or with more buckets (-E)")
        }
        _ => err,
    }
}

/// The kind of latency that a column is of.
pub(super) fn context(name: &str) -> Option<&'static str> {
    match name {
        "IRQ" => Some("irq"),
        "Thr" => Some("thread"),
        "Usr" => Some("user"),
        _ => None,
    }
}

fn heading(at: u64, cells: &str) -> Result<Vec<Column>, ImportError> {
    let column = |name: &str| {
        let (kind, number) = name.split_once('-')?;
        match (kind, context(kind)) {
            ("CPU", _) => Some((cpu(number)?, None)),
            (_, Some(context)) => Some((cpu(number)?, Some(context))),
            _ => None,
        }
    };
    let names = || cells.split_ascii_whitespace();
    let columns: Option<Vec<_>> = names().map(column).collect();
    let columns = columns
        .filter(|columns| columns.len() <= MOST_THREADS)
        .ok_or_else(|| {
            ImportError::at_line(at, "a column is not IRQ, Thr, Usr or CPU and a number")
        })?;
    let mut seen = BTreeSet::new();
    match names()
        .zip(&columns)
        .find(|(_, column)| !seen.insert(*column))
    {
        Some((name, _)) => {
            let reason = format!("the column {name} comes twice");
            Err(ImportError::at_line(at, reason))
        }
        None => Ok(columns),
    }
}

fn counts(at: u64, cells: &str, columns: usize) -> Result<Vec<u64>, ImportError> {
    let values = numbers(at, "a count", cells)?;
    expect(at, values, columns)
}

/// Reads figures, where `-` is none.
pub(super) fn figures(
    at: u64,
    cells: &str,
    columns: usize,
) -> Result<Vec<Option<u64>>, ImportError> {
    let value = |cell: &str| match cell {
        "-" => Ok(None),
        cell => number(at, "a figure", cell).map(Some),
    };
    let values: Vec<_> = cells
        .split_ascii_whitespace()
        .map(value)
        .collect::<Result<_, _>>()?;
    expect(at, values, columns)
}

fn expect<T>(at: u64, values: Vec<T>, columns: usize) -> Result<Vec<T>, ImportError> {
    if values.len() == columns {
        return Ok(values);
    }
    let n = values.len();
    let reason = format!("{n} columns, but the heading has {columns}");
    Err(ImportError::at_line(at, reason))
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}
