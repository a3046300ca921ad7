// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Scheduling policy and CPU affinity of threads.

use std::io;
use std::mem::size_of;
use std::num::NonZeroU64;

use punctual_model::{CPU_LIMIT, CpuId, CpuSet, Nanos, Policy};
use rustix::thread::{sched_getaffinity, sched_getcpu, sched_setaffinity};

use crate::errno::done;

/// include/uapi/linux/sched.h, since Linux 6.12.
const SCHED_EXT: i32 = 7;

/// Sets the calling thread's scheduling policy.
///
/// # Errors
///
/// Fails with `EPERM` without `CAP_SYS_NICE`, for a deadline policy also when the thread's
/// affinity is narrower than its root domain, and with `EBUSY` when deadline admission fails.
pub fn set_policy(policy: Policy) -> io::Result<()> {
    set_policy_of(0, policy)
}

/// Sets the scheduling policy of thread `tid`; 0 is the calling thread.
///
/// # Errors
///
/// Fails as [`set_policy`] does, and with `ESRCH` when there is no such thread.
pub fn set_policy_of(tid: i32, policy: Policy) -> io::Result<()> {
    set_attr_of(tid, &to_attr(policy))
}

/// Tries `policy` on `cpus` in a thread of its own, so that the caller stays as it is.
///
/// # Errors
///
/// Fails as [`set_policy`] and [`set_affinity`] do, and where no thread can be started.
pub fn tried(policy: Policy, cpus: Option<&CpuSet>) -> io::Result<()> {
    std::thread::scope(|scope| {
        let enter = || {
            cpus.map_or(Ok(()), set_affinity)?;
            set_policy(policy)
        };
        let tried = std::thread::Builder::new().spawn_scoped(scope, enter)?;
        tried
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the policy could not be tested")))
    })
}

fn set_attr_of(tid: i32, attr: &libc::sched_attr) -> io::Result<()> {
    // SAFETY: `attr` is a live `sched_attr` whose `size` field is its own size, so the kernel
    // reads only within it; a number that is no thread is refused; flags must be zero.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const *attr, 0) };
    done(rc)
}

/// Reads the scheduling policy of thread `tid`; 0 is the calling thread.
///
/// # Errors
///
/// Fails with `ESRCH` when there is no such thread, and with `InvalidData` on a policy that this
/// program does not know.
pub fn policy_of(tid: i32) -> io::Result<Policy> {
    from_attr(&attr_of(tid)?)
}

/// Returns the niceness of the calling thread, which it has under every policy, from -20 to 19.
pub fn niceness() -> i8 {
    let nice = rustix::process::getpriority_process(None);
    nice.ok()
        .and_then(|nice| i8::try_from(nice).ok())
        .unwrap_or(0)
}

/// Returns the policy of an ordinary thread as the caller of this program means it: `SCHED_OTHER` with the niceness that
/// this thread has. A user may not go below that (`RLIMIT_NICE`).
pub fn ordinary() -> Policy {
    Policy::Other { nice: niceness() }
}

fn attr_of(tid: i32) -> io::Result<libc::sched_attr> {
    let mut attr = zeroed();
    // SAFETY: the kernel writes at most the given size, which is that of `attr`; flags are zero.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            tid,
            &raw mut attr,
            size_of::<libc::sched_attr>(),
            0,
        )
    };
    done(rc)?;
    Ok(attr)
}

/// Makes the calling thread a `SCHED_DEADLINE` thread whose deadline comes before the end of its period.
///
/// # Errors
///
/// Fails as [`set_policy`] does, and with `EINVAL` unless runtime <= deadline <= period.
pub fn set_deadline(runtime: Nanos, deadline: Nanos, period: Nanos) -> io::Result<()> {
    let mut attr = to_attr(Policy::Deadline { runtime, period });
    attr.sched_deadline = deadline.get();
    set_attr_of(0, &attr)
}

/// Reads the deadline of the calling thread, from the beginning of its period; nothing unless it is a `SCHED_DEADLINE`
/// thread.
///
/// # Errors
///
/// Fails as [`policy_of`] does.
pub fn deadline() -> io::Result<Option<Nanos>> {
    let attr = attr_of(0)?;
    let is_deadline = attr.sched_policy.cast_signed() == libc::SCHED_DEADLINE;
    Ok(is_deadline.then(|| Nanos::new(attr.sched_deadline)))
}

/// Makes the calling thread an ordinary one of the niceness that it has, if it is a real-time thread, and returns what it was.
///
/// Threads and processes inherit the policy of the thread that starts them: a program started under
/// `chrt -f` calls this before it starts anything that is to be ordinary. It needs no privilege.
///
/// # Errors
///
/// Fails when the policy cannot be read.
pub fn leave_real_time() -> io::Result<Option<Policy>> {
    let policy = policy_of(0)?;
    if !policy.is_real_time() {
        return Ok(None);
    }
    set_policy(ordinary())?;
    Ok(Some(policy))
}

/// Returns the CPUs that the calling thread may run on.
///
/// # Errors
///
/// Fails with `EINVAL` on a machine with more CPUs than a `cpu_set_t` holds.
pub fn affinity() -> io::Result<CpuSet> {
    affinity_of(0)
}

/// Returns the CPUs that thread `tid` may run on; 0 is the calling thread.
///
/// # Errors
///
/// Fails as [`affinity`] does, and with `ESRCH` when there is no such thread.
pub fn affinity_of(tid: i32) -> io::Result<CpuSet> {
    let set = sched_getaffinity(rustix::process::Pid::from_raw(tid))?;
    Ok((0..CPU_LIMIT)
        .filter(|cpu| set.is_set(*cpu as usize))
        .collect())
}

/// Returns those of `cpus` that a thread of this process may bind itself to.
///
/// These can be more than [`affinity`] says: what a program inherits at its start, because of
/// `isolcpus` or taskset(1), is no limit. A control group is one.
///
/// # Errors
///
/// Fails as [`set_affinity`] does, and where no thread can be started.
pub fn reachable(cpus: &CpuSet) -> io::Result<CpuSet> {
    let cpus = cpus.clone();
    let tried = std::thread::Builder::new().spawn(move || {
        set_affinity(&cpus)?;
        affinity()
    })?;
    tried
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread that tried it died")))
}

/// Binds the calling thread to `cpus`.
///
/// # Errors
///
/// Fails with `EINVAL` when none of `cpus` is online and allowed to this thread.
pub fn set_affinity(cpus: &CpuSet) -> io::Result<()> {
    set_affinity_of(0, cpus)
}

/// Binds thread `tid` to `cpus`; 0 is the calling thread.
///
/// # Errors
///
/// Fails as [`set_affinity`] does; with `ESRCH` when there is no such thread, with `EPERM` when it
/// is another user's, and with `EINVAL` on a kernel thread that must stay on its CPU.
pub fn set_affinity_of(tid: i32, cpus: &CpuSet) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    for cpu in cpus.iter() {
        set.set(cpu as usize);
    }
    Ok(sched_setaffinity(
        rustix::process::Pid::from_raw(tid),
        &set,
    )?)
}

/// Returns the CPU that the calling thread runs on.
///
/// Hot path: allocates nothing; no system call where the vDSO has it.
#[inline]
pub fn current_cpu() -> CpuId {
    u32::try_from(sched_getcpu()).unwrap_or(u32::MAX)
}

/// Returns the calling thread's timer slack: how much later than asked the kernel may wake an
/// ordinary thread to save wake-ups. Real-time threads have none.
pub fn timer_slack() -> Option<Nanos> {
    rustix::thread::current_timer_slack().ok().map(Nanos::new)
}

/// Asks the kernel to wake the calling thread no later than asked. What it has then, [`timer_slack`] tells.
pub fn lose_timer_slack() {
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
}

fn zeroed() -> libc::sched_attr {
    // SAFETY: `sched_attr` is plain integers, for which all-zero is valid.
    unsafe { std::mem::zeroed() }
}

fn to_attr(policy: Policy) -> libc::sched_attr {
    let mut attr = zeroed();
    #[expect(clippy::cast_possible_truncation, reason = "some 56 bytes")]
    {
        attr.size = size_of::<libc::sched_attr>() as u32;
    }
    attr.sched_policy = number(policy).cast_unsigned();
    match policy {
        Policy::Other { nice } => attr.sched_nice = nice.into(),
        Policy::Batch | Policy::Idle | Policy::Ext => {}
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
            attr.sched_priority = priority.into();
        }
        Policy::Deadline { runtime, period } => {
            attr.sched_runtime = runtime.get();
            attr.sched_deadline = period.get();
            attr.sched_period = period.get();
        }
    }
    attr
}

const fn number(policy: Policy) -> i32 {
    match policy {
        Policy::Other { .. } => libc::SCHED_OTHER,
        Policy::Batch => libc::SCHED_BATCH,
        Policy::Idle => libc::SCHED_IDLE,
        Policy::Fifo { .. } => libc::SCHED_FIFO,
        Policy::RoundRobin { .. } => libc::SCHED_RR,
        Policy::Deadline { .. } => libc::SCHED_DEADLINE,
        Policy::Ext => SCHED_EXT,
    }
}

fn from_attr(attr: &libc::sched_attr) -> io::Result<Policy> {
    let priority = || {
        u8::try_from(attr.sched_priority)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "priority out of range"))
    };
    match attr.sched_policy.cast_signed() {
        libc::SCHED_OTHER => Ok(Policy::Other {
            nice: i8::try_from(attr.sched_nice).unwrap_or(0),
        }),
        libc::SCHED_BATCH => Ok(Policy::Batch),
        libc::SCHED_IDLE => Ok(Policy::Idle),
        SCHED_EXT => Ok(Policy::Ext),
        libc::SCHED_FIFO => Ok(Policy::Fifo {
            priority: priority()?,
        }),
        libc::SCHED_RR => Ok(Policy::RoundRobin {
            priority: priority()?,
        }),
        libc::SCHED_DEADLINE => Ok(Policy::Deadline {
            runtime: Nanos::new(attr.sched_runtime),
            period: Nanos::new(attr.sched_period),
        }),
        other => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("unknown scheduling policy number {other}"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_is_always_permitted_and_reads_back() {
        std::thread::spawn(|| {
            set_policy(Policy::Other { nice: 3 }).unwrap();
            assert_eq!(policy_of(0).unwrap(), Policy::Other { nice: 3 });
            assert_eq!(ordinary(), Policy::Other { nice: 3 });
            set_policy(Policy::Batch).unwrap();
            assert_eq!(policy_of(0).unwrap(), Policy::Batch);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn fifo_priority_zero_is_refused_by_the_kernel() {
        let err = set_policy(Policy::Fifo { priority: 0 }).unwrap_err();
        assert_eq!(err.raw_os_error(), Some(libc::EINVAL));
    }

    #[test]
    fn a_real_time_thread_can_leave_and_an_ordinary_one_stays() {
        std::thread::spawn(|| {
            set_policy(Policy::Other { nice: 4 }).unwrap();
            assert_eq!(leave_real_time().unwrap(), None);
            assert_eq!(policy_of(0).unwrap(), Policy::Other { nice: 4 });
            let fifo = Policy::Fifo { priority: 1 };
            // Without the privilege there is nothing to leave.
            if set_policy(fifo).is_ok() {
                assert_eq!(leave_real_time().unwrap(), Some(fifo));
                // The niceness that it had before, and all the time.
                assert_eq!(policy_of(0).unwrap(), Policy::Other { nice: 4 });
            }
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_inherited_affinity_is_no_limit() {
        std::thread::spawn(|| {
            let all = affinity().unwrap();
            let first: CpuSet = all.iter().take(1).collect();
            set_affinity(&first).unwrap();
            assert_eq!(reachable(&all).unwrap(), all);
            assert_eq!(affinity().unwrap(), first);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn affinity_reads_back_as_set() {
        std::thread::spawn(|| {
            let first: CpuSet = affinity().unwrap().iter().take(1).collect();
            set_affinity(&first).unwrap();
            assert_eq!(affinity().unwrap(), first);
            assert!(first.contains(current_cpu()));
        })
        .join()
        .unwrap();
    }
}
