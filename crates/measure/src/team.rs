// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The threads of a run, from nothing to "all ready", and never half of them.

use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle, Thread};

use punctual_model::{CpuSet, Pin, RunSpec};
use punctual_stats::{PrecisionTarget, StopRule};
use punctual_sys::sched;

use crate::cyclic::{Counts, Shared};
use crate::error::MeasureError;
use crate::recorder::{Recorded, Recorder, Source, ring_slots};
use crate::series::ThreadStats;
use crate::worker::{self, Gate, Ready, Role, Start};

/// Measuring threads that are ready and wait at the gate.
#[derive(Debug)]
pub(crate) struct Team {
    gate: Arc<Gate>,
    recorder: Arc<OnceLock<Thread>>,
    /// What the recorder takes over.
    pub(crate) sources: Vec<Source>,
    /// What each thread was asked to be.
    pub(crate) roles: Vec<Role>,
    /// What the kernel says that each thread is.
    pub(crate) ready: Vec<Ready>,
}

impl Team {
    /// Starts and verifies the threads. If one fails, none is left.
    ///
    /// `original` is the affinity that the process was started with.
    pub(crate) fn assemble(
        spec: &RunSpec,
        original: &CpuSet,
        targets: &[PrecisionTarget],
        psquare: bool,
        shared: &Arc<Shared>,
    ) -> Result<Self, MeasureError> {
        let mut team = Self {
            gate: Arc::default(),
            recorder: Arc::default(),
            sources: Vec::new(),
            roles: Vec::new(),
            ready: Vec::new(),
        };
        match team.start(spec, original, targets, psquare, shared) {
            Ok(()) => Ok(team),
            Err(err) => {
                team.dismiss();
                Err(err)
            }
        }
    }

    /// Sends the threads home; returns when they are gone.
    pub(crate) fn dismiss(self) {
        self.gate.call_off();
        for source in self.sources {
            // It waits at the gate or has failed; either way it returns now.
            drop(source.thread.join());
        }
    }

    fn start(
        &mut self,
        spec: &RunSpec,
        original: &CpuSet,
        targets: &[PrecisionTarget],
        psquare: bool,
        shared: &Arc<Shared>,
    ) -> Result<(), MeasureError> {
        let spec = Arc::new(spec.clone());
        let (send, receive) = channel();
        for index in 0..spec.threads {
            let pinned_to = spec.cpu_of(index);
            let role = Role {
                index,
                policy: spec.policy_of(index),
                cpus: match (spec.pin, pinned_to) {
                    (Pin::Each, Some(cpu)) => std::iter::once(cpu).collect(),
                    (Pin::None, _) => original.clone(),
                    (Pin::Each | Pin::Set, _) => spec.cpus.clone(),
                },
                pinned_to,
                interval: spec.interval_of(index),
                spec: Arc::clone(&spec),
                gate: Arc::clone(&self.gate),
                shared: Arc::clone(shared),
                counts: Arc::new(Counts::default()),
            };
            let rule = (!targets.is_empty()).then(|| StopRule::new(targets.to_vec()));
            let stats = ThreadStats::new(role.clone(), psquare, rule);
            let (producer, ring) = rtrb::RingBuffer::new(ring_slots(role.interval));
            let thread = worker::spawn(
                role.clone(),
                producer,
                send.clone(),
                Arc::clone(&self.recorder),
            )?;
            self.sources.push(Source {
                ring,
                stats,
                thread,
                tid: None,
            });
            self.roles.push(role);
        }
        drop(send);
        for _ in 0..spec.threads {
            // A thread that ended without an answer panicked.
            let answer = receive
                .recv()
                .map_err(|_| MeasureError::Defect { thread: 0 })?;
            self.ready.push(answer?);
        }
        self.ready.sort_by_key(|ready| ready.index);
        for (source, ready) in self.sources.iter_mut().zip(&self.ready) {
            source.tid = Some(ready.tid);
        }
        Ok(())
    }

    /// Opens the gate and starts the recorder.
    pub(crate) fn go(
        &self,
        start: Start,
        recorder: Recorder,
    ) -> Result<JoinHandle<Recorded>, MeasureError> {
        self.gate.open(start);
        let handle = Builder::new()
            .name("recorder".to_owned())
            .spawn(move || {
                // The caller may be a real-time thread, and with that policy this one would compete
                // with those that measure. If the policy cannot be read it cannot be left either.
                drop(sched::leave_real_time());
                recorder.run()
            })
            .map_err(MeasureError::Spawn)?;
        // Set once, here; a thread that is done before wakes nobody and is found done.
        drop(self.recorder.set(handle.thread().clone()));
        Ok(handle)
    }
}
