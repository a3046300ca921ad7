// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What real-time code should not do, planted: the loop knows how often.

use serde_json::Value;

use super::{Seen, watched};
use crate::common::Home;

/// What only happens in cycles. How a thread is set up is no matter here.
const IN_CYCLES: [&str; 9] = [
    "priority-inversion",
    "lock-no-inheritance",
    "page-faults",
    "output-in-cycle",
    "sync-in-cycle",
    "files-in-cycle",
    "memory-in-cycle",
    "above-its-interrupt",
    "yield-in-cycle",
];

impl Seen {
    /// What was found of the loop.
    fn habits(&self) -> Vec<&Value> {
        let all = self.record["watched"]["habits"].as_array().unwrap();
        let of_loop = |habit: &&Value| {
            let threads = habit["threads"].as_array().unwrap();
            threads.contains(&self.thread["thread"])
        };
        all.iter().filter(of_loop).collect()
    }

    fn habit(&self, id: &str) -> Option<&Value> {
        self.habits().into_iter().find(|h| h["rule"]["id"] == id)
    }

    fn in_cycles(&self) -> Vec<&str> {
        let ids = self
            .habits()
            .into_iter()
            .map(|h| h["rule"]["id"].as_str().unwrap());
        ids.filter(|id| IN_CYCLES.contains(id)).collect()
    }
}

fn number(habit: &Value, key: &str) -> u64 {
    habit[key].as_u64().unwrap()
}

#[test]
fn what_a_loop_does_in_its_cycles_is_counted_exactly() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "habits", 400) else {
        return;
    };
    assert_eq!(seen.strikes, 300);
    // The last cycle has no wait after it.
    let cycles = seen.strikes - 1;
    let mut ids = seen.in_cycles();
    ids.sort_unstable();
    assert_eq!(
        ids,
        [
            "memory-in-cycle",
            "output-in-cycle",
            "page-faults",
            "yield-in-cycle"
        ]
    );
    for (id, each) in [
        ("output-in-cycle", 3),
        ("memory-in-cycle", 3),
        ("yield-in-cycle", 2),
    ] {
        let habit = seen.habit(id).unwrap();
        assert_eq!(number(habit, "count"), each * cycles, "{habit:#}");
        assert_eq!(number(habit, "cycles"), cycles, "{habit:#}");
        assert!(
            number(habit, "total_ns") >= number(habit, "max_ns"),
            "{habit:#}"
        );
        assert!(number(habit, "max_ns") > 0, "{habit:#}");
        assert!(!habit["rule"]["fix"].as_str().unwrap().is_empty());
    }
    // What a device was written to is no output, and the file is named though it is deleted.
    let output = &seen.habit("output-in-cycle").unwrap()["evidence"];
    assert_eq!(output.as_array().unwrap().len(), 1, "{output:#}");
    let path = output[0]["path"].as_str().unwrap();
    assert!(path.contains("late-loop-"), "{path}");
    // The eight pages of each cycle, and code and tables that are touched for the first time.
    let faults = seen.habit("page-faults").unwrap();
    let count = number(faults, "count");
    assert!((8 * cycles..8 * cycles + 50).contains(&count), "{faults:#}");
    assert_eq!(
        seen.habit("memory-not-locked").unwrap()["count"],
        Value::Null
    );
    // The most severe comes first.
    let habits = seen.record["watched"]["habits"].as_array().unwrap();
    assert_eq!(habits[0]["rule"]["severity"], "high", "{habits:#?}");
    let report = home.run(["runs", "show", seen.record["id"].as_str().unwrap()]);
    let text = report
        .fine()
        .stdout
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let wanted = format!(
        "loop: writes to files or terminals in its cycles: {} writes in {cycles} cycles",
        3 * cycles
    );
    assert!(text.contains(&wanted), "{text}");
}

#[test]
fn a_clean_loop_has_no_such_habits() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "none", 300) else {
        return;
    };
    assert_eq!(seen.record["watched"]["habits_judged"], 1);
    // Memory that is not locked may be touched for the first time at any time.
    let mut ids = seen.in_cycles();
    ids.retain(|id| *id != "page-faults");
    assert!(ids.is_empty(), "{ids:?}");
    assert!(seen.habit("ordinary-policy").is_none());
}

#[test]
fn syncing_and_reading_files_is_found_in_the_cycles_that_do() {
    let home = Home::alone();
    for (culprit, id, what) in [
        ("fsync", "sync-in-cycle", "late-loop-"),
        ("system-call", "files-in-cycle", "open"),
    ] {
        let Some(seen) = watched(&home, culprit, 400) else {
            return;
        };
        let habit = seen.habit(id).unwrap();
        // The last of them is in the last cycle, which has no wait after it. Where the machine was too busy for some cycles to be
        // seen apart, their strikes are not either.
        let unseen = seen.cycles - 1 - number(&seen.thread, "cycles");
        let (cycles, strikes) = (number(habit, "cycles"), seen.strikes - 1);
        assert!(
            (strikes.saturating_sub(unseen)..=strikes).contains(&cycles),
            "{cycles} of {strikes}, {unseen} cycles unseen: {habit:#} {:#}",
            seen.record["checks"]
        );
        assert!(
            number(habit, "count") >= number(habit, "cycles"),
            "{habit:#}"
        );
        let evidence = habit["evidence"].as_array().unwrap();
        let names = |e: &Value| e["path"].as_str().unwrap().contains(what);
        assert!(evidence.iter().any(names), "{habit:#}");
    }
}

#[test]
fn a_lock_without_inheritance_and_the_inversion_that_it_allowed() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "lock", 400) else {
        return;
    };
    let lock = seen.habit("lock-no-inheritance").unwrap();
    assert!(number(lock, "count") > 0, "{lock:#}");
    let evidence = &lock["evidence"][0];
    assert_eq!(evidence["path"], "holder (real-time 10)", "{lock:#}");
    assert!(
        evidence["value"]
            .as_str()
            .unwrap()
            .contains("released futex 0x")
    );
    let inversion = seen.habit("priority-inversion").unwrap();
    let evidence = &inversion["evidence"][0];
    assert_eq!(evidence["path"], "middle (real-time 50)", "{inversion:#}");
    assert!(
        number(inversion, "cycles") <= number(lock, "cycles") + 2,
        "{inversion:#} {lock:#}"
    );
    // The strike that keeps the holder from running lasts 10 ms.
    assert!(number(inversion, "max_ns") > 5_000_000, "{inversion:#}");
}

#[test]
fn an_ordinary_periodic_loop_is_told_so() {
    let home = Home::alone();
    let Some(seen) = watched(&home, "ordinary-hog", 400) else {
        return;
    };
    let Some(policy) = seen.habit("ordinary-policy") else {
        // On a busy machine it may end before anybody comes to look.
        assert_eq!(
            seen.record["watched"]["set_up_unjudged"], 1,
            "{:#}",
            seen.thread
        );
        return;
    };
    assert_eq!(policy["rule"]["severity"], "high");
    assert!(
        policy["evidence"][0]["value"]
            .as_str()
            .unwrap()
            .contains("SCHED_OTHER")
    );
    assert!(seen.habit("timer-slack").is_some());
}
