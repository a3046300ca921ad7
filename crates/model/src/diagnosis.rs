// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What on a machine hurts determinism: the rules, and what each of them found.

use serde::{Deserialize, Serialize};

use crate::choices;
use crate::cpu::CpuSet;
use crate::host::HostFacts;

/// The name and major version of the format that this program writes.
pub const DIAGNOSIS_FORMAT: &str = "punctual.diagnosis/1";

/// What the rules say of a machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// `punctual.diagnosis/1`.
    pub format: String,
    /// The machine.
    pub host: HostFacts,
    /// The CPUs that were judged.
    pub cpus: CpuSet,
    /// Why these.
    pub cpus_chosen: CpuChoice,
    /// One verdict a rule, the most severe rules first.
    pub verdicts: Vec<Verdict>,
}

impl Diagnosis {
    /// Iterates over the verdicts of one outcome, the most severe first.
    pub fn with(&self, outcome: RuleOutcome) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(move |v| v.outcome == outcome)
    }

    /// Returns the severity of the worst finding.
    pub fn worst(&self) -> Option<Severity> {
        self.with(RuleOutcome::Found).map(|v| v.rule.severity).max()
    }
}

/// The name and major version of the format of a diagnosis of processes.
pub const PROCESS_DIAGNOSIS_FORMAT: &str = "punctual.process-diagnosis/1";

/// What the rules say of running processes.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ProcessDiagnosis {
    /// `punctual.process-diagnosis/1`.
    pub format: String,
    /// The machine.
    pub host: HostFacts,
    /// The processes, by number.
    pub processes: Vec<JudgedProcess>,
}

/// A process, and one verdict a rule.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JudgedProcess {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its threads, by number.
    pub threads: Vec<JudgedThread>,
    /// One verdict a rule, the most severe rules first.
    pub verdicts: Vec<Verdict>,
}

/// A thread of a process that is judged.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct JudgedThread {
    /// Its number.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Policy and priority, such as `SCHED_FIFO 80`.
    pub policy: String,
    /// Whether the policy is real-time. The rules judge these threads, or all where none is.
    pub is_real_time: bool,
    /// CPUs that it may use.
    pub cpus: CpuSet,
}

/// How the judged CPUs were chosen.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum CpuChoice {
    /// They were asked for.
    Asked,
    /// They are those that the kernel isolates (`isolcpus`, `nohz_full`).
    Isolated,
    /// They are all that are online.
    Online,
}

/// What a rule says of the machine.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The rule.
    pub rule: Rule,
    /// What came out.
    pub outcome: RuleOutcome,
    /// What is there, in a sentence without a full stop.
    pub says: String,
    /// The files that say so.
    pub evidence: Vec<Evidence>,
    /// What `punctual tune` can do about it on this machine. Null where that was not looked at, or
    /// there is nothing to do.
    pub tune: Option<TuneAdvice>,
}

/// What `punctual tune` can do about a finding on a machine.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TuneAdvice {
    /// The setting, as `--set` takes it: `vm.swappiness=10`. Null where it is unavailable here.
    pub setting: Option<String>,
    /// The command that sets it, to be copied. `punctual tune revert` takes it back.
    pub command: Option<String>,
    /// Why it is unavailable here.
    pub obstacle: Option<String>,
}

/// The outcome of a rule.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum RuleOutcome {
    /// What the rule looks for is there.
    Found,
    /// It is not.
    Fine,
    /// What the rule looks at could not be read.
    Unknown,
    /// The rule is not applicable to this machine.
    NotApplicable,
}

/// A file and its value, or why it has none.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Evidence {
    /// The file.
    pub path: String,
    /// What it says, or the part of it that matters. Null where it could not be read.
    pub value: Option<String>,
    /// Why it could not be read.
    pub problem: Option<String>,
}

/// One thing that hurts determinism.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Rule {
    /// Stable name, such as `governor`.
    pub id: String,
    /// What it can cost, after its source. What it costs here is for a measurement to say.
    pub severity: Severity,
    /// What is looked for.
    pub title: String,
    /// Why it matters.
    pub why: String,
    /// What to do.
    pub fix: String,
    /// Who can. Empty for what cannot be changed.
    pub fixed_by: Vec<Fixer>,
    /// The settings of `punctual tune` that fix it.
    pub knobs: Vec<String>,
    /// The documentation, manual page or paper that says so.
    pub source: String,
}

/// What a finding can cost a real-time thread.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing by itself: it limits what is available or visible.
    Info,
    /// Less than 10 µs, or more but rarely, or only with some programs.
    Low,
    /// 10 to 100 µs, or more but seldom.
    Medium,
    /// 100 µs or more, or without bound; or a thread cannot be real-time at all.
    High,
}

choices!(Severity {
    High => "high",
    Medium => "medium",
    Low => "low",
    Info => "info",
});

impl Severity {
    /// Whether this is `least` or worse.
    pub fn is_at_least(self, least: Self) -> bool {
        self >= least
    }
}

/// Who can fix a finding.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Fixer {
    /// A setting of the running kernel, which `punctual tune` changes and takes back.
    Tune,
    /// Any other setting of the running system: a file to write to, a service, a limit, a cable.
    Setup,
    /// The kernel command line.
    Boot,
    /// The firmware's settings, or the hardware.
    Firmware,
    /// Another kernel, or another configuration of it.
    Rebuild,
    /// Whoever runs the hypervisor.
    Hypervisor,
    /// The program's own code.
    Program,
}

choices!(Fixer {
    Tune => "tune",
    Setup => "setup",
    Boot => "boot",
    Firmware => "firmware",
    Rebuild => "rebuild",
    Hypervisor => "hypervisor",
    Program => "program",
});
