// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments as the verbs carry them out: `experiment`, `study`, `kernel once` and `report`.

mod aside;
mod left_out;
pub(crate) mod plan;
pub(crate) mod results;
mod runner;
pub(crate) mod status;
pub(crate) mod tuned;
mod view;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use punctual_lab::LabError;
use punctual_lab::engine::{Ending, carry_out};
use punctual_lab::file::{Experiment, FILE_LIMIT};
use punctual_lab::parameters;
use punctual_lab::plan::Plan;
use punctual_lab::state::State;
use punctual_store::Store;

pub(crate) use self::left_out::lack_of;
use self::runner::Child;
use self::view::{Teller, Watchers};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::metrics::Metrics;
use crate::output::{print, remark};
use crate::signals::StopRequest;
use crate::view::View;

/// An experiment and the text that it was read from.
pub(crate) struct Read {
    pub(crate) experiment: Experiment,
    pub(crate) text: String,
    pub(crate) file: String,
}

impl Read {
    /// Reads the text of `file`, its parameters filled in.
    pub(crate) fn of(file: &str, text: &str, parameters: &toml::Table) -> Result<Self, CliError> {
        let text = parameters::fill(file, text, parameters)?;
        Ok(Self {
            experiment: Experiment::parse(file, &text)?,
            text,
            file: file.to_owned(),
        })
    }
}

/// Reads the file of an experiment.
pub(crate) fn read(path: &Path, given: &[(String, toml::Value)]) -> Result<Read, CliError> {
    let file = path.display().to_string();
    let failed = |err: io::Error| CliError::failed_to(format!("read {file}")).because(err);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|f| f.take(FILE_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(CliError::usage(format!(
            "{file}: larger than {FILE_LIMIT} bytes, too large for an experiment"
        )));
    }
    let text = String::from_utf8(bytes)
        .map_err(|err| CliError::usage(format!("{file}: not UTF-8 text: {err}")))?;
    Read::of(&file, &text, &given.iter().cloned().collect())
}

/// Returns the directory of the experiment `name`, whose name was checked when it was made.
pub(crate) fn dir_of(home: &Path, name: &str) -> PathBuf {
    home.join("experiments").join(name)
}

/// Reads the experiment in `dir`, without what its plan left out.
pub(crate) fn experiment_of(text: &str, plan: &Plan) -> Result<Experiment, CliError> {
    Ok(Experiment::parse("experiment.toml", text)?.only(&plan.measurements))
}

/// Goes on with the experiment `name`.
pub(crate) fn resume(
    home: Option<&Path>,
    name: &str,
    quiet: bool,
    metrics: Option<Arc<Metrics>>,
) -> Result<Exit, CliError> {
    let store = Store::open(home::find(home)?)?;
    let dir = dir_of(store.home(), name);
    status::must_exist(store.home(), name)?;
    let mut state = State::open(&dir)?;
    let experiment = experiment_of(state.text(), state.plan())?;
    tuned::require(&experiment, state.plan())?;
    finish(&store, &experiment, &mut state, quiet, metrics)
}

/// Carries an experiment out to its end, and says how far it is.
pub(crate) fn finish(
    store: &Store,
    experiment: &Experiment,
    state: &mut State,
    quiet: bool,
    metrics: Option<Arc<Metrics>>,
) -> Result<Exit, CliError> {
    let stop = StopRequest::on_signals()?;
    let name = state.plan().name.clone();
    match go_on(store, experiment, state, stop, quiet, metrics)? {
        Ending::Stopped => {
            remark(&format!(
                "Stopped. Continue with `punctual experiment resume {name}`."
            ));
            return Ok(Exit::Failed);
        }
        Ending::Time => remark("The next block does not fit into the time left."),
        Ending::Resolved => remark("Every comparison is resolved."),
        Ending::Completed => {}
    }
    print(&status::text(&status::summary(state.dir())?))?;
    print(&format!(" results: `punctual experiment results {name}`\n"))?;
    Ok(Exit::Fine)
}

/// Carries an experiment out from where it is.
pub(crate) fn go_on(
    store: &Store,
    experiment: &Experiment,
    state: &mut State,
    stop: StopRequest,
    quiet: bool,
    metrics: Option<Arc<Metrics>>,
) -> Result<Ending, CliError> {
    let name = state.plan().name.clone();
    let mut view = View::pick(quiet, &stop);
    view.title(&format!("experiment {name}"));
    let screen = view.feed();
    let watchers = Watchers { screen, metrics };
    let mut child = Child::new(store, &name, stop, watchers.clone());
    let mut teller = Teller::new(store, experiment, state.plan().clone(), quiet, watchers);
    let ending = carry_out(experiment, state, &mut child, &mut teller);
    view.clear();
    ending.map_err(|err| {
        let hint = format!(
            "finished runs are kept; once the cause is fixed: `punctual experiment resume {name}`"
        );
        CliError::from(err).hint(hint)
    })
}

impl From<LabError> for CliError {
    fn from(err: LabError) -> Self {
        match &err {
            err if err.is_usage() => Self::usage(err.to_string()),
            LabError::Busy { .. } => Self::failed_to("go on").because(err),
            _ => Self::failed_to("run the experiment").because(err),
        }
    }
}
