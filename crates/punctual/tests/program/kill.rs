// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! SIGKILL at any moment: the store has whole runs only, and nothing of the program is left.

use std::fs;
use std::time::Duration;

use crate::common::{Home, QUICK, machine, wait_until};

/// How many runs are killed.
const KILLS: u64 = 20;

/// The moments of the kills: xorshift64, so that a failure can be had again.
struct Moments(u64);

impl Moments {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn leftovers(home: &Home) -> Vec<String> {
    fs::read_dir(home.runs_dir())
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.'))
        .collect()
}

fn assert_every_run_is_whole(home: &Home) {
    for row in home.list() {
        assert!(row["unreadable"].is_null(), "{row:#}");
        let id = row["id"].as_str().unwrap();
        let record = home.run(["runs", "show", id, "--json"]).fine().json();
        let csv = ["runs", "export", id, "--format", "csv", "--data"];
        let lines = |data| {
            let answer = home.run(csv.into_iter().chain([data]));
            answer.fine().stdout.lines().count() as u64
        };
        if record["spec"]["raw"] == true {
            assert_eq!(
                Some(lines("samples") - 1),
                record["total"]["count"].as_u64()
            );
        }
        assert!(lines("histogram") >= 1);
        let events = ["runs", "export", id, "--format=json", "--data=events"];
        let events = home.run(events).fine().stdout.clone();
        assert!(events.lines().last().unwrap().contains("ended"), "{events}");
    }
}

#[test]
fn runs_killed_at_any_moment_leave_whole_runs_only() {
    if !machine::root() {
        return;
    }
    let home = Home::alone();
    let before = machine::dma_latency();
    let mut moments = Moments(0x5eed_0000_0000_0001);
    for kill in 0..KILLS {
        let mut args = "measure wakeup --quiet --interval 200us --duration 350ms".to_owned();
        for (every, option) in [(2, " --raw"), (3, " --load cpu")] {
            if kill % every == 0 {
                args += option;
            }
        }
        let mut running = home.start(args.split_whitespace());
        // From before the first sample to after the end of those without a load.
        std::thread::sleep(Duration::from_millis(moments.below(500)));
        if running.is_alive() {
            running.signal("KILL");
        }
        drop(running);
    }
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(gone), "a load goes on");
    let back = || machine::dma_latency_is_back(before);
    assert!(wait_until(back), "{before:?}");

    assert_every_run_is_whole(&home);
    assert_eq!(leftovers(&home), Vec::<String>::new());
    home.quick(&[]);
    assert!(!home.list().is_empty());
}

#[test]
fn the_next_start_removes_what_a_killed_run_left_and_only_that() {
    let home = Home::new();
    let kept = home.quick(&["--name=kept"]);
    let endless = || {
        let args = "measure wakeup --quiet --raw --priority o --dma-latency off --threads 1";
        home.start(args.split_whitespace()).measuring()
    };
    let killed = endless();
    let alive = endless();
    assert_eq!(leftovers(&home).len(), 2);
    killed.signal("KILL");
    drop(killed);
    assert_eq!(
        leftovers(&home).len(),
        2,
        "a killed program cannot clean up"
    );
    home.run(QUICK).record();
    let left = leftovers(&home);
    assert_eq!(left.len(), 1, "the run that goes on was removed: {left:?}");
    alive.signal("INT");
    assert!([0, 1].contains(&alive.wait().code()));
    assert_eq!(leftovers(&home), Vec::<String>::new());
    let runs = home.list();
    assert_eq!(runs.len(), 3);
    assert!(runs.iter().any(|run| run["id"] == kept["id"]));
}

#[test]
fn a_load_dies_with_the_measurement_that_started_it() {
    let home = Home::new();
    let args = "measure wakeup --quiet --load cpu:1,memory:1M --priority o --dma-latency off";
    let running = home.start(args.split_whitespace()).measuring();
    assert_eq!(machine::processes_of(&home.store()).len(), 2);
    running.signal("KILL");
    drop(running);
    let gone = || machine::processes_of(&home.store()).is_empty();
    assert!(wait_until(gone), "the load goes on");
}
