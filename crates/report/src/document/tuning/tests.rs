// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use punctual_model::{
    Codec, KeptSession, KnobNote, Nanos, PlanStep, Refusal, SkipReason, Skipped, TUNING_FORMAT,
    Target, UnlistedKnob,
};

use super::*;
use crate::text::{self, Detail};

fn page(document: &Document, detail: Detail) -> String {
    text::page(document, 80, detail)
}

fn said(report: &TuningReport) -> String {
    page(&Document::of_tuning(report), Detail::Summary)
}

fn step(knob: &str, instance: Option<&str>, old: &str, new: &str) -> PlanStep {
    PlanStep {
        knob: knob.to_owned(),
        instance: instance.map(str::to_owned),
        target: Target::file("/x"),
        codec: Codec::Word,
        old: old.to_owned(),
        new: new.to_owned(),
    }
}

#[test]
fn a_plan_says_what_changes_what_not_and_what_it_costs() {
    let made = Plan {
        profile: "mine".to_owned(),
        hostname: Some("box".to_owned()),
        kernel_release: Some("6.12".to_owned()),
        cpus_online: "0-3".parse().unwrap(),
        cpus_rt: "3".parse().unwrap(),
        cpus_housekeeping: "0-2".parse().unwrap(),
        steps: vec![
            step("irq.affinity", Some("24"), "0-3", "0-2"),
            step("irq.affinity", Some("25"), "0-3", "0-2"),
            step("vm.swappiness", None, "60", "10"),
        ],
        held: vec![Hold {
            knob: "dma_latency".to_owned(),
            path: "/dev/cpu_dma_latency".to_owned(),
            latency_ns: Nanos::ZERO,
        }],
        notes: vec![KnobNote {
            knob: "vm.swappiness".to_owned(),
            about: "how readily".to_owned(),
            effect: "less cache".to_owned(),
            reversibility: Reversibility::Value,
        }],
        satisfied: 4,
        skipped: vec![Skipped {
            knob: "smt".to_owned(),
            instances: Vec::new(),
            reason: SkipReason::Absent,
            detail: "the kernel says notsupported".to_owned(),
        }],
        refusals: vec![Refusal {
            knob: "cpu.online".to_owned(),
            reason: "no".to_owned(),
            yes_overrides: true,
        }],
        warnings: vec!["irqbalance is running".to_owned()],
        ..Plan::default()
    };
    let text = page(&Document::of_plan(&made), Detail::Full);
    let expected = "\
REFUSED: profile mine, 3 writes, 1 held, 4 already as wanted.
  cpu.online: no (--yes does it anyway)

Machine   box, 6.12, CPUs 0-3 online
CPUs      3 for real-time work, 0-2 for everything else

 Setting        Which  Now  Then
 irq.affinity   24-25  0-3  0-2
 vm.swappiness         60   10
 dma_latency                0 µs, held

What each setting does, and what a change costs
 vm.swappiness how readily; less cache; revert brings the value back, not all
               that it did meanwhile

 Unavailable here  Which  Why
 smt                      the kernel says notsupported

Note      irqbalance is running
Next      `--skip KNOB` leaves out what is refused
";
    assert_eq!(text, expected);
    assert!(!page(&Document::of_plan(&made), Detail::Summary).contains("how readily"));
    let nothing = page(&Document::of_plan(&Plan::default()), Detail::Full);
    assert!(nothing.starts_with("Nothing to change"), "{nothing}");
}

fn report(action: TuningAction, outcomes: Vec<(StepOutcome, Option<Undone>)>) -> TuningReport {
    let steps = outcomes.into_iter().map(|(outcome, undone)| StepReport {
        knob: "vm.x".to_owned(),
        instance: None,
        target: Target::file("/x"),
        old: "1".to_owned(),
        new: Some("2".to_owned()),
        begun: true,
        outcome: Some(outcome),
        undone,
    });
    TuningReport {
        format: TUNING_FORMAT.to_owned(),
        action,
        session: Some(KeptSession {
            id: "1".to_owned(),
            profile: "mine".to_owned(),
            started: "2026-01-01T00:00:00Z".to_owned(),
            until: Some("2026-01-01T00:10:00Z".to_owned()),
            boot_id: "b".to_owned(),
            purpose: "apply".to_owned(),
            pid: 1,
        }),
        steps: steps.collect(),
        held: Vec::new(),
        complete: false,
        remarks: vec!["remark".to_owned()],
    }
}

#[test]
fn what_was_applied_is_listed_and_counted() {
    let refused = StepOutcome::Refused {
        reason: "Operation not permitted".to_owned(),
    };
    let text = said(&report(
        TuningAction::Apply,
        vec![(StepOutcome::Applied, None), (refused, None)],
    ));
    assert!(text.contains("as wanted"), "{text}");
    assert!(text.contains("refused: Operation not permitted"), "{text}");
    assert!(
        text.starts_with("Applied in part: profile mine (apply, since 2026-01-01T00:00:00Z, until")
            && text.contains(": 1 as wanted, 1 unavailable\n"),
        "{text}"
    );
    let end = "Note      remark\nNext      `punctual tune revert` restores everything\n";
    assert!(text.ends_with(end), "{text}");
}

#[test]
fn a_status_agrees_with_itself() {
    let value = "33".to_owned();
    let theirs = StepOutcome::ChangedMeanwhile { value };
    let steps = vec![(StepOutcome::Applied, None), (theirs, None)];
    let text = said(&report(TuningAction::Status, steps));
    let tally = ": 1 as wanted, 1 changed by another program\n";
    assert!(text.replace("\n  ", " ").contains(tally), "{text}");
    assert!(text.contains("  33: another program set it\n"), "{text}");
    // What it was is said to be gone, and not that there is nothing to do.
    let text = said(&report(TuningAction::Status, Vec::new()));
    let text = text.replace("\n  ", " ");
    assert!(text.starts_with("Not tuned: profile mine"), "{text}");
    assert!(text.contains("): nothing of it is in effect\n"), "{text}");
}

#[test]
fn a_revert_lists_only_what_is_not_back() {
    let conflict = Undone::Conflict {
        value: "5".to_owned(),
    };
    let report = report(
        TuningAction::Revert,
        vec![
            (StepOutcome::Applied, Some(Undone::Restored)),
            (StepOutcome::Applied, Some(conflict)),
        ],
    );
    let text = said(&report);
    assert!(text.starts_with("NOT RESTORED: profile mine "), "{text}");
    assert!(
        text.contains("5: another program set it, left alone"),
        "{text}"
    );
    assert!(
        text.replace("\n  ", " ")
            .contains("1 restored, 1 changed by another program and left alone"),
        "{text}"
    );
    assert_eq!(text.matches("vm.x").count(), 1);
    assert_eq!(
        Document::unrestored(&report),
        ["vm.x (5: another program set it, left alone)"]
    );
}

#[test]
fn a_status_after_an_interrupted_revert_says_what_is_back_and_what_not() {
    let text = said(&report(
        TuningAction::Status,
        vec![
            (StepOutcome::Applied, Some(Undone::Restored)),
            (StepOutcome::Applied, None),
        ],
    ));
    assert!(
        text.replace("\n  ", " ")
            .contains(": 1 as wanted, 1 restored"),
        "{text}"
    );
    assert_eq!(text.matches("as wanted\n").count(), 1, "{text}");
}

#[test]
fn a_held_limit_is_something_to_do() {
    let of = |action| {
        let mut report = report(action, Vec::new());
        report.held.push(Hold {
            knob: "dma_latency".to_owned(),
            path: "/dev/cpu_dma_latency".to_owned(),
            latency_ns: Nanos::ZERO,
        });
        said(&report).replace("\n  ", " ")
    };
    let applied = of(TuningAction::Apply);
    assert!(applied.contains("): 1 limit held\n"), "{applied}");
    let status = of(TuningAction::Status);
    assert!(status.contains("): 1 limit held\n"), "{status}");
    let reverted = of(TuningAction::Revert);
    assert!(
        reverted.contains("): 1 limit no longer held\n"),
        "{reverted}"
    );
}

#[test]
fn a_plan_that_can_do_nothing_is_no_success() {
    let skipped = |reason| Skipped {
        knob: "vm.x".to_owned(),
        instances: Vec::new(),
        reason,
        detail: "permission denied".to_owned(),
    };
    let with = |satisfied, reasons: &[SkipReason]| Plan {
        satisfied,
        skipped: reasons.iter().map(|reason| skipped(*reason)).collect(),
        ..Plan::default()
    };
    let word = |plan: &Plan| page(&Document::of_plan(plan), Detail::Summary);
    use SkipReason::{Absent, ReadOnly};
    for bad in [with(0, &[Absent]), with(1, &[ReadOnly, ReadOnly])] {
        assert!(word(&bad).starts_with("NOTHING CAN BE CHANGED"));
    }
    for good in [
        with(1, &[Absent, Absent]),
        with(2, &[ReadOnly]),
        with(0, &[]),
    ] {
        assert!(word(&good).starts_with("Nothing to change"));
    }
}

#[test]
fn settings_are_listed_with_whether_they_can_be_written() {
    let knob = |value: Option<&str>, writable: Writable| KnobReading {
        knob: "vm.x".to_owned(),
        instance: None,
        target: Target::file("/x"),
        value: value.map(str::to_owned),
        choices: None,
        fault: value.is_none().then(|| "unreadable".to_owned()),
        writable,
    };
    let no = Writable::No {
        reason: "read-only".to_owned(),
    };
    let list = KnobList {
        format: "punctual.knobs/1".to_owned(),
        knobs: vec![knob(Some("1"), Writable::Yes), knob(None, no)],
        others: vec![UnlistedKnob {
            knob: "vm.y".to_owned(),
            why: "not here".to_owned(),
        }],
    };
    let text = page(&Document::of_knobs(&list), Detail::Summary);
    assert!(
        text.contains("(unreadable)") && text.contains("no: read-only"),
        "{text}"
    );
    assert!(
        text.contains(" Not listed  Why\n vm.y        not here"),
        "{text}"
    );
}

#[test]
fn a_write_that_had_begun_when_its_program_ended_is_perhaps_made() {
    let mut report = report(TuningAction::Status, vec![(StepOutcome::Applied, None)]);
    report.steps[0].outcome = None;
    let text = page(&Document::of_tuning(&report), Detail::Full);
    assert!(text.contains("1 perhaps written"), "{text}");
    assert!(!text.contains("not tried"), "{text}");
    report.steps[0].begun = false;
    let text = page(&Document::of_tuning(&report), Detail::Full);
    assert!(text.contains("1 not tried"), "{text}");
}
