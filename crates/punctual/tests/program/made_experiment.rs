// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results of experiments whose figures the tests made up, so that it is known what is to be found.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Home, stored};
use crate::history::Noise;

/// One run: block, cell and its levels.
struct Run<'a> {
    block: usize,
    cell: usize,
    levels: &'a [String],
}

/// Carries `file` out as far as `p99` says: the value of each run in ns, `None` for one that has not been made.
fn make(
    home: &Home,
    name: &str,
    file: &str,
    finished: Option<&str>,
    mut p99: impl FnMut(Run<'_>) -> Option<f64>,
) -> Vec<Vec<String>> {
    let path = home.dir().join(format!("{name}.toml"));
    let text = format!("name = \"{name}\"\nseed = 1\norder = \"as-written\"\n{file}");
    fs::write(&path, &text).unwrap();
    let shown = home.run(["experiment", "plan", path.to_str().unwrap(), "--json"]);
    let plan = shown.fine().json();
    let cells: Vec<Vec<String>> = serde_json::from_value(plan["cells"].clone()).unwrap();
    let dir = home.store().join("experiments").join(name);
    fs::create_dir_all(&dir).unwrap();
    let mut log: Vec<Value> = Vec::new();
    for block in 0..usize::try_from(plan["blocks"].as_u64().unwrap()).unwrap() {
        for (cell, levels) in cells.iter().enumerate() {
            let Some(ns) = p99(Run {
                block,
                cell,
                levels,
            }) else {
                continue;
            };
            let number = block * cells.len() + cell;
            let id = format!("01900000-0000-7000-8000-{number:012x}");
            let mut record = stored::record();
            record["id"] = json!(id);
            record["started"] = json!(format!(
                "2026-03-{:02}T{:02}:{:02}:00Z",
                1 + block,
                cell / 60,
                cell % 60
            ));
            let total = &mut record["total"];
            total["count"] = json!(100_000);
            let ns = format!("{ns:.0}").parse::<u64>().unwrap();
            total["quantiles_ns"] = json!({ "p99": ns });
            total["quantile_intervals_ns"] = json!({ "p99": null });
            let own = home.runs_dir().join(&id);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("run.json"), record.to_string()).unwrap();
            let begin = json!({
                "event": "begin", "block": block, "position": cell, "cell": cell, "measurement": 0, "run": id,
            });
            let end = json!({"event": "end", "run": id, "end": "valid", "seconds": 1.0});
            log.extend([begin, end]);
        }
    }
    if let Some(reason) = finished {
        log.push(json!({"event": "finished", "reason": reason}));
    }
    fs::write(dir.join("experiment.toml"), text).unwrap();
    fs::write(dir.join("plan.json"), plan.to_string()).unwrap();
    fs::write(dir.join("lock"), "").unwrap();
    let log: String = log.iter().map(|line| format!("{line}\n")).collect();
    fs::write(dir.join("log.jsonl"), log).unwrap();
    cells
}

const MEASURE: &str =
    "[[measure]]\ninstrument = \"wakeup\"\noptions = { cpus = \"0\", duration = \"1s\" }\n";

/// Two levels of one factor, with looks.
fn looked_at(blocks: u32, first: u32, every: u32) -> String {
    format!(
        "compare = [\"p99\"]\n{MEASURE}[[factor]]\nname = \"dma\"\noption = \"dma-latency\"\nlevels = [\"0us\", \"off\"]\n\
         [stop]\nblocks = {blocks}\nsequential = {{ first = {first}, every = {every} }}\n"
    )
}

fn results(home: &Home, name: &str) -> Value {
    let answer = home.run(["experiment", "results", name, "--json"]);
    answer.fine().json()
}

/// The text without its line breaks.
fn text(home: &Home, name: &str) -> String {
    let answer = home.run(["experiment", "results", name]);
    let words: Vec<&str> = answer.fine().stdout.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn a_look_is_at_whole_blocks() {
    let home = Home::aside();
    let file = looked_at(16, 12, 2);
    let value = |run: &Run<'_>| 50_000.0 + 20_000.0 * run.cell as f64 + 100.0 * run.block as f64;
    for (name, runs, looks) in [
        ("open", 23, json!([])),
        ("whole", 24, json!([12])),
        ("next", 25, json!([12])),
    ] {
        make(&home, name, &file, None, |run| {
            (2 * run.block + run.cell < runs).then(|| value(&run))
        });
        let results = results(&home, name);
        assert_eq!(results["sequential"]["looks"], looks, "{name}");
        let found = &results["measurements"][0]["comparison"]["results"][0]["verdict"];
        let expected = match runs {
            23 => "too_few_runs",
            _ => "worse",
        };
        assert_eq!(found, expected, "{name}");
    }
}

#[test]
fn p_of_looks_reserves_nothing_for_another_and_the_blocks_are_fixed() {
    let home = Home::aside();
    let file = looked_at(12, 4, 4);
    let end = Some("all blocks are done");
    // Nine of twelve blocks are slower, by as much: p of all arrangements is 0.039, and the last look of three has 4.5 %.
    let up = |block: usize| if block % 4 == 3 { -1.0 } else { 1.0 };
    make(&home, "worse", &file, end, |run| {
        let by = run.cell as f64 * (400.0 * up(run.block) + 8.0 * run.block as f64);
        Some(50_000.0 + by)
    });
    let worse = results(&home, "worse");
    let result = &worse["measurements"][0]["comparison"]["results"][0];
    let [p, adjusted] = ["p", "adjusted_p"].map(|name| result[name].as_f64().unwrap());
    assert!(p > 0.032 && p < 0.044, "{result:#}");
    assert_eq!(result["verdict"], "worse");
    assert!(adjusted > p && adjusted <= 0.05, "{result:#}");
    // Runs that vary by 30 % are too few, and there will be no more.
    let mut noise = Noise(5);
    make(&home, "noisy", &file, end, |_| {
        Some(50_000.0 * (0.3 * noise.next()).exp())
    });
    let noisy = results(&home, "noisy");
    let result = &noisy["measurements"][0]["comparison"]["results"][0];
    assert_eq!(result["verdict"], "too_few_runs", "{result:#}");
    assert_eq!(result["more_runs"], Value::Null, "{result:#}");
    let said = text(&home, "noisy");
    assert!(!said.contains("more block"), "{said}");
}

#[test]
fn effects_are_counted_by_themselves_and_named_with_their_aliases() {
    let home = Home::aside();
    let factor = |name: &str| {
        format!("[[factor]]\nname = \"{name}\"\nenv = \"{name}\"\nlevels = [\"no\", \"yes\"]\n")
    };
    let file = |design: &str, factors: &[&str]| {
        let factors: String = factors.iter().map(|name| factor(name)).collect();
        format!("{design}compare = [\"p99\"]\n{MEASURE}{factors}[stop]\nblocks = 9\n")
    };
    let end = Some("all blocks are done");
    let value = |run: Run<'_>| {
        let noise = (run.block * 7 + run.cell * 11) % 13;
        let factor = if run.levels[0] == "yes" { 2.0 } else { 1.0 };
        Some(50_000.0 * factor + 20.0 * noise as f64)
    };
    // Three factors: eight cells are seven comparisons, and six effects.
    let full = file("", &["F0", "F1", "F2"]);
    make(&home, "full", &full, end, value);
    let said = text(&home, "full");
    assert!(
        said.contains("p of 6 Found") && said.contains("p of 7 Verdict"),
        "{said}"
    );
    // Five factors in eight cells: seven contrasts for fifteen effects.
    let names = ["F0", "F1", "F2", "F3", "F4"];
    let fraction = file("design = \"resolution-three\"\n", &names);
    make(&home, "fraction", &fraction, end, value);
    let results = results(&home, "fraction");
    let effects = results["measurements"][0]["effects"].as_array().unwrap();
    assert_eq!(effects.len(), 7, "{effects:#?}");
    let found: Vec<&Value> = effects
        .iter()
        .filter(|of| of["found"] == json!(true))
        .collect();
    let [one] = found.as_slice() else {
        panic!("{found:#?}");
    };
    assert_eq!(one["of"][0]["factor"], "F0", "{one:#}");
    assert_eq!(one["of"].as_array().unwrap().len(), 1, "{one:#}");
    let aliases = one["aliased"].as_array().unwrap().len();
    assert!(aliases > 0, "{one:#}");
    let said = text(&home, "fraction");
    assert!(said.contains("p of 7 Found"), "{said}");
    assert!(said.contains("F0 yes for no = F"), "{said}");
}

#[test]
fn effects_are_against_the_first_level_that_was_not_left_out() {
    let home = Home::aside();
    let file = format!(
        "missing = \"skip\"\ncompare = [\"p99\"]\n{MEASURE}\
         [[factor]]\nname = \"state\"\n\
         [factor.levels.other]\nset = [\"cpufreq.governor=no-such-governor\"]\n\
         [factor.levels.asis]\noptions = {{ dma-latency = \"off\" }}\n\
         [factor.levels.shallow]\noptions = {{ dma-latency = \"0us\" }}\n\
         [[factor]]\nname = \"load\"\nload = true\nlevels = {{ idle = \"none\", busy = \"cpu:1\" }}\n\
         [stop]\nblocks = 10\n"
    );
    let end = Some("all blocks are done");
    let cells = make(&home, "skip", &file, end, |run| {
        let noise = (run.block * 7 + run.cell * 11) % 13;
        let factor = if run.levels[0] == "shallow" { 2.0 } else { 1.0 };
        Some(50_000.0 * factor + 20.0 * noise as f64)
    });
    assert!(cells.iter().all(|levels| levels[0] != "other"), "{cells:?}");
    let results = results(&home, "skip");
    assert_eq!(results["factors"][0]["levels"], json!(["asis", "shallow"]));
    let effects = results["measurements"][0]["effects"].as_array().unwrap();
    let change = json!({"factor": "state", "level": "shallow", "from": "asis"});
    let of = |effect: &&Value| effect["of"] == json!([change]);
    let effect = effects.iter().find(of).unwrap();
    assert_eq!(effect["found"], json!(true), "{effect:#}");
    // As `plan` says it.
    let said = text(&home, "skip");
    assert!(said.contains("Left out state=other: "), "{said}");
}
