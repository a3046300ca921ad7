// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual history`.

use std::path::Path;

use jiff::Timestamp;
use punctual_model::{History, HistoryDirection, HistoryLine, HistoryVerdict};
use punctual_report::document::{Document, Material};
use punctual_report::html;
use punctual_stats::history::Options;
use punctual_store::Store;
use punctual_verdict::history::{By, HistoryRequest, history};
use punctual_verdict::select::{Chosen, all_of, find, of_any_time};
use punctual_verdict::words::plural;

use crate::cli::{HistoryArgs, HistoryFailOn};
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::unnamed;
use crate::home;
use crate::output::{self, Destination};
use crate::pages::{made_now, put};

/// Looks for changes as `args` say.
pub(crate) fn run(home: Option<&Path>, args: &HistoryArgs) -> Result<Exit, CliError> {
    // What exists is refused before minutes of reading.
    let target = Destination::open_if(args.output.as_ref(), args.force)?;
    let history = of_runs(home, args)?;
    let material = Material {
        histories: vec![history.clone()],
        ..made_now()
    };
    if let Some(target) = target {
        put(target, &html::page(&Document::new(&material)))?;
    }
    output::show(&history, args.json, |_| Document::new(&material))?;
    Ok(exit(&history, &args.fail_on))
}

fn of_runs(home: Option<&Path>, args: &HistoryArgs) -> Result<History, CliError> {
    let metrics: Vec<_> = args.metric.iter().flat_map(|list| list.0.clone()).collect();
    let wanted = all_of(&args.what);
    let store = Store::open_existing(home::find(home)?)?;
    let chosen = Chosen {
        metrics: &metrics,
        allow_invalid: args.allow_invalid,
        ..Chosen::default()
    };
    let mut groups = of_any_time(find(&store, &[wanted]).map_err(unnamed)?, &chosen)?;
    let Some(runs) = groups.pop() else {
        return Err(CliError::usage("history: no runs"));
    };
    let asked = HistoryRequest {
        metrics,
        by: args.by,
        ignored: args.ignore.clone(),
        options: Options {
            level: args.level.0,
            confidence: 1.0 - args.level.0,
            seed: args.seed,
            ..Options::default()
        },
    };
    // Which runs are meant is no question of the gate, but what they show is.
    let of_gate = |err: CliError| err.of_gate(!args.fail_on.is_empty());
    let history = history(runs, &asked).map_err(|err| of_gate(err.into()))?;
    if let (true, Some(first)) = (history.lines.is_empty(), history.refused.first()) {
        let n = history.refused.len();
        let error = CliError::failed_to(format!("make a series of {n} run{}", plural(n)))
            .because(format!("run {}: {}", first.id, first.reason));
        return Err(of_gate(match args.by {
            By::Commit => error.hint(
                "`measure` and `runs import` take --tag commit=ID; --by kernel and --by day need no tags",
            ),
            _ => error,
        }));
    }
    Ok(history)
}

fn exit(history: &History, fail_on: &[HistoryFailOn]) -> Exit {
    if fail_on.is_empty() {
        return Exit::Fine;
    }
    let series = || history.lines.iter().flat_map(|line| &line.series);
    let new = || {
        series()
            .flat_map(|series| &series.changes)
            .filter(|change| change.new)
    };
    let failed = fail_on.iter().any(|fail_on| match fail_on {
        HistoryFailOn::NewChange => new().next().is_some(),
        HistoryFailOn::NewWorse => new().any(|change| change.direction != HistoryDirection::Better),
    });
    // A gate that no data can trip is not open.
    let judged = series().all(|series| {
        series.verdict != HistoryVerdict::TooFewRuns && series.too_few_for_gate.is_none()
    });
    let mut lines = history.lines.iter();
    let unreadable = history.refused.iter().any(|run| run.unreadable);
    let whole =
        history.missing.is_empty() && !unreadable && lines.all(|line| is_up_to_date(history, line));
    Exit::of_gate(failed, judged && whole && series().next().is_some())
}

/// Whether the newest run of a line was judged: none was left out since, and it has every figure. What was left out
/// does not say which line it is of, and without a date it may be the newest.
fn is_up_to_date(history: &History, line: &HistoryLine) -> bool {
    let at = |started: Option<&str>| started?.parse::<Timestamp>().ok();
    let runs = line.runs.iter();
    let newest = runs.filter_map(|run| at(run.started.as_deref())).max();
    let mut refused = history.refused.iter();
    let mut series = line.series.iter();
    refused.all(|run| at(run.started.as_deref()).is_some_and(|at| Some(at) <= newest))
        && !line.series.is_empty()
        && series.all(|series| series.values.last().is_some_and(Option::is_some))
}
