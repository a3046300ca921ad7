// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads of ours that need a process to themselves, and how our program is started for them.
//!
//! `fork` would copy the page tables of whatever else loads, and `linpack` knows no rest: kept like
//! a foreign program, either can be stopped and killed. Such a process says `work TOTAL` on its
//! standard output whenever each of its threads has worked since the last time.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Write as _};
use std::ops::RangeInclusive;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::Builder;
use std::time::Duration;

use punctual_model::choices;

use punctual_sys::dense;
use punctual_sys::keep::copy_to_start;

use super::keeper;
use super::kind::{Load, LoadKind, Site, Worker};
use super::parse::{THREADS, count};
use super::program::{Program, Speech};
use super::shift::Task;
use crate::linpack;

pub(super) const FORK: LoadKind = LoadKind {
    name: "fork",
    usage: "fork[:N]",
    help: &["N threads that start short-lived processes and wait for them"],
    unit: "processes",
    worker: Worker::OwnProgram,
    parse: |size, _| {
        let threads = size.map(|n| count(n, THREADS, "threads")).transpose()?;
        Ok(Arc::new(Fork { threads }))
    },
    ..LoadKind::THREADS
};

pub(super) const LINPACK: LoadKind = LoadKind {
    name: "linpack",
    usage: "linpack[:N]",
    help: &[
        "N threads that solve systems of linear equations; @order=N equations",
        "in each system [default: 2000]; work in floating-point operations",
    ],
    unit: "floating-point operations",
    worker: Worker::OwnProgram,
    keys: "order",
    parse: |size, own| {
        let order = own.take("order");
        Ok(Arc::new(Linpack {
            threads: size.map(|n| count(n, THREADS, "threads")).transpose()?,
            order: order.map_or(Ok(DEFAULT_ORDER), |n| count(n, ORDERS, "equations"))?,
        }))
    },
    ..LoadKind::THREADS
};

/// Equations of a system that a linpack load solves by default: 32 MB, past any cache of its core.
const DEFAULT_ORDER: u32 = 2_000;

/// Equations of a system: more than one, and no more than can be said in bytes.
const ORDERS: RangeInclusive<u32> = 2..=1_000_000;

/// Our own program, also where the file was replaced since it was started.
const PROGRAM: &str = "/proc/self/exe";

/// The first argument that makes our program play one of the [`Role`]s.
const PREFIX: &str = "load:";

/// A wish to stop that nobody has.
static NEVER: AtomicBool = AtomicBool::new(false);

/// Time between two reports of a process.
const SAY_EVERY: Duration = Duration::from_millis(100);

/// What our program does for a load when it is started with the role as its first argument. None
/// of them is for people.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Role {
    /// `load:keep PARENT PROGRAM [ARGUMENT]...`
    Keep,
    /// `load:fork THREADS`
    Fork,
    /// `load:linpack THREADS ORDER`
    Linpack,
    /// `load:end`: what the threads of `load:fork` start.
    End,
}

/// Threads that start processes, which end at once, and wait for them; one a CPU unless a number is given.
#[derive(Debug)]
struct Fork {
    threads: Option<u32>,
}

impl Load for Fork {
    fn threads(&self, cpus: u32) -> u32 {
        self.threads.unwrap_or(cpus)
    }

    fn patience(&self, turn: Duration) -> Duration {
        // The parent, the child that is to run the program, the program, the parent again.
        turn * 4
    }

    fn prepare(&self, site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        Ok(Role::Fork.program(&[threads]).task(site))
    }
}

impl fmt::Display for Fork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.threads.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

/// Threads that solve systems of linear equations; one a CPU unless a number is given.
#[derive(Debug)]
struct Linpack {
    threads: Option<u32>,
    /// Number of equations of each system.
    order: u32,
}

impl Load for Linpack {
    fn threads(&self, cpus: u32) -> u32 {
        self.threads.unwrap_or(cpus)
    }

    fn memory(&self, threads: u32) -> u64 {
        let order = usize::try_from(self.order).unwrap_or(usize::MAX);
        linpack::memory_of(order).times(threads.into()).get()
    }

    fn prepare(&self, site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        if !dense::product_is_supported() {
            let what = "the processor lacks vector instructions that it needs";
            return Err(io::Error::new(io::ErrorKind::Unsupported, what));
        }
        Ok(Role::Linpack.program(&[threads, self.order]).task(site))
    }
}

impl fmt::Display for Linpack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(threads) = self.threads {
            write!(f, ":{threads}")?;
        }
        match self.order {
            DEFAULT_ORDER => Ok(()),
            order => write!(f, "@order={order}"),
        }
    }
}

choices!(Role { Keep => "keep", Fork => "fork", Linpack => "linpack", End => "end" });

impl Role {
    /// Tells the role from the first argument of a command line.
    pub fn of(first: &OsStr) -> Option<Self> {
        first.to_str()?.strip_prefix(PREFIX)?.parse().ok()
    }

    /// Returns the arguments that give our program this role.
    pub(super) fn command(self) -> Vec<OsString> {
        [PROGRAM.to_owned(), format!("{PREFIX}{}", self.name())]
            .map(OsString::from)
            .to_vec()
    }

    /// Returns the program that plays the role with these numbers.
    fn program(self, numbers: &[u32]) -> Program {
        let mut command = self.command();
        command.extend(numbers.iter().map(|n| n.to_string().into()));
        Program {
            command,
            stdin: None,
            speech: Speech::Required,
        }
    }

    /// Plays the role with the arguments behind it, until `stop` is set where it has no other end.
    /// Returns the status to exit with.
    ///
    /// # Errors
    ///
    /// Fails when the arguments are not the role's, or when it cannot go on.
    pub fn play(self, args: &[OsString], stop: &AtomicBool) -> io::Result<u8> {
        let number = |at: usize| {
            let text = args.get(at).and_then(|arg| arg.to_str());
            let number = text.and_then(|text| text.parse::<u32>().ok());
            number.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
        };
        match self {
            Self::Keep => keeper::keep(number(0)?, args.get(1..).unwrap_or_default(), stop),
            Self::Fork => work(number(0)?, start_and_wait, stop),
            Self::Linpack => {
                let order = usize::try_from(number(1)?).unwrap_or(usize::MAX);
                // The threads end with the process.
                let grind = move |count: &AtomicU64| linpack::grind(order, &NEVER, count);
                work(number(0)?, grind, stop)
            }
            Self::End => Ok(0),
        }
    }
}

/// Lets `threads` threads do `task`, which adds to its count, and says how much they have done,
/// until `stop` is set.
fn work(
    threads: u32,
    task: impl Fn(&AtomicU64) -> io::Result<()> + Clone + Send + 'static,
    stop: &AtomicBool,
) -> io::Result<u8> {
    let mut counts = Vec::new();
    let mut handles = Vec::new();
    for _ in 0..threads {
        let count = Arc::<AtomicU64>::default();
        counts.push(Arc::clone(&count));
        let task = task.clone();
        handles.push(Builder::new().spawn(move || task(&count))?);
    }
    let mut said = vec![0; counts.len()];
    // The threads end with the process.
    while !stop.load(Ordering::Relaxed) {
        if let Some(ended) = handles.iter().position(|handle| handle.is_finished()) {
            let outcome = handles.swap_remove(ended).join();
            let defect = || {
                Err(io::Error::other(
                    "a thread ended because of a bug in this program",
                ))
            };
            return outcome.unwrap_or_else(|_| defect()).map(|()| 0);
        }
        let now: Vec<u64> = counts.iter().map(|c| c.load(Ordering::Relaxed)).collect();
        if now.iter().zip(&said).all(|(now, then)| now > then) {
            let mut out = io::stdout().lock();
            writeln!(out, "work {}", now.iter().sum::<u64>())?;
            out.flush()?;
            said = now;
        }
        std::thread::sleep(SAY_EVERY);
    }
    Ok(0)
}

/// Makes an error of why `program` could not be started: the kernel's words do not say which file is missing.
pub(super) fn not_started(program: &OsStr) -> impl FnOnce(io::Error) -> io::Error {
    move |err| io::Error::new(err.kind(), format!("start {}: {err}", program.display()))
}

/// Starts processes that end at once, one after another.
fn start_and_wait(count: &AtomicU64) -> io::Result<()> {
    let [program, end] = [PROGRAM.to_owned(), format!("{PREFIX}{}", Role::End.name())];
    loop {
        let mut command = Command::new(&program);
        command.arg(&end);
        copy_to_start(&mut command);
        let status = command.status().map_err(not_started(program.as_ref()))?;
        if !status.success() {
            return Err(io::Error::other(format!("a process ended with {status}")));
        }
        count.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_from_what_people_type() {
        for &role in Role::ALL {
            assert_eq!(Role::of(&role.command()[1]), Some(role));
        }
        for word in ["load", "load:", "load:x", "keep", ""] {
            assert_eq!(Role::of(OsStr::new(word)), None);
        }
    }

    #[test]
    fn wrong_arguments_of_a_role_are_an_error() {
        let stop = AtomicBool::new(false);
        for role in [Role::Keep, Role::Fork, Role::Linpack] {
            let err = role.play(&["x".into()], &stop).unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::InvalidInput);
        }
    }

    #[test]
    fn a_process_of_ours_ends_with_the_first_of_its_threads() {
        let task = |count: &AtomicU64| {
            count.fetch_add(1, Ordering::Relaxed);
            Err(io::Error::other("no more processes"))
        };
        let err = work(2, task, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(err.to_string(), "no more processes");
        assert_eq!(work(2, task, &AtomicBool::new(true)).unwrap(), 0);
    }
}
