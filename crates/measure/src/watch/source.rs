// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's trace, in two instances of our own: what all threads of the machine do, and what the watched ones do
//! beyond that.

use std::collections::VecDeque;

use punctual_model::{Better, CpuSet, Figure, Nanos};
use punctual_sys::tracefs::{Guard, Instance, Losses, PageLayout, Records, Tracefs, TracefsError};
use punctual_sys::{SysError, SysRoot, clock, thread};

use super::event::{Decoder, Event, Of};
use super::who::{Names, Tid};
use crate::error::MeasureError;
use crate::irq::instance_name;
use crate::median::median_figure;

/// Bytes of trace buffer for each CPU, in KiB: a busy machine fills some 4 MB a second.
const BUFFER_KIB: u32 = 8 * 1_024;

/// The same for what watched threads alone do.
const OWN_BUFFER_KIB: u32 = 2 * 1_024;

/// All trace buffers together, in KiB.
const ALL_BUFFERS_KIB: u32 = 256 * 1_024;

/// How often the cost of an event is measured, and by how many system calls each time.
const COST_PAIRS: u32 = 9;
const COST_CALLS: u32 = 2_000;

/// Time after which an event is in the buffers, in ns: it gets its time before it is put there.
const ON_ITS_WAY: u64 = 200_000;

/// The trace of a running kernel.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) decoder: Decoder,
    all: Instance,
    own: Instance,
    /// Removes the instances where we cannot any more.
    _guard: Guard,
    /// Where it is not mounted it is there as long as this is, and the instances' files with it: the last to go.
    _tracefs: Tracefs,
    layout: PageLayout,
    page: Vec<u8>,
    cpus: CpuSet,
    /// Events that were read and are not passed on yet.
    waiting: VecDeque<Event>,
    pub(super) records: u64,
    /// What one event costs the thread that it happens to.
    pub(super) cost: Option<Figure>,
    pub(super) buffer_kib: u32,
}

impl Source {
    /// Makes the instances in `tracefs`. Nothing is recorded yet.
    pub(super) fn new(sys: &SysRoot, tracefs: Tracefs, cpus: CpuSet) -> Result<Self, MeasureError> {
        let decoder = Decoder::of(&tracefs)?;
        let name = instance_name(sys);
        let all = tracefs.instance(&name).map_err(TracefsError::Use)?;
        let own = tracefs.instance(&format!("{name}+watched"));
        let watched = format!("{name}+watched");
        let guard = tracefs.guard(&[&name, &watched]);
        let guard = guard.map_err(MeasureError::Spawn)?;
        let layout = tracefs.page_layout()?;
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1);
        let mut source = Self {
            decoder,
            all,
            own: own.map_err(TracefsError::Use)?,
            _guard: guard,
            _tracefs: tracefs,
            layout,
            page: vec![0; layout.bytes()],
            cpus,
            waiting: VecDeque::new(),
            records: 0,
            cost: None,
            buffer_kib: BUFFER_KIB.min(ALL_BUFFERS_KIB / count).max(64),
        };
        source.set_up().map_err(TracefsError::Use)?;
        if source.decoder.has("raw_syscalls/sys_exit") {
            source.cost = Some(source.measure_cost()?);
        }
        Ok(source)
    }

    fn set_up(&mut self) -> Result<(), SysError> {
        let kib = self.buffer_kib;
        for (instance, kib) in [
            (&mut self.all, kib),
            (&mut self.own, OWN_BUFFER_KIB.min(kib)),
        ] {
            // The clock of the threads' deadlines.
            instance.write("trace_clock", "mono")?;
            instance.open_buffers(&self.cpus, kib)?;
        }
        // What is lost is to be the newest: what was recorded stays whole.
        for instance in [&self.all, &self.own] {
            instance.write("options/overwrite", "0")?;
        }
        self.own.write("options/event-fork", "1")
    }

    /// Records what these threads do, and those that they start.
    pub(super) fn follow(&self, tids: &[Tid]) -> Result<(), MeasureError> {
        let list: Vec<String> = tids.iter().map(ToString::to_string).collect();
        Ok(self
            .own
            .write("set_event_pid", &list.join(" "))
            .map_err(TracefsError::Use)?)
    }

    /// Returns the number of CPUs.
    pub(super) fn cpus(&self) -> usize {
        self.cpus.len()
    }

    /// Begins to record.
    pub(super) fn start(&self) -> Result<(), MeasureError> {
        self.switch(true)
    }

    /// Measures what one event costs the thread that it happens to: system calls of ours with and without their two events, in
    /// turn.
    fn measure_cost(&self) -> Result<Figure, MeasureError> {
        self.follow(&[thread::Tid::current().get()])?;
        let mut differences = Vec::new();
        for _ in 0..COST_PAIRS {
            let without = self.calls_take();
            self.switch_calls(true)?;
            let with = self.calls_take();
            self.switch_calls(false)?;
            differences.push((with - without) / 2.0);
        }
        Ok(median_figure(
            "tracing_cost_per_event",
            "ns",
            Better::Lower,
            &mut differences,
        ))
    }

    /// Returns how long a system call takes now, in ns.
    fn calls_take(&self) -> f64 {
        let begun = clock::monotonic();
        for _ in 0..COST_CALLS {
            std::hint::black_box(std::os::unix::process::parent_id());
        }
        #[expect(clippy::cast_precision_loss, reason = "less than a second")]
        {
            clock::monotonic().since(begun).get() as f64 / f64::from(COST_CALLS)
        }
    }

    fn switch_calls(&self, on: bool) -> Result<(), MeasureError> {
        let calls = self
            .decoder
            .chosen()
            .iter()
            .filter(|w| w.event.starts_with("raw_syscalls/"));
        for wanted in calls {
            let value = if on { "1" } else { "0" };
            let path = format!("events/{}/enable", wanted.event);
            self.own.write(&path, value).map_err(TracefsError::Use)?;
        }
        Ok(())
    }

    /// Ends recording.
    pub(super) fn stop(&self) -> Result<(), MeasureError> {
        self.switch(false)
    }

    fn switch(&self, on: bool) -> Result<(), MeasureError> {
        for wanted in self.decoder.chosen() {
            let instance = match wanted.of {
                Of::All => &self.all,
                Of::Watched => &self.own,
            };
            // What we write ourselves needs no switch.
            if wanted.event.starts_with("ftrace/") {
                continue;
            }
            let value = if on { "1" } else { "0" };
            instance
                .write(&format!("events/{}/enable", wanted.event), value)
                .map_err(TracefsError::Use)?;
        }
        Ok(())
    }

    /// Reads what is in the buffers, and passes on what is in order: events that others may still come before wait.
    pub(super) fn read(&mut self, names: &mut Names) -> Result<Vec<Event>, MeasureError> {
        let begun = clock::monotonic();
        self.take(names)?;
        let upto = begun.get().saturating_sub(ON_ITS_WAY);
        let ready = self.waiting.partition_point(|event| event.time < upto);
        Ok(self.waiting.drain(..ready).collect())
    }

    /// Reads all that is left.
    pub(super) fn rest(&mut self, names: &mut Names) -> Result<Vec<Event>, MeasureError> {
        self.take(names)?;
        Ok(std::mem::take(&mut self.waiting).into())
    }

    fn take(&mut self, names: &mut Names) -> Result<(), MeasureError> {
        let (decoder, layout) = (&self.decoder, self.layout);
        let first = self.waiting.len();
        for instance in [&mut self.all, &mut self.own] {
            for buffer in instance.buffers() {
                let cpu = buffer.cpu;
                while let Some(page) = buffer.read(&mut self.page).map_err(MeasureError::Trace)? {
                    for record in Records::of(page, layout).into_iter().flatten() {
                        self.records += 1;
                        self.waiting.extend(decoder.read(cpu, &record, names));
                    }
                }
            }
        }
        if self.waiting.len() > first {
            // Those of one CPU are in order already. Of the two instances the same moment stands in both orders: a system
            // call ends before its thread is switched away.
            self.waiting
                .make_contiguous()
                .sort_by_key(|event| event.time);
        }
        Ok(())
    }

    /// Returns how many records the kernel could not take.
    pub(super) fn losses(&self) -> Result<Losses, MeasureError> {
        let mut all = Losses::default();
        for cpu in self.cpus.iter() {
            for instance in [&self.all, &self.own] {
                all = all + instance.losses(cpu).map_err(TracefsError::Use)?;
            }
        }
        Ok(all)
    }

    /// Removes the instances.
    pub(super) fn remove(self) -> Result<(), MeasureError> {
        let removed = [self.all.remove(), self.own.remove()];
        for result in removed {
            result.map_err(TracefsError::Use)?;
        }
        Ok(())
    }
}

/// Returns a function that names the kernel's functions, as far as the kernel tells where they are.
pub(super) fn symbols(sys: &SysRoot) -> super::replay::Symbols {
    let text = sys.read("/proc/kallsyms").unwrap_or_default();
    let mut all: Vec<(u64, String)> = text
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            let kind = words.next()?;
            let is_code = matches!(kind, "t" | "T" | "w" | "W");
            // Where the kernel hides its addresses all are 0.
            (is_code && address > 0).then(|| (address, words.next().unwrap_or("?").to_owned()))
        })
        .collect();
    all.sort_unstable();
    std::sync::Arc::new(move |address| {
        let place = all.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        all.get(place).map(|(_, name)| name.clone())
    })
}

/// Returns how long each idle state of a CPU takes to leave, as the kernel knows it.
pub(super) fn idle_exits(sys: &SysRoot) -> super::cycle::IdleExits {
    let dir = "/sys/devices/system/cpu/cpu0/cpuidle";
    let names = sys.names(dir).unwrap_or_default();
    let exits = names.iter().filter_map(|name| {
        let state: u8 = name.strip_prefix("state")?.parse().ok()?;
        let us: u64 = sys
            .read(&format!("{dir}/{name}/latency"))
            .ok()?
            .trim()
            .parse()
            .ok()?;
        Some((state, Nanos::from_micros(us).get()))
    });
    exits.collect()
}
