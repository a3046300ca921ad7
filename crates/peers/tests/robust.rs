// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is cut short, damaged or absurd is one clear error or a complete result.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use punctual_peers::{Format, ImportError, Imported, Labels, NoSamples, detect, import};

fn golden() -> Vec<(String, Vec<u8>)> {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, fs::read(path).unwrap())
    };
    fs::read_dir(dir).unwrap().map(file).collect()
}

fn read(bytes: &[u8], format: Format) -> Result<Imported, ImportError> {
    import(bytes, format, None, &mut NoSamples)
}

fn text(bytes: &[u8], format: Format) -> String {
    read(bytes, format).unwrap_err().to_string()
}

#[test]
fn a_prefix_is_an_error_or_counts_no_more_than_the_whole() {
    for (name, bytes) in golden() {
        if bytes.len() > 8_000 {
            continue;
        }
        let format = detect(&bytes).unwrap();
        let whole = read(&bytes, format).unwrap();
        let sum = |i: &Imported| i.series.iter().map(|s| s.count).sum::<u64>();
        for end in 0..bytes.len() {
            let Ok(part) = read(&bytes[..end], format) else {
                continue;
            };
            assert!(part.record(Labels::default()).is_ok());
            assert!(sum(&part) <= sum(&whole), "{name} cut at {end}");
            // Only at a line's end is a text whole, or behind what moves the cursor there.
            let last = bytes[..end].rsplit(|b| *b == b'\n').next().unwrap();
            let moves = last.starts_with(b"\x1b") && last.ends_with(b"A");
            let ends = last.is_empty() || last.ends_with(b"}") || moves;
            assert!(ends, "{name} cut at {end}");
            // What a thread has is what the whole file says of it, unless it is a frame or a log
            // of its own.
            let streams = [Format::CyclictestLog, Format::CyclictestText];
            if !streams.contains(&format) {
                assert!(
                    part.series.iter().all(|s| whole.series.contains(s)),
                    "{name} at {end}"
                );
            }
        }
    }
}

#[test]
fn a_line_left_out_of_a_full_histogram_is_noticed() {
    for (name, bytes) in golden() {
        let full = name.contains("2.4-hist.out") || name.contains("2.4-histofall.out");
        if !full {
            continue;
        }
        let all = String::from_utf8(bytes).unwrap();
        let lines: Vec<&str> = all.split_inclusive('\n').collect();
        for left_out in 0..lines.len() {
            let empty = lines[left_out]
                .split_whitespace()
                .skip(1)
                .all(|n| n == "000000");
            let row = lines[left_out].starts_with('0') && !empty;
            let rest: String = lines
                .iter()
                .enumerate()
                .filter(|(i, _)| *i != left_out)
                .map(|(_, l)| *l)
                .collect();
            if row {
                assert!(
                    read(rest.as_bytes(), Format::CyclictestHistogram).is_err(),
                    "{name} {left_out}"
                );
            }
        }
    }
}

#[test]
fn errors_name_the_line_and_the_reason() {
    let log = Format::CyclictestLog;
    assert_eq!(
        text(b"0:0:1\n0:2:1\n", log),
        "line 2: cycle 2 of thread 0 appears where 1 is expected"
    );
    assert_eq!(
        text(b"0:0:1\n0:1:x\n", log),
        "line 2: the value: `x` is not a number from 0 to 2^64 - 1"
    );
    assert_eq!(
        text(b"0:0:1\n0:1:7", log),
        "line 2: the file ends inside this line"
    );
    assert_eq!(
        text(b"0:0:99999999999999999999\n", log),
        "line 1: the value: `99999999999999999999` is not a number from 0 to 2^64 - 1"
    );
    assert_eq!(
        text(b"0:0:9999999999999999999\n", log),
        "line 1: 9999999999999999999 is longer than any latency"
    );
    assert_eq!(
        text(b"99999:0:1\n", log),
        "line 1: thread 99999 is one too many"
    );
    let hist = Format::CyclictestHistogram;
    let head = "# Histogram\n000000 000001\t000000\n000001 000001\n";
    assert_eq!(
        text(head.as_bytes(), hist),
        "line 3: 1 columns, but earlier rows have 2"
    );
    let json = Format::CyclictestJson;
    let good = String::from_utf8(
        golden()
            .into_iter()
            .find(|(n, _)| n == "cyclictest-2.4-hist.json")
            .unwrap()
            .1,
    )
    .unwrap();
    let newer = good.replace("\"file_version\": 1", "\"file_version\": 2");
    assert_eq!(
        text(newer.as_bytes(), json),
        "file version 2; only version 1 is supported"
    );
    let more = good.replace("\"cycles\": 500", "\"cycles\": 5");
    assert!(text(more.as_bytes(), json).contains("more samples than cycles"));
    let twice = good.replace("\"24\": 3", "\"23\": 3");
    assert!(
        text(twice.as_bytes(), json).starts_with("line "),
        "{}",
        text(twice.as_bytes(), json)
    );
}

#[test]
fn a_command_line_that_rt_tests_does_not_escape_is_read() {
    let all = golden();
    let bytes = &all
        .iter()
        .find(|(n, _)| n == "cyclictest-2.10-hist.json")
        .unwrap()
        .1;
    let quoted = String::from_utf8(bytes.clone())
        .unwrap()
        .replace("cyclictest -q", "cyclic\"test\\ -q");
    let imported = read(quoted.as_bytes(), Format::CyclictestJson).unwrap();
    assert!(
        imported
            .command_line
            .unwrap()
            .starts_with("cyclic\"test\\ -q")
    );
}

fn raw(records: &[(u32, i64, i64, u64)]) -> Vec<u8> {
    records
        .iter()
        .flat_map(|(thread, s, ns, value)| {
            [
                &thread.to_le_bytes()[..],
                &s.to_le_bytes(),
                &ns.to_le_bytes(),
                &value.to_le_bytes(),
            ]
            .concat()
        })
        .collect()
}

#[test]
fn jitterdebugger() {
    let bytes = raw(&[(0, 5, 1, 12), (1, 5, 2, 40), (0, 5, 1_000_001, 14)]);
    assert_eq!(detect(&bytes), Some(Format::JitterdebuggerRaw));
    let imported = read(&bytes, Format::JitterdebuggerRaw).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    assert_eq!((record.series[0].count, record.total.count), (2, 3));
    assert_eq!(
        (record.total.min_ns, record.total.max_ns),
        (Some(12_000), Some(40_999))
    );
    assert_eq!(record.series[0].mean_ns, Some(13_000.0));
    for end in 1..bytes.len() {
        assert_eq!(
            read(&bytes[..end], Format::JitterdebuggerRaw).is_ok(),
            end % 28 == 0,
            "{end}"
        );
    }
    let back = raw(&[(0, 5, 1, 12), (0, 4, 2, 40)]);
    assert!(text(&back, Format::JitterdebuggerRaw).starts_with("byte 28: the time is earlier"));

    let json = br#"{"version": 3, "sysinfo": {"nodename": "rpi", "resolution_in_ns": 0},
        "cpu": {"0": {"histogram": {"3": 8, "5": 1}, "count": 10, "min": 3, "max": 1200, "avg": 122.90}}}"#;
    assert_eq!(detect(json), Some(Format::JitterdebuggerJson));
    let record = read(json, Format::JitterdebuggerJson)
        .unwrap()
        .record(Labels::default())
        .unwrap();
    let series = &record.series[0];
    assert_eq!((series.count, series.clamped), (10, Some(1)));
    assert_eq!(
        (series.quantiles_ns["p50"], series.quantiles_ns["p99"]),
        (Some(3_999), None)
    );
    assert_eq!(
        (series.max_ns, series.mean_ns),
        (Some(1_200_999), Some(122_900.0))
    );
    let newer = String::from_utf8_lossy(json).replace("3, \"sys", "4, \"sys");
    assert_eq!(
        text(newer.as_bytes(), Format::JitterdebuggerJson),
        "version 4; only versions 1 to 3 are supported"
    );
}

/// As rteval writes it: the median is not one, and buckets without samples are announced only.
const SUMMARY: &str = r#"<?xml version="1.0"?>
<rteval version="3.8">
  <run_info days="0" hours="0" minutes="1" seconds="5"><date>2026-11-20</date><time>10:00:00</time></run_info>
  <SystemInfo><uname><node>vm</node><kernel is_RT="1">6.12-rt</kernel><arch>x86_64</arch></uname></SystemInfo>
  <Measurements measurecpus="0">
    <cyclictest command_line="cyclictest -i100 -qmu -h 3500">
      <system description="x"><statistics><samples>5</samples><median unit="us">9</median></statistics></system>
      <core id="0" priority="95"><statistics><samples>5</samples><minimum unit="us">3</minimum>
        <maximum unit="us">9</maximum><median unit="us">6</median></statistics>
        <histogram nbuckets="3500"><bucket index="3" value="3"/><bucket index="8" value="1"/><bucket index="9" value="1"/></histogram>
      </core>
    </cyclictest>
  </Measurements>
</rteval>
"#;

#[test]
fn rteval() {
    assert_eq!(detect(SUMMARY.as_bytes()), Some(Format::Rteval));
    let imported = read(SUMMARY.as_bytes(), Format::Rteval).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    let series = &record.series[0];
    assert_eq!(series.quantiles_ns["p50"], Some(3_999));
    assert_eq!(
        (series.count, series.clamped, series.mean_ns),
        (5, None, None)
    );
    assert_eq!((series.min_ns, series.max_ns), (Some(3_000), Some(9_999)));
    assert_eq!(record.duration_ns.unwrap().get(), 65_000_000_000);
    assert_eq!(record.host.preempt_rt, Some(true));
    for end in 0..SUMMARY.len() - 1 {
        assert!(
            read(&SUMMARY.as_bytes()[..end], Format::Rteval).is_err(),
            "{end}"
        );
    }
    for (from, to) in [
        ("nbuckets=\"3500\"", "nbuckets=\"2\""),
        ("<samples>5", "<samples>4"),
        ("<samples>5", "<samples>6"),
        ("index=\"8\"", "index=\"9\""),
        ("unit=\"us\">3", "unit=\"ns\">3"),
        ("unit=\"us\">3", "unit=\"us\">4"),
    ] {
        assert!(
            read(SUMMARY.replace(from, to).as_bytes(), Format::Rteval).is_err(),
            "{from}"
        );
    }
}

#[test]
fn two_files_in_one_are_an_error() {
    let all = golden();
    let mut refused = 0;
    for (first, a) in &all {
        for (second, b) in &all {
            let both = [&a[..], b].concat();
            // Records without a head cannot be told from more of them.
            if first.ends_with(".raw") && second.ends_with(".raw") {
                continue;
            }
            // What `detect` takes it for is what it begins with, or what can be told first.
            let Some(format) = detect(&both) else {
                continue;
            };
            let err = read(&both, format).expect_err(&format!("{first} and {second}"));
            assert!(!err.to_string().is_empty());
            refused += 1;
        }
    }
    assert!(refused > 3_000, "{refused}");
}

#[test]
fn screens_of_rtla_follow_each_other() {
    // As rtla prints them, with the escape sequences that it has.
    let all = golden();
    for (name, title, format) in [
        (
            "rtla-osnoise-top.txt",
            "Operating System Noise",
            Format::RtlaNoiseTop,
        ),
        (
            "rtla-timerlat-top.txt",
            "Timer Latency",
            Format::RtlaTimerlatTop,
        ),
    ] {
        let (_, bytes) = all.iter().find(|(n, _)| n == name).unwrap();
        let end = String::from_utf8(bytes.clone()).unwrap();
        let plain = read(end.as_bytes(), format).unwrap();
        let colour = |text: &str| {
            let colours = [
                (title, "\u{1b}c\u{1b}[2;37;40m", "\u{1b}[0;0;0m"),
                ("CPU ", "\u{1b}[2;30;47m", ""),
            ];
            colours
                .iter()
                .fold(text.to_owned(), |text, (word, before, after)| {
                    text.replacen(word, &format!("{before}{word}{after}"), 1)
                })
        };
        let rows = end
            .lines()
            .take_while(|l| !l.starts_with("rtla "))
            .collect::<Vec<_>>()
            .join("\n");
        let earlier = rows
            .replace("00:01:00", "00:00:59")
            .replace("00:00:12", "00:00:11")
            + "\n";
        assert_ne!(earlier.trim(), rows.trim());
        let live = colour(&earlier) + &colour(&end);
        assert_eq!(detect(live.as_bytes()), Some(format));
        assert_eq!(read(live.as_bytes(), format).unwrap(), plain, "{name}");
        let back = colour(&(rows.clone() + "\n")) + &colour(&earlier);
        assert!(
            text(back.as_bytes(), format).ends_with("a second run begins here"),
            "{name}"
        );
        let again = rows + "\n" + &end;
        assert!(
            text(again.as_bytes(), format).ends_with("a second run begins here"),
            "{name}"
        );
    }
}

#[test]
fn frames_of_another_run_are_noticed() {
    let all = golden();
    let find = |name: &str| {
        let (_, bytes) = all.iter().find(|(n, _)| n == name).unwrap();
        String::from_utf8(bytes.clone()).unwrap()
    };
    let format = Format::CyclictestText;
    let quiet = find("cyclictest-2.4-quiet.out");
    assert_eq!(
        text((quiet.clone() + &quiet).as_bytes(), format),
        "line 4: a second run begins here"
    );
    // --laptop has no such line, but the threads have other numbers.
    let rows: String = quiet.split_inclusive('\n').skip(1).collect();
    assert!(read(rows.as_bytes(), format).is_ok());
    let tid = rows.split(['(', ')']).nth(1).unwrap();
    let other = rows.replacen(tid, "77777", 1);
    assert_eq!(
        text((rows.clone() + &other).as_bytes(), format),
        "line 3: a second run begins here"
    );
    let fewer = rows.replacen("C:    500", "C:    499", 1);
    assert_ne!(fewer, rows);
    assert_eq!(
        text((rows + &fewer).as_bytes(), format),
        "line 3: a second run begins here"
    );
}

#[test]
fn a_list_of_spikes_agrees_with_the_figures() {
    let all = golden();
    let (_, bytes) = all
        .iter()
        .find(|(n, _)| n == "cyclictest-2.10-spike.out")
        .unwrap();
    let good = String::from_utf8(bytes.clone()).unwrap();
    for (from, to, reason) in [
        (
            "T: 0 Spike:      33",
            "T: 0 Spike:      50",
            "line 6: the spike is above the maximum of thread 0",
        ),
        (
            "T: 0 Spike:      33",
            "T: 1 Spike:      33",
            "line 6: the spike is above the maximum of thread 1",
        ),
        (
            "TS:   2220167810",
            "TS:   222016781x",
            "line 6: TS: `222016781x` is not a number from 0 to 2^64 - 1",
        ),
        (
            "spikes = 100",
            "spikes = 7",
            "7 spikes, and 8 are listed of 100 samples",
        ),
        (
            "spikes = 100",
            "spikes = 101",
            "101 spikes, and 8 are listed of 100 samples",
        ),
        (
            "spikes = 100\n",
            "",
            "line 12: the file ends before `spikes = ` and their number",
        ),
    ] {
        assert!(good.contains(from));
        let altered = good.replacen(from, to, 1);
        assert_eq!(text(altered.as_bytes(), Format::CyclictestText), reason);
    }
}

#[test]
fn a_summary_without_figures_says_why() {
    let start = SUMMARY.find("      <system").unwrap();
    let end = SUMMARY.find("    </cyclictest>").unwrap();
    let without = [&SUMMARY[..start], &SUMMARY[end..]].concat();
    let err = read(without.as_bytes(), Format::Rteval).unwrap_err();
    assert!(err.to_string().contains("no figures for any core"), "{err}");
    assert!(err.hint().unwrap().contains("more buckets"));
}

/// Those of signaltest look like cyclictest's, and have no interval.
#[test]
fn lines_of_another_tool_have_no_format() {
    let line = "T: 0 (25654) P:80 C:   1000 Min:     10 Act:   11 Avg:   15 Max:     118\n";
    assert_eq!(detect(line.as_bytes()), None);
}

#[test]
fn rubbish_has_no_format_and_no_import() {
    for bytes in [
        &b""[..],
        b"\0\0\0",
        b"hello\n",
        b"{}",
        b"<html></html>",
        &[0xff; 64],
        b"\x7fELF\x02\x01\x01\0\0\0",
    ] {
        assert_eq!(detect(bytes), None, "{bytes:?}");
        for format in Format::ALL {
            assert!(read(bytes, *format).is_err(), "{format} {bytes:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_are_an_error_or_a_record(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        for format in Format::ALL {
            if let Ok(imported) = read(&bytes, *format) {
                drop(imported.record(Labels::default()));
            }
        }
        detect(&bytes);
    }

    #[test]
    fn altered_files_do_not_panic(pick in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let all = golden();
        let (_, bytes) = pick.get(&all);
        let format = detect(bytes).unwrap();
        let mut bytes = bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(imported) = read(&bytes, format) {
            drop(imported.record(Labels::default()));
            imported.histograms().for_each(drop);
        }
    }
}
