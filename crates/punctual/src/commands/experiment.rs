// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual experiment`.

mod aside;
mod edited;
mod left_out;
pub(crate) mod plan;
mod remove;
pub(crate) mod results;
mod runner;
mod status;
mod sweep;
pub(crate) mod tuned;
mod view;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
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
use crate::cli::{ExperimentAction, ExperimentResumeArgs, ExperimentRunArgs, MetricsArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::metrics::Metrics;
use crate::output::{print, remark};
use crate::signals::StopRequest;
use crate::view::View;

/// More runs than this are asked about first.
const MANY_RUNS: u64 = 1_000;

/// More seconds of measuring than this are asked about first.
const LONG: f64 = 24.0 * 3_600.0;

/// Does what `action` says.
pub(crate) fn run(home: Option<&Path>, action: ExperimentAction) -> Result<Exit, CliError> {
    match action {
        ExperimentAction::Plan(args) => plan::show(&args),
        ExperimentAction::Run(args) => begin(home, &args),
        ExperimentAction::Resume(args) => resume(home, &args),
        ExperimentAction::Status(args) => status::show(home, &args),
        ExperimentAction::Rm(args) => remove::run(home, &args),
        ExperimentAction::Results(args) => results::show(home, &args),
        ExperimentAction::Sweep(args) => sweep::write(args),
    }
}

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
fn read(path: &Path, given: &[(String, toml::Value)]) -> Result<Read, CliError> {
    let file = path.display().to_string();
    let failed = |err: io::Error| CliError::failed_to(format!("read {file}")).because(err);
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|f| f.take(FILE_LIMIT + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(CliError::usage(format!(
            "{file}: larger than {FILE_LIMIT} bytes, which no experiment is"
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

fn begin(home: Option<&Path>, args: &ExperimentRunArgs) -> Result<Exit, CliError> {
    let read = read(&args.file, &args.parameter)?;
    let plan = plan::of(&read, args.seed)?;
    tuned::require(&read.experiment, &plan)?;
    remark_on_skipped(&plan);
    let store = Store::open(home::find(home)?)?;
    let dir = dir_of(store.home(), &plan.name);
    let exists = dir.symlink_metadata().is_ok();
    if exists && !args.replan {
        return Err(edited::already_there(&dir, &read, &plan));
    }
    if !args.yes {
        ask(&plan::Cost::of(&read.experiment, &plan))?;
    }
    let metrics = Metrics::of(&args.metrics, "experiment", Some(&plan.name))?;
    let mut state = match exists {
        true => edited::go_on_by(&dir, &read, &plan)?,
        false => State::create(&dir, &plan, &read.text)?,
    };
    let experiment = read.experiment.only(&plan.measurements);
    finish(&store, &experiment, &mut state, args.quiet, metrics)
}

/// Says what is left out before anything is measured.
fn remark_on_skipped(plan: &Plan) {
    for skipped in &plan.skipped {
        remark(&format!("Left out: {}: {}", skipped.what, skipped.reason));
    }
}

/// Reads the experiment in `dir`, without what its plan left out.
pub(crate) fn experiment_of(text: &str, plan: &Plan) -> Result<Experiment, CliError> {
    Ok(Experiment::parse("experiment.toml", text)?.only(&plan.measurements))
}

/// Goes on with the experiment `name`.
pub(super) fn go_on_with(home: Option<&Path>, name: &str) -> Result<Exit, CliError> {
    let args = ExperimentResumeArgs {
        name: name.to_owned(),
        metrics: MetricsArgs::default(),
        quiet: true,
    };
    resume(home, &args)
}

/// Fails where there is no experiment `name`.
pub(super) fn must_exist(home: Option<&Path>, name: &str) -> Result<(), CliError> {
    status::must_exist(&home::find(home)?, name)
}

fn resume(home: Option<&Path>, args: &ExperimentResumeArgs) -> Result<Exit, CliError> {
    let store = Store::open(home::find(home)?)?;
    let dir = dir_of(store.home(), &args.name);
    status::must_exist(store.home(), &args.name)?;
    let mut state = State::open(&dir)?;
    let experiment = experiment_of(state.text(), state.plan())?;
    tuned::require(&experiment, state.plan())?;
    let metrics = Metrics::of(&args.metrics, "experiment", Some(&args.name))?;
    finish(&store, &experiment, &mut state, args.quiet, metrics)
}

fn finish(
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
                "Stopped. Go on with `punctual experiment resume {name}`."
            ));
            return Ok(Exit::Failed);
        }
        Ending::Time => remark("The next block does not fit into the time."),
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
            "what is done is kept; when the reason is gone: `punctual experiment resume {name}`"
        );
        CliError::from(err).hint(hint)
    })
}

/// Asks whether to begin something that takes very long.
fn ask(cost: &plan::Cost) -> Result<(), CliError> {
    if cost.runs <= MANY_RUNS && cost.most() <= LONG {
        return Ok(());
    }
    let what = format!("{} runs, {}", cost.runs, cost.time());
    let refused = || {
        CliError::usage(format!("not begun: {what}")).hint(
            "fewer levels, a fraction (design = \"resolution-four\") or fewer blocks; or --yes",
        )
    };
    if !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(refused());
    }
    eprint_question(&format!("{what}. Begin? [y/N] "));
    let mut answer = String::new();
    io::stdin()
        .read_line(&mut answer)
        .map_err(|err| CliError::failed_to("read the answer").because(err))?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(refused()),
    }
}

fn eprint_question(text: &str) {
    let mut err = io::stderr();
    drop(err.write_all(text.as_bytes()).and_then(|()| err.flush()));
}

impl From<LabError> for CliError {
    fn from(err: LabError) -> Self {
        match &err {
            err if err.is_usage() => Self::usage(err.to_string()),
            LabError::Busy { .. } => Self::failed_to("go on").because(err),
            _ => Self::failed_to("carry the experiment out").because(err),
        }
    }
}
