// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads that do one job after another, each of them its part of every job.
//!
//! Between jobs they sleep, so that what is measured next begins on quiet CPUs.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use punctual_model::{Nanos, Progress};
use punctual_sys::clock;

use crate::crew::{Crew, Post, ThreadReport};
use crate::error::MeasureError;
use crate::frame::Frame;

/// Time between two looks at the clocks while a job is done.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What each thread does, given its number from 0.
type Job = Arc<dyn Fn(usize) + Send + Sync>;

/// Threads that wait for jobs.
#[derive(Debug)]
pub(crate) struct Pool {
    // Dropped first: the crew waits for its threads, and they wait at the desk.
    desk: OpenDesk,
    crew: Crew<()>,
    threads: usize,
}

/// A desk that is closed when nobody is left to lay out jobs.
#[derive(Debug, Default)]
struct OpenDesk(Arc<Desk>);

impl Drop for OpenDesk {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Where jobs are laid out and reported done.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    job: Option<Job>,
    /// Number of jobs so far.
    jobs: u64,
    /// Threads that are not done with the last one.
    busy: usize,
    begun: Option<Nanos>,
    ended: Nanos,
    panicked: bool,
    over: bool,
}

impl std::fmt::Debug for Desk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        f.debug_struct("Desk")
            .field("jobs", &state.jobs)
            .field("busy", &state.busy)
            .finish_non_exhaustive()
    }
}

impl Pool {
    /// Starts a thread a post.
    ///
    /// # Errors
    ///
    /// As [`Crew::assemble`].
    pub(crate) fn assemble(posts: Vec<Post>) -> Result<Self, MeasureError> {
        let desk = OpenDesk::default();
        let threads = posts.len();
        let works = posts.into_iter().enumerate().map(|(number, post)| {
            let desk = Arc::clone(&desk.0);
            (post, move || desk.serve(number))
        });
        let crew = Crew::assemble(works.collect())?;
        crew.go();
        Ok(Self {
            desk,
            crew,
            threads,
        })
    }

    /// Has every thread do `job`; returns the time from the first one's begin to the last one's end.
    ///
    /// The frame is attended meanwhile; a job that takes long looks at its stop flag.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Defect`] if a thread panicked.
    pub(crate) fn run(
        &self,
        frame: &mut Frame<'_>,
        mut progress: impl FnMut() -> Progress,
        job: impl Fn(usize) + Send + Sync + 'static,
    ) -> Result<Nanos, MeasureError> {
        let mut state = self.desk.0.lock();
        state.job = Some(Arc::new(job));
        state.jobs += 1;
        state.busy = self.threads;
        state.begun = None;
        drop(state);
        self.desk.0.changed.notify_all();
        loop {
            let state = self.desk.0.lock();
            let (mut state, _) = self
                .desk
                .0
                .changed
                .wait_timeout_while(state, LOOK_EVERY, |state| state.busy > 0)
                .unwrap_or_else(PoisonError::into_inner);
            if state.panicked {
                return Err(MeasureError::Defect { thread: 0 });
            }
            if state.busy == 0 {
                // What it holds is free again from here on.
                state.job = None;
                let took = state.ended - state.begun.unwrap_or(state.ended);
                drop(state);
                frame.look(&mut progress);
                return Ok(took);
            }
            drop(state);
            frame.look(&mut progress);
        }
    }

    /// Sends the threads home.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Defect`] if one of them panicked.
    pub(crate) fn finish(self) -> Result<Vec<ThreadReport>, MeasureError> {
        drop(self.desk);
        let done = self.crew.join()?;
        Ok(done.into_iter().map(|((), report)| report).collect())
    }
}

/// A thread at a job. It reports the end of it also when it panics.
struct AtJob<'a> {
    desk: &'a Desk,
}

impl Drop for AtJob<'_> {
    fn drop(&mut self) {
        let mut state = self.desk.lock();
        state.busy -= 1;
        state.ended = clock::monotonic();
        state.panicked |= std::thread::panicking();
        let last = state.busy == 0;
        drop(state);
        if last {
            self.desk.changed.notify_all();
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn close(&self) {
        self.lock().over = true;
        self.changed.notify_all();
    }

    /// The life of thread `number`.
    fn serve(&self, number: usize) {
        let mut done = 0;
        loop {
            let mut state = self
                .changed
                .wait_while(self.lock(), |state| state.jobs == done && !state.over)
                .unwrap_or_else(PoisonError::into_inner);
            if state.over {
                return;
            }
            done = state.jobs;
            let Some(job) = state.job.clone() else {
                continue;
            };
            let now = clock::monotonic();
            state.begun = state.begun.or(Some(now));
            drop(state);
            let guard = AtJob { desk: self };
            job(number);
            // Before the end is announced: whoever waits for it may want what the job holds.
            drop(job);
            drop(guard);
        }
    }
}
