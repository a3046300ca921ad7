// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A separate instance of the kernel's trace buffers: nobody else's tracing is touched, and ours goes away with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};

use super::program::PRIORITY;
use crate::files;

const SYSTEM: &str = "/sys/kernel/tracing";
const NAME: &str = "punctual-bench";

/// The instance; dropped, it is removed.
#[derive(Debug)]
pub(crate) struct Instance {
    directory: PathBuf,
    _mount: Option<Mount>,
}

impl Instance {
    /// Makes the instance with the events of a start. Mounts tracefs below `output` if the system has not.
    pub(crate) fn new(output: &Path) -> anyhow::Result<Self> {
        let (tracefs, mount) = if Path::new(SYSTEM).join("instances").is_dir() {
            (PathBuf::from(SYSTEM), None)
        } else {
            let mount = Mount::new(output.join("tracing"))?;
            (mount.0.clone(), Some(mount))
        };
        let directory = tracefs.join("instances").join(NAME);
        // Left over if an earlier bench was killed.
        fs::remove_dir(&directory).ok();
        fs::create_dir(&directory).context("failed to make a tracefs instance")?;
        let instance = Self {
            directory,
            _mount: mount,
        };
        instance.write("trace_clock", "mono")?;
        instance.write("options/event-fork", "1")?;
        instance.write("events/sched/sched_process_exec/enable", "1")?;
        instance.write(
            "events/sched/sched_waking/filter",
            &format!("prio == {}", 99 - PRIORITY),
        )?;
        instance.write("events/sched/sched_waking/enable", "1")?;
        instance.write("events/syscalls/sys_exit_clock_nanosleep/enable", "1")?;
        Ok(instance)
    }

    /// Empties the buffer and follows the process, with the threads that it will have.
    pub(crate) fn follow(&self, pid: u32) -> anyhow::Result<()> {
        self.write("set_event_pid", &pid.to_string())?;
        self.write("trace", "")
    }

    /// Returns what was traced, as text.
    pub(crate) fn trace(&self) -> anyhow::Result<String> {
        files::read(&self.directory.join("trace")).context("failed to read the trace")
    }

    fn write(&self, file: &str, value: &str) -> anyhow::Result<()> {
        fs::write(self.directory.join(file), value)
            .with_context(|| format!("failed to write {value:?} to tracefs {file}"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir(&self.directory) {
            eprintln!(
                "Warning: failed to remove {}: {error}",
                self.directory.display()
            );
        }
    }
}

/// A separate mount of tracefs; dropped, it is gone.
#[derive(Debug)]
struct Mount(PathBuf);

impl Mount {
    fn new(directory: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&directory)
            .with_context(|| format!("failed to create {}", directory.display()))?;
        let mounted = Command::new("mount")
            .args(["-t", "tracefs", "nodev"])
            .arg(&directory)
            .stderr(Stdio::null())
            .status()
            .context("failed to run mount")?;
        if !mounted.success() {
            bail!("tracefs cannot be mounted here");
        }
        Ok(Self(directory))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.0).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            eprintln!("Warning: failed to unmount {}", self.0.display());
        }
    }
}
