// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How often verdicts are wrong, counted by a program that shares nothing with ours.

use std::path::Path;
use std::process::Command;

use crate::common::{finish, machine, program};

#[test]
fn verdicts_are_wrong_as_rarely_as_they_say_by_the_count_of_another_program() {
    let Some(python) = machine::python() else {
        return;
    };
    let mut command = Command::new(python);
    command
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/second-look.py"))
        .arg(program())
        // By hand take more: the bounds are three standard errors wide, of this many experiments.
        .args(["-n", "16"]);
    println!("{}", finish(command).fine().stdout);
}
