// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Runs in virtual time that repeat one another are one run.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use punctual_model::{Comparison, ComparisonVerdict as Verdict, Guest, GuestTime};
use punctual_stats::runs::{Margin, Options};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, RunInput, compare};

/// Five runs a side, of guests whose command lines differ, with these seeds.
fn compared(time: GuestTime, seeds: [u64; 5], margin: Option<Margin>) -> Comparison {
    let run = |side: u64, number: u64, seed: u64| {
        let mut record = common::run();
        record.id = format!("01900000-0000-7000-8000-{:012x}", 10 * side + number);
        record.guest = Some(Guest {
            kernel: "k".to_owned(),
            kernel_sha256: None,
            time,
            instruction_ns: None,
            command_line: format!("nohz={side}"),
            cpus: 1,
            memory_bytes: 1,
            nodes: None,
            seed,
            agent: None,
            unpacked: false,
        });
        // A longer run of the same seed begins as the shorter one.
        record.spec.as_mut().unwrap().samples = Some(60 + number);
        let ns = 30_000 + 9_000 * side + 10 * seed;
        record.total.quantiles_ns = [("p99".to_owned(), Some(ns))].into();
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: None,
        }
    };
    let group = |side: u64| GroupInput {
        name: format!("side{side}"),
        runs: (0..)
            .zip(seeds)
            .map(|(number, seed)| run(side, number, seed))
            .collect(),
        refused: Vec::new(),
    };
    let asked = ComparisonRequest {
        metrics: vec!["p99".parse().unwrap()],
        options: Options {
            margin,
            ..Options::default()
        },
        requirements: vec!["no sample > 100us at 50%".parse().unwrap()],
        ..ComparisonRequest::default()
    };
    compare(vec![group(0), group(1)], &asked).unwrap()
}

#[test]
fn runs_of_one_guest_and_seed_count_once() {
    for margin in [None, Some(Margin::Same(0.4)), Some(Margin::NotWorse(0.4))] {
        let copies = compared(GuestTime::Virtual, [1; 5], margin);
        assert_eq!(copies.results[0].verdict, Verdict::TooFewRuns, "{margin:?}");
        assert_eq!(copies.results[0].p, None);
        for group in &copies.groups {
            assert_eq!((group.runs.len(), group.refused.len()), (1, 4));
            let reason = &group.refused[0].reason;
            assert!(reason.contains("a copy of run"), "{reason}");
        }
        let mut remarks = copies.remarks.iter();
        let left_out = |detail: &str| detail.contains("4 runs not compared");
        assert!(remarks.any(|remark| left_out(&remark.detail)));
        assert!(copies.requirements.iter().all(|of| of.result.runs == 1));
    }
}

#[test]
fn runs_of_other_seeds_or_in_real_time_all_count() {
    for (time, seeds) in [
        (GuestTime::Virtual, [1, 2, 3, 4, 5]),
        (GuestTime::Real, [1; 5]),
    ] {
        let all = compared(time, seeds, None);
        assert!(all.groups.iter().all(|group| group.runs.len() == 5));
        assert_eq!(all.results[0].verdict, Verdict::Worse);
    }
}
