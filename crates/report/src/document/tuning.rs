// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Plans of tuning, what became of them, and the settings of a machine.

mod boot;
mod group;
mod trial;

use punctual_model::{
    CpuSet, Hold, KnobList, KnobReading, Plan, Refusal, Reversibility, StepOutcome, StepReport,
    TuningAction, TuningReport, Undone, Writable,
};

use self::group::{grouped, which};
use super::named::{capital, counted};
use super::parts::{Block, Document, Table, Tone};

/// What takes everything back.
const REVERT: &str = "`punctual tune revert` restores everything";

impl Document {
    /// Says what a plan would change and what not; for who asks for all, also what each knob does.
    pub fn of_plan(plan: &Plan) -> Self {
        let skipped = plan.skipped.iter().map(|skipped| {
            let which = which(&skipped.knob, &skipped.instances);
            [skipped.knob.clone(), which, skipped.detail.clone()]
        });
        let skipped = Table::new("", &["<Unavailable here", "<Which", "<Why"]).with(skipped);
        let what = "What each setting does, and what a change costs";
        let (tone, word, next) = match (plan.refusals.is_empty(), plan.is_empty()) {
            (false, _) => (
                Tone::Bad,
                "REFUSED",
                "`--skip KNOB` leaves out what is refused",
            ),
            (true, true) if plan.is_out_of_reach() => (Tone::Bad, "NOTHING CAN BE CHANGED", ""),
            (true, true) => (Tone::Good, "Nothing to change", ""),
            (true, false) => (
                Tone::Plain,
                "plan",
                "`sudo punctual tune apply` with the same arguments makes these changes",
            ),
        };
        let mut last: Vec<(&str, String)> = noted(&plan.warnings).collect();
        match tone {
            Tone::Plain => last.push(("Next", format!("{next}; {REVERT}"))),
            Tone::Bad if !next.is_empty() => last.push(("Next", next.to_owned())),
            _ => {}
        }
        let mut blocks = vec![Block::facts(machine(plan)), Block::Table(changes(plan))];
        if !plan.notes.is_empty() {
            blocks.push(Block::Fold(what.to_owned(), vec![notes(plan)]));
        }
        blocks.extend([Block::Table(skipped), Block::facts(last)]);
        let sentence = format!("profile {}, {}.", plan.profile, counts(plan));
        let sentence = match tone {
            Tone::Plain => capital(&sentence),
            _ => sentence,
        };
        let refusal = |of: &Refusal| match of.yes_overrides {
            true => format!("{}: {} (--yes does it anyway)", of.knob, of.reason),
            false => format!("{}: {}", of.knob, of.reason),
        };
        Self::of("Plan of tuning", blocks)
            .answering(tone, word, sentence)
            .faulted(plan.refusals.iter().map(refusal))
    }

    /// Says what was done, and of that what differs from the plan.
    pub fn of_tuning(report: &TuningReport) -> Self {
        let (tone, word) = match (report.action, report.complete) {
            (TuningAction::Apply, true) => (Tone::Good, "Applied"),
            (TuningAction::Apply, false) => (Tone::Doubtful, "Applied in part"),
            // It was a limit that nobody holds any more, or the machine was rebooted.
            (TuningAction::Status, _) if is_gone(report) => (Tone::Doubtful, "Not tuned"),
            (TuningAction::Status, true) => (Tone::Good, "Tuned"),
            (TuningAction::Status, false) => (Tone::Doubtful, "Tuned in part"),
            (TuningAction::Revert, true) => (Tone::Good, "Reverted"),
            (TuningAction::Revert, false) => (Tone::Bad, "NOT RESTORED"),
        };
        let mut remarks = report.remarks.iter();
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
        let held = report
            .held
            .iter()
            .filter(|_| report.action != TuningAction::Revert);
        let mut last: Vec<(&str, String)> = held.map(|held| ("Held", limit(held))).collect();
        last.extend(noted(remarks));
        let session = report.session.as_ref();
        let next = match (report.action, report.complete) {
            (TuningAction::Apply, _) => session.filter(|s| s.purpose == "apply").map(|_| REVERT),
            (TuningAction::Revert, false) => {
                Some("compare Before with Now, and set what should be as before")
            }
            _ => None,
        };
        last.extend(next.map(|next| ("Next", next.to_owned())));
        let blocks = vec![Block::Table(told(report)), Block::facts(last)];
        Self::of("Tuning", blocks).answering(tone, word, sentence)
    }

    /// Says of each setting that a revert could not restore what it is now.
    pub fn unrestored(report: &TuningReport) -> Vec<String> {
        if report.action != TuningAction::Revert {
            return Vec::new();
        }
        let said = told(report).rows.into_iter().filter_map(|row| {
            let [setting, which, .., now] = row.as_slice() else {
                return None;
            };
            let name = format!("{setting} {which}");
            Some(format!("{} ({now})", name.trim_end()))
        });
        said.collect()
    }

    /// Lists settings with their values.
    pub fn of_knobs(list: &KnobList) -> Self {
        let settings = list.knobs.iter().map(|knob| {
            let name = (knob.knob.as_str(), knob.instance.as_deref());
            let fault = || Some(format!("({})", knob.fault.as_ref()?));
            let now = knob.value.clone().or_else(fault);
            (name, [now.unwrap_or_else(|| "-".to_owned()), written(knob)])
        });
        let mut blocks = Vec::new();
        if !list.knobs.is_empty() {
            blocks.push(Block::Table(table(&["<Value", "<Writable"], settings)));
        }
        if !list.others.is_empty() {
            let rows = list.others.iter();
            let rows = rows.map(|other| vec![other.knob.clone(), other.why.clone()]);
            blocks.push(Block::Table(
                Table::new("", &["<Not listed", "<Why"]).with(rows),
            ));
        }
        Self::of("Settings", blocks)
    }
}

/// A row a knob and values.
fn table<'a, const N: usize>(
    columns: &[&str],
    settings: impl Iterator<Item = ((&'a str, Option<&'a str>), [String; N])>,
) -> Table {
    let rows = grouped(settings).into_iter().map(|group| {
        let which = which(&group.knob, &group.instances);
        let values = group.values.into_iter().map(|value| match value.as_str() {
            "" => "(none)".to_owned(),
            _ => value,
        });
        [group.knob, which].into_iter().chain(values)
    });
    Table::new("", &[&["<Setting", "<Which"], columns].concat()).with(rows)
}

fn machine(plan: &Plan) -> Vec<(&'static str, String)> {
    let names = [&plan.hostname, &plan.kernel_release];
    let mut names: Vec<String> = names.into_iter().flatten().cloned().collect();
    names.push(match plan.cpus_online.is_empty() {
        true => "CPUs unknown".to_owned(),
        false => format!("CPUs {} online", plan.cpus_online),
    });
    let mut facts = vec![("Machine", names.join(", "))];
    facts.extend(divided(&plan.cpus_rt, &plan.cpus_housekeeping));
    facts
}

/// Says which CPUs are for what, where some are set apart.
fn divided(rt: &CpuSet, rest: &CpuSet) -> Option<(&'static str, String)> {
    let said = || format!("{rt} for real-time work, {rest} for everything else");
    (!rt.is_empty()).then(|| ("CPUs", said()))
}

fn noted<'a>(
    remarks: impl IntoIterator<Item = &'a String>,
) -> impl Iterator<Item = (&'static str, String)> {
    remarks.into_iter().map(|remark| ("Note", remark.clone()))
}

fn changes(plan: &Plan) -> Table {
    let mut table = table(
        &["<Now", "<Then"],
        plan.steps.iter().map(|step| {
            let name = (step.knob.as_str(), step.instance.as_deref());
            (name, [step.old.clone(), step.new.clone()])
        }),
    );
    table.rows.extend(plan.held.iter().map(|held| {
        let then = format!("{} µs, held", held.latency_ns.get() / 1_000);
        vec![held.knob.clone(), String::new(), String::new(), then]
    }));
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
fn told(report: &TuningReport) -> Table {
    let reverting = report.action == TuningAction::Revert;
    let wanted = |step: &&StepReport| match reverting {
        true => step.undone.as_ref().is_some_and(|undone| !undone.is_fine()),
        false => step.new.is_some(),
    };
    let steps = report.steps.iter().filter(wanted).map(|step| {
        let name = (step.knob.as_str(), step.instance.as_deref());
        let what = match (&step.undone, &step.outcome) {
            (Some(of), _) => undone(of),
            (None, Some(of)) => outcome(of),
            (None, None) if step.begun => "perhaps written".to_owned(),
            (None, None) => "not tried".to_owned(),
        };
        let new = step.new.clone().unwrap_or_else(|| "kept".to_owned());
        (name, [step.old.clone(), new, what])
    });
    table(&["<Before", "<Wanted", "<Now"], steps)
}

fn is_gone(report: &TuningReport) -> bool {
    report.session.is_some() && report.steps.is_empty() && report.held.is_empty()
}

fn tally(report: &TuningReport) -> String {
    let steps = &report.steps;
    let count = |test: &dyn Fn(&StepReport) -> bool| steps.iter().filter(|s| test(s)).count();
    let reverting = report.action == TuningAction::Revert;
    let mut parts: Vec<(usize, &str)> = Vec::new();
    if !reverting {
        let step = |kind: fn(&StepOutcome) -> bool| {
            count(&|s| {
                s.new.is_some() && s.undone.is_none() && s.outcome.as_ref().is_some_and(kind)
            })
        };
        let unseen = |begun: bool| {
            count(&|s| {
                let open = s.undone.is_none() && s.outcome.is_none();
                s.new.is_some() && open && s.begun == begun
            })
        };
        parts.extend([
            (step(|o| *o == StepOutcome::Applied), "as wanted"),
            (
                step(|o| matches!(o, StepOutcome::Normalised { .. })),
                "accepted with another value",
            ),
            (step(|o| *o == StepOutcome::AlreadySo), "so already"),
            (
                step(|o| matches!(o, StepOutcome::ChangedMeanwhile { .. })),
                "changed by another program",
            ),
            (
                step(|o| !o.is_fine() && !matches!(o, StepOutcome::ChangedMeanwhile { .. })),
                "unavailable",
            ),
            (unseen(true), "perhaps written"),
            (unseen(false), "not tried"),
        ]);
    }
    // A status has these where a revert was interrupted, and not of what was only kept.
    let is = |kind: fn(&Undone) -> bool| {
        count(&|s| (reverting || s.new.is_some()) && s.undone.as_ref().is_some_and(kind))
    };
    parts.extend([
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
    ]);
    let limits = match (report.held.len(), reverting) {
        (1, true) => "limit no longer held",
        (_, true) => "limits no longer held",
        (1, false) => "limit held",
        (_, false) => "limits held",
    };
    parts.push((report.held.len(), limits));
    let said: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{n} {what}"))
        .collect();
    match (said.is_empty(), report.action) {
        (false, _) => said.join(", "),
        (true, TuningAction::Status) => "nothing of it is in effect".to_owned(),
        (true, _) => "nothing to do".to_owned(),
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
            format!("{value}: another program set it")
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

#[cfg(test)]
mod tests;
