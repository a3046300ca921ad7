// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the cycles show.

use punctual_model::{Better, Check, CpuId, Figure, Finding, Policy};
use punctual_stats::{Accumulator, Keep};

use super::Protocol;
use super::cycle::{Cycles, Part, Work};
use crate::figures;
use crate::frame::Found;
use crate::median::median_figure;
use crate::rates::share_interval;
use crate::stream::sample_checks;

/// A protocol with one of the two lengths of mid's work.
#[derive(Clone, Debug)]
pub(super) struct Case {
    protocol: Protocol,
    full: bool,
    tally: Accumulator,
    waits: Vec<u64>,
    /// Cycles in which the lock was held when high was released, and mid was released before it was
    /// let go.
    arranged: u64,
    /// Cycles of this kind.
    cycles: u64,
    /// Arranged cycles in which mid ran before high had the lock.
    inverted: u64,
}

impl Case {
    pub(super) fn new(protocol: Protocol, full: bool, keep: &Keep) -> Self {
        Self {
            protocol,
            full,
            tally: Accumulator::new(keep),
            waits: Vec::new(),
            arranged: 0,
            cycles: 0,
            inverted: 0,
        }
    }

    fn context(&self) -> String {
        let length = if self.full { "full" } else { "half" };
        format!("{}-{length}", self.protocol.name())
    }
}

/// What one cycle shows.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Seen {
    /// From the release of high to its lock.
    wait: u64,
    inverted: bool,
}

/// Looks at one cycle: the releases of high and mid, and what the threads did. Nothing unless the
/// cycle went as arranged.
fn look(high_at: u64, mid_at: u64, low: Part, mid: Part, high: Part) -> Option<Seen> {
    let whole = low.end > 0 && mid.end > 0 && high.end > 0;
    let arranged = low.begin < high_at && low.end > mid_at;
    (whole && arranged).then(|| Seen {
        wait: high.end.saturating_sub(high_at),
        inverted: mid.begin < high.end,
    })
}

/// Judges the cycles of a run.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    cycles: &'a Cycles,
    cases: Vec<Case>,
    policy: Policy,
    cpu: CpuId,
}

impl<'a> Judge<'a> {
    pub(super) fn new(cycles: &'a Cycles, cases: Vec<Case>, policy: Policy, cpu: CpuId) -> Self {
        Self {
            cycles,
            cases,
            policy,
            cpu,
        }
    }

    /// Concludes from what low, mid and high did, in this order.
    pub(super) fn conclude(mut self, logs: &[Vec<Part>]) -> Found {
        let [low, mid, high] = logs else {
            return Found::default();
        };
        for (cycle, ((low, mid), high)) in (0..).zip(low.iter().zip(mid).zip(high)) {
            if [low, mid, high].iter().all(|part| part.end == 0) {
                // The run ended before, or all were half a cycle late.
                continue;
            }
            let begin = self.cycles.begin(cycle);
            let at = |work| (begin + self.cycles.offset(work)).get();
            let seen = look(at(Work::High), at(Work::Mid), *low, *mid, *high);
            let kind = usize::try_from(cycle % self.cycles.kinds()).unwrap_or(0);
            let Some(case) = self.cases.get_mut(kind) else {
                continue;
            };
            case.cycles += 1;
            if let Some(seen) = seen {
                case.arranged += 1;
                case.inverted += u64::from(seen.inverted);
                case.waits.push(seen.wait);
            }
        }
        for case in &mut self.cases {
            case.tally.record_slice(&case.waits);
        }
        self.found()
    }

    fn found(&self) -> Found {
        let mut found = Found::default();
        for (number, case) in (0..).zip(&self.cases) {
            let mut series = figures::series(&case.tally);
            series.thread = Some(number);
            series.context = Some(case.context());
            series.cpu = Some(self.cpu);
            series.policy = Some(self.policy.to_string());
            series.interval_ns = Some(self.cycles.interval.times(self.cycles.kinds()));
            series.lost = Some(0);
            found.series.push(series);
            let tag = format!("{number}/{}", case.context());
            found.store(tag, &case.tally);
        }
        found.total = figures::counts(&found.series);
        found.checks = sample_checks(&found.series);
        found.checks.push(self.arranged());
        for pair in self.cases.chunks_exact(2) {
            let [half, full] = pair else { continue };
            self.of_protocol(half, full, &mut found);
        }
        found
    }

    /// Too few cycles that went as arranged show nothing.
    fn arranged(&self) -> Check {
        let few: Vec<String> = self
            .cases
            .iter()
            .filter(|case| 2 * case.arranged < case.cycles || case.arranged == 0)
            .map(|case| format!("{} of {} of {}", case.arranged, case.cycles, case.context()))
            .collect();
        let (all, arranged) = self.cases.iter().fold((0, 0), |(all, arranged), case| {
            (all + case.cycles, arranged + case.arranged)
        });
        let few_of = match few.is_empty() {
            true => String::new(),
            false => format!("; too few: {}", few.join(", ")),
        };
        let detail = format!(
            "in {arranged} of {all} cycles `high` was released while the lock was held, and `mid` \
             before it was unlocked; the other cycles are in no figure{few_of}"
        );
        Check::of("arranged", few.is_empty(), detail)
    }

    fn of_protocol(&self, half: &Case, full: &Case, found: &mut Found) {
        let name = half.protocol.name();
        let arranged = half.arranged + full.arranged;
        let inverted = half.inverted + full.inverted;
        #[expect(clippy::cast_precision_loss, reason = "counts")]
        let share = Figure {
            count: arranged,
            value: (arranged > 0).then(|| inverted as f64 / arranged as f64),
            interval: share_interval(inverted, arranged, None),
            ..Figure::single("inverted", "1", Better::Lower, 0.0)
        };
        found.figures.push(share.at("protocol", name));
        let growth = self.growth(half, full).at("protocol", name);
        let grows = growth.interval.map(|interval| interval.low > 0.5);
        let value = growth.value;
        found.figures.push(growth);
        let medians = [half, full].map(|case| {
            let median = case.tally.histogram().quantile(0.5);
            median.map_or_else(|| "nothing".to_owned(), |ns| micros(ns).to_string())
        });
        let waits = format!(
            "the urgent thread waited {} µs (median) with {} µs of medium-priority work, and {} µs \
             with {} µs",
            medians[0],
            micros(self.cycles.spin.get() / 2),
            medians[1],
            micros(self.cycles.spin.get())
        );
        let order =
            format!("the medium-priority thread ran first in {inverted} of {arranged} cycles");
        let growth = value.map_or_else(String::new, |value| {
            // No minus sign before what rounds to zero.
            let value = (value * 100.0).round() / 100.0 + 0.0;
            format!(", {value:.2} µs longer for each µs of that work")
        });
        // Of what was not seen nothing is said; the check says that it was not.
        if arranged == 0 {
            return;
        }
        let id = match (inverted == 0, grows) {
            (true, _) => format!("bounded-{name}"),
            (false, Some(true)) => format!("unbounded-{name}"),
            (false, _) => format!("inversion-{name}"),
        };
        found
            .findings
            .push(Finding::observed(&id, format!("{order}; {waits}{growth}")));
    }

    /// How much longer high waits for each ns that mid works longer: the median over pairs of
    /// neighbouring cycles.
    fn growth(&self, half: &Case, full: &Case) -> Figure {
        #[expect(clippy::cast_precision_loss, reason = "exact below 104 days")]
        let mut growth: Vec<f64> = half
            .waits
            .iter()
            .zip(&full.waits)
            .map(|(half, full)| {
                let more = full.cast_signed() - half.cast_signed();
                more as f64 / (self.cycles.spin.get() / 2) as f64
            })
            .collect();
        median_figure("wait_per_work_between", "1", Better::Lower, &mut growth)
    }
}

/// Rounds to whole microseconds.
const fn micros(ns: u64) -> u64 {
    (ns + 500) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Nanos;
    use std::sync::Arc;
    use std::sync::atomic::AtomicU64;

    fn part(begin: u64, end: u64) -> Part {
        Part { begin, end }
    }

    #[test]
    fn the_order_of_events_shows_an_inversion() {
        let (low, high_at, mid_at) = (part(10, 900), 250, 500);
        // Mid ran before high had the lock.
        let seen = look(high_at, mid_at, low, part(501, 800), part(251, 901)).unwrap();
        assert!(seen.inverted);
        assert_eq!(seen.wait, 651);
        // High first.
        let seen = look(high_at, mid_at, low, part(905, 1_200), part(251, 901)).unwrap();
        assert!(!seen.inverted);
    }

    #[test]
    fn cycles_that_did_not_go_as_arranged_say_nothing() {
        let (mid, high) = (part(501, 800), part(251, 901));
        // Low had the lock only after high was released, or let it go before mid was.
        assert_eq!(look(250, 500, part(260, 900), mid, high), None);
        assert_eq!(look(250, 500, part(10, 499), mid, high), None);
        // One of them did nothing.
        assert_eq!(look(250, 500, part(10, 900), Part::default(), high), None);
    }

    fn cycles() -> Cycles {
        let mutex = || {
            let made = punctual_sys::mutex::ProtocolMutex::new(punctual_sys::mutex::Protocol::None);
            Arc::new(made.unwrap())
        };
        Cycles {
            interval: Nanos::from_millis(100),
            hold: Nanos::from_millis(2),
            spin: Nanos::from_millis(20),
            count: 40,
            origin: Arc::new(AtomicU64::new(1_000_000_000)),
            stop: Arc::default(),
            done: Arc::default(),
            locks: vec![mutex(), mutex()],
        }
    }

    /// Logs as an ideal machine would leave them, with and without priority inheritance.
    fn logs(cycles: &Cycles, inherit_works: bool) -> Vec<Vec<Part>> {
        let mut logs = vec![Vec::new(); 3];
        for cycle in 0..cycles.count {
            let begin = cycles.begin(cycle).get();
            let spin = if cycle % 2 == 1 {
                20_000_000
            } else {
                10_000_000
            };
            let inherits = cycle % 4 >= 2 && inherit_works;
            let at = |work| begin + cycles.offset(work).get();
            let (end, mid) = if inherits {
                let end = begin + 2_000_000;
                (end, part(end + 20_000, end + 20_000 + spin))
            } else {
                let mid = part(at(Work::Mid), at(Work::Mid) + spin);
                (mid.end + 1_000_000, mid)
            };
            logs[0].push(part(begin + 5_000, end));
            logs[1].push(mid);
            logs[2].push(part(at(Work::High), end + 3_000));
        }
        logs
    }

    fn judge(inherit_works: bool) -> Found {
        let cycles = cycles();
        let cases = [Protocol::None, Protocol::Inherit]
            .iter()
            .flat_map(|protocol| {
                [false, true].map(|full| Case::new(*protocol, full, &Keep::default()))
            })
            .collect();
        let judge = Judge::new(&cycles, cases, Policy::Fifo { priority: 80 }, 0);
        judge.conclude(&logs(&cycles, inherit_works))
    }

    #[test]
    fn without_a_protocol_the_wait_grows_with_the_work_in_between_and_with_one_it_does_not() {
        let found = judge(true);
        let ids: Vec<&str> = found.findings.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids, ["unbounded-none", "bounded-inherit"]);
        let growth: Vec<f64> = found
            .figures
            .iter()
            .filter(|f| f.name == "wait_per_work_between")
            .map(|f| f.value.unwrap())
            .collect();
        assert_eq!(growth, [1.0, 0.0]);
        assert!(found.checks.iter().all(Check::passed), "{:?}", found.checks);
        let counts: Vec<u64> = found.series.iter().map(|s| s.count).collect();
        assert_eq!(counts, [10; 4]);
    }

    #[test]
    fn inheritance_that_does_not_work_is_found() {
        let found = judge(false);
        assert!(found.findings.iter().any(|f| f.id == "unbounded-inherit"));
    }
}
