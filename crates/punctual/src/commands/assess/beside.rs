// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The loads of each of the measurements.

use punctual_measure::loads::{LoadList, LoadSpec};
use punctual_sys::SysRoot;

use crate::cli::{AssessArgs, LoadReach};
use crate::error::CliError;

/// The presets under which this machine is measured if nothing else is asked for.
const PRESETS: [&str; 2] = ["kernel", "bridgers"];

/// A condition: its name and its loads.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Beside {
    pub(super) name: String,
    pub(super) loads: Vec<LoadSpec>,
}

/// What is measured, and what had to be left out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Chosen {
    pub(super) conditions: Vec<Beside>,
    pub(super) left_out: Option<String>,
}

/// Returns the conditions to measure under, the idle machine first.
pub(super) fn choose(sys: &SysRoot, args: &AssessArgs) -> Result<Chosen, CliError> {
    let mut left_out = None;
    let loaded = match args.load.as_slice() {
        [] => {
            let mut presets = presets()?;
            if !may_ping(&presets, sys, &mut left_out) {
                presets = without_ping(presets);
            }
            presets
        }
        [one] => vec![beside("loaded", one)],
        several => (1..)
            .zip(several)
            .map(|(number, list)| beside(&format!("loaded {number}"), list))
            .collect(),
    };
    let idle = Beside {
        name: "idle".to_owned(),
        loads: Vec::new(),
    };
    let mut conditions = vec![idle];
    conditions.extend(reached(&args.reach, loaded)?);
    Ok(Chosen {
        conditions,
        left_out,
    })
}

fn presets() -> Result<Vec<Beside>, CliError> {
    let preset = |name: &str| {
        let list = name
            .parse()
            .map_err(|err| CliError::failed_to("choose the loads").because(err))?;
        Ok(beside(name, &list))
    };
    PRESETS.into_iter().map(preset).collect()
}

fn beside(name: &str, list: &LoadList) -> Beside {
    Beside {
        name: name.to_owned(),
        loads: list.0.clone(),
    }
}

/// Whether all that pings may; if not, says why.
fn may_ping(conditions: &[Beside], sys: &SysRoot, why: &mut Option<String>) -> bool {
    let loads = conditions.iter().flat_map(|condition| &condition.loads);
    for load in loads {
        if let Some(ping) = load.ping()
            && let Err(err) = ping.check(sys)
        {
            *why = Some(format!("ping floods are left out: {err}"));
        }
    }
    why.is_none()
}

/// Leaves out the loads that ping; what remains of a condition is not called as the whole.
fn without_ping(conditions: Vec<Beside>) -> Vec<Beside> {
    let pings = |load: &LoadSpec| load.ping().is_some();
    let rest = |condition: Beside| {
        if !condition.loads.iter().any(pings) {
            return condition;
        }
        let mut loads = condition.loads;
        loads.retain(|load| !pings(load));
        let names: Vec<&str> = loads.iter().map(LoadSpec::name).collect();
        Beside {
            name: names.join(", "),
            loads,
        }
    };
    conditions.into_iter().map(rest).collect()
}

/// Returns the conditions with loads that reach as far as the options say: for all of them together.
fn reached(reach: &LoadReach, conditions: Vec<Beside>) -> Result<Vec<Beside>, CliError> {
    let all = conditions.iter().flat_map(|c| c.loads.clone()).collect();
    let mut all = reach.over(all)?.into_iter();
    let reached = |condition: Beside| Beside {
        loads: all.by_ref().take(condition.loads.len()).collect(),
        ..condition
    };
    Ok(conditions.into_iter().map(reached).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser as _;

    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        assess: AssessArgs,
    }

    fn chosen(args: &str) -> Result<Vec<(String, String)>, CliError> {
        let args = ["punctual"].into_iter().chain(args.split_whitespace());
        let args = Program::parse_from(args).assess;
        let said = |condition: Beside| {
            let loads: Vec<_> = condition.loads.iter().map(ToString::to_string).collect();
            (condition.name, loads.join(" "))
        };
        let chosen = choose(&SysRoot::live(), &args)?;
        Ok(chosen.conditions.into_iter().map(said).collect())
    }

    #[test]
    fn each_wish_for_loads_is_a_condition() {
        let pair = |name: &str, loads: &str| (name.to_owned(), loads.to_owned());
        let one = [pair("idle", ""), pair("loaded", "cpu:1 memory")];
        assert_eq!(chosen("--load cpu:1,memory").unwrap(), one);
        let two = [
            pair("idle", ""),
            pair("loaded 1", "cpu"),
            pair("loaded 2", "ping:4@rate=9 memory"),
        ];
        assert_eq!(
            chosen("--load cpu --load bridgers --ping-rate 9").unwrap(),
            two
        );
        assert!(chosen("--load cpu --ping-rate 9").is_err());
        assert!(chosen("--load cpu --load printk").is_err());
    }

    #[test]
    fn what_is_left_of_a_preset_has_another_name() {
        let names = |conditions: Vec<Beside>| -> Vec<String> {
            conditions.into_iter().map(|c| c.name).collect()
        };
        let presets = presets().unwrap();
        assert_eq!(names(presets.clone()), PRESETS);
        assert_eq!(names(without_ping(presets)), ["kernel", "memory"]);
    }
}
