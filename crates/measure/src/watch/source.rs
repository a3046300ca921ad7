// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's trace, in two instances of our own: what all threads of the machine do, and what the watched ones do
//! beyond that.

use std::collections::VecDeque;

use punctual_model::{Better, CpuSet, Figure, Nanos};
use punctual_sys::tracefs::{Guard, Instance, PageLayout, Records, Tracefs, TracefsError, Uprobe};
use punctual_sys::{SysError, SysRoot, clock, sched, thread};

use super::event::{Decoder, Event, Of};
use super::probe::Place;
use super::who::{Names, Tid};
use crate::error::MeasureError;
use crate::irq::{event_group, instance_name};
use crate::median::median_figure;

/// Trace buffer of each CPU, in KiB: a busy machine fills some 4 MB a second.
const BUFFER_KIB: u32 = 8 * 1_024;

/// The same for what watched threads alone do.
const OWN_BUFFER_KIB: u32 = 2 * 1_024;

/// Largest trace buffer of a CPU that may be asked for, in KiB.
pub const LARGEST_BUFFER_KIB: u32 = 1_048_576;

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
    /// The event at a function of the program. Instances that record it go before it does.
    probe: Option<Uprobe>,
    /// Removes the instances where we cannot any more.
    _guard: Guard,
    /// Where it is not mounted it is there as long as this is, and the instances' files with it: the last to go.
    _tracefs: Tracefs,
    layout: PageLayout,
    page: Vec<u8>,
    cpus: CpuSet,
    /// Events that were read and are not passed on yet.
    waiting: VecDeque<Event>,
    read: [Taken; 2],
    /// What one event costs the thread that it happens to.
    pub(super) cost: Option<Figure>,
    /// Buffers of each CPU, in KiB.
    kib: [u32; 2],
}

/// What was read of an instance: that of all threads, or that of the watched ones.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    records: u64,
    bytes: u64,
}

/// What the kernel could not take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lost {
    /// Records of all CPUs.
    pub(super) records: u64,
    /// The buffer of each CPU that was full, in KiB.
    kib: u32,
    /// The buffer that would have held all of them, in KiB, at this many bytes a record. Nothing where none was lost.
    wanted: Option<(u32, f64)>,
}

impl Lost {
    /// Counts `records` that did not fit into a buffer of `kib` KiB, from which `taken` was read.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bytes of records that were read, rounded up; a cast that is too large saturates"
    )]
    fn add(&mut self, kib: u32, taken: Taken, records: u64) {
        self.records += records;
        if records == 0 || taken.records == 0 {
            return;
        }
        let bytes = taken.bytes as f64 / taken.records as f64;
        let more = (records as f64 * bytes / 1_024.0).ceil() as u32;
        // Pages are not filled to their last byte.
        let wanted = kib.saturating_add(more).saturating_add(1);
        let wanted = wanted.checked_next_multiple_of(1_024).unwrap_or(wanted);
        if self.wanted.is_none_or(|(known, _)| known < wanted) {
            (self.kib, self.wanted) = (kib, Some((wanted, bytes)));
        }
    }

    /// Says what was lost, of `read` records that were not, and what would have held it.
    pub(super) fn says(self, read: u64) -> String {
        let lost = self.records;
        match (lost, self.wanted) {
            (0, _) => format!("{read} trace records were read, none was lost"),
            (_, None) => format!("the kernel could not take {lost} trace records"),
            (_, Some((wanted, bytes))) => {
                let advice = match wanted > LARGEST_BUFFER_KIB {
                    true => "no --buffer would have held them: watch fewer threads".to_owned(),
                    false => format!("--buffer {wanted} would have held them"),
                };
                format!(
                    "the kernel could not take {lost} trace records: a buffer of {} KiB a CPU was full; {advice}, at \
                     {bytes:.0} bytes a record",
                    self.kib
                )
            }
        }
    }
}

impl Source {
    /// Makes the instances, with buffers of `kib` a CPU where that is asked for. Nothing is recorded yet.
    /// Where a cycle ends at a function, that is at `probe`.
    pub(super) fn new(
        sys: &SysRoot,
        kib: Option<u32>,
        probe: Option<&Place>,
    ) -> Result<Self, MeasureError> {
        let tracefs = Tracefs::open(sys)?;
        let cpus: CpuSet = match sys.fact("/sys/devices/system/cpu/online") {
            Some(cpus) => cpus,
            None => sched::affinity().map_err(|source| MeasureError::ReadBack { source })?,
        };
        let mut decoder = Decoder::of(&tracefs)?;
        let name = instance_name(sys);
        let all = tracefs.instance(&name).map_err(TracefsError::Use)?;
        let own = tracefs.instance(&format!("{name}+watched"));
        let watched = format!("{name}+watched");
        let group = event_group(&name);
        let guard = tracefs.guard(&[&name, &watched], probe.map(|_| group.as_str()));
        let guard = guard.map_err(MeasureError::Spawn)?;
        let probe = match probe {
            Some(place) => {
                let probe = tracefs.uprobe(&group, &place.file, place.offset);
                let probe = probe.map_err(TracefsError::Use)?;
                decoder.learn_probe(tracefs.format(&probe.event())?.id());
                Some(probe)
            }
            None => None,
        };
        let layout = tracefs.page_layout()?;
        let count = u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1);
        let usual = BUFFER_KIB.min(ALL_BUFFERS_KIB / count).max(64);
        let mut source = Self {
            decoder,
            all,
            own: own.map_err(TracefsError::Use)?,
            probe,
            _guard: guard,
            _tracefs: tracefs,
            layout,
            page: vec![0; layout.bytes()],
            cpus,
            waiting: VecDeque::new(),
            read: [Taken::default(); 2],
            cost: None,
            kib: match kib {
                Some(kib) => [kib; 2],
                None => [usual, OWN_BUFFER_KIB.min(usual)],
            },
        };
        source.set_up().map_err(TracefsError::Use)?;
        if source.decoder.has("raw_syscalls/sys_exit") {
            source.cost = Some(source.measure_cost()?);
        }
        Ok(source)
    }

    fn set_up(&mut self) -> Result<(), SysError> {
        for (instance, kib) in [&mut self.all, &mut self.own].into_iter().zip(self.kib) {
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

    /// Returns the CPUs.
    pub(super) const fn cpus(&self) -> &CpuSet {
        &self.cpus
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
            let value = if on { "1" } else { "0" };
            instance
                .write(&format!("events/{}/enable", wanted.event), value)
                .map_err(TracefsError::Use)?;
        }
        if let Some(probe) = &self.probe {
            let value = if on { "1" } else { "0" };
            let path = format!("events/{}/enable", probe.event());
            self.own.write(&path, value).map_err(TracefsError::Use)?;
        }
        Ok(())
    }

    /// Reads what is in the buffers, and passes on what is in order: events that others may still come before wait.
    pub(super) fn read(&mut self, names: &mut Names) -> Result<Vec<Event>, MeasureError> {
        let begun = clock::monotonic();
        self.take(names, true)?;
        let upto = begun.get().saturating_sub(ON_ITS_WAY);
        let ready = self.waiting.partition_point(|event| event.time < upto);
        Ok(self.waiting.drain(..ready).collect())
    }

    /// Reads all that is left.
    pub(super) fn rest(&mut self, names: &mut Names) -> Result<Vec<Event>, MeasureError> {
        self.take(names, false)?;
        Ok(std::mem::take(&mut self.waiting).into())
    }

    /// Takes what is in the buffers, while it is still recorded no more than fits into them: who writes faster than this
    /// reads would fill our memory.
    fn take(&mut self, names: &mut Names, goes_on: bool) -> Result<(), MeasureError> {
        let (decoder, layout) = (&self.decoder, self.layout);
        let first = self.waiting.len();
        let instances = [&mut self.all, &mut self.own].into_iter();
        for ((instance, read), kib) in instances.zip(&mut self.read).zip(self.kib) {
            let buffers_pages = kib as usize * 1_024 / layout.bytes().max(1) + 1;
            for buffer in instance.buffers() {
                let cpu = buffer.cpu;
                let mut pages = 0;
                while !goes_on || pages < buffers_pages {
                    pages += 1;
                    let Some(page) = buffer.read(&mut self.page).map_err(MeasureError::Trace)?
                    else {
                        break;
                    };
                    let Some(records) = Records::of(page, layout) else {
                        continue;
                    };
                    read.bytes += records.bytes() as u64;
                    for record in records {
                        read.records += 1;
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

    /// Returns how many records were read.
    pub(super) fn records(&self) -> u64 {
        self.read.iter().map(|read| read.records).sum()
    }

    /// Returns what the kernel could not take, and what would have held it.
    pub(super) fn lost(&self) -> Result<Lost, MeasureError> {
        let mut lost = Lost::default();
        for cpu in self.cpus.iter() {
            for (n, instance) in [&self.all, &self.own].into_iter().enumerate() {
                let losses = instance.losses(cpu).map_err(TracefsError::Use)?;
                lost.add(self.kib[n], self.read[n], losses.all());
            }
        }
        // An option is that of all buffers, and is not to make one of them smaller.
        lost.wanted = lost
            .wanted
            .map(|(kib, bytes)| (kib.max(self.kib[0]), bytes));
        Ok(lost)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_that_would_have_held_all_follows_from_what_was_read() {
        let mut lost = Lost::default();
        let taken = Taken {
            records: 10_000,
            bytes: 500_000,
        };
        lost.add(2_048, taken, 0);
        assert_eq!(
            lost.says(10_000),
            "10000 trace records were read, none was lost"
        );
        // 100,000 records of 50 bytes are 4,883 KiB, beyond the 2,048 that were taken.
        lost.add(2_048, taken, 100_000);
        lost.add(2_048, taken, 50);
        assert_eq!(lost.records, 100_050);
        let says = lost.says(10_000);
        assert!(
            says.contains("a buffer of 2048 KiB a CPU was full"),
            "{says}"
        );
        assert!(
            says.contains("--buffer 7168 would have held them, at 50 bytes a record"),
            "{says}"
        );
        // No buffer may be that large.
        lost.add(2_048, taken, 30_000_000);
        let says = lost.says(10_000);
        assert!(
            says.contains("no --buffer would have held them: watch fewer threads, at 50 bytes"),
            "{says}"
        );
        // The length of a record is unknown where nothing was read.
        let mut unknown = Lost::default();
        unknown.add(64, Taken::default(), 7);
        assert_eq!(unknown.says(0), "the kernel could not take 7 trace records");
    }
}
