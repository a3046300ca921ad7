// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the owners of a delay are called.

use super::cycle::Cause;
use super::who::{Name, Names, SOFTIRQS, Tid, Who};
use punctual_sys::calls;

/// A cause as it is said.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Said {
    pub(super) kind: &'static str,
    pub(super) name: Option<String>,
    pub(super) what: String,
}

/// Writes a priority as the scheduler counts it in the words of users.
pub(super) fn policy(prio: i16) -> String {
    match prio {
        ..0 => "deadline".to_owned(),
        0..100 => format!("real-time {}", 99 - prio),
        _ => format!("nice {}", prio - 120),
    }
}

/// Writes who has a CPU.
pub(super) fn who(who: Who, names: &Names) -> String {
    match who {
        Who::Unknown => "unknown".to_owned(),
        Who::Idle { .. } => "idle".to_owned(),
        Who::Task { name, .. } if who.is_stopper(names) => format!(
            "{}, the kernel's CPU stopper (a CPU that goes offline or comes online, a change of the clock source, a thread \
             that is moved away)",
            names.text(name)
        ),
        Who::Task { name, prio, .. } => format!("{} ({})", names.text(name), policy(prio)),
        Who::Irq { irq, name } => format!("interrupt {irq} ({})", names.text(name)),
        Who::Vector { name } => names.text(name).to_owned(),
        Who::Softirq { vec } => {
            let name = SOFTIRQS.get(usize::from(vec)).unwrap_or(&"?");
            format!("soft interrupt {name}")
        }
        Who::Timer { name } => format!("timer function {}", names.text(name)),
    }
}

/// Returns who did what a cause says.
const fn doer(cause: Cause) -> Option<Who> {
    match cause {
        Cause::Taken(who)
        | Cause::Unpreemptible(who)
        | Cause::Masked(who)
        | Cause::Holder(who)
        | Cause::Stopped(who)
        | Cause::KeptHolder { who, .. } => Some(who),
        _ => None,
    }
}

/// Returns the thread that a cause names.
pub(super) fn tid(cause: Cause) -> Option<Tid> {
    doer(cause).and_then(Who::tid)
}

/// Whether a cause names a thread of this name.
pub(super) fn is_by(cause: Cause, own: Name) -> bool {
    matches!(doer(cause), Some(Who::Task { name, .. }) if name == own)
}

/// Returns the cause without the number of its thread: threads of one name are one culprit.
pub(super) fn without_tid(cause: Cause) -> Cause {
    const fn bare(who: Who) -> Who {
        match who {
            Who::Task { name, prio, .. } => Who::Task { tid: 0, name, prio },
            Who::Idle { .. } => Who::Idle { state: None },
            who => who,
        }
    }
    match cause {
        Cause::Taken(who) => Cause::Taken(bare(who)),
        Cause::Unpreemptible(who) => Cause::Unpreemptible(bare(who)),
        Cause::Masked(who) => Cause::Masked(bare(who)),
        Cause::Holder(who) => Cause::Holder(bare(who)),
        Cause::HolderWaits(who) => Cause::HolderWaits(bare(who)),
        Cause::Stopped(who) => Cause::Stopped(bare(who)),
        Cause::KeptHolder { who, holder } => Cause::KeptHolder {
            who: bare(who),
            holder,
        },
        // To be without the call is to be without both: the work in the kernel, and the wait for a device.
        Cause::System { call } => Cause::Call {
            call,
            by: Who::Unknown,
        },
        Cause::Call { call, by } if by.interrupts() || waits_for_storage(call) => Cause::Call {
            call,
            by: Who::Unknown,
        },
        Cause::Call { call, by } => Cause::Call { call, by: bare(by) },
        cause => cause,
    }
}

/// Whether a call that waits does so for storage, whoever tells it that the data are there.
fn waits_for_storage(call: i64) -> bool {
    let name = calls::name(call).unwrap_or_default();
    let calls = [
        "sync",
        "write",
        "open",
        "rename",
        "unlink",
        "link",
        "mkdir",
        "truncate",
        "fallocate",
        "stat",
    ];
    calls.iter().any(|part| name.contains(part))
}

/// Says a cause.
pub(super) fn say(cause: Cause, names: &Names) -> Said {
    let named = |of: Who| match of {
        Who::Task { name, .. }
        | Who::Irq { name, .. }
        | Who::Vector { name }
        | Who::Timer { name } => Some(names.text(name).to_owned()),
        Who::Softirq { vec } => SOFTIRQS.get(usize::from(vec)).map(|&name| name.to_owned()),
        Who::Unknown | Who::Idle { .. } => None,
    };
    let (kind, name, what) = match cause {
        Cause::Itself => ("itself", None, "its own work".to_owned()),
        Cause::Earlier => (
            "earlier-cycle",
            None,
            "its own work of an earlier cycle".to_owned(),
        ),
        Cause::Taken(of) => {
            let kind = match of {
                Who::Task { .. } => "task",
                Who::Softirq { .. } => "softirq",
                Who::Timer { .. } => "timer",
                Who::Irq { .. } | Who::Vector { .. } => "interrupt",
                Who::Unknown | Who::Idle { .. } => "unknown",
            };
            (kind, named(of), who(of, names))
        }
        Cause::Unpreemptible(of) => (
            "unpreemptible",
            named(of),
            format!("{}, which the kernel could not preempt", who(of, names)),
        ),
        Cause::Masked(of) => (
            "masked",
            named(of),
            format!(
                "{} with interrupts off, or a late interrupt",
                who(of, names)
            ),
        ),
        Cause::IdleExit => ("idle-exit", None, "leaving an idle state".to_owned()),
        Cause::Outside => (
            "outside",
            None,
            "outside this kernel (hypervisor, firmware): the interrupt of an idle CPU was late"
                .to_owned(),
        ),
        Cause::Slack => (
            "slack",
            None,
            "timer slack of an ordinary thread".to_owned(),
        ),
        Cause::Throttled => (
            "throttling",
            None,
            "the scheduler held it back (real-time throttling, the fair server, or a CPU quota)"
                .to_owned(),
        ),
        Cause::OutOfRuntime => (
            "throttling",
            None,
            "its own SCHED_DEADLINE runtime, which it had used up".to_owned(),
        ),
        Cause::NextPeriod => (
            "throttling",
            None,
            "the scheduler held it back until its next SCHED_DEADLINE period: it had used up its runtime, or it was woken after \
             its deadline"
                .to_owned(),
        ),
        Cause::Holder(of) => (
            "lock",
            named(of),
            format!("{}, which held a lock", who(of, names)),
        ),
        Cause::HolderWaits(of) => {
            let name = named(of).unwrap_or_default();
            let what = format!("{name}, which held a lock and waited itself");
            ("lock", Some(name), what)
        }
        Cause::KeptHolder { who: of, holder } => (
            "lock-chain",
            named(of),
            format!(
                "{}, which kept {} from running, which held a lock",
                who(of, names),
                names.text(holder)
            ),
        ),
        Cause::Call { call, by } => {
            let call = call_name(call);
            let what = match by {
                Who::Unknown => format!("its system call {call}"),
                by => format!("waiting in {call} until {}", who(by, names)),
            };
            ("call", Some(call), what)
        }
        Cause::System { call } => {
            let call = call_name(call);
            let what = format!("its own work in the kernel, in {call}");
            ("system-call", Some(call), what)
        }
        Cause::Fault => ("page-fault", None, "page faults of its own".to_owned()),
        Cause::Moved => (
            "migration",
            None,
            "being moved to another CPU while it ran (its affinity was changed, or its load balanced)".to_owned(),
        ),
        Cause::Stopped(Who::Unknown) => (
            "stopped",
            None,
            "a signal or a debugger that stopped it".to_owned(),
        ),
        Cause::Stopped(of) => (
            "stopped",
            named(of),
            format!("a signal from {} that stopped it", who(of, names)),
        ),
        Cause::NotCreated => (
            "not-created",
            None,
            "a release from before the thread was created".to_owned(),
        ),
        Cause::Unknown => ("unknown", None, "nothing that was recorded".to_owned()),
    };
    Said { kind, name, what }
}

/// Returns the name of a system call; those without one have their number.
pub(super) fn call_name(call: i64) -> String {
    match calls::name(call) {
        Some(name) => name.to_owned(),
        None if call < 0 => "the kernel".to_owned(),
        None => format!("system call {call}"),
    }
}
