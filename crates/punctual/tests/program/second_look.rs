// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How often verdicts are wrong, counted by a program that shares nothing with ours.

use std::path::Path;
use std::process::Command;

use crate::common::{finish, machine, program};

/// Runs a script of `scripts/` that looks at the program from outside.
fn script(name: &str, args: &[&str]) {
    let Some(python) = machine::python() else {
        return;
    };
    let mut command = Command::new(python);
    command
        .arg(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../scripts")
                .join(name),
        )
        .arg(program())
        .args(args);
    println!("{}", finish(command).fine().stdout);
}

#[test]
fn verdicts_are_wrong_as_rarely_as_they_say_by_the_count_of_another_program() {
    // By hand take more: the bounds are three standard errors wide, of this many experiments.
    script("second-look.py", &["-n", "16"]);
}

#[test]
fn bounds_of_task_sets_are_the_longest_responses_of_the_schedules_of_another_program() {
    script("check-tasks.py", &["-n", "12"]);
}
