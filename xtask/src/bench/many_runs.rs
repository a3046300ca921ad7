// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Stores of many runs: how long a comparison and a list take, from exec to exit.
//!
//! The runs are made up, nothing is measured, but they are written as a measurement writes them: whole run directories
//! with a record and an `HdrHistogram` log, through the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use anyhow::bail;
use punctual_model::{Ended, HostFacts, Nanos, RUN_FORMAT, RunRecord, Series};
use punctual_stats::{LatencyHistogram, RandomSource, TaggedHistogram, write_hlog};
use punctual_store::{Raw, Store};

use super::budget::{Outcome, Pair};
use super::context::Context;
use super::program;

/// The file in which a run keeps its histograms.
const HISTOGRAM_LOG: &str = "latency.hlog";

/// Different samples of a run; each stands for [`WEIGHT`].
const DRAWN: usize = 100_000;
const WEIGHT: u64 = 100;

/// Two groups of 20 runs of 10 million samples each. `p99.95` and `above:100us` are in no record: the histogram of every
/// run is read and searched, in addition to four figures of the records.
pub(crate) fn compare(context: &Context) -> anyhow::Result<Outcome> {
    let home = Made::new(context, "compare-home")?;
    let store = Store::open(&home.0)?;
    for number in 0..40 {
        let side = if number % 2 == 0 { "a" } else { "b" };
        write(&store, number, side, WEIGHT)?;
    }
    let call = [
        "compare",
        "--group=tag=side=a",
        "--group=tag=side=b",
        "--metric=p50,p99,p99.9,max,p99.95,above:100us",
        "--interval=hierarchical",
    ];
    context.note(
        "2 groups of 20 runs of 10 000 000 samples, 6 figures, 2 of them from the histograms",
    );
    timed(context, &home.0, &call, "side=a: 20 runs")
}

/// A store of 1,000 runs, indexed before.
pub(crate) fn list(context: &Context) -> anyhow::Result<Outcome> {
    let home = Made::new(context, "list-home")?;
    let store = Store::open(&home.0)?;
    let runs = 1_000;
    for number in 0..runs {
        write(&store, number, "a", 1)?;
    }
    let first = timed(context, &home.0, &["runs", "list"], "019b")?;
    if let Outcome::Measured { pairs, .. } = &first
        && let Some(first) = pairs.first()
    {
        context.note(&format!(
            "{runs} runs; the first list, which makes the index: {:.0} ms",
            first.ours / 1e6
        ));
    }
    timed(context, &home.0, &["runs", "list"], "019b")
}

/// How long a call takes, several times; what it prints must hold `word`.
fn timed(context: &Context, home: &Path, call: &[&str], word: &str) -> anyhow::Result<Outcome> {
    let rounds = if context.quick { 3 } else { 15 };
    let mut pairs = Vec::new();
    for _ in 0..rounds {
        let mut command = Command::new(&context.punctual);
        command.env("PUNCTUAL_HOME", home).args(call);
        let finished = program::finish(context, &mut command)?;
        if !finished.stdout.contains(word) {
            bail!("punctual {} printed no `{word}`", call.join(" "));
        }
        pairs.push(Pair {
            ours: finished.wall.as_secs_f64() * 1e9,
            theirs: None,
        });
    }
    context.note(&format!("{rounds} calls"));
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

/// A store that is removed with this.
struct Made(PathBuf);

impl Made {
    fn new(context: &Context, name: &str) -> anyhow::Result<Self> {
        let home = context.output.join(name);
        fs::remove_dir_all(&home).ok();
        fs::create_dir_all(&home)?;
        Ok(Self(home))
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Writes run `number`: lognormal latencies about 20 µs with a heavy tail, boots that differ by 5 %.
fn write(store: &Store, number: u64, side: &str, weight: u64) -> anyhow::Result<()> {
    let mut source = RandomSource::new(number);
    let boot = (0.05 * source.normal()).exp();
    let mut histogram = LatencyHistogram::new(1 << 40);
    // A long run has every bucket that it needs; a list does not look at any.
    let drawn = if weight == 1 { 1_000 } else { DRAWN };
    for _ in 0..drawn {
        let tail = match source.uniform() < 0.005 {
            true => 2.0 * source.uniform().powf(-1.0 / 3.0),
            false => 1.0,
        };
        let us = 20.0 * boot * (0.2 * source.normal()).exp() * tail;
        histogram.record_n(whole(us * 1e3), weight);
    }
    let id = format!("019b0000-0000-7000-8000-{number:012x}");
    let (minute, second) = (number / 60, number % 60);
    let record = record(
        id,
        &histogram,
        side,
        format!(
            "2026-01-01T{:02}:{:02}:{second:02}Z",
            minute / 60,
            minute % 60
        ),
    );
    let mut log = Vec::new();
    let entries = [TaggedHistogram {
        tag: Some("thread-0".to_owned()),
        start: Duration::ZERO,
        duration: Duration::from_secs(10_000),
        histogram,
    }];
    write_hlog(&mut log, SystemTime::UNIX_EPOCH, &entries)?;
    let mut writer = store.begin(record.id.parse()?, Raw::Drop)?;
    writer.artifact(HISTOGRAM_LOG, &log)?;
    writer.finish(&record)?;
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "made-up latencies are positive and saturate"
)]
fn whole(ns: f64) -> u64 {
    ns as u64
}

fn record(id: String, histogram: &LatencyHistogram, side: &str, started: String) -> RunRecord {
    let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
    let total = Series {
        count: histogram.count(),
        min_ns: histogram.min(),
        max_ns: histogram.max(),
        quantiles_ns: quantiles
            .iter()
            .map(|(name, q)| ((*name).to_owned(), histogram.quantile(*q)))
            .collect(),
        ..Series::default()
    };
    RunRecord {
        guest: None,
        format: RUN_FORMAT.to_owned(),
        id,
        valid: true,
        checks: Vec::new(),
        instrument: "wakeup".to_owned(),
        name: Some("made-up".to_owned()),
        note: None,
        program: "punctual xtask bench".to_owned(),
        origin: None,
        spec: None,
        host: HostFacts::default(),
        started: Some(started),
        duration_ns: Some(Nanos::from_secs(10_000)),
        ended: Some(Ended::Completed),
        series: vec![Series {
            thread: Some(0),
            ..total.clone()
        }],
        total,
        watched: None,
        tasks: None,
        threshold: None,
        precision: Vec::new(),
        setup: None,
        figures: Vec::new(),
        findings: Vec::new(),
        tags: BTreeMap::from([("side".to_owned(), side.to_owned())]),
        requirements: Vec::new(),
        loads: Vec::new(),
    }
}
