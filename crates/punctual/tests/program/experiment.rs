// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments: the plan, the order, and that being killed changes neither.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use punctual_lab::file::Experiment;
use punctual_lab::plan::{Plan, Slot};
use punctual_lab::state::{Line, RunEnd, State};
use punctual_store::Store;
use serde_json::{Value, json};

use crate::common::{Home, finish, stored};
use crate::schema::{assert_valid, schema};

mod failed;
mod file_text;

/// Kills of one experiment. More with `PUNCTUAL_TEST_KILLS`.
const KILLS: u64 = 12;

/// Runs that are over in some milliseconds and need no privilege.
const FAST: &str = r#"
name = "fast"
seed = 11
warm-up-blocks = 1
repeat-invalid = 0
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 10, interval = "1ms" }

[[factor]]
name = "timer"
option = "timer"
levels = ["nanosleep", "futex", "posix"]

[[factor]]
name = "mlock"
option = "mlock"
levels = ["off", "on"]

[stop]
blocks = 3
"#;

fn file(home: &Home, text: &str) -> PathBuf {
    let path = home.dir().join("experiment.toml");
    fs::write(&path, text).unwrap();
    path
}

fn status(home: &Home) -> Value {
    let answer = home.run(["experiment", "status", "fast", "--json"]);
    let all = answer.fine().json();
    assert_valid(&schema("experiments.schema.json"), &all);
    all["experiments"][0].clone()
}

/// The slots in the order in which they were recorded: block, position, cell.
fn slots(status: &Value) -> Vec<[u64; 3]> {
    let runs = status["runs"].as_array().unwrap();
    let recorded = runs.iter().filter(|run| run["end"] != "interrupted");
    let number = |value: &Value| value.as_u64().unwrap();
    recorded
        .map(|run| {
            [
                number(&run["block"]),
                number(&run["position"]),
                number(&run["cell"]),
            ]
        })
        .collect()
}

#[test]
fn killed_at_any_moment_and_resumed_the_experiment_is_the_same() {
    let kills = std::env::var("PUNCTUAL_TEST_KILLS");
    let asked: Option<u64> = kills.ok().and_then(|n| n.parse().ok());
    let kills = asked.unwrap_or(KILLS);
    // Long enough for that many, also where the machine is fast.
    let blocks = kills * if asked.is_some() { 3 } else { 1 };
    let text = FAST.replace("blocks = 3", &format!("blocks = {blocks}"));
    let whole = Home::new();
    let path = file(&whole, &text);
    let run = whole.command(["experiment".as_ref(), "run".as_ref(), path.as_os_str()]);
    let begun = Instant::now();
    finish(run).fine();
    // From one kill to the next there is time for some runs, however long one takes here.
    let runs = u32::try_from(6 * (blocks + 1)).unwrap();
    let span = (begun.elapsed() * 4 / runs).max(Duration::from_millis(250));
    let span = u64::try_from(span.as_millis()).unwrap();
    let expected = status(&whole);
    let order = slots(&expected);
    assert_eq!(
        order.len() as u64,
        6 * (blocks + 1),
        "six cells, and a block of warm-up"
    );

    let home = Home::new();
    let path = file(&home, &text);
    let mut moment = 0x2545_f491_4f6c_dd1d_u64;
    let mut killed = 0;
    for _ in 0..kills * 4 {
        if killed == kills {
            break;
        }
        let args = match home.store().join("experiments/fast").exists() {
            false => vec![
                "experiment".into(),
                "run".into(),
                path.clone().into_os_string(),
            ],
            true => vec!["experiment".into(), "resume".into(), "fast".into()],
        };
        let mut running = home.start(args);
        moment ^= moment << 13;
        moment ^= moment >> 7;
        moment ^= moment << 17;
        std::thread::sleep(Duration::from_millis(5 + moment % span));
        if running.is_alive() {
            killed += 1;
            running.signal("KILL");
        }
        drop(running);
        let begun = home.store().join("experiments/fast").exists();
        if begun && !status(&home)["finished"].is_null() {
            break;
        }
    }
    assert!(killed > 0, "it was never caught at work");
    // Who names a number wants no fewer.
    assert!(asked.is_none_or(|asked| killed == asked), "{killed} kills");
    println!("{killed} kills, {} runs", order.len());
    let begun = home.store().join("experiments/fast").exists();
    let last = match begun {
        false => home.command(["experiment".as_ref(), "run".as_ref(), path.as_os_str()]),
        true => home.command(["experiment", "resume", "fast"]),
    };
    finish(last).fine();
    let resumed = status(&home);
    assert_eq!(resumed["plan"], expected["plan"]);
    assert_eq!(slots(&resumed), order, "after {killed} kills");
    assert_eq!(resumed["runs_done"], expected["runs_done"]);
    // Every run of the store is one of the experiment's, once.
    let ended = resumed["runs"].as_array().unwrap().iter();
    let ended: BTreeSet<&str> = ended
        .filter(|run| run["end"] != "interrupted")
        .map(|run| run["run"].as_str().unwrap())
        .collect();
    let stored = home.list();
    let stored: BTreeSet<&str> = stored
        .iter()
        .map(|row| row["id"].as_str().unwrap())
        .collect();
    assert_eq!(ended, stored);
}

#[test]
fn the_same_seed_is_the_same_order_and_another_is_another() {
    let home = Home::new();
    let path = file(&home, FAST);
    let plan = |seed: &str| {
        let args = ["experiment", "plan", "--runs", "--seed", seed];
        let args = args
            .iter()
            .map(|a| (*a).into())
            .chain([path.clone().into_os_string()]);
        home.run(args).fine().stdout.clone()
    };
    assert_eq!(plan("3"), plan("3"));
    let order = |text: String| text[text.find("Order:").unwrap()..].to_owned();
    assert_ne!(order(plan("3")), order(plan("4")));
}

#[test]
fn without_a_seed_the_plan_shows_the_order_that_is_run() {
    let home = Home::new();
    let text = FAST.replace("seed = 11\n", "");
    let path = file(&home, &text);
    let with = |verb: &str, option: &str| {
        let args = [
            "experiment".into(),
            verb.into(),
            path.clone().into_os_string(),
            option.into(),
        ];
        home.command(args)
    };
    let shown = finish(with("plan", "--json")).fine().json();
    finish(with("run", "--quiet")).carried_out();
    let recorded = status(&home);
    assert_eq!(shown["seed"], recorded["plan"]["seed"]);
    assert_eq!(slots(&recorded).len(), 6 * 4);
}

#[test]
fn an_edited_file_goes_on_or_says_what_differs_and_a_name_can_be_freed() {
    let home = Home::new();
    let run = |text: &str, option: &str| {
        let path = file(&home, text);
        let args = [
            "experiment".into(),
            "run".into(),
            path.into_os_string(),
            option.into(),
        ];
        finish(home.command(args))
    };
    let one = FAST
        .replace("blocks = 3", "blocks = 1")
        .replace("seed = 11\n", "");
    run(&one, "--quiet").carried_out();
    let first = status(&home);
    assert_eq!(slots(&first).len(), 12);
    run(&one, "--quiet")
        .error(1, &["and it is finished"])
        .hinted();
    let two = one.replace("\nblocks = 1", "\nblocks = 2");
    run(&two, "--quiet")
        .error(1, &["the file has changed"])
        .hinted();
    run(&two, "--replan").carried_out();
    let second = status(&home);
    assert_eq!(
        slots(&second)[..12],
        slots(&first)[..],
        "what was done stays as it is"
    );
    assert_eq!(slots(&second).len(), 18);
    let other = two.replace("samples = 10", "samples = 11");
    run(&other, "--replan")
        .error(2, &["cell 0 has changed"])
        .hinted();
    assert_eq!(status(&home), second);
    home.run(["experiment", "rm", "no-such"])
        .error(2, &["no such experiment"]);
    home.run(["experiment", "rm", "fast"]).fine();
    assert_eq!(home.list().len(), 18, "the runs stay");
    run(&one, "--quiet").carried_out();
    assert_eq!(home.list().len(), 30);
    home.run(["experiment", "rm", "fast", "--runs"]).fine();
    assert_eq!(home.list().len(), 18);
}

#[test]
fn runs_that_cannot_start_end_the_experiment_with_the_reason() {
    let home = Home::new();
    let path = file(&home, &FAST.replace("threads = 1", "cpus = \"1000\""));
    let answer = home.run(["experiment".as_ref(), "run".as_ref(), path.as_os_str()]);
    answer.error(1, &["3 runs in a row failed", "CPU 1000"]);
    assert!(
        answer.stderr.contains("experiment resume fast"),
        "{answer:#?}"
    );
}

#[test]
fn results_answer_for_every_cell_and_effect_and_their_runs_are_tagged() {
    let home = Home::new();
    let text = FAST.replace("compare = [\"p50\"]", "compare = [\"p50\", \"misses:1ns\"]");
    let text = text.replace("samples = 10,", "samples = 10, deadline = \"1ns\",");
    let path = file(&home, &text);
    home.run(["experiment".as_ref(), "run".as_ref(), path.as_os_str()])
        .fine();
    stored::vouch_for(&home.store());
    let answer = home.run(["experiment", "results", "fast", "--json"]);
    let results = answer.fine().json();
    assert_valid(&schema("experiment-results.schema.json"), &results);
    assert_eq!(results["blocks"], 3);
    assert_eq!(results["cells"].as_array().unwrap().len(), 6);
    let wakeup = &results["measurements"][0];
    // Five cells beside the first, by two figures.
    let comparisons = wakeup["comparison"]["results"].as_array().unwrap();
    assert_eq!(comparisons.len(), 10);
    assert!(
        comparisons.iter().all(|c| c["pairs"] == 3),
        "{comparisons:#?}"
    );
    // Three blocks cannot show anything at 5 %: 2 of 8 arrangements are as extreme.
    assert!(comparisons.iter().all(|c| c["verdict"] == "too_few_runs"));
    let effects = wakeup["effects"].as_array().unwrap();
    let of = |effect: &Value| effect["of"].as_array().unwrap().len();
    assert_eq!(effects.iter().filter(|e| of(e) == 1).count(), 6);
    assert_eq!(effects.iter().filter(|e| of(e) == 2).count(), 4);
    assert!(effects.iter().all(|e| e["blocks"] == 3), "{effects:#?}");
    assert_eq!(results["pareto"].as_array().unwrap().len(), 6);
    let text = home.run(["experiment", "results", "fast"]);
    for part in [
        "Answers: each cell against timer=nanosleep mlock=off",
        "Effects over all cells",
        "mlock on for off",
        "Best trade-offs (Pareto front)",
        "finished: all blocks are done",
    ] {
        let words = text.fine().stdout.split_whitespace();
        let said = words.collect::<Vec<_>>().join(" ");
        assert!(said.contains(part), "{part}: {}", text.stdout);
    }
    let gate = ["experiment", "results", "fast", "--fail-on=too-few-runs"];
    assert_eq!(home.run(gate).code(), 3);
    // Three blocks tell nothing from anything: what is not worse is not judged either.
    let gate = ["experiment", "results", "fast", "--fail-on=worse"];
    assert_eq!(home.run(gate).code(), 6);
    // A requirement is asked of every cell: ten samples of three blocks are enough for one in two.
    let require = |requirement: &str| {
        let requirement = format!("--require={requirement}");
        let asked = ["experiment", "results", "fast", "--json", "--burst=1us"];
        home.run(asked.iter().chain(&[requirement.as_str()]))
    };
    for (requirement, ruling) in [
        ("no sample > 100s in 2", "pass"),
        ("p50 <= 1ns", "fail"),
        ("p99.99 <= 100s", "unclaimed"),
    ] {
        let answer = require(requirement);
        let comparison = answer.json()["measurements"][0]["comparison"].clone();
        let ruled = comparison["requirements"].as_array().unwrap();
        assert_eq!(ruled.len(), 6);
        for of in ruled {
            assert_eq!(of["result"]["ruling"], ruling, "{requirement}: {of:#?}");
        }
        let code = if ruling == "pass" { 0 } else { 3 };
        assert_eq!(answer.code(), code, "{requirement}: {answer:#?}");
    }
    let text = home.run([
        "experiment",
        "results",
        "fast",
        "--require=p99.99 <= 100s",
        "--burst=1us",
    ]);
    let words = text.stdout.split_whitespace();
    let said = words.collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("p99.99 <= 100s") && said.contains("shows that it is met"),
        "{said}"
    );
    let tagged = home.run(["runs", "list", "--tag", "mlock=on", "--json"]);
    let tagged = tagged.fine().json()["runs"].as_array().unwrap().len();
    // Three cells and three blocks. The block of the warm-up is in no result.
    assert_eq!(tagged, 9);
    let other = [
        "compare",
        "--group=tag=mlock=off",
        "--group=tag=mlock=on",
        "--json",
    ];
    let compared = home.run(other).fine().json();
    assert_eq!(
        compared["results"][0]["pairs"], 3,
        "blocks pair: {}",
        compared["results"][0]
    );
}

/// Writes an experiment of which so many blocks are done, each run valid. A run is what `measured` makes of the stored one.
fn done(home: &Home, text: &str, blocks: u32, measured: impl Fn(Slot, &mut Value)) {
    let experiment = Experiment::parse("experiment.toml", text).unwrap();
    let plan = Plan::of("experiment.toml", &experiment, 3).unwrap();
    let dir = home.store().join("experiments").join(&plan.name);
    drop(State::create(&dir, &plan, text).unwrap());
    let store = Store::open(home.store()).unwrap();
    let mut log = String::new();
    for (number, slot) in (0..).zip((0..blocks).flat_map(|block| plan.block(block))) {
        let run = format!("01900000-0000-7000-8000-{number:012x}");
        let mut record = stored::record();
        record["id"] = json!(run);
        record["name"] = json!(plan.name);
        record["tags"] = json!(plan.tags(slot));
        measured(slot, &mut record);
        fs::create_dir(store.runs_dir().join(&run)).unwrap();
        let file = store.runs_dir().join(&run).join("run.json");
        fs::write(file, record.to_string()).unwrap();
        let run = run.parse().unwrap();
        let begin = Line::Begin {
            block: slot.block,
            position: slot.position,
            cell: slot.cell,
            measurement: slot.measurement,
            run,
        };
        let end = Line::End {
            run,
            end: RunEnd::Valid,
            seconds: 1.0,
            detail: None,
        };
        for line in [begin, end] {
            log += &serde_json::to_string(&line).unwrap();
            log.push('\n');
        }
    }
    fs::write(dir.join("log.jsonl"), log).unwrap();
}

#[test]
fn an_experiment_that_is_looked_at_ends_when_its_comparison_is_decided() {
    let home = Home::new();
    let text = r#"
name = "looked"
seed = 3
repeat-invalid = 3
compare = ["misses:1ns"]
[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 10, deadline = "1ns" }
[[factor]]
name = "interval"
option = "interval"
levels = ["1ms", "8ms"]
[stop]
blocks = 12
sequential = { first = 9, every = 1 }
"#;
    // Ten misses in some ten intervals: at 8 ms an eighth of those a second at 1 ms.
    done(&home, text, 9, |slot, record| {
        let interval = if slot.cell == 0 { 10 } else { 80 };
        let jitter = u64::from(slot.block * 7 % 5) * 100_000;
        record["duration_ns"] = json!(interval * 1_000_000 + jitter);
        record["total"]["misses"] =
            json!([{"deadline_ns": 1, "count": 10, "overruns": 0, "effective": null}]);
    });
    let run = home.run(["experiment", "resume", "looked"]);
    assert!(
        run.fine().stderr.contains("Looked after 9 blocks"),
        "{}",
        run.stderr
    );
    // What was decided by the stored runs needs no further one.
    assert_eq!(home.list().len(), 18);
    let results = home.run(["experiment", "results", "looked", "--json"]);
    let results = results.fine().json();
    let sequential = &results["sequential"];
    let found = sequential["comparisons"][0]["found_after"]
        .as_u64()
        .unwrap();
    assert!((9..12).contains(&found), "{sequential}");
    assert_eq!(results["blocks"], found);
    let finished = results["finished"].as_str().unwrap();
    assert!(
        finished.contains(&format!("after {found} blocks")),
        "{finished}"
    );
    let result = &results["measurements"][0]["comparison"]["results"][0];
    // Every wake-up is later than 1 ns: eight times fewer wake-ups, eight times fewer misses.
    assert_eq!(result["verdict"], "better", "{result}");
    // Figures or levels of another choice would be further looks.
    for option in ["--metric=p50", "--level=1%"] {
        home.run(["experiment", "results", "looked", option])
            .error(2, &["has interim looks"]);
    }
}

#[test]
fn a_gate_of_an_experiment_does_not_open_for_a_figure_that_no_run_has() {
    let home = Home::new();
    let text = r#"
name = "gated"
seed = 3
compare = ["p50", "p99.999"]
[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 10 }
[[factor]]
name = "mlock"
option = "mlock"
levels = ["off", "on"]
[stop]
blocks = 12
"#;
    done(&home, text, 12, |slot, record| {
        let noise = u64::from(slot.block * 7 + slot.cell * 3) % 5 * 100;
        record["total"]["quantiles_ns"] = json!({"p50": 50_000 + noise});
        record["total"]["quantile_intervals_ns"] = json!({"p50": null});
    });
    let gate = ["experiment", "results", "gated", "--fail-on=worse"];
    let with = |option: &str| home.run(gate.iter().copied().chain([option]));
    with("--metric=p50").fine();
    let answer = with("--json");
    assert_eq!(answer.code(), 6, "{answer:#?}");
    assert_eq!(answer.json()["missing"], json!(["p99.999"]));
    assert_valid(&schema("experiment-results.schema.json"), &answer.json());

    // A run that is there and cannot be read could be the one that is worse; one that was removed is no secret.
    let torn = "01900000-0000-7000-8000-000000000000";
    fs::write(home.runs_dir().join(torn).join("run.json"), "{").unwrap();
    assert_eq!(with("--metric=p50").code(), 6);
    home.run(["runs", "rm", torn]).fine();
    let answer = with("--metric=p50");
    assert!(answer.fine().stdout.contains("was removed"), "{answer:#?}");
}

#[test]
fn a_requirement_judges_a_measurement_of_which_no_run_has_a_figure() {
    let home = Home::aside();
    let text = r#"
name = "second"
seed = 3
compare = ["p50"]
[[measure]]
name = "first"
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 10 }
[[measure]]
name = "late"
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, samples = 10 }
[[factor]]
name = "mlock"
option = "mlock"
levels = ["off", "on"]
[stop]
blocks = 4
"#;
    done(&home, text, 4, |slot, record| {
        let (quantiles, late) = match slot.measurement {
            0 => (json!({"p50": 50_000 + slot.block}), 0),
            _ => (json!({}), 5),
        };
        record["total"]["quantiles_ns"] = quantiles;
        record["total"]["misses"] =
            json!([{"deadline_ns": 1_000_000_000, "count": late, "overruns": 0}]);
    });
    let results = ["experiment", "results", "second"];
    let with = |options: &[&str]| home.run(results.iter().copied().chain(options.iter().copied()));
    let require = "--require=no sample > 1s in 2 at 50%";
    let answer = with(&[require]);
    assert_eq!(answer.code(), 3, "{answer:#?}");
    let shown = answer.stdout.split("Measurement late").nth(1).unwrap();
    assert!(shown.contains("FAIL"), "{shown}");
    let answer = with(&[require, "--json"]);
    assert_valid(&schema("experiment-results.schema.json"), &answer.json());
    let path = home.dir().join("result.json");
    fs::write(&path, &answer.stdout).unwrap();
    let tap = home.run(["report", path.to_str().unwrap(), "--format=tap"]);
    let said = &tap.fine().stdout;
    assert!(said.contains("experiment second late figures"), "{said}");
    assert_eq!(with(&["--fail-on=worse"]).code(), 6);
}
