// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The orders of a thread of a load: for how long, at which pace, and where its work is counted.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::settings::Intensity;

/// A load that works only for a part of the time does so once in each of these.
const PERIOD: Duration = Duration::from_millis(20);

/// Nobody waits longer than this for a thread that rests.
const NAP: Duration = Duration::from_millis(100);

/// What a thread of a load does until its shift is over.
pub(super) type Task = Box<dyn FnOnce(&mut Shift<'_>) -> io::Result<()> + Send>;

/// What a thread has done.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// In the unit of its load.
    pub(super) work: AtomicU64,
    /// How often it has shown that it lives.
    pub(super) steps: AtomicU64,
    /// What the work is counted in, where that was not known before.
    pub(super) unit: OnceLock<String>,
}

/// The working life of one thread of a load.
#[derive(Debug)]
pub(super) struct Shift<'a> {
    stop: &'a AtomicBool,
    tally: &'a Tally,
    intensity: Intensity,
    /// When the turns of its load began. All threads of a load work and rest at the same times: of threads that each rest at their
    /// own some are always at work, and leave no CPU idle however long each of them rests.
    begun: Instant,
    /// When its turn began, as time since then.
    turn: Duration,
    /// Since when it has worked without rest, where it rests at all.
    busy_since: Instant,
    /// What it has worked longer than it may.
    owed: Duration,
}

impl<'a> Shift<'a> {
    /// Begins the shift of a thread of a load whose turns began at `begun`.
    pub(super) fn begin(
        stop: &'a AtomicBool,
        tally: &'a Tally,
        intensity: Intensity,
        begun: Instant,
    ) -> Self {
        Self {
            stop,
            tally,
            intensity,
            begun,
            turn: turn_at(begun.elapsed()),
            busy_since: Instant::now(),
            owed: Duration::ZERO,
        }
    }

    /// Whether the thread should end.
    pub(super) fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Counts `work`, and rests if it is time for that.
    ///
    /// Hot: at full intensity it does nothing beyond the count.
    pub(super) fn did(&mut self, work: u64) {
        self.count(work);
        if self.intensity != Intensity::FULL {
            self.rest();
        }
    }

    /// Counts `work`, which shows that the thread lives even if it is none.
    ///
    /// Hot: it does nothing else.
    pub(super) fn count(&self, work: u64) {
        self.tally.work.fetch_add(work, Ordering::Relaxed);
        self.tally.steps.fetch_add(1, Ordering::Relaxed);
    }

    /// Forgets the work so far, because from now on it is counted in `unit`.
    pub(super) fn begin_again(&self, unit: &str) {
        self.tally.work.store(0, Ordering::Relaxed);
        self.tally.unit.get_or_init(|| unit.to_owned());
    }

    /// Sleeps until a turn of which the time that it worked up to now is the wanted share.
    fn rest(&mut self) {
        let busy = self.busy_since.elapsed() + self.owed;
        let work = self.work();
        if busy < work {
            return;
        }
        // A step may take longer than a turn's work: that takes it from the next ones.
        let turns = u32::try_from(busy.as_nanos() / work.as_nanos()).unwrap_or(u32::MAX);
        self.owed = busy - work * turns;
        self.turn += PERIOD * turns;
        self.pause(self.turn.saturating_sub(self.begun.elapsed()));
        self.busy_since = Instant::now();
        // What it could not do in turns that are over is not made up for.
        let now = self.begun.elapsed();
        if now >= self.turn + PERIOD {
            self.turn = turn_at(now);
        }
    }

    /// Waits while its load rests. For threads that wait for each other, and so do not work all the time between two rests.
    pub(super) fn hold(&self) {
        if self.intensity == Intensity::FULL {
            return;
        }
        let now = self.begun.elapsed();
        let into = now - turn_at(now);
        if into >= self.work() {
            self.pause(PERIOD - into);
        }
    }

    /// How long it works in a turn.
    fn work(&self) -> Duration {
        PERIOD * self.intensity.percent() / 100
    }

    /// Sleeps for `span`, or until the shift is over.
    pub(super) fn pause(&self, span: Duration) {
        let end = Instant::now() + span;
        while !self.is_over()
            && let Some(left) = end.checked_duration_since(Instant::now())
            && !left.is_zero()
        {
            std::thread::sleep(left.min(NAP));
        }
    }
}

/// Returns when the turn began in which it is `now`, both since the load's turns began.
fn turn_at(now: Duration) -> Duration {
    let turns = now.as_nanos() / PERIOD.as_nanos();
    PERIOD * u32::try_from(turns).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Works in steps of a millisecond, and returns how many there were in `span`.
    fn steps(intensity: &str, span: Duration) -> u64 {
        let (stop, tally) = (AtomicBool::new(false), Tally::default());
        let mut shift = Shift::begin(&stop, &tally, intensity.parse().unwrap(), Instant::now());
        let end = Instant::now() + span;
        while Instant::now() < end {
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(1) {
                std::hint::spin_loop();
            }
            shift.did(1);
        }
        tally.work.load(Ordering::Relaxed)
    }

    /// How often this thread has slept of its own accord.
    fn rests() -> u64 {
        let status = std::fs::read("/proc/thread-self/status").unwrap();
        let status = String::from_utf8_lossy(&status).into_owned();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn a_load_of_a_quarter_works_for_a_quarter_of_the_time_and_a_whole_one_never_rests() {
        // However the machine is used: a rest is three times as long as what went before.
        let before = rests();
        let quarter = steps("25%", Duration::from_millis(600));
        assert!((1..=160).contains(&quarter), "{quarter}");
        assert!(rests() > before);
        // A page that has to be read makes a thread sleep too, though not every time.
        let without_rest = || {
            let before = rests();
            steps("100%", Duration::from_millis(100)) > 0 && rests() == before
        };
        assert!((0..20).any(|_| without_rest()));
    }

    #[test]
    fn threads_of_a_load_rest_at_the_same_times() {
        let (stop, tally) = (AtomicBool::new(false), Tally::default());
        let (begun, quarter) = (Instant::now(), "25%".parse().unwrap());
        let mut turns = Vec::new();
        for late in [0, 7, 33] {
            std::thread::sleep(Duration::from_millis(late));
            let mut shift = Shift::begin(&stop, &tally, quarter, begun);
            // A step of more than two turns, whose work is that of two.
            shift.busy_since = Instant::now() - PERIOD * 3 / 5;
            let before = shift.turn;
            shift.did(1);
            turns.push(shift.turn);
            assert!(shift.turn >= before + PERIOD * 2);
            assert!(begun.elapsed() >= shift.turn, "it has rested until then");
        }
        let beside = |turn: &Duration| turn.as_nanos() % PERIOD.as_nanos();
        assert_eq!(turns.iter().map(beside).sum::<u128>(), 0);
    }

    #[test]
    fn a_rest_ends_with_the_shift() {
        let (stop, tally) = (AtomicBool::new(true), Tally::default());
        let shift = Shift::begin(&stop, &tally, Intensity::FULL, Instant::now());
        let begun = Instant::now();
        shift.pause(Duration::from_secs(3_600));
        assert!(begun.elapsed() < Duration::from_secs(1_800));
    }
}
