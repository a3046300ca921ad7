// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's own account of a wake-up, compared with ours: what its timerlat tracer says of the threads that it runs.
//!
//! While that tracer runs it writes down how late the timer's interrupt and the thread were, and by the events of `osnoise`
//! what took the time between the two: interrupts, soft interrupts and other threads, each without what interrupted it
//! (Documentation/trace/timerlat-tracer.rst; `rtla timerlat --auto-analysis` reads the same). Ours follows from the switches
//! and interrupts of the CPU, so that either can contradict the other.

use std::collections::{BTreeMap, VecDeque};

use punctual_model::CpuId;
use punctual_model::watch::{AccountPart, KernelAccount};
use punctual_stats::LatencyHistogram;

use super::cycle::Cycle;
use super::history::Stretch;
use super::replay::Replay;
use super::who::{Name, Names, SOFTIRQS, Tid, Who};

/// Notes of one CPU that are kept at most.
const NOTES: usize = 1 << 16;

/// Names that are said of one part.
const NAMED: usize = 5;

/// What the tracer wrote down. Times in ns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Note {
    /// The timer's interrupt was this late.
    IrqLatency(u64),
    /// The thread was.
    ThreadLatency(u64),
    /// Something took this much of the time.
    Noise(Noise, u64),
}

/// What took time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Noise {
    Nmi,
    Irq(Name),
    Softirq(u8),
    Thread(Tid, Name),
}

/// What the tracer wrote down in the recent past, by CPU, each with its time.
#[derive(Debug, Default)]
pub(super) struct Notes(BTreeMap<CpuId, VecDeque<(u64, Note)>>);

impl Notes {
    pub(super) fn add(&mut self, time: u64, cpu: CpuId, note: Note) {
        let notes = self.0.entry(cpu).or_default();
        if notes.len() >= NOTES {
            notes.pop_front();
        }
        notes.push_back((time, note));
    }

    pub(super) fn forget_before(&mut self, time: u64) {
        for notes in self.0.values_mut() {
            let old = notes.partition_point(|(at, _)| *at < time);
            notes.drain(..old);
        }
    }

    /// Returns what was written down of the thread that was woken on `cpu` after `from` and ran before `to`.
    fn of_wake_up(&self, cpu: CpuId, from: u64, to: u64) -> Option<WakeUp> {
        let notes = self.0.get(&cpu)?;
        let first = notes.partition_point(|(at, _)| *at < from);
        let mut irq = None;
        let mut noises = Vec::new();
        for (at, note) in notes.range(first..).take_while(|(at, _)| *at <= to) {
            match (*note, irq) {
                (Note::IrqLatency(ns), _) => {
                    irq = Some((*at, ns));
                    noises.clear();
                }
                (Note::ThreadLatency(ns), Some(irq)) => {
                    let thread = (*at, ns);
                    return Some(WakeUp {
                        irq,
                        thread,
                        noises,
                    });
                }
                (Note::ThreadLatency(_), None) => {}
                (Note::Noise(noise, ns), _) => noises.push((noise, ns)),
            }
        }
        None
    }
}

/// What the tracer says of one wake-up: how late the interrupt and the thread were, each with the time at which it said so,
/// and what took the time from the beginning of that interrupt on.
#[derive(Debug)]
struct WakeUp {
    irq: (u64, u64),
    thread: (u64, u64),
    noises: Vec<(Noise, u64)>,
}

/// Parts of an account, in the order in which they are said.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Part {
    IrqLatency,
    Interrupts,
    Softirqs,
    Threads,
    Idle,
    ThreadLatency,
}

impl Part {
    /// Its name in records.
    const fn name(self) -> &'static str {
        match self {
            Self::IrqLatency => "irq-latency",
            Self::Interrupts => "interrupts",
            Self::Softirqs => "soft-interrupts",
            Self::Threads => "threads",
            Self::Idle => "idle",
            Self::ThreadLatency => "thread-latency",
        }
    }
}

/// Time of each part by one of the two, and who it went to.
type Times = BTreeMap<Part, (u64, BTreeMap<String, u64>)>;

fn add(times: &mut Times, part: Part, name: Option<String>, ns: u64) {
    let (sum, names) = times.entry(part).or_default();
    *sum += ns;
    if let Some(name) = name {
        *names.entry(name).or_default() += ns;
    }
}

/// The kernel's account of a cycle and ours; nothing where the tracer wrote none.
pub(super) fn of(cycle: &Cycle, replay: &Replay) -> Option<KernelAccount> {
    let cpu = cycle.pieces.last()?.cpu;
    let wake_up = replay.notes.of_wake_up(cpu, cycle.release, cycle.end)?;
    let kernel = by_kernel(&wake_up, &replay.names);
    let ours = by_events(&wake_up, cycle, cpu, replay);
    let parts: Vec<Part> = {
        let all: std::collections::BTreeSet<Part> =
            kernel.keys().chain(ours.keys()).copied().collect();
        all.into_iter().collect()
    };
    let parts = parts.into_iter().map(|part| {
        let (kernel, ours) = (kernel.get(&part), ours.get(&part));
        let named = kernel.or(ours).map(|(_, names)| names);
        let mut names: Vec<(&String, &u64)> = named.into_iter().flatten().collect();
        names.sort_by(|(a_name, a), (b_name, b)| b.cmp(a).then_with(|| a_name.cmp(b_name)));
        AccountPart {
            part: part.name().to_owned(),
            names: names
                .into_iter()
                .take(NAMED)
                .map(|(name, _)| name.clone())
                .collect(),
            kernel_ns: kernel.map_or(0, |(ns, _)| *ns),
            ours_ns: ours.map_or(0, |(ns, _)| *ns),
        }
    });
    Some(KernelAccount {
        parts: parts.collect(),
    })
}

fn by_kernel(wake_up: &WakeUp, names: &Names) -> Times {
    let mut times = Times::new();
    add(&mut times, Part::IrqLatency, None, wake_up.irq.1);
    add(&mut times, Part::ThreadLatency, None, wake_up.thread.1);
    for (noise, ns) in &wake_up.noises {
        let (part, name) = match noise {
            Noise::Nmi => (Part::Interrupts, "NMI".to_owned()),
            Noise::Irq(name) => (Part::Interrupts, names.text(*name).to_owned()),
            Noise::Softirq(vec) => (Part::Softirqs, softirq(*vec)),
            // The tracer counts the idle thread as another one.
            Noise::Thread(0, _) => (Part::Idle, String::new()),
            Noise::Thread(_, name) => (Part::Threads, names.text(*name).to_owned()),
        };
        add(
            &mut times,
            part,
            Some(name).filter(|name| !name.is_empty()),
            *ns,
        );
    }
    times
}

fn softirq(vec: u8) -> String {
    let name = SOFTIRQS.get(usize::from(vec));
    name.map_or_else(|| vec.to_string(), |name| (*name).to_owned())
}

/// The same as the events of switches and interrupts have it: from the beginning of the interrupt to the moment at which the
/// thread read its clock.
fn by_events(wake_up: &WakeUp, cycle: &Cycle, cpu: CpuId, replay: &Replay) -> Times {
    let (woken, ran) = (wake_up.irq.0, wake_up.thread.0);
    // The interrupt may have begun before the release: for another timer.
    let before = cycle.release.min(woken).saturating_sub(LONGEST_IRQ);
    let all: Vec<_> = replay.cut(cpu, before, ran).collect();
    let at = all.iter().position(|of| (of.from..of.to).contains(&woken));
    let at = at.unwrap_or(0);
    let mut times = Times::new();
    if let Some(timer) = all.get(at).filter(|of| of.who.interrupts()) {
        let late = timer.from.saturating_sub(cycle.release);
        add(&mut times, Part::IrqLatency, None, late);
    }
    let in_it = all.iter().take(at).rev();
    let is_of_it = |of: &&Stretch| of.who.interrupts() && !matches!(of.who, Who::Softirq { .. });
    let first = at - in_it.take_while(is_of_it).count();
    let mut runs_in = None;
    for stretch in all.iter().skip(first) {
        let Some((part, name)) = part_of(stretch, cycle.tid, &replay.names, &mut runs_in) else {
            continue;
        };
        add(&mut times, part, name, stretch.to - stretch.from);
    }
    let running = all.iter().rev().find(|of| of.who.tid() == Some(cycle.tid));
    if let Some(running) = running {
        let late = running.began.saturating_sub(cycle.release);
        add(&mut times, Part::ThreadLatency, None, late);
    }
    times
}

/// How far before a release the interrupt may have begun that it fell into, in ns.
const LONGEST_IRQ: u64 = 1_000_000;

/// Returns what a stretch counts as; nothing where the thread itself had the CPU. A timer's function counts as what it runs in:
/// an interrupt, a soft interrupt, with PREEMPT_RT also a thread.
fn part_of(
    stretch: &Stretch,
    own: Tid,
    names: &Names,
    runs_in: &mut Option<(Part, Option<String>)>,
) -> Option<(Part, Option<String>)> {
    let of = match stretch.who {
        Who::Timer { .. } => return runs_in.clone().or(Some((Part::Interrupts, None))),
        Who::Task { tid, .. } if tid == own => None,
        Who::Task { name, .. } => Some((Part::Threads, Some(names.text(name).to_owned()))),
        Who::Idle { .. } => Some((Part::Idle, None)),
        Who::Irq { name, .. } | Who::Vector { name } => {
            Some((Part::Interrupts, Some(names.text(name).to_owned())))
        }
        Who::Softirq { vec } => Some((Part::Softirqs, Some(softirq(vec)))),
        Who::Unknown => None,
    };
    runs_in.clone_from(&of);
    of
}

/// How far the two are apart, of all cycles.
#[derive(Debug, Default)]
pub(super) struct Apart {
    irq: LatencyHistogram,
    thread: LatencyHistogram,
}

impl Apart {
    pub(super) fn add(&mut self, account: &KernelAccount) {
        for part in &account.parts {
            let apart = part.kernel_ns.abs_diff(part.ours_ns);
            match part.part.as_str() {
                "irq-latency" => self.irq.record(apart),
                "thread-latency" => self.thread.record(apart),
                _ => {}
            }
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.irq.merge(&other.irq);
        self.thread.merge(&other.thread);
    }

    /// Says how far; nothing where there was nothing to compare.
    pub(super) fn says(&self) -> Option<String> {
        let of = |all: &LatencyHistogram| {
            let (half, most) = (all.quantile(0.5)?, all.max()?);
            Some(format!("{half} ns (median) and {most} ns at most"))
        };
        Some(format!(
            "of {} wake-ups the timerlat tracer's figures and those that follow from the other events differ by {} for the \
             interrupt, by {} for the thread, which reads its clock after the switch to it",
            self.thread.count(),
            of(&self.irq)?,
            of(&self.thread)?,
        ))
    }
}
