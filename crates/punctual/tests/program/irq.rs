// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure irq`: phases that add up, and a tracing instance that does not stay.

use std::process::Command;

use punctual_sys::tracefs::{Tracefs, TracefsError};
use punctual_sys::{SysRoot, proc};
use serde_json::Value;

use crate::common::{Home, finish, machine, program, wait_until};
use crate::guests;

/// Returns the kernel's tracing, if this test may use it; if there is none or it is denied, says that it is skipped.
fn tracefs() -> Option<Tracefs> {
    if !machine::root() {
        return None;
    }
    match Tracefs::open(&SysRoot::live()) {
        Ok(tracefs) => Some(tracefs),
        Err(err @ (TracefsError::Missing | TracefsError::Denied)) => {
            machine::skip("tracefs", &err.to_string());
            None
        }
        // The program would fail in the same way: no reason to skip.
        Err(err) => panic!("{err}"),
    }
}

/// Returns the tracing instances of a process. Others on this machine may have theirs.
fn instances(tracefs: &Tracefs, pid: u32) -> Vec<String> {
    let mut names = tracefs.root().names("instances").unwrap();
    names.retain(|name| name.starts_with(&format!("punctual-{pid}-")));
    names
}

fn check<'a>(record: &'a Value, id: &str) -> &'a Value {
    let checks = record["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap()
}

fn count(record: &Value, context: &str) -> u64 {
    let series = record["series"].as_array().unwrap();
    let own = series
        .iter()
        .filter(|s| s["context"] == context && !s["thread"].is_null());
    own.map(|s| s["count"].as_u64().unwrap()).sum()
}

const QUICK: [&str; 8] = [
    "measure",
    "irq",
    "--source=events",
    "--duration=2s",
    "--interval=2ms",
    "--cpus=0",
    "--quiet",
    "--json",
];

#[test]
fn the_phases_add_up_to_the_latency_of_the_same_sample() {
    let Some(tracefs) = tracefs() else { return };
    let home = Home::alone();
    let run = home.start(QUICK);
    let pid = run.id();
    let record = run.wait().json();
    // Where others use the machine so much that one of these does not pass, that is said, and the rest holds.
    let ids = ["breakdown", "paired", "trace-clock", "trace-records"];
    let all = ids.iter().all(|id| check(&record, id)["status"] == "pass");
    assert!(all || record["valid"] == false, "{record:#}");
    // Half of two seconds with tracing, half without: some 500 deadlines each, less what the
    // machine skipped.
    let wake_ups = record["total"]["count"].as_u64().unwrap();
    assert!((1..=600).contains(&wake_ups), "{wake_ups}");
    assert_eq!(count(&record, "wake-up"), wake_ups);
    assert!((1..=600).contains(&count(&record, "untraced")));
    // Each paired sample has every phase, but for an interrupt's end that it did not wait for.
    let paired = count(&record, "delivery");
    assert!(paired <= wake_ups);
    if check(&record, "paired")["status"] == "pass" {
        assert!(paired * 100 >= wake_ups * 99, "{record:#}");
    }
    for phase in ["handler", "switch", "return"] {
        assert_eq!(count(&record, phase), paired, "{phase}");
    }
    let mean = |context: &str| {
        let series = record["series"].as_array().unwrap();
        let own = series.iter().find(|s| s["context"] == context);
        own.map_or((0.0, 0.0), |s| {
            let mean = s["mean_ns"].as_f64().unwrap_or_default();
            (mean, s["count"].as_f64().unwrap())
        })
    };
    let phases = ["delivery", "handler", "irq-exit", "switch", "return"];
    let sum: f64 = phases.map(|p| mean(p).0 * mean(p).1).iter().sum();
    if paired == wake_ups {
        let whole = mean("wake-up");
        assert!((sum / whole.1 - whole.0).abs() < 1.0, "{sum} {whole:?}");
    }
    let figures = record["figures"].as_array().unwrap();
    let cost = figures
        .iter()
        .find(|f| f["name"] == "tracing_cost")
        .unwrap();
    // Ten pairs of blocks, less those of which one is empty.
    assert_eq!(cost["unit"], "ns");
    assert!(cost["count"].as_u64() <= Some(10), "{cost}");
    assert!(cost["interval"]["low"].as_f64() <= cost["value"].as_f64());
    assert_eq!(instances(&tracefs, pid), Vec::<String>::new());

    // The distribution of each phase ends at one.
    let csv = [
        "runs",
        "export",
        "last",
        "--format=csv",
        "--data=distribution",
    ];
    let csv = home.run(csv);
    for phase in phases.iter().chain(&["wake-up", "untraced"]) {
        let own = format!("0,{phase},");
        let last = csv.fine().stdout.lines().rfind(|row| row.starts_with(&own));
        // A phase without a sample has no distribution.
        let whole = last.map_or_else(|| count(&record, phase) == 0, |row| row.ends_with(",1"));
        assert!(whole, "{phase}: {last:?}");
    }
    // A format that has one histogram a thread cannot hold them.
    home.run(["runs", "export", "last", "--format=cyclictest-hist"])
        .error(1, &["several kinds of latencies"])
        .hinted();
}

#[test]
fn an_interrupted_run_leaves_no_instance() {
    let Some(tracefs) = tracefs() else { return };
    let home = Home::alone();
    let run = home.start(["measure", "irq", "--source=events", "--quiet", "--json"]);
    let pid = run.id();
    assert!(wait_until(|| !instances(&tracefs, pid).is_empty()));
    // It may have stopped before the first block was whole, which is no valid run.
    run.signal("INT");
    let answer = run.wait();
    assert!([0, 1].contains(&answer.code()), "{answer:#?}");
    assert_eq!(answer.json()["ended"], "interrupted");
    assert_eq!(instances(&tracefs, pid), Vec::<String>::new());
}

#[test]
fn what_a_killed_run_left_is_removed_by_the_next() {
    let Some(tracefs) = tracefs() else { return };
    let home = Home::alone();
    let run = home.start(["measure", "irq", "--source=events", "--quiet"]);
    let pid = run.id();
    assert!(wait_until(|| !instances(&tracefs, pid).is_empty()));
    run.signal("KILL");
    run.wait();
    assert_eq!(instances(&tracefs, pid).len(), 1);
    let answer = home.run([
        "measure",
        "wakeup",
        "--samples=20",
        "--threads=1",
        "--priority=o",
    ]);
    assert!(
        answer.stderr.contains("Removed tracing instance punctual-"),
        "{answer:#?}"
    );
    assert_eq!(instances(&tracefs, pid), Vec::<String>::new());
}

#[test]
fn a_container_with_processes_of_its_own_leaves_the_instances_of_others_alone() {
    let Some(tracefs) = tracefs() else { return };
    let home = Home::alone();
    let own = std::process::id();
    let started: u64 = proc::stat_number(&SysRoot::live(), own, 22).unwrap();
    // It has no open file, as one that is about to be removed by who made it.
    let name = format!("punctual-{own}-{started}");
    let instance = tracefs.instance(&name).unwrap();
    let mut command = Command::new("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(program())
        .args(["measure", "wakeup", "--samples=20", "--threads=1"])
        .args(["--priority=o", "--home"])
        .arg(home.store());
    let answer = finish(command);
    if answer.stderr.contains("unshare") {
        return machine::skip("unshare", "no namespace of processes can be made");
    }
    assert_eq!(home.list().len(), 1, "{answer:#?}");
    assert!(!answer.stderr.contains(&name), "{answer:#?}");
    assert_eq!(instances(&tracefs, own), [name]);
    instance.remove().unwrap();
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_starts() {
    let home = Home::new();
    home.run(["measure", "irq", "--interval", "1us"])
        .error(2, &["--interval 1 µs", "10us"]);
    if let Some(tracefs) = tracefs() {
        home.run(["measure", "irq", "--source=events", "--duration", "50ms"])
            .error(2, &["--duration 50 ms", "too short"]);
        if !tracefs.has_tracer("timerlat").unwrap() {
            home.run(["measure", "irq", "--source=timerlat"])
                .error(5, &["this kernel lacks the timerlat tracer"]);
        }
    }
}

/// The latency of an interrupt at which the timerlat tracer stops, set as people do, until this is dropped.
struct Stop<'a> {
    tracefs: &'a Tracefs,
    before: String,
}

const STOP: &str = "osnoise/stop_tracing_us";

impl<'a> Stop<'a> {
    fn at(tracefs: &'a Tracefs, us: &str) -> Self {
        let before = tracefs.root().read(STOP).unwrap();
        tracefs.root().write(STOP, us).unwrap();
        Self { tracefs, before }
    }
}

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        drop(self.tracefs.root().write(STOP, &self.before));
    }
}

#[test]
fn a_latency_at_which_the_tracer_stops_does_not_end_a_run_and_is_there_afterwards() {
    let Some(tracefs) = tracefs() else { return };
    if !tracefs.has_tracer("timerlat").unwrap() {
        return machine::skip("timerlat", "this kernel lacks the timerlat tracer");
    }
    let home = Home::alone();
    let stop = Stop::at(&tracefs, "1");
    let measure = "measure irq --source=timerlat --duration=1s --cpus=0 --quiet --json";
    let record = home.run(measure.split(' ')).json();
    assert_eq!(check(&record, "tracing-on")["status"], "pass", "{record:#}");
    // The first interrupt would have been the last.
    assert!(count(&record, "thread") > 100, "{record:#}");
    assert_eq!(tracefs.root().read(STOP).unwrap(), "1");
    drop(stop);
}

#[test]
fn in_a_guest_events_measure_what_the_tracer_cannot_be_set_to_and_say_why() {
    let Some(images) = guests::images() else {
        return;
    };
    let home = Home::aside();
    let target = format!("guest:{},virtual-time", images.rt.display());
    let run = |source: &str| {
        let line = "measure irq --interval=1000500ns --duration=250ms --quiet --json --source";
        home.run(line.split(' ').chain([source, "--target", &target]))
    };
    let record = run("auto").record();
    assert_eq!(record["setup"]["options"]["source"], "events");
    let first = &record["findings"][0];
    assert_eq!(first["id"], "no-timerlat", "{first}");
    let why = first["detail"].as_str().unwrap();
    assert!(
        why.ends_with("whole microseconds from 100 µs to 1 s"),
        "{why}"
    );
    run("timerlat").error(2, &["--interval 1000500ns", "from 100 µs to 1 s"]);
}
