// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plans of tuning, what became of them, and the settings of a machine.

mod boot;
mod group;
mod trial;

use punctual_model::{
    Hold, KnobList, KnobReading, Plan, Reversibility, StepOutcome, StepReport, TuningAction,
    TuningReport, Undone, Writable,
};

use self::group::{Group, grouped, which};
use super::named::counted;
use super::{Block, Document, Reason, Table, Tone};

/// What takes everything back.
const REVERT: &str = "`punctual tune revert` restores everything";

impl Document {
    /// Says what a plan would change and what not; for who asks for all, also what each knob does.
    pub fn of_plan(plan: &Plan) -> Self {
        let mut blocks = vec![Block::Facts(machine(plan))];
        if !plan.is_empty() {
            blocks.push(Block::Table(changes(plan)));
            blocks.push(Block::Fold(
                "What each setting does, and what a change costs".to_owned(),
                vec![notes(plan)],
            ));
        }
        if !plan.skipped.is_empty() {
            let mut table = Table::new("", &["<Unavailable here", "<Which", "<Why"]);
            let row = |skipped: &punctual_model::Skipped| {
                let which = which(&skipped.knob, &skipped.instances);
                vec![skipped.knob.clone(), which, skipped.detail.clone()]
            };
            table.rows = plan.skipped.iter().map(row).collect();
            blocks.push(Block::Table(table));
        }
        let mut last: Vec<(&str, String)> = noted(&plan.warnings).collect();
        if !plan.refusals.is_empty() {
            let next = "`--skip KNOB` leaves out what is refused".to_owned();
            last.push(("Next", next));
        } else if !plan.is_empty() {
            let next = "`punctual tune apply` with the same arguments makes these changes";
            last.push(("Next", format!("{next}; {REVERT}")));
        }
        if !last.is_empty() {
            blocks.push(Block::facts(last));
        }
        let (tone, word) = match (plan.refusals.is_empty(), plan.is_empty()) {
            (false, _) => (Tone::Bad, "REFUSED"),
            (true, true) => (Tone::Good, "Nothing to change"),
            (true, false) => (Tone::Plain, "plan"),
        };
        let sentence = format!("profile {}, {}.", plan.profile, counts(plan));
        let sentence = match tone {
            Tone::Plain => super::named::capital(&sentence),
            _ => sentence,
        };
        let mut document = Self::of("Plan of tuning", blocks).answering(tone, word, sentence);
        for answer in &mut document.answers {
            let refusals = plan.refusals.iter().map(|refusal| {
                let way = match refusal.yes_overrides {
                    true => " (--yes does it anyway)",
                    false => "",
                };
                Reason::fault(format!("{}: {}{way}", refusal.knob, refusal.reason))
            });
            answer.validity = refusals.collect();
        }
        document
    }

    /// Says what was done, and of that what differs from the plan.
    pub fn of_tuning(report: &TuningReport) -> Self {
        let mut remarks = report.remarks.iter();
        let (tone, word) = match (report.action, report.complete) {
            (TuningAction::Apply, true) => (Tone::Good, "Applied"),
            (TuningAction::Apply, false) => (Tone::Doubtful, "Applied in part"),
            (TuningAction::Status, true) => (Tone::Good, "Tuned"),
            (TuningAction::Status, false) => (Tone::Doubtful, "Tuned in part"),
            (TuningAction::Revert, true) => (Tone::Good, "Reverted"),
            (TuningAction::Revert, false) => (Tone::Bad, "NOT RESTORED"),
        };
        let (word, sentence) = match &report.session {
            None => ("Tuning", remarks.next().cloned().unwrap_or_default()),
            Some(session) => {
                let until = session.until.as_ref();
                let until = until.map_or_else(String::new, |at| format!(", until {at}"));
                let (profile, purpose) = (&session.profile, &session.purpose);
                let since = format!("{profile} ({purpose}, since {}{until})", session.started);
                (word, format!("profile {since}: {}", tally(report)))
            }
        };
        let mut blocks: Vec<Block> = told(report).map(Block::Table).into_iter().collect();
        let mut last: Vec<(&str, String)> = Vec::new();
        if report.action != TuningAction::Revert {
            last.extend(report.held.iter().map(|held| ("Held", limit(held))));
        }
        last.extend(noted(remarks));
        let kept = report
            .session
            .as_ref()
            .is_some_and(|s| s.purpose == "apply");
        match (report.action, report.complete) {
            (TuningAction::Apply, _) if kept => last.push(("Next", REVERT.to_owned())),
            (TuningAction::Revert, false) => {
                let next = "compare Before with Now, and set what should be as before";
                last.push(("Next", next.to_owned()));
            }
            _ => {}
        }
        if !last.is_empty() {
            blocks.push(Block::facts(last));
        }
        Self::of("Tuning", blocks).answering(tone, word, sentence)
    }

    /// Lists settings with their values.
    pub fn of_knobs(list: &KnobList) -> Self {
        let rows = grouped(list.knobs.iter().map(|knob| {
            let name = (knob.knob.as_str(), knob.instance.as_deref());
            let fault = || Some(format!("({})", knob.fault.as_ref()?));
            let now = knob.value.clone().or_else(fault);
            (name, [now.unwrap_or_else(|| "-".to_owned()), written(knob)])
        }));
        let row = |Group {
                       knob,
                       instances,
                       values: [now, written],
                   }: &Group<[String; 2]>| {
            vec![
                knob.clone(),
                which(knob, instances),
                value(now),
                written.clone(),
            ]
        };
        let mut table = Table::new("", &["<Setting", "<Which", "<Value", "<Writable"]);
        table.rows = rows.iter().map(row).collect();
        let block = match table.rows.is_empty() {
            true => Block::Text("No such setting on this machine".to_owned()),
            false => Block::Table(table),
        };
        Self::of("Settings", vec![block])
    }
}

fn machine(plan: &Plan) -> Vec<(String, String)> {
    let names = [&plan.hostname, &plan.kernel_release];
    let mut names: Vec<String> = names.into_iter().flatten().cloned().collect();
    names.push(format!("CPUs {} online", plan.cpus_online));
    let mut facts = vec![("Machine".to_owned(), names.join(", "))];
    let (rt, rest) = (&plan.cpus_rt, &plan.cpus_housekeeping);
    facts.extend(divided(rt, rest).map(|said| ("CPUs".to_owned(), said)));
    facts
}

/// Says which CPUs are for what, where some are set apart.
fn divided(rt: &punctual_model::CpuSet, rest: &punctual_model::CpuSet) -> Option<String> {
    (!rt.is_empty()).then(|| format!("{rt} for real-time work, {rest} for everything else"))
}

fn noted<'a>(
    remarks: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = (&'static str, String)> {
    remarks.into_iter().map(|remark| ("Note", remark.clone()))
}

fn changes(plan: &Plan) -> Table {
    let rows = grouped(plan.steps.iter().map(|step| {
        let name = (step.knob.as_str(), step.instance.as_deref());
        (name, [step.old.clone(), step.new.clone()])
    }));
    let row = |Group {
                   knob,
                   instances,
                   values: [old, new],
               }: Group<[String; 2]>| {
        let which = which(&knob, &instances);
        vec![knob, which, value(&old), value(&new)]
    };
    let held = plan.held.iter().map(|held| {
        let then = format!("{} µs, held", held.latency_ns.get() / 1_000);
        vec![held.knob.clone(), String::new(), String::new(), then]
    });
    let mut table = Table::new("", &["<Setting", "<Which", "<Now", "<Then"]);
    table.rows = rows.into_iter().map(row).chain(held).collect();
    table
}

/// Says of each knob that is used what it decides and what else it does.
fn notes(plan: &Plan) -> Block {
    Block::items(plan.notes.iter().map(|note| {
        let back = match note.reversibility {
            Reversibility::Exact | Reversibility::Scoped => "",
            Reversibility::Value => "; revert brings the value back, not all that it did meanwhile",
        };
        let said = format!("{}; {}{back}", note.about, note.effect);
        (note.knob.clone(), said)
    }))
}

fn counts(plan: &Plan) -> String {
    let mut parts = vec![counted(plan.steps.len() as u64, "write")];
    if !plan.held.is_empty() {
        parts.push(format!("{} held", plan.held.len()));
    }
    if !plan.guards.is_empty() {
        let kept = counted(plan.guards.len() as u64, "setting");
        parts.push(format!(
            "{kept} kept that the kernel may change because of them"
        ));
    }
    parts.push(format!("{} already as wanted", plan.satisfied));
    parts.join(", ")
}

fn limit(held: &Hold) -> String {
    format!("{} {} µs", held.knob, held.latency_ns.get() / 1_000)
}

/// The settings: all that were changed, or of those that were taken back only those that were not.
fn told(report: &TuningReport) -> Option<Table> {
    let reverting = report.action == TuningAction::Revert;
    let wanted = |step: &&StepReport| match reverting {
        true => step.undone.as_ref().is_some_and(|undone| !undone.is_fine()),
        false => step.new.is_some(),
    };
    let rows = grouped(report.steps.iter().filter(wanted).map(|step| {
        let name = (step.knob.as_str(), step.instance.as_deref());
        let what = match (reverting, &step.outcome) {
            (true, _) => step.undone.as_ref().map_or_else(String::new, undone),
            (false, Some(of)) => outcome(of),
            (false, None) => "not tried".to_owned(),
        };
        let new = step.new.clone().unwrap_or_else(|| "kept".to_owned());
        (name, [step.old.clone(), new, what])
    }));
    let row = |Group {
                   knob,
                   instances,
                   values: [old, new, what],
               }: Group<[String; 3]>| {
        let which = which(&knob, &instances);
        vec![knob, which, value(&old), value(&new), what]
    };
    let mut table = Table::new("", &["<Setting", "<Which", "<Before", "<Wanted", "<Now"]);
    table.rows = rows.into_iter().map(row).collect();
    (!table.rows.is_empty()).then_some(table)
}

fn tally(report: &TuningReport) -> String {
    let steps = &report.steps;
    let count = |test: &dyn Fn(&StepReport) -> bool| steps.iter().filter(|s| test(s)).count();
    let parts: Vec<(usize, &str)> = if report.action == TuningAction::Revert {
        let is = |kind: fn(&Undone) -> bool| count(&|s| s.undone.as_ref().is_some_and(kind));
        vec![
            (is(|u| *u == Undone::Restored), "restored"),
            (is(|u| *u == Undone::AlreadyBack), "already restored"),
            (
                is(|u| *u == Undone::Gone),
                "gone, and their settings with them",
            ),
            (
                is(|u| matches!(u, Undone::Conflict { .. })),
                "changed by another program and left alone",
            ),
            (
                is(|u| {
                    matches!(
                        u,
                        Undone::Refused { .. } | Undone::NotRestored { .. } | Undone::Hung
                    )
                }),
                "could not be set back",
            ),
        ]
    } else {
        let step = |kind: fn(&StepOutcome) -> bool| {
            count(&|s| s.new.is_some() && s.outcome.as_ref().is_some_and(kind))
        };
        vec![
            (step(|o| *o == StepOutcome::Applied), "as wanted"),
            (
                step(|o| matches!(o, StepOutcome::Normalised { .. })),
                "accepted with another value",
            ),
            (step(|o| *o == StepOutcome::AlreadySo), "so already"),
            (step(|o| !o.is_fine()), "unavailable"),
            (
                count(&|s| s.new.is_some() && s.outcome.is_none()),
                "not tried",
            ),
        ]
    };
    let said: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    if said.is_empty() {
        "nothing to do".to_owned()
    } else {
        said.join(", ")
    }
}

fn outcome(outcome: &StepOutcome) -> String {
    match outcome {
        StepOutcome::Applied => "as wanted".to_owned(),
        StepOutcome::Normalised { value } => format!("{value}: as the kernel understood it"),
        StepOutcome::Invalid { value } => format!("not in effect: {value}"),
        StepOutcome::AlreadySo => "so already".to_owned(),
        StepOutcome::Refused { reason } => format!("refused: {reason}"),
        StepOutcome::Ignored => "unchanged: the kernel took it and did nothing".to_owned(),
        StepOutcome::Vanished => "gone".to_owned(),
        StepOutcome::ChangedMeanwhile { value } => {
            format!("{value}: another program set it since, so it was left alone")
        }
        StepOutcome::Hung => "no answer from the kernel".to_owned(),
        StepOutcome::Unreadable { reason } => format!("unreadable: {reason}"),
    }
}

fn undone(undone: &Undone) -> String {
    match undone {
        Undone::Restored => "restored".to_owned(),
        Undone::AlreadyBack => "already restored".to_owned(),
        Undone::Gone => "gone".to_owned(),
        Undone::Conflict { value } => format!("{value}: another program set it, left alone"),
        Undone::Refused { reason } => format!("refused: {reason}"),
        Undone::NotRestored { value } => {
            format!("{value} is read back after writing the old value")
        }
        Undone::Hung => "no answer from the kernel".to_owned(),
    }
}

fn written(knob: &KnobReading) -> String {
    match &knob.writable {
        Writable::Yes => "yes".to_owned(),
        Writable::NeedsRoot => "by root".to_owned(),
        Writable::No { reason } => format!("no: {reason}"),
    }
}

fn value(text: &str) -> String {
    match text {
        "" => "(none)".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
