// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the clock of a thread's timers shows beyond that of the trace.
//!
//! An event of a timer holds what its clock showed when the interrupt began to look at timers, and has the time at which this one's turn
//! came. Their difference is too small by what the interrupt did in between: for other timers, mostly. The clock itself moves only when it
//! is set, so the largest of some differences is the one.

/// A clock that is this much off what it was has been set, and not only been adjusted, in ns.
const SET: i128 = 1_000_000;

/// Differences of which the largest counts: as many, and up to as many before.
const LOOKS: u32 = 100;

/// What a clock shows beyond the trace's, in ns.
#[derive(Clone, Copy, Debug)]
pub(in crate::watch) struct ClockOff {
    /// The largest difference of those before, and of those since.
    before: i128,
    largest: i128,
    looks: u32,
    /// Whether the last one was too small by much: the interrupt took long, or the clock was set back.
    was_less: bool,
}

impl ClockOff {
    /// The clock of the first timer that expired. That of the trace is no later than its event.
    pub(in crate::watch) const fn new(off: i128) -> Self {
        Self {
            before: off,
            largest: off,
            looks: 0,
            was_less: false,
        }
    }

    /// Returns what the clock shows beyond the trace's.
    pub(in crate::watch) fn shift(&self) -> i128 {
        let off = self.before.max(self.largest);
        // Of the trace's own clock there is no later time than that of the event.
        if (-1_000_000_000..SET).contains(&off) {
            0
        } else {
            off
        }
    }

    /// Takes in the difference that a timer's event has. Returns what the clock showed beyond the trace's when that timer was set: who
    /// sets the clock meanwhile moves no release that was asked for before.
    pub(in crate::watch) fn look(&mut self, off: i128) -> i128 {
        let (was, largest) = (self.shift(), self.before.max(self.largest));
        let (is_less, is_more) = (off + SET < largest, off > largest + SET);
        if is_more || (is_less && self.was_less) {
            *self = Self::new(off);
            // Where it was the trace's own clock, this timer is simply one of another.
            return if is_more && was != 0 {
                was
            } else {
                self.shift()
            };
        }
        self.was_less = is_less;
        if !is_less {
            self.largest = self.largest.max(off);
            self.looks += 1;
        }
        if self.looks >= LOOKS {
            (self.before, self.largest, self.looks) = (self.largest, off, 0);
        }
        self.shift()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i128 = 1_700_000_000_000_000_000;

    #[test]
    fn what_an_interrupt_does_before_a_timer_is_no_time_of_its_clock() {
        let mut clock = ClockOff::new(DAY - 60_000);
        assert_eq!(clock.look(DAY - 200), DAY - 200);
        for delay in [60_000, 3_000_000, 500, 200, 61_000] {
            assert_eq!(clock.look(DAY - delay), DAY - 200, "{delay}");
        }
        // It is adjusted a little.
        for _ in 0..2 * LOOKS {
            clock.look(DAY - 30_200);
        }
        assert_eq!(clock.shift(), DAY - 30_200);
    }

    #[test]
    fn a_clock_that_is_set_counts_from_the_next_timer_on() {
        const HOUR: i128 = 3_600_000_000_000;
        let mut clock = ClockOff::new(DAY);
        assert_eq!(clock.look(DAY + HOUR), DAY);
        assert_eq!(clock.look(DAY + HOUR), DAY + HOUR);
        // Back: the interrupt may only have taken long.
        assert_eq!(clock.look(DAY), DAY + HOUR);
        assert_eq!(clock.look(DAY), DAY);
    }

    #[test]
    fn the_clock_since_boot_is_another_after_a_short_sleep_of_the_machine() {
        let half_a_second = 500_000_000;
        assert_eq!(ClockOff::new(half_a_second).shift(), half_a_second);
        // The trace's own, behind an interrupt that took long.
        let mut own = ClockOff::new(-300);
        for off in [-60_000, -5_000_000, -5_000_000, -300] {
            assert_eq!(own.look(off), 0);
        }
    }
}
