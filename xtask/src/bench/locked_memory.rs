// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Locked memory with 15 threads: the largest `VmLck` of the process while it runs.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::budget::Outcome;
use super::context::Context;
use super::program;
use crate::files;

const THREADS: usize = 15;

pub(crate) fn measure(context: &Context) -> anyhow::Result<Outcome> {
    let interval = Duration::from_millis(1);
    let ours = || {
        let bytes =
            most_locked(program::punctual(context, THREADS, interval).args(["--duration", "1s"]));
        program::forget_runs(context);
        bytes
    };
    let theirs = || most_locked(program::cyclictest(context, THREADS, interval).args(["-D", "1"]));
    let pairs = context.pairs(if context.quick { 1 } else { 3 }, ours, theirs)?;
    // Nothing locked would be the best figure and the worst measurement.
    if pairs.iter().any(|pair| pair.ours == 0.0) {
        bail!("punctual locked no memory");
    }
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

fn most_locked(command: &mut Command) -> anyhow::Result<f64> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("failed to start {name}"))?;
    let most = watch(&mut child);
    // In case that the watching failed; an ended child does not mind.
    child.kill().ok();
    child
        .wait()
        .with_context(|| format!("failed to wait for {name}"))?;
    most
}

fn watch(child: &mut Child) -> anyhow::Result<f64> {
    let path = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut most = 0;
    while child
        .try_wait()
        .context("failed to look after the program")?
        .is_none()
    {
        // The last status of a process has no memory any more.
        most = most.max(
            files::read(&path)
                .ok()
                .and_then(|status| locked_kib(&status))
                .unwrap_or(0),
        );
        thread::sleep(Duration::from_millis(20));
    }
    Ok(f64::from(most) * 1024.0)
}

fn locked_kib(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmLck:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locked_memory_is_read_from_the_status_of_a_process() {
        assert_eq!(
            locked_kib("VmPeak:\t    9000 kB\nVmLck:\t  986232 kB\nVmPin:\t 0 kB\n"),
            Some(986_232)
        );
        assert_eq!(locked_kib("Name:\tzombie\n"), None);
    }
}
