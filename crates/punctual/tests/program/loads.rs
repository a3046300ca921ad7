// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that cannot do what they are there for, and those that stop doing it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{Answer, Home, LONGER, Running, Saying, machine, wait_until, worked};

mod program;

const MEASURE: &str = "measure wakeup --quiet --json --priority o --dma-latency off --mlock off";

/// Runs the program on one CPU with so much address space.
fn with_memory(home: &Home, megabytes: u32, args: &str) -> Answer {
    let cpus = machine::status("/proc/self/status", "Cpus_allowed_list");
    let cpu = cpus.split(['-', ',']).next().unwrap();
    let script = format!("ulimit -v {megabytes}000; exec taskset -c {cpu} \"$@\"");
    let mut command = Command::new("sh");
    command
        .args(["-c", &script, "sh"])
        .arg(crate::common::program())
        .args(args.split_whitespace())
        .env("PUNCTUAL_HOME", home.store());
    crate::common::finish(command)
}

#[test]
fn a_load_that_is_refused_memory_says_so_at_once() {
    let home = Home::new();
    let args = format!("{MEASURE} --duration {LONGER} --load cpu,memory:400M");
    with_memory(&home, 300, &args).error(1, &["memory:400M: thread 0 could not get 400 MB"]);
    assert!(home.list().is_empty());
    // One block fits, two do not.
    let args = format!("load memory:200M --cpus 2 --duration {LONGER}");
    with_memory(&home, 300, &args).error(1, &["memory:200M: thread ", " could not get 200 MB"]);
}

#[test]
fn a_load_that_is_refused_threads_says_so_at_once() {
    let home = Home::new();
    let args = format!("{MEASURE} --duration {LONGER} --load cpu:4096");
    with_memory(&home, 300, &args).error(1, &["cpu:4096: thread ", " cannot be started"]);
    assert!(home.list().is_empty());
    let args = format!("load cpu:4096 --duration {LONGER}");
    with_memory(&home, 300, &args).error(1, &["cpu:4096: thread ", " cannot be started"]);
}

#[test]
fn a_load_that_is_stopped_for_a_part_of_the_run_makes_it_invalid() {
    let home = Home::new();
    let args = format!("{MEASURE} --threads 1 --duration {LONGER} --load cpu:1");
    let begun = Instant::now();
    let running = home.start(args.split_whitespace()).measuring();
    let load = machine::processes_of(&home.store())
        .into_iter()
        .find(|pid| *pid != running.id())
        .unwrap()
        .to_string();
    let before = begun.elapsed();
    machine::signal("STOP", &load);
    // For most of the run, however long it took until here.
    std::thread::sleep(Duration::from_millis(1_800) + before);
    machine::signal("CONT", &load);
    running.signal("INT");
    let record = running.wait().record();
    let checks = record["checks"].as_array().unwrap();
    let loads = checks.iter().find(|check| check["id"] == "loads").unwrap();
    assert_eq!(loads["status"], "fail", "{loads:#}");
    let detail = loads["detail"].as_str().unwrap();
    assert!(detail.starts_with("cpu:1: no work for "), "{detail}");
    assert_eq!(record["valid"], false);
}

#[test]
fn loads_may_be_separated_by_commas() {
    let home = Home::new();
    let args = "load cpu:1,memory:8M cpu:2 --duration 50ms";
    let answer = home.run(args.split_whitespace());
    assert!(worked(&answer), "{answer:#?}");
    let told = "cpu:1, memory:8M, cpu:2";
    assert!(answer.stderr.contains(told), "{answer:#?}");
}

#[test]
fn every_instrument_records_what_the_loads_beside_it_did() {
    let home = Home::new();
    for instrument in [
        "wakeup",
        "deadline --iteration 5ms",
        "noise --threshold 10us",
    ] {
        let args = format!(
            "measure {instrument} --quiet --json --priority o --dma-latency off --mlock off \
             --duration 1s --load cpu:1"
        );
        let record = home.run(args.split_whitespace()).json();
        let loads = record["loads"].as_array().unwrap();
        assert_eq!(loads.len(), 1, "{instrument}: {loads:?}");
        assert_eq!(loads[0]["load"], "cpu:1", "{instrument}");
        let rate = loads[0]["per_second"].as_f64().unwrap_or_default();
        // Others may have kept it from its work, which is said.
        let idle = loads[0]["fault"].is_string() && record["valid"] == false;
        assert!(rate > 0.0 || idle, "{instrument}: {loads:?}");
    }
}

#[test]
fn a_load_process_is_never_real_time() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let mut command = Command::new("chrt");
    command
        .args(["-f", "7"])
        .arg(crate::common::program())
        .args([
            "load",
            "cpu:1,memory:1M",
            "--duration",
            LONGER,
            "--report-to",
        ])
        .arg(std::process::id().to_string())
        .env("PUNCTUAL_HOME", home.store());
    let running = Running::start(command);
    let pid = running.id();
    let loading = || {
        let threads = machine::threads(pid);
        let loads = threads.iter().filter(|t| t.name.starts_with("load/"));
        loads.count() >= 2
    };
    assert!(wait_until(loading), "it loads not");
    for thread in machine::threads(pid) {
        // SCHED_OTHER is 0.
        assert_eq!(thread.policy, 0, "{}", thread.name);
    }
}

/// Starts loads, and waits until each of their threads is there.
fn loading(home: &Home, loads: &str, threads: usize) -> Running {
    let running = home.start(["load", "--duration", LONGER, loads]);
    let there = || {
        let threads_now = machine::threads(running.id());
        let named = threads_now.iter().filter(|t| t.name.starts_with("load/"));
        named.count() >= threads
    };
    assert!(wait_until(there), "it loads not");
    running
}

fn allowed_cpu() -> String {
    let cpus = machine::status("/proc/self/status", "Cpus_allowed_list");
    cpus.split(['-', ',']).next().unwrap().to_owned()
}

#[test]
fn each_load_runs_where_and_as_it_is_told() {
    let home = Home::new();
    let cpu = allowed_cpu();
    let loads = format!("cpu@cpus={cpu}@nice=7,memory:1M@cpus={cpu}@policy=i@intensity=20%");
    let running = loading(&home, &loads, 2);
    let as_told = || {
        let threads = machine::threads(running.id());
        let is = |name: &str, policy: u32, nice: Option<i32>| {
            let of_it: Vec<_> = threads.iter().filter(|t| t.name == name).collect();
            // One a CPU, and there is one.
            of_it.len() == 1
                && of_it[0].cpus == cpu
                && of_it[0].policy == policy
                && nice.is_none_or(|nice| nice == of_it[0].nice)
        };
        is("load/cpu", 0, Some(7)) && is("load/memory", 5, None)
    };
    assert!(wait_until(as_told), "{:#?}", machine::threads(running.id()));
    let score = machine::read(Path::new(&format!("/proc/{}/oom_score_adj", running.id())));
    assert_eq!(score.as_deref(), Some("1000\n"));
}

#[test]
fn a_load_is_real_time_only_where_it_is_asked_for() {
    if !machine::root() {
        return;
    }
    let home = Home::new();
    let running = loading(&home, "cpu:1@policy=r:2@intensity=10%,cpu:1", 2);
    let as_told = || {
        let threads = machine::threads(running.id());
        let loads = threads.iter().filter(|t| t.name == "load/cpu");
        let mut policies: Vec<u32> = loads.map(|t| t.policy).collect();
        policies.sort_unstable();
        // SCHED_OTHER is 0, SCHED_RR 2.
        policies == [0, 2]
    };
    assert!(wait_until(as_told));
}

#[test]
fn settings_that_cannot_be_had_are_one_error_before_anything_starts() {
    let home = Home::new();
    for load in [
        "cpu@cpus=1023",
        "cpu@speed=2",
        "disk",
        "cpu,",
        "cpu@intensity=0",
    ] {
        home.run(["load", load])
            .error(2, &[load.trim_end_matches(',')]);
        let args = format!("{MEASURE} --samples 5 --load {load}");
        home.run(args.split_whitespace()).error(2, &["--load"]);
    }
    assert!(home.list().is_empty());
}

#[test]
fn loads_alone_say_each_second_what_they_do() {
    let home = Home::new();
    let units = [("cpu:1", "additions"), ("memory:1M", "accesses")];
    let both = ["load", "cpu:1,memory:1M", "--duration", LONGER];
    let begun = Instant::now();
    let mut loads = Saying::start(home.command(both));
    for (load, unit) in units {
        loads.says(&format!("{unit}/s  {load}"));
    }
    let said = loads.ends_when_asked();
    for (load, unit) in units {
        let rate = format!("{unit}/s  {load}");
        let rates = said.lines().filter(|line| line.ends_with(&rate));
        let seconds = usize::try_from(begun.elapsed().as_secs()).unwrap();
        assert!((1..=seconds + 1).contains(&rates.count()), "{said}");
        let total = said.lines().find(|line| line.trim().starts_with(load));
        assert!(total.is_some_and(|line| line.contains(unit)), "{said}");
    }
    let quiet = home.run(["load", "cpu:1", "--quiet", "--duration", "1200ms"]);
    assert!(worked(&quiet), "{quiet:#?}");
    assert!(!quiet.stdout.contains("/s  cpu:1"), "{quiet:#?}");
}

#[test]
fn loads_alone_end_when_nobody_reads_their_rates() {
    let home = Home::new();
    let mut command = Command::new("sh");
    let script = format!("\"$0\" load cpu:1 --duration {LONGER} | head -n 1");
    command
        .args(["-c", &script])
        .arg(crate::common::program())
        .env("PUNCTUAL_HOME", home.store());
    assert!(
        crate::common::finish(command)
            .stdout
            .contains("additions/s")
    );
}

#[test]
fn a_load_alone_that_is_stopped_has_not_done_its_work() {
    let home = Home::new();
    let begun = Instant::now();
    let running = loading(&home, "cpu:1", 1);
    std::thread::sleep(Duration::from_millis(500));
    let before = begun.elapsed();
    running.signal("STOP");
    // For most of its time, however long it took until here.
    std::thread::sleep(Duration::from_secs(2) + before);
    running.signal("CONT");
    running.signal("INT");
    let answer = running.wait();
    answer.error(1, &["cpu:1: no work for "]);
    assert!(answer.stdout.contains("FAILED"), "{answer:#?}");
}

#[test]
fn another_machine_is_never_flooded() {
    let home = Home::new();
    // Reserved for documentation (RFC 5737): nobody has it.
    let other = ["--ping-to", "203.0.113.1"];
    let parts = ["203.0.113.1 is not an address of this machine", "rate"];
    home.run(["load", "ping"].into_iter().chain(other))
        .error(2, &parts);
    home.run(["load", "ping@to=203.0.113.1@rate=1001"])
        .error(2, &["1001 requests a second to other machines", "rate"]);
    let args = format!("{MEASURE} --samples 5 --load ping");
    home.run(args.split_whitespace().chain(other))
        .error(2, &parts);
    home.run(["load", "cpu"].into_iter().chain(other))
        .error(2, &["need the load ping"]);
    for address in ["localhost", "::1", "127.0.0.1/8", ""] {
        home.run(["load", "ping", "--ping-to", address])
            .error(2, &["--ping-to"]);
    }
}

/// Two network namespaces with a cable between them; the program runs in one, with so much of a
/// script before it. Both end with the script.
fn between_namespaces(home: &Home, load: &str) -> Option<Answer> {
    let script = r#"
        set -e
        unshare --net sleep 3600 &
        other=$!
        trap 'kill $other' EXIT
        while [ "$(readlink /proc/$other/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
        ip link set lo up
        ip link add here type veth peer name there
        ip link set there netns $other
        ip addr add 10.99.0.1/24 dev here
        ip link set here up
        nsenter --net=/proc/$other/ns/net sh -c 'ip addr add 10.99.0.2/24 dev there; ip link set there up'
        status=0
        "$0" load "$1" --duration 2s --json || status=$?
        ip -s -s -j link show here >&2
        exit $status
    "#;
    if !machine::root() {
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args([
            "--net",
            "--mount-proc",
            "--fork",
            "--pid",
            "sh",
            "-c",
            script,
        ])
        .arg(crate::common::program())
        .arg(load)
        .env("PUNCTUAL_HOME", home.store());
    Some(crate::common::finish(command))
}

#[test]
fn another_host_is_pinged_at_the_rate_that_was_asked_for() {
    let home = Home::new();
    let begun = Instant::now();
    let Some(answer) = between_namespaces(&home, "ping:2@to=10.99.0.2@rate=100") else {
        return;
    };
    let most = 100.0 * begun.elapsed().as_secs_f64();
    assert!(worked(&answer), "{answer:#?}");
    let report = answer.json();
    let replies = report["loads"][0]["work"].as_f64().unwrap();
    assert!(replies > 0.0 && replies <= most + 2.0, "{report:#}");
    let interface = answer.stderr.lines().find(|line| line.starts_with('['));
    let interface: Value = serde_json::from_str(interface.unwrap()).unwrap();
    let sent = interface[0]["stats64"]["tx"]["packets"].as_f64().unwrap();
    // And what makes an address known, on an interface that has just come up.
    assert!(sent <= most + 40.0, "{sent} packets, {most}");
}

#[test]
fn only_who_allows_it_gets_lines_on_the_consoles() {
    let home = Home::new();
    home.run(["load", "cpu,printk"])
        .error(2, &["printk: writes to", "--allow-console"]);
    let args = format!("{MEASURE} --samples 5 --load printk:5");
    home.run(args.split_whitespace())
        .error(2, &["printk:5: writes to", "--allow-console"]);
    home.run(["load", "cpu", "--allow-console"])
        .error(2, &["needs the load printk"]);
}

#[test]
fn more_memory_than_is_free_is_one_error_before_anything_starts() {
    let home = Home::new();
    for load in [
        "memory:1T",
        "tmpfs:1T",
        "linpack:1@order=400000",
        "cpu,memory:500G",
    ] {
        let told = ["the loads need ", " MB, more than half of the "];
        home.run(["load", load]).error(1, &told);
        let args = format!("{MEASURE} --samples 5 --load {load}");
        home.run(args.split_whitespace()).error(1, &told);
    }
    assert!(home.list().is_empty());
    assert!(machine::processes_of(&home.store()).is_empty());
}

#[test]
fn a_missing_tool_is_one_error_before_anything_starts() {
    let home = Home::new();
    // Without a PATH the C library would look where it always does.
    let nothing = home.dir().join("nothing");
    std::fs::create_dir(&nothing).unwrap();
    for (load, tool) in [("io", "fio"), ("stress-ng:--cpu 1", "stress-ng")] {
        let both = format!("cpu,{load}");
        let measure: Vec<&str> = MEASURE
            .split_whitespace()
            .chain(["--load", &both])
            .collect();
        for args in [vec!["load", load], measure] {
            let mut command = home.command(&args);
            command.env("PATH", &nothing);
            let hint = format!("{tool} cannot be used: it is not installed");
            crate::common::finish(command).error(5, &[&hint, "apt-get install"]);
        }
    }
    assert!(home.list().is_empty());
    assert!(machine::processes_of(&home.store()).is_empty());
}

/// A control group with a bound on its memory.
struct Group(PathBuf);

impl Group {
    /// Makes one, if this machine has such groups and lets us.
    fn with_limit(megabytes: u64) -> Option<Self> {
        if !machine::root() {
            return None;
        }
        let name = format!("punctual-test-{}", std::process::id());
        for (root, limit, swap) in [
            (
                "/sys/fs/cgroup/memory",
                "memory.limit_in_bytes",
                "memory.swappiness",
            ),
            ("/sys/fs/cgroup", "memory.max", "memory.swap.max"),
        ] {
            let path = Path::new(root).join(&name);
            let known = Path::new(root).join("cgroup.procs").exists();
            if !known || std::fs::create_dir(&path).is_err() {
                continue;
            }
            let group = Self(path);
            let bytes = (megabytes << 20).to_string();
            if std::fs::write(group.0.join(limit), bytes).is_ok() {
                // Not every kernel has swap.
                drop(std::fs::write(group.0.join(swap), "0"));
                return Some(group);
            }
        }
        eprintln!("skipped: no control group can bound memory here");
        None
    }

    /// Whether the kernel has killed a process of this group for want of memory.
    fn has_killed(&self) -> bool {
        let files = ["memory.oom_control", "memory.events"];
        let texts = files
            .iter()
            .filter_map(|name| machine::read(&self.0.join(name)));
        let counts = |text: &str| {
            let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
            count.is_some_and(|count| count.trim() != "0")
        };
        texts.into_iter().any(|text| counts(&text))
    }

    /// Returns the program in this group.
    fn command(&self, home: &Home, args: &[&str]) -> Command {
        let script = format!("echo $$ >{}/cgroup.procs && exec \"$@\"", self.0.display());
        let mut command = Command::new("sh");
        command
            .args(["-c", &script, "sh"])
            .arg(crate::common::program())
            .args(args)
            .env("PUNCTUAL_HOME", home.store());
        command
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It can be removed once its last process is gone.
        let removed = || std::fs::remove_dir(&self.0).is_ok();
        assert!(wait_until(removed), "the group stays");
    }
}

#[test]
fn a_load_that_runs_out_of_memory_makes_the_run_invalid_and_harms_nobody_else() {
    let Some(group) = Group::with_limit(160) else {
        return;
    };
    let home = Home::new();
    // It keeps all of its input, which has no line end.
    let load = "cmd:sleep 1; head -c 2G /dev/zero | tail";
    let args = format!("{MEASURE} --duration {LONGER} --load");
    let args = args.split_whitespace().chain(["cpu:1", "--load", load]);
    let args: Vec<&str> = args.collect();
    let running = Running::start(group.command(&home, &args)).measuring();
    // The measurement and its loads, when the program and its keeper are gone.
    let killed = || group.has_killed() && machine::processes_of(&home.store()).len() == 2;
    assert!(wait_until(killed));
    running.signal("INT");
    let record = running.wait().record();
    assert_eq!(record["valid"], false, "{record:#}");
    let fault = |place: usize| record["loads"][place]["fault"].as_str();
    let killed = "ended with exit status 137 (signal 9)";
    assert!(fault(1).unwrap().starts_with(killed), "{record:#}");
    // Others may have kept it from its work for a while.
    let other = fault(0).is_none_or(|fault| fault.starts_with("no work for "));
    assert!(other, "{record:#}");
    // What is bound to need more than the group has is refused before it starts.
    let refused = group.command(&home, &["load", "memory:200M"]);
    crate::common::finish(refused).error(1, &["MB, more than half of the 1"]);
    assert!(machine::processes_of(&home.store()).is_empty());
}
