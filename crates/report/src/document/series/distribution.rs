// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How latencies are distributed, as a chart: a series for each run, and one for each of its threads.

use punctual_model::Series;
use punctual_stats::ThreadHistogram;

use super::super::named::counted;
use super::super::parts::Ids;
use super::super::runs::Named;
use super::{FINE, micros_of, one, thread, whole};
use crate::chart::{Distribution, Look, distribution};
use crate::number::{quantity_of, span};

/// Draws the latencies of the samples of runs.
pub(super) fn distribution(ids: &mut Ids, runs: &[Named<'_>]) -> Option<Distribution> {
    let many: usize = runs.iter().map(|r| r.item.parts.len() + 1).sum();
    let bins_a_decade = if many > FINE { 40 } else { 100 };
    let mut series = Vec::new();
    for run in runs {
        let item = run.item;
        let Some(all) = whole(item, None) else {
            continue;
        };
        if all.count() == 0 {
            continue;
        }
        let threads: Vec<&ThreadHistogram> =
            item.parts.iter().filter(|p| p.thread.is_some()).collect();
        let name = match threads.as_slice() {
            [only] => thread(of(run, only), only.thread),
            _ => "all threads".to_owned(),
        };
        let look = run.look.unwrap_or_default();
        series.push(one(
            run,
            name,
            true,
            (None, None),
            &all,
            bins_a_decade,
            look,
        ));
        if threads.len() > 1 {
            let parts = threads.iter().filter(|part| part.histogram.count() > 0);
            series.extend(parts.enumerate().map(|(number, part)| {
                let name = thread(of(run, part), part.thread);
                let look = match run.look {
                    Some(look) => look.part(number),
                    None => Look::of(number + 1),
                };
                one(
                    run,
                    name,
                    false,
                    (None, part.thread),
                    &part.histogram,
                    bins_a_decade,
                    look,
                )
            }));
        }
    }
    if series.is_empty() {
        return None;
    }
    let first = runs.first()?;
    let quantity = quantity_of(first.record());
    let samples: u64 = series.iter().filter(|s| s.whole).map(|s| s.count).sum();
    let marks = marks(runs);
    Some(Distribution {
        id: ids.make(&format!("{}-distribution", first.record().instrument)),
        title: quantity.clone(),
        note: format!(
            "{} of {}, kept in {bins_a_decade} bins per decade ({} % wide); the tables have the exact figures.{}{}{}",
            counted(samples, "sample"),
            counted(series.iter().filter(|s| s.whole).count() as u64, "run"),
            if bins_a_decade == 100 { "2.3" } else { "5.9" },
            match runs.iter().any(|run| run.record().origin.is_some()) {
                true => " Wider buckets of an import's source are drawn as wide as they are.",
                false => "",
            },
            beyond(runs),
            distribution::zeros(series.iter())
        ),
        quantity,
        unit: micros_of(runs),
        series,
        marks,
    })
}

/// Says how many samples have no place of their own: of them a source states the number only.
fn beyond(runs: &[Named<'_>]) -> String {
    let imported = runs.iter().filter(|run| run.record().origin.is_some());
    let beyond: u64 = imported
        .filter_map(|run| run.record().total.clamped)
        .fold(0, u64::saturating_add);
    match beyond {
        0 => String::new(),
        n => format!(
            " {} beyond the histogram of their source and drawn at the maximum of their thread.",
            match n {
                1 => "1 sample is".to_owned(),
                _ => format!("{} are", counted(n, "sample")),
            }
        ),
    }
}

/// The deadlines and thresholds of runs, in ns.
pub(in crate::document) fn marks(runs: &[Named<'_>]) -> Vec<(String, u64)> {
    let mut marks: Vec<(String, u64)> = Vec::new();
    for run in runs {
        let record = run.record();
        let series = record.series.iter().chain([&record.total]);
        for misses in series.flat_map(|s| &s.misses) {
            let mark = (
                format!("deadline {}", span(misses.deadline_ns)),
                misses.deadline_ns.get(),
            );
            if !marks.contains(&mark) && marks.len() < 6 {
                marks.push(mark);
            }
        }
        if let Some(hit) = &record.threshold {
            let mark = (
                format!("threshold {}", span(hit.threshold_ns)),
                hit.threshold_ns.get(),
            );
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
    }
    marks
}

fn of<'a>(run: &Named<'a>, part: &ThreadHistogram) -> Option<&'a Series> {
    run.record()
        .series
        .iter()
        .find(|s| s.thread == part.thread && s.context == part.context)
}
