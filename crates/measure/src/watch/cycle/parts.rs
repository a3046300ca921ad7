// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a cycle is made of: stretches of time, each with its phase and its cause.

use punctual_model::CpuId;

use super::super::stacks::Site;
use super::super::wait::is_sleep;
use super::super::who::{Name, Tid, Who};
use super::super::words::without_tid;

/// What a thread goes through in a cycle.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(in crate::watch) enum Phase {
    /// From the release to the moment at which the thread is made runnable.
    Timer,
    /// Runnable after a wait, and not running yet.
    Wakeup,
    /// Running.
    Running,
    /// Runnable, after another took the CPU.
    Preempted,
    /// An interrupt runs on its time.
    Interrupted,
    /// Waiting in the middle of the cycle.
    Blocked,
    /// Nothing that was recorded accounts for it.
    Unaccounted,
}

impl Phase {
    /// All, in the order of a cycle.
    pub(in crate::watch) const ALL: [Self; 7] = [
        Self::Timer,
        Self::Wakeup,
        Self::Running,
        Self::Preempted,
        Self::Interrupted,
        Self::Blocked,
        Self::Unaccounted,
    ];

    /// Its name in records.
    pub(in crate::watch) const fn name(self) -> &'static str {
        match self {
            Self::Timer => "timer",
            Self::Wakeup => "wake-up",
            Self::Running => "running",
            Self::Preempted => "preempted",
            Self::Interrupted => "interrupted",
            Self::Blocked => "blocked",
            Self::Unaccounted => "unaccounted",
        }
    }
}

/// Who or what a stretch of a cycle went to.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(in crate::watch) enum Cause {
    /// The thread itself.
    Itself,
    /// The thread itself, which had not ended an earlier cycle.
    Earlier,
    /// The kernel, on behalf of the thread, in a system call.
    System { call: i64 },
    /// Somebody who had the CPU by right: an interrupt, a thread of a higher priority or the same.
    Taken(Who),
    /// A thread of a lower priority, which the kernel could not preempt.
    Unpreemptible(Who),
    /// A thread that had the CPU while the timer's interrupt did not come: it had interrupts off, or the
    /// interrupt came late.
    Masked(Who),
    /// The CPU had to leave an idle state.
    IdleExit,
    /// The CPU was idle, and its interrupt came later than the idle state explains.
    Outside,
    /// The slack that the kernel may add to the thread's timers.
    Slack,
    /// The scheduler did not let the thread run, and ran others of a lower priority or none.
    Throttled,
    /// The same to a `SCHED_DEADLINE` thread: it had used up its runtime.
    OutOfRuntime,
    /// The same to one that was woken. It had used up its runtime, or its deadline had passed and its next period had not begun
    /// (`dl_check_constrained_dl`, kernel/sched/deadline.c).
    NextPeriod,
    /// The thread that held the lock worked.
    Holder(Who),
    /// The thread that held the lock waited itself.
    HolderWaits(Who),
    /// This one kept the thread that held the lock from running.
    KeptHolder { who: Who, holder: Name },
    /// The thread was moved to another CPU while it ran.
    Moved,
    /// A system call waited for something, and this ended it.
    Call { call: i64, by: Who },
    /// A page fault of the thread's.
    Fault,
    /// A signal from this one stopped the thread, or a debugger did.
    Stopped(Who),
    /// The thread had not been created yet.
    NotCreated,
    /// Not known.
    Unknown,
}

/// A stretch of a cycle.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::watch) struct Piece {
    pub(in crate::watch) from: u64,
    pub(in crate::watch) to: u64,
    pub(in crate::watch) cpu: CpuId,
    pub(in crate::watch) phase: Phase,
    pub(in crate::watch) cause: Cause,
}

impl Piece {
    pub(in crate::watch) const fn length(&self) -> u64 {
        self.to - self.from
    }
}

/// One cycle.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::watch) struct Cycle {
    pub(in crate::watch) tid: Tid,
    /// Number of the thread's cycle, from 0.
    pub(in crate::watch) number: u64,
    pub(in crate::watch) release: u64,
    /// When the thread came to wait for that: what was before is of earlier cycles.
    pub(in crate::watch) begun: u64,
    /// Whether the release is a time that the thread asked for; else it is when the thread was woken, or a period after the one before.
    pub(in crate::watch) asked: bool,
    pub(in crate::watch) end: u64,
    /// Releases that passed while the thread was busy, and that it never served.
    pub(in crate::watch) missed: u64,
    /// Events that were recorded on its way, about: each costs it some time.
    pub(in crate::watch) events: u32,
    pub(in crate::watch) pieces: Vec<Piece>,
    /// Where the thread was as it came in this cycle to what took its time, and how often, by what that was.
    pub(in crate::watch) sites: Vec<(Cause, Site, u32)>,
}

impl Cycle {
    /// Time from the release to the end, in ns.
    pub(in crate::watch) const fn response(&self) -> u64 {
        self.end.saturating_sub(self.release)
    }

    /// Time in each phase, in the order of [`Phase::ALL`].
    pub(in crate::watch) fn phases(&self) -> [u64; Phase::ALL.len()] {
        let mut phases = [0; Phase::ALL.len()];
        for piece in &self.pieces {
            phases[piece.phase as usize] += piece.length();
        }
        phases
    }

    /// Time that went to each cause, whoever of one name it is, before the thread came to wait for the release.
    pub(in crate::watch) fn delayed(&self) -> Vec<(Cause, u64)> {
        let mut delayed: Vec<(Cause, u64)> = Vec::new();
        for piece in self.pieces.iter().take_while(|of| of.from < self.begun) {
            let (cause, ns) = (
                without_tid(piece.cause),
                piece.to.min(self.begun) - piece.from,
            );
            match delayed.iter_mut().find(|(known, _)| *known == cause) {
                Some((_, sum)) => *sum += ns,
                None => delayed.push((cause, ns)),
            }
        }
        delayed
    }

    /// Time for which the thread slept of its own accord, since it had waited for the release.
    pub(in crate::watch) fn slept(&self) -> u64 {
        let own = self.pieces.iter().filter(|of| of.from >= self.begun);
        let sleeps = own.filter(|of| {
            of.phase == Phase::Blocked
                && matches!(of.cause, Cause::Call { call, .. } if is_sleep(call))
        });
        sleeps.map(Piece::length).sum()
    }

    /// Time that went to each cause, by phase.
    pub(in crate::watch) fn parts(&self) -> Vec<(Phase, Cause, u64)> {
        let mut parts: Vec<(Phase, Cause, u64)> = Vec::new();
        for piece in &self.pieces {
            let known = parts
                .iter_mut()
                .find(|(p, c, _)| (*p, *c) == (piece.phase, piece.cause));
            match known {
                Some((.., ns)) => *ns += piece.length(),
                None => parts.push((piece.phase, piece.cause, piece.length())),
            }
        }
        parts
    }
}
