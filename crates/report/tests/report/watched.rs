// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Pictures of a watched program, constructed: what a real run hardly has.

use punctual_model::watch::{
    CpuLane, Culprit, CyclePiece, LaneStretch, Late, PhaseTime, ResponseStep, Watched,
    WatchedThread, WorstCycle,
};
use punctual_report::chart::{Chart, Drawing, Shape, svg};
use punctual_report::document::RunItem;
use punctual_report::{export, html, markdown, text};

use super::{HOSTILE, counting, data, document, invalid, item};

const PHASES: [&str; 3] = ["timer", "running", "preempted"];

fn piece(from_ns: u64, to_ns: u64, phase: &str, cause: &str) -> CyclePiece {
    CyclePiece {
        from_ns,
        to_ns,
        cpu: 70,
        phase: phase.to_owned(),
        cause: cause.to_owned(),
    }
}

/// A cycle of 100 µs on CPU 70, beside `cpus` CPUs that change hands each microsecond.
fn cycle(release_ns: u64, cpus: u32) -> WorstCycle {
    let lane = |cpu| {
        let stretch = |n: i64| LaneStretch {
            from_ns: n * 1_000,
            to_ns: (n + 1) * 1_000,
            kind: if n % 2 == 0 { "task" } else { "idle" }.to_owned(),
            who: format!("{HOSTILE} {n}"),
        };
        CpuLane {
            cpu,
            stretches: (-10..110).map(stretch).collect(),
            left_out: 1,
        }
    };
    WorstCycle {
        number: release_ns / 50_000,
        release_ns,
        response_ns: 100_000,
        pieces: vec![
            piece(0, 1, "timer", "a late interrupt"),
            piece(1, 40_000, "running", "its own work"),
            piece(40_000, 100_000, "preempted", HOSTILE),
        ],
        left_out: 7,
        left_out_ns: 700,
        cpus: (0..cpus).map(lane).collect(),
        kernel: None,
    }
}

fn watched(cpus: u32) -> RunItem {
    let mut item = item(1, 1);
    let step = |to_ns, count, phases_ns: [f64; 3]| ResponseStep {
        to_ns,
        count,
        phases_ns: phases_ns.to_vec(),
    };
    let thread = WatchedThread {
        tid: 77,
        name: HOSTILE.to_owned(),
        policy: "f:80".to_owned(),
        period_ns: Some(punctual_model::Nanos::from_micros(50)),
        cycles: 1_000,
        phases: PHASES
            .map(|phase| PhaseTime {
                phase: phase.to_owned(),
                ..PhaseTime::default()
            })
            .to_vec(),
        by_response: vec![
            step(10_000, 400, [1_000.0, 8_000.0, 0.0]),
            step(11_000, 100, [2_000.0, 8_000.0, 0.0]),
            step(12_000, 400, [2_000.0, 9_000.0, 0.0]),
            step(13_000, 99, [2_000.0, 9_000.0, 1_000.0]),
            step(110_000, 1, [1.0, 39_999.0, 60_000.0]),
        ],
        late: Late {
            limit_ns: 50_000,
            rule: "period".to_owned(),
            count: 3,
            examined: 3,
        },
        culprits: vec![Culprit {
            kind: "task".to_owned(),
            what: HOSTILE.to_owned(),
            cycles: 3,
            saved: 2,
            ..Culprit::default()
        }],
        // The second begins before the first has ended.
        worst: vec![cycle(150_000, cpus), cycle(100_000, cpus)],
        ..WatchedThread::default()
    };
    item.record.instrument = "watch".to_owned();
    item.record.watched = Some(Box::new(Watched {
        threads: vec![thread],
        ..Watched::default()
    }));
    item
}

fn bars(item: RunItem) -> Vec<Chart> {
    let document = document(vec![item]);
    let drawings = document.drawings().into_iter();
    let charts = drawings.filter_map(|drawing| match drawing {
        Drawing::Chart(chart) => Some(chart.clone()),
        _ => None,
    });
    charts
        .filter(|chart| chart.series.iter().any(|s| s.shape == Shape::Bars))
        .collect()
}

fn ends(chart: &Chart, row: usize) -> Vec<(f64, f64)> {
    let points = chart.series.iter().flat_map(|s| &s.points);
    let points = points.filter(|p| (p.y - row as f64).abs() < 0.1);
    points.filter_map(|p| p.interval).collect()
}

#[test]
fn steps_are_joined_to_shares_of_all_cycles() {
    let charts = bars(watched(1));
    let chart = charts
        .iter()
        .find(|c| c.id.starts_with("watch-phases"))
        .unwrap();
    let punctual_report::chart::Scale::Names(names) = &chart.y.scale else {
        panic!("{:?}", chart.y)
    };
    // Half of them, nine tenths, 999 of a thousand, and the last one.
    let wanted = [
        "≤ 11.00 µs, 500 cycles",
        "≤ 12.00 µs, 400 cycles",
        "≤ 13.00 µs, 99 cycles",
        "≤ 100.0 µs, 1 cycle",
    ];
    assert_eq!(names, &wanted);
    // 1,200 ns of 9,200, for 400 cycles with 1,000 and 100 with 2,000.
    let first = ends(chart, 0);
    assert!(
        (first[0].1 - 100.0 * 1_200.0 / 9_200.0).abs() < 1e-9,
        "{first:?}"
    );
    assert!((first[1].1 - 100.0).abs() < 1e-9, "{first:?}");
    assert_eq!(ends(chart, 3).len(), 3);
    // Where a bar lies is no interval.
    let page = markdown::page(&document(vec![watched(1)]));
    let (_, phases) = page.split_once("≤ 11.00 µs, 500 cycles").unwrap();
    let head = page
        .lines()
        .find(|line| line.contains("| Series | Valid | Share of"));
    assert!(head.unwrap().contains("| From | To |"), "{page}");
    assert!(phases.starts_with(" | 0 | "), "{phases}");
}

/// Says the runs of a document as text, in one line.
fn said(item: RunItem) -> String {
    let text = text::run(item, 80, text::Detail::Summary);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn threads(item: &mut RunItem) -> &mut Vec<WatchedThread> {
    &mut item.record.watched.as_mut().unwrap().threads
}

#[test]
fn the_verdict_is_said_also_where_a_culprit_is_late_itself() {
    let mut item = watched(1);
    threads(&mut item)[0].name = "loop".to_owned();
    threads(&mut item)[0].culprits[0].what = "rustc with a late interrupt".to_owned();
    let said = said(item);
    assert!(said.contains("late: 3 of 1000 cycles of loop"), "{said}");
}

#[test]
fn instruction_counts_have_their_unit_in_answer_and_tables() {
    let mut item = watched(1);
    threads(&mut item)[0].name = "loop".to_owned();
    item.record.guest = Some(counting());
    let page = markdown::page(&document(vec![item.clone()]));
    let said = said(item);
    assert!(said.contains("their period of 50 virtual µs."), "{said}");
    for text in [said, page] {
        for heading in ["times in virtual µs", "goes, in virtual µs"] {
            assert!(text.contains(heading), "{heading}: {text}");
        }
        assert!(!text.contains("in µs"), "{text}");
    }
}

#[test]
fn threads_of_one_name_have_their_numbers() {
    let mut item = watched(1);
    let mut other = threads(&mut item)[0].clone();
    other.name = "main".to_owned();
    other.thread = 2;
    threads(&mut item)[0].name = "loop".to_owned();
    let mut second = threads(&mut item)[0].clone();
    second.thread = 1;
    second.late.count = 2;
    threads(&mut item).extend([second, other]);
    let said = said(item);
    assert!(
        said.contains("3 of 1000 cycles of loop (thread 0)"),
        "{said}"
    );
    assert!(said.contains("late cycles of loop (thread 1)"), "{said}");
    assert!(said.contains("late cycles of main,"), "{said}");
}

#[test]
fn a_loop_that_came_to_a_halt_is_said_first() {
    let mut item = watched(1);
    let mut halted = threads(&mut item)[0].clone();
    halted.thread = 1;
    halted.name = "halted".to_owned();
    halted.late.count = 1;
    halted.open_ns = Some(punctual_model::Nanos::new(3_001_471_883));
    threads(&mut item).push(halted);
    let said = said(item);
    let wanted = "late: halted did not end its last cycle, which had taken 3.001 s when the thread or the run ended.";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn a_loop_that_left_releases_unserved_is_not_in_time() {
    let mut item = watched(1);
    let thread = &mut threads(&mut item)[0];
    thread.late.count = 0;
    thread.late.rule = "deadline".to_owned();
    thread.missed_releases = 531;
    let said = said(item);
    assert!(said.contains("late: All "), "{said}");
    let wanted = "531 releases passed while it was busy, and it never served them.";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn how_the_program_ended_is_said_with_the_verdict() {
    let mut item = watched(1);
    let detail = "the program ended with status 42";
    let changed = "what ends a cycle of loop changed";
    for (id, detail) in [("program-end", detail), ("cycle-changed", changed)] {
        let finding = punctual_model::Finding::observed(id, detail);
        item.record.findings.push(finding);
    }
    let said = said(item);
    let wanted = "without it. What ends a cycle of loop changed. The program ended with status 42.";
    assert!(said.contains(wanted), "{said}");
}

#[test]
fn culprits_are_counted_in_cycles() {
    let charts = bars(watched(1));
    let chart = charts
        .iter()
        .find(|c| c.id.starts_with("watch-culprits"))
        .unwrap();
    assert_eq!(ends(chart, 0), [(0.0, 2.0), (2.0, 3.0)]);
}

#[test]
fn a_timeline_of_many_cpus_says_what_it_leaves_out() {
    let charts = bars(watched(72));
    let chart = charts
        .iter()
        .find(|c| c.id.starts_with("watch-cycle-"))
        .unwrap();
    let rows = match &chart.y.scale {
        punctual_report::chart::Scale::Names(names) => names.clone(),
        scale => panic!("{scale:?}"),
    };
    assert_eq!(rows.len(), 17, "{rows:?}");
    assert!(
        rows.contains(&"CPU 70".to_owned()),
        "the CPU that it was on"
    );
    let drawn: usize = chart.series.iter().map(|s| s.points.len()).sum();
    assert_eq!(drawn, 600);
    // 16 CPUs of 120 stretches and three pieces; one a CPU is not in the record.
    let hidden = "Not drawn: 1346 parts, 56 less busy CPUs.";
    assert!(chart.note.ends_with(hidden), "{}", chart.note);
    // What is short is left out, what is long never.
    assert!(ends(chart, 0).contains(&(0.001, 40.0)));
}

#[test]
fn what_threads_call_themselves_is_text_in_every_picture() {
    let item = invalid(watched(2));
    let document = document(vec![item.clone()]);
    let page = html::page(&document);
    assert!(!page.contains("<img") && !page.contains('\u{202e}'));
    let charts = data(&page);
    let drawn = charts.as_array().unwrap().iter().filter(|c| c["k"] == "xy");
    assert!(drawn.count() >= 4);
    for chart in bars(item.clone()) {
        let file = svg::chart(&chart);
        assert!(!file.contains("<img") && !file.contains('\x1b'), "{file}");
        assert!(file.contains(">INVALID</text>"), "{file}");
    }
    assert!(!markdown::page(&document).contains('\x1b'));
    let mut trace = Vec::new();
    let watched = item.record.watched.as_deref().unwrap();
    export::perfetto(&item.record, watched, &mut trace).unwrap();
    let trace: serde_json::Value = serde_json::from_slice(&trace).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let named = |name: &str| {
        let has = |e: &&serde_json::Value| e["args"]["name"] == name;
        events.iter().filter(has).count()
    };
    // Cycles that overlap have tracks each.
    assert_eq!(
        ["cycles", "cycles 2", "phases 2", "CPU 0", "CPU 1"].map(named),
        [1; 5]
    );
    assert_eq!(trace["otherData"]["valid"], false);
}
