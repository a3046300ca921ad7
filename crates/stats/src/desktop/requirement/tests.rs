// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use std::fmt::Debug;

use super::*;

/// The samples that would show that it is met.
#[track_caller]
fn to_pass(ruling: Ruling) -> Effort {
    match ruling {
        Ruling::Unclaimed(Wanting::ToPass(effort)) => effort,
        other => not(&other),
    }
}

#[track_caller]
fn not<T>(other: &impl Debug) -> T {
    panic!("{other:?}")
}

fn parse(text: &str) -> Requirement {
    text.parse().unwrap()
}

#[test]
fn requirements_round_trip_through_text() {
    for text in [
        "p99.99 <= 50us",
        "p50 <= 1ms at 99%",
        "p99.9999 <= 1500ns at 99.9%",
        "no sample > 100us",
        "no sample > 2s in 5000 at 90%",
    ] {
        assert_eq!(parse(text).to_string(), text);
        assert_eq!(parse(&parse(text).to_string()), parse(text));
    }
    assert_eq!(
        parse("  no  sample>100 µs at 95 %"),
        parse("no sample > 100us")
    );
}

#[test]
fn a_bad_part_is_named() {
    for (text, part) in [
        ("p99.99 < 50us", "p99.99 < 50us"),
        ("mean <= 50us", "mean <= 50us"),
        ("max <= 50us", "no sample > TIME"),
        ("no samples > 50us", "no samples > 50us"),
        ("p100 <= 50us", "`p100`"),
        ("pnan <= 50us", "`pnan`"),
        ("p99 <= 50", "`50`"),
        ("p99 <= -5us", "`-5us`"),
        ("p99 <= 0us", "`0us`"),
        ("p99 <= 1e3us", "`1e3us`"),
        ("no sample > 5us in 1", "`in 1`"),
        ("no sample > 5us in 1h", "`in 1h`"),
        ("p99 <= 5us at 95", "`95`"),
        ("p99 <= 5us at 100%", "`100%`"),
        ("", "``"),
    ] {
        let message = text.parse::<Requirement>().unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn no_sample_above_passes_only_after_enough_of_them() {
    let requirement = parse("no sample > 100us");
    let of = |n, k| requirement.rule(&Evidence::independent(n, k)).ruling;
    assert_eq!(of(2_995_731, 0), Ruling::Pass);
    assert_eq!(to_pass(of(1_000, 0)).samples, 2_995_731);
    assert_eq!(to_pass(of(0, 0)).samples, 2_995_731);
    // One was seen: the claim is refuted, however rare it was.
    assert_eq!(of(1_000_000_000, 1), Ruling::Fail);
}

#[test]
fn dependent_samples_count_as_fewer_and_more_of_them_are_needed() {
    let requirement = parse("p99.99 <= 50us");
    let ruled = requirement.rule(&Evidence {
        samples: 100_000,
        above: 0,
        effective: 10_000.0,
        time_ns: 0.0,
    });
    assert_eq!(ruled.effective, 10_000);
    assert_eq!(to_pass(ruled.ruling).samples, 299_560);
    assert!((ruled.share_at_most - 2.995e-4).abs() < 1e-6);
}

#[test]
fn the_number_that_would_do_does() {
    let requirement = parse("p99 <= 50us");
    // 0.8 % are above, 1 % may be: more samples would show it.
    let few = requirement.rule(&Evidence::independent(1_000, 8)).ruling;
    let n = to_pass(few).samples;
    let with = |n: u64, rate: f64| {
        let above = floor_u64((n as f64 * rate).ceil());
        requirement.rule(&Evidence::independent(n, above)).ruling
    };
    assert_eq!(with(n, 0.008), Ruling::Pass, "{n}");
    assert!((5_000..9_000).contains(&n), "{n}");
    // 1.2 % are above: more samples would refute it.
    let few = requirement.rule(&Evidence::independent(1_000, 12)).ruling;
    let Ruling::Unclaimed(Wanting::ToFail(Effort { samples: n, .. })) = few else {
        return not(&few);
    };
    assert_eq!(with(n, 0.012), Ruling::Fail, "{n}");
    let even = requirement.rule(&Evidence::independent(1_000, 10)).ruling;
    assert_eq!(even, Ruling::Unclaimed(Wanting::Unknown));
}

#[test]
fn runs_that_differ_are_worth_less_than_their_samples() {
    let run = |above| Evidence::independent(10_000, above);
    let alike = Evidence::pooled(&[run(98), run(101), run(103), run(99)]);
    assert_eq!((alike.samples, alike.above), (40_000, 401));
    assert_eq!(alike.effective, 40_000.0);
    let apart = Evidence::pooled(&[run(1), run(2), run(390), run(8)]);
    assert!(apart.effective < 1_000.0, "{apart:?}");
    let one = Evidence::pooled(&[run(5)]);
    assert_eq!(one, run(5));
    assert_eq!(Evidence::pooled(&[]).samples, 0);
    assert!(matches!(
        parse("p99 <= 1us").rule(&Evidence::pooled(&[])).ruling,
        Ruling::Unclaimed(Wanting::ToPass(_))
    ));
}

#[test]
fn wrong_claims_are_as_rare_as_the_confidence_says() {
    // The true share is just what is allowed: 5 % may pass, and 5 % may fail, at most.
    let requirement = parse("p99 <= 50us");
    let mut source = crate::RandomSource::new(11);
    let (mut pass, mut fail) = (0, 0);
    for _ in 0..2_000 {
        let above = (0..2_000).filter(|_| source.uniform() <= 0.01).count();
        match requirement
            .rule(&Evidence::independent(2_000, above as u64))
            .ruling
        {
            Ruling::Pass => pass += 1,
            Ruling::Fail => fail += 1,
            Ruling::Unclaimed(_) => {}
        }
    }
    // Three standard errors above 100 of 2000.
    assert!(pass <= 130 && fail <= 130, "{pass} {fail}");
    assert!(pass >= 20 && fail >= 20, "{pass} {fail}");
}

/// A run of one thread at 1 ms that lasted `ms`, with `above` samples later.
fn seen(ms: u64, above: u64) -> Seen {
    Seen {
        samples: ms,
        above,
        of_one_thread: ms,
        time_ns: ms as f64 * 1e6,
        dependence_ns: 0.0,
    }
}

#[test]
fn a_run_without_a_miss_counts_by_bursts_and_says_how_long_to_measure() {
    let requirement = parse("p99 <= 50us");
    let rule = |seen: Seen| requirement.rule(&seen.evidence(requirement.burst_ns));
    // 6000 samples are 60 trials: they used to be 6000, and passed.
    let few = rule(seen(6_000, 0));
    assert_eq!(few.effective, 60);
    let effort = to_pass(few.ruling);
    // 299 trials of 100 ms, and one for what a run leaves over.
    assert_eq!(
        (effort.samples, effort.time_ns),
        (29_900, Some(30_000_000_000))
    );
    let announced = seen(30_000, 0);
    assert_eq!(rule(announced).ruling, Ruling::Pass);
    // A thread more, at the same moments, is no evidence more.
    let four = Seen {
        samples: 24_000,
        ..seen(6_000, 0)
    };
    assert_eq!(rule(four).effective, 60);
    // The announcement holds where the run was shorter than a burst.
    assert_eq!(
        to_pass(rule(seen(20, 0)).ruling).time_ns,
        Some(30_000_000_000)
    );
    // Who knows that bursts are short says so.
    let short = requirement.with_burst(1_000_000);
    assert_eq!(
        short.rule(&seen(6_000, 0).evidence(short.burst_ns)).ruling,
        Ruling::Pass
    );
}

#[test]
fn the_assumption_is_raised_to_what_the_samples_show() {
    let evidence = Seen {
        dependence_ns: 1e9,
        ..seen(60_000, 0)
    };
    assert_eq!(evidence.evidence(DEFAULT_BURST_NS).trials(), 60);
    // Samples that are further apart than a burst are a trial each.
    let slow = Seen {
        time_ns: 60_000e9,
        ..seen(60_000, 0)
    };
    assert_eq!(slow.evidence(DEFAULT_BURST_NS).trials(), 60_000);
}

#[test]
fn clean_runs_bound_the_share_of_bad_ones() {
    let requirement = parse("p99 <= 50us");
    let clean = vec![seen(60_000, 0).evidence(DEFAULT_BURST_NS); 5];
    let ruled = requirement.rule_runs(&clean);
    assert_eq!((ruled.ruling, ruled.basis), (Ruling::Pass, Basis::Time));
    let between = ruled.runs.unwrap();
    assert_eq!((between.runs, between.over), (5, 0));
    assert!((between.at_most - (1.0 - 0.05_f64.powf(0.2))).abs() < 1e-12);
    // Nobody asks for less than half; then five runs are enough, however short they are.
    let half = parse("p50 <= 50us");
    let ruled = half.rule_runs(&[seen(10, 0).evidence(DEFAULT_BURST_NS); 5]);
    assert_eq!((ruled.ruling, ruled.basis), (Ruling::Pass, Basis::Runs));
    let one_bad = [
        &clean[..4],
        &[seen(60_000, 6_000).evidence(DEFAULT_BURST_NS)],
    ]
    .concat();
    assert_eq!(requirement.rule_runs(&one_bad).runs.unwrap().over, 1);
    assert_eq!(requirement.rule_runs(&clean[..1]).runs, None);
}

#[test]
fn a_long_run_with_one_sample_above_is_one_that_a_no_sample_requirement_fails() {
    let requirement = parse("no sample > 100us");
    // One of three million is a smaller share than one in a million, and still a sample.
    let run = |above| seen(3_000_000, above).evidence(DEFAULT_BURST_NS);
    let over = |of: &[Evidence]| requirement.rule_runs(of).runs.unwrap();
    let all = over(&[run(1); 5]);
    assert_eq!((all.over, all.at_most), (5, 1.0));
    assert_eq!(over(&[run(0), run(1), run(0)]).over, 1);
}
