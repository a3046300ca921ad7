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
