// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `io`: requests to storage, made by fio on a file of its own.
//!
//! The file is full when fio begins, because a disk is not asked for what was never written. It has no name,
//! so nothing of it is left, whatever ends the load; fio gets it as its standard input.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use punctual_model::{Bytes, Nanos};
use punctual_sys::scratch::{self, ScratchFile};

use super::kind::{Load, LoadKind, Site, Worker};
use super::parse::Given;
use super::program::{Program, Speech, look_for};
use super::shift::Task;
use crate::io::{Access, AsyncEngine, Io, Pattern, fill};

pub(super) const KIND: LoadKind = LoadKind {
    name: "io",
    usage: "io[:PATTERN]",
    help: &[
        "fio on an unnamed file: read, write, randread, randwrite, randrw [default:",
        "randrw]; @engine=libaio or io_uring, @block=64K, @depth=16, @jobs=1,",
        "@size=128M, @dir=., @buffered=no are the defaults; work in bytes",
    ],
    unit: "bytes",
    worker: Worker::ForeignProgram,
    keys: "engine, block, depth, jobs, size, dir, buffered",
    parse: |pattern, own| Ok(Arc::new(Disk::parse(pattern, own)?)),
    ..LoadKind::THREADS
};

/// What a disk that works may take for what it was given.
const SLOW: Duration = Duration::from_secs(2);

/// Time between two reports of fio.
const SAY_EVERY: &str = "200ms";

/// Longer than any run.
const FOR_EVER: Nanos = Nanos::from_secs(10 * 365 * 86_400);

/// Part of the free space that the file may take, in percent.
const SHARE: u64 = 90;

/// Requests to storage, for ever.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Disk(Io);

impl Default for Disk {
    fn default() -> Self {
        Self(Io {
            access: Access {
                pattern: Pattern::RandRw,
                engine: AsyncEngine::Libaio,
                block: Bytes::new(64 << 10),
                depth: 16,
                jobs: 1,
            },
            size: Bytes::new(128 << 20),
            directory: PathBuf::from("."),
            buffered: false,
            runtime: FOR_EVER,
            repeats: 1,
        })
    }
}

impl Disk {
    /// Reads the pattern and the settings that were given.
    fn parse(pattern: Option<&str>, given: &mut Given<'_>) -> Result<Self, String> {
        let mut take = |key| given.take(key);
        let Self(mut disk) = Self::default();
        if let Some(pattern) = pattern {
            disk.access.pattern = pattern
                .parse()
                .map_err(|err| format!("which I/O pattern? {err}"))?;
        }
        if let Some(engine) = take("engine") {
            disk.access.engine = engine.parse().map_err(|err| format!("engine: {err}"))?;
        }
        if let Some(block) = take("block") {
            disk.access.block = bytes("block", block, 512, 64 << 20)?;
        }
        if let Some(depth) = take("depth") {
            disk.access.depth = number("depth", depth, 65_536)?;
        }
        if let Some(jobs) = take("jobs") {
            disk.access.jobs = number("jobs", jobs, 4_096)?;
        }
        if let Some(size) = take("size") {
            disk.size = bytes("size", size, 4_096, 1 << 50)?;
        }
        if let Some(directory) = take("dir") {
            disk.directory = PathBuf::from(directory);
        }
        disk.buffered = match take("buffered") {
            None | Some("no") => false,
            Some("yes") => true,
            Some(_) => return Err("buffered: must be yes or no".to_owned()),
        };
        match disk.access.block <= disk.size {
            true => Ok(Self(disk)),
            false => Err("block: must not be larger than the file, see size".to_owned()),
        }
    }

    /// Returns how much memory its requests take, in bytes.
    fn request_memory(&self) -> u64 {
        let each = self.0.access.block.times(self.0.access.depth.into());
        each.times(self.0.access.jobs.into()).get()
    }

    /// Makes the file, and returns the program that works on it.
    fn program(&self, go_on: &dyn Fn(&str) -> bool) -> io::Result<Program> {
        look_for("fio")?;
        let file = self.make_file(go_on).map_err(|err| {
            let (size, place) = (self.0.size, self.0.directory.display());
            let what = format!("cannot create a file of {size} in {place}: {err}");
            io::Error::new(err.kind(), what)
        })?;
        let mut command = self.0.command("/proc/self/fd/0");
        command.arg(format!("--status-interval={SAY_EVERY}"));
        let program = std::iter::once(command.get_program());
        Ok(Program {
            command: program
                .chain(command.get_args())
                .map(ToOwned::to_owned)
                .collect(),
            stdin: Some(file),
            speech: Speech::Fio,
        })
    }

    fn make_file(&self, go_on: &dyn Fn(&str) -> bool) -> io::Result<std::fs::File> {
        let free = scratch::free_space(&self.0.directory)?;
        if self.0.size.get() > free.get() / 100 * SHARE {
            let free = free.get() / 1_000_000;
            let what = format!("that is more than {SHARE} % of the {free} MB free there");
            return Err(io::Error::new(io::ErrorKind::StorageFull, what));
        }
        let mut scratch = ScratchFile::create(&self.0.directory)?;
        let go_on = &mut |_| go_on("writing its file");
        match fill(scratch.file(), self.0.size, go_on)? {
            true => scratch.file().try_clone(),
            false => Err(io::ErrorKind::Interrupted.into()),
        }
    }
}

impl Load for Disk {
    fn memory(&self, _threads: u32) -> u64 {
        self.request_memory()
    }

    fn patience(&self, turn: Duration) -> Duration {
        turn + SLOW
    }

    fn prepare(&self, site: &Site<'_>, _threads: u32) -> io::Result<Vec<Task>> {
        Ok(self.program(site.go_on)?.task(site))
    }
}

impl fmt::Display for Disk {
    /// Writes what differs from the default, behind the name of the load.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self(disk), Self(usual)) = (self, Self::default());
        if disk.access.pattern != usual.access.pattern {
            write!(f, ":{}", disk.access.pattern.name())?;
        }
        if disk.access.engine != usual.access.engine {
            write!(f, "@engine={}", disk.access.engine.name())?;
        }
        if disk.access.block != usual.access.block {
            write!(f, "@block={}", disk.access.block)?;
        }
        if disk.access.depth != usual.access.depth {
            write!(f, "@depth={}", disk.access.depth)?;
        }
        if disk.access.jobs != usual.access.jobs {
            write!(f, "@jobs={}", disk.access.jobs)?;
        }
        if disk.size != usual.size {
            write!(f, "@size={}", disk.size)?;
        }
        if disk.directory != usual.directory {
            write!(f, "@dir={}", disk.directory.display())?;
        }
        match disk.buffered {
            true => f.write_str("@buffered=yes"),
            false => Ok(()),
        }
    }
}

fn number(key: &str, text: &str, most: u32) -> Result<u32, String> {
    let number = text.parse().ok().filter(|n| (1..=most).contains(n));
    number.ok_or_else(|| format!("{key}: must be from 1 to {most}"))
}

fn bytes(key: &str, text: &str, least: u64, most: u64) -> Result<Bytes, String> {
    let bytes: Bytes = text.parse().map_err(|err| format!("{key}: {err}"))?;
    match (least..=most).contains(&bytes.get()) {
        true => Ok(bytes),
        false => Err(format!(
            "{key}: must be from {} to {}",
            Bytes::new(least),
            Bytes::new(most)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_memory_of_all_requests_under_way_is_known() {
        let mut disk = Disk::default();
        (disk.0.access.depth, disk.0.access.jobs) = (8, 2);
        assert_eq!(disk.request_memory(), 1 << 20);
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_before_it_is_begun() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = Disk::default();
        disk.0.size = Bytes::new(1 << 50);
        disk.0.directory = dir.path().to_owned();
        let err = disk.make_file(&|_| true).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::StorageFull);
        let mut nowhere = Disk::default();
        nowhere.0.directory = dir.path().join("none");
        let err = nowhere.make_file(&|_| true).unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_file_that_is_not_wanted_any_more_is_not_written_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let mut disk = Disk::default();
        disk.0.directory = dir.path().to_owned();
        let asked = Cell::new(0);
        let go_on = |what: &str| {
            assert_eq!(what, "writing its file");
            asked.set(asked.get() + 1);
            asked.get() < 3
        };
        let err = disk.make_file(&go_on).unwrap_err();
        assert_eq!((err.kind(), asked.get()), (io::ErrorKind::Interrupted, 3));
    }
}
