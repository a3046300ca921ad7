// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! latmus and latency. Files named `published` are what the projects and others have shown of their runs: EVL's page on its
//! benchmarks, and notes on Xenomai under QEMU, of which lines of single seconds are left out. Those named `made` are
//! written after the formats as the programs' sources print them; no such program ran.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fs;
use std::path::PathBuf;

use punctual_model::{Nanos, Series};
use punctual_peers::{Format, ImportError, Imported, Labels, NoSamples, detect, import};

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    String::from_utf8(fs::read(path.join(name)).unwrap()).unwrap()
}

fn read(text: &str) -> Result<Imported, ImportError> {
    let format = detect(text.as_bytes()).unwrap();
    import(text.as_bytes(), format, None, &mut NoSamples)
}

fn series(imported: &Imported) -> Series {
    let record = imported.record(Labels::default()).unwrap();
    record.series[0].clone()
}

fn states(imported: &Imported, what: &str) -> bool {
    imported.stated.iter().any(|said| said.contains(what))
}

#[test]
fn the_summary_of_latmus() {
    let imported = read(&golden("latmus-published.log")).unwrap();
    assert_eq!(imported.format, Format::Latmus);
    assert_eq!(imported.duration, Some(Nanos::from_secs(8)));
    let series = series(&imported);
    assert_eq!((series.min_ns, series.max_ns), (Some(1_182), Some(3_899)));
    assert_eq!(series.mean_ns, Some(1_316.0));
    assert_eq!(
        (series.cpu, series.policy.as_deref()),
        (Some(1), Some("f:90"))
    );
    assert_eq!(series.interval_ns, Some(Nanos::from_millis(1)));
    assert!(series.quantiles_ns.is_empty());
    // Nothing says how many samples there were.
    assert_eq!(series.count, 8_000);
    assert!(states(&imported, "8000 is the duration over the period"));
}

#[test]
fn the_histogram_of_latmus() {
    let imported = read(&golden("latmus-plot-published.log")).unwrap();
    assert_eq!(
        imported.version.as_deref(),
        Some("evl.0 -- #a3ceb80 (2020-01-22 11:57:11 +0100)")
    );
    assert_eq!(imported.host.kernel_release.as_deref(), Some("5.5.0-rc7+"));
    assert!(
        imported
            .host
            .cmdline
            .as_deref()
            .unwrap()
            .ends_with("evl.oob_cpus=1")
    );
    assert_eq!(imported.resolution_ns, Some(1_000));
    let published = series(&imported);
    assert_eq!((published.count, published.clamped), (71_598, Some(0)));
    assert_eq!(
        (published.min_ns, published.max_ns),
        (Some(205), Some(25_510))
    );
    assert_eq!(published.mean_ns, Some(3_097.0));
    assert_eq!(published.quantiles_ns["p50"], Some(2_999));
    assert_eq!(published.quantiles_ns["p99"], Some(6_999));
    // A last row of one sample has none added.
    assert!(!states(&imported, "cannot be told"));

    // What is longer than the last row is in it, and no quantile is claimed there.
    let imported = read(&golden("latmus-plot-made.log")).unwrap();
    let outliers = series(&imported);
    assert_eq!((outliers.count, outliers.clamped), (2_000, Some(20)));
    assert_eq!(outliers.max_ns, Some(31_250));
    assert!(outliers.quantiles_ns["p50"].is_some());
    assert_eq!(outliers.quantiles_ns["p99.9"], None);
    assert!(outliers.overruns == Some(1) && states(&imported, "not isolated"));
}

/// What newer versions of `latmus -g` write, after the source that prints it; no such program ran.
const NEWER: &str = "# Test started on: Fri Jan 24 15:36:34 2025
# Linux version 6.12.8-evl2 (made@up) (gcc 13) #45 SMP PREEMPT_DYNAMIC IRQPIPE Wed Jan 22 12:24:03 CET 2025
# BOOT_IMAGE=/vmlinuz evl.oob_cpus=1
# libevl version: evl.0.52
# sampling period: 1000 microseconds
# clocksource: tsc
# context: user
# thread priority: 98
# thread affinity: CPU1
# duration (hhmmss): 00:00:10
# timer OVERRUNS: 2
# timer peak (hhmmss): 00:00:07
# timer min latency: 0.205
# timer avg latency: 1.097
# timer max latency: 5.510
# timer sample count: 10000
0 95
1 8900
2 900
3 77
4 20
5 8
";

#[test]
fn the_histogram_of_newer_latmus() {
    let imported = read(NEWER).unwrap();
    assert_eq!(imported.format, Format::Latmus);
    assert_eq!(
        imported.host.cmdline.as_deref(),
        Some("BOOT_IMAGE=/vmlinuz evl.oob_cpus=1")
    );
    let plotted = series(&imported);
    assert_eq!(
        (plotted.count, plotted.overruns, plotted.cpu),
        (10_000, Some(2), Some(1))
    );
    assert_eq!((plotted.min_ns, plotted.max_ns), (Some(205), Some(5_510)));
    assert_eq!(plotted.mean_ns, Some(1_097.0));
    assert_eq!(plotted.quantiles_ns["p50"], Some(1_999));
    assert!(states(&imported, "Fri Jan 24 15:36:34 2025"));
    assert!(states(&imported, "what it measured: timer"));
    let degraded = "# DEGRADED MODE DETECTED - FIGURES MAY BE IRRELEVANT\n# Linux version";
    let degraded = read(&NEWER.replacen("# Linux version", degraded, 1)).unwrap();
    assert!(states(&degraded, "degraded mode"));
    assert_eq!(degraded.series, imported.series);
    // Printed to the terminal, the summary comes first.
    let above = |min: &str| {
        format!(
            "RTT|  00:00:01  (user, 1000 us period, priority 98, CPU1)\n\
             RTS|      {min}|      1.097|      5.510|       2|     0|      00:00:10/00:00:10\n"
        )
    };
    let both = read(&(above("0.205") + NEWER)).unwrap();
    assert_eq!(both.series, imported.series);
    for wrong in [
        above("0.204") + NEWER,
        above("0.205") + NEWER + &above("0.205"),
        NEWER.to_owned() + NEWER,
    ] {
        assert!(read(&wrong).is_err(), "{wrong}");
    }
}

#[test]
fn several_measurements_of_latmus_are_refused_with_the_reason() {
    let second = "# RX delivery peak (hhmmss): 00:00:02\n# RX delivery sample count: 3\n0 95";
    let columns = NEWER.replacen("0 95", "0 95 0", 1);
    for file in [NEWER.replacen("0 95", second, 1), columns] {
        let err = read(&file).unwrap_err();
        assert!(err.to_string().contains("several things"), "{err}");
        assert!(err.hint().unwrap().contains("one measurement"));
    }
}

#[test]
fn rows_that_may_count_one_too_many_are_told() {
    let text = golden("latmus-plot-one-more-made.log");
    let imported = read(&text).unwrap();
    assert!(states(&imported, "cannot be told"));
    assert_eq!(series(&imported).count, 1_004);
    // With the number of samples it can.
    let stated = text.replace(
        "# max latency: 4.200",
        "# max latency: 4.200\n# sample count: 1000",
    );
    let imported = read(&stated).unwrap();
    assert_eq!(series(&imported).count, 1_000);
    assert!(states(&imported, "one sample too many"));
    let other = text.replace(
        "# max latency: 4.200",
        "# max latency: 4.200\n# sample count: 990",
    );
    assert!(
        read(&other)
            .unwrap_err()
            .to_string()
            .contains("the file states 990")
    );
}

#[test]
fn the_figures_of_latency() {
    let imported = read(&golden("latency-published.log")).unwrap();
    assert_eq!(imported.format, Format::XenomaiLatency);
    let published = series(&imported);
    assert_eq!(
        (published.min_ns, published.max_ns),
        (Some(1_154), Some(87_379))
    );
    assert_eq!(
        (published.count, published.mean_ns),
        (599_984, Some(3_078.0))
    );
    assert_eq!(published.interval_ns, Some(Nanos::from_micros(100)));
    assert_eq!(published.policy.as_deref(), Some("f:99"));

    // -h: the histogram of all samples, not those of each second's extremes.
    let imported = read(&golden("latency-cells-made.log")).unwrap();
    let cells = series(&imported);
    assert_eq!((cells.count, cells.clamped), (2_000, Some(3)));
    assert_eq!(cells.quantiles_ns["p50"], Some(2_999));
    assert!(cells.overruns == Some(2) && states(&imported, "in-kernel periodic task"));

    // -g: rows are the middles of cells, and count one more.
    let imported = read(&golden("latency-plot-made.log")).unwrap();
    assert_eq!(imported.resolution_ns, Some(500));
    let plot = series(&imported);
    assert_eq!((plot.count, plot.clamped), (2_000, Some(0)));
    assert_eq!(plot.quantiles_ns["p50"], Some(1_499));
    assert_eq!((plot.min_ns, plot.max_ns), (Some(615), Some(4_134)));
    let table = imported.bucket_table().unwrap();
    assert!(
        table.contains("0,500,999,400\n0,1000,1499,600\n0,2000,2499,800\n"),
        "{table}"
    );
}

#[test]
fn early_wake_ups_are_no_latencies() {
    let text =
        golden("latmus-plot-published.log").replace("min latency: 0.205", "min latency: -0.205");
    let imported = read(&text).unwrap();
    let early = series(&imported);
    assert_eq!((early.min_ns, early.max_ns), (None, Some(25_510)));
    assert!(early.quantiles_ns.is_empty());
    assert!(states(&imported, "came early"));
}

#[test]
fn switches_to_linux_are_told() {
    let text = golden("latency-published.log").replace(
        "|       0|     0|    00:01:00",
        "|       0|     7|    00:01:00",
    );
    assert!(states(&read(&text).unwrap(), "7 switches"));
}

#[test]
fn files_that_contradict_themselves_are_refused() {
    let of = |name: &str, from: &str, to: &str| {
        let text = golden(name);
        assert!(text.contains(from), "{from}");
        read(&text.replace(from, to)).unwrap_err().to_string()
    };
    for (name, from, to, said) in [
        (
            "latmus-published.log",
            "1.316|      3.899|       0|     0|    00",
            "4.316|      3.899|       0|     0|    00",
            "the average",
        ),
        ("latmus-published.log", "RTS|", "XTS|", "before the summary"),
        (
            "latmus-published.log",
            "RTS|      1.182",
            "RTS|      1.18",
            "three decimals",
        ),
        (
            "latmus-plot-published.log",
            "25 1\n",
            "",
            "extremes do not agree",
        ),
        (
            "latmus-plot-published.log",
            "24 1\n",
            "23 1\n",
            "do not ascend",
        ),
        (
            "latmus-plot-published.log",
            "1000 microseconds",
            "0 microseconds",
            "sampling period",
        ),
        (
            "latency-cells-made.log",
            "avg|      2000",
            "avg|      1999",
            "the file states 1999",
        ),
        (
            "latency-cells-made.log",
            "| 199 -200 |        3",
            "| 198 -199 |        3",
            "extremes do not agree",
        ),
        (
            "latency-plot-made.log",
            "2.25 801",
            "2.35 801",
            "not those of `latency -g`",
        ),
    ] {
        let err = of(name, from, to);
        assert!(err.contains(said), "{from}: {err}");
    }
    // -q prints the summary alone.
    let err = read(
        "RTT|  00:00:01  (user, 1000 us period, priority 90, CPU1)\nRTS|      1.182|      1.316|      3.899|       0|     0|    00:00:00/00:00:00\n",
    );
    assert!(
        err.unwrap_err()
            .to_string()
            .contains("neither the number of samples")
    );
}

#[test]
fn a_run_that_was_killed_and_another_behind_it_are_not_one() {
    let whole = golden("latmus-published.log");
    let head = "RTT|  00:00:01  (user, 1000 us period, priority 90, CPU1)\n";
    let killed = format!(
        "{head}RTD|      0.500|      1.000|    999.250|       0|     0|      0.500|    999.250\n"
    );
    let refused = |text: &str| read(text).unwrap_err().to_string();
    let appended = refused(&(killed.clone() + &whole));
    assert!(appended.contains("second run"), "{appended}");
    // Without its head, or of a longer run, by the worst sample up to each second, which never falls.
    let (_, rows) = killed.split_once('\n').unwrap();
    let rows =
        refused(&whole.replacen("RTD|      1.211", &(rows.to_owned() + "RTD|      1.211"), 1));
    assert!(rows.contains("second run"), "{rows}");
    let less = refused(&whole.replace(
        "3.899|       0|     0|    00",
        "2.899|       0|     0|    00",
    ));
    assert!(less.contains("beyond its minimum or maximum"), "{less}");
    // The head comes again every few rows, later.
    let again = head.replace("00:00:01", "00:00:05") + "RTD|      1.192";
    read(&whole.replace("RTD|      1.192", &again)).unwrap();
}
