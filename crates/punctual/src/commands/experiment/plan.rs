// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment plan`.

use punctual_lab::file::Experiment;
use punctual_lab::plan::{Plan, invocation};
use punctual_lab::shown::PlanShown;
use punctual_verdict::words::counted;

use crate::cli::ExperimentPlanArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::plan::{Cost, of};
use crate::experiments::read;
use crate::output::{self, print};

/// Shows a plan.
pub(super) fn show(args: &ExperimentPlanArgs) -> Result<Exit, CliError> {
    let mut read = read(&args.file, &args.parameter)?;
    let plan = of(&read, args.seed)?;
    read.experiment = read.experiment.only(&plan.measurements);
    let cost = Cost::of(&read.experiment, &plan);
    if args.json {
        output::json(&PlanShown {
            plan,
            runs: cost.runs,
            // A guess is no figure for a program to go by.
            seconds: Some(cost.most()).filter(|_| cost.open_runs == 0),
        })?;
        return Ok(Exit::Fine);
    }
    print(&text(&read.experiment, &plan, &cost, args.runs))?;
    Ok(Exit::Fine)
}

fn text(experiment: &Experiment, plan: &Plan, cost: &Cost, runs: bool) -> String {
    let mut lines = vec![format!(
        "Experiment `{}`: {}, {}{}, {}, {}; seed {}",
        plan.name,
        counted(plan.cells.len() as u64, "cell"),
        counted(u64::from(plan.blocks), "block"),
        match plan.warm_up_blocks {
            0 => String::new(),
            n => format!(" after {n} of warm-up"),
        },
        counted(cost.runs, "run"),
        cost.time(),
        plan.seed
    )];
    lines.push("Cells:".to_owned());
    for (number, cell) in (0_u32..).zip(&plan.cells) {
        lines.push(format!(" {number}  {}", plan.cell_name(number)));
        for measurement in 0..plan.measurements.len() {
            let measurement = u32::try_from(measurement).unwrap_or(u32::MAX);
            if let Some(run) = invocation(experiment, cell, measurement) {
                let env = run.env.iter().map(|(k, v)| format!("{k}={v} "));
                let env: String = env.collect();
                lines.push(format!("      {env}punctual {}", run.arguments.join(" ")));
            }
        }
    }
    if !plan.skipped.is_empty() {
        lines.push("Left out:".to_owned());
        let skipped = plan.skipped.iter();
        lines.extend(skipped.map(|skipped| format!(" {}: {}", skipped.what, skipped.reason)));
    }
    if !plan.aliases.is_empty() {
        lines.push("The fraction cannot separate:".to_owned());
        lines.extend(plan.aliases.iter().map(|alias| format!(" {alias}")));
    }
    if runs {
        lines.push("Order:".to_owned());
        for block in 0..plan.all_blocks() {
            let cells = plan.block(block).into_iter();
            let cells: Vec<String> = cells
                .filter(|slot| slot.measurement == 0)
                .map(|slot| slot.cell.to_string())
                .collect();
            let kind = if plan.is_warm_up(block) {
                " (warm-up)"
            } else {
                ""
            };
            lines.push(format!(" block {block}{kind}: {}", cells.join(" ")));
        }
    }
    lines.join("\n") + "\n"
}
