// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Experiments as the verbs carry them out: `experiment`, `study`, `tune trial`, `kernel latency-test`, `kernel once` and
//! `report`.

pub(crate) mod boots;
mod left_out;
mod own_cpus;
pub(crate) mod plan;
pub(crate) mod results;
pub(crate) mod runner;
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
use self::runner::{Child, Way};
use self::view::{Teller, Watchers};
use crate::error::{CliError, of_store};
use crate::exit::Exit;
use crate::home;
use crate::metrics::Metrics;
use crate::output::{print, remark};
use crate::recording::new_id;
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

/// How an experiment is carried out, and who sees it.
#[derive(Clone, Default)]
pub(crate) struct Manner<'a> {
    pub(crate) quiet: bool,
    pub(crate) metrics: Option<Arc<Metrics>>,
    /// Guests in virtual time that run at once; one a CPU where nothing is said.
    pub(crate) jobs: Option<usize>,
    /// How runs are done, if not each as a process.
    pub(crate) way: Option<Way<'a>>,
}

/// Goes on with the experiment `name`.
pub(crate) fn resume(
    home: Option<&Path>,
    name: &str,
    manner: Manner<'_>,
) -> Result<Exit, CliError> {
    let store = Store::open(home::find(home)?)?;
    let dir = dir_of(store.home(), name);
    status::must_exist(store.home(), name)?;
    let mut state = State::open(&dir)?;
    let experiment = experiment_of(state.text(), state.plan())?;
    tuned::require(&experiment, state.plan())?;
    finish(&store, &experiment, &mut state, manner)
}

/// Carries an experiment out to its end, and says how far it is.
pub(crate) fn finish(
    store: &Store,
    experiment: &Experiment,
    state: &mut State,
    manner: Manner<'_>,
) -> Result<Exit, CliError> {
    let stop = StopRequest::on_signals()?;
    match go_on(store, experiment, state, stop, manner)? {
        Ending::Stopped => {
            remark(&format!("Stopped. {}", how_to_resume(experiment)));
            return Ok(Exit::Failed);
        }
        Ending::Time => remark("The next block does not fit into the time left."),
        Ending::Resolved => remark("Every comparison is resolved."),
        Ending::Completed => {}
    }
    let name = &experiment.name;
    let summary = status::summary(state.dir())?;
    print(&status::text(&summary))?;
    print(&format!(" results: `punctual experiment results {name}`\n"))?;
    Ok(match summary.unmeasured().is_empty() {
        true => Exit::Fine,
        false => Exit::Failed,
    })
}

/// Says how an experiment is gone on with.
pub(crate) fn how_to_resume(experiment: &Experiment) -> String {
    resume_by(experiment.command.as_deref(), &experiment.name)
}

/// The same, of the experiment `name` that `command` makes.
fn resume_by(command: Option<&str>, name: &str) -> String {
    match command {
        None => format!("Continue with `punctual experiment resume {name}`."),
        Some(command) => {
            format!("Continue with `punctual {command} --resume {name}` and the same options.")
        }
    }
}

/// Begins the experiment that `command` makes, or goes on with the one that it began as `resumed`. Its text, made by
/// `text` of its name, must be the same then, and so must its `seed`, where one is asked for.
pub(crate) fn of_command(
    store: &Store,
    command: &str,
    resumed: Option<&str>,
    seed: Option<u64>,
    text: impl Fn(&str) -> Result<String, CliError>,
) -> Result<(Experiment, State), CliError> {
    if let Some(name) = resumed {
        status::must_exist(store.home(), name)?;
        let state = State::open(&dir_of(store.home(), name))?;
        let known = state.plan().seed;
        if let Some(seed) = seed.filter(|seed| *seed != known) {
            return Err(
                CliError::usage(format!("--seed {seed}: {name} was started with {known}"))
                    .hint("leave --seed out: the orders go on as they were begun"),
            );
        }
        if state.text() != text(name)? {
            return Err(CliError::usage(format!(
                "--resume {name}: it was started with other options, or the machine has changed"
            ))
            .hint("give the same options as before; experiment.toml in its directory shows what they meant"));
        }
        return Ok((experiment_of(state.text(), state.plan())?, state));
    }
    let id = new_id()?.as_u64_pair();
    let verb = command.rsplit(' ').next().unwrap_or(command);
    // The time comes first, so that names are in their order, and chance after it, for those of one moment.
    let name = format!("{verb}-{:012x}-{:04x}", id.0 >> 16, id.1 & 0xffff);
    let text = text(&name)?;
    let read = Read {
        experiment: Experiment::parse(&name, &text)?,
        file: name.clone(),
        text,
    };
    // The last bits of an id are random.
    let seed = seed.unwrap_or(id.1 & 0xffff_ffff);
    let plan = plan::of(&read, Some(seed))?;
    let state = State::create(&dir_of(store.home(), &name), &plan, &read.text)?;
    Ok((read.experiment, state))
}

/// Carries an experiment out from where it is.
pub(crate) fn go_on(
    store: &Store,
    experiment: &Experiment,
    state: &mut State,
    stop: StopRequest,
    manner: Manner<'_>,
) -> Result<Ending, CliError> {
    let name = state.plan().name.clone();
    let quiet = manner.quiet;
    let mut view = View::pick(quiet, &stop);
    let title = experiment.command.clone();
    view.title(&title.unwrap_or_else(|| format!("experiment {name}")));
    let watchers = Watchers {
        screen: view.feed(),
        metrics: manner.metrics.clone(),
    };
    let runner = Child::new(store, &name, stop, watchers.clone(), &manner);
    let mut teller = Teller::new(store, experiment, state.plan().clone(), quiet, watchers);
    let ending = carry_out(experiment, state, &runner, &mut teller);
    view.clear();
    ending.map_err(|err| {
        CliError::from(err).hint(format!(
            "finished runs are kept; once the cause is fixed: {}",
            how_to_resume(experiment)
        ))
    })
}

/// What helps where an experiment's files cannot be read or written.
pub(crate) fn hint(err: &LabError) -> Option<&'static str> {
    match err {
        LabError::Path(path) => of_store(path.is_full(), path.is_read_only(), path.is_permission()),
        _ => None,
    }
}

impl From<LabError> for CliError {
    fn from(err: LabError) -> Self {
        match &err {
            err if err.is_usage() => Self::usage(err.to_string()),
            LabError::Busy { .. } => Self::failed_to("go on").because(err),
            _ => {
                let hint = hint(&err);
                Self::failed_to("run the experiment")
                    .because(err)
                    .hints(hint)
            }
        }
    }
}
