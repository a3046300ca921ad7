// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a thread waits for, as its system call tells.

use punctual_sys::calls;

/// What a thread waits in: a system call, with the arguments that tell one such wait from another.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) struct Wait {
    /// Number of the system call; negative where this kernel does not tell.
    pub(super) call: i64,
    first: u64,
    second: u64,
}

/// In place of what is done to a lock: no operation of futex(2) has this number.
const EITHER_WORD: u64 = 1 << 32;

impl Wait {
    /// A wait of which the kernel does not tell the system call.
    pub(super) const UNKNOWN: Self = Self {
        call: -1,
        first: 0,
        second: 0,
    };

    /// The wait after the call of a function that the user named.
    pub(super) const PROBE: Self = Self {
        call: -2,
        first: 0,
        second: 0,
    };

    /// Takes a system call for what it is.
    pub(super) fn of(call: i64, args: [u64; 3]) -> Self {
        let [a, b, _] = args;
        let (first, second) = match calls::name(call).unwrap_or_default() {
            // The clock, and whether the time is absolute.
            "clock_nanosleep" | "clock_nanosleep_time64" => (a, b & 1),
            "nanosleep" | "sched_yield" | "rt_sigtimedwait" | "pause" => (0, 0),
            // The lock and what is done to it; the flag says whether other processes share it.
            "futex" | "futex_time64" => (a, b & 0x7f),
            "ioctl" => (a, b),
            _ => (a, 0),
        };
        Self {
            call,
            first,
            second,
        }
    }

    /// Returns what covers a wait for this word and for its neighbour. A condition variable of glibc has its waiters sleep on one of two
    /// words by turns (`__g_signals`, nptl/pthread_cond_wait.c).
    pub(super) fn either_word(self) -> Option<Self> {
        // FUTEX_WAIT_BITSET
        (self.is_lock() && self.second == 9).then_some(Self {
            first: self.first & !7,
            second: EITHER_WORD,
            ..self
        })
    }

    /// Whether `other` is this wait, or one of the two that it covers.
    pub(super) fn covers(self, other: Self) -> bool {
        self == other || (self.second == EITHER_WORD && other.either_word() == Some(self))
    }

    /// Whether it waits for nothing but time.
    pub(super) fn is_sleep(self) -> bool {
        is_sleep(self.call)
    }

    /// Whether it gives up the CPU. A `SCHED_DEADLINE` thread gives up the rest of its job, and has the CPU again for the next one (sched(7)).
    pub(super) fn is_yield(self) -> bool {
        calls::name(self.call) == Some("sched_yield")
    }

    /// Whether it is a sleep until a time, and not for one.
    pub(super) fn is_absolute(self) -> bool {
        self.is_sleep() && self.second == 1
    }

    /// Returns the call's first argument, as a descriptor where it is one.
    pub(super) const fn first(self) -> u64 {
        self.first
    }

    /// Whether it waits for a lock whose holder does not get the waiter's priority (futex(2)).
    pub(super) fn is_plain_lock(self) -> bool {
        // FUTEX_WAIT, FUTEX_WAIT_BITSET
        self.is_lock() && matches!(self.second, 0 | 9)
    }

    /// Whether it waits for a lock of the program's.
    pub(super) fn is_lock(self) -> bool {
        matches!(calls::name(self.call), Some("futex" | "futex_time64"))
    }
}

/// Whether a system call waits for nothing but time.
pub(super) fn is_sleep(call: i64) -> bool {
    matches!(
        calls::name(call),
        Some("clock_nanosleep" | "clock_nanosleep_time64" | "nanosleep")
    )
}

impl std::fmt::Display for Wait {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match calls::name(self.call) {
            Some("clock_nanosleep") if self.second == 1 => {
                f.write_str("clock_nanosleep (absolute)")
            }
            Some(name @ ("read" | "ioctl" | "recvmsg" | "recvfrom" | "accept")) => {
                write!(f, "{name} (descriptor {})", self.first)
            }
            Some(name) => f.write_str(name),
            None if *self == Self::PROBE => f.write_str("the wait after the named function"),
            None if self.call < 0 => f.write_str("any wait"),
            None => write!(f, "system call {}", self.call),
        }
    }
}
