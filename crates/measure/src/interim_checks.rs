// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What can be judged of a run while it goes on: for the live view and for whoever watches from afar.
//!
//! A check that stands well may still fail later, and most are judged only at the end.

use punctual_model::{Check, Clock, LoadProgress, Nanos, SeriesProgress};

use crate::checks::{clock_steps_check, lost_samples, pauses_check};
use crate::steadiness::Steadiness;

/// Judges what is known up to now of a run on `clock`.
pub(crate) fn standing(
    series: &[SeriesProgress],
    loads: &[LoadProgress],
    watch: &Steadiness,
    clock: Clock,
) -> Vec<Check> {
    let mut checks = Vec::new();
    let lost: Option<u64> = series.iter().map(|s| s.lost).sum();
    if let Some(lost) = lost.filter(|_| !series.is_empty()) {
        let count: u64 = series.iter().map(|s| s.count).sum();
        checks.push(lost_samples("samples", count, lost));
    }
    let worst = series.iter().filter_map(|s| s.max_ns).max();
    // Before the first sample nothing is measured yet, and where there are none it is judged at the end.
    let worst = Nanos::new(worst.unwrap_or(0));
    checks.push(pauses_check(watch.longest_pause(), Some(worst)));
    if !matches!(clock, Clock::Monotonic | Clock::Boottime) {
        checks.push(clock_steps_check(clock, watch.largest_step()));
    }
    if !loads.is_empty() {
        checks.push(loads_check(loads));
    }
    checks
}

/// Judges the loads up to now.
pub(crate) fn loads_check(loads: &[LoadProgress]) -> Check {
    let fault = |load: &LoadProgress| Some(format!("{}: {}", load.load, load.fault.as_ref()?));
    let faults: Vec<String> = loads.iter().filter_map(fault).collect();
    let detail = match faults.as_slice() {
        [] => format!("{} of {} have not ended", loads.len(), loads.len()),
        faults => faults.join("; "),
    };
    Check::of("loads", faults.is_empty(), detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(lost: Option<u64>) -> SeriesProgress {
        SeriesProgress {
            count: 10,
            lost,
            ..SeriesProgress::default()
        }
    }

    #[test]
    fn where_there_are_no_samples_a_long_pause_is_not_passed_over() {
        let seconds = Nanos::from_secs;
        let passes = |pause, worst| pauses_check(pause, worst).passed();
        assert!(!passes(seconds(2), None));
        assert!(passes(Nanos::from_millis(1_100), None));
        assert!(!passes(seconds(2), Some(seconds(2))));
        // The recorder had no CPU, and the measuring threads had theirs.
        assert!(passes(seconds(2), Some(Nanos::from_micros(80))));
    }

    #[test]
    fn what_goes_wrong_during_a_run_shows_at_once() {
        let watch = Steadiness::new(Clock::Monotonic, punctual_sys::clock::monotonic());
        let ok = |s: &[SeriesProgress], l: &[LoadProgress]| -> Vec<(String, bool)> {
            let checks = standing(s, l, &watch, Clock::Monotonic);
            checks
                .into_iter()
                .map(|c| (c.id.clone(), c.passed()))
                .collect()
        };
        let named = |id: &str, passed| (id.to_owned(), passed);
        assert_eq!(
            ok(&[series(Some(0))], &[]),
            [named("lost-samples", true), named("pauses", true)]
        );
        assert_eq!(ok(&[series(Some(1))], &[])[0], named("lost-samples", false));
        // What is not counted yet is not zero.
        assert_eq!(ok(&[series(None)], &[]), [named("pauses", true)]);
        let dead = LoadProgress {
            fault: Some("was killed".to_owned()),
            ..LoadProgress::default()
        };
        assert_eq!(ok(&[], &[dead])[1], named("loads", false));
        assert_eq!(ok(&[], &[LoadProgress::default()])[1], named("loads", true));
    }
}
