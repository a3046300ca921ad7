// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A task set as its file.

use punctual_model::Nanos;
use punctual_model::tasks::{CriticalSection, InterruptLoad, TASKS_FORMAT, TaskPolicy, TaskSet};

/// Writes the file of a set. `remarks` become comments at its top.
pub fn write(set: &TaskSet, remarks: &[String]) -> String {
    let mut text = String::new();
    for remark in remarks {
        line(
            &mut text,
            format_args!("# {}", remark.replace(char::is_control, " ")),
        );
    }
    line(&mut text, format_args!("format = \"{TASKS_FORMAT}\""));
    line(&mut text, format_args!("name = {}", quoted(&set.name)));
    if set.order != Default::default() {
        line(&mut text, format_args!("order = \"{}\"", set.order.name()));
    }
    if let Some(scheduler) = set.tasks.iter().find_map(|task| task.policy.ext()) {
        line(
            &mut text,
            format_args!("scheduler = \"{}\"", scheduler.name()),
        );
    }
    if !set.assumes.is_empty() {
        line(&mut text, format_args!("assumes = ["));
        for sentence in &set.assumes {
            line(&mut text, format_args!("    {},", quoted(sentence)));
        }
        line(&mut text, format_args!("]"));
    }
    let overheads = &set.overheads;
    if *overheads != Default::default() {
        line(&mut text, format_args!("\n[overheads]"));
        line(
            &mut text,
            format_args!("wake-up = {}", time(overheads.wake_up_ns)),
        );
        line(
            &mut text,
            format_args!("switch = {}", time(overheads.switch_ns)),
        );
        let load = |load: &InterruptLoad| {
            let (takes, every) = (time(load.takes_ns), time(load.every_ns));
            format!("{{ takes = {takes}, every = {every} }}")
        };
        let loads: Vec<String> = overheads.interrupts.iter().map(load).collect();
        if !loads.is_empty() {
            line(
                &mut text,
                format_args!("interrupts = [{}]", loads.join(", ")),
            );
        }
        if let Some(run) = &overheads.observed_in {
            line(&mut text, format_args!("observed-in = {}", quoted(run)));
        }
    }
    for resource in &set.resources {
        line(&mut text, format_args!("\n[[resource]]"));
        line(&mut text, format_args!("name = {}", quoted(&resource.name)));
        line(
            &mut text,
            format_args!("protocol = \"{}\"", resource.protocol.name()),
        );
    }
    for task in &set.tasks {
        line(&mut text, format_args!("\n[[task]]"));
        line(&mut text, format_args!("name = {}", quoted(&task.name)));
        line(&mut text, format_args!("period = {}", time(task.period_ns)));
        if task.deadline_ns != task.period_ns {
            line(
                &mut text,
                format_args!("deadline = {}", time(task.deadline_ns)),
            );
        }
        line(
            &mut text,
            format_args!("execution = {}", time(task.execution_ns)),
        );
        if let Some(run) = &task.observed_in {
            line(&mut text, format_args!("observed-in = {}", quoted(run)));
        }
        for (key, span) in [("offset", task.offset_ns), ("jitter", task.jitter_ns)] {
            if !span.is_zero() {
                line(&mut text, format_args!("{key} = {}", time(span)));
            }
        }
        if let Some(waits) = task.waits_ns {
            line(&mut text, format_args!("waits = {}", time(waits)));
        }
        let policy = match task.policy {
            TaskPolicy::Fifo { .. } => Some("fifo"),
            TaskPolicy::Rr { .. } => Some("rr"),
            TaskPolicy::Deadline { .. } => Some("deadline"),
            TaskPolicy::Other => Some("other"),
            TaskPolicy::Ext { .. } => None,
        };
        if let Some(policy) = policy {
            line(&mut text, format_args!("policy = \"{policy}\""));
        }
        if let Some(priority) = task.policy.priority().filter(|_| policy.is_some()) {
            line(&mut text, format_args!("priority = {priority}"));
        }
        if let TaskPolicy::Deadline { runtime_ns } = task.policy
            && runtime_ns != task.execution_ns
        {
            line(&mut text, format_args!("runtime = {}", time(runtime_ns)));
        }
        if !task.cpus.is_empty() {
            line(&mut text, format_args!("cpus = \"{}\"", task.cpus));
        }
        if !task.sections.is_empty() {
            line(
                &mut text,
                format_args!("sections = {}", sections(&task.sections)),
            );
        }
    }
    text
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    text.push_str(&line.to_string());
    text.push('\n');
}

fn sections(all: &[CriticalSection]) -> String {
    let each = all.iter().map(|section| {
        let inner = match section.sections.is_empty() {
            true => String::new(),
            false => format!(", sections = {}", sections(&section.sections)),
        };
        let (name, length) = (quoted(&section.resource), time(section.length_ns));
        format!("{{ resource = {name}, length = {length}{inner} }}")
    });
    format!("[{}]", each.collect::<Vec<_>>().join(", "))
}

/// A time in the largest unit in which it is whole.
fn time(span: Nanos) -> String {
    let ns = span.get();
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let whole = units
        .iter()
        .find(|(length, _)| ns > 0 && ns.is_multiple_of(*length));
    match whole {
        Some((length, unit)) => format!("\"{}{unit}\"", ns / length),
        None => format!("\"{ns}ns\""),
    }
}

/// A basic string of TOML, whose escapes are those of JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
