// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the fuzz targets found: files that contradict themselves and were believed, and worse.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use punctual_peers::{Format, ImportError, Imported, NoSamples, detect, import};

fn golden(name: &str) -> String {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    String::from_utf8(fs::read(dir.join(name)).unwrap()).unwrap()
}

fn read(text: &str) -> Result<Imported, ImportError> {
    import(
        text.as_bytes(),
        detect(text.as_bytes()).unwrap(),
        None,
        &mut NoSamples,
    )
}

/// Replaces `from`, which must be there, once, and returns why that is not imported.
fn altered(name: &str, from: &str, to: &str) -> String {
    let text = golden(name);
    assert!(text.contains(from), "{name} has no {from}");
    assert!(read(&text).is_ok());
    read(&text.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn a_mean_is_that_of_its_extremes_and_buckets() {
    // In ns, 10 µs beside the extremes once passed.
    assert_eq!(
        altered("cyclictest-2.10-nsecs.json", "\"avg\": ", "\"avg\": 9"),
        "thread 0: its mean is outside of its extremes"
    );
    // Above the extremes of the same row.
    assert_eq!(
        altered(
            "rtla-timerlat-top.txt",
            "0         1        15",
            "0        17        15"
        ),
        "thread 0: its mean is outside of its extremes"
    );
    assert_eq!(
        altered(
            "cyclictest-2.4-histofall.json",
            "\"avg\": 41.77",
            "\"avg\": 43.77"
        ),
        "thread 0: its mean is not that of its buckets"
    );
}

#[test]
fn a_bucket_without_samples_is_none() {
    let text = golden("cyclictest-2.10-histofall.json");
    let with_empty = text.replacen("\"histogram\": {", "\"histogram\": {\n        \"0\": 0,", 1);
    assert_ne!(text, with_empty);
    assert_eq!(
        read(&with_empty).unwrap().series,
        read(&text).unwrap().series
    );
}

#[test]
fn the_extremes_of_osnoise_are_rows() {
    assert_eq!(
        altered(
            "rtla-osnoise-hist.txt",
            "max:         30",
            "max:         38"
        ),
        "line 15: column 1: its extremes do not agree with the rows"
    );
}

#[test]
fn a_maximum_of_every_bit_is_no_latency() {
    let text =
        golden("oslat-2.4.json").replacen("\"max\": 36070", "\"max\": 18446744073709551615", 1);
    assert_eq!(
        read(&text).unwrap_err().to_string(),
        "thread 0: a value is longer than any latency"
    );
}

#[test]
fn an_error_does_not_quote_the_whole_file() {
    let text = format!("{{\"version\": \"{}\"}}", "\u{7f}".repeat(100_000));
    let err = import(
        text.as_bytes(),
        Format::JitterdebuggerJson,
        None,
        &mut NoSamples,
    )
    .unwrap_err();
    let said = err.to_string();
    assert!(
        said.starts_with("line 1: invalid type: string") && said.len() < 1_000,
        "{said}"
    );
    assert!(said.ends_with('…'));
}

#[test]
fn figures_have_samples() {
    assert_eq!(
        altered("rtla-timerlat-top.txt", "1 #12322 ", "1 #0     "),
        "line 4: it has figures of no samples"
    );
    // Of a kind without samples there are dashes.
    let thread = "|       10         3         9        31\n";
    let text = golden("rtla-timerlat-top.txt").replacen(
        thread,
        "|        -         -         -         -\n",
        1,
    );
    let series = read(&text).unwrap().series;
    assert_eq!(
        (series[0].count, series[1].count, series[1].min_ns),
        (12_322, 0, None)
    );
}
