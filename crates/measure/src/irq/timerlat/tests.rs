// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How the tracer is set, and who else has it.

use punctual_model::CheckStatus;

use super::*;

#[test]
fn threads_of_the_tracer_are_judged_by_what_they_ran_with() {
    let asked = Policy::Fifo { priority: 80 };
    let other = Policy::Fifo { priority: 95 };
    let all = |policy| Policies::from([(0, policy), (1, policy)]);
    assert!(scheduling(asked, &all(asked), &all(asked)).passed());
    assert_eq!(
        scheduling(asked, &all(asked), &all(other)).status,
        CheckStatus::Fail
    );
    assert_eq!(
        scheduling(asked, &all(asked), &Policies::from([(0, asked)])).status,
        CheckStatus::Fail
    );
    assert_eq!(
        scheduling(asked, &Policies::new(), &Policies::new()).status,
        CheckStatus::Unknown
    );
}

#[test]
fn no_latency_ends_the_trace_and_the_ones_that_did_are_put_back() {
    let dir = tempfile::tempdir().unwrap();
    let root = SysRoot::at(dir.path());
    std::fs::create_dir(dir.path().join("osnoise")).unwrap();
    for (file, value) in [
        (PERIOD, "1000"),
        (CPUS, "0-1"),
        (STOP, "100"),
        (STOP_TOTAL, "0"),
    ] {
        std::fs::write(dir.path().join(file), format!("{value}\n")).unwrap();
    }
    let wanted = wanted(Nanos::from_millis(1), &"0-1".parse().unwrap());
    let settings = Setting::differing(&root, &wanted).unwrap();
    assert_eq!(leftover::encode(&settings), "+stop=100:0");
    let changed = leftover::Changed::make(&root, settings).unwrap();
    assert_eq!(root.read(STOP).unwrap(), "0");
    changed.restore().unwrap();
    assert_eq!(root.read(STOP).unwrap(), "100");
}

#[test]
fn a_trace_that_was_switched_off_before_the_end_is_no_whole_one() {
    assert!(recorded("1\n").passed());
    let cut = recorded("0");
    assert_eq!(cut.status, CheckStatus::Fail);
    assert!(cut.detail.contains("stop_tracing_us"), "{}", cut.detail);
}

/// A machine with the tracer, whose `osnoise/cpus` is this.
fn machine(cpus: &str) -> (tempfile::TempDir, SysRoot) {
    let dir = tempfile::tempdir().unwrap();
    let tracing = dir.path().join("sys/kernel/tracing");
    std::fs::create_dir_all(tracing.join("osnoise")).unwrap();
    std::fs::write(tracing.join("available_tracers"), "timerlat nop\n").unwrap();
    for (file, value) in [
        (PERIOD, "1000"),
        (CPUS, cpus),
        (STOP, "0"),
        (STOP_TOTAL, "0"),
    ] {
        std::fs::write(tracing.join(file), format!("{value}\n")).unwrap();
    }
    let sys = SysRoot::at(dir.path());
    (dir, sys)
}

#[test]
fn what_the_tracer_cannot_be_set_to_is_known_before_it_is_set() {
    // Every other CPU, as of one node where nodes are numbered in turn.
    let every_other = |first: u32| {
        let all: Vec<String> = (first..128).step_by(2).map(|cpu| cpu.to_string()).collect();
        all.join(",")
    };
    let (even, odd) = (every_other(0), every_other(1));
    let (_dir, sys) = machine(&even);
    let tracefs = Tracefs::open(&sys).unwrap();
    let refused = |interval, cpus: &str| {
        let plan = plan(interval, &cpus.parse().unwrap(), &tracefs, &sys);
        plan.err().map(|err| err.to_string())
    };
    for interval in [100, 250, 1_000_000].map(Nanos::from_micros) {
        assert_eq!(refused(interval, "0-3"), None, "{interval}");
    }
    for (interval, said) in [
        (Nanos::from_micros(99), "99 µs"),
        (Nanos::from_secs(2), "2 s"),
        (Nanos::new(250_500), "250500ns"),
    ] {
        let why = refused(interval, "0-3").unwrap();
        let reason = "the timerlat tracer takes whole microseconds from 100 µs to 1 s";
        assert_eq!(why, format!("--interval {said}: {reason}"));
    }
    let why = refused(Nanos::from_millis(1), &odd).unwrap();
    assert!(why.starts_with("--cpus 1,3,"), "{why}");
    // What is set already is in no name.
    assert_eq!(refused(Nanos::from_millis(1), &even), None);
}
