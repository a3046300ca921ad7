// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why the kernel refused a scheduling policy with `EPERM`, and what helps.
//!
//! The call says no more than that. It is refused for lack of the right (sched(7), "Privileges and resource
//! limits"), and whoever has the right may be in a cgroup without real-time budget (the kernel's
//! Documentation/scheduler/sched-rt-group.rst). The right is `CAP_SYS_NICE` in the first user namespace, or a
//! limit on real-time priority.

use std::io;

use punctual_model::Policy;
use punctual_sys::proc::{is_in_user_namespace, status};
use punctual_sys::{SysRoot, sched};

use crate::budget::Budgets;
use crate::cgroup;

/// The real-time priority that a group is advised to be given, unless a higher one is asked for.
const ADVISED: u8 = 95;

/// How a user gets the right to lock memory.
pub const LOCK_HINT: &str = "run it with sudo, or allow it for a group: put the line `@realtime - memlock unlimited` in \
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

/// Returns every reason that is known why this process may not have `policy`.
pub fn here(policy: Policy) -> Vec<Refusal> {
    // Of the first thread: how the program was started.
    let own = i32::try_from(std::process::id()).ok();
    let own = own.and_then(|first| sched::policy_of(first).ok());
    refusals(&SysRoot::live(), policy, own, sched::niceness())
}

/// Says in a line that `policy` was refused with `err`, why, and what helps.
pub(crate) fn told(policy: Policy, err: &io::Error) -> String {
    let name = policy.kernel_name();
    let why = match err.kind() {
        io::ErrorKind::PermissionDenied => here(policy),
        _ => Vec::new(),
    };
    let why: Vec<String> = why
        .into_iter()
        .map(|of| format!("; {}: {}", of.reason, of.remedy))
        .collect();
    format!("{name} ({policy}) was refused: {err}{}", why.concat())
}

/// Returns every reason that is known why this process, which runs with `own` policy and niceness `nice`, may not
/// have `policy`. None for a deadline policy of who has the right: what else it takes is no matter of rights.
pub fn refusals(sys: &SysRoot, policy: Policy, own: Option<Policy>, nice: i8) -> Vec<Refusal> {
    if !policy.is_real_time() {
        return vec![ordinary(sys, policy, own, nice)];
    }
    let rights = right(sys, policy);
    let budget = match policy {
        Policy::Deadline { .. } => None,
        _ => budget(sys),
    };
    let found: Vec<Refusal> = rights.into_iter().chain(budget).collect();
    if found.is_empty() && !matches!(policy, Policy::Deadline { .. }) {
        if let Some(group) = cgroup::of_version_2(sys) {
            return vec![unbudgeted(&group)];
        }
        let reason = "nothing that Punctual knows of forbids it";
        let remedy = "look for a filter of system calls (seccomp), as containers have";
        return vec![Refusal::new(reason, remedy)];
    }
    found
}

fn ordinary(sys: &SysRoot, policy: Policy, own: Option<Policy>, nice: i8) -> Refusal {
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
    // Nobody starts a program with nice(1) to have this one.
    if wish < 0
        && let Some(refusal) = right(sys, policy)
    {
        return refusal;
    }
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
    let limit = Limit::on(sys, policy);
    if (has && !foreign) || limit.as_ref().is_some_and(Limit::is_enough) {
        return None;
    }
    let effective = status(&text, "Uid").and_then(|ids| ids.split_whitespace().nth(1));
    Some(if foreign {
        let or = limit.map(|limit| {
            let (name, shell) = (limit.name, limit.in_shell());
            format!(", or raise the limit on {name} (`{shell}`) before the namespace is made")
        });
        Refusal::new(
            "this is a user namespace, where CAP_SYS_NICE does not count",
            format!("run it outside{}", or.unwrap_or_default()),
        )
    } else if effective == Some("0") {
        Refusal::new(
            "root has no CAP_SYS_NICE here",
            "add --cap-add=SYS_NICE where the container is started, or give the capability back \
             to what starts Punctual",
        )
    } else {
        match limit {
            Some(limit) => limit.refusal(policy),
            None => Refusal::new(
                format!(
                    "CAP_SYS_NICE is missing, and no limit allows {}",
                    policy.kernel_name()
                ),
                "run it with sudo",
            ),
        }
    })
}

/// A limit of this process (getrlimit(2)) that allows a policy without any capability.
struct Limit {
    name: &'static str,
    /// The option of the shell's `ulimit`.
    option: char,
    soft: u64,
    hard: u64,
    wanted: u64,
}

impl Limit {
    /// Returns the limit that decides on `policy`. None does on a deadline policy (sched(7)).
    fn on(sys: &SysRoot, policy: Policy) -> Option<Self> {
        let (key, name, option, wanted) = match policy {
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => (
                "Max realtime priority",
                "real-time priority",
                'r',
                u64::from(priority),
            ),
            // It counts from 1 for niceness 19 to 40 for -20.
            Policy::Other { nice } => {
                let wanted = u64::try_from(20 - i16::from(nice)).unwrap_or_default();
                ("Max nice priority", "niceness", 'e', wanted)
            }
            _ => return None,
        };
        let limits = sys.read("/proc/self/limits").unwrap_or_default();
        let mut lines = limits.lines();
        let line = lines.find_map(|line| line.strip_prefix(key));
        let mut words = line.unwrap_or_default().split_whitespace();
        let mut next = || match words.next() {
            Some("unlimited") => u64::MAX,
            word => word.and_then(|word| word.parse().ok()).unwrap_or(0),
        };
        Some(Self {
            name,
            option,
            soft: next(),
            hard: next(),
            wanted,
        })
    }

    const fn is_enough(&self) -> bool {
        self.wanted <= self.soft
    }

    fn in_shell(&self) -> String {
        format!("ulimit -{} {}", self.option, self.wanted)
    }

    /// Says that it is too low for `policy`, and what helps.
    fn refusal(&self, policy: Policy) -> Refusal {
        let name = self.name;
        let conf = "/etc/security/limits.d/realtime.conf, then log in again";
        let (reason, lower, raise) = match policy {
            Policy::Fifo { priority } | Policy::RoundRobin { priority } => {
                let advised = priority.max(ADVISED);
                let group = format!(
                    "run it with sudo, or allow real-time scheduling for a group: put the lines `@realtime - rtprio \
                     {advised}` and `@realtime - memlock unlimited` in {conf}"
                );
                let letter = match policy {
                    Policy::RoundRobin { .. } => 'r',
                    _ => 'f',
                };
                match self.soft {
                    0 => ("CAP_SYS_NICE is missing".to_owned(), String::new(), group),
                    most => (
                        format!("the limit on {name} is {most}, and {policy} was asked for"),
                        format!(
                            "ask for {letter}:{most} (--priority {letter}:{most}, of a load @policy={letter}:{most}), or "
                        ),
                        group,
                    ),
                }
            }
            _ => {
                let nice = match policy {
                    Policy::Other { nice } => nice,
                    _ => 0,
                };
                let lowest = 20 - i64::try_from(self.soft.clamp(1, 40)).unwrap_or(20);
                (
                    format!(
                        "niceness {nice} needs CAP_SYS_NICE, or a limit on niceness that allows it"
                    ),
                    match lowest {
                        ..0 => format!(
                            "ask for {lowest} (--priority o:{lowest}, of a load @nice={lowest}), or "
                        ),
                        _ => String::new(),
                    },
                    format!(
                        "run it with sudo, or put the line `@realtime - nice {nice}` in {conf}"
                    ),
                )
            }
        };
        let here = match self.wanted <= self.hard {
            true => format!("raise it in this shell (`{}`), or ", self.in_shell()),
            false => String::new(),
        };
        Refusal::new(reason, format!("{lower}{here}{raise}"))
    }
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

/// Says what the group of version 2 may be to blame for. Whether the kernel gives groups budgets is not looked up: that the
/// policy was refused to whoever may have it makes it likely.
fn unbudgeted(group: &str) -> Refusal {
    Refusal::new(
        format!(
            "its cgroup {group} has no real-time budget if the kernel is built with CONFIG_RT_GROUP_SCHED, and cgroups of \
             version 2 have no file to change that"
        ),
        "write -1 to /proc/sys/kernel/sched_rt_runtime_us, or boot with rt_group_sched=0 (Linux 6.16 and newer); if the kernel \
         is built without it, look for a filter of system calls (seccomp), as containers have",
    )
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

    fn limits(priority: &str, nice: &str) -> String {
        format!(
            "Max nice priority         {nice}     \nMax realtime priority     {priority}     \n"
        )
    }

    #[test]
    fn the_advice_is_enough_for_what_was_asked_for() {
        let of = |policy, limits: &str| said(policy, USER, &[WHOLE, ("proc/self/limits", limits)]);
        let none = limits("0 0", "0 0");
        assert!(of(FIFO, &none).contains("`@realtime - rtprio 95`"));
        let highest = Policy::Fifo { priority: 99 };
        let text = of(highest, &limits("95 95", "0 0"));
        assert!(text.contains("is 95, and f:99 was asked for"), "{text}");
        assert!(text.contains("--priority f:95"), "{text}");
        assert!(text.contains("`@realtime - rtprio 99`"), "{text}");
        let text = of(Policy::RoundRobin { priority: 80 }, &limits("50 80", "0 0"));
        assert!(
            text.contains("--priority r:50") && text.contains("`ulimit -r 80`"),
            "{text}"
        );
        assert!(!text.contains("CAP_SYS_NICE"), "{text}");
        let text = of(
            Policy::Deadline {
                runtime: punctual_model::Nanos::from_micros(100),
                period: punctual_model::Nanos::from_millis(1),
            },
            &limits("99 99", "40 40"),
        );
        assert!(text.contains("sudo") && !text.contains("rtprio"), "{text}");
        let nice = Policy::Other { nice: -5 };
        let text = of(nice, &none);
        assert!(
            text.contains("`@realtime - nice -5`") && !text.contains("nice(1)"),
            "{text}"
        );
        assert!(!text.contains("--priority"), "{text}");
        let text = of(nice, &limits("0 0", "22 30"));
        assert!(
            text.contains("--priority o:-2") && text.contains("`ulimit -e 25`"),
            "{text}"
        );
        let text = said(nice, BARE_ROOT, &[WHOLE, ("proc/self/limits", &none)]);
        assert!(text.contains("--cap-add=SYS_NICE"), "{text}");
    }

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
    fn a_group_of_version_2_may_refuse_root() {
        let files = [
            WHOLE,
            LIMITED,
            ("proc/self/cgroup", "0::/a/b\n"),
            ("proc/self/mounts", "c /sys/fs/cgroup cgroup2 rw 0 0\n"),
            ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
            ("sys/fs/cgroup/a/cpu.weight", "100\n"),
            ("sys/fs/cgroup/a/b/cgroup.procs", "1\n"),
        ];
        let text = said(FIFO, ROOT, &files);
        assert!(
            text.contains("/sys/fs/cgroup/a has no real-time budget"),
            "{text}"
        );
        // Who has no right gets to know that alone.
        assert!(!said(FIFO, USER, &files).contains("budget"));
        let off = ("proc/sys/kernel/sched_rt_runtime_us", "-1\n");
        let text = said(FIFO, ROOT, &[files.as_slice(), &[off]].concat());
        assert!(!text.contains("budget"), "{text}");
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
