// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of a measurement do what they say, as far as its record tells.

use std::fs;

use serde_json::Value;

use crate::common::{Home, QUICK, finish, machine};

const ORDINARY: &str = "--priority o --dma-latency off";

fn series(record: &Value) -> &[Value] {
    record["series"].as_array().unwrap()
}

fn int(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn every_timer_measures_on_every_clock_that_it_supports() {
    let home = Home::new();
    for timer in [
        "nanosleep",
        "relative",
        "timerfd",
        "posix",
        "uring",
        "futex",
    ] {
        for clock in ["monotonic", "realtime", "tai", "boottime"] {
            let args =
                format!("{ORDINARY} --timer {timer} --clock {clock} --samples 5 --threads 2");
            let unsupported = match timer {
                "timerfd" | "uring" => clock == "tai",
                "futex" => clock == "tai" || clock == "boottime",
                _ => false,
            };
            if unsupported {
                let args = format!("measure wakeup {args}");
                home.run(args.split_whitespace())
                    .error(2, &["--timer", timer, clock])
                    .hinted();
                continue;
            }
            let record = home.measure(&args);
            for thread in series(&record) {
                assert_eq!(thread["count"], 5, "{timer} {clock}");
            }
            assert_eq!(record["spec"]["timer"], timer);
            assert_eq!(record["spec"]["clock"], clock);
        }
    }
}

#[test]
fn the_number_of_samples_is_exact_for_each_thread() {
    let home = Home::new();
    for (threads, samples) in [(1, 1), (3, 17), (2, 1_000)] {
        let record = home.measure(&format!(
            "{ORDINARY} --threads {threads} --samples {samples} --interval 100us"
        ));
        assert_eq!(series(&record).len(), threads);
        for thread in series(&record) {
            assert_eq!(int(&thread["count"]), samples);
        }
        assert_eq!(record["ended"], "completed");
        assert!(record["spec"]["duration_ns"].is_null());
    }
}

#[test]
fn a_duration_has_as_many_deadlines_as_intervals() {
    let home = Home::new();
    for (options, deadlines) in [
        ("", [500, 500]),
        (" --warm-up 100ms", [500, 500]),
        (" --distance 1ms", [500, 250]),
        (" --distance 250us", [500, 400]),
    ] {
        let args = format!("{ORDINARY} --threads 2 --duration 500ms --interval 1ms{options}");
        let record = home.measure(&args);
        for (thread, expected) in series(&record).iter().zip(deadlines) {
            let seen = int(&thread["count"]) + int(&thread["overruns"]) + int(&thread["lost"]);
            assert!(
                seen.abs_diff(expected) <= 1,
                "{options}: {seen}, not {expected}"
            );
        }
        assert!(int(&record["duration_ns"]) >= 500_000_000);
    }
}

#[test]
fn the_warm_up_is_counted_and_in_no_figure() {
    let home = Home::new();
    // A stall may be as long as all of it: one run with samples in it is enough.
    let counted = (0..20).any(|_| {
        let record = home.measure(&format!(
            "{ORDINARY} --threads 1 --warm-up 200ms --samples 50 --raw"
        ));
        let thread = &series(&record)[0];
        assert_eq!(thread["count"], 50);
        let warm_up = int(&thread["warm_up_samples"]);
        assert!(warm_up <= 200, "{warm_up}");
        let samples = home.samples();
        assert_eq!(samples.len(), 50);
        let first_deadline = samples[0][2] - samples[0][3];
        assert!(first_deadline > 200_000_000, "{first_deadline}");
        assert_eq!(first_deadline % 1_000_000, 0, "off the grid");
        warm_up > 0
    });
    assert!(counted);
}

#[test]
fn the_distance_lengthens_each_further_interval() {
    let home = Home::new();
    let record = home.measure(&format!(
        "{ORDINARY} --threads 3 --interval 1ms --distance 500us --samples 20 --raw"
    ));
    let samples = home.samples();
    for (thread, interval) in series(&record)
        .iter()
        .zip([1_000_000, 1_500_000, 2_000_000])
    {
        assert_eq!(int(&thread["interval_ns"]), interval);
        let own = samples
            .iter()
            .filter(|row| row[0] == int(&thread["thread"]));
        for row in own {
            assert_eq!((row[2] - row[3]) % interval, 0, "a deadline off the grid");
        }
    }
}

#[test]
fn overruns_are_counted_where_the_interval_is_too_short() {
    let home = Home::new();
    let record = home.measure(&format!(
        "{ORDINARY} --threads 1 --interval 1us --duration 50ms --raw"
    ));
    let thread = &series(&record)[0];
    assert!(int(&thread["overruns"]) > 1_000, "{thread:#}");
    let seen = int(&thread["count"]) + int(&thread["overruns"]);
    assert!(seen.abs_diff(50_000) <= 1, "{seen}");
    assert_eq!(int(&thread["lost"]), 0);
    assert_eq!(home.samples().len() as u64, int(&thread["count"]));
}

#[test]
fn a_sample_above_the_threshold_ends_the_run_with_those_around_it() {
    let home = Home::new();
    let args = format!("{ORDINARY} --threads 2 --on-threshold 1ns --duration 3h");
    let record = home.measure(&args);
    assert_eq!(record["ended"], "threshold");
    let hit = &record["threshold"];
    assert_eq!(hit["threshold_ns"], 1);
    assert!(int(&hit["sample"]["latency_ns"]) > 1);
    let around = hit["around"].as_array().unwrap();
    assert!(around.contains(&hit["sample"]), "{hit:#}");
    assert!(around.len() > 2);
    for thread in [0, 1] {
        assert!(
            around.iter().any(|sample| sample["thread"] == thread),
            "{thread}"
        );
    }
    let times: Vec<u64> = around.iter().map(|sample| int(&sample["t_ns"])).collect();
    assert!(times.is_sorted());
    assert!(int(&record["total"]["count"]) < 1_000);

    let never = home.measure(&format!("{ORDINARY} --on-threshold 1h --samples 5"));
    assert_eq!(never["ended"], "completed");
    assert!(never["threshold"].is_null());
}

#[test]
fn a_run_ends_as_soon_as_it_is_precise_enough() {
    let home = Home::new();
    let args = format!("{ORDINARY} --threads 2 --interval 200us --until p50:50% --duration 3h");
    let record = home.measure(&args);
    assert_eq!(record["ended"], "precision");
    let states = record["precision"].as_array().unwrap();
    assert_eq!(states.len(), 2);
    for state in states {
        assert_eq!(state["target"], "p50:50%");
        let [low, high] = ["low", "high"].map(|end| state["interval_ns"][end].as_f64().unwrap());
        let estimate = state["estimate_ns"].as_f64().unwrap();
        // Samples that come between the decision and the end count too, and may make an interval wider again.
        let is_narrow = (high - estimate).max(estimate - low) <= 0.5 * estimate;
        assert_eq!(state["met"], is_narrow, "{state:#}");
    }

    let args = format!("{ORDINARY} --until p50:0.0001% --duration 300ms");
    let record = home.measure(&args);
    assert_eq!(record["ended"], "completed", "the duration is the limit");
    assert_eq!(record["precision"][0]["met"], false);
}

#[test]
fn misses_are_counted_exactly_for_each_deadline() {
    let home = Home::new();
    let record = home.measure(&format!(
        "{ORDINARY} --threads 2 --samples 200 --raw --deadline 1ns --deadline 60us --deadline 1h"
    ));
    let samples = home.samples();
    for thread in series(&record) {
        for misses in thread["misses"].as_array().unwrap() {
            let deadline = int(&misses["deadline_ns"]);
            let late = samples
                .iter()
                .filter(|row| row[0] == int(&thread["thread"]) && row[3] > deadline);
            assert_eq!(int(&misses["count"]), late.count() as u64, "{deadline}");
        }
    }
    let total = record["total"]["misses"].as_array().unwrap();
    assert_eq!(total.len(), 3);
    assert_eq!(total[0]["count"], 400);
    assert_eq!(total[2]["count"], 0);
}

#[test]
fn only_raw_runs_store_samples() {
    let home = Home::new();
    for (option, stored) in [("", false), ("--raw", true)] {
        let record = home.measure(&format!("{ORDINARY} --samples 5 {option}"));
        assert_eq!(record["spec"]["raw"], stored);
        let dir = home.runs_dir().join(record["id"].as_str().unwrap());
        assert_eq!(dir.join("samples.zst").exists(), stored);
        assert!(dir.join("latency.hlog").is_file());
        assert!(dir.join("events.jsonl.zst").is_file());
    }
}

#[test]
fn the_list_is_filtered_as_asked() {
    let home = Home::new();
    for name in ["a", "b", "b"] {
        home.quick(&["--name", name]);
    }
    let rows = |args: &str| {
        let args = format!("runs list --json {args}");
        let answer = home.run(args.split_whitespace());
        answer.fine().json()["runs"].as_array().unwrap().len()
    };
    assert_eq!(rows("--name b"), 2);
    assert_eq!(rows("--name c"), 0);
    assert_eq!(rows("--limit 2"), 2);
    assert_eq!(rows("--limit 0"), 0);
    assert_eq!(rows("--valid") + rows("--invalid"), 3);
}

#[test]
fn loads_run_beside_the_measurement_and_are_proven() {
    let home = Home::new();
    let loads = ["cpu:1", "memory:1M", "cpu:2"];
    // Longer, where others keep one of them from its work.
    let proven = ["400ms", "2s", "10s", "50s", "250s"]
        .iter()
        .any(|duration| {
            let record = home.measure(&format!(
                "{ORDINARY} --duration {duration} --load cpu:1,memory:1M --load cpu:2"
            ));
            assert_eq!(record["spec"]["loads"].as_array().unwrap()[..], loads);
            assert!(machine::processes_of(&home.store()).is_empty());
            let checks = record["checks"].as_array().unwrap();
            let check = checks.iter().find(|check| check["id"] == "loads").unwrap();
            let detail = check["detail"].as_str().unwrap();
            let did = record["loads"].as_array().unwrap();
            assert_eq!(did.len(), 3, "{did:#?}");
            let passed = check["status"] == "pass";
            for (load, did) in loads.iter().zip(did) {
                assert_eq!(did["load"], *load);
                if passed {
                    assert!(detail.contains(&format!("{load} did ")), "{detail}");
                    assert!(did["work"].as_f64().unwrap() > 0.0, "{did:#}");
                    assert!(did["per_second"].as_f64().unwrap() > 0.0, "{did:#}");
                    assert!(did["fault"].is_null(), "{did:#}");
                }
            }
            let kept = ["no work for ", "it never reported"];
            let only_kept = kept.iter().any(|why| detail.contains(why));
            assert!(passed || only_kept && record["valid"] == false, "{detail}");
            passed
        });
    assert!(proven);
}

#[test]
fn tags_are_kept_with_the_run_and_bad_ones_are_named() {
    let home = Home::new();
    let record = home.quick(&[
        "--tag",
        "kernel=rt",
        "--tag",
        "block=3",
        "--tag",
        "kernel=stock",
    ]);
    assert_eq!(
        record["tags"],
        serde_json::json!({"block": "3", "kernel": "stock"})
    );
    let shown = home.run(["runs", "show", "last"]);
    assert!(
        shown
            .fine()
            .stdout
            .contains("Tags      block=3, kernel=stock"),
        "{}",
        shown.stdout
    );
    for (tag, reason) in [
        ("kernel", "has no `=`"),
        ("=rt", "the key must have"),
        ("a b=c", "the key must have"),
        ("kernel=", "the value must have"),
    ] {
        let answer = home.run(QUICK.iter().chain(&["--tag", tag]));
        answer.error(2, &["--tag", reason]);
    }
}

#[test]
fn requirements_pass_fail_or_cannot_be_claimed_from_so_few_samples() {
    let home = Home::new();
    for (requirement, ruling) in [
        ("p50 <= 10s", "pass"),
        ("p99.99 <= 10s", "unclaimed"),
        ("no sample > 1ns", "fail"),
    ] {
        // The run is shorter than the burst that is assumed if nothing is said.
        let asked = ["--require", requirement, "--burst", "100us"];
        let answer = home.run(QUICK.iter().chain(&asked));
        let record = answer.json();
        let result = &record["requirements"][0];
        if record["valid"] == true {
            assert_eq!(result["ruling"], ruling, "{result}");
            let code = if ruling == "pass" { 0 } else { 3 };
            assert_eq!(answer.code(), code, "{answer:#?}");
        } else {
            assert_eq!(result["ruling"], "unclaimed", "{result}");
            assert_eq!(result["obstacle"], "the run is invalid");
            assert_eq!(answer.code(), 1, "{answer:#?}");
        }
        // Overruns are wake-ups too.
        assert!(result["samples"].as_u64() >= Some(20), "{result}");
        assert_eq!(result["exact"], true, "{result}");
        let shown = home.run(["runs", "show", "last"]);
        assert!(shown.stdout.contains(requirement), "{}", shown.stdout);
    }
    home.run(QUICK.iter().chain(&["--require", "max <= 50us"]))
        .error(2, &["--require", "no sample > TIME"]);
}

#[test]
fn values_that_cannot_be_read_say_what_was_expected() {
    let home = Home::new();
    for (words, expected) in [
        ("measure wakeup -n abc", "expected a whole number"),
        ("watch --pid abc", "expected a whole number"),
        ("measure linpack --order 10x", "expected a whole number"),
        ("serve --listen 127.0.0.1", "such as 127.0.0.1:9464"),
        ("measure wakeup --metrics 9464", "such as 127.0.0.1:9464"),
        (
            "measure wakeup --require p99<50us",
            "a percentile with `<=`",
        ),
        (
            "experiment sweep --knob vm.stat_interval=1,2 --measure wakup",
            "'wakeup'",
        ),
        (
            "experiment sweep --knob vm.stat_interval=1,2 --measure watch",
            "`measure watch` needs the name of what it measures",
        ),
        (
            "experiment sweep --knob vm.stat_interval=1,2 --and tasks",
            "`measure tasks` needs the name of what it measures",
        ),
    ] {
        home.run(words.split(' ')).error(2, &[expected]);
    }
    let file = home.dir().join("sweep.toml");
    let sweep = |more: &[&str]| {
        let mut command =
            home.command("experiment sweep --knob vm.stat_interval=1,2 -o".split(' '));
        command.arg(&file).args(more);
        finish(command)
    };
    sweep(&[]).fine();
    let first = fs::read(&file).unwrap();
    sweep(&["--blocks=2"])
        .error(1, &["already exists"])
        .hinted();
    assert_eq!(fs::read(&file).unwrap(), first);
    sweep(&["--blocks=2", "--force"]).fine();
    assert_ne!(fs::read(&file).unwrap(), first);
    let unnamed = home.run(["history", "nosuch"]);
    unnamed.error(2, &["nosuch"]).hinted();
    assert!(!unnamed.stderr.contains("--group"), "{}", unnamed.stderr);
    home.run(["fleet", "measure", "-i", "hosts.ini"])
        .error(2, &["the arguments of `punctual measure` are missing"])
        .hinted();
}

#[test]
fn to_list_runs_makes_no_store() {
    let home = Home::new();
    let none = home.dir().join("typo");
    let answer = home.run(["runs", "list", "--home", none.to_str().unwrap()]);
    assert!(answer.stderr.contains("No store is in"), "{answer:#?}");
    assert!(!none.exists());
}

#[test]
fn an_assessment_judges_requirements_under_each_condition() {
    let home = Home::new();
    let args = [
        "assess",
        "--duration=1s",
        "--load=cpu:1",
        "--quiet",
        "--json",
        "--require=no sample > 1ns",
    ];
    let answer = home.run(args);
    let assessment = answer.json();
    let conditions = assessment["conditions"].as_array().unwrap();
    assert_eq!(conditions.len(), 2);
    for condition in conditions {
        let result = &condition["run"]["requirements"][0];
        assert_ne!(result["ruling"], "pass", "{result}");
        assert!(result["above"].as_u64().unwrap() > 0, "{result}");
    }
    let code = if assessment["valid"] == true { 3 } else { 1 };
    assert_eq!(answer.code(), code, "{}", answer.stderr);
    // The table of deadlines is not changed by it.
    assert_eq!(assessment["deadlines"].as_array().unwrap().len(), 8);
}

#[test]
fn a_goal_of_precision_has_the_interval_of_the_table() {
    let home = Home::new();
    let goals = "--until p50:0.1% --until p99:1% --until mean:0.1%";
    let record = home.measure(&format!(
        "{ORDINARY} --interval 200us --duration 3s {goals}"
    ));
    let states = record["precision"].as_array().unwrap();
    assert_eq!(states.len(), 3 * series(&record).len());
    for state in states {
        let name = state["target"].as_str().unwrap().split(':').next().unwrap();
        let thread = &series(&record)[usize::try_from(int(&state["thread"])).unwrap()];
        let known = match name {
            "mean" => &thread["mean_interval_ns"],
            name => &thread["quantile_intervals_ns"][name],
        };
        assert_eq!(&state["interval_ns"], known, "{name}: {record:#}");
    }
}

#[test]
fn a_relative_sleep_that_is_rehearsed_takes_no_time_of_the_run() {
    let home = Home::new();
    let args = format!(
        "measure wakeup {ORDINARY} --timer relative --mlock off --threads 1 --pin none --interval 1s --samples 1 --raw --quiet"
    );
    home.run(args.split(' ')).carried_out();
    let samples = ["runs", "export", "last", "--format", "csv"];
    let table = home.run(samples).fine().stdout.clone();
    let woke = table.lines().nth(1).unwrap().split(',').nth(2).unwrap();
    let woke: u64 = woke.parse().unwrap();
    assert!(woke < 2_000_000_000, "{table}");
}
