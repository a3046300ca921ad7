// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An exact schedule of tasks that share nothing, event by event: what tests hold the analyses to, and pictures show.

use crate::work::Work;

/// Who goes first.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Scheduler {
    /// The task of the smallest number.
    Fixed,
    /// The job that is due first; of two the task of the smaller number.
    Edf,
}

/// When a task is released.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Start {
    /// The first release.
    pub at: u64,
    /// How much later that is than its time was. Later jobs come at their times.
    pub late: u64,
}

/// A stretch of time in which a job has a CPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slice {
    /// Number of the task.
    pub task: usize,
    /// Number of its job, from 0.
    pub job: u64,
    /// Number of the CPU.
    pub cpu: usize,
    /// Begin.
    pub from: u64,
    /// End.
    pub to: u64,
}

/// A job that ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Done {
    /// Number of the task.
    pub task: usize,
    /// Number of its job.
    pub job: u64,
    /// When its release was due.
    pub due: i64,
    /// When it ended.
    pub end: u64,
    /// From when its release was due to its end.
    pub response: u64,
}

/// A schedule.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    /// Who had which CPU, in the order of time; stretches of one job that touch are one.
    pub slices: Vec<Slice>,
    /// The jobs that ended, in the order of their ends.
    pub done: Vec<Done>,
}

impl Schedule {
    /// The largest response of a task.
    pub fn worst(&self, task: usize) -> Option<u64> {
        let of = self.done.iter().filter(|done| done.task == task);
        of.map(|done| done.response).max()
    }
}

#[derive(Debug)]
struct Job {
    task: usize,
    job: u64,
    due: i64,
    left: u64,
}

/// Schedules jobs that are released before `until`, to their ends or `end`; jobs of one task one after the other.
pub fn simulate(
    set: &[Work],
    starts: &[Start],
    scheduler: Scheduler,
    cpus: usize,
    until: u64,
    end: u64,
) -> Schedule {
    let mut schedule = Schedule::default();
    let mut next: Vec<(u64, u64)> = starts.iter().map(|start| (start.at, 0)).collect();
    let mut ready: Vec<Job> = Vec::new();
    let mut now = 0;
    while now < end {
        for (task, (at, job)) in next.iter_mut().enumerate() {
            while *at <= now && *at < until {
                let origin = signed(starts[task].at) - signed(starts[task].late);
                ready.push(Job {
                    task,
                    job: *job,
                    due: origin + signed(job.saturating_mul(set[task].period)),
                    left: set[task].cost,
                });
                *job += 1;
                let following = origin + signed(job.saturating_mul(set[task].period));
                *at = u64::try_from(following).unwrap_or(0).max(starts[task].at);
            }
        }
        let urgency = |job: &Job| match scheduler {
            Scheduler::Fixed => (0, job.task, job.job),
            Scheduler::Edf => (job.due + signed(set[job.task].deadline), job.task, job.job),
        };
        ready.sort_by_key(urgency);
        let mut running: Vec<usize> = Vec::new();
        for (at, job) in ready.iter().enumerate() {
            // A task has one thread.
            let busy = |other: &usize| ready[*other].task == job.task;
            let earlier = ready.iter().any(|o| o.task == job.task && o.job < job.job);
            if running.len() < cpus && !earlier && !running.iter().any(busy) {
                running.push(at);
            }
        }
        let coming = next
            .iter()
            .map(|(at, _)| *at)
            .filter(|at| *at < until)
            .min();
        let mut step = coming.map_or(u64::MAX, |at| at.saturating_sub(now));
        for at in &running {
            step = step.min(ready[*at].left);
        }
        if step == u64::MAX {
            break;
        }
        step = step.min(end - now);
        for (cpu, at) in running.iter().enumerate() {
            let job = &mut ready[*at];
            job.left -= step;
            let slice = Slice {
                task: job.task,
                job: job.job,
                cpu,
                from: now,
                to: now + step,
            };
            let touches = |last: &&mut Slice| {
                (last.task, last.job, last.cpu, last.to) == (slice.task, slice.job, cpu, now)
            };
            let mut latest = schedule.slices.iter_mut().rev().take(cpus);
            match latest.find(touches) {
                Some(last) => last.to = slice.to,
                None => schedule.slices.push(slice),
            }
        }
        now += step;
        ready.retain(|job| {
            if job.left == 0 {
                schedule.done.push(Done {
                    task: job.task,
                    job: job.job,
                    due: job.due,
                    end: now,
                    response: u64::try_from(signed(now) - job.due).unwrap_or(0),
                });
            }
            job.left > 0
        });
    }
    schedule
}

fn signed(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX / 4)
}
