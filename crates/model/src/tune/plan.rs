// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The exact writes that a profile means on one machine.

use serde::{Deserialize, Serialize};

use super::{Codec, Reversibility, Target, full_name};
use crate::cpu::CpuSet;
use crate::units::Nanos;

/// Value of `format` in a [`Plan`].
pub const PLAN_FORMAT: &str = "punctual.plan/1";

/// What a profile would change on a machine. Nothing is written by making one.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Plan {
    /// [`PLAN_FORMAT`].
    pub format: String,
    /// Name of the profile.
    pub profile: String,
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel release of the machine.
    pub kernel_release: Option<String>,
    /// Online CPUs.
    pub cpus_online: CpuSet,
    /// CPUs for real-time work; empty where the profile singles none out.
    pub cpus_rt: CpuSet,
    /// CPUs for all else.
    pub cpus_housekeeping: CpuSet,
    /// The writes, in their order. They are undone in the opposite one.
    pub steps: Vec<PlanStep>,
    /// What is not written but held, by a process that lives as long as the change.
    pub held: Vec<Hold>,
    /// What the knobs of the steps and holds decide, and what else they do.
    pub notes: Vec<KnobNote>,
    /// Settings that the kernel may change because of the steps, so their values are kept too.
    pub guards: Vec<KnobGuard>,
    /// Number of settings that already are as wanted.
    pub satisfied: u64,
    /// What is wanted but unavailable here, and why.
    pub skipped: Vec<Skipped>,
    /// Reasons not to do this at all.
    pub refusals: Vec<Refusal>,
    /// What one should know before doing it.
    pub warnings: Vec<String>,
}

/// One write.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PlanStep {
    /// The knob.
    pub knob: String,
    /// Which one, where there are several.
    pub instance: Option<String>,
    /// What is written.
    pub target: Target,
    /// The form of its values.
    pub codec: Codec,
    /// The value now.
    pub old: String,
    /// The value wanted.
    pub new: String,
}

impl PlanStep {
    /// Returns the knob with its instance: `irq.affinity@24`.
    pub fn full_name(&self) -> String {
        full_name(&self.knob, self.instance.as_deref())
    }
}

/// What one should know of a knob.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KnobNote {
    /// The knob.
    pub knob: String,
    /// What it decides.
    pub about: String,
    /// What else a change does, or costs.
    pub effect: String,
    /// How completely a change can be taken back.
    pub reversibility: Reversibility,
}

/// A bound that a process holds; the kernel lifts it when that process ends.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Hold {
    /// The knob.
    pub knob: String,
    /// The file that is held open.
    pub path: String,
    /// The bound: idle states may take this long to leave.
    pub latency_ns: Nanos,
}

/// A setting that is kept although no step writes it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KnobGuard {
    /// The knob.
    pub knob: String,
    /// Which one, where there are several.
    pub instance: Option<String>,
    /// What is kept.
    pub target: Target,
    /// The form of its values.
    pub codec: Codec,
    /// The value now.
    pub old: String,
}

/// What is wanted but unavailable.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Skipped {
    /// The knob.
    pub knob: String,
    /// Which ones, where there are several.
    pub instances: Vec<String>,
    /// The kind of reason.
    pub reason: SkipReason,
    /// The reason.
    pub detail: String,
}

/// Why something wanted is left out.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SkipReason {
    /// This kernel or hardware does not have it.
    Absent,
    /// It cannot be read: it is there, or where it would be cannot be looked into.
    Unreadable,
    /// It is there, but not for writing.
    ReadOnly,
    /// The kernel does not offer the value.
    NoSuchValue,
    /// It belongs where it is: a kernel thread of one CPU, a thread that its owner bound.
    Bound,
}

/// A reason not to carry a plan out.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The knob.
    pub knob: String,
    /// The reason.
    pub reason: String,
    /// Whether `--yes` overrides it.
    pub yes_overrides: bool,
}

impl Plan {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.held.is_empty()
    }

    /// Whether nothing is to be done because it cannot be: more of what is wanted is out of reach than is as wanted.
    pub fn is_out_of_reach(&self) -> bool {
        let refused = |skipped: &&Skipped| {
            matches!(
                skipped.reason,
                SkipReason::Unreadable | SkipReason::ReadOnly
            )
        };
        let instances = |skipped: &Skipped| skipped.instances.len().max(1) as u64;
        let refused: u64 = self.skipped.iter().filter(refused).map(instances).sum();
        let nothing = self.satisfied == 0 && !self.skipped.is_empty();
        self.is_empty() && (nothing || refused > self.satisfied)
    }

    /// Returns the reasons that stand in the way, `yes` being whether the user insists.
    pub fn obstacles(&self, yes: bool) -> impl Iterator<Item = &Refusal> {
        self.refusals
            .iter()
            .filter(move |refusal| !(yes && refusal.yes_overrides))
    }
}
