// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The drop-in for cyclictest: its forms against recorded outputs of the original, against the
//! original itself, and against scripts of the kinds that users have.
#![expect(clippy::unwrap_used, reason = "test helpers")]

#[expect(dead_code, reason = "this binary needs a part of it")]
#[path = "../common/mod.rs"]
mod common;

mod golden;
mod grammar;
mod idle;
mod paper;
mod peer;
mod scripts;
mod signals;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{Answer, Home};

/// Whether the original binds threads that no option binds: on kernels with NUMA.
fn bound_by_default() -> bool {
    Path::new("/sys/devices/system/node").exists()
}

/// Makes a link named `cyclictest` to the program, as a user would.
fn link(home: &Home) -> PathBuf {
    let link = home.dir().join("cyclictest");
    if !link.exists() {
        std::os::unix::fs::symlink(common::program(), &link).unwrap();
    }
    link
}

/// Returns a command for `program` in the test's directory.
fn command(home: &Home, program: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(home.dir())
        .env("PUNCTUAL_HOME", home.store())
        .stdin(std::process::Stdio::null());
    command
}

/// Runs ours, under the name of the original, with options split at blanks.
fn ours(home: &Home, line: &str) -> Answer {
    let args: Vec<&str> = line.split_whitespace().collect();
    common::finish(command(home, &link(home), &args))
}
