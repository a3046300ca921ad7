// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The runs of a report: an overview, then what each instrument measured.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use punctual_model::{Check, CheckStatus, Instrument, RefusedRun, RunRecord};

use super::guest::VIRTUAL;
use super::named::{self, counted, micros, validity};
use super::parts::{
    Answer, Block, Document, Ids, KeyFigure, Reason, RunItem, Section, Table, Tone,
};
use super::series::bounded_quantile;
use super::{answer, deadline, events, results, series, several_kinds, task_runs, watched};
use crate::chart::{Look, Validity};

/// More runs have no answer each, and of their checks only those that did not pass are listed.
pub(super) const MANY: usize = 6;

/// A run and what it is called in the report.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named<'a> {
    pub(super) name: &'a str,
    pub(super) item: &'a RunItem,
    /// How it looks, where it is one of several: like those of its group.
    pub(super) look: Option<Look>,
    /// The group, where the runs have groups.
    pub(super) group: Option<&'a str>,
}

impl<'a> Named<'a> {
    pub(super) fn record(&self) -> &'a RunRecord {
        &self.item.record
    }

    pub(super) fn validity(&self) -> Validity {
        validity(self.record())
    }
}

/// Adds the runs. `asked`: something else in the report is the answer.
pub(super) fn add(document: &mut Document, ids: &mut Ids, runs: &[RunItem], asked: bool) {
    if runs.is_empty() {
        return;
    }
    let names = named::all(runs.iter().map(|run| &run.record));
    let groups = named::groups(runs);
    let mut known: Vec<&str> = Vec::new();
    let mut all: Vec<Named<'_>> = Vec::new();
    for (number, (name, item)) in names.iter().zip(runs).enumerate() {
        let group = groups.get(number).map(String::as_str);
        if let Some(group) = group.filter(|group| !known.contains(group)) {
            known.push(group);
        }
        let number = match group {
            Some(group) => known.iter().position(|own| *own == group),
            None => (runs.len() > 1).then_some(number),
        };
        all.push(Named {
            name,
            item,
            look: number.map(Look::of),
            group,
        });
    }
    match all.len() {
        _ if asked => {}
        n if n <= MANY => document
            .answers
            .extend(all.iter().map(|run| answer::run(run.record(), run.name))),
        _ => document.answers.push(together(&all)),
    }
    if all.len() > 1 {
        document.sections.push(Section {
            id: ids.make("runs"),
            title: "Runs".to_owned(),
            blocks: vec![Block::Table(overview(&all))],
        });
    }
    let mut instruments: Vec<&str> = Vec::new();
    for run in &all {
        if !instruments.contains(&run.record().instrument.as_str()) {
            instruments.push(&run.record().instrument);
        }
    }
    for instrument in instruments {
        let of: Vec<Named<'_>> = all
            .iter()
            .copied()
            .filter(|run| run.record().instrument == instrument)
            .collect();
        let mut blocks = Vec::new();
        let contexts = of
            .iter()
            .any(|run| run.record().series.iter().any(|s| s.context.is_some()));
        if instrument == "deadline" {
            blocks.extend(deadline::blocks(ids, &of));
        }
        blocks.extend(task_runs::blocks(ids, &of));
        blocks.extend(watched::blocks(ids, &of));
        blocks.extend(results::charts(ids, &of));
        if contexts {
            blocks.extend(several_kinds::blocks(ids, &of));
        } else {
            blocks.extend(series::blocks(ids, &of));
        }
        blocks.extend(series::misses(&of, false).map(Block::Table));
        blocks.extend(results::tables(&of));
        blocks.extend(findings(&of));
        blocks.extend(events::blocks(&of));
        blocks.extend(series::more(&of));
        document.sections.push(Section {
            id: ids.make(instrument),
            title: heading(instrument),
            blocks,
        });
    }
    document.sections.push(Section {
        id: ids.make("checks"),
        title: "Validity".to_owned(),
        blocks: checks(&all),
    });
}

/// Says that runs cannot be read, by the first: what they would show is missing.
pub(super) fn unreadable(runs: &[RefusedRun]) -> Option<String> {
    let first = runs.first()?;
    let runs = counted(runs.len() as u64, "run");
    Some(format!(
        "{runs} missing from this report: run {} {}",
        first.id, first.reason
    ))
}

fn heading(instrument: &str) -> String {
    match Instrument::of(instrument) {
        Some(of) => of.heading.to_owned(),
        None => format!("Instrument {instrument}"),
    }
}

/// Many runs in a sentence. They are not compared: nobody said which is against which.
fn together(all: &[Named<'_>]) -> Answer {
    let with = |wanted| all.iter().filter(|run| run.validity() == wanted).count();
    let (invalid, imported) = (with(Validity::Invalid), with(Validity::Imported));
    let in_virtual_time = all.iter().filter(|run| run.record().is_virtual()).count();
    let unit = series::micros_of(all);
    let samples: u64 = all.iter().map(|run| run.record().total.count).sum();
    let first = all.first().map(|run| run.record().instrument.as_str());
    // Latencies, gaps and response times have no common largest.
    let alike = all
        .iter()
        .all(|run| Some(run.record().instrument.as_str()) == first)
        // Nor have instruction counts and times.
        && [0, all.len()].contains(&in_virtual_time);
    let largest = all
        .iter()
        .filter(|_| alike)
        .filter_map(|run| Some((run.record().total.max_ns?, run.name)))
        .max();
    let p99s: Vec<u64> = all
        .iter()
        .filter(|_| alike)
        .filter_map(|run| bounded_quantile(&run.record().total, "p99"))
        .collect();
    let mut figures = vec![KeyFigure {
        name: "runs".to_owned(),
        value: all.len().to_string(),
        detail: counted(samples, "sample"),
    }];
    if let (Some(low), Some(high)) = (p99s.iter().min(), p99s.iter().max()) {
        figures.push(KeyFigure {
            name: "p99, lowest to highest run".to_owned(),
            value: format!("{} .. {} {unit}", micros(*low as f64), micros(*high as f64)),
            detail: format!(
                "{} with an interval of their own",
                counted(p99s.len() as u64, "run")
            ),
        });
    }
    let mut sentence = format!(
        "{} and {}",
        counted(all.len() as u64, "run"),
        counted(samples, "sample")
    );
    if let Some((max, name)) = largest {
        figures.push(KeyFigure {
            name: "max".to_owned(),
            value: format!("{} {unit}", micros(max as f64)),
            detail: format!("in {name}; the largest seen, no bound"),
        });
        sentence += &format!(
            "; the largest latency was {} {unit}, in {name}",
            micros(max as f64)
        );
    }
    sentence.push('.');
    let (tone, word) = match (invalid, imported) {
        (0, 0) if in_virtual_time > 0 => {
            (Tone::Doubtful, format!("{in_virtual_time} in virtual time"))
        }
        (0, 0) => (Tone::Plain, "all valid".to_owned()),
        (0, n) => (Tone::Doubtful, format!("{n} not checked")),
        (n, _) => (Tone::Bad, format!("{n} INVALID")),
    };
    let aside = "the runs are shown side by side; nothing here compares them".to_owned();
    let mut validity: Vec<Reason> = vec![aside.into()];
    if in_virtual_time > 0 {
        let runs = counted(in_virtual_time as u64, "run");
        validity.push(
            format!("{runs} in {VIRTUAL}, no latency of any hardware; they are marked everywhere")
                .into(),
        );
    }
    if invalid > 0 {
        validity.push(Reason::fault(
            "no claim can be based on the invalid ones; they are marked everywhere",
        ));
    }
    Answer {
        tone,
        word,
        sentence,
        figures,
        validity,
    }
}

fn overview(all: &[Named<'_>]) -> Table {
    let mut table = Table::of(
        format!(
            "Runs, figures of all threads together in {}",
            series::micros_of(all)
        ),
        "<Run|<Instrument|<Valid|<Host|<Kernel|<Started|Samples|p50|p99|p99.9|Max|Overruns|\
         Lost|Clamped",
    );
    let optional = |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |n| n.to_string());
    for run in all {
        let record = run.record();
        let total = &record.total;
        let quantile = |name: &str| {
            let value = match record.origin {
                Some(_) => total.quantiles_ns.get(name).copied().flatten(),
                None => bounded_quantile(total, name),
            };
            value.map_or_else(|| "-".to_owned(), |ns| micros(ns as f64))
        };
        let valid = run.validity().cell();
        let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
        table.rows.push(vec![
            run.name.to_owned(),
            record.instrument.clone(),
            valid,
            or_empty(&record.host.hostname),
            or_empty(&record.host.kernel_release),
            record
                .started
                .as_deref()
                .map_or_else(String::new, super::facts::seconds_of),
            total.count.to_string(),
            quantile("p50"),
            quantile("p99"),
            quantile("p99.9"),
            optional(total.max_ns)
                .replace('-', "")
                .parse::<f64>()
                .map_or_else(|_| "-".to_owned(), micros),
            optional(total.overruns),
            optional(total.lost),
            optional(total.clamped),
        ]);
    }
    table.notes.push(
        "-: too few samples for a figure with an interval, or not measured by this instrument"
            .to_owned(),
    );
    table.without_empty_columns()
}

fn findings(runs: &[Named<'_>]) -> Option<Block> {
    let mut items = Vec::new();
    for run in runs {
        for finding in &run.record().findings {
            let of = match runs.len() {
                1 => String::new(),
                _ => format!("{}: ", run.name),
            };
            items.push((
                finding.certainty.to_string(),
                format!("{of}{}: {}", finding.id, finding.detail),
            ));
        }
    }
    (!items.is_empty()).then_some(Block::items(items))
}

/// A check as an item.
pub(super) fn check(check: &Check) -> (String, String) {
    let status = match check.status {
        CheckStatus::Pass => "pass",
        CheckStatus::Fail => "fail",
        CheckStatus::Unknown => "unknown",
    };
    let said = format!("{}: {}", check.id, check.detail);
    (status.to_owned(), said)
}

fn checks(all: &[Named<'_>]) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut passed = 0_usize;
    for run in all {
        let record = run.record();
        let open = record.checks.iter().filter(|c| !c.passed());
        let mut items: Vec<(String, String)> = Vec::new();
        if all.len() <= MANY {
            items.extend(record.checks.iter().map(check));
        } else {
            items.extend(open.clone().map(check));
        }
        let failed = open.count();
        let title = match (run.validity(), failed) {
            (validity, _) if validity.is_valid() => {
                passed += 1;
                format!(
                    "{}: {} passed",
                    run.name,
                    counted(record.checks.len() as u64, "check")
                )
            }
            (other, n) => format!(
                "{}: {}, {n} of {} did not pass",
                run.name,
                other.mark(),
                counted(record.checks.len() as u64, "check")
            ),
        };
        if all.len() <= MANY || !run.validity().is_valid() {
            blocks.push(Block::Fold(title, vec![Block::items(items)]));
        }
    }
    if all.len() > MANY {
        let text = format!(
            "Every check passed in {passed} of {}.",
            counted(all.len() as u64, "run")
        );
        blocks.insert(0, Block::Text(text));
    }
    blocks
}
