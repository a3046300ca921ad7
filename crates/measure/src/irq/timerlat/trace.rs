// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the tracer wrote, and the figures of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::time::{Duration, Instant};

use punctual_model::{
    Better, Check, CpuId, CpuSet, Figure, Finding, Nanos, Progress, Series, SeriesProgress,
};
use punctual_stats::{Accumulator, Keep, LatencyHistogram};

use super::Policies;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame};
use crate::stream::sample_checks;

/// Time between two looks at the trace.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The same while a last wake-up is waited for.
const WAIT_EVERY: Duration = Duration::from_millis(1);

/// Where in a wake-up a latency was taken. The order is that of the table.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Context {
    Irq,
    Thread,
    User,
}

impl Context {
    const ALL: [Self; 3] = [Self::Irq, Self::Thread, Self::User];

    const fn name(self) -> &'static str {
        match self {
            Self::Irq => "irq",
            Self::Thread => "thread",
            Self::User => "user",
        }
    }
}

/// A line of the trace.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Line {
    Latency {
        cpu: CpuId,
        context: Context,
        ns: u64,
    },
    /// Lines that were overwritten before they were read.
    Lost(u64),
    /// A heading, a message, an event that somebody else's option switched on.
    Other,
    /// A line of the tracer that is not understood.
    Unknown,
}

impl Line {
    fn parse(line: &str) -> Self {
        if let Some((_, rest)) = line.split_once("[LOST ") {
            let count = rest.split_whitespace().next().and_then(|n| n.parse().ok());
            return count.map_or(Self::Unknown, Self::Lost);
        }
        let Some((head, tail)) = line.split_once(" timer_latency ") else {
            return Self::Other;
        };
        Self::latency(head, tail).unwrap_or(Self::Unknown)
    }

    fn latency(head: &str, tail: &str) -> Option<Self> {
        // A task's name may have the word too, and brackets: the last ones are the kernel's.
        let context = match head.rsplit_once(" context ")?.1.trim() {
            "irq" => Context::Irq,
            "thread" => Context::Thread,
            "user-ret" => Context::User,
            _ => return None,
        };
        let (_, rest) = head.rsplit_once('[')?;
        let (cpu, _) = rest.split_once(']')?;
        let mut words = tail.split_whitespace();
        let ns = words.next()?.parse().ok()?;
        (words.next()? == "ns").then_some(())?;
        Some(Self::Latency {
            cpu: cpu.trim().parse().ok()?,
            context,
            ns,
        })
    }
}

/// What was read of the trace.
#[derive(Debug)]
pub(super) struct Trace {
    rows: Rows,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Trace {
    pub(super) fn new(cpus: &CpuSet, interval: Nanos, keep: Keep) -> Self {
        Self {
            rows: Rows::new(cpus, interval, keep),
            rest: Vec::new(),
        }
    }

    /// Waits a little, and takes in what came meanwhile.
    pub(super) fn look(
        &mut self,
        frame: &mut Frame<'_>,
        pipe: &mut impl Read,
        policies: &Policies,
    ) -> Result<(), MeasureError> {
        std::thread::sleep(LOOK_EVERY);
        self.read(pipe, || !frame.is_over())?;
        frame.look(|| self.progress(policies));
        Ok(())
    }

    /// Takes in what is there: a buffer at least, and more as long as this `goes_on`, for on a busy machine more may come for as
    /// long as it reads.
    pub(super) fn read(
        &mut self,
        pipe: &mut impl Read,
        goes_on: impl Fn() -> bool,
    ) -> Result<(), MeasureError> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            match pipe.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.take(buffer.get(..n).unwrap_or_default()),
                Err(err) if err.kind() == io::ErrorKind::WouldBlock => break,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
                Err(err) => return Err(MeasureError::Trace(err)),
            }
            if !goes_on() {
                break;
            }
        }
        self.rows.flush();
        Ok(())
    }

    /// Ends the run: takes in what is there, and waits for threads that are late at that moment, which may be the latest of all. What
    /// comes from others is not of the run any more.
    pub(super) fn last(
        &mut self,
        pipe: &mut impl Read,
        within: Duration,
    ) -> Result<Check, MeasureError> {
        let until = Instant::now() + within;
        self.read(pipe, || Instant::now() < until)?;
        self.rows.is_over = true;
        while !self.rows.woken.is_empty() && Instant::now() < until {
            std::thread::sleep(WAIT_EVERY);
            self.read(pipe, || Instant::now() < until)?;
        }
        let late: CpuSet = self.rows.woken.iter().copied().collect();
        let detail = match late.is_empty() {
            true => "the tracer's threads have run for each of their interrupts".to_owned(),
            false => format!(
                "the tracer's threads on CPUs {late} did not run within {} s after the end of the run: how late they are is \
                 in no figure",
                within.as_secs_f64()
            ),
        };
        Ok(Check::of("last-wake-ups", late.is_empty(), detail))
    }

    pub(super) fn progress(&mut self, policies: &Policies) -> Progress {
        self.rows.progress(policies)
    }

    pub(super) fn conclude(&self, policies: &Policies) -> Found {
        self.rows.conclude(policies)
    }

    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.rest.split_off(end + 1);
        let whole = std::mem::replace(&mut self.rest, rest);
        for line in String::from_utf8_lossy(&whole).lines() {
            self.rows.take(Line::parse(line));
        }
    }
}

/// The figures of one CPU and context.
#[derive(Debug)]
struct Row {
    tally: Accumulator,
    new: Vec<u64>,
    last: Option<u64>,
    /// Releases that passed while the thread was late for an earlier one.
    overruns: u64,
}

/// The figures of a run.
#[derive(Debug)]
struct Rows {
    rows: BTreeMap<(CpuId, Context), Row>,
    cpus: CpuSet,
    interval: Nanos,
    keep: Keep,
    lines: u64,
    lost: u64,
    unknown: u64,
    /// Latencies of CPUs that were not asked for.
    elsewhere: u64,
    /// The CPUs whose thread has not run since their interrupt.
    woken: BTreeSet<CpuId>,
    /// Whether only those are of the run.
    is_over: bool,
}

/// Returns how many releases passed before the thread of one waits again that woke up so late: it sleeps until the next one that is
/// to come (`wait_next_period` in kernel/trace/trace_osnoise.c).
fn passed(late: u64, interval: Nanos) -> u64 {
    late.saturating_sub(1) / interval.get().max(1)
}

/// Returns the number of a CPU's thread among those that were asked for.
fn number(asked: &CpuSet, cpu: CpuId) -> u32 {
    let before = asked.iter().take_while(|own| *own != cpu).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}

impl Rows {
    fn new(cpus: &CpuSet, interval: Nanos, keep: Keep) -> Self {
        Self {
            rows: BTreeMap::new(),
            cpus: cpus.clone(),
            interval,
            keep,
            lines: 0,
            lost: 0,
            unknown: 0,
            elsewhere: 0,
            woken: BTreeSet::new(),
            is_over: false,
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Latency { cpu, context, ns } => {
                if self.is_over && !self.woken.contains(&cpu) {
                    return;
                }
                self.lines += 1;
                if !self.cpus.contains(cpu) {
                    self.elsewhere += 1;
                    return;
                }
                match context {
                    Context::Irq => drop(self.woken.insert(cpu)),
                    Context::Thread => drop(self.woken.remove(&cpu)),
                    Context::User => {}
                }
                let row = self.rows.entry((cpu, context)).or_insert_with(|| Row {
                    tally: Accumulator::new(&self.keep),
                    new: Vec::new(),
                    last: None,
                    overruns: 0,
                });
                row.new.push(ns);
                row.last = Some(ns);
                if context == Context::Thread {
                    row.overruns += passed(ns, self.interval);
                }
            }
            Line::Lost(n) => self.lost += n,
            Line::Unknown => self.unknown += 1,
            Line::Other => {}
        }
    }

    fn flush(&mut self) {
        for row in self.rows.values_mut() {
            row.tally.record_slice(&row.new);
            row.new.clear();
        }
    }

    fn of(&self, context: Context) -> impl Iterator<Item = (CpuId, &Row)> {
        let own = self
            .rows
            .iter()
            .filter(move |((_, own), _)| *own == context);
        own.map(|((cpu, _), row)| (*cpu, row))
    }

    fn progress(&mut self, policies: &Policies) -> Progress {
        let interval = self.interval;
        let asked = &self.cpus;
        let rows = self.rows.iter_mut();
        let own = rows.filter(|((_, context), _)| *context == Context::Thread);
        let series = own.map(|(&(cpu, _), row)| SeriesProgress {
            thread: number(asked, cpu),
            cpu: Some(cpu),
            policy: policies
                .get(&cpu)
                .map(ToString::to_string)
                .unwrap_or_default(),
            interval_ns: interval,
            last_ns: row.last,
            overruns: Some(row.overruns),
            ..figures::progress(&mut row.tally)
        });
        Progress {
            series: series.collect(),
            ..Progress::default()
        }
    }

    fn conclude(&self, policies: &Policies) -> Found {
        let mut found = Found::default();
        for cpu in self.cpus.iter() {
            for context in Context::ALL {
                let empty = Accumulator::default();
                let row = self.rows.get(&(cpu, context));
                let tally = match row {
                    Some(row) => &row.tally,
                    // Only a thread of user space has the third.
                    None if context == Context::User => continue,
                    None => &empty,
                };
                let mut series: Series = figures::series(tally);
                series.thread = Some(number(&self.cpus, cpu));
                series.context = Some(context.name().to_owned());
                series.cpu = Some(cpu);
                series.policy = policies.get(&cpu).map(ToString::to_string);
                series.interval_ns = Some(self.interval);
                // A release is the thread's: the interrupt of one that passed was never asked for.
                series.overruns =
                    (context == Context::Thread).then(|| row.map_or(0, |row| row.overruns));
                let tag = format!("{}/{}", number(&self.cpus, cpu), context.name());
                found.store(tag, tally);
                found.series.push(series);
            }
        }
        found.checks = sample_checks(&found.series);
        found.checks.retain(|check| check.id != "lost-samples");
        found.checks.push(Check::of(
            "trace-records",
            self.lost == 0 && self.unknown == 0,
            format!(
                "{} tracer lines read, {} lost, {} not parsed, {} from CPUs that were not \
                 requested",
                self.lines, self.lost, self.unknown, self.elsewhere
            ),
        ));
        let threads: Vec<&Accumulator> = self
            .of(Context::Thread)
            .map(|(_, row)| &row.tally)
            .collect();
        let irqs: Vec<&Accumulator> = self.of(Context::Irq).map(|(_, row)| &row.tally).collect();
        found.total = figures::total(&threads);
        found.total.context = Some(Context::Thread.name().to_owned());
        found.total.overruns = Some(self.of(Context::Thread).map(|(_, row)| row.overruns).sum());
        if self.cpus.len() > 1 {
            let mut all = figures::total(&irqs);
            all.context = Some(Context::Irq.name().to_owned());
            let mut histogram = LatencyHistogram::default();
            irqs.iter().for_each(|t| histogram.merge(t.histogram()));
            found.series.push(all);
            found.histograms.push(("all/irq".to_owned(), histogram));
        }
        #[expect(clippy::cast_precision_loss, reason = "counts")]
        found.figures.push(Figure {
            count: self.lines + self.lost,
            ..Figure::single(
                "trace_records_lost",
                "records",
                Better::Lower,
                self.lost as f64,
            )
        });
        found.findings.push(Finding::observed(
            "timerlat",
            "measured by the kernel's timerlat tracer: `irq` ends when the interrupt is handled, \
             `thread` when the tracer's own thread runs in the kernel, so the return to user space \
             is not included. The cost of the tracer is not measured; it reads the clock before it \
             writes its record",
        ));
        found
    }
}

#[cfg(test)]
mod tests;
