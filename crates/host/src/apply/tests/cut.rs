// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Writes that were cut in the middle, and a controller that others have come to use.

use super::*;
use crate::journal::Record;

const PAGES: &str = "vm.nr_hugepages";

/// Reverts a write that had begun, after which a setting reads `value`.
fn cut(knob: &str, outcome: Option<StepOutcome>, value: &str) -> (Reverted, String) {
    let bench = Bench::new(&[(knob, "0", Manner::Takes)]);
    let mut journal = bench.begin(&plan(&[(knob, "0", "4096")]));
    journal.note(Record::Begin { seq: 0 }).unwrap();
    if let Some(outcome) = outcome {
        journal.note(Record::Done { seq: 0, outcome }).unwrap();
        journal.note(Record::Complete).unwrap();
    }
    bench.fake.set(knob, value);
    let reverted = bench.revert(&mut journal);
    let now = bench.fake.dump()[knob].clone();
    (reverted, now)
}

#[test]
fn huge_pages_of_a_write_that_was_cut_off_are_given_back() {
    for outcome in [None, Some(StepOutcome::Hung)] {
        for value in ["1370", "4096"] {
            let (reverted, now) = cut(PAGES, outcome.clone(), value);
            assert_eq!(undone(&reverted), [Undone::Restored], "{outcome:?} {value}");
            assert!(reverted.complete && now == "0");
        }
        // More than was wanted is of somebody else.
        let (reverted, now) = cut(PAGES, outcome.clone(), "5000");
        assert!(!reverted.complete && now == "5000", "{outcome:?}");
    }
    // What was written to its end has that value, or is of somebody else; so has what is written at once.
    for (knob, outcome) in [(PAGES, Some(StepOutcome::Applied)), ("vm.swappiness", None)] {
        let (reverted, now) = cut(knob, outcome, "1370");
        assert!(!reverted.complete && now == "1370", "{knob}");
    }
}

#[test]
fn a_write_that_had_begun_is_reported_as_such() {
    let bench = Bench::new(&[(PAGES, "0", Manner::Takes)]);
    let mut journal = bench.begin(&plan(&[(PAGES, "0", "4096")]));
    let begun = |journal: &Journal| {
        let (entry, progress) = &journal.entries()[0];
        entry.report(progress).begun
    };
    assert!(!begun(&journal));
    journal.note(Record::Begin { seq: 0 }).unwrap();
    assert!(begun(&journal));
}

#[test]
fn a_controller_that_other_groups_have_come_to_use_stays() {
    let root = "/sys/fs/cgroup";
    let target = Target::Controller {
        path: format!("{root}/cgroup.subtree_control"),
        name: "cpuset".to_owned(),
    };
    let name = target.to_string();
    for (group, list, stays) in [
        ("user.slice", "0-1", true),
        ("user.slice", "", false),
        ("punctual", "2-3", false),
    ] {
        let bench = Bench::new(&[(&name, "absent", Manner::Takes)]);
        let mut plan = plan(&[("cgroup.partition", "absent", "present")]);
        plan.steps[0].target = target.clone();
        plan.steps[0].codec = Codec::Presence;
        let (mut journal, _) = bench.apply(&plan);
        let other = bench
            .dir
            .path()
            .join(format!("{root}/{group}").trim_start_matches('/'));
        std::fs::create_dir_all(&other).unwrap();
        std::fs::write(other.join("cpuset.cpus"), format!("{list}\n")).unwrap();
        let reverted = bench.revert(&mut journal);
        assert_eq!(!reverted.complete, stays, "{group} {list}: {reverted:#?}");
        let now = bench.fake.dump()[&name].clone();
        assert_eq!(now == "present", stays, "{group} {list}");
        assert!(!reverted.again);
    }
}
