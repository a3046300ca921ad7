// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Facts about threads, and how to wake one that sleeps.

use std::io;
use std::mem::MaybeUninit;

use punctual_model::Nanos;

use crate::errno::done;

/// What a thread has used up to now.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Usage {
    /// Page faults that needed no reading from a disk.
    pub minor_faults: u64,
    /// Page faults that waited for a disk.
    pub major_faults: u64,
    /// Times that the thread slept.
    pub voluntary_switches: u64,
    /// Times that the thread was preempted.
    pub involuntary_switches: u64,
    /// CPU time in user and system mode.
    pub cpu_time: Nanos,
}

impl Usage {
    /// Returns what was used since `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
            voluntary_switches: self
                .voluntary_switches
                .saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self
                .involuntary_switches
                .saturating_sub(earlier.involuntary_switches),
            cpu_time: self.cpu_time.since(earlier.cpu_time),
        }
    }
}

/// Returns what the calling thread has used.
pub fn usage() -> Usage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: `usage` is writable and as large as the kernel writes.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: plain integers, zeroed above, so initialised even if the call failed.
    let usage = unsafe { usage.assume_init() };
    let count = |n: libc::c_long| u64::try_from(n).unwrap_or(0);
    let span =
        |t: libc::timeval| Nanos::from_secs(count(t.tv_sec)) + Nanos::from_micros(count(t.tv_usec));
    Usage {
        minor_faults: count(usage.ru_minflt),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
        cpu_time: span(usage.ru_utime) + span(usage.ru_stime),
    }
}

/// The kernel's number of a thread.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Tid(i32);

impl Tid {
    /// Returns the calling thread's number.
    pub fn current() -> Self {
        Self(rustix::thread::gettid().as_raw_nonzero().get())
    }

    /// Returns the number.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// Returns the CPU time that this thread of our process has used, or `None` once it is gone.
    pub fn cpu_time(self) -> Option<Nanos> {
        // The clock of another thread: clock_getres(2), "dynamic clocks"; CPUCLOCK_PERTHREAD |
        // CPUCLOCK_SCHED in the low bits, the inverted thread number above them.
        dynamic_clock((!self.0 << 3) | 6)
    }

    /// Interrupts a sleep of this thread of our process, which then fails with `EINTR`.
    ///
    /// A thread that is about to sleep may miss it: repeat until the thread is done.
    /// Needs [`allow_interrupts`] to have been called.
    pub fn interrupt(self) {
        let process = std::process::id();
        // SAFETY: plain numbers; a thread that is gone is refused with ESRCH.
        unsafe { libc::syscall(libc::SYS_tgkill, process, self.0, interrupt_signal()) };
    }
}

/// Reads a clock that a thread or process has, or `None` once that is gone.
pub(crate) fn dynamic_clock(id: libc::clockid_t) -> Option<Nanos> {
    let mut at = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: `at` is writable; an unknown clock is refused with EINVAL.
    let rc = unsafe { libc::clock_gettime(id, at.as_mut_ptr()) };
    if rc != 0 {
        return None;
    }
    // SAFETY: the call returned 0, so it wrote the time.
    let at = unsafe { at.assume_init() };
    let part = |n: i64| u64::try_from(n).unwrap_or(0);
    Some(Nanos::from_secs(part(at.tv_sec)) + Nanos::new(part(at.tv_nsec)))
}

/// Lets [`Tid::interrupt`] end sleeps: its signal gets a handler that does nothing.
///
/// # Errors
///
/// Fails as `sigaction(2)` does, for no reason that is known.
pub fn allow_interrupts() -> io::Result<()> {
    take_and_do_nothing(interrupt_signal())
}

/// Makes a file that would become larger than the limit (`ulimit -f`) an error, `EFBIG`, and no signal that ends the
/// program. Programs that are started have the signal as ever: a handler, unlike to ignore it, ends with `execve(2)`.
///
/// # Errors
///
/// Fails as `sigaction(2)` does, for no reason that is known.
pub fn outlive_file_size_limit() -> io::Result<()> {
    take_and_do_nothing(libc::SIGXFSZ)
}

fn take_and_do_nothing(signal: libc::c_int) -> io::Result<()> {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: plain data, for which all-zero is valid: no flags, so no SA_RESTART; empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    let handler: extern "C" fn(libc::c_int) = nothing;
    action.sa_sigaction = handler as libc::sighandler_t;
    // SAFETY: `action` is initialised and its handler is async-signal-safe: it does nothing.
    done(unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) })
}

fn interrupt_signal() -> libc::c_int {
    libc::SIGRTMIN() + 2
}

/// Whether the process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Asks the kernel to kill this process when the thread that started it ends.
///
/// # Errors
///
/// Fails when that parent is already gone: then there is nothing left to serve.
pub fn die_with_parent(parent: u32) -> io::Result<()> {
    hear_of_parents_end(parent, rustix::process::Signal::KILL)
}

/// Asks the kernel to send this process `signal` when the thread that started it ends. It fails as
/// [`die_with_parent`] does.
pub(crate) fn hear_of_parents_end(parent: u32, signal: rustix::process::Signal) -> io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(signal))?;
    let now = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    if i64::from(now) == i64::from(parent) {
        Ok(())
    } else {
        Err(io::Error::other("the parent process is gone"))
    }
}

/// Whether the kernel would let this process's user have `policy` without what the program's file gives: a file
/// capability or a set-user-ID bit, which is everybody's who may run the file.
pub fn is_users_own_right(policy: punctual_model::Policy) -> bool {
    use punctual_model::Policy;
    use rustix::process::Resource;

    // SAFETY: the function takes a number, and reads what the kernel has put beside the program's arguments.
    let from_file = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
    if !from_file {
        return true;
    }
    let limit = |resource| rustix::process::getrlimit(resource).current;
    let within = |resource, wanted: u64| limit(resource).is_none_or(|limit| wanted <= limit);
    match policy {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
            within(Resource::Rtprio, priority.into())
        }
        Policy::Deadline { .. } => false,
        // The limit counts from 1 for niceness 19 to 40 for -20 (getrlimit(2)).
        Policy::Other { nice } if nice < 0 => within(
            Resource::Nice,
            (20 + u64::from(nice.unsigned_abs())).min(40),
        ),
        Policy::Other { .. } | Policy::Batch | Policy::Idle | Policy::Ext => true,
    }
}

/// Asks another process to end, as Ctrl-C does. A process that is gone is none to ask.
pub fn ask_to_end(process: u32) {
    let pid = i32::try_from(process).ok();
    if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
        // It fails only when there is no such process any more, or it is not ours.
        let _gone = rustix::process::kill_process(pid, rustix::process::Signal::INT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timer::{Errno, Nanosleep, Sleeper as _};
    use punctual_model::Clock;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn a_long_sleep_can_be_interrupted() {
        allow_interrupts().unwrap();
        let (send, receive) = mpsc::channel();
        let sleeper = std::thread::spawn(move || {
            send.send(Tid::current()).unwrap();
            let deadline = crate::clock::monotonic() + Nanos::from_secs(600);
            Nanosleep::new(Clock::Monotonic).sleep_until(deadline)
        });
        let tid = receive.recv().unwrap();
        while !sleeper.is_finished() {
            tid.interrupt();
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(sleeper.join().unwrap(), Err(Errno::INTR));
    }

    #[test]
    fn cpu_time_of_another_thread_grows() {
        let before = Tid::current().cpu_time().unwrap();
        let mut sum = 0_u64;
        while Tid::current().cpu_time().unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(usage().cpu_time >= Nanos::ZERO);
    }
}
