// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Pictures of a watched thread: who made its cycles late, where the time of slow ones goes, and each of the longest
//! cycles as a timeline.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use punctual_model::watch::{CpuLane, ResponseStep, WatchedThread, WorstCycle};

use super::super::named::{capital, counted, micros};
use super::super::parts::Ids;
use super::{has_limit, phase_words};
use crate::chart::{Axis, Chart, Look, Mark, Point, Series, Shape, Validity};
use punctual_model::Ordered as _;

/// CPUs of a timeline; of more those are drawn that were busiest.
const CPUS: usize = 16;
/// Stretches of a timeline; of more the shortest are left out.
const STRETCHES: usize = 600;
/// Shares of the cycles at which a row of response times ends.
const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];

/// A thread of which pictures are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Of<'a> {
    pub(super) thread: &'a WatchedThread,
    /// The run in brackets, where there are several.
    pub(super) run: &'a str,
    /// Unit of the times.
    pub(super) unit: &'a str,
    pub(super) validity: Validity,
}

/// A phase, or who had a CPU: its name, and its look. What is no work has an outline only.
type Class = (&'static str, Look);

const fn filled(colour: usize) -> Look {
    Look { colour, dash: 0 }
}

const fn outlined(dash: usize) -> Look {
    Look { colour: 5, dash }
}

/// In the order of the legend: the phases in theirs, then what only a CPU can be.
const CLASSES: [Class; 8] = [
    ("timer late", filled(4)),
    ("runnable after its wait", filled(0)),
    ("running", filled(2)),
    ("another thread has the CPU", filled(1)),
    ("interrupt", filled(3)),
    ("waiting within the cycle", filled(5)),
    ("not accounted for, or not known", outlined(1)),
    ("idle", outlined(2)),
];

/// The class of a phase of the thread, or of who had a CPU.
fn class_of(word: &str) -> usize {
    match word {
        "timer" => 0,
        "wake-up" => 1,
        "running" | "watched" => 2,
        "preempted" | "task" => 3,
        "interrupted" | "interrupt" => 4,
        "blocked" => 5,
        "idle" => 7,
        _ => 6,
    }
}

fn look_of(word: &str) -> Look {
    CLASSES.get(class_of(word)).map_or(outlined(1), |c| c.1)
}

/// A stretch of a timeline.
#[derive(Debug)]
struct Stretch<'a> {
    row: usize,
    from_ns: i64,
    to_ns: i64,
    class: usize,
    who: &'a str,
}

impl Of<'_> {
    /// How many late cycles each culprit is in, and how many would have been in time without it.
    pub(super) fn culprits(self, ids: &mut Ids) -> Chart {
        let culprits = &self.thread.culprits;
        let names = culprits.iter().map(|c| c.what.clone()).collect();
        let bars = |name: &str, colour, ends: &dyn Fn(u64, u64) -> (u64, u64)| {
            let parts = culprits.iter().enumerate().map(|(row, culprit)| {
                let all = culprit.cycles.max(culprit.saved);
                let (from, to) = ends(culprit.saved, all);
                let bar = self.bar(row, (from as f64, to as f64), to - from);
                let mean = format!("{} {} a cycle", micros(culprit.mean_ns), self.unit);
                Point {
                    label: Some(mean),
                    ..bar
                }
            });
            let points: Vec<Point> = parts.filter(|bar| bar.x > 0.0).collect();
            let cycles: u64 = points.iter().filter_map(|bar| bar.count).max().unwrap_or(0);
            let counted = format!("up to {}", counted(cycles, "cycle"));
            self.series(name, counted, filled(colour), points)
        };
        let series = [
            bars("in time without it", 1, &|saved, _| (0, saved)),
            bars("late all the same", 0, &|saved, all| (saved, all)),
        ];
        let late = match has_limit(self.thread) {
            true => "late cycles",
            false => "slowest cycles",
        };
        Chart {
            id: ids.make(&format!("watch-culprits-{}", self.thread.name)),
            title: format!("Who made cycles of {} late{}", self.thread.name, self.run),
            note: format!(
                "{} {late} were looked into. A bar counts those in which one took more time than usual, and says the mean time \
                 that it took of a late cycle; several may have a hand in the same one.",
                self.thread.late.examined
            ),
            x: Axis::linear(capital(late)),
            y: Axis::names("", names),
            series: Series::with_points(series),
            marks: Vec::new(),
        }
    }

    /// Shares of the phases in cycles that took about as long as each other.
    pub(super) fn by_response(self, ids: &mut Ids) -> Option<Chart> {
        let thread = self.thread;
        let rows = rows(&thread.by_response);
        if rows.len() < 2 {
            return None;
        }
        let longest = thread.worst.first().map_or(u64::MAX, |w| w.response_ns);
        let names = rows.iter().map(|row| {
            let to = micros(row.to_ns.min(longest) as f64);
            format!("≤ {to} {}, {}", self.unit, counted(row.count, "cycle"))
        });
        let mut series = Vec::new();
        for (number, phase) in thread.phases.iter().enumerate() {
            let bars = rows.iter().enumerate().map(|(at, row)| {
                let whole: f64 = row.phases_ns.iter().sum();
                let before: f64 = row.phases_ns.iter().take(number).sum();
                let own = row.phases_ns.get(number).copied().unwrap_or(0.0);
                let percent = |ns: f64| if whole > 0.0 { 100.0 * ns / whole } else { 0.0 };
                let bar = self.bar(at, (percent(before), percent(before + own)), row.count);
                Point {
                    label: Some(format!("{} {}", micros(own), self.unit)),
                    ..bar
                }
            });
            let points: Vec<Point> = bars.filter(|bar| bar.x > 0.0).collect();
            let mean = format!("mean {} {}", micros(phase.mean_ns), self.unit);
            if !points.is_empty() {
                let look = look_of(&phase.phase);
                series.push(self.series(phase_words(&phase.phase), mean, look, points));
            }
        }
        Some(Chart {
            id: ids.make(&format!("watch-phases-{}", thread.name)),
            title: format!(
                "Where the time of slow cycles of {} goes{}",
                thread.name, self.run
            ),
            note: format!(
                "{} by how long they took, fastest first: each row is of those that took longer than the row above it. A bar \
                 says the mean time of the phase in them.",
                counted(thread.cycles, "cycle")
            ),
            x: Axis::linear("Share of the response time in %"),
            y: Axis::names("", names.collect()),
            series,
            marks: Vec::new(),
        })
    }

    /// What the thread went through in a cycle, and who had the CPUs meanwhile.
    pub(super) fn cycle(self, ids: &mut Ids, cycle: &WorstCycle) -> Chart {
        let lanes = lanes(cycle);
        let mut names = vec![self.thread.name.clone()];
        names.extend(lanes.iter().map(|lane| format!("CPU {}", lane.cpu)));
        let mut stretches: Vec<Stretch<'_>> = Vec::new();
        stretches.extend(cycle.pieces.iter().map(|piece| Stretch {
            row: 0,
            from_ns: piece.from_ns.cast_signed(),
            to_ns: piece.to_ns.cast_signed(),
            class: class_of(&piece.phase),
            who: &piece.cause,
        }));
        for (row, lane) in (1..).zip(&lanes) {
            stretches.extend(lane.stretches.iter().map(|stretch| Stretch {
                row,
                from_ns: stretch.from_ns,
                to_ns: stretch.to_ns,
                class: class_of(&stretch.kind),
                who: &stretch.who,
            }));
        }
        let mut missing: u64 = lanes.iter().map(|lane| lane.left_out).sum();
        missing += cycle.left_out;
        if stretches.len() > STRETCHES {
            stretches.order_by_key(|s| Reverse(s.to_ns - s.from_ns));
            missing += (stretches.len() - STRETCHES) as u64;
            stretches.truncate(STRETCHES);
            stretches.order_by_key(|s| (s.row, s.from_ns));
        }
        let mut classes: BTreeMap<usize, Vec<Point>> = BTreeMap::new();
        for stretch in &stretches {
            let ends = (stretch.from_ns as f64 / 1e3, stretch.to_ns as f64 / 1e3);
            let bar = Point {
                x: ends.0,
                y: stretch.row as f64,
                interval: Some(ends),
                count: None,
                label: Some(stretch.who.to_owned()),
            };
            classes.entry(stretch.class).or_default().push(bar);
        }
        let series = classes.into_iter().filter_map(|(class, points)| {
            let (name, look) = *CLASSES.get(class)?;
            let counted = counted(points.len() as u64, "part");
            Some(self.series(name, counted, look, points))
        });
        let mut note = format!(
            "{} {} from its release to its end. Above what the thread went through, below who had each CPU.",
            micros(cycle.response_ns as f64),
            self.unit
        );
        let hidden = [
            (missing, "part"),
            ((cycle.cpus.len() - lanes.len()) as u64, "less busy CPU"),
        ];
        let hidden = hidden.iter().filter(|(n, _)| *n > 0);
        let hidden: Vec<String> = hidden.map(|(n, of)| counted(*n, of)).collect();
        if !hidden.is_empty() {
            note = format!("{note} Not drawn: {}.", hidden.join(", "));
        }
        Chart {
            id: ids.make(&format!(
                "watch-cycle-{}-{}",
                cycle.number, self.thread.name
            )),
            title: format!(
                "Timeline of cycle {} of {}{}",
                cycle.number, self.thread.name, self.run
            ),
            note,
            x: Axis::linear(format!("Time since the release in {}", self.unit)),
            y: Axis::names("", names),
            series: series.collect(),
            marks: self.marks(cycle),
        }
    }

    fn marks(self, cycle: &WorstCycle) -> Vec<Mark> {
        let late = &self.thread.late;
        let end = cycle.response_ns as f64 / 1e3;
        let limit = late.limit_ns as f64 / 1e3;
        let mark = |name: &str, at: f64| Mark {
            name: name.to_owned(),
            at,
            upright: true,
        };
        let mut marks = vec![mark("release", 0.0), mark("end", end)];
        // One far beyond the cycle would leave no room for it.
        if has_limit(self.thread) && limit < 1.2 * end {
            marks.push(mark(&late.rule, limit));
        }
        marks
    }

    /// A bar whose length is its value.
    fn bar(self, row: usize, ends: (f64, f64), count: u64) -> Point {
        Point::at(ends.1 - ends.0, row as f64)
            .within(Some(ends))
            .of(count)
    }

    fn series(self, name: &str, counted: String, look: Look, points: Vec<Point>) -> Series {
        Series::new(name, counted, Shape::Bars, points, self.validity).looking(look)
    }
}

/// The CPUs that are drawn, in their order: those that the thread was on, and of the others the busiest.
fn lanes(cycle: &WorstCycle) -> Vec<&CpuLane> {
    let mut lanes: Vec<&CpuLane> = cycle.cpus.iter().collect();
    lanes.order_by_key(|lane| {
        let own = cycle.pieces.iter().any(|piece| piece.cpu == lane.cpu);
        let busy = lane.stretches.iter().filter(|s| s.kind != "idle");
        let busy: i64 = busy.map(|s| s.to_ns - s.from_ns).sum();
        Reverse((own, busy))
    });
    lanes.truncate(CPUS);
    lanes.order_by_key(|lane| lane.cpu);
    lanes
}

/// Joins steps of response times up to the next share of all cycles.
fn rows(steps: &[ResponseStep]) -> Vec<ResponseStep> {
    let total: u64 = steps.iter().map(|step| step.count).sum();
    let mut rows: Vec<ResponseStep> = Vec::new();
    let mut shares = SHARES.iter().peekable();
    let mut seen = 0;
    let mut is_full = true;
    for step in steps {
        match rows.last_mut().filter(|_| !is_full) {
            Some(row) => {
                let (old, new) = (row.count as f64, step.count as f64);
                for (mean, own) in row.phases_ns.iter_mut().zip(&step.phases_ns) {
                    *mean = (*mean * old + own * new) / (old + new);
                }
                row.to_ns = step.to_ns;
                row.count += step.count;
            }
            None => rows.push(step.clone()),
        }
        seen += step.count;
        is_full = false;
        while shares
            .next_if(|share| seen as f64 >= **share * total as f64)
            .is_some()
        {
            is_full = true;
        }
    }
    rows
}
