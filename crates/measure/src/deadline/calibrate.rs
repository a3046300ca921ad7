// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long an iteration takes when nothing disturbs it.
//!
//! The thread calibrates itself, with its policy and on its CPU, just before it measures: first how
//! many additions make an iteration of the wanted length, then how long such an iteration takes. If that is
//! not the length that was asked for, because the CPU's speed has changed since, the number of additions is
//! corrected and tried again. An iteration is undisturbed if the kernel switched to nobody else during it (`ru_nivcsw` of
//! getrusage(2)); the median of those is what is taken. Between the iterations the thread pauses for
//! half as long, so that calibrating does not use up what real-time threads may use of a period.
//!
//! Interrupts, and what a hypervisor takes, are no switches. They are in the spread, which is shown,
//! and a spread that reaches the deadline makes the calibration a disturbed one.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_model::{Clock, Nanos};
use punctual_sys::thread::{self, Tid};
use punctual_sys::timer::{Nanosleep, Sleeper as _};
use punctual_sys::{clock, compute_loop};

use super::options::{Due, Work};

/// Time that calibrating shall take, pauses included, as far as [`LEAST`] allows.
const SPAN: Nanos = Nanos::from_millis(600);

/// Fewest and most iterations.
const LEAST: u64 = 5;
const MOST: u64 = 100;

/// Readings of the speed of the adding loop, of which the fastest counts.
const SPEEDS: u32 = 20;

/// Part of the undisturbed iterations that may be later than the deadline.
const LATE_LIMIT: f64 = 0.1;

/// Part of the length that was asked for by which an undisturbed iteration may differ from it.
pub(crate) const LENGTH_LIMIT: f64 = 0.1;

/// How often iterations are tried for the length that was asked for.
const ROUNDS: u32 = 4;

/// What calibrating found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Calibrated {
    /// Additions in an iteration.
    pub(crate) additions: u64,
    /// What an undisturbed iteration takes.
    pub(crate) undisturbed: Nanos,
    /// Iterations that were tried.
    pub(crate) tried: u64,
    /// Those of them without a switch, from which the figures below are.
    pub(crate) quiet: u64,
    /// The shortest of those.
    pub(crate) min: Nanos,
    /// The longest of those.
    pub(crate) max: Nanos,
    /// Their standard deviation in ns, with n - 1.
    pub(crate) stddev_ns: Option<f64>,
    /// Those of them that were later than the deadline.
    pub(crate) late: u64,
    /// When an iteration is late.
    pub(crate) deadline: Nanos,
}

impl Calibrated {
    /// Whether an undisturbed iteration has the length that was asked for.
    #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
    pub(crate) fn is_length(&self, asked: Nanos) -> bool {
        let (is, asked) = (self.undisturbed.get() as f64, asked.get() as f64);
        (is - asked).abs() <= LENGTH_LIMIT * asked
    }

    /// Says why the calibration is not to be trusted, if it is not.
    #[expect(clippy::cast_precision_loss, reason = "counts below a hundred")]
    pub(crate) fn disturbance(&self) -> Option<String> {
        if self.quiet < LEAST.div_ceil(2) || self.quiet * 2 < self.tried {
            return Some(format!(
                "only {} of {} iterations ran without a context switch",
                self.quiet, self.tried
            ));
        }
        (self.late as f64 > LATE_LIMIT * self.quiet as f64).then(|| {
            format!(
                "{} of {} iterations without a context switch exceeded the deadline derived from them",
                self.late, self.quiet
            )
        })
    }
}

/// One iteration of the calibration.
#[derive(Clone, Copy, Debug)]
struct Turn {
    wall: Nanos,
    cpu: Nanos,
    switches: u64,
}

/// Calibrates on the calling thread.
pub(crate) fn calibrate(work: Work, due: Due, stop: &AtomicBool) -> Calibrated {
    let time = match work {
        Work::Additions(additions) => return tried(additions, due, stop),
        Work::Time(time) => time,
    };
    let mut found = tried(additions_in(time), due, stop);
    for _ in 1..ROUNDS {
        if found.is_length(time) || stop.load(Ordering::Relaxed) {
            break;
        }
        found = tried(scaled(found.additions, time, found.undisturbed), due, stop);
    }
    found
}

/// Returns how many additions take `wanted` if `additions` take `took`.
fn scaled(additions: u64, wanted: Nanos, took: Nanos) -> u64 {
    let scaled = u128::from(additions) * u128::from(wanted.get()) / u128::from(took.get().max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX).max(1)
}

/// Times iterations of the given number of additions.
fn tried(additions: u64, due: Due, stop: &AtomicBool) -> Calibrated {
    let first = turn(additions);
    let each = first.wall.get().saturating_mul(3) / 2;
    let wanted = (SPAN.get() / each.max(1)).clamp(LEAST, MOST);
    let mut turns = vec![first];
    let mut sleeper = Nanosleep::new(Clock::Monotonic);
    while (turns.len() as u64) < wanted && !stop.load(Ordering::Relaxed) {
        let pause = Nanos::new(turns.last().map_or(0, |t| t.wall.get() / 2));
        // A pause that is cut short is no harm.
        let _ = sleeper.sleep_until(clock::monotonic() + pause);
        turns.push(turn(additions));
    }
    summed_up(additions, due, &turns)
}

/// Returns how many additions take `time`, by the fastest of some tries of about a millisecond.
fn additions_in(time: Nanos) -> u64 {
    let tries = (0..SPEEDS).map(|_| {
        let before = clock::monotonic();
        black_box(compute_loop::add(compute_loop::INNER_LOOP));
        (clock::monotonic() - before).get()
    });
    let fastest = Nanos::new(tries.min().unwrap_or(1));
    scaled(compute_loop::INNER_LOOP, time, fastest)
}

fn turn(additions: u64) -> Turn {
    let tid = Tid::current();
    let switches = thread::usage().involuntary_switches;
    let cpu = tid.cpu_time().unwrap_or_default();
    let before = clock::monotonic();
    black_box(compute_loop::add(additions));
    let wall = clock::monotonic() - before;
    Turn {
        wall,
        cpu: tid.cpu_time().unwrap_or_default() - cpu,
        switches: thread::usage().involuntary_switches - switches,
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
fn summed_up(additions: u64, due: Due, turns: &[Turn]) -> Calibrated {
    let quiet: Vec<Nanos> = turns
        .iter()
        .filter(|t| t.switches == 0)
        .map(|t| t.wall)
        .collect();
    // Where every one was interrupted, their CPU time is the best that there is; the record says so.
    let undisturbed = median(quiet.clone())
        .or_else(|| median(turns.iter().map(|t| t.cpu).collect()))
        .unwrap_or_default();
    let deadline = due.after(undisturbed);
    let mut moments = punctual_stats::Moments::new();
    quiet.iter().for_each(|t| moments.push(t.get() as f64));
    Calibrated {
        additions,
        undisturbed,
        tried: turns.len() as u64,
        quiet: quiet.len() as u64,
        min: quiet.iter().copied().min().unwrap_or(undisturbed),
        max: quiet.iter().copied().max().unwrap_or(undisturbed),
        stddev_ns: moments.std_dev(),
        late: quiet.iter().filter(|t| **t > deadline).count() as u64,
        deadline,
    }
}

fn median(mut times: Vec<Nanos>) -> Option<Nanos> {
    times.sort_unstable();
    times.get(times.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(walls_us: &[u64], switches: &[u64]) -> Vec<Turn> {
        walls_us
            .iter()
            .zip(switches)
            .map(|(us, switches)| Turn {
                wall: Nanos::from_micros(*us),
                cpu: Nanos::from_micros(1_000),
                switches: *switches,
            })
            .collect()
    }

    #[test]
    fn the_median_of_the_undisturbed_is_taken() {
        let turns = turns(&[1_010, 1_000, 61_000, 1_020, 1_001], &[0, 0, 1, 0, 0]);
        let found = summed_up(7, Due::Auto(1.05), &turns);
        assert_eq!(found.undisturbed, Nanos::from_micros(1_001));
        assert_eq!(found.deadline, Nanos::new(1_051_050));
        assert_eq!((found.tried, found.quiet, found.late), (5, 4, 0));
        assert_eq!(found.max, Nanos::from_micros(1_020));
        assert_eq!(found.disturbance(), None);
    }

    #[test]
    fn additions_follow_from_what_they_took() {
        let us = Nanos::from_micros;
        assert_eq!(scaled(1_000_000, us(800), us(1_600)), 500_000);
        assert_eq!(scaled(5, us(1), us(800)), 1, "an iteration adds");
        assert_eq!(scaled(u64::MAX, Nanos::MAX, Nanos::ZERO), u64::MAX);
    }

    #[test]
    fn a_disturbed_calibration_says_so() {
        let switched = turns(&[9_000; 5], &[1, 2, 1, 1, 1]);
        let found = summed_up(7, Due::Auto(1.05), &switched);
        assert_eq!(found.undisturbed, Nanos::from_micros(1_000), "CPU time");
        assert!(found.disturbance().unwrap().starts_with("only 0 of 5"));
        let spread = turns(&[1_000, 1_000, 1_000, 1_100, 1_200], &[0; 5]);
        let found = summed_up(7, Due::Auto(1.05), &spread);
        assert!(found.disturbance().unwrap().starts_with("2 of 5"));
    }

    #[test]
    fn additions_are_found_for_a_time() {
        let short = additions_in(Nanos::from_micros(100));
        let long = additions_in(Nanos::from_millis(100));
        assert!(short > 1_000 && long > 100 * short, "{short} {long}");
    }

    #[test]
    fn calibrating_takes_several_turns() {
        let work = Work::Time(Nanos::from_millis(1));
        let found = calibrate(work, Due::Auto(2.0), &AtomicBool::new(false));
        assert!((LEAST..=MOST).contains(&found.tried), "{found:?}");
        assert!(found.min <= found.undisturbed || found.quiet == 0);
    }
}
