// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What analysis shows of a task set.

use punctual_model::tasks::{
    Admission, AppliedTest, SetVerdict, TaskBound, TaskPolicy, TaskVerdict, TasksCheck,
};
use punctual_stats::float;

use super::named::counted;
use super::parts::{Block, Document, Table, Tone};
use crate::number::{digits, digits_down, digits_up, percent, span};

impl Document {
    /// Says whether the tasks of a set meet their deadlines by analysis.
    pub fn of_tasks_check(check: &TasksCheck) -> Self {
        let (tone, word, sentence) = verdict_words(check);
        let mut blocks = vec![Block::Facts(facts(check)), Block::Table(tasks(check))];
        if let Some(admission) = &check.admission {
            blocks.push(Block::Facts(vec![(
                "SCHED_DEADLINE".to_owned(),
                admitted(admission),
            )]));
            let promises = admission.promises.iter().map(|p| ("promise", p.clone()));
            let refused = admission.refused.iter().map(|why| ("refused", why.clone()));
            blocks.push(Block::items(promises.chain(refused)));
        }
        blocks.push(Block::Table(tests(check)));
        blocks.push(Block::Table(partitions(check)));
        let reasons = check.tasks.iter().filter_map(|task| {
            let why = task.why.as_ref()?;
            Some((task.name.clone(), format!("{why}.")))
        });
        blocks.push(Block::items(reasons));
        let unused = check.not_understood.iter();
        blocks.push(Block::items(unused.map(|key| {
            (
                "not used",
                format!("{key}: the analysis does not know what it does."),
            )
        })));
        let assumed = check.assumptions.iter();
        blocks.push(Block::items(
            assumed.map(|text| ("assumes", format!("{text}."))),
        ));
        Self::of(&format!("Task set {}", check.set.name), blocks).answering(tone, word, sentence)
    }
}

/// The verdict in a word and in a sentence without its stop.
pub(super) fn verdict_words(check: &TasksCheck) -> (Tone, &'static str, String) {
    let (tone, word) = match check.verdict {
        SetVerdict::Shown => (Tone::Good, "shown by analysis"),
        SetVerdict::Missed => (Tone::Bad, "not met"),
        SetVerdict::NotShown => (Tone::Doubtful, "not shown"),
    };
    (tone, word, sentence(check))
}

/// A policy with its priority: `fifo 80`.
pub(super) fn policy_words(policy: TaskPolicy) -> String {
    match policy {
        TaskPolicy::Fifo { priority } => format!("fifo {}", priority.unwrap_or(1)),
        TaskPolicy::Rr { priority } => format!("rr {}", priority.unwrap_or(1)),
        TaskPolicy::Deadline { .. } => "deadline".to_owned(),
        TaskPolicy::Ext { scheduler, .. } => format!("ext {}", scheduler.name()),
        TaskPolicy::Other => "other".to_owned(),
    }
}

fn sentence(check: &TasksCheck) -> String {
    let count = check.tasks.len();
    let names = |verdict: TaskVerdict| -> Vec<&str> {
        let of = check.tasks.iter().filter(|task| task.verdict == verdict);
        of.map(|task| task.name.as_str()).collect()
    };
    let listed = |names: &[&str]| match names.len() {
        0..=4 => names.join(", "),
        more => format!("{} and {} more", names[..3].join(", "), more - 3),
    };
    let (missed, unclear) = (names(TaskVerdict::Missed), names(TaskVerdict::NotShown));
    match check.verdict {
        SetVerdict::Shown if count == 1 => "The task meets its deadlines in the worst case".to_owned(),
        SetVerdict::Shown => format!("All {count} tasks meet their deadlines in the worst case"),
        SetVerdict::Missed if missed.is_empty() => {
            "Deadlines are missed in the worst case, by analysis: a CPU is asked for more than it has".to_owned()
        }
        SetVerdict::Missed if count == 1 => {
            "The task misses its deadlines in the worst case, by analysis".to_owned()
        }
        SetVerdict::NotShown if count == 1 => {
            "The task is not shown to meet its deadlines".to_owned()
        }
        SetVerdict::Missed => format!(
            "{} of {count} tasks miss{} deadlines in the worst case, by analysis: {}",
            missed.len(),
            if missed.len() == 1 { "es its" } else { " their" },
            listed(&missed)
        ),
        SetVerdict::NotShown => format!(
            "{} of {count} tasks {} not shown to meet {} deadlines: {}",
            unclear.len(),
            if unclear.len() == 1 { "is" } else { "are" },
            if unclear.len() == 1 { "its" } else { "their" },
            listed(&unclear)
        ),
    }
}

fn facts(check: &TasksCheck) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut fact = |name: &str, text: String| facts.push((name.to_owned(), text));
    if let Some(growth) = check.growth {
        let text = match &check.breaks_first {
            Some(task) => format!(
                "all execution times may grow to {} times what they are; beyond that {task} breaks first",
                cut(growth)
            ),
            None if growth < 1e3 => format!(
                "all execution times may grow to {} times what they are; beyond that {}",
                cut(growth),
                match &check.admission {
                    Some(_) => "the kernel refuses the set, or throttles it",
                    None => "real-time throttling starts",
                }
            ),
            None => "all execution times may grow a thousandfold".to_owned(),
        };
        fact("Room", text);
    }
    if let Some(order) = &check.optimal_order {
        fact(
            "Instead",
            format!(
                "these priorities, the highest first, meet every deadline: {}",
                order.join(", ")
            ),
        );
    }
    facts
}

/// A factor, cut after three decimals: more is not claimed.
fn cut(growth: f64) -> String {
    format!("{:.3}", (growth * 1e3).floor() / 1e3)
}

fn tasks(check: &TasksCheck) -> Table {
    let mut table = Table::of(
        "Bounds on response times by analysis, in µs",
        "<Task|?<CPU|?<Policy|Deadline|Bound|Slack|?Use %|??Blocked|<Delayed most by",
    );
    let each = check.set.tasks.iter().zip(&check.tasks);
    table = table.with(each.map(|(task, bound)| {
        let [up, down] = [digits_up, digits_down].map(|to| move |ns: u64| to(float(ns) / 1e3));
        vec![
            task.name.clone(),
            bound.cpus.to_string(),
            policy_words(task.policy),
            down(task.deadline_ns.get()),
            bound
                .response_ns
                .map_or_else(|| "none".to_owned(), |r| up(r.get())),
            bound
                .slack_ns
                .map_or_else(String::new, |slack| match slack {
                    0.. => down(slack.unsigned_abs()),
                    _ => format!("-{}", up(slack.unsigned_abs())),
                }),
            digits_of_share(bound),
            match bound.blocking_ns.is_zero() {
                true => String::new(),
                false => up(bound.blocking_ns.get()),
            },
            delayed(bound),
        ]
    }));
    if check
        .tasks
        .iter()
        .any(|task| task.response_ns.is_some() && !task.exact)
    {
        let inexact = check
            .tasks
            .iter()
            .filter(|t| t.response_ns.is_some() && !t.exact);
        table.notes.push(match (inexact.count(), check.tasks.len()) {
            (_, 1) => "The bound may be longer than any response: its analysis is safe, not exact.".to_owned(),
            (n, all) => format!("{n} of {all} bounds may be longer than any response: their analysis is safe, not exact."),
        });
    }
    let longer = |bound: &TaskBound| {
        let delays = bound.interference.iter().map(|by| by.total_ns.get());
        let all = delays.fold(0, u64::saturating_add);
        bound.response_ns.is_some_and(|r| all > r.get())
    };
    if check.tasks.iter().any(longer) {
        table.notes.push(
            "Delays are counted from the start of a busy interval, which may be before the release."
                .to_owned(),
        );
    }
    table.without_empty_columns()
}

fn digits_of_share(bound: &TaskBound) -> String {
    format!("{:.1}", bound.utilisation * 100.0)
}

fn delayed(bound: &TaskBound) -> String {
    let most = bound
        .interference
        .iter()
        .take(2)
        .map(|by| format!("{} {}", by.by, digits(float(by.total_ns.get()) / 1e3)));
    most.collect::<Vec<_>>().join(", ")
}

fn tests(check: &TasksCheck) -> Table {
    let mut table = Table::new("Tests", &["<Test", "<Of", "Value", "Limit", "<Result"]);
    let figure = |value: Option<f64>| {
        value.map_or_else(String::new, |v| match v.abs() < 1e4 {
            true => format!("{v:.3}"),
            false => format!("{v:.0}"),
        })
    };
    let row = |test: &AppliedTest| {
        let result = match (test.passed, test.exact, &test.note) {
            (Some(true), _, _) => "passed".to_owned(),
            (Some(false), true, _) => "failed".to_owned(),
            (Some(false), false, _) => "not passed: says nothing".to_owned(),
            (None, _, Some(note)) => format!("not applicable: {note}"),
            (None, _, None) => "undecided".to_owned(),
        };
        let result = match (&test.note, test.passed) {
            (Some(note), Some(_)) => format!("{result} ({note})"),
            _ => result,
        };
        vec![
            test.name.clone(),
            test.of.clone(),
            figure(test.value),
            figure(test.limit),
            result,
        ]
    };
    table.rows = check.tests.iter().map(row).collect();
    table
        .notes
        .push("Formulas and sources: docs/methods/tasks.md.".to_owned());
    table
}

fn partitions(check: &TasksCheck) -> Table {
    let mut table = Table::new(
        "Assigned to one CPU each",
        &["<Method", "<CPU", "<Tasks", "Use %", "<Deadlines"],
    );
    for partition in &check.partitions {
        let verdict = match (partition.passed, partition.left_over.as_slice()) {
            (true, _) => "all met, by analysis".to_owned(),
            (false, left) => format!("no CPU left for {}", left.join(", ")),
        };
        for (number, cpu) in partition.cpus.iter().enumerate() {
            let first = number == 0;
            table.rows.push(vec![
                if first {
                    partition.method.name().to_owned()
                } else {
                    String::new()
                },
                cpu.cpu.to_string(),
                cpu.tasks.join(", "),
                format!("{:.1}", cpu.utilisation * 100.0),
                if first {
                    verdict.clone()
                } else {
                    String::new()
                },
            ]);
        }
    }
    table
}

fn admitted(admission: &Admission) -> String {
    let share = |bandwidth: u64| percent(float(bandwidth) / float(1 << 20));
    let asked = share(admission.asked);
    let servers = match admission.servers {
        0 => String::new(),
        servers => format!(
            ", and the kernel's servers for ordinary threads have {}",
            share(servers)
        ),
    };
    let limit = match admission.limit {
        Some(limit) => format!("of {} on {} CPUs", share(limit), admission.cpus),
        None => "without limit (sched_rt_runtime_us is -1)".to_owned(),
    };
    let verdict = match (admission.admitted, admission.refused.len()) {
        (true, _) => "admitted".to_owned(),
        (false, 0) => "refused".to_owned(),
        (false, n) => format!(
            "refused for the parameters of {}",
            counted(n as u64, "task")
        ),
    };
    let late = admission.tardiness_ns.filter(|late| !late.is_zero());
    let late = late.map_or_else(String::new, |late| format!("; at most {} late", span(late)));
    format!("{verdict}: the tasks ask for {asked}{servers}, {limit}{late}")
}
