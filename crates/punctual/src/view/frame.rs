// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One frame of the live table.

use punctual_model::{Nanos, Progress, SeriesProgress};

const HEADING: &str = "  T  CPU   PRIO     INTERVAL       COUNT      MIN     LAST     MEAN      P99       MAX  OVERRUNS  LOST";

/// Draws `progress` for a terminal of this size; no line is wider, and there are not more rows.
///
/// Where not all threads fit, the worst are shown, and the others are counted.
pub(super) fn draw(progress: &Progress, width: u16, height: u16) -> Vec<String> {
    // Status, two headings, a line for the rest, and the cursor's own.
    let room = usize::from(height).saturating_sub(5).max(1);
    let mut rows: Vec<&SeriesProgress> = progress.series.iter().collect();
    let hidden = rows.len().saturating_sub(room);
    if hidden > 0 {
        rows.sort_by_key(|s| std::cmp::Reverse(s.max_ns));
        rows.truncate(room);
        rows.sort_by_key(|s| s.thread);
    }
    let mut lines = vec![status(progress), format!("{HEADING}  (times in µs)")];
    lines.extend(rows.into_iter().map(row));
    if hidden > 0 {
        lines.push(format!(
            "     and {hidden} more threads, none of them worse"
        ));
    }
    for state in &progress.precision {
        let width = state.interval_ns.map_or_else(
            || "no interval yet".to_owned(),
            |i| format!("{:.3} .. {:.3} µs", i.low / 1e3, i.high / 1e3),
        );
        let met = if state.met { "reached" } else { "not yet" };
        if lines.len() + 1 < usize::from(height) {
            lines.push(format!(
                "  T{} until {}: {width}, {met}",
                state.thread, state.target
            ));
        }
    }
    for line in &mut lines {
        *line = line.chars().take(width.into()).collect();
    }
    lines
}

fn status(progress: &Progress) -> String {
    let elapsed = clock(progress.t_ns);
    match (progress.done, progress.left_ns) {
        (Some(done), Some(left)) => {
            let filled = (done.clamp(0.0, 1.0) * 20.0).round();
            let bar: String = (0..20)
                .map(|n| if f64::from(n) < filled { '#' } else { '.' })
                .collect();
            format!(
                "{elapsed} [{bar}] {:3.0} %, {} left; Ctrl-C ends it and keeps the run",
                100.0 * done,
                clock(left)
            )
        }
        _ => format!("{elapsed}, no end set; Ctrl-C ends it and keeps the run"),
    }
}

fn row(s: &SeriesProgress) -> String {
    let us = |ns: Option<f64>| ns.map_or_else(|| "-".to_owned(), |ns| format!("{:.1}", ns / 1e3));
    #[expect(clippy::cast_precision_loss, reason = "display only")]
    let int = |ns: Option<u64>| us(ns.map(|ns| ns as f64));
    format!(
        "{:>3} {:>4} {:>6} {:>12} {:>11} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>5}",
        s.thread,
        s.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
        s.policy,
        s.interval_ns,
        s.count,
        int(s.min_ns),
        int(s.last_ns),
        us(s.mean_ns),
        int(s.p99_ns),
        int(s.max_ns),
        s.overruns,
        s.lost
    )
}

/// Formats a span as `1:02:03` or `02:03`.
pub(super) fn clock(span: Nanos) -> String {
    let seconds = span.get() / 1_000_000_000;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes:02}:{seconds:02}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(threads: u32) -> Progress {
        Progress {
            t_ns: Nanos::from_secs(15),
            done: Some(0.25),
            left_ns: Some(Nanos::from_secs(45)),
            series: (0..threads)
                .map(|thread| SeriesProgress {
                    thread,
                    cpu: Some(thread),
                    policy: "f:80".to_owned(),
                    interval_ns: Nanos::from_millis(1),
                    count: 15_000,
                    min_ns: Some(18_200),
                    last_ns: Some(20_000),
                    mean_ns: Some(21_250.4),
                    p99_ns: Some(30_100),
                    max_ns: Some(u64::from(thread) * 1_000),
                    ..SeriesProgress::default()
                })
                .collect(),
            ..Progress::default()
        }
    }

    #[test]
    fn a_frame_has_a_row_a_thread() {
        let frame = draw(&progress(2), 120, 24);
        assert_eq!(frame.len(), 4);
        assert_eq!(
            frame[0],
            "00:15 [#####...............]  25 %, 00:45 left; Ctrl-C ends it and keeps the run"
        );
        assert_eq!(
            frame[2],
            "  0    0   f:80         1 ms       15000     18.2     20.0     21.3     30.1       0.0         0     0"
        );
        let heading_end = HEADING.len();
        assert_eq!(frame[2].chars().count(), heading_end, "columns align");
    }

    #[test]
    fn a_small_terminal_shows_the_worst_threads() {
        let frame = draw(&progress(100), 60, 10);
        assert!(frame.len() < 10);
        assert!(frame.iter().all(|line| line.chars().count() <= 60));
        assert!(frame.iter().any(|line| line.contains("95 more threads")));
        assert!(frame.iter().any(|line| line.starts_with(" 99 ")));
    }

    #[test]
    fn a_run_without_samples_shows_dashes() {
        let empty = Progress {
            series: vec![SeriesProgress::default()],
            ..Progress::default()
        };
        let frame = draw(&empty, 120, 24);
        assert!(frame[0].contains("no end set"));
        assert!(frame[2].contains("-"));
    }
}
