// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The table of the threads, in as many columns as there is room for.

use punctual_model::{Ordered as _, SeriesProgress};
use punctual_verdict::number::policy;

use super::parts::micros;

/// A column: its heading, its width at least, how soon it is left out (the highest first), its text.
struct Column {
    heading: &'static str,
    width: usize,
    dispensable: u8,
    text: fn(&SeriesProgress) -> String,
}

const COLUMNS: [Column; 12] = [
    column("T", 3, 0, |s| s.thread.to_string()),
    column("CPU", 4, 5, |s| counted(s.cpu.map(u64::from))),
    column("PRIO", 6, 8, |s| policy(&s.policy)),
    column("INTERVAL", 12, 9, |s| s.interval_ns.to_string()),
    column("COUNT", 11, 1, |s| s.count.to_string()),
    column("MIN", 8, 6, |s| int(s.min_ns)),
    column("LAST", 8, 7, |s| int(s.last_ns)),
    column("MEAN", 8, 4, |s| micros(s.mean_ns)),
    column("P99", 8, 3, |s| int(s.p99_ns)),
    column("MAX", 9, 0, |s| int(s.max_ns)),
    column("OVERRUNS", 9, 2, |s| counted(s.overruns)),
    column("LOST", 5, 0, |s| counted(s.lost)),
];

const fn column(
    heading: &'static str,
    width: usize,
    dispensable: u8,
    text: fn(&SeriesProgress) -> String,
) -> Column {
    Column {
        heading,
        width,
        dispensable,
        text,
    }
}

#[expect(clippy::cast_precision_loss, reason = "display only")]
fn int(ns: Option<u64>) -> String {
    micros(ns.map(|ns| ns as f64))
}

fn counted(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), |number| number.to_string())
}

/// The columns for a width, and how wide each is.
pub(super) struct Table(Vec<(&'static Column, usize)>);

impl Table {
    /// Chooses the columns that fit into `width`, each as wide as the widest of `rows` in it.
    pub(super) fn of(rows: &[&SeriesProgress], width: usize) -> Self {
        let widest = |column: &'static Column| {
            let texts = rows.iter().map(|s| (column.text)(s).chars().count());
            (column, texts.fold(column.width, usize::max))
        };
        let mut columns: Vec<_> = COLUMNS.iter().map(widest).collect();
        while columns.iter().map(|(_, width)| width + 1).sum::<usize>() > width + 1 {
            let most = columns.iter().map(|(c, _)| c.dispensable).max();
            let most = most.unwrap_or(0);
            if most == 0 {
                break;
            }
            columns.retain(|(c, _)| c.dispensable != most);
        }
        Self(columns)
    }

    /// Returns the heading.
    pub(super) fn heading(&self) -> String {
        self.line(|column| column.heading.to_owned())
    }

    /// Returns the row of a thread.
    pub(super) fn row(&self, series: &SeriesProgress) -> String {
        self.line(|column| (column.text)(series))
    }

    fn line(&self, text: impl Fn(&Column) -> String) -> String {
        let cells = self.0.iter();
        let cells = cells.map(|(column, width)| format!("{:>width$}", text(column)));
        cells.collect::<Vec<_>>().join(" ")
    }
}

/// Returns the rows to show of `series` where there is room for `room`, and how many are left out:
/// where not all fit, those with the largest maxima are shown, at least one.
pub(super) fn worst(series: &[SeriesProgress], room: usize) -> (Vec<&SeriesProgress>, usize) {
    let mut rows: Vec<&SeriesProgress> = series.iter().collect();
    let hidden = rows.len().saturating_sub(room);
    if hidden > 0 {
        // One line says how many are left out.
        rows.order_by_key(|s| std::cmp::Reverse(s.max_ns));
        rows.truncate(room.saturating_sub(1).max(1));
        rows.order_by_key(|s| s.thread);
    }
    let hidden = series.len() - rows.len();
    (rows, hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_that_matter_stay_in_a_narrow_window() {
        let wide = Table::of(&[], 110).heading();
        assert_eq!(wide.split_whitespace().count(), COLUMNS.len());
        let eighty = Table::of(&[], 80).heading();
        assert!(eighty.chars().count() <= 80, "{eighty}");
        for column in ["CPU", "COUNT", "P99", "MAX", "OVERRUNS", "LOST"] {
            assert!(eighty.contains(column), "{eighty}");
        }
        let narrow = Table::of(&[], 20).heading();
        assert!(
            narrow.contains("MAX") && narrow.contains("LOST"),
            "{narrow}"
        );
    }

    #[test]
    fn a_long_policy_or_number_stays_below_its_heading() {
        let series = SeriesProgress {
            policy: "d:500000ns:1000000ns".to_owned(),
            count: 1_234_567_890_123,
            lost: Some(0),
            ..SeriesProgress::default()
        };
        for width in [20, 80, 90, 97, 103, 110, 130] {
            let table = Table::of(&[&series], width);
            let (heading, row) = (table.heading(), table.row(&series));
            let ends = |line: &str, at: usize| {
                let is_blank = |at: usize| line.as_bytes().get(at).is_none_or(|c| *c == b' ');
                !is_blank(at) && is_blank(at + 1)
            };
            for at in (0..heading.len()).filter(|at| ends(&heading, *at)) {
                assert!(ends(&row, at), "{heading}\n{row}");
            }
            assert!(row.ends_with(" 0"), "{row}");
            assert!(width < 80 || row.len() <= width, "{width}: {row}");
        }
        let table = Table::of(&[&series], 130);
        assert!(table.row(&series).contains(" d:500us:1ms "));
    }

    #[test]
    fn where_not_all_threads_fit_the_worst_are_shown() {
        let series: Vec<SeriesProgress> = (0..100)
            .map(|thread| SeriesProgress {
                thread,
                max_ns: Some(u64::from(thread)),
                ..SeriesProgress::default()
            })
            .collect();
        let (rows, hidden) = worst(&series, 5);
        let threads: Vec<u32> = rows.iter().map(|s| s.thread).collect();
        assert_eq!((threads, hidden), (vec![96, 97, 98, 99], 96));
    }
}
