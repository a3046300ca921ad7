// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The largest samples of a run over time: of its samples where they are stored, else of what it said meanwhile.
//!
//! A stored progress has the largest sample of each thread since the one stored before, and a run says a last one at its
//! end, so that the stretches between them hold every sample. Runs of older versions have no last one: what happened after
//! the last progress is known where the record's largest sample was not seen before it. Still older ones have no
//! largest sample of a stretch: it is known where the largest of all grew.

use std::collections::BTreeMap;

use punctual_model::{Event, Nanos, Progress, RunRecord, SampleTimes, SeriesProgress};
use punctual_report::document::{MOMENTS, Maxima, Stretch};
use punctual_store::{ReadError, StoredRun};

use crate::error::CliError;

/// More stored samples take longer than a picture is worth: then what the run said is taken.
const MOST_SAMPLES: u64 = 4_000_000;

/// Reads the maxima of each thread.
pub(super) fn of(run: &StoredRun) -> Result<Vec<Maxima>, CliError> {
    let record = run.record();
    let timed = record
        .origin
        .as_ref()
        .is_none_or(|o| o.sample_times == Some(SampleTimes::Clock));
    let read = match run.has_samples() && timed && record.total.count <= MOST_SAMPLES {
        true => samples(run),
        false => events(run),
    };
    match read {
        Ok(found) => Ok(found),
        // An imported run has no events; a run without them has no picture over time.
        Err(ReadError::Path(err)) if err.is_missing() => Ok(Vec::new()),
        Err(err) => {
            let what = format!("read the progress of run {}", record.id);
            Err(CliError::failed_to(what).because(err))
        }
    }
}

fn samples(run: &StoredRun) -> Result<Vec<Maxima>, ReadError> {
    let duration = run.record().duration_ns.unwrap_or(Nanos::ZERO);
    let (from, until) = match run.record().origin {
        None => (0, duration.get()),
        // The clock of another tool began before the run.
        Some(_) => ends(run)?,
    };
    let stretch = (until.saturating_sub(from)).div_ceil(MOMENTS as u64).max(1);
    let record = run.record();
    let mut found: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
    for sample in run.samples()? {
        let sample = sample?;
        let stretches = found.entry(sample.thread).or_default();
        let number = sample.t_ns.saturating_sub(from) / stretch;
        let largest = stretches.entry(number).or_default();
        *largest = (*largest).max(record.not_below(sample.latency_ns));
    }
    let stretch_of = |(number, max_ns): (u64, u64)| {
        let begin = number.saturating_mul(stretch);
        let end = begin.saturating_add(stretch);
        // The last wake-up may have come after the end.
        let end = match until.saturating_sub(from) {
            whole if begin < whole => end.min(whole),
            _ => end,
        };
        Stretch {
            from: Nanos::new(begin),
            until: Nanos::new(end),
            max_ns,
        }
    };
    let maxima = found.into_iter().map(|(thread, stretches)| Maxima {
        thread: Some(thread),
        stretches: stretches.into_iter().map(stretch_of).collect(),
        cut: None,
    });
    Ok(maxima.collect())
}

/// The times of the first and of the last sample.
fn ends(run: &StoredRun) -> Result<(u64, u64), ReadError> {
    let (mut first, mut last) = (u64::MAX, 0);
    for sample in run.samples()? {
        let at = sample?.t_ns;
        (first, last) = (first.min(at), last.max(at));
    }
    Ok((first.min(last), last))
}

fn events(run: &StoredRun) -> Result<Vec<Maxima>, ReadError> {
    let record = run.record();
    let warm_up = record.spec.as_ref().map(|spec| spec.warm_up_ns);
    let mut told = Told::begin(warm_up.unwrap_or(Nanos::ZERO));
    for event in run.events()? {
        match event {
            Ok(Event::Progress(progress)) => told.take(&progress),
            Ok(Event::Ended { t_ns, .. }) => told.ended = Some(t_ns),
            Ok(_) => {}
            // What a newer program added is not for this picture.
            Err(ReadError::Event { .. }) => {}
            Err(err) => return Err(err),
        }
    }
    Ok(told.maxima(record.duration_ns, |thread| whole(record, thread)))
}

/// What a run said, up to now.
struct Told {
    /// Time of the latest progress; before the first, the end of the warm-up.
    at: Nanos,
    ended: Option<Nanos>,
    threads: BTreeMap<u32, Thread>,
}

#[derive(Default)]
struct Thread {
    stretches: Vec<Stretch>,
    count: u64,
    max_ns: Option<u64>,
}

impl Told {
    const fn begin(warm_up: Nanos) -> Self {
        Self {
            at: warm_up,
            ended: None,
            threads: BTreeMap::new(),
        }
    }

    fn take(&mut self, progress: &Progress) {
        for series in &progress.series {
            let thread = self.threads.entry(series.thread).or_default();
            if let Some(max_ns) = thread.largest(series) {
                thread.stretches.push(Stretch {
                    from: self.at.min(progress.t_ns),
                    until: progress.t_ns,
                    max_ns,
                });
            }
            thread.count = series.count;
            thread.max_ns = series.max_ns;
        }
        self.at = self.at.max(progress.t_ns);
    }

    /// Returns the stretches. `whole` says of a thread how many samples it took and the largest of them.
    fn maxima(
        self,
        duration: Option<Nanos>,
        whole: impl Fn(u32) -> Option<(u64, u64)>,
    ) -> Vec<Maxima> {
        let end = self.ended.or(duration).unwrap_or(self.at);
        let of = |(number, mut thread): (u32, Thread)| {
            let (count, largest) = whole(number).unwrap_or((thread.count, 0));
            let mut cut = (count > thread.count && end > self.at).then_some(self.at);
            // A maximum larger than any event has came after the last event.
            if cut.is_some() && thread.max_ns.is_none_or(|told| told < largest) {
                thread.stretches.push(Stretch {
                    from: self.at,
                    until: end,
                    max_ns: largest,
                });
                cut = None;
            }
            Maxima {
                thread: Some(number),
                stretches: thread.stretches,
                cut,
            }
        };
        self.threads.into_iter().map(of).collect()
    }
}

impl Thread {
    /// The largest sample since the progress before, where that is known.
    fn largest(&self, now: &SeriesProgress) -> Option<u64> {
        let grown = now
            .max_ns
            .filter(|max| self.max_ns.is_none_or(|m| m < *max));
        now.recent_max_ns
            .or_else(|| grown.filter(|_| now.count > self.count))
    }
}

/// The number of samples of a thread, and the largest, of the kind that progress tells of.
fn whole(record: &RunRecord, thread: u32) -> Option<(u64, u64)> {
    let mut series = record.series.iter().filter(|s| s.thread == Some(thread));
    let first = series.clone().next()?;
    let told = match series.clone().count() {
        1 => Some(first),
        _ => series.find(|s| s.context == record.total.context && s.context.is_some()),
    };
    told.and_then(|series| Some((series.count, series.max_ns?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(millis: u64, count: u64, max: u64, recent: Option<u64>) -> Progress {
        Progress {
            t_ns: Nanos::from_millis(millis),
            series: vec![SeriesProgress {
                count,
                max_ns: Some(max),
                recent_max_ns: recent,
                ..SeriesProgress::default()
            }],
            ..Progress::default()
        }
    }

    fn drawn(
        said: &[Progress],
        end: u64,
        count: u64,
        max: u64,
    ) -> (Vec<(u64, u64, u64)>, Option<u64>) {
        let mut told = Told::begin(Nanos::ZERO);
        said.iter().for_each(|progress| told.take(progress));
        let maxima = told.maxima(Some(Nanos::from_millis(end)), |_| Some((count, max)));
        let millis = |at: Nanos| at.get() / 1_000_000;
        let of = |s: &Stretch| (millis(s.from), millis(s.until), s.max_ns);
        let [maxima] = maxima.as_slice() else {
            panic!("{maxima:?}");
        };
        (
            maxima.stretches.iter().map(of).collect(),
            maxima.cut.map(millis),
        )
    }

    #[test]
    fn a_stretch_ends_where_its_largest_sample_was_told() {
        let said = [
            progress(250, 10, 7, Some(7)),
            progress(1_250, 50, 90, Some(90)),
            progress(2_250, 90, 90, Some(4)),
            progress(2_700, 99, 90, Some(5)),
        ];
        let stretches = vec![
            (0, 250, 7),
            (250, 1_250, 90),
            (1_250, 2_250, 4),
            (2_250, 2_700, 5),
        ];
        assert_eq!(drawn(&said, 2_700, 99, 90), (stretches, None));
    }

    #[test]
    fn without_a_last_progress_a_larger_sample_came_after_what_was_told() {
        let said = [progress(1_000, 50, 90, Some(90))];
        let seen = (0, 1_000, 90);
        let both = vec![seen, (1_000, 1_600, 91)];
        assert_eq!(drawn(&said, 1_600, 80, 91), (both, None));
        // Else nobody knows how large it was.
        assert_eq!(drawn(&said, 1_600, 80, 90), (vec![seen], Some(1_000)));
    }

    #[test]
    fn where_no_largest_of_a_stretch_was_stored_it_is_known_where_the_largest_of_all_grew() {
        let said = [
            progress(1_000, 50, 90, None),
            progress(2_000, 90, 90, None),
            progress(3_000, 130, 95, None),
        ];
        let known = vec![(0, 1_000, 90), (2_000, 3_000, 95)];
        assert_eq!(drawn(&said, 3_000, 130, 95), (known, None));
    }
}
