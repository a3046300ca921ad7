// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `measure irq --irq`: interrupts of devices, of the processor, and soft ones.

use punctual_sys::SysRoot;
use punctual_sys::tracefs::Tracefs;
use serde_json::Value;

use crate::common::{Home, machine};
use crate::schema::{assert_valid, schema};

fn may_trace() -> bool {
    if !machine::root() {
        return false;
    }
    match Tracefs::open(&SysRoot::live()) {
        Ok(_) => true,
        Err(err) => {
            machine::skip("tracefs", &err.to_string());
            false
        }
    }
}

fn contexts(record: &Value) -> Vec<(&str, u64)> {
    let series = record["series"].as_array().unwrap();
    let of = series
        .iter()
        .map(|s| (s["context"].as_str().unwrap(), s["count"].as_u64().unwrap()));
    of.collect()
}

fn check<'a>(record: &'a Value, id: &str) -> &'a Value {
    let checks = record["checks"].as_array().unwrap();
    checks.iter().find(|check| check["id"] == id).unwrap()
}

fn entries(record: &Value, figure: &str, source: &str) -> f64 {
    let figures = record["figures"].as_array().unwrap();
    let is = |f: &&Value| f["name"] == figure && f["labels"]["source"] == source;
    figures
        .iter()
        .find(is)
        .map_or(0.0, |f| f["value"].as_f64().unwrap())
}

#[test]
fn the_timer_and_loopback_are_traced_and_agree_with_what_the_kernel_counts() {
    if !may_trace() {
        return;
    }
    let home = Home::alone();
    let answer = home.run([
        "measure",
        "irq",
        "--irq=NET_RX,local-timer",
        "--duration=2s",
        "--load=ping",
        "--quiet",
        "--json",
    ]);
    let record = answer.json();
    assert_valid(&schema("run.schema.json"), &record);
    assert_eq!(record["instrument"], "interrupts");
    // Where others use the machine so much that one of these does not pass, that is said, and the rest holds.
    let whole = check(&record, "lost-events")["status"] == "pass";
    assert!(whole || record["valid"] == false, "{record:#}");
    if whole {
        assert_eq!(check(&record, "counted")["status"], "pass", "{record:#}");
    }
    let found = contexts(&record);
    let count = |context: &str| {
        found
            .iter()
            .find(|(of, _)| *of == context)
            .map_or(0, |(_, n)| *n)
    };
    for context in ["NET_RX/delay", "NET_RX/run", "local-timer/handler"] {
        assert!(count(context) > 0, "{context}: {found:?}");
    }
    if whole {
        // Each that was entered has an end, but for those that the trace begins or ends in.
        let runs = entries(&record, "softirqs_of", "NET_RX");
        let kept = f64::from(u32::try_from(count("NET_RX/run")).unwrap());
        assert!(runs - kept <= 4.0 && kept <= runs, "{runs} {kept}");
        assert!(count("NET_RX/delay") <= count("NET_RX/run") + 4);
    }
    // A replier is woken by what arrived, and it takes longer until it runs than until it is woken.
    assert!(
        count("NET_RX/thread") <= count("NET_RX/waking"),
        "{found:?}"
    );
    // The distribution of each kind ends at one, and the report draws them in one picture.
    let csv = home.run([
        "runs",
        "export",
        "last",
        "--format=csv",
        "--data=distribution",
    ]);
    for (context, _) in &found {
        let own = format!(",{context},");
        let last = csv.fine().stdout.lines().rfind(|row| row.contains(&own));
        assert!(
            last.is_some_and(|row| row.ends_with(",1")),
            "{context}: {last:?}"
        );
    }
    let page = home.dir().join("page.html");
    home.run(["report", "last", "-o", page.to_str().unwrap()])
        .fine();
    let page = machine::read(&page).unwrap();
    assert!(page.contains("interrupts-distribution") && page.contains("NET_RX/run"));
}

#[test]
fn everything_is_measured_and_one_interrupt_is_the_run() {
    if !may_trace() {
        return;
    }
    let home = Home::alone();
    let all = home
        .run([
            "measure",
            "irq",
            "--irq=all",
            "--duration=1s",
            "--quiet",
            "--json",
        ])
        .json();
    let found = contexts(&all);
    assert!(
        found.iter().any(|(of, _)| of.ends_with("/handler")),
        "{found:?}"
    );
    // Of different interrupts there is no common distribution.
    assert!(all["total"]["mean_ns"].is_null(), "{all:#}");
    let timer = home
        .run([
            "measure",
            "irq",
            "--irq=LOC",
            "--cpus=0",
            "--duration=1s",
            "--quiet",
            "--json",
            "--require=p50<=1s",
        ])
        .json();
    if contexts(&timer)
        .iter()
        .any(|(of, _)| *of == "local-timer/handler")
    {
        assert_eq!(timer["total"]["context"], "local-timer/handler");
        assert!(timer["total"]["count"].as_u64() > Some(0));
    }
}

#[test]
fn an_interrupt_that_is_not_there_is_one_error_with_what_there_is() {
    let home = Home::new();
    for more in ["--source=events", "--interval=1ms"] {
        home.run(["measure", "irq", "--irq=all", more])
            .error(2, &["--irq"]);
    }
    if !may_trace() {
        return;
    }
    home.run(["measure", "irq", "--irq=no-such-device"]).error(
        2,
        &[
            "--irq no-such-device: no interrupt has this name or number",
            "/proc/interrupts has",
            "NET_RX",
        ],
    );
    home.run(["measure", "irq", "--irq=NMI"])
        .error(2, &["no trace events for NMI"]);
    home.run(["measure", "irq", "--irq=all", "--explain"])
        .error(2, &["--explain"]);
}
