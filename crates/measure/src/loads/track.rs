// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The reports of one load, and what they say about it.

use std::time::{Duration, Instant};

use punctual_model::{LoadRecord, Nanos};
use punctual_stats::float;

/// A silence longer than this is a stall, however long the run is.
const SILENCE: Duration = Duration::from_secs(5);

/// A silence of no more than this is normal, however short the run is: the measuring threads and
/// the host take the CPUs from the loads.
pub(super) const SHORT_SILENCE: Duration = Duration::from_secs(1);

/// Between the two, a silence is a stall from this part of the measured time on.
const SILENT_PART: u32 = 10;

/// Returns the longest silence that is no stall in a run that measured for `measured`.
pub(super) fn tolerated(measured: Duration) -> Duration {
    (measured / SILENT_PART).clamp(SHORT_SILENCE, SILENCE)
}

/// What one load has reported.
#[derive(Clone, Debug)]
pub(super) struct Track {
    /// From when on silence counts.
    begun: Instant,
    /// From its first report on.
    pulse: Option<Pulse>,
    /// From the first report in the present unit on.
    work: Option<Work>,
    /// Why it ended by itself, if it did.
    pub(super) died: Option<String>,
    /// What its work is counted in, where the load has said so.
    pub(super) unit: Option<String>,
}

/// Whether it is at work.
#[derive(Clone, Debug)]
struct Pulse {
    rounds: u64,
    round_at: Instant,
    longest_silence: Duration,
}

/// How much it did.
#[derive(Clone, Debug)]
struct Work {
    first: u64,
    first_at: Instant,
    last: u64,
    last_at: Instant,
    /// Work up to the end of the last full second.
    at_second: f64,
    seconds: Vec<f64>,
}

/// When a run ended, when its loads were looked at after that, and how long they may be silent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    pub(super) end: Instant,
    pub(super) looked: Instant,
    pub(super) limit: Duration,
}

impl Track {
    /// Begins to listen.
    pub(super) const fn new(begun: Instant) -> Self {
        Self {
            begun,
            pulse: None,
            work: None,
            died: None,
            unit: None,
        }
    }

    /// Begins anew at `begun`. Why it has died stays, and what its work is counted in.
    pub(super) fn begin_again(&mut self, begun: Instant) {
        self.begun = begun;
        self.work = None;
        if let Some(pulse) = &mut self.pulse {
            pulse.round_at = begun;
            pulse.longest_silence = Duration::ZERO;
        }
    }

    /// Takes a report of the work done since the load began and the rounds of all its threads.
    /// Returns whether every thread has worked since the last one. What comes after `end` is no
    /// silence of the run.
    pub(super) fn note(&mut self, [done, rounds]: [u64; 2], at: Instant, end: Instant) -> bool {
        // The first report is the work from before the run.
        let work = self.work.get_or_insert_with(|| Work {
            first: done,
            first_at: at,
            last: done,
            last_at: at,
            at_second: 0.0,
            seconds: Vec::new(),
        });
        work.fill_seconds(done, at);
        work.last = done;
        work.last_at = at;
        let pulse = self.pulse.get_or_insert(Pulse {
            rounds,
            round_at: self.begun,
            longest_silence: Duration::ZERO,
        });
        // A report without new work of some thread is silence too.
        let worked = rounds > pulse.rounds;
        if worked {
            let silence = at.min(end).saturating_duration_since(pulse.round_at);
            pulse.longest_silence = pulse.longest_silence.max(silence);
            pulse.round_at = at;
            pulse.rounds = rounds;
        }
        worked
    }

    /// Returns the work since the first report.
    pub(super) fn work_done(&self) -> f64 {
        self.work.as_ref().map_or(0.0, Work::done)
    }

    /// Whether there are two reports.
    pub(super) fn is_counted(&self) -> bool {
        let work = self.work.as_ref();
        work.is_some_and(|work| work.last_at > work.first_at)
    }

    /// Returns when the latest report came.
    pub(super) fn last_report(&self) -> Option<Instant> {
        self.work.as_ref().map(|work| work.last_at)
    }

    /// Forgets the work so far: from the next report on it is counted in `unit`.
    pub(super) fn count_in(&mut self, unit: &str) {
        self.unit = Some(unit.to_owned());
        self.work = None;
    }

    /// Judges the reports, of a load named `load` that counts its work in `unit`.
    pub(super) fn judge(&self, load: String, unit: &str, verdict: Verdict) -> LoadRecord {
        let record = LoadRecord {
            load,
            unit: self.unit.as_deref().unwrap_or(unit).to_owned(),
            ..LoadRecord::default()
        };
        let Some(pulse) = &self.pulse else {
            let fault = self.died.as_deref().unwrap_or("it never reported");
            return LoadRecord {
                fault: Some(fault.to_owned()),
                ..record
            };
        };
        let (silence, at_the_end) = pulse.silence(verdict);
        let stalled = (silence > verdict.limit).then(|| {
            let last = if at_the_end { "the last " } else { "" };
            let limit = verdict.limit.as_secs_f64();
            format!(
                "no work for {last}{:.2} s, more than {limit:.2} s",
                silence.as_secs_f64()
            )
        });
        LoadRecord {
            work: self.work_done(),
            per_second: self.work.as_ref().and_then(Work::rate),
            longest_silence_ns: Some(nanos(silence)),
            seconds: self
                .work
                .as_ref()
                .map_or_else(Vec::new, |work| work.seconds.clone()),
            fault: self.died.clone().or(stalled),
            ..record
        }
    }
}

impl Pulse {
    /// Returns the longest silence, and whether it is the one at the end.
    fn silence(&self, verdict: Verdict) -> (Duration, bool) {
        if self.round_at >= verdict.end {
            return (self.longest_silence, false);
        }
        let at_the_end = verdict.looked.saturating_duration_since(self.round_at);
        (
            self.longest_silence.max(at_the_end),
            at_the_end >= self.longest_silence,
        )
    }
}

impl Work {
    /// Closes the seconds that have passed at `at`. Between two reports the work counts as even.
    fn fill_seconds(&mut self, done: u64, at: Instant) {
        let span = at.saturating_duration_since(self.last_at).as_secs_f64();
        let from = self.last_at.saturating_duration_since(self.first_at);
        let before = float(self.last.saturating_sub(self.first));
        let rise = float(done.saturating_sub(self.last));
        let mut boundary = Duration::from_secs(self.seconds.len() as u64 + 1);
        while self.first_at + boundary <= at && span > 0.0 {
            let part = boundary.saturating_sub(from).as_secs_f64() / span;
            let reached = before + rise * part.min(1.0);
            self.seconds.push((reached - self.at_second).round());
            self.at_second = reached;
            boundary += Duration::from_secs(1);
        }
    }

    fn done(&self) -> f64 {
        float(self.last.saturating_sub(self.first))
    }

    fn rate(&self) -> Option<f64> {
        let time = self.last_at.saturating_duration_since(self.first_at);
        (!time.is_zero()).then(|| self.done() / time.as_secs_f64())
    }
}

fn nanos(span: Duration) -> Nanos {
    Nanos::new(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the record of a load that reported this work at these milliseconds of a run.
    fn record(reports: &[(u64, u64)], end_ms: u64) -> LoadRecord {
        let begun = Instant::now();
        let end = begun + Duration::from_millis(end_ms);
        let mut track = Track::new(begun);
        for (round, (ms, done)) in (1..).zip(reports) {
            track.note([*done, round], begun + Duration::from_millis(*ms), end);
        }
        let verdict = Verdict {
            end,
            looked: end + Duration::from_millis(1_200),
            limit: tolerated(end - begun),
        };
        track.judge("cpu".to_owned(), "additions", verdict)
    }

    /// Returns the fault of a load that worked at these milliseconds of a run.
    fn fault(worked_ms: &[u64], end_ms: u64) -> Option<String> {
        let reports: Vec<(u64, u64)> = [0]
            .iter()
            .chain(worked_ms)
            .map(|ms| (*ms, 7 * ms))
            .collect();
        record(&reports, end_ms).fault
    }

    #[test]
    fn a_silence_is_judged_by_the_length_of_the_run() {
        // Stopped for 4.5 s of 6 s, at the start, in the middle and to the end.
        assert!(fault(&[4_600, 5_000, 5_900, 6_100], 6_000).is_some());
        assert!(fault(&[200, 900, 5_400, 6_100], 6_000).is_some());
        let told = fault(&[200, 900, 1_500], 6_000).unwrap();
        assert_eq!(told, "no work for the last 5.70 s, more than 1.00 s");
        // Up to the end, then on again: what comes after the end is no part of it.
        let told = fault(&[200, 900, 1_500, 9_000], 6_000).unwrap();
        assert_eq!(told, "no work for 4.50 s, more than 1.00 s");
        // A short silence is normal, and 4.5 s are little of a minute, but never more than 5 s.
        assert_eq!(fault(&[900, 1_800, 2_100], 2_000), None);
        assert!(fault(&[4_500, 9_000, 9_900], 9_800).is_some());
        let minute: Vec<u64> = (0..14).map(|n| n * 4_500).collect();
        assert_eq!(fault(&minute, 58_400), None);
        let hour: Vec<u64> = (0..800).map(|n| n * 5_100).collect();
        assert!(fault(&hour, 3_600_000).is_some());
    }

    #[test]
    fn the_work_of_each_full_second_is_told() {
        // The first second ends at 1.1 s, amid 200 of the work; the third is not over.
        let reports = [(100, 1_000), (600, 1_050), (1_600, 1_250), (2_600, 1_550)];
        let record = record(&reports, 2_500);
        assert_eq!(record.seconds, [150.0, 250.0]);
        assert_eq!(record.work, 550.0);
        assert_eq!(record.per_second, Some(220.0));
        assert_eq!(record.longest_silence_ns, Some(Nanos::from_millis(1_000)));
        assert_eq!(record.unit, "additions");
    }

    #[test]
    fn a_long_gap_between_two_reports_is_spread_over_its_seconds() {
        let record = record(&[(0, 0), (4_000, 400)], 4_000);
        assert_eq!(record.seconds, [100.0; 4]);
    }

    #[test]
    fn one_report_has_no_rate() {
        let record = record(&[(0, 5)], 500);
        assert_eq!((record.work, record.per_second), (0.0, None));
        assert!(record.seconds.is_empty());
    }

    #[test]
    fn work_in_another_unit_is_counted_anew_and_not_what_was_done_before_that() {
        let begun = Instant::now();
        let at = |ms: u64| begun + Duration::from_millis(ms);
        let mut track = Track::new(begun);
        track.note([500, 1], at(0), begun);
        track.note([900, 2], at(400), begun);
        track.count_in("frames");
        assert_eq!(track.work_done(), 0.0);
        // What it did since its start comes with the unit.
        track.note([5_000, 3], at(600), begun);
        track.note([5_030, 4], at(1_600), begun);
        let verdict = Verdict {
            end: at(1_600),
            looked: at(1_700),
            limit: SHORT_SILENCE,
        };
        let record = track.judge(String::new(), "ms of CPU time", verdict);
        assert_eq!((record.work, &*record.unit), (30.0, "frames"));
        assert_eq!(record.seconds, [30.0]);
        assert_eq!(record.per_second, Some(30.0));
    }

    #[test]
    fn a_load_that_died_says_why_however_much_it_worked() {
        let begun = Instant::now();
        let mut track = Track::new(begun);
        track.died = Some("ended with exit status 3".to_owned());
        let verdict = Verdict {
            end: begun,
            looked: begun,
            limit: SHORT_SILENCE,
        };
        let told = Some("ended with exit status 3".to_owned());
        assert_eq!(track.judge(String::new(), "", verdict).fault, told);
        track.note([5, 1], begun, begun);
        assert_eq!(track.judge(String::new(), "", verdict).fault, told);
    }
}
