// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What is kept of cycles: figures of all, the longest in full.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use punctual_model::watch::{CpuLane, CyclePiece, LaneStretch, WorstCycle};
use punctual_model::{CpuId, Ordered as _, Policy, SeriesProgress};
use punctual_stats::{Accumulator, Keep};
use rustc_hash::FxHashMap;

use super::account::Apart;
use super::basis::Basis;
use super::cycle::{Cause, Cycle, Phase, Piece};
use super::replay::Replay;
use super::settle::{Passed, Since};
use super::stacks::Site;
use super::wait::Wait;
use super::who::{Tid, Who};
use super::{account, words};
use crate::figures;

/// Long cycles of a thread of which each cause is kept: more than one in a hundred of ten minutes of cycles of 1 ms.
const KEPT: usize = 10_000;

/// The longest cycles that are shown with what went on around them.
pub(super) const SHOWN: usize = 5;

/// Stretches that are shown of one CPU, at most.
const STRETCHES: usize = 400;

/// Pieces that are shown of one cycle, at most: a cycle of a second may have a hundred thousand.
const PIECES: usize = 1_000;

/// Steps of the response time within a power of two.
const STEPS: u32 = 8;

/// What one cycle spent, by causes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Long {
    pub(super) response: u64,
    pub(super) number: u64,
    pub(super) phases: [u64; Phase::ALL.len()],
    pub(super) parts: Vec<(Cause, u64)>,
    /// Time for which earlier cycles kept it from beginning.
    pub(super) delay: u64,
    /// What of that each cause has.
    pub(super) delayed: Vec<(Cause, u64)>,
    /// Where the thread was, by causes.
    pub(super) sites: Vec<(Cause, Site, u32)>,
}

impl Long {
    fn of(cycle: &Cycle, phases: [u64; Phase::ALL.len()]) -> Self {
        let mut parts: Vec<(Cause, u64)> = Vec::new();
        for piece in &cycle.pieces {
            let bare = words::without_tid(piece.cause);
            match parts.iter_mut().find(|(own, _)| *own == bare) {
                Some((_, sum)) => *sum += piece.length(),
                None => parts.push((bare, piece.length())),
            }
        }
        let sites = cycle.sites.iter();
        let sites = sites.map(|(cause, site, count)| (words::without_tid(*cause), *site, *count));
        Self {
            response: cycle.response(),
            number: cycle.number,
            phases,
            parts,
            delay: cycle.begun - cycle.release,
            delayed: cycle.delayed(),
            sites: sites.collect(),
        }
    }

    /// What the longest of cycles are chosen by.
    const fn key(&self) -> (u64, u64) {
        (self.response, self.number)
    }
}

impl Eq for Long {}

impl Ord for Long {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Long {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Time that went to one cause, in all cycles.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) total: u64,
    /// What of it went to it in cycles above [`Tally::limit`].
    pub(super) above: u64,
    /// The thread that it was, while it was one alone.
    pub(super) tid: Option<Tid>,
    several: bool,
}

impl Spent {
    fn add(&mut self, ns: u64, is_above: bool, tid: Option<Tid>) {
        self.total += ns;
        self.above += if is_above { ns } else { 0 };
        match (self.tid, tid) {
            (None, Some(_)) if !self.several => self.tid = tid,
            (Some(one), Some(other)) if one != other => (self.tid, self.several) = (None, true),
            _ => {}
        }
    }
}

/// Cycles of about the same response time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    pub(super) count: u64,
    pub(super) phases: [u64; Phase::ALL.len()],
}

/// What is kept of one thread's cycles.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) basis: Option<Basis>,
    /// Whether the period is that which the user said.
    pub(super) is_asked: bool,
    pub(super) policy: Option<Policy>,
    pub(super) responses: Accumulator,
    pub(super) cycles: u64,
    pub(super) timed: u64,
    pub(super) missed: u64,
    pub(super) events: u64,
    pub(super) phase_sums: [u64; Phase::ALL.len()],
    pub(super) phase_max: [u64; Phase::ALL.len()],
    pub(super) steps: BTreeMap<u32, Step>,
    pub(super) spent: FxHashMap<Cause, Spent>,
    deadline: Option<u64>,
    /// Cycles in which the thread slept for longer than its period.
    asleep: u64,
    /// The first release and the last.
    releases: Option<(u64, u64)>,
    /// The time between releases as they came, where they come regularly. [`Basis::period`] may be what the user said.
    pub(super) spacing: Option<u64>,
    pub(super) passed: Passed,
    pub(super) since: Since,
    /// Waits of the thread before the first of those that the user named.
    pub(super) passed_over: u64,
    /// Releases that came, served or not, but for those that a thread slept over.
    came: u64,
    /// Cycles above [`Self::limit`].
    pub(super) above: u64,
    /// Cycles whose phases do not add up to their response time within 2 µs, or are not known.
    pub(super) unclear: u64,
    longest: BinaryHeap<Reverse<Long>>,
    /// How far our account is from that of the kernel's tracer, where that runs.
    pub(super) apart: Apart,
    worst: Vec<(Long, WorstCycle)>,
    /// How long the last cycle took so far, where it had not ended when the run did.
    pub(super) open: Option<u64>,
    pub(super) last_cpu: CpuId,
    /// Where cycles ended.
    pub(super) cpus: BTreeSet<CpuId>,
}

/// Time of a cycle that may not be accounted for, in ns.
const UNCLEAR: u64 = 2_000;

impl Tally {
    /// Makes one for a thread with this deadline, if there is any.
    pub(super) fn new(keep: &Keep, deadline: Option<u64>) -> Self {
        Self {
            deadline,
            above: 0,
            basis: None,
            is_asked: false,
            asleep: 0,
            releases: None,
            spacing: None,
            passed: Passed::default(),
            since: Since::default(),
            passed_over: 0,
            came: 0,
            policy: None,
            responses: Accumulator::new(keep),
            cycles: 0,
            timed: 0,
            missed: 0,
            events: 0,
            phase_sums: [0; Phase::ALL.len()],
            phase_max: [0; Phase::ALL.len()],
            steps: BTreeMap::new(),
            spent: FxHashMap::default(),
            unclear: 0,
            longest: BinaryHeap::new(),
            apart: Apart::default(),
            worst: Vec::new(),
            open: None,
            last_cpu: 0,
            cpus: BTreeSet::new(),
        }
    }

    /// Whether the user said when a cycle is late.
    pub(super) const fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Returns the response time above which a cycle is late, where it is known before the cycles are: the deadline or the period.
    pub(super) fn limit(&self) -> Option<u64> {
        self.deadline.or_else(|| self.period())
    }

    /// Returns the time between releases. What looked like a period at first is none where the thread mostly sleeps for longer within its
    /// cycles, of its own accord, and most of the releases that would have passed never came.
    pub(super) fn period(&self) -> Option<u64> {
        let period = self.basis.and_then(|basis| basis.period)?;
        let (first, last) = self.releases.unwrap_or_default();
        let came = self.came.saturating_mul(period);
        let is_none = 2 * self.asleep > self.cycles && came < (last - first) / 2;
        (self.is_asked || !is_none).then_some(period)
    }

    /// Returns the first release and the last.
    pub(super) const fn span(&self) -> Option<(u64, u64)> {
        self.releases
    }

    /// Goes on with cycles that the thread had before others. What was released in between is of none of them.
    pub(super) fn goes_on(self) -> Self {
        Self {
            passed: Passed::default(),
            since: self.since.comes_back(),
            ..self
        }
    }

    /// Takes in a cycle. `origin` is the start of the run.
    pub(super) fn add(&mut self, cycle: &Cycle, replay: &Replay, origin: u64) {
        let response = cycle.response();
        let period = self.basis.and_then(|basis| basis.period);
        let is_above = self
            .deadline
            .or(period)
            .is_some_and(|limit| response > limit);
        self.above += u64::from(is_above);
        let is_asleep = period.is_some_and(|period| cycle.slept() > period);
        self.asleep += u64::from(is_asleep);
        // The timer of a descriptor goes on without its thread; a sleep does not.
        let at_sleep = self
            .basis
            .and_then(|basis| basis.at)
            .is_some_and(Wait::is_sleep);
        self.came += 1 + if is_asleep && at_sleep {
            0
        } else {
            cycle.missed
        };
        let (first, last) = self.releases.unwrap_or((cycle.release, cycle.release));
        self.releases = Some((first.min(cycle.release), last.max(cycle.release)));
        self.responses.record_slice(&[response]);
        self.cycles += 1;
        self.timed += u64::from(cycle.asked);
        self.missed += cycle.missed;
        // They are never served, so later than any time.
        self.responses
            .record_unsampled(cycle.missed, |_| cycle.missed);
        self.events += u64::from(cycle.events);
        // It hardly ever moves, so that this costs next to nothing.
        if let Some(cpu) = cycle.pieces.last().map(|piece| piece.cpu)
            && (cpu != self.last_cpu || self.cpus.is_empty())
        {
            self.last_cpu = cpu;
            self.cpus.insert(cpu);
        }
        if let Some(account) = account::of(cycle, replay) {
            self.apart.add(&account);
        }
        let phases = cycle.phases();
        let step = self.steps.entry(step_of(response)).or_default();
        step.count += 1;
        for (n, ns) in phases.iter().enumerate() {
            self.phase_sums[n] += ns;
            self.phase_max[n] = self.phase_max[n].max(*ns);
            step.phases[n] += ns;
        }
        let sum: u64 = phases.iter().sum();
        let unaccounted = phases[Phase::Unaccounted as usize] + sum.abs_diff(response);
        self.unclear += u64::from(unaccounted > UNCLEAR);
        for (_, cause, ns) in cycle.parts() {
            let spent = self.spent.entry(words::without_tid(cause)).or_default();
            spent.add(ns, is_above, words::tid(cause));
        }
        // Most cycles are none of the longest.
        let is_long = |least: Option<&Long>, kept: usize, most: usize| {
            let is_longer = |least: &Long| least.key() < (response, cycle.number);
            kept < most || least.is_some_and(is_longer)
        };
        let is_worst = is_long(
            self.worst.last().map(|(long, _)| long),
            self.worst.len(),
            SHOWN,
        );
        let least = self.longest.peek().map(|Reverse(least)| least);
        if is_worst {
            let shown = show(cycle, replay, origin);
            self.worst.push((Long::of(cycle, phases), shown));
            self.worst.order_by(|(a, _), (b, _)| b.cmp(a));
            self.worst.truncate(SHOWN);
        }
        if is_long(least, self.longest.len(), KEPT) {
            if self.longest.len() >= KEPT {
                self.longest.pop();
            }
            self.longest.push(Reverse(Long::of(cycle, phases)));
        }
    }

    /// Keeps a cycle that was taken in last among those that are shown, however long it was.
    pub(super) fn keep(&mut self, cycle: &Cycle, replay: &Replay, origin: u64) {
        if self
            .worst
            .iter()
            .all(|(long, _)| long.number != cycle.number)
        {
            let shown = show(cycle, replay, origin);
            self.worst.push((Long::of(cycle, cycle.phases()), shown));
        }
    }

    /// Returns those of the longest cycles that took longer than `limit`.
    pub(super) fn longer_than(&self, limit: u64) -> Vec<&Long> {
        let all = self.longest.iter().map(|Reverse(long)| long);
        all.filter(|long| long.response > limit).collect()
    }

    /// Whether every cycle that took longer than `limit` is kept.
    pub(super) fn keeps_all_above(&self, limit: u64) -> bool {
        let least = self
            .longest
            .peek()
            .map_or(0, |Reverse(least)| least.response);
        self.longest.len() < KEPT || least <= limit
    }

    /// Returns the longest cycles, longest first.
    pub(super) fn worst(&self) -> Vec<WorstCycle> {
        self.worst.iter().map(|(_, shown)| shown.clone()).collect()
    }

    pub(super) fn progress(&mut self) -> SeriesProgress {
        SeriesProgress {
            overruns: Some(self.missed),
            ..figures::progress(&mut self.responses)
        }
    }
}

/// Numbers a response time: steps of an eighth of a power of two.
fn step_of(ns: u64) -> u32 {
    let ns = ns.max(u64::from(STEPS));
    let power = ns.ilog2();
    let within = u32::try_from(ns >> (power - STEPS.ilog2())).unwrap_or(u32::MAX) - STEPS;
    power * STEPS + within
}

/// Returns the longest response time with this number.
pub(super) fn step_end(step: u32) -> u64 {
    let (power, within) = (step / STEPS, step % STEPS);
    (u64::from(STEPS + within + 1) << (power - STEPS.ilog2())) - 1
}

/// Returns the `most` longest pieces, in order, and the number and time of the others.
fn longest<T: Clone>(
    pieces: &[T],
    most: usize,
    length: impl Fn(&T) -> u64,
) -> (Vec<T>, (u64, u64)) {
    let mut by_length: Vec<usize> = (0..pieces.len()).collect();
    by_length.order_by_key(|&n| Reverse(pieces.get(n).map_or(0, &length)));
    let others = by_length.split_off(pieces.len().min(most));
    by_length.sort_unstable();
    let of = |places: &[usize]| -> Vec<T> {
        let found = places.iter().filter_map(|&n| pieces.get(n).cloned());
        found.collect()
    };
    let others = of(&others);
    let time = others.iter().map(&length).sum();
    (of(&by_length), (others.len() as u64, time))
}

/// Leaves at most `most` pieces and stretches of a cycle, half of them pieces. What goes is counted.
pub(super) fn shorten(cycle: &mut WorstCycle, most: usize) {
    let stretches: usize = cycle.cpus.iter().map(|lane| lane.stretches.len()).sum();
    if cycle.pieces.len() + stretches <= most {
        return;
    }
    let length = |piece: &CyclePiece| piece.to_ns.saturating_sub(piece.from_ns);
    let (kept, (count, ns)) = longest(&cycle.pieces, most / 2, length);
    cycle.pieces = kept;
    cycle.left_out += count;
    cycle.left_out_ns += ns;
    let each = most / 2 / cycle.cpus.len().max(1);
    for lane in &mut cycle.cpus {
        lane.left_out += lane.stretches.len().saturating_sub(each) as u64;
        lane.stretches.truncate(each);
    }
}

/// Returns the cycle as it is shown, with who had the CPUs.
fn show(cycle: &Cycle, replay: &Replay, origin: u64) -> WorstCycle {
    let names = &replay.names;
    let (kept, left_out) = longest(&cycle.pieces, PIECES, Piece::length);
    let pieces = kept.iter().map(|piece| CyclePiece {
        from_ns: piece.from - cycle.release,
        to_ns: piece.to - cycle.release,
        cpu: piece.cpu,
        phase: piece.phase.name().to_owned(),
        cause: words::say(piece.cause, names).what,
    });
    let around = (cycle.response() / 10).max(20_000);
    let (from, to) = (cycle.release.saturating_sub(around), cycle.end + around);
    let since = |time: u64| time.cast_signed() - cycle.release.cast_signed();
    let lanes = replay.cpus().map(|cpu| {
        let stretches: Vec<_> = replay.cut(cpu, from, to.min(replay.now)).collect();
        let shown = stretches.iter().take(STRETCHES).map(|stretch| LaneStretch {
            from_ns: since(stretch.from),
            to_ns: since(stretch.to),
            kind: match stretch.who {
                Who::Task { tid, .. } if tid == cycle.tid => "watched",
                Who::Task { .. } => "task",
                Who::Idle { .. } => "idle",
                Who::Unknown => "unknown",
                Who::Irq { .. } | Who::Vector { .. } | Who::Softirq { .. } | Who::Timer { .. } => {
                    "interrupt"
                }
            }
            .to_owned(),
            who: words::who(stretch.who, names),
        });
        CpuLane {
            cpu,
            stretches: shown.collect(),
            left_out: stretches.len().saturating_sub(STRETCHES) as u64,
        }
    });
    WorstCycle {
        number: cycle.number,
        release_ns: cycle.release.saturating_sub(origin),
        response_ns: cycle.response(),
        pieces: pieces.collect(),
        left_out: left_out.0,
        left_out_ns: left_out.1,
        cpus: lanes.collect(),
        kernel: account::of(cycle, replay),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_very_long_cycle_the_longest_pieces_are_kept_and_the_others_counted() {
        let mut at = 0;
        let pieces: Vec<Piece> = (0..3_000_u64)
            .map(|n| {
                let from = at;
                at += 1 + u64::from(n % 3 == 0) * 1_000;
                Piece {
                    from,
                    to: at,
                    cpu: 0,
                    phase: Phase::Running,
                    cause: Cause::Itself,
                }
            })
            .collect();
        let (kept, (count, time)) = longest(&pieces, PIECES, Piece::length);
        assert_eq!((kept.len(), count, time), (1_000, 2_000, 2_000));
        assert!(kept.iter().all(|piece| piece.length() == 1_001));
        assert!(kept.is_sorted_by_key(|piece| piece.from));
        let (all, none) = longest(&pieces[..1_000], PIECES, Piece::length);
        assert_eq!((all, none), (pieces[..1_000].to_vec(), (0, 0)));
    }

    #[test]
    fn a_cycle_is_shortened_to_its_share_and_says_what_is_left_out() {
        let piece = |n: u64| CyclePiece {
            from_ns: n * 100,
            to_ns: n * 100 + n,
            ..CyclePiece::default()
        };
        let lane = |cpu| CpuLane {
            cpu,
            stretches: vec![LaneStretch::default(); 30],
            left_out: 5,
        };
        let whole = WorstCycle {
            pieces: (0..40).map(piece).collect(),
            cpus: vec![lane(0), lane(1)],
            ..WorstCycle::default()
        };
        let mut same = whole.clone();
        shorten(&mut same, 100);
        assert_eq!(same, whole);
        let mut short = whole;
        shorten(&mut short, 20);
        assert_eq!(short.pieces, (30..40).map(piece).collect::<Vec<_>>());
        assert_eq!((short.left_out, short.left_out_ns), (30, (0..30).sum()));
        for lane in &short.cpus {
            assert_eq!((lane.stretches.len(), lane.left_out), (5, 30));
        }
    }

    #[test]
    fn a_period_that_nothing_keeps_to_is_none() {
        const PERIOD: u64 = 5_000_000;
        let replay = Replay::new(1, true, 10, None);
        let nanosleep = (0..1_000).find(|call| super::super::wait::is_sleep(*call));
        let sleeps = Cause::Call {
            call: nanosleep.unwrap(),
            by: Who::Unknown,
        };
        let of = |missed: u64, phase: Phase, cause: Cause, is_asked: bool| {
            let mut tally = Tally::new(&Keep::default(), None);
            tally.basis = Some(Basis {
                at: None,
                period: Some(PERIOD),
            });
            tally.is_asked = is_asked;
            // At first it looks like one.
            for number in 0..110 {
                let (release, takes) = match number {
                    0..10 => (number * PERIOD, 100_000),
                    _ => (10 * PERIOD * (number - 9), 9 * PERIOD),
                };
                let end = release + takes;
                let piece = Piece {
                    from: release,
                    to: end,
                    cpu: 0,
                    phase,
                    cause,
                };
                let cycle = Cycle {
                    tid: 7,
                    number,
                    release,
                    begun: release,
                    asked: true,
                    end,
                    missed: if number < 10 { 0 } else { missed },
                    events: 1,
                    pieces: vec![piece],
                    sites: Vec::new(),
                };
                tally.add(&cycle, &replay, 0);
            }
            assert_eq!(tally.progress().overruns, Some(100 * missed));
            tally.period()
        };
        assert_eq!(of(0, Phase::Blocked, sleeps, false), None);
        // The user knows better; releases that it misses are there; and whoever works for as long is late.
        assert_eq!(of(0, Phase::Blocked, sleeps, true), Some(PERIOD));
        assert_eq!(of(9, Phase::Blocked, sleeps, false), Some(PERIOD));
        let own = of(0, Phase::Running, Cause::Itself, false);
        assert_eq!(own, Some(PERIOD));
    }

    #[test]
    fn steps_hold_their_ends_and_follow_each_other() {
        for ns in [8_u64, 9, 15, 16, 17, 1_000, 1_023, 1_024, 999_999, 1 << 40] {
            let step = step_of(ns);
            assert!(step_end(step) >= ns, "{ns}");
            assert!(step == step_of(8) || step_end(step - 1) < ns, "{ns}");
            assert_eq!(step_of(step_end(step)), step);
            assert_eq!(step_of(step_end(step) + 1), step + 1);
        }
    }
}
