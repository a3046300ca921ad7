// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A task set that ran: what was seen, next to what analysis had shown. Each sentence is of one of the two.

mod pictures;

use punctual_model::tasks::{Assumption, BrokeCount, JobAboveBound, TaskBound, TaskSeen, TasksRun};
use punctual_model::{Nanos, Ordered as _, RunRecord};

use super::named::{counted, micros};
use super::parts::{Block, Ids, KeyFigure, Table, Tone};
use super::runs::Named;
use super::series::micros_of;
use super::tasks::{policy_words, verdict_words};
use crate::number::digits_up;

/// The tasks of a table in the answer; of more the number is said.
const NAMED: usize = 3;

/// What a run says of its set.
pub(super) fn answer(
    run: &RunRecord,
    name: &str,
) -> Option<(Tone, String, String, Vec<KeyFigure>)> {
    let tasks = run.tasks.as_ref()?;
    let (jobs, missed, above) = (tasks.jobs(), tasks.missed(), tasks.above_bound());
    let of = |count: fn(&TaskSeen) -> u64| {
        let names: Vec<&str> = tasks
            .tasks
            .iter()
            .filter(|task| count(task) > 0)
            .map(|task| task.name.as_str())
            .collect();
        match names.len() {
            0..=NAMED => names.join(", "),
            more => format!("{} and {} more", names[..NAMED].join(", "), more - NAMED),
        }
    };
    let unfinished: u64 = tasks.tasks.iter().map(|task| task.unfinished).sum();
    let all = counted(jobs + unfinished, "job");
    let kept = match missed {
        0 => format!("in this run, all {all} met their deadlines"),
        _ => format!(
            "in this run, {missed} of {all} missed their deadlines ({})",
            of(|task| task.missed)
        ),
    };
    let bounds = match (
        above,
        tasks.check.tasks.iter().any(|b| b.response_ns.is_some()),
    ) {
        (_, false) => "analysis has no bounds for them".to_owned(),
        (0, true) => "none took longer than its bound by analysis".to_owned(),
        (_, true) => format!(
            "{above} took longer than the bound by analysis ({})",
            of(|task| task.above_bound)
        ),
    };
    let (tone, word) = match (missed, above) {
        (0, 0) => (Tone::Good, "in time"),
        (0, _) => (Tone::Doubtful, "above the bound"),
        _ => (Tone::Bad, "deadlines missed"),
    };
    let sentence = format!("{name}: {kept}; {bounds}.");
    let broke = named(tasks);
    let figures = match broke.first() {
        Some((count, examined)) => vec![KeyFigure {
            name: "assumption that broke most often".to_owned(),
            value: short(count.assumption).to_owned(),
            detail: format!("in {} of {examined} jobs above their bounds", count.jobs),
        }],
        None => Vec::new(),
    };
    Some((tone, word.to_owned(), sentence, figures))
}

/// The assumptions that broke, over all tasks, the most frequent first, with the jobs that were looked at.
fn named(run: &TasksRun) -> Vec<(BrokeCount, u64)> {
    let mut all: Vec<BrokeCount> = Vec::new();
    for count in run.tasks.iter().flat_map(|task| &task.broke) {
        match all.iter_mut().find(|of| of.assumption == count.assumption) {
            Some(of) => {
                of.jobs += count.jobs;
                of.most_ns = of.most_ns.max(count.most_ns);
            }
            None => all.push(*count),
        }
    }
    all.order_by_key(|count| std::cmp::Reverse(count.jobs));
    let examined = run.tasks.iter().map(|task| task.examined).sum();
    all.into_iter().map(|count| (count, examined)).collect()
}

const fn short(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::Execution => "execution time",
        Assumption::Release => "releases in time",
        Assumption::SomebodyElse => "nobody else on the CPU",
        Assumption::Throttling => "no throttling",
        Assumption::Overheads => "overheads",
    }
}

/// The blocks of runs of task sets.
pub(super) fn blocks(ids: &mut Ids, runs: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    for run in runs {
        let Some(tasks) = run.record().tasks.as_deref() else {
            continue;
        };
        let of = match runs.len() {
            1 => String::new(),
            _ => format!(", {}", run.name),
        };
        let unit = micros_of(&[*run]);
        let (_, word, sentence) = verdict_words(&tasks.check);
        blocks.push(Block::facts([(
            "Analysis",
            format!("{word}: {sentence}, if what it assumes holds"),
        )]));
        blocks.push(Block::Table(table(tasks, unit, &of)));
        blocks.push(Block::items(
            tasks
                .tasks
                .iter()
                .zip(&tasks.check.tasks)
                .flat_map(|(task, bound)| why(task, bound, unit)),
        ));
        blocks.extend(pictures::bounds(ids, run, tasks, &of));
        blocks.extend(pictures::schedules(ids, run, tasks, &of));
    }
    blocks
}

fn table(run: &TasksRun, unit: &str, of: &str) -> Table {
    let mut table = Table::of(
        format!("Longest responses seen, and bounds by analysis, in {unit}{of}"),
        "<Task|??<Policy|??<CPU|Jobs|Missed|Deadline|Bound|Longest|Above|?Executed|?Set says|\
         ??Late|??Overran|??Preempted",
    );
    let cell =
        |span: Option<Nanos>| span.map_or_else(|| "-".to_owned(), |ns| micros(ns.get() as f64));
    let each = run
        .check
        .set
        .tasks
        .iter()
        .zip(&run.check.tasks)
        .zip(&run.tasks);
    table.rows = each
        .map(|((task, bound), seen)| {
            vec![
                task.name.clone(),
                policy_words(task.policy),
                bound.cpus.to_string(),
                seen.jobs.to_string(),
                seen.missed.to_string(),
                cell(Some(task.deadline_ns)),
                bound.response_ns.map_or_else(|| "-".to_owned(), above),
                cell(seen.longest_response_ns),
                seen.above_bound.to_string(),
                cell(seen.longest_execution_ns),
                cell(Some(task.execution_ns)),
                cell(seen.latest_release_ns),
                seen.overruns.to_string(),
                seen.preemptions.to_string(),
            ]
        })
        .collect();
    table.notes.push(
        "Bound: by analysis. All else was seen in this run; the longest response seen is no bound. Above: responses \
         longer than the bound. Executed: longest execution of a job by the CPU clock of its thread; Set says: what \
         analysis took it for."
            .to_owned(),
    );
    if run.work < 1.0 {
        table.notes.push(format!(
            "Each job worked {:.0} % of its execution time; the rest is room for waking up and interrupts (--work).",
            run.work * 100.0
        ));
    }
    let unfinished: u64 = run.tasks.iter().map(|task| task.unfinished).sum();
    if unfinished > 0 {
        table.notes.push(format!(
            "{} never began: earlier jobs took until the end of the run.",
            counted(unfinished, "job")
        ));
    }
    table
}

/// Writes a bound in µs, never below it.
fn above(bound: Nanos) -> String {
    digits_up(bound.get() as f64 / 1e3)
}

/// Why responses of a task were longer than its bound.
fn why(seen: &TaskSeen, bound: &TaskBound, unit: &str) -> Vec<(&'static str, String)> {
    let (Some(worst), Some(limit)) = (&seen.worst, bound.response_ns) else {
        return Vec::new();
    };
    let each = seen.broke.iter().map(|count| {
        format!(
            "{} ({})",
            short(count.assumption),
            counted(count.jobs, "job")
        )
    });
    let some = match seen.examined < seen.above_bound {
        true => format!(" (of {} that were looked at)", seen.examined),
        false => String::new(),
    };
    let mut items = vec![(
        "broke",
        format!(
            "{}: {} of {} took longer than the bound of {} {unit}. The assumption that broke by most: {}{some}.",
            seen.name,
            seen.above_bound,
            counted(seen.jobs, "job"),
            above(limit),
            each.collect::<Vec<_>>().join(", ")
        ),
    )];
    items.push(("longest", longest(seen, worst, unit)));
    items
}

fn longest(seen: &TaskSeen, worst: &JobAboveBound, unit: &str) -> String {
    let us = |span: Nanos| format!("{} {unit}", micros(span.get() as f64));
    let reasons: Vec<String> = worst
        .broke
        .iter()
        .take(NAMED)
        .map(|broke| {
            let by = us(broke.excess_ns);
            match (broke.assumption, &broke.task) {
                (Assumption::Execution, Some(task)) if *task == seen.name => {
                    format!("it executed {by} longer than the set says")
                }
                (Assumption::Execution, task) => format!(
                    "jobs of {} executed {by} longer than the set says",
                    task.as_deref().unwrap_or("others")
                ),
                (Assumption::Release, _) => format!(
                    "it began {by} later than jitter, the wake-up overhead and tasks that go first explain"
                ),
                (Assumption::SomebodyElse, _) => {
                    format!("for {by} somebody who is not of the set had its CPU")
                }
                (Assumption::Throttling, _) => {
                    format!("it had no CPU for {by}, which looks like the kernel's throttling")
                }
                (Assumption::Overheads, _) => format!(
                    "no single assumption broke; overheads together took {by} more than the set says"
                ),
            }
        })
        .collect();
    format!(
        "Job {} of {}, {} s after the start, took {}: {}.",
        worst.job,
        seen.name,
        crate::number::digits(worst.release_ns.as_secs_f64()),
        us(worst.response_ns),
        reasons.join("; ")
    )
}
