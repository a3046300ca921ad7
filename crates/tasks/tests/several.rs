// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Sets on several CPUs: interrupts, units of time, and what the kernel leaves of each CPU.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use punctual_model::tasks::{SetVerdict, TaskVerdict, TasksCheck};
use punctual_tasks::{Limits, TaskSetError, check, file};

fn checked(text: &str, limits: &Limits) -> TasksCheck {
    let draft = file::parse("a.toml", text).unwrap();
    let (set, unused) = draft
        .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
        .unwrap();
    check(&set, unused, &(0..limits.cpus).collect(), limits)
}

#[test]
fn a_job_that_migrates_meets_the_interrupts_of_each_cpu() {
    // k begins at 0 on CPU 0, whose interrupt takes it until 5. It has run for 8 at 13, when h and h2 come and take both CPUs until
    // 15; it goes on on CPU 1, whose interrupt takes it from 14 to 19, and ends at 21, two ms too late.
    let of = |interrupts: &str| {
        let task = |name: &str, execution: &str, deadline: &str, priority: u8| {
            format!(
                "[[task]]\nname = '{name}'\nperiod = '100ms'\nexecution = '{execution}'\ndeadline = '{deadline}'\n\
                 priority = {priority}\n"
            )
        };
        let overheads = format!("[overheads]\ninterrupts = [{interrupts}]\n");
        let tasks = [
            task("h", "2ms", "100ms", 80),
            task("h2", "2ms", "100ms", 79),
            task("k", "10ms", "19ms", 70),
        ];
        checked(&(overheads + &tasks.concat()), &Limits::usual(2))
    };
    let found = of("{ takes = '5ms', every = '100ms' }");
    assert_eq!(found.tasks[2].verdict, TaskVerdict::NotShown, "{found:#?}");
    assert_eq!(of("").verdict, SetVerdict::Shown);
}

/// Three tasks of 20 / 100 in this unit.
fn three(unit: &str) -> String {
    let task = |(name, priority): (&str, u8)| {
        format!(
            "[[task]]\nname = '{name}'\nperiod = '100{unit}'\nexecution = '20{unit}'\npriority = {priority}\n"
        )
    };
    [("a", 80), ("b", 79), ("c", 78)].map(task).concat()
}

#[test]
fn verdict_and_room_do_not_depend_on_the_unit_of_time() {
    let limits = Limits {
        runtime_us: None,
        ..Limits::usual(2)
    };
    let of = |unit| checked(&three(unit), &limits);
    let expected = of("us");
    let room = expected.growth.unwrap();
    assert_eq!(expected.verdict, SetVerdict::Shown);
    for unit in ["ms", "s"] {
        let found = of(unit);
        assert_eq!(found.verdict, SetVerdict::Shown, "{found:#?}");
        assert!((found.growth.unwrap() - room).abs() < 1e-4, "{unit}");
        let bound = |of: &TasksCheck| of.tasks[2].response_ns.unwrap().as_secs_f64();
        let scale = bound(&found) / bound(&expected);
        assert!(
            (scale.log10() - scale.log10().round()).abs() < 1e-3,
            "{unit} {scale}"
        );
        assert!(found.partitions.iter().all(|way| way.passed));
    }
}

#[test]
fn light_tasks_of_rate_monotonic_priorities_are_shown_by_their_sum() {
    // Deadlines beyond the periods are not covered by the response times.
    let text = three("ms").replace("period = '100ms'", "period = '100ms'\ndeadline = '120ms'");
    let found = checked(&text, &Limits::usual(2));
    assert_eq!(found.verdict, SetVerdict::Shown, "{found:#?}");
    let passed = |name: &str| {
        let test = found.tests.iter().find(|test| test.name == name);
        test.unwrap().passed
    };
    assert_eq!(passed("global response times"), Some(false));
    assert_eq!(passed("utilisation of RM-US"), Some(true));
}

#[test]
fn admission_is_that_of_the_cpus_that_are_asked_for() {
    let task = |at: u32| {
        format!(
            "[[task]]\nname = 't{at}'\nperiod = '10ms'\nexecution = '4ms'\npolicy = 'deadline'\n"
        )
    };
    let text: String = (0..8).map(task).collect();
    let draft = file::parse("a.toml", &text).unwrap();
    let (set, _) = draft
        .resolve::<TaskSetError>(|_| unreachable!("no run is named"))
        .unwrap();
    // This machine has two CPUs, the one that is asked about eight.
    let found = check(&set, Vec::new(), &(0..8).collect(), &Limits::usual(2));
    let admission = found.admission.unwrap();
    assert!(admission.admitted, "{admission:?}");
    assert_eq!(admission.cpus, 8);
    let found = check(&set, Vec::new(), &(0..2).collect(), &Limits::usual(8));
    assert!(!found.admission.unwrap().admitted);
}

#[test]
fn deadline_tasks_that_may_not_use_all_cpus_are_not_shown() {
    let text = "[[task]]\nname = 'a'\nperiod = '10ms'\nexecution = '4ms'\npolicy = 'deadline'\ncpus = '0'\n";
    let found = checked(text, &Limits::usual(2));
    assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
    let refused = &found.admission.unwrap().refused;
    assert!(refused[0].contains("exclusive cpuset"), "{refused:?}");
    // An exclusive cpuset of CPU 0.
    let found = checked(text, &Limits::usual(1));
    assert_eq!(found.verdict, SetVerdict::Shown, "{found:#?}");
    assert!(
        found
            .assumptions
            .iter()
            .any(|of| of.contains("exclusive cpuset"))
    );
}

#[test]
fn tasks_of_a_bpf_scheduler_are_not_shown_without_a_cpu_each() {
    let of = |scheduler: &str, executions: [u32; 3], cpus: [&str; 3], limits: &Limits| {
        let task = |(at, (execution, cpus)): (usize, (u32, &str))| {
            format!(
                "[[task]]\nname = 't{at}'\nperiod = '10ms'\nexecution = '{execution}ms'\ncpus = '{cpus}'\n"
            )
        };
        let tasks = executions.into_iter().zip(cpus).enumerate().map(task);
        let text = format!("scheduler = '{scheduler}'\n{}", tasks.collect::<String>());
        checked(&text, limits)
    };
    for scheduler in ["earliest-deadline-first", "rate-monotonic"] {
        let found = of(scheduler, [5, 5, 4], ["0-2"; 3], &Limits::usual(3));
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
        let why = found.tasks[0].why.as_deref().unwrap();
        assert!(
            why.contains("name it with `cpus`; each task assigned to one CPU, as in the table, the set passes"),
            "{why}"
        );
        // Nor does it matter that some overlap.
        let found = of(scheduler, [5, 5, 4], ["0", "0-1", "2"], &Limits::usual(3));
        assert_eq!(found.verdict, SetVerdict::NotShown, "{found:#?}");
        let found = of(scheduler, [5, 5, 4], ["0", "1", "0"], &Limits::usual(2));
        assert_eq!(found.verdict, SetVerdict::Shown, "{found:#?}");
        let found = of(scheduler, [8, 8, 8], ["0-1"; 3], &Limits::usual(2));
        assert_eq!(found.verdict, SetVerdict::Missed, "{found:#?}");
    }
}

#[test]
fn tasks_whose_runtime_or_parameters_the_kernel_contradicts_are_assigned_to_no_cpu() {
    let of = |third: &str, runtimes: [&str; 3]| {
        let task = |(name, times, runtime): (&str, &str, &str)| {
            format!("[[task]]\nname = '{name}'\n{times}\n{runtime}\n")
        };
        let [a, b, c] = runtimes;
        let two = "period = '10ms'\nexecution = '4ms'";
        let tasks = [("a", two, a), ("b", two, b), ("c", third, c)];
        let text = tasks.map(task).concat();
        checked(
            &format!("policy = 'deadline'\n[overheads]\nswitch = '5us'\n{text}"),
            &Limits::usual(2),
        )
    };
    let (seven, short) = (
        "period = '11ms'\nexecution = '7ms'",
        "period = '90us'\nexecution = '50us'",
    );
    let four = "runtime = '4010us'";
    for (third, runtimes, passes) in [
        (seven, [four, four, "runtime = '7010us'"], true),
        (seven, [four, four, ""], false),
        (seven, [four, four, "runtime = '2ms'"], false),
        // Below sched_deadline_period_min_us.
        (short, [four, four, "runtime = '60us'"], false),
    ] {
        let found = of(third, runtimes);
        assert!(!found.partitions.is_empty(), "{found:#?}");
        let passed = found.partitions.iter().any(|way| way.passed);
        assert_eq!(passed, passes, "{third} {runtimes:?}: {found:#?}");
        let why = found.tasks[2].why.as_deref().unwrap_or_default();
        assert_eq!(why.contains("the set passes"), passes, "{why}");
    }
    // Nor is a job late by no more than admission says of jobs that need no more than their runtime.
    let late = |runtimes| of(seven, runtimes).admission.unwrap().tardiness_ns;
    assert!(late([four, four, "runtime = '7010us'"]).is_some());
    assert_eq!(late([four, four, "runtime = '2ms'"]), None);
    let found = of(seven, [four, four, ""]);
    let why = found.tasks[2].why.as_deref().unwrap();
    assert!(
        why.contains("7010000 ns of its runtime of 7000000 ns"),
        "{why}"
    );
}

#[test]
fn no_cpu_is_assigned_more_than_the_kernel_leaves_of_it() {
    let set = |policy: &str, executions: [&str; 2]| {
        let task = |execution| {
            format!(
                "[[task]]\nname = '{execution}'\nperiod = '1ms'\nexecution = '{execution}'\npolicy = '{policy}'\n"
            )
        };
        executions.map(task).concat()
    };
    for (policy, executions, passes) in [
        ("fifo", ["980us", "970us"], false),
        ("fifo", ["940us", "930us"], true),
        // The server of ordinary threads has 5 of the 95 %.
        ("deadline", ["920us", "850us"], false),
        ("deadline", ["890us", "850us"], true),
    ] {
        let found = checked(&set(policy, executions), &Limits::usual(2));
        assert!(!found.partitions.is_empty());
        for way in &found.partitions {
            assert_eq!(way.passed, passes, "{policy} {executions:?}: {way:?}");
        }
    }
}
