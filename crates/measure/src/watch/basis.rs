// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which wait of a thread ends a cycle, found from how its waits come.

use std::collections::BTreeMap;

use super::thread::Waited;
use super::wait::Wait;
use super::{FUNCTION, words};

/// Waits after which it is decided, where they come fast.
pub(super) const WAITS: usize = 100;

/// Time after which it is decided, in ns, where they come slowly.
pub(super) const TIME: u64 = 1_500_000_000;

/// Waits without which nothing can be said of a period.
const FEW: usize = 6;

/// Share of the intervals that have the length of the period, or of several, where a wait is periodic.
const REGULAR: f64 = 0.7;

/// How far such an interval may be off, as a share of the period.
const OFF: f64 = 0.1;

/// What a cycle of a thread is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Basis {
    /// The wait that ends a cycle. None: every wait does.
    pub(super) at: Option<Wait>,
    /// Time between releases in ns, where they come regularly.
    pub(super) period: Option<u64>,
}

impl Basis {
    /// Every wait ends a cycle.
    pub(super) const EVERY_WAIT: Self = Self {
        at: None,
        period: None,
    };

    /// Whether this wait ends a cycle.
    pub(super) fn ends_at(&self, wait: Wait) -> bool {
        self.at.is_none_or(|at| at.covers(wait))
    }
}

/// How one kind of wait comes.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    wait: Wait,
    count: usize,
    timed: bool,
    period: u64,
    /// Share of regular intervals.
    regular: f64,
    /// Half of the intervals are off the period by less than this share of it.
    spread: f64,
}

/// Finds the wait that ends a cycle: the one that comes at the period that was asked for; else the regular one that most of the waits
/// for time are; where none is regular, every wait.
pub(super) fn find<'a>(
    asked: Option<u64>,
    interval: Option<u64>,
    waited: impl Iterator<Item = &'a Waited> + Clone,
) -> Basis {
    let alone = candidates_of(interval, waited.clone().map(|one| (one.wait, one)));
    let words = waited.filter_map(|one| Some((one.wait.either_word()?, one)));
    let either = candidates_of(None, words);
    // By turns each of two words comes half as often as both together.
    let covered = |one: &Candidate| either.iter().find(|both| both.wait.covers(one.wait));
    let is_by_turns = |one: &Candidate| {
        covered(one)
            .is_some_and(|both| one.period * 2 >= both.period * 3 && one.count * 3 >= both.count)
    };
    let (by_turns, mut candidates): (Vec<Candidate>, Vec<Candidate>) =
        alone.into_iter().partition(is_by_turns);
    let is_pair = |both: &&Candidate| by_turns.iter().any(|one| both.wait.covers(one.wait));
    candidates.extend(either.iter().filter(is_pair));
    let is_asked = |c: &&Candidate| asked.is_some_and(|asked| is_about(c.period, asked));
    let steadiest = |a: &&Candidate, b: &&Candidate| a.spread.total_cmp(&b.spread);
    if let Some(found) = candidates.iter().filter(is_asked).min_by(steadiest) {
        return Basis {
            at: Some(found.wait),
            period: asked,
        };
    }
    // A wait for time is the thread's own; what others wake it for may be as regular as they are.
    let any_timed = candidates.iter().any(|c| c.timed);
    let of_kind = || candidates.iter().filter(|c| c.timed == any_timed);
    let most = of_kind().map(|c| c.count).max().unwrap_or(0);
    let best = of_kind()
        .filter(|c| 2 * c.count >= most)
        .min_by(|a, b| a.spread.total_cmp(&b.spread).then(b.count.cmp(&a.count)));
    best.map_or(Basis::EVERY_WAIT, |best| Basis {
        at: Some(best.wait),
        period: Some(best.period),
    })
}

/// Returns the waits that come regularly.
fn candidates_of<'a>(
    interval: Option<u64>,
    waited: impl Iterator<Item = (Wait, &'a Waited)>,
) -> Vec<Candidate> {
    let mut releases: BTreeMap<Wait, (Vec<u64>, usize)> = BTreeMap::new();
    for (wait, one) in waited.filter(|(_, one)| !one.is_passed()) {
        let (times, timed) = releases.entry(wait).or_default();
        times.push(one.release());
        *timed += usize::from(one.expiry.is_some());
    }
    let candidates = releases
        .iter()
        .filter_map(|(wait, (times, timed))| candidate(*wait, times, *timed, interval));
    candidates.filter(|c| c.regular >= REGULAR).collect()
}

/// Whether two periods are the same but for what wake-ups are late by.
#[expect(clippy::cast_precision_loss, reason = "times within days")]
pub(super) fn is_about(period: u64, asked: u64) -> bool {
    period.abs_diff(asked) as f64 <= OFF * asked as f64
}

/// Returns the time between the releases of waits, where they come regularly.
pub(super) fn period_of<'a>(
    waited: impl Iterator<Item = &'a Waited>,
    interval: Option<u64>,
) -> Option<u64> {
    let waited = waited.filter(|one| !one.is_passed());
    let times: Vec<u64> = waited.map(Waited::release).collect();
    let wait = candidate(Wait::UNKNOWN, &times, 0, interval)?;
    (wait.regular >= REGULAR).then_some(wait.period)
}

#[expect(clippy::cast_precision_loss, reason = "times within minutes")]
fn candidate(wait: Wait, times: &[u64], timed: usize, interval: Option<u64>) -> Option<Candidate> {
    if times.len() < FEW {
        return None;
    }
    let mut intervals: Vec<u64> = times
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    intervals.sort_unstable();
    let median = *intervals.get(intervals.len() / 2)?;
    if median == 0 {
        return None;
    }
    // A thread that is mostly late serves few of its timer's releases.
    let is_of_timer = |timer: &u64| intervals.iter().all(|of| of.is_multiple_of(*timer));
    let period = interval.filter(is_of_timer).unwrap_or(median);
    let off = |interval: &u64| {
        let share = *interval as f64 / period as f64;
        (share - share.round().max(1.0)).abs()
    };
    let mut offs: Vec<f64> = intervals.iter().map(off).collect();
    let regular = offs.iter().filter(|off| **off <= OFF).count();
    offs.sort_by(f64::total_cmp);
    Some(Candidate {
        wait,
        count: times.len(),
        timed: 2 * timed > times.len(),
        period,
        regular: regular as f64 / offs.len() as f64,
        spread: offs.get(offs.len() / 2).copied()?,
    })
}

/// Whether a wait is one of those that the user named: a system call, or that after the call of a function.
pub(super) fn is_named(named: &str, one: &Waited) -> bool {
    match named.strip_prefix(FUNCTION) {
        Some(_) => one.wait == Wait::PROBE,
        None => words::call_name(one.wait.call) == named,
    }
}

/// Finds what ends a cycle, among waits that were seen or by the system call that the user named.
pub(super) fn of(
    named: Option<&str>,
    asked: Option<u64>,
    waited: &[Waited],
    interval: Option<u64>,
) -> Basis {
    let Some(named) = named else {
        return find(asked, interval, waited.iter());
    };
    let is_named = |one: &&Waited| is_named(named, one);
    let first = waited.iter().find(is_named).map(|one| one.wait);
    let found = find(asked, interval, waited.iter().filter(is_named)).at;
    let is_first = |at: &Wait| first.is_some_and(|first| at.covers(first));
    let at = found.filter(is_first).or(first);
    let is_at = |one: &&Waited| at.is_some_and(|at| at.covers(one.wait));
    let period = period_of(waited.iter().filter(is_at), interval);
    let asked = asked.filter(|asked| period.is_some_and(|found| is_about(found, *asked)));
    match at {
        Some(_) => Basis {
            at,
            period: asked.or(period),
        },
        None => Basis::EVERY_WAIT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::thread::Expiry;

    fn waited(wait: Wait, release: u64, timed: bool) -> Waited {
        Waited {
            wait,
            entered: release.saturating_sub(100),
            woken: Some(release + 5),
            left: release + 9,
            expiry: timed.then_some(Expiry {
                soft: release,
                hard: release,
                cpu: 0,
                of_call: true,
            }),
        }
    }

    #[test]
    fn the_regular_wait_for_time_ends_a_cycle_and_not_what_lies_within() {
        let (sleep, read, futex) = (
            Wait::of(900, [1, 0, 0]),
            Wait::of(901, [3, 0, 0]),
            Wait::of(902, [9, 0, 0]),
        );
        let mut all = Vec::new();
        for n in 0..50_u64 {
            all.push(waited(sleep, n * 1_000_000, true));
            // A device answers at any time, twice a cycle; a lock is waited for now and then.
            all.push(waited(read, n * 1_000_000 + n * n * 7_919 % 400_000, false));
            all.push(waited(
                read,
                n * 1_000_000 + 500_000 + n * 77_777 % 300_000,
                false,
            ));
            if n % 7 == 0 {
                all.push(waited(futex, n * 1_000_000 + 900_000, false));
            }
        }
        let basis = find(None, None, all.iter());
        assert_eq!((basis.at, basis.period), (Some(sleep), Some(1_000_000)));
        assert!(!basis.ends_at(read));
    }

    #[test]
    fn a_condition_variable_that_takes_its_two_words_by_turns_is_one_wait() {
        let number = (0..1_000)
            .find(|call| punctual_sys::calls::name(*call) == Some("futex"))
            .unwrap();
        // FUTEX_WAIT_BITSET, private, by the clock of the day.
        let word = |at: u64| Wait::of(number, [at, 0x189, 0]);
        let (first, second) = (word(0x1028), word(0x102c));
        let all: Vec<Waited> = (0..100_u64)
            .map(|n| waited([first, second][(n % 2) as usize], n * 1_000_000, false))
            .collect();
        for basis in [
            find(None, None, all.iter()),
            of(Some("futex"), None, &all, None),
        ] {
            assert_eq!(basis.period, Some(1_000_000));
            assert!(basis.ends_at(first) && basis.ends_at(second));
            assert!(!basis.ends_at(word(0x1030)));
        }
        // One of them now and then is another lock, and not by turns.
        let rare = |n: u64| {
            n.is_multiple_of(9)
                .then(|| waited(second, n * 1_000_000 + n * 77_777 % 900_000, false))
        };
        let mixed = (0..100_u64).flat_map(|n| [Some(waited(first, n * 1_000_000, false)), rare(n)]);
        let mixed: Vec<Waited> = mixed.flatten().collect();
        let basis = find(None, None, mixed.iter());
        assert_eq!((basis.at, basis.period), (Some(first), Some(1_000_000)));
    }

    #[test]
    fn missed_periods_leave_a_period_and_what_has_none_ends_at_every_wait() {
        let sleep = Wait::of(900, [1, 0, 0]);
        let late: Vec<Waited> = (0..40)
            .filter(|n| n % 5 != 3)
            .map(|n| waited(sleep, n * 2_000_000, true))
            .collect();
        assert_eq!(find(None, None, late.iter()).period, Some(2_000_000));
        let wild: Vec<Waited> = (0..40_u64)
            .map(|n| waited(sleep, n * n * n * 10_007, false))
            .collect();
        assert_eq!(find(None, None, wild.iter()), Basis::EVERY_WAIT);
        assert_eq!(find(None, None, wild[..3].iter()), Basis::EVERY_WAIT);
    }

    #[test]
    fn a_period_that_was_asked_for_chooses_among_regular_waits() {
        let (fast, slow) = (Wait::of(900, [1, 0, 0]), Wait::of(901, [3, 0, 0]));
        let waits = |n: u64| {
            let both = n.is_multiple_of(4);
            let slow = both.then(|| waited(slow, n * 250_000 + 90_000, true));
            [Some(waited(fast, n * 250_000, true)), slow]
        };
        let all: Vec<Waited> = (0..80).flat_map(waits).flatten().collect();
        assert_eq!(find(None, None, all.iter()).at, Some(fast));
        let asked = find(Some(1_020_000), None, all.iter());
        assert_eq!((asked.at, asked.period), (Some(slow), Some(1_020_000)));
        // A thread of the program that has no such wait is seen as without.
        assert_eq!(
            find(Some(7_000_000), None, all.iter()),
            find(None, None, all.iter())
        );
    }
}
