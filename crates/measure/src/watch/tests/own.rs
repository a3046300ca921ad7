// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Late cycles that whoever watches has made.

use punctual_model::CheckStatus;

use super::*;

const WE: Tid = 400;

/// Cycles of which each `nth` is late because the thread `who` has the CPU. Returns the check, and the first culprit of late cycles.
fn late_by(who: (Tid, &str), nth: u64, cycles: u64) -> (punctual_model::Check, String) {
    let mut trace = Trace::new();
    trace.replay.owns([WE, LOOP]);
    trace.prio = NICE_0;
    trace.switch(1, SLEEPS, LOOP, NICE_0, "loop");
    let mut at = PERIOD - 100 * US;
    for cycle in 1..=cycles {
        let release = cycle * PERIOD;
        trace.sleep(at, release, NOBODY);
        at = if cycle % nth == nth / 2 {
            trace.wake(release - 10 * US, who.0, NICE_0, who.1);
            trace.switch(release - 9 * US, 0, who.0, NICE_0, who.1);
            trace.expire(release + US);
            trace.run(release + 1_500 * US, SLEEPS);
            release + 1_600 * US
        } else {
            normal(&mut trace, release.max(at + 100), NOBODY)
        };
    }
    trace.sleep(at, 2 * cycles * PERIOD, NOBODY);
    let watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
    let shown = watcher.shown();
    let threads: Vec<_> = shown
        .map(|(n, thread, tally)| watcher.watched_thread(n, thread, tally))
        .collect();
    let first = threads[0].culprits[0].what.clone();
    let watched = punctual_model::watch::Watched {
        threads,
        ..Default::default()
    };
    (watcher.own_share(&watched).unwrap(), first)
}

#[test]
fn late_cycles_of_the_watcher_are_none_of_the_program() {
    let (check, first) = late_by((WE, "punctual"), 10, 100);
    assert_eq!(check.status, CheckStatus::Fail, "{check:?}");
    assert_eq!(first, "Punctual's own thread (nice 0)");
    // The cycles that follow late ones begin late, and would be in time, too.
    assert_eq!(
        check.detail,
        "10 of 10 late cycles of loop would have been in time without Punctual's own threads"
    );
}

#[test]
fn whoever_is_called_as_the_watcher_is_and_rare_cycles_are_no_fault_of_the_watchers() {
    let (check, first) = late_by((OTHER, "punctual"), 10, 100);
    assert_eq!(check.status, CheckStatus::Pass, "{check:?}");
    assert!(check.detail.starts_with("0 of 10 "), "{check:?}");
    assert_eq!(first, "punctual (nice 0)");
    let (check, first) = late_by((WE, "punctual"), 1_200, 2_400);
    assert_eq!(check.status, CheckStatus::Pass, "{check:?}");
    assert!(check.detail.starts_with("2 of 2 "), "{check:?}");
    assert_eq!(first, "Punctual's own thread (nice 0)");
}

#[test]
fn cycles_on_a_cpu_that_nobody_judges_are_no_passed_check() {
    let set = |list: &str| list.parse::<punctual_model::CpuSet>().unwrap();
    let checked = |judged: Option<&str>, machine: &str| {
        let mut trace = Trace::new();
        trace.prio = NICE_0;
        trace.switch(1, SLEEPS, LOOP, NICE_0, "loop");
        let mut at = PERIOD - 100 * US;
        for cycle in 1..=20 {
            let release = cycle * PERIOD;
            trace.sleep(at, release, NOBODY);
            at = normal(&mut trace, release.max(at + 100), NOBODY);
        }
        let mut watcher = trace.watcher(&["loop"], Matters::OfThePeriod);
        watcher.judged = judged.map(set);
        watcher.ran_where_judged(&set(machine))
    };
    // All of it is on CPU 0.
    assert_eq!(checked(None, "0-1"), None);
    assert_eq!(checked(Some("0-1"), "0-1"), None);
    let fine = checked(Some("0"), "0-1").unwrap();
    assert_eq!(
        (fine.status, fine.detail.as_str()),
        (CheckStatus::Pass, "every cycle ended on CPUs 0")
    );
    let elsewhere = checked(Some("1"), "0-1").unwrap();
    assert_eq!(elsewhere.status, CheckStatus::Fail);
    let why = "cycles of loop ended on CPU 0, but only CPUs 1 were judged: name those of the program with --cpus";
    assert_eq!(elsewhere.detail, why);
}
