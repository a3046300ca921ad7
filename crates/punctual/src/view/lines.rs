// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Progress as plain lines, for logs and pipes: after 1, 2, 5 and 10 s, then every 10 s.

use punctual_model::{Event, Nanos, Progress};
use punctual_verdict::words::clean;

use super::live::{clock, ended};

/// Which line comes next.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    title: Option<String>,
    shown: Nanos,
}

impl Lines {
    /// Gives every line from now on a heading, and begins anew.
    pub(super) fn title(&mut self, text: &str) {
        *self = Self {
            title: Some(text.to_owned()),
            shown: Nanos::ZERO,
        };
    }

    /// Returns the line for an event, if it is time for one.
    pub(super) fn line(&mut self, event: &Event) -> Option<String> {
        let text = match event {
            Event::Started { threads, .. } => match threads {
                1 => "measuring with 1 thread".to_owned(),
                _ => format!("measuring with {threads} threads"),
            },
            Event::Progress(progress) => {
                let next = [1, 2, 5, 10]
                    .map(Nanos::from_secs)
                    .into_iter()
                    .find(|at| *at > self.shown)
                    .unwrap_or(self.shown + Nanos::from_secs(10));
                // Progress comes about every second: not always just behind it.
                if progress.t_ns + Nanos::from_millis(100) < next {
                    return None;
                }
                self.shown = progress.t_ns + Nanos::from_millis(100);
                figures(progress)
            }
            Event::Threshold(hit) => format!(
                "threshold {} exceeded by thread {} on CPU {}: {}",
                hit.threshold_ns,
                hit.sample.thread,
                hit.sample.cpu,
                Nanos::new(hit.sample.latency_ns)
            ),
            Event::Ended { reason, t_ns } => format!("{} after {t_ns}", ended(*reason)),
        };
        let line = match &self.title {
            Some(title) => format!("{title}: {text}"),
            None => text,
        };
        // A run that is shown once more may come from elsewhere.
        Some(clean(&line).into_owned())
    }
}

fn figures(progress: &Progress) -> String {
    if let (Some(doing), true) = (&progress.doing, progress.series.is_empty()) {
        return format!("{}: {doing}", clock(progress.t_ns));
    }
    let count: u64 = progress.series.iter().map(|s| s.count).sum();
    let sum = |what: &str, of: fn(&punctual_model::SeriesProgress) -> Option<u64>| {
        let sum: Option<u64> = progress.series.iter().map(of).sum();
        sum.map_or_else(String::new, |sum| format!(", {sum} {what}"))
    };
    let worst = progress.series.iter().max_by_key(|s| s.max_ns);
    let max = worst.and_then(|s| Some((s.thread, Nanos::new(s.max_ns?))));
    let left = progress
        .left_ns
        .map_or_else(String::new, |left| format!(", {} left", clock(left)));
    let max = max.map_or_else(String::new, |(thread, max)| {
        format!(", max {max} (thread {thread})")
    });
    format!(
        "{}{left}: {count} samples{max}{}{}",
        clock(progress.t_ns),
        sum("overruns", |s| s.overruns),
        sum("lost", |s| s.lost)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_counted_yet_is_not_said() {
        let series = |overruns| punctual_model::SeriesProgress {
            count: 5,
            overruns,
            ..punctual_model::SeriesProgress::default()
        };
        let line = |all: [Option<u64>; 2]| {
            figures(&Progress {
                series: all.map(series).into(),
                ..Progress::default()
            })
        };
        assert!(line([Some(1), Some(2)]).ends_with(": 10 samples, 3 overruns"));
        assert!(line([Some(1), None]).ends_with(": 10 samples"));
    }

    #[test]
    fn what_a_foreign_run_says_does_not_command_the_terminal() {
        let progress = Progress {
            t_ns: Nanos::from_secs(1),
            doing: Some("x\u{1b}[31mred\u{7}\u{202e}".to_owned()),
            ..Progress::default()
        };
        let line = Lines::default().line(&Event::Progress(progress)).unwrap();
        assert_eq!(line, "00:01: x\u{fffd}[31mred\u{fffd}\u{fffd}");
    }

    #[test]
    fn lines_get_rarer() {
        let mut lines = Lines::default();
        let mut shown = Vec::new();
        for second in 1..=35 {
            let progress = Progress {
                t_ns: Nanos::from_secs(second) + Nanos::from_millis(3),
                ..Progress::default()
            };
            if lines.line(&Event::Progress(progress)).is_some() {
                shown.push(second);
            }
        }
        assert_eq!(shown, [1, 2, 5, 10, 20, 30]);
    }
}
