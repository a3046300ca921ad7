// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plans of tuning, what became of them, and the settings of a machine.

mod boot;
mod group;
mod trial;

use punctual_model::{
    CpuSet, Hold, KnobList, KnobReading, Plan, Reversibility, Skipped, StepOutcome, StepReport,
    TuningAction, TuningReport, Undone, Writable,
};

pub use self::boot::boot;
use self::group::{Group, grouped, which};
pub use self::trial::trial;
use super::Detail;
use super::layout::{Column, clean, paragraph, table, wrapped};
use super::words::plural;

/// Says what a plan would change and what not; with [`Detail::Full`] also what each knob does.
pub fn plan(plan: &Plan, detail: Detail) -> String {
    let mut text = paragraph("Profile", &clean(&plan.profile));
    let machine = [&plan.hostname, &plan.kernel_release];
    let names: Vec<_> = machine.into_iter().flatten().map(|n| clean(n)).collect();
    text += &paragraph(
        "Machine",
        &format!(
            "{}, CPUs {} online",
            names.join(", "),
            cpus(&plan.cpus_online)
        ),
    );
    if !plan.cpus_rt.is_empty() {
        let (rt, rest) = (cpus(&plan.cpus_rt), cpus(&plan.cpus_housekeeping));
        text += &paragraph(
            "CPUs",
            &format!("{rt} for real-time work, {rest} for everything else"),
        );
    }
    for refusal in &plan.refusals {
        let way = if refusal.yes_overrides {
            " (--yes does it anyway)"
        } else {
            ""
        };
        let said = format!("{}: {}{way}", clean(&refusal.knob), clean(&refusal.reason));
        text += &paragraph("REFUSED", &said);
    }
    text.push('\n');
    if plan.is_empty() {
        text += "Nothing to change\n";
    } else {
        text += &changes(plan);
        if detail == Detail::Full {
            text += &notes(plan);
        }
    }
    text += &skipped(&plan.skipped);
    text += &counted(plan);
    for warning in &plan.warnings {
        text += &paragraph("Note", &clean(warning));
    }
    text
}

/// Writes the changes.
fn changes(plan: &Plan) -> String {
    let rows = grouped(plan.steps.iter().map(|step| {
        let name = (step.knob.as_str(), step.instance.as_deref());
        (name, [step.old.clone(), step.new.clone()])
    }));
    let mut rows: Vec<_> = rows.into_iter().map(|group| row(&group)).collect();
    rows.extend(plan.held.iter().map(held_row));
    let header = [
        ("Setting", Column::Left),
        ("Which", Column::Text),
        ("Now", Column::Left),
        ("Then", Column::Left),
    ];
    table(&header, rows)
}

/// Says of each knob that is used what it decides and what else it does.
fn notes(plan: &Plan) -> String {
    let mut text = String::from("\n");
    for note in &plan.notes {
        let back = match note.reversibility {
            Reversibility::Exact | Reversibility::Scoped => "",
            Reversibility::Value => "; revert brings the value back, not all that it did meanwhile",
        };
        let said = format!("{}; {}{back}", note.about, note.effect);
        text += &wrapped(&format!(" {}: ", note.knob), 3, &said);
    }
    text
}

fn row(
    Group {
        knob,
        instances,
        values: [old, new],
    }: &Group<[String; 2]>,
) -> Vec<String> {
    vec![
        clean(knob).into_owned(),
        which(knob, instances),
        value(old),
        value(new),
    ]
}

fn held_row(held: &Hold) -> Vec<String> {
    vec![
        clean(&held.knob).into_owned(),
        String::new(),
        String::new(),
        format!("{} µs, held", held.latency_ns.get() / 1_000),
    ]
}

fn skipped(skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        return String::new();
    }
    let rows = skipped.iter().map(|skipped| {
        vec![
            clean(&skipped.knob).into_owned(),
            which(&skipped.knob, &skipped.instances),
            clean(&skipped.detail).into_owned(),
        ]
    });
    let header = [
        ("Unavailable here", Column::Left),
        ("Which", Column::Text),
        ("Why", Column::Text),
    ];
    format!("\n{}", table(&header, rows.collect()))
}

fn counted(plan: &Plan) -> String {
    let writes = plan.steps.len();
    let held = match plan.held.len() {
        0 => String::new(),
        n => format!(", {n} held"),
    };
    let guards = match plan.guards.len() {
        0 => String::new(),
        n => format!(
            ", {n} setting{} kept that the kernel may change because of them",
            plural(n)
        ),
    };
    let said = format!(
        "{writes} write{}{held}{guards}, {} already as wanted",
        plural(writes),
        plan.satisfied
    );
    format!("\n{}", paragraph("Counted", &said))
}

/// Says what was done, first what differs from the plan.
pub fn tuning(report: &TuningReport) -> String {
    let mut text = String::new();
    if let Some(session) = &report.session {
        let until = session.until.as_ref();
        let until = until.map_or_else(String::new, |at| format!(", until {}", clean(at)));
        let said = format!(
            "profile {}, {} since {}{until}",
            clean(&session.profile),
            clean(&session.purpose),
            clean(&session.started)
        );
        text += &paragraph("Session", &said);
    }
    if report.action == TuningAction::Revert && !report.complete {
        text += &paragraph("NOT RESTORED:", "some settings could not be restored");
    }
    text += &told(report);
    if report.session.is_some() {
        text += &paragraph("Counted", &tally(report));
    }
    for held in &report.held {
        if report.action != TuningAction::Revert {
            let said = format!("{} {} µs", clean(&held.knob), held.latency_ns.get() / 1_000);
            text += &paragraph("Held", &said);
        }
    }
    for remark in &report.remarks {
        text += &paragraph("Note", &clean(remark));
    }
    text
}

/// Writes the settings: all that were changed, or of those that were taken back only those that
/// were not.
fn told(report: &TuningReport) -> String {
    let reverting = report.action == TuningAction::Revert;
    let wanted = |step: &&StepReport| {
        if reverting {
            step.undone.as_ref().is_some_and(|undone| !undone.is_fine())
        } else {
            step.new.is_some()
        }
    };
    let rows = grouped(report.steps.iter().filter(wanted).map(|step| {
        let name = (step.knob.as_str(), step.instance.as_deref());
        let what = if reverting {
            step.undone.as_ref().map_or_else(String::new, undone)
        } else {
            step.outcome
                .as_ref()
                .map_or_else(|| "not tried".to_owned(), outcome)
        };
        let new = step.new.clone().unwrap_or_else(|| "kept".to_owned());
        (name, [step.old.clone(), new, what])
    }));
    if rows.is_empty() {
        return String::new();
    }
    let rows = rows.into_iter().map(|group| {
        let [old, new, what] = &group.values;
        let mut row = vec![
            clean(&group.knob).into_owned(),
            which(&group.knob, &group.instances),
        ];
        row.extend([value(old), value(new), clean(what).into_owned()]);
        row
    });
    let header = [
        ("Setting", Column::Left),
        ("Which", Column::Text),
        ("Before", Column::Left),
        ("Wanted", Column::Left),
        ("Now", Column::Text),
    ];
    format!("\n{}\n", table(&header, rows.collect()))
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
                "NOT restored",
            ),
        ]
    } else {
        let step = |kind: fn(&StepOutcome) -> bool| {
            count(&|s| s.new.is_some() && s.outcome.as_ref().is_some_and(kind))
        };
        vec![
            (step(|o| *o == StepOutcome::Applied), "applied"),
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

/// Lists settings with their values.
pub fn knobs(list: &KnobList) -> String {
    let rows = grouped(list.knobs.iter().map(|knob| {
        let name = (knob.knob.as_str(), knob.instance.as_deref());
        let value = knob.value.clone();
        let value = value.or_else(|| Some(format!("({})", knob.fault.as_ref()?)));
        (
            name,
            [value.unwrap_or_else(|| "-".to_owned()), written(knob)],
        )
    }));
    let rows: Vec<_> = rows
        .into_iter()
        .map(|group| {
            let [now, written] = &group.values;
            vec![
                clean(&group.knob).into_owned(),
                which(&group.knob, &group.instances),
                value(now),
                clean(written).into_owned(),
            ]
        })
        .collect();
    if rows.is_empty() {
        return "No such setting on this machine\n".to_owned();
    }
    let header = [
        ("Setting", Column::Left),
        ("Which", Column::Text),
        ("Value", Column::Text),
        ("Writable", Column::Text),
    ];
    table(&header, rows)
}

fn written(knob: &KnobReading) -> String {
    match &knob.writable {
        Writable::Yes => "yes".to_owned(),
        Writable::NeedsRoot => "by root".to_owned(),
        Writable::No { reason } => format!("no: {reason}"),
    }
}

fn value(text: &str) -> String {
    if text.is_empty() {
        "(none)".to_owned()
    } else {
        clean(text).into_owned()
    }
}

fn cpus(set: &CpuSet) -> String {
    set.to_string()
}

#[cfg(test)]
mod tests;
