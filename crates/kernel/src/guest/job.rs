// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the agent in a guest is to do.

use serde::{Deserialize, Serialize};

/// Where the job lies in the initial RAM file system.
pub const JOB_FILE: &str = "/punctual/job.json";

/// The name and major version of the job's format. Host and agent are of one build, so there is
/// nothing older to be read.
pub const JOB_FORMAT: &str = "punctual.guest-job/1";

/// What the agent in a guest is to do.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Job {
    /// [`JOB_FORMAT`].
    pub format: String,
    /// Measurements, one after the other.
    pub runs: Vec<JobRun>,
    /// What goes wrong on purpose.
    #[serde(default)]
    pub fault: Option<Fault>,
    /// In place of measurements: a machine with a disk, which restarts.
    #[serde(default)]
    pub disk: Option<DiskJob>,
}

impl Job {
    /// Makes a job of `runs`.
    pub fn of(runs: Vec<JobRun>) -> Self {
        Self {
            format: JOB_FORMAT.to_owned(),
            runs,
            fault: None,
            disk: None,
        }
    }
}

/// What is done on a machine that boots several times from a disk of its own, as a one-shot boot is tried.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct DiskJob {
    /// Modules to load first: path in the initial RAM file system, and parameters. Of another kernel they are left out.
    pub modules: Vec<String>,
    /// The partition, such as `/dev/vda1`.
    pub device: String,
    /// Its file system.
    pub kind: String,
    /// What is done at each boot, one list a boot; how many there were is kept on the disk. A command is the arguments of
    /// this program, or a [`DiskStep`] behind `@`. After the last list the machine is turned off.
    pub boots: Vec<Vec<String>>,
}

/// What a command line cannot do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DiskStep<'a> {
    /// Runs a command, and asks it to end, as a restart of the machine does, once a file has that many lines.
    Cut {
        /// The lines.
        lines: usize,
        /// The file.
        file: &'a str,
        /// The arguments of this program.
        command: &'a str,
    },
    /// Starts the watchdog, and never serves it again.
    Watch,
    /// Takes the CPU for ever.
    Hang,
    /// Jumps to the kernel that was loaded.
    Kexec,
}

impl<'a> DiskStep<'a> {
    /// Reads one from what stands in a list; none where that is a command.
    pub fn of(command: &'a str) -> Option<Self> {
        match command {
            "@watch" => Some(Self::Watch),
            "@hang" => Some(Self::Hang),
            "@kexec" => Some(Self::Kexec),
            _ => {
                let (lines, rest) = command.strip_prefix("@cut ")?.split_once(' ')?;
                let (file, command) = rest.split_once(' ')?;
                let lines = lines.parse().ok()?;
                Some(Self::Cut {
                    lines,
                    file,
                    command,
                })
            }
        }
    }
}

/// A measurement in a guest.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct JobRun {
    /// The arguments of this program, such as `measure wakeup --samples 1000`.
    pub arguments: Vec<String>,
    /// Identity of the run that it makes, a UUID of version 7.
    pub id: String,
    /// Where libraries are looked for that a program of the user's needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libraries: Option<String>,
}

/// What goes wrong on purpose, so that tests can see it told.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// The kernel panics instead of the first measurement.
    Panic,
    /// Nothing happens any more instead of the first measurement.
    Hang,
    /// The machine restarts instead of the first measurement.
    Restart,
    /// Something keeps the CPU from the start on, and the agent does not wait long for it to end.
    Busy,
    /// Something keeps the CPU for two seconds, and the agent waits for its end.
    BusyAtFirst,
}
