// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Watching our own measuring threads while an instrument measures: why was that wake-up late?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use punctual_model::watch::Watched;
use punctual_model::{Check, Finding};
use punctual_stats::Keep;
use punctual_sys::tracefs::Tracefs;
use punctual_sys::{SysRoot, clock};

use super::replay::Replay;
use super::source::{self, Source};
use super::{LOOK_EVERY, Matters, THREADS, Target, Watch, Watcher, target};
use crate::error::MeasureError;
use crate::frame::Found;

/// Somebody who watches the measuring threads of this process.
#[derive(Debug)]
pub struct Beside {
    stop: Arc<AtomicBool>,
    watcher: JoinHandle<Result<Explained, MeasureError>>,
}

#[derive(Debug)]
struct Explained {
    watched: Watched,
    checks: Vec<Check>,
    cost: Option<Finding>,
}

impl Beside {
    /// Watches threads of this process whose names begin as those of `instrument` do, from now on.
    ///
    /// # Errors
    ///
    /// [`MeasureError::Tracing`] where tracing is unavailable.
    pub fn start(sys: &SysRoot, instrument: &str) -> Result<Self, MeasureError> {
        let watch = Watch {
            target: Target::Process(std::process::id()),
            deadline: None,
            cycle_at: None,
            // Threads of `wakeup` have the name of the whole verb.
            threads: vec![format!("{instrument}/"), "measure/".to_owned()],
            output_to_stderr: false,
            keep_cycles: false,
            matters: Matters::OfTheMedian,
        };
        let tracefs = Tracefs::open(sys)?;
        let cpus = sys
            .fact("/sys/devices/system/cpu/online")
            .unwrap_or_default();
        let source = Source::new(sys, tracefs, cpus)?;
        let present = target::threads_of(sys, &watch.target)?;
        let symbols = source::symbols(sys);
        let calls = source.decoder.has("raw_syscalls/sys_exit");
        let mut replay = Replay::new(source.cpus(), calls, THREADS, symbols);
        let mut tids = Vec::new();
        for (tid, name) in &present {
            replay.watch(*tid, name);
            tids.push(*tid);
        }
        source.follow(&tids)?;
        source.start()?;
        let exits = source::idle_exits(sys);
        let stop = Arc::<AtomicBool>::default();
        let stopped = Arc::clone(&stop);
        let origin = clock::monotonic().get();
        let work = move || {
            let watcher = Watcher::new(&watch, exits, replay, Keep::default(), origin);
            attend(watcher, source, &stopped)
        };
        let thread = std::thread::Builder::new().name("punctual-watch".to_owned());
        Ok(Self {
            stop,
            watcher: thread.spawn(work).map_err(MeasureError::Spawn)?,
        })
    }

    /// Ends watching, and adds to `found` what was seen.
    ///
    /// # Errors
    ///
    /// Fails where the trace could not be read.
    pub fn finish(self, found: &mut Found) -> Result<(), MeasureError> {
        self.stop.store(true, Ordering::Relaxed);
        let explained = self.watcher.join();
        let explained = explained.map_err(|_| MeasureError::Defect { thread: 0 })??;
        found.checks.extend(explained.checks);
        found.watched = Some(Box::new(explained.watched));
        found.findings.extend(explained.cost);
        Ok(())
    }
}

fn attend(
    mut watcher: Watcher<'_>,
    mut source: Source,
    stop: &AtomicBool,
) -> Result<Explained, MeasureError> {
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK_EVERY);
        let events = source.read(&mut watcher.replay.names)?;
        watcher.take_in(&events);
    }
    source.stop()?;
    let rest = source.rest(&mut watcher.replay.names)?;
    watcher.take_in(&rest);
    watcher.settle_all();
    let lost = source.losses()?.all();
    let watched = watcher.watched(&source);
    let mut checks = watcher.checks(&watched, &source, lost);
    // Of the samples the instrument itself says whether there are any.
    checks.retain(|check| check.id != "samples");
    let cost = watcher.cost(&source);
    source.remove()?;
    Ok(Explained {
        watched,
        checks,
        cost,
    })
}
