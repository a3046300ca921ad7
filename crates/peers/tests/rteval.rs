// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What rteval's own style sheets look for in a summary, in both layouts that they know.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use punctual_model::{LoadRecord, RunRecord};
use punctual_peers::export::{self, MicroCounts};
use punctual_peers::{Imported, Labels, NoSamples, detect, import};
use quick_xml::Reader;
use quick_xml::events::Event;

/// The run of a file, and its counts.
fn imported(name: &str) -> (RunRecord, Vec<MicroCounts>) {
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let imported = read(&fs::read(golden.join(name)).unwrap());
    let counts = |s: &punctual_peers::SourceSeries| {
        let buckets = s.buckets.as_ref().unwrap();
        let own = buckets.entries.iter().map(|b| (b.from_ns / 1_000, b.count));
        MicroCounts {
            buckets: own.collect(),
            beyond: buckets.beyond.unwrap(),
        }
    };
    let counts = imported.series.iter().map(counts).collect();
    (imported.record(Labels::default()).unwrap(), counts)
}

/// The run of a file, with all that a measured one has.
fn run() -> (RunRecord, Vec<MicroCounts>) {
    let (mut record, counts) = imported("cyclictest-2.4-histofall.json");
    record.program = "punctual <1>".to_owned();
    record.duration_ns = Some(punctual_model::Nanos::from_secs(93_784));
    record.note = Some("a & b".to_owned());
    let host = &mut record.host;
    host.cpus_online = "0-1".parse().unwrap();
    host.cpus_isolated = "1".parse().unwrap();
    host.numa_nodes = Some(1);
    host.memory_bytes = Some(2 << 30);
    host.clocksource = Some("tsc".to_owned());
    host.cpu_model = Some("A \"fast\" one".to_owned());
    host.cmdline = Some("quiet isolcpus=1".to_owned());
    record.loads = vec![LoadRecord {
        load: "fork:2".to_owned(),
        ..LoadRecord::default()
    }];
    (record, counts)
}

fn written(record: &RunRecord, counts: &[MicroCounts]) -> String {
    let mut text = Vec::new();
    export::rteval(record, counts, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn read(bytes: &[u8]) -> Imported {
    import(bytes, detect(bytes).unwrap(), None, &mut NoSamples).unwrap()
}

/// Texts and attributes by their path, in the order of the file.
type Found = BTreeMap<String, Vec<String>>;

fn found(text: &str) -> Found {
    let mut found = Found::new();
    let mut path = Vec::<String>::new();
    let mut reader = Reader::from_str(text);
    loop {
        let event = reader.read_event().unwrap();
        let (tag, empty) = match &event {
            Event::Start(tag) => (Some(tag), false),
            Event::Empty(tag) => (Some(tag), true),
            _ => (None, false),
        };
        if let Some(tag) = tag {
            path.push(String::from_utf8(tag.name().as_ref().to_vec()).unwrap());
            for attribute in tag.attributes() {
                let attribute = attribute.unwrap();
                let key = String::from_utf8(attribute.key.as_ref().to_vec()).unwrap();
                let value = attribute.unescape_value().unwrap().into_owned();
                let at = format!("{}/@{key}", path.join("/"));
                found.entry(at).or_default().push(value);
            }
        }
        match event {
            Event::Text(text) if !path.is_empty() => {
                let text = text.decode().unwrap().trim().to_owned();
                if !text.is_empty() {
                    found.entry(path.join("/")).or_default().push(text);
                }
            }
            Event::End(_) => drop(path.pop()),
            Event::Eof => return found,
            _ => {}
        }
        if empty {
            path.pop();
        }
    }
}

/// Mode, range, mean, mean absolute and standard deviation of every single sample.
fn figures(buckets: &[(u64, u64)]) -> [f64; 5] {
    let all: Vec<f64> = buckets
        .iter()
        .flat_map(|(us, n)| std::iter::repeat_n(*us as f64, usize::try_from(*n).unwrap()))
        .collect();
    let n = all.len() as f64;
    let mean = all.iter().sum::<f64>() / n;
    let absolute = all.iter().map(|us| (us - mean).abs()).sum::<f64>() / n;
    let squares = all.iter().map(|us| (us - mean).powi(2)).sum::<f64>();
    let most = buckets.iter().map(|(_, n)| *n).max().unwrap();
    let mode = buckets.iter().find(|(_, n)| *n == most).unwrap().0 as f64;
    let range = all.last().unwrap() - all.first().unwrap();
    [mode, range, mean, absolute, (squares / (n - 1.0)).sqrt()]
}

const NAMES: [&str; 5] = [
    "mode",
    "range",
    "mean",
    "mean_absolute_deviation",
    "standard_deviation",
];

#[test]
fn a_summary_has_what_the_style_sheets_of_both_layouts_look_for() {
    let (record, counts) = run();
    let text = written(&record, &counts);
    let found = found(&text);
    let one = |path: &str| -> &str {
        let all = found
            .get(path)
            .unwrap_or_else(|| panic!("{path} in {text}"));
        assert_eq!(all.len(), 1, "{path}");
        &all[0]
    };
    for (path, expected) in [
        ("rteval/@version", "punctual <1>"),
        ("rteval/run_info/@days", "1"),
        ("rteval/run_info/@hours", "2"),
        ("rteval/run_info/@minutes", "3"),
        ("rteval/run_info/@seconds", "4"),
        ("rteval/run_info/date", "2026-11-20"),
        ("rteval/SystemInfo/uname/node", "vm"),
        ("rteval/SystemInfo/uname/kernel/@is_RT", "0"),
        ("rteval/SystemInfo/uname/arch", "x86_64"),
        ("rteval/SystemInfo/CPUtopology/@num_cpu_cores", "2"),
        ("rteval/SystemInfo/CPUtopology/@num_cpu_cores_online", "2"),
        ("rteval/SystemInfo/CPUtopology/@num_cpu_cores_isolated", "1"),
        ("rteval/SystemInfo/Memory/numa_nodes", "1"),
        ("rteval/SystemInfo/Memory/memory_size", "2.00"),
        ("rteval/SystemInfo/Memory/memory_size/@unit", "GB"),
        ("rteval/SystemInfo/Kernel/ClockSource/source", "tsc"),
        ("rteval/SystemInfo/Kernel/ClockSource/source/@current", "1"),
        ("rteval/SystemInfo/cmdlineInfo/cmdline", "quiet isolcpus=1"),
        ("rteval/loads/@loads", "1"),
        ("rteval/loads/command_line", "fork:2"),
        ("rteval/loads/command_line/@name", "fork"),
        ("rteval/Measurements/Profile/@loads", "1"),
        ("rteval/Measurements/Profile/@parallel", "1"),
    ] {
        assert_eq!(one(path), expected, "{path}");
    }
    let mut places = Vec::new();
    for place in ["rteval/Measurements", "rteval/Measurements/Profile"] {
        let own = format!("{place}/cyclictest");
        let at = |path: &str| one(&format!("{own}/{path}"));
        assert!(at("@command_line").contains("cyclictest -q "), "{text}");
        assert!(at("timestamps/runloop_start").starts_with("2026-11-20 "));
        assert_eq!(at("system/@description"), "(2 cores) A \"fast\" one");
        // One thread has all its samples in its buckets; of the other, and so of both, what the
        // missing ones would change is left out.
        let whole = figures(&counts[0].buckets);
        assert_eq!((counts[0].beyond, counts[1].beyond), (0, 2));
        for (name, expected) in NAMES.iter().zip(whole) {
            let path = format!("{own}/core/statistics/{name}");
            let value: f64 = found[&path][0].parse().unwrap();
            assert!(
                (value - expected).abs() < 5e-4,
                "{path}: {value} {expected}"
            );
            let units = &found[&format!("{path}/@unit")];
            assert!(units.iter().all(|unit| unit == "us"), "{path}");
        }
        assert_eq!(
            found[&format!("{own}/core/statistics/mean_absolute_deviation")].len(),
            1
        );
        assert!(!found.contains_key(&format!("{own}/system/statistics/standard_deviation")));
        assert_eq!(at("system/statistics/samples"), "1000");
        let samples = &found[&format!("{own}/core/statistics/samples")];
        assert_eq!(samples, &["500", "500"]);
        assert_eq!(at("system/statistics/minimum"), "20");
        assert_eq!(at("system/statistics/maximum"), "1165");
        assert_eq!(at("system/statistics/range"), "1145");
        let sum = |path: &str| -> u64 {
            let all = &found[&format!("{own}/{path}/histogram/bucket/@value")];
            all.iter().map(|n| n.parse::<u64>().unwrap()).sum()
        };
        assert_eq!((sum("system"), sum("core")), (998, 998));
        let parts = found
            .iter()
            .filter_map(|(path, all)| Some((path.strip_prefix(&own)?.to_owned(), all.clone())));
        places.push(parts.collect::<Found>());
    }
    assert_eq!(places[0], places[1]);
    // And what it says is read as one measurement.
    let again = read(text.as_bytes());
    assert_eq!(again.series.len(), 2);
    assert_eq!(again.series[0].count, 500);
}

#[test]
fn the_kinds_of_timerlat_are_one_histogram_a_core_that_all_style_sheets_print() {
    let (record, counts) = imported("rtla-timerlat-hist.txt");
    let text = written(&record, &counts);
    let found = found(&text);
    for place in ["rteval/Measurements", "rteval/Measurements/Profile"] {
        let own = |path: &str| &found[&format!("{place}/cyclictest/{path}")];
        assert_eq!(own("@tool"), &["timerlat"]);
        assert_eq!(own("core/@id"), &["0", "1", "2", "3", "4"]);
        assert_eq!(own("core/statistics/samples"), &["1200004"; 5]);
        assert_eq!(
            own("core/statistics/maximum"),
            &["36", "58", "44", "46", "50"]
        );
        assert_eq!(own("system/statistics/samples"), &["6000020"]);
        assert!(own("system/@description")[0].starts_with("(5 cores) "));
    }
    let again = read(text.as_bytes());
    assert_eq!((again.instrument, again.series.len()), ("timerlat", 5));
}

#[test]
fn a_mean_that_nobody_knows_is_left_out() {
    let (mut record, mut counts) = imported("cyclictest-2.4-histofall.json");
    for (s, c) in record.series.iter_mut().zip(&mut counts) {
        s.mean_ns = None;
        c.beyond += 1;
    }
    let text = written(&record, &counts);
    assert!(
        text.contains("<median ") && !text.contains("<mean "),
        "{text}"
    );
}

#[test]
fn what_we_wrote_is_read_with_its_mean_and_what_is_above() {
    // No sample is above the buckets, and the file says so.
    let (mut record, mut counts) = run();
    for (series, counts) in record.series.iter_mut().zip(&mut counts) {
        series.count -= std::mem::take(&mut counts.beyond);
        series.max_ns = counts.buckets.last().map(|(us, _)| us * 1_000 + 999);
    }
    let text = written(&record, &counts);
    let again = read(text.as_bytes()).record(Labels::default()).unwrap();
    for (series, counts) in again.series.iter().zip(&counts) {
        assert_eq!(series.clamped, Some(0));
        let mean = figures(&counts.buckets)[2] * 1_000.0;
        assert!((series.mean_ns.unwrap() - mean).abs() < 1.0, "{mean}");
    }
    let said = &again.origin.as_ref().unwrap().stated;
    assert!(!said.iter().any(|said| said.contains("does not say")));
    // With samples above the buckets the mean is the stated one.
    let (mut record, mut counts) = run();
    for (series, counts) in record.series.iter_mut().zip(&mut counts) {
        series.count += 1;
        series.max_ns = Some(9_000_999);
        counts.beyond += 1;
        // In whole µs: what the file has three decimals for.
        let (below, beyond) = (series.count - counts.beyond, counts.beyond);
        let sum = figures(&counts.buckets)[2] * below as f64 + beyond as f64 * 9_000.0;
        let mean = sum / series.count as f64;
        series.mean_ns = Some(mean.floor() * 1_000.0);
    }
    let means: Vec<Option<f64>> = record.series.iter().map(|series| series.mean_ns).collect();
    let text = written(&record, &counts);
    let again = read(text.as_bytes()).record(Labels::default()).unwrap();
    for ((series, counts), mean) in again.series.iter().zip(&counts).zip(&means) {
        assert_eq!(
            (series.clamped, series.mean_ns),
            (Some(counts.beyond), *mean)
        );
    }
    // rteval says neither.
    let of_rteval = text.replacen("version=\"punctual", "version=\"3.7", 1);
    assert!(read(of_rteval.as_bytes()).series[0].mean_ns.is_none());
    for wrong in ["-1.000", "99999999.000", "x"] {
        let stated = format!(">{:.3}<", means[0].unwrap() / 1_000.0);
        assert!(text.contains(&stated), "{stated}");
        let wrong = text.replace(&stated, &format!(">{wrong}<"));
        let format = detect(wrong.as_bytes()).unwrap();
        assert!(import(wrong.as_bytes(), format, None, &mut NoSamples).is_err());
    }
}

#[test]
fn what_is_not_known_comes_back_unknown() {
    let (mut record, counts) = run();
    for (rt, release, policy, cpu) in [
        (Some(true), Some("6.12-rt"), Some("f:80"), Some(1)),
        (Some(false), None, Some("o"), Some(0)),
        (None, Some("6.12"), Some("d:500000ns:1000000ns"), None),
        (None, None, None, None),
    ] {
        let host = &mut record.host;
        (host.preempt_rt, host.kernel_release) = (rt, release.map(ToOwned::to_owned));
        for series in &mut record.series {
            (series.policy, series.cpu) = (policy.map(ToOwned::to_owned), cpu);
        }
        let text = written(&record, &counts);
        let again = read(text.as_bytes());
        assert_eq!(again.host.preempt_rt, rt, "{text}");
        assert_eq!(again.host.kernel_release.as_deref(), release, "{text}");
        assert!(again.series.iter().all(|s| s.cpu == cpu), "{text}");
        let priorities = found(&text).remove("rteval/Measurements/cyclictest/core/@priority");
        let expected = match policy {
            Some("f:80") => Some("80"),
            Some("o") => Some("0"),
            _ => None,
        };
        let expected = expected.map(|priority| vec![priority.to_owned(); 2]);
        assert_eq!(priorities, expected, "{text}");
    }
}

#[test]
fn no_text_of_a_record_ends_the_xml_or_commands_a_terminal() {
    let (mut record, counts) = run();
    let evil = "a\u{1b}]0;b\u{7}\u{0}\u{9b}31m]]></rteval><!--\u{fffe}\"'&";
    record.program = evil.to_owned();
    record.note = Some(evil.to_owned());
    record.loads[0].load = evil.to_owned();
    record.series[0].policy = Some(format!("f:{evil}"));
    let host = &mut record.host;
    for text in [
        &mut host.hostname,
        &mut host.kernel_release,
        &mut host.architecture,
        &mut host.cmdline,
        &mut host.clocksource,
        &mut host.cpu_model,
    ] {
        *text = Some(evil.to_owned());
    }
    let text = written(&record, &counts);
    assert!(
        !text.contains(|c: char| c.is_control() && c != '\n'),
        "{text:?}"
    );
    let safe = "a\u{fffd}]0;b\u{fffd}\u{fffd}\u{fffd}31m]]></rteval><!--\u{fffd}\"'&";
    assert_eq!(found(&text)["rteval/@version"], [safe]);
    assert_eq!(read(text.as_bytes()).version.as_deref(), Some(safe));
}
