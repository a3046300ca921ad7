// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What must hold of whatever is read of a run directory: an error that can be shown, or content that is no
//! larger than the record leads one to expect.
#![allow(
    dead_code,
    clippy::allow_attributes,
    reason = "each target uses a part"
)]

use std::error::Error;

use punctual_model::RunRecord;
use punctual_peers::export::{self as peers, MicroCounts};
use punctual_report::document::{Document, Material, RunItem};
use punctual_report::text::{self, Detail};
use punctual_report::{export, html, markdown};
use punctual_stats::{HlogLimits, ThreadHistogram, read_hlog_within, write_hlog};
use punctual_store::decode;

/// A record of a second and two samples.
const RECORD: &str = include_str!("run.json");

/// Samples that a record of two may have, and events that one of a second may have.
const MOST: usize = 2_000;

fn record() -> RunRecord {
    serde_json::from_str(RECORD).expect("a record of ours")
}

fn can_be_shown(err: &dyn Error) {
    let text = err.to_string();
    assert!(
        !text.is_empty() && text.len() < 1_000,
        "an error is one line: {text:?}"
    );
}

/// The bytes as they are, or packed: no random bytes pass the checksum of zstd.
fn packed(bytes: &[u8]) -> Vec<u8> {
    match bytes.split_first() {
        Some((1, content)) => zstd::encode_all(content, 1).expect("packed"),
        _ => bytes.to_vec(),
    }
}

/// Reads an interval log.
pub(crate) fn hlog(bytes: &[u8]) {
    let limits = HlogLimits {
        entries: 100,
        bytes: 8 << 20,
    };
    let log = match read_hlog_within(&mut &bytes[..], limits) {
        Ok(log) => log,
        Err(err) => return can_be_shown(&err),
    };
    assert!(log.entries.len() <= limits.entries);
    let memory = log
        .entries
        .iter()
        .map(|entry| entry.histogram.memory_bytes() as u64);
    assert!(memory.sum::<u64>() <= limits.bytes);
    let mut all = punctual_stats::LatencyHistogram::default();
    for entry in &log.entries {
        let histogram = &entry.histogram;
        let counted: u64 = histogram.buckets().map(|bucket| bucket.count).sum();
        assert_eq!(counted, histogram.count(), "every value is in a bucket");
        if let (Some(min), Some(max), Some(half)) =
            (histogram.min(), histogram.max(), histogram.quantile(0.5))
        {
            assert!(min <= max && half <= max, "extremes are in order");
        }
        all.merge(histogram);
    }
    // A tag that cannot be written is an error there.
    let mut again = Vec::new();
    let start = std::time::UNIX_EPOCH;
    if write_hlog(&mut again, start, &log.entries).is_ok() {
        let read = read_hlog_within(&mut &again[..], HlogLimits::default());
        let read = read.expect("what was written is read");
        let counts = |log: &punctual_stats::HistogramLog| -> Vec<u64> {
            log.entries
                .iter()
                .map(|entry| entry.histogram.count())
                .collect()
        };
        assert_eq!(counts(&read), counts(&log));
    }
    shown(record(), &log);
}

/// Reads samples.
pub(crate) fn samples(bytes: &[u8]) {
    let bytes = packed(bytes);
    let samples = decode::samples(&bytes[..], &record()).expect("memory for zstd");
    let mut read = 0;
    for sample in samples {
        match sample {
            Ok(_) => read += 1,
            Err(err) => can_be_shown(&err),
        }
    }
    assert!(read <= MOST, "{read} samples");
}

/// Reads events.
pub(crate) fn events(bytes: &[u8]) {
    let bytes = packed(bytes);
    let events = decode::events(&bytes[..], &record()).expect("memory for zstd");
    let mut read = 0;
    for event in events {
        read += 1;
        if let Err(err) = event {
            can_be_shown(&err);
        }
    }
    assert!(read <= MOST, "{read} events");
}

/// Reads a record, and prints it in every form.
pub(crate) fn record_(bytes: &[u8]) {
    if let Err(why) = decode::parts(bytes) {
        assert!(why.len() < 1_000);
        return;
    }
    let record: RunRecord = match serde_json::from_slice(bytes) {
        Ok(record) => record,
        Err(err) => return can_be_shown(&err),
    };
    let log = punctual_stats::HistogramLog {
        start: None,
        entries: Vec::new(),
    };
    shown(record, &log);
}

/// Prints a run in every form.
fn shown(record: RunRecord, log: &punctual_stats::HistogramLog) {
    let text = text::run(record.clone().into(), 80, Detail::Full);
    assert!(
        !text.contains('\u{1b}'),
        "nothing reaches the terminal's controls"
    );
    let mut out = Vec::new();
    drop(export::json_run(&record, &mut out));
    drop(export::csv_summary(&record, &mut out));
    drop(export::csv_figures(&record, &mut out));
    // What the record counts, in few rows: each is a line.
    let counts = record.series.iter().map(|series| MicroCounts {
        buckets: vec![(3, series.count), (9, series.count)],
        beyond: series.clamped.unwrap_or(0),
    });
    let counts: Vec<MicroCounts> = counts.collect();
    for write in [
        peers::cyclictest_histogram,
        peers::cyclictest_json,
        peers::jitterdebugger,
        peers::rteval,
    ] {
        drop(write(&record, &counts, &mut out));
    }
    let parts = log.entries.iter().map(|entry| ThreadHistogram {
        thread: Some(0),
        context: None,
        histogram: entry.histogram.clone(),
    });
    let material = Material {
        runs: vec![RunItem {
            record,
            parts: parts.collect(),
            maxima: Vec::new(),
            group: None,
        }],
        ..Material::default()
    };
    let document = Document::new(&material);
    drop(html::page(&document));
    drop(markdown::page(&document));
}
