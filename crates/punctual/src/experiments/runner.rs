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

use punctual_lab::engine::{Outcome, Runner};
use punctual_lab::plan::Invocation;
use punctual_lab::state::RunEnd;
use punctual_model::{Ended, Nanos};
use punctual_store::{Store, StoredRun};
use punctual_verdict::words::failed_checks;
use uuid::Uuid;

use super::aside::Aside;
use super::tuned;
use super::view::Watchers;
use crate::recording::{PARENT, RUN_ID};
use crate::signals::StopRequest;
use crate::view::{TELL, told};

/// Time between two looks at the process.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long a run may take to end after it was asked to.
const GRACE: Duration = Duration::from_secs(15);

/// Runs as processes.
#[derive(Clone, Debug)]
pub(super) struct Child {
    home: PathBuf,
    runs: PathBuf,
    name: String,
    stop: StopRequest,
    watchers: Watchers,
}

impl Child {
    /// Runs for experiment `name`, into `store`, until `stop`; `watchers` get to know how each goes.
    pub(super) fn new(store: &Store, name: &str, stop: StopRequest, watchers: Watchers) -> Self {
        Self {
            home: store.home().to_owned(),
            runs: store.runs_dir().to_owned(),
            name: name.to_owned(),
            stop,
            watchers,
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
        let mut aside = Aside::begin();
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

impl Runner for Child {
    fn run(&mut self, run: Uuid, what: &Invocation) -> (RunEnd, Option<String>) {
        if let Err(why) = tuned::settle(&|| self.stop.is_set()) {
            let end = if self.stop.is_set() {
                RunEnd::Interrupted
            } else {
                RunEnd::Failed
            };
            return (end, Some(why));
        }
        let error = match self.command(run, what).spawn() {
            Ok(child) => self.wait(child),
            Err(err) => return (RunEnd::Failed, Some(format!("start the run: {err}"))),
        };
        let stopped = self.stop.is_set();
        self.find(run).unwrap_or_else(|| {
            let end = if stopped {
                RunEnd::Interrupted
            } else {
                RunEnd::Failed
            };
            let why = error.unwrap_or_else(|| "it ended without a record or an error".to_owned());
            (end, Some(why))
        })
    }

    /// One a CPU, as a latency test has them.
    fn lanes(&self) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    fn run_together(&mut self, runs: &[(Uuid, Invocation)]) -> Vec<Outcome> {
        thread::scope(|scope| {
            let started: Vec<_> = runs
                .iter()
                .map(|(run, what)| {
                    let mut own = self.clone();
                    scope.spawn(move || {
                        let began = Instant::now();
                        let (end, detail) = own.run(*run, what);
                        Outcome {
                            end,
                            detail,
                            seconds: began.elapsed().as_secs_f64(),
                        }
                    })
                })
                .collect();
            let ends = started.into_iter().map(|run| {
                run.join().unwrap_or_else(|_| Outcome {
                    end: RunEnd::Failed,
                    detail: Some("the thread that watched it panicked".to_owned()),
                    seconds: 0.0,
                })
            });
            ends.collect()
        })
    }

    fn find(&mut self, run: Uuid) -> Option<(RunEnd, Option<String>)> {
        let stored = StoredRun::open(self.runs.join(run.to_string())).ok()?;
        let record = stored.record();
        Some(match (record.ended, record.valid) {
            (Some(Ended::Interrupted), _) => {
                let why = "ended early by a signal; kept in the store";
                (RunEnd::Interrupted, Some(why.to_owned()))
            }
            (_, true) => (RunEnd::Valid, None),
            (_, false) => (RunEnd::Invalid, Some(failed_checks(record))),
        })
    }

    fn rest(&mut self, span: Nanos) {
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
