// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From blocks of samples and records to series, figures and checks.

use std::collections::BTreeMap;

use punctual_model::{Better, Check, Figure, Finding, Nanos, Progress, Series, SeriesProgress};
use punctual_stats::{Accumulator, Keep, LatencyHistogram};

use super::blocks::Cost;
use super::marks::Marks;
use super::pair::{Collector, Phases, Unpaired, Woken, pair};
use super::probe::Moment;
use crate::crew::Post;
use crate::figures;
use crate::frame::Found;
use crate::stream::sample_checks;

/// How far the phases together may be from the latency that the thread read.
const APART: u64 = 2_000;

/// Share of the wake-ups for which that must hold, and that must have phases at all.
const MOST: f64 = 0.99;

/// What a series is of, in the order in which they are shown. The last two are whole latencies.
const CONTEXTS: [&str; 7] = [
    "delivery", "handler", "irq-exit", "switch", "return", "wake-up", "untraced",
];
const WAKE_UP: usize = 5;
const UNTRACED: usize = 6;

/// What else is known of a run.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    /// Samples of each thread that found the ring full.
    pub(super) samples: Vec<u64>,
    /// Trace records of all CPUs.
    pub(super) records: u64,
    /// Trace records that were read.
    pub(super) read: u64,
    /// What the trace's clock showed compared with ours.
    pub(super) marks: Marks,
}

/// The figures of one thread.
#[derive(Debug)]
struct Thread {
    post: Post,
    tallies: [Accumulator; CONTEXTS.len()],
    /// Deadlines that passed while the thread was late, in blocks with and without tracing.
    overruns: [u64; 2],
    last: Option<u64>,
}

/// Keeps the figures of a run.
#[derive(Debug)]
pub(super) struct Judge {
    threads: Vec<Thread>,
    interval: Nanos,
    syscall_exit: bool,
    collector: Collector,
    cost: Cost,
    settled: u64,
    /// How late the latest of these was.
    latest_settled: Nanos,
    wake_ups: u64,
    unpaired: BTreeMap<Unpaired, u64>,
    in_handler: u64,
    remote: u64,
    backwards: u64,
    near: u64,
}

impl Judge {
    pub(super) fn new(posts: &[Post], interval: Nanos, syscall_exit: bool, keep: &Keep) -> Self {
        let thread = |post: &Post| Thread {
            post: post.clone(),
            tallies: std::array::from_fn(|_| Accumulator::new(keep)),
            overruns: [0; 2],
            last: None,
        };
        Self {
            threads: posts.iter().map(thread).collect(),
            interval,
            syscall_exit,
            collector: Collector::new(posts.len()),
            cost: Cost::default(),
            settled: 0,
            latest_settled: Nanos::ZERO,
            wake_ups: 0,
            unpaired: BTreeMap::new(),
            in_handler: 0,
            remote: 0,
            backwards: 0,
            near: 0,
        }
    }

    /// Counts samples that belong to no block; the latest of them was late by `latest`.
    pub(super) fn settled(&mut self, samples: u64, latest: Nanos) {
        self.settled += samples;
        self.latest_settled = self.latest_settled.max(latest);
    }

    /// Takes in a block without tracing. Half a block has no part in the cost.
    pub(super) fn untraced_block(&mut self, windows: &[Vec<(Woken, u32)>], whole: bool) {
        let latencies = self.latencies(windows, UNTRACED);
        self.add_cost(false, latencies, whole);
    }

    /// Takes in a block with tracing, which began at `from`.
    pub(super) fn traced_block(
        &mut self,
        from: Nanos,
        windows: &[Vec<(Woken, u32)>],
        moments: &mut [Moment],
        whole: bool,
    ) {
        let latencies = self.latencies(windows, WAKE_UP);
        let traced = self.collector.collect(moments);
        for ((thread, window), traced) in (0..).zip(windows).zip(&traced) {
            let samples: Vec<Woken> = window.iter().map(|(sample, _)| *sample).collect();
            let results = pair(&samples, traced, from.get(), self.syscall_exit);
            self.wake_ups += results.len() as u64;
            for reason in results.iter().filter_map(|r| r.as_ref().err()) {
                *self.unpaired.entry(*reason).or_default() += 1;
            }
            let phases: Vec<Phases> = results.iter().flatten().copied().collect();
            self.phases(thread, &phases);
            self.near += near(&samples, &results);
        }
        self.add_cost(true, latencies, whole);
    }

    fn add_cost(&mut self, traced: bool, latencies: Vec<Vec<u64>>, whole: bool) {
        if whole {
            self.cost.add(traced, &mut latencies.concat());
        }
    }

    /// Adds the whole latencies of a block and returns them by thread.
    fn latencies(&mut self, windows: &[Vec<(Woken, u32)>], context: usize) -> Vec<Vec<u64>> {
        let side = usize::from(context == UNTRACED);
        let by_thread = self
            .threads
            .iter_mut()
            .zip(windows)
            .map(|(thread, window)| {
                let latencies: Vec<u64> = window.iter().map(|(s, _)| s.woke - s.deadline).collect();
                thread.tallies[context].record_slice(&latencies);
                thread.overruns[side] += window.iter().map(|(_, n)| u64::from(*n)).sum::<u64>();
                thread.last = latencies.last().copied().or(thread.last);
                latencies
            });
        by_thread.collect()
    }

    fn phases(&mut self, thread: usize, phases: &[Phases]) {
        let tallies = &mut self.threads[thread].tallies;
        let mut add = |context: usize, of: &dyn Fn(&Phases) -> Option<u64>| {
            let values: Vec<u64> = phases.iter().filter_map(of).collect();
            tallies[context].record_slice(&values);
        };
        add(0, &|p| Some(p.delivery));
        add(1, &|p| Some(p.handler));
        add(2, &|p| p.irq_exit);
        add(3, &|p| p.switch);
        add(4, &|p| Some(p.back));
        for phases in phases {
            self.in_handler += u64::from(phases.in_handler);
            self.remote += u64::from(phases.remote);
            self.backwards += u64::from(phases.backwards);
        }
    }

    /// Returns the figures up to now, with the samples that each thread `lost`.
    pub(super) fn progress(&mut self, lost: &[u64]) -> Progress {
        let threads = self.threads.iter_mut().zip(lost);
        let series = (0..).zip(threads).map(|(number, (thread, lost))| {
            let tally = &mut thread.tallies[WAKE_UP];
            SeriesProgress {
                thread: number,
                cpu: thread.post.cpus.iter().next(),
                policy: thread.post.policy.to_string(),
                interval_ns: self.interval,
                last_ns: thread.last,
                overruns: Some(thread.overruns.iter().sum()),
                lost: Some(*lost),
                ..figures::progress(tally)
            }
        });
        Progress {
            series: series.collect(),
            ..Progress::default()
        }
    }

    /// Returns what was found, without what the threads and the frame know.
    pub(super) fn conclude(&self, lost: &Ledger) -> Found {
        let mut found = Found {
            figures: self.figures(lost),
            ..Found::default()
        };
        for ((number, thread), lost) in (0..).zip(&self.threads).zip(&lost.samples) {
            for (context, tally) in CONTEXTS.iter().zip(&thread.tallies) {
                if tally.moments().count() == 0 && !matches!(*context, "wake-up" | "untraced") {
                    // A phase that this kernel does not show, or that no wake-up had.
                    continue;
                }
                let series = self.series(number, thread, context, tally, *lost);
                found.series.push(series);
                found.store(format!("{number}/{context}"), tally);
            }
        }
        found.checks = self.checks(&found.series, lost);
        if self.threads.len() > 1 {
            let all = (0..CONTEXTS.len())
                .filter(|context| *context != WAKE_UP)
                .filter_map(|context| self.all(context));
            for (series, context, histogram) in all {
                found.series.push(series);
                found.histograms.push((format!("all/{context}"), histogram));
            }
        }
        let mut total = figures::total(&self.tallies(WAKE_UP));
        total.context = Some(CONTEXTS[WAKE_UP].to_owned());
        total.overruns = Some(self.threads.iter().map(|t| t.overruns[0]).sum());
        total.lost = Some(lost.samples.iter().sum());
        total.warm_up_samples = Some(self.settled);
        let untraced = figures::total(&self.tallies(UNTRACED)).max_ns;
        if total.max_ns.max(untraced) < Some(self.latest_settled.get()) {
            found.findings.push(Finding::observed(
                "between-blocks",
                format!(
                    "a wake-up that was due between two blocks was {} late, later than all in the figures",
                    self.latest_settled
                ),
            ));
        }
        found.total = total;
        found
    }

    fn tallies(&self, context: usize) -> Vec<&Accumulator> {
        self.threads.iter().map(|t| &t.tallies[context]).collect()
    }

    fn series(
        &self,
        number: u32,
        thread: &Thread,
        context: &str,
        tally: &Accumulator,
        lost: u64,
    ) -> Series {
        let mut series = figures::series(tally);
        series.thread = Some(number);
        series.context = Some(context.to_owned());
        series.cpu = thread.post.cpus.iter().next();
        series.policy = Some(thread.post.policy.to_string());
        series.interval_ns = Some(self.interval);
        series.overruns = match context {
            "wake-up" => Some(thread.overruns[0]),
            "untraced" => Some(thread.overruns[1]),
            // A part of a wake-up has no deadline that it could overrun.
            _ => None,
        };
        series.lost = Some(lost);
        series
    }

    /// Returns one context of all threads together, if there is anything.
    fn all(&self, context: usize) -> Option<(Series, &'static str, LatencyHistogram)> {
        let tallies = self.tallies(context);
        let mut series = figures::total(&tallies);
        if series.count == 0 {
            return None;
        }
        let name = CONTEXTS[context];
        series.context = Some(name.to_owned());
        if context == UNTRACED {
            series.overruns = Some(self.threads.iter().map(|t| t.overruns[1]).sum());
        }
        let mut histogram = LatencyHistogram::default();
        tallies.iter().for_each(|t| histogram.merge(t.histogram()));
        Some((series, name, histogram))
    }

    fn paired(&self) -> u64 {
        self.wake_ups - self.unpaired.values().sum::<u64>()
    }

    #[expect(clippy::cast_precision_loss, reason = "counts")]
    fn figures(&self, lost: &Ledger) -> Vec<Figure> {
        let mut figures = vec![self.cost.figure()];
        let count = |name: &str, better, n: u64, of: u64| Figure {
            count: of,
            ..Figure::single(name, "wake-ups", better, n as f64)
        };
        for (reason, n) in &self.unpaired {
            let figure = count("unpaired", Better::Lower, *n, self.wake_ups);
            figures.push(figure.at("reason", reason.reason()));
        }
        if self.unpaired.is_empty() {
            figures.push(count("unpaired", Better::Lower, 0, self.wake_ups));
        }
        let neither = Better::Neither;
        let paired = self.paired();
        figures.push(count(
            "expired_in_handler",
            neither,
            self.in_handler,
            paired,
        ));
        figures.push(count(
            "woken_from_another_cpu",
            neither,
            self.remote,
            paired,
        ));
        figures.push(Figure {
            count: lost.read + lost.records,
            ..Figure::single(
                "trace_records_lost",
                "records",
                Better::Lower,
                lost.records as f64,
            )
        });
        figures
    }

    fn checks(&self, series: &[Series], lost: &Ledger) -> Vec<Check> {
        let whole: Vec<Series> = series
            .iter()
            .filter(|s| matches!(s.context.as_deref(), Some("wake-up" | "untraced")))
            .cloned()
            .collect();
        let mut checks = sample_checks(&whole);
        let (paired, all) = (self.paired(), self.wake_ups);
        checks.push(Check::of(
            "trace-records",
            lost.records == 0,
            format!("{} trace records read, {} lost", lost.read, lost.records),
        ));
        let mut reasons: Vec<String> = Vec::new();
        for (reason, n) in &self.unpaired {
            reasons.push(format!("{n} with {}", reason.reason()));
        }
        let reasons = match reasons.is_empty() {
            true => String::new(),
            false => format!(": {}", reasons.join(", ")),
        };
        checks.push(Check::of(
            "paired",
            share(paired, all) >= MOST,
            format!(
                "{paired} of {all} wake-ups have all their trace records; at least {} % must{reasons}",
                100.0 * MOST
            ),
        ));
        checks.push(Check::of(
            "breakdown",
            share(self.near, paired) >= MOST,
            format!(
                "the phases add up to the latency that the thread measured, within {} µs, for {} \
                 of {paired} wake-ups ({:.2} %); at least {} % must; {} were read before the \
                 thread's return in the trace",
                APART / 1_000,
                self.near,
                100.0 * share(self.near, paired),
                100.0 * MOST,
                self.backwards
            ),
        ));
        checks.push(lost.marks.check());
        checks
    }
}

/// Counts the samples whose phases together are what the thread read.
fn near(samples: &[Woken], results: &[Result<Phases, Unpaired>]) -> u64 {
    let near = |(sample, result): &(&Woken, &Result<Phases, Unpaired>)| {
        let latency = sample.woke - sample.deadline;
        matches!(result, Ok(phases) if phases.sum().abs_diff(latency) <= APART)
    };
    samples.iter().zip(results).filter(near).count() as u64
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
fn share(part: u64, all: u64) -> f64 {
    if all == 0 {
        return 0.0;
    }
    part as f64 / all as f64
}
