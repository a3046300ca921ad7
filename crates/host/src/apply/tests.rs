// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Settings that misbehave, and a program that is killed at every write.

mod cpus;
mod cut;
mod watchdogs;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{KnobGuard, Plan, PlanStep, StepReport, Undone};
use punctual_sys::SysRoot;
use tempfile::TempDir;

use super::*;
use crate::journal::{Found, Header};
use crate::knob::Patient;
use crate::private_dir::PrivateDir;
use crate::testing::{Fake, Manner, header};

struct Bench {
    dir: TempDir,
    fake: Arc<Fake>,
    online: CpuSet,
}

impl Bench {
    fn new(settings: &[(&str, &str, Manner)]) -> Self {
        Self {
            dir: TempDir::new().unwrap(),
            fake: Fake::with(settings),
            online: [0, 1].into_iter().collect(),
        }
    }

    fn place(&self) -> PrivateDir {
        PrivateDir::create(&self.dir.path().join("tune")).unwrap()
    }

    fn begin(&self, plan: &Plan) -> Journal {
        Journal::begin(vec![self.place()], header(0), plan).unwrap()
    }

    fn hand<'a>(&'a self, access: &'a dyn Access, on_failure: OnFailure) -> Hand<'a> {
        Hand {
            access,
            online: &self.online,
            on_failure,
            stop: &|| false,
        }
    }

    fn apply(&self, plan: &Plan) -> (Journal, Applied) {
        let mut journal = self.begin(plan);
        let applied = apply(&mut journal, &self.hand(&self.fake, OnFailure::GoOn)).unwrap();
        (journal, applied)
    }

    fn revert(&self, journal: &mut Journal) -> Reverted {
        let nowhere = SysRoot::at(self.dir.path());
        revert(journal, &self.fake, &nowhere, &self.online)
    }

    fn found(&self) -> Journal {
        match Journal::find(self.place()).unwrap() {
            Found::Session(journal) => *journal,
            other => panic!("{other:?}"),
        }
    }
}

fn plan(steps: &[(&str, &str, &str)]) -> Plan {
    let step = |(path, old, new): &(&str, &str, &str)| PlanStep {
        knob: (*path).to_owned(),
        instance: None,
        target: Target::file(*path),
        codec: Codec::Integer,
        old: (*old).to_owned(),
        new: (*new).to_owned(),
    };
    Plan {
        steps: steps.iter().map(step).collect(),
        ..Plan::default()
    }
}

fn outcomes(steps: &[StepReport]) -> Vec<StepOutcome> {
    steps
        .iter()
        .filter_map(|step| step.outcome.clone())
        .collect()
}

fn undone(reverted: &Reverted) -> Vec<Undone> {
    let steps = reverted.steps.iter();
    steps.filter_map(|step| step.undone.clone()).collect()
}

#[test]
fn every_way_to_misbehave_has_its_outcome_and_the_others_are_applied() {
    let bench = Bench::new(&[
        ("takes", "1", Manner::Takes),
        ("refuses", "1", Manner::Refuses),
        ("rounds", "1", Manner::RoundsDown),
        ("ignores", "1", Manner::Ignores),
        ("vanishes", "1", Manner::Vanishes),
        ("hangs", "1", Manner::Hangs),
        ("already", "9", Manner::Takes),
        ("moved", "3", Manner::Takes),
        ("odd", "x", Manner::Takes),
        ("last", "1", Manner::Takes),
    ]);
    let plan = plan(&[
        ("takes", "1", "9"),
        ("refuses", "1", "9"),
        ("rounds", "1", "9"),
        ("ignores", "1", "9"),
        ("vanishes", "1", "9"),
        ("hangs", "1", "9"),
        ("already", "1", "9"),
        ("moved", "1", "9"),
        ("odd", "1", "9"),
        ("gone", "1", "9"),
        ("last", "1", "9"),
    ]);
    // So long that the others answer on any machine.
    let patient = Patient::new(Arc::clone(&bench.fake), Duration::from_secs(5));
    let mut journal = bench.begin(&plan);
    let applied = apply(&mut journal, &bench.hand(&patient, OnFailure::GoOn)).unwrap();
    assert_eq!(applied, Applied::Complete);
    let refused = || StepOutcome::Refused {
        reason: "as told".to_owned(),
    };
    let value = |text: &str| text.to_owned();
    let expected = [
        StepOutcome::Applied,
        refused(),
        StepOutcome::Normalised { value: value("8") },
        StepOutcome::Ignored,
        StepOutcome::Vanished,
        StepOutcome::Hung,
        StepOutcome::AlreadySo,
        StepOutcome::ChangedMeanwhile { value: value("3") },
        StepOutcome::Unreadable {
            reason: "`x` is not a whole number".to_owned(),
        },
        StepOutcome::Vanished,
        StepOutcome::Applied,
    ];
    assert_eq!(outcomes(&journal.report()), expected);
    // Rounding an odd value cannot be undone, and the answer says so.
    bench.fake.manner("hangs", Manner::Takes);
    let reverted = bench.revert(&mut journal);
    assert!(!reverted.complete && reverted.again);
    let not_restored: Vec<&str> = reverted
        .steps
        .iter()
        .filter(|step| !step.undone.as_ref().unwrap().is_fine())
        .map(|step| step.knob.as_str())
        .collect();
    assert_eq!(not_restored, ["odd", "rounds"]);
    let now = bench.fake.dump();
    assert_eq!(
        (&*now["takes"], &*now["last"], &*now["moved"]),
        ("1", "1", "3")
    );
}

#[test]
fn the_others_are_rolled_back_where_that_is_wanted() {
    let settings = [
        ("a", "1", Manner::Takes),
        ("b", "1", Manner::Refuses),
        ("c", "1", Manner::Takes),
    ];
    let bench = Bench::new(&settings);
    let before = bench.fake.dump();
    let mut journal = bench.begin(&plan(&[("a", "1", "2"), ("b", "1", "2"), ("c", "1", "2")]));
    let hand = bench.hand(&bench.fake, OnFailure::RollBack);
    assert_eq!(apply(&mut journal, &hand).unwrap(), Applied::Failed);
    assert_eq!(bench.fake.dump()["c"], "1", "not tried");
    assert!(bench.revert(&mut journal).complete);
    assert_eq!(bench.fake.dump(), before);
}

#[test]
fn an_end_that_is_asked_for_comes_before_the_next_write() {
    let bench = Bench::new(&[("a", "1", Manner::Takes), ("b", "1", Manner::Takes)]);
    let mut journal = bench.begin(&plan(&[("a", "1", "2"), ("b", "1", "2")]));
    let fake = Arc::clone(&bench.fake);
    let stop = move || fake.dump()["a"] == "2";
    let hand = Hand {
        stop: &stop,
        ..bench.hand(&bench.fake, OnFailure::GoOn)
    };
    assert_eq!(apply(&mut journal, &hand).unwrap(), Applied::Interrupted);
    assert_eq!(bench.fake.dump()["b"], "1");
    assert!(bench.revert(&mut journal).complete);
    assert_eq!(bench.fake.dump()["a"], "1");
}

#[test]
fn revert_leaves_a_value_that_someone_else_set() {
    let bench = Bench::new(&[("a", "1", Manner::Takes), ("b", "1", Manner::Takes)]);
    let (mut journal, _) = bench.apply(&plan(&[("a", "1", "2"), ("b", "1", "2")]));
    bench.fake.set("a", "5");
    let reverted = bench.revert(&mut journal);
    let conflict = Undone::Conflict {
        value: "5".to_owned(),
    };
    assert_eq!(undone(&reverted), [Undone::Restored, conflict]);
    assert!(!reverted.complete && !reverted.again);
    let now = bench.fake.dump();
    assert_eq!((&*now["a"], &*now["b"]), ("5", "1"));
}

#[test]
fn revert_can_be_tried_again_and_does_each_setting_once() {
    let bench = Bench::new(&[("a", "1", Manner::Takes), ("b", "1", Manner::Takes)]);
    let (mut journal, _) = bench.apply(&plan(&[("a", "1", "2"), ("b", "1", "2")]));
    bench.fake.manner("a", Manner::Refuses);
    assert!(bench.revert(&mut journal).again);
    drop(journal);
    // Someone uses b meanwhile: it is theirs now.
    bench.fake.set("b", "7");
    bench.fake.manner("a", Manner::Takes);
    let reverted = bench.revert(&mut bench.found());
    assert!(reverted.complete);
    let now = bench.fake.dump();
    assert_eq!((&*now["a"], &*now["b"]), ("1", "7"));
}

#[test]
fn a_guarded_setting_that_the_kernel_changed_is_put_back() {
    let guarded = |path: &str| KnobGuard {
        knob: path.to_owned(),
        instance: None,
        target: Target::file(path),
        codec: Codec::Integer,
        old: "1".to_owned(),
    };
    let bench = Bench::new(&[
        ("a", "1", Manner::Takes),
        ("follows", "1", Manner::Takes),
        ("calm", "1", Manner::Takes),
        ("theirs", "1", Manner::Takes),
    ]);
    let mut plan = plan(&[("a", "1", "2")]);
    plan.guards = ["follows", "calm", "theirs"].map(guarded).to_vec();
    let mut journal = bench.begin(&plan);
    // As the kernel would, because of a.
    bench.fake.set("follows", "4");
    apply(&mut journal, &bench.hand(&bench.fake, OnFailure::GoOn)).unwrap();
    bench.fake.set("theirs", "9");
    let reverted = bench.revert(&mut journal);
    let now = bench.fake.dump();
    assert_eq!(now["follows"], "1");
    assert_eq!(now["theirs"], "9");
    let conflicts = undone(&reverted);
    let conflicts = conflicts.iter().filter(|u| !u.is_fine()).count();
    assert_eq!(conflicts, 1);
}

/// A setting that is only kept.
fn kept(path: &str, old: &str) -> KnobGuard {
    KnobGuard {
        knob: path.to_owned(),
        instance: None,
        target: Target::file(path),
        codec: Codec::Integer,
        old: old.to_owned(),
    }
}

/// Huge pages, and the memory that is kept free, which the kernel raises whenever they are switched on.
fn huge_pages() -> Bench {
    let bench = Bench::new(&[("thp", "1", Manner::Takes), ("free", "30", Manner::Takes)]);
    bench.fake.moves(["thp", "1"], ["free", "67"]);
    bench
}

#[test]
fn what_the_kernel_moves_on_the_way_back_is_put_back_too() {
    let bench = huge_pages();
    let before = bench.fake.dump();
    let mut plan = plan(&[("thp", "1", "0")]);
    plan.guards = vec![kept("free", "30")];
    let (mut journal, _) = bench.apply(&plan);
    assert_eq!(bench.fake.dump()["free"], "30", "not moved yet");
    let reverted = bench.revert(&mut journal);
    assert!(reverted.complete, "{reverted:#?}");
    assert_eq!(bench.fake.dump(), before);
    // Somebody else's value stays, though the kernel moves it on the way back.
    let (mut journal, _) = bench.apply(&plan);
    bench.fake.set("free", "40");
    let reverted = bench.revert(&mut journal);
    assert!(!reverted.complete, "{reverted:#?}");
    assert!(
        undone(&reverted)
            .iter()
            .any(|u| matches!(u, Undone::Conflict { .. })),
        "{reverted:#?}"
    );
}

#[test]
fn a_planned_setting_that_moves_with_another_one_is_read_again_at_the_end() {
    // The step of the setting that moves comes first here, and last there.
    for steps in [
        [("free", "30", "50"), ("thp", "1", "0")],
        [("thp", "1", "0"), ("free", "30", "50")],
    ] {
        let bench = huge_pages();
        let before = bench.fake.dump();
        let (mut journal, _) = bench.apply(&plan(&steps));
        let reverted = bench.revert(&mut journal);
        assert!(reverted.complete, "{steps:?}: {reverted:#?}");
        assert_eq!(bench.fake.dump(), before, "{steps:?}");
    }
}

#[test]
fn what_a_later_step_moves_is_reported_as_it_reads_and_is_taken_back() {
    let bench = huge_pages();
    bench.fake.set("thp", "0");
    let before = bench.fake.dump();
    let (mut journal, _) = bench.apply(&plan(&[("free", "30", "50"), ("thp", "0", "1")]));
    let moved = StepOutcome::Normalised {
        value: "67".to_owned(),
    };
    assert_eq!(outcomes(&journal.report())[0], moved);
    assert!(bench.revert(&mut journal).complete);
    assert_eq!(bench.fake.dump(), before);
}

#[test]
fn a_step_that_an_earlier_one_moved_is_made_and_is_taken_back() {
    let bench = huge_pages();
    bench.fake.set("thp", "0");
    let before = bench.fake.dump();
    // As a plan orders them: what follows comes after what it follows, and is kept besides.
    let mut plan = plan(&[("thp", "0", "1"), ("free", "30", "50")]);
    plan.guards = vec![kept("free", "30")];
    let (mut journal, _) = bench.apply(&plan);
    assert!(
        outcomes(&journal.report())
            .iter()
            .all(|o| *o == StepOutcome::Applied),
        "{:#?}",
        journal.report()
    );
    assert_eq!(bench.fake.dump()["free"], "50");
    assert!(bench.revert(&mut journal).complete);
    assert_eq!(bench.fake.dump(), before);
    // What somebody else has set since the plan was made stays theirs.
    bench.fake.set("free", "40");
    let (journal, _) = bench.apply(&plan);
    let steps = journal.report();
    let theirs = |o: &StepOutcome| matches!(o, StepOutcome::ChangedMeanwhile { .. });
    assert!(outcomes(&steps).iter().any(theirs), "{steps:#?}");
}

#[test]
fn what_the_kernel_does_not_let_be_put_back_is_no_success() {
    let bench = huge_pages();
    let mut plan = plan(&[("thp", "1", "0")]);
    plan.guards = vec![kept("free", "30")];
    let (mut journal, _) = bench.apply(&plan);
    bench.fake.manner("free", Manner::Ignores);
    let reverted = bench.revert(&mut journal);
    assert!(!reverted.complete && reverted.again, "{reverted:#?}");
    let value = "67".to_owned();
    assert!(
        undone(&reverted).contains(&Undone::NotRestored { value }),
        "{reverted:#?}"
    );
    // Later it can.
    bench.fake.manner("free", Manner::Takes);
    assert!(bench.revert(&mut bench.found()).complete);
    assert_eq!(bench.fake.dump()["free"], "30");
}

#[test]
fn a_setting_that_moves_comes_back_also_after_a_kill_at_any_write() {
    for applying in 0..=3 {
        for undoing in 0..=4 {
            let bench = Bench::new(&[
                ("thp", "1", Manner::Takes),
                ("free", "30", Manner::Takes),
                ("other", "1", Manner::Takes),
            ]);
            bench.fake.moves(["thp", "1"], ["free", "67"]);
            let before = bench.fake.dump();
            let mut plan = plan(&[("other", "1", "2"), ("thp", "1", "0"), ("free", "30", "50")]);
            plan.guards = vec![kept("free", "30")];
            bench.fake.kill_after(Some(applying));
            let mut journal = bench.begin(&plan);
            let hand = bench.hand(&bench.fake, OnFailure::GoOn);
            drop(catch_unwind(AssertUnwindSafe(|| {
                apply(&mut journal, &hand)
            })));
            drop(journal);
            bench.fake.kill_after(Some(undoing));
            let mut journal = bench.found();
            drop(catch_unwind(AssertUnwindSafe(|| {
                bench.revert(&mut journal)
            })));
            drop(journal);
            bench.fake.kill_after(None);
            let reverted = bench.revert(&mut bench.found());
            assert!(reverted.complete, "{applying} {undoing}: {reverted:#?}");
            assert_eq!(bench.fake.dump(), before, "{applying} {undoing}");
        }
    }
}

#[test]
fn a_program_killed_at_any_write_leaves_what_undoes_it() {
    let settings = [
        ("a", "1", Manner::Takes),
        ("b", "2", Manner::RoundsDown),
        ("c", "950000", Manner::Takes),
        ("d", "1", Manner::Takes),
    ];
    // One setting twice: lowered on the way, and raised again.
    let plan = plan(&[
        ("a", "1", "5"),
        ("b", "2", "6"),
        ("c", "950000", "100000"),
        ("d", "1", "5"),
        ("c", "100000", "450000"),
    ]);
    for applying in 0..=5 {
        for undoing in 0..=5 {
            let bench = Bench::new(&settings);
            let before = bench.fake.dump();
            bench.fake.kill_after(Some(applying));
            let mut journal = bench.begin(&plan);
            let hand = bench.hand(&bench.fake, OnFailure::GoOn);
            let died = catch_unwind(AssertUnwindSafe(|| apply(&mut journal, &hand).unwrap()));
            assert_eq!(died.is_err(), applying < 5);
            drop(journal);
            // The revert is killed as well, and the one after it is not.
            bench.fake.kill_after(Some(undoing));
            let mut journal = bench.found();
            drop(catch_unwind(AssertUnwindSafe(|| {
                bench.revert(&mut journal)
            })));
            drop(journal);
            bench.fake.kill_after(None);
            let reverted = bench.revert(&mut bench.found());
            assert!(reverted.complete, "{applying} {undoing}: {reverted:#?}");
            assert_eq!(bench.fake.dump(), before, "{applying} {undoing}");
        }
    }
}

#[test]
fn further_settings_join_the_session() {
    let bench = Bench::new(&[("a", "1", Manner::Takes), ("b", "1", Manner::Takes)]);
    let (mut journal, _) = bench.apply(&plan(&[("a", "1", "2")]));
    let more = plan(&[("b", "1", "2")]).steps;
    let hand = bench.hand(&bench.fake, OnFailure::GoOn);
    apply_more(&mut journal, &more, &hand).unwrap();
    drop(journal);
    let mut journal = bench.found();
    assert_eq!(journal.entries().len(), 2);
    assert!(bench.revert(&mut journal).complete);
    assert_eq!(bench.fake.dump()["b"], "1");
}

const SLICE: &str = "/sys/fs/cgroup/system.slice/cpuset.cpus";

/// A step for a list of CPUs that is empty before.
fn limits(path: &str, cpus: &str) -> PlanStep {
    PlanStep {
        codec: Codec::List,
        ..plan(&[(path, "", cpus)]).steps.remove(0)
    }
}

#[test]
fn a_group_whose_cpus_cannot_be_emptied_gets_those_of_the_group_above() {
    let above = "/sys/fs/cgroup/cpuset.cpus.effective";
    let possible = "/sys/devices/system/cpu/possible";
    for all in [above, possible] {
        let bench = Bench::new(&[
            (SLICE, "", Manner::RefusesEmpty),
            (all, "0-3", Manner::Refuses),
        ]);
        let plan = Plan {
            steps: vec![limits(SLICE, "0-1")],
            ..Plan::default()
        };
        // Killed before that is noted, or not.
        for killed in [false, true] {
            bench.fake.set(SLICE, "");
            let (mut journal, _) = bench.apply(&plan);
            if killed {
                bench.fake.set(SLICE, "0-3");
            }
            let reverted = bench.revert(&mut journal);
            assert!(reverted.complete && !reverted.again, "{reverted:#?}");
            assert_eq!(bench.fake.dump()[SLICE], "0-3");
            journal.close().unwrap();
        }
        // What somebody else has set stays.
        bench.fake.set(SLICE, "");
        let (mut journal, _) = bench.apply(&plan);
        bench.fake.set(SLICE, "2");
        assert!(!bench.revert(&mut journal).complete);
        assert_eq!(bench.fake.dump()[SLICE], "2");
    }
}

#[test]
fn a_group_that_was_made_goes_with_its_processes_before_its_cpus_are_emptied() {
    let group = "/sys/fs/cgroup/punctual";
    let file = |name: &str| format!("{group}/{name}");
    let (cpus, partition) = (file("cpuset.cpus"), file("cpuset.cpus.partition"));
    let bench = Bench::new(&[
        (group, "absent", Manner::Takes),
        (&cpus, "", Manner::RefusesEmpty),
        (&partition, "member", Manner::Takes),
    ]);
    let directory = PlanStep {
        target: Target::Directory {
            path: group.to_owned(),
        },
        codec: Codec::Presence,
        ..plan(&[(group, "absent", "present")]).steps.remove(0)
    };
    let isolated = PlanStep {
        codec: Codec::Word,
        ..plan(&[(&partition, "member", "isolated")]).steps.remove(0)
    };
    let plan = Plan {
        steps: vec![directory, limits(&cpus, "2-3"), isolated],
        ..Plan::default()
    };
    let (mut journal, _) = bench.apply(&plan);
    let reverted = bench.revert(&mut journal);
    assert_eq!(
        undone(&reverted),
        [Undone::Restored, Undone::Restored, Undone::Gone]
    );
    assert!(reverted.complete, "{reverted:#?}");
    assert_eq!(bench.fake.dump()[group], "absent");
    journal.close().unwrap();
    bench.begin(&plan);
}

#[test]
fn a_value_that_is_refused_until_another_setting_is_back_is_put_back() {
    // Without a scheduler (0) no depth is taken but 32; a scheduler (1) brings a depth of 256.
    for depth in ["256", "200"] {
        let bench = Bench::new(&[
            ("scheduler", "1", Manner::Takes),
            ("depth", depth, Manner::Takes),
        ]);
        bench.fake.moves(["scheduler", "1"], ["depth", "256"]);
        let before = bench.fake.dump();
        let plan = plan(&[("scheduler", "1", "0"), ("depth", depth, "32")]);
        let (mut journal, _) = bench.apply(&plan);
        bench
            .fake
            .manner("depth", Manner::RefusesWhile("scheduler", "0"));
        let reverted = bench.revert(&mut journal);
        assert!(reverted.complete && !reverted.again, "{reverted:?}");
        assert_eq!(bench.fake.dump(), before);
    }
}
