// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The kernel's trace events that tell where the time of a thread goes, taken out of their records.

mod decoder;
mod timerlat;

use punctual_model::CpuId;
use punctual_sys::tracefs::{EventFormat, Field, FormatError};

pub(crate) use self::decoder::Decoder;
use self::timerlat::{OF_TIMERLAT, TIMERLAT};
use super::account::Note;
use super::stacks::{At, Site};
use super::who::{Name, Names, Tid};

/// One event, on the monotonic clock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Event {
    /// Time in ns.
    pub(crate) time: u64,
    pub(crate) cpu: CpuId,
    /// The thread that had the CPU.
    pub(crate) pid: Tid,
    pub(crate) what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum What {
    /// The CPU goes from one thread to the next.
    Switch {
        /// What the one that had it has now: a thread may change its own while it runs.
        prev_prio: i16,
        prev_state: u32,
        next: Tid,
        next_prio: i16,
        next_name: Name,
    },
    /// A thread is made runnable.
    Waking {
        tid: Tid,
        prio: i16,
        name: Name,
        cpu: CpuId,
    },
    /// A thread is started, in the process of who starts it or in one of its own.
    Forked { child: Tid, same_process: bool },
    /// A thread ends.
    Exited { tid: Tid },
    /// A thread is moved to another CPU.
    Migrated { tid: Tid, to: CpuId },
    /// A thread inherits the priority of one that waits for its lock, or has its own again.
    Inherits { tid: Tid, prio: i16, name: Name },
    /// A thread has another name.
    Renamed { tid: Tid, name: Name },
    /// A device's interrupt begins to be handled.
    IrqEntry { irq: i32, name: Name },
    /// It is handled.
    IrqExit,
    /// An interrupt of the processor itself begins to be handled.
    VectorEntry { name: Name },
    /// It is handled.
    VectorExit,
    /// A soft interrupt begins.
    SoftirqEntry { vec: u8 },
    /// It ends.
    SoftirqExit,
    /// A soft interrupt is asked for.
    SoftirqRaise { vec: u8 },
    /// A timer is set.
    TimerStart {
        timer: u64,
        function: u64,
        soft: u64,
        hard: u64,
    },
    /// A timer's function begins, at `now` on the timer's clock.
    TimerEntry { timer: u64, function: u64, now: u64 },
    /// It ends.
    TimerExit,
    /// The CPU goes idle, or out of it.
    Idle { state: Option<u8> },
    /// A watched thread calls the kernel.
    Enter { call: i64, args: [u64; 3] },
    /// It is back; or the kernel makes the call anew, unless a signal's handler is to run first.
    Exit { anew: bool },
    /// A page fault of a watched thread.
    Fault,
    /// A watched thread calls the function that ends a cycle.
    Probe,
    /// A kernel worker begins with this function.
    WorkStart { function: u64 },
    /// It is done with it.
    WorkEnd,
    /// A signal is sent.
    Signal { signal: i32, tid: Tid },
    /// Where a watched thread was as it waited, called or faulted.
    Stack { at: At, site: Site },
    /// The timerlat tracer says something of a wake-up.
    Note(Note),
}

/// Which of two instances an event is recorded in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Of {
    /// All threads of the machine.
    All,
    /// The watched threads alone; of switches and wake-ups also those by others of them.
    Watched,
}

/// What a kernel may lack, and what is not seen then.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) event: &'static str,
    pub(crate) of: Of,
    /// What is not known without it. An event without one must be there.
    pub(crate) without: Option<&'static str>,
    read: fn(&Layout, &[u8], &mut Names) -> Option<What>,
    fields: &'static [&'static str],
}

/// Where the fields of one event lie, in the order in which they are wanted.
#[derive(Clone, Debug)]
struct Layout(Vec<Field>);

impl Layout {
    fn of(format: &EventFormat, names: &[&'static str]) -> Result<Self, FormatError> {
        names
            .iter()
            .map(|name| format.field(name))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    fn number(&self, n: usize, record: &[u8]) -> Option<i64> {
        self.0.get(n)?.read(record)
    }

    fn unsigned(&self, n: usize, record: &[u8]) -> Option<u64> {
        self.number(n, record).map(i64::cast_unsigned)
    }

    fn tid(&self, n: usize, record: &[u8]) -> Option<Tid> {
        Tid::try_from(self.number(n, record)?).ok()
    }

    fn prio(&self, n: usize, record: &[u8]) -> Option<i16> {
        i16::try_from(self.number(n, record)?).ok()
    }

    fn cpu(&self, n: usize, record: &[u8]) -> Option<CpuId> {
        CpuId::try_from(self.number(n, record)?).ok()
    }

    fn name(&self, n: usize, record: &[u8], names: &mut Names) -> Option<Name> {
        Some(names.keep(self.0.get(n)?.text(record)?))
    }
}

/// Names the interrupts of x86's own vectors, each of which has an event for its begin and its end.
macro_rules! vectors {
    ($($entry:literal, $exit:literal, $name:literal;)*) => {
        [$(
            Wanted {
                event: $entry,
                of: Of::All,
                without: Some($name),
                read: |_, _, names| Some(What::VectorEntry { name: names.keep($name.as_bytes()) }),
                fields: &[],
            },
            Wanted {
                event: $exit,
                of: Of::All,
                without: Some($name),
                read: |_, _, _| Some(What::VectorExit),
                fields: &[],
            },
        )*]
    };
}

/// What is said of a kernel that has none of them.
const VECTORS: &str = "the processor's own interrupts (timer, calls from other CPUs)";

/// The interrupts that a processor makes itself. Only x86 has events for them.
const OF_X86: [Wanted; 14] = vectors! {
    "irq_vectors/local_timer_entry", "irq_vectors/local_timer_exit", "timer interrupt";
    "irq_vectors/reschedule_entry", "irq_vectors/reschedule_exit", "reschedule interrupt";
    "irq_vectors/call_function_entry", "irq_vectors/call_function_exit", "call from another CPU";
    "irq_vectors/call_function_single_entry", "irq_vectors/call_function_single_exit", "call from another CPU";
    "irq_vectors/irq_work_entry", "irq_vectors/irq_work_exit", "interrupt work";
    "irq_vectors/x86_platform_ipi_entry", "irq_vectors/x86_platform_ipi_exit", "platform interrupt";
    "irq_vectors/thermal_apic_entry", "irq_vectors/thermal_apic_exit", "thermal interrupt";
};

/// What tells when a soft interrupt was asked for.
const RAISE: &str = "irq/softirq_raise";

impl Wanted {
    /// Whether it says something of interrupts alone, and nothing of threads.
    pub(crate) fn is_for_devices(&self) -> bool {
        self.event == RAISE
    }

    /// Whether it is of the timerlat tracer, which writes it only while it runs.
    pub(crate) fn is_of_timerlat(&self) -> bool {
        OF_TIMERLAT.iter().any(|own| own.event == self.event)
    }

    /// Whether it can be switched on: what a tracer writes comes with the tracer.
    pub(crate) fn is_switched(&self) -> bool {
        self.event != TIMERLAT
    }
}

/// The events of every kernel.
const OF_ALL: [Wanted; 24] = [
    Wanted {
        event: "sched/sched_switch",
        of: Of::All,
        without: None,
        read: |l, r, names| {
            Some(What::Switch {
                prev_prio: l.prio(0, r)?,
                prev_state: u32::try_from(l.number(1, r)? & 0xffff).ok()?,
                next: l.tid(2, r)?,
                next_prio: l.prio(3, r)?,
                next_name: l.name(4, r, names)?,
            })
        },
        fields: &[
            "prev_prio",
            "prev_state",
            "next_pid",
            "next_prio",
            "next_comm",
        ],
    },
    Wanted {
        event: "sched/sched_waking",
        of: Of::Watched,
        without: None,
        read: waking,
        fields: &["pid", "prio", "comm", "target_cpu"],
    },
    Wanted {
        event: "sched/sched_wakeup_new",
        of: Of::All,
        without: Some("when a new thread is made runnable"),
        read: waking,
        fields: &["pid", "prio", "comm", "target_cpu"],
    },
    Wanted {
        event: "task/task_newtask",
        of: Of::All,
        without: Some("threads that are started later"),
        read: |l, r, _| {
            Some(What::Forked {
                child: l.tid(0, r)?,
                same_process: l.unsigned(1, r)? & CLONE_THREAD != 0,
            })
        },
        fields: &["pid", "clone_flags"],
    },
    Wanted {
        event: "sched/sched_process_exit",
        of: Of::All,
        without: Some("when a thread ends"),
        read: |l, r, _| Some(What::Exited { tid: l.tid(0, r)? }),
        fields: &["pid"],
    },
    Wanted {
        event: "sched/sched_migrate_task",
        of: Of::All,
        without: Some("moves of a thread to another CPU"),
        read: |l, r, _| {
            Some(What::Migrated {
                tid: l.tid(0, r)?,
                to: l.cpu(1, r)?,
            })
        },
        fields: &["pid", "dest_cpu"],
    },
    Wanted {
        event: "sched/sched_pi_setprio",
        of: Of::All,
        without: Some("priorities that threads inherit through a lock"),
        read: |l, r, names| {
            Some(What::Inherits {
                tid: l.tid(0, r)?,
                prio: l.prio(1, r)?,
                name: l.name(2, r, names)?,
            })
        },
        fields: &["pid", "newprio", "comm"],
    },
    Wanted {
        event: "task/task_rename",
        of: Of::All,
        without: Some("threads that take another name"),
        read: |l, r, names| {
            Some(What::Renamed {
                tid: l.tid(0, r)?,
                name: l.name(1, r, names)?,
            })
        },
        fields: &["pid", "newcomm"],
    },
    Wanted {
        event: "irq/irq_handler_entry",
        of: Of::All,
        without: Some("interrupts of devices"),
        read: |l, r, names| {
            Some(What::IrqEntry {
                irq: i32::try_from(l.number(0, r)?).ok()?,
                name: l.name(1, r, names)?,
            })
        },
        fields: &["irq", "name"],
    },
    Wanted {
        event: "irq/irq_handler_exit",
        of: Of::All,
        without: Some("interrupts of devices"),
        read: |_, _, _| Some(What::IrqExit),
        fields: &[],
    },
    Wanted {
        event: "irq/softirq_entry",
        of: Of::All,
        without: Some("soft interrupts"),
        read: |l, r, _| {
            Some(What::SoftirqEntry {
                vec: u8::try_from(l.number(0, r)?).ok()?,
            })
        },
        fields: &["vec"],
    },
    Wanted {
        event: "irq/softirq_exit",
        of: Of::All,
        without: Some("soft interrupts"),
        read: |_, _, _| Some(What::SoftirqExit),
        fields: &[],
    },
    Wanted {
        event: RAISE,
        of: Of::All,
        without: Some("when a soft interrupt was asked for"),
        read: |l, r, _| {
            Some(What::SoftirqRaise {
                vec: u8::try_from(l.number(0, r)?).ok()?,
            })
        },
        fields: &["vec"],
    },
    Wanted {
        event: "timer/hrtimer_start",
        of: Of::Watched,
        without: Some("for when a timer was set: a cycle begins when its thread is woken"),
        read: |l, r, _| {
            Some(What::TimerStart {
                timer: l.unsigned(0, r)?,
                function: l.unsigned(1, r)?,
                soft: l.unsigned(2, r)?,
                hard: l.unsigned(3, r)?,
            })
        },
        fields: &["hrtimer", "function", "softexpires", "expires"],
    },
    Wanted {
        event: "timer/hrtimer_expire_entry",
        of: Of::All,
        without: Some("which timer woke a thread: a cycle begins when its thread is woken"),
        read: |l, r, _| {
            Some(What::TimerEntry {
                timer: l.unsigned(0, r)?,
                function: l.unsigned(1, r)?,
                now: l.unsigned(2, r)?,
            })
        },
        fields: &["hrtimer", "function", "now"],
    },
    Wanted {
        event: "timer/hrtimer_expire_exit",
        of: Of::All,
        without: Some("which timer woke a thread: a cycle begins when its thread is woken"),
        read: |_, _, _| Some(What::TimerExit),
        fields: &[],
    },
    Wanted {
        event: "power/cpu_idle",
        of: Of::All,
        without: Some("idle states"),
        read: |l, r, _| {
            // (u32)-1 is the way out (include/trace/events/power.h).
            let state = l.unsigned(0, r)? & 0xffff_ffff;
            Some(What::Idle {
                state: u8::try_from(state).ok(),
            })
        },
        fields: &["state"],
    },
    Wanted {
        event: "workqueue/workqueue_execute_start",
        of: Of::All,
        without: Some("what kernel workers do"),
        read: |l, r, _| {
            Some(What::WorkStart {
                function: l.unsigned(0, r)?,
            })
        },
        fields: &["function"],
    },
    Wanted {
        event: "workqueue/workqueue_execute_end",
        of: Of::All,
        without: Some("what kernel workers do"),
        read: |_, _, _| Some(What::WorkEnd),
        fields: &[],
    },
    Wanted {
        event: "signal/signal_generate",
        of: Of::All,
        without: Some("who stopped a thread"),
        read: |l, r, _| {
            Some(What::Signal {
                signal: i32::try_from(l.number(0, r)?).ok()?,
                tid: l.tid(1, r)?,
            })
        },
        fields: &["sig", "pid"],
    },
    Wanted {
        event: "raw_syscalls/sys_enter",
        of: Of::Watched,
        without: Some("system calls: a cycle ends where its thread goes to sleep"),
        read: |l, r, _| {
            let args = l.0.get(1)?;
            let arg = |n| args.element(n, r).unwrap_or(0);
            Some(What::Enter {
                call: l.number(0, r)?,
                args: [arg(0), arg(1), arg(2)],
            })
        },
        fields: &["id", "args"],
    },
    Wanted {
        event: "raw_syscalls/sys_exit",
        of: Of::Watched,
        without: Some("system calls: a cycle ends where its thread goes to sleep"),
        read: |l, r, _| {
            let anew = RESTARTS.contains(&l.number(0, r)?);
            Some(What::Exit { anew })
        },
        fields: &["ret"],
    },
    Wanted {
        event: "exceptions/page_fault_user",
        of: Of::Watched,
        without: Some("page faults"),
        read: fault,
        fields: &[PREEMPT_COUNT],
    },
    Wanted {
        event: "exceptions/page_fault_kernel",
        of: Of::Watched,
        without: Some("page faults within system calls"),
        read: fault,
        fields: &[PREEMPT_COUNT],
    },
];

/// What a call returns that a signal interrupted and that is made anew (include/linux/errno.h). No program sees it.
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

/// The flag of clone(2) for a thread of the same process.
const CLONE_THREAD: u64 = 0x1_0000;

/// What keeps a thread from being preempted: the lower half of this field counts it.
const PREEMPT_COUNT: &str = "common_preempt_count";

/// Where the kernel may not wait it looks for memory that is there, as when it walks a stack for a trace: no page is brought in.
fn fault(l: &Layout, r: &[u8], _: &mut Names) -> Option<What> {
    (l.unsigned(0, r)? & 0xf == 0).then_some(What::Fault)
}

fn waking(l: &Layout, r: &[u8], names: &mut Names) -> Option<What> {
    Some(What::Waking {
        tid: l.tid(0, r)?,
        prio: l.prio(1, r)?,
        name: l.name(2, r, names)?,
        cpu: l.cpu(3, r)?,
    })
}
