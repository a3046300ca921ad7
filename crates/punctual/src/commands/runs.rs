// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual runs`.

mod export;
mod extrapolate;
mod import;
mod pack;
mod replay;

use std::collections::BTreeSet;
use std::path::Path;

use punctual_model::{Gathered as _, RUN_LIST_FORMAT, RunList, RunListEntry};
use punctual_report::document::Document;
use punctual_report::text;
use punctual_store::{Filter, FindError, Store};
use punctual_verdict::select::RunSource;

use crate::cli::RunsAction;
use crate::error::CliError;
use crate::exit::Exit;
use crate::finding::find;
use crate::output::{self, print, remark};
use crate::{home, pages};

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: RunsAction) -> Result<Exit, CliError> {
    let home = home::find(home)?;
    match action {
        RunsAction::List {
            name,
            tag,
            valid,
            invalid,
            limit,
            names,
            json,
        } => {
            let valid = (valid || invalid).then_some(valid);
            let filter = Filter {
                name,
                tag: tag.map(|tag| (tag.key, tag.value)),
                valid,
                limit,
            };
            match names {
                true => list_names(&home, &filter),
                false => list(&home, &filter, json),
            }
        }
        RunsAction::Show {
            run,
            json,
            live,
            speed,
        } => {
            if live {
                replay::show(&find(&Store::open_existing(&home)?, &run)?, speed)?;
            }
            show(&home, &run, json)
        }
        RunsAction::Export {
            run,
            format,
            data,
            bin,
            output,
            force,
        } => {
            let run = find(&Store::open_existing(home)?, &run)?;
            let what = export::What { format, data, bin };
            export::run(&run, what, &output, force)
        }
        RunsAction::Extrapolate(args) => extrapolate::run(&home, &args),
        RunsAction::Import(args) => import::run(&home, &args),
        RunsAction::Pack(args) => pack::run(&home, &args),
        RunsAction::Rm { runs } => remove(&home, &runs),
    }
}

fn list(home: &Path, filter: &Filter, json: bool) -> Result<Exit, CliError> {
    // Opened for writing where that is possible: the index is kept, and leftovers are cleaned.
    let store = match home.exists() {
        true => match Store::open(home) {
            Err(err) if err.is_read_only() || err.is_permission() || err.is_unsafe() => {
                Store::open_existing(home)?
            }
            other => other?,
        },
        // To look makes nothing.
        false => Store::open_existing(home)?,
    };
    let failed = |err| CliError::failed_to("list the runs").because(err);
    let index = store.index().map_err(failed)?;
    let rows = index.list(filter).map_err(failed)?;
    let is_empty = rows.is_empty();
    let foreign: Vec<String> = index
        .foreign()
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if json {
        let total = match filter.limit {
            None => rows.len(),
            Some(_) => {
                let all = Filter {
                    limit: None,
                    ..filter.clone()
                };
                index.list(&all).map_err(failed)?.len()
            }
        };
        let list = RunList {
            format: RUN_LIST_FORMAT.to_owned(),
            runs: rows.into_iter().map(RunListEntry::from).collect(),
            total: Some(total as u64),
            foreign,
        };
        output::json(&list)?;
    } else {
        let lines: Vec<RunListEntry> = rows.into_iter().map(RunListEntry::from).collect();
        // What is shown of an id means one run of the store, also where only some are listed.
        let all = match *filter == Filter::default() {
            true => Vec::new(),
            false => index.list(&Filter::default()).map_err(failed)?,
        };
        let ids: Vec<String> = all.iter().map(|row| row.id.to_string()).collect();
        print(&output::written(&Document::of_list(&lines, &ids, &foreign)))?;
    }
    home::remark_if_missing(home);
    if is_empty && let Some(other) = home::elsewhere(store.home()) {
        remark(&format!("{}: {other}.", sentence(store.home())));
    }
    Ok(Exit::Fine)
}

fn sentence(home: &Path) -> String {
    format!("Nothing found in {}", home.display())
}

/// Prints what selects a run: `last`, each name once, each id; for the completions of shells, which ask often, so
/// nothing is written.
fn list_names(home: &Path, filter: &Filter) -> Result<Exit, CliError> {
    let failed = |err| CliError::failed_to("list the runs").because(err);
    let index = Store::open_existing(home)?.index().map_err(failed)?;
    let rows = index.list(filter).map_err(failed)?;
    let named = rows
        .iter()
        .filter_map(|row| row.figures.as_ref().ok()?.name.clone());
    // A name from elsewhere may have several lines; it is chosen by its id.
    let names: BTreeSet<String> = named
        .filter(|name| !name.contains(char::is_control))
        .into_set();
    let last = rows.first().map(|_| "last".to_owned());
    let ids = rows.iter().map(|row| row.id.to_string());
    let lines: Vec<String> = last.into_iter().chain(names).chain(ids).collect();
    print(
        &lines
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    )?;
    Ok(Exit::Fine)
}

fn show(home: &Path, selector: &str, json: bool) -> Result<Exit, CliError> {
    let run = find(&Store::open_existing(home)?, selector)?;
    if json {
        output::write(|out| punctual_report::export::json_run(run.record(), out))?;
    } else {
        // A run whose histograms are damaged still shows what its record says.
        let item = pages::item(RunSource::Stored(run.clone())).unwrap_or_else(|err| {
            remark(&format!("Not drawn: {}.", err.what()));
            run.record().clone().into()
        });
        print(&text::run(item, output::columns(), text::Detail::Full))?;
        let size = run
            .size_bytes()
            .map_or_else(|_| "?".to_owned(), |b| b.to_string());
        let samples = if run.has_samples() {
            "with every sample"
        } else {
            "without its samples: their histogram and figures"
        };
        print(&format!(
            "\nStored    {}\n          {size} bytes, {samples}\n",
            run.path().display()
        ))?;
    }
    Ok(Exit::Fine)
}

fn remove(home: &Path, selectors: &[String]) -> Result<Exit, CliError> {
    let store = Store::open(home)?;
    // All are found before the first is removed: a mistake in the list removes nothing.
    let mut ids = Vec::new();
    for selector in selectors {
        let id = match store.find(selector) {
            Ok(run) => run.record().id.parse().ok(),
            // A run that cannot be read can still be removed, by its whole id.
            Err(FindError::Unreadable { .. }) => selector.parse().ok(),
            Err(_) => None,
        };
        match id {
            Some(id) if !ids.contains(&id) => ids.push(id),
            Some(_) => {}
            None => {
                find(&store, selector)?;
            }
        }
    }
    for id in ids {
        store.remove(id)?;
        remark(&format!("Removed run {id}."));
    }
    Ok(Exit::Fine)
}
