// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What fio is to do.

use std::path::PathBuf;
use std::process::Command;

use punctual_model::{Bytes, Nanos, choices};

/// What to measure.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Io {
    /// How the file is accessed.
    pub access: Access,
    /// Size of the file.
    pub size: Bytes,
    /// Where the file is.
    pub directory: PathBuf,
    /// Whether requests go through the page cache.
    pub buffered: bool,
    /// How long one observation takes.
    pub runtime: Nanos,
    /// Number of observations.
    pub repeats: u32,
}

/// How requests reach the kernel.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum AsyncEngine {
    /// `io_submit(2)`.
    Libaio,
    /// `io_uring_enter(2)`.
    IoUring,
}

choices!(AsyncEngine { Libaio => "libaio", IoUring => "io_uring" });

/// Which requests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pattern {
    /// Reads one after another.
    Read,
    /// Writes one after another.
    Write,
    /// Reads at random places.
    RandRead,
    /// Writes at random places.
    RandWrite,
    /// Reads and writes at random places, half of each.
    RandRw,
}

choices!(Pattern {
    Read => "read",
    Write => "write",
    RandRead => "randread",
    RandWrite => "randwrite",
    RandRw => "randrw",
});

impl Pattern {
    /// Returns the directions that it has.
    pub(super) const fn directions(self) -> &'static [Direction] {
        match self {
            Self::Read | Self::RandRead => &[Direction::Read],
            Self::Write | Self::RandWrite => &[Direction::Write],
            Self::RandRw => &[Direction::Read, Direction::Write],
        }
    }
}

/// How a file is accessed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Access {
    /// How requests reach the kernel.
    pub engine: AsyncEngine,
    /// Which requests.
    pub pattern: Pattern,
    /// Size of a request.
    pub block: Bytes,
    /// Queue depth of each thread.
    pub depth: u32,
    /// Threads.
    pub jobs: u32,
}

/// The access pattern of another benchmark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Job {
    /// That of the random writes of AIO-Stress.
    AioStress,
}

choices!(Job { AioStress => "aio-stress" });

impl Job {
    /// Returns how it accesses its file.
    pub const fn access(self) -> Access {
        match self {
            // Its own defaults: records of 64 KiB, 64 requests at once, one thread.
            Self::AioStress => Access {
                engine: AsyncEngine::Libaio,
                pattern: Pattern::RandWrite,
                block: Bytes::new(64 << 10),
                depth: 64,
                jobs: 1,
            },
        }
    }
}

/// Whether data come or go.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Direction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

impl Io {
    /// Returns the command for one observation of the file at `path`.
    pub(crate) fn command(&self, path: &str) -> Command {
        let mut command = Command::new("fio");
        command.args([
            "--name=punctual",
            "--output-format=json",
            "--group_reporting",
            // Threads of one process, which end with it: nothing is left when it is killed.
            "--thread",
            "--time_based",
            // The file is there, whole. Were it not, nothing else must be made in its place.
            "--allow_file_create=0",
            // Other places in each repeat.
            "--randrepeat=0",
        ]);
        command.arg(format!("--filename={path}"));
        command.arg(format!("--ioengine={}", self.access.engine.name()));
        command.arg(format!("--rw={}", self.access.pattern.name()));
        command.arg(format!("--bs={}", self.access.block.get()));
        command.arg(format!("--iodepth={}", self.access.depth));
        command.arg(format!("--numjobs={}", self.access.jobs));
        command.arg(format!("--size={}", self.size.get()));
        command.arg(format!("--direct={}", u8::from(!self.buffered)));
        let micros = self.runtime.get().div_ceil(1_000);
        command.arg(format!("--runtime={micros}us"));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for engine in AsyncEngine::ALL {
            assert_eq!(engine.name().parse::<AsyncEngine>().unwrap(), *engine);
        }
        for pattern in Pattern::ALL {
            assert_eq!(pattern.name().parse::<Pattern>().unwrap(), *pattern);
            assert!(!pattern.directions().is_empty());
        }
        for job in Job::ALL {
            assert_eq!(job.name().parse::<Job>().unwrap(), *job);
        }
        let err = "trim".parse::<Pattern>().unwrap_err().to_string();
        assert!(
            err.starts_with("`trim` is not one of: read, write"),
            "{err}"
        );
    }
}
