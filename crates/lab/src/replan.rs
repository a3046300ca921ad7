// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Going on with an experiment whose file was edited.
//!
//! Blocks, time, cool-down, repeats and figures may change. What a cell is may not: runs of two kinds would
//! stand in one cell. Nor may the order, in which the blocks that are done were measured.

use crate::file::Experiment;
use crate::plan::{Invocation, Plan, invocation};
use crate::state::Attempt;

/// Returns why runs of `old` cannot be runs of `new`, if they cannot.
pub fn obstacle(
    (old, old_plan): (&Experiment, &Plan),
    (new, new_plan): (&Experiment, &Plan),
    attempts: &[Attempt],
) -> Option<String> {
    if attempts.is_empty() {
        return None;
    }
    if new_plan.seed != old_plan.seed {
        return Some(format!(
            "its seed is now {}, but the finished blocks have the order of seed {}",
            new_plan.seed, old_plan.seed
        ));
    }
    if new_plan.as_written != old_plan.as_written {
        let order = |plan: &Plan| match plan.as_written {
            true => "as-written",
            false => "random",
        };
        return Some(format!(
            "it has another order: now {}, before {}",
            order(new_plan),
            order(old_plan)
        ));
    }
    if new_plan.warm_up_blocks != old_plan.warm_up_blocks {
        return Some("it has another number of warm-up blocks".to_owned());
    }
    if new_plan.measurements != old_plan.measurements {
        return Some("it has other measurements".to_owned());
    }
    if new_plan.factors != old_plan.factors || new_plan.cells.len() != old_plan.cells.len() {
        return Some(format!(
            "it has other cells: now {} of {}, before {} of {}",
            new_plan.cells.len(),
            new_plan.factors.join(", "),
            old_plan.cells.len(),
            old_plan.factors.join(", ")
        ));
    }
    for (number, (was, is)) in (0..).zip(old_plan.cells.iter().zip(&new_plan.cells)) {
        let pairs = (0..).zip(&new_plan.measurements).map(|(measurement, _)| {
            (
                invocation(old, was, measurement),
                invocation(new, is, measurement),
            )
        });
        let mut changed = pairs.filter(|(old, new)| old != new);
        let changed = changed.next();
        if was != is || changed.is_some() {
            return Some(format!(
                "cell {number} has changed: {}{}",
                new_plan.cell_name(number),
                changed.map_or_else(String::new, said)
            ));
        }
    }
    let begun = attempts.iter().map(|attempt| attempt.slot.block + 1).max();
    if begun.is_some_and(|begun| begun > new_plan.all_blocks()) {
        return Some(format!(
            "it has {} blocks, but {} were started",
            new_plan.all_blocks(),
            begun.unwrap_or_default()
        ));
    }
    let looked = old.stop.sequential.is_some() || new.stop.sequential.is_some();
    if looked && new.stop != old.stop {
        return Some(
            "a sequential rule holds its error rate only if it was fixed before the first run"
                .to_owned(),
        );
    }
    if looked && new.metrics != old.metrics {
        return Some(
            "it compares other figures: with a sequential rule they are fixed before the first run"
                .to_owned(),
        );
    }
    None
}

/// `, now --duration=2s, before --duration=1s`.
fn said((old, new): (Option<Invocation>, Option<Invocation>)) -> String {
    let arguments = |of: Option<Invocation>| of.map_or_else(Vec::new, |of| of.arguments);
    let (old, new) = (arguments(old), arguments(new));
    let own = |of: &[String], other: &[String]| {
        let own = of.iter().filter(|word| !other.contains(word));
        let own: Vec<&str> = own.map(String::as_str).collect();
        match own.is_empty() {
            true => "without".to_owned(),
            false => own.join(" "),
        }
    };
    match old == new {
        true => String::new(),
        false => format!(", now {}, before {}", own(&new, &old), own(&old, &new)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Slot;
    use crate::state::RunEnd;
    use uuid::Uuid;

    const TEXT: &str = r#"
        name = "x"
        seed = 3
        compare = ["p99"]
        [[measure]]
        instrument = "wakeup"
        options = { duration = "1s" }
        [[factor]]
        name = "load"
        load = true
        levels = ["none", "cpu"]
        [stop]
        blocks = 4
    "#;

    fn obstacle_to(change: impl Fn(String) -> String) -> Option<String> {
        obstacle_between(TEXT, &change(TEXT.to_owned()))
    }

    fn obstacle_between(old: &str, new: &str) -> Option<String> {
        let read = |text: &str| {
            let experiment = Experiment::parse("x.toml", text).unwrap();
            let plan = Plan::of("x.toml", &experiment, experiment.seed.unwrap()).unwrap();
            (experiment, plan)
        };
        let (old, new) = (read(old), read(new));
        let attempt = Attempt {
            slot: Slot {
                block: 2,
                position: 0,
                cell: 0,
                measurement: 0,
            },
            run: Uuid::nil(),
            end: Some(RunEnd::Valid),
            seconds: 1.0,
            detail: None,
        };
        assert_eq!(obstacle((&old.0, &old.1), (&new.0, &new.1), &[]), None);
        obstacle((&old.0, &old.1), (&new.0, &new.1), &[attempt])
    }

    #[test]
    fn more_blocks_and_other_figures_are_the_same_experiment() {
        let more = |text: String| text.replace("blocks = 4", "blocks = 40\ntime = \"1h\"");
        assert_eq!(obstacle_to(more), None);
        let figures = |text: String| text.replace("[\"p99\"]", "[\"p50\", \"max\"]");
        assert_eq!(obstacle_to(figures), None);
    }

    #[test]
    fn what_changes_a_cell_or_the_order_is_another_experiment() {
        for (from, to, why) in [
            (
                "1s",
                "2s",
                "load=none, now --duration=2s, before --duration=1s",
            ),
            ("\"cpu\"]", "\"cpu:2\"]", "cell 1 has changed"),
            (
                "\"cpu\"]",
                "\"cpu\", \"fork\"]",
                "3 of load, before 2 of load",
            ),
            ("seed = 3", "seed = 4", "order of seed 3"),
            ("blocks = 4", "blocks = 2", "2 blocks, but 3 were started"),
            ("seed = 3", "seed = 3\nwarm-up-blocks = 1", "warm-up"),
            (
                "seed = 3",
                "seed = 3\norder = \"as-written\"",
                "another order: now as-written, before random",
            ),
            (
                "blocks = 4",
                "blocks = 4\nsequential = { first = 2 }",
                "a sequential rule",
            ),
        ] {
            let found = obstacle_to(|text| text.replace(from, to)).unwrap();
            assert!(found.contains(why), "{to}: {found}");
        }
    }

    #[test]
    fn what_is_looked_at_keeps_its_figures_and_its_order_can_go_back_no_more() {
        let looked = TEXT.replace("blocks = 4", "blocks = 4\nsequential = { first = 2 }");
        assert_eq!(
            obstacle_between(&looked, &format!("# again\n{looked}")),
            None
        );
        let other = looked.replace("[\"p99\"]", "[\"p99\", \"max\"]");
        let found = obstacle_between(&looked, &other).unwrap();
        assert!(found.contains("other figures"), "{found}");
        let written = TEXT.replace("seed = 3", "seed = 3\norder = \"as-written\"");
        let found = obstacle_between(&written, TEXT).unwrap();
        assert!(found.contains("now random, before as-written"), "{found}");
    }
}
