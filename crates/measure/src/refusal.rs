// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why the kernel refused a scheduling policy with `EPERM`, and what helps.
//!
//! The call says no more than that. It is refused for lack of the right (sched(7), "Privileges and resource
//! limits"), and whoever has the right may be in a cgroup without real-time budget (the kernel's
//! Documentation/scheduler/sched-rt-group.rst). The right is `CAP_SYS_NICE` in the first user namespace, or a
//! limit on real-time priority.

use punctual_model::Policy;
use punctual_sys::SysRoot;
use punctual_sys::proc::{is_in_user_namespace, status};

use crate::budget::Budgets;

/// How a user gets the right.
pub const PRIVILEGE_HINT: &str = "run it with sudo, or allow real-time scheduling for a \
     group: put the lines `@realtime - rtprio 95` and `@realtime - memlock unlimited` in \
     /etc/security/limits.d/realtime.conf, then log in again";

/// The bit of `CAP_SYS_NICE` (capabilities(7)).
const CAP_SYS_NICE: u32 = 23;

/// One reason.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Refusal {
    /// What stands in the way.
    pub reason: String,
    /// What to do about it, in the imperative.
    pub remedy: String,
}

impl Refusal {
    fn new(reason: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            remedy: remedy.into(),
        }
    }
}

/// Returns every reason that is known why this process, which runs with `own` policy and niceness `nice`, may not
/// have `policy`. None for a deadline policy of who has the right: what else it takes is no matter of rights.
pub fn refusals(sys: &SysRoot, policy: Policy, own: Option<Policy>, nice: i8) -> Vec<Refusal> {
    if !policy.is_real_time() {
        return vec![ordinary(policy, own, nice)];
    }
    let rights = right(sys, policy);
    let budget = match policy {
        Policy::Deadline { .. } => None,
        _ => budget(sys),
    };
    let found: Vec<Refusal> = rights.into_iter().chain(budget).collect();
    if found.is_empty() && !matches!(policy, Policy::Deadline { .. }) {
        let reason = "nothing that Punctual knows of forbids it";
        let remedy = "look for a filter of system calls (seccomp), as containers have";
        return vec![Refusal::new(reason, remedy)];
    }
    found
}

fn ordinary(policy: Policy, own: Option<Policy>, nice: i8) -> Refusal {
    if own == Some(Policy::Idle) {
        return Refusal::new(
            "this program was started with SCHED_IDLE, which a user may not leave",
            "start it without that, or measure with it: --priority i",
        );
    }
    let wish = match policy {
        Policy::Other { nice } => nice,
        _ => 0,
    };
    Refusal::new(
        format!("niceness {wish} is below the {nice} that this program was started with"),
        "start it without nice(1), or keep its niceness: --priority o",
    )
}

/// Says whether the right is missing.
fn right(sys: &SysRoot, policy: Policy) -> Option<Refusal> {
    let Ok(text) = sys.read("/proc/self/status") else {
        return Some(Refusal::new(
            "/proc/self/status cannot be read, so the reason is not known",
            "mount /proc, and try again",
        ));
    };
    let has = status(&text, "CapEff")
        .and_then(|bits| u64::from_str_radix(bits, 16).ok())
        .is_some_and(|bits| bits >> CAP_SYS_NICE & 1 == 1);
    let foreign = is_in_user_namespace(sys);
    if (has && !foreign) || is_within_limit(sys, policy) {
        return None;
    }
    let effective = status(&text, "Uid").and_then(|ids| ids.split_whitespace().nth(1));
    Some(if foreign {
        Refusal::new(
            "this is a user namespace, where CAP_SYS_NICE does not count",
            "run it outside, or raise the limit on real-time priority (ulimit -r 95) before the \
             namespace is made",
        )
    } else if effective == Some("0") {
        Refusal::new(
            "root has no CAP_SYS_NICE here",
            "add --cap-add=SYS_NICE where the container is started, or give the capability back \
             to what starts Punctual",
        )
    } else {
        Refusal::new("CAP_SYS_NICE is missing", PRIVILEGE_HINT)
    })
}

/// Whether the limit on real-time priority allows it: where it does, no capability is needed.
fn is_within_limit(sys: &SysRoot, policy: Policy) -> bool {
    let (Policy::Fifo { priority } | Policy::RoundRobin { priority }) = policy else {
        return false;
    };
    let limits = sys.read("/proc/self/limits").unwrap_or_default();
    let mut lines = limits.lines();
    let line = lines.find_map(|line| line.strip_prefix("Max realtime priority"));
    let soft = line.and_then(|line| line.split_whitespace().next());
    soft.is_some_and(|soft| {
        soft == "unlimited"
            || soft
                .parse()
                .is_ok_and(|most: u64| u64::from(priority) <= most)
    })
}

/// Says whether the process's own cgroup has no real-time budget. A group above it has one then, or none either.
fn budget(sys: &SysRoot) -> Option<Refusal> {
    let budgets = Budgets::read(sys);
    // Where throttling is off the kernel asks for no budget (rt_bandwidth_enabled() in kernel/sched/rt.c).
    if budgets.system.is_some_and(|system| system.runtime_us < 0) {
        return None;
    }
    let (group, own) = budgets.groups.first()?;
    (own.runtime_us == 0).then(|| {
        Refusal::new(
            format!("its cgroup {group} has no real-time budget (cpu.rt_runtime_us is 0)"),
            "write a budget to that file, such as 100000, or run it in a cgroup that has one",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const FIFO: Policy = Policy::Fifo { priority: 80 };
    const WHOLE: (&str, &str) = ("proc/self/uid_map", "         0          0 4294967295\n");
    const LIMITED: (&str, &str) = (
        "proc/self/limits",
        "Max realtime priority     0                    0                    \n",
    );
    const ROOT: &str = "Name:\tp\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
    const BARE_ROOT: &str = "Name:\tp\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n";
    const USER: &str = "Name:\tp\nUid:\t7\t7\t7\t7\nCapEff:\t0000000000000000\n";
    const NO_BUDGET: [(&str, &str); 6] = [
        ("proc/self/cgroup", "2:cpu:/q\n"),
        (
            "proc/self/mounts",
            "cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0\n",
        ),
        ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
        ("proc/sys/kernel/sched_rt_period_us", "1000000\n"),
        ("sys/fs/cgroup/cpu/q/cpu.rt_runtime_us", "0\n"),
        ("sys/fs/cgroup/cpu/q/cpu.rt_period_us", "1000000\n"),
    ];

    fn said(policy: Policy, status: &str, files: &[(&str, &str)]) -> String {
        let all = [&[("proc/self/status", status)], files].concat();
        let (_dir, sys) = machine(&all);
        let found = refusals(&sys, policy, None, 0);
        let lines: Vec<String> = found
            .into_iter()
            .map(|refusal| format!("{}: {}", refusal.reason, refusal.remedy))
            .collect();
        lines.join("\n")
    }

    #[test]
    fn a_group_without_budget_refuses_root_and_the_right_is_not_to_blame() {
        let files = [[WHOLE, LIMITED].as_slice(), &NO_BUDGET].concat();
        let text = said(FIFO, ROOT, &files);
        assert!(
            text.contains("/sys/fs/cgroup/cpu/q has no real-time budget"),
            "{text}"
        );
        assert!(
            !text.contains("CAP_SYS_NICE") && !text.contains("sudo"),
            "{text}"
        );
        let off = ("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
        let text = said(FIFO, ROOT, &[files.as_slice(), &[off]].concat());
        assert!(text.contains("seccomp"), "{text}");
        let both = said(FIFO, USER, &files);
        assert!(
            both.contains("sudo") && both.contains("real-time budget"),
            "{both}"
        );
    }

    #[test]
    fn who_lacks_the_right_is_told_what_gives_it() {
        let own = [WHOLE, LIMITED];
        let text = said(FIFO, USER, &own);
        assert!(
            text.starts_with("CAP_SYS_NICE is missing: run it with sudo"),
            "{text}"
        );
        let text = said(FIFO, BARE_ROOT, &own);
        assert!(
            text.contains("--cap-add=SYS_NICE") && !text.contains("sudo"),
            "{text}"
        );
        let inner = ("proc/self/uid_map", "         0       1000          1\n");
        let text = said(FIFO, ROOT, &[inner, LIMITED]);
        assert!(
            text.contains("user namespace") && !text.contains("sudo"),
            "{text}"
        );
    }

    #[test]
    fn a_limit_that_allows_it_is_the_right_too() {
        let allowed = (
            "proc/self/limits",
            "Max realtime priority     95     95     \n",
        );
        let files = [[WHOLE, allowed].as_slice(), &NO_BUDGET].concat();
        let text = said(FIFO, USER, &files);
        assert!(
            text.contains("budget") && !text.contains("CAP_SYS_NICE"),
            "{text}"
        );
        let deadline = Policy::Deadline {
            runtime: punctual_model::Nanos::from_micros(500),
            period: punctual_model::Nanos::from_millis(1),
        };
        assert_eq!(said(deadline, ROOT, &files), "");
        assert!(said(deadline, USER, &files).contains("CAP_SYS_NICE"));
    }

    #[test]
    fn an_ordinary_policy_is_refused_because_of_how_the_program_was_started() {
        let (_dir, sys) = machine(&[]);
        let other = Policy::Other { nice: 0 };
        let say = |own, nice| refusals(&sys, other, Some(own), nice).remove(0);
        assert!(say(Policy::Idle, 0).remedy.contains("--priority i"));
        let nice = say(Policy::Other { nice: 10 }, 10);
        assert!(
            nice.reason.contains("niceness 0 is below the 10"),
            "{nice:?}"
        );
    }
}
