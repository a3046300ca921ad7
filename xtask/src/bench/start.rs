// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Time to start: from exec to the first wake-up of a measuring thread, and of a whole run of one sample.
//!
//! The first is seen from outside, in the kernel's trace, for both programs in the same way: from `sched_process_exec` to
//! the first successful return from `clock_nanosleep` of a thread that was woken with the priority asked for. (The main
//! thread and a recorder may sleep too, but not at that priority.) It includes the first sleep itself, which is the
//! interval or what the program makes of it. cyclictest wakes up after 3 ms or so and then takes some 70 ms to end: that
//! is in the second figure only.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::budget::Outcome;
use super::context::Context;
use super::program::{self, PRIORITY};
use super::tracefs::Instance;

const INTERVAL: Duration = Duration::from_millis(1);

pub(crate) fn to_first_sample(context: &Context) -> anyhow::Result<Outcome> {
    let instance = match Instance::new(&context.output) {
        Ok(instance) => instance,
        Err(error) => return Ok(Outcome::NotMeasured(format!("{error:#}"))),
    };
    let ours = || {
        traced(
            &instance,
            program::punctual(context, 1, INTERVAL).args(["--samples", "5"]),
        )
    };
    let theirs = || {
        traced(
            &instance,
            program::cyclictest(context, 1, INTERVAL).args(["-l", "5"]),
        )
    };
    let pairs = context.pairs(if context.quick { 4 } else { 10 }, ours, theirs)?;
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

pub(crate) fn one_sample_run(context: &Context) -> anyhow::Result<Outcome> {
    let ours = || {
        let mut command = program::punctual(context, 1, INTERVAL);
        command.args(["--samples", "1"]);
        Ok(program::punctual_json(context, command)?
            .1
            .wall
            .as_secs_f64()
            * 1e9)
    };
    let theirs = || {
        let mut command = program::cyclictest(context, 1, INTERVAL);
        command.args(["-l", "1"]);
        Ok(program::cyclictest_thread(context, command)?
            .1
            .wall
            .as_secs_f64()
            * 1e9)
    };
    let pairs = context.pairs(if context.quick { 4 } else { 10 }, ours, theirs)?;
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

/// Runs `command` under trace and returns the time to its first sample, in ns.
fn traced(instance: &Instance, command: &Command) -> anyhow::Result<f64> {
    // A shell that waits for a line before it becomes the program: its process is known before there is anything to see.
    let mut child = Command::new("sh")
        .args(["-c", "read -r go && exec \"$@\"", "sh"])
        .arg(command.get_program())
        .args(command.get_args())
        .envs(
            command
                .get_envs()
                .filter_map(|(key, value)| Some((key, value?))),
        )
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("failed to start sh")?;
    let begun = instance.follow(child.id());
    let released = match (&begun, child.stdin.take()) {
        (Ok(()), Some(mut stdin)) => stdin.write_all(b"go\n"),
        // The pipe is closed here: the shell ends without exec.
        _ => Ok(()),
    };
    let status = child
        .wait()
        .context("failed to wait for the traced program")?;
    begun?;
    released.context("failed to release the traced program")?;
    let trace = instance.trace()?;
    let Some(seconds) = first_sample(&trace, child.id()) else {
        bail!(
            "no wake-up of {} in the trace; it ended with {status}",
            command.get_program().display()
        );
    };
    Ok(seconds * 1e9)
}

/// Returns the seconds from exec to the first sample of process `pid`.
fn first_sample(trace: &str, pid: u32) -> Option<f64> {
    let mut exec = None;
    let mut measuring = Vec::new();
    for line in trace.lines().filter_map(Line::parse) {
        if let Some(event) = line.event.strip_prefix("sched_process_exec: ") {
            if event.contains(&format!(" pid={pid} ")) {
                exec = Some(line.seconds);
            }
        } else if let Some(event) = line.event.strip_prefix("sched_waking: ") {
            measuring.extend(woken(event));
        } else if line.event == "sys_clock_nanosleep -> 0x0"
            && line.tid != pid
            && measuring.contains(&line.tid)
        {
            return Some(line.seconds - exec?);
        }
    }
    None
}

/// Returns the thread that is woken, if it has the priority of the measuring threads.
fn woken(event: &str) -> Option<u32> {
    let (_, fields) = event.rsplit_once(" pid=")?;
    let (tid, rest) = fields.split_once(' ')?;
    // The kernel counts downwards: SCHED_FIFO 80 is 19.
    rest.starts_with(&format!("prio={} ", 99 - PRIORITY))
        .then(|| tid.parse().ok())?
}

/// `comm-tid  [cpu] flags seconds: event`
#[derive(Debug)]
struct Line<'a> {
    tid: u32,
    seconds: f64,
    event: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (task, rest) = line.split_once(" [")?;
        let (_, tid) = task.trim().rsplit_once('-')?;
        let (stamp, event) = rest.split_once(": ")?;
        Some(Self {
            tid: tid.parse().ok()?,
            seconds: stamp.split_whitespace().last()?.parse().ok()?,
            event,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          my-prog-4257    [001] .....   814.713234: sched_process_exec: filename=/usr/bin/my-prog pid=4257 old_pid=4257
          my-prog-4259    [001] .....   814.714000: sys_clock_nanosleep -> 0x0
          <idle>-0       [001] d.h3.   814.715888: sched_waking: comm=my prog pid=4258 prio=19 target_cpu=001
          <idle>-0       [001] d.h3.   814.715889: sched_waking: comm=my prog pid=4259 prio=120 target_cpu=001
          my-prog-4257    [001] .....   814.715900: sys_clock_nanosleep -> 0x0
          my-prog-4259    [001] .....   814.715901: sys_clock_nanosleep -> 0x0
          my prog-4258    [001] .....   814.715915: sys_clock_nanosleep -> 0x0
          my prog-4258    [001] .....   814.716893: sys_clock_nanosleep -> 0x0
";

    #[test]
    fn the_first_sample_is_of_a_thread_at_the_priority_asked_for() {
        let seconds = first_sample(TRACE, 4257).unwrap();
        assert!((seconds - 0.002_681).abs() < 1e-9, "{seconds}");
    }

    #[test]
    fn a_process_that_never_woke_has_no_first_sample() {
        assert_eq!(first_sample(TRACE, 1), None);
        assert_eq!(first_sample("", 4257), None);
    }
}
