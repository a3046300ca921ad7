// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a load process has reported, and what that says about each of its loads.

use std::time::{Duration, Instant};

use punctual_model::{LoadProgress, LoadRecord};

use super::REPORT_EVERY;
use super::report::Report;
use super::spec::LoadSpec;
use super::track::{Track, Verdict, tolerated};

/// Time on a CPU, at most, of one load thread before the next has its turn.
const SLICE: Duration = Duration::from_millis(10);

/// How late work is known, at most: programs are looked at, and all loads report, some time after it.
const LATE: Duration = REPORT_EVERY.saturating_mul(2);

/// The reports of all loads of one process.
#[derive(Clone, Debug)]
pub struct Ledger {
    loads: Vec<LoadSpec>,
    started: Instant,
    tracks: Vec<Track>,
    /// How long it takes until every thread of the loads has had its turn.
    turn: Duration,
}

impl Ledger {
    /// Opens it for `loads` that began to work at `started`.
    pub fn open(loads: Vec<LoadSpec>, started: Instant) -> Self {
        Self {
            tracks: vec![Track::new(started); loads.len()],
            turn: turn(&loads),
            started,
            loads,
        }
    }

    /// Has the loads judged by what they do from `started` on.
    pub(super) fn begin_again(&mut self, started: Instant) {
        self.started = started;
        for track in &mut self.tracks {
            track.begin_again(started);
        }
    }

    /// Takes a report that came at `at`, and returns the load's place if every thread of that load
    /// has worked since the last one. What comes after `end` is no silence of the run.
    pub fn note(&mut self, report: &Report, at: Instant, end: Instant) -> Option<usize> {
        match report {
            Report::Work {
                place,
                done,
                rounds,
            } => {
                let track = self.tracks.get_mut(*place)?;
                track.note([*done, *rounds], at, end).then_some(*place)
            }
            Report::Died { place, reason } => {
                let track = self.tracks.get_mut(*place)?;
                track.died.get_or_insert_with(|| reason.clone());
                None
            }
            Report::Unit { place, unit } => {
                self.tracks.get_mut(*place)?.count_in(unit);
                None
            }
            Report::Preparing { .. } | Report::Ready | Report::Refused { .. } => None,
        }
    }

    /// Notes that the process of all loads has ended.
    pub fn note_gone(&mut self) {
        for track in &mut self.tracks {
            let ended = || "its process ended during the run".to_owned();
            track.died.get_or_insert_with(ended);
        }
    }

    /// Returns what the work of the load at `place` is counted in.
    pub fn unit(&self, place: usize) -> &str {
        let said = self.tracks.get(place).and_then(|t| t.unit.as_deref());
        let usual = self.loads.get(place).map_or("", LoadSpec::unit);
        said.unwrap_or(usual)
    }

    /// Whether the load at `place` has said twice what it did: what lies between is of the run.
    pub(super) fn is_counted(&self, place: usize) -> bool {
        self.tracks.get(place).is_some_and(Track::is_counted)
    }

    /// Whether the load at `place` has ended by itself.
    pub(super) fn is_dead(&self, place: usize) -> bool {
        self.tracks.get(place).is_some_and(|t| t.died.is_some())
    }

    /// Returns how long every load may take, beyond what is usual, until it shows work.
    pub(super) fn patience(&self) -> Duration {
        let each = self.loads.iter().map(|load| self.patience_with(load));
        each.max().unwrap_or_default()
    }

    fn patience_with(&self, load: &LoadSpec) -> Duration {
        load.patience(self.turn) + LATE
    }

    /// Returns what each load has done up to now, without rates.
    pub(super) fn progress(&self) -> Vec<LoadProgress> {
        let progress = |(place, (load, track)): (usize, (&LoadSpec, &Track))| LoadProgress {
            load: load.to_string(),
            unit: self.unit(place).to_owned(),
            work: track.work_done(),
            per_second: None,
            fault: track.died.clone(),
        };
        let tracks = self.loads.iter().zip(&self.tracks);
        tracks.enumerate().map(progress).collect()
    }

    /// Returns when the load at `place` last reported.
    pub(super) fn last_report(&self, place: usize) -> Option<Instant> {
        self.tracks.get(place)?.last_report()
    }

    /// Judges each load in a run that ended at `end`, by what came up to when it was `looked` at.
    pub fn judge(&self, end: Instant, looked: Instant) -> Vec<LoadRecord> {
        let usual = tolerated(end.saturating_duration_since(self.started));
        let judge = |(load, track): (&LoadSpec, &Track)| {
            let verdict = Verdict {
                end,
                looked,
                limit: usual + self.patience_with(load),
            };
            track.judge(load.to_string(), load.unit(), verdict)
        };
        self.loads.iter().zip(&self.tracks).map(judge).collect()
    }
}

/// Returns how long it takes until every thread of `loads` has had its turn on these CPUs.
fn turn(loads: &[LoadSpec]) -> Duration {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    // The busiest CPU has the longest turn: a load that is bound shares its CPUs with the others.
    let on_one = |load: &LoadSpec| {
        load.threads(cpus)
            .div_ceil(load.settings.cpu_count(cpus).max(1))
    };
    SLICE * loads.iter().map(on_one).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::track::SHORT_SILENCE;

    fn ledger(loads: &[&str]) -> Ledger {
        let loads = loads.iter().map(|text| text.parse().unwrap()).collect();
        Ledger::open(loads, Instant::now())
    }

    #[test]
    fn reports_of_a_place_that_is_not_there_are_nobodys() {
        let mut ledger = ledger(&["cpu"]);
        let report = Report::Work {
            place: 1,
            done: 5,
            rounds: 5,
        };
        let now = Instant::now();
        assert_eq!(ledger.note(&report, now, now), None);
        let records = ledger.judge(now, now);
        assert_eq!(records[0].fault.as_deref(), Some("it never reported"));
    }

    #[test]
    fn the_end_of_one_load_is_its_own_fault_and_the_end_of_all_is_everyones() {
        let mut ledger = ledger(&["cpu", "memory"]);
        let now = Instant::now();
        let reason = "was killed".to_owned();
        ledger.note(&Report::Died { place: 1, reason }, now, now);
        ledger.note_gone();
        let faults: Vec<_> = ledger
            .judge(now, now)
            .into_iter()
            .map(|r| r.fault)
            .collect();
        let gone = Some("its process ended during the run".to_owned());
        assert_eq!(faults, [gone, Some("was killed".to_owned())]);
    }

    #[test]
    fn more_threads_take_longer_until_each_had_its_turn() {
        assert!(ledger(&["cpu:400"]).patience() > ledger(&["cpu:1"]).patience());
        assert!(ledger(&["cpu:9", "fork:1"]).patience() > ledger(&["cpu:10"]).patience());
        assert!(ledger(&["io", "cpu"]).patience() > Duration::from_secs(1));
        // Ten on one CPU wait for each other, wherever else the program may run.
        assert!(ledger(&["cpu:10@cpus=0"]).patience() >= 10 * SLICE);
        // All of them rest meanwhile.
        let (tenth, all) = (ledger(&["sched:1@intensity=10%"]), ledger(&["sched:1"]));
        assert_eq!(tenth.patience() - LATE, (all.patience() - LATE) * 10);
    }

    /// Returns the fault of a load that worked once in `every` milliseconds of a run.
    fn fault(load: &str, every: u64, run_ms: u64) -> Option<String> {
        let mut ledger = ledger(&[load]);
        let started = ledger.started;
        let at = |ms: u64| started + Duration::from_millis(ms);
        let end = at(run_ms);
        let looked = (0_u64..).map(|n| n * 201).find(|ms| {
            // A program is looked at before it is reported.
            let done = ms.saturating_sub(50) / every;
            let report = Report::Work {
                place: 0,
                done,
                rounds: done,
            };
            let worked = ledger.note(&report, at(*ms), end).is_some();
            *ms >= run_ms && (worked || at(*ms) > end + ledger.patience() + SHORT_SILENCE)
        });
        let records = ledger.judge(end, at(looked.unwrap()));
        records.into_iter().find_map(|record| record.fault)
    }

    #[test]
    fn what_loads_did_while_a_run_was_prepared_is_no_part_of_it() {
        let started = Instant::now();
        let at = |ms: u64| started + Duration::from_millis(ms);
        // Reports at these milliseconds of a run of 3 s that was prepared for 40 s.
        let record = |reports: &[u64]| {
            let mut ledger = Ledger::open(vec!["cpu:1".parse().unwrap()], started);
            let (begun, end) = (40_000, 43_000);
            let mut begins = Some(());
            for (round, ms) in (1..).zip(reports) {
                if *ms > begun && begins.take().is_some() {
                    ledger.begin_again(at(begun));
                }
                let report = Report::Work {
                    place: 0,
                    done: *ms,
                    rounds: round,
                };
                ledger.note(&report, at(*ms), at(end));
            }
            ledger.judge(at(end), at(end + 200)).remove(0)
        };
        let steady = |from: u64, to: u64| (from..to).step_by(200);
        // It waited for the disk while a file was written.
        let reports: Vec<u64> = steady(0, 1_000).chain(steady(40_100, 43_200)).collect();
        let did = record(&reports);
        assert_eq!((did.fault, did.work), (None, 3_000.0));
        assert_eq!(did.per_second, Some(1_000.0));
        // It did nothing while something was measured.
        let reports: Vec<u64> = steady(0, 40_200).chain([43_100]).collect();
        let fault = record(&reports).fault.unwrap();
        assert!(fault.starts_with("no work for 3.00 s"), "{fault}");
    }

    #[test]
    fn a_load_of_a_low_rate_that_keeps_it_has_no_fault() {
        for (load, every) in [
            // Each of its two threads sends one in two seconds, each of eight one in 1.6 s or 8 s.
            ("ping@rate=1", 2_000),
            ("ping:4@rate=5", 1_600),
            ("ping:4@rate=1", 8_000),
            ("printk:1", 1_000),
            // As often as the guide asks for.
            ("cmd:encoder", 1_000),
        ] {
            for run_ms in (2_000..20_000).step_by(1_370) {
                assert_eq!(fault(load, every, run_ms), None, "{load}, {run_ms} ms");
            }
            // Where two of three fail to come, it has.
            assert!(fault(load, every * 3, 10_000).is_some(), "{load}");
        }
    }
}
