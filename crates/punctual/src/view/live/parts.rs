// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Text and bars that the screen is made of.

use punctual_model::{LatencyStep, Nanos};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::state::Maximum;

/// Bars of one to eight eighths of a row.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Formats a span as `1:02:03` or `02:03`.
pub(crate) fn clock(span: Nanos) -> String {
    let seconds = span.get() / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

/// Formats nanoseconds as microseconds, without the unit.
pub(super) fn micros(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3))
}

/// Formats a latency for an axis: short, with its unit.
#[expect(clippy::cast_precision_loss, reason = "display only")]
pub(super) fn short(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000 => (ns as f64, "ns"),
        1_000..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    match value {
        ..10.0 if unit != "ns" => format!("{value:.1} {unit}"),
        _ => format!("{value:.0} {unit}"),
    }
}

/// Formats a rate or an amount of work in three digits and a prefix.
pub(super) fn amount(value: f64) -> String {
    let (scaled, prefix) = match value.abs() {
        ..1e4 => (value, ""),
        1e4..1e7 => (value / 1e3, "k"),
        1e7..1e10 => (value / 1e6, "M"),
        1e10..1e13 => (value / 1e9, "G"),
        _ => (value / 1e12, "T"),
    };
    let digits = usize::from(scaled.abs() < 100.0 && scaled.fract() != 0.0);
    format!("{scaled:.digits$}{prefix}")
}

/// A bar: its height from 0 to 1, and how it looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) height: f64,
    pub(super) style: Style,
}

/// Draws `bars` from the left, each `columns` wide. A bar above zero shows at least an eighth.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rows of a screen"
)]
pub(super) fn draw_bars(buffer: &mut Buffer, area: Rect, bars: &[Bar], columns: u16) {
    for (x, bar) in (area.x..).step_by(columns.max(1).into()).zip(bars) {
        let full = f64::from(area.height) * 8.0;
        let mut eighths = (bar.height.clamp(0.0, 1.0) * full).round() as usize;
        if bar.height > 0.0 {
            eighths = eighths.max(1);
        }
        for row in 0..area.height {
            let here = eighths.saturating_sub(usize::from(row) * 8).min(8);
            let Some(symbol) = here.checked_sub(1).and_then(|n| EIGHTHS.get(n)) else {
                break;
            };
            let y = area.bottom() - 1 - row;
            for x in (x..x.saturating_add(columns)).take_while(|x| *x < area.right()) {
                buffer.set_string(x, y, symbol, bar.style);
            }
        }
    }
}

/// A bin of the histogram as drawn: several steps where there are more than columns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Bin {
    pub(super) to_ns: u64,
    pub(super) count: u64,
}

/// Returns the end of the step after the one that ends at `to_ns`: four steps a power of two.
const fn next_end(to_ns: u64) -> u64 {
    let from = to_ns.saturating_add(1);
    let bits = u64::BITS - (from | 1).leading_zeros();
    from.saturating_add((1 << bits.saturating_sub(3)) - 1)
}

/// Puts `steps` into at most `columns` bins without a gap between them.
pub(super) fn bins(steps: &[LatencyStep], columns: usize) -> Vec<Bin> {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return Vec::new();
    };
    let ends = std::iter::successors(Some(first.to_ns), |end| Some(next_end(*end)));
    let mut counts = steps.iter().peekable();
    let all: Vec<Bin> = ends
        .take_while(|end| *end <= last.to_ns)
        .map(|to_ns| Bin {
            to_ns,
            count: counts.next_if(|s| s.to_ns <= to_ns).map_or(0, |s| s.count),
        })
        .collect();
    let together = all.len().div_ceil(columns.max(1)).max(1);
    let put = |part: &[Bin]| {
        let to_ns = part.last()?.to_ns;
        let count = part.iter().map(|bin| bin.count).sum();
        Some(Bin { to_ns, count })
    };
    all.chunks(together).filter_map(put).collect()
}

/// Puts maxima into at most `columns`, the largest of each.
pub(super) fn fit(maxima: &[Maximum], columns: usize) -> Vec<u64> {
    let together = maxima.len().div_ceil(columns.max(1)).max(1);
    let largest = |part: &[Maximum]| part.iter().map(|point| point.max_ns).max();
    maxima.chunks(together).filter_map(largest).collect()
}

/// Returns where `value` lies between `low` and `high` on a logarithmic scale, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "display only")]
pub(super) fn place(value: u64, low: u64, high: u64) -> f64 {
    let log = |n: u64| (n.max(1) as f64).ln();
    let width = log(high) - log(low);
    if width <= 0.0 {
        return 1.0;
    }
    ((log(value) - log(low)) / width).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(to_ns: u64, count: u64) -> LatencyStep {
        LatencyStep { to_ns, count }
    }

    #[test]
    fn bins_have_no_gap_and_lose_no_sample() {
        // Two octaves apart: 1023 is the end of 896..=1023.
        let steps = [step(1_023, 5), step(1_279, 2), step(4_095, 1)];
        let all = bins(&steps, 100);
        let ends: Vec<u64> = all.iter().map(|bin| bin.to_ns).collect();
        assert_eq!(
            ends,
            [
                1_023, 1_279, 1_535, 1_791, 2_047, 2_559, 3_071, 3_583, 4_095
            ]
        );
        assert_eq!(all.iter().map(|bin| bin.count).sum::<u64>(), 8);
        let few = bins(&steps, 4);
        assert_eq!(few.len(), 3);
        assert_eq!(few.iter().map(|bin| bin.count).sum::<u64>(), 8);
        assert_eq!(few.last().unwrap().to_ns, 4_095);
    }

    #[test]
    fn latencies_and_amounts_are_short() {
        assert_eq!(short(999), "999 ns");
        assert_eq!(short(2_560), "2.6 µs");
        assert_eq!(short(25_600), "26 µs");
        assert_eq!(short(3_000_000), "3.0 ms");
        assert_eq!(amount(12.0), "12");
        assert_eq!(amount(1.25), "1.2");
        assert_eq!(amount(2_345_678.0), "2346k");
        assert_eq!(clock(Nanos::from_secs(3_723)), "1:02:03");
    }

    #[test]
    fn the_smallest_bar_shows() {
        let area = Rect::new(0, 0, 2, 2);
        let mut buffer = Buffer::empty(area);
        let bar = |height| Bar {
            height,
            style: Style::default(),
        };
        draw_bars(&mut buffer, area, &[bar(0.001), bar(1.0)], 1);
        let at = |x, y| buffer[(x, y)].symbol().to_owned();
        assert_eq!((at(0, 1), at(0, 0)), ("▁".to_owned(), " ".to_owned()));
        assert_eq!((at(1, 1), at(1, 0)), ("█".to_owned(), "█".to_owned()));
    }
}
