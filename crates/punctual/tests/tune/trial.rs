// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Trials on this machine: their bookkeeping, not their latencies.

use crate::common::{Running, finish, machine, wait_until};
use crate::files::assert_valid;
use crate::live::{Live, assert_same};
use crate::tree::Tree;

const TRIED: &str =
    "trial --set vm.swappiness=11 --set vm.stat_interval=2 --duration 100ms --quiet";

/// The runs of a trial: what was tried, and the settings that each was made with.
fn runs(live: &Live) -> Vec<(String, Vec<String>)> {
    let list = finish(live.program(["runs", "list", "--json"]))
        .fine()
        .json();
    let ids = list["runs"].as_array().unwrap().iter();
    let ids: Vec<String> = ids
        .map(|run| run["id"].as_str().unwrap().to_owned())
        .collect();
    let show = |id: &String| {
        let run = finish(live.program(["runs", "show", id, "--json"]))
            .fine()
            .json();
        let settings = run["host"]["tuning"]["settings"].as_array();
        let names = settings.into_iter().flatten();
        let names = names.map(|setting| setting["knob"].as_str().unwrap().to_owned());
        let tried = run["tags"]["knob"].as_str().unwrap();
        (tried.to_owned(), names.collect())
    };
    ids.iter().map(show).collect()
}

#[test]
fn a_trial_measures_each_knob_alone_and_all_together_and_nothing_stays() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let answer = live.tune(&format!("{TRIED} --blocks 2 --seed 7 --json"));
    let report = answer.carried_out().json();
    assert_valid("trial.schema.json", &report);
    assert_same(&live.dump(), &before, "after the trial");
    let treatments = report["treatments"].as_array().unwrap();
    let names: Vec<&str> = treatments
        .iter()
        .map(|t| t["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["vm.swappiness", "vm.stat_interval", "all together"]);
    assert_eq!(report["seed"], 7);
    assert_eq!(report["complete"], true);
    // What two blocks cannot show is not claimed.
    for treatment in treatments {
        assert_eq!(treatment["failed"], 0);
        for effect in treatment["effects"].as_array().unwrap() {
            assert_eq!(effect["verdict"]["is"], "too_few_blocks", "{effect}");
        }
    }
    // Every run is in the store, with what it was made under.
    let runs = runs(&live);
    assert_eq!(runs.len(), 8, "{runs:?}");
    for (name, settings) in &runs {
        let expected: &[&str] = match name.as_str() {
            "nothing" => &[],
            "vm.swappiness" => &["vm.swappiness"],
            "vm.stat_interval" => &["vm.stat_interval"],
            "all together" => &["vm.swappiness", "vm.stat_interval"],
            other => panic!("{other}"),
        };
        assert_eq!(settings, expected, "{name}");
    }
    let invalid = report["invalid_runs"].as_u64().unwrap();
    let baseline = report["baseline"][0]["runs"].as_u64().unwrap();
    let treated: u64 = treatments.iter().map(|t| t["runs"].as_u64().unwrap()).sum();
    assert_eq!(baseline + treated + invalid, 8, "{report:#}");
}

#[test]
fn a_trial_that_is_ended_shows_its_whole_blocks_and_one_that_is_killed_is_reverted() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let is_on = || !live.tune("status").stdout.contains("nothing is changed");
    let args = format!("{TRIED} --blocks 1000 --json");
    for signal in ["INT", "KILL"] {
        let running = Running::start(live.command(args.split_whitespace()));
        assert!(wait_until(is_on), "{signal}");
        // Between two runs that tune, too, and while one is measured that does not.
        live.tune("run --set vm.swappiness=12 -- true")
            .error(1, &["another process is tuning", "(trial)"]);
        running.signal(signal);
        if signal == "INT" {
            let answer = running.wait();
            assert_eq!(answer.code(), 1, "{answer:?}");
            let report = answer.json();
            assert_valid("trial.schema.json", &report);
            assert_eq!(report["complete"], false);
            assert!(report["blocks"].as_u64().unwrap() < 1000);
            assert!(answer.stderr.contains("--resume trial-"), "{answer:?}");
        } else {
            drop(running);
        }
        let idle = || live.tune("status").stdout.contains("nothing is changed");
        assert!(wait_until(idle), "{signal}");
        assert_same(&live.dump(), &before, signal);
    }
}

#[test]
fn a_trial_that_is_killed_goes_on_where_it_was() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let args = format!("{TRIED} --blocks 2 --seed 7");
    let running = Running::start(live.command(args.split_whitespace()));
    let ended = || {
        let status = finish(live.program(["experiment", "status", "--json"])).json();
        let runs = status["experiments"][0]["runs"].as_array().cloned();
        let runs = runs.unwrap_or_default().into_iter();
        let done = runs.filter(|run| run["end"] == "valid" || run["end"] == "invalid");
        let ids = done.map(|run| run["run"].as_str().unwrap().to_owned());
        ids.collect::<Vec<String>>()
    };
    assert!(wait_until(|| ended().len() >= 2));
    running.signal("KILL");
    drop(running);
    let kept = ended();
    assert!(kept.len() < 8, "{kept:?}");
    let status = finish(live.program(["experiment", "status", "--json"])).json();
    let name = status["experiments"][0]["plan"]["name"].as_str().unwrap();
    // A trial that is carried out without its knobs is none.
    finish(live.program(["experiment", "resume", name]))
        .error(2, &["only `punctual tune trial` can carry it out"]);
    let resume = |args: &str| live.tune(&format!("{args} --quiet --json --resume {name}"));
    resume("trial --set vm.swappiness=11 --blocks 2").error(2, &["other options"]);
    let again = format!("{} --blocks 2", TRIED.replace(" --quiet", ""));
    resume(&format!("{again} --seed 8")).error(2, &["--seed 8", "was started with 7"]);
    let how = finish(live.program(["experiment", "status"])).stdout;
    assert!(
        how.contains(&format!("tune trial --resume {name}")),
        "{how}"
    );
    let report = resume(&format!("{again} --seed 7"));
    let report = report.carried_out().json();
    assert_valid("trial.schema.json", &report);
    assert_eq!(report["complete"], true);
    assert_eq!((&report["blocks"], &report["seed"]), (&2.into(), &7.into()));
    let all = ended();
    assert_eq!(all.len(), 8);
    assert!(kept.iter().all(|run| all.contains(run)), "done once");
    assert_same(&live.dump(), &before, "after the trial");
}

#[test]
fn a_captured_machine_cannot_be_tried() {
    Tree::new()
        .tune("trial")
        .error(2, &["a captured machine cannot be measured"]);
}

#[test]
fn a_trial_says_why_it_cannot_be() {
    let Some(live) = Live::new() else { return };
    live.tune("trial --duration 1ms")
        .error(2, &["at least 100ms"]);
    live.tune("apply --set vm.swappiness=12").fine();
    live.tune(&format!("{TRIED} --blocks 2"))
        .error(1, &["are not reverted"]);
    live.tune("revert").fine();
    live.tune("trial --blocks 1").error(2, &["--blocks"]);
    live.tune("trial --set vm.swapiness=1")
        .error(2, &["did you mean"]);
    let now = machine::read(std::path::Path::new("/proc/sys/vm/swappiness")).unwrap();
    let answer = live.tune(&format!("trial --set vm.swappiness={}", now.trim()));
    assert_eq!(answer.code(), 5, "{answer:?}");
    assert!(answer.stderr.contains("nothing to try"), "{answer:?}");
}
