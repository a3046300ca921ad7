// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What `watch` saw of a program's threads: their cycles, where the time of each went, and who made late ones late.

use serde::{Deserialize, Serialize};

use crate::diagnosis::{Evidence, Rule};
use crate::units::Nanos;

/// The threads of a watched program, and how they were watched.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Watched {
    /// One entry a thread, in the order of the series.
    pub threads: Vec<WatchedThread>,
    /// Threads that did too little for a figure.
    pub idle_threads: u64,
    /// Threads that were not watched because there were too many.
    pub unwatched_threads: u64,
    /// Records of the kernel's trace that were read.
    pub records: u64,
    /// Switches between threads that the kernel did not record, and that followed from what it did.
    pub inferred_switches: u64,
    /// What is not known because this kernel has no event for it, or hides it.
    pub unknown: Vec<String>,
    /// What threads with a period or a real-time policy do, or how they are set up, that real-time code should avoid; the
    /// most severe first. Empty in records from before this was looked for.
    #[serde(default)]
    pub habits: Vec<Habit>,
    /// Number of threads that were looked at for that. Absent in older records.
    #[serde(default)]
    pub habits_judged: Option<u64>,
    /// Those of them that ended before it could be looked at how they are set up.
    #[serde(default)]
    pub set_up_unjudged: u64,
}

/// Something that real-time code should avoid, as a rule of `doctor` and what was seen.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Habit {
    /// The rule.
    pub rule: Rule,
    /// Numbers of the threads' series.
    pub threads: Vec<u32>,
    /// What was seen, in a sentence without a full stop.
    pub says: String,
    /// What says so: files, and calls with their numbers.
    pub evidence: Vec<Evidence>,
    /// How often it happened within cycles. Null for how a thread is set up.
    pub count: Option<u64>,
    /// Number of cycles in which it happened.
    pub cycles: Option<u64>,
    /// Time that it took, of all cycles together.
    pub total_ns: Option<u64>,
    /// The longest of them.
    pub max_ns: Option<u64>,
    /// Where it happened, the place first where it did most often. Empty where no stacks were taken, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
}

/// Where in the kernel and in the program something happened.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Stack {
    /// How often it happened there.
    pub count: u64,
    /// Functions of the kernel, innermost first.
    #[serde(default)]
    pub kernel: Vec<String>,
    /// Functions of the program, innermost first, each with its file: as far as its frame pointers lead.
    #[serde(default)]
    pub user: Vec<String>,
}

/// One watched thread.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WatchedThread {
    /// Number of the thread's series.
    pub thread: u32,
    /// The kernel's number of the thread.
    pub tid: i32,
    /// What it calls itself.
    pub name: String,
    /// Policy and priority that the kernel's events show.
    pub policy: String,
    /// The wait that ends a cycle, such as `clock_nanosleep (absolute)`. Null: every wait does.
    pub cycle_at: Option<String>,
    /// The first of its releases and the last, since the start of the run, where what ends a cycle of the thread changed: then several
    /// entries have its `tid`, and what it did at other times is in those or in none. Absent where it did not, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ns: Option<Nanos>,
    /// See `from_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_ns: Option<Nanos>,
    /// Time between releases, where they come regularly.
    pub period_ns: Option<Nanos>,
    /// Cycles whose release is a time that the thread asked for. That of the others is the moment at which something woke it, or one
    /// period after the release before, where the thread went on without a wait.
    pub timed_releases: u64,
    /// Whole cycles, and the one in `open_ns`.
    pub cycles: u64,
    /// Time that the last cycle had taken when the run or the thread ended, where that was many periods and it had not ended. It counts as late.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_ns: Option<Nanos>,
    /// Releases that passed while the thread was still busy with an earlier cycle, and that it never served. A loop that catches up
    /// serves each, late.
    pub missed_releases: u64,
    /// Where the time of a cycle goes.
    pub phases: Vec<PhaseTime>,
    /// The same by how long cycles took, shortest first: where the tail comes from.
    pub by_response: Vec<ResponseStep>,
    /// Which cycles were late.
    pub late: Late,
    /// Who or what made cycles late, the one first without which most would have been in time.
    pub culprits: Vec<Culprit>,
    /// The longest cycles, longest first.
    pub worst: Vec<WorstCycle>,
    /// System calls, by name, with their number.
    pub calls: Vec<(String, u64)>,
    /// Page faults.
    pub page_faults: u64,
    /// Moves to another CPU.
    pub migrations: u64,
}

/// Time that cycles spent in one phase.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PhaseTime {
    /// `timer`, `wake-up`, `running`, `preempted`, `interrupted`, `blocked`, `unaccounted`.
    pub phase: String,
    /// Mean over all cycles.
    pub mean_ns: f64,
    /// Mean over those that were late. Null where none was.
    pub late_mean_ns: Option<f64>,
    /// Longest in a cycle.
    pub max_ns: u64,
}

/// Cycles that took about as long as each other.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ResponseStep {
    /// Longest of them, at most.
    pub to_ns: u64,
    /// Their number.
    pub count: u64,
    /// Mean time in each phase, in the order of `phases`.
    pub phases_ns: Vec<f64>,
}

/// Which cycles were late.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Late {
    /// Longer than this.
    pub limit_ns: u64,
    /// What the limit is: `deadline` as given, the `period`, or the cycles' own `p99` where none was longer than its period.
    pub rule: String,
    /// Number of late cycles.
    pub count: u64,
    /// Those of them, the longest, that were looked into.
    pub examined: u64,
}

/// Who or what made cycles late.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Culprit {
    /// What kind: `task`, `unpreemptible`, `interrupt`, `softirq`, `timer`, `masked`, `idle-exit`, `outside`, `slack`,
    /// `throttling`, `lock`, `lock-chain`, `call`, `system-call`, `page-fault`, `stopped`, `migration`, `itself`,
    /// `earlier-cycle`, `not-created`, `unknown`.
    pub kind: String,
    /// Its name as the kernel has it, where it has one.
    pub name: Option<String>,
    /// The kernel's number of the thread, where it was one alone.
    pub tid: Option<i32>,
    /// What it is, in words.
    pub what: String,
    /// Late cycles that it took more of than of those in time.
    pub cycles: u64,
    /// Late cycles that would have been in time had it taken no more than of those in time.
    pub saved: u64,
    /// Time of all late cycles together that went to it.
    pub total_ns: u64,
    /// The same a late cycle.
    pub mean_ns: f64,
    /// Longest in one of them.
    pub worst_ns: u64,
    /// Mean a cycle that was in time.
    pub in_time_mean_ns: f64,
    /// Where the thread was when it happened in late cycles, the place first where it did most often. Empty where it is nothing that the
    /// thread came to by itself, where no stacks were taken, and in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<Stack>,
}

/// One of the longest cycles.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct WorstCycle {
    /// Number of the thread's cycle, from 0.
    pub number: u64,
    /// The release, since the start of the run.
    pub release_ns: u64,
    /// Time from there to the end.
    pub response_ns: u64,
    /// Where its time went, in order: of very many pieces the longest. Times are since its release.
    pub pieces: Vec<CyclePiece>,
    /// Pieces that were left out because there were too many. Absent in older records, which have all.
    #[serde(default)]
    pub left_out: u64,
    /// Their time together.
    #[serde(default)]
    pub left_out_ns: u64,
    /// Who had each CPU meanwhile.
    pub cpus: Vec<CpuLane>,
    /// What the kernel's own tracer says of it, compared with what follows from the other events. Null where none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelAccount>,
}

/// What the kernel's timerlat tracer says of a wake-up, and what follows from the other events of the same wake-up.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct KernelAccount {
    /// Where its time went.
    pub parts: Vec<AccountPart>,
}

/// One part of a wake-up's time.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AccountPart {
    /// `irq-latency`: from the release to the timer's function. `thread-latency`: from the release to the thread's reading of the
    /// clock by the kernel's account, to the switch to it by ours. What took time in between, from the beginning of the interrupt on:
    /// `interrupts`, `soft-interrupts`, other `threads`, `idle`.
    pub part: String,
    /// Who took it, the longest first, at most five.
    pub names: Vec<String>,
    /// Time by the kernel's account.
    pub kernel_ns: u64,
    /// Time by ours.
    pub ours_ns: u64,
}

/// A stretch of a cycle.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CyclePiece {
    /// Begin, since the release.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// CPU on which the thread was, or that its timer was on.
    pub cpu: u32,
    /// What the thread went through.
    pub phase: String,
    /// Who or what it went to.
    pub cause: String,
}

/// Who had one CPU during a cycle.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct CpuLane {
    /// The CPU.
    pub cpu: u32,
    /// Who had it. Times are since the release, and may be before it.
    pub stretches: Vec<LaneStretch>,
    /// Stretches that were left out because there were too many.
    pub left_out: u64,
}

/// A stretch of time in which one had the CPU.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LaneStretch {
    /// Begin, since the release.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// `watched`, `task`, `interrupt`, `idle`, `unknown`.
    pub kind: String,
    /// Who.
    pub who: String,
}
