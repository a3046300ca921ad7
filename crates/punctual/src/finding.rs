// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What to do about runs that were named and are unavailable, and about what cannot be compared.

use std::path::Path;

use punctual_store::{Candidate, FindError, ReadError, Store, StoredRun};
use punctual_verdict::comparison::CompareError;
use punctual_verdict::select::{PathFault, SelectError};

use crate::error::CliError;
use crate::exit::Exit;
use crate::home;

/// Finds a run, or says which there are.
pub(crate) fn find(store: &Store, selector: &str) -> Result<StoredRun, CliError> {
    store
        .find(selector)
        .map_err(|err| not_found(store.home(), err))
}

fn not_found(store: &Path, err: FindError) -> CliError {
    let hint = match &err {
        FindError::NotFound { known, .. } => Some(
            home::elsewhere(store)
                .filter(|_| known.is_empty())
                .unwrap_or_else(|| LISTS.to_owned()),
        ),
        FindError::Ambiguous { candidates, .. } => Some(which(candidates)),
        FindError::Unreadable {
            source: ReadError::Path(path),
            ..
        } if path.is_permission() => Some(
            "this user may not read that run: read it as its owner or with sudo, or have its owner allow it (chmod -R \
             go+rX); `punctual runs list` lists the others"
                .to_owned(),
        ),
        FindError::Unreadable { .. } => Some(
            "`punctual runs rm` removes an unreadable run; until then its files are left alone"
                .to_owned(),
        ),
        _ => None,
    };
    // As of an experiment or a study that is not there, the command line is wrong.
    let exit = match &err {
        FindError::NotFound { .. } | FindError::Ambiguous { .. } => Exit::Usage,
        _ => Exit::Failed,
    };
    CliError::failed_to(format!("find a run in store {}", store.display()))
        .because(err)
        .exiting(exit)
        .hints(hint)
}

const LISTS: &str = "`punctual runs list` lists the runs of the store";

const UNREADABLE: &str =
    "`punctual runs list` says which runs cannot be read, and why; `punctual runs rm` removes one";

/// Asks which of several runs is meant, and names the newest.
fn which(candidates: &[Candidate]) -> String {
    const NAMED: usize = 5;
    let named: Vec<String> = candidates.iter().take(NAMED).map(named).collect();
    match candidates.len().saturating_sub(NAMED) {
        0 => format!("say which: {}", named.join(", ")),
        more => format!("choose one: {}, or one of {more} more", named.join(", ")),
    }
}

fn named(run: &Candidate) -> String {
    let id = run.id.to_string();
    // What the run says of itself may be somebody else's words.
    let plain = |text: &str| text.replace(char::is_control, "\u{fffd}");
    let minute = run.started.as_deref().and_then(|at| at.get(..16));
    let minute = minute.map(|at| plain(&at.replace('T', " ")));
    let about: Vec<String> = [run.name.as_deref().map(plain), minute]
        .into_iter()
        .flatten()
        .collect();
    match about.is_empty() {
        true => id,
        false => format!("{id} ({})", about.join(", ")),
    }
}

impl From<SelectError> for CliError {
    fn from(err: SelectError) -> Self {
        use SelectError as E;
        let what = err.to_string();
        match err {
            E::Few => Self::usage(what).hint(format!(
                "for example `punctual compare before-* after-*`; {LISTS}"
            )),
            E::Itself { .. } => Self::usage(what).hint(
                "name two groups of different runs; `punctual runs list` lists those of the store",
            ),
            E::SameName { name, selector } => Self::usage(what).hint(format!(
                "give one of them a different name: --group NAME=RUNS{}",
                match selector {
                    Some(value) if value != name => format!("; {}", is_a_tag(&name, &value)),
                    _ => String::new(),
                }
            )),
            E::Times { .. } => {
                Self::usage(what).hint("compare runs in virtual time only with one another")
            }
            E::InGroup {
                group,
                selector,
                source,
            } => Self::from(*source).hint(is_a_tag(&group, &selector)),
            E::NoRuns { unreadable: 0, .. } => {
                Self::failed_to(what).exiting(Exit::Usage).hint(LISTS)
            }
            E::NoRuns { .. } => Self::failed_to(what).hint(UNREADABLE),
            E::Find { home, source } => not_found(&home, source),
            E::Index { source, .. } => Self::failed_to(what).because(source),
            E::Histograms { source, .. } | E::Samples { source, .. } => {
                Self::failed_to(what).because(source)
            }
            E::Path { source, .. } => {
                let hint = match &source {
                    PathFault::NoRun => {
                        Some("name the directory of a run, or of several, or the JSON of a run")
                    }
                    PathFault::Json(_) => Some(
                        "a file is the JSON of a run, as `measure --json` prints it; import the \
                         output of other tools first with `punctual runs import`",
                    ),
                    _ => None,
                };
                Self::failed_to(what).because(source).hints(hint)
            }
            // The rest is a command line that is not written as one.
            _ => Self::usage(what),
        }
    }
}

/// The error of runs whose group nobody named: its name says nothing.
pub(crate) fn unnamed(err: SelectError) -> CliError {
    match err {
        SelectError::InGroup { source, .. } => (*source).into(),
        err => err.into(),
    }
}

fn is_a_tag(name: &str, value: &str) -> String {
    format!("if `{name}` is a tag of the runs: --group tag={name}={value}")
}

impl From<CompareError> for CliError {
    fn from(err: CompareError) -> Self {
        let hint = match &err {
            CompareError::NoFigure { asked }
                if asked.iter().any(|of| of.starts_with("misses:")) =>
            {
                "measure with --deadline TIME to count misses; `punctual runs show RUN` shows the figures that a run has"
            }
            CompareError::AllRefused { .. } => {
                "`punctual runs show RUN` shows the check that failed"
            }
            CompareError::NoFigure { .. } => {
                "`punctual runs show RUN` shows the figures that a run has"
            }
            CompareError::Meaning { .. } => "compare runs of one instrument with one another",
            CompareError::Unit { .. } => "name another figure, or runs that state it in one unit",
            CompareError::Twice { .. } => "`punctual runs rm RUN` removes one of them",
            _ => return Self::failed_to("compare").because(err),
        };
        let wrong = !err.is_for_want_of_figures();
        let error = Self::failed_to("compare").because(err).hint(hint);
        match wrong {
            true => error.exiting(Exit::Usage),
            false => error,
        }
    }
}
