// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Constructed records.
#![expect(clippy::unwrap_used, reason = "test helpers")]
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses a part"
)]

use std::convert::Infallible;

use punctual_model::{
    Check, Clock, Ended, HostFacts, Interval, Misses, Nanos, Pin, Policy, RUN_FORMAT, RunRecord,
    RunSpec, Series, ThreadSample, TimerKind,
};

pub(crate) fn sample(thread: u32, t_ns: u64, latency_ns: u64) -> ThreadSample {
    ThreadSample {
        thread,
        t_ns,
        latency_ns,
        cpu: thread,
    }
}

pub(crate) fn samples(n: u64) -> impl Iterator<Item = Result<ThreadSample, Infallible>> {
    (0..n).map(|i| {
        let thread = u32::try_from(i % 2).unwrap();
        Ok(sample(thread, i * 500_000, 1_000 + i * i % 977))
    })
}

/// A valid run of two threads.
pub(crate) fn run() -> RunRecord {
    RunRecord {
        format: RUN_FORMAT.to_owned(),
        id: "019aa0f0-1234-7abc-8def-0123456789ab".to_owned(),
        valid: true,
        checks: vec![
            Check::pass("policy", "2 threads read back as asked"),
            Check::pass("lost-samples", "0 samples found the ring full"),
            Check::pass("steal", "0 ms of steal time"),
        ],
        instrument: "wakeup".to_owned(),
        name: Some("idle".to_owned()),
        note: None,
        program: "punctual 0.1.0".to_owned(),
        origin: None,
        guest: None,
        spec: Some(spec()),
        host: HostFacts {
            hostname: Some("bench".to_owned()),
            kernel_release: Some("6.12.9-rt8".to_owned()),
            architecture: Some("x86_64".to_owned()),
            preemption: Some("full (/sys/kernel/realtime)".to_owned()),
            preempt_rt: Some(true),
            cpu_model: Some("Example CPU @ 2.10GHz".to_owned()),
            cpus_online: "0-3".parse().unwrap(),
            cpus_isolated: "0-1".parse().unwrap(),
            clocksource: Some("tsc".to_owned()),
            memory_bytes: Some(16 << 30),
            ..HostFacts::default()
        },
        started: Some("2026-11-20T09:35:48.123456789Z".to_owned()),
        duration_ns: Some(Nanos::from_secs(60)),
        ended: Some(Ended::Completed),
        series: vec![series(0), series(1)],
        total: Series {
            thread: None,
            cpu: None,
            policy: None,
            interval_ns: None,
            count: 100_000,
            ..series(0)
        },
        watched: None,
        tasks: None,
        threshold: None,
        precision: Vec::new(),
        setup: None,
        figures: Vec::new(),
        findings: Vec::new(),
        tags: std::collections::BTreeMap::new(),
        requirements: Vec::new(),
        loads: Vec::new(),
    }
}

pub(crate) fn series(thread: u32) -> Series {
    let late = u64::from(thread) * 400;
    let interval = |low: f64, high: f64| {
        Some(Interval {
            low,
            high,
            confidence: 0.95,
        })
    };
    Series {
        thread: Some(thread),
        cpu: Some(thread),
        policy: Some("f:80".to_owned()),
        interval_ns: Some(Nanos::from_millis(1)),
        count: 50_000,
        min_ns: Some(1_012 + late),
        max_ns: Some(41_870 + late),
        mean_ns: Some(2_310.25),
        stddev_ns: Some(812.5),
        skewness: Some(3.25),
        excess_kurtosis: Some(41.125),
        quantiles_ns: [
            ("p50", Some(2_101)),
            ("p99", Some(9_407 + late)),
            ("p99.9", Some(22_015)),
            ("p99.999", None),
        ]
        .map(|(name, ns)| (name.to_owned(), ns))
        .into(),
        quantile_relative_error: Some(0.000_977),
        psquare_ns: [
            ("p5", 1_400.0),
            ("p50", 2_100.5),
            ("p95", 5_000.0),
            ("p99", 9_400.75),
        ]
        .map(|(name, ns)| (name.to_owned(), Some(ns)))
        .into(),
        psquare_shares: [("p5", 0.05), ("p50", 0.5), ("p95", 0.96), ("p99", 0.98)]
            .map(|(name, share)| (name.to_owned(), Some(share)))
            .into(),
        mean_interval_ns: interval(2_290.25, 2_330.25),
        quantile_intervals_ns: [
            ("p50".to_owned(), interval(2_090.0, 2_110.0)),
            ("p99".to_owned(), interval(9_200.0, 9_650.0)),
            ("p99.9".to_owned(), None),
        ]
        .into(),
        effective_samples: Some(31_234.5),
        tail_effective_samples: None,
        too_short: [].into(),
        context: None,
        overruns: Some(0),
        lost: Some(0),
        clamped: Some(0),
        warm_up_samples: Some(1_000),
        misses: Vec::new(),
    }
}

pub(crate) fn misses(pairs: &[(u64, u64)]) -> Vec<Misses> {
    pairs
        .iter()
        .map(|&(us, count)| Misses {
            deadline_ns: Nanos::from_micros(us),
            count,
            overruns: 0,
            effective: None,
        })
        .collect()
}

fn spec() -> RunSpec {
    RunSpec {
        threads: 2,
        cpus: "0-1".parse().unwrap(),
        pin: Pin::Each,
        priority: Policy::Fifo { priority: 80 },
        priority_spread: false,
        interval_ns: Nanos::from_millis(1),
        distance_ns: Nanos::ZERO,
        duration_ns: Some(Nanos::from_secs(60)),
        samples: None,
        warm_up_ns: Nanos::from_secs(1),
        timer: TimerKind::Nanosleep,
        clock: Clock::Monotonic,
        dma_latency_ns: Some(Nanos::ZERO),
        mlock: true,
        housekeeping: "2-3".parse().unwrap(),
        raw: false,
        until: Vec::new(),
        on_threshold_ns: None,
        deadlines_ns: Vec::new(),
        loads: Vec::new(),
    }
}
