// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `printk`: lines for the kernel's log, and so for the consoles.
//!
//! A line counts as work when it is found in the log again: the kernel may drop lines, and then
//! nothing was loaded.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use punctual_sys::kernel_log::{KernelLog, write_line};
use punctual_sys::{PathError, SysRoot};

use super::kind::{Load, LoadKind, Site};
use super::shift::{Shift, Task};

pub(super) const KIND: LoadKind = LoadKind {
    name: "printk",
    usage: "printk[:RATE]",
    help: &[
        "RATE lines a second to the kernel log [default: 100], needs --allow-console;",
        "@level=N is their severity [default: 3]",
    ],
    unit: "lines",
    reaches_consoles: true,
    keys: "level",
    parse: |rate, own| Ok(Arc::new(Printk::parse(rate, own.take("level"))?)),
    ..LoadKind::THREADS
};

/// Lines a second if nothing is said: a serial console of 115200 baud takes about as many.
const DEFAULT_RATE: u32 = 100;

/// What consoles show also where the kernel was started with `quiet`: an error.
const DEFAULT_LEVEL: u8 = 3;

/// Lines for the kernel's log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Printk {
    /// Lines a second, from 1 to 1000.
    rate: u32,
    /// Severity, from 0 (emergency) to 7 (debugging).
    level: u8,
}

impl Printk {
    /// Reads the rate and the severity, where they are given.
    fn parse(rate: Option<&str>, level: Option<&str>) -> Result<Self, String> {
        Ok(Self {
            rate: match rate.map_or(Ok(DEFAULT_RATE), str::parse) {
                Ok(rate @ 1..=1_000) => rate,
                _ => return Err("the number of lines a second must be from 1 to 1000".to_owned()),
            },
            level: match level.map_or(Ok(DEFAULT_LEVEL), str::parse) {
                Ok(level @ 0..=7) => level,
                _ => return Err("level: must be from 0 (emergency) to 7 (debugging)".to_owned()),
            },
        })
    }

    /// Returns the time between two lines.
    fn every(self) -> Duration {
        Duration::from_secs(1) / self.rate
    }

    /// Opens the log, and returns the task.
    fn task(self, sys: &SysRoot) -> io::Result<Task> {
        let setting = sys.fact::<String>("/proc/sys/kernel/printk_devkmsg");
        if setting.as_deref() == Some("off") {
            let what = "kernel.printk_devkmsg is off: the kernel accepts no lines from programs";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        let log = KernelLog::follow(sys).map_err(refused)?;
        let sys = sys.clone();
        Ok(Box::new(move |shift| self.work(shift, &sys, log)))
    }

    fn work(self, shift: &mut Shift<'_>, sys: &SysRoot, mut log: KernelLog) -> io::Result<()> {
        let load = NEXT.fetch_add(1, Ordering::Relaxed);
        let mark = mark(std::process::id(), load);
        let every = self.every();
        let mut next = Instant::now();
        let mut number = 0_u64;
        while !shift.is_over() {
            number += 1;
            write_line(sys, self.level, &format!("{mark} line {number}")).map_err(refused)?;
            let found = log.count_new(&mark)?;
            if found > 0 {
                shift.did(found);
            }
            // What could not be written in time is not made up for.
            next = Instant::now().max(next + every);
            shift.pause(next.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }
}

/// Number of the next load of this process.
static NEXT: AtomicU32 = AtomicU32::new(1);

/// Returns what the lines of one load begin with, and no line of another load, nor of another process.
fn mark(process: u32, load: u32) -> String {
    format!("punctual load of process {process}, load {load}:")
}

impl Load for Printk {
    /// Before its time no line is written.
    fn patience(&self, turn: Duration) -> Duration {
        turn + self.every()
    }

    fn prepare(&self, site: &Site<'_>, _threads: u32) -> io::Result<Vec<Task>> {
        Ok(vec![self.task(site.sys)?])
    }
}

impl fmt::Display for Printk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.rate != DEFAULT_RATE {
            write!(f, ":{}", self.rate)?;
        }
        if self.level != DEFAULT_LEVEL {
            write!(f, "@level={}", self.level)?;
        }
        Ok(())
    }
}

fn refused(err: PathError) -> io::Error {
    let kind = match err.is_permission() || err.is_missing() {
        true => io::ErrorKind::Unsupported,
        false => io::ErrorKind::Other,
    };
    let cause = std::error::Error::source(&err);
    let cause = cause.map(ToString::to_string).unwrap_or_default();
    let hint = if err.is_permission() {
        "; run it with sudo"
    } else {
        ""
    };
    io::Error::new(kind, format!("{err}: {cause}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;
    use std::fs::OpenOptions;
    use std::io::Write as _;

    #[test]
    fn each_load_finds_its_own_lines_and_no_others() {
        let (dir, sys) = machine(&[("dev/kmsg", "")]);
        let marks = [(432, 1), (432, 10), (4321, 1), (43, 1)].map(|(pid, n)| mark(pid, n));
        let mut logs = marks.each_ref().map(|_| KernelLog::follow(&sys).unwrap());
        let kmsg = dir.path().join("dev/kmsg");
        let mut kmsg = OpenOptions::new().append(true).open(kmsg).unwrap();
        let mut found = [0; 4];
        for (mark, lines) in marks.iter().zip(1..) {
            for number in 1..=lines {
                writeln!(kmsg, "3,2,6,-;{mark} line {number}").unwrap();
                // A read of the kernel's log gives one line.
                for ((mark, log), found) in marks.iter().zip(&mut logs).zip(&mut found) {
                    *found += log.count_new(mark).unwrap();
                }
            }
        }
        assert_eq!(found, [1, 2, 3, 4]);
    }

    #[test]
    fn a_kernel_that_takes_no_lines_is_told_before_anything_starts() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("proc/sys/kernel");
        std::fs::create_dir_all(&path).unwrap();
        let sys = SysRoot::at(dir.path());
        let printk = Printk::parse(None, None).unwrap();
        let told = |part: &str| {
            let err = printk.task(&sys).map(|_| ()).unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::Unsupported);
            assert!(err.to_string().contains(part), "{err}");
        };
        told("/dev/kmsg: No such file");
        std::fs::write(path.join("printk_devkmsg"), "off\n").unwrap();
        told("printk_devkmsg is off");
    }
}
