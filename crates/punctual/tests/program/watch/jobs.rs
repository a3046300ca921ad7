// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A `SCHED_DEADLINE` loop that ends its jobs with `sched_yield`, and a thread that never waits.

use super::{late_loop, watched};
use crate::common::{Home, finish, machine};

#[test]
fn a_job_that_used_up_its_runtime_is_late_by_its_own_doing() {
    let policy = punctual_model::Policy::Deadline {
        runtime: punctual_model::Nanos::from_millis(1),
        period: punctual_model::Nanos::from_millis(4),
    };
    if punctual_sys::sched::tried(policy, None).is_err() {
        return machine::skip("deadline", "SCHED_DEADLINE is not for us here");
    }
    let home = Home::alone();
    let Some(seen) = watched(&home, "used-up-runtime", 400) else {
        return;
    };
    assert_eq!((seen.cycles, seen.strikes), (400, 16));
    let thread = &seen.thread;
    // The last job has no end.
    assert_eq!(thread["cycles"], 399, "{thread:#}");
    assert_eq!(thread["cycle_at"], "sched_yield");
    // The kernel sets the timer of the next job on a clock that is not quite that of the trace.
    let period = thread["period_ns"].as_u64().unwrap();
    assert!(period.abs_diff(4_000_000) < 40_000, "{period} ns");
    assert_eq!(thread["policy"], "d:1000000ns:4000000ns");
    seen.is_first("throttling", None);
    seen.is_counted("throttling", 3);
    let planted = seen.planted("throttling");
    assert!(
        planted["what"].as_str().unwrap().contains("runtime"),
        "{planted:#}"
    );
    // It yields where it ought to.
    let habits = seen.record["watched"]["habits"].as_array().unwrap();
    assert!(habits.iter().all(|h| h["rule"]["id"] != "yield-in-cycle"));
}

#[test]
fn a_real_time_thread_that_never_waits_is_not_passed_over() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    for threads in [None, Some("loop")] {
        let mut command = home.command(["watch", "--quiet", "--json", "--duration", "2s"]);
        command.args(threads.iter().flat_map(|name| ["--threads", name]));
        // Its hog has a real-time policy, and spins below the loop.
        command
            .arg("--")
            .arg(late_loop())
            .args(["throttling", "100000"]);
        let record = finish(command).record();
        let checks = record["checks"].as_array().unwrap();
        let waits = checks.iter().find(|check| check["id"] == "waits");
        match threads {
            None => {
                let waits = waits.unwrap_or_else(|| panic!("{checks:#?}"));
                assert_eq!(waits["status"], "fail");
                let detail = waits["detail"].as_str().unwrap();
                assert!(detail.contains("hog (real-time 10)"), "{detail}");
            }
            Some(_) => assert!(waits.is_none(), "{waits:?}"),
        }
    }
}
