// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

use std::sync::Arc;

use punctual_model::tasks::{
    Assumption, CriticalSection, Overheads, PriorityOrder, Protocol, Resource, SetVerdict,
    TASKS_CHECK_FORMAT, Task, TaskBound, TaskPolicy, TaskSet, TaskVerdict, TasksCheck, TasksPlan,
};
use punctual_model::{CpuSet, Nanos};
use punctual_sys::clock;
use rtrb::RingBuffer;

use super::jobs::{Job, Jobs, Step};
use super::judge::Judge;
use super::*;
use crate::crew::Post;
use crate::frame::testing;
use crate::testing::machine;

const fn us(us: u64) -> Nanos {
    Nanos::from_micros(us)
}

fn task(name: &str, execution: u64, period: u64, policy: TaskPolicy) -> Task {
    Task {
        name: name.to_owned(),
        period_ns: us(period),
        deadline_ns: us(period),
        execution_ns: us(execution),
        observed_in: None,
        offset_ns: Nanos::ZERO,
        jitter_ns: Nanos::ZERO,
        waits_ns: None,
        policy,
        cpus: CpuSet::default(),
        sections: Vec::new(),
    }
}

const fn fifo(priority: u8) -> TaskPolicy {
    TaskPolicy::Fifo {
        priority: Some(priority),
    }
}

/// A set on `cpus` with these bounds in µs.
fn check(tasks: Vec<Task>, bounds: &[Option<u64>], cpus: &CpuSet) -> TasksCheck {
    let bound = |(task, response): (&Task, &Option<u64>)| TaskBound {
        name: task.name.clone(),
        cpus: cpus.clone(),
        verdict: TaskVerdict::Met,
        response_ns: response.map(us),
        exact: true,
        slack_ns: None,
        utilisation: 0.0,
        blocking_ns: Nanos::ZERO,
        interference: Vec::new(),
        why: None,
    };
    TasksCheck {
        format: TASKS_CHECK_FORMAT.to_owned(),
        tasks: tasks.iter().zip(bounds).map(bound).collect(),
        set: TaskSet {
            name: "set".to_owned(),
            order: PriorityOrder::default(),
            tasks,
            resources: Vec::new(),
            overheads: Overheads::default(),
            assumes: Vec::new(),
        },
        verdict: SetVerdict::Shown,
        tests: Vec::new(),
        growth: None,
        breaks_first: None,
        optimal_order: None,
        order: PriorityOrder::default(),
        partitions: Vec::new(),
        admission: None,
        assumptions: Vec::new(),
        not_understood: Vec::new(),
    }
}

/// Two tasks of one CPU: 250 of 1000 µs, and 300 of 2000 µs with a bound of 550 µs.
fn two() -> TasksCheck {
    let tasks = vec![
        task("high", 250, 1_000, fifo(80)),
        task("low", 300, 2_000, fifo(79)),
    ];
    check(tasks, &[Some(250), Some(550)], &"1".parse().unwrap())
}

fn job(number: u64, release: u64, begin: u64, end: u64, execution: u64) -> Job {
    Job {
        number,
        release: us(release),
        begin: us(begin),
        end: us(end),
        execution: us(execution),
    }
}

/// What broke in the job of `low` that is released at 1000, when `high` and `low` did that.
fn broke(judge: Judge, high: &[Job], low: Job) -> Vec<(Assumption, Option<String>, Nanos)> {
    let mut judge = judge;
    for job in high {
        judge.take(0, *job);
    }
    judge.take(1, low);
    let (seen, _) = judge.conclude();
    let worst = seen[1].worst.as_ref();
    let broke = worst.map(|worst| worst.broke.clone()).unwrap_or_default();
    broke
        .into_iter()
        .map(|b| (b.assumption, b.task, b.excess_ns))
        .collect()
}

fn judge() -> Judge {
    Judge::new(&two(), Some(Nanos::from_millis(50)))
}

#[test]
fn what_tasks_of_the_set_take_is_nobodys_fault() {
    let mut judge = judge();
    judge.take(0, job(0, 1_000, 1_000, 1_240, 250));
    judge.take(1, job(0, 1_000, 1_240, 1_550, 300));
    let (seen, window) = judge.conclude();
    let window = window.unwrap();
    assert_eq!(
        (window.task, window.jobs.len()),
        (1, 2),
        "the one nearest to its bound"
    );
    assert_eq!((seen[1].above_bound, seen[1].jobs), (0, 1));
    assert_eq!(seen[1].latest_release_ns, Some(Nanos::ZERO));
    assert_eq!(seen[1].longest_response_ns, Some(us(550)));
    assert_eq!(seen[1].worst, None);
}

#[test]
fn a_longer_execution_is_named_with_its_task() {
    let high = [job(0, 1_000, 1_000, 1_330, 330)];
    let found = broke(judge(), &high, job(0, 1_000, 1_330, 1_640, 310));
    let name = |n: &str| Some(n.to_owned());
    assert_eq!(
        found,
        [
            (Assumption::Execution, name("high"), us(80)),
            (Assumption::Execution, name("low"), us(10)),
        ]
    );
}

#[test]
fn a_late_release_is_told_from_a_stranger_and_from_throttling() {
    let high = [job(0, 1_000, 1_000, 1_250, 250)];
    // 200 µs after `high` was done nobody of the set had the CPU.
    let found = broke(judge(), &high, job(0, 1_000, 1_450, 1_750, 300));
    assert_eq!(found, [(Assumption::Release, None, us(200))]);
    let found = broke(judge(), &high, job(0, 1_000, 1_250, 1_750, 300));
    assert_eq!(found, [(Assumption::SomebodyElse, None, us(200))]);
    let found = broke(judge(), &high, job(0, 1_000, 1_250, 51_250, 300));
    assert_eq!(found.first().map(|b| b.0), Some(Assumption::Throttling));
    let open = Judge::new(&two(), None);
    let found = broke(open, &high, job(0, 1_000, 1_250, 51_250, 300));
    assert_eq!(found.first().map(|b| b.0), Some(Assumption::SomebodyElse));
}

#[test]
fn overheads_that_the_set_has_are_allowed() {
    let mut check = two();
    check.set.overheads.wake_up_ns = us(150);
    check.set.overheads.switch_ns = us(30);
    let high = [job(0, 1_000, 1_000, 1_250, 250)];
    let found = broke(
        Judge::new(&check, None),
        &high,
        job(0, 1_000, 1_450, 1_750, 300),
    );
    // 150 and twice 30 for each of two jobs: nothing alone broke.
    assert_eq!(found, [(Assumption::Overheads, None, us(200))]);
}

#[test]
fn jobs_that_wait_for_their_own_earlier_ones_are_late_by_nobody() {
    let mut judge = Judge::new(&two(), None);
    judge.take(1, job(0, 0, 0, 2_600, 2_600));
    judge.take(1, job(1, 2_000, 2_600, 2_900, 300));
    let (seen, _) = judge.conclude();
    assert_eq!((seen[1].overruns, seen[1].above_bound), (1, 2));
    assert_eq!(seen[1].latest_release_ns, Some(Nanos::ZERO));
    let worst = seen[1].worst.as_ref().unwrap();
    assert_eq!((worst.job, worst.broke[0].excess_ns), (0, us(2_300)));
}

#[test]
fn a_job_is_its_sections_in_the_middle_of_its_work() {
    let inner = CriticalSection {
        resource: "b".to_owned(),
        length_ns: us(10),
        sections: Vec::new(),
    };
    let outer = CriticalSection {
        resource: "a".to_owned(),
        length_ns: us(40),
        sections: vec![inner],
    };
    let mut check = two();
    let resource = |name: &str| Resource {
        name: name.to_owned(),
        protocol: Protocol::Inheritance,
    };
    check.set.resources = vec![resource("a"), resource("b")];
    check.set.tasks[0].sections = vec![outer];
    let steps = plan::steps(&check.set, &check.set.tasks[0], Duty::FULL, &|span| {
        span.get() / 1_000
    });
    let expected = [
        Step::Work(105),
        Step::Lock(0),
        Step::Work(30),
        Step::Lock(1),
        Step::Work(10),
        Step::Unlock(1),
        Step::Unlock(0),
        Step::Work(105),
    ];
    assert_eq!(*steps, expected);
}

fn jobs(steps: &[Step], period: Nanos, duration: Nanos) -> Jobs {
    Jobs {
        steps: steps.into(),
        locks: plan::locks(&two().set).unwrap().into(),
        offset: Nanos::ZERO,
        period,
        origin: Arc::new(AtomicU64::new(clock::monotonic().get())),
        duration,
        pinned_to: None,
        stop: Arc::default(),
        seat: None,
    }
}

#[test]
fn every_release_is_a_job_or_is_left_over_at_the_end() {
    let period = Nanos::from_millis(2);
    for additions in [1_000, 10_000_000] {
        let post = Post::on("x", Policy::Other { nice: 0 }, 0);
        let (mut tap, mut stream) = Stream::pair(0, &post, period, &Keep::default());
        let (mut log, mut taken) = RingBuffer::new(100);
        let jobs = jobs(&[Step::Work(additions)], period, Nanos::from_millis(50));
        let counted = jobs.run(&mut tap, &mut log);
        stream.drain(|_| ());
        let left = stream.series(None).overruns.unwrap();
        assert_eq!(counted.jobs + left, 25, "{additions}");
        let first = taken.pop().unwrap();
        let mut before = first;
        while let Ok(job) = taken.pop() {
            // The grid does not move, and no job begins before the one before has ended.
            assert_eq!(job.release, before.release + period);
            assert!(job.begin >= before.end.max(job.release));
            before = job;
        }
    }
}

#[test]
fn a_set_runs_and_the_analysis_stays_what_it_was() {
    let cpus = sched::affinity().unwrap();
    let tasks = vec![
        task("a b,c", 100, 10_000, TaskPolicy::Other),
        task("late", 1_000, 20_000, TaskPolicy::Other),
    ];
    let check = check(tasks, &[None, Some(1)], &cpus);
    let asked = TaskSetRun {
        plan: TasksPlan {
            check: check.clone(),
            critical: Vec::new(),
        },
        work: Duty::FULL,
    };
    asked.try_out(&SysRoot::live()).unwrap();
    let found = testing::run(|frame| run(&asked, frame)).unwrap().found;
    let run = found.tasks.unwrap();
    assert_eq!(run.check, check);
    for (seen, all) in run.tasks.iter().zip([1_000, 500]) {
        assert_eq!(seen.jobs + seen.unfinished, all, "{}", seen.name);
        assert!(seen.longest_execution_ns.unwrap() > us(50));
    }
    // Nothing takes less than a microsecond.
    assert_eq!(run.tasks[1].above_bound, run.tasks[1].jobs);
    assert_eq!(run.tasks[1].examined, run.tasks[1].jobs);
    assert_eq!(found.series[0].context.as_deref(), Some("a_b_c"));
    assert_eq!(found.series[1].misses[0].deadline_ns, us(20_000));
    let names: Vec<&str> = found.figures.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names.first(), Some(&"missed_share"));
}

#[test]
fn a_closed_budget_is_an_error_before_anything_starts() {
    let group = [
        ("proc/self/cgroup", "3:cpu:/a\n"),
        (
            "proc/self/mounts",
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n",
        ),
        ("sys/fs/cgroup/cpu/a/cpu.rt_runtime_us", "0\n"),
        ("sys/fs/cgroup/cpu/a/cpu.rt_period_us", "1000000\n"),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ];
    let (_dir, sys) = machine(&group);
    let cpus = "0-3".parse().unwrap();
    let err = plan::refuse(&two(), &sys, &cpus).unwrap_err();
    let text = err.to_string();
    assert!(
        text.ends_with("/sys/fs/cgroup/cpu/a/cpu.rt_runtime_us is 0"),
        "{text}"
    );
    let (_dir, sys) = machine(&[
        ("proc/sys/kernel/sched_rt_runtime_us", "-1\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
    ]);
    plan::refuse(&two(), &sys, &cpus).unwrap();
    let mut greedy = two();
    greedy.set.tasks[0].execution_ns = us(1_000);
    let err = plan::refuse(&greedy, &sys, &"1".parse().unwrap()).unwrap_err();
    assert!(err.to_string().contains("nothing else would run"), "{err}");
}

#[test]
fn an_analysis_of_another_set_is_refused_and_no_panic() {
    let machine: CpuSet = "0-1".parse().unwrap();
    let sys = SysRoot::live();
    let mut other = two();
    other.tasks.pop();
    let mut still = two();
    still.set.tasks[0].period_ns = Nanos::ZERO;
    for (wrong, why) in [(other, "an analysis of 1"), (still, "is 0")] {
        let err = plan::refuse(&wrong, &sys, &machine)
            .unwrap_err()
            .to_string();
        assert!(err.contains(why), "{err}");
    }
}
