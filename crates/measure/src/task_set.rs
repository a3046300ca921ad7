// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A task set on the machine: every task is a thread that is released on the grid, works as long as the set says, and takes
//! the set's resources; next to what analysis had shown of it.
//!
//! What is seen never becomes what is shown, nor the other way round: a [`TasksRun`] has the analysis as it was made before,
//! and the figures of the run. Where a response is longer than its bound, an assumption of the analysis broke, and the run
//! itself has the evidence which: CPU time of each job, when it began, what else of the set ran.

mod ext;
mod jobs;
mod judge;
mod plan;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use punctual_model::tasks::{TaskPolicy, TasksPlan, TasksRun};
use punctual_model::{
    Better, Check, CpuId, CpuSet, Figure, Nanos, Policy, Progress, Series, SeriesProgress,
};
use punctual_stats::{Keep, float};
use punctual_sys::mutex::ProtocolMutex;
use punctual_sys::{SysRoot, clock, sched};
use rtrb::{Consumer, Producer, RingBuffer};

use self::ext::Ext;
pub use self::jobs::{Counted, Job, Jobs, Step};
use self::judge::Judge;
pub use self::plan::MOST_TASKS;
use crate::budget::Budgets;
use crate::crew::{Crew, Post, STACK_BYTES, ThreadReport};
use crate::deadline::calibrate::{Calibrated, calibrate};
use crate::deadline::{Due, Work};
use crate::duty::Duty;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame, Throttling};
use crate::gate::Start;
use crate::stream::{LOOK_EVERY, Stream, Tap, ring_slots, sample_checks};

/// Length of the work that the speed of a CPU is found with.
const TRIAL: Nanos = Nanos::from_millis(1);

/// How much longer than usual a trial may take before it was disturbed. Each job's CPU time is measured all the same.
const TRIAL_LIMIT: f64 = 1.2;

/// What to run.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskSetRun {
    /// The set, and what analysis shows of it.
    pub plan: TasksPlan,
    /// Part of its execution time that each job works.
    pub work: Duty,
}

/// A task while it runs.
#[derive(Debug)]
struct Watched {
    stream: Stream,
    log: Consumer<Job>,
}

impl TaskSetRun {
    /// Fails as the run would, before anything starts: the set's threads are made as they are to be, and sent home.
    ///
    /// # Errors
    ///
    /// As [`run`].
    pub fn try_out(&self, sys: &SysRoot) -> Result<(), MeasureError> {
        let machine = sched::affinity().map_err(|source| MeasureError::ReadBack { source })?;
        plan::refuse(&self.plan.check, sys, &machine)?;
        let posts = plan::posts(&self.plan.check)?;
        plan::locks(&self.plan.check.set)?;
        drop(Ext::load(sys, &self.plan.check.set)?);
        let works = posts
            .into_iter()
            .zip(self.deadlines())
            .map(|(post, deadline)| {
                let policy = post.policy;
                let prepare = move || {
                    give_deadline(policy, deadline)?;
                    Ok(|_: Start| ((), ()))
                };
                (post, prepare)
            });
        let crew = Crew::prepare(STACK_BYTES, works.collect());
        crew.map(drop).map_err(|err| self.named(err))
    }

    fn deadlines(&self) -> Vec<Option<Nanos>> {
        let tasks = self.plan.check.set.tasks.iter();
        tasks.map(plan::shorter_deadline).collect()
    }

    /// Names the task whose policy was refused.
    fn named(&self, err: MeasureError) -> MeasureError {
        let MeasureError::Policy { policy, source } = err else {
            return err;
        };
        let mut tasks = self.plan.check.set.tasks.iter();
        let task = tasks.find(|task| plan::policy(task) == Some(policy));
        let name = task.map_or("", |task| &task.name);
        MeasureError::TaskPolicy {
            task: name.to_owned(),
            policy,
            source,
        }
    }
}

/// Gives the calling thread the deadline of its `SCHED_DEADLINE` task, where that is not the end of the period, and reads it
/// back.
fn give_deadline(policy: Policy, deadline: Option<Nanos>) -> Result<(), MeasureError> {
    let (Policy::Deadline { runtime, period }, Some(deadline)) = (policy, deadline) else {
        return Ok(());
    };
    sched::set_deadline(runtime, deadline, period)
        .map_err(|source| MeasureError::Policy { policy, source })?;
    let got = sched::deadline().map_err(|source| MeasureError::ReadBack { source })?;
    match got == Some(deadline) {
        true => Ok(()),
        false => Err(MeasureError::Unsupported {
            what: format!("the kernel did not keep a deadline of {deadline} for SCHED_DEADLINE"),
            hint: None,
        }),
    }
}

/// Runs the set in the frame's set-up, for its duration.
///
/// # Errors
///
/// [`MeasureError::Spec`] for a set that cannot be run; [`MeasureError::Unsupported`] where the machine gives real-time
/// threads no time, or lacks a protocol; [`MeasureError::TaskPolicy`] where the kernel refuses a policy; else as a thread
/// cannot be started, or a sleep or a lock fails.
pub fn run(asked: &TaskSetRun, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let set = &asked.plan.check.set;
    plan::refuse(&asked.plan.check, frame.sys(), frame.original_cpus())?;
    let posts = plan::posts(&asked.plan.check)?;
    let locks: Arc<[ProtocolMutex]> = plan::locks(set)?.into();
    let speeds = speeds(asked, &posts, frame).map_err(|err| asked.named(err))?;
    let duration = frame.setup().duration_ns.unwrap_or(Nanos::from_secs(10));
    let origin = Arc::<AtomicU64>::default();
    let (mut watched, mut works) = (Vec::new(), Vec::new());
    let deadlines = asked.deadlines();
    let ext = Ext::load(frame.sys(), set)?;
    for (number, ((task, post), deadline)) in (0..).zip(set.tasks.iter().zip(&posts).zip(deadlines))
    {
        let keep = Keep {
            thresholds_ns: vec![task.deadline_ns.get()],
            ..frame.keep()
        };
        let (tap, stream) = Stream::pair(number, post, task.period_ns, &keep);
        let (log, taken) = RingBuffer::new(ring_slots(task.period_ns));
        watched.push(Watched { stream, log: taken });
        let jobs = Jobs {
            steps: plan::steps(set, task, asked.work, &|span| {
                additions(&speeds, &post.cpus, span)
            }),
            locks: Arc::clone(&locks),
            offset: task.offset_ns,
            period: task.period_ns,
            origin: Arc::clone(&origin),
            duration,
            pinned_to: post.cpus.only(),
            stop: frame.stop_flag(),
            seat: ext.as_ref().map(|ext| ext.seat(number)),
        };
        let given = Given {
            policy: post.policy,
            deadline,
            relative: task.deadline_ns,
        };
        works.push((post.clone(), ready(jobs, tap, log, given)));
    }
    let crew = Crew::prepare(STACK_BYTES, works).map_err(|err| asked.named(err))?;
    let rest = Budgets::read(frame.sys())
        .tightest()
        .map(|budget| budget.rest());
    let mut judge = Judge::new(&asked.plan.check, rest);
    frame.start_at(&crew, |at| {
        origin.store(at.get(), Ordering::Release);
        judge.begin(at);
    })?;
    attend(frame, &crew, &mut watched, &mut judge);
    let results = crew.join()?;
    let scheduled = ext.map(|ext| {
        let each = set.tasks.iter().zip(&results);
        let jobs = each.map(|(task, (counted, _))| (task.name.clone(), counted.jobs));
        ext.check(frame.sys(), &jobs.collect::<Vec<_>>())
    });
    watched
        .iter_mut()
        .enumerate()
        .for_each(|(task, w)| w.drain(task, &mut judge));
    frame.last(progress(&mut watched));
    let mut found = conclude(asked, frame, (watched, judge), results, &speeds)?;
    found.checks.extend(scheduled);
    Ok(found)
}

/// What the kernel is given of a task.
#[derive(Clone, Copy, Debug)]
struct Given {
    policy: Policy,
    /// The deadline of a `SCHED_DEADLINE` task that is not the end of its period.
    deadline: Option<Nanos>,
    /// The deadline, whatever the policy.
    relative: Nanos,
}

/// What a thread does when all are let loose.
type Loop = Box<dyn FnOnce(Start) -> (Counted, ()) + Send>;

/// Makes what a thread does before it waits, and what then.
fn ready(
    jobs: Jobs,
    mut tap: Tap,
    mut log: Producer<Job>,
    given: Given,
) -> impl FnOnce() -> Result<Loop, MeasureError> + Send {
    move || {
        give_deadline(given.policy, given.deadline)?;
        if let Some(seat) = &jobs.seat {
            let taken = seat.take(jobs.period, given.relative);
            taken.map_err(|source| MeasureError::Policy {
                policy: given.policy,
                source,
            })?;
        }
        // Its memory is present then, as that of the tap.
        drop(log.write_chunk(log.slots()));
        Ok(Box::new(move |_| (jobs.run(&mut tap, &mut log), ())))
    }
}

impl Watched {
    fn drain(&mut self, task: usize, judge: &mut Judge) {
        self.stream.drain(|_| ());
        while let Ok(job) = self.log.pop() {
            judge.take(task, job);
        }
    }
}

fn attend(frame: &mut Frame<'_>, crew: &Crew<Counted>, watched: &mut [Watched], judge: &mut Judge) {
    let mut before = Nanos::ZERO;
    while !crew.is_done() {
        std::thread::sleep(LOOK_EVERY);
        let now = clock::monotonic();
        for (task, one) in watched.iter_mut().enumerate() {
            one.drain(task, judge);
        }
        // A job of a preempted thread comes late: what ended before the last round is complete.
        judge.settle(before);
        before = now;
        if frame.is_stopped() {
            // A thread may be in a long sleep.
            crew.interrupt();
        }
        frame.look(|| progress(watched));
    }
}

fn progress(watched: &mut [Watched]) -> Progress {
    Progress {
        series: watched
            .iter_mut()
            .map(|w| SeriesProgress {
                // Which jobs never began is known at the end.
                overruns: None,
                ..w.stream.progress()
            })
            .collect(),
        ..Progress::default()
    }
}

/// Finds how fast each CPU of the set adds, all at once, with the set's highest fixed priority.
fn speeds(
    asked: &TaskSetRun,
    posts: &[Post],
    frame: &mut Frame<'_>,
) -> Result<Vec<(CpuId, Calibrated)>, MeasureError> {
    let highest = asked.plan.check.set.tasks.iter();
    let highest = highest.filter_map(|task| task.policy.priority()).max();
    let policy = highest.map_or(Policy::Other { nice: 0 }, |priority| Policy::Fifo {
        priority,
    });
    let cpus: CpuSet = posts.iter().flat_map(|post| post.cpus.iter()).collect();
    let stop = frame.stop_flag();
    let works = cpus.iter().map(|cpu| {
        let stop = Arc::clone(&stop);
        let post = Post::on(format!("speed/{cpu}"), policy, cpu);
        (post, move || {
            calibrate(Work::Time(TRIAL), Due::Auto(TRIAL_LIMIT), &stop)
        })
    });
    let crew = Crew::assemble(works.collect())?;
    frame.start(&crew)?;
    frame.attend(&crew, Progress::default);
    let found = crew.join()?.into_iter().map(|(found, _)| found);
    Ok(cpus.iter().zip(found).collect())
}

/// Returns the additions that take `span` on the slowest of `cpus`: on no other do they take longer.
fn additions(speeds: &[(CpuId, Calibrated)], cpus: &CpuSet, span: Nanos) -> u64 {
    let of = speeds.iter().filter(|(cpu, _)| cpus.contains(*cpu));
    let each = of.map(|(_, found)| {
        let all = u128::from(found.additions) * u128::from(span.get());
        u64::try_from(all / u128::from(found.undisturbed.get().max(1))).unwrap_or(u64::MAX)
    });
    each.min().unwrap_or(0)
}

fn conclude(
    asked: &TaskSetRun,
    frame: &Frame<'_>,
    (watched, judge): (Vec<Watched>, Judge),
    results: Vec<(Counted, ThreadReport)>,
    speeds: &[(CpuId, Calibrated)],
) -> Result<Found, MeasureError> {
    let set = &asked.plan.check.set;
    let (mut seen, window) = judge.conclude();
    let mut found = Found::default();
    let mut lost = 0;
    for (number, (counted, report)) in results.into_iter().enumerate() {
        if let Some(errno) = counted.failure {
            return Err(MeasureError::Wake {
                thread: set.tasks[number].name.clone(),
                source: errno.into(),
            });
        }
        lost += counted.lost;
        seen[number].preemptions = report.usage().involuntary_switches;
        found.threads.push(report);
    }
    for (one, seen) in watched.iter().zip(&mut seen) {
        let context = context(&seen.name);
        let series: Series = one.stream.series(Some(&context));
        seen.missed = series.misses.iter().map(|misses| misses.all()).sum();
        seen.unfinished = series.overruns.unwrap_or(0);
        let tag = format!("{}/{context}", one.stream.thread());
        found.store(tag, one.stream.tally());
        found.series.push(series);
    }
    found.total = figures::counts(&found.series);
    found.checks = sample_checks(&found.series);
    found.checks.push(Check::of(
        "lost-jobs",
        lost == 0,
        format!("{lost} jobs are in no account of what ran when because the log was full"),
    ));
    found.checks.push(calibration(speeds));
    let run = TasksRun {
        check: asked.plan.check.clone(),
        critical: asked.plan.critical.clone(),
        work: asked.work.share(),
        tasks: seen,
        window,
    };
    found.figures = figures_of(&run);
    found.throttling = match set
        .tasks
        .iter()
        .any(|task| task.policy != TaskPolicy::Other)
    {
        true => Throttling::IsAResult,
        false => Throttling::Disturbs,
    };
    found.faults_spoil = true;
    found.ended = frame.ended();
    found.tasks = Some(Box::new(run));
    Ok(found)
}

/// A name that histograms can have: without blanks and commas.
fn context(name: &str) -> String {
    let plain = |c: char| {
        if c.is_whitespace() || c == ',' || c == '/' {
            '_'
        } else {
            c
        }
    };
    name.chars().map(plain).collect()
}

/// Whether the speed that the work was made of was found without others.
fn calibration(speeds: &[(CpuId, Calibrated)]) -> Check {
    let disturbed = speeds.iter().find_map(|(cpu, found)| {
        let why = found.disturbance()?;
        Some(format!("CPU {cpu}: {why}"))
    });
    let each: Vec<String> = speeds
        .iter()
        .map(|(cpu, found)| {
            let per_us = float(found.additions) * 1e3 / float(found.undisturbed.get().max(1));
            format!("CPU {cpu} {per_us:.0}")
        })
        .collect();
    let detail = match &disturbed {
        Some(why) => why.clone(),
        None => format!(
            "additions a microsecond, found before the run: {}",
            each.join(", ")
        ),
    };
    Check::of("calibration", disturbed.is_none(), detail)
}

fn figures_of(run: &TasksRun) -> Vec<Figure> {
    let mut all = Vec::new();
    let released = run.jobs() + run.tasks.iter().map(|task| task.unfinished).sum::<u64>();
    let share = |missed: u64, of: u64| Figure {
        count: of,
        value: (of > 0).then(|| float(missed) / float(of)),
        ..Figure::single("missed_share", "1", Better::Lower, 0.0)
    };
    all.push(share(run.missed(), released));
    for task in &run.tasks {
        let at = |figure: Figure| figure.at("task", &task.name);
        let time = |name: &str, span: Option<Nanos>| Figure {
            count: task.jobs,
            value: span.map(|span| float(span.get())),
            ..Figure::single(name, "ns", Better::Lower, 0.0)
        };
        all.push(at(share(task.missed, task.jobs + task.unfinished)));
        all.push(at(time("longest_execution", task.longest_execution_ns)));
        all.push(at(time("latest_release", task.latest_release_ns)));
    }
    all
}
