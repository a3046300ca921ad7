// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Files that the tools wrote, with the figures that stand in them.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use punctual_model::{Ended, RunRecord, SampleTimes};
use punctual_peers::{Format, Imported, Labels, NoSamples, Unit, detect, import};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name)
}

fn read(name: &str) -> (Imported, RunRecord) {
    let bytes = fs::read(path(name)).unwrap();
    let format = detect(&bytes).unwrap();
    let imported = import(&bytes[..], format, None, &mut NoSamples).unwrap();
    let record = imported.record(Labels::default()).unwrap();
    assert!(!record.valid && !record.checks[0].passed());
    (imported, record)
}

/// Thread, count, min, max, mean in ns.
type Row = (u32, u64, Option<u64>, Option<u64>, Option<f64>);

fn rows(record: &RunRecord) -> Vec<Row> {
    let row =
        |s: &punctual_model::Series| (s.thread.unwrap(), s.count, s.min_ns, s.max_ns, s.mean_ns);
    record.series.iter().map(row).collect()
}

#[test]
fn every_golden_file_is_detected_and_imported() {
    let mut seen = 0;
    for entry in fs::read_dir(path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let (imported, record) = read(&name);
        let expected = match name.as_str() {
            n if n.starts_with("latmus") => Format::Latmus,
            n if n.starts_with("latency") => Format::XenomaiLatency,
            n if n.ends_with("verbose.out") => Format::CyclictestLog,
            n if n.starts_with("cyclictest") && n.ends_with(".json") => Format::CyclictestJson,
            n if n.contains("-hist") && n.starts_with("cyclictest") => Format::CyclictestHistogram,
            n if n.contains("rteval.out") || n.contains("smp.out") => Format::CyclictestHistogram,
            n if n.starts_with("cyclictest") => Format::CyclictestText,
            n if n.ends_with("-hist.txt") => Format::RtlaHist,
            n if n.contains("timerlat-top") => Format::RtlaTimerlatTop,
            n if n.starts_with("rtla") => Format::RtlaNoiseTop,
            n if n.starts_with("jitter") && n.ends_with(".json") => Format::JitterdebuggerJson,
            n if n.starts_with("jitter") => Format::JitterdebuggerRaw,
            n if n.ends_with(".txt") => Format::OslatText,
            _ => Format::OslatJson,
        };
        assert_eq!(imported.format, expected, "{name}");
        assert_eq!(record.origin.unwrap().tool, expected.tool());
        seen += 1;
    }
    assert!(seen > 50, "{seen}");
}

#[test]
fn the_lines_of_cyclictest() {
    let (_, record) = read("cyclictest-2.4-quiet.out");
    assert_eq!(
        rows(&record),
        [
            (0, 500, Some(19_000), Some(66_999), Some(35_000.0)),
            (1, 344, Some(20_000), Some(168_999), Some(34_000.0)),
        ]
    );
    let origin = record.origin.unwrap();
    assert_eq!(origin.resolution_ns, Some(1_000));
    assert_eq!(origin.mean_error_ns, Some(2_000.0));
    assert!(record.total.quantiles_ns.is_empty());
    assert_eq!(record.total.clamped, None);
    assert_eq!(record.series[1].interval_ns.unwrap().get(), 1_500_000);

    let (_, record) = read("cyclictest-2.4-nsecs.out");
    assert_eq!(
        rows(&record),
        [(0, 100, Some(27_253), Some(54_671), Some(41_881.0))]
    );
    let (_, record) = read("cyclictest-2.4-break.out");
    assert_eq!(record.ended, Some(Ended::Threshold));
    let (_, record) = read("cyclictest-2.10-normal.out");
    assert_eq!(record.series[0].policy.as_deref(), Some("f:80"));
    assert_eq!(record.series[0].count, 100);
    let (_, record) = read("cyclictest-2.6-priospread15.out");
    assert_eq!(record.series.len(), 15);
}

#[test]
fn the_spikes_of_cyclictest() {
    for version in ["2.4", "2.6", "2.10"] {
        let (imported, record) = read(&format!("cyclictest-{version}-spike.out"));
        assert_eq!(imported.spikes.len(), 8, "{version}");
        let stated = record.origin.unwrap().stated;
        assert!(
            stated.contains(&"100 spikes, of which 8 are listed with their times".to_owned()),
            "{stated:?}"
        );
    }
    // In front of a histogram, of a run that -b ended behind it.
    let (imported, record) = read("cyclictest-2.4-hist-break-spike.out");
    assert_eq!(imported.spikes.len(), 7);
    assert_eq!(record.ended, Some(Ended::Threshold));
    assert_eq!(
        (
            record.total.count,
            record.total.clamped,
            record.total.max_ns
        ),
        (10, Some(1), Some(112_999))
    );
    let stated = record.origin.unwrap().stated;
    assert!(stated.contains(&"break value 112".to_owned()), "{stated:?}");

    let (imported, _) = read("cyclictest-2.10-spike.out");
    let table = imported.spike_table().unwrap();
    assert!(
        table.starts_with("thread,t_ns,latency_ns\n0,2220165803000,26000\n0,2220166806000,29000\n"),
        "{table}"
    );
    assert_eq!(read("cyclictest-2.10-quiet.out").0.spike_table(), None);
}

#[test]
fn the_histograms_of_cyclictest() {
    let (imported, record) = read("cyclictest-2.4-histofall.out");
    let series = &record.series;
    assert_eq!((series[0].count, series[0].clamped), (500, Some(0)));
    assert_eq!((series[1].count, series[1].clamped), (500, Some(2)));
    assert_eq!(
        (series[1].min_ns, series[1].max_ns),
        (Some(20_000), Some(1_165_999))
    );
    // Not all samples are in the buckets: the mean is the one stated, and there is no deviation.
    assert_eq!(
        (series[1].mean_ns, series[1].stddev_ns),
        (Some(27_000.0), None)
    );
    // 498 of 500 are in the buckets: the rank of p99.9 is not, and p99 is the 495th.
    assert_eq!(series[1].quantiles_ns["p99.9"], None);
    assert!(series[1].quantiles_ns["p99"].is_some());
    // The live lines before a histogram say what it does not.
    let (_, live) = read("cyclictest-2.4-hist-live.out");
    assert_eq!(live.series[1].policy.as_deref(), Some("f:80"));
    assert_eq!(live.series[1].interval_ns.unwrap().get(), 1_000_000);
    assert_eq!(
        (live.series[1].count, live.series[1].clamped),
        (50, Some(11))
    );
    let table = imported.bucket_table().unwrap();
    assert!(table.starts_with("thread,from_ns,to_ns,count\n0,20000,20999,1\n0,23000,23999,1\n"));

    // All samples are in the rows: the mean follows from them, as Python says.
    assert_eq!(series[0].quantiles_ns["p50"], Some(P50_2_4_HISTOFALL));
    let (_, compact) = read("cyclictest-2.10-histofall.out");
    assert_eq!(compact.total.clamped, Some(2));
    assert_eq!(compact.series[0].max_ns, Some(479_999));
    assert_eq!(compact.total.count, 1_000);
}

#[test]
fn a_histogram_says_which_kind_it_is_of() {
    let tags = |name: &str| -> Vec<String> {
        let (imported, _) = read(name);
        imported.histograms().map(|(of, _)| of.tag()).collect()
    };
    let kinds = tags("rtla-timerlat-hist.txt");
    assert_eq!(kinds[..2], ["0/irq", "1/thread"]);
    assert_eq!(tags("cyclictest-2.4-hist.out"), ["0", "1"]);
}

/// The 250th of 500 in the first column, upper end.
const P50_2_4_HISTOFALL: u64 = 41_999;

#[test]
fn the_json_of_cyclictest() {
    let (_, record) = read("cyclictest-2.4-hist.json");
    assert_eq!(record.series[0].clamped, Some(2));
    assert_eq!(record.started.as_deref(), Some("2026-11-20T09:56:08Z"));
    assert_eq!(record.host.hostname.as_deref(), Some("vm"));
    assert_eq!(record.host.preempt_rt, Some(false));
    // 2.4 writes the thread's number where there is no CPU.
    assert_eq!(record.series[1].cpu, None);
    let origin = record.origin.unwrap();
    assert_eq!(origin.version.as_deref(), Some("2.40"));
    assert!(origin.command_line.unwrap().contains("-h 100"));
    // -h takes the distance between the threads' intervals away; both were asked for only.
    let asked = |s: &punctual_model::Series| (s.policy.clone(), s.interval_ns.map(|ns| ns.get()));
    let expected = (Some("f:80".to_owned()), Some(1_000_000));
    assert_eq!(asked(&record.series[0]), expected);
    assert_eq!(asked(&record.series[1]), expected);
    assert!(origin.stated.iter().any(|s| s.contains("not read back")));

    let (_, record) = read("cyclictest-2.4-nsecs.json");
    assert_eq!(rows(&record)[0].4, Some(41_881.26));
    assert!(record.series[0].quantiles_ns.is_empty());
    let (_, text) = read("cyclictest-2.10-histofall.out");
    let (_, json) = read("cyclictest-2.10-histofall.json");
    assert_eq!(text.total.quantiles_ns, json.total.quantiles_ns);
}

#[test]
fn every_sample_of_a_log() {
    let (_, record) = read("cyclictest-2.4-verbose.out");
    let origin = record.origin.as_ref().unwrap();
    assert_eq!(origin.sample_times, Some(SampleTimes::Unknown));
    assert_eq!(record.series[0].count, 50);
    assert_eq!(record.series[1].min_ns.unwrap() % 1_000, 0);
    assert!(origin.stated.iter().any(|s| s.contains("unit")));
    let bytes = fs::read(path("cyclictest-2.4-verbose.out")).unwrap();
    let unit = Some(Unit::Nanoseconds);
    let ns = import(&bytes[..], Format::CyclictestLog, unit, &mut NoSamples).unwrap();
    assert_eq!(ns.resolution_ns, Some(1));
}

#[test]
fn rtla() {
    let (_, record) = read("rtla-timerlat-hist.txt");
    assert_eq!(record.instrument, "timerlat");
    assert_eq!(record.duration_ns.unwrap().get(), 600_000_000_000);
    assert_eq!(record.series.len(), 10);
    let (irq, thread) = (&record.series[0], &record.series[1]);
    assert_eq!(
        (irq.context.as_deref(), thread.context.as_deref()),
        (Some("irq"), Some("thread"))
    );
    assert_eq!((thread.count, thread.cpu), (600_002, Some(0)));
    assert_eq!((thread.min_ns, thread.max_ns), (Some(1_000), Some(36_999)));
    assert_eq!(thread.quantiles_ns["p50"], Some(6_999));
    // Of the thread latencies alone.
    assert_eq!(record.total.count, 5 * 600_002);
    assert_eq!(record.total.max_ns, Some(58_999));

    let (_, record) = read("rtla-osnoise-hist.txt");
    assert_eq!(record.instrument, "osnoise");
    assert_eq!(record.origin.unwrap().resolution_ns, Some(10_000));
    assert_eq!(record.series[0].max_ns, Some(39_999));
    assert_eq!(record.series[0].quantiles_ns["p50"], Some(9_999));
    // A bucket from 0 has no relative error.
    assert_eq!(record.series[0].quantile_relative_error, None);
    // What this version calls the average is 0 on every CPU: the mid-points count on each, also
    // where the lower ends would allow it.
    let mid = (42_982.0 * 4_999.5 + 12_224.0 * 14_999.5 + 8.0 * 24_999.5 + 34_999.5) / 55_215.0;
    assert!((record.series[0].mean_ns.unwrap() - mid).abs() < 1e-6);
    let mid = (51_779.0 * 4_999.5 + 2_912.0 * 14_999.5 + 12.0 * 24_999.5) / 54_703.0;
    assert!((record.series[2].mean_ns.unwrap() - mid).abs() < 1e-6);

    let (_, record) = read("rtla-timerlat-top.txt");
    assert_eq!(record.series.len(), 46);
    assert_eq!(record.ended, Some(Ended::Threshold));
    assert_eq!(
        rows(&record)[45],
        (45, 12_320, Some(3_000), Some(41_999), Some(11_000.0))
    );

    let (_, record) = read("rtla-osnoise-top.txt");
    let mean = 304_896_000.0 / 59.0;
    assert_eq!(rows(&record)[0], (0, 59, None, Some(6_978_999), Some(mean)));
    let (_, record) = read("rtla-hwnoise.txt");
    assert_eq!(record.instrument, "hwnoise");
    assert_eq!(record.series.len(), 7);
    assert!(record.origin.unwrap().stated[1].contains("99.99997 % available"));
}

#[test]
fn oslat_says_what_its_own_numbers_are() {
    // Up to 2.4 it rounds up.
    let (_, record) = read("oslat-2.4-fifo.json");
    let series = &record.series[0];
    assert_eq!(
        (series.min_ns, series.max_ns),
        (Some(1_000), Some(31_968_000))
    );
    assert_eq!(series.quantiles_ns["p50"], Some(1_000));
    assert_eq!(
        (series.mean_ns, series.clamped),
        (Some(1_002.13), Some(363))
    );
    assert_eq!(series.quantile_relative_error, None);
    assert_eq!(series.policy.as_deref(), Some("f:50"));
    assert_eq!(record.origin.unwrap().resolution_ns, Some(1_000));
    // 2.10 cuts, and its first bucket is 1.
    let (_, record) = read("oslat-2.10.json");
    let series = &record.series[0];
    assert_eq!((series.count, series.clamped), (30_235_386, Some(296)));
    assert_eq!((series.min_ns, series.max_ns), (Some(0), Some(12_094_999)));
    assert_eq!(series.quantiles_ns["p50"], Some(999));
    // Its mean is that of the buckets' numbers, which are one more.
    assert!(
        (series.mean_ns.unwrap() - 34.756).abs() < 1e-6,
        "{series:?}"
    );
    // With a bias the numbers of the buckets begin above the minimum: which version, nothing says.
    let (imported, record) = read("oslat-2.4-bias.json");
    let series = &record.series[0];
    assert_eq!((series.min_ns, series.mean_ns), (Some(1_000), None));
    assert_eq!(imported.resolution_ns, Some(2_000));
}

#[test]
fn the_text_of_oslat_says_what_its_json_says() {
    for (text, json) in [
        ("oslat-2.4.txt", "oslat-2.4-fifo.json"),
        ("oslat-2.4-bias.txt", "oslat-2.4-bias.json"),
    ] {
        let ((text, _), (json, _)) = (read(text), read(json));
        for (a, b) in text.series.iter().zip(&json.series) {
            // The text states its mean with three decimals.
            let (mean, exact) = (a.mean_ns.unwrap_or(0.0), b.mean_ns.unwrap_or(0.0));
            assert!((mean - exact).abs() < 0.51, "{mean} {exact}");
            let without = |s: &punctual_peers::SourceSeries| punctual_peers::SourceSeries {
                mean_ns: None,
                ..s.clone()
            };
            assert_eq!(without(a), without(b));
        }
        assert_eq!(text.series.len(), 2);
        assert_eq!((text.duration, text.version), (json.duration, json.version));
    }
}

#[test]
fn jitterdebugger() {
    let (_, results) = read("jitterdebugger-0.3.1.json");
    assert_eq!(
        rows(&results),
        [
            (0, 500, Some(12_000), Some(1_937_999), Some(39_830.0)),
            (1, 500, Some(9_000), Some(54_999), Some(23_006.0)),
        ]
    );
    // The one of 1937 µs is not in its histogram, which ends at 1 ms, nor are two others.
    assert_eq!(results.series[0].clamped, Some(3));
    assert_eq!(results.origin.as_ref().unwrap().resolution_ns, Some(1_000));
    assert_eq!(results.host.architecture.as_deref(), Some("x86_64"));
    // The samples of the same run, but for the last of thread 1, which it did not write.
    let (_, samples) = read("jitterdebugger-0.3.1.raw");
    let of = |record: &RunRecord| {
        rows(record)
            .iter()
            .map(|r| (r.1, r.2, r.3))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&samples)[0], of(&results)[0]);
    assert_eq!(of(&samples)[1].0, 499);
    let median = |record: &RunRecord| record.series[0].quantiles_ns["p50"];
    assert_eq!(median(&samples), median(&results));

    let (_, results) = read("jitterdebugger-0.3.1-nsecs.json");
    let origin = results.origin.as_ref().unwrap();
    assert_eq!(origin.resolution_ns, Some(1));
    let bytes = fs::read(path("jitterdebugger-0.3.1-nsecs.raw")).unwrap();
    let unit = Some(Unit::Nanoseconds);
    let samples = import(&bytes[..], Format::JitterdebuggerRaw, unit, &mut NoSamples).unwrap();
    let samples = samples.record(Labels::default()).unwrap();
    assert_eq!(of(&samples)[0], of(&results)[0]);
    assert_eq!(median(&samples), median(&results));
    assert_eq!(origin.sample_times, None);
    assert_eq!(
        samples.origin.unwrap().sample_times,
        Some(SampleTimes::Clock)
    );
}

#[test]
fn a_byte_order_mark_before_a_text_is_no_part_of_it() {
    for entry in fs::read_dir(path("")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let bytes = fs::read(path(&name)).unwrap();
        let format = detect(&bytes).unwrap();
        if format == Format::JitterdebuggerRaw {
            continue;
        }
        let marked = [b"\xef\xbb\xbf", bytes.as_slice()].concat();
        assert_eq!(detect(&marked), Some(format), "{name}");
        let of = |bytes: &[u8]| {
            let imported = import(bytes, format, None, &mut NoSamples).unwrap();
            imported.record(Labels::default()).unwrap().series
        };
        assert_eq!(of(&marked), of(&bytes), "{name}");
    }
}
