// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Metrics of what is being measured, as Prometheus asks for them.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::ask;
use crate::common::{HANG, Home, machine, wait_until};

/// Time between two looks at metrics that are not there yet.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Asks for the metrics; nothing where nobody answers.
fn metrics(address: &str) -> String {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
    ask(address, &request).1
}

/// Asks until the page has all of `wanted`.
fn page_with(address: &str, wanted: &[&str]) -> String {
    let mut page = String::new();
    let there = wait_until(|| {
        page = metrics(address);
        wanted.iter().all(|text| page.contains(text))
    });
    assert!(there, "{wanted:?}: {page}");
    page
}

/// Tries again with a duration of twice as many seconds until `succeeds`: who came too late for a run has more time for the
/// next. Returns whether it did before [`HANG`].
fn longer_and_longer(seconds: u64, succeeds: impl FnMut(u64) -> bool) -> bool {
    let durations = std::iter::successors(Some(seconds), |seconds| Some(2 * seconds));
    durations
        .take_while(|seconds| *seconds < HANG.as_secs())
        .any(succeeds)
}

#[test]
fn an_assessment_has_metrics_of_each_condition() {
    let home = Home::new();
    let (mut idle, mut loaded) = (false, false);
    let both = longer_and_longer(2, |seconds| {
        let address = format!("127.0.0.1:{}", free_port());
        let duration = format!("--duration={}s", 2 * seconds);
        let args = ["assess", &duration, "--load=cpu:1", "--quiet"];
        let mut running = home.start(args.into_iter().chain(["--metrics", &address]));
        while running.is_alive() {
            let page = metrics(&address);
            if !page.contains("punctual_latency_seconds_count") {
                std::thread::sleep(LOOK_EVERY);
                continue;
            }
            assert!(page.contains("instrument=\"wakeup\""), "{page}");
            assert!(page.contains("punctual_runs_planned 2\n"), "{page}");
            let is_first = page.contains("punctual_runs_done 0\n");
            assert_eq!(page.contains("name=\"assess idle\""), is_first, "{page}");
            idle |= is_first;
            loaded |= page.contains("punctual_runs_done 1\n");
        }
        let answer = running.wait();
        assert!([0, 1].contains(&answer.code()), "{answer:#?}");
        idle && loaded
    });
    assert!(both, "a condition was never seen");
}

#[test]
fn an_experiment_has_metrics_of_each_run() {
    let home = Home::new();
    let path = home.dir().join("experiment.toml");
    let text = r#"
name = "watched"
compare = ["p50"]

[[measure]]
instrument = "wakeup"
options = { priority = "o", dma-latency = "off", threads = 1, duration = "3s" }

[[factor]]
name = "interval"
option = "interval"
levels = ["1ms", "2ms"]

[stop]
blocks = 1
"#;
    let file = path.to_str().unwrap();
    // One that is in use stops an experiment before it has begun.
    fs::write(&path, text).unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let run = ["experiment", "run", file, "--quiet", "--metrics"];
    let refused = home.run(run.into_iter().chain([address.as_str()]));
    refused.error(1, &["listen on --metrics"]).hinted();
    assert!(!home.store().join("experiments/watched").exists());
    let (mut first, mut second) = (false, false);
    let both = longer_and_longer(2, |seconds| {
        let name = format!("watched-{seconds}");
        let text = text.replace("watched", &name);
        fs::write(&path, text.replace("3s", &format!("{seconds}s"))).unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let mut running = home.start(run.into_iter().chain([address.as_str()]));
        while running.is_alive() {
            let page = metrics(&address);
            if !page.contains("punctual_latency_seconds_count{thread=\"0\"}") {
                std::thread::sleep(LOOK_EVERY);
                continue;
            }
            for part in ["instrument=\"wakeup\"", &format!("name=\"{name}\"")] {
                assert!(page.contains(part), "{part}: {page}");
            }
            first |= page.contains("punctual_runs_done 0\n");
            second |= page.contains("punctual_runs_done 1\n");
        }
        running.wait().carried_out();
        first && second
    });
    assert!(both, "a run was never seen");
}

/// A free port: taken for a moment, and given back.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn metrics_of_a_running_measurement_are_read_by_prometheus_own_parser() {
    let home = Home::new();
    let address = format!("127.0.0.1:{}", free_port());
    let args = [
        "measure",
        "wakeup",
        "--threads=2",
        "--priority=o",
        "--dma-latency=off",
        "--duration=3h",
        "--quiet",
        "--load=cpu:1",
        "--name=a \"name\"",
        "--metrics",
        &address,
    ];
    let running = home.start(args);
    let wanted = ["punctual_latency_seconds_count", "punctual_load_work_total"];
    let page = page_with(&address, &wanted);
    // Another run on the same address says so before it measures.
    let second = home.run(["measure", "wakeup", "--metrics", &address]);
    second.error(1, &["listen on --metrics"]).hinted();
    assert_eq!(
        ask(
            &address,
            &format!("GET /x HTTP/1.1\r\nHost: {address}\r\n\r\n")
        )
        .0,
        404
    );
    running.signal("INT");
    let answer = running.wait();
    assert!([0, 1].contains(&answer.code()), "{answer:#?}");
    assert!(
        TcpStream::connect(&address).is_err(),
        "it ends with the run"
    );
    let Some(python) = machine::python() else {
        return;
    };
    let script = "import sys\n\
        from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse\n\
        families = {f.name: f for f in parse(sys.stdin.read())}\n\
        latency = families['punctual_latency_seconds']\n\
        assert latency.type == 'histogram' and latency.unit == 'seconds', latency\n\
        assert {s.labels['thread'] for s in latency.samples} == {'0', '1'}, latency\n\
        buckets = [s for s in latency.samples if s.name.endswith('_bucket') and s.labels['thread'] == '0']\n\
        counts = [s.value for s in buckets]\n\
        assert counts == sorted(counts) and counts[-1] > 0 and len(counts) == 43, counts\n\
        assert families['punctual_run'].samples[0].labels['name'] == 'a \"name\"'\n\
        assert families['punctual_load_work'].samples[0].value > 0\n\
        print(len(families))\n";
    let mut parser = Command::new(python)
        .args(["-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    parser
        .stdin
        .take()
        .unwrap()
        .write_all(page.as_bytes())
        .unwrap();
    let output = parser.wait_with_output().unwrap();
    assert!(output.status.success(), "{page}");
    let families: u32 = String::from_utf8(output.stdout)
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    assert!(families >= 10, "{families}");
}
