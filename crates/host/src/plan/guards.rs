// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the kernel changes by itself because of a step. Those values are kept in the journal too, and
//! put back after the steps are undone, if the kernel has not done so.
//!
//! Seen on Linux 6.18: a CPU that goes offline takes along the masks that have no other CPU, of
//! interrupts, threads and version 1 control groups, and what was set of its idle states; only some of
//! it comes back with the CPU, and drivers place their interrupts anew when it does. Both watchdogs
//! follow `kernel.watchdog`. Another I/O scheduler brings its own queue depth and tunables. Whenever
//! huge pages are switched on, the memory that is kept free is raised to what they need.
//!
//! Before Linux 6.2 a set of CPUs that changes gives all its CPUs to every thread in it, whatever that was bound to
//! (da019032819a "sched: Enforce user requested affinity"); a partition does so to the kernel's own threads still
//! (`update_tasks_cpumask` in kernel/cgroup/cpuset.c).

use punctual_model::{Codec, CpuSet, KnobGuard, Target, Writable};
use punctual_sys::proc::release_numbers;

use super::safety::counted;
use super::{Planner, part};
use crate::knob::{Knob, Part, Reading, Thread, Threads, find, of_threads, playing};

/// Whether `inner` is `outer`, or one of several in it: `vda/read_expire` in `vda`.
fn is_within(inner: Option<&str>, outer: Option<&str>) -> bool {
    let (Some(inner), Some(outer)) = (inner, outer) else {
        return inner == outer;
    };
    let rest = inner.strip_prefix(outer);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Makes the guard of the CPUs of a thread.
fn guard_of(thread: &Thread) -> KnobGuard {
    let which = match thread.kernel {
        true => Threads::Kernel,
        false => Threads::Programs,
    };
    KnobGuard {
        knob: of_threads(which).to_owned(),
        instance: Some(thread.id.tid.to_string()),
        target: Target::ThreadCpus(thread.id.clone()),
        codec: Codec::List,
        old: thread.cpus.to_string(),
    }
}

impl Planner<'_> {
    /// Returns the CPUs that the plan takes offline.
    pub(super) fn going_offline(&self) -> CpuSet {
        let steps = self.plan.steps.iter();
        let named = steps.clone().filter_map(|step| match part(step) {
            Part::Cpu if step.new == "0" => step.instance.as_ref()?.parse().ok(),
            _ => None,
        });
        let smt_goes = steps
            .clone()
            .any(|step| part(step) == Part::Siblings && step.new != "on");
        let seconds = self.survey.siblings.iter().filter_map(|(cpu, core)| {
            let first = core.iter().next()?;
            (smt_goes && *cpu != first).then_some(*cpu)
        });
        named.chain(seconds).collect()
    }

    /// Adds the guards of all steps.
    pub(super) fn guards(&mut self) {
        let survey = self.survey;
        let changed: Vec<(&Knob, Option<String>)> = self
            .plan
            .steps
            .iter()
            .filter_map(|step| Some((find(&step.knob)?, step.instance.clone())))
            .collect();
        for (knob, instance) in &changed {
            for reading in knob.moves.iter().flat_map(|name| survey.of(name)) {
                let inner = reading.shown.instance.as_deref();
                let shared = instance.is_none() || reading.knob.part == Part::Shared;
                if shared || is_within(inner, instance.as_deref()) {
                    self.guard(reading, reading.knob.follows(knob));
                }
            }
        }
        let offline = self.going_offline();
        if !offline.is_empty() {
            self.guards_of_cpus(&offline);
        }
        self.guards_of_threads(&offline);
    }

    /// Adds the guards of threads that are bound to some CPUs, which the kernel forgets with those of their groups.
    fn guards_of_threads(&mut self, offline: &CpuSet) {
        let survey = self.survey;
        let release = survey.kernel_release.as_deref().and_then(release_numbers);
        let forgets = release.is_some_and(|release| release < (6, 2));
        let closed = self.is_closed();
        let steps = self.plan.steps.iter();
        let changed: Vec<String> = steps
            .filter(|step| part(step) == Part::Group)
            .filter_map(|step| step.instance.clone())
            .collect();
        let any_goes = !offline.is_empty() && survey.of(playing(Part::Group)).next().is_some();
        let mut freed = 0;
        for thread in &survey.threads {
            let group = survey.groups.get(&thread.process);
            let in_changed = group.is_some_and(|group| any_goes || changed.contains(group));
            let is_reset = closed && (forgets || thread.kernel) || forgets && in_changed;
            let is_bound = !survey.online.without(&thread.cpus).is_empty();
            // A thread of an interrupt follows that.
            let is_led = |irq: u32| {
                let irq = Some(irq.to_string());
                let mut steps = self.plan.steps.iter();
                !closed || steps.any(|s| s.knob == "irq.affinity" && s.instance == irq)
            };
            let stays = thread.fixed || thread.irq().is_some_and(is_led);
            if !is_reset || !is_bound || stays || self.leave.contains(&thread.process) {
                continue;
            }
            let guard = guard_of(thread);
            let moved = self.plan.steps.iter().any(|s| s.target == guard.target);
            freed += usize::from(!moved && !thread.kernel);
            self.add_guard(guard, true);
        }
        if freed > 0 {
            let they = if freed == 1 { "it" } else { "they" };
            self.plan.warnings.push(format!(
                "{} restricted to some CPUs, which kernels before Linux 6.2 forget when the CPUs of control groups \
                 change: until revert {they} may run on all CPUs of the group",
                counted(freed)
            ));
        }
    }

    fn guards_of_cpus(&mut self, offline: &CpuSet) {
        let survey = self.survey;
        for reading in survey.kept.iter().chain(&survey.readings) {
            let value = reading.shown.value.as_deref().unwrap_or_default();
            let had: CpuSet = value.parse().unwrap_or_default();
            let theirs = reading
                .cpus
                .as_ref()
                .is_some_and(|cpus| cpus.without(offline).is_empty());
            let v1 =
                matches!(&reading.shown.target, Target::File { path } if path.contains("/cpuset/"));
            let affected = match reading.knob.part {
                // Drivers place theirs anew when the CPU comes back.
                Part::Interrupts | Part::Queue => true,
                // Version 2 keeps what was asked for; version 1 forgets it.
                Part::Group => v1 && !had.common(offline).is_empty(),
                _ => theirs && reading.knob.forgotten,
            };
            if affected {
                self.guard(reading, false);
            }
        }
        for thread in &survey.threads {
            if !thread.fixed && thread.cpus.without(offline).is_empty() {
                self.add_guard(guard_of(thread), false);
            }
        }
    }

    /// Adds the guard of a setting, `planned` also where a step has it.
    fn guard(&mut self, reading: &Reading, planned: bool) {
        let Some(old) = reading.shown.value.clone() else {
            return;
        };
        if matches!(reading.shown.writable, Writable::No { .. }) {
            return;
        }
        let guard = KnobGuard {
            knob: reading.knob.name.to_owned(),
            instance: reading.shown.instance.clone(),
            target: reading.shown.target.clone(),
            codec: reading.codec,
            old,
        };
        self.add_guard(guard, planned);
    }

    /// Adds a guard, unless another guard or, but for `planned`, a step has that setting.
    fn add_guard(&mut self, guard: KnobGuard, planned: bool) {
        let has_step = self.plan.steps.iter().any(|s| s.target == guard.target);
        let guarded = self.plan.guards.iter().any(|g| g.target == guard.target);
        if (planned || !has_step) && !guarded {
            self.plan.guards.push(guard);
        }
    }
}
