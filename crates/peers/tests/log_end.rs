// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What follows the samples of `cyclictest -v`: cyclictest ends without printing the last of them.

use std::collections::BTreeMap;
use std::error::Error as StdError;

use punctual_model::{Ended, Sample};
use punctual_peers::{Format, ImportError, Imported, Labels, SampleSink, import};

/// Keeps the latencies of each thread in µs.
#[derive(Default)]
struct Kept(BTreeMap<u32, Vec<u64>>);

impl SampleSink for Kept {
    fn samples(
        &mut self,
        thread: u32,
        samples: &[Sample],
    ) -> Result<(), Box<dyn StdError + Send + Sync>> {
        let us = samples.iter().map(|sample| sample.latency_ns / 1_000);
        self.0.entry(thread).or_default().extend(us);
        Ok(())
    }
}

/// Reads a log of two threads with the values 10 to 13 and 20 to 22, and `end` behind them.
fn read(end: &str) -> Result<(Imported, Kept), ImportError> {
    announced(&[], end)
}

/// Reads the same behind the intervals that are announced.
fn announced(intervals: &[u64], end: &str) -> Result<(Imported, Kept), ImportError> {
    let head = intervals.iter().enumerate();
    let head: String = head
        .map(|(thread, us)| format!("Thread {thread} Interval: {us}\n"))
        .collect();
    let samples = |thread: u64, n: u64, first: u64| -> String {
        let line = |cycle| format!("{thread:8}:{cycle:8}:{:8}\n", first + cycle);
        (0..n).map(line).collect()
    };
    let text = format!("{head}{}{}{end}", samples(0, 4, 10), samples(1, 3, 20));
    let mut kept = Kept::default();
    let imported = import(text.as_bytes(), Format::CyclictestLog, None, &mut kept)?;
    Ok((imported, kept))
}

fn line(thread: u64, cycles: u64, min: u64, max: u64) -> String {
    format!(
        "T: {thread} ({:5}) P:80 I:{} C:{cycles:7} Min:{min:7} Act:   12 Avg:   12 Max:{max:8}\n",
        6_202 + thread,
        500 * (thread + 1),
    )
}

#[test]
fn a_log_that_is_whole_has_lost_none() {
    let (imported, _) = read(&(line(0, 4, 10, 13) + &line(1, 3, 20, 22))).unwrap();
    let total = imported.record(Labels::default()).unwrap().total;
    assert_eq!((total.count, total.lost), (7, Some(0)));
    assert!(imported.stated.iter().all(|text| !text.contains("lacks")));
}

#[test]
fn samples_that_were_not_printed_are_lost_and_said() {
    let (imported, kept) = read(&(line(0, 4, 10, 13) + &line(1, 14, 20, 22))).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let lost: Vec<_> = record.series.iter().map(|s| (s.count, s.lost)).collect();
    assert_eq!(lost, [(4, Some(0)), (3, Some(11))]);
    assert_eq!((record.total.count, record.total.lost), (7, Some(11)));
    assert_eq!(record.total.max_ns, Some(22_999));
    let said = "thread 1: the log lacks the last 11 of 14 samples";
    assert!(
        imported.stated.contains(&said.to_owned()),
        "{:?}",
        imported.stated
    );
    assert_eq!(kept.0[&1], [20, 21, 22]);
}

/// The extremes of all samples are in the summary, and so those of two that were not printed.
#[test]
fn an_extreme_that_only_the_summary_has_is_a_sample() {
    let (imported, kept) = read(&(line(0, 4, 10, 13) + &line(1, 14, 5, 1_699))).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let series = &record.series[1];
    assert_eq!((series.count, series.lost), (5, Some(9)));
    assert_eq!(
        (series.min_ns, series.max_ns),
        (Some(5_000), Some(1_699_999))
    );
    assert_eq!(kept.0[&1], [20, 21, 22, 1_699, 5]);
    let said = "thread 1: the log lacks the last 11 of 14 samples; the largest, 1699 µs, was added; \
                the smallest, 5 µs, was added";
    assert!(
        imported.stated.contains(&said.to_owned()),
        "{:?}",
        imported.stated
    );
    // One sample is both, where there is no other: then the thread is announced alone.
    let third = line(2, 1, 9, 9);
    let summed = line(0, 4, 10, 13) + &line(1, 3, 20, 22) + &third;
    let (imported, _) = announced(&[1_000, 1_500, 2_000], &summed).unwrap();
    let series = &imported.series[2];
    assert_eq!(
        (series.count, series.lost, series.max_ns),
        (1, Some(0), Some(9_999))
    );
}

#[test]
fn a_summary_that_contradicts_the_samples_is_refused() {
    for (second, why) in [
        (
            line(1, 2, 20, 22),
            "line 9: it counts 2 cycles of thread 1, and 3 are above",
        ),
        (
            line(1, 3, 20, 23),
            "line 9: the largest value of thread 1 is 23, and 22 above",
        ),
        (
            line(1, 3, 19, 22),
            "line 9: the smallest value of thread 1 is 19, and 20 above",
        ),
        (
            line(1, 9, 20, 21),
            "line 9: the largest value of thread 1 is 21, and 22 above",
        ),
        (
            line(1, 9, 21, 22),
            "line 9: the smallest value of thread 1 is 21, and 20 above",
        ),
        // It cannot be both.
        (
            line(1, 4, 19, 23),
            "line 9: the smallest value of thread 1 is 19, and 20 above",
        ),
        (
            line(2, 3, 20, 22),
            "line 9: thread 2 appears where 1 is expected",
        ),
        (
            String::new(),
            "line 8: the file ends before the summary of each thread",
        ),
    ] {
        let err = read(&(line(0, 4, 10, 13) + &second)).err().unwrap();
        assert_eq!(err.to_string(), why);
    }
}

/// The number of cycles does not tell them apart.
#[test]
fn a_summary_of_another_run_is_refused() {
    let summed = line(0, 40, 10, 13) + &line(1, 30, 20, 22);
    assert!(announced(&[1_000, 1_500], &summed).is_ok());
    assert!(announced(&[500, 1_000], &summed).is_ok());
    for (intervals, end) in [
        (&[1_000, 2_000][..], summed.clone()),
        (&[400, 900], summed.clone()),
        (&[1_000], summed.clone()),
        (&[], format!("# /dev/cpu_dma_latency set to 0us\n{summed}")),
    ] {
        let err = announced(intervals, &end).err().unwrap().to_string();
        assert!(err.ends_with("a second run begins here"), "{err}");
    }
    let more = read(&(summed + &line(2, 9, 20, 22))).err().unwrap();
    assert_eq!(
        more.to_string(),
        "line 10: no samples of thread 2 are above"
    );
}

const BROKEN: &str = "# Thread Ids: 20939 20940\n# Break thread: 20940\n# Break value: 627\n";

#[test]
fn the_break_value_is_a_sample_of_the_thread_that_it_names() {
    let (imported, kept) = read(BROKEN).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let found: Vec<_> = record.series.iter().map(|s| (s.count, s.max_ns)).collect();
    assert_eq!(found, [(4, Some(13_999)), (4, Some(627_999))]);
    assert_eq!(record.ended, Some(Ended::Threshold));
    // How many more there were the log does not say.
    assert_eq!(record.total.lost, None);
    assert_eq!(kept.0[&1], [20, 21, 22, 627]);
    let said = "break value 627; its sample is not in the log and was added";
    assert!(
        imported.stated.contains(&said.to_owned()),
        "{:?}",
        imported.stated
    );
    // What was printed is there already, and so is what a summary has.
    let (printed, _) = read(&BROKEN.replace("627", "22")).unwrap();
    let summed = line(0, 4, 10, 13) + &line(1, 9, 20, 627) + BROKEN;
    let (summed, _) = read(&summed).unwrap();
    for (imported, expected) in [(printed, (3, None)), (summed, (4, Some(5)))] {
        let series = &imported.series[1];
        assert_eq!((series.count, series.lost), expected);
        assert_eq!(imported.ended, Some(Ended::Threshold));
    }
}

#[test]
fn a_break_value_of_nobody_is_refused() {
    let alone = read("# Break value: 627\n").err().unwrap();
    assert!(alone.to_string().starts_with("line 8: "), "{alone}");
    let summed = line(0, 4, 10, 13) + &line(1, 3, 20, 22) + BROKEN;
    let above = read(&summed).err().unwrap();
    assert_eq!(
        above.to_string(),
        "line 12: the value is above the maximum of thread 1"
    );
    let second = read(&format!("{BROKEN}       0:       4:      14\n"))
        .err()
        .unwrap();
    assert_eq!(second.to_string(), "line 8: a second run begins here");
}
