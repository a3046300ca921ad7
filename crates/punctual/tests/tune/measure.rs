// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Measurements in a tuned machine.

use crate::common::{QUICK, Running, finish, machine, wait_until};
use crate::live::{Live, assert_same};

const SET: [&str; 2] = ["--set=vm.swappiness=11", "--set=vm.stat_interval=2"];

fn swappiness() -> String {
    let text = machine::read(std::path::Path::new("/proc/sys/vm/swappiness"));
    text.unwrap().trim().to_owned()
}

#[test]
fn a_run_says_what_was_tuned_and_afterwards_nothing_is() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let record = finish(live.program(QUICK.iter().chain(&SET))).record();
    assert_same(&live.dump(), &before, "measured");
    let tuning = &record["host"]["tuning"];
    assert_eq!(tuning["profile"], "set");
    assert_eq!(tuning["purpose"], "measure");
    let settings = tuning["settings"].as_array().unwrap();
    assert_eq!(settings[0]["knob"], "vm.swappiness");
    assert_eq!(settings[0]["new"], "11");
    let shown = finish(live.program(["runs", "show", "last"]));
    assert!(
        shown
            .fine()
            .stdout
            .contains("Tuned     profile set (measure), vm.swappiness")
    );
    // Without it there is nothing to say.
    let record = finish(live.program(QUICK)).record();
    assert!(record["host"].get("tuning").is_none(), "{}", record["host"]);
}

#[test]
fn a_program_is_watched_in_a_tuned_machine_which_is_as_before_afterwards() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let watch = ["watch", "--quiet", "--json"].iter().chain(&SET);
    let looped = [
        "--",
        "sh",
        "-c",
        "for i in 1 2 3 4 5; do sleep 0.02; done; cat /proc/sys/vm/swappiness",
    ];
    let answer = finish(live.program(watch.chain(&looped)));
    assert_same(&live.dump(), &before, "watched");
    // Its output is on our standard error.
    assert!(
        answer.stderr.lines().any(|line| line == "11"),
        "{answer:#?}"
    );
    let tuning = &answer.json()["host"]["tuning"];
    assert_eq!(tuning["purpose"], "measure", "{answer:#?}");
    assert_eq!(tuning["settings"][0]["new"], "11");
}

#[test]
fn a_run_in_a_machine_that_is_tuned_anyway_says_so() {
    let Some(live) = Live::new() else { return };
    live.tune("apply --set vm.swappiness=11").fine();
    let answer = finish(live.program(QUICK));
    assert!(
        answer.stderr.contains("Tuned: profile set (apply, since"),
        "{answer:?}"
    );
    assert_eq!(answer.record()["host"]["tuning"]["purpose"], "apply");
    // What is to be measured cannot be told from what is there.
    finish(live.program(QUICK.iter().chain(&SET)))
        .error(1, &["not reverted"])
        .hinted();
    live.tune("revert").fine();
}

#[test]
fn a_setting_that_cannot_be_had_is_an_error_before_the_run() {
    let Some(live) = Live::new() else { return };
    for set in ["--set=thp.enabled=sometimes", "--set=irq.affinity@99999=0"] {
        let answer = finish(live.program(QUICK.iter().chain([&set])));
        answer.error(5, &["failed to set"]).hinted();
        assert!(answer.stdout.is_empty());
    }
    let answer = finish(live.program(QUICK.iter().chain([&"--set=vm.swapiness=1"])));
    answer.error(2, &["did you mean"]);
}

#[test]
fn a_measurement_that_is_killed_is_reverted_by_its_keeper() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let args = [
        "measure",
        "wakeup",
        "--quiet",
        "--priority=o",
        "--dma-latency=off",
    ];
    for (signal, code) in [("INT", Some(0)), ("KILL", None)] {
        let running = Running::start(live.program(args.iter().chain(&SET))).measuring();
        assert_eq!(swappiness(), "11");
        running.signal(signal);
        match code {
            Some(_) => assert!([0, 1].contains(&running.wait().code())),
            None => drop(running),
        }
        let back = || swappiness() == before["/proc/sys/vm/swappiness"].trim();
        assert!(wait_until(back), "{signal}");
        let idle = || live.tune("status").stdout.contains("nothing is changed");
        assert!(wait_until(idle), "{signal}");
        assert_same(&live.dump(), &before, signal);
    }
}

#[test]
fn a_load_that_would_take_every_cpu_without_throttling_is_refused_and_the_throttling_is_back() {
    let Some(live) = Live::new() else { return };
    let before = live.dump();
    let off = "--set=kernel.sched_rt_runtime_us=-1";
    let load = "--load=cpu@policy=f:10";
    let answer = finish(live.program(QUICK.iter().chain(&[off, load])));
    answer.error(2, &["real-time throttling is off", "@cpus=LIST"]);
    assert_same(&live.dump(), &before, "refused");
    // The same where the throttling was off already.
    live.tune("apply --set kernel.sched_rt_runtime_us=-1")
        .fine();
    let answer = finish(live.program(["load", "--duration=1s", "cpu@policy=f:10"]));
    answer.error(2, &["real-time throttling is off"]);
    live.tune("revert").fine();
    assert_same(&live.dump(), &before, "reverted");
}
