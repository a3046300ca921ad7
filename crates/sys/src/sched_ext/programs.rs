// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The two schedulers, as BPF.
//!
//! Every CPU has a queue of our threads, in the order of their keys, and all CPUs share a queue of all other threads, which
//! get a CPU that none of ours wants. A key is the absolute deadline of a job, or the period of its task; the smallest goes
//! first. The functions below are, in C:
//!
//! ```c
//! s32 select_cpu(p, prev_cpu, wake_flags)
//! {
//!         bool is_idle = false;
//!
//!         if (seat(p))
//!                 return prev_cpu;        // It has one CPU.
//!         return scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
//! }
//!
//! void enqueue(p, enq_flags)
//! {
//!         if (!(seat = seat(p))) {
//!                 scx_bpf_dispatch(p, OTHERS, SCX_SLICE_DFL, enq_flags);
//!                 if (!(enq_flags & SCX_ENQ_WAKEUP)) {
//!                         idle = scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
//!                         if (idle >= 0)
//!                                 scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
//!                 }
//!                 return;
//!         }
//!         cpu = scx_bpf_task_cpu(p);
//!         scx_bpf_dispatch_vtime(p, cpu, SCX_SLICE_INF, key(seat), enq_flags);
//!         if (has[cpu] == SOMEBODY || has[cpu] >= OURS && key(seat) < key(has[cpu] - OURS))
//!                 scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
//! }
//!
//! void dispatch(cpu, prev)
//! {
//!         if (prev && prev->scx.flags & SCX_TASK_QUEUED && (seat = seat(prev))
//!             && key(seat) <= first_of(cpu)->scx.dsq_vtime)
//!                 prev->scx.slice = SCX_SLICE_INF;        // It goes on.
//!         else if (!scx_bpf_consume(cpu))
//!                 scx_bpf_consume(OTHERS);
//! }
//!
//! void running(p)               { has[cpu] = seat(p) ? OURS + place : SOMEBODY; seat(p)->runs++; }
//! void stopping(p, runnable)    { has[cpu] = NOBODY; }
//! void cpu_release(cpu, args)   { scx_bpf_reenqueue_local(); }   // FIFO took the CPU: in the order of keys again.
//! s32 init()                    { scx_bpf_create_dsq(..) for each queue }
//! void exit(ei)                 { end = { ei->kind, ei->exit_code }; }
//! ```

use punctual_model::tasks::ExtScheduler;

use super::btf::Btf;
use super::code::{Code, Is, Label, Reg, Size};

use Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use Size::{Eight, Four};

/// The queue of all threads that are not ours. Those of CPUs have the CPU's number.
const OTHERS: i32 = 1 << 20;

/// Kernel constants of sched_ext, which no release has changed: `enum scx_public_consts`, `scx_enq_flags`, `scx_kick_flags`,
/// `scx_ent_flags`.
const SLICE_DEFAULT: i32 = 20_000_000;
const SLICE_INFINITE: i32 = -1;
const ENQ_WAKEUP: i32 = 1;
const KICK_IDLE: i32 = 1;
const KICK_PREEMPT: i32 = 2;
const TASK_QUEUED: i32 = 1;

/// A helper, which has a number.
const MAP_LOOKUP: i32 = 1;

/// Who has a CPU.
const NOBODY: i32 = 0;
const SOMEBODY: i32 = 1;
const OURS: i32 = 2;

/// A thread's seat, which its process shares with the scheduler: numbers of 8 bytes.
pub(super) mod seat {
    /// Release of the job that it does, or sleeps for.
    pub(in super::super) const RELEASE: u16 = 0;
    /// Relative deadline.
    pub(in super::super) const DEADLINE: u16 = 1;
    /// Period.
    pub(in super::super) const PERIOD: u16 = 2;
    /// Place in the set: the first of two with the same period goes first.
    pub(in super::super) const PLACE: u16 = 3;
    /// How often the scheduler gave it a CPU.
    pub(in super::super) const RUNS: u16 = 4;
    /// Size of all.
    pub(in super::super) const BYTES: u32 = 40;
}

/// Places below this fit below a period in a key.
const PLACE_BITS: i32 = 7;

/// What the scheduler leaves when it ends: kind and code. The kernel's sentence goes to its log: the helper that would copy
/// it needs a kernel that traces by probes.
pub(super) const END_BYTES: u32 = 16;

/// Descriptors of the maps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maps {
    /// Place of a seat by a thread's number.
    pub(super) places: i32,
    /// The seats.
    pub(super) seats: i32,
    /// Who has a CPU.
    pub(super) has: i32,
    /// How it ended.
    pub(super) end: i32,
}

/// What the kernel calls things, found in its BTF.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kernel {
    pid: i16,
    slice: i16,
    vtime: i16,
    flags: i16,
    cpus: i16,
    iterator_bytes: i16,
    end_kind: i16,
    end_code: i16,
    dispatch: u32,
    dispatch_vtime: u32,
    consume: u32,
    create: u32,
    kick: u32,
    cpu_of: u32,
    select: u32,
    pick_idle: u32,
    again: u32,
    iterate: u32,
    next: u32,
    done: u32,
}

impl Kernel {
    /// Looks everything up. What is missing is the error.
    pub(super) fn of(btf: &Btf<'_>) -> Result<Self, String> {
        let structure = |name: &str| btf.structure(name).ok_or_else(|| format!("struct {name}"));
        let task = structure("task_struct")?;
        let end = structure("scx_exit_info")?;
        let iterator = structure("bpf_iter_scx_dsq")?;
        let field = |of: u32, path: &str| {
            let found = btf.offset(of, path).and_then(|at| i16::try_from(at).ok());
            found.ok_or_else(|| format!("field {path}"))
        };
        let function =
            |names: &[&str]| btf.function(names).ok_or_else(|| format!("{}()", names[0]));
        Ok(Self {
            pid: field(task, "pid")?,
            slice: field(task, "scx.slice")?,
            vtime: field(task, "scx.dsq_vtime")?,
            flags: field(task, "scx.flags")?,
            cpus: field(task, "cpus_ptr")?,
            iterator_bytes: btf
                .size(iterator)
                .and_then(|bytes| i16::try_from(bytes).ok())
                .filter(|bytes| *bytes <= 256)
                .ok_or("struct bpf_iter_scx_dsq")?,
            end_kind: field(end, "kind")?,
            end_code: field(end, "exit_code")?,
            // The first names are those of Linux 6.13 and newer.
            dispatch: function(&["scx_bpf_dsq_insert", "scx_bpf_dispatch"])?,
            dispatch_vtime: function(&["scx_bpf_dsq_insert_vtime", "scx_bpf_dispatch_vtime"])?,
            consume: function(&["scx_bpf_dsq_move_to_local", "scx_bpf_consume"])?,
            create: function(&["scx_bpf_create_dsq"])?,
            kick: function(&["scx_bpf_kick_cpu"])?,
            cpu_of: function(&["scx_bpf_task_cpu"])?,
            select: function(&["scx_bpf_select_cpu_dfl"])?,
            pick_idle: function(&["scx_bpf_pick_idle_cpu"])?,
            again: function(&["scx_bpf_reenqueue_local"])?,
            iterate: function(&["bpf_iter_scx_dsq_new"])?,
            next: function(&["bpf_iter_scx_dsq_next"])?,
            done: function(&["bpf_iter_scx_dsq_destroy"])?,
        })
    }
}

/// One of the scheduler's functions.
#[derive(Debug)]
pub(super) struct Program {
    /// The member of `struct sched_ext_ops`.
    pub(super) name: &'static str,
    /// Its instructions.
    pub(super) words: Vec<u64>,
    /// Whether the kernel lets it sleep.
    pub(super) sleeps: bool,
}

/// Returns the functions of a scheduler on a machine with this number of CPUs.
pub(super) fn programs(
    of: ExtScheduler,
    kernel: &Kernel,
    maps: Maps,
    cpus: u32,
) -> Option<Vec<Program>> {
    let with = Writer { of, kernel, maps };
    let each = [
        ("select_cpu", with.select_cpu(), false),
        ("enqueue", with.enqueue(), false),
        ("dispatch", with.dispatch(), false),
        ("running", with.running(), false),
        ("stopping", with.stopping(), false),
        ("cpu_release", with.cpu_release(), false),
        ("init", with.init(cpus), true),
        ("exit", with.exit(), false),
    ];
    each.into_iter()
        .map(|(name, code, sleeps)| {
            Some(Program {
                name,
                words: code.finish()?,
                sleeps,
            })
        })
        .collect()
}

#[derive(Debug)]
struct Writer<'a> {
    of: ExtScheduler,
    kernel: &'a Kernel,
    maps: Maps,
}

impl Writer<'_> {
    /// R0 becomes the seat of the thread in `task`, and the word at -4 its place; goes to `none` if it has none.
    fn seat(&self, code: &mut Code, task: Reg, none: Label) {
        code.load(Four, R1, task, self.kernel.pid);
        code.store(Four, R10, -4, R1);
        look_up(code, self.maps.places, none);
        code.load(Four, R1, R0, 0);
        code.store(Four, R10, -4, R1);
        look_up(code, self.maps.seats, none);
    }

    /// `to` becomes the key of the seat in R0; R1 is lost.
    fn key(&self, code: &mut Code, to: Reg) {
        let at = |field: u16| field.cast_signed() * 8;
        match self.of {
            ExtScheduler::EarliestDeadlineFirst => {
                code.load(Eight, to, R0, at(seat::RELEASE));
                code.load(Eight, R1, R0, at(seat::DEADLINE));
            }
            ExtScheduler::RateMonotonic => {
                code.load(Eight, to, R0, at(seat::PERIOD));
                code.shift_left(to, PLACE_BITS);
                code.load(Eight, R1, R0, at(seat::PLACE));
            }
        }
        code.add_reg(to, R1);
    }

    /// R0 becomes where it stands who has the thread's CPU; goes to `none` for a CPU that there is not.
    fn has(&self, code: &mut Code, task: Reg, none: Label) {
        code.copy(R1, task);
        code.call_kernel(self.kernel.cpu_of);
        code.store(Four, R10, -4, R0);
        look_up(code, self.maps.has, none);
    }

    fn select_cpu(&self) -> Code {
        let mut code = Code::default();
        let other = code.label();
        code.load(Eight, R6, R1, 0);
        code.load(Eight, R7, R1, 8);
        code.load(Eight, R8, R1, 16);
        self.seat(&mut code, R6, other);
        code.copy(R0, R7);
        code.exit();
        code.here(other);
        code.set(R1, 0);
        code.store(Eight, R10, -16, R1);
        code.copy(R1, R6);
        code.copy(R2, R7);
        code.copy(R3, R8);
        code.copy(R4, R10);
        code.add(R4, -16);
        code.call_kernel(self.kernel.select);
        code.exit();
        code
    }

    fn enqueue(&self) -> Code {
        let mut code = Code::default();
        let (other, kick, end) = (code.label(), code.label(), code.label());
        code.load(Eight, R6, R1, 0);
        code.load(Eight, R7, R1, 8);
        self.seat(&mut code, R6, other);
        self.key(&mut code, R8);
        code.copy(R1, R6);
        code.call_kernel(self.kernel.cpu_of);
        code.copy(R9, R0);
        code.copy(R1, R6);
        code.copy(R2, R9);
        code.set(R3, SLICE_INFINITE);
        code.copy(R4, R8);
        code.copy(R5, R7);
        code.call_kernel(self.kernel.dispatch_vtime);
        code.store(Four, R10, -4, R9);
        look_up(&mut code, self.maps.has, end);
        code.load(Four, R1, R0, 0);
        code.jump_if(R1, Is::Equal, NOBODY, end);
        code.jump_if(R1, Is::Equal, SOMEBODY, kick);
        code.add(R1, -OURS);
        code.store(Four, R10, -4, R1);
        look_up(&mut code, self.maps.seats, end);
        self.key(&mut code, R2);
        code.jump_if_reg(R8, Is::AtLeast, R2, end);
        code.here(kick);
        code.copy(R1, R9);
        code.set(R2, KICK_PREEMPT);
        code.call_kernel(self.kernel.kick);
        code.jump(end);
        code.here(other);
        code.copy(R1, R6);
        code.set(R2, OTHERS);
        code.set(R3, SLICE_DEFAULT);
        code.copy(R4, R7);
        code.call_kernel(self.kernel.dispatch);
        code.jump_if(R7, Is::Has, ENQ_WAKEUP, end);
        code.load(Eight, R1, R6, self.kernel.cpus);
        code.set(R2, 0);
        code.call_kernel(self.kernel.pick_idle);
        // It returns an int, of which the upper half says nothing.
        code.shift_left(R0, 32);
        code.jump_if(R0, Is::Negative, 0, end);
        code.shift_right(R0, 32);
        code.copy(R1, R0);
        code.set(R2, KICK_IDLE);
        code.call_kernel(self.kernel.kick);
        code.here(end);
        code.set(R0, 0);
        code.exit();
        code
    }

    fn dispatch(&self) -> Code {
        let mut code = Code::default();
        let (next, looked, end) = (code.label(), code.label(), code.label());
        let iterator = -16 - self.kernel.iterator_bytes;
        code.load(Eight, R6, R1, 0);
        code.load(Eight, R7, R1, 8);
        code.jump_if(R7, Is::Equal, 0, next);
        code.load(Four, R1, R7, self.kernel.flags);
        code.set(R2, TASK_QUEUED);
        code.and_reg(R1, R2);
        code.jump_if(R1, Is::Equal, 0, next);
        self.seat(&mut code, R7, next);
        self.key(&mut code, R8);
        code.copy(R1, R10);
        code.add(R1, iterator.into());
        code.copy(R2, R6);
        code.set(R3, 0);
        code.call_kernel(self.kernel.iterate);
        code.copy(R1, R10);
        code.add(R1, iterator.into());
        code.call_kernel(self.kernel.next);
        code.set(R9, -1);
        code.jump_if(R0, Is::Equal, 0, looked);
        code.load(Eight, R9, R0, self.kernel.vtime);
        code.here(looked);
        code.copy(R1, R10);
        code.add(R1, iterator.into());
        code.call_kernel(self.kernel.done);
        code.jump_if_reg(R9, Is::Below, R8, next);
        code.set(R1, SLICE_INFINITE);
        code.store(Eight, R7, self.kernel.slice, R1);
        code.jump(end);
        code.here(next);
        code.copy(R1, R6);
        code.call_kernel(self.kernel.consume);
        // It returns a bool, of which the other bits say nothing.
        code.jump_if(R0, Is::Has, 1, end);
        code.set(R1, OTHERS);
        code.call_kernel(self.kernel.consume);
        code.here(end);
        code.set(R0, 0);
        code.exit();
        code
    }

    fn running(&self) -> Code {
        let mut code = Code::default();
        let (other, note, end) = (code.label(), code.label(), code.label());
        let runs = seat::RUNS.cast_signed() * 8;
        code.load(Eight, R6, R1, 0);
        self.seat(&mut code, R6, other);
        code.load(Eight, R1, R0, runs);
        code.add(R1, 1);
        code.store(Eight, R0, runs, R1);
        code.load(Four, R7, R10, -4);
        code.add(R7, OURS);
        code.jump(note);
        code.here(other);
        code.set(R7, SOMEBODY);
        code.here(note);
        self.has(&mut code, R6, end);
        code.store(Four, R0, 0, R7);
        code.here(end);
        code.set(R0, 0);
        code.exit();
        code
    }

    fn stopping(&self) -> Code {
        let mut code = Code::default();
        let end = code.label();
        code.load(Eight, R6, R1, 0);
        self.has(&mut code, R6, end);
        code.set(R1, NOBODY);
        code.store(Four, R0, 0, R1);
        code.here(end);
        code.set(R0, 0);
        code.exit();
        code
    }

    fn cpu_release(&self) -> Code {
        let mut code = Code::default();
        code.call_kernel(self.kernel.again);
        code.set(R0, 0);
        code.exit();
        code
    }

    fn init(&self, cpus: u32) -> Code {
        let mut code = Code::default();
        let end = code.label();
        let all = (0..cpus).filter_map(|cpu| i32::try_from(cpu).ok());
        for queue in all.chain([OTHERS]) {
            code.set(R1, queue);
            code.set(R2, -1);
            code.call_kernel(self.kernel.create);
            code.jump_if(R0, Is::NotEqual, 0, end);
        }
        code.set(R0, 0);
        code.here(end);
        code.exit();
        code
    }

    fn exit(&self) -> Code {
        let mut code = Code::default();
        let end = code.label();
        code.load(Eight, R6, R1, 0);
        code.set(R1, 0);
        code.store(Four, R10, -4, R1);
        look_up(&mut code, self.maps.end, end);
        code.load(Four, R1, R6, self.kernel.end_kind);
        code.store(Eight, R0, 0, R1);
        code.load(Eight, R1, R6, self.kernel.end_code);
        code.store(Eight, R0, 8, R1);
        code.here(end);
        code.set(R0, 0);
        code.exit();
        code
    }
}

/// R0 becomes the value whose key is the word at -4; goes to `none` if the map has none.
fn look_up(code: &mut Code, map: i32, none: Label) {
    code.copy(R2, R10);
    code.add(R2, -4);
    code.set_map(R1, map);
    code.call_helper(MAP_LOOKUP);
    code.jump_if(R0, Is::Equal, 0, none);
}
