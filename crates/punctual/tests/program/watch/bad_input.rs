// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What cannot be watched, and programs that make it hard.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{Home, Running, finish, machine};

/// The kernel's tracing files, mounted for a test.
struct Tracing(tempfile::TempDir);

impl Tracing {
    fn mount() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount
            .args(["-t", "tracefs", "nodev"])
            .arg(dir.path())
            .status();
        assert!(mounted.unwrap().success());
        Self(dir)
    }

    /// Returns the names of the instances, of whomever.
    fn instances(&self) -> Vec<String> {
        let names = fs::read_dir(self.0.path().join("instances")).unwrap();
        names
            .map(|name| name.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.0.path()).status());
    }
}

#[test]
fn nobody_to_watch_is_an_error_that_says_so() {
    let home = Home::new();
    home.run(["watch"]).error(2, &["nobody to watch"]).hinted();
    home.run(["watch", "--pid", "1", "--comm", "x"])
        .error(2, &["--comm"]);
    home.run(["watch", "--deadline", "0s", "--", "true"])
        .error(2, &["--deadline 0s"]);
    home.run(["watch", "--cycle-at", "sleeping", "--", "true"])
        .error(2, &["--cycle-at sleeping", "no such system call"]);
    if machine::root() {
        for (at, why) in [
            (
                "uprobe:nothing_of_this_name",
                "no function `nothing_of_this_name`",
            ),
            ("uprobe:/nowhere:main", "/nowhere"),
            ("uprobe:/proc/version:main", "no program"),
        ] {
            home.run(["watch", "--cycle-at", at, "--", "sleep", "0"])
                .error(2, &["--cycle-at", why]);
        }
    }
    home.run(["watch", "--priority", "f:80", "--", "true"])
        .error(2, &["--priority", "sets its own"])
        .hinted();
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    home.run(["watch", "--pid", "4194304"])
        .error(2, &["--pid 4194304", "no such process"]);
    home.run(["watch", "--comm", "nobody-is-called-so"]).error(
        2,
        &["--comm nobody-is-called-so", "no process has this name"],
    );
    home.run(["watch", "--", "/nowhere/at-all"])
        .error(2, &["/nowhere/at-all", "cannot be started"]);
    assert_eq!(home.list().len(), 0, "nothing half-written");
}

#[test]
fn watch_ends_with_its_experiment() {
    let home = Home::new();
    // An experiment says whom its measurements must not outlive.
    for verb in ["watch", "measure watch"] {
        let mut command = home.command(verb.split(' ').chain(["--", "true"]));
        command.env("PUNCTUAL_PARENT", "nobody");
        finish(command).error(2, &["PUNCTUAL_PARENT", "process number"]);
    }
}

#[test]
fn a_program_whose_status_the_kernel_does_not_keep_has_ended_all_the_same() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    // Who ignores the end of its children does not hear how they ended.
    let mut command = Command::new("bash");
    command
        .args(["-c", "trap '' CHLD; exec \"$0\" \"$@\""])
        .arg(crate::common::program())
        .args(["watch", "--quiet", "--json", "--", "sleep", "0.2"])
        .env("PUNCTUAL_HOME", home.dir());
    let answer = finish(command);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    let findings = answer.json()["findings"].clone();
    let findings = findings.as_array().unwrap().iter();
    let said = findings.filter(|finding| finding["id"] == "program-end");
    assert_eq!(said.count(), 1, "{answer:#?}");
}

#[test]
fn what_would_have_held_lost_records_is_said_and_holds_them() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    home.run("watch --buffer 8 -- true".split(' '))
        .error(2, &["--buffer", "64"]);
    // 100,000 system calls as fast as they go, each an event at its begin and at its end.
    let flood = "dd if=/dev/zero of=/dev/null bs=1 count=50000";
    let watch = |kib: &str| {
        let line = format!("watch --quiet --json --buffer {kib} -- {flood}");
        let record = home.run(line.split(' ')).json();
        let checks = record["checks"].as_array().unwrap().clone();
        let check = checks.into_iter().find(|c| c["id"] == "lost-events");
        let check = check.unwrap();
        let lost = record["total"]["lost"].clone();
        (
            check["status"] == "pass",
            check["detail"].as_str().unwrap().to_owned(),
            lost,
        )
    };
    let (passed, detail, lost) = watch("64");
    assert!(!passed, "{detail}");
    assert!(
        lost.is_null(),
        "the number of cycles in them is unknown: {lost}"
    );
    let wanted = |detail: &str| -> String {
        let (_, wanted) = detail.split_once("--buffer ").unwrap();
        wanted.split(' ').next().unwrap().to_owned()
    };
    // The next time others may have more to record, or leave less time to read it.
    let mut kib = wanted(&detail);
    let mut held = watch(&kib);
    for _ in 0..3 {
        if held.0 {
            break;
        }
        kib = wanted(&held.1);
        held = watch(&kib);
    }
    let (passed, detail, lost) = held;
    assert!(passed && lost == 0, "with {kib} KiB: {detail}");
}

#[test]
fn both_buffers_have_the_size_that_the_help_says() {
    const TRACING: &str = "/sys/kernel/tracing/instances";
    if !machine::root() || !Path::new(TRACING).exists() {
        return machine::skip("watch", "tracing needs root and tracefs");
    }
    if std::thread::available_parallelism().unwrap().get() > 16 {
        return machine::skip("watch", "buffers are smaller with more than 16 CPUs");
    }
    let home = Home::new();
    // The program looks itself; others may watch something at the same time.
    let looks = format!(
        "cat {TRACING}/*/per_cpu/cpu0/buffer_size_kb; cat {TRACING}/*+watched/per_cpu/cpu0/buffer_size_kb"
    );
    let answer = home.run(["watch", "--quiet", "--json", "--", "sh", "-c", &looks]);
    // Some kernels say how much their whole pages hold: a little more.
    let sizes = answer
        .stderr
        .lines()
        .filter_map(|line| line.trim().parse::<u32>().ok());
    let sizes = sizes.filter(|kib| (8192..8200).contains(kib));
    assert!(sizes.count() >= 3, "{}", answer.stderr);
}

#[test]
fn a_program_that_ends_at_once_is_an_invalid_run_and_its_status_is_passed_on() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let answer = home.run(["watch", "--quiet", "--json", "--", "sh", "-c", "exit 7"]);
    assert_eq!(answer.code(), 7);
    let record = answer.json();
    assert_eq!(record["valid"], false);
    let said = home.run("runs show last".split(' ')).stdout;
    let said: Vec<&str> = said.split_whitespace().collect();
    let said = said.join(" ");
    assert!(said.contains("the program ended with status 7"), "{said}");
    assert_eq!(home.run(["watch", "--quiet", "--", "true"]).code(), 1);
}

#[test]
fn what_goes_on_after_the_program_has_ended_is_named() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let script = "sleep 600 > /dev/null 2>&1 & echo sleeper $!";
    let answer = home.run(["watch", "--quiet", "--json", "--", "sh", "-c", script]);
    let mut lines = answer.stderr.lines();
    let sleeper = lines.find_map(|line| line.strip_prefix("sleeper "));
    let ended = Command::new("kill").arg(sleeper.unwrap()).status();
    assert!(ended.unwrap().success());
    let record = answer.json();
    let findings = record["findings"].as_array().unwrap().iter();
    let said: Vec<&str> = findings
        .filter(|finding| finding["id"] == "program-end")
        .map(|finding| finding["detail"].as_str().unwrap())
        .collect();
    let wanted =
        "the program ended; of what it had started, sleep went on and was not watched any more";
    assert_eq!(said, [wanted]);
}

#[test]
fn a_process_that_has_ended_is_not_waited_for() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    // Nobody asks for its status before the test ends.
    let mut ended = Command::new("true").spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let pid = ended.id().to_string();
    let answer = home.run(["watch", "--quiet", "--pid", &pid]);
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert!(
        answer
            .stdout
            .contains("no watched thread had a whole cycle")
    );
    ended.wait().unwrap();
}

#[test]
fn a_program_that_runs_where_nobody_judges_makes_no_valid_run() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let online = machine::read(Path::new("/sys/devices/system/cpu/online")).unwrap();
    if online.trim() == "0" {
        eprintln!("skipped: one CPU");
        return;
    }
    let naps = "import time; [time.sleep(0.01) for _ in range(40)]";
    for (cpu, wanted) in [("0", "pass"), ("1", "fail")] {
        let args = ["watch", "--quiet", "--json", "--cpus", "0", "--threads"];
        let run = ["python3", "--", "taskset", "-c", cpu, "python3", "-c", naps];
        let record = home.run(args.iter().chain(&run)).record();
        let checks = record["checks"].as_array().unwrap();
        let judged = checks.iter().find(|c| c["id"] == "judged-cpus").unwrap();
        assert_eq!(judged["status"], wanted, "{judged:#}");
    }
}

#[test]
fn more_threads_than_are_watched_are_counted() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let script = "import threading, time\n\
                  def f():\n  for _ in range(20): time.sleep(0.05)\n\
                  all = [threading.Thread(target=f) for _ in range(500)]\n\
                  [t.start() for t in all]; [t.join() for t in all]";
    if !machine::has_tool("python3") {
        return machine::skip("500 threads", "no python3");
    }
    let answer = home.run(["watch", "--quiet", "--json", "--", "python3", "-c", script]);
    let record = answer.record();
    let watched = &record["watched"];
    // Where python3 is a script there are more.
    assert!(watched["unwatched_threads"].as_u64().unwrap() >= 501 - 256);
    // Whoever is among them is not in time.
    let mut checks = record["checks"].as_array().unwrap().iter();
    let all = checks.find(|check| check["id"] == "all-threads").unwrap();
    assert_eq!(all["status"], "fail", "{all:#}");
    let threads = watched["threads"].as_array().unwrap();
    assert!((100..=256).contains(&threads.len()), "{}", threads.len());
    let whole = |t: &serde_json::Value| t["worst"].as_array().unwrap().len() == 1;
    assert!(threads.iter().all(whole));
}

#[test]
fn another_tracer_changes_nothing_and_is_left_alone() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let tracing = Tracing::mount();
    let other = tracing.0.path().join("instances/somebody-else");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("events/sched/enable"), "1").unwrap();
    let pause = "for i in 1 2 3 4 5 6 7 8; do sleep 0.01; done";
    let answer = home.run(["watch", "--quiet", "--json", "--", "sh", "-c", pause]);
    let enabled = machine::read(&other.join("events/sched/enable")).unwrap();
    fs::write(other.join("events/enable"), "0").unwrap();
    fs::remove_dir(&other).unwrap();
    // What the machine itself does wrong meanwhile is its own matter.
    let record = answer.json();
    for id in ["samples", "lost-events"] {
        let checks = record["checks"].as_array().unwrap();
        let check = checks.iter().find(|check| check["id"] == id).unwrap();
        assert_eq!(check["status"], "pass", "{check:#}");
    }
    assert_eq!(enabled.trim(), "1");
}

#[test]
fn without_the_privilege_it_says_what_is_missing() {
    if !machine::root() {
        return machine::skip("watch", "this asks for the privilege to be taken away");
    }
    let home = Home::new();
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid", "65534", "--clear-groups"])
        .arg(crate::common::program())
        .args([
            "--home",
            "/tmp/punctual-nobody",
            "watch",
            "--quiet",
            "--",
            "true",
        ])
        .env_remove("PUNCTUAL_HOME");
    let answer = finish(command);
    fs::remove_dir_all("/tmp/punctual-nobody").ok();
    answer.error(5, &["root"]).hinted();
    assert_eq!(home.list().len(), 0);
}

/// Runs the program as root with these capabilities alone, or without one of them.
fn with_capabilities(home: &Home, changed: &str, args: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command
        .arg(format!("--bounding-set={changed}"))
        .arg(format!("--inh-caps={changed}"))
        .arg(crate::common::program())
        .args(args)
        .env("PUNCTUAL_HOME", home.store());
    command
}

#[test]
fn where_the_kernel_hides_its_functions_a_cycle_still_begins_when_its_timer_was_to_expire() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    let late_loop = super::late_loop();
    let late_loop = late_loop.to_str().unwrap();
    let args = [
        "watch",
        "--quiet",
        "--json",
        "--name=hidden",
        "--",
        late_loop,
        "none",
        "50",
    ];
    let record = finish(with_capabilities(&home, "-syslog", &args)).json();
    let unknown = record["watched"]["unknown"].as_array().unwrap().iter();
    let unknown: Vec<&str> = unknown.map(|what| what.as_str().unwrap()).collect();
    if unknown.is_empty() {
        return machine::skip("hidden functions", "this kernel shows them to anyone");
    }
    assert!(
        unknown.iter().any(|what| what.contains("CAP_SYSLOG")),
        "{unknown:?}"
    );
    let threads = record["watched"]["threads"].as_array().unwrap();
    let thread = threads
        .iter()
        .find(|thread| thread["name"] == "loop")
        .unwrap();
    assert_eq!(thread["timed_releases"], thread["cycles"], "{thread:#}");
    assert_eq!(thread["period_ns"], 4_000_000);
    let shown = home.run(["runs", "show", "hidden"]);
    let said = "this kernel does not tell";
    assert!(shown.fine().stdout.contains(said), "{}", shown.stdout);
}

#[test]
fn root_of_a_container_without_the_kernels_trace_is_told_what_to_mount() {
    if !machine::root() {
        return machine::skip("watch", "this asks for the privilege to be taken away");
    }
    let home = Home::new();
    let args = ["watch", "--quiet", "--", "true"];
    let inside = with_capabilities(&home, "-all,+sys_nice,+ipc_lock", &args);
    // Where it is mounted already, also below debugfs, it can be used without the privilege to mount it.
    let mut command = Command::new("unshare");
    command
        .args([
            "--mount",
            "sh",
            "-c",
            "umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; exec \"$0\" \"$@\"",
        ])
        .arg(inside.get_program())
        .args(inside.get_args())
        .env("PUNCTUAL_HOME", home.store());
    let answer = finish(command);
    answer.error(5, &["CAP_SYS_ADMIN"]).hinted();
    assert!(
        answer.stderr.contains("/sys/kernel/tracing"),
        "{}",
        answer.stderr
    );
    assert_eq!(home.list().len(), 0);
}

#[test]
fn a_thread_that_never_sleeps_and_one_with_a_name_that_commands_terminals_are_told() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::new();
    // It is watched once it spins: until then it may wait for the disk.
    let spin = ["-c", "echo; while :; do :; done"];
    let mut command = std::process::Command::new("bash");
    let command = command.args(spin).stdout(std::process::Stdio::piped());
    let mut spinner = command.spawn().unwrap();
    let mut begun = [0];
    std::io::Read::read_exact(spinner.stdout.as_mut().unwrap(), &mut begun).unwrap();
    let pid = spinner.id().to_string();
    let answer = home.run(["watch", "--quiet", "--duration", "300ms", "--pid", &pid]);
    spinner.kill().unwrap();
    spinner.wait().unwrap();
    assert_eq!(answer.code(), 1, "{answer:#?}");
    assert!(
        answer
            .stdout
            .contains("no watched thread had a whole cycle"),
        "{}",
        answer.stdout
    );
    let named =
        r"printf '\033[2Jx' > /proc/self/comm; for i in 1 2 3 4 5 6 7 8 9; do sleep 0.01; done";
    let answer = home.run(["watch", "--quiet", "--", "bash", "-c", named]);
    assert!(!answer.stdout.contains('\u{1b}'), "{}", answer.stdout);
}

#[test]
fn killed_it_leaves_no_instance_and_ended_it_ends_the_program() {
    if !machine::root() {
        return machine::skip("watch", "tracing needs root");
    }
    let home = Home::alone();
    let tracing = Tracing::mount();
    let before = tracing.instances();
    let probes = || machine::read(&tracing.0.path().join("uprobe_events")).unwrap_or_default();
    let probes_before = probes();
    let at = format!("uprobe:{}:clock_nanosleep", super::truth::libc());
    let watch = ["watch", "--quiet", "--cycle-at", &at, "--", "sleep", "60"];
    let mut running = Running::start(home.command(watch));
    std::thread::sleep(Duration::from_millis(700));
    assert!(running.is_alive());
    running.signal("INT");
    let answer = running.wait();
    assert_eq!(answer.code(), 1, "sleep has no whole cycle: {answer:#?}");
    assert_eq!(tracing.instances(), before);
    assert_eq!(probes(), probes_before);
    // At any moment, also before all is there that it makes. Nobody needs to come back for what was left.
    for after in [100, 200, 300, 400, 500, 700] {
        let running = Running::start(home.command(watch));
        std::thread::sleep(Duration::from_millis(after));
        running.signal("KILL");
        running.wait();
        let is_gone = || tracing.instances() == before && probes() == probes_before;
        assert!(
            crate::common::wait_until(is_gone),
            "killed after {after} ms: {:?}",
            tracing.instances()
        );
    }
}
