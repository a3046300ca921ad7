// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the kernel's events to times: which entry belongs to which exit, which raise to which run, which waking to which interrupt.
//!
//! What cannot be paired is counted with its reason; nothing is guessed. Hard interrupts do not nest, so a CPU handles one at a time.
//! A soft interrupt is what its CPU does until the exit, apart from interrupts; where soft interrupts have a thread (`PREEMPT_RT`),
//! it is what that thread does.

use std::collections::BTreeMap;

use punctual_model::{CpuId, CpuSet};
use rustc_hash::FxHashMap;

use crate::watch::event::{Event, What};
use crate::watch::who::{Name, SOFTIRQS, Tid};

/// An interrupt.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Key {
    /// Of a device: its number, and the name of the handler.
    Irq { irq: i32, name: Name },
    /// Of the processor itself.
    Vector(Name),
    /// Soft, by its place in `/proc/softirqs`.
    Softirq(u8),
}

/// What a time is of.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Part {
    /// A handler, from entry to exit.
    Handler,
    /// A soft interrupt, from raise to entry.
    Delay,
    /// A soft interrupt, from entry to exit.
    Run,
    /// From the interrupt to the waking of a thread.
    Waking,
    /// From the interrupt until that thread has a CPU.
    Thread,
}

/// A time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) key: Key,
    pub(super) part: Part,
    pub(super) ns: u64,
    /// Of a soft interrupt: the interrupt whose handler raised it.
    pub(super) raised_by: Option<Key>,
}

/// Why an event has no time.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Unpaired {
    /// The end of a handler or a soft interrupt is missing.
    NoEnd,
    /// The beginning is missing: it lies before the trace.
    NoBegin,
    /// A soft interrupt was raised before the trace, or by a way that has no event.
    NoRaise,
    /// A woken thread was never seen to get a CPU.
    NoRun,
    /// The thread had the CPU when it was woken: it was on its way to sleep.
    WasRunning,
}

impl Unpaired {
    /// Returns the reason in words.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::NoEnd => "no recorded end",
            Self::NoBegin => "no recorded entry",
            Self::NoRaise => "no recorded raise",
            Self::NoRun => "woken thread not seen to run",
            Self::WasRunning => "woken thread was running",
        }
    }
}

/// Where a chain of events began.
#[derive(Clone, Copy, Debug)]
struct Origin {
    key: Key,
    time: u64,
}

/// A raise of a soft interrupt, and the handler in which it was.
#[derive(Clone, Copy, Debug)]
struct Raise {
    time: u64,
    by: Option<Origin>,
}

#[derive(Clone, Copy, Debug)]
struct Soft {
    vec: u8,
    entry: u64,
    pid: Tid,
    raise: Option<Raise>,
}

const KINDS: usize = SOFTIRQS.len();

#[derive(Clone, Debug, Default)]
struct Cpu {
    hard: Option<Origin>,
    soft: Option<Soft>,
    /// Raised since the kernel last took all that were raised.
    raised: [Option<Raise>; KINDS],
    /// Taken, and not begun yet.
    taken: [Option<Raise>; KINDS],
}

/// A thread that was woken and does not run yet.
#[derive(Clone, Copy, Debug)]
struct Woken {
    origins: [Option<Origin>; 2],
}

/// Woken threads that are waited for at once; more than a machine has threads to run.
const MOST_WOKEN: usize = 1 << 16;

/// Pairs events in the order of their times.
#[derive(Debug)]
pub(super) struct Pairing {
    /// The CPUs whose interrupts count.
    measured: CpuSet,
    /// Whether the end of a system call may stand for a switch that the kernel does not record.
    infers: bool,
    cpus: BTreeMap<CpuId, Cpu>,
    woken: FxHashMap<Tid, Woken>,
    /// Times since they were taken last.
    pub(super) spans: Vec<Span>,
    /// Entries of each interrupt.
    pub(super) entries: BTreeMap<Key, u64>,
    pub(super) unpaired: BTreeMap<Unpaired, u64>,
    /// Woken threads that were seen to run.
    pub(super) ran: u64,
    /// Of those, whose running was seen by the end of a system call.
    pub(super) inferred: u64,
}

impl Pairing {
    /// Counts interrupts on `measured`; threads that they wake may run anywhere.
    pub(super) fn new(measured: CpuSet, infers: bool) -> Self {
        Self {
            measured,
            infers,
            cpus: BTreeMap::new(),
            woken: FxHashMap::default(),
            spans: Vec::new(),
            entries: BTreeMap::new(),
            unpaired: BTreeMap::new(),
            ran: 0,
            inferred: 0,
        }
    }

    /// Takes in the next event.
    pub(super) fn take(&mut self, event: &Event) {
        match event.what {
            What::IrqEntry { irq, name } => self.enter(event, Key::Irq { irq, name }),
            What::VectorEntry { name } => self.enter(event, Key::Vector(name)),
            What::IrqExit | What::VectorExit => self.leave(event),
            What::SoftirqRaise { vec } => self.raise(event, vec),
            What::SoftirqEntry { vec } => self.soft_begins(event, vec),
            What::SoftirqExit => self.soft_ends(event),
            What::Waking { tid, .. } => self.wakes(event, tid),
            What::Switch { next, .. } => {
                if event.pid != next && self.woken.remove(&event.pid).is_some() {
                    // It leaves, and when it came is not recorded.
                    self.miss(Unpaired::NoRun);
                }
                self.runs(next, event.time);
            }
            What::Exit { .. } if self.infers && self.woken.contains_key(&event.pid) => {
                self.inferred += 1;
                self.runs(event.pid, event.time);
            }
            _ => {}
        }
    }

    /// Counts what is still open as what it is.
    pub(super) fn end(&mut self) {
        let open = self.woken.drain().count() as u64;
        if open > 0 {
            *self.unpaired.entry(Unpaired::NoRun).or_default() += open;
        }
    }

    fn miss(&mut self, why: Unpaired) {
        *self.unpaired.entry(why).or_default() += 1;
    }

    fn is_measured(&self, cpu: CpuId) -> bool {
        self.measured.contains(cpu)
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut Cpu {
        self.cpus.entry(cpu).or_default()
    }

    fn span(&mut self, cpu: CpuId, span: Span) {
        if self.is_measured(cpu) {
            self.spans.push(span);
        }
    }

    fn enter(&mut self, event: &Event, key: Key) {
        let (cpu, time) = (event.cpu, event.time);
        if self.is_measured(cpu) {
            *self.entries.entry(key).or_default() += 1;
        }
        if self.cpu(cpu).hard.replace(Origin { key, time }).is_some() && self.is_measured(cpu) {
            self.miss(Unpaired::NoEnd);
        }
    }

    fn leave(&mut self, event: &Event) {
        match self.cpu(event.cpu).hard.take() {
            Some(Origin { key, time }) => {
                let ns = event.time.saturating_sub(time);
                let part = Part::Handler;
                self.span(
                    event.cpu,
                    Span {
                        key,
                        part,
                        ns,
                        raised_by: None,
                    },
                );
            }
            None if self.is_measured(event.cpu) => self.miss(Unpaired::NoBegin),
            None => {}
        }
    }

    fn raise(&mut self, event: &Event, vec: u8) {
        let cpu = self.cpu(event.cpu);
        let raise = Raise {
            time: event.time,
            by: cpu.hard,
        };
        if let Some(raised) = cpu.raised.get_mut(usize::from(vec)) {
            // The first counts: whoever raises what is raised already waits less.
            raised.get_or_insert(raise);
        }
    }

    /// The kernel takes all that is raised at once, then runs one kind after the other. A kind that is raised again meanwhile runs
    /// once more.
    fn soft_begins(&mut self, event: &Event, vec: u8) {
        let at = usize::from(vec);
        let cpu = self.cpu(event.cpu);
        if cpu.taken.get(at).is_some_and(Option::is_none) {
            for (taken, raised) in cpu.taken.iter_mut().zip(&mut cpu.raised) {
                if taken.is_none() {
                    *taken = raised.take();
                }
            }
        }
        let raise = cpu.taken.get_mut(at).and_then(Option::take);
        let soft = Soft {
            vec,
            entry: event.time,
            pid: event.pid,
            raise,
        };
        let before = cpu.soft.replace(soft);
        if !self.is_measured(event.cpu) {
            return;
        }
        if before.is_some() {
            self.miss(Unpaired::NoEnd);
        }
        let key = Key::Softirq(vec);
        *self.entries.entry(key).or_default() += 1;
        match raise {
            Some(raise) => {
                let raised_by = raise.by.map(|by| by.key);
                let ns = event.time.saturating_sub(raise.time);
                self.span(
                    event.cpu,
                    Span {
                        key,
                        part: Part::Delay,
                        ns,
                        raised_by,
                    },
                );
            }
            None => self.miss(Unpaired::NoRaise),
        }
    }

    fn soft_ends(&mut self, event: &Event) {
        match self.cpu(event.cpu).soft.take() {
            Some(soft) => {
                let raised_by = soft.raise.and_then(|raise| raise.by).map(|by| by.key);
                let ns = event.time.saturating_sub(soft.entry);
                let key = Key::Softirq(soft.vec);
                self.span(
                    event.cpu,
                    Span {
                        key,
                        part: Part::Run,
                        ns,
                        raised_by,
                    },
                );
            }
            None if self.is_measured(event.cpu) => self.miss(Unpaired::NoBegin),
            None => {}
        }
    }

    /// A thread is woken: by the handler that its CPU is in, or by the soft interrupt, and then also by the handler that raised that.
    fn wakes(&mut self, event: &Event, tid: Tid) {
        let measured = self.is_measured(event.cpu);
        let cpu = self.cpu(event.cpu);
        let origins = match (cpu.hard, cpu.soft) {
            (Some(hard), _) => [Some(hard), None],
            (None, Some(soft)) if soft.pid == event.pid => {
                let own = soft.raise.map(|raise| Origin {
                    key: Key::Softirq(soft.vec),
                    time: raise.time,
                });
                [own, soft.raise.and_then(|raise| raise.by)]
            }
            _ => [None, None],
        };
        // A thread that is woken again before it ran is waited for from then on.
        if self.woken.remove(&tid).is_some() {
            self.miss(Unpaired::NoRun);
        }
        if !measured || origins.iter().all(Option::is_none) {
            return;
        }
        self.waking(&origins, event.time, Part::Waking);
        if tid == event.pid {
            self.miss(Unpaired::WasRunning);
        } else if self.woken.len() < MOST_WOKEN {
            self.woken.insert(tid, Woken { origins });
        }
    }

    fn runs(&mut self, tid: Tid, time: u64) {
        if let Some(woken) = self.woken.remove(&tid) {
            self.ran += 1;
            self.waking(&woken.origins, time, Part::Thread);
        }
    }

    fn waking(&mut self, origins: &[Option<Origin>; 2], time: u64, part: Part) {
        let by = origins[1].map(|by| by.key);
        for origin in origins.iter().flatten() {
            let raised_by = by.filter(|_| matches!(origin.key, Key::Softirq(_)));
            let ns = time.saturating_sub(origin.time);
            self.spans.push(Span {
                key: origin.key,
                part,
                ns,
                raised_by,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::who::Names;

    const DISK: Key = Key::Irq {
        irq: 36,
        name: Names::UNKNOWN,
    };
    const TIMER: Key = Key::Vector(Names::UNKNOWN);
    const NET_RX: u8 = 3;
    const BLOCK: u8 = 4;

    fn on(cpu: CpuId, time: u64, pid: Tid, what: What) -> Event {
        Event {
            time,
            cpu,
            pid,
            what,
        }
    }

    fn entry() -> What {
        What::IrqEntry {
            irq: 36,
            name: Names::UNKNOWN,
        }
    }

    fn waking(tid: Tid) -> What {
        What::Waking {
            tid,
            prio: 120,
            name: Names::UNKNOWN,
            cpu: 0,
        }
    }

    fn switch(next: Tid) -> What {
        What::Switch {
            prev_prio: 120,
            prev_state: 0,
            next,
            next_prio: 120,
            next_name: Names::UNKNOWN,
        }
    }

    fn pairing(events: &[Event], infers: bool) -> Pairing {
        let mut pairing = Pairing::new("0".parse().unwrap(), infers);
        events.iter().for_each(|event| pairing.take(event));
        pairing.end();
        pairing
    }

    fn spans(events: &[Event]) -> Vec<(Key, Part, u64)> {
        let spans = pairing(events, false).spans;
        spans.iter().map(|s| (s.key, s.part, s.ns)).collect()
    }

    #[test]
    fn a_handler_that_wakes_a_thread_has_three_times() {
        let events = [
            on(0, 100, 7, entry()),
            on(0, 102, 7, waking(9)),
            on(0, 105, 7, What::IrqExit),
            on(1, 130, 0, switch(9)),
        ];
        let expected = [
            (DISK, Part::Waking, 2),
            (DISK, Part::Handler, 5),
            (DISK, Part::Thread, 30),
        ];
        assert_eq!(spans(&events), expected);
        let pairing = pairing(&events, false);
        assert_eq!(pairing.entries[&DISK], 1);
        assert!(pairing.unpaired.is_empty());
    }

    #[test]
    fn what_a_soft_interrupt_wakes_belongs_to_it_and_to_the_handler_that_raised_it() {
        let soft = Key::Softirq(BLOCK);
        let events = [
            on(0, 100, 7, entry()),
            on(0, 101, 7, What::SoftirqRaise { vec: BLOCK }),
            on(0, 103, 7, What::IrqExit),
            on(0, 104, 7, What::SoftirqEntry { vec: BLOCK }),
            on(0, 108, 7, waking(9)),
            on(0, 110, 7, What::SoftirqExit),
            on(0, 115, 7, switch(9)),
        ];
        let expected = [
            (DISK, Part::Handler, 3),
            (soft, Part::Delay, 3),
            (soft, Part::Waking, 7),
            (DISK, Part::Waking, 8),
            (soft, Part::Run, 6),
            (soft, Part::Thread, 14),
            (DISK, Part::Thread, 15),
        ];
        assert_eq!(spans(&events), expected);
        let of_soft = pairing(&events, false)
            .spans
            .into_iter()
            .filter(|s| s.key == soft);
        assert!(of_soft.into_iter().all(|s| s.raised_by == Some(DISK)));
    }

    #[test]
    fn a_timer_in_a_soft_interrupt_wakes_for_itself_and_another_thread_for_nobody() {
        let name = Names::UNKNOWN;
        let events = [
            on(0, 10, 7, What::SoftirqRaise { vec: NET_RX }),
            on(0, 20, 7, What::SoftirqEntry { vec: NET_RX }),
            on(0, 21, 7, What::VectorEntry { name }),
            on(0, 22, 7, waking(9)),
            on(0, 23, 7, What::VectorExit),
            // PREEMPT_RT: the thread that runs soft interrupts was preempted.
            on(0, 30, 8, waking(5)),
            on(0, 40, 7, What::SoftirqExit),
        ];
        let wakings: Vec<_> = spans(&events)
            .into_iter()
            .filter(|s| s.1 == Part::Waking)
            .collect();
        assert_eq!(wakings, [(TIMER, Part::Waking, 1)]);
        let lost = pairing(&events, false);
        assert_eq!(lost.unpaired, [(Unpaired::NoRun, 1)].into());
    }

    #[test]
    fn each_run_of_a_soft_interrupt_gets_its_own_raise() {
        let raise = |time, vec| on(0, time, 7, What::SoftirqRaise { vec });
        let begin = |time, vec| on(0, time, 7, What::SoftirqEntry { vec });
        let end = |time| on(0, time, 7, What::SoftirqExit);
        let events = [
            raise(10, NET_RX),
            raise(12, BLOCK),
            // It waits since it was raised first.
            raise(15, NET_RX),
            begin(20, NET_RX),
            // Both are taken: this asks for another turn.
            raise(21, BLOCK),
            end(22),
            begin(23, BLOCK),
            end(24),
            begin(25, BLOCK),
            end(26),
            // Nobody raised it as far as is known.
            begin(30, NET_RX),
            end(31),
        ];
        let delays: Vec<u64> = spans(&events)
            .iter()
            .filter(|s| s.1 == Part::Delay)
            .map(|s| s.2)
            .collect();
        assert_eq!(delays, [10, 11, 4]);
        assert_eq!(
            pairing(&events, false).unpaired,
            [(Unpaired::NoRaise, 1)].into()
        );
    }

    #[test]
    fn a_missing_switch_is_inferred_only_where_the_kernel_has_none() {
        let woken = [
            on(0, 100, 0, entry()),
            on(0, 102, 0, waking(9)),
            on(0, 105, 0, What::IrqExit),
        ];
        let call_ends = on(0, 120, 9, What::Exit { anew: false });
        let leaves = on(0, 150, 9, switch(0));
        let with = |more: &[Event], infers| pairing(&[&woken, more].concat(), infers);
        let inferred = with(&[call_ends, leaves], true);
        assert_eq!(inferred.inferred, 1);
        assert!(
            inferred
                .spans
                .iter()
                .any(|s| s.part == Part::Thread && s.ns == 20)
        );
        assert!(inferred.unpaired.is_empty());
        // A thread of the kernel has no system call: when it came is not known.
        for unknown in [
            with(&[leaves], true),
            with(&[call_ends, leaves], false),
            with(&[], false),
        ] {
            assert_eq!(unknown.unpaired, [(Unpaired::NoRun, 1)].into());
            assert!(unknown.spans.iter().all(|s| s.part != Part::Thread));
        }
    }

    #[test]
    fn ends_without_begins_and_other_cpus_are_not_samples() {
        let events = [
            on(0, 1, 0, What::IrqExit),
            on(0, 2, 0, What::SoftirqExit),
            on(0, 3, 0, entry()),
            on(0, 4, 0, entry()),
            on(1, 5, 0, entry()),
            on(1, 6, 0, waking(9)),
            on(1, 7, 0, What::IrqExit),
            on(0, 8, 9, entry()),
            // On its way to sleep when it is woken.
            on(0, 9, 9, waking(9)),
        ];
        let pairing = pairing(&events, false);
        let unpaired = [
            (Unpaired::NoEnd, 2),
            (Unpaired::NoBegin, 2),
            (Unpaired::WasRunning, 1),
        ];
        assert_eq!(pairing.unpaired, unpaired.into());
        assert_eq!(pairing.entries[&DISK], 3);
        assert_eq!(pairing.spans.len(), 1, "the waking alone");
    }
}
