// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Iterations that took much longer than undisturbed, noted by the thread that they happen to.
//!
//! A long iteration is no proof that the kernel took the CPU away: a sibling of the core, the clock of the
//! CPU and a hypervisor slow it down as well, on some machines by half and for seconds. The CPU time of the
//! thread (`CLOCK_THREAD_CPUTIME_ID`, clock_getres(2)) tells: it stands still only while somebody else has
//! the CPU, or nobody.

use punctual_model::Nanos;
use punctual_sys::thread::Tid;

/// Stalls that are kept. A stall lasts at least 1 ms, so this is a minute of nothing else.
const MOST: usize = 60_000;

/// Below this, iterations are not asked for their CPU time: the system call would be a part of them that
/// could be seen, and no machine becomes so slow that one of them lasts as long as a stall.
const ASKED_FROM: Nanos = Nanos::from_millis(1);

/// An iteration that took much longer than undisturbed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Stall {
    /// When it ended, since the start of the run.
    pub(crate) at: Nanos,
    /// What it took beyond an undisturbed one.
    pub(crate) lost: Nanos,
    /// Time of it in which the thread did not have the CPU. At most the response: where an undisturbed
    /// iteration is too short to be asked, what was lost.
    pub(crate) off_cpu: Nanos,
}

/// The stalls of one thread.
#[derive(Debug)]
pub struct Stalls {
    undisturbed: Nanos,
    from: Nanos,
    /// Room for all of them from the beginning.
    kept: Vec<Stall>,
    dropped: u64,
    clock: Option<CpuClock>,
}

/// The CPU time of the thread.
#[derive(Debug)]
struct CpuClock {
    thread: Tid,
    /// As it was at the end of the last iteration.
    was: Nanos,
}

impl Stalls {
    /// Makes room for the stalls of the calling thread, whose iterations take `undisturbed` undisturbed.
    pub fn of(undisturbed: Nanos) -> Self {
        // Written to, so that the memory is present: locking does that too, but it may be off or refused.
        let mut kept = vec![
            Stall {
                at: Nanos::MAX,
                ..Stall::default()
            };
            MOST
        ];
        kept.clear();
        Self {
            undisturbed,
            from: stall_from(undisturbed),
            kept,
            dropped: 0,
            clock: (undisturbed >= ASKED_FROM).then(|| CpuClock {
                thread: Tid::current(),
                was: Nanos::ZERO,
            }),
        }
    }

    /// Takes the time from now on: to be called just before the loop.
    pub(crate) fn begin(&mut self) {
        self.used();
    }

    /// Takes in an iteration that ended `at` after `response`.
    ///
    /// Hot: it allocates nothing, locks nothing, and makes one system call, for iterations of 1 ms and more.
    #[inline]
    pub(crate) fn take(&mut self, at: Nanos, response: Nanos) {
        let used = self.used();
        let lost = response - self.undisturbed;
        if lost < self.from {
            return;
        }
        let off_cpu = used.map_or(lost, |used| response - used);
        if self.kept.len() < MOST {
            self.kept.push(Stall { at, lost, off_cpu });
        } else {
            self.dropped += 1;
        }
    }

    /// Returns the CPU time since it was asked for last.
    #[inline]
    fn used(&mut self) -> Option<Nanos> {
        let clock = self.clock.as_mut()?;
        let now = clock.thread.cpu_time()?;
        Some(now - std::mem::replace(&mut clock.was, now))
    }

    /// Returns the stalls in order, and how many were not kept.
    pub(crate) fn found(&self) -> (&[Stall], u64) {
        (&self.kept, self.dropped)
    }
}

/// Returns how long a loss must be to count as a stall among iterations of this length.
pub(crate) fn stall_from(undisturbed: Nanos) -> Nanos {
    Nanos::from_millis(1).max(Nanos::new(undisturbed.get() / 10))
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_sys::clock;

    const MS: Nanos = Nanos::from_millis(1);

    #[test]
    fn what_is_long_is_a_stall() {
        let mut stalls = Stalls::of(Nanos::from_millis(10));
        stalls.begin();
        for (at, response) in [(10, 10), (20, 10), (31, 11), (91, 60)] {
            stalls.take(MS.times(at), MS.times(response));
        }
        let (found, dropped) = stalls.found();
        let lost: Vec<_> = found.iter().map(|s| (s.at, s.lost)).collect();
        assert_eq!(lost, [(MS.times(31), MS), (MS.times(91), MS.times(50))]);
        assert_eq!(dropped, 0);
    }

    #[test]
    fn a_slow_thread_is_not_off_the_cpu_and_a_sleeping_one_is() {
        let mut stalls = Stalls::of(MS);
        stalls.begin();
        let begun = clock::monotonic();
        let used = || Tid::current().cpu_time().unwrap();
        let until = used() + MS.times(20);
        while used() < until {
            std::hint::spin_loop();
        }
        let worked = clock::monotonic();
        stalls.take(MS, worked - begun);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let slept = clock::monotonic();
        stalls.take(MS, slept - worked);
        // What is taken from this thread before it was asked for its CPU time is off the CPU too.
        let later = clock::monotonic() - slept;
        let (found, _) = stalls.found();
        let [busy, asleep] = found else {
            panic!("{found:?}")
        };
        // Others may take the CPU as well, and then the response is longer by as much.
        assert!(busy.lost - busy.off_cpu >= MS.times(18), "{busy:?}");
        assert!(asleep.off_cpu >= MS.times(18), "{asleep:?}");
        assert!(
            asleep.off_cpu <= asleep.lost + MS + later,
            "{asleep:?}, {later}"
        );
    }

    #[test]
    fn short_iterations_are_not_asked_and_lose_what_they_take_longer() {
        let mut stalls = Stalls::of(Nanos::from_micros(10));
        stalls.begin();
        stalls.take(MS, MS.times(5));
        let lost = MS.times(5) - Nanos::from_micros(10);
        let stall = Stall {
            at: MS,
            lost,
            off_cpu: lost,
        };
        assert_eq!(stalls.found().0, [stall]);
    }

    #[test]
    fn what_finds_no_room_is_counted() {
        let mut stalls = Stalls::of(Nanos::from_micros(10));
        for _ in 0..MOST + 3 {
            stalls.take(MS, MS.times(5));
        }
        let (found, dropped) = stalls.found();
        assert_eq!((found.len(), dropped), (MOST, 3));
    }
}
