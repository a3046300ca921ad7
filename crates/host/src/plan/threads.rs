// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Threads: which CPUs they may run on, and what those that serve interrupts run as.

use punctual_model::{Codec, SkipReason, Target};

use super::Planner;
use crate::knob::{KnobKind, Thread, Threads};
use crate::profile::{Selector, Value, Want};

impl Planner<'_> {
    /// Plans the threads.
    pub(super) fn threads(&mut self, wants: &[Want]) {
        for want in wants {
            match (want.knob.kind, &want.value) {
                (KnobKind::ThreadCpus(which), Value::Cpus(_)) => self.move_threads(want, which),
                (KnobKind::IrqThreadPolicy, Value::Plain(policy)) => self.irq_threads(want, policy),
                _ => {}
            }
        }
    }

    fn move_threads(&mut self, want: &Want, which: Threads) {
        let Value::Cpus(word) = &want.value else {
            return;
        };
        let cpus = self.cpus(word);
        let knob = want.knob.name;
        let survey = self.survey;
        for thread in &survey.threads {
            let ours = self.leave.contains(&thread.process);
            let wanted = thread.kernel == (which == Threads::Kernel) && !ours;
            if !wanted || !want.selector.as_ref().is_none_or(|s| names(s, thread)) {
                continue;
            }
            let kept = thread.cpus.common(&cpus);
            // A CPU that is not there is no difference.
            let online = &self.plan.cpus_online;
            if kept.common(online) == thread.cpus.common(online) {
                self.plan.satisfied += 1;
                continue;
            }
            let bound = if thread.fixed {
                Some("the kernel keeps it where it is")
            } else if thread.irq().is_some() {
                Some("it follows its interrupt (irq.affinity)")
            } else if kept.is_empty() {
                Some("it is bound only to other CPUs")
            } else {
                None
            };
            let instance = thread.id.tid.to_string();
            if let Some(why) = bound {
                self.skip(knob, Some(&instance), SkipReason::Bound, why);
                continue;
            }
            let values = [thread.cpus.to_string(), kept.to_string()];
            self.plan
                .steps
                .retain(|step| step.target != Target::ThreadCpus(thread.id.clone()));
            let target = Target::ThreadCpus(thread.id.clone());
            self.step(knob, Some(instance), target, Codec::List, values);
        }
    }

    fn irq_threads(&mut self, want: &Want, policy: &str) {
        let knob = want.knob.name;
        let survey = self.survey;
        let mut any = false;
        for thread in &survey.threads {
            let Some(irq) = thread.irq() else { continue };
            let irq = irq.to_string();
            let fits = |s: &Selector| s.text == irq || names(s, thread);
            if !want.selector.as_ref().is_none_or(fits) {
                continue;
            }
            any = true;
            match thread.policy.map(|policy| policy.to_string()) {
                None => self.skip(
                    knob,
                    Some(&irq),
                    SkipReason::Unreadable,
                    "its policy is not known to this program",
                ),
                Some(old) if old == policy => self.plan.satisfied += 1,
                Some(old) => {
                    let values = [old, policy.to_owned()];
                    let target = Target::ThreadPolicy(thread.id.clone());
                    self.plan.steps.retain(|step| step.target != target);
                    self.step(knob, Some(irq), target, Codec::Policy, values);
                }
            }
        }
        if !any {
            let instance = want.selector.as_ref().map(|s| s.text.as_str());
            let detail = "no interrupt is served by a thread";
            self.skip(knob, instance, SkipReason::Absent, detail);
        }
    }
}

/// Whether a selector names a thread, by its number or its name.
fn names(selector: &Selector, thread: &Thread) -> bool {
    selector.text == thread.id.tid.to_string() || selector.names(&thread.id.name)
}
