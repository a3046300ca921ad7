// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a cell to the command line of its runs, and to the time that they state.

use std::collections::BTreeMap;

use punctual_model::Nanos;

use super::{Plan, count};
use crate::file::{Experiment, Sets};
use crate::target;

/// How one run is done: arguments of this program, and its environment.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Invocation {
    /// Arguments, from `measure` on.
    pub arguments: Vec<String>,
    /// Variables to set.
    pub env: BTreeMap<String, String>,
    /// Variables to remove.
    pub unset: Vec<String>,
    /// Tags of the run, by which comparisons group and pair.
    pub tags: BTreeMap<String, String>,
}

impl Invocation {
    /// Puts the number of the block, from 1, in place of `{block}`: what must differ from block to block,
    /// such as the seed of a virtual machine, without which its runs would be copies.
    #[must_use]
    pub fn in_block(mut self, block: u32) -> Self {
        let number = block.saturating_add(1).to_string();
        for argument in &mut self.arguments {
            *argument = argument.replace("{block}", &number);
        }
        self
    }
}

/// Returns what is run for a cell.
///
/// `None` if the plan is not of this experiment.
pub fn invocation(
    experiment: &Experiment,
    levels: &[String],
    measurement: u32,
) -> Option<Invocation> {
    let measure = experiment.measurements.get(measurement as usize)?;
    let mut options = measure.options.clone();
    let mut loads = measure.loads.clone();
    let mut out = Invocation {
        env: measure.env.clone(),
        ..Invocation::default()
    };
    let mut tuning = Vec::new();
    for (factor, name) in experiment.factors.iter().zip(levels) {
        let level = factor.levels.iter().find(|l| l.name == *name)?;
        let value = level.value.clone();
        match &factor.sets {
            // An option that is a switch is on or off.
            Sets::Option(option) if value == "false" => {
                options.remove(option);
            }
            Sets::Option(option) if value == "true" => {
                options.insert(option.clone(), Vec::new());
            }
            Sets::Option(option) => {
                options.insert(option.clone(), vec![value]);
            }
            Sets::Target if value == target::HERE => {
                options.remove(target::OPTION);
            }
            Sets::Target => {
                options.insert(target::OPTION.to_owned(), vec![value]);
            }
            Sets::Load if value == "none" => {}
            Sets::Load => loads.push(value),
            Sets::Profile if value == "none" => {}
            Sets::Profile => tuning.push(format!("--tune={value}")),
            Sets::Knob(_) if value == "keep" => {}
            Sets::Knob(knob) => tuning.push(format!("--set={knob}={value}")),
            Sets::Env(variable) if value == "unset" => {
                out.env.remove(variable);
                out.unset.push(variable.clone());
            }
            Sets::Env(variable) => {
                out.env.insert(variable.clone(), value);
            }
            Sets::Several => {
                let changes = &level.changes;
                options.extend(changes.options.clone());
                loads.extend(changes.loads.iter().cloned());
                tuning.extend(changes.tuning());
                out.env.extend(changes.env.clone());
            }
        }
    }
    for kernel in options.get_mut(target::OPTION).into_iter().flatten() {
        *kernel = target::seeded(kernel);
    }
    out.arguments = vec!["measure".to_owned(), measure.instrument.clone()];
    for (name, values) in &options {
        if values.is_empty() {
            out.arguments.push(format!("--{name}"));
        }
        out.arguments
            .extend(values.iter().map(|value| format!("--{name}={value}")));
    }
    out.arguments
        .extend(loads.iter().map(|load| format!("--load={load}")));
    out.arguments.extend(tuning);
    Some(out)
}

/// How long one block measures, as far as the options say.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Stated {
    /// Sum of the durations, and of the rests.
    pub time: Nanos,
    /// Runs whose options state none.
    pub open_runs: u64,
}

/// Returns how long one block measures, as far as the options say.
pub fn stated_time(experiment: &Experiment, plan: &Plan) -> Stated {
    let mut stated = Stated::default();
    for cell in &plan.cells {
        for measurement in 0..count(plan.measurements.len()) {
            let run = invocation(experiment, cell, measurement);
            match run.and_then(|run| time_of(&run.arguments)) {
                Some(time) => stated.time = stated.time + time,
                None => stated.open_runs += 1,
            }
            stated.time = stated.time + experiment.cool_down;
        }
    }
    stated
}

/// Returns how many runs of one block boot a guest, which takes longer than the options say.
pub fn guest_runs(experiment: &Experiment, plan: &Plan) -> u64 {
    let guest = |argument: &String| argument.starts_with("--target=");
    let mut runs = 0;
    for cell in &plan.cells {
        for measurement in 0..count(plan.measurements.len()) {
            let run = invocation(experiment, cell, measurement);
            runs += u64::from(run.is_some_and(|run| run.arguments.iter().any(guest)));
        }
    }
    runs
}

/// Whether its runs are guests in virtual time: all of them or none, as the experiment's file was checked for.
pub fn is_virtual(experiment: &Experiment, plan: &Plan) -> bool {
    let cell = plan.cells.first();
    let run = cell.and_then(|cell| invocation(experiment, cell, 0));
    run.is_some_and(|run| {
        let mut targets = run
            .arguments
            .iter()
            .filter_map(|argument| argument.strip_prefix("--target="));
        targets.any(target::is_virtual)
    })
}

/// The interval of a thread where the options name none.
const INTERVAL: Nanos = Nanos::from_millis(1);

/// Returns how long a run measures: its duration, its samples, or its repeats.
fn time_of(arguments: &[String]) -> Option<Nanos> {
    let value = |name: &str| {
        let mut values = arguments
            .iter()
            .filter_map(|a| a.strip_prefix("--")?.split_once('='));
        values
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    };
    let time = |name: &str| value(name)?.parse::<Nanos>().ok();
    let times = |n: &str, each: Nanos| {
        let n: u64 = n.parse().ok()?;
        Some(Nanos::new(each.get().saturating_mul(n)))
    };
    time("duration").or_else(|| match (value("samples"), time("runtime")) {
        (Some(n), _) => times(n, time("interval").unwrap_or(INTERVAL)),
        (None, Some(each)) => times(value("repeats").unwrap_or("5"), each),
        _ => None,
    })
}
