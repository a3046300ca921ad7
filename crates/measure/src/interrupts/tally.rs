// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From times to series, figures and checks.

use std::collections::BTreeMap;

use punctual_model::{Better, Check, CpuSet, Figure, Gathered as _, Ordered as _, Series};
use punctual_stats::{Accumulator, Keep};

use super::choice::{Choice, Vector};
use super::pair::{Key, Pairing, Part, Span, Unpaired};
use crate::figures;
use crate::frame::Found;
use crate::noise::counters::{Deltas, Table, by_source};
use crate::trace::Lost;
use crate::watch::event::Event;
use crate::watch::who::{Names, SOFTIRQS};

/// Series of a run at most: each has a histogram in memory.
const MOST_SERIES: usize = 256;

/// Sources that a check names.
const NAMED: usize = 6;

/// A run is invalid if more than one in this many woken threads was not seen to run: those are not just any threads but ones whose CPU
/// was idle, and the times of the others mislead. On an idle machine whose kernel does not record switches out of idle, up to 12 % were
/// not seen.
const MOST_LOST: u64 = 4;

/// What else is known of a run.
#[derive(Debug)]
pub(super) struct Evidence {
    /// What the kernel counted while all was recorded.
    pub(super) at_least: Deltas,
    /// What it counted while anything was recorded.
    pub(super) at_most: Deltas,
    /// Trace records that the kernel could not take.
    pub(super) lost: Lost,
    /// Those that were read.
    pub(super) records: u64,
}

/// What an interrupt is called.
#[derive(Clone, Debug)]
struct Label {
    text: String,
    vector: Option<&'static Vector>,
}

/// Keeps the figures of a run.
#[derive(Debug)]
pub(super) struct Tally {
    pairing: Pairing,
    choice: Choice,
    cpus: CpuSet,
    keep: Keep,
    labels: BTreeMap<Key, Label>,
    kept: BTreeMap<(Key, Part), Accumulator>,
    /// Samples of series beyond those that are kept.
    beyond: u64,
}

impl Tally {
    pub(super) fn new(choice: Choice, cpus: CpuSet, infers: bool, keep: Keep) -> Self {
        Self {
            pairing: Pairing::new(cpus.clone(), infers),
            choice,
            cpus,
            keep,
            labels: BTreeMap::new(),
            kept: BTreeMap::new(),
            beyond: 0,
        }
    }

    /// Takes in events in the order of their times.
    pub(super) fn take(&mut self, events: &[Event], names: &Names) {
        for event in events {
            self.pairing.take(event);
        }
        for span in std::mem::take(&mut self.pairing.spans) {
            self.add(span, names);
        }
    }

    fn add(&mut self, span: Span, names: &Names) {
        let Span {
            key,
            part,
            ns,
            raised_by,
        } = span;
        let label = |key| Label::of(key, names);
        self.labels.entry(key).or_insert_with(|| label(key));
        if let Some(by) = raised_by {
            self.labels.entry(by).or_insert_with(|| label(by));
        }
        if !self.is_chosen(key) && !raised_by.is_some_and(|by| self.is_chosen(by)) {
            return;
        }
        if self.kept.len() >= MOST_SERIES && !self.kept.contains_key(&(key, part)) {
            self.beyond += 1;
            return;
        }
        let keep = &self.keep;
        let series = self.kept.entry((key, part));
        series
            .or_insert_with(|| Accumulator::new(keep))
            .record_slice(&[ns]);
    }

    fn is_chosen(&self, key: Key) -> bool {
        match key {
            Key::Irq { irq, .. } => self.choice.has_irq(irq),
            Key::Softirq(vec) => self.choice.has_softirq(vec),
            Key::Vector(_) => {
                let vector = self.labels.get(&key).and_then(|label| label.vector);
                match vector {
                    Some(vector) => self.choice.has_vector(vector),
                    None => self.choice.is_all(),
                }
            }
        }
    }

    /// Returns how often the end of a system call stood for a switch.
    pub(super) const fn inferred(&self) -> u64 {
        self.pairing.inferred
    }

    /// Says how far it is.
    pub(super) fn says(&self) -> String {
        let count = |part| {
            let of = self.kept.iter().filter(|((_, of), _)| *of == part);
            of.map(|(_, kept)| kept.count()).sum::<u64>()
        };
        format!(
            "{} interrupts, {} soft interrupts",
            count(Part::Handler),
            count(Part::Run)
        )
    }

    /// Returns what was found.
    pub(super) fn found(&mut self, evidence: &Evidence) -> Found {
        self.pairing.end();
        let mut found = Found::default();
        let names = self.names();
        for key in self.order() {
            let of_key = self.kept.range((key, Part::Handler)..=(key, Part::Thread));
            for ((_, part), kept) in of_key {
                let context = format!(
                    "{}/{}",
                    names.get(&key).map_or("?", String::as_str),
                    part.name()
                );
                found
                    .series
                    .push(self.series(context.clone(), kept, evidence));
                found.store(format!("all/{context}"), kept);
            }
        }
        found.total = total(&found.series);
        found.figures = self.figures(&names, evidence);
        found.checks = self.checks(&found.series, evidence);
        found
    }

    /// Returns the interrupts: those of devices and the processor, then soft ones, the most frequent first.
    fn order(&self) -> Vec<Key> {
        let mut keys: Vec<Key> = self.kept.keys().map(|(key, _)| *key).collect();
        keys.dedup();
        keys.order_by_key(|key| {
            let entries = self.pairing.entries.get(key).copied().unwrap_or(0);
            (
                matches!(key, Key::Softirq(_)),
                std::cmp::Reverse(entries),
                *key,
            )
        });
        keys
    }

    /// Names the interrupts, with the number where several lines have handlers of one name.
    fn names(&self) -> BTreeMap<Key, String> {
        let mut known: BTreeMap<&str, u32> = BTreeMap::new();
        for label in self.labels.values() {
            *known.entry(&label.text).or_default() += 1;
        }
        let name = |(key, label): (&Key, &Label)| {
            let several = known.get(label.text.as_str()).is_some_and(|n| *n > 1);
            let name = match key {
                Key::Irq { irq, .. } if several => format!("{}#{irq}", label.text),
                _ => label.text.clone(),
            };
            (*key, name)
        };
        self.labels.iter().map(name).into_map()
    }

    fn series(&self, context: String, kept: &Accumulator, evidence: &Evidence) -> Series {
        Series {
            context: Some(context),
            cpu: match self.cpus.len() {
                1 => self.cpus.iter().next(),
                _ => None,
            },
            // The number of samples in records that the kernel lost is unknown.
            lost: (evidence.lost.records == 0).then_some(0),
            clamped: Some(kept.histogram().clamped()),
            warm_up_samples: Some(0),
            ..figures::series(kept)
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn figures(&self, names: &BTreeMap<Key, String>, evidence: &Evidence) -> Vec<Figure> {
        let mut figures = Vec::new();
        for key in self.order().into_iter().filter(|key| self.is_chosen(*key)) {
            let (name, unit) = match key {
                Key::Softirq(_) => ("softirqs_of", "softirqs"),
                Key::Irq { .. } | Key::Vector(_) => ("interrupts_of", "interrupts"),
            };
            let entries = self.pairing.entries.get(&key).copied().unwrap_or(0) as f64;
            let figure = Figure::single(name, unit, Better::Neither, entries);
            figures.push(figure.at("source", names.get(&key).map_or("?", String::as_str)));
        }
        for (why, count) in &self.pairing.unpaired {
            let figure = Figure::single("unpaired", "events", Better::Lower, *count as f64);
            figures.push(figure.at("reason", why.reason()));
        }
        let inferred = self.pairing.inferred as f64;
        figures.push(Figure::single(
            "inferred_switches",
            "switches",
            Better::Neither,
            inferred,
        ));
        figures.push(Figure {
            count: evidence.records + evidence.lost.records,
            ..Figure::single(
                "trace_records_lost",
                "records",
                Better::Lower,
                evidence.lost.records as f64,
            )
        });
        figures
    }

    fn checks(&self, series: &[Series], evidence: &Evidence) -> Vec<Check> {
        let samples: u64 = series.iter().map(|series| series.count).sum();
        let says = match samples {
            0 => "none of these interrupts came: a load can make them come, such as `--load io` or `--load ping`".to_owned(),
            _ => format!("{samples} samples, series: {}", series.len()),
        };
        let lost = evidence.lost;
        let mut checks = vec![
            Check::of("samples", samples > 0, says),
            Check::of(
                "lost-events",
                lost.records == 0,
                lost.says(evidence.records),
            ),
            self.counted(evidence),
            self.woken(),
        ];
        if self.beyond > 0 {
            checks.push(Check::of(
                "series",
                false,
                format!(
                    "{} samples are of none of the first {MOST_SERIES} series: name some interrupts with --irq",
                    self.beyond
                ),
            ));
        }
        checks
    }

    fn woken(&self) -> Check {
        let lost = self.pairing.unpaired.get(&Unpaired::NoRun);
        let lost = lost.copied().unwrap_or_default();
        all_ran(lost, self.pairing.ran, self.cpus.len() as u64)
    }

    /// Compares what was traced with what the kernel counted: no less than while all was recorded, no more than while anything was.
    fn counted(&self, evidence: &Evidence) -> Check {
        let mut compared = Vec::new();
        let entries = |of: &dyn Fn(&Key) -> bool| -> u64 {
            self.pairing
                .entries
                .iter()
                .filter(|(key, _)| of(key))
                .map(|(_, n)| n)
                .sum()
        };
        for line in self.choice.chosen() {
            let traced = entries(&|key| match key {
                Key::Irq { irq, .. } => line.number() == Some(*irq),
                Key::Vector(_) => {
                    let label = self.labels.get(key).and_then(|label| label.vector);
                    label.is_some_and(|vector| vector.line == line.id)
                }
                Key::Softirq(_) => false,
            });
            let handlers = line.handlers().count().max(1) as u64;
            let count = |table| counted(table, |source| source.split(' ').next() == Some(&line.id));
            let (least, most) = (
                count(&evidence.at_least.interrupts),
                count(&evidence.at_most.interrupts),
            );
            compared.push((line.to_string(), traced, least, most * handlers));
        }
        for (vec, name) in (0..)
            .zip(SOFTIRQS)
            .filter(|(vec, _)| self.choice.has_softirq(*vec))
        {
            let traced = entries(&|key| *key == Key::Softirq(vec));
            let count = |table| counted(table, |source| source == name);
            let (least, most) = (
                count(&evidence.at_least.softirqs),
                count(&evidence.at_most.softirqs),
            );
            compared.push((name.to_owned(), traced, least, most));
        }
        judge(compared, self.cpus.len() as u64)
    }
}

/// Judges how many of the woken threads were not seen to run. On each CPU one may be about to when the run ends.
fn all_ran(lost: u64, ran: u64, cpus: u64) -> Check {
    let woken = lost + ran;
    let passes = lost <= (woken / MOST_LOST).max(cpus);
    let says = format!("{lost} of {woken} woken threads were not seen to run");
    let says = match passes {
        true => says,
        false => format!("{says}: the times of the kind `thread` are of the others alone"),
    };
    Check::of("woken-threads", passes, says)
}

/// Judges counts: name, traced, counted at least, counted at most. An interrupt that is handled on each CPU while a count is
/// read is in one of the two and not yet in the other.
fn judge(mut compared: Vec<(String, u64, u64, u64)>, cpus: u64) -> Check {
    compared.retain(|(_, traced, _, most)| *traced > 0 || *most > 0);
    let fits = |&(_, traced, least, most): &(String, u64, u64, u64)| {
        (least.saturating_sub(cpus)..=most + cpus).contains(&traced)
    };
    let all = compared.len();
    let wrong: Vec<_> = compared.iter().filter(|one| !fits(one)).cloned().collect();
    let passes = wrong.is_empty();
    let shown = if passes {
        &mut compared
    } else {
        &mut wrong.clone()
    };
    shown.order_by_key(|(_, traced, ..)| std::cmp::Reverse(*traced));
    let said: Vec<String> = shown
        .iter()
        .take(NAMED)
        .map(|(name, traced, least, most)| match least == most {
            true => format!("{name}: {traced} traced, {least} counted"),
            false => format!("{name}: {traced} traced, {least} to {most} counted"),
        })
        .collect();
    let more = if shown.len() > NAMED { ", ..." } else { "" };
    let says = format!(
        "{} of {all} counts agree with /proc/interrupts and /proc/softirqs",
        all - wrong.len()
    );
    let says = if said.is_empty() {
        says
    } else {
        format!("{says}: {}{more}", said.join(", "))
    };
    Check::of("counted", passes, says)
}

fn counted(table: &Table, is: impl Fn(&str) -> bool) -> u64 {
    by_source(table)
        .into_iter()
        .filter(|(source, _)| is(source))
        .map(|(_, count)| count)
        .sum()
}

/// Returns the series that the run is about, where that is one; else the number of all interrupts alone.
fn total(series: &[Series]) -> Series {
    let of = |name: &str| -> Vec<Series> {
        let is = |s: &&Series| {
            s.context
                .as_deref()
                .is_some_and(|c| c.rsplit_once('/').is_some_and(|(_, part)| part == name))
        };
        series.iter().filter(is).cloned().collect()
    };
    let hard = of(Part::Handler.name());
    let main = if hard.is_empty() {
        of(Part::Run.name())
    } else {
        hard
    };
    match main.as_slice() {
        [one] => one.clone(),
        several => figures::counts(several),
    }
}

impl Part {
    /// Returns its name in series.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Handler => "handler",
            Self::Delay => "delay",
            Self::Run => "run",
            Self::Waking => "waking",
            Self::Thread => "thread",
        }
    }
}

impl Label {
    fn of(key: Key, names: &Names) -> Self {
        let (text, vector) = match key {
            Key::Irq { name, .. } => (names.text(name), None),
            Key::Vector(name) => {
                let vector = Vector::by_words(names.text(name));
                (
                    vector.map_or_else(|| names.text(name), |vector| vector.name),
                    vector,
                )
            }
            Key::Softirq(vec) => (SOFTIRQS.get(usize::from(vec)).copied().unwrap_or("?"), None),
        };
        // A name of a series has no mark that divides names of series.
        let plain = |c: char| match c {
            ' ' | ',' | '/' | '[' | ']' | '=' => '-',
            c => c,
        };
        let text = text.chars().map(plain).collect();
        Self { text, vector }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_agree_where_they_lie_between_those_of_the_kernel() {
        let of = |traced| {
            let disk = ("36 virtio1-req.0".to_owned(), traced, 98, 102);
            judge(vec![disk, ("29 silent".to_owned(), 0, 0, 0)], 2)
        };
        for traced in [96, 98, 104] {
            let check = of(traced);
            assert!(check.passed(), "{}", check.detail);
            assert!(
                check.detail.starts_with("1 of 1 counts agree"),
                "{}",
                check.detail
            );
        }
        for traced in [0, 95, 105] {
            let check = of(traced);
            assert!(!check.passed(), "{}", check.detail);
            let expected = format!("36 virtio1-req.0: {traced} traced, 98 to 102 counted");
            assert!(check.detail.contains(&expected), "{}", check.detail);
        }
    }

    #[test]
    fn many_woken_threads_that_were_not_seen_to_run_make_a_run_invalid() {
        for (lost, ran) in [(0, 0), (2, 0), (8, 41_135), (1, 9)] {
            assert!(all_ran(lost, ran, 2).passed(), "{lost} {ran}");
        }
        assert!(!all_ran(3, 0, 2).passed());
        let check = all_ran(14_598, 26_545, 2);
        assert!(!check.passed());
        let expected = "14598 of 41143 woken threads were not seen to run: ";
        assert!(check.detail.starts_with(expected), "{}", check.detail);
    }

    #[test]
    fn the_total_is_the_handler_where_there_is_one() {
        let series = |context: &str, count| Series {
            context: Some(context.to_owned()),
            count,
            ..Series::default()
        };
        let one = [series("virtio1-req.0/handler", 5), series("BLOCK/run", 4)];
        assert_eq!(total(&one), one[0]);
        assert_eq!(total(&one[1..]), one[1]);
        let several = [
            series("a/handler", 5),
            series("b/handler", 4),
            series("b/thread", 9),
        ];
        let total = total(&several);
        assert_eq!((total.count, total.context), (9, None));
    }
}
