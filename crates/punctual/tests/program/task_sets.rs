// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure tasks`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{Answer, Home, machine};
use crate::guests;
use crate::schema::{assert_valid, schema};

/// Of ordinary threads, so that it runs without privilege; nobody promises a bound for them.
const ORDINARY: &str = "
policy = 'other'

[[resource]]
name = 'bus'
protocol = 'none'

[[task]]
name = 'first'
period = '10ms'
execution = '300us'
sections = [{ resource = 'bus', length = '100us' }]

[[task]]
name = 'second one'
period = '25ms'
offset = '5ms'
execution = '500us'
sections = [{ resource = 'bus', length = '100us' }]
";

/// Real-time tasks that share resources of each protocol with a bound.
const REAL_TIME: &str = "
[overheads]
wake-up = '100us'
switch = '5us'

[[resource]]
name = 'bus'

[[resource]]
name = 'log'
protocol = 'ceiling'

[[task]]
name = 'servo'
period = '10ms'
execution = '500us'
sections = [{ resource = 'bus', length = '100us' }, { resource = 'log', length = '50us' }]

[[task]]
name = 'plan'
period = '50ms'
execution = '4ms'
sections = [{ resource = 'log', length = '200us', sections = [{ resource = 'bus', length = '100us' }] }]
";

fn written(home: &Home, set: &str) -> String {
    let file = home.dir().join("set.toml");
    fs::write(&file, set).unwrap();
    file.display().to_string()
}

fn measure(home: &Home, set: &str, more: &[&str]) -> Answer {
    let file = written(home, set);
    let mut args = vec!["measure", "tasks", &file, "--quiet"];
    args.extend(more);
    home.run(args)
}

/// The jobs that were released: each ended, or was left over at the end of the run.
fn released(task: &Value) -> u64 {
    task["jobs"].as_u64().unwrap() + task["unfinished"].as_u64().unwrap()
}

#[test]
fn a_set_of_ordinary_tasks_runs_without_privilege_and_each_release_is_a_job() {
    let home = Home::new();
    let options = [
        "--duration=1s",
        "--mlock=off",
        "--dma-latency=off",
        "--json",
    ];
    let record = measure(&home, ORDINARY, &options).json();
    assert_valid(&schema("run.schema.json"), &record);
    let tasks = record["tasks"]["tasks"].as_array().unwrap();
    let all: Vec<u64> = tasks.iter().map(released).collect();
    // The first release of the second is at 5 ms.
    assert_eq!(all, [100, 40], "{record:#}");
    for (task, seen) in tasks.iter().enumerate() {
        assert_eq!(seen["jobs"], record["series"][task]["count"]);
        // A part of the execution time is worked, whatever the speed of the machine.
        assert!(seen["longest_execution_ns"].as_u64().unwrap() > 100_000);
        assert_eq!(seen["above_bound"], 0, "ordinary tasks have no bound");
        let bound = &record["tasks"]["check"]["tasks"][task];
        assert!(bound["response_ns"].is_null());
    }
    assert_eq!(record["tasks"]["check"]["verdict"], "not_shown");
    assert_eq!(record["series"][1]["context"], "second_one");
    let window = &record["tasks"]["window"];
    assert!(!window["jobs"].as_array().unwrap().is_empty());
}

#[test]
fn what_is_seen_and_what_is_shown_are_told_apart() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let answer = measure(&home, REAL_TIME, &["--duration=2s", "--cpus=0"]);
    let text = answer
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(text.contains("in this run, "), "{answer:#?}");
    assert!(
        text.contains(
            "Analysis shown by analysis: All 2 tasks meet their deadlines in the worst case"
        ),
        "{text}"
    );
    let record = home.run(["runs", "show", "last", "--json"]).json();
    let run = &record["tasks"];
    let tasks = run["tasks"].as_array().unwrap();
    let all: Vec<u64> = tasks.iter().map(released).collect();
    assert_eq!(all, [200, 40]);
    let scheduling = &record["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|c| c["id"] == "scheduling");
    let detail = scheduling.unwrap()["detail"].as_str().unwrap();
    assert!(detail.contains("f:80, f:79"), "{detail}");
    // Whatever the machine did: each response above its bound that was looked at names what broke.
    let mut contradicted = false;
    for (seen, bound) in tasks.iter().zip(run["check"]["tasks"].as_array().unwrap()) {
        let above = seen["above_bound"].as_u64().unwrap();
        let named = seen["broke"].as_array().unwrap().iter();
        let named: u64 = named.map(|b| b["jobs"].as_u64().unwrap()).sum();
        assert_eq!(named, seen["examined"].as_u64().unwrap());
        assert_eq!(above > 0, named > 0);
        let longest = seen["longest_response_ns"].as_u64();
        assert_eq!(above > 0, longest > bound["response_ns"].as_u64());
        contradicted |= above > 0 || seen["missed"] != 0;
    }
    let valid = record["valid"] == true;
    let status = match (valid, contradicted) {
        (false, _) => 1,
        (true, true) => 3,
        (true, false) => 0,
    };
    assert_eq!(answer.code(), status, "{answer:#?}");
    // The critical instant: servo first, then plan, which servo interrupts after 10 ms less its jitter.
    let critical = run["critical"].as_array().unwrap();
    assert_eq!(
        (&critical[0]["task"], &critical[1]["task"]),
        (&0.into(), &1.into())
    );
}

#[test]
fn a_set_that_asks_for_more_than_a_cpu_ends_in_time_and_counts_what_never_began() {
    let home = Home::new();
    let options = [
        "--duration=1s",
        "--scale=50",
        "--mlock=off",
        "--dma-latency=off",
        "--cpus=0",
        "--json",
    ];
    let answer = measure(&home, ORDINARY, &options);
    assert_ne!(answer.code(), 0);
    let record = answer.json();
    let tasks = record["tasks"]["tasks"].as_array().unwrap();
    let all: Vec<u64> = tasks.iter().map(released).collect();
    assert_eq!(all, [100, 40], "{record:#}");
    let first = &tasks[0];
    assert!(first["unfinished"].as_u64().unwrap() > 0, "{first:#}");
    assert!(first["missed"].as_u64() > first["jobs"].as_u64().map(|n| n / 2));
}

#[test]
fn sets_that_cannot_run_are_one_error_before_anything_starts() {
    let home = Home::aside();
    let task =
        |more: &str| format!("[[task]]\nname = 'x'\nperiod = '10ms'\nexecution = '1ms'\n{more}\n");
    let many: String = (0..101)
        .map(|n| {
            format!("[[task]]\nname = 't{n}'\nperiod = '1s'\nexecution = '1us'\npolicy = 'other'\n")
        })
        .collect();
    let cases = [
        (task("cpus = '900'"), &[][..], "task x: cpus"),
        (task(""), &["--cpus=900"], "--cpus"),
        (task(""), &["--work=0%"], "--work"),
        (task(""), &["--scale=0"], "0.001 to 1000"),
        (task("offset = '20s'\npolicy = 'other'"), &[], "first job"),
        (many, &[], "1 to 100"),
        (
            format!(
                "[[resource]]\nname = 'r'\nprotocol = 'ceiling'\n{}",
                task("policy = 'other'\nsections = [{ resource = 'r', length = '1us' }]")
            ),
            &[],
            "needs a fixed priority",
        ),
    ];
    for (set, more, part) in cases {
        let answer = measure(&home, &set, more);
        answer.error(2, &[part]);
    }
    home.run(["measure", "tasks", "/nowhere/set.toml"])
        .error(1, &["/nowhere/set.toml"]);
    home.run(["measure", "tasks"]).error(2, &["SET"]);
    assert!(!home.runs_dir().exists() || fs::read_dir(home.runs_dir()).unwrap().next().is_none());
}

#[test]
fn a_set_that_the_kernel_does_not_admit_is_an_error_with_the_task() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    // A deadline that ends before its period, on all CPUs; more than one CPU's worth each.
    let task = |n: u32| {
        format!(
            "[[task]]\nname = 't{n}'\nperiod = '10ms'\nexecution = '9900us'\npolicy = 'deadline'\n"
        )
    };
    let set: String = (0..4096).take(8).map(task).collect();
    measure(&home, &set, &[]).error(5, &["SCHED_DEADLINE"]);
    // One that is kept from a part of the CPUs is refused by the kernel itself.
    let two = fs::read_dir("/sys/devices/system/cpu/cpu1").is_ok();
    if two {
        let set = format!("{}cpus = '0'\n", task(0).replace("9900us", "1ms"));
        measure(&home, &set, &[]).error(5, &["t0", "SCHED_DEADLINE"]);
    }
}

#[test]
fn a_closed_real_time_budget_is_named_with_its_file() {
    let controller = Path::new("/sys/fs/cgroup/cpu");
    if !machine::root() || !controller.join("cpu.rt_runtime_us").exists() {
        return;
    }
    let home = Home::new();
    let group = controller.join(format!("punctual-test-{}", std::process::id()));
    fs::create_dir(&group).unwrap();
    // A new group has no real-time budget.
    let file = written(&home, REAL_TIME);
    let words = format!(
        "echo $$ > {}/cgroup.procs && exec \"$0\" \"$@\"",
        group.display()
    );
    let program = env!("CARGO_BIN_EXE_punctual");
    let output = std::process::Command::new("sh")
        .args(["-c", &words, program, "--home"])
        .arg(home.dir().join("store"))
        .args(["measure", "tasks", &file, "--quiet"])
        .output()
        .unwrap();
    fs::remove_dir(&group).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("cpu.rt_runtime_us is 0"), "{said}");
}

#[test]
fn a_set_runs_in_virtual_time_and_the_same_set_gives_the_same_bytes() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let file = written(&home, REAL_TIME);
    let target = format!("--target=guest:{},virtual-time", images.rt.display());
    let run = |name: &str| {
        let name = format!("--name={name}");
        let args = [
            "measure",
            "tasks",
            &file,
            &target,
            "--duration=200ms",
            "-q",
            &name,
            "--json",
        ];
        guests::run(&home, &args).json()
    };
    let (one, two) = (run("one"), run("two"));
    assert_eq!(one["valid"], true, "{one:#}");
    assert_eq!(one["tasks"]["tasks"][0]["jobs"], 20);
    for key in ["tasks", "series", "total", "figures"] {
        assert_eq!(one[key], two[key], "{key}");
    }
}

#[test]
fn a_kernel_without_sched_ext_runs_no_set_of_a_scheduler() {
    let home = Home::new();
    // A task that may run anywhere is the set's fault, on any machine with several CPUs and any kernel.
    let several = home.dir().join("several.toml");
    let task = "[[task]]\nname = 'a'\nperiod = '10ms'\nexecution = '1ms'\ncpus = '0-1'\n";
    fs::write(&several, format!("scheduler = 'rate-monotonic'\n{task}")).unwrap();
    if std::thread::available_parallelism().is_ok_and(|cpus| cpus.get() > 1) {
        let several = several.display().to_string();
        home.run(["measure", "tasks", &several, "--duration=1s"])
            .error(2, &["task a", "--cpus 0"]);
    }
    if Path::new("/sys/kernel/sched_ext").exists() {
        return;
    }
    for scheduler in ["rate-monotonic", "earliest-deadline-first"] {
        let set = format!("example:ext-{scheduler}");
        home.run(["measure", "tasks", &set, "--cpus=0", "--duration=1s"])
            .error(5, &[scheduler, "/sys/kernel/sched_ext", "--with sched-ext"]);
        // Analysis needs no kernel.
        home.run(["tasks", "check", &set, "--cpus=0"]);
    }
}
