// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A tracing instance of our own.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::time::Duration;

use punctual_model::{CpuId, CpuSet};

use super::{mask, open_nonblocking};
use crate::{At as _, PathError, SysRoot};

/// An instance of tracefs. It is removed when this is dropped.
#[derive(Debug)]
pub struct Instance {
    root: SysRoot,
    path: String,
    buffers: Vec<RawBuffer>,
    removed: bool,
}

/// How many trace records one CPU lost.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Losses {
    /// Overwritten before they were read.
    pub overrun: u64,
    /// Given up while they were written, because the buffer came round meanwhile.
    pub commit_overrun: u64,
    /// Not taken, because the buffer was full.
    pub dropped: u64,
}

impl Losses {
    /// Returns all of them.
    pub const fn all(self) -> u64 {
        self.overrun + self.commit_overrun + self.dropped
    }

    /// Reads `per_cpu/cpuN/stats`.
    fn parse(text: &str) -> Self {
        let count = |name: &str| {
            text.lines()
                .find_map(|line| {
                    line.strip_prefix(name)?
                        .strip_prefix(':')?
                        .trim()
                        .parse()
                        .ok()
                })
                .unwrap_or(0)
        };
        Self {
            overrun: count("overrun"),
            commit_overrun: count("commit overrun"),
            dropped: count("dropped events"),
        }
    }
}

impl std::ops::Add for Losses {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            overrun: self.overrun + other.overrun,
            commit_overrun: self.commit_overrun + other.commit_overrun,
            dropped: self.dropped + other.dropped,
        }
    }
}

/// The ring buffer of one CPU.
#[derive(Debug)]
pub struct RawBuffer {
    /// The CPU.
    pub cpu: CpuId,
    file: File,
}

impl RawBuffer {
    /// Takes what is in the next page out of the buffer, without waiting. Returns its bytes, or
    /// nothing when the buffer is empty.
    ///
    /// # Errors
    ///
    /// Fails as `read(2)` does.
    pub fn read<'a>(&mut self, page: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        loop {
            return match self.file.read(page) {
                Ok(0) => Ok(None),
                Ok(n) => Ok(page.get(..n)),
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => Ok(None),
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                Err(err) => Err(err),
            };
        }
    }
}

impl Instance {
    pub(super) fn make(root: &SysRoot, name: &str) -> Result<Self, PathError> {
        let path = format!("instances/{name}");
        root.make_dir(&path)?;
        Ok(Self {
            root: root.clone(),
            path,
            buffers: Vec::new(),
            removed: false,
        })
    }

    /// Reads `file` of the instance.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::read`] does.
    pub fn read(&self, file: &str) -> Result<String, PathError> {
        self.root.read(&self.full(file))
    }

    /// Writes `value` to `file` of the instance.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::write`] does; `EINVAL` on a filter that the kernel does not understand.
    pub fn write(&self, file: &str, value: &str) -> Result<(), PathError> {
        self.root.write(&self.full(file), value)
    }

    /// Writes `value` to `file` of the instance and keeps what is there, as `set_event_pid` does where it is not truncated.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::write`] does.
    pub fn add(&self, file: &str, value: &str) -> Result<(), PathError> {
        let mut opened = self.open_for_writing(file)?;
        let full = self.root.full(&self.full(file));
        opened.write_all(value.as_bytes()).at("write", &full)
    }

    /// Opens `file` of the instance for reading without waiting, such as `trace_pipe`.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn open(&self, file: &str) -> Result<File, PathError> {
        open_nonblocking(&self.root, &self.full(file))
    }

    /// Opens `file` of the instance for writing, such as `trace_marker`.
    ///
    /// # Errors
    ///
    /// Fails as `open(2)` does.
    pub fn open_for_writing(&self, file: &str) -> Result<File, PathError> {
        let full = self.root.full(&self.full(file));
        let opened = File::options().write(true).open(&full);
        opened.at("open", &full)
    }

    /// Records only on `cpus`.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::write`] does.
    pub fn trace_only(&self, cpus: &CpuSet) -> Result<(), PathError> {
        self.write("tracing_cpumask", &mask(cpus))
    }

    /// Gives each CPU a buffer of `kib` and opens those of `cpus`.
    ///
    /// # Errors
    ///
    /// Fails with `ENOMEM`, or as `open(2)` does.
    pub fn open_buffers(&mut self, cpus: &CpuSet, kib: u32) -> Result<(), PathError> {
        self.write("buffer_size_kb", &kib.to_string())?;
        self.buffers = cpus
            .iter()
            .map(|cpu| {
                let file = self.open(&format!("per_cpu/cpu{cpu}/trace_pipe_raw"))?;
                Ok(RawBuffer { cpu, file })
            })
            .collect::<Result<_, PathError>>()?;
        Ok(())
    }

    /// Returns the opened buffers.
    pub fn buffers(&mut self) -> &mut [RawBuffer] {
        &mut self.buffers
    }

    /// Reads what `cpu` lost since the instance was made.
    ///
    /// # Errors
    ///
    /// Fails as [`SysRoot::read`] does.
    pub fn losses(&self, cpu: CpuId) -> Result<Losses, PathError> {
        let text = self.read(&format!("per_cpu/cpu{cpu}/stats"))?;
        Ok(Losses::parse(&text))
    }

    /// Removes the instance, with its events and buffers.
    ///
    /// # Errors
    ///
    /// Fails as `rmdir(2)` does; `EBUSY` while somebody has a file of it open.
    pub fn remove(mut self) -> Result<(), PathError> {
        self.take_down()
    }

    fn take_down(&mut self) -> Result<(), PathError> {
        if self.removed {
            return Ok(());
        }
        self.removed = true;
        // An open buffer keeps the instance.
        self.buffers.clear();
        let mut tries = 0;
        loop {
            match self.root.remove_dir(&self.path) {
                // Whoever looks at the files for a moment, such as a shell, holds it too.
                Err(err) if err.errno() == Some(libc::EBUSY) && tries < 20 => {
                    tries += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                // Somebody else removed it, or is at it: what has no open file anybody with the privilege may remove.
                Err(err) if matches!(err.errno(), Some(libc::ENOENT | libc::ENODEV)) => {
                    return Ok(());
                }
                result => return result,
            }
        }
    }

    fn full(&self, file: &str) -> String {
        format!("{}/{file}", self.path)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // An end by an error: the next start sweeps what cannot be removed now.
        drop(self.take_down());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read_by_name() {
        let text = "entries: 8\noverrun: 3\ncommit overrun: 2\nbytes: 99\noldest event ts:  1.5\n\
                    dropped events: 5\nread events: 7\n";
        let losses = Losses::parse(text);
        assert_eq!((losses.overrun, losses.all()), (3, 10));
    }
}
