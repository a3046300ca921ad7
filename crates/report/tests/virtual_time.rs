// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Instruction counts that are compared: every chart, heading and verdict of every output says what they are.
#![expect(clippy::unwrap_used, reason = "test helpers")]

mod common;

use punctual_model::{
    AgentKind, Comparison, ExperimentCell, ExperimentFactor, ExperimentResults, Guest, GuestAgent,
    GuestTime, History, Machines, Nanos,
};
use punctual_report::chart::{Drawing, Validity, svg};
use punctual_report::document::{Block, Document, Material, Table};
use punctual_report::text::Detail;
use punctual_report::{markdown, text};
use punctual_stats::runs::Options;
use punctual_verdict::comparison::experiment::{Design, MeasurementInput, experiment};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, RunInput, compare};
use punctual_verdict::history::{HistoryRequest, history};
use punctual_verdict::machines::{MachinesRequest, machines};

/// Runs of a group in blocks, with means around `ns`.
fn group(name: &str, ns: f64, time: GuestTime) -> GroupInput {
    let run = |block: u32| {
        let mut record = common::run();
        record.id = format!("{name}-{block}");
        record.name = Some(record.id.clone());
        record.tags.insert("block".to_owned(), block.to_string());
        record.total.mean_ns = Some(ns * (1.0 + 0.001 * f64::from(block)));
        record.guest = Some(Guest {
            kernel: "vmlinuz".to_owned(),
            kernel_sha256: None,
            time,
            instruction_ns: Some(Nanos::new(8)),
            command_line: String::new(),
            cpus: 1,
            memory_bytes: 1 << 29,
            nodes: None,
            seed: u64::from(block),
            agent: None,
            unpacked: false,
        });
        RunInput {
            record,
            histogram: None,
            required: None,
            blocks: None,
            started_s: Some(f64::from(block)),
        }
    };
    GroupInput {
        name: name.to_owned(),
        runs: (1..=6).map(run).collect(),
        refused: Vec::new(),
    }
}

fn asked() -> ComparisonRequest {
    ComparisonRequest {
        metrics: vec!["mean".parse().unwrap(), "max".parse().unwrap()],
        options: Options::default(),
        requirements: vec!["p99 <= 50us".parse().unwrap()],
        in_blocks: true,
        earlier: None,
    }
}

fn compared(time: GuestTime) -> Comparison {
    let groups = vec![group("rt", 30e3, time), group("none", 90e3, time)];
    compare(groups, &asked()).unwrap()
}

/// Two factors, of which one has numbers: effects, a sweep and a front.
fn swept(time: GuestTime) -> ExperimentResults {
    let levels = [
        ["rt", "1"],
        ["rt", "2"],
        ["rt", "4"],
        ["none", "1"],
        ["none", "2"],
        ["none", "4"],
    ];
    let factor = |name: &str, levels: &[&str]| ExperimentFactor {
        name: name.to_owned(),
        levels: levels.iter().map(ToString::to_string).collect(),
    };
    let name = |levels: &[&str; 2]| levels.join(" ");
    let design = Design {
        name: "kernels".to_owned(),
        blocks_planned: 6,
        factors: vec![
            factor("model", &["rt", "none"]),
            factor("lines", &["1", "2", "4"]),
        ],
        cells: levels
            .iter()
            .map(|cell| ExperimentCell {
                name: name(cell),
                levels: cell.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        ..Design::default()
    };
    let groups = levels.iter().zip(1_u32..);
    let groups = groups.map(|(cell, n)| group(&name(cell), 20e3 * f64::from(n), time));
    let measurement = MeasurementInput {
        name: "wakeup".to_owned(),
        groups: groups.collect(),
    };
    experiment(&design, vec![measurement], &asked()).unwrap()
}

fn document(time: GuestTime) -> Document {
    Document::new(&Material {
        comparisons: vec![compared(time)],
        experiments: vec![swept(time)],
        program: "punctual".to_owned(),
        made: "now".to_owned(),
        ..Material::default()
    })
}

fn text_of(material: Material) -> String {
    text::page(&Document::new(&material), 80, Detail::Summary)
}

fn table(block: &Block) -> Option<&Table> {
    match block {
        Block::Table(table) => Some(table),
        Block::Drawing(_, table) => table.as_ref(),
        _ => None,
    }
}

fn tables(document: &Document) -> Vec<&Table> {
    let blocks = document.sections.iter().flat_map(|s| &s.blocks);
    blocks.filter_map(table).collect()
}

/// Places where times are named as if a clock had been read.
fn unmarked(text: &str) -> Vec<&str> {
    let plain = |line: &&str| line.replace("virtual µs", "").contains('µ');
    let heading = |line: &&str| line.starts_with("VIRTUAL TIME: ");
    text.lines()
        .filter(|line| plain(line) && !heading(line))
        .collect()
}

#[test]
fn every_chart_table_and_verdict_of_compared_instruction_counts_says_what_they_are() {
    let document = document(GuestTime::Virtual);
    for answer in &document.answers {
        assert!(answer.word.ends_with("(virtual time)"), "{answer:?}");
        assert!(answer.sentence.contains("instruction counts"), "{answer:?}");
        assert!(!answer.figures.is_empty(), "{answer:?}");
        for figure in &answer.figures {
            assert!(figure.name.ends_with("(virtual time)"), "{figure:?}");
        }
    }
    let drawings = document.drawings();
    let titles: Vec<&str> = drawings.iter().map(|d| d.title()).collect();
    for wanted in [
        "mean against lines",
        "Effects of the factors",
        "Best trade-offs",
    ] {
        assert!(titles.contains(&wanted), "{titles:?}");
    }
    // What the factors change comes before the choice among cells, whose dots have names.
    assert_eq!(titles.last(), Some(&"Best trade-offs"));
    let Some(Drawing::Chart(front)) = drawings.last() else {
        panic!("{titles:?}");
    };
    let file = svg::chart(front);
    for cell in ["rt 1", "none 4"] {
        assert!(file.contains(&format!(">{cell}</text>")), "{file}");
    }
    for drawing in drawings {
        let Drawing::Chart(chart) = drawing else {
            panic!("{drawing:?}");
        };
        let title = &chart.title;
        assert!(
            chart.series.iter().all(|s| s.validity == Validity::Virtual),
            "{title}"
        );
        let axes = format!("{} {}", chart.x.label, chart.y.label);
        assert!(axes.contains("virtual"), "{title}: {axes}");
        assert!(svg::chart(chart).contains("VIRTUAL TIME"), "{title}");
    }
    let tables = tables(&document);
    assert!(tables.len() > 5, "{}", tables.len());
    for table in tables {
        assert!(table.caption.contains("virtual time"), "{}", table.caption);
        let verdict = table.columns.iter().position(|c| c.name == "Verdict");
        for row in &table.rows {
            let said = verdict.map(|at| &row[at]);
            assert!(
                said.is_none_or(|said| said.ends_with("(virtual time)")),
                "{row:?}"
            );
        }
    }
    let page = markdown::page(&document);
    assert_eq!(unmarked(&page), Vec::<&str>::new());
}

#[test]
fn text_of_compared_instruction_counts_has_no_bare_unit_and_no_bare_verdict() {
    let compared = text_of(Material {
        comparisons: vec![compared(GuestTime::Virtual)],
        ..Material::default()
    });
    let swept = text_of(Material {
        experiments: vec![swept(GuestTime::Virtual)],
        ..Material::default()
    });
    for text in [&compared, &swept] {
        assert!(text.starts_with("VIRTUAL TIME: "), "{text}");
        assert_eq!(unmarked(text), Vec::<&str>::new(), "{text}");
        assert!(text.contains("(virtual time)"), "{text}");
    }
    assert!(
        compared.contains("none against rt; virtual time: instruction counts\n"),
        "{compared}"
    );
    assert!(
        compared.contains("p99 <= 50us of rt (virtual time)"),
        "{compared}"
    );
    for heading in [
        "Groups: ",
        "Answers: ",
        "Effects over all cells",
        "Best trade-offs",
    ] {
        let of: Vec<&str> = swept
            .lines()
            .filter(|line| line.starts_with(heading))
            .collect();
        assert!(
            of.iter().all(|line| line.ends_with("instruction counts")),
            "{of:?}"
        );
        assert_eq!(of.len(), 1, "{heading}");
    }
}

#[test]
fn measured_times_are_not_called_virtual() {
    let page = markdown::page(&document(GuestTime::Real));
    assert!(page.contains("µs"), "{page}");
    let page = page
        + &text_of(Material {
            comparisons: vec![compared(GuestTime::Real)],
            ..Material::default()
        });
    assert!(!page.to_lowercase().contains("virtual µs"), "{page}");
    assert!(!page.to_lowercase().contains("virtual time"), "{page}");
}

#[test]
fn runs_of_guests_that_ran_other_programs_are_said_to_differ_in_that() {
    let agent = |digit: &str| GuestAgent {
        kind: AgentKind::Small,
        size_bytes: 1,
        sha256: digit.repeat(64),
    };
    let differs = |second: Option<GuestAgent>| {
        let mut groups = vec![
            group("rt", 30e3, GuestTime::Virtual),
            group("none", 90e3, GuestTime::Virtual),
        ];
        for (group, agent) in groups.iter_mut().zip([Some(agent("a")), second]) {
            for run in &mut group.runs {
                run.record.guest.as_mut().unwrap().agent = agent.clone();
            }
        }
        let comparison = compare(groups, &asked()).unwrap();
        let remark = comparison.remarks.iter().find(|r| r.id == "differs");
        remark.map(|remark| remark.detail.clone())
    };
    assert_eq!(differs(Some(agent("a"))), None);
    for (second, named) in [
        (Some(agent("b")), "none small bbbbbbbbbbbb"),
        (None, "none not recorded"),
    ] {
        let said = differs(second).unwrap();
        assert!(
            said.contains("guest's agent: rt small aaaaaaaaaaaa; ") && said.contains(named),
            "{said}"
        );
    }
}

#[test]
fn runs_of_two_images_at_one_path_are_said_to_differ_in_that() {
    let differs = |images: [Option<&str>; 2]| {
        let mut groups = vec![
            group("before", 30e3, GuestTime::Virtual),
            group("after", 90e3, GuestTime::Virtual),
        ];
        for (group, image) in groups.iter_mut().zip(images) {
            for run in &mut group.runs {
                let guest = run.record.guest.as_mut().unwrap();
                guest.kernel_sha256 = image.map(|digit| digit.repeat(64));
            }
        }
        let comparison = compare(groups, &asked()).unwrap();
        let remark = comparison.remarks.iter().find(|r| r.id == "differs");
        remark.map(|remark| remark.detail.clone())
    };
    assert_eq!(differs([None, None]), None);
    assert_eq!(differs([Some("a"), Some("a")]), None);
    for (images, said) in [
        (
            [Some("a"), Some("b")],
            "kernel image: before aaaaaaaaaaaa; after bbbbbbbbbbbb",
        ),
        (
            [None, Some("b")],
            "kernel image: before not recorded; after bbbbbbbbbbbb",
        ),
    ] {
        assert_eq!(differs(images).as_deref(), Some(said));
    }
}

/// Runs over time whose mean doubles, or of machines of which one is slow.
fn runs(time: GuestTime, machines: bool) -> GroupInput {
    let of = |number: u32| {
        let name = format!("m{:02}", number % 12);
        let slow = match machines {
            true => number % 12 == 7,
            false => number >= 24,
        };
        let ns = if slow { 90e3 } else { 30e3 };
        let mut run = group(&name, ns, time).runs.remove(0);
        run.record.id = format!("run-{number:02}");
        run.record.started = Some(format!("2026-11-{:02}T09:00:00Z", number % 28 + 1));
        let noise = f64::from(number * 7 % 11);
        run.record.total.mean_ns = Some(ns * (1.0 + 0.001 * noise));
        run.started_s = Some(f64::from(number));
        if machines {
            run.record.host.hostname = Some(name);
        }
        run
    };
    GroupInput {
        name: "all".to_owned(),
        runs: (0..36).map(of).collect(),
        refused: Vec::new(),
    }
}

fn over_time(time: GuestTime) -> Material {
    let asked = HistoryRequest {
        metrics: vec!["mean".parse().unwrap()],
        ..HistoryRequest::default()
    };
    let found = history(runs(time, false), &asked).unwrap();
    assert_eq!(found.lines[0].series[0].changes.len(), 1);
    Material {
        histories: vec![found],
        ..Material::default()
    }
}

fn of_machines(time: GuestTime) -> Material {
    let asked = MachinesRequest {
        metrics: vec!["mean".parse().unwrap()],
        level: 0.05,
    };
    let found = machines(runs(time, true), &asked).unwrap();
    assert_eq!(found.groups[0].outliers.len(), 1);
    Material {
        machines: vec![found],
        ..Material::default()
    }
}

#[test]
fn histories_and_machines_in_virtual_time_say_what_their_times_are() {
    for material in [
        over_time(GuestTime::Virtual),
        of_machines(GuestTime::Virtual),
    ] {
        let document = Document::new(&material);
        let answer = &document.answers[0];
        assert!(answer.word.ends_with("(virtual time)"), "{answer:?}");
        assert!(answer.sentence.contains("instruction counts"), "{answer:?}");
        for figure in &answer.figures {
            assert!(figure.name.ends_with("(virtual time)"), "{figure:?}");
        }
        for drawing in document.drawings() {
            let Drawing::Chart(chart) = drawing else {
                panic!("{drawing:?}");
            };
            let all = |validity| chart.series.iter().all(|s| s.validity == validity);
            assert!(all(Validity::Virtual), "{}", chart.title);
            assert!(chart.y.label.contains("virtual"), "{}", chart.y.label);
        }
        for table in tables(&document) {
            assert!(table.caption.contains("virtual time"), "{}", table.caption);
        }
        let page = markdown::page(&document);
        assert_eq!(unmarked(&page), Vec::<&str>::new(), "{page}");
        let text = text_of(material);
        assert!(text.starts_with("VIRTUAL TIME: "), "{text}");
        assert!(text.contains("not latencies of"), "{text}");
        assert_eq!(unmarked(&text), Vec::<&str>::new(), "{text}");
    }
    for material in [over_time(GuestTime::Real), of_machines(GuestTime::Real)] {
        let text = text_of(material);
        assert!(text.contains('µ'), "{text}");
        assert!(!text.to_lowercase().contains("virtual"), "{text}");
    }
}

#[test]
fn histories_and_machines_of_earlier_programs_are_read_as_measured_times() {
    let history = over_time(GuestTime::Real).histories.remove(0);
    let json = serde_json::to_string(&history).unwrap();
    assert!(!json.contains("virtual_time"), "{json}");
    let read: History = serde_json::from_str(&json).unwrap();
    assert_eq!(read, history);
    let fleet = of_machines(GuestTime::Virtual).machines.remove(0);
    let json = serde_json::to_string(&fleet).unwrap();
    assert!(json.contains("\"virtual_time\":true"), "{json}");
    assert_eq!(serde_json::from_str::<Machines>(&json).unwrap(), fleet);
}
