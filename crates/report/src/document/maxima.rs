// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The largest samples over time: a level for each stretch of a run, from where it began to where it ended.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use std::collections::BTreeMap;

use punctual_model::{Nanos, RunRecord};

use super::parts::{Block, Ids, Maxima, Stretch};
use super::runs::Named;
use super::series::{FINE, micros_of, thread};
use crate::chart::scale::counted_stretches;
use crate::chart::{self, Axis, Chart, Drawing, Mark, Point, Shape};
use crate::number::{quantity_of, span};

/// Stretches of one series that are drawn; neighbours keep the largest.
pub const MOMENTS: usize = 240;
/// The same where there are many series.
const FEW_MOMENTS: usize = 60;
/// With more threads than this they are drawn together at first.
const THREADS: usize = 8;

/// Returns the largest samples of all threads of a run, where they have a largest in common.
fn together(record: &RunRecord, maxima: &[Maxima]) -> Option<Maxima> {
    // Of different kinds of latencies there is none.
    let largest = record.total.max_ns?;
    let mut all: BTreeMap<(Nanos, Nanos), u64> = BTreeMap::new();
    for stretch in maxima.iter().flat_map(|m| &m.stretches) {
        let max_ns = all.entry((stretch.from, stretch.until)).or_default();
        *max_ns = (*max_ns).max(stretch.max_ns);
    }
    let mut stretches: Vec<Stretch> = all
        .into_iter()
        .map(|((from, until), max_ns)| Stretch {
            from,
            until,
            max_ns,
        })
        .collect();
    // Where one thread is not known to the end, what others had after it is no largest of all.
    let cut = maxima.iter().filter_map(|m| m.cut).min();
    if let Some(cut) = cut {
        stretches.retain(|s| s.until <= cut || s.max_ns == largest);
    }
    let ends_early = |cut: &Nanos| stretches.iter().all(|s| s.until <= *cut);
    let cut = cut.filter(ends_early);
    Some(Maxima {
        thread: None,
        stretches,
        cut,
    })
}

/// The chart of `runs`: a line a thread of one run, a line a run of several.
pub(super) fn block(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Block> {
    let drawn: Vec<(&Named<'_>, Maxima, bool)> = runs
        .iter()
        .flat_map(|run| lines(run, runs.len() > 1))
        .collect();
    let drawn: Vec<_> = drawn
        .into_iter()
        .filter(|(_, m, _)| !m.stretches.is_empty())
        .collect();
    let first = runs.first()?.record();
    let most = if drawn.len() > FINE {
        FEW_MOMENTS
    } else {
        MOMENTS
    };
    let mut series = Vec::new();
    let mut lengths = Vec::new();
    for (run, maxima, shown) in &drawn {
        let stretches = reduced(&maxima.stretches, most);
        let mut own: Vec<Nanos> = stretches.iter().map(|s| s.until - s.from).collect();
        own.sort_unstable();
        lengths.extend(own.get(own.len() / 2));
        series.push(chart::Series {
            name: name(run, maxima),
            run: Some(run.name.to_owned()),
            counted: counted_stretches(stretches.len()),
            shape: Shape::Step,
            points: points(&stretches),
            validity: run.validity(),
            shown: *shown,
            look: run.look,
        });
    }
    if series.is_empty() {
        return None;
    }
    let marks = runs.iter().filter_map(|run| {
        let hit = run.record().threshold.as_ref()?;
        Some(Mark {
            name: format!("threshold passed, {}", run.name),
            at: hit.sample.t_ns as f64 / 1e9,
            upright: true,
        })
    });
    let quantity = quantity_of(first).to_lowercase();
    let values = series.iter().flat_map(|s| &s.points).map(|p| p.y);
    let y = Axis::fitting(format!("Largest {quantity} in {}", micros_of(runs)), values);
    let chart = Chart {
        id: ids.make(&format!("{}-maxima", first.instrument)),
        title: format!("Largest {quantity} over time"),
        note: note(&lengths, runs, &drawn),
        x: Axis::linear("Time since the start in s"),
        y,
        series,
        marks: marks.collect(),
    };
    Some(Block::Drawing(Box::new(Drawing::Chart(chart)), None))
}

/// What is drawn of a run, and whether it is before anybody chose.
fn lines<'a, 'b>(run: &'b Named<'a>, several: bool) -> Vec<(&'b Named<'a>, Maxima, bool)> {
    let threads = &run.item.maxima;
    let all = match threads.len() {
        0 | 1 => None,
        _ => together(run.record(), threads),
    };
    match (several, all) {
        (true, Some(all)) => vec![(run, all, true)],
        (false, Some(all)) => {
            let few = threads.len() <= THREADS;
            let threads = threads.iter().map(|m| (run, m.clone(), few));
            std::iter::once((run, all, !few)).chain(threads).collect()
        }
        (_, None) => threads.iter().map(|m| (run, m.clone(), true)).collect(),
    }
}

fn name(run: &Named<'_>, maxima: &Maxima) -> String {
    let of = || {
        run.record()
            .series
            .iter()
            .filter(|s| s.thread == maxima.thread)
    };
    let part = match of().count() {
        // A thread that waits in one way only is called by it.
        1 => of().next().and_then(|s| s.context.clone()),
        _ => None,
    };
    let part = part.unwrap_or_else(|| thread(of().next(), maxima.thread));
    format!("{}, {part}", run.name)
}

/// Puts neighbours together, about as many as leave `most`. Those with a gap between them, in which no thread woke up, stay apart; where
/// there are many gaps, those with one of the longest.
fn reduced(stretches: &[Stretch], most: usize) -> Vec<Stretch> {
    let each = stretches.len().div_ceil(most).max(1);
    let gap = |one: &Stretch, next: &Stretch| next.from.since(one.until);
    let pairs = stretches.iter().zip(stretches.iter().skip(1));
    let mut gaps: Vec<Nanos> = pairs.map(|(one, next)| gap(one, next)).collect();
    gaps.sort_unstable_by(|a, b| b.cmp(a));
    let bridged = gaps.get(most / 2).copied().unwrap_or(Nanos::ZERO);
    let follows = |one: &Stretch, next: &Stretch| each == 1 || gap(one, next) <= bridged;
    let together = stretches.chunk_by(follows).flat_map(|run| run.chunks(each));
    together
        .filter_map(|some| {
            Some(Stretch {
                from: some.first()?.from,
                until: some.last()?.until,
                max_ns: some.iter().map(|s| s.max_ns).max()?,
            })
        })
        .collect()
}

/// A level from the begin of each stretch to its end. Where no stretch follows at once the line ends.
fn points(stretches: &[Stretch]) -> Vec<Point> {
    let seconds = |at: Nanos| at.get() as f64 / 1e9;
    let mut points = Vec::with_capacity(stretches.len() + 1);
    for (number, stretch) in stretches.iter().enumerate() {
        points.push(Point::at(
            seconds(stretch.from),
            stretch.max_ns as f64 / 1e3,
        ));
        let next = stretches.get(number + 1);
        if next.is_none_or(|next| next.from > stretch.until) {
            points.push(Point::end(seconds(stretch.until)));
        }
    }
    points
}

fn note(lengths: &[Nanos], runs: &[Named<'_>], drawn: &[(&Named<'_>, Maxima, bool)]) -> String {
    let (least, most) = (lengths.iter().min(), lengths.iter().max());
    let (least, most) = (least.map(|l| about(*l)), most.map(|l| about(*l)));
    let length = match (least.unwrap_or_default(), most.unwrap_or_default()) {
        (least, most) if least == most => most,
        (least, most) => format!("{least} to {most}"),
    };
    let of = match runs.len() {
        1 => "",
        _ => " of all threads",
    };
    let mut note = format!(
        "Each step is the largest sample{of} in about {length}, drawn from when it began to when it ended."
    );
    // An interrupt's phases are judged together with the trace of their block.
    let block = runs
        .iter()
        .filter(|run| run.record().instrument == "irq")
        .find_map(|run| run.record().setup.as_ref()?.options.get("block"));
    if let Some(block) = block {
        note += &format!(" A sample counts when its block ends, up to {block} after it was taken.");
    }
    let cut: Vec<&str> = drawn
        .iter()
        .filter(|(_, maxima, _)| maxima.cut.is_some())
        .map(|(run, ..)| run.name)
        .collect();
    if let Some(first) = cut.first() {
        let more = match runs.len() {
            1 => String::new(),
            _ => format!(" of {first}"),
        };
        note += &format!(
            " The end{more} is not drawn: this run did not store it. It holds no larger sample."
        );
    }
    note
}

/// Writes a time with two digits: `1 s`, `42 ms`.
fn about(time: Nanos) -> String {
    let ns = time.get();
    let step = 10_u64.pow(ns.max(1).ilog10().saturating_sub(1));
    span(Nanos::new((ns + step / 2) / step * step))
}
