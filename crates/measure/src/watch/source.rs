// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's trace, in two instances of our own: what all threads of the machine do, and what the watched ones do
//! beyond that.

use std::collections::VecDeque;
use std::fs::File;
use std::sync::Arc;

use punctual_model::{Better, CpuId, CpuSet, Figure, Nanos};
use punctual_sys::pages::{HugePages, Pages};
use punctual_sys::tracefs::{Guard, Tracefs, TracefsError, Uprobe};
use punctual_sys::{SysRoot, clock, thread};

use super::event::{Decoder, Event, Of};
use super::habits;
use super::probe::Place;
use super::stacks::{StackReader, Stacks, Taken};
use super::who::{Names, Tid};
use crate::error::MeasureError;
use crate::irq::{event_group, instance_name};
use crate::median::median_figure;
use crate::trace::{self, Lost, Reader};

/// Trace buffer of each CPU, in KiB: a busy machine fills some 4 MB a second.
const BUFFER_KIB: u32 = 8 * 1_024;

/// The same for where watched threads are.
const STACKS_BUFFER_KIB: u32 = 2 * 1_024;

/// How often the cost of an event is measured, and by how many system calls each time.
const COST_PAIRS: u32 = 9;
const COST_CALLS: u32 = 2_000;

/// Pages that are touched each time that the cost of a fault is measured, and numbers on a page.
const COST_PAGES: usize = 64;
const ON_A_PAGE: usize = 512;

const FAULT: &str = "exceptions/page_fault_user";

/// Returns how long a page takes that is touched for the first time, in ns.
fn faults_take() -> Option<u64> {
    let mut pages = Pages::<u64>::map(COST_PAGES * ON_A_PAGE, HugePages::Refuse).ok()?;
    let begun = clock::monotonic();
    let numbers = pages.numbers_mut::<u64>().iter_mut();
    numbers.step_by(ON_A_PAGE).for_each(|n| *n = 1);
    std::hint::black_box(&mut pages);
    Some(clock::monotonic().since(begun).get() / COST_PAGES as u64)
}

/// Time after which an event is in the buffers, in ns: it gets its time before it is put there.
const ON_ITS_WAY: u64 = 200_000;

/// The trace of a running kernel.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) decoder: Decoder,
    all: Reader,
    own: Reader,
    /// Where watched threads wait, call and fault, where that is asked for and the kernel tells it.
    stacks: Option<StackReader>,
    /// The event at a function of the program. Instances that record it go before it does.
    probe: Option<Uprobe>,
    /// Removes the instances where we cannot any more.
    _guard: Guard,
    /// Where it is not mounted it is there as long as this is, and the instances' files with it: the last to go.
    _tracefs: Tracefs,
    /// Events that were read and are not passed on yet.
    waiting: VecDeque<Event>,
    /// What one event costs the thread that it happens to.
    pub(super) cost: Option<Figure>,
    /// How long a page fault of ours took, in ns.
    pub(super) fault_ns: Option<u64>,
    /// Buffer of each CPU, in KiB.
    kib: u32,
}

impl Source {
    /// Makes the instances, with buffers of `kib` a CPU where that is asked for. Nothing is recorded yet.
    /// Where a cycle ends at a function, that is at `probe`. `timerlat`: that tracer runs, and what it says is recorded too.
    pub(super) fn new(
        sys: &SysRoot,
        kib: Option<u32>,
        probe: Option<&Place>,
        taken: Taken,
        timerlat: bool,
    ) -> Result<Self, MeasureError> {
        let tracefs = Tracefs::open_for_threads(sys)?;
        let cpus = trace::cpus(sys)?;
        let mut decoder = Decoder::of(&tracefs, |wanted| {
            !wanted.is_for_devices() && (timerlat || !wanted.is_of_timerlat())
        })?;
        let name = instance_name(sys);
        let usual = trace::buffer_kib(2 * BUFFER_KIB, &cpus) / 2;
        let [kib, stacks_kib] = match kib {
            Some(kib) => [kib; 2],
            None => [usual, STACKS_BUFFER_KIB.min(usual)],
        };
        let (watched, of_stacks) = (format!("{name}+watched"), format!("{name}+stacks"));
        let group = event_group(&name);
        // Before the first of them is made: a kill may come at any moment.
        let names = [name.as_str(), &watched, &of_stacks];
        let guard = tracefs.guard(&names, probe.map(|_| group.as_str()));
        let guard = guard.map_err(MeasureError::Spawn)?;
        // Another instance has the tracer already, and this one gets what it writes.
        let tracer = timerlat.then_some("timerlat");
        let all = Reader::with_tracer(&tracefs, &name, tracer, &cpus, kib)?;
        let own = Reader::new(&tracefs, &watched, &cpus, kib)?;
        let calls = habits::calls();
        let stacks = StackReader::new(&tracefs, (&of_stacks, stacks_kib), &cpus, taken, &calls)?;
        let probe = match probe {
            Some(place) => {
                let probe = tracefs.uprobe(&group, &place.file, place.offset);
                let probe = probe.map_err(TracefsError::Use)?;
                decoder.learn_probe(tracefs.format(&probe.event())?.id());
                Some(probe)
            }
            None => None,
        };
        let mut source = Self {
            decoder,
            all,
            own,
            stacks,
            probe,
            _guard: guard,
            _tracefs: tracefs,
            waiting: VecDeque::new(),
            cost: None,
            fault_ns: None,
            kib,
        };
        source.set_up()?;
        if source.decoder.has("raw_syscalls/sys_exit") {
            source.cost = Some(source.measure_cost()?);
        }
        if source.decoder.has(FAULT) {
            source.fault_ns = source.measure_fault()?;
        }
        Ok(source)
    }

    fn set_up(&self) -> Result<(), MeasureError> {
        // What is lost is to be the newest: what was recorded stays whole.
        for instance in [&self.all, &self.own] {
            instance.write("options/overwrite", "0")?;
        }
        self.own.write("options/event-fork", "1")
    }

    /// Records what these threads do, and those that they start.
    pub(super) fn follow(&self, tids: &[Tid]) -> Result<(), MeasureError> {
        let list: Vec<String> = tids.iter().map(ToString::to_string).collect();
        let list = list.join(" ");
        if let Some(stacks) = &self.stacks {
            stacks.follow(&list)?;
        }
        self.own.write("set_event_pid", &list)
    }

    /// Records what these do too, and those that they start.
    pub(super) fn follow_too(&self, tids: &[Tid]) -> Result<(), MeasureError> {
        let list: Vec<String> = tids.iter().map(ToString::to_string).collect();
        let list = list.join(" ");
        if let Some(stacks) = &self.stacks {
            stacks.follow_too(&list)?;
        }
        self.own.add("set_event_pid", &list)
    }

    /// Whether the kernel tells where threads are as they wait.
    pub(super) const fn takes_stacks(&self) -> bool {
        self.stacks.is_some()
    }

    /// Whether some of these were not taken because there were too many.
    pub(super) fn limits_stacks(&self) -> bool {
        self.stacks.as_ref().is_some_and(|stacks| stacks.limited)
    }

    /// Returns the CPUs.
    pub(super) const fn cpus(&self) -> &CpuSet {
        self.all.cpus()
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
            self.own.switch(wanted.event, on)?;
        }
        Ok(())
    }

    /// Measures how long a page fault takes that is recorded: of ours, one page after the other.
    fn measure_fault(&self) -> Result<Option<u64>, MeasureError> {
        self.follow(&[thread::Tid::current().get()])?;
        self.switch_faults(true)?;
        let times = (0..COST_PAIRS).map_while(|_| faults_take());
        let mut times: Vec<u64> = times.collect();
        self.switch_faults(false)?;
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    }

    fn switch_faults(&self, on: bool) -> Result<(), MeasureError> {
        self.own.switch(FAULT, on)?;
        match &self.stacks {
            Some(stacks) => stacks.switch(|event| event == FAULT, on),
            None => Ok(()),
        }
    }

    /// Returns files that end recording at once when `0` is written to them, by whoever knows first that it is over.
    pub(super) fn switches(&self) -> Result<Vec<File>, MeasureError> {
        let instances = [&self.all, &self.own].into_iter();
        let files = instances.map(|reader| reader.instance().open_for_writing("tracing_on"));
        Ok(files.collect::<Result<_, _>>().map_err(TracefsError::Use)?)
    }

    /// Ends recording.
    pub(super) fn stop(&self) -> Result<(), MeasureError> {
        // At once: to switch each event off takes a while.
        if let Some(stacks) = &self.stacks {
            stacks.stop()?;
        }
        for instance in [&self.all, &self.own] {
            instance.write("tracing_on", "0")?;
        }
        self.switch(false)
    }

    fn switch(&self, on: bool) -> Result<(), MeasureError> {
        let switched = self.decoder.chosen().iter();
        for wanted in switched.filter(|wanted| wanted.is_switched()) {
            let instance = match wanted.of {
                Of::All => &self.all,
                Of::Watched => &self.own,
            };
            instance.switch(wanted.event, on)?;
        }
        if let Some(probe) = &self.probe {
            self.own.switch(&probe.event(), on)?;
        }
        if let Some(stacks) = &self.stacks {
            stacks.switch(|event| self.decoder.has(event), on)?;
        }
        Ok(())
    }

    /// Reads what is in the buffers, and passes on what is in order: events that others may still come before wait.
    pub(super) fn read(
        &mut self,
        names: &mut Names,
        stacks: &mut Stacks,
    ) -> Result<Vec<Event>, MeasureError> {
        let begun = clock::monotonic();
        self.take((names, stacks), true)?;
        let upto = begun.get().saturating_sub(ON_ITS_WAY);
        let ready = self.waiting.partition_point(|event| event.time < upto);
        Ok(self.waiting.drain(..ready).collect())
    }

    /// Reads all that is left.
    pub(super) fn rest(
        &mut self,
        names: &mut Names,
        stacks: &mut Stacks,
    ) -> Result<Vec<Event>, MeasureError> {
        self.take((names, stacks), false)?;
        Ok(std::mem::take(&mut self.waiting).into())
    }

    /// Takes what is in the buffers.
    fn take(
        &mut self,
        (names, stacks): (&mut Names, &mut Stacks),
        goes_on: bool,
    ) -> Result<(), MeasureError> {
        let (decoder, waiting) = (&self.decoder, &mut self.waiting);
        let first = waiting.len();
        for instance in [&mut self.all, &mut self.own] {
            instance.read(goes_on, |cpu, record| {
                waiting.extend(decoder.read(cpu, record, names));
            })?;
        }
        if let Some(reader) = &mut self.stacks {
            let now = clock::monotonic().get();
            reader.read((goes_on, now), stacks, |event| waiting.push_back(event))?;
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
    pub(super) const fn records(&self) -> u64 {
        self.all.records() + self.own.records()
    }

    /// Returns what the kernel could not take, and what would have held it.
    pub(super) fn lost(&self) -> Result<Lost, MeasureError> {
        Ok(self.all.lost()?.and(self.own.lost()?, self.kib))
    }

    /// Removes the instances.
    pub(super) fn remove(self) -> Result<(), MeasureError> {
        // All, also where the first cannot be.
        let stacks = self.stacks.map_or(Ok(()), StackReader::remove);
        let removed = [self.all.remove(), self.own.remove(), stacks];
        removed.into_iter().collect()
    }
}

/// The kernel's functions, as far as the kernel tells where they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Kallsyms(Arc<Vec<(u64, String)>>);

impl Kallsyms {
    pub(super) fn read(sys: &SysRoot) -> Self {
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
        Self(Arc::new(all))
    }

    /// Whether the kernel hides where they are.
    pub(super) fn is_hidden(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns what names the functions that begin at an address.
    pub(super) fn beginnings(&self) -> Option<super::replay::Symbols> {
        let all = Arc::clone(&self.0);
        let name = move |address| {
            let place = all.binary_search_by_key(&address, |(at, _)| *at).ok()?;
            all.get(place).map(|(_, name): &(u64, String)| name.clone())
        };
        (!self.is_hidden()).then(|| Arc::new(name) as super::replay::Symbols)
    }

    /// Returns the function that an address lies in: the last one that begins before it.
    pub(super) fn within(&self, address: u64) -> Option<&str> {
        let after = self.0.partition_point(|(at, _)| *at <= address);
        let (_, name) = self.0.get(after.checked_sub(1)?)?;
        Some(name)
    }
}

/// Returns how long each idle state of each CPU takes to leave, as the kernel knows it.
pub(super) fn idle_exits(sys: &SysRoot) -> super::cycle::IdleExits {
    let cpus = sys.names("/sys/devices/system/cpu").unwrap_or_default();
    let numbered = |name: &String| name.strip_prefix("cpu")?.parse::<CpuId>().ok();
    let of_cpu = |cpu: CpuId| {
        let dir = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
        let names = sys.names(&dir).unwrap_or_default();
        names.into_iter().filter_map(move |name| {
            let state: u8 = name.strip_prefix("state")?.parse().ok()?;
            let latency = sys.read(&format!("{dir}/{name}/latency")).ok()?;
            let us: u64 = latency.trim().parse().ok()?;
            Some(((cpu, state), Nanos::from_micros(us).get()))
        })
    };
    cpus.iter().filter_map(numbered).flat_map(of_cpu).collect()
}
