// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The budgets of SPECIFICATION.md, measured against Debian's cyclictest, or against what a budget names.
//!
//! The noise of a shared machine is larger than the differences looked for. So the two programs run in turns, in
//! alternating order, and what is judged is the median of the ratios of the pairs: what disturbs both halves of a pair
//! cancels. A budget that cannot be measured here says so; it is never taken as kept.

mod budget;
mod context;
mod cpu_time;
mod doctor;
mod fleet;
mod guest;
mod keep_up;
mod library;
mod locked_memory;
mod many_runs;
mod page;
mod program;
mod raw_loss;
mod report;
mod start;
mod throughput;
mod tracefs;
mod wakeup;
mod watch;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

use self::budget::{Budget, Limit, Need, Outcome, Row, Unit, Verdict};
use self::context::Context;

/// Options of `cargo xtask bench`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Take fewer pairs: to see that it works, not to judge
    #[arg(long)]
    quick: bool,
    /// Measure only this budget; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Measure this binary [default: the static release binary of `make build`]
    #[arg(long, value_name = "PATH")]
    punctual: Option<PathBuf>,
    /// Write bench.json, and what is left over on the way, to this directory [default: bench, below the target directory]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Compile the benchmarks of libraries with this profile: to see that they work, `dev` needs no further compilation
    #[arg(long, value_name = "PROFILE", default_value = "bench")]
    profile: String,
    /// Exit with status 1 if a budget is over, or could not be measured because a program failed
    #[arg(long)]
    enforce: bool,
}

/// Every budget, in the order in which they are measured: the delicate ones first.
const BUDGETS: &[Budget] = &[
    Budget {
        name: "wakeup-p50",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.02),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: wakeup::measure,
    },
    Budget {
        name: "cpu-per-wakeup",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.0),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: cpu_time::of_a_wakeup,
    },
    Budget {
        name: "cpu-of-a-run",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.05),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: cpu_time::of_a_run,
    },
    Budget {
        name: "start-to-first-sample",
        unit: Unit::Nanos,
        limit: Limit::None,
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: start::to_first_sample,
    },
    Budget {
        name: "one-sample-run",
        unit: Unit::Nanos,
        limit: Limit::Ratio(0.3),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: start::one_sample_run,
    },
    Budget {
        name: "locked-memory",
        unit: Unit::Bytes,
        limit: Limit::Ratio(0.1),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: locked_memory::measure,
    },
    Budget {
        name: "keep-up",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.0),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: keep_up::measure,
    },
    Budget {
        name: "doctor",
        unit: Unit::Nanos,
        limit: Limit::Figure(50e6),
        needs: &[Need::Punctual],
        measure: doctor::measure,
    },
    Budget {
        name: "compare-40-runs",
        unit: Unit::Nanos,
        limit: Limit::Figure(1e9),
        needs: &[Need::Punctual],
        measure: many_runs::compare,
    },
    Budget {
        name: "list-1000-runs",
        unit: Unit::Nanos,
        limit: Limit::Figure(100e6),
        needs: &[Need::Punctual],
        measure: many_runs::list,
    },
    Budget {
        name: "report-100-runs",
        unit: Unit::Nanos,
        limit: Limit::Figure(1e9),
        needs: &[Need::Punctual],
        measure: page::measure,
    },
    Budget {
        name: "first-guest-sample",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.0),
        needs: &[Need::Punctual, Need::Guests],
        measure: guest::to_first_sample,
    },
    Budget {
        name: "memory-copy",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.05),
        needs: &[Need::Punctual],
        measure: throughput::copy,
    },
    Budget {
        name: "memory-random-read",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.05),
        needs: &[Need::Punctual],
        measure: throughput::random_read,
    },
    Budget {
        name: "linpack-beside-product",
        unit: Unit::Nanos,
        // At least 0.85 of the product's rate.
        limit: Limit::Ratio(1.0 / 0.85),
        needs: &[Need::Punctual],
        measure: throughput::linpack,
    },
    Budget {
        name: "stats-cost",
        unit: Unit::Nanos,
        limit: Limit::Figure(15.0),
        needs: &[],
        measure: library::of_a_sample,
    },
    Budget {
        name: "tasks-check-100",
        unit: Unit::Nanos,
        limit: Limit::Figure(10e6),
        needs: &[],
        measure: library::of_a_check,
    },
    Budget {
        name: "tasks-check-10000",
        unit: Unit::Nanos,
        limit: Limit::Figure(5e9),
        needs: &[],
        measure: library::of_many_checks,
    },
    Budget {
        name: "raw-no-loss",
        unit: Unit::Samples,
        limit: Limit::Figure(0.0),
        needs: &[Need::Root, Need::Punctual],
        measure: raw_loss::measure,
    },
    Budget {
        name: "watch-response",
        unit: Unit::Nanos,
        // Beyond the same thread that nobody watches.
        limit: Limit::Figure(3_000.0),
        needs: &[Need::Root, Need::Punctual],
        measure: watch::response,
    },
    Budget {
        name: "watch-recorder",
        unit: Unit::Nanos,
        // A tenth of a CPU: of each second.
        limit: Limit::Figure(100e6),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: watch::recorder,
    },
    Budget {
        name: "watch-analysis",
        unit: Unit::Nanos,
        // Two million records a second.
        limit: Limit::Figure(500.0),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: watch::analysis,
    },
    Budget {
        name: "watch-memory",
        unit: Unit::Bytes,
        limit: Limit::Figure(200e6),
        needs: &[Need::Root, Need::Punctual, Need::Cyclictest],
        measure: watch::memory,
    },
    Budget {
        name: "fleet-beside-ansible",
        unit: Unit::Nanos,
        limit: Limit::Ratio(1.3),
        needs: &[Need::Root, Need::Punctual, Need::Ansible],
        measure: fleet::beside_ansible,
    },
];

/// Measures the budgets, prints the table and writes `bench/bench.json` below the target directory.
pub(crate) fn run(root: &Path, options: &Options) -> anyhow::Result<ExitCode> {
    for name in &options.only {
        if !BUDGETS.iter().any(|budget| budget.name == name) {
            let names: Vec<_> = BUDGETS.iter().map(|budget| budget.name).collect();
            bail!("no budget is called {name}; there are {}", names.join(", "));
        }
    }
    let context = Context::new(root, options)?;
    let mut rows = Vec::new();
    for budget in BUDGETS {
        if !options.only.is_empty() && !options.only.iter().any(|name| name == budget.name) {
            continue;
        }
        eprintln!("{} ...", budget.name);
        rows.push(Row {
            budget,
            outcome: outcome(budget, &context),
            notes: context.take_notes(),
        });
        if context.is_interrupted() {
            bail!("interrupted");
        }
    }
    print!("{}", report::table(&rows));
    let path = context.output.join("bench.json");
    report::write_json(&path, &rows, options.quick)?;
    println!("{}", path.display());

    let broken = rows
        .iter()
        .any(|row| matches!(row.verdict(), Verdict::Over | Verdict::Failed));
    Ok(if broken && options.enforce {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn outcome(budget: &Budget, context: &Context) -> Outcome {
    for need in budget.needs {
        if let Some(lack) = context.lack(*need) {
            return Outcome::NotMeasured(lack);
        }
    }
    match (budget.measure)(context) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Failed(format!("{error:#}")),
    }
}
