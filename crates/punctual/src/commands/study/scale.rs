// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The parameters of a study's experiments: of its scale, of this machine, and of the time there is.

use punctual_kernel::boot::Image;
use punctual_lab::file::Need as MeasureNeed;
use punctual_lab::study::{Need, Part, Study};
use punctual_sys::SysRoot;
use toml::{Table, Value};

use super::kernels::{Kernels, Pair};
use crate::cli::StudyRunArgs;
use crate::cpus::cpus;
use crate::error::CliError;
use crate::experiments::{Read, lack_of, plan};

/// The most blocks that a budget is filled with.
const MOST_BLOCKS: f64 = 200.0;

/// The scale's name.
pub(super) const fn name(args: &StudyRunArgs) -> &'static str {
    match (args.quick, args.paper, args.budget) {
        (true, ..) => "quick",
        (_, true, _) => "paper",
        (.., Some(_)) => "budget",
        _ => "default",
    }
}

/// What of the command line decides what is carried out, in addition to the scale.
pub(super) fn wish(args: &StudyRunArgs) -> Vec<String> {
    let budget = args.budget.iter().map(|time| format!("--budget={time}"));
    let targets = args
        .target
        .iter()
        .map(|target| format!("--target={target}"));
    let kernels = args.kernels.iter();
    let kernels = kernels.map(|place| format!("--kernels={}", place.display()));
    let build = args.build.iter().map(|source| format!("--build={source}"));
    let targets = targets.chain(kernels).chain(build);
    let given = args.parameter.iter();
    let given = given.map(|(name, value)| format!("--parameter={name}={value}"));
    budget.chain(targets).chain(given).collect()
}

/// Returns the parameters that this machine gives: `most` ordinary threads, `all` numbers of them up to
/// that, `ends` the first and the last of these, and the `targets`, `models` and `node-target` where there are two
/// kernels, `arm64-targets` where there are two for arm64.
pub(super) fn of_machine(kernels: &Kernels) -> Result<Table, CliError> {
    let cpus = cpus(&SysRoot::live())?.allowed.len();
    let most = cpus * 2;
    let load = |n: usize| match n {
        0 => "none".to_owned(),
        n => format!("cpu:{n}"),
    };
    let table = |numbers: &mut dyn Iterator<Item = usize>| {
        let pairs = numbers.map(|n| (n.to_string(), Value::String(load(n))));
        Value::Table(pairs.collect())
    };
    let mut out = Table::new();
    out.insert("most".to_owned(), Value::String(most.to_string()));
    out.insert("all".to_owned(), table(&mut (0..=most)));
    out.insert("ends".to_owned(), table(&mut [0, most].into_iter()));
    if let Ok(pair) = &kernels.pair {
        out.insert("targets".to_owned(), Value::Table(targets(pair)));
        out.insert("models".to_owned(), Value::Table(models(pair)));
        out.extend(node_target(pair).map(|of| ("node-target".to_owned(), Value::String(of))));
    }
    if let Ok(pair) = &kernels.arm64 {
        out.insert("arm64-targets".to_owned(), Value::Table(targets(pair)));
    }
    Ok(out)
}

fn targets(pair: &Pair) -> Table {
    let levels = [("stock", &pair.stock), ("rt", &pair.rt)];
    let levels = levels.map(|(name, target)| (name.to_owned(), Value::String(target.clone())));
    levels.into_iter().collect()
}

/// The stock kernel as a machine of two nodes, the first with the CPU: virtual time supports one.
fn node_target(pair: &Pair) -> Option<String> {
    let kernel = pair.kernel()?;
    Some(format!(
        "guest:{},virtual-time,nodes=2,memory=1G",
        kernel.display()
    ))
}

/// The preemption models that a pair of kernels has, by name, as targets: those of a kernel that takes its
/// model at the boot, in place of the stock kernel, and the RT kernel.
fn models(pair: &Pair) -> Table {
    let mut out = Table::new();
    let models = pair.kernel().and_then(|kernel| Image::read(&kernel).ok());
    let models = models.map(|image| image.models()).unwrap_or_default();
    let arguments = models
        .iter()
        .filter_map(|model| Some((model.name(), model.argument()?)));
    for (name, argument) in arguments.filter(|_| models.len() > 1) {
        let target = format!("{},append={argument}", pair.any_model());
        out.insert(name.to_owned(), Value::String(target));
    }
    if out.is_empty() {
        out.insert("stock".to_owned(), Value::String(pair.stock.clone()));
    }
    out.insert("rt".to_owned(), Value::String(pair.rt.clone()));
    out
}

/// Returns why a part cannot be carried out, or is not at this scale.
pub(super) fn lack_of_part(part: &Part, args: &StudyRunArgs, kernels: &Kernels) -> Option<String> {
    let needs = part.needs.iter().find_map(|need| match need {
        Need::Root => lack_of(MeasureNeed::Root),
        need => kernels.lack(*need),
    });
    needs.or_else(|| part.not_quick.clone().filter(|_| args.quick))
}

/// Returns the parameters of a part that its file has: those of the scale over those of the default
/// scale, over those of the machine.
pub(super) fn of_part(
    study: &Study,
    part: &str,
    scale: &str,
    number: u32,
    machine: &Table,
    given: &[(String, Value)],
) -> Table {
    let mut all = machine.clone();
    all.extend(study.scale.default.clone());
    match scale {
        "quick" => all.extend(study.scale.quick.clone()),
        "paper" => all.extend(study.scale.paper.clone()),
        _ => {}
    }
    all.extend(given.iter().cloned());
    all.insert("number".to_owned(), Value::Integer(number.into()));
    let text = study.experiment(part).unwrap_or_default();
    let own = text.parse::<Table>().ok();
    let own = own.and_then(|table| table.get("parameters")?.as_table().cloned());
    let own = own.unwrap_or_default();
    all.retain(|name, _| own.contains_key(name));
    all
}

/// Reads the experiment of a part.
pub(super) fn experiment(study: &Study, part: &str, parameters: &Table) -> Result<Read, CliError> {
    let text = study.experiment(part).unwrap_or_default();
    Read::of(&format!("{}-{part}.toml", study.name), text, parameters)
}

/// What a budget has room for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    /// Blocks that fit.
    pub(super) blocks: u32,
    /// Blocks of the default scale.
    pub(super) usual: u32,
    /// Runs of a block.
    pub(super) runs: u64,
    /// Seconds that the blocks of the default scale take.
    pub(super) usual_seconds: f64,
}

/// Sets the blocks of a part to as many as fit into its share of a budget.
pub(super) fn fit(
    study: &Study,
    part: &str,
    parameters: &mut Table,
    share: f64,
) -> Result<Room, CliError> {
    let read = experiment(study, part, parameters)?;
    let plan = plan::of(&read, Some(0))?;
    let block = plan::block_seconds(&read.experiment.clone().only(&plan.measurements), &plan);
    if share < block {
        return Err(CliError::usage(format!(
            "--budget: part `{part}` of {} would have {} of it, and one block of it takes about {}",
            study.name,
            plan::clock(share),
            plan::clock(block)
        ))
        .hint("a longer budget, or --quick"));
    }
    let blocks = (share / block).floor().clamp(1.0, MOST_BLOCKS);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "1 to 200"
    )]
    let blocks = blocks as u32;
    for name in ["blocks", "series", "stall-blocks", "kernel-blocks"] {
        if parameters.contains_key(name) {
            parameters.insert(name.to_owned(), Value::Integer(blocks.into()));
        }
    }
    let limit = format!("{}ms", to_millis(share));
    parameters.insert("limit".to_owned(), Value::String(limit));
    Ok(Room {
        blocks,
        usual: plan.blocks,
        runs: plan.runs() / u64::from(plan.all_blocks().max(1)),
        usual_seconds: block * f64::from(plan.all_blocks()),
    })
}

impl Room {
    /// Says what is missing of the default scale, if something is.
    pub(super) fn lack(&self, part: &str) -> Option<String> {
        (self.blocks < self.usual).then(|| {
            format!(
                "{part}: the budget has room for about {} of the {} runs of the default scale, which takes about {}",
                u64::from(self.blocks) * self.runs,
                u64::from(self.usual) * self.runs,
                plan::clock(self.usual_seconds)
            )
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturating, of a time that was typed"
)]
fn to_millis(seconds: f64) -> u64 {
    (seconds * 1e3).max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_that_is_too_short_says_how_many_runs_it_has_room_for() {
        let room = Room {
            blocks: 2,
            usual: 6,
            runs: 2,
            usual_seconds: 240.0,
        };
        assert_eq!(
            room.lack("bridgers2015 kernels").unwrap(),
            "bridgers2015 kernels: the budget has room for about 4 of the 12 runs of the default scale, which \
             takes about 0:04:00"
        );
        assert_eq!(Room { blocks: 6, ..room }.lack("x"), None);
    }
}
