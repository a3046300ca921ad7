// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The parameters of a study's experiments: of its scale, of this machine, and of the time there is.

use punctual_lab::file::Need as MeasureNeed;
use punctual_lab::plan::stated_time;
use punctual_lab::study::{Need, Part, Study};
use punctual_sys::SysRoot;
use toml::{Table, Value};

use crate::cli::StudyRunArgs;
use crate::commands::experiment::{self, Read, lack_of, plan};
use crate::commands::measure;
use crate::error::CliError;

/// Seconds of a run beside what its options state.
const OVERHEAD: f64 = 0.6;

/// Seconds that a run is taken for where its options do not state a time.
const UNSTATED: f64 = 10.0;

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

/// What of the command line decides what is carried out, beside the scale.
pub(super) fn wish(args: &StudyRunArgs) -> Vec<String> {
    let budget = args.budget.iter().map(|time| format!("--budget={time}"));
    let targets = args
        .target
        .iter()
        .map(|target| format!("--target={target}"));
    let given = args.parameter.iter();
    let given = given.map(|(name, value)| format!("--parameter={name}={value}"));
    budget.chain(targets).chain(given).collect()
}

/// Returns the parameters that this machine gives: `most` ordinary threads, `all` numbers of them up to
/// that, `ends` the first and the last of these, and the `targets` where two are named.
pub(super) fn of_machine(args: &StudyRunArgs) -> Result<Table, CliError> {
    let cpus = measure::cpus(&SysRoot::live())?.allowed.len();
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
    if let [stock, rt] = args.target.as_slice() {
        let mut targets = Table::new();
        targets.insert("stock".to_owned(), Value::String(seeded(stock)));
        targets.insert("rt".to_owned(), Value::String(seeded(rt)));
        out.insert("targets".to_owned(), Value::Table(targets));
    }
    Ok(out)
}

/// Gives a guest in virtual time a seed a block: with the same one, each block would be a copy.
fn seeded(target: &str) -> String {
    let mut options = target.split(',');
    let virtual_time = options.clone().any(|option| option == "virtual-time");
    match virtual_time && !options.any(|option| option.starts_with("seed=")) {
        true => format!("{target},seed={{block}}"),
        false => target.to_owned(),
    }
}

/// Returns why a part cannot be carried out.
pub(super) fn lack_of_part(part: &Part, args: &StudyRunArgs) -> Option<String> {
    part.needs.iter().find_map(|need| match need {
        Need::Root => lack_of(MeasureNeed::Root),
        Need::TwoTargets if args.target.len() == 2 => None,
        Need::TwoTargets => Some(
            "it takes two kernels: name them with --target, the stock kernel first, or compare recorded runs \
             of both with `punctual study report NAME --recorded STOCK RT`"
                .to_owned(),
        ),
        Need::NoTargets if args.target.is_empty() => None,
        Need::NoTargets => Some("two kernels are named: they are measured instead".to_owned()),
    })
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
    experiment::Read::of(&format!("{}-{part}.toml", study.name), text, parameters)
}

/// Sets the blocks of a part to as many as fit into its share of a budget.
pub(super) fn fit(
    study: &Study,
    part: &str,
    parameters: &mut Table,
    share: f64,
) -> Result<(), CliError> {
    let read = experiment(study, part, parameters)?;
    let plan = plan::of(&read, Some(0))?;
    let runs = plan.runs() / u64::from(plan.all_blocks().max(1));
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    let runs = runs as f64;
    let stated = stated_time(&read.experiment.clone().only(&plan.measurements), &plan);
    let block = runs * OVERHEAD + stated.map_or(runs * UNSTATED, |time| time.as_secs_f64());
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
    #[expect(clippy::cast_possible_truncation, reason = "1 to 200")]
    let blocks = Value::Integer(blocks as i64);
    for name in ["blocks", "series", "stall-blocks"] {
        if parameters.contains_key(name) {
            parameters.insert(name.to_owned(), blocks.clone());
        }
    }
    let limit = format!("{}ms", to_millis(share));
    parameters.insert("limit".to_owned(), Value::String(limit));
    Ok(())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturating, of a time that was typed"
)]
fn to_millis(seconds: f64) -> u64 {
    (seconds * 1e3).max(1.0) as u64
}
