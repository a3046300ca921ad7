// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `summary.xml` of rteval.
//!
//! Its older style sheets look for a measurement in a `Profile`, those of today directly below
//! `Measurements`, and each overlooks the other's place: so it stands in both. All of them print a
//! `cyclictest` whole, and none a `timerlat`: the old ones do not know it, the new ones leave out the figures
//! of all cores unless they also say that tracing was stopped. So it is a `cyclictest` that says which `tool`
//! measured. Figures are of whole µs, as rteval computes them. What is not known is left out.

use std::collections::BTreeMap;
use std::io::{self, Write};

use punctual_model::{Ended, Gathered as _, Policy, RunRecord, Series};
use punctual_stats::float;
use quick_xml::escape;

use super::{MicroCounts, US, command, exact_mean, extremes};

/// One core, or all of them.
#[derive(Debug)]
struct Part<'a> {
    series: Vec<&'a Series>,
    counts: MicroCounts,
}

/// What is written of a core, or of all.
struct Figures {
    samples: u64,
    min: u64,
    max: u64,
    mean: Option<f64>,
    median: Option<u64>,
    mode: Option<u64>,
    /// Mean absolute, and standard with n - 1.
    deviations: Option<(f64, f64)>,
}

/// Writes a `summary.xml` with the elements of rteval's that a run has something to say in.
///
/// # Errors
/// What the output says.
pub fn rteval(run: &RunRecord, counts: &[MicroCounts], out: &mut dyn Write) -> io::Result<()> {
    let mut out = io::BufWriter::new(out);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<rteval version=\"{}\">", text(run.program.as_str()))?;
    run_info(run, &mut out)?;
    system_info(run, &mut out)?;
    loads(run, &mut out)?;
    writeln!(
        out,
        "  <Measurements measurecpus=\"{}\">",
        measured(run).unwrap_or_default()
    )?;
    measurement(run, counts, &mut out)?;
    writeln!(
        out,
        "    <Profile loads=\"{}\" parallel=\"1\">",
        u8::from(!run.loads.is_empty())
    )?;
    measurement(run, counts, &mut out)?;
    writeln!(out, "    </Profile>\n  </Measurements>\n</rteval>")?;
    out.flush()
}

/// Escapes a text. XML has no place for control characters, and a terminal would obey them.
fn text(text: &str) -> String {
    let plain = text.replace(
        |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'),
        "\u{fffd}",
    );
    escape::escape(plain.as_str()).into_owned()
}

/// Writes an element that is known.
fn element(out: &mut impl Write, name: &str, value: Option<&str>) -> io::Result<()> {
    match value {
        Some(value) => write!(out, "<{name}>{}</{name}>", text(value)),
        None => Ok(()),
    }
}

/// Returns the start, or what was `after` it, as a date and a time in UTC.
fn at(run: &RunRecord, after: std::time::Duration) -> Option<(String, String)> {
    let started: jiff::Timestamp = run.started.as_deref()?.parse().ok()?;
    let text = started.checked_add(after).ok()?.to_string();
    let (date, time) = text.split_once('T')?;
    Some((date.to_owned(), time.get(..8)?.to_owned()))
}

fn run_info(run: &RunRecord, out: &mut impl Write) -> io::Result<()> {
    let seconds = run.duration_ns.map_or(0, |ns| ns.get() / 1_000_000_000);
    write!(
        out,
        "  <run_info days=\"{}\" hours=\"{}\" minutes=\"{}\" seconds=\"{}\">",
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    )?;
    let (date, time) = at(run, std::time::Duration::ZERO).unzip();
    element(out, "date", date.as_deref())?;
    element(out, "time", time.as_deref())?;
    element(out, "annotate", run.note.as_deref().or(run.name.as_deref()))?;
    writeln!(out, "</run_info>")
}

fn system_info(run: &RunRecord, out: &mut impl Write) -> io::Result<()> {
    let host = &run.host;
    write!(out, "  <SystemInfo>\n    <uname>")?;
    element(out, "node", host.hostname.as_deref())?;
    if host.kernel_release.is_some() || host.preempt_rt.is_some() {
        write!(out, "<kernel")?;
        if let Some(is_rt) = host.preempt_rt {
            write!(out, " is_RT=\"{}\"", u8::from(is_rt))?;
        }
        let release = host.kernel_release.as_deref().unwrap_or_default();
        write!(out, ">{}</kernel>", text(release))?;
    }
    element(out, "arch", host.architecture.as_deref())?;
    writeln!(out, "</uname>")?;
    if !host.cpus_online.is_empty() {
        writeln!(
            out,
            "    <CPUtopology num_cpu_cores=\"{n}\" num_cpu_cores_online=\"{n}\" \
             num_cpu_cores_isolated=\"{}\"/>",
            host.cpus_isolated.len(),
            n = host.cpu_count(),
        )?;
    }
    write!(out, "    <Memory>")?;
    let nodes = host.numa_nodes.map(|n| n.to_string());
    element(out, "numa_nodes", nodes.as_deref())?;
    if let Some(bytes) = host.memory_bytes {
        let gib = float(bytes) / float(1 << 30);
        write!(out, "<memory_size unit=\"GB\">{gib:.2}</memory_size>")?;
    }
    writeln!(out, "</Memory>")?;
    if let Some(source) = &host.clocksource {
        writeln!(
            out,
            "    <Kernel><ClockSource><source current=\"1\">{}</source></ClockSource></Kernel>",
            text(source.as_str())
        )?;
    }
    if host.cmdline.is_some() {
        write!(out, "    <cmdlineInfo>")?;
        element(out, "cmdline", host.cmdline.as_deref())?;
        writeln!(out, "</cmdlineInfo>")?;
    }
    writeln!(out, "  </SystemInfo>")
}

fn loads(run: &RunRecord, out: &mut impl Write) -> io::Result<()> {
    if run.loads.is_empty() {
        return Ok(());
    }
    writeln!(out, "  <loads loads=\"{}\">", run.loads.len())?;
    for load in &run.loads {
        let (name, _) = load.load.split_once(':').unwrap_or((&load.load, ""));
        writeln!(
            out,
            "    <command_line name=\"{}\" run=\"1\">{}</command_line>",
            text(name),
            text(load.load.as_str())
        )?;
    }
    writeln!(out, "  </loads>")
}

/// Returns the CPUs that were measured, if the threads were pinned.
fn measured(run: &RunRecord) -> Option<String> {
    let cpus: Option<punctual_model::CpuSet> = run.series.iter().map(|s| s.cpu).collect();
    cpus.filter(|cpus| !cpus.is_empty())
        .map(|cpus| cpus.to_string())
}

fn measurement(run: &RunRecord, counts: &[MicroCounts], out: &mut impl Write) -> io::Result<()> {
    write!(
        out,
        "    <cyclictest command_line=\"{}\"",
        text(command(run).as_str())
    )?;
    if run.instrument == "timerlat" {
        write!(out, " tool=\"timerlat\"")?;
    }
    writeln!(out, ">")?;
    let said = |time: Option<(String, String)>| time.map(|(date, time)| format!("{date} {time}"));
    let lasted = run.duration_ns.map(std::time::Duration::from);
    let stopped = lasted.and_then(|lasted| said(at(run, lasted)));
    write!(out, "      <timestamps>")?;
    let started = said(at(run, std::time::Duration::ZERO));
    element(out, "runloop_start", started.as_deref())?;
    element(out, "runloop_stop", stopped.as_deref())?;
    writeln!(out, "</timestamps>")?;
    if run.ended == Some(Ended::Threshold) {
        write!(out, "      <abort_report reason=\"breaktrace\">")?;
        if let Some(hit) = &run.threshold {
            write!(
                out,
                "<breaktrace latency_threshold=\"{}\" measured_latency=\"{}\"/>",
                hit.threshold_ns.get() / US,
                hit.sample.latency_ns / US
            )?;
        }
        writeln!(out, "</abort_report>")?;
    }
    let parts = parts(run, counts);
    let processor = run.host.cpu_model.as_deref().unwrap_or("unknown processor");
    writeln!(
        out,
        "      <system description=\"({} cores) {}\">",
        parts.len(),
        text(processor)
    )?;
    let mut all = Part {
        series: Vec::new(),
        counts: MicroCounts::default(),
    };
    parts.iter().for_each(|part| all.add(part));
    all.write(out)?;
    writeln!(out, "      </system>")?;
    for (number, part) in parts.iter().enumerate() {
        let first = part.series.first();
        let id = first
            .and_then(|s| s.cpu)
            .map_or_else(|| number.to_string(), |cpu| cpu.to_string());
        write!(out, "      <core id=\"{id}\"")?;
        if let Some(priority) = first.and_then(|s| priority(s.policy.as_deref()?)) {
            write!(out, " priority=\"{priority}\"")?;
        }
        writeln!(out, ">")?;
        part.write(out)?;
        writeln!(out, "      </core>")?;
    }
    writeln!(out, "    </cyclictest>")
}

/// Returns the priority of a thread, of those policies that have one or none above 0.
fn priority(policy: &str) -> Option<u8> {
    match policy.parse().ok()? {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => Some(priority),
        Policy::Other { .. } | Policy::Batch | Policy::Idle => Some(0),
        Policy::Deadline { .. } | Policy::Ext => None,
    }
}

/// Returns the cores. Of several kinds of latencies of a core rteval makes one histogram.
fn parts<'a>(run: &'a RunRecord, counts: &[MicroCounts]) -> Vec<Part<'a>> {
    let mut parts = Vec::<Part<'a>>::new();
    for (counts, series) in counts.iter().zip(&run.series) {
        let one = Part {
            series: vec![series],
            counts: counts.clone(),
        };
        let kinds = |part: &&mut Part<'a>| {
            let first = part.series.first();
            first.is_some_and(|s| s.cpu == series.cpu && s.context != series.context)
        };
        match parts.last_mut().filter(kinds) {
            Some(part) => part.add(&one),
            None => parts.push(one),
        }
    }
    parts
}

impl Part<'_> {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        statistics(&Figures::of(self), out)?;
        histogram(&self.counts.buckets, out)
    }
}

impl<'a> Part<'a> {
    fn add(&mut self, other: &Self) {
        let mut merged: BTreeMap<u64, u64> = self.counts.buckets.drain(..).into_map();
        for (us, n) in &other.counts.buckets {
            let sum = merged.entry(*us).or_default();
            *sum = sum.saturating_add(*n);
        }
        self.counts.buckets = merged.into_iter().collect();
        self.counts.beyond = self.counts.beyond.saturating_add(other.counts.beyond);
        self.series.extend(&other.series);
    }

    /// Returns what its series say together, which counts where the buckets do not have every sample.
    fn stated(&self) -> Series {
        let counts = self.series.iter().map(|s| s.count);
        let count = counts.fold(0, u64::saturating_add);
        let sums = self.series.iter().filter(|s| s.count > 0);
        let sum: Option<f64> = sums.map(|s| Some(s.mean_ns? * float(s.count))).sum();
        Series {
            count,
            min_ns: self.series.iter().filter_map(|s| s.min_ns).min(),
            max_ns: self.series.iter().filter_map(|s| s.max_ns).max(),
            mean_ns: sum.filter(|_| count > 0).map(|sum| sum / float(count)),
            ..Series::default()
        }
    }
}

impl Figures {
    fn of(part: &Part<'_>) -> Self {
        let (counts, series) = (&part.counts, part.stated());
        let (min, max) = extremes(counts, &series);
        let n = counts.counted();
        // Of all samples, or of none.
        let whole = counts.beyond == 0 && n > 0;
        let mean = exact_mean(counts, &series);
        let sum = |of: &dyn Fn(f64) -> f64| -> f64 {
            let each = counts.buckets.iter();
            each.map(|(us, n)| of(float(*us) - mean) * float(*n)).sum()
        };
        let deviations = whole.then(|| {
            let absolute = sum(&f64::abs) / float(n);
            let squares = sum(&|apart| apart * apart);
            (
                absolute,
                (squares / float(n.saturating_sub(1).max(1))).sqrt(),
            )
        });
        let mode = counts.buckets.iter().rev().max_by_key(|(_, n)| *n);
        Self {
            samples: counts.total(),
            min,
            max,
            mean: Some(mean).filter(|_| whole || series.mean_ns.is_some()),
            median: median(counts),
            mode: mode.filter(|(_, n)| *n > counts.beyond).map(|(us, _)| *us),
            deviations,
        }
    }
}

fn statistics(figures: &Figures, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "        <statistics>")?;
    writeln!(out, "          <samples>{}</samples>", figures.samples)?;
    let whole = |value: u64| Some(value.to_string());
    let decimal = |value: f64| Some(format!("{value:.3}"));
    let (absolute, standard) = figures.deviations.unzip();
    let some = figures.samples > 0;
    for (name, value) in [
        ("minimum", whole(figures.min)),
        ("maximum", whole(figures.max)),
        ("median", figures.median.and_then(whole)),
        ("mode", figures.mode.and_then(whole)),
        ("range", whole(figures.max.saturating_sub(figures.min))),
        ("mean", figures.mean.and_then(decimal)),
        ("mean_absolute_deviation", absolute.and_then(decimal)),
        ("standard_deviation", standard.and_then(decimal)),
    ] {
        if let Some(value) = value.filter(|_| some) {
            writeln!(out, "          <{name} unit=\"us\">{value}</{name}>")?;
        }
    }
    writeln!(out, "        </statistics>")
}

fn histogram(buckets: &[(u64, u64)], out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "        <histogram nbuckets=\"{}\">", buckets.len())?;
    for (us, count) in buckets {
        writeln!(out, "          <bucket index=\"{us}\" value=\"{count}\"/>")?;
    }
    writeln!(out, "        </histogram>")
}

/// The value of the middle sample, counted with those above the buckets.
fn median(c: &MicroCounts) -> Option<u64> {
    let middle = c.total().div_ceil(2);
    let mut below = 0_u64;
    let found = c.buckets.iter().find(|(_, count)| {
        below = below.saturating_add(*count);
        below >= middle
    });
    found.filter(|_| middle > 0).map(|(us, _)| *us)
}
