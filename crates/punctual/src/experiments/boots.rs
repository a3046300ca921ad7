// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The runs of a cell in one guest in virtual time, which measures one after the other.
//!
//! Every byte of a guest's job moves its figures, so the job has nothing of the host, of the experiment or of chance in
//! it: kernels and seeds apart, all boots of a measurement do the same.

use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::Machine;
use punctual_kernel::guest::{Job, JobRun, RunAnswer};
use punctual_lab::engine::Ended;
use punctual_lab::plan::Invocation;
use punctual_lab::state::RunEnd;
use punctual_model::RunRecord;
use punctual_store::Store;
use uuid::Uuid;

use super::runner::{Child, end_of};
use crate::error::CliError;
use crate::guests::{self, Host};
use crate::signals::StopRequest;

/// What names the guest on a command line.
const TARGET: &str = "--target=";

/// Runs in guests.
#[derive(Debug)]
pub(crate) struct Boots<'a> {
    pub(crate) host: &'a Host,
    pub(crate) store: &'a Store,
    pub(crate) stop: StopRequest,
    /// Guests that did not come to their end.
    pub(crate) failures: Mutex<Vec<CliError>>,
}

impl Boots<'_> {
    /// Does the runs of a cell.
    pub(crate) fn run(&self, child: &Child<'_>, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        self.boot(runs).unwrap_or_else(|err| {
            let cause = err.cause().map(ToString::to_string);
            let end = child.unrecorded(cause.unwrap_or_else(|| err.what().to_owned()));
            if !self.stop.is_set() {
                let failures = self.failures.lock();
                failures.unwrap_or_else(PoisonError::into_inner).push(err);
            }
            vec![end; runs.len()]
        })
    }

    fn boot(&self, runs: &[(Uuid, Invocation)]) -> Result<Vec<Ended>, CliError> {
        let mut arguments = runs.iter().flat_map(|(_, what)| &what.arguments);
        let target = arguments.find_map(|argument| argument.strip_prefix(TARGET));
        let target: GuestTarget = target
            .unwrap_or_default()
            .parse()
            .map_err(|err| CliError::failed_to("boot a guest").because(err))?;
        let job = job_of(runs.iter().map(|(_, what)| what));
        let design = self.host.design(&target, Machine::Virtual)?;
        let started = SystemTime::now();
        let visit = self.host.visit(&target, &design, &job, &self.stop.flag())?;
        let kept = |((id, what), answer): (&(Uuid, Invocation), &RunAnswer)| {
            let guest = (&target, &design, self.host.agent());
            let record = match guests::record(guest, &visit, answer, started) {
                Ok(Some(record)) => record,
                Ok(None) => {
                    let said = answer.end.said.trim().replace('\n', ": ");
                    return (RunEnd::Failed, Some(format!("no run: {said}")));
                }
                Err(err) => {
                    let why = format!("its run cannot be read: {err}");
                    return (RunEnd::Failed, Some(why));
                }
            };
            let record = RunRecord {
                id: id.to_string(),
                name: what.tags.get("experiment").cloned(),
                tags: record.tags.into_iter().chain(what.tags.clone()).collect(),
                ..record
            };
            match guests::keep(self.store, *id, &visit, answer, &record) {
                Ok(_) => end_of(&record),
                Err(err) => (RunEnd::Failed, Some(format!("keep the run: {err}"))),
            }
        };
        let mut ends: Vec<Ended> = runs.iter().zip(&visit.answer.runs).map(kept).collect();
        // A run without an end would be neither done nor done again.
        let missing = || {
            (
                RunEnd::Failed,
                Some("the guest sent nothing for it".to_owned()),
            )
        };
        ends.resize_with(runs.len(), missing);
        Ok(ends)
    }
}

/// What a guest does: the measurements, one after the other, named by their places alone.
pub(crate) fn job_of<'a>(runs: impl Iterator<Item = &'a Invocation>) -> Job {
    let runs = runs.enumerate().map(|(number, what)| {
        let arguments = what.arguments.iter();
        let arguments = arguments.filter(|argument| !argument.starts_with(TARGET));
        JobRun {
            libraries: None,
            arguments: arguments.cloned().chain(["--quiet".to_owned()]).collect(),
            id: format!("00000000-0000-7000-8000-{number:012x}"),
        }
    });
    Job::of(runs.collect())
}
