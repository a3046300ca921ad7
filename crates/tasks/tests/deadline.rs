// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `SCHED_DEADLINE` tasks against a schedule of the kernel's constant bandwidth server, in steps of one millisecond: it counts
//! deadlines from wake-ups and keeps to runtimes, as kernel/sched/deadline.c does.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::fmt::Write as _;

use punctual_model::tasks::{SetVerdict, TaskBound, TaskVerdict, TasksCheck};
use punctual_stats::RandomSource;
use punctual_tasks::{Limits, TaskSetError, check, file};

fn checked(text: &str) -> TasksCheck {
    let draft = file::parse("a.toml", text).unwrap();
    let (set, unused) = draft
        .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
        .unwrap();
    check(&set, unused, &(0..1).collect(), &Limits::usual(1))
}

/// A task, in ms.
#[derive(Clone, Copy, Debug)]
struct Reserved {
    execution: i64,
    period: i64,
    deadline: i64,
    jitter: i64,
    /// Nothing of one that has a fixed priority below the others.
    runtime: Option<i64>,
}

fn file_of(tasks: &[Reserved]) -> String {
    let mut text = String::new();
    for (at, task) in tasks.iter().enumerate() {
        let Reserved {
            execution,
            period,
            deadline,
            jitter,
            runtime,
        } = task;
        write!(
            text,
            "[[task]]\nname = 't{at}'\nperiod = '{period}ms'\ndeadline = '{deadline}ms'\nexecution = '{execution}ms'\n\
             jitter = '{jitter}ms'\n"
        )
        .unwrap();
        match runtime {
            Some(runtime) => {
                writeln!(text, "policy = 'deadline'\nruntime = '{runtime}ms'").unwrap()
            }
            None => writeln!(text, "policy = 'fifo'\npriority = 50").unwrap(),
        }
    }
    text
}

/// What the kernel keeps of a task.
#[derive(Clone, Debug, Default)]
struct Server {
    /// When the releases of its jobs were due, and what is left of them.
    jobs: Vec<(i64, i64)>,
    left: i64,
    due: Option<i64>,
    /// Until when it is throttled.
    throttled: Option<i64>,
}

impl Server {
    /// `update_dl_entity` and `dl_check_constrained_dl`.
    fn wake(&mut self, task: &Reserved, now: i64) {
        let Some(runtime) = task.runtime else { return };
        let constrained = task.deadline < task.period;
        let Some(due) = self.due else {
            (self.due, self.left) = (Some(now + task.deadline), runtime);
            return;
        };
        let next = due - task.deadline + task.period;
        if constrained && due < now && now < next {
            self.throttled = Some(next);
        } else if due < now || task.deadline * self.left > (due - now) * runtime {
            if constrained && due >= now {
                self.left = runtime * (due - now) / task.deadline;
            } else {
                (self.due, self.left) = (Some(now + task.deadline), runtime);
            }
        }
    }

    fn replenish(&mut self, task: &Reserved) {
        self.due = self.due.map(|due| due + task.period);
        self.left = task.runtime.unwrap_or_default();
        self.throttled = None;
    }

    /// `update_curr_dl`: throttles it where its runtime is used up. Where the job ends just then, `dl_task_timer` replenishes a
    /// server without a job.
    fn charge(&mut self, task: &Reserved, now: i64) {
        if self.left > 0 || task.runtime.is_none() {
            return;
        }
        match self.due.map(|due| due - task.deadline + task.period) {
            Some(next) if next > now => self.throttled = Some(next),
            _ => self.replenish(task),
        }
    }

    /// Whether it has a job that may run.
    fn may_run(&mut self, task: &Reserved, now: i64) -> bool {
        if self.jobs.is_empty() || self.throttled.is_some() {
            return false;
        }
        // The revised wake-up rule may have left nothing.
        self.charge(task, now);
        self.throttled.is_none()
    }
}

/// When a job comes, when its release was due, its task, and how long it executes.
type Coming = (i64, i64, usize, i64);

fn below(random: &mut RandomSource, end: i64) -> i64 {
    i64::try_from(random.below(usize::try_from(end).unwrap())).unwrap()
}

/// Jobs that come as late, as far apart and as short as `random` says.
fn coming(tasks: &[Reserved], random: &mut RandomSource, until: i64) -> Vec<Coming> {
    let mut below = |end| below(random, end);
    let mut coming: Vec<Coming> = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        let mut due = if below(2) == 0 { 0 } else { below(task.period) };
        let mut before = 0;
        while due < until {
            let late = [0, task.jitter, below(task.jitter + 1)][usize::try_from(below(3)).unwrap()];
            before = before.max(due + late);
            let execution = match below(4) {
                0 => 1 + below(task.execution),
                _ => task.execution,
            };
            coming.push((before, due, at, execution));
            due += task.period;
            if below(4) == 0 {
                due += below(task.period);
            }
        }
    }
    coming.sort_unstable();
    coming
}

/// The longest responses of the tasks.
fn longest(tasks: &[Reserved], coming: &[Coming], random: &mut RandomSource) -> Vec<i64> {
    let until = coming.iter().map(|of| of.0).max().unwrap();
    let mut coming = coming.iter().peekable();
    let mut servers = vec![Server::default(); tasks.len()];
    let mut worst = vec![0; tasks.len()];
    for now in 0..until + 500 {
        for (server, task) in servers.iter_mut().zip(tasks) {
            if server.throttled.is_some_and(|end| now >= end) {
                server.replenish(task);
            }
        }
        while let Some((_, due, at, execution)) = coming.next_if(|(comes, ..)| *comes <= now) {
            let server = &mut servers[*at];
            server.jobs.push((*due, *execution));
            if server.jobs.len() == 1 && server.throttled.is_none() {
                server.wake(&tasks[*at], now);
            }
        }
        let ready: Vec<usize> = (0..tasks.len())
            .filter(|at| servers[*at].may_run(&tasks[*at], now))
            .collect();
        let Some(at) = ready.into_iter().min_by_key(|at| {
            let due = servers[*at].due;
            (due.is_none(), due, below(random, 8))
        }) else {
            continue;
        };
        let server = &mut servers[at];
        server.left -= 1;
        server.jobs[0].1 -= 1;
        if server.jobs[0].1 == 0 {
            let (due, _) = server.jobs.remove(0);
            worst[at] = worst[at].max(now + 1 - due);
        }
        server.charge(&tasks[at], now + 1);
    }
    worst
}

fn random_set(random: &mut RandomSource, jitter: bool) -> Vec<Reserved> {
    let mut within = |low: i64, high: i64| low + below(random, high - low + 1);
    let n = within(2, 3);
    let percent = within(40, 88);
    let task = |at| {
        let period = within(8, 40);
        let execution = (period * percent / 100 / n).max(1);
        let deadline = match within(0, 9) {
            0..6 => period,
            _ => within(execution, period),
        };
        let late = if jitter && within(0, 1) == 1 {
            within(1, (period / 4).max(1))
        } else {
            0
        };
        let runtime = (execution + within(0, 2)).min(deadline);
        let runtime = Some(runtime).filter(|_| at < n || within(0, 1) == 0);
        Reserved {
            execution,
            period,
            deadline,
            jitter: late,
            runtime,
        }
    };
    (1..=n).map(task).collect()
}

#[test]
fn no_schedule_of_the_kernels_server_is_later_than_what_is_shown() {
    let mut random = RandomSource::new(10);
    let (mut shown, mut late, mut short) = (0, 0, 0);
    for round in 0..6_000 {
        let tasks = random_set(&mut random, round % 4 > 0);
        let found = checked(&file_of(&tasks));
        let met = |bound: &&TaskBound| bound.verdict == TaskVerdict::Met;
        if !found.tasks.iter().any(|bound| met(&bound)) {
            continue;
        }
        for _ in 0..10 {
            let coming = coming(&tasks, &mut random, 300);
            let seen = longest(&tasks, &coming, &mut random);
            for (seen, bound) in seen.iter().zip(&found.tasks).filter(|(_, of)| met(of)) {
                let seen = u64::try_from(*seen).unwrap() * 1_000_000;
                let bound = bound.response_ns.unwrap().get();
                assert!(seen <= bound, "{seen} seen, bound {bound}: {tasks:?}");
            }
        }
        let whole = found.verdict == SetVerdict::Shown;
        let reserved = || tasks.iter().filter(|task| task.runtime.is_some());
        shown += usize::from(whole);
        late += usize::from(whole && tasks.iter().any(|task| task.jitter > 0));
        short += usize::from(whole && reserved().any(|task| task.deadline < task.period));
    }
    let counts = [shown, late, short];
    assert!(shown > 500 && late > 200 && short > 100, "{counts:?}");
}

#[test]
fn a_runtime_that_a_job_may_use_up_shows_nothing_where_the_deadline_is_shorter_than_the_period() {
    let of = |deadline: &str, runtime: &str| {
        checked(&format!(
            "policy = 'deadline'\n[[task]]\nname = 'a'\nperiod = '10ms'\ndeadline = '{deadline}'\n\
             execution = '2ms'\n{runtime}[[task]]\nname = 'b'\nperiod = '20ms'\nexecution = '2ms'\n"
        ))
    };
    // The job of a that comes at 0 uses up its runtime, so the kernel begins the next period at 10, due at 15. The job that comes at
    // 11 has 4/5 of 2 ms until then, and the rest at 20.
    let a = Reserved {
        execution: 2,
        period: 10,
        deadline: 5,
        jitter: 0,
        runtime: Some(2),
    };
    let seen = longest(
        &[a],
        &[(0, 0, 0, 2), (11, 11, 0, 2)],
        &mut RandomSource::new(1),
    );
    assert_eq!(seen, [10]);
    for runtime in ["", "runtime = '2ms'\n"] {
        let found = of("5ms", runtime);
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
        let why = |at: usize| found.tasks[at].why.as_deref().unwrap();
        assert!(
            why(0).starts_with("a job may use up its runtime of 2 ms"),
            "{}",
            why(0)
        );
        // It goes on with a deadline that its jobs do not have.
        assert!(why(1).starts_with("a may use up its runtime"), "{}", why(1));
    }
    assert_eq!(of("5ms", "runtime = '2001us'\n").verdict, SetVerdict::Shown);
    assert_eq!(of("10ms", "").verdict, SetVerdict::Shown);
}

#[test]
fn deadlines_that_the_kernel_counts_from_late_wake_ups_are_not_shown() {
    const SET: &str = "
        policy = 'deadline'
        [[task]]
        name = 'a'
        period = '10ms'
        execution = '4ms'
        runtime = '4500us'
        jitter = '4ms'
        [[task]]
        name = 'b'
        period = '10ms'
        execution = '4ms'
        runtime = '4400us'
        ";
    let found = checked(SET);
    // The job of a comes 4 ms late and is due at 14 ms: b, which is due at 13 ms, goes first.
    assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
    let bound = found.tasks[0].response_ns.unwrap();
    assert!(bound.get() >= 12_000_000, "{bound}");
    let punctual = checked(&SET.replace("'4ms'\n        [", "'0ms'\n        ["));
    assert_eq!(punctual.verdict, SetVerdict::Shown);
    assert!(
        punctual
            .tasks
            .iter()
            .all(|task| task.verdict == TaskVerdict::Met)
    );
}

#[test]
fn wake_ups_are_late_releases_for_the_kernel_too() {
    let of = |wake_up: &str| {
        let task = |name: &str| {
            format!(
                "[[task]]\nname = '{name}'\nperiod = '10ms'\nexecution = '4ms'\nruntime = '4200us'\n"
            )
        };
        checked(&format!(
            "policy = 'deadline'\n[overheads]\nwake-up = '{wake_up}'\n{}{}",
            task("a"),
            task("b")
        ))
    };
    assert_eq!(of("1ms").verdict, SetVerdict::Shown);
    let bound = of("1ms").tasks[0].response_ns.unwrap().get();
    assert!(bound >= 9_000_000, "{bound}");
    assert_eq!(of("3ms").verdict, SetVerdict::NotShown);
}

#[test]
fn switches_and_interrupts_use_up_the_runtime_too() {
    let of = |runtime: &str, overheads: &str| {
        checked(&format!(
            "policy = 'deadline'\n[overheads]\n{overheads}\n[[task]]\nname = 'a'\nperiod = '10ms'\n\
             execution = '4ms'\nruntime = '{runtime}'\n"
        ))
    };
    assert_eq!(of("4ms", "").verdict, SetVerdict::Shown);
    for (runtime, overheads, verdict) in [
        ("4ms", "switch = '5us'", SetVerdict::NotShown),
        ("4009us", "switch = '5us'", SetVerdict::NotShown),
        ("4010us", "switch = '5us'", SetVerdict::Shown),
        // Three come within 10 ms.
        (
            "4014us",
            "interrupts = [{ takes = '5us', every = '4ms' }]",
            SetVerdict::NotShown,
        ),
        (
            "4015us",
            "interrupts = [{ takes = '5us', every = '4ms' }]",
            SetVerdict::Shown,
        ),
    ] {
        let found = of(runtime, overheads);
        assert_eq!(found.verdict, verdict, "{runtime} {overheads}: {found:#?}");
        assert!(found.growth.is_none_or(|growth| growth >= 1.0));
    }
    let found = of("4ms", "switch = '5us'");
    let why = found.tasks[0].why.as_deref().unwrap();
    assert!(
        why.contains("4010000 ns of its runtime of 4000000 ns"),
        "{why}"
    );
}

#[test]
fn a_task_that_shares_a_resource_shows_nothing_on_its_cpu_whatever_the_protocol() {
    let of = |protocol: &str, second: &str| {
        let task = |name: &str, policy: &str, period: u32, execution: u32, resource: &str| {
            format!(
                "[[task]]\nname = '{name}'\npolicy = '{policy}'\nperiod = '{period}ms'\nexecution = '{execution}ms'\n\
                 sections = [{{ resource = '{resource}', length = '{execution}ms' }}]\n"
            )
        };
        let resource =
            |name: &str| format!("[[resource]]\nname = '{name}'\nprotocol = '{protocol}'\n");
        let text = task("a", "deadline", 10, 2, "r") + &task("b", second, 13, 3, "r");
        let apart = task("a", "deadline", 10, 2, "r") + &task("b", second, 13, 3, "s");
        (
            checked(&(resource("r") + &text)),
            checked(&(resource("r") + &resource("s") + &apart)),
        )
    };
    for protocol in ["none", "inheritance", "ceiling"] {
        for second in ["deadline", "fifo"] {
            let (shared, apart) = of(protocol, second);
            // b takes r just before 0, 13 and 26, and a is released at 0, 10 and 20: a waits until 3, so the kernel puts its deadline to 13 and lets its second job
            // begin no earlier; that one waits until 16, and the third, from 20 on, may begin at 26 and waits until 29.
            for task in &shared.tasks {
                assert_eq!(
                    task.verdict,
                    TaskVerdict::NotShown,
                    "{protocol}: {shared:#?}"
                );
                let why = task.why.as_deref().unwrap();
                assert!(
                    why.starts_with("r is shared with a SCHED_DEADLINE task"),
                    "{why}"
                );
            }
            assert_eq!(apart.verdict, SetVerdict::Shown, "{protocol}: {apart:#?}");
        }
    }
}
