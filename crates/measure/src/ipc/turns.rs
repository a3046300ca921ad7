// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Turns on the machine: when each of several pairs may work.

use std::cmp::Ordering;

use punctual_model::Nanos;

/// A turn, at least.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Deadlines in a turn, at least.
const DEADLINES: u64 = 20;

/// This number of pairs, one after the other, again and again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Turns {
    pairs: u64,
    interval: Nanos,
    length: Nanos,
}

impl Turns {
    /// Divides the time among `pairs` that wake up every `interval`.
    pub(super) fn new(pairs: usize, interval: Nanos) -> Self {
        let whole = SHORTEST
            .get()
            .div_ceil(interval.get().max(1))
            .max(DEADLINES);
        Self {
            pairs: pairs.max(1) as u64,
            interval,
            // The deadline on the border belongs to the next.
            length: interval.times(whole + 1),
        }
    }

    /// Returns the time after which every pair has had a deadline.
    pub(super) const fn until_all(self) -> Nanos {
        let before = self.length.times(self.pairs.saturating_sub(1));
        // The receiver of the last needs some of the interval behind its first deadline.
        Nanos::new(
            before
                .get()
                .saturating_add(self.interval.get().saturating_mul(2)),
        )
    }

    /// Returns how long before a deadline the receiver is made ready for it.
    pub(super) const fn lead(self) -> Nanos {
        Nanos::new(self.interval.get() / 2)
    }

    /// Returns how many deadlines of pair `turn` lie between two times since the origin, neither of
    /// them included.
    pub(super) fn between(self, turn: u32, after: Nanos, before: Nanos) -> u64 {
        let upto = self.deadlines(turn, before.since(Nanos::new(1)));
        upto.saturating_sub(self.deadlines(turn, after))
    }

    /// Returns how many deadlines pair `turn` has up to `at`.
    fn deadlines(self, turn: u32, at: Nanos) -> u64 {
        let whole = self.length.get() / self.interval.get() - 1;
        let slot = at.get() / self.length.get();
        let (round, now) = (slot / self.pairs, slot % self.pairs);
        let own = match now.cmp(&u64::from(turn)) {
            Ordering::Less => 0,
            Ordering::Equal => (at.get() % self.length.get() / self.interval.get()).min(whole),
            Ordering::Greater => whole,
        };
        round * whole + own
    }

    /// Returns the first deadline of pair `turn` at or after `at`, both since the origin.
    pub(super) fn next(self, turn: u32, at: Nanos) -> Nanos {
        let (length, own) = (self.length.get(), u64::from(turn));
        let slot = at.get() / length;
        let (round, now) = (slot / self.pairs, slot % self.pairs);
        let begin = |round: u64| self.length.times(round * self.pairs + own);
        let first = |round: u64| begin(round) + self.interval;
        if now < own {
            return first(round);
        }
        if now > own {
            return first(round + 1);
        }
        let since = at - begin(round);
        let steps = since.get().div_ceil(self.interval.get()).max(1);
        let deadline = begin(round) + self.interval.times(steps);
        if deadline < begin(round) + self.length {
            deadline
        } else {
            first(round + 1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pair_has_its_turns_and_no_deadline_of_another() {
        let turns = Turns::new(3, Nanos::from_millis(10));
        assert_eq!(turns.length, Nanos::from_millis(210));
        let mut seen = vec![Vec::new(); 3];
        for turn in 0..3_u32 {
            let mut at = Nanos::ZERO;
            while at < Nanos::from_millis(3 * 210 * 4) {
                let deadline = turns.next(turn, at);
                assert!(deadline >= at);
                let slot = deadline.get() / turns.length.get();
                assert_eq!(slot % 3, u64::from(turn));
                seen[turn as usize].push(deadline);
                at = deadline + Nanos::new(1);
            }
        }
        for own in &seen {
            // 20 in each of 4 rounds; the last one asked for lies beyond.
            assert!((80..=81).contains(&own.len()), "{}", own.len());
            let turn = own[0].get() / turns.length.get();
            let turn = u32::try_from(turn).unwrap();
            for (n, pair) in own.windows(3).enumerate() {
                assert_eq!(turns.between(turn, pair[0], pair[1]), 0);
                assert_eq!(turns.between(turn, pair[0], pair[2]), 1, "{n}");
            }
            let beyond = own[own.len() - 1] + Nanos::new(1);
            assert_eq!(turns.between(turn, Nanos::ZERO, beyond), own.len() as u64);
            assert!(
                own.windows(2)
                    .all(|pair| pair[1] - pair[0] >= Nanos::from_millis(10))
            );
        }
    }

    #[test]
    fn every_pair_has_a_deadline_in_the_time_for_all() {
        for (pairs, ms) in [(1, 10), (3, 10), (14, 500)] {
            let turns = Turns::new(pairs, Nanos::from_millis(ms));
            let firsts = (0..pairs).map(|n| turns.next(u32::try_from(n).unwrap(), Nanos::ZERO));
            let last = firsts.max().unwrap();
            let margin = turns.until_all() - last;
            assert_eq!(margin, turns.interval, "{pairs} pairs");
        }
        // What cannot be said is longer than anything that is asked for.
        let never = Turns::new(14, Nanos::from_secs(1 << 32));
        assert!(never.until_all() > Nanos::from_secs(1 << 33));
    }

    #[test]
    fn short_intervals_have_turns_of_a_tenth_of_a_second() {
        let turns = Turns::new(1, Nanos::from_micros(100));
        assert_eq!(turns.length, Nanos::from_micros(100_100));
        assert_eq!(turns.next(0, Nanos::ZERO), Nanos::from_micros(100));
        // A deadline is its own next.
        assert_eq!(
            turns.next(0, Nanos::from_micros(100)),
            Nanos::from_micros(100)
        );
        assert_eq!(
            turns.next(0, Nanos::from_micros(101)),
            Nanos::from_micros(200)
        );
    }
}
