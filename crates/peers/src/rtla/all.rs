// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `rtla timerlat hist` says of all CPUs together, below its columns. It has to be what these say; no figure is taken from it.

use std::io::BufRead;

use super::hist::{Below, Column, context, figures};
use super::{is_action, is_hit};
use crate::error::ImportError;
use crate::format::begins_one;
use crate::lines::{Lines, plain, second_run};

/// A column for each kind of latency.
#[derive(Debug)]
pub(super) struct All {
    line: u64,
    contexts: Vec<&'static str>,
    count: Vec<Option<u64>>,
    min: Vec<Option<u64>>,
    avg: Vec<Option<u64>>,
    max: Vec<Option<u64>>,
}

impl All {
    /// Reads it behind `ALL:`, and whether a line says on the way that the threshold ended the run.
    pub(super) fn read<R: BufRead>(
        lines: &mut Lines<R>,
        heading: &str,
    ) -> Result<(Self, bool), ImportError> {
        let contexts: Option<Vec<_>> = heading.split_ascii_whitespace().map(context).collect();
        let contexts = contexts
            .filter(|contexts| !contexts.is_empty())
            .ok_or_else(|| lines.error("a column is not IRQ, Thr or Usr"))?;
        let mut rows = [const { None }; 4];
        let mut hit = false;
        while rows.iter().any(Option::is_none) {
            let Some(line) = lines.next()? else {
                return Err(lines.ended("`max:` of all CPUs"));
            };
            let line = plain(line).0.trim().to_owned();
            let at = lines.number();
            let (name, row) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
            let names = ["count:", "min:", "avg:", "max:"];
            let place = names.iter().position(|of| *of == name);
            match place.and_then(|place| rows.get_mut(place)) {
                Some(into) if into.is_none() => *into = Some(figures(at, row, contexts.len())?),
                _ if line.is_empty() || is_action(&line) => {}
                _ if is_hit(&line) => hit = true,
                _ if begins_one(&line) => return Err(second_run(at)),
                _ => return Err(lines.error("this is not a row of all CPUs")),
            }
        }
        let [count, min, avg, max] = rows.map(Option::unwrap_or_default);
        let all = Self {
            line: lines.number(),
            contexts,
            count,
            min,
            avg,
            max,
        };
        Ok((all, hit))
    }

    /// Compares it with the columns.
    pub(super) fn check(&self, columns: &[Column], below: &Below) -> Result<(), ImportError> {
        for (at, context) in self.contexts.iter().enumerate() {
            let value = |row: &[Option<u64>]| row.get(at).copied().flatten();
            let wrong = |what: &str| {
                let reason = format!("the {what} of all CPUs is not that of the columns");
                Err(ImportError::at_line(self.line, reason))
            };
            let mut sum = Sum::default();
            let of = columns.iter().enumerate();
            for (column, _) in of.filter(|(_, (_, kind))| *kind == Some(*context)) {
                sum.add(below, column);
            }
            if value(&self.count) != Some(sum.count) {
                return wrong("count");
            }
            // Of no samples the first versions print what their sums began with.
            if sum.count == 0 {
                continue;
            }
            let is_other = |said: Option<u64>, sum: Option<u64>| {
                said.zip(sum).is_some_and(|(said, sum)| said != sum)
            };
            if is_other(value(&self.min), sum.min) {
                return wrong("minimum");
            }
            if is_other(value(&self.max), sum.max) {
                return wrong("maximum");
            }
            // Those of the columns are cut, by less than 1 each.
            let low = u64::try_from(sum.total / u128::from(sum.count)).unwrap_or(u64::MAX);
            let near = |said: u64| (low..=low.saturating_add(1)).contains(&said);
            if sum.means && value(&self.avg).is_some_and(|said| !near(said)) {
                return wrong("average");
            }
        }
        Ok(())
    }
}

/// What the columns of one kind have together.
#[derive(Debug)]
struct Sum {
    count: u64,
    min: Option<u64>,
    max: Option<u64>,
    total: u128,
    /// Whether each of them states its mean.
    means: bool,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            count: 0,
            min: None,
            max: None,
            total: 0,
            means: true,
        }
    }
}

impl Sum {
    fn add(&mut self, below: &Below, column: usize) {
        let figure = |row: &Option<Vec<Option<u64>>>| row.as_ref()?.get(column).copied().flatten();
        let count = below.count.as_ref().and_then(|of| of.get(column).copied());
        let Some(count) = count.filter(|count| *count > 0) else {
            return;
        };
        self.count = self.count.saturating_add(count);
        self.min = self.min.into_iter().chain(figure(&below.min)).min();
        self.max = self.max.max(figure(&below.max));
        match figure(&below.avg) {
            Some(mean) => {
                let total = u128::from(mean) * u128::from(count);
                self.total = self.total.saturating_add(total);
            }
            None => self.means = false,
        }
    }
}
