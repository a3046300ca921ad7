// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Histories of runs whose figures the tests made up, so that the changes are known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::common::{Answer, Home, finish, machine, stored};
use crate::gates::{cases, outcome};
use crate::schema::{assert_valid, schema};

/// About normal, and the same on every machine.
pub(crate) struct Noise(pub(crate) u64);

impl Noise {
    pub(crate) fn next(&mut self) -> f64 {
        let mut sum = -6.0;
        for _ in 0..12 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            sum += f64::from(u32::try_from(self.0 >> 32).unwrap()) / f64::from(u32::MAX);
        }
        sum
    }
}

/// Runs of a day each, with p99 at 50 µs, 5 % between them, `factor` more from run `first` on.
struct Nights {
    home: Home,
    made: usize,
}

impl Nights {
    fn new() -> Self {
        Self {
            home: Home::aside(),
            made: 0,
        }
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.home.dir().join(name)
    }

    fn add(
        &mut self,
        dir: &str,
        (runs, first, factor): (usize, usize, f64),
        change: impl Fn(usize, &mut Value),
    ) {
        let mut noise = Noise(17 + self.made as u64);
        for run in 0..runs {
            let mut record = stored::record();
            let id = format!("01900000-0000-7000-8000-{:012x}", self.made);
            let level = if run >= first { factor } else { 1.0 };
            let ns = format!("{:.0}", 50e3 * (0.05 * noise.next()).exp() * level);
            record["id"] = json!(id);
            record["started"] = json!(format!(
                "2026-{:02}-{:02}T02:00:00Z",
                1 + run / 28,
                1 + run % 28
            ));
            let total = &mut record["total"];
            total["count"] = json!(100_000);
            total["quantiles_ns"] = json!({"p99": ns.parse::<u64>().unwrap()});
            total["quantile_intervals_ns"] = json!({"p99": null});
            change(run, &mut record);
            let own = self.dir(dir).join(&id);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("run.json"), record.to_string()).unwrap();
            self.made += 1;
        }
    }

    fn history(&self, dir: &str, args: &[&str]) -> Answer {
        let dir = self.dir(dir).display().to_string();
        let start = ["history", dir.as_str(), "--metric=p99"];
        self.home.run(start.iter().chain(args))
    }
}

#[test]
fn a_change_is_found_with_its_place_its_size_and_what_else_changed() {
    let mut nights = Nights::new();
    nights.add("a", (50, 35, 1.25), |run, record| {
        let kernel = if run >= 35 {
            "6.12.9-rt9"
        } else {
            "6.12.9-rt8"
        };
        record["host"]["kernel_release"] = json!(kernel);
    });
    let answer = nights.history("a", &["--json"]).fine().json();
    assert_valid(&schema("history.schema.json"), &answer);
    let series = &answer["lines"][0]["series"][0];
    assert_eq!(series["verdict"], "changed");
    let [change] = series["changes"].as_array().unwrap().as_slice() else {
        panic!("{series:#}");
    };
    let number = |value: &Value| value.as_u64().unwrap();
    assert!(
        number(&change["earliest"]) <= 35 && 35 <= number(&change["latest"]),
        "{change:#}"
    );
    let interval = &change["ratio"]["interval"];
    assert!(interval["low"].as_f64().unwrap() < 1.25 && interval["high"].as_f64().unwrap() > 1.25);
    assert_eq!(
        (&change["direction"], &change["new"]),
        (&json!("worse"), &json!(false))
    );
    assert!(
        change["differs"][0]["detail"]
            .as_str()
            .unwrap()
            .contains("6.12.9-rt9"),
        "{change:#}"
    );
    let deviation = series["deviation"].as_f64().unwrap();
    assert!((0.03..0.08).contains(&deviation), "{deviation}");
    let text = nights.history("a", &[]).fine().stdout.clone();
    assert!(
        text.contains("kernel: before 6.12.9-rt8; after 6.12.9-rt9"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    // The same runs give the same answer.
    assert_eq!(nights.history("a", &["--json"]).fine().json(), answer);
}

#[test]
fn a_change_lies_between_two_days_or_two_kernels_where_that_is_asked() {
    let mut nights = Nights::new();
    // Four runs a day, three of a kernel; runs are later from the second half of a day, and of a kernel, on.
    nights.add("a", (48, 26, 1.4), |run, record| {
        record["started"] = json!(format!("2026-03-{:02}T{:02}:00:00Z", 1 + run / 4, run % 4));
        record["host"]["kernel_release"] = json!(format!("6.12.{}", run / 3));
    });
    for (by, each) in [("day", 4), ("kernel", 3)] {
        let answer = nights.history("a", &["--by", by, "--json"]).fine().json();
        let line = &answer["lines"][0];
        let [change] = line["series"][0]["changes"].as_array().unwrap().as_slice() else {
            panic!("{by}: {answer:#}");
        };
        let place = change["run"].as_u64().unwrap();
        assert_eq!(place % each, 0, "{by}: {change:#}");
        assert!(place.abs_diff(26) < each, "{by}: {change:#}");
        let label = |run: u64| &line["runs"][usize::try_from(run).unwrap()]["label"];
        assert_ne!(label(place), label(place - 1), "{by}: {line:#}");
        assert_eq!(label(place), label(place + 1), "{by}: {line:#}");
    }
}

#[test]
fn a_gate_fails_on_a_new_change_passes_an_old_one_and_does_not_open_for_too_few_runs() {
    let mut nights = Nights::new();
    nights.add("new", (48, 40, 1.3), |_, _| {});
    nights.add("better", (48, 40, 0.7), |_, _| {});
    nights.add("old", (60, 40, 1.3), |_, _| {});
    nights.add("none", (48, 48, 1.0), |_, _| {});
    nights.add("few", (9, 4, 2.0), |_, _| {});
    for (dir, gate, status) in [
        ("new", "new-change", 3),
        ("new", "new-worse", 3),
        ("better", "new-change", 3),
        ("better", "new-worse", 0),
        ("old", "new-change", 0),
        ("none", "new-change", 0),
        ("few", "new-change", 6),
    ] {
        let answer = nights.history(dir, &["--fail-on", gate]);
        assert_eq!(answer.code(), status, "{dir} {gate}: {answer:#?}");
        let json = nights.history(dir, &["--json"]).fine().stdout.clone();
        let Some(found) = cases(&nights.home, &json) else {
            continue;
        };
        let expected = match (dir, status) {
            ("few", _) => "error",
            ("new", _) => "failure",
            _ => "passed",
        };
        assert_eq!(outcome(&found, "p99"), [expected], "{dir}");
    }
    let new = nights.history("new", &[]).stdout.clone();
    assert!(
        new.starts_with("NEW CHANGE") || new.contains("since 2026-02-13"),
        "{new}"
    );
}

#[test]
fn a_gate_stays_shut_after_a_regression_that_was_mended_in_part() {
    let mut nights = Nights::new();
    // 30 runs at the usual level, then 40 % and at the end 15 % above it.
    let later = |run: usize, record: &mut Value| {
        let level = match run {
            0..30 => 50_000,
            30..36 => 70_000,
            _ => 57_500,
        };
        let steps = u64::try_from(run * 7 % 11).unwrap();
        record["total"]["quantiles_ns"] = json!({"p99": level + steps * level / 400});
        record["tags"] = json!({"commit": format!("c{:02}", run / 2)});
    };
    nights.add("mended", (40, 40, 1.0), later);
    for by in [&[][..], &["--by", "commit"]] {
        let gate = [by, &["--fail-on", "new-worse"]].concat();
        let answer = nights.history("mended", &gate);
        assert_eq!(answer.code(), 3, "{answer:#?}");
        let json = nights.history("mended", &[by, &["--json"]].concat());
        let json = json.fine();
        let changes = &json.json()["lines"][0]["series"][0]["changes"];
        let of = |at: usize| (&changes[at]["direction"], &changes[at]["new"]);
        assert_eq!(of(0), (&json!("worse"), &json!(true)), "{changes:#}");
        assert_eq!(of(1), (&json!("better"), &json!(true)), "{changes:#}");
        // What is worse is in the first sentence, and in the test case.
        let text = answer.stdout.split_whitespace().collect::<Vec<_>>();
        let text = text.join(" ");
        let (worse, better) = (text.find("; worse)"), text.find("; better)"));
        assert!(worse.is_some() && worse < better, "{text}");
        let found = cases(&nights.home, &json.stdout);
        assert!(found.is_none_or(|found| outcome(&found, "p99") == ["failure"]));
    }
}

#[test]
fn machines_and_ways_of_measuring_are_series_of_their_own_unless_told_otherwise() {
    let mut nights = Nights::new();
    // Two machines by turns, one slower: one series of both would change all the time.
    nights.add("two", (40, 40, 1.0), |run, record| {
        if run % 2 == 1 {
            record["host"]["hostname"] = json!("slow");
            let p99 = record["total"]["quantiles_ns"]["p99"].as_u64().unwrap();
            record["total"]["quantiles_ns"]["p99"] = json!(3 * p99);
        }
    });
    let answer = nights.history("two", &["--json"]).fine().json();
    let names: Vec<&str> = answer["lines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| line["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["bench", "slow"]);
    let together = nights
        .history("two", &["--json", "--ignore=machine"])
        .fine()
        .json();
    assert_eq!(together["lines"].as_array().unwrap().len(), 1);
    nights
        .history("two", &["--ignore=weather"])
        .error(2, &["weather", "machine"]);
}

/// The order of these values shows a change, and what is known of its size allows that there is none.
#[test]
fn a_change_whose_interval_includes_none_is_neither_better_nor_worse() {
    let values = "9898898898888999888888998999999898899999";
    let mut nights = Nights::new();
    nights.add("steps", (values.len(), usize::MAX, 1.0), |run, record| {
        let us = u64::from(values.as_bytes()[run] - b'0');
        record["total"]["quantiles_ns"] = json!({"p99": us * 1_000});
    });
    let history = nights.history("steps", &["--json"]).json();
    assert_valid(&schema("history.schema.json"), &history);
    let change = &history["lines"][0]["series"][0]["changes"][0];
    let interval = &change["difference"]["interval"];
    let end = |name: &str| interval[name].as_f64().unwrap();
    assert!(end("low") <= 0.0 && 0.0 <= end("high"), "{change}");
    assert_eq!(change["direction"], "unclear", "{change}");
    let text = nights.history("steps", &[]).stdout;
    assert!(text.contains("direction unclear"), "{text}");
    assert!(!text.contains("worse"), "{text}");
}

#[test]
fn a_gate_does_not_open_where_a_change_could_lie_nowhere() {
    let mut nights = Nights::new();
    nights.add("one", (20, 10, 1.8), |run, record| {
        record["tags"]["commit"] = json!("same");
        record["started"] = json!(format!("2026-03-01T02:00:{run:02}Z"));
    });
    let by_run = nights.history("one", &["--fail-on=new-worse"]);
    assert_eq!(by_run.code(), 3, "{by_run:#?}");
    for (by, what) in [("commit", "commit"), ("kernel", "kernel"), ("day", "day")] {
        let by = format!("--by={by}");
        let answer = nights.history("one", &[&by, "--fail-on=new-worse"]);
        assert_eq!(answer.code(), 6, "{answer:#?}");
        let said = answer.stdout.replace("\n  ", " ");
        assert!(
            said.contains(&format!("all runs are of one {what}")),
            "{said}"
        );
        assert!(!said.contains("No change was found"), "{said}");
    }
}

#[test]
fn runs_in_virtual_time_are_a_series_of_their_own_whatever_is_ignored() {
    let mut nights = Nights::new();
    nights.add("mixed", (40, 40, 1.0), |run, record| {
        if run % 2 == 1 {
            record["guest"] = json!({
                "kernel": "here", "time": "virtual", "instruction_ns": 1, "command_line": "", "cpus": 1,
                "memory_bytes": 1 << 29, "seed": 1,
            });
            record["total"]["quantiles_ns"]["p99"] = json!(1_000);
        }
    });
    let ignored = "--ignore=guest,machine,CPU model,hypervisor";
    let answer = nights.history("mixed", &["--json", ignored]).fine().json();
    let lines = answer["lines"].as_array().unwrap();
    let told = |key: &str| lines.iter().map(|line| line[key].clone()).collect();
    let (names, times): (Vec<Value>, Vec<Value>) = (told("name"), told("virtual_time"));
    assert_eq!(names, ["time real", "time virtual"]);
    assert_eq!(times, [Value::Null, json!(true)]);
    for line in lines {
        assert_eq!(line["series"][0]["verdict"], "no_change", "{line:#}");
    }
    // A name of many facts is as wide as all other lines.
    let text = nights.history("mixed", &[]).fine().stdout.clone();
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

#[test]
fn by_commit_a_change_lies_between_commits_and_runs_without_one_are_left_out() {
    let mut nights = Nights::new();
    nights.add("c", (45, 22, 1.3), |run, record| {
        if run < 44 {
            record["tags"] = json!({"commit": format!("c{:02}", run / 4)});
        }
    });
    let answer = nights
        .history("c", &["--json", "--by=commit"])
        .fine()
        .json();
    let line = &answer["lines"][0];
    assert_eq!(line["runs"].as_array().unwrap().len(), 44);
    assert_eq!(answer["refused"].as_array().unwrap().len(), 1);
    let first = line["series"][0]["changes"][0]["run"].as_u64().unwrap();
    assert_eq!(first % 4, 0, "{answer:#}");
    assert!((20..=24).contains(&first));
}

#[test]
fn the_page_has_the_series_and_the_json_makes_the_same_report() {
    let mut nights = Nights::new();
    nights.add("p", (40, 25, 1.3), |_, _| {});
    let page = nights.dir("page.html").display().to_string();
    let json = nights
        .history("p", &["--json", "-o", &page])
        .fine()
        .stdout
        .clone();
    if let Some(browser) = Browser::new() {
        let shown = browser.page("history.html");
        fs::copy(&page, &shown).unwrap();
        browser.looks_at(&[shown]);
    }
    let html = machine::read(std::path::Path::new(&page)).unwrap();
    assert!(
        html.contains("p99 of each run") && html.contains("id=\"history\""),
        "{}",
        html.len()
    );
    nights
        .history("p", &["-o", &page])
        .error(1, &["already exists"]);
    let file = nights.dir("history.json");
    fs::write(&file, json).unwrap();
    let markdown = nights
        .home
        .run(["report", file.to_str().unwrap(), "--format=md"]);
    assert!(markdown.fine().stdout.contains("| p99 "), "{markdown:#?}");
}

#[test]
fn runs_without_a_date_are_an_error_that_says_what_to_do() {
    let mut nights = Nights::new();
    nights.add("d", (12, 12, 1.0), |_, record| {
        record["started"] = Value::Null
    });
    nights
        .history("d", &[])
        .error(1, &["no date", "--date-from"]);
    nights
        .history("d", &["--fail-on=new-change"])
        .error(6, &["no date"]);
}

#[test]
fn a_change_is_the_one_that_numpy_finds() {
    let Some(python) = machine::python() else {
        return;
    };
    let mut nights = Nights::new();
    nights.add("n", (60, 38, 1.09), |_, _| {});
    let answer = nights.history("n", &["--json"]).fine().stdout.clone();
    let file = nights.dir("history.json");
    fs::write(&file, answer).unwrap();
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/check-history.py"))
        .arg(file);
    println!("{}", finish(command).fine().stdout);
}

#[test]
fn one_series_shares_with_no_other_and_a_missing_tag_comes_with_a_hint() {
    let mut nights = Nights::new();
    nights.add("n", (45, 22, 1.3), |_, _| {});
    let text = nights.history("n", &[]).fine().stdout.clone();
    assert!(!text.contains("share it"), "{text}");
    let answer = nights.history("n", &["--by=commit"]);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert!(answer.stderr.contains("--tag commit=ID"), "{answer:#?}");
}

/// Makes a run invalid.
fn invalid(record: &mut Value) {
    record["valid"] = json!(false);
    record["checks"] = json!([{"id": "throttling", "status": "fail", "detail": "hit"}]);
}

#[test]
fn a_gate_does_not_open_where_the_newest_run_was_left_out_or_lacks_the_figure() {
    let mut nights = Nights::new();
    nights.add("middle", (48, 48, 1.0), |run, record| {
        if run == 20 {
            invalid(record);
        }
    });
    nights.add("newest", (48, 48, 1.0), |run, record| {
        if run >= 46 {
            invalid(record);
        }
    });
    nights.add("lacking", (48, 48, 1.0), |run, record| {
        if run == 47 {
            record["total"]["quantiles_ns"] = json!({"p99": null});
        }
    });
    for (dir, status, refused, of_p99) in [
        ("middle", 0, 1, "passed"),
        ("newest", 6, 2, "passed"),
        ("lacking", 6, 0, "error"),
    ] {
        for gate in ["new-change", "new-worse"] {
            let answer = nights.history(dir, &["--fail-on", gate]);
            assert_eq!(answer.code(), status, "{dir} {gate}: {answer:#?}");
        }
        let json = nights.history(dir, &["--json"]);
        assert_valid(&schema("history.schema.json"), &json.fine().json());
        let Some(found) = cases(&nights.home, &json.stdout) else {
            continue;
        };
        assert_eq!(outcome(&found, "p99"), [of_p99], "{dir}");
        let runs = found.iter().filter(|(_, name, _)| name.starts_with("run "));
        let runs: Vec<&str> = runs.map(|(_, _, outcome)| outcome.as_str()).collect();
        assert_eq!(runs, vec!["error"; refused], "{dir}");
    }
}

#[test]
fn a_gate_does_not_open_for_a_figure_that_no_run_has() {
    let mut nights = Nights::new();
    nights.add("n", (48, 48, 1.0), |_, _| {});
    let asked = ["--metric=p99.999", "--json", "--fail-on=new-worse"];
    let answer = nights.history("n", &asked);
    assert_eq!(answer.code(), 6, "{answer:#?}");
    let json = answer.json();
    assert_valid(&schema("history.schema.json"), &json);
    assert_eq!(json["missing"], json!(["p99.999"]));
    let said = nights.history("n", &asked[..1]);
    assert!(
        said.fine().stdout.contains("no run has p99.999"),
        "{said:#?}"
    );
    if let Some(found) = cases(&nights.home, &answer.stdout) {
        assert_eq!(outcome(&found, "p99.999"), ["error"]);
        assert_eq!(outcome(&found, "p99"), ["passed"]);
    }
}

#[test]
fn a_gate_that_no_change_of_so_few_runs_could_trip_does_not_open() {
    let mut nights = Nights::new();
    // Of one figure 2/C(14, 7) = 0.058 % passes 0.075 %, and 2/C(13, 6) = 0.117 % does not.
    nights.add("short", (13, 6, 100.0), |_, _| {});
    nights.add("quiet", (13, 13, 1.0), |_, _| {});
    nights.add("enough", (14, 7, 100.0), |_, _| {});
    nights.add("steady", (14, 14, 1.0), |_, _| {});
    // Twelve runs since a change that is not new are the runs that a new one would have to be found in.
    nights.add("since", (60, 48, 3.0), |_, _| {});
    for (dir, status, outcome_of_p99) in [
        ("short", 6, "error"),
        ("quiet", 6, "error"),
        ("enough", 3, "failure"),
        ("steady", 0, "passed"),
        ("since", 6, "error"),
    ] {
        let answer = nights.history(dir, &["--fail-on=new-worse"]);
        assert_eq!(answer.code(), status, "{dir}: {answer:#?}");
        let said = answer.stdout.split_whitespace().collect::<Vec<_>>();
        let says = said.join(" ").contains("it takes 14 runs at least");
        assert_eq!(says, status == 6, "{dir}: {answer:#?}");
        let json = nights.history(dir, &["--json"]);
        assert_valid(&schema("history.schema.json"), &json.fine().json());
        if let Some(found) = cases(&nights.home, &json.stdout) {
            assert_eq!(outcome(&found, "p99"), [outcome_of_p99], "{dir}");
        }
    }
}
