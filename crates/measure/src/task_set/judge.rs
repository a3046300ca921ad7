// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the jobs of a run show, and which assumption broke where a response is longer than its bound.
//!
//! On one CPU nothing idles while a job is pending. So each moment from the release of a job to its end belongs to the job
//! itself, to jobs of the set that go first, to a lower task that holds a resource, or to nobody of the set. What the CPU
//! clocks of the threads account for is subtracted, at most as much as each job overlaps; what is left is a lower bound on
//! the time that somebody else, or the kernel, had. Where tasks may use several CPUs the same holds, because to subtract
//! what ran elsewhere makes the rest smaller.

use std::collections::VecDeque;

use punctual_model::Nanos;
use punctual_model::tasks::{
    Assumption, Broke, BrokeCount, JobAboveBound, Overheads, Task, TaskPolicy, TaskSeen,
    TasksCheck, WindowJob, WorstWindow,
};

use super::jobs::Job;
use punctual_model::Ordered as _;

/// Jobs of a task above its bound that are looked at, whatever they show.
const EXAMINED: u64 = 1_000;

/// Jobs of a task that are remembered.
const REMEMBERED: usize = 20_000;

/// Jobs of a window that are kept.
const IN_WINDOW: usize = 500;

/// A pause of at least this part of what throttling leaves of a period looks like throttling.
const THROTTLED: (u64, u64) = (4, 5);

/// What is known of a task before it runs.
#[derive(Debug)]
struct Known {
    task: Task,
    bound: Option<u64>,
    /// What a resource of a lower task may cost.
    blocking: u64,
    /// The tasks that may have the CPU although this one has work.
    first: Vec<usize>,
    /// All that share a CPU with it.
    near: Vec<usize>,
}

/// A job that is to be looked at when all that ran next to it is known.
#[derive(Clone, Copy, Debug)]
struct Pending {
    task: usize,
    job: Job,
    above: bool,
    late: bool,
    worst: bool,
}

/// Takes in the jobs of a run.
#[derive(Debug)]
pub(super) struct Judge {
    known: Vec<Known>,
    seen: Vec<TaskSeen>,
    history: Vec<VecDeque<Job>>,
    pending: Vec<Pending>,
    overheads: Overheads,
    /// How long a throttled CPU rests; nothing where the kernel does not throttle.
    rest: Option<u64>,
    origin: Nanos,
    /// Response over bound of the worst window, in millionths.
    worst: u64,
    window: Option<WorstWindow>,
    /// The longest time that a job reached back.
    span: u64,
}

fn goes_first(other: TaskPolicy, own: TaskPolicy) -> bool {
    match (other, own) {
        (_, TaskPolicy::Other) => true,
        (TaskPolicy::Other, _) => false,
        (other, _) if other.is_earliest_first() => true,
        (_, own) if own.is_earliest_first() => false,
        (other, own) => other.priority() >= own.priority(),
    }
}

/// The time that two stretches have in common.
fn common(job: &Job, from: Nanos, to: Nanos) -> u64 {
    job.end.min(to).since(job.begin.max(from)).get()
}

impl Judge {
    pub(super) fn new(check: &TasksCheck, rest: Option<Nanos>) -> Self {
        let tasks = &check.set.tasks;
        let shares = |a: usize, b: usize| {
            let theirs = &check.tasks[b].cpus;
            a != b && !check.tasks[a].cpus.common(theirs).is_empty()
        };
        let known = tasks.iter().zip(&check.tasks).enumerate();
        let known = known.map(|(own, (task, bound))| {
            let near: Vec<usize> = (0..tasks.len())
                .filter(|other| shares(own, *other))
                .collect();
            let first = near
                .iter()
                .copied()
                .filter(|other| goes_first(tasks[*other].policy, task.policy));
            Known {
                task: task.clone(),
                bound: bound.response_ns.map(Nanos::get),
                blocking: bound.blocking_ns.get(),
                first: first.collect(),
                near,
            }
        });
        Self {
            known: known.collect(),
            seen: tasks
                .iter()
                .map(|task| TaskSeen {
                    name: task.name.clone(),
                    ..TaskSeen::default()
                })
                .collect(),
            history: vec![VecDeque::new(); tasks.len()],
            pending: Vec::new(),
            overheads: check.set.overheads.clone(),
            rest: rest.map(Nanos::get).filter(|rest| *rest > 0),
            origin: Nanos::ZERO,
            worst: 0,
            window: None,
            span: 0,
        }
    }

    /// Says when time zero was.
    pub(super) const fn begin(&mut self, origin: Nanos) {
        self.origin = origin;
    }

    /// Takes in a job. Those of a task come in their order.
    pub(super) fn take(&mut self, task: usize, job: Job) {
        let known = &self.known[task];
        let seen = &mut self.seen[task];
        let response = job.end - job.release;
        let longest = seen.longest_response_ns.is_none_or(|l| response > l);
        seen.jobs += 1;
        seen.overruns += u64::from(response > known.task.period_ns);
        seen.longest_response_ns = seen.longest_response_ns.max(Some(response));
        seen.longest_execution_ns = seen.longest_execution_ns.max(Some(job.execution));
        let above = known.bound.is_some_and(|bound| response.get() > bound);
        seen.above_bound += u64::from(above);
        let ratio = u128::from(response.get()) * 1_000_000;
        let due = known.task.deadline_ns.get();
        let limit = known.bound.unwrap_or(due).max(1);
        let ratio = u64::try_from(ratio / u128::from(limit)).unwrap_or(u64::MAX);
        let worst = ratio > self.worst;
        self.worst = self.worst.max(ratio);
        let before = self.history[task].back().map_or(Nanos::ZERO, |j| j.end);
        let late = job.begin - job.release.max(before);
        let pending = Pending {
            task,
            job,
            above: above && (longest || seen.above_bound <= EXAMINED),
            late: seen.latest_release_ns.is_none_or(|latest| late > latest),
            worst,
        };
        if pending.above || pending.late || pending.worst {
            self.pending.push(pending);
        }
        self.span = self.span.max(response.get());
        let history = &mut self.history[task];
        if history.len() == REMEMBERED {
            history.pop_front();
        }
        history.push_back(job);
    }

    /// Looks at the jobs that ended before `until`, when all others that ended before it are known.
    pub(super) fn settle(&mut self, until: Nanos) {
        let (ready, rest): (Vec<Pending>, Vec<Pending>) = std::mem::take(&mut self.pending)
            .into_iter()
            .partition(|pending| pending.job.end <= until);
        self.pending = rest;
        let last_worst = ready.iter().rposition(|pending| pending.worst);
        for (at, pending) in ready.iter().enumerate() {
            self.look(*pending, last_worst == Some(at));
        }
        let keep = until - Nanos::new(self.span.saturating_mul(2));
        let oldest = self.pending.iter().map(|pending| pending.job.release);
        let keep = oldest.fold(keep, Nanos::min);
        for history in &mut self.history {
            // The last one says when the next can have begun.
            while history.len() > 1 && history.front().is_some_and(|job| job.end < keep) {
                history.pop_front();
            }
        }
    }

    fn look(&mut self, pending: Pending, worst: bool) {
        let Pending { task, job, .. } = pending;
        let found = self.explain(task, &job);
        let seen = &mut self.seen[task];
        seen.latest_release_ns = seen.latest_release_ns.max(Some(found.late_ns));
        if worst {
            self.window = Some(self.window_of(task, &job));
        }
        if !pending.above {
            return;
        }
        let seen = &mut self.seen[task];
        seen.examined += 1;
        if let Some(broke) = found.broke.first() {
            let place = seen
                .broke
                .iter()
                .position(|b| b.assumption == broke.assumption);
            let place = place.unwrap_or_else(|| {
                seen.broke.push(BrokeCount {
                    assumption: broke.assumption,
                    jobs: 0,
                    most_ns: Nanos::ZERO,
                });
                seen.broke.len() - 1
            });
            let count = &mut seen.broke[place];
            count.jobs += 1;
            count.most_ns = count.most_ns.max(broke.excess_ns);
        }
        if seen
            .worst
            .as_ref()
            .is_none_or(|w| found.response_ns > w.response_ns)
        {
            seen.worst = Some(found);
        }
    }

    /// The jobs of `task` that ran between two moments.
    fn within(&self, task: usize, from: Nanos, to: Nanos) -> impl Iterator<Item = &Job> {
        let history = &self.history[task];
        let start = history.partition_point(|job| job.end <= from);
        let rest = history.iter().skip(start);
        rest.take_while(move |job| job.begin < to)
    }

    /// Where the time from the release of a job to its end went, and what of that is more than the set says.
    fn explain(&self, task: usize, job: &Job) -> JobAboveBound {
        let known = &self.known[task];
        let mut broke = Vec::new();
        let mut jobs = 1_u64;
        let mut sum = [0_u64; 2];
        let stretches = [(job.release, job.begin), (job.begin, job.end)];
        let excess = |of: &Known, job: &Job| {
            let switches = self.overheads.switch_ns.get().saturating_mul(2);
            let allowed = of.task.execution_ns.get().saturating_add(switches);
            let response = (job.end - job.begin).get();
            job.execution
                .get()
                .saturating_sub(allowed.saturating_add(self.interrupts(response)))
        };
        for other in known.first.iter().copied().chain([task]) {
            let mut longer = 0_u64;
            for ran in self.within(other, job.release, job.end) {
                if other == task && ran.number == job.number {
                    continue;
                }
                for (sum, (from, to)) in sum.iter_mut().zip(stretches) {
                    *sum += common(ran, from, to).min(ran.execution.get());
                }
                jobs += 1;
                longer += excess(&self.known[other], ran);
            }
            if longer > 0 {
                broke.push(self.broke(Assumption::Execution, Some(other), longer));
            }
        }
        let own = excess(known, job);
        if own > 0 {
            broke.push(self.broke(Assumption::Execution, Some(task), own));
        }
        let late = (job.begin - job.release).get().saturating_sub(sum[0]);
        let inside = (job.end - job.begin).get();
        let off = inside
            .saturating_sub(job.execution.get())
            .saturating_sub(sum[1]);
        let switches = self.overheads.switch_ns.get().saturating_mul(2 * jobs);
        let kernel = switches.saturating_add(self.interrupts((job.end - job.release).get()));
        let wake_up = known.task.jitter_ns + self.overheads.wake_up_ns;
        let blocked = late.min(known.blocking);
        let too_late = late.saturating_sub(blocked + wake_up.get() + kernel);
        let too_off = off.saturating_sub(known.blocking - blocked + kernel);
        for (excess, pause, otherwise) in [
            (too_late, late, Assumption::Release),
            (too_off, off, Assumption::SomebodyElse),
        ] {
            let assumption = match self.is_throttling(known, job, pause) {
                true => Assumption::Throttling,
                false => otherwise,
            };
            if excess > 0 {
                broke.push(self.broke(assumption, None, excess));
            }
        }
        broke.order_by_key(|broke| std::cmp::Reverse(broke.excess_ns));
        let response = job.end - job.release;
        if broke.is_empty() {
            let beyond = response.get().saturating_sub(known.bound.unwrap_or(0));
            broke.push(self.broke(Assumption::Overheads, None, beyond));
        }
        JobAboveBound {
            job: job.number,
            release_ns: job.release - self.origin,
            response_ns: response,
            execution_ns: job.execution,
            others_ns: Nanos::new(sum[0] + sum[1]),
            late_ns: Nanos::new(late),
            off_cpu_ns: Nanos::new(off),
            broke,
        }
    }

    fn broke(&self, assumption: Assumption, task: Option<usize>, excess: u64) -> Broke {
        Broke {
            assumption,
            task: task.map(|task| self.known[task].task.name.clone()),
            excess_ns: Nanos::new(excess),
        }
    }

    /// What the set says that interrupts take of a stretch.
    fn interrupts(&self, length: u64) -> u64 {
        let each = self.overheads.interrupts.iter().map(|load| {
            let count = length.div_ceil(load.every_ns.get().max(1));
            count.saturating_mul(load.takes_ns.get())
        });
        each.fold(0, u64::saturating_add)
    }

    /// Whether a pause looks like the kernel's doing: as long as a throttled CPU rests, or after a `SCHED_DEADLINE` job used
    /// up its runtime.
    fn is_throttling(&self, known: &Known, job: &Job, pause: u64) -> bool {
        if let TaskPolicy::Deadline { runtime_ns } = known.task.policy {
            return job.execution >= runtime_ns;
        }
        let long = |rest: u64| pause >= rest / THROTTLED.1 * THROTTLED.0;
        known.task.policy.is_throttled() && self.rest.is_some_and(long)
    }

    fn window_of(&self, task: usize, job: &Job) -> WorstWindow {
        let all = self.known[task].near.iter().copied().chain([task]);
        let mut jobs: Vec<WindowJob> = all
            .flat_map(|of| {
                let ran = self.within(of, job.release, job.end).take(IN_WINDOW);
                ran.map(move |ran| WindowJob {
                    task: of,
                    job: ran.number,
                    release_ns: ran.release - self.origin,
                    begin_ns: ran.begin - self.origin,
                    end_ns: ran.end - self.origin,
                    execution_ns: ran.execution,
                })
            })
            .collect();
        jobs.order_by_key(|job| (job.begin_ns, job.task));
        jobs.truncate(IN_WINDOW);
        WorstWindow {
            task,
            from_ns: job.release - self.origin,
            to_ns: job.end - self.origin,
            jobs,
        }
    }

    /// Ends it, when all jobs are in.
    pub(super) fn conclude(mut self) -> (Vec<TaskSeen>, Option<WorstWindow>) {
        self.settle(Nanos::MAX);
        for seen in &mut self.seen {
            seen.broke
                .order_by_key(|broke| std::cmp::Reverse(broke.jobs));
        }
        (self.seen, self.window)
    }
}
