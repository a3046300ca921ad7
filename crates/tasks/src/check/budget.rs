// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the set itself says against an assumption: verdicts that rest on it are taken back.

use punctual_model::tasks::{Overheads, Task, TaskPolicy, TaskSet, TaskVerdict, TasksCheck};
use punctual_model::{CpuId, CpuSet};

use super::{cpus, grown, interrupts};
use crate::admission::Limits;
use crate::bounds::{ROUNDING, utilisation};
use crate::growth;
use crate::rt_app;
use crate::work::Work;

/// Events of rt-app in which a job gives up its CPU before its end.
const WAITS: [&str; 7] = [
    "barrier", "iorun", "sleep", "suspend", "sync", "wait", "yield",
];

/// Whose time counts for real-time throttling. Before Linux 6.12 the kernel adds that of `SCHED_DEADLINE` tasks to that of fixed
/// priorities (`update_curr_dl`), and that of interrupts unless it accounts for them apart; since then a server for ordinary threads
/// takes the rest of the CPU before fixed priorities do.
pub(super) fn counted(deadline: bool, overheads: &Overheads) -> &'static str {
    match (deadline, !overheads.interrupts.is_empty()) {
        (false, false) => "fixed-priority tasks",
        (true, false) => "fixed-priority and SCHED_DEADLINE tasks",
        (false, true) => "fixed-priority tasks and interrupts",
        (true, true) => "fixed-priority tasks, SCHED_DEADLINE tasks and interrupts",
    }
}

/// Why real-time throttling starts with execution times that grew, for each task of a fixed priority that it holds back.
///
/// Only the share of the CPUs counts that tasks of the same CPUs have, and single jobs that are longer than the budget of a
/// period: whether jobs that come together exceed it remains an assumption.
fn exceeded(set: &TaskSet, machine: &CpuSet, limits: &Limits, factor: u64) -> Vec<(usize, String)> {
    let mut shares: Vec<(CpuSet, Vec<(usize, &Task)>)> = Vec::new();
    for (at, task) in set.tasks.iter().enumerate() {
        let cpus = cpus(task, machine);
        match shares.iter_mut().find(|(known, _)| *known == cpus) {
            Some((_, tasks)) => tasks.push((at, task)),
            None => shares.push((cpus, vec![(at, task)])),
        }
    }
    let each = shares.into_iter();
    each.flat_map(|(cpus, tasks)| of_share(&cpus, &tasks, &set.overheads, limits, factor))
        .collect()
}

/// The same for all tasks of these CPUs.
fn of_share(
    cpus: &CpuSet,
    tasks: &[(usize, &Task)],
    overheads: &Overheads,
    limits: &Limits,
    factor: u64,
) -> Vec<(usize, String)> {
    let Some(runtime) = limits.runtime_us.filter(|us| *us < limits.period_us) else {
        return Vec::new();
    };
    let deadline = |task: &Task| matches!(task.policy, TaskPolicy::Deadline { .. });
    let each = tasks.iter().map(|(_, task)| *task);
    let who = counted(each.clone().any(deadline), overheads);
    let count = punctual_stats::float(cpus.len() as u64);
    let counting = each.filter(|task| task.policy.is_throttled() || deadline(task));
    let tasks_ask: f64 = counting
        .map(|task| grown(task, overheads, factor).utilisation())
        .sum();
    let asked = tasks_ask + utilisation(&interrupts(overheads)) * count;
    let one = punctual_stats::float(runtime) / punctual_stats::float(limits.period_us);
    let left = one * count;
    let why = |work: &Work| {
        if asked > left + ROUNDING {
            let name = if cpus.len() == 1 { "CPU" } else { "CPUs" };
            Some(format!(
                "{who} ask for {:.1} % of {name} {cpus}; real-time throttling leaves them {:.1} % \
                 (sched_rt_runtime_us)",
                asked * 100.0,
                left * 100.0
            ))
        } else if work.utilisation() > one + ROUNDING {
            Some(format!(
                "it asks for {:.1} % of a CPU; real-time throttling leaves it {:.1} % (sched_rt_runtime_us)",
                work.utilisation() * 100.0,
                one * 100.0
            ))
        } else {
            (work.cost > runtime.saturating_mul(1_000)).then(|| {
                format!(
                    "its jobs are longer than the {runtime} of each {} µs that real-time throttling leaves \
                     (sched_rt_runtime_us)",
                    limits.period_us
                )
            })
        }
    };
    let throttled = tasks.iter().filter(|(_, task)| task.policy.is_throttled());
    throttled
        .filter_map(|(at, task)| Some((*at, why(&grown(task, overheads, factor))?)))
        .collect()
}

/// Whether real-time throttling does not start where these tasks are on one CPU.
pub(super) fn leaves_one<'a>(
    tasks: impl Iterator<Item = &'a Task>,
    overheads: &Overheads,
    cpu: CpuId,
    limits: &Limits,
) -> bool {
    let tasks: Vec<(usize, &Task)> = tasks.enumerate().collect();
    let cpu = CpuSet::from_iter([cpu]);
    of_share(&cpu, &tasks, overheads, limits, growth::ONE).is_empty()
}

/// Whether real-time throttling does not start, as far as is known, with execution times that grew.
pub(super) fn leaves(set: &TaskSet, machine: &CpuSet, limits: &Limits, factor: u64) -> bool {
    exceeded(set, machine, limits, factor).is_empty()
}

/// Takes verdicts back of tasks of fixed priorities that real-time throttling holds back.
pub(super) fn throttled(set: &TaskSet, machine: &CpuSet, limits: &Limits, check: &mut TasksCheck) {
    for (at, why) in exceeded(set, machine, limits, growth::ONE) {
        let bound = &mut check.tasks[at];
        if bound.verdict == TaskVerdict::Met {
            bound.verdict = TaskVerdict::NotShown;
            bound.why = Some(why);
        }
    }
}

/// Takes verdicts back where jobs sleep or wait: they may delay others by more than their execution time.
pub(super) fn waiting(machine: &CpuSet, check: &mut TasksCheck) {
    for task in &check.set.tasks {
        let Some(waits) = task.waits_ns else { continue };
        let own = cpus(task, machine);
        let met = check.tasks.iter_mut();
        for bound in met.filter(|bound| bound.verdict == TaskVerdict::Met) {
            if !bound.cpus.common(&own).is_empty() {
                bound.verdict = TaskVerdict::NotShown;
                bound.why = Some(format!(
                    "jobs of {} wait for up to {waits} before their end, which these analyses do not cover",
                    task.name
                ));
            }
        }
    }
    let waits = |key: &String| {
        let event = key.rsplit('.').next().unwrap_or_default();
        let kind = rt_app::kind(event).filter(|_| key.starts_with("tasks."));
        match kind? {
            "fork" => Some(format!(
                "a job starts another thread ({key}), which is no task of the set"
            )),
            "timer" => Some(format!(
                "a job keeps a resource until its next release ({key}), which these analyses do not cover"
            )),
            kind if WAITS.contains(&kind) => Some(format!(
                "a job sleeps or waits before its end ({key}), which these analyses do not cover"
            )),
            _ => None,
        }
    };
    let Some(why) = check.not_understood.iter().find_map(waits) else {
        return;
    };
    for bound in &mut check.tasks {
        if bound.verdict == TaskVerdict::Met {
            bound.verdict = TaskVerdict::NotShown;
            bound.why = Some(why.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::tasks::{SetVerdict, TaskVerdict, TasksCheck};

    use crate::admission::Limits;
    use crate::error::TaskSetError;
    use crate::{check, file, rt_app};

    fn toml(text: &str, count: u32) -> TasksCheck {
        let draft = file::parse("a.toml", text).unwrap();
        let (set, unused) = draft
            .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
            .unwrap();
        check(&set, unused, &(0..count).collect(), &Limits::usual(count))
    }

    fn task(name: &str, period: &str, execution: &str) -> String {
        format!("[[task]]\nname = '{name}'\nperiod = '{period}'\nexecution = '{execution}'\n")
    }

    #[test]
    fn a_set_that_real_time_throttling_holds_back_is_not_shown() {
        for (period, execution, why) in [
            (
                "1ms",
                "999us",
                "99.9 % of CPU 0; real-time throttling leaves them 95.0 %",
            ),
            ("20s", "2s", "longer than the 950000 of each 1000000 µs"),
        ] {
            let found = toml(&task("a", period, execution), 1);
            assert_eq!(found.verdict, SetVerdict::NotShown, "{found:?}");
            let said = found.tasks[0].why.as_deref().unwrap();
            assert!(said.contains(why), "{said}");
        }
        // A task is on one CPU at a time.
        let found = toml(&task("a", "1ms", "999us"), 2);
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:?}");
        let found = toml(&task("a", "1ms", "950us"), 1);
        assert_eq!(found.verdict, SetVerdict::Shown, "{found:?}");
    }

    #[test]
    fn a_task_that_waits_within_its_jobs_shows_nothing_on_its_cpus() {
        // The reader may wait in one job and not in the next one: then the worker takes 11.5 ms.
        let on = |cpu: u32| format!("cpus = '{cpu}'\n");
        let reader = task("reader", "10ms", "4ms") + "waits = '4500us'\n" + &on(0);
        let rest = task("worker", "10ms", "5ms") + &on(0) + &task("other", "10ms", "5ms") + &on(1);
        let found = toml(&(reader + &rest), 2);
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
        let verdicts: Vec<TaskVerdict> = found.tasks.iter().map(|of| of.verdict).collect();
        let (not_shown, met) = (TaskVerdict::NotShown, TaskVerdict::Met);
        assert_eq!(verdicts, [not_shown, not_shown, met], "{found:#?}");
        let why = found.tasks[1].why.as_deref().unwrap();
        assert!(
            why.starts_with("jobs of reader wait for up to 4.5 ms"),
            "{why}"
        );
    }

    #[test]
    fn throttling_counts_deadline_tasks_and_interrupts_too() {
        let reserved = |execution| task("reserved", "20ms", execution) + "policy = 'deadline'\n";
        let control = |execution| task("control", "20ms", execution) + "policy = 'fifo'\n";
        let interrupts = "[overheads]\ninterrupts = [{ takes = '1ms', every = '10ms' }]\n";
        // 99 %, of which throttling, or the kernel's server for ordinary threads, leaves 95.
        let found = toml(&(reserved("9400us") + &control("10400us")), 1);
        assert_eq!(found.tasks[0].verdict, TaskVerdict::Met, "{found:#?}");
        assert_eq!(found.tasks[1].verdict, TaskVerdict::NotShown, "{found:#?}");
        let why = found.tasks[1].why.as_deref().unwrap();
        let expected = "fixed-priority and SCHED_DEADLINE tasks ask for 99.0 % of CPU 0";
        assert!(why.starts_with(expected), "{why}");
        let assumed = "Real-time throttling never starts: fixed-priority and SCHED_DEADLINE tasks stay below 950000 of";
        let mut assumptions = found.assumptions.iter();
        assert!(assumptions.any(|of| of.starts_with(assumed)), "{found:#?}");
        let found = toml(&(interrupts.to_owned() + &control("17600us")), 1);
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
        let why = found.tasks[0].why.as_deref().unwrap();
        let expected = "fixed-priority tasks and interrupts ask for 98.0 % of CPU 0";
        assert!(why.starts_with(expected), "{why}");
        for (text, growth) in [
            (reserved("4ms") + &control("4ms"), 0.95 / 0.4),
            (interrupts.to_owned() + &control("10ms"), 0.85 / 0.5),
        ] {
            let found = toml(&text, 1);
            assert!((found.growth.unwrap() - growth).abs() < 1e-5, "{found:#?}");
        }
        // Each of the CPUs has interrupts, and no assignment gives one more than throttling leaves.
        let found = toml(&(interrupts.to_owned() + &control("17600us")), 2);
        assert!(found.partitions.iter().all(|way| !way.passed), "{found:#?}");
    }

    #[test]
    fn execution_times_grow_no_further_than_throttling_lets_them() {
        let found = toml(&task("a", "1ms", "500us"), 1);
        let growth = found.growth.unwrap();
        assert!((growth - 1.9).abs() < 1e-5, "{growth}");
        assert_eq!(found.breaks_first, None);
    }

    #[test]
    fn execution_times_grow_no_further_than_the_kernel_admits_their_runtimes() {
        let text = task("a", "10ms", "1ms") + "policy = 'deadline'\n";
        let found = toml(&text, 1);
        assert_eq!(found.verdict, SetVerdict::Shown, "{found:?}");
        // A tenth of the time is kept: 95 % less the fair server's 5 %.
        let growth = found.growth.unwrap();
        assert!((growth - 9.0).abs() < 1e-3, "{growth}");
        for (execution, verdict) in [
            ("8999us", SetVerdict::Shown),
            ("9001us", SetVerdict::NotShown),
        ] {
            let text = task("a", "10ms", execution) + "policy = 'deadline'\n";
            assert_eq!(toml(&text, 1).verdict, verdict, "{execution}");
        }
    }

    #[test]
    fn tasks_of_one_priority_are_not_assigned_to_a_cpu_on_which_one_is_late() {
        let of = |name: &str, execution: &str, deadline: &str| {
            task(name, "10ms", execution)
                + &format!("deadline = '{deadline}'\npolicy = 'fifo'\npriority = 50\n")
        };
        let found = toml(&(of("a", "1ms", "2ms") + &of("b", "5ms", "10ms")), 2);
        for way in &found.partitions {
            let together = way.cpus.iter().any(|cpu| cpu.tasks.len() == 2);
            assert!(!(way.passed && together), "{way:?}");
        }
    }

    #[test]
    fn a_job_longer_than_its_deadline_is_late_on_any_number_of_cpus() {
        let found = toml(&task("a", "1ms", "2ms"), 2);
        assert_eq!(found.verdict, SetVerdict::Missed, "{found:?}");
        // Nothing is assigned to the CPUs: no share is -0.
        let shares = found.partitions.iter().flat_map(|of| &of.cpus);
        assert!(shares.clone().count() > 0);
        assert!(shares.clone().all(|cpu| cpu.utilisation.is_sign_positive()));
    }

    #[test]
    fn jobs_that_sleep_are_not_covered_wherever_they_come_from() {
        let task = |event: &str| {
            format!(
                r#"{{"tasks": {{"t": {{"policy": "SCHED_FIFO", "priority": 5, "run": 10, {event}
                "timer": {{"ref": "x", "period": 1000}}}}}}}}"#
            )
        };
        for (event, verdict) in [
            (r#""sleep1": 100,"#, SetVerdict::NotShown),
            (r#""suspend": "u","#, SetVerdict::NotShown),
            (r#""sleep_a": 100,"#, SetVerdict::NotShown),
            (r#""sleep.1": 100,"#, SetVerdict::NotShown),
            (r#""yield": "","#, SetVerdict::NotShown),
            (r#""fork": "u","#, SetVerdict::NotShown),
            (r#""comment": "sleep","#, SetVerdict::Shown),
            (r#""mem": 4,"#, SetVerdict::Shown),
            ("", SetVerdict::Shown),
        ] {
            let draft = rt_app::parse("a.json", &task(event)).unwrap();
            let (set, unused) = draft
                .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
                .unwrap();
            let found = check(&set, unused, &(0..1).collect(), &Limits::usual(1));
            assert_eq!(found.verdict, verdict, "{event}");
        }
    }

    #[test]
    fn a_resource_that_is_kept_until_the_next_release_is_not_covered() {
        let verdict = |events: &str| {
            let task = |name: &str, priority: u8, events: &str| {
                format!(r#""{name}": {{"policy": "SCHED_FIFO", "priority": {priority}, {events}}}"#)
            };
            let high = r#""lock": "r", "run": 70, "unlock": "r", "timer": {"period": 5000}"#;
            let tasks = [task("high", 15, high), task("low", 5, events)].join(", ");
            let text = format!(r#"{{"tasks": {{{tasks}}}, "global": {{"pi_enabled": true}}}}"#);
            let draft = rt_app::parse("a.json", &text).unwrap();
            let (set, unused) = draft
                .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
                .unwrap();
            let found = check(&set, unused, &(0..1).collect(), &Limits::usual(1));
            (
                found.verdict,
                found.tasks[0].why.clone().unwrap_or_default(),
            )
        };
        // It sleeps for most of its period, and whoever wants the resource waits for it.
        let (kept, why) =
            verdict(r#""lock": "r", "run": 50, "timer": {"period": 10000}, "unlock": "r""#);
        assert_eq!(kept, SetVerdict::NotShown);
        assert!(
            why.contains("until its next release (tasks.low.timer)"),
            "{why}"
        );
        let (given_back, _) =
            verdict(r#""lock": "r", "run": 50, "unlock": "r", "timer": {"period": 10000}"#);
        assert_eq!(given_back, SetVerdict::Shown);
    }
}
