// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Timers: who set them, and whom they wake when they expire.

use punctual_model::CpuId;

use super::cpu::Nest;
use super::{Replay, remember};
use crate::watch::thread::{ClockOff, Expiry};
use crate::watch::who::{Name, Tid, Who};

/// The function of the timer of a sleep and of a time-out.
const SLEEPER: &str = "hrtimer_wakeup";

/// The functions of timers that a thread waits for: a sleep, a time-out, a descriptor, a signal. The scheduler sets its own
/// ones on the time of whichever thread has the CPU.
const WAITED_FOR: [&str; 6] = [
    SLEEPER,
    "timerfd_tmrproc",
    "posix_timer_fn",
    "it_real_fn",
    "alarmtimer_fired",
    // Of the timerlat tracer's own threads.
    "timerlat_irq",
];

/// The function of the timer that gives a `SCHED_DEADLINE` thread its next job's runtime. The fair server of a CPU has one, too.
const NEXT_JOB: &str = "dl_task_timer";

/// The function of the timer that renews a group's quota of CPU time.
const QUOTA_TIMER: &str = "sched_cfs_period_timer";

impl Replay {
    /// Notes whose a timer is: the thread that set it, where it is one that threads wait for.
    pub(super) fn timer_set(
        &mut self,
        (time, cpu, pid): (u64, CpuId, Tid),
        timer: u64,
        (function, soft): (u64, u64),
    ) {
        let in_thread = self.cpus.get(&cpu).is_some_and(|of| of.stack.is_empty());
        if !in_thread {
            return;
        }
        let function = self.function(function);
        let is_waited_for = self.threads.get(&pid).is_some_and(|thread| {
            match (&self.symbols, self.names.text(function)) {
                (Some(_), NEXT_JOB) => thread.is_to_be_released(),
                (Some(_), name) => WAITED_FOR.contains(&name),
                (None, _) => thread.is_in_a_call(),
            }
        });
        if is_waited_for {
            remember(&mut self.timer_of, timer, pid);
            let is_of_call = self.is_of_call(function);
            match self.threads.get_mut(&pid) {
                Some(thread) if is_of_call => thread.sets_timer(time, soft),
                Some(thread) => thread.sets_interval_timer(timer, soft),
                None => {}
            }
        } else {
            // The kernel uses the memory of a timer that is gone for another one.
            self.timer_of.remove(&timer);
        }
    }

    /// Whether a timer of this function is that of a system call; so is each where the kernel does not name them.
    fn is_of_call(&self, function: Name) -> bool {
        matches!(self.names.text(function), SLEEPER | NEXT_JOB) || self.symbols.is_none()
    }

    pub(super) fn timer_expires(
        &mut self,
        time: u64,
        cpu: CpuId,
        timer: u64,
        function: u64,
        now: u64,
    ) {
        let name = self.function(function);
        self.push(time, cpu, Nest::Timer, Who::Timer { name });
        let is_of_call = self.is_of_call(name);
        let is_next_job = self.names.text(name) == NEXT_JOB || self.symbols.is_none();
        if self.names.text(name) == QUOTA_TIMER {
            self.renewals.add(time);
        }
        let Some((soft, hard)) = self.timers.remove(&timer) else {
            return;
        };
        // A timer may run on another clock than the trace: the event holds what that clock showed.
        let off = i128::from(now) - i128::from(time);
        let owner = self
            .timer_of
            .get(&timer)
            .and_then(|tid| self.threads.get_mut(tid));
        if let Some(thread) = owner {
            let shift = match &mut thread.clock_off {
                Some(clock) => clock.look(off),
                None => thread.clock_off.insert(ClockOff::new(off)).shift(),
            };
            let here = |at: u64| u64::try_from(i128::from(at) - shift).unwrap_or(time);
            let expiry = Expiry {
                soft: here(soft),
                hard: here(hard),
                cpu,
                of_call: is_of_call,
            };
            thread.expires(time, soft, expiry);
            if is_next_job && thread.has_ended_job() {
                // No event says that it is made runnable, which it is where it was, wherever its timer expires.
                let there = thread.now().map_or(cpu, |span| span.cpu);
                thread.wakes(time, there, Some(Who::Timer { name }));
            }
        }
    }
}
