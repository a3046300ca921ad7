// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure deadline`: what it counts, and whom it names for what the kernel takes.

use serde_json::Value;

use crate::common::{Home, machine};

/// A short measurement that needs no privilege.
const QUICK: &str = "measure deadline --quiet --json --priority o --dma-latency off --iteration 1ms \
                     --duration 300ms";

fn quick(home: &Home, args: &str) -> Value {
    let line = format!("{QUICK} {args}");
    home.run(line.split_whitespace()).record()
}

fn figure(record: &Value, name: &str) -> Value {
    let figures = record["figures"].as_array().unwrap();
    let found = figures.iter().find(|f| f["name"] == name);
    found
        .unwrap_or_else(|| panic!("{name}: {figures:#?}"))
        .clone()
}

fn series(record: &Value, context: &str) -> Value {
    let series = record["series"].as_array().unwrap();
    let found = series.iter().find(|s| s["context"] == context);
    found.unwrap().clone()
}

/// A text without line ends and indents.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn an_iteration_is_late_if_and_only_if_it_took_longer_than_the_deadline() {
    let home = Home::new();
    for (deadline, all) in [("1ns", true), ("1h", false)] {
        let record = quick(&home, &format!("--deadline {deadline}"));
        let count = record["total"]["count"].as_u64().unwrap();
        let missed = if all { count } else { 0 };
        let response = series(&record, "response");
        assert_eq!(response["misses"][0]["count"], missed);
        assert_eq!(series(&record, "lateness")["count"], missed);
        let share = figure(&record, "missed_share");
        assert_eq!(share["count"], count);
        assert_eq!(share["value"], if all { 1.0 } else { 0.0 });
        let (low, high) = (&share["interval"]["low"], &share["interval"]["high"]);
        assert!(low.as_f64() <= share["value"].as_f64());
        assert!(share["value"].as_f64() <= high.as_f64());
        // At full duty there is nothing between two iterations: together they are all of the time.
        let mean = record["total"]["mean_ns"].as_f64().unwrap();
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let sum = mean * count as f64;
        assert!(sum >= 300e6, "{sum} ns in {count} iterations");
        assert_eq!(response["overruns"], Value::Null);
    }
}

#[test]
fn a_lower_duty_leaves_time_and_counts_what_it_skips() {
    let home = Home::new();
    let record = quick(&home, "--duty 50% --deadline 1h");
    let response = series(&record, "response");
    let period = response["interval_ns"].as_u64().unwrap();
    let served = response["count"].as_u64().unwrap();
    let skipped = response["overruns"].as_u64().unwrap();
    assert_eq!(served + skipped, 300_000_000 / period);
    assert_eq!(figure(&record, "missed_share")["count"], served + skipped);
    // What is left of a period is not used: a stolen CPU makes iterations longer, and nothing makes them more.
    let share = figure(&record, "cpu_share")["value"].as_f64().unwrap();
    let mean = response["mean_ns"].as_f64().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "a count")]
    let worked = mean * served as f64 / 300e6;
    assert!(share <= worked + 0.05, "{share} {worked}");
}

#[test]
fn the_interval_that_was_asked_for_is_held_and_shown() {
    let home = Home::new();
    for asked in ["--interval 2ms", "--duty 50%"] {
        let record = quick(&home, &format!("{asked} --deadline 2ms"));
        let response = series(&record, "response");
        // Whatever the calibration found: 150 releases in 300 ms.
        assert_eq!(response["interval_ns"], 2_000_000, "{asked}");
        let served = response["count"].as_u64().unwrap();
        let skipped = response["overruns"].as_u64().unwrap();
        assert_eq!(served + skipped, 150, "{asked}");
        assert_eq!(figure(&record, "interval")["value"], 2e6);
        let shown = home.run(["runs", "show", "last"]);
        let text = words(&shown.fine().stdout);
        assert!(text.contains("interval 2 ms"), "{text}");
    }
}

#[test]
fn work_that_is_not_what_was_asked_for_makes_the_run_invalid() {
    let home = Home::new();
    let record = quick(&home, "--interval 2ms --deadline 2ms");
    let took = figure(&record, "undisturbed_iteration");
    let checks = record["checks"].as_array().unwrap();
    let check = checks.iter().find(|c| c["id"] == "work").unwrap();
    // Where no iteration of the calibration was undisturbed there is no figure.
    if let Some(took) = took["value"].as_f64() {
        let met = (took - 1e6).abs() <= 1e5;
        assert_eq!(check["status"] == "pass", met, "{took}: {check}");
    }
    let detail = check["detail"].as_str().unwrap();
    assert!(detail.contains("1 ms per iteration requested"), "{detail}");
    assert!(check["status"] == "pass" || record["valid"] == false);
}

#[test]
fn a_deadline_shorter_than_the_work_is_told_before_and_after() {
    let home = Home::new();
    let line = format!("{QUICK} --deadline 100us");
    let ran = home.run(line.split_whitespace());
    assert!(
        ran.stderr
            .contains("Warning: --deadline 100 µs is shorter than --iteration 1 ms"),
        "{ran:#?}"
    );
    let record = ran.record();
    let findings = record["findings"].as_array().unwrap();
    assert!(
        findings
            .iter()
            .any(|f| f["id"] == "deadline-shorter-than-work"),
        "{findings:#?}"
    );
}

#[test]
fn the_length_of_an_iteration_is_given_or_found() {
    let home = Home::new();
    let record = quick(&home, "--deadline 1h");
    let per_millisecond = figure(&record, "additions")["value"].as_f64().unwrap();
    assert!(per_millisecond > 0.0, "{per_millisecond}");
    let line = QUICK.replace("--iteration 1ms", "--additions 123456");
    let record = home.run(line.split_whitespace()).record();
    assert_eq!(figure(&record, "additions")["value"], 123_456.0);
    let deadline = figure(&record, "deadline")["value"].as_f64().unwrap();
    let checks = record["checks"].as_array().unwrap();
    let calibration = checks.iter().find(|c| c["id"] == "calibration").unwrap();
    if calibration["status"] == "pass" {
        let undisturbed = figure(&record, "undisturbed_iteration");
        let factor = deadline / undisturbed["value"].as_f64().unwrap();
        assert!((factor - 1.05).abs() < 0.001, "{factor}");
    }
}

#[test]
fn what_was_measured_is_stored_and_shown() {
    let home = Home::new();
    let record = quick(&home, "--deadline 1ns --name late");
    let shown = home.run(["runs", "show", "late"]);
    let text = words(&shown.fine().stdout);
    for part in [
        "Response time in µs",
        "0 lateness",
        "share of",
        "observed cpus-allowed:",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    let again = home.run(["runs", "show", "late", "--json"]);
    assert_eq!(again.fine().json(), record);
    let log = home.run(["runs", "export", "late", "--format", "hdr"]);
    for tag in ["Tag=0/response", "Tag=0/lateness"] {
        assert!(log.fine().stdout.contains(tag));
    }
}

#[test]
fn a_wrong_option_is_named() {
    let home = Home::new();
    for (args, parts) in [
        ("--deadline soon", &["--deadline", "auto:FACTOR"][..]),
        ("--deadline auto:0.9", &["--deadline", "above 1"]),
        ("--deadline 0", &["--deadline", "at least 1ns"]),
        ("--duty 80", &["--duty", "100%"]),
        ("--duty 0%", &["--duty"]),
        ("--iteration 1us", &["--iteration", "at least 10us"]),
        ("--iteration 2s --duration 1s", &["--duration", "no sample"]),
        (
            "--iteration 1ms --additions 5",
            &["--additions", "--iteration"],
        ),
        ("--additions 0", &["--additions"]),
        (
            "--deadline 1ms",
            &["--deadline 1 ms", "10 ms by default", "--iteration 500us"],
        ),
        ("--interval 1ms", &["--interval 1 ms", "10 ms by default"]),
        (
            "--iteration 2ms --interval 2ms",
            &["--interval 2 ms", "--iteration 2 ms"],
        ),
        (
            "--interval 20ms --duty 50%",
            &["--interval", "--duty", "cannot be used with"],
        ),
        (
            "--interval 2s --duration 1s",
            &["--duration 1 s", "no sample"],
        ),
        ("--threads 0", &["--threads"]),
        ("--cpus 0 --pin none", &["--cpus 0", "--pin set"]),
        ("--cpus 99", &["--cpus 99", "not online"]),
    ] {
        let line = format!("measure deadline {args}");
        home.run(line.split_whitespace()).error(2, parts);
    }
}

/// The real-time budgets, opened. What they were is back when this is dropped.
#[derive(Debug)]
struct OpenBudget([(&'static str, String); 2]);

const SYSTEM: &str = "/proc/sys/kernel/sched_rt_runtime_us";
const GROUP: &str = "/sys/fs/cgroup/cpu/cpu.rt_runtime_us";

impl OpenBudget {
    fn open() -> Self {
        let read = |path: &'static str| (path, machine::read(path.as_ref()).unwrap());
        let open = Self([read(GROUP), read(SYSTEM)]);
        // A group may not have more than the system: that goes first up, and last down.
        for path in [SYSTEM, GROUP] {
            std::fs::write(path, "1000000").unwrap();
        }
        open
    }
}

impl Drop for OpenBudget {
    fn drop(&mut self) {
        for (path, value) in &self.0 {
            // Also while a test fails: nothing may keep the other from being restored.
            drop(std::fs::write(path, value));
        }
        for (path, value) in &self.0 {
            let now = machine::read(path.as_ref()).unwrap_or_default();
            if now != *value && !std::thread::panicking() {
                panic!("{path} is {now} and was {value}");
            }
        }
    }
}

/// Whether the root group has a budget as this machine's tests expect it, and may be changed.
fn has_group_budget() -> bool {
    let is = |path: &str, value: &str| {
        machine::read(path.as_ref()).is_some_and(|text| text.trim() == value)
    };
    let usual = machine::root() && is(SYSTEM, "950000") && is(GROUP, "950000");
    if !usual {
        eprintln!("skipped: no cgroup has a real-time budget of 950000 of 1000000 µs");
    }
    usual
}

/// The first two numbers of the kernel's release.
fn release() -> (u32, u32) {
    let text = machine::read("/proc/sys/kernel/osrelease".as_ref()).unwrap();
    let mut numbers = text
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

/// What four seconds at full duty on one CPU show: the name given to the stalls, if they have one, and the share of
/// the time that the thread had.
///
/// Others can hide a pattern, so that it has no name; which name which stalls get is tested with stalls that were made up.
fn full_duty(home: &Home, cpu: &str, more: &str) -> (String, f64) {
    let line = format!("measure deadline --quiet --json --cpus {cpu} --duration 4s {more}");
    let record = home.run(line.split_whitespace()).record();
    let findings = record["findings"].as_array().unwrap();
    let named = findings.iter().find(|f| f["certainty"] == "inferred");
    let named = named.map_or("", |f| f["id"].as_str().unwrap());
    let share = figure(&record, "cpu_share")["value"].as_f64().unwrap();
    println!("{more}: {named:?}, {share}");
    (named.to_owned(), share)
}

/// One CPU at most is hogged: the first that this process may use, and only if there is another.
fn first_cpu() -> Option<String> {
    let allowed = machine::status("/proc/self/status", "Cpus_allowed_list");
    let (first, _) = allowed.split_once(['-', ','])?;
    Some(first.to_owned())
}

#[test]
fn rt_throttling_takes_its_part_and_is_never_called_by_another_name() {
    let home = Home::alone();
    let (Some(cpu), true) = (first_cpu(), has_group_budget()) else {
        return;
    };
    let (named, share) = full_duty(&home, &cpu, "");
    assert!(
        named.is_empty() || named.starts_with("rt-throttling"),
        "{named}"
    );
    // 950 ms of each second, and what begins or ends in the middle of one.
    assert!(share < 0.975, "{share}");
    let _open = OpenBudget::open();
    let (named, _) = full_duty(&home, &cpu, "");
    assert!(!named.starts_with("rt-throttling"), "{named}");
}

#[test]
fn the_fair_server_is_never_called_throttling() {
    let home = Home::alone();
    let (Some(cpu), true) = (first_cpu(), has_group_budget()) else {
        return;
    };
    if release() < (6, 12) {
        eprintln!("skipped: kernels before 6.12 have no fair server");
        return;
    }
    let _open = OpenBudget::open();
    let load = format!("--load cpu:1@cpus={cpu}");
    let (named, _) = full_duty(&home, &cpu, &load);
    assert!(["", "fair-server"].contains(&named.as_str()), "{named}");
}
