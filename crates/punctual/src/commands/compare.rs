// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual compare`.

pub(crate) mod select;

use std::path::Path;

use punctual_model::{Better, ComparedFigure, Comparison, ComparisonVerdict, RequirementRuling};
use punctual_report::text;
use punctual_stats::runs::{IntervalMethod, Margin, Options};
use punctual_store::Store;
use punctual_verdict::comparison::{self, Asked, CompareError, GroupInput, published};

use crate::cli::{self, CompareArgs, CompareDirection, CompareInterval, FailOn, Percent};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::output::{self, print};

/// A table is a few lines; what is larger is something else.
const TABLE_LIMIT: u64 = 16 << 20;

/// Compares groups of runs as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &CompareArgs) -> Result<Exit, CliError> {
    let comparison = match &args.table {
        Some(file) => table(file, args)?,
        None => runs(home, args)?,
    };
    if args.json {
        output::write(|out| {
            serde_json::to_writer_pretty(&mut *out, &comparison)?;
            writeln!(out)
        })?;
    } else {
        print(&text::comparison(&comparison))?;
    }
    Ok(exit(&comparison, &args.fail_on))
}

fn options(args: &CompareArgs) -> Options {
    Options {
        alpha: args.level.0,
        confidence: 1.0 - args.level.0,
        effect: args.effect.0,
        difference: args.difference,
        power: args.power.0,
        margin: margin(args.equivalence, args.not_worse),
        interval: match args.interval {
            CompareInterval::Permutation => IntervalMethod::Permutation,
            CompareInterval::Studentised => IntervalMethod::Studentised,
            CompareInterval::Bca => IntervalMethod::Bca,
            CompareInterval::Hierarchical => IntervalMethod::Hierarchical,
            CompareInterval::Welch => IntervalMethod::Welch,
        },
        seed: args.seed,
        ..Options::default()
    }
}

/// The margin that was asked for.
pub(crate) fn margin(equivalence: Option<Percent>, not_worse: Option<Percent>) -> Option<Margin> {
    let same = equivalence.map(|share| Margin::Same(share.0));
    same.or_else(|| not_worse.map(|share| Margin::NotWorse(share.0)))
}

/// Refuses to fail on the answer to a question that was not asked.
pub(crate) fn check(
    fail_on: &[FailOn],
    equivalence: Option<Percent>,
    not_worse: Option<Percent>,
) -> Result<(), CliError> {
    if fail_on.contains(&FailOn::NotEquivalent) && equivalence.is_none() {
        return Err(CliError::usage(
            "--fail-on not-equivalent: needs --equivalence, within which groups are the same",
        ));
    }
    if fail_on.contains(&FailOn::MayBeWorse) && not_worse.is_none() {
        return Err(CliError::usage(
            "--fail-on may-be-worse: needs --not-worse, the change that is to be excluded",
        ));
    }
    Ok(())
}

fn runs(home: Option<&Path>, args: &CompareArgs) -> Result<Comparison, CliError> {
    check(&args.fail_on, args.equivalence, args.not_worse)?;
    let wanted = select::groups(&args.groups, &args.named)?;
    let metrics: Vec<_> = args.metric.iter().flat_map(|list| list.0.clone()).collect();
    // Nothing is written: a store that is not there has no runs.
    let store = Store::open_existing(home::find(home)?)?;
    let chosen = select::Chosen {
        metrics: &metrics,
        requirements: &args.require,
        allow_invalid: args.allow_invalid,
        in_blocks: args.interval == CompareInterval::Hierarchical,
    };
    let groups = select::read(&store, &wanted, &chosen)?;
    let asked = Asked {
        metrics,
        options: options(args),
        requirements: cli::under(&args.require, args.burst),
        in_blocks: !args.unpaired,
    };
    compared(groups, &asked).map_err(|error| match args.fail_on.is_empty() {
        true => error,
        false => error.exiting(Exit::Unjudged),
    })
}

/// Compares groups as `compare` does without options.
pub(crate) fn of_groups(store: &Store, groups: &[String]) -> Result<Comparison, CliError> {
    let wanted = select::groups(groups, &[])?;
    let chosen = select::Chosen {
        metrics: &[],
        requirements: &[],
        allow_invalid: false,
        in_blocks: false,
    };
    let asked = Asked {
        metrics: Vec::new(),
        options: Options::default(),
        requirements: Vec::new(),
        in_blocks: true,
    };
    compared(select::read(store, &wanted, &chosen)?, &asked)
}

fn compared(groups: Vec<GroupInput>, asked: &Asked) -> Result<Comparison, CliError> {
    comparison::compare(groups, asked).map_err(|err| {
        let hint = match &err {
            CompareError::NoFigure { .. } => {
                "`punctual runs show RUN` shows the figures that a run has"
            }
            CompareError::Meaning { .. } => "compare runs of one instrument with one another",
            CompareError::Unit { .. } => "name another figure, or runs that state it in one unit",
            CompareError::Twice { .. } => "`punctual runs rm RUN` removes one of them",
            _ => return CliError::failed_to("compare").because(err),
        };
        let wrong = !matches!(err, CompareError::NoFigure { .. });
        let error = CliError::failed_to("compare").because(err).hint(hint);
        match wrong {
            true => error.exiting(Exit::Usage),
            false => error,
        }
    })
}

fn table(file: &Path, args: &CompareArgs) -> Result<Comparison, CliError> {
    let failed = || CliError::failed_to(format!("compare the means in {}", file.display()));
    let text = select::read_text(file, TABLE_LIMIT).map_err(|err| failed().because(err))?;
    let rows = published::read(&text).map_err(|err| {
        failed().because(err).hint(
            "the heading is name,mean,standard_error and n, or deviation or deviation_percent",
        )
    })?;
    let figure = published::Figure {
        name: "mean".to_owned(),
        unit: args.unit.clone().unwrap_or_else(|| "1".to_owned()),
        better: match args.better {
            Some(CompareDirection::Lower) => Better::Lower,
            Some(CompareDirection::Higher) => Better::Higher,
            None => Better::Neither,
        },
    };
    published::compare(&rows, &args.groups, &figure, &options(args))
        .map_err(|err| failed().because(err))
}

/// A requirement that is not shown has failed: a gate must not open for want of samples. Nor must it for want
/// of runs: what could not be judged has a status of its own.
pub(crate) fn exit(comparison: &Comparison, fail_on: &[FailOn]) -> Exit {
    let failed = |fail_on: &FailOn| {
        comparison.results.iter().any(|result| match fail_on {
            FailOn::Worse => result.verdict == ComparisonVerdict::Worse,
            FailOn::Different => matches!(
                result.verdict,
                ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::Different
            ),
            FailOn::NotEquivalent => result.verdict != ComparisonVerdict::Equivalent,
            FailOn::MayBeWorse => {
                result.better != Better::Neither
                    && !matches!(
                        result.verdict,
                        ComparisonVerdict::Better | ComparisonVerdict::NotWorse
                    )
            }
            FailOn::TooFewRuns => result.verdict == ComparisonVerdict::TooFewRuns,
        })
    };
    let unmet = comparison
        .requirements
        .iter()
        .any(|of| of.result.ruling != RequirementRuling::Pass);
    let judged = fail_on
        .iter()
        .all(|fail_on| is_judged(comparison, *fail_on));
    Exit::of_gate(unmet || fail_on.iter().any(failed), judged)
}

/// Whether every figure that a gate looks at has a verdict, and there is one.
fn is_judged(comparison: &Comparison, fail_on: FailOn) -> bool {
    let of_interest = |result: &&ComparedFigure| match fail_on {
        // What has no bad direction cannot get worse.
        FailOn::Worse | FailOn::MayBeWorse => result.better != Better::Neither,
        FailOn::Different | FailOn::NotEquivalent | FailOn::TooFewRuns => true,
    };
    let mut looked_at = comparison.results.iter().filter(of_interest).peekable();
    looked_at.peek().is_some()
        && looked_at.all(|result| result.verdict != ComparisonVerdict::TooFewRuns)
}
