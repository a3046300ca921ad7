// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an experiment's file may say, and what is said of one that is wrong.

use std::fs;

use super::{FAST, file};
use crate::common::{Answer, Home, finish};
use crate::schema::{assert_valid, schema};

#[test]
fn a_time_that_is_not_stated_is_a_guess_that_says_so_and_never_the_limit() {
    let home = Home::new();
    let text = FAST
        .replace("samples = 10, ", "")
        .replace("blocks = 3", "blocks = 3\ntime = \"720h\"");
    let path = file(&home, &text);
    let plan = |option: &str| {
        let args = [
            "experiment".into(),
            "plan".into(),
            path.clone().into_os_string(),
            option.into(),
        ];
        home.run(args)
    };
    let answer = plan("--runs");
    let said = &answer.fine().stdout;
    let first = said.lines().next().unwrap();
    // 24 runs of ten seconds and a little more.
    assert!(first.contains("24 runs, about 0:04:"), "{first}");
    assert!(first.contains("24 runs of unknown length"), "{first}");
    assert!(plan("--json").json()["seconds"].is_null());
}

#[test]
fn a_damaged_time_in_the_log_is_an_error_and_no_panic() {
    let home = Home::new();
    let path = file(&home, &FAST.replace("blocks = 3", "blocks = 1"));
    let args = [
        "experiment".into(),
        "run".into(),
        path.into_os_string(),
        "-q".into(),
    ];
    finish(home.command(args)).carried_out();
    let log = home.store().join("experiments/fast/log.jsonl");
    let text = String::from_utf8(fs::read(&log).unwrap()).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("finished"))
        .collect();
    let (last, before) = lines.split_last().unwrap();
    let (head, tail) = last.split_once("\"seconds\":").unwrap();
    let end = tail.find(['}', ',']).unwrap();
    let last = format!("{head}\"seconds\":1e300{}", &tail[end..]);
    fs::write(&log, format!("{}\n{last}\n", before.join("\n"))).unwrap();
    home.run(["experiment", "resume", "fast"])
        .error(1, &["log.jsonl: line", "1e300 s is impossible for a run"]);
}

#[test]
fn a_wrong_file_names_the_line_and_what_was_expected() {
    let home = Home::new();
    for (from, to, parts) in [
        ("seed = 11", "sed = 11", ["line 3", "unknown field `sed`"]),
        ("blocks = 3", "blocks = \"3\"", ["line 23", "expected u32"]),
        (
            "instrument = \"wakeup\"",
            "instrument = \"wakup\"",
            ["measure wakup", "unrecognized"],
        ),
        (
            "option = \"timer\"",
            "option = \"timr\"",
            ["--timr", "cell timer=nanosleep"],
        ),
        ("\"futex\"", "\"sundial\"", ["sundial", "timer=sundial"]),
        (
            "name = \"fast\"",
            "name = \"../fast\"",
            ["line 2", "letters"],
        ),
        (
            "compare = [\"p50\"]",
            "compare = [\"p500\"]",
            ["experiment.toml: compare: `p500`", "percentile"],
        ),
    ] {
        let path = file(&home, &FAST.replacen(from, to, 1));
        let args = ["experiment".as_ref(), "run".as_ref(), path.as_os_str()];
        home.run(args).error(2, &parts);
        assert!(!home.store().join("experiments").exists());
    }
    fs::write(home.dir().join("binary.toml"), [0xff, 0, 1]).unwrap();
    let binary = home.dir().join("binary.toml");
    home.run(["experiment".as_ref(), "plan".as_ref(), binary.as_os_str()])
        .error(2, &["not UTF-8"]);
    home.run(["experiment", "resume", "none"])
        .error(2, &["no such experiment"]);
}

#[test]
fn ten_thousand_cells_are_asked_about_first() {
    let home = Home::new();
    let levels: Vec<String> = (1..=100).map(|n| format!("\"{n}ms\"")).collect();
    let levels = levels.join(", ");
    let factors = format!(
        "[[factor]]\nname = \"a\"\noption = \"interval\"\nlevels = [{levels}]\n\
         [[factor]]\nname = \"b\"\noption = \"warm-up\"\nlevels = [{levels}]\n[stop]"
    );
    let text = FAST
        .replace("[stop]", &factors)
        .replace("samples = 10,", "duration = \"10s\",");
    let path = file(&home, &text);
    let answer = home.run(["experiment".as_ref(), "run".as_ref(), path.as_os_str()]);
    // 6 cells x 10 000, 4 blocks.
    answer.error(2, &["not begun: 240000 runs, about 28 days"]);
    assert!(!home.store().join("experiments").exists());
}

#[test]
fn parameters_are_filled_in_where_the_file_names_them() {
    let home = Home::new();
    let text = FAST
        .replace("samples = 10", "samples = \"$samples\"")
        .replace(
            "[[measure]]",
            "[parameters]\nsamples = 10\nblocks = 1\n\n[[measure]]",
        )
        .replace("blocks = 3", "blocks = \"$blocks\"");
    let path = file(&home, &text);
    let plan = |parameters: &[&str]| {
        let args = [&["experiment", "plan", path.to_str().unwrap()], parameters];
        home.run(args.concat())
    };
    let said = |answer: Answer| answer.fine().stdout.clone();
    assert!(said(plan(&[])).contains("6 cells, 1 block"));
    let given = said(plan(&["--parameter", "blocks=4", "--parameter=samples=7"]));
    assert!(
        given.contains("6 cells, 4 blocks") && given.contains("--samples=7"),
        "{given}"
    );
    plan(&["--parameter", "bocks=4"]).error(2, &["`bocks`: no such parameter", "blocks"]);
    plan(&["--parameter", "blocks=four"]).error(2, &["line", "expected u32"]);
}

#[test]
fn what_the_machine_cannot_have_is_left_out_with_its_reason_where_the_file_says_so() {
    let home = Home::new();
    let bundle = r#"[[factor]]
name = "step"
[factor.levels.as-it-is]
[factor.levels.performance]
set = ["cpufreq.governor=performance"]
[factor.levels.sibling]
set = ["cpu.online@siblings=false"]

[stop]"#;
    let text = FAST
        .replace("[stop]", bundle)
        .replace("seed = 11", "seed = 11\nmissing = \"skip\"");
    let path = file(&home, &text);
    let args = ["experiment", "plan", path.to_str().unwrap(), "--json"];
    let plan = home.run(args).fine().json();
    assert_valid(&schema("experiment-plan.schema.json"), &plan);
    let cells = plan["cells"].as_array().unwrap();
    let skipped = plan["skipped"].as_array().cloned().unwrap_or_default();
    assert!(cells.iter().any(|cell| cell[2] == "as-it-is"));
    for level in ["performance", "sibling"] {
        let planned = cells.iter().any(|cell| cell[2] == level);
        let what = format!("step={level}");
        let left_out = skipped.iter().find(|skipped| skipped["what"] == what);
        assert!(planned != left_out.is_some(), "{plan:#}");
        let reason = left_out.map(|skipped| skipped["reason"].as_str().unwrap());
        assert!(
            reason.is_none_or(|reason| reason.contains("cpu")),
            "{reason:?}"
        );
    }
    // Without that key all of it is planned, and a level that cannot be had fails when it is tried.
    let all = file(&home, &text.replace("missing = \"skip\"\n", ""));
    let args = ["experiment", "plan", all.to_str().unwrap(), "--json"];
    let plan = home.run(args).fine().json();
    assert_eq!(plan["cells"].as_array().unwrap().len(), 18);
    assert!(plan.get("skipped").is_none());
    assert_valid(&schema("experiment-plan.schema.json"), &plan);
    assert_eq!(plan["format"], "punctual.experiment/1");
    let begun = home.run(["experiment", "status", "--json"]).fine().json();
    assert_valid(&schema("experiments.schema.json"), &begun);
    assert_eq!(begun["format"], "punctual.experiments/1");
}
