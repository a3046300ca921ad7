// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what was recorded to what may be said: figures, evidence, checks.

use punctual_model::{LoadRecord, Nanos, Pin, RunSpec, Series};

use crate::checks::{self, Asked, Evidence, IdleBound, Locking, ThreadEvidence};
use crate::conditions::Conditions;
use crate::error::MeasureError;
use crate::recorder::Recorded;
use crate::series;
use crate::team::Team;
use crate::throttling::RtLoad;
use crate::wakeup::Outcome;

/// The machine around a run.
#[derive(Debug)]
pub(crate) struct Surroundings {
    pub(crate) before: Conditions,
    pub(crate) after: Conditions,
    pub(crate) locking: Locking,
    pub(crate) idle_bound: IdleBound,
    /// CPU time of other real-time threads during the run, in clock ticks.
    pub(crate) foreign_rt_ticks: u64,
    pub(crate) loads: Vec<LoadRecord>,
}

/// Turns a finished recording into the outcome of the run.
pub(crate) fn conclude(
    spec: &RunSpec,
    team: Team,
    recorded: Recorded,
    around: &Surroundings,
) -> Result<Outcome, MeasureError> {
    let threads = evidence_of(team, recorded.finished)?;
    let series: Vec<Series> = recorded
        .stats
        .iter()
        .zip(&threads)
        .map(|(stats, thread)| stats.series(thread.ready.policy.to_string()))
        .collect();
    let total = series::total(&recorded.stats, &series, recorded.total.as_ref());
    let (resolution, observed_step) = checks::observe(spec.clock);
    let rt_load = RtLoad {
        bandwidth: [around.before.rt_bandwidth, around.after.rt_bandwidth],
        policy: spec.priority,
        ours: busiest_cpu(spec, &threads),
        foreign_ticks: around.foreign_rt_ticks,
        duration: recorded.duration,
        worst: recorded
            .stats
            .iter()
            .filter_map(series::ThreadStats::worst)
            .max(),
        cpus: spec.cpus.clone(),
    };
    let checks = checks::judge(&Evidence {
        asked: Asked::of(spec),
        threads: &threads,
        series: &series,
        before: &around.before,
        after: &around.after,
        locking: &around.locking,
        idle_bound: &around.idle_bound,
        resolution,
        observed_step,
        rt_load: &rt_load,
        watch: &recorded.watch,
        loads: &around.loads,
    });
    Ok(Outcome {
        spec: spec.clone(),
        series,
        total,
        histograms: recorded
            .stats
            .iter()
            .map(|s| s.histogram().clone())
            .collect(),
        checks,
        ended: recorded.ended,
        duration: recorded.duration,
        hit: recorded.hit,
        precision: recorded.precision,
        loads: around.loads.clone(),
    })
}

fn evidence_of(
    team: Team,
    finished: Vec<Option<crate::worker::Finished>>,
) -> Result<Vec<ThreadEvidence>, MeasureError> {
    team.roles
        .into_iter()
        .zip(team.ready)
        .zip(finished)
        .map(|((role, ready), finished)| {
            let thread = role.index;
            let finished = finished.ok_or(MeasureError::Defect { thread })?;
            if let Some(errno) = finished.failure {
                return Err(MeasureError::Sleep {
                    thread,
                    source: errno.into(),
                });
            }
            Ok(ThreadEvidence {
                asked_policy: role.policy,
                asked_cpus: role.cpus,
                ready,
                finished,
            })
        })
        .collect()
}

/// Returns the CPU time of the threads that share the busiest CPU; of all, where they can move.
fn busiest_cpu(spec: &RunSpec, threads: &[ThreadEvidence]) -> Nanos {
    let sum = |on: Option<u32>| {
        threads
            .iter()
            .filter(|t| on.is_none_or(|cpu| t.asked_cpus.contains(cpu)))
            .fold(Nanos::ZERO, |sum, t| sum + t.finished.cpu_time)
    };
    match spec.pin {
        Pin::Each => spec
            .cpus
            .iter()
            .map(|cpu| sum(Some(cpu)))
            .max()
            .unwrap_or_default(),
        Pin::Set | Pin::None => sum(None),
    }
}
