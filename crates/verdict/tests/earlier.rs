// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One run against one run, by how much earlier runs varied.
#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use punctual_model::{
    Comparison, ComparisonScale, ComparisonVerdict, ComparisonVerdict as Verdict, Origin,
    WithheldReason,
};
use punctual_stats::runs::Options;
use punctual_verdict::comparison::{
    CompareError, ComparisonRequest, GroupInput, RunInput, answer, compare,
};

/// About normal with 12 uniform numbers, and the same on every machine.
fn noise(state: &mut u64) -> f64 {
    (0..12).fold(-6.0, |sum, _| {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        sum + f64::from(u32::try_from(*state >> 32).unwrap()) / f64::from(u32::MAX)
    })
}

fn run(number: u32, p99_us: f64) -> RunInput {
    let mut record = common::run();
    record.id = format!("01900000-0000-7000-8000-{number:012x}");
    let day = 1 + number % 28;
    record.started = Some(format!("2026-{:02}-{day:02}T02:00:00Z", 1 + number / 28));
    let ns: u64 = format!("{:.0}", p99_us * 1e3).parse().unwrap();
    record.total.quantiles_ns = [("p99".to_owned(), Some(ns))].into();
    RunInput {
        record,
        histogram: None,
        required: None,
        blocks: None,
        started_s: Some(f64::from(number) * 86_400.0),
    }
}

fn group(name: &str, runs: Vec<RunInput>) -> GroupInput {
    GroupInput {
        name: name.to_owned(),
        runs,
        refused: Vec::new(),
    }
}

/// 40 runs that vary by 5 %, in the middle of which the level rose by half.
fn earlier() -> GroupInput {
    let mut state = 5;
    let of = |number: u32| {
        let level = if number < 20 { 40.0 } else { 60.0 };
        run(number, level * (0.05 * noise(&mut state)).exp())
    };
    group("runs", (0..40).map(of).collect())
}

fn by_earlier(
    sides: [Vec<RunInput>; 2],
    earlier: Option<GroupInput>,
    effect: f64,
) -> Result<Comparison, CompareError> {
    let options = Options {
        effect,
        ..Options::default()
    };
    with_options(sides, earlier, options)
}

fn with_options(
    [a, b]: [Vec<RunInput>; 2],
    earlier: Option<GroupInput>,
    options: Options,
) -> Result<Comparison, CompareError> {
    let asked = ComparisonRequest {
        metrics: vec!["p99".parse().unwrap()],
        options,
        earlier,
        ..ComparisonRequest::default()
    };
    compare(vec![group("a", a), group("b", b)], &asked)
}

fn verdict(us: f64, effect: f64) -> (ComparisonVerdict, Option<u64>) {
    let sides = [vec![run(41, 60.0)], vec![run(42, us)]];
    let comparison = by_earlier(sides, Some(earlier()), effect).unwrap();
    let result = &comparison.results[0];
    (result.verdict, result.more_runs)
}

#[test]
fn one_run_is_judged_by_how_much_earlier_runs_varied() {
    assert_eq!(verdict(90.0, 0.1), (Verdict::Worse, None));
    assert_eq!(verdict(40.0, 0.1), (Verdict::Better, None));
    assert_eq!(verdict(63.0, 0.4), (Verdict::NotDistinguishable, None));
    // A tenth would not be found by one run a side; some more find it.
    let (few, more) = verdict(63.0, 0.1);
    assert_eq!(few, Verdict::TooFewRuns);
    assert!((2..12).contains(&more.unwrap()), "{more:?}");
    // Without earlier runs nothing can be said of one run a side.
    let sides = [vec![run(41, 60.0)], vec![run(42, 90.0)]];
    let alone = by_earlier(sides, None, 0.1).unwrap();
    assert_eq!(alone.results[0].verdict, Verdict::TooFewRuns);
}

#[test]
fn what_is_missing_is_counted() {
    let sides = [vec![run(41, 60.0)], vec![run(42, 63.0)]];
    let mut result = by_earlier(sides, Some(earlier()), 0.1).unwrap().results[0].clone();
    for (pairs, runs, said) in [
        (None, Some(1), Some("1 more a side")),
        (Some(8), Some(1), Some("1 more block")),
        (Some(8), Some(2), Some("2 more blocks")),
        (Some(8), None, None),
    ] {
        (result.pairs, result.more_runs) = (pairs, runs);
        assert_eq!(answer::more(&result).as_deref(), said);
    }
}

/// The verdict with a difference in ns that matters, in place of a share.
fn by_difference(
    sides: [Vec<RunInput>; 2],
    earlier: GroupInput,
    difference: f64,
) -> (ComparisonScale, ComparisonVerdict) {
    let options = Options {
        difference: Some(difference),
        ..Options::default()
    };
    let comparison = with_options(sides, Some(earlier), options).unwrap();
    let result = &comparison.results[0];
    assert_eq!(
        result.more_runs.is_some(),
        result.verdict == Verdict::TooFewRuns
    );
    (result.scale, result.verdict)
}

#[test]
fn a_difference_that_matters_takes_the_place_of_the_share() {
    let sides = || [vec![run(41, 60.0)], vec![run(42, 63.0)]];
    // 24 µs of 60 µs are the 40 % that one run a side would have found; 6 µs are the tenth that it would not.
    for (us, verdict) in [
        (24.0, Verdict::NotDistinguishable),
        (6.0, Verdict::TooFewRuns),
    ] {
        let found = by_difference(sides(), earlier(), us * 1e3);
        assert_eq!(found, (ComparisonScale::Log, verdict), "{us}");
    }
    // With a 0 among the values they are compared as they are: 0.1 µs between runs of 0.2 µs.
    let mut state = 7;
    let of = |number: u32| {
        let us = if number == 7 {
            0.0
        } else {
            0.2 + 0.1 * noise(&mut state)
        };
        run(number, us.max(0.0))
    };
    let earlier = group("runs", (0..40).map(of).collect());
    let sides = || {
        let a = vec![run(41, 0.0), run(43, 0.4)];
        [a, vec![run(42, 0.2), run(44, 0.21)]]
    };
    for (ns, verdict) in [
        (1_000.0, Verdict::NotDistinguishable),
        (50.0, Verdict::TooFewRuns),
    ] {
        let found = by_difference(sides(), earlier.clone(), ns);
        assert_eq!(found, (ComparisonScale::Linear, verdict), "{ns}");
    }
}

#[test]
fn a_change_among_earlier_runs_is_no_spread() {
    let sides = [vec![run(41, 60.0)], vec![run(42, 90.0)]];
    let comparison = by_earlier(sides, Some(earlier()), 0.1).unwrap();
    assert_eq!(comparison.method.test, "earlier");
    let ratio = comparison.results[0].ratio.unwrap();
    let interval = ratio.interval.unwrap();
    assert!((ratio.estimate - 1.5).abs() < 1e-9);
    // exp(2.02 * 0.05 * √2), for a deviation of 5 % or so: with the step in it, the interval would reach below 1.
    let half = (interval.high / interval.low).ln() / 2.0;
    assert!((0.09..0.22).contains(&half), "{half}");
    let remark = comparison.remarks.iter().find(|r| r.id == "earlier");
    assert!(
        remark.unwrap().detail.contains("40 earlier runs"),
        "{remark:?}"
    );
}

#[test]
fn earlier_runs_of_another_machine_or_too_few_say_nothing() {
    let sides = || [vec![run(41, 60.0)], vec![run(42, 90.0)]];
    let mut other = earlier();
    other.runs[3].record.host.hostname = Some("another".to_owned());
    let err = by_earlier(sides(), Some(other), 0.1)
        .unwrap_err()
        .to_string();
    assert!(
        err.contains("by earlier ones") && err.contains("differ in"),
        "{err}"
    );
    let err = by_earlier(sides(), Some(group("runs", Vec::new())), 0.1);
    assert!(err.unwrap_err().to_string().contains("none of them"));
    let few = group(
        "runs",
        (0..3).map(|n| run(n, 60.0 + f64::from(n))).collect(),
    );
    let comparison = by_earlier(sides(), Some(few), 0.1).unwrap();
    assert_eq!(comparison.results[0].verdict, Verdict::TooFewRuns);
    assert_eq!(comparison.results[0].p, None);
    assert!(comparison.remarks.iter().any(|r| r.id == "earlier-unknown"));
}

/// 40 runs that vary by 1 %, in one stretch.
fn steady() -> GroupInput {
    let mut state = 9;
    let of = |number: u32| run(number, 6.999 * (0.01 * noise(&mut state)).exp());
    group("runs", (0..40).map(of).collect())
}

fn pair_against(earlier: GroupInput, mut sides: [RunInput; 2], step: Option<u64>) -> Comparison {
    for side in &mut sides {
        side.record.origin = earlier.runs[0].record.origin.clone();
        assert_eq!(step.is_some(), side.record.origin.is_some());
    }
    by_earlier(sides.map(|run| vec![run]), Some(earlier), 0.1).unwrap()
}

#[test]
fn steps_that_hide_what_matters_hide_it_beside_earlier_runs_too() {
    let pair = || [run(41, 6.999), run(42, 7.0)];
    let plain = pair_against(steady(), pair(), None);
    assert_eq!(plain.results[0].verdict, Verdict::NotDistinguishable);
    let mut rounded = steady();
    for run in &mut rounded.runs {
        run.record.origin = Some(Origin {
            resolution_ns: Some(1_000),
            ..Origin::default()
        });
    }
    let coarse = pair_against(rounded, pair(), Some(1_000));
    assert_eq!(coarse.results[0].verdict, Verdict::TooFewRuns);
    let withheld = coarse.results[0].withheld.clone().unwrap();
    assert_eq!(withheld.reason, WithheldReason::Resolution);
    // What is read as 6.999 may be just above 5.999.
    assert!(
        withheld.detail.contains("up to 17 %"),
        "{}",
        withheld.detail
    );
}

#[test]
fn earlier_runs_of_another_length_tell_no_spread() {
    let mut long = steady();
    for run in &mut long.runs {
        run.record.total.count *= 500;
    }
    let found = pair_against(long, [run(41, 6.999), run(42, 8.2)], None);
    assert_eq!(found.results[0].verdict, Verdict::TooFewRuns);
    let withheld = found.results[0].withheld.clone().unwrap();
    assert_eq!(withheld.reason, WithheldReason::Lengths);
    assert!(
        withheld.detail.contains("earlier runs have"),
        "{}",
        withheld.detail
    );
    let found = pair_against(steady(), [run(41, 6.999), run(42, 8.2)], None);
    assert_eq!(found.results[0].verdict, Verdict::Worse);
}
