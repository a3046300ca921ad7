// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that are programs of others: `stress-ng` and `cmd`.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::kind::{Load, LoadKind, Site, Worker};
use super::program::{look_for, shell};
use super::settings::last_setting;
use super::shift::Task;

pub(super) const STRESS_NG: LoadKind = LoadKind {
    name: "stress-ng",
    usage: "stress-ng:ARGS",
    help: &[
        "stress-ng with these arguments, as a shell reads them; work is the",
        "CPU time of all its processes; takes the rest of the list",
    ],
    parse: |args, _| {
        let args = args
            .filter(|args| !args.trim().is_empty())
            .ok_or("which arguments? use stress-ng:ARGS, such as stress-ng:--vm 2")?;
        Ok(Arc::new(StressNg(args.to_owned())))
    },
    ..FOREIGN
};

pub(super) const CMD: LoadKind = LoadKind {
    name: "cmd",
    usage: "cmd:COMMAND",
    help: &[
        "any program, run by the shell: work is reported in lines `work TOTAL [UNIT]`,",
        "or else the CPU time of all its processes; takes the rest of the list",
    ],
    parse: |command, _| {
        let command = command
            .filter(|command| !command.trim().is_empty())
            .ok_or("which command? use cmd:COMMAND")?;
        Ok(Arc::new(Cmd(command.to_owned())))
    },
    ..FOREIGN
};

const FOREIGN: LoadKind = LoadKind {
    unit: "ms of CPU time",
    worker: Worker::ForeignProgram,
    is_free_text: true,
    ..LoadKind::THREADS
};

/// Arguments of stress-ng, as for a shell.
#[derive(Debug)]
struct StressNg(String);

impl Load for StressNg {
    fn prepare(&self, site: &Site<'_>, _threads: u32) -> io::Result<Vec<Task>> {
        look_for("stress-ng")?;
        // Where memory runs out it would otherwise start anew what was killed, as if nothing had been.
        let command = format!("exec stress-ng --oomable {}", self.0);
        Ok(shell(&command).task(site))
    }
}

impl fmt::Display for StressNg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", Free(&self.0))
    }
}

/// What a shell is to run.
#[derive(Debug)]
struct Cmd(String);

impl Load for Cmd {
    fn prepare(&self, site: &Site<'_>, _threads: u32) -> io::Result<Vec<Task>> {
        Ok(shell(&self.0).task(site))
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", Free(&self.0))
    }
}

/// Free text, written so that it is split off as it was.
struct Free<'a>(&'a str);

impl fmt::Display for Free<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)?;
        match self.0.ends_with('@') || last_setting(self.0).is_some() {
            true => f.write_str("@"),
            false => Ok(()),
        }
    }
}
