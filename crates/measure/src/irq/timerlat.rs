// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's timerlat tracer, in an instance of our own.
//!
//! The tracer runs a thread of the kernel on each CPU of `osnoise/cpus`. It sets a timer, and says in
//! the trace how late the interrupt was and how late the thread (Documentation/trace/timerlat-tracer.rst):
//!
//! ```text
//!   <idle>-0     [000] d.h1.  54.029328: #1     context    irq timer_latency       932 ns
//!    <...>-867   [000] .....  54.029339: #1     context thread timer_latency     11700 ns
//! ```
//!
//! Period, CPUs and the latencies at which it stops recording are settings of the whole machine. They
//! are changed only where they are not as wanted, after the old values were written into the name of
//! our instance: whoever finds that after a kill puts them back ([`super::leftover`]).

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::time::{Duration, Instant};

use punctual_model::{
    Better, Check, CpuId, CpuSet, Figure, Finding, Gathered as _, Nanos, Policy, Progress, Series,
    SeriesProgress,
};
use punctual_stats::{Accumulator, Keep, LatencyHistogram};
use punctual_sys::tracefs::{Tracefs, TracefsError};
use punctual_sys::{SysRoot, sched};

use super::leftover::{self, CPUS, PERIOD, STOP, STOP_TOTAL, Setting};
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame};
use crate::stream::sample_checks;
use crate::watch::Beside;

/// Time between two looks at the trace.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Time within which the tracer's threads begin, at the latest.
const BEGUN_WITHIN: Duration = Duration::from_secs(1);

/// Time in which what was recorded before the run is read and left out.
const EARLIER: Duration = Duration::from_millis(100);

/// What tells its instance from others of this process.
const OWN: &str = "+timerlat";

/// Whether the kernel has the tracer.
pub(super) fn is_there(tracefs: &Tracefs) -> Result<bool, MeasureError> {
    Ok(tracefs.has_tracer("timerlat").map_err(TracefsError::Use)?)
}

pub(super) fn run(
    (interval, explain): (Nanos, bool),
    tracefs: &Tracefs,
    frame: &mut Frame<'_>,
) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let cpus = setup.cpus.clone();
    if !interval.get().is_multiple_of(1_000) {
        return Err(MeasureError::Spec {
            option: format!("--interval {interval}"),
            reason: "the timerlat tracer accepts only whole microseconds".to_owned(),
        });
    }
    refuse_others(tracefs)?;
    let wanted = wanted(interval, &cpus);
    let settings = Setting::differing(tracefs.root(), &wanted).map_err(TracefsError::Use)?;
    let name = leftover::name(frame.sys()) + OWN + &leftover::encode(&settings);
    let instance = tracefs.instance(&name).map_err(TracefsError::Use)?;
    let changed = leftover::Changed::make(tracefs.root(), settings).map_err(TracefsError::Use)?;
    instance
        .write("current_tracer", "timerlat")
        .map_err(TracefsError::Use)?;
    // While it is open, the tracer cannot be changed any more.
    let mut pipe = instance.open("trace_pipe").map_err(TracefsError::Use)?;
    let before = prioritise(frame.sys(), &cpus, setup.priority)?;
    let explainer = match explain {
        true => {
            let tids = threads(frame.sys(), &cpus).into_values().collect();
            Some(Beside::start_timerlat(frame.sys(), tids)?)
        }
        false => None,
    };
    if frame.sys().is_live() {
        // The run begins when everything is there that takes part in it, and the tracer's threads have left the priority that they
        // began with.
        let until = Instant::now() + EARLIER;
        Trace::new(&cpus, frame.keep()).read(&mut pipe, || Instant::now() < until)?;
        frame.begin_now();
    }
    let mut trace = Trace::new(&cpus, frame.keep());
    if let Some(explainer) = &explainer {
        explainer.begin(frame.origin());
    }
    while !frame.is_over() {
        trace.look(frame, &mut pipe, interval, &before)?;
    }
    let ended = frame.ended();
    let after = read_back(frame.sys(), &cpus);
    let recording = instance.read("tracing_on");
    let written = instance
        .write("tracing_on", "0")
        .and_then(|()| instance.read("tracing_on"));
    let mut explained = Found::default();
    if let Some(explainer) = explainer {
        explainer.finish(frame.origin(), &mut explained)?;
    }
    // Nothing comes any more: it ends.
    trace.read(&mut pipe, || true)?;
    frame.last(trace.rows.progress(interval, &before));
    drop(pipe);
    // The name of the instance says what to put back, so that goes last.
    written
        .and_then(|_| instance.write("current_tracer", "nop"))
        .and_then(|()| changed.restore())
        .and_then(|()| instance.remove())
        .map_err(TracefsError::Use)?;
    let mut found = trace.rows.conclude(interval, &before);
    let recording = recording.map_err(TracefsError::Use)?;
    found.checks.push(recorded(&recording));
    found
        .checks
        .push(scheduling(setup.priority, &before, &after));
    found.checks.extend(explained.checks);
    found.findings.extend(explained.findings);
    found.watched = explained.watched;
    found.options = [("source".to_owned(), "timerlat".to_owned())].into();
    found.ended = ended;
    Ok(found)
}

/// What the tracer is to be set to: nothing ends the trace before the run.
fn wanted(interval: Nanos, cpus: &CpuSet) -> [(&'static str, String); 4] {
    [
        (PERIOD, (interval.get() / 1_000).to_string()),
        (CPUS, cpus.to_string()),
        (STOP, "0".to_owned()),
        (STOP_TOTAL, "0".to_owned()),
    ]
}

/// Judges what `tracing_on` was at the end: whoever switched it off took the wake-ups after that.
fn recorded(tracing_on: &str) -> Check {
    let on = tracing_on.trim() == "1";
    let detail = match on {
        true => "the tracer recorded until the end of the run",
        false => {
            "recording was switched off during the run, so later wake-ups are missing: by another \
             program, or by osnoise/stop_tracing_us or stop_tracing_total_us"
        }
    };
    Check::of("tracing-on", on, detail)
}

/// Refuses where somebody uses the tracer already: its settings are those of the whole machine.
fn refuse_others(tracefs: &Tracefs) -> Result<(), MeasureError> {
    let root = tracefs.root();
    let names = root.names("instances").map_err(TracefsError::Use)?;
    let files = names
        .iter()
        .map(|name| format!("instances/{name}/current_tracer"));
    for file in files.chain(["current_tracer".to_owned()]) {
        let tracer = root.read_if_present(&file).map_err(TracefsError::Use)?;
        if let Some(tracer) = tracer.filter(|t| matches!(t.trim(), "timerlat" | "osnoise")) {
            return Err(MeasureError::Spec {
                option: "--source timerlat".to_owned(),
                reason: format!("the {} tracer is already in use ({file})", tracer.trim()),
            });
        }
    }
    Ok(())
}

type Policies = BTreeMap<CpuId, Policy>;

/// Gives the tracer's threads our policy, and reads it back. A captured tree has none.
fn prioritise(sys: &SysRoot, cpus: &CpuSet, policy: Policy) -> Result<Policies, MeasureError> {
    if sys.is_live() {
        let tids = threads(sys, cpus);
        wait_until_begun(tids.values().copied());
        for tid in tids.values() {
            sched::set_policy_of(*tid, policy)
                .map_err(|source| MeasureError::Policy { policy, source })?;
        }
    }
    Ok(read_back(sys, cpus))
}

/// Each of the tracer's threads begins by giving itself a real-time priority, which would take the place of one that it had before.
/// What becomes of one that does not begin in time is seen when it is read back.
fn wait_until_begun(tids: impl Iterator<Item = i32>) {
    let until = Instant::now() + BEGUN_WITHIN;
    for tid in tids {
        let is_ordinary = || sched::policy_of(tid).is_ok_and(|policy| !policy.is_real_time());
        while is_ordinary() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn read_back(sys: &SysRoot, cpus: &CpuSet) -> Policies {
    if !sys.is_live() {
        return Policies::new();
    }
    threads(sys, cpus)
        .into_iter()
        .filter_map(|(cpu, tid)| Some((cpu, sched::policy_of(tid).ok()?)))
        .into_map()
}

/// Finds the tracer's threads: `timerlat/N` on CPU N.
fn threads(sys: &SysRoot, cpus: &CpuSet) -> BTreeMap<CpuId, i32> {
    let names = sys.names("/proc").unwrap_or_default();
    let thread = |name: &String| {
        let tid: i32 = name.parse().ok()?;
        let comm = sys.read(&format!("/proc/{name}/comm")).ok()?;
        let cpu = comm.strip_prefix("timerlat/")?.parse().ok()?;
        cpus.contains(cpu).then_some((cpu, tid))
    };
    names.iter().filter_map(thread).into_map()
}

fn scheduling(asked: Policy, before: &Policies, after: &Policies) -> Check {
    let id = "scheduling";
    if before.is_empty() {
        return Check::unknown(id, "the tracer's threads were not found");
    }
    let wrong = before.iter().chain(after).find(|(_, got)| **got != asked);
    match wrong {
        Some((cpu, got)) => Check::fail(
            id,
            format!(
                "the tracer's thread on CPU {cpu} was asked to run with {asked} and ran with {got}"
            ),
        ),
        None => Check::of(
            id,
            before.len() == after.len(),
            format!(
                "{asked} was read back from {} of the tracer's threads at the start and {} at the \
                 end",
                before.len(),
                after.len()
            ),
        ),
    }
}

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
        let context = match head.split_once(" context ")?.1.trim() {
            "irq" => Context::Irq,
            "thread" => Context::Thread,
            "user-ret" => Context::User,
            _ => return None,
        };
        // A task's name may have brackets too: the CPU is in the last ones.
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
struct Trace {
    rows: Rows,
    /// The beginning of a line whose end is not there yet.
    rest: Vec<u8>,
}

impl Trace {
    fn new(cpus: &CpuSet, keep: Keep) -> Self {
        Self {
            rows: Rows::new(cpus, keep),
            rest: Vec::new(),
        }
    }

    /// Waits a little, and takes in what came meanwhile.
    fn look(
        &mut self,
        frame: &mut Frame<'_>,
        pipe: &mut impl Read,
        interval: Nanos,
        policies: &Policies,
    ) -> Result<(), MeasureError> {
        std::thread::sleep(LOOK_EVERY);
        self.read(pipe, || !frame.is_over())?;
        frame.look(|| self.rows.progress(interval, policies));
        Ok(())
    }

    /// Takes in what is there: a buffer at least, and more as long as this `goes_on`, for on a busy machine more may come for as
    /// long as it reads.
    fn read(
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
}

/// The figures of a run.
#[derive(Debug)]
struct Rows {
    rows: BTreeMap<(CpuId, Context), Row>,
    cpus: CpuSet,
    keep: Keep,
    lines: u64,
    lost: u64,
    unknown: u64,
    /// Latencies of CPUs that were not asked for.
    elsewhere: u64,
}

/// Returns the number of a CPU's thread among those that were asked for.
fn number(asked: &CpuSet, cpu: CpuId) -> u32 {
    let before = asked.iter().take_while(|own| *own != cpu).count();
    u32::try_from(before).unwrap_or(u32::MAX)
}

impl Rows {
    fn new(cpus: &CpuSet, keep: Keep) -> Self {
        Self {
            rows: BTreeMap::new(),
            cpus: cpus.clone(),
            keep,
            lines: 0,
            lost: 0,
            unknown: 0,
            elsewhere: 0,
        }
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Latency { cpu, context, ns } => {
                self.lines += 1;
                if !self.cpus.contains(cpu) {
                    self.elsewhere += 1;
                    return;
                }
                let row = self.rows.entry((cpu, context)).or_insert_with(|| Row {
                    tally: Accumulator::new(&self.keep),
                    new: Vec::new(),
                    last: None,
                });
                row.new.push(ns);
                row.last = Some(ns);
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

    fn progress(&mut self, interval: Nanos, policies: &Policies) -> Progress {
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
            ..figures::progress(&mut row.tally)
        });
        Progress {
            series: series.collect(),
            ..Progress::default()
        }
    }

    fn conclude(&self, interval: Nanos, policies: &Policies) -> Found {
        let mut found = Found::default();
        for cpu in self.cpus.iter() {
            for context in Context::ALL {
                let empty = Accumulator::default();
                let tally = match self.rows.get(&(cpu, context)) {
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
                series.interval_ns = Some(interval);
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
