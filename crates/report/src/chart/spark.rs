// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Charts as a few characters: a sparkline of values over time, a histogram of bars.

use punctual_stats::{Bucket, LatencyHistogram};

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Writes values as one character each, by their logarithms, and the lowest and highest that it stands for. `None`
/// without two values above 0. What is missing is a space.
pub fn line(values: &[Option<f64>]) -> Option<String> {
    let present = || values.iter().flatten().copied().filter(|v| *v > 0.0);
    if present().count() < 2 {
        return None;
    }
    let low = present().fold(f64::INFINITY, f64::min).ln();
    let high = present().fold(f64::NEG_INFINITY, |a, b| a.max(b)).ln();
    let write = |value: &Option<f64>| {
        let Some(value) = value.filter(|v| *v > 0.0) else {
            return ' ';
        };
        let share = if high > low {
            (value.ln() - low) / (high - low)
        } else {
            0.0
        };
        *LEVELS.get(level(share * 7.0)).unwrap_or(&'█')
    };
    Some(values.iter().map(write).collect())
}

/// Writes levels into cells of equal width between `ends`: the largest that reaches into each, `None` where none does. A level
/// goes from its place to that of the next; one without a value ends the one before.
pub fn cells(levels: &[(f64, f64)], ends: (f64, f64), cells: usize) -> Vec<Option<f64>> {
    let mut all = vec![None; cells];
    let cell = (ends.1 - ends.0) / cells as f64;
    for (number, (from, value)) in levels.iter().enumerate() {
        let until = levels.get(number + 1).map_or(*from, |next| next.0);
        // Stretches are whole nanoseconds: what reaches into a cell by that much does not.
        let first = level(((from - ends.0) / cell + 1e-3).floor()).min(cells.saturating_sub(1));
        let after = level(((until - ends.0) / cell - 1e-3).ceil()).clamp(first + 1, cells.max(1));
        let covered = all.get_mut(first..after).unwrap_or_default();
        for largest in covered.iter_mut().filter(|_| value.is_finite()) {
            *largest = largest.map(|own: f64| own.max(*value)).or(Some(*value));
        }
    }
    all
}

/// A row of a histogram: the samples from `from_ns` on, below those of the next row.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The lowest value that belongs to it, in ns.
    pub from_ns: u64,
    /// Samples.
    pub count: u64,
    /// Its bar: as long as the logarithm of the count, so that one sample among millions is seen.
    pub bar: String,
}

/// Draws a histogram as a report has it: 14 rows, about.
pub fn rows(histogram: &LatencyHistogram) -> Vec<Row> {
    let buckets: Vec<Bucket> = histogram.buckets().collect();
    self::histogram(&buckets, 14, 40)
}

/// Draws a histogram of at most some `rows` rows and bars of `width` characters. A bucket that reaches into a row is part
/// of it: values are often whole microseconds, which are where rows begin.
fn histogram(buckets: &[Bucket], rows: usize, width: usize) -> Vec<Row> {
    let (Some(first), Some(last)) = (buckets.first(), buckets.last()) else {
        return Vec::new();
    };
    // Samples of 0 ns have a row, but it does not make the rows of all others wider.
    let zeros = (first.from_ns == 0 && buckets.len() > 1).then_some(first);
    let first = buckets.iter().find(|b| b.from_ns > 0).unwrap_or(first);
    // Steps of 1, 2, 5, or of powers of ten where these are too many.
    let low = first.from_ns.max(1) as f64;
    let decades = (last.to_ns as f64 / low).log10();
    let per_decade: &[u64] = match rows as f64 / decades.max(0.1) {
        room if room >= 8.0 => &[10, 13, 16, 20, 25, 32, 40, 50, 63, 80],
        room if room >= 3.5 => &[10, 20, 50],
        _ => &[10],
    };
    let mut edges: Vec<u64> = vec![0];
    let mut power = 1_u64;
    while let Some(next) = power.checked_mul(10) {
        // 1.3 ns is no border of whole numbers, and 13 ns is one of 10.
        edges.extend(per_decade.iter().map(|n| n * power / 10).filter(|n| *n > 0));
        power = next;
        if power > last.to_ns {
            break;
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let mut rows: Vec<(u64, u64)> = edges.iter().map(|from| (*from, 0)).collect();
    for bucket in buckets {
        let above = edges.partition_point(|from| *from <= bucket.to_ns);
        if let Some(row) = above.checked_sub(1).and_then(|n| rows.get_mut(n)) {
            row.1 += bucket.count;
        }
    }
    let has_others = |r: &(u64, u64)| r.1 > 0 && (zeros.is_none() || r.0 > 0);
    let begin = rows.iter().position(has_others).unwrap_or(0);
    let begin = match (zeros, begin.checked_sub(1).and_then(|n| rows.get_mut(n))) {
        (Some(zeros), Some(before)) => {
            *before = (0, zeros.count);
            begin - 1
        }
        _ => begin,
    };
    let end = rows.iter().rposition(|r| r.1 > 0).unwrap_or(0);
    let most = rows.iter().map(|r| r.1).max().unwrap_or(1).max(2) as f64;
    let drawn = rows.get(begin..=end).unwrap_or_default();
    drawn
        .iter()
        .map(|(from_ns, count)| Row {
            from_ns: *from_ns,
            count: *count,
            bar: bar(*count, most, width),
        })
        .collect()
}

/// A bar whose length is the logarithm of the count; one sample is an eighth at least.
fn bar(count: u64, most: f64, width: usize) -> String {
    if count == 0 {
        return String::new();
    }
    let share = (count as f64).ln_1p() / most.ln_1p();
    let eighths = level(share * width as f64 * 8.0).max(1);
    let mut bar: String = "█".repeat(eighths / 8);
    if !eighths.is_multiple_of(8) {
        bar.extend(EIGHTHS.get(eighths % 8));
    }
    bar
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small number that is not below 0"
)]
fn level(value: f64) -> usize {
    value.max(0.0).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_lowest_to_highest_and_leaves_gaps() {
        let values = [Some(1.0), None, Some(10.0), Some(100.0)];
        assert_eq!(line(&values).unwrap(), "▁ ▅█");
        assert_eq!(line(&[Some(1.0), None]), None);
        assert_eq!(line(&[Some(3.0), Some(3.0)]).unwrap(), "▁▁");
    }

    #[test]
    fn a_cell_is_a_part_of_the_time_and_has_the_largest_level_in_it() {
        let end = f64::NAN;
        let levels = [
            (0.0, 1.0),
            (0.5, 9.0),
            (1.5, end),
            (3.0, 2.0),
            (3.999_999, end),
        ];
        let (nine, two) = (Some(9.0), Some(2.0));
        assert_eq!(cells(&levels, (0.0, 4.0), 4), [nine, nine, None, two]);
        // Another line of the same time lies in the same cells, however long its levels are.
        assert_eq!(cells(&levels[3..], (0.0, 4.0), 4), [None, None, None, two]);
        // What began a nanosecond early or ended late is no part of the neighbour.
        let levels = [(0.999_999_999, 5.0), (2.000_000_001, end)];
        assert_eq!(cells(&levels, (0.0, 3.0), 3), [None, Some(5.0), None]);
        // A level without a length is seen.
        assert_eq!(cells(&[(3.0, 2.0)], (0.0, 3.0), 3), [None, None, two]);
        assert_eq!(cells(&[(1.0, 2.0)], (1.0, 1.0), 2), [two, None]);
        assert!(cells(&levels, (0.0, 3.0), 0).is_empty());
    }

    #[test]
    fn rows_hold_every_sample_and_one_is_seen() {
        let bucket = |from_ns, to_ns, count| Bucket {
            from_ns,
            to_ns,
            count,
        };
        let bins = [
            bucket(900, 920, 1_000_000),
            bucket(2_100, 2_200, 40),
            bucket(9_000_000, 9_100_000, 1),
        ];
        for rows in [3, 12, 40] {
            let drawn = histogram(&bins, rows, 30);
            assert_eq!(drawn.iter().map(|r| r.count).sum::<u64>(), 1_000_041);
            assert!(drawn.iter().all(|r| r.bar.chars().count() <= 30));
            assert!(!drawn.last().unwrap().bar.is_empty());
            assert!(drawn.iter().any(|r| r.count == 0 && r.bar.is_empty()));
        }
        assert!(histogram(&[], 10, 10).is_empty());
    }

    #[test]
    fn samples_of_0_ns_have_a_row_and_leave_the_others_as_they_are() {
        let bucket = |from_ns, to_ns, count| Bucket {
            from_ns,
            to_ns,
            count,
        };
        let others = [bucket(900, 920, 100), bucket(2_100, 2_200, 40)];
        let alone = histogram(&others, 16, 30);
        let with = histogram(&[bucket(0, 0, 1), others[0], others[1]], 16, 30);
        assert_eq!((with[0].from_ns, with[0].count), (0, 1));
        assert_eq!(with[1..], alone);
    }

    #[test]
    fn a_row_has_what_is_in_it_and_no_more() {
        let mut all = LatencyHistogram::default();
        // Whole microseconds, as cyclictest keeps them, where a row from 1.6 ms begins and just before.
        for (us, times) in [(1_599, 3), (1_600, 5), (1_605, 100), (1_999, 7), (2_000, 1)] {
            (0..times).for_each(|_| all.record(us * 1_000));
        }
        let rows: Vec<_> = super::rows(&all)
            .iter()
            .map(|r| (r.from_ns, r.count))
            .collect();
        assert_eq!(rows, [(1_300_000, 3), (1_600_000, 112), (2_000_000, 1)]);
    }
}
