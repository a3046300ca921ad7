// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What watched threads do, or how they are set up, that real-time code should avoid.

use punctual_model::watch::{Habit, Watched};

use super::named::{counted, micros};
use super::parts::{Block, Item};
use crate::clock_or_count::Times;

/// Files and calls that are cited of one finding where all is not asked for.
const CITED: usize = 3;

/// Says what was found, each with its fix; nothing of a record from before this was looked for.
pub(super) fn blocks(watched: &Watched, of: &str, times: Times) -> Vec<Block> {
    let Some(judged) = watched.habits_judged else {
        return Vec::new();
    };
    let title = format!("What real-time code should not do{of}");
    let who = format!(
        "{} with a period or a real-time policy",
        counted(judged, "thread")
    );
    let unjudged = match watched.set_up_unjudged {
        0 => None,
        n => Some(format!(
            "How {} set up could not be looked at: {} ended before.",
            match n {
                1 => "1 of these threads is".to_owned(),
                n => format!("{n} of these threads are"),
            },
            if n == 1 { "it" } else { "they" }
        )),
    };
    if watched.habits.is_empty() {
        let nothing = format!("{title}: nothing was found in {who}.");
        let said = [Some(nothing), unjudged].into_iter().flatten();
        return vec![Block::Text(said.collect::<Vec<_>>().join(" "))];
    }
    let items = watched.habits.iter().map(|habit| {
        let sentence = format!(
            "{} Fix: {}.",
            finding(habit, watched, times),
            habit.rule.fix
        );
        Item::from((habit.rule.severity.to_string(), sentence))
    });
    let reasons = watched.habits.iter().map(|habit| {
        let why = format!("{} Source: {}.", habit.rule.why, habit.rule.source);
        (habit.rule.id.clone(), why)
    });
    let mut reasons: Vec<(String, String)> = reasons.collect();
    reasons.sort();
    reasons.dedup();
    let mut blocks = vec![
        Block::Text(format!("{title}, by what it can cost:")),
        Block::Items(items.collect()),
    ];
    blocks.extend(unjudged.map(Block::Text));
    blocks.push(Block::Fold(
        "Why, and sources".to_owned(),
        vec![Block::Facts(reasons)],
    ));
    blocks
}

/// A finding in a sentence: who, what, how often, for how long, and what says so.
fn finding(habit: &Habit, watched: &Watched, times: Times) -> String {
    let unit = times.micros();
    let name = |n: &u32| {
        watched
            .threads
            .iter()
            .find(|t| t.thread == *n)
            .map(|t| t.name.as_str())
    };
    let names: Vec<&str> = habit.threads.iter().filter_map(name).collect();
    let time = match (habit.total_ns, habit.max_ns) {
        (Some(total), Some(max)) if total > 0 => format!(
            ", {} {unit} in all, the longest {} {unit}",
            micros(total as f64),
            micros(max as f64)
        ),
        _ => String::new(),
    };
    let cited = habit.evidence.iter().take(CITED);
    let mut cited: Vec<String> = cited
        .map(|evidence| match &evidence.value {
            Some(value) => format!("{}: {value}", evidence.path),
            None => evidence.path.clone(),
        })
        .collect();
    let more = habit.evidence.len().saturating_sub(CITED);
    if more > 0 {
        cited.push(format!("and {more} more"));
    }
    let cited = match cited.is_empty() {
        true => String::new(),
        false => format!(" ({})", cited.join("; ")),
    };
    format!(
        "{}: {}: {}{time}{cited}.",
        names.join(", "),
        habit.rule.title,
        habit.says
    )
}
