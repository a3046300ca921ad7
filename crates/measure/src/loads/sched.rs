// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The load `sched`: threads that wake each other up by messages.
//!
//! The pattern is that of hackbench(8): in a group each of 20 senders writes messages of 100 bytes
//! to each of 20 receivers, which read them and do nothing with them. A full socket puts senders to
//! sleep and an empty one receivers, so the scheduler has as much to do as it can.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use super::kind::{Load, LoadKind, Site};
use super::parse::count;
use super::shift::{Shift, Task};

pub(super) const KIND: LoadKind = LoadKind {
    name: "sched",
    usage: "sched[:GROUPS]",
    help: &["groups of 20 senders and 20 receivers of messages [default: one a CPU]"],
    unit: "messages",
    parse: |size, _| {
        let groups = size.map(|n| count(n, 1..=100, "groups")).transpose()?;
        Ok(Arc::new(Sched { groups }))
    },
    ..LoadKind::THREADS
};

/// Senders of a group, and receivers.
const GROUP: u32 = 20;

/// Groups of threads that send each other messages through sockets; one a CPU unless a number is given.
#[derive(Debug)]
struct Sched {
    groups: Option<u32>,
}

impl Load for Sched {
    fn threads(&self, cpus: u32) -> u32 {
        self.groups.unwrap_or(cpus).saturating_mul(2 * GROUP)
    }

    fn prepare(&self, _site: &Site<'_>, threads: u32) -> io::Result<Vec<Task>> {
        prepare(threads / (2 * GROUP))
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.groups.map_or(Ok(()), |n| write!(f, ":{n}"))
    }
}

/// Length of a message in bytes.
const MESSAGE: usize = 100;

/// Returns the tasks of `groups` groups, connected.
fn prepare(groups: u32) -> io::Result<Vec<Task>> {
    // A descriptor an end of each socket, and a few beside them.
    punctual_sys::limits::allow_open_files(u64::from(2 * GROUP * groups) + 64)?;
    let mut tasks: Vec<Task> = Vec::new();
    for _ in 0..groups {
        let mut ends = Vec::new();
        for _ in 0..GROUP {
            let (from, to) = UnixStream::pair()?;
            ends.push(to);
            tasks.push(Box::new(move |shift| receive(shift, &from)));
        }
        let ends = Arc::new(ends);
        for _ in 0..GROUP {
            let ends = Arc::clone(&ends);
            tasks.push(Box::new(move |shift| send(shift, &ends)));
        }
    }
    Ok(tasks)
}

fn send(shift: &Shift<'_>, to: &[UnixStream]) -> io::Result<()> {
    while !shift.is_over() {
        for mut socket in to {
            shift.hold();
            socket.write_all(&[1; MESSAGE])?;
            // The receivers count the messages.
            shift.count(0);
        }
    }
    Ok(())
}

/// Reads until the last sender has gone, so that none of them waits for room for ever.
fn receive(shift: &Shift<'_>, mut from: &UnixStream) -> io::Result<()> {
    let mut message = [0; MESSAGE];
    loop {
        shift.hold();
        match from.read_exact(&mut message) {
            Ok(()) => shift.count(1),
            Err(err) if err.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(err) => return Err(err),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::shift::Tally;
    use punctual_model::Nanos;
    use punctual_sys::thread;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::{Duration, Instant};

    /// Lets a group work with this intensity until `over` its tallies, and returns the CPU time of all threads.
    fn group(tallies: &[Tally], intensity: &str, over: impl Fn() -> bool) -> Nanos {
        let (stop, begun) = (AtomicBool::new(false), Instant::now());
        let tasks = prepare(1).unwrap();
        std::thread::scope(|scope| {
            let threads = tasks.into_iter().zip(tallies).map(|(task, tally)| {
                let stop = &stop;
                scope.spawn(move || {
                    let before = thread::usage();
                    let mut shift = Shift::begin(stop, tally, intensity.parse().unwrap(), begun);
                    task(&mut shift).unwrap();
                    thread::usage().since(&before).cpu_time
                })
            });
            let threads: Vec<_> = threads.collect();
            while !over() {
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            let spent = threads.into_iter().map(|thread| thread.join().unwrap());
            spent.fold(Nanos::ZERO, |sum, of| sum + of)
        })
    }

    fn tallies() -> Vec<Tally> {
        (0..2 * GROUP).map(|_| Tally::default()).collect()
    }

    #[test]
    fn every_message_that_was_sent_is_received_before_the_end() {
        let tallies = tallies();
        let (receivers, senders) = tallies.split_at(GROUP as usize);
        let begun = |tally: &Tally| tally.steps.load(Ordering::Relaxed) > 0;
        let ended = Instant::now() + Duration::from_secs(1_800);
        group(&tallies, "50%", || {
            senders.iter().any(begun) || Instant::now() > ended
        });
        let sum = |part: &[Tally], of: fn(&Tally) -> u64| part.iter().map(of).sum::<u64>();
        let sent = sum(senders, |t| t.steps.load(Ordering::Relaxed));
        let received = sum(receivers, |t| t.work.load(Ordering::Relaxed));
        assert!(sent > 0);
        assert_eq!(received, sent);
    }

    #[test]
    fn a_group_of_a_tenth_leaves_the_cpus_alone_for_most_of_the_time() {
        let begun = Instant::now();
        // However busy the machine is, which can only make it less.
        let spent = group(&tallies(), "10%", || {
            begun.elapsed() > Duration::from_secs(1)
        });
        let cpus = u32::try_from(punctual_sys::sched::affinity().unwrap().len()).unwrap();
        let all = begun.elapsed() * cpus.min(2 * GROUP);
        assert!(Duration::from(spent) < all / 4, "{spent} of {all:?}");
    }
}
