// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments whose factor is the kernel, in virtual time.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;

use serde_json::Value;

use crate::common::{Home, wait_until};
use crate::guests::{Images, guests_of, images, run};

/// Two kernels and two blocks: four boots.
fn file(images: &Images) -> String {
    format!(
        r#"
name = "kernels"
seed = 3
compare = ["mean"]

[[measure]]
instrument = "wakeup"
options = {{ samples = 50, interval = "1ms", raw = true }}
load = ["fork"]

[[factor]]
name = "kernel"
target = true
levels = {{ none = "guest:{},virtual-time,append=preempt=none", rt = "guest:{},virtual-time" }}

[stop]
blocks = 2
"#,
        images.dynamic.display(),
        images.rt.display()
    )
}

fn runs(home: &Home) -> Vec<Value> {
    let status = home.run(["experiment", "status", "kernels", "--json"]);
    let status = status.fine().json();
    status["experiments"][0]["runs"].as_array().unwrap().clone()
}

/// What a run has of its guest, to the byte: its samples and their histogram.
type Files = Vec<(OsString, Vec<u8>)>;

/// What each run has of its guest, by block and cell.
fn samples(home: &Home) -> BTreeMap<[u64; 2], Files> {
    let of = |run: Value| {
        let dir = home.runs_dir().join(run["run"].as_str().unwrap());
        let files = fs::read_dir(dir).unwrap().map(|file| file.unwrap());
        let files = files.filter(|file| file.file_name() != "run.json");
        let mut files: Files = files
            .map(|file| (file.file_name(), fs::read(file.path()).unwrap()))
            .collect();
        files.sort();
        let is_samples = |name: &OsString| name.to_string_lossy().starts_with("samples");
        assert!(files.iter().any(|(name, _)| is_samples(name)), "{run}");
        (
            ["block", "cell"].map(|key| run[key].as_u64().unwrap()),
            files,
        )
    };
    let whole = runs(home).into_iter().filter(|run| run["end"] == "valid");
    whole.map(of).collect()
}

/// One guest at a time, killed and resumed, gives what two at a time give.
#[test]
fn guest_experiment_that_is_killed_goes_on_with_its_seeds_to_the_same_samples() {
    let Some(images) = images() else { return };
    let home = Home::aside();
    let path = home.dir().join("kernels.toml");
    let path = path.to_str().unwrap();
    fs::write(path, file(&images)).unwrap();
    let plan = home.run(["experiment", "plan", path]).fine().stdout.clone();
    assert!(plan.contains("virtual-time,seed={block}"), "{plan}");

    // One guest at a time: a machine of four CPUs would run all of them at once, and none would be left to go on with.
    let running = home.start(["experiment", "run", path, "--jobs", "1"]);
    let in_flight = || {
        let log = fs::read(home.store().join("experiments/kernels/log.jsonl"));
        let log = String::from_utf8(log.unwrap_or_default()).unwrap_or_default();
        log.contains("\"end\"") && log.lines().last().is_some_and(|l| l.contains("\"begin\""))
    };
    assert!(wait_until(in_flight));
    let measuring = guests_of(running.id());
    running.signal("KILL");
    drop(running);
    // The run in flight ends with who started it, and its guest with the run.
    let gone = || {
        let command = |pid: &u32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        measuring.iter().all(|pid| command(pid).is_empty())
    };
    assert!(wait_until(gone), "{measuring:?}");
    let before = runs(&home);
    let done = before.iter().filter(|run| run["end"] == "valid").count();
    assert!((1..4).contains(&done), "{before:#?}");

    let answer = run(&home, &["experiment", "resume", "kernels"]);
    answer.fine();
    let after = runs(&home);
    let valid: Vec<&Value> = after.iter().filter(|run| run["end"] == "valid").collect();
    assert_eq!(valid.len(), 4, "{after:#?}");
    let kept = valid.iter().filter(|run| before.contains(run)).count();
    assert_eq!(kept, done, "what was done is not done again");
    let mut seen = BTreeSet::new();
    for run in &valid {
        let id = run["run"].as_str().unwrap();
        let record = home.run(["runs", "show", id, "--json"]).json();
        let block = run["block"].as_u64().unwrap();
        assert_eq!(record["guest"]["time"], "virtual");
        assert_eq!(record["guest"]["seed"], block + 1, "the seed is the block");
        assert_eq!(record["tags"]["time"], "virtual");
        seen.insert((block, record["tags"]["kernel"].as_str().unwrap().to_owned()));
    }
    assert_eq!(seen.len(), 4, "every kernel in every block");
    let results = home.run(["experiment", "results", "kernels"]);
    let text = &results.fine().stdout;
    assert!(text.starts_with("VIRTUAL TIME: "), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("each of its own seed"), "{text}");

    // One block is enough: at least one of its runs was done before the kill, and the other may have been the one in flight.
    let whole = Home::aside();
    let one_block = file(&images).replace("blocks = 2", "blocks = 1");
    fs::write(path, one_block).unwrap();
    run(&whole, &["experiment", "run", path, "--jobs", "2"]).fine();
    let (mut one, two) = (samples(&home), samples(&whole));
    assert_eq!((one.len(), two.len()), (4, 2));
    one.retain(|[block, _], _| *block == 0);
    assert!(one == two, "the stored samples differ");
}

#[test]
fn guest_experiments_that_cannot_be_are_refused_with_the_line() {
    let home = Home::aside();
    let images = Images {
        dynamic: "/none/stock".into(),
        rt: "/none/rt".into(),
    };
    let text = file(&images);
    let path = home.dir().join("kernels.toml");
    let check = |from: &str, to: &str, parts: &[&str]| {
        assert!(text.contains(from), "{from}");
        fs::write(&path, text.replacen(from, to, 1)).unwrap();
        home.run(["experiment", "plan", path.to_str().unwrap()])
            .error(2, parts);
    };
    let line = "kernels.toml, line 14: levels of \"kernel\"";
    check("rt,virtual-time", "rt", &[line, "\"rt\" in real time"]);
    check(
        "append=preempt=none",
        "sede=1",
        &[line, "\"none\": `sede=1` is not an option of a guest"],
    );
    check(
        "append=preempt=none",
        "seed=1",
        &[line, "a copy of the first"],
    );
    check(
        "rt,virtual-time",
        "rt,virtual-time,cpus=2",
        &[line, "one CPU"],
    );
    // Where a kernel may be missing, it is left out; where all are, nothing is begun.
    let skipping = text.replacen("seed = 3", "seed = 3\nmissing = \"skip\"", 1);
    fs::write(&path, skipping).unwrap();
    home.run(["experiment", "run", path.to_str().unwrap()])
        .error(5, &["kernel=none: kernel /none/stock does not exist"]);
    assert!(!home.store().join("experiments").exists());
}
