// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From the kernel's records to the phases of each wake-up.
//!
//! A wake-up goes through deadline, interrupt entry, `sched_waking`, interrupt exit, end of the system
//! call, clock read by the thread. Records of several CPUs are put in the order of their times, those
//! of one wake-up are collected, and each is given to the sample in whose sleep it was made. What
//! cannot be given is counted with its reason; nothing is guessed.

use punctual_model::CpuId;

use super::probe::{Moment, MomentKind};

/// The kernel's side of one wake-up, times in ns on the monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Traced {
    /// The latest entry of the interrupt on the CPU that woke the thread, and its exit if it came
    /// before the waking.
    entry: Option<(u64, Option<u64>)>,
    waking: u64,
    cpu: CpuId,
    exit: Option<u64>,
    done: Option<u64>,
}

/// The phases of one wake-up, in ns. Those that there are add up to the sample's latency.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Phases {
    /// Programmed expiry to the interrupt's entry.
    pub(super) delivery: u64,
    /// Interrupt entry, or the expiry if it came while the interrupt was handled, to the waking.
    pub(super) handler: u64,
    /// Waking to the interrupt's exit. None where the thread had not to wait for that: it was woken
    /// from another CPU, or after the interrupt.
    pub(super) irq_exit: Option<u64>,
    /// From there to the end of the system call. None where the kernel does not record that.
    pub(super) switch: Option<u64>,
    /// From there to the thread's reading of the clock.
    pub(super) back: u64,
    /// Whether the expiry came while an earlier interrupt of the timer was still handled.
    pub(super) in_handler: bool,
    /// Whether another CPU woke the thread.
    pub(super) remote: bool,
    /// Whether the thread read the clock before the kernel recorded its return: the clocks differ.
    pub(super) backwards: bool,
}

impl Phases {
    /// Returns all phases together.
    pub(super) fn sum(&self) -> u64 {
        let known = self.irq_exit.unwrap_or(0) + self.switch.unwrap_or(0);
        self.delivery + self.handler + known + self.back
    }
}

/// Why a sample has no phases.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(super) enum Unpaired {
    /// No record of the waking.
    NoWaking,
    /// No interrupt of the timer that could have woken it.
    NoInterrupt,
    /// No end of the system call.
    NoReturn,
    /// The records come before the deadline or after the thread's own reading.
    Clocks,
}

impl Unpaired {
    /// Returns the reason in words.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::NoWaking => "no sched_waking in its sleep",
            Self::NoInterrupt => "no timer interrupt before sched_waking",
            Self::NoReturn => "no end of the system call",
            Self::Clocks => "records outside of the time between deadline and clock read",
        }
    }
}

/// What one CPU did last.
#[derive(Clone, Debug, Default)]
struct CpuState {
    entry: Option<(u64, Option<u64>)>,
    /// Threads that this CPU woke and whose interrupt has not ended.
    open: Vec<usize>,
}

/// Collects wake-ups from records in the order of their times.
#[derive(Debug)]
pub(super) struct Collector {
    cpus: Vec<CpuState>,
    pending: Vec<Option<Traced>>,
    /// Wake-ups of each thread, oldest first.
    done: Vec<Vec<Traced>>,
}

impl Collector {
    /// Makes one for this number of threads.
    pub(super) fn new(threads: usize) -> Self {
        Self {
            cpus: Vec::new(),
            pending: vec![None; threads],
            done: vec![Vec::new(); threads],
        }
    }

    /// Takes in the records of a time without a gap, in any order, and returns the wake-ups of each
    /// thread, oldest first.
    pub(super) fn collect(&mut self, moments: &mut [Moment]) -> Vec<Vec<Traced>> {
        // Stable: records of one CPU with the same time keep their order.
        moments.sort_by_key(|moment| moment.time);
        self.cpus.clear();
        self.pending.fill(None);
        for moment in moments.iter() {
            self.take(*moment);
        }
        for thread in 0..self.pending.len() {
            self.finish(thread);
        }
        self.done.iter_mut().map(std::mem::take).collect()
    }

    fn cpu(&mut self, cpu: CpuId) -> &mut CpuState {
        let n = cpu as usize;
        if n >= self.cpus.len() {
            self.cpus.resize_with(n + 1, CpuState::default);
        }
        &mut self.cpus[n]
    }

    fn take(&mut self, moment: Moment) {
        let time = moment.time;
        match moment.kind {
            MomentKind::IrqEntry => self.cpu(moment.cpu).entry = Some((time, None)),
            MomentKind::IrqExit => {
                let cpu = self.cpu(moment.cpu);
                if let Some((_, exit)) = &mut cpu.entry {
                    exit.get_or_insert(time);
                }
                for thread in std::mem::take(&mut cpu.open) {
                    if let Some(traced) = &mut self.pending[thread] {
                        traced.exit.get_or_insert(time);
                    }
                }
            }
            MomentKind::Waking { thread } => {
                // One whose end was not recorded, or that a signal overtook.
                self.finish(thread);
                let cpu = self.cpu(moment.cpu);
                let entry = cpu.entry;
                if entry.is_some_and(|(_, exit)| exit.is_none()) {
                    cpu.open.push(thread);
                }
                self.pending[thread] = Some(Traced {
                    entry,
                    waking: time,
                    cpu: moment.cpu,
                    exit: None,
                    done: None,
                });
            }
            MomentKind::SyscallExit { thread } => {
                if let Some(traced) = &mut self.pending[thread] {
                    traced.done = Some(time);
                }
                self.finish(thread);
            }
            MomentKind::Mark => {}
        }
    }

    fn finish(&mut self, thread: usize) {
        self.done[thread].extend(self.pending[thread].take());
    }
}

/// One sample of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Woken {
    pub(super) deadline: u64,
    pub(super) woke: u64,
    pub(super) cpu: CpuId,
}

/// Gives each sample the wake-up that was recorded in its sleep: after the sample before it was
/// taken and before this one was. `from` is the time before the first sleep.
pub(super) fn pair(
    samples: &[Woken],
    traced: &[Traced],
    from: u64,
    syscall_exit: bool,
) -> Vec<Result<Phases, Unpaired>> {
    let mut traced = traced.iter().peekable();
    let mut before = from;
    samples
        .iter()
        .map(|sample| {
            let mut own = None;
            while let Some(next) = traced.next_if(|next| next.waking <= sample.woke) {
                // The last one: a sleep that a signal ended is followed by another try.
                own = Some(next).filter(|next| next.waking > before);
            }
            before = sample.woke;
            own.ok_or(Unpaired::NoWaking)
                .and_then(|own| phases(sample, own, syscall_exit))
        })
        .collect()
}

fn phases(sample: &Woken, traced: &Traced, syscall_exit: bool) -> Result<Phases, Unpaired> {
    let (deadline, woke, waking) = (sample.deadline, sample.woke, traced.waking);
    if waking < deadline {
        return Err(Unpaired::Clocks);
    }
    let (entry, left) = traced.entry.ok_or(Unpaired::NoInterrupt)?;
    let in_handler = entry < deadline;
    if in_handler && left.is_some() {
        // An interrupt that was over before the deadline woke nobody.
        return Err(Unpaired::NoInterrupt);
    }
    let remote = traced.cpu != sample.cpu;
    let begin = entry.max(deadline);
    let exit = traced
        .exit
        .filter(|exit| !remote && traced.done.is_none_or(|done| *exit <= done));
    let after_irq = exit.unwrap_or(waking);
    let last = match (syscall_exit, traced.done) {
        (true, None) => return Err(Unpaired::NoReturn),
        (true, Some(done)) => done,
        (false, _) => after_irq,
    };
    let back = woke.saturating_sub(last);
    Ok(Phases {
        delivery: begin - deadline,
        handler: waking - begin,
        irq_exit: exit.map(|exit| exit - waking),
        switch: syscall_exit.then(|| last - after_irq),
        back,
        in_handler,
        remote,
        backwards: woke < last,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(time: u64, cpu: CpuId, kind: MomentKind) -> Moment {
        Moment { time, cpu, kind }
    }

    const WAKING: MomentKind = MomentKind::Waking { thread: 0 };
    const RETURN: MomentKind = MomentKind::SyscallExit { thread: 0 };

    fn sample(deadline: u64, woke: u64) -> Woken {
        Woken {
            deadline,
            woke,
            cpu: 0,
        }
    }

    fn one(moments: &[Moment], sample: Woken) -> Result<Phases, Unpaired> {
        let syscall_exit = moments.iter().any(|m| m.kind == RETURN);
        let mut collector = Collector::new(1);
        let traced = collector.collect(&mut moments.to_vec());
        pair(&[sample], &traced[0], 0, syscall_exit)[0]
    }

    #[test]
    fn the_phases_of_a_wake_up_add_up_to_its_latency() {
        let moments = [
            at(1_010, 0, MomentKind::IrqEntry),
            at(1_012, 0, WAKING),
            at(1_020, 0, MomentKind::IrqExit),
            at(1_023, 0, RETURN),
        ];
        let phases = one(&moments, sample(1_000, 1_024)).unwrap();
        let expected = Phases {
            delivery: 10,
            handler: 2,
            irq_exit: Some(8),
            switch: Some(3),
            back: 1,
            in_handler: false,
            remote: false,
            backwards: false,
        };
        assert_eq!(phases, expected);
        assert_eq!(phases.sum(), 24);
    }

    #[test]
    fn an_expiry_inside_of_the_handler_has_no_delivery() {
        let moments = [
            at(990, 0, MomentKind::IrqEntry),
            at(1_005, 0, WAKING),
            at(1_009, 0, MomentKind::IrqExit),
            at(1_010, 0, RETURN),
        ];
        let phases = one(&moments, sample(1_000, 1_011)).unwrap();
        assert!(phases.in_handler);
        assert_eq!((phases.delivery, phases.handler, phases.sum()), (0, 5, 11));
    }

    #[test]
    fn a_thread_woken_from_another_cpu_does_not_wait_for_that_interrupts_end() {
        let moments = [
            at(1_003, 1, MomentKind::IrqEntry),
            at(1_005, 1, WAKING),
            at(1_006, 1, MomentKind::IrqExit),
            at(1_010, 0, RETURN),
        ];
        let phases = one(&moments, sample(1_000, 1_011)).unwrap();
        assert!(phases.remote);
        assert_eq!((phases.irq_exit, phases.switch), (None, Some(5)));
        assert_eq!(phases.sum(), 11);
    }

    #[test]
    fn a_timer_that_expires_after_the_interrupt_belongs_to_it() {
        // PREEMPT_RT expires the timers of ordinary threads in the soft interrupt.
        let moments = [
            at(1_003, 0, MomentKind::IrqEntry),
            at(1_004, 0, MomentKind::IrqExit),
            at(1_007, 0, WAKING),
            at(1_009, 0, RETURN),
        ];
        let phases = one(&moments, sample(1_000, 1_010)).unwrap();
        assert_eq!((phases.handler, phases.irq_exit), (4, None));
        assert_eq!(phases.sum(), 10);
    }

    #[test]
    fn without_the_end_of_the_system_call_the_return_is_all_that_is_left() {
        let moments = [
            at(1_010, 0, MomentKind::IrqEntry),
            at(1_012, 0, WAKING),
            at(1_020, 0, MomentKind::IrqExit),
        ];
        let phases = one(&moments, sample(1_000, 1_030)).unwrap();
        assert_eq!((phases.switch, phases.back, phases.sum()), (None, 10, 30));
    }

    #[test]
    fn what_does_not_fit_is_told_and_not_guessed() {
        let entry = at(1_010, 0, MomentKind::IrqEntry);
        let (waking, back) = (at(1_012, 0, WAKING), at(1_020, 0, RETURN));
        let s = sample(1_000, 1_030);
        assert_eq!(one(&[entry, back], s), Err(Unpaired::NoWaking));
        assert_eq!(one(&[waking, back], s), Err(Unpaired::NoInterrupt));
        // The end of an earlier system call is none of this one's.
        assert_eq!(
            one(&[at(900, 0, RETURN), entry, waking], s),
            Err(Unpaired::NoReturn)
        );
        let closed = [
            at(900, 0, MomentKind::IrqEntry),
            at(910, 0, MomentKind::IrqExit),
            waking,
            back,
        ];
        assert_eq!(one(&closed, s), Err(Unpaired::NoInterrupt));
        let early = [at(980, 0, MomentKind::IrqEntry), at(990, 0, WAKING), back];
        assert_eq!(one(&early, s), Err(Unpaired::Clocks));
    }

    #[test]
    fn each_sample_gets_the_records_of_its_own_sleep() {
        let mut moments = Vec::new();
        for n in 1..=3 {
            let t = n * 1_000;
            // The second wake-up was not recorded.
            if n != 2 {
                moments.extend([
                    at(t + 4, 0, RETURN),
                    at(t + 3, 0, MomentKind::IrqExit),
                    at(t + 2, 0, WAKING),
                    at(t + n, 0, MomentKind::IrqEntry),
                ]);
            }
        }
        moments.sort_by_key(|m| m.time);
        let samples: Vec<Woken> = (1..=3).map(|n| sample(n * 1_000, n * 1_000 + 9)).collect();
        let traced = Collector::new(1).collect(&mut moments);
        let pairs = pair(&samples, &traced[0], 0, true);
        assert_eq!(pairs[0].map(|p| p.delivery), Ok(1));
        assert_eq!(pairs[1], Err(Unpaired::NoWaking));
        // The interrupt came after the waking: the records contradict each other.
        assert_eq!(pairs[2], Err(Unpaired::NoInterrupt));
        // What was recorded before the window belongs to nobody.
        assert_eq!(
            pair(&samples[..1], &traced[0], 1_002, true)[0],
            Err(Unpaired::NoWaking)
        );
    }

    #[test]
    fn a_thread_that_read_the_clock_before_its_return_shows_that_the_clocks_differ() {
        let moments = [
            at(1_001, 0, MomentKind::IrqEntry),
            at(1_002, 0, WAKING),
            at(1_003, 0, MomentKind::IrqExit),
            at(1_009, 0, RETURN),
        ];
        let phases = one(&moments, sample(1_000, 1_005)).unwrap();
        assert!(phases.backwards);
        assert_eq!((phases.back, phases.sum()), (0, 9));
    }
}
