// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Watching our own measuring threads while an instrument measures: why was that wake-up late?

use std::fs::File;
use std::io::Write as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

use punctual_model::watch::Watched;
use punctual_model::{Check, Finding, Nanos};
use punctual_stats::Keep;
use punctual_sys::{SysRoot, clock};

use super::source::Source;
use super::who::Tid;
use super::{Hit, LOOK_EVERY, Matters, Taken, Target, Watch, Watcher};
use crate::error::MeasureError;
use crate::frame::Found;
use crate::trace::{self, buffer_kib};

/// Trace buffer of each CPU, in KiB: loads that fill the machine with events keep the watcher from reading them for a second.
const BUFFER_KIB: u32 = 16 * 1_024;

/// Somebody who watches the measuring threads of this process.
#[derive(Debug)]
pub struct Beside {
    /// End recording where the run ends: the watcher may be seconds behind what it reads.
    switches: Vec<File>,
    /// Says where the run begins and ends.
    tell: Sender<Told>,
    /// When watching began, from which the watcher counts.
    began: Nanos,
    watcher: JoinHandle<Result<Explained, MeasureError>>,
}

/// Messages to the watcher.
#[derive(Debug)]
enum Told {
    /// The run begins at this time; cycles before are not counted.
    Begun(u64),
    /// It is over. The wake-up that ended it, if one did.
    Over(Option<Hit>),
}

#[derive(Debug)]
struct Explained {
    watched: Watched,
    checks: Vec<Check>,
    findings: Vec<Finding>,
}

impl Beside {
    /// Watches threads of this process whose names begin as those of `instrument` do, from now on.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Tracing`] where tracing is unavailable.
    pub fn start(sys: &SysRoot, instrument: &str) -> Result<Self, MeasureError> {
        // Threads of `wakeup` have the name of the whole verb.
        let threads = vec![format!("{instrument}/"), "measure/".to_owned()];
        Self::watching(sys, Target::Process(std::process::id()), threads)
    }

    /// Watches the threads of the timerlat tracer, which runs already, and what that says of them itself.
    ///
    /// # Errors
    ///
    /// As [`Self::start`].
    pub(crate) fn start_timerlat(sys: &SysRoot, tids: Vec<Tid>) -> Result<Self, MeasureError> {
        Self::watching(sys, Target::Timerlat(tids), Vec::new())
    }

    /// Watches those of `target` that have these names, or all where there is none.
    fn watching(sys: &SysRoot, target: Target, threads: Vec<String>) -> Result<Self, MeasureError> {
        let watch = Watch {
            target,
            deadline: None,
            period: None,
            cycle_at: None,
            threads,
            output_to_stderr: false,
            keep_cycles: false,
            matters: Matters::OfTheMedian,
            stacks: Taken::None,
            // Both instances have it, and share what all buffers may take.
            buffer_kib: Some(buffer_kib(2 * BUFFER_KIB, &trace::cpus(sys)?) / 2),
        };
        let began = clock::monotonic();
        let keep = (Keep::default(), began.get());
        let begins_later = matches!(watch.target, Target::Timerlat(_));
        let (mut watcher, source) = Watcher::begin(sys, watch, keep, None)?;
        if begins_later {
            watcher.from = u64::MAX;
        }
        let switches = source.switches()?;
        let (tell, told) = channel();
        let work = move || attend(watcher, source, &told);
        let thread = std::thread::Builder::new().name("punctual-watch".to_owned());
        Ok(Self {
            switches,
            tell,
            began,
            watcher: thread.spawn(work).map_err(MeasureError::Spawn)?,
        })
    }

    /// Says that the run begins only now: threads that went their way before had cycles that are none of it.
    pub(crate) fn begin(&self, at: Nanos) {
        // Of a watcher that failed `finish` tells.
        drop(self.tell.send(Told::Begun(at.get())));
    }

    /// Ends watching, and adds to `found` what was seen. The run began at `origin`.
    ///
    /// # Errors
    ///
    /// Fails where the trace could not be read.
    pub fn finish(mut self, origin: Nanos, found: &mut Found) -> Result<(), MeasureError> {
        let hit = found.threshold.as_ref().map(|threshold| Hit {
            at: origin.get() + threshold.sample.t_ns,
            latency: threshold.sample.latency_ns,
            cpu: threshold.sample.cpu,
        });
        // Closed, too: an instance with an open file cannot be removed.
        for mut switch in self.switches.drain(..) {
            // The watcher does it again, and says if it cannot be done.
            drop(switch.write_all(b"0"));
        }
        // If it failed, joining it returns the error.
        drop(self.tell.send(Told::Over(hit)));
        let explained = self.watcher.join();
        let mut explained = explained.map_err(|_| MeasureError::Defect { thread: 0 })??;
        count_from(origin, self.began, &mut explained.watched);
        found.checks.extend(explained.checks);
        found.watched = Some(Box::new(explained.watched));
        found.findings.extend(explained.findings);
        Ok(())
    }
}

/// Has the cycles of `watched`, whose times are since `began`, count from `origin` as the samples do.
fn count_from(origin: Nanos, began: Nanos, watched: &mut Watched) {
    for cycle in watched.threads.iter_mut().flat_map(|of| &mut of.worst) {
        cycle.release_ns = (began + Nanos::new(cycle.release_ns) - origin).get();
    }
}

fn attend(
    mut watcher: Watcher,
    mut source: Source,
    told: &Receiver<Told>,
) -> Result<Explained, MeasureError> {
    let hit = loop {
        match told.recv_timeout(LOOK_EVERY) {
            Err(RecvTimeoutError::Timeout) => watcher.look(&mut source)?,
            Err(RecvTimeoutError::Disconnected) => break None,
            Ok(Told::Begun(at)) => watcher.from = at,
            Ok(Told::Over(hit)) => break hit,
        }
    };
    // No option of these instruments makes the buffers larger.
    let lost = watcher.conclude(&mut source)?.without_advice();
    if let Some(hit) = hit {
        watcher.add_last(&hit);
    }
    let watched = watcher.watched(&source);
    let mut checks = watcher.checks(&watched, &source, lost);
    // Of the samples the instrument itself says whether there are any.
    checks.retain(|check| check.id != "samples");
    let findings = watcher.evidence(&watched, &source);
    source.remove()?;
    Ok(Explained {
        watched,
        checks,
        findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::watch::{WatchedThread, WorstCycle};

    #[test]
    fn releases_count_from_where_the_samples_do() {
        let cycle = WorstCycle {
            release_ns: 2_869_000_000,
            ..WorstCycle::default()
        };
        let mut watched = Watched {
            threads: vec![WatchedThread {
                worst: vec![cycle],
                ..WatchedThread::default()
            }],
            ..Watched::default()
        };
        // Loads, tracing and threads were made ready for a second before the first deadline was set.
        let began = Nanos::from_secs(50);
        let origin = began + Nanos::from_millis(1_170);
        count_from(origin, began, &mut watched);
        assert_eq!(watched.threads[0].worst[0].release_ns, 1_699_000_000);
    }
}
