// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Stalls made up, and what they must and must not be called.

use super::*;
use punctual_model::Certainty;

const FIFO: Policy = Policy::Fifo { priority: 99 };

fn limit(runtime_us: i64) -> Budget {
    Budget {
        runtime_us,
        period_us: 1_000_000,
    }
}

/// A kernel with a budget for each group, this one in the root group.
fn grouped(system: i64, group: i64) -> Budgets {
    Budgets {
        system: Some(limit(system)),
        groups: vec![("/sys/fs/cgroup/cpu".to_owned(), limit(group))],
        server: FairServer::Absent,
        hidden: false,
    }
}

/// Stalls of `lost_ms` each `every_ms`, with the jitter that ticks and a hypervisor bring.
fn regular(count: u64, lost_ms: u64, every_ms: u64) -> Vec<Stall> {
    (1..=count)
        .map(|n| Stall {
            at: Nanos::from_millis(n * every_ms + n % 3),
            lost: Nanos::from_millis(lost_ms + n % 4),
            off_cpu: Nanos::from_millis(lost_ms + n % 4),
        })
        .collect()
}

fn cpu(idle_ms: u64, others_ms: u64, stolen_ms: u64) -> Option<CpuTime> {
    Some(CpuTime {
        idle: Nanos::from_millis(idle_ms),
        others: Nanos::from_millis(others_ms),
        stolen: Nanos::from_millis(stolen_ms),
    })
}

struct Case {
    stalls: Vec<Stall>,
    budgets: Budgets,
    waiting: Waiting,
    cpu: Option<CpuTime>,
    fair_server: FairServer,
    undisturbed: Nanos,
    policy: Policy,
}

impl Case {
    /// Ten seconds of throttling on a CPU that nobody else wants.
    fn throttled() -> Self {
        Self {
            stalls: regular(10, 50, 1_000),
            budgets: grouped(950_000, 950_000),
            waiting: Waiting::default(),
            cpu: cpu(490, 10, 0),
            fair_server: FairServer::Assumed,
            undisturbed: Nanos::from_millis(10),
            policy: FIFO,
        }
    }

    /// Ten seconds with the budget open and an ordinary thread confined to the CPU.
    fn served() -> Self {
        Self {
            budgets: grouped(1_000_000, 1_000_000),
            waiting: Waiting::of(20, 20, "load/cpu"),
            cpu: cpu(0, 500, 0),
            ..Self::throttled()
        }
    }

    fn findings(&self) -> Vec<Finding> {
        findings(&Evidence {
            thread: 0,
            policy: self.policy,
            stalls: &self.stalls,
            dropped: 0,
            undisturbed: self.undisturbed,
            span: Nanos::from_secs(10),
            ran: Nanos::from_millis(9_490),
            cpu: self.cpu,
            budgets: &self.budgets,
            fair_server: self.fair_server,
            waiting: &self.waiting,
        })
    }

    /// Returns the name that is given to the stalls, if one is.
    fn name(&self) -> Option<String> {
        let findings = self.findings();
        assert_eq!(findings[0].id, STALLS);
        assert_eq!(findings[0].certainty, Certainty::Observed);
        assert!(findings.len() <= 2, "{findings:?}");
        let unnamed = findings.len() == 1 && self.policy.is_real_time();
        assert_eq!(
            findings[0].detail.contains("sched_rt_runtime_us"),
            unnamed,
            "the limits are in one of the findings: {findings:?}"
        );
        let named = findings.get(1)?;
        assert_eq!(named.certainty, Certainty::Inferred, "{named:?}");
        Some(named.id.clone())
    }
}

#[test]
fn throttling_of_an_idle_cpu_is_named_with_its_evidence() {
    let case = Case::throttled();
    assert_eq!(case.name().unwrap(), THROTTLING);
    let text = &case.findings()[1].detail;
    for part in [
        "10 stalls",
        "1.00 s apart",
        "94.9 %",
        "950000",
        "/sys/fs/cgroup/cpu",
        "idle",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

#[test]
fn idle_time_tells_throttling_from_the_fair_server_also_where_a_thread_is_stuck() {
    // A kernel thread of the CPU waits all the time, and uses next to nothing.
    let mut case = Case::throttled();
    case.waiting = Waiting::of(20, 18, "kworker/0:1");
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn threads_that_came_for_the_throttled_time_alone_are_no_reason_for_the_fair_server() {
    let mut case = Case::throttled();
    case.cpu = cpu(10, 480, 0);
    case.waiting = Waiting::of(20, 3, "load/cpu");
    assert_eq!(case.name().unwrap(), THROTTLING);
    // A thread that is not pinned has no CPU whose time could be looked at.
    case.cpu = None;
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn the_fair_server_is_named_where_throttling_is_off_and_a_thread_is_stuck() {
    let case = Case::served();
    assert_eq!(case.name().unwrap(), FAIR_SERVER);
    let text = &case.findings()[1].detail;
    for part in [
        "load/cpu",
        "20 of 20 samples",
        "throttling is off",
        "1000000",
        "cannot be read here",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
}

#[test]
fn without_a_stuck_thread_the_fair_server_is_not_named() {
    let mut case = Case::served();
    case.waiting = Waiting::of(20, 3, "load/cpu");
    assert_eq!(case.name(), None);
    case.waiting = Waiting::default();
    assert_eq!(case.name(), None);
    // Nor where the CPU idled: then nobody was served.
    let mut idle = Case::served();
    idle.cpu = cpu(500, 0, 0);
    assert_eq!(idle.name(), None);
}

#[test]
fn where_both_fit_neither_is_claimed_alone() {
    let mut case = Case::served();
    case.budgets = grouped(950_000, 950_000);
    assert_eq!(case.name().unwrap(), EITHER);
}

#[test]
fn a_group_decides_where_the_system_is_open_and_not_the_other_way_round() {
    let mut case = Case::throttled();
    case.budgets = grouped(1_000_000, 950_000);
    assert_eq!(case.name().unwrap(), THROTTLING);
    // Since 6.12 the system's limit alone throttles nobody.
    case.budgets = Budgets {
        system: Some(limit(950_000)),
        ..Budgets::default()
    };
    assert_eq!(case.name(), None);
    // Before that it did, and there was no fair server.
    case.fair_server = FairServer::Absent;
    case.cpu = cpu(0, 490, 0);
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn other_budgets_have_other_stalls() {
    let mut case = Case::throttled();
    case.budgets = grouped(800_000, 800_000);
    assert_eq!(case.name(), None, "stalls of 50 ms are not those of 200 ms");
    case.stalls = regular(10, 200, 1_000);
    case.cpu = cpu(1_900, 0, 0);
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn what_the_hypervisor_took_is_not_the_kernels() {
    let mut case = Case::throttled();
    case.cpu = cpu(0, 0, 480);
    assert_eq!(case.name(), None);
}

#[test]
fn stalls_without_the_period_or_the_length_have_no_name() {
    let mut case = Case::throttled();
    for stalls in [
        // At random times.
        [
            130, 970, 2_280, 2_900, 4_420, 5_710, 6_250, 8_550, 9_110, 9_720,
        ]
        .map(|ms| Stall {
            at: Nanos::from_millis(ms),
            lost: Nanos::from_millis(50),
            off_cpu: Nanos::from_millis(50),
        })
        .to_vec(),
        // Far more often, and far more seldom, than once a period.
        regular(50, 50, 200),
        regular(3, 50, 3_000),
        // Of another length.
        regular(10, 5, 1_000),
        regular(10, 150, 1_000),
        // So few show no period.
        regular(2, 50, 1_000),
    ] {
        case.stalls = stalls;
        assert_eq!(case.name(), None, "{:?}", case.stalls);
    }
}

#[test]
fn other_stalls_beside_do_not_hide_the_pattern() {
    let mut case = Case::throttled();
    let noise = (0..40).map(|n| Stall {
        at: Nanos::from_millis(37 + n * 241),
        lost: Nanos::from_millis(1 + n % 9),
        off_cpu: Nanos::from_millis(1 + n % 9),
    });
    case.stalls.extend(noise);
    case.stalls.sort_by_key(|s| s.at);
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn a_cpu_that_is_slow_for_seconds_does_not_hide_the_pattern() {
    let mut case = Case::throttled();
    // Each iteration takes twice as long, and the thread has the CPU all the while.
    let slow = (0..400).map(|n| Stall {
        at: Nanos::from_millis(3_000 + n * 10),
        lost: Nanos::from_millis(10),
        off_cpu: Nanos::new(70_000),
    });
    case.stalls.extend(slow);
    case.stalls.sort_by_key(|s| s.at);
    assert_eq!(case.name().unwrap(), THROTTLING);
    let text = &case.findings()[1].detail;
    assert!(text.contains("10 stalls, 1.00 s apart"), "{text}");
}

#[test]
fn a_cpu_that_is_slow_once_a_period_is_not_throttled() {
    let mut case = Case::throttled();
    case.stalls
        .iter_mut()
        .for_each(|stall| stall.off_cpu = Nanos::new(20_000));
    assert_eq!(case.name(), None);
    let text = &case.findings()[0].detail;
    assert!(text.contains("off the CPU for 200 µs"), "{text}");
}

#[test]
fn stalls_in_pieces_are_one() {
    let mut case = Case::throttled();
    case.stalls = regular(10, 50, 1_000)
        .into_iter()
        .flat_map(|stall| {
            let piece = |before_ms, lost_ms| Stall {
                at: stall.at - Nanos::from_millis(before_ms),
                lost: Nanos::from_millis(lost_ms),
                off_cpu: Nanos::from_millis(lost_ms),
            };
            [piece(120, 13), piece(40, 20), piece(0, 17)]
        })
        .collect();
    assert_eq!(case.name().unwrap(), THROTTLING);
}

#[test]
fn iterations_as_long_as_the_period_show_nothing() {
    let mut case = Case::throttled();
    case.undisturbed = Nanos::from_millis(900);
    assert_eq!(case.name(), None);
}

#[test]
fn an_ordinary_thread_is_not_throttled() {
    let mut case = Case::throttled();
    case.policy = Policy::Other { nice: 0 };
    assert_eq!(case.name(), None);
}

#[test]
fn no_stall_no_finding() {
    let mut case = Case::throttled();
    case.stalls.clear();
    assert_eq!(case.findings(), []);
}
