// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which moments of a wake-up this kernel records, and how to have only those of our threads.

use punctual_model::{CpuId, Finding};
use punctual_sys::thread::Tid;
use punctual_sys::tracefs::{EventFormat, Field, Instance, Record, Tracefs, TracefsError};
use punctual_sys::{PathError, SysRoot, calls};

/// What a record says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum MomentKind {
    /// The timer's interrupt begins to be handled.
    IrqEntry,
    /// A thread of ours is about to be made runnable.
    Waking {
        /// Number of the thread, from 0.
        thread: usize,
    },
    /// The timer's interrupt is handled.
    IrqExit,
    /// A thread of ours is at the end of its system call.
    SyscallExit {
        /// Number of the thread, from 0.
        thread: usize,
    },
    /// We wrote to `trace_marker`.
    Mark,
}

/// A record that matters, on the monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Moment {
    pub(super) time: u64,
    pub(super) cpu: CpuId,
    pub(super) kind: MomentKind,
}

/// The interrupt's two events, best first. `irq_vectors` is x86's; there the local timer is no
/// interrupt that `irq/` would see, but another timer may be in use, for which the local timer's never come.
/// Without either, the run of the timer's function is what is left.
const INTERRUPTS: [(&str, &str); 3] = [
    (
        "irq_vectors/local_timer_entry",
        "irq_vectors/local_timer_exit",
    ),
    ("irq/irq_handler_entry", "irq/irq_handler_exit"),
    ("timer/hrtimer_expire_entry", "timer/hrtimer_expire_exit"),
];

const WAKING: &str = "sched/sched_waking";
/// The end of the sleep. Kernels for 32 bits have it twice, for times of 64 bits and of 32, and which of them a library calls depends on that.
const CLOCK_NANOSLEEP: [&str; 2] = [
    "syscalls/sys_exit_clock_nanosleep",
    "syscalls/sys_exit_clock_nanosleep_time32",
];
const ANY_SYSCALL: &str = "raw_syscalls/sys_exit";
const MARK: &str = "ftrace/print";

/// One event that is switched on.
#[derive(Clone, Debug)]
struct Source {
    event: &'static str,
    filter: Option<String>,
    id: u16,
    meaning: Meaning,
}

#[derive(Clone, Copy, Debug)]
enum Meaning {
    IrqEntry,
    IrqExit,
    /// The field that names the thread.
    Waking(Field),
    SyscallExit(Field),
}

/// The events to record, and what they mean.
#[derive(Clone, Debug)]
pub(super) struct Probe {
    sources: Vec<Source>,
    tids: Vec<i32>,
    mark: u16,
    interrupt: &'static str,
    syscall_exit: bool,
}

impl Probe {
    /// Chooses among what the kernel has, for threads with these numbers.
    pub(super) fn of(sys: &SysRoot, tracefs: &Tracefs, tids: &[Tid]) -> Result<Self, TracefsError> {
        let tids: Vec<i32> = tids.iter().map(|tid| tid.get()).collect();
        let (entry, exit) = interrupt(sys, tracefs);
        let mut probe = Self {
            sources: Vec::new(),
            mark: tracefs.format(MARK)?.id(),
            interrupt: entry,
            syscall_exit: false,
            tids,
        };
        probe.add(tracefs, entry, None, |_| Ok(Meaning::IrqEntry))?;
        probe.add(tracefs, exit, None, |_| Ok(Meaning::IrqExit))?;
        let ours = probe.ours("pid");
        probe.add(tracefs, WAKING, Some(ours), |format| {
            Ok(Meaning::Waking(field(format, WAKING, "pid")?))
        })?;
        let syscall = probe.ours("common_pid");
        let mut exits: Vec<(&str, String)> = sleeps(cfg!(target_pointer_width = "32"))
            .filter(|event| tracefs.has_event(event))
            .map(|event| (event, syscall.clone()))
            .collect();
        if exits.is_empty() && tracefs.has_event(ANY_SYSCALL) {
            let numbers: Vec<String> = (0..1_024)
                .filter(|call| {
                    let name = calls::name(*call);
                    name.is_some_and(|name| name.starts_with("clock_nanosleep"))
                })
                .map(|number| format!("id=={number}"))
                .collect();
            let filter = format!("({})&&{syscall}", numbers.join("||"));
            exits.push((ANY_SYSCALL, filter));
        }
        for (event, filter) in exits {
            probe.syscall_exit = true;
            probe.add(tracefs, event, Some(filter), |format| {
                Ok(Meaning::SyscallExit(field(format, event, "common_pid")?))
            })?;
        }
        Ok(probe)
    }

    fn add(
        &mut self,
        tracefs: &Tracefs,
        event: &'static str,
        filter: Option<String>,
        meaning: impl FnOnce(&EventFormat) -> Result<Meaning, TracefsError>,
    ) -> Result<(), TracefsError> {
        let format = tracefs.format(event)?;
        self.sources.push(Source {
            event,
            filter,
            id: format.id(),
            meaning: meaning(&format)?,
        });
        Ok(())
    }

    /// Writes a filter that lets our threads pass. They were started one after the other, so that a
    /// range of numbers has few others in it: those are dropped when they are read.
    fn ours(&self, field: &str) -> String {
        let first = self.tids.iter().min().copied().unwrap_or(0);
        let last = self.tids.iter().max().copied().unwrap_or(0);
        format!("{field}>={first}&&{field}<={last}")
    }

    /// Whether the kernel records the end of the system call.
    pub(super) const fn has_syscall_exit(&self) -> bool {
        self.syscall_exit
    }

    /// Returns the events.
    pub(super) fn events(&self) -> String {
        let events: Vec<&str> = self.sources.iter().map(|source| source.event).collect();
        events.join(" ")
    }

    /// Says what this kernel does not record, so that nobody takes a phase for what it is not.
    pub(super) fn lacking(&self) -> Vec<Finding> {
        let mut lacking = Vec::new();
        if self.interrupt == INTERRUPTS[1].0 {
            lacking.push(Finding::observed(
                "interrupt-event",
                "the timer's interrupt has no event of irq_vectors here (only x86's local timer has): it begins at \
                 irq_handler_entry, after the architecture's own entry code",
            ));
        } else if self.interrupt == INTERRUPTS[2].0 {
            lacking.push(Finding::observed(
                "interrupt-event",
                "this kernel does not record the interrupt of its timer: the timer's function stands for the \
                 interrupt's entry, so `delivery` includes part of the handling",
            ));
        }
        if !self.syscall_exit {
            lacking.push(Finding::observed(
                "syscall-exit-event",
                "this kernel does not record the end of system calls (CONFIG_FTRACE_SYSCALLS): \
                 there is no phase `switch`, and `return` begins at the end of the interrupt",
            ));
        }
        lacking
    }

    /// Sets the filters. Nothing is recorded yet.
    pub(super) fn prepare(&self, instance: &Instance) -> Result<(), PathError> {
        for source in &self.sources {
            if let Some(filter) = &source.filter {
                instance.write(&format!("events/{}/filter", source.event), filter)?;
            }
        }
        Ok(())
    }

    /// Switches the events on or off.
    pub(super) fn switch(&self, instance: &Instance, on: bool) -> Result<(), PathError> {
        for source in &self.sources {
            let value = if on { "1" } else { "0" };
            instance.write(&format!("events/{}/enable", source.event), value)?;
        }
        Ok(())
    }

    /// Says what a record of `cpu` means to us, if anything.
    pub(super) fn read(&self, cpu: CpuId, record: &Record<'_>) -> Option<Moment> {
        let (id, time) = (record.id()?, record.time);
        if id == self.mark {
            let kind = MomentKind::Mark;
            return Some(Moment { time, cpu, kind });
        }
        let source = self.sources.iter().find(|source| source.id == id)?;
        let thread = |field: Field| {
            let tid = field.read(record.data)?;
            self.tids.iter().position(|own| i64::from(*own) == tid)
        };
        let kind = match source.meaning {
            Meaning::IrqEntry => MomentKind::IrqEntry,
            Meaning::IrqExit => MomentKind::IrqExit,
            Meaning::Waking(field) => MomentKind::Waking {
                thread: thread(field)?,
            },
            Meaning::SyscallExit(field) => MomentKind::SyscallExit {
                thread: thread(field)?,
            },
        };
        Some(Moment { time, cpu, kind })
    }
}

/// Returns the events that may be the end of our sleep.
fn sleeps(of_32_bits: bool) -> impl Iterator<Item = &'static str> {
    let called = if of_32_bits { 2 } else { 1 };
    CLOCK_NANOSLEEP.into_iter().take(called)
}

/// Chooses the events of the interrupt of the timer in use.
fn interrupt(sys: &SysRoot, tracefs: &Tracefs) -> (&'static str, &'static str) {
    let has = |pair: &(&str, &str)| tracefs.has_event(pair.0) && tracefs.has_event(pair.1);
    let [local, handled, expired] = INTERRUPTS;
    let fits = |pair: &(&str, &str)| {
        // Only x86 has the first, and which timers there are matters only there.
        let timers = match has(&local) {
            true => timers(sys),
            false => Vec::new(),
        };
        let is_any = |start: &str| timers.iter().any(|name| name.starts_with(start));
        has(pair)
            && match *pair {
                pair if pair == local => timers.iter().all(|name| name.starts_with("lapic")),
                // Hyper-V's timer comes by a vector that has no event.
                pair if pair == handled => !is_any("Hyper-V"),
                _ => true,
            }
    };
    let mut pairs = [local, handled, expired].into_iter();
    pairs.find(fits).unwrap_or(local)
}

/// Returns the names of the CPUs' timers; none where the kernel does not tell them.
fn timers(sys: &SysRoot) -> Vec<String> {
    let dir = "/sys/devices/system/clockevents";
    let names = sys.names(dir).unwrap_or_default().into_iter();
    names
        .filter(|name| name.starts_with("clockevent"))
        .filter_map(|name| sys.read(&format!("{dir}/{name}/current_device")).ok())
        .filter(|device| !device.is_empty())
        .collect()
}

fn field(format: &EventFormat, event: &str, name: &'static str) -> Result<Field, TracefsError> {
    format.field(name).map_err(|source| TracefsError::Format {
        event: event.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sleep_ends_in_either_of_the_calls_that_a_kernel_for_32_bits_has() {
        assert_eq!(sleeps(false).collect::<Vec<_>>(), [CLOCK_NANOSLEEP[0]]);
        assert_eq!(sleeps(true).collect::<Vec<_>>(), CLOCK_NANOSLEEP);
    }

    #[test]
    fn the_interrupt_is_that_of_the_timer_in_use() {
        let chosen = |pairs: &[(&str, &str)], timer: Option<&str>| {
            let dir = tempfile::tempdir().unwrap();
            let put = |path: &str, text: &str| {
                let path = dir.path().join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, text).unwrap();
            };
            put("sys/kernel/tracing/available_tracers", "nop\n");
            for event in pairs.iter().flat_map(|(entry, exit)| [entry, exit]) {
                put(&format!("sys/kernel/tracing/events/{event}/format"), "");
            }
            let clocks = "sys/devices/system/clockevents";
            put(&format!("{clocks}/broadcast/current_device"), "hpet\n");
            if let Some(timer) = timer {
                for cpu in 0..2 {
                    let file = format!("{clocks}/clockevent{cpu}/current_device");
                    put(&file, &format!("{timer}\n"));
                }
            }
            let sys = SysRoot::at(dir.path());
            interrupt(&sys, &Tracefs::open(&sys).unwrap()).0
        };
        let [local, handled, expired] = INTERRUPTS.map(|(entry, _)| entry);
        let of_x86 = |timer| chosen(&INTERRUPTS, timer);
        assert_eq!(of_x86(Some("lapic-deadline")), local);
        assert_eq!(of_x86(Some("lapic")), local);
        // Nothing says otherwise.
        assert_eq!(of_x86(None), local);
        assert_eq!(of_x86(Some("Hyper-V clockevent")), expired);
        assert_eq!(of_x86(Some("hpet2")), handled);
        assert_eq!(of_x86(Some("xen")), handled);
        let of_arm64 = |timer| chosen(&INTERRUPTS[1..], timer);
        assert_eq!(of_arm64(Some("arch_sys_timer")), handled);
        assert_eq!(of_arm64(Some("Hyper-V clockevent")), handled);
        assert_eq!(chosen(&INTERRUPTS[2..], None), expired);
    }
}
