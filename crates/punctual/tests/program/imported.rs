// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is said of other tools' files: each kind of latency, each CPU and each result is its own.

use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

use serde_json::Value;

use crate::common::Home;

/// rtla's histogram of three CPUs. The interrupts of two of them are `late` µs late, and their threads 5 µs more.
fn timerlat(late: u64) -> String {
    let mut text = "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\nIndex".to_owned();
    for cpu in 0..3 {
        write!(text, "   IRQ-00{cpu}   Thr-00{cpu}").unwrap();
    }
    let mut row = |name: &str, cells: [u64; 6]| {
        let cells = cells.map(|cell| format!("{cell:>10}")).concat();
        write!(text, "\n{name:<8}{cells}").unwrap();
    };
    let n = 60_000;
    row("0", [n, 0, 0, 0, 0, 0]);
    row("1", [0, n, 0, 0, 0, 0]);
    row(&late.to_string(), [0, 0, n, 0, n, 0]);
    row(&(late + 5).to_string(), [0, 0, 0, n, 0, n]);
    row("over:", [0; 6]);
    row("count:", [n; 6]);
    for name in ["min:", "avg:", "max:"] {
        row(name, [0, 1, late, late + 5, late, late + 5]);
    }
    text + "\n"
}

/// Results of pgbench, which are in two scales: of one more is better, of the other less.
fn pgbench(rate: f64, time: f64) -> String {
    let result = |scale: &str, proportion: &str, value: f64| {
        format!(
            "<Result><Identifier>pts/pgbench-1.14.0</Identifier><Title>PostgreSQL</Title><Description>Clients: 50</Description>\
             <Scale>{scale}</Scale><Proportion>{proportion}</Proportion><DisplayFormat>BAR_GRAPH</DisplayFormat>\
             <Data><Entry><Identifier>a</Identifier><Value>{value}</Value><RawString>{value}</RawString></Entry></Data></Result>"
        )
    };
    format!(
        "<?xml version=\"1.0\"?><PhoronixTestSuite><Generated><Title>x</Title></Generated>\
         <System><Identifier>a</Identifier></System>{}{}</PhoronixTestSuite>",
        result("TPS", "HIB", rate),
        result("ms", "LIB", time)
    )
}

/// Imports files that are called `a0`, `a1`, ... and `b0`, ...
fn import(home: &Home, groups: &[(&str, &[String])]) {
    for (group, texts) in groups {
        for (number, text) in texts.iter().enumerate() {
            let name = format!("{group}{number}");
            let path = home.dir().join(&name);
            fs::write(&path, text).unwrap();
            let tag = format!("side={group}");
            let path = path.display().to_string();
            home.run(["runs", "import", &path, "--name", &name, "--tag", &tag])
                .fine();
        }
    }
}

fn results(home: &Home, more: &[&str]) -> Vec<Value> {
    let sides = [
        "compare",
        "tag:side=a",
        "tag:side=b",
        "--allow-invalid",
        "--json",
    ];
    let answer = home.run(sides.iter().chain(more));
    answer.json()["results"].as_array().unwrap().clone()
}

#[test]
fn each_kind_of_a_histogram_of_rtla_has_its_own_row_and_no_format_mixes_them() {
    let home = Home::aside();
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../peers/tests/golden/rtla-timerlat-hist.txt");
    home.run(["runs".as_ref(), "import".as_ref(), golden.as_os_str()])
        .fine();
    let page = home.dir().join("page.md").display().to_string();
    home.run(["report", "last", "--format", "md", "-o", &page])
        .fine();
    let page = String::from_utf8(fs::read(page).unwrap()).unwrap();
    // The largest row with an interrupt is that of 24 µs, and 59 µs is a thread's.
    for row in [
        "| irq | 3000010 | 0.000 | - | - | 25.00 |",
        "| thread | 3000010 | 1.000 | 6.999 | 9.999 | 59.00 |",
    ] {
        assert!(page.contains(row), "{page}");
    }
    let record = home.run(["runs", "show", "last", "--json"]).json();
    assert_eq!(record["total"]["context"], "thread");
    let file = home.dir().join("hist").display().to_string();
    home.run([
        "runs",
        "export",
        "last",
        "--format",
        "cyclictest-hist",
        "-o",
        &file,
    ])
    .error(1, &["several kinds of latencies"]);
}

#[test]
fn the_interrupts_of_every_cpu_are_compared() {
    let home = Home::aside();
    let [early, late] = [20, 200].map(|late| [(); 4].map(|()| timerlat(late)));
    import(&home, &[("a", &early), ("b", &late)]);
    let results = results(&home, &["--metric", "irq_p99"]);
    let found: Vec<(&str, f64)> = results
        .iter()
        .map(|result| {
            let value = &result["candidate"]["estimate"];
            (result["figure"].as_str().unwrap(), value.as_f64().unwrap())
        })
        .collect();
    assert_eq!(found.len(), 3, "{results:#?}");
    assert_eq!(found[0].0, "irq_p99[cpu=0]");
    assert!(found[0].1 < 1_000.0, "{found:?}");
    for (number, (name, value)) in found.iter().enumerate().skip(1) {
        assert_eq!(*name, format!("irq_p99[cpu={number}]"));
        assert!((200_000.0..=201_000.0).contains(value), "{found:?}");
    }
}

#[test]
fn a_result_in_two_scales_is_better_in_one_where_it_is_more_and_in_the_other_where_it_is_less() {
    let home = Home::aside();
    let series = |rate: f64, time: f64| {
        [0.0, 1.0, 2.0, 3.0, 4.0].map(|n| pgbench(rate + n, time + n / 100.0))
    };
    import(
        &home,
        &[("a", &series(1_000.0, 10.0)), ("b", &series(700.0, 14.0))],
    );
    let results = results(&home, &[]);
    let of = |unit: &str| {
        results
            .iter()
            .find(|result| result["unit"] == unit)
            .unwrap()
    };
    for unit in ["TPS", "ms"] {
        assert_eq!(of(unit)["verdict"], "worse", "{results:#?}");
    }
    assert_eq!(of("TPS")["better"], "higher");
    assert_eq!(of("ms")["better"], "lower");
}

#[test]
fn a_run_of_results_has_no_table_of_latencies_and_the_date_of_its_system() {
    let home = Home::aside();
    let system = "<System><Identifier>a</Identifier><Hardware>Processor: Xeon E5, Memory: 32GB</Hardware>\
                  <Software>OS: Debian, Kernel: 6.12.1-rt5 (x86_64)</Software>\
                  <TimeStamp>2025-01-30 13:21:52</TimeStamp></System>";
    let text = pgbench(900.0, 1.0).replace("<System><Identifier>a</Identifier></System>", system);
    let path = home.dir().join("composite.xml");
    fs::write(&path, text).unwrap();
    let file = path.display().to_string();
    home.run(["runs", "import", "--date-from", "content", &file])
        .fine();
    let broken = home.dir().join("broken.xml").display().to_string();
    fs::write(&broken, "<PhoronixTestSuite>").unwrap();
    let answer = home.run(["runs", "import", "--date-from", "content", &broken]);
    answer.error(1, &["broken.xml"]);
    assert!(!answer.stderr.contains("Dates of"), "{answer:#?}");
    let shown = home.run(["runs", "show", "last"]);
    let shown = &shown.fine().stdout;
    for fact in ["2025-01-30", "6.12.1-rt5", "Xeon E5", "pgbench"] {
        assert!(shown.contains(fact), "{fact}: {shown}");
    }
    let report = home.run(["report", "last", "--format", "md"]);
    for text in [shown, &report.fine().stdout] {
        assert!(
            !text.contains("Latency in") && !text.contains("Overruns"),
            "{text}"
        );
    }
}

/// Every sample of a log is there in its order: a burst of three seconds is one, and no 300 independent misses.
#[test]
fn requirements_use_the_bursts_that_the_samples_of_a_log_show() {
    let home = Home::aside();
    let log = |name: &str, late: Range<u32>| {
        let lines: String = (0..60_000)
            .map(|n: u32| {
                let us = 20 + n.wrapping_mul(2_654_435_761) % 17;
                let us = if late.contains(&n) { us + 500 } else { us };
                format!("       0:{n:8}:{us:8}\n")
            })
            .collect();
        let path = home.dir().join(name);
        fs::write(&path, format!("Thread 0 Interval: 10000\n{lines}")).unwrap();
        let path = path.display().to_string();
        home.run(["runs", "import", &path, "--name", name]).fine();
    };
    log("burst", 30_000..30_300);
    log("none", 0..0);
    let compare = |more: &[&str]| {
        let all = ["compare", "none", "burst", "--require", "p99 <= 100us"];
        home.run(all.iter().chain(more))
    };
    let answer = compare(&["--json"]);
    assert_eq!(answer.code(), 3, "{answer:#?}");
    let ruled = answer.json()["requirements"].clone();
    assert_eq!(ruled[0]["result"]["ruling"], "pass", "{ruled:#}");
    assert_eq!(ruled[1]["result"]["ruling"], "unclaimed", "{ruled:#}");
    let seen = ruled[1]["result"]["dependence_ns"].as_f64().unwrap();
    assert!((1e9..10e9).contains(&seen), "{ruled:#}");
    let text = compare(&[]).stdout;
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("were seen to come together for"), "{text}");
}

/// Samples that their tool cut to whole microseconds are drawn as their maxima are told: by the upper end.
#[test]
fn the_largest_samples_over_time_go_up_to_the_maximum() {
    let home = Home::aside();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../peers/tests/golden/jitterdebugger-0.3.1.raw");
    home.run(["runs".as_ref(), "import".as_ref(), golden.as_os_str()])
        .fine();
    let answer = home.run(["report", "last", "--format", "md", "-o", "-"]);
    let page = &answer.fine().stdout;
    let record = home.run(["runs", "show", "last", "--json"]).json();
    for thread in 0..2 {
        let max = record["series"][thread]["max_ns"].as_f64().unwrap() / 1e3;
        let line = format!(", thread {thread}: ");
        let mut lines = page.lines();
        let drawn = lines.find(|l| l.contains(&line) && l.contains(" .. "));
        let drawn = drawn.unwrap_or_else(|| panic!("{page}"));
        assert!(
            drawn.ends_with(&format!(" .. {max:.1} µs")),
            "{drawn}, {max}"
        );
    }
}
