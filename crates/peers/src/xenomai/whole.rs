// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers
//! What all lines together say: checked, counted, and made into a series.

use std::io::BufRead;

use punctual_model::Nanos;
use punctual_stats::{Bucket, float};

use super::{Found, Head, US};
use crate::error::ImportError;
use crate::format::Format;
use crate::imported::Imported;
use crate::lines::Lines;
use crate::series::{Buckets, Rounded, SourceSeries};

impl Found {
    pub(super) fn finish<R: BufRead>(
        mut self,
        lines: &Lines<R>,
        to: &mut Imported,
    ) -> Result<(), ImportError> {
        let plotted = !self.rows.is_empty() || !self.plot.is_empty();
        let (Some(min), Some(avg), Some(max)) = (self.min, self.avg, self.max) else {
            return Err(lines.ended("the summary, RTS"));
        };
        if !self.over && !(plotted && (to.format == Format::Latmus || !self.plot.is_empty())) {
            return Err(lines.ended("the summary, RTS, or the rows of a histogram"));
        }
        if min > avg || avg > max {
            return Err(ImportError::file(
                "the average is not between minimum and maximum",
            ));
        }
        to.duration = self.duration;
        to.resolution_ns = Some(1);
        let buckets = match min < 0 {
            true => {
                to.state("some wake-ups came early: the minimum is below 0 and left out, as is a histogram, which counts \
                          absolute values");
                None
            }
            false => self.buckets(to, min.unsigned_abs(), max.unsigned_abs())?,
        };
        let head = self.head.take().unwrap_or_default();
        let count = self.count(&head, buckets.as_ref(), to)?;
        if buckets.is_some() {
            to.resolution_ns = buckets
                .as_ref()
                .and_then(|of| of.entries.first())
                .map(|b| b.to_ns - b.from_ns + 1);
        }
        self.state(&head, to);
        if max < 0 {
            return Err(ImportError::file(
                "every wake-up came early: there is no latency",
            ));
        }
        let positive = |ns: i64| u64::try_from(ns).ok();
        to.series.push(SourceSeries {
            thread: 0,
            cpu: head.cpu,
            policy: head
                .priority
                .filter(|p| (1..=99).contains(p))
                .map(|p| format!("f:{p}")),
            interval: head.period,
            count,
            min_ns: positive(min),
            max_ns: positive(max),
            mean_ns: positive(avg).map(float),
            overruns: self.overruns,
            buckets,
            ..SourceSeries::default()
        });
        if to.format == Format::XenomaiLatency && avg >= 0 {
            to.state("the mean is that of the means of the seconds");
        }
        Ok(())
    }

    fn state(&self, head: &Head, to: &mut Imported) {
        if !head.context.is_empty() {
            to.state(format!("measured in: {}", head.context));
        }
        if let Some(measured) = &self.measured {
            to.state(format!("latmus names what it measured: {measured}"));
        }
        if !head.isolated {
            to.state("the CPU was not isolated");
        }
        if let Some(switches) = self.switches.filter(|count| *count > 0) {
            to.state(format!(
                "{switches} switches to Linux's own mode: latencies may be those of Linux"
            ));
        }
    }

    /// The number of samples: stated, counted, or what the run had time for.
    fn count(
        &self,
        head: &Head,
        buckets: Option<&Buckets>,
        to: &mut Imported,
    ) -> Result<u64, ImportError> {
        let counted = buckets.and_then(|of| of.counted()?.checked_add(of.beyond?));
        if let Some(count) = counted.or(self.count) {
            return match count {
                0 => Err(ImportError::file("it has no samples")),
                count => Ok(count),
            };
        }
        let lasted = self.duration.unwrap_or_default().get();
        let period = head.period.map_or(0, Nanos::get);
        match lasted.checked_div(period).filter(|count| *count > 0) {
            Some(count) => {
                to.state(format!(
                    "the file does not state how many samples there are: {count} is the duration over the period"
                ));
                Ok(count)
            }
            None => Err(ImportError::file(
                "neither the number of samples nor the period and the duration are in the file",
            )
            .hinted("import the output from its first line on, or the file that -g wrote")),
        }
    }

    fn buckets(
        &self,
        to: &mut Imported,
        min: u64,
        max: u64,
    ) -> Result<Option<Buckets>, ImportError> {
        let (cells, width) = if !self.plot.is_empty() {
            let (cells, width) = plot_cells(&self.plot)?;
            (cells, width)
        } else if !self.rows.is_empty() {
            (self.cells(to)?, US)
        } else {
            return Ok(None);
        };
        let all = cells.iter().filter(|(_, count)| *count > 0);
        let mut entries: Vec<Bucket> = all
            .map(|(cell, count)| Bucket {
                from_ns: cell * width,
                to_ns: cell * width + (width - 1),
                count: *count,
            })
            .collect();
        let wrong = || {
            ImportError::file("the extremes do not agree with the histogram")
                .hinted("cells must be 1 µs wide, as they are without -B, and the rows complete")
        };
        let last = entries.last().ok_or_else(wrong)?;
        let mut beyond = 0;
        // The last cell has what is longer, too.
        if max > last.to_ns && (self.open || to.format == Format::XenomaiLatency) {
            let full = to.format == Format::Latmus || self.is_full(cells.last());
            if !full {
                return Err(wrong());
            }
            beyond = last.count;
            entries.pop();
        }
        let first = entries.first().map_or(min, |first| first.from_ns);
        let within = entries.last().is_none_or(|last| max >= last.from_ns);
        let closed = beyond > 0 || entries.last().is_some_and(|last| max <= last.to_ns);
        if !(first..first + width).contains(&min) || !within || !closed {
            return Err(wrong());
        }
        Ok(Some(Buckets {
            entries,
            beyond: Some(beyond),
            rounded: Rounded::Wide,
        }))
    }

    /// Whether a histogram of `latency` ends where its size lets it: only then are longer ones in its last cell. Sizes are
    /// round.
    fn is_full(&self, last: Option<&(u64, u64)>) -> bool {
        last.is_some_and(|(cell, _)| (cell + 1).is_multiple_of(10))
    }

    /// The rows as they were counted.
    fn cells(&self, to: &mut Imported) -> Result<Vec<(u64, u64)>, ImportError> {
        let sum = |of: &[(u64, u64)]| {
            of.iter()
                .try_fold(0_u64, |sum, (_, count)| sum.checked_add(*count))
                .ok_or_else(|| ImportError::file("it has more than 2^64 - 1 samples"))
        };
        let less = || -> Vec<(u64, u64)> {
            let rows = self.rows.iter();
            rows.map(|(cell, count)| (*cell, count.saturating_sub(1)))
                .collect()
        };
        let all = sum(&self.rows)?;
        let rows = self.rows.len() as u64;
        match self.count {
            Some(count) if count == all => Ok(self.rows.clone()),
            Some(count) if to.format == Format::Latmus && all.checked_sub(rows) == Some(count) => {
                to.state("each row of the histogram had one sample too many, which was taken off");
                Ok(less())
            }
            Some(count) => Err(ImportError::file(format!(
                "the rows have {all} samples, the file states {count}"
            ))),
            None => {
                let ends = [self.rows.first(), self.rows.last()];
                let none_added = ends.iter().flatten().any(|(_, count)| *count < 2)
                    || self.rows.iter().any(|(_, count)| *count == 0);
                if to.format == Format::Latmus && !none_added {
                    to.state("the first versions of latmus add 1 to each row; whether this one did cannot be told");
                }
                Ok(self.rows.clone())
            }
        }
    }
}

/// The cells of a plot of `latency`, numbered, and their width: each row but the first and the last is the middle of one.
fn plot_cells(plot: &[(u64, u64)]) -> Result<(Vec<(u64, u64)>, u64), ImportError> {
    let wrong = || ImportError::file("the rows are not those of `latency -g`");
    let [first, middle @ .., last] = plot else {
        return Err(wrong());
    };
    let half = middle
        .first()
        .and_then(|(at, _)| at.checked_sub(first.0))
        .filter(|half| (1..1 << 40).contains(half))
        .ok_or_else(wrong)?;
    // Six digits are printed: the middles of cells of odd widths are rounded.
    let width = last
        .0
        .checked_sub(first.0)
        .map(|span| span / middle.len() as u64)
        .filter(|width| width.abs_diff(2 * half) <= 1 && *width > 0)
        .ok_or_else(wrong)?;
    let cell = |at: u64| first.0 / width + at;
    let good = |(at, (place, count)): (u64, &(u64, u64))| {
        let expected = cell(at) * width + width / 2;
        place.abs_diff(expected) <= 1 + expected / 100_000 && *count > 0
    };
    let ends = first.1 == 1 && last.1 == 1 && first.0.is_multiple_of(width);
    if !ends || !(0..).zip(middle).all(good) {
        return Err(wrong());
    }
    let cells = (0..)
        .zip(middle)
        .map(|(at, (_, count))| (cell(at), count - 1));
    Ok((cells.collect(), width))
}
