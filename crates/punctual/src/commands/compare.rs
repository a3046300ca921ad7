// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual compare`.

mod hosts;

use std::path::Path;

use punctual_model::{Better, ComparedGroup, Comparison};
use punctual_report::document::{Document, Material};
use punctual_stats::runs::{IntervalMethod, Options};
use punctual_store::{Store, decode};
use punctual_verdict::comparison::published::{self, TableError};
use punctual_verdict::comparison::{ComparisonRequest, GroupInput, compare};
use punctual_verdict::select::{Chosen, all_of, groups, read};

use crate::cli::{self, CompareArgs, CompareBy, CompareDirection, CompareInterval};
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::unnamed;
use crate::output;
use crate::{gate, home};

/// A table is a few lines; what is larger is something else.
const TABLE_LIMIT: u64 = 16 << 20;

/// Compares groups of runs as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &CompareArgs) -> Result<Exit, CliError> {
    if args.by == Some(CompareBy::Host) {
        return hosts::run(home, args);
    }
    let comparison = match &args.table {
        Some(file) => table(file, args)?,
        None => runs(home, args)?,
    };
    output::show(&comparison, args.json, |comparison| {
        Document::new(&Material {
            comparisons: vec![comparison.clone()],
            ..Material::default()
        })
    })?;
    let has = |group: &ComparedGroup| !group.runs.is_empty() || group.published.is_some();
    let groups = comparison.groups.split_first();
    let any = groups.is_some_and(|(first, others)| has(first) && others.iter().any(has));
    Ok(match gate::exit(&comparison, &args.fail_on) {
        Exit::Fine if !any => Exit::Failed,
        exit => exit,
    })
}

fn options(args: &CompareArgs) -> Options {
    Options {
        alpha: args.level.0,
        confidence: 1.0 - args.level.0,
        effect: args.effect.0,
        difference: args.difference,
        power: args.power.0,
        margin: gate::margin(args.equivalence, args.not_worse),
        interval: match args.interval {
            CompareInterval::Permutation => IntervalMethod::Permutation,
            CompareInterval::Hierarchical => IntervalMethod::Hierarchical,
        },
        seed: args.seed,
        ..Options::default()
    }
}

fn runs(home: Option<&Path>, args: &CompareArgs) -> Result<Comparison, CliError> {
    gate::check(&args.fail_on, args.equivalence, args.not_worse)?;
    let wanted = groups(&args.groups, &args.named)?;
    let metrics: Vec<_> = args.metric.iter().flat_map(|list| list.0.clone()).collect();
    // Nothing is written: a store that is not there has no runs.
    let store = Store::open_existing(home::find(home)?)?;
    let chosen = Chosen {
        metrics: &metrics,
        requirements: &args.require,
        allow_invalid: args.allow_invalid,
        in_blocks: args.interval == CompareInterval::Hierarchical,
    };
    let groups = read(&store, &wanted, &chosen)?;
    let earlier = match args.earlier.is_empty() {
        true => None,
        false => read(&store, &[all_of(&args.earlier)], &chosen)
            .map_err(unnamed)?
            .pop(),
    };
    let earlier = earlier.map(|earlier| without(earlier, &groups));
    let asked = ComparisonRequest {
        metrics,
        options: options(args),
        requirements: cli::under(&args.require, args.burst),
        in_blocks: !args.unpaired,
        earlier,
    };
    compare(groups, &asked).map_err(|err| CliError::from(err).of_gate(!args.fail_on.is_empty()))
}

/// Earlier runs without those that are compared: `--earlier 'nightly-*'` may name them too.
fn without(mut earlier: GroupInput, groups: &[GroupInput]) -> GroupInput {
    let compared = |id: &str| {
        let mut runs = groups.iter().flat_map(|group| &group.runs);
        runs.any(|run| run.record.id == id)
    };
    earlier.runs.retain(|run| !compared(&run.record.id));
    earlier
}

fn table(file: &Path, args: &CompareArgs) -> Result<Comparison, CliError> {
    let failed = || CliError::failed_to(format!("compare the means in {}", file.display()));
    let text = decode::text(file, TABLE_LIMIT).map_err(|err| failed().because(err))?;
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
    published::compare(&rows, &args.groups, &figure, &options(args)).map_err(|err| {
        let is_usage = matches!(
            err,
            TableError::NoSuchLine { .. } | TableError::One { .. } | TableError::Itself { .. }
        );
        let error = failed().because(err);
        match is_usage {
            true => error.exiting(Exit::Usage),
            false => error,
        }
    })
}
