// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is said of requirements, and on what it rests.

#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use std::iter::repeat_n;
use std::slice::from_ref;

use punctual_model::{Misses, Nanos, RequirementBasis, RequirementResult, RunRecord, Series};
use punctual_report::document::{Document, Material, RunItem};
use punctual_report::text::{self, Detail};
use punctual_stats::requirement::Requirement;
use punctual_verdict::requirement::require;

/// A run of two threads for 50 s, 100 000 wake-ups, `above` of them later than 100 µs.
fn run(above: u64, effective: Option<f64>) -> RunRecord {
    let mut run = common::run();
    run.total.tail_effective_samples = Some(40_000.0);
    run.total.misses = vec![Misses {
        deadline_ns: Nanos::from_micros(100),
        count: above,
        overruns: 0,
        effective,
    }];
    run
}

fn of(runs: &[RunRecord], requirement: &str) -> RequirementResult {
    let requirement: Requirement = requirement.parse().unwrap();
    require(&requirement, runs.iter().map(|run| (run, None)))
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn said(mut run: RunRecord, result: RequirementResult) -> String {
    run.requirements = vec![result];
    let text = words(&text::run(run.clone().into(), 80, Detail::Summary));
    // The page says the same.
    let document = Document::new(&Material {
        runs: vec![RunItem {
            record: run,
            parts: Vec::new(),
            group: None,
            maxima: Vec::new(),
        }],
        ..Material::default()
    });
    let reasons = &document.answers[0].validity;
    let required = reasons.last().unwrap();
    assert!(text.contains(&required.text), "{}\n{text}", required.text);
    text
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_pass_names_what_it_is_about_and_what_it_assumes() {
    let clean = run(0, None);
    let result = of(from_ref(&clean), "p99 <= 100us");
    assert_eq!(result.rests_on, Some(RequirementBasis::Time));
    assert_eq!((result.effective, result.runs_over), (Some(500), None));
    assert_eq!(result.burst_ns, Some(Nanos::from_millis(100)));
    assert_eq!(result.run_time_ns, Some(Nanos::from_secs(50)));
    contains(
        &said(clean, result),
        &[
            "PASS: p99 <= 100us, for this run. At most 0.60 % of samples are later (95 % confidence); \
             1 % may be.",
            "None of 100000 samples was later, in 1 run of 50 s.",
            "They count as 500 independent trials, if no burst of misses lasts longer than 100 ms \
             (--burst).",
            "Another boot or other conditions may differ.",
        ],
    );
}

#[test]
fn the_answer_names_the_largest_wake_up_whether_it_was_traced_or_not() {
    let mut clean = run(0, None);
    clean.series.push(Series {
        context: Some("untraced".to_owned()),
        max_ns: Some(39_539_000),
        overruns: Some(40),
        ..common::series(0)
    });
    let result = of(from_ref(&clean), "p99 <= 100us");
    contains(
        &said(clean, result),
        &[
            ", and 39539 µs while not traced.",
            ", 40 overruns while not traced",
        ],
    );
}

#[test]
fn what_cannot_be_claimed_says_how_long_to_measure() {
    let clean = run(0, None);
    let result = of(from_ref(&clean), "p99.99 <= 100us");
    assert_eq!(result.rests_on, None);
    // 29 956 trials of 100 ms, and one for what a run leaves over.
    let time = Nanos::from_millis(2_995_700);
    assert_eq!(result.time_to_pass_ns, Some(time));
    contains(
        &said(clean, result),
        &[
            "CANNOT BE CLAIMED: p99.99 <= 100us. At most 0.60 %",
            "Measuring 50 min in all without a miss shows that it is met.",
        ],
    );
}

#[test]
fn several_runs_bound_the_share_of_bad_ones() {
    let runs: Vec<_> = repeat_n(run(0, None), 5).collect();
    let result = of(&runs, "p99 <= 100us");
    assert_eq!(result.rests_on, Some(RequirementBasis::Time));
    let most = result.runs_over_at_most.unwrap();
    assert!((most - (1.0 - 0.05_f64.powf(0.2))).abs() < 1e-12, "{most}");
    contains(
        &said(runs[0].clone(), result),
        &[
            "PASS: p99 <= 100us, for these 5 runs.",
            "Of further runs like these up to 46 % may exceed it: none of these 5 does.",
        ],
    );
    let half = of(&runs, "p50 <= 100us");
    assert_eq!(half.rests_on, Some(RequirementBasis::Runs));
    contains(
        &said(runs[0].clone(), half),
        &[
            "for all runs like these. At most 46 %",
            "Each run counts once",
        ],
    );
}

#[test]
fn what_the_samples_show_stands_for_the_assumption() {
    let mut waves = run(0, None);
    // 100 000 samples that say as much of their tail as 50: each stands for a second.
    waves.total.tail_effective_samples = Some(50.0);
    let result = of(from_ref(&waves), "p99 <= 100us");
    assert_eq!(result.effective, Some(50));
    assert_eq!(result.dependence_ns, Some(Nanos::from_secs(1)));
    contains(
        &said(waves, result),
        &[
            "CANNOT BE CLAIMED",
            "samples were seen to come together for 1 s",
        ],
    );
    // So do misses that were seen.
    let misses = of(&[run(10, Some(25.0))], "p99 <= 100us");
    assert_eq!(misses.effective, Some(25));
    let short = of(&[run(10, Some(90_000.0))], "p99 <= 100us");
    assert_eq!(short.effective, Some(500));
}

#[test]
fn a_run_that_does_not_say_when_its_samples_were_taken_is_given_a_millisecond() {
    let mut imported = run(0, None);
    imported.duration_ns = None;
    for series in &mut imported.series {
        series.interval_ns = None;
    }
    let result = of(from_ref(&imported), "p99 <= 100us");
    assert_eq!(result.effective, Some(500));
    contains(
        &said(imported, result),
        &["; samples assumed to be 1 ms apart, the default of cyclictest and rtla"],
    );
}

#[test]
fn no_share_is_said_to_be_none() {
    let clean = run(0, None);
    for requirement in ["p99 <= 100us", "no sample > 100us in 1000000000000"] {
        let text = said(clean.clone(), of(from_ref(&clean), requirement));
        assert!(!text.contains(" 0 %") && !text.contains("0 .. 0"), "{text}");
    }
    // Nor in the table of deadlines.
    contains(
        &words(&text::run(clean.clone().into(), 80, Detail::Summary)),
        &["<= 0.60 %", "if no burst of misses lasts longer than"],
    );
}
