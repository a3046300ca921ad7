// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! This program as the first process of a guest.
//!
//! It mounts what the kernel offers, waits until the timers are of high resolution, starts itself
//! for each measurement of the job, sends what they left on the second serial port, and restarts the
//! machine, which ends QEMU. Measurements are processes of this program as outside: the same
//! instruments, the same loads, the same records.

#[cfg(feature = "workbench")]
mod disk;

use std::error::Error;
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use punctual_host::inspect;
use punctual_kernel::boot::Architecture;
use punctual_kernel::guest::{
    Activity, Census, Fault, Goodbye, Hello, HighResolution, JOB_FILE, JOB_FORMAT, Job, JobRun,
    Model, Of, Quiet, RunEnd, frame, high_resolution, is_makeshift, names,
};
use punctual_model::{Clock, Nanos, Ordered as _, json};
use punctual_sys::guest::{SerialLine, mount_virtual, restart_machine};
use punctual_sys::icmp::loopback_up;
use punctual_sys::{SysRoot, clock, kernel_log};
use serde::Serialize;

use crate::recording::RUN_ID;

/// The store of measurements in a guest.
const HOME: &str = "/run/punctual";

/// Time that the kernel has to switch its timers over.
const SWITCH_WITHIN: Duration = Duration::from_secs(10);

/// Time between two looks whether it has.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Time in which nothing else may run before and after a measurement: some sixty ticks at 250 Hz.
const QUIET_FOR: Duration = Duration::from_millis(250);

/// Time that the kernel has to become quiet before the first measurement, by the guest's clock.
const QUIET_WITHIN: Duration = Duration::from_secs(60);

/// Time that what a measurement and its loads left has to end.
const SETTLED_WITHIN: Duration = Duration::from_secs(10);

/// What is kept of a measurement's complaints, in bytes.
const SAID_LIMIT: usize = 16 << 10;

type Failure = Box<dyn Error + Send + Sync>;

/// What the kernel offers, and where it belongs. The last ones may be missing.
const MOUNTS: [(&str, &str); 7] = [
    ("proc", "/proc"),
    ("sysfs", "/sys"),
    ("devtmpfs", "/dev"),
    ("tmpfs", "/run"),
    ("tmpfs", "/tmp"),
    ("debugfs", "/sys/kernel/debug"),
    ("tracefs", "/sys/kernel/tracing"),
];

/// Whether this process is the first one of a guest that was given a job.
pub(crate) fn is_wanted() -> bool {
    std::process::id() == 1 && Path::new(JOB_FILE).is_file()
}

/// Does the job, and ends the machine, whatever happened: the host sees what is missing.
pub(crate) fn main() -> ! {
    let sys = SysRoot::live();
    if let Err(err) = work(&sys) {
        // The kernel's log is kept with the run.
        let line = format!("punctual agent: {err}");
        drop(kernel_log::write_line(&sys, 2, &line));
    }
    drop(restart_machine());
    // An init that ends would be a panic, and a second story.
    loop {
        thread::park();
    }
}

fn work(sys: &SysRoot) -> Result<(), Failure> {
    let not_mounted = mount_all();
    // Without a network there is nothing to take up; a load that needs it says so.
    drop(loopback_up());
    let job: Job = serde_json::from_slice(&fs::read(JOB_FILE)?)?;
    // A load may make processes that are the first of a PID name space: they are not wanted here.
    fs::remove_file(JOB_FILE)?;
    if job.format != JOB_FORMAT {
        return Err(format!("the job's format is {}, not {JOB_FORMAT}", job.format).into());
    }
    let path = Architecture::here().unwrap_or_default().facts().line;
    let mut line = SerialLine::open(Path::new(path))
        .map_err(|err| format!("no second serial port for the results: {path}: {err}"))?;
    if let Some(disk) = &job.disk {
        #[cfg(feature = "workbench")]
        return disk::work(&mut line, disk);
        #[cfg(not(feature = "workbench"))]
        return Err(format!("{}: a job with a disk needs the whole program", disk.device).into());
    }
    let timers = wait_for_timers(sys);
    let quiet_within = match job.fault {
        Some(Fault::Busy) => {
            keep_busy("1h")?;
            // It has started to compute when the second look begins.
            2 * QUIET_FOR
        }
        Some(Fault::BusyAtFirst) => {
            keep_busy("2s")?;
            QUIET_WITHIN
        }
        _ => QUIET_WITHIN,
    };
    wait_for_clock(sys);
    let (quiet, _) = wait_until_quiet(sys, quiet_within);
    // Only now: what there is when the first measurement begins, and not on the way there.
    let mut host = inspect(sys);
    Model::complete(&mut host, sys);
    let hello = Hello {
        host,
        timers,
        dynamic_preempt: kernel_log::find(sys, "Dynamic Preempt: "),
        quiet,
        uptime_ns: uptime().get(),
        not_mounted,
    };
    send(&mut line, names::HELLO, &hello)?;
    fail(sys, job.fault)?;
    for (number, run) in job.runs.iter().enumerate() {
        measure(sys, &mut line, number, run)?;
    }
    let goodbye = Goodbye {
        timers: timers_now(sys),
        clocksource: clocksource(sys),
        uptime_ns: uptime().get(),
    };
    send(&mut line, names::GOODBYE, &goodbye)?;
    Ok(())
}

/// Mounts everything, and returns what could not be.
fn mount_all() -> Vec<String> {
    let mounted = MOUNTS.iter().map(|(kind, target)| {
        mount_virtual(kind, Path::new(target)).map_err(|err| format!("{kind} on {target}: {err}"))
    });
    mounted.filter_map(Result::err).collect()
}

/// The kernel starts with the tick, and switches over when it trusts its clock: some seconds later.
fn wait_for_timers(sys: &SysRoot) -> HighResolution {
    let begun = Instant::now();
    let cpus = online(sys);
    loop {
        let timers = timers_now(sys);
        if timers.on_all(cpus) || begun.elapsed() > SWITCH_WITHIN {
            return timers;
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// The kernel takes a better clock source when it has compared it with others: a second or so after it started.
fn wait_for_clock(sys: &SysRoot) {
    let begun = Instant::now();
    while clocksource(sys).is_some_and(|name| is_makeshift(&name))
        && begun.elapsed() <= SWITCH_WITHIN
    {
        thread::sleep(LOOK_EVERY);
    }
}

fn clocksource(sys: &SysRoot) -> Option<String> {
    sys.read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .ok()
}

/// Waits until nothing else runs, for no longer than `within`. Returns the last look, and what it ended with.
fn wait_until_quiet(sys: &SysRoot, within: Duration) -> (Activity, Census) {
    let begun = Instant::now();
    let mut before = Census::take(sys);
    loop {
        thread::sleep(QUIET_FOR);
        let now = Census::take(sys);
        let activity = now.since(&before, Of::All);
        if activity.is_quiet() || begun.elapsed() > within {
            return (activity, now);
        }
        before = now;
    }
}

fn online(sys: &SysRoot) -> u32 {
    let cpus = sys.fact::<punctual_model::CpuSet>("/sys/devices/system/cpu/online");
    cpus.map_or(0, |cpus| u32::try_from(cpus.len()).unwrap_or(0))
}

fn timers_now(sys: &SysRoot) -> HighResolution {
    high_resolution(&sys.read("/proc/timer_list").unwrap_or_default())
}

fn uptime() -> Nanos {
    clock::read(Clock::Monotonic)
}

/// Starts what keeps the CPU for as long.
fn keep_busy(time: &str) -> Result<(), Failure> {
    Command::new("/proc/self/exe")
        .args(["load", "cpu", "--duration", time, "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// Makes go wrong what a test wants to see told.
fn fail(sys: &SysRoot, fault: Option<Fault>) -> Result<(), Failure> {
    match fault {
        None | Some(Fault::Busy | Fault::BusyAtFirst) => {}
        // Documentation/admin-guide/sysrq.rst: `c` crashes the kernel.
        Some(Fault::Panic) => sys.write("/proc/sysrq-trigger", "c")?,
        Some(Fault::Hang) => loop {
            thread::sleep(SWITCH_WITHIN);
        },
        Some(Fault::Restart) => restart_machine()?,
    }
    Ok(())
}

/// Runs one measurement, and sends what it left.
fn measure(
    sys: &SysRoot,
    line: &mut SerialLine,
    number: usize,
    run: &JobRun,
) -> Result<(), Failure> {
    let (before, begun) = wait_until_quiet(sys, SETTLED_WITHIN);
    let output = Command::new("/proc/self/exe")
        .args(&run.arguments)
        .env("PUNCTUAL_HOME", HOME)
        .env(RUN_ID, &run.id)
        .envs(run.libraries.iter().map(|path| ("LD_LIBRARY_PATH", path)))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .output()?;
    let during = Census::take(sys).since(&begun, Of::Kernel);
    let (after, _) = wait_until_quiet(sys, SETTLED_WITHIN);
    let directory = Path::new(HOME).join("runs").join(&run.id);
    let mut files: Vec<_> = match fs::read_dir(&directory) {
        Ok(entries) => entries.collect::<io::Result<_>>()?,
        // It has ended without a run, and says why.
        Err(err) if err.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(err) => return Err(err.into()),
    };
    files.order_by_key(std::fs::DirEntry::file_name);
    for file in files {
        let name = names::file(number, &file.file_name().to_string_lossy());
        line.send(&frame(&name, &fs::read(file.path())?))?;
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let end = RunEnd {
        status: output.status.code(),
        said: said.chars().take(SAID_LIMIT).collect(),
        quiet: Quiet {
            before,
            during,
            after,
        },
    };
    send(line, &names::end(number), &end)?;
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    Ok(())
}

fn send(line: &mut SerialLine, name: &str, value: &impl Serialize) -> Result<(), Failure> {
    Ok(line.send(&frame(name, &json::line(value)?))?)
}
