// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who listens to a run: the store, which has progress once a second, the view, and who asked for every sample.

use std::collections::BTreeMap;
use std::sync::Arc;

use punctual_measure::{Sink, SinkError};
use punctual_model::{Event, Nanos, Progress, Sample};
use punctual_store::RunWriter;
use punctual_sys::thread::Tid;

use crate::metrics::Metrics;
use crate::view::View;

/// Progress is stored this often at most.
const STORE_PROGRESS_EVERY: Nanos = Nanos::from_secs(1);

/// Progress is stored more rarely than it is shown; the maxima in between go along with what is stored.
#[derive(Debug, Default)]
pub(super) struct Gap {
    next_stored: Nanos,
    /// The largest sample of each thread since what was stored last.
    maxima: BTreeMap<u32, u64>,
    /// The latest progress, where it is not stored.
    unstored: Option<Progress>,
}

impl Gap {
    /// Returns what is to be stored in place of `progress`, if it is time to.
    fn bridge(&mut self, progress: &Progress) -> Option<Progress> {
        for series in &progress.series {
            if let Some(max) = series.recent_max_ns {
                let known = self.maxima.entry(series.thread).or_default();
                *known = (*known).max(max);
            }
        }
        self.unstored = Some(progress.clone());
        if progress.t_ns < self.next_stored {
            return None;
        }
        // A little early, so that progress of four times a second is stored every fourth time.
        self.next_stored = progress.t_ns + STORE_PROGRESS_EVERY - Nanos::from_millis(50);
        self.rest()
    }

    /// Returns what was said since what was stored last: at the end of a run, its last part of a second.
    fn rest(&mut self) -> Option<Progress> {
        let mut progress = self.unstored.take()?;
        for series in &mut progress.series {
            series.recent_max_ns = self.maxima.remove(&series.thread);
        }
        Some(progress)
    }
}

/// Passes what a run says to the store and to the view.
pub(super) struct Listener<'a> {
    pub(super) writer: RunWriter,
    pub(super) view: &'a mut View,
    pub(super) gap: Gap,
    pub(super) keep_samples: bool,
    pub(super) beside: Option<&'a mut dyn Sink>,
    pub(super) metrics: Option<Arc<Metrics>>,
}

impl Sink for Listener<'_> {
    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        self.view.event(event);
        if let Some(metrics) = &self.metrics {
            metrics.event(event);
        }
        if let Some(beside) = &mut self.beside {
            beside.event(event)?;
        }
        let progress = match event {
            Event::Progress(progress) => self.gap.bridge(progress),
            _ => self.gap.rest(),
        };
        if let Some(progress) = progress {
            self.writer.event(&Event::Progress(progress))?;
        }
        match event {
            Event::Progress(_) => Ok(()),
            event => Ok(self.writer.event(event)?),
        }
    }

    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError> {
        if let Some(beside) = &mut self.beside {
            beside.samples(thread, samples)?;
        }
        if self.keep_samples {
            self.writer.samples(thread, samples)?;
        }
        Ok(())
    }

    fn begun(&mut self, threads: &[Tid], origin: Nanos) -> Result<(), SinkError> {
        match &mut self.beside {
            Some(beside) => beside.begun(threads, origin),
            None => Ok(()),
        }
    }

    fn tick(&mut self) -> Result<(), SinkError> {
        match &mut self.beside {
            Some(beside) => beside.tick(),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::SeriesProgress;

    use super::*;

    #[test]
    fn what_is_stored_has_the_maxima_of_what_was_only_shown() {
        let mut gap = Gap::default();
        let mut stored = Vec::new();
        for (quarter, max) in (1..=9).zip([5, 9, 1, 1, 2, 7, 3, 1, 4]) {
            let progress = Progress {
                t_ns: Nanos::from_millis(250 * quarter),
                series: vec![SeriesProgress {
                    recent_max_ns: Some(max),
                    ..SeriesProgress::default()
                }],
                ..Progress::default()
            };
            let kept = gap.bridge(&progress);
            stored.extend(kept.and_then(|p| Some((quarter, p.series[0].recent_max_ns?))));
        }
        assert_eq!(stored, [(1, 5), (5, 9), (9, 7)]);
    }

    #[test]
    fn the_last_part_of_a_second_is_stored_when_the_run_ends() {
        let mut gap = Gap::default();
        let of = |thread, max| SeriesProgress {
            thread,
            recent_max_ns: max,
            ..SeriesProgress::default()
        };
        let mut at = |millis, series| {
            let progress = Progress {
                t_ns: Nanos::from_millis(millis),
                series,
                ..Progress::default()
            };
            gap.bridge(&progress).is_some()
        };
        assert!(at(1_000, vec![of(4, Some(8))]));
        // A thread that comes later stands before the others.
        assert!(!at(1_250, vec![of(4, Some(90))]));
        assert!(!at(1_400, vec![of(2, Some(7)), of(4, Some(3))]));
        let rest = gap.rest().unwrap();
        let maxima: Vec<_> = rest.series.iter().map(|s| s.recent_max_ns).collect();
        assert_eq!(
            (rest.t_ns.get(), maxima),
            (1_400_000_000, vec![Some(7), Some(90)])
        );
        assert_eq!(gap.rest(), None);
    }
}
