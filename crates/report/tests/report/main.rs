// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Reports of constructed runs: what a page may hold, what every chart says, what a hostile name can do.
#![expect(clippy::unwrap_used, reason = "test helpers")]

#[path = "../common/mod.rs"]
mod common;
mod kinds;
mod looks;
mod maxima;
mod watched;

use punctual_model::{
    Check, Figure, Guest, GuestTime, Interval, Nanos, Origin, RunRecord, TooShort,
};
use punctual_report::chart::{Drawing, Validity, View, svg};
use punctual_report::document::{
    Block, Column, Document, Material, Maxima, RunItem, Section, Stretch, Table,
};
use punctual_report::{html, markdown};
use punctual_stats::{LatencyHistogram, ThreadHistogram};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\"'&|`<!--\u{202e}\x1b[31m";

fn histogram(seed: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::default();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for _ in 0..20_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        // A body around 20 µs and a tail over three factors of ten.
        let share = (state >> 11) as f64 / (1_u64 << 53) as f64;
        let ns = 15_000.0 + 10_000.0 * share + 20.0 / (1.0 - share).powf(1.2);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a latency"
        )]
        histogram.record(ns as u64);
    }
    histogram
}

fn item(number: u64, threads: u32) -> RunItem {
    let mut record = common::run();
    record.id = format!("019aa0f0-1234-7abc-8def-{number:012x}");
    record.name = Some(format!("run-{number}"));
    record.series = (0..threads).map(common::series).collect();
    let parts = (0..threads).map(|thread| ThreadHistogram {
        thread: Some(thread),
        context: None,
        histogram: histogram(number * 16 + u64::from(thread)),
    });
    let maxima = (0..threads).map(|thread| Maxima {
        thread: Some(thread),
        stretches: (0..600_u64)
            .map(|n| Stretch {
                from: Nanos::from_secs(n),
                until: Nanos::from_secs(n + 1),
                max_ns: 30_000 + number * 1_000 + n * 7_919 % 90_000,
            })
            .collect(),
        cut: None,
    });
    RunItem {
        record,
        parts: parts.collect(),
        maxima: maxima.collect(),
        group: None,
    }
}

fn material(runs: Vec<RunItem>) -> Material {
    Material {
        runs,
        program: "punctual 0.1.0".to_owned(),
        made: "2026-11-21T12:00:00Z".to_owned(),
        ..Material::default()
    }
}

fn document(runs: Vec<RunItem>) -> Document {
    Document::new(&material(runs))
}

/// The values that the page's script gets.
fn data(page: &str) -> serde_json::Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let from = page.find(start).unwrap() + start.len();
    let to = from + page[from..].find("</script>").unwrap();
    serde_json::from_str(&page[from..to]).unwrap()
}

fn invalid(mut item: RunItem) -> RunItem {
    item.record.valid = false;
    item.record
        .checks
        .push(Check::fail("steal", "40 % of a CPU's time"));
    item
}

#[test]
fn a_hundred_runs_of_four_threads_fit_into_two_megabytes() {
    let document = document((0..100).map(|n| item(n, 4)).collect());
    let page = html::page(&document);
    println!("100 runs of 4 threads: {} bytes", page.len());
    assert!(page.len() < 2_000_000, "{} bytes", page.len());
    let charts = data(&page);
    let series = charts[0]["s"].as_array().unwrap();
    assert_eq!(series.len(), 500);
    let samples: u64 = series
        .iter()
        .map(|s| s["b"].as_array().unwrap().iter().skip(2).step_by(3))
        .map(|counts| counts.map(|n| n.as_u64().unwrap()).sum::<u64>())
        .sum();
    assert_eq!(
        samples,
        2 * 100 * 4 * 20_000,
        "every sample is in the page, by thread and together"
    );
}

#[test]
fn a_page_asks_nobody_for_anything() {
    let page = html::page(&document(vec![item(1, 2)]));
    let named = page.replace("http://www.w3.org/2000/svg", "");
    for word in [
        "http://",
        "https://",
        "//cdn",
        "@import",
        "url(http",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!named.contains(word), "{word}");
    }
    for link in named.split("href=\"").skip(1) {
        assert!(
            link.starts_with('#') || link.starts_with("data:,"),
            "{}",
            &link[..30]
        );
    }
    assert!(page.contains("default-src 'none'"));
}

/// What a browser takes for elements: what stands between `<` and a letter, outside of scripts.
fn elements(page: &str) -> Vec<&str> {
    let body = page.split("<script").next().unwrap();
    let body = body.split("</style>").last().unwrap();
    let tags = body.split('<').skip(1);
    tags.map(|tag| tag.split([' ', '>', '/']).next().unwrap_or(""))
        .collect()
}

#[test]
fn hostile_names_are_text_everywhere() {
    let mut hostile = item(1, 2);
    let clean = html::page(&document(vec![item(1, 2)]));
    hostile.record.name = Some(HOSTILE.to_owned());
    hostile.record.note = Some(HOSTILE.to_owned());
    hostile.record.host.hostname = Some(HOSTILE.to_owned());
    hostile.record.host.kernel_release = Some(HOSTILE.to_owned());
    hostile.record.host.cmdline = Some(HOSTILE.to_owned());
    hostile.record.checks[0].detail = HOSTILE.to_owned();
    hostile.record.figures = vec![Figure::single(
        HOSTILE,
        HOSTILE,
        punctual_model::Better::Lower,
        3.0,
    )];
    let mut material = material(vec![hostile]);
    material.title = Some(HOSTILE.to_owned());
    let document = Document::new(&material);
    let page = html::page(&document);
    assert_eq!(
        page.matches("</script>").count(),
        clean.matches("</script>").count()
    );
    assert!(!elements(&page).contains(&"img"));
    assert!(!page.contains('\u{202e}') && !page.contains('\x1b'));
    // In the values it is text as it was.
    assert!(data(&page).to_string().contains("onerror=alert"));
    for drawing in document.drawings() {
        let file = match drawing {
            Drawing::Chart(chart) => svg::chart(chart),
            Drawing::Distribution(distribution) => svg::chart(&distribution.chart(View::Histogram)),
            Drawing::Heat(heat) => svg::heat(heat),
        };
        assert!(!file.contains("<img") && !file.contains('\x1b'), "{file}");
        assert_eq!(file.matches("<svg").count(), 1);
    }
    let text = markdown::page(&document);
    let outside: String = text.split("```").step_by(2).collect();
    assert!(
        !outside.contains("<img") && !text.contains(['\x1b', '\u{202e}']),
        "{outside}"
    );
    // A bar in a name is no border of a table's cell.
    let row = text.lines().find(|l| l.starts_with("| Machine |")).unwrap();
    assert_eq!(row.replace("\\|", "").matches('|').count(), 3, "{row}");
}

#[test]
fn invalid_runs_are_marked_on_every_chart_and_first() {
    let document = document(vec![item(1, 2), invalid(item(2, 2))]);
    assert_eq!(document.answers[1].word, "INVALID");
    let faults: Vec<Vec<&str>> = document
        .answers
        .iter()
        .map(|answer| answer.validity.iter().filter(|reason| reason.is_fault))
        .map(|faults| faults.map(|reason| reason.text.as_str()).collect())
        .collect();
    assert_eq!(faults[0], [""; 0], "a valid run has none");
    assert_eq!(
        faults[1],
        [
            "no claim can be based on these figures",
            "steal failed: 40 % of a CPU's time"
        ]
    );
    assert!(document.drawings().len() >= 2);
    for drawing in document.drawings() {
        assert!(
            drawing
                .warnings()
                .iter()
                .any(|w| w.contains("INVALID") && w.contains("run-2")),
            "{}",
            drawing.id()
        );
        let charts = match drawing {
            Drawing::Chart(chart) => vec![chart.clone()],
            Drawing::Distribution(distribution) => View::ALL.map(|v| distribution.chart(v)).into(),
            Drawing::Heat(_) => Vec::new(),
        };
        for chart in charts {
            let file = svg::chart(&chart);
            assert!(file.contains(">INVALID: run-2"), "{}", chart.id);
        }
    }
    let page = html::page(&document);
    let marked = data(&page);
    for chart in marked.as_array().unwrap() {
        let of = |validity: &str| {
            chart["s"]
                .as_array()
                .unwrap()
                .iter()
                .any(|s| s["v"] == validity)
        };
        assert!(of("invalid") && of("valid"), "{}", chart["id"]);
    }
    assert!(page.find("INVALID").unwrap() < page.find("<h2>").unwrap());
    assert!(markdown::page(&document).contains("⛔ **INVALID**"));
}

#[test]
fn every_chart_has_a_unit_and_a_count() {
    for runs in [
        vec![item(1, 1)],
        vec![item(1, 4), item(2, 4)],
        vec![irq()],
        vec![linpack()],
        vec![memory()],
    ] {
        let document = document(runs);
        assert!(!document.drawings().is_empty());
        for drawing in document.drawings() {
            let labels = match drawing {
                Drawing::Chart(chart) => {
                    assert!(
                        chart
                            .series
                            .iter()
                            .all(|s| s.counted.chars().any(|c| c.is_ascii_digit()))
                    );
                    format!("{} {}", chart.x.label, chart.y.label)
                }
                Drawing::Distribution(distribution) => {
                    assert!(distribution.series.iter().all(|s| s.count > 0));
                    distribution.chart(View::Histogram).x.label
                }
                Drawing::Heat(heat) => heat.unit.clone(),
            };
            let unit = ["µs", "GFLOPS", "MB/s", " s", "ns"]
                .iter()
                .any(|u| labels.contains(u));
            assert!(unit, "{}: {labels}", drawing.id());
            assert!(
                drawing.note().chars().any(|c| c.is_ascii_digit()),
                "{}",
                drawing.note()
            );
        }
    }
}

fn irq() -> RunItem {
    let mut item = item(5, 1);
    item.record.instrument = "irq".to_owned();
    item.record.spec = None;
    item.record.series = ["delivery", "handler", "wake-up"]
        .iter()
        .map(|context| punctual_model::Series {
            context: Some((*context).to_owned()),
            ..common::series(0)
        })
        .collect();
    item.parts = item
        .record
        .series
        .iter()
        .map(|s| ThreadHistogram {
            thread: Some(0),
            context: s.context.clone(),
            histogram: histogram(9),
        })
        .collect();
    item
}

fn figures(instrument: &str, figures: Vec<Figure>) -> RunItem {
    let mut item = item(6, 0);
    item.record = RunRecord {
        instrument: instrument.to_owned(),
        spec: None,
        series: Vec::new(),
        total: punctual_model::Series::default(),
        figures,
        ..item.record
    };
    item.maxima.clear();
    item
}

fn estimate(name: &str, unit: &str, value: f64) -> Figure {
    Figure {
        count: 5,
        interval: Some(Interval {
            low: value * 0.9,
            high: value * 1.1,
            confidence: 0.95,
        }),
        ..Figure::single(name, unit, punctual_model::Better::Higher, value)
    }
}

fn linpack() -> RunItem {
    figures(
        "linpack",
        [1000, 2000]
            .map(|n| estimate("gflops", "GFLOPS", f64::from(n) / 50.0).at("n", n))
            .into(),
    )
}

fn memory() -> RunItem {
    let mut all = Vec::new();
    for cpu in 0..2 {
        for memory in 0..2 {
            let value = if cpu == memory { 12_000.0 } else { 7_000.0 };
            all.push(
                estimate("copy", "MB/s", value)
                    .at("cpu_node", cpu)
                    .at("memory_node", memory),
            );
        }
    }
    figures("memory", all)
}

#[test]
fn a_matrix_has_a_cell_for_each_pair_of_nodes() {
    let document = document(vec![memory()]);
    let drawings = document.drawings();
    let Some(Drawing::Heat(heat)) = drawings.first() else {
        panic!("{drawings:?}");
    };
    assert_eq!(
        (heat.rows.len(), heat.columns.len(), heat.cells.len()),
        (2, 2, 4)
    );
    let file = svg::heat(heat);
    assert!(
        file.contains(">12000<") && file.contains(">7000<"),
        "{file}"
    );
}

/// A guest whose times are instruction counts.
fn counting() -> Guest {
    Guest {
        kernel: "vmlinuz".to_owned(),
        kernel_sha256: None,
        time: GuestTime::Virtual,
        instruction_ns: Some(Nanos::new(8)),
        command_line: String::new(),
        cpus: 1,
        memory_bytes: 1 << 29,
        nodes: None,
        seed: 1,
        agent: None,
        unpacked: false,
    }
}

#[test]
fn instruction_counts_are_said_to_be_no_latencies_in_every_chart_and_first_of_all() {
    let mut item = item(1, 1);
    item.record.guest = Some(counting());
    let document = document(vec![item]);
    let answer = &document.answers[0];
    assert_eq!(answer.word, "virtual time");
    assert!(
        answer.validity[0]
            .text
            .contains("no latency of any hardware"),
        "{answer:?}"
    );
    for drawing in document.drawings() {
        let warnings = drawing.warnings();
        assert!(
            warnings.iter().any(|w| w.starts_with("VIRTUAL TIME: ")),
            "{}: {warnings:?}",
            drawing.title()
        );
        if let Drawing::Chart(chart) = drawing {
            assert!(svg::chart(chart).contains("VIRTUAL TIME"));
        }
    }
    let page = html::page(&document);
    assert!(
        page.contains("\"v\":\"virtual\""),
        "the script marks it too"
    );
    assert!(page.contains("VIRTUAL TIME: all times are instruction counts"));
}

#[test]
fn an_imported_run_claims_no_interval() {
    let mut item = item(1, 1);
    item.record.valid = false;
    item.record.checks = vec![Check::unknown("imported", "nobody knows")];
    item.record.origin = Some(Origin {
        tool: "cyclictest".to_owned(),
        ..Origin::default()
    });
    item.record.spec = None;
    item.record.total.quantile_intervals_ns.clear();
    item.record.total.clamped = Some(7);
    let document = document(vec![item]);
    let answer = &document.answers[0];
    assert_eq!(answer.word, "imported, not checked");
    assert!(
        answer.figures.iter().all(|f| !f.detail.contains("95 %")),
        "{answer:?}"
    );
    let Some(Drawing::Distribution(distribution)) = document.drawings().first().copied() else {
        panic!("no distribution");
    };
    assert_eq!(distribution.series[0].validity, Validity::Imported);
    let beyond = "7 samples are beyond the histogram of their source and drawn at the maximum of their thread.";
    assert!(distribution.note.contains(beyond), "{}", distribution.note);
}

#[test]
fn samples_above_the_largest_of_the_first_thread_are_drawn_where_they_are() {
    let mut item = item(1, 2);
    let samples: [&[u64]; 2] = [&[5_000, 36_000], &[37_000, 84_000, 648_000, 648_000]];
    for (number, samples) in samples.into_iter().enumerate() {
        // An import's histogram reaches as far as its thread's largest sample.
        let mut histogram = LatencyHistogram::new(*samples.last().unwrap());
        histogram.record_slice(samples);
        item.parts[number].histogram = histogram;
        item.record.series[number].clamped = Some(2 * number as u64);
    }
    let document = document(vec![item]);
    let Some(Drawing::Distribution(distribution)) = document.drawings().first().copied() else {
        panic!("no distribution");
    };
    let drawn = |part: usize| {
        let series = &distribution.series[part];
        let last = series.bins.last().unwrap();
        assert!(last.from_ns <= 648_000 && 648_000 < last.to_ns, "{last:?}");
        assert_eq!((last.count, series.clamped), (2, 2), "{}", series.part);
        series
            .bins
            .iter()
            .filter(|bin| bin.from_ns > 36_000)
            .count()
    };
    assert_eq!((drawn(0), drawn(2)), (3, 3));
}

#[test]
fn runs_of_several_instruments_have_no_common_largest() {
    let runs = vec![
        item(1, 1),
        item(2, 1),
        item(3, 1),
        item(4, 1),
        irq(),
        linpack(),
        memory(),
    ];
    let document = document(runs);
    assert!(
        document.answers[0].figures.iter().all(|f| f.name != "max"),
        "{:?}",
        document.answers
    );
    let titles: Vec<&str> = document.sections.iter().map(|s| s.title.as_str()).collect();
    for title in [
        "Runs",
        "Wake-up latency",
        "From the interrupt to the thread",
        "LINPACK",
        "Memory",
        "Validity",
        "Machine and method",
    ] {
        assert!(titles.contains(&title), "{title} in {titles:?}");
    }
}

#[test]
fn runs_of_one_name_are_told_apart() {
    let mut second = item(2, 1);
    second.record.name = Some("run-1".to_owned());
    let document = document(vec![item(1, 1), second]);
    let Some(Drawing::Distribution(distribution)) = document.drawings().first().copied() else {
        panic!("no distribution");
    };
    assert_ne!(distribution.series[0].run, distribution.series[1].run);
}

#[test]
fn page_and_terminal_say_how_long_to_measure_for_an_interval() {
    let mut item = item(1, 1);
    let record = &mut item.record;
    record.duration_ns = Some(Nanos::from_secs(10));
    record.series.truncate(1);
    let short = TooShort {
        correlation_samples: 199.3,
        needed_samples: 74_100,
    };
    for series in record.series.iter_mut().chain([&mut record.total]) {
        series.count = 10_000;
        series.quantile_intervals_ns.insert("p99".to_owned(), None);
        series.too_short.insert("p99".to_owned(), short);
    }
    let note =
        "No interval: samples depend on each other for 200 ms. Measure for at least 75 s for p99.";
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = punctual_report::text::run(item.clone(), 80, punctual_report::text::Detail::Summary);
    assert_eq!(words(&text).matches(note).count(), 2, "{text}");
    let document = document(vec![item]);
    assert!(words(&markdown::page(&document)).contains(note));
    assert!(html::page(&document).contains(note));
}

#[test]
fn an_interval_that_is_cut_at_0_is_said_to_be() {
    let said = |low: f64| {
        let mut item = item(1, 1);
        item.record.series[0].mean_interval_ns = Some(Interval {
            low,
            high: 400_000.0,
            confidence: 0.95,
        });
        markdown::page(&document(vec![item])).contains("± is its longer half.")
    };
    assert!(said(0.0) && !said(1.0));
}

#[test]
fn a_table_without_a_caption_has_no_empty_words_in_markdown() {
    let mut document = document(Vec::new());
    let table = Table {
        columns: vec![Column {
            name: "Host".to_owned(),
            ..Column::default()
        }],
        rows: vec![vec!["a".to_owned()]],
        ..Table::default()
    };
    document.sections.push(Section {
        id: "hosts".to_owned(),
        title: "Hosts".to_owned(),
        blocks: vec![Block::Table(table)],
    });
    let page = markdown::page(&document);
    assert!(page.contains("\n| Host |\n|---|\n| a |\n"), "{page}");
    assert!(!page.contains("****"), "{page}");
}
