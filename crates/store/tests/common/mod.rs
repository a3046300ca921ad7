// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the tests of the store share.
#![expect(clippy::unwrap_used, reason = "test helpers")]
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each test file uses a part"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use punctual_model::{
    Clock, Ended, Event, HostFacts, Nanos, Pin, Policy, RUN_FORMAT, RunRecord, RunSpec, Sample,
    Series, TimerKind,
};
use punctual_store::{Raw, Store};
use uuid::Uuid;

pub(crate) fn id(n: u64) -> Uuid {
    format!("019aa000-0000-7000-8000-{n:012x}").parse().unwrap()
}

pub(crate) fn record(id: Uuid) -> RunRecord {
    let series = Series {
        count: 2,
        min_ns: Some(1_000),
        max_ns: Some(3_000),
        mean_ns: Some(2_000.5),
        quantiles_ns: [("p50".to_owned(), Some(1_000)), ("p99".to_owned(), None)].into(),
        ..Series::default()
    };
    RunRecord {
        format: RUN_FORMAT.to_owned(),
        id: id.to_string(),
        valid: true,
        checks: Vec::new(),
        instrument: "wakeup".to_owned(),
        name: None,
        note: None,
        program: "punctual 0.1.0".to_owned(),
        origin: None,
        guest: None,
        spec: Some(spec()),
        host: HostFacts {
            hostname: Some("bench".to_owned()),
            kernel_release: Some("6.12.9-rt8".to_owned()),
            ..HostFacts::default()
        },
        started: Some("2026-11-20T09:35:48.123456789Z".to_owned()),
        duration_ns: Some(Nanos::from_secs(1)),
        ended: Some(Ended::Completed),
        series: vec![Series {
            thread: Some(0),
            ..series.clone()
        }],
        total: series,
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

fn spec() -> RunSpec {
    RunSpec {
        threads: 1,
        cpus: "0".parse().unwrap(),
        pin: Pin::Each,
        priority: Policy::Fifo { priority: 80 },
        priority_spread: false,
        interval_ns: Nanos::from_millis(1),
        distance_ns: Nanos::ZERO,
        duration_ns: None,
        samples: Some(2),
        warm_up_ns: Nanos::ZERO,
        timer: TimerKind::Nanosleep,
        clock: Clock::Monotonic,
        dma_latency_ns: Some(Nanos::ZERO),
        mlock: true,
        housekeeping: "1".parse().unwrap(),
        raw: false,
        until: Vec::new(),
        on_threshold_ns: None,
        deadlines_ns: Vec::new(),
        loads: Vec::new(),
    }
}

pub(crate) fn samples(n: u32) -> Vec<Sample> {
    (0..n)
        .map(|i| Sample {
            t_ns: u64::from(i) * 1_000_000,
            latency_ns: u64::from(i * i % 977),
            cpu: i % 2,
            skipped: i % 3,
        })
        .collect()
}

pub(crate) fn started(id: Uuid) -> Event {
    Event::Started {
        id: id.to_string(),
        threads: 1,
    }
}

/// Writes a whole run with raw samples and an artifact.
pub(crate) fn write_run(store: &Store, record: &RunRecord) -> PathBuf {
    let id = record.id.parse().unwrap();
    let mut writer = store.begin(id, Raw::Keep).unwrap();
    writer.event(&started(id)).unwrap();
    writer.samples(0, &samples(3)).unwrap();
    writer.artifact("latency.hlog", b"# log\n").unwrap();
    writer.finish(record).unwrap()
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A small file system of its own, unmounted when dropped.
#[derive(Debug)]
pub(crate) struct Tmpfs {
    dir: tempfile::TempDir,
}

impl Tmpfs {
    /// Returns `None` where mounting is not permitted, unless the environment says that it must be.
    pub(crate) fn mount(size: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let ok = mount(
            &["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"],
            dir.path(),
        );
        let required = std::env::var("PUNCTUAL_TEST_REQUIRE").unwrap_or_default();
        assert!(
            ok || !required.contains("root"),
            "cannot mount a tmpfs, but PUNCTUAL_TEST_REQUIRE={required}"
        );
        ok.then_some(Self { dir })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn make_read_only(&self) {
        assert!(mount(&["-o", "remount,ro"], self.path()));
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let done = Command::new("umount").arg("-l").arg(self.path()).status();
        assert!(
            done.unwrap().success(),
            "{} stays mounted",
            self.path().display()
        );
    }
}

fn mount(args: &[&str], at: &Path) -> bool {
    Command::new("mount")
        .args(args)
        .arg(at)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
