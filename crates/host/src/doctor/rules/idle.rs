// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How deep the judged CPUs sleep.

use punctual_model::{Evidence, Severity};

use super::super::case::{
    Answer, Case, Entry, Fix, NotKnown, evidence, fine, found, found_if, named, not_applicable,
    unread,
};
use super::environment::hypervisor;
use crate::dma_latency;
use crate::machine::{CPU, Unread};

/// From this exit latency on, in microseconds, a state is deep.
const DEEP_US: i64 = 100;

/// From this exit latency on a state is noticed at all.
const NOTICED_US: i64 = 10;

/// Where the bound on idle latency is.
const BOUND: &str = dma_latency::PLACE;

pub(super) const RULES: &[Entry] = &[
    Entry {
        id: "idle-deep",
        severity: Severity::High,
        title: "idle states with an exit latency of 100 µs or more are allowed",
        why: "The first wake-up after a pause is late by the time the CPU needs to power up, and \
              the caches are then empty.",
        fix: "hold /dev/cpu_dma_latency open with 0 while it matters (punctual and cyclictest do), \
              write 1 to the state's disable file, or boot with intel_idle.max_cstate=1 \
              processor.max_cstate=1",
        by: &[
            Fix::Tune("dma_latency=99us"),
            Fix::Tune("cpuidle.disable=above 99us"),
            Fix::Boot,
            Fix::Firmware,
        ],
        source: "Linux Documentation/admin-guide/pm/cpuidle.rst",
        check: |case| states(case, DEEP_US, i64::MAX),
    },
    Entry {
        id: "idle-states",
        severity: Severity::Medium,
        title: "idle states with an exit latency of 10 to 99 µs are allowed",
        why: "A wake-up after a pause is late by the exit latency of the state.",
        fix: "as for idle-deep",
        by: &[
            Fix::Tune("dma_latency=9us"),
            Fix::Tune("cpuidle.disable=above 9us"),
            Fix::Boot,
            Fix::Firmware,
        ],
        source: "Linux Documentation/admin-guide/pm/cpuidle.rst",
        check: |case| states(case, NOTICED_US, DEEP_US - 1),
    },
    Entry {
        id: "idle-halt-guest",
        severity: Severity::Medium,
        title: "an idle virtual CPU halts",
        why: "A halted virtual CPU goes back to the hypervisor, which must schedule it again before it \
              can serve a timer: tens of microseconds.",
        fix: "hold /dev/cpu_dma_latency open with 0 while it matters (punctual does), or boot with \
              idle=poll; the virtual CPU then looks busy to its host. Without a cpuidle driver only idle=poll helps",
        by: &[
            Fix::Tune("dma_latency=0us"),
            Fix::Tune("cpuidle.disable=above 0us"),
            Fix::Boot,
        ],
        source: "Linux Documentation/virt/guest-halt-polling.rst; \
                 admin-guide/pm/cpuidle.rst (power management quality of service)",
        check: guest_halt,
    },
    Entry {
        id: "idle-poll",
        severity: Severity::Info,
        title: "idle CPUs never sleep",
        why: "idle=poll gives quick wake-ups at full power consumption: turbo headroom is lost, \
              the machine may throttle, and an SMT sibling shares its core with the polling loop.",
        fix: "prefer holding /dev/cpu_dma_latency, which lasts only while it is open",
        by: &[Fix::Boot],
        source: "Linux Documentation/admin-guide/kernel-parameters.txt (idle=)",
        check: |case| {
            let boot = case.boot()?;
            if boot.is("idle", "poll") {
                return found("idle CPUs poll", boot.evidence(&["idle"]));
            }
            fine("idle CPUs may sleep", boot.evidence(&["idle"]))
        },
    },
    Entry {
        id: "idle-bound-closed",
        severity: Severity::Low,
        title: "this user cannot keep the CPUs awake",
        why: "A user who cannot open /dev/cpu_dma_latency gets whatever idle states the system allows.",
        fix: "give a group access with a udev rule: KERNEL==\"cpu_dma_latency\", \
              GROUP=\"realtime\", MODE=\"0660\"",
        by: &[Fix::Setup],
        source: "Linux Documentation/power/pm_qos_interface.rst",
        check: bound_closed,
    },
];

/// The longest exit latency that somebody allows on `cpu` now, in microseconds, and who.
fn bound(case: &Case<'_>, cpu: u32) -> Option<(i64, Evidence)> {
    let held = case.number_if(BOUND).ok().flatten();
    // The kernel's default, when nobody holds one, is 2000 s.
    let held = held.map(|seen| (seen.value, seen.evidence()));
    let path = format!("{CPU}/cpu{cpu}/power/pm_qos_resume_latency_us");
    let own = case.text_if(&path).ok().flatten();
    let own = own.and_then(|seen| {
        let us = match seen.value.trim() {
            // "n/a" is the kernel's word for "no latency at all", and 0 that for "any".
            "n/a" => 0,
            "0" => return None,
            us => us.parse().ok()?,
        };
        Some((us, seen.evidence()))
    });
    held.into_iter().chain(own).min_by_key(|(us, _)| *us)
}

/// An idle state of a CPU.
struct State {
    name: String,
    exit_us: i64,
    disabled: bool,
    evidence: Evidence,
}

fn idle_states(case: &Case<'_>, cpu: u32) -> Result<Vec<State>, NotKnown> {
    let mut states = Vec::new();
    for number in 0..64 {
        let dir = format!("{CPU}/cpu{cpu}/cpuidle/state{number}");
        let Some(exit) = case.number_if(&format!("{dir}/latency"))? else {
            break;
        };
        let name = case.text_if(&format!("{dir}/name"))?;
        let disabled = case.number_if(&format!("{dir}/disable"))?;
        states.push(State {
            name: name.map_or("?", |seen| seen.value).to_owned(),
            exit_us: exit.value,
            disabled: disabled.is_some_and(|seen| seen.value != 0),
            evidence: exit.evidence(),
        });
    }
    Ok(states)
}

/// States with an exit latency from `least` to `most` that nothing keeps the judged CPUs from.
fn states(case: &Case<'_>, least: i64, most: i64) -> Answer {
    case.some_cpu()?;
    let mut open = Vec::new();
    let mut names: Vec<String> = Vec::new();
    let mut cpus = Vec::new();
    let mut any = false;
    for cpu in case.cpus.iter() {
        let bound_us = bound(case, cpu).map_or(i64::MAX, |(us, _)| us);
        for state in idle_states(case, cpu)? {
            any = true;
            let fits = (least..=most).contains(&state.exit_us);
            if fits && !state.disabled && state.exit_us <= bound_us {
                let name = format!("{} ({} µs)", state.name, state.exit_us);
                if !names.contains(&name) {
                    names.push(name);
                }
                if cpus.last() != Some(&cpu) {
                    cpus.push(cpu);
                }
                open.push(state.evidence);
            }
        }
    }
    if !any {
        return not_applicable("the kernel manages no idle states here (no cpuidle driver)");
    }
    let list: punctual_model::CpuSet = cpus.into_iter().collect();
    let bounds: Vec<_> = case
        .cpus
        .iter()
        .next()
        .and_then(|cpu| bound(case, cpu))
        .into_iter()
        .collect();
    found_if(
        open,
        format!("allowed on {}: {}", named(&list), names.join(", ")),
        "the judged CPUs cannot enter any such state",
        bounds
            .into_iter()
            .map(|(_, evidence)| evidence)
            .collect::<Vec<_>>(),
    )
}

fn guest_halt(case: &Case<'_>) -> Answer {
    if hypervisor(case)?.is_none() {
        return not_applicable("the machine is not virtual");
    }
    let boot = case.boot()?;
    if boot.is("idle", "poll") {
        return fine("idle CPUs poll", boot.evidence(&["idle"]));
    }
    case.some_cpu()?;
    let Some(cpu) = case.cpus.iter().next() else {
        return not_applicable("no CPU is judged");
    };
    let states = idle_states(case, cpu)?;
    if states.is_empty() {
        // Only a driver's governor looks at the bound.
        return Ok(found(
            "idle CPUs halt: there is no cpuidle driver, which alone heeds /dev/cpu_dma_latency",
            vec![evidence(format!("{CPU}/cpuidle/current_driver"), "none")],
        )?
        .useless(&["dma_latency", "cpuidle.disable"]));
    }
    if let Some((0, evidence)) = bound(case, cpu) {
        return fine("a process keeps the CPUs awake", vec![evidence]);
    }
    let halting: Vec<_> = states
        .into_iter()
        .filter(|state| state.name != "POLL" && !state.disabled)
        .collect();
    let names: Vec<_> = halting.iter().map(|state| state.name.clone()).collect();
    found_if(
        halting.into_iter().map(|state| state.evidence).collect(),
        format!("idle CPUs enter {}", names.join(", ")),
        "every state that halts is switched off",
        Vec::new(),
    )
}

fn bound_closed(case: &Case<'_>) -> Answer {
    match case.machine.read(BOUND) {
        Ok(us) => fine(
            "this user can open /dev/cpu_dma_latency",
            vec![evidence(BOUND, format!("{us} µs"))],
        ),
        Err(Unread::Missing) => {
            let list = case.text(dma_latency::LIST).ok();
            if let Some(why) = list.and_then(|list| dma_latency::hidden(list.value)) {
                return Err(NotKnown(vec![unread(BOUND, &Unread::LeftAlone(why))]));
            }
            case.text_if(&format!("{CPU}/online"))?;
            not_applicable("the kernel has no such device")
        }
        Err(why @ Unread::Denied) => found("this user cannot open it", vec![unread(BOUND, why)]),
        Err(why) => Err(NotKnown(vec![unread(BOUND, why)])),
    }
}
