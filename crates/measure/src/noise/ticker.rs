// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the loop reads, and how long a tick of it is.

use punctual_model::Nanos;
use punctual_sys::{clock, tsc};

/// A counter that goes up evenly. Reading it is hot.
pub trait Ticker: Copy + Send + 'static {
    /// Reads it.
    fn read(self) -> u64;
}

/// The processor's time stamp counter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tsc;

impl Ticker for Tsc {
    #[inline]
    fn read(self) -> u64 {
        tsc::read()
    }
}

/// `CLOCK_MONOTONIC`, in ns.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Ticker for Clock {
    #[inline]
    fn read(self) -> u64 {
        clock::monotonic().get()
    }
}

/// The length of a tick, in 2^-32 ns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Scale(u64);

impl Scale {
    /// A tick a nanosecond.
    pub const NANOS: Self = Self(1 << 32);

    /// Returns the scale of a counter that makes this number of ticks a second.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 2^-32 ns and 4 s a tick; beyond it saturates"
    )]
    pub fn of(ticks_per_second: f64) -> Self {
        Self((1e9 / ticks_per_second * 4_294_967_296.0).round().max(1.0) as u64)
    }

    /// Returns how long this number of ticks takes.
    #[inline]
    pub fn nanos(self, ticks: u64) -> Nanos {
        let ns = (u128::from(ticks) * u128::from(self.0) + (1 << 31)) >> 32;
        Nanos::new(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Returns how many ticks take so long.
    pub fn ticks(self, span: Nanos) -> u64 {
        let ticks = (u128::from(span.get()) << 32) / u128::from(self.0);
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

/// Returns the median time from one reading to the next, in ticks, over some thousands.
pub(crate) fn cost_of<T: Ticker>(ticker: T) -> u64 {
    let mut steps = [0_u64; 4_095];
    let mut last = ticker.read();
    for step in &mut steps {
        let now = ticker.read();
        *step = now.saturating_sub(last);
        last = now;
    }
    steps.sort_unstable();
    steps[steps.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_times_convert() {
        let scale = Scale::of(2.5e9);
        assert_eq!(scale.nanos(2_500), Nanos::new(1_000));
        assert_eq!(scale.ticks(Nanos::new(1_000)), 2_500);
        // A day of ticks, to within a few ns.
        let day = Nanos::from_secs(86_400);
        let back = scale.nanos(scale.ticks(day));
        assert!(back.get().abs_diff(day.get()) <= 20, "{back:?}");
        assert_eq!(Scale::NANOS.nanos(7), Nanos::new(7));
        assert_eq!(Scale::NANOS.ticks(Nanos::MAX), u64::MAX);
    }

    #[test]
    fn both_counters_go_up() {
        assert!(cost_of(Clock) > 0);
        let first = Clock.read();
        assert!(Clock.read() >= first);
        assert!(Tsc.read() <= Tsc.read());
    }
}
