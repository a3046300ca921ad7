// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Samples that a histogram had no room for: they count wherever a file says so.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_model::RunRecord;
use punctual_peers::export::{self, MicroCounts};
use punctual_peers::{Format, Imported, Labels, NoSamples, import};

fn read(text: &str, format: Format) -> Imported {
    import(text.as_bytes(), format, None, &mut NoSamples).unwrap()
}

fn record(imported: &Imported) -> RunRecord {
    imported.record(Labels::default()).unwrap()
}

/// A histogram of two threads of 1000 samples, of which `beyond` are above its rows.
fn histogram(beyond: [u64; 2]) -> String {
    let [first, second] = beyond.map(|beyond| 1_000 - beyond);
    format!(
        "# Histogram\n000007 {first:06}\t{second:06}\n# Total: {first:09} {second:09}\n\
         # Min Latencies: 00007 00007\n# Avg Latencies: 00007 00007\n# Max Latencies: {} {}\n\
         # Histogram Overflows: {:05} {:05}\n# Histogram Overflow at cycle number:\n\
         # Thread 0:\n# Thread 1:\n",
        if beyond[0] > 0 { "00090" } else { "00007" },
        if beyond[1] > 0 { "00080" } else { "00007" },
        beyond[0],
        beyond[1],
    )
}

const NOT_SAID: &str = "rteval does not say how many were above";

#[test]
fn a_summary_that_counts_more_than_its_buckets_hold_has_those_above_them() {
    for beyond in [[100, 0], [20, 30], [1_000, 0], [1_000, 1_000]] {
        let source = read(&histogram(beyond), Format::CyclictestHistogram);
        let run = record(&source);
        let counts: Vec<MicroCounts> = beyond
            .iter()
            .map(|beyond| MicroCounts {
                buckets: Vec::from_iter((*beyond < 1_000).then_some((7, 1_000 - beyond))),
                beyond: *beyond,
            })
            .collect();
        let mut xml = Vec::new();
        export::rteval(&run, &counts, &mut xml).unwrap();
        let back = read(&String::from_utf8(xml).unwrap(), Format::Rteval);
        let said = back.stated.iter().any(|text| text.contains(NOT_SAID));
        assert!(!said, "{:?}", back.stated);
        let again = record(&back);
        let all = |run: &RunRecord| run.series.iter().chain([&run.total]).cloned().collect();
        let (was, is): (Vec<_>, Vec<_>) = (all(&run), all(&again));
        for (was, is) in was.iter().zip(&is) {
            assert_eq!((is.count, is.max_ns), (was.count, was.max_ns), "{beyond:?}");
            assert_eq!(is.clamped, was.clamped, "{beyond:?}");
            assert_eq!(is.quantiles_ns, was.quantiles_ns, "{beyond:?}");
        }
        assert_eq!(again.total.quantiles_ns["p99"], None, "{beyond:?}");
    }
}

#[test]
fn a_summary_that_counts_what_its_buckets_hold_says_nothing_of_those_above() {
    let run = record(&read(&histogram([0, 0]), Format::CyclictestHistogram));
    let counts = MicroCounts {
        buckets: vec![(7, 1_000)],
        beyond: 0,
    };
    let mut xml = Vec::new();
    export::rteval(&run, &[counts.clone(), counts], &mut xml).unwrap();
    let back = read(&String::from_utf8(xml).unwrap(), Format::Rteval);
    assert!(back.stated.iter().any(|text| text.contains(NOT_SAID)));
    let total = record(&back).total;
    assert_eq!((total.count, total.clamped), (2_000, None));
}

/// The JSON of two threads of 2000 cycles, of which the second has 17 in its histogram.
fn json(command: &str, second: &str) -> Imported {
    let text = format!(
        r#"{{"file_version": 1, "cmdline:": "{command}", "num_threads": 2, "resolution_in_ns": 0,
        "thread": {{
        "0": {{"histogram": {{}}, "cycles": 2000, "min": 5, "max": 206, "avg": 9.35, "cpu": 0}},
        "1": {{"histogram": {{{second}}}, "cycles": 2000, "min": 4, "max": 177, "avg": 9.68, "cpu": 1}}
        }}}}"#
    );
    read(&text, Format::CyclictestJson)
}

#[test]
fn an_empty_histogram_of_several_or_of_a_run_with_h_has_every_sample_above_it() {
    let some = r#""4": 17"#;
    for (command, second, expected) in [
        ("cyclictest -q -S -l2000 -h 5", some, [2_000, 1_983]),
        ("", some, [2_000, 1_983]),
        ("cyclictest -q -S -l2000 -h 5", "", [2_000, 2_000]),
    ] {
        let run = record(&json(command, second));
        let clamped: Vec<_> = run.series.iter().map(|s| s.clamped.unwrap()).collect();
        assert_eq!(clamped, expected, "{command} {second}");
        assert_eq!(run.total.clamped, Some(expected.iter().sum()));
        assert_eq!((run.total.count, run.total.max_ns), (4_000, Some(206_999)));
        assert!(run.total.quantiles_ns.values().all(Option::is_none));
    }
    // Up to rt-tests 2.6 it is empty where none was asked for.
    let none = json("cyclictest -q -S -l2000", "");
    assert!(none.series.iter().all(|s| s.buckets.is_none()));
}
