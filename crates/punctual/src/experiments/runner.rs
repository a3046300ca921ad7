// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! One run of an experiment: this program again, in a process of its own.
//!
//! A process of its own has fresh memory and no history of the runs before it, and if it dies, the
//! experiment does not. It gets the id of its run by `PUNCTUAL_RUN_ID`, so that a run that was in
//! flight when the experiment ended can be looked for.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{ChildStderr, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use punctual_lab::engine::{Ended, Runner};
use punctual_lab::plan::Invocation;
use punctual_lab::state::RunEnd;
use punctual_model::{Nanos, RunRecord};
use punctual_store::{Store, StoredRun};
use punctual_verdict::words::failed_checks;
use uuid::Uuid;

use super::own_cpus::OwnCpus;
use super::view::Watchers;
use super::{Manner, tuned};
use crate::recording::{PARENT, RUN_ID};
use crate::signals::StopRequest;
use crate::view::{TELL, told};

/// Time between two looks at the process.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a run may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(15);

/// A way to do runs that is not just a process for each.
#[derive(Clone, Copy)]
pub(crate) struct Way<'a> {
    /// As [`Runner::boots`].
    pub(crate) boots: bool,
    pub(crate) run: &'a Run<'a>,
}

/// As [`Runner::run`].
type Run<'a> = dyn Fn(&Child<'_>, &[(Uuid, Invocation)]) -> Vec<Ended> + Sync + 'a;

/// Runs as processes, unless there is another way.
pub(crate) struct Child<'a> {
    home: PathBuf,
    runs: PathBuf,
    name: String,
    stop: StopRequest,
    watchers: Watchers,
    jobs: Option<usize>,
    way: Option<Way<'a>>,
}

impl<'a> Child<'a> {
    /// Runs for experiment `name`, into `store`, until `stop`; `watchers` get to know how each goes.
    pub(super) fn new(
        store: &Store,
        name: &str,
        stop: StopRequest,
        watchers: Watchers,
        manner: &Manner<'a>,
    ) -> Self {
        Self {
            home: store.home().to_owned(),
            runs: store.runs_dir().to_owned(),
            name: name.to_owned(),
            stop,
            watchers,
            jobs: manner.jobs,
            way: manner.way,
        }
    }

    fn command(&self, run: Uuid, what: &Invocation) -> Command {
        // Our own program, also where the file was replaced since we started.
        let mut command = Command::new("/proc/self/exe");
        command
            .arg("--home")
            .arg(&self.home)
            .args(&what.arguments)
            .args(["--quiet", "--name", &self.name])
            .args(
                what.tags
                    .iter()
                    .map(|(key, value)| format!("--tag={key}={value}")),
            )
            .envs(&what.env)
            .env(RUN_ID, run.to_string())
            .env(PARENT, std::process::id().to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0);
        match self.watchers.are_any() {
            true => command.env(TELL, "events"),
            false => command.env_remove(TELL),
        };
        for variable in &what.unset {
            command.env_remove(variable);
        }
        command
    }

    /// Waits for the process, and asks it to end when the experiment is to stop.
    fn wait(&self, mut child: std::process::Child) -> Option<String> {
        let stderr = child.stderr.take();
        let watchers = self.watchers.clone();
        let read = move |stderr| first_error(stderr, &watchers);
        let reader = thread::spawn(move || stderr.map(read).unwrap_or_default());
        let mut asked: Option<Instant> = None;
        let mut aside = OwnCpus::begin();
        while let Ok(None) = child.try_wait() {
            match asked {
                None if self.stop.is_set() => {
                    punctual_sys::thread::ask_to_end(child.id());
                    asked = Some(Instant::now());
                }
                Some(since) if since.elapsed() > GRACE => {
                    // It fails only when the process is gone already.
                    drop(child.kill());
                    drop(child.wait());
                    break;
                }
                _ => {}
            }
            aside.follow(child.id());
            thread::sleep(LOOK_EVERY);
        }
        drop(aside);
        reader.join().unwrap_or_default()
    }
}

impl Child<'_> {
    /// Does runs as processes.
    pub(crate) fn processes(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        runs.iter()
            .map(|(run, what)| self.one(*run, what))
            .collect()
    }

    /// How a run that makes no record ended.
    pub(crate) fn unrecorded(&self, why: String) -> Ended {
        match self.stop.is_set() {
            true => (RunEnd::Interrupted, Some(why)),
            false => (RunEnd::Failed, Some(why)),
        }
    }

    fn one(&self, run: Uuid, what: &Invocation) -> Ended {
        if let Err(why) = tuned::settle("measure", &|| self.stop.is_set()) {
            return self.unrecorded(why);
        }
        let error = match self.command(run, what).spawn() {
            Ok(child) => self.wait(child),
            Err(err) => return (RunEnd::Failed, Some(format!("start the run: {err}"))),
        };
        self.find(run).unwrap_or_else(|| {
            let silent = || "it ended without a record or an error".to_owned();
            self.unrecorded(error.unwrap_or_else(silent))
        })
    }
}

/// Says what a record is to an experiment.
pub(crate) fn end_of(record: &RunRecord) -> Ended {
    match (record.ended, record.valid) {
        (Some(punctual_model::Ended::Interrupted), _) => {
            let why = "ended early by a signal; kept in the store";
            (RunEnd::Interrupted, Some(why.to_owned()))
        }
        (_, true) => (RunEnd::Valid, None),
        (_, false) => (RunEnd::Invalid, Some(failed_checks(record))),
    }
}

impl Runner for Child<'_> {
    fn run(&self, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        match self.way {
            Some(way) => (way.run)(self, runs),
            None => self.processes(runs),
        }
    }

    fn boots(&self) -> bool {
        self.way.is_some_and(|way| way.boots)
    }

    /// One a CPU, unless the user says how many.
    fn lanes(&self) -> usize {
        let cpus = || thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(cpus)
    }

    fn find(&self, run: Uuid) -> Option<Ended> {
        let stored = StoredRun::open(self.runs.join(run.to_string())).ok()?;
        Some(end_of(stored.record()))
    }

    fn rest(&self, span: Nanos) {
        let end = Instant::now() + Duration::from(span);
        while Instant::now() < end && !self.stop.is_set() {
            thread::sleep(LOOK_EVERY.min(end.saturating_duration_since(Instant::now())));
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }
}

/// Returns the first error of the process, with its cause, and passes its events on. Reads all, so that
/// the process can write.
fn first_error(stderr: ChildStderr, watchers: &Watchers) -> Option<String> {
    let mut said: Option<String> = None;
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Some(event) = told(&line) {
            watchers.event(event);
            continue;
        }
        if let Some(error) = line.strip_prefix("Error: ") {
            said.get_or_insert_with(|| error.to_owned());
        } else if let (Some(cause), Some(said)) = (line.strip_prefix("  caused by: "), &mut said) {
            said.push_str(": ");
            said.push_str(cause);
        }
    }
    said
}
