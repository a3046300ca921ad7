// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The record of one run: what was measured, how, on what, and whether it may be believed.
//!
//! A [`RunRecord`] is the content of `run.json` and of `measure --json`; docs/formats/run.md
//! describes it, docs/schemas/run.schema.json checks it. Readers ignore keys that they do not
//! know; a key that older programs did not write has a default.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::Check;
use crate::choices;
use crate::figure::{Figure, Finding, Interval, LoadRecord, Setup};
use crate::guest::Guest;
use crate::host::HostFacts;
use crate::origin::Origin;
use crate::requirement::RequirementResult;
use crate::spec::RunSpec;
use crate::tasks::TasksRun;
use crate::units::Nanos;
use crate::watch::Watched;

/// The name and major version of the format that this program writes.
pub const RUN_FORMAT: &str = "punctual.run/1";

/// The format of imported runs. They say null where a measured run always has a value, so programs
/// that know only [`RUN_FORMAT`] refuse them by name.
pub const IMPORTED_RUN_FORMAT: &str = "punctual.run/2";

/// The format of runs of other instruments than `wakeup`. They have `setup` in place of `spec`, and
/// may have figures and no samples: programs that know only [`RUN_FORMAT`] refuse them by name.
pub const INSTRUMENT_RUN_FORMAT: &str = IMPORTED_RUN_FORMAT;

/// The format of runs in a guest. Their times may be instruction counts: programs that know only the
/// formats before would take them for latencies, and refuse them by name.
pub const GUEST_RUN_FORMAT: &str = "punctual.run/3";

/// The newest format that this program reads.
pub const NEWEST_RUN_FORMAT: &str = GUEST_RUN_FORMAT;

/// One execution of an instrument, recorded.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct RunRecord {
    /// `punctual.run/1`; `punctual.run/2` if it was imported or is of another instrument than
    /// `wakeup`; `punctual.run/3` if it was done in a guest.
    pub format: String,
    /// UUID version 7, lower case; sorts by start.
    pub id: String,
    /// Whether every check passed. An invalid run supports no claim.
    pub valid: bool,
    /// What was checked, with the evidence.
    pub checks: Vec<Check>,
    /// What made the samples: `wakeup`; for an imported run the tool, or the part of it.
    pub instrument: String,
    /// What the run was imported from. Absent for a run that this program measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// A name given by the user.
    #[serde(default)]
    pub name: Option<String>,
    /// A remark given by the user.
    #[serde(default)]
    pub note: Option<String>,
    /// Words by which runs are grouped, given by the user or an experiment: `kernel` is `rt`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
    /// Program and version that measured, or imported.
    pub program: String,
    /// What `wakeup` was asked for. Null for any other instrument, and if the run was imported.
    pub spec: Option<RunSpec>,
    /// What another instrument than `wakeup` was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Setup>,
    /// The machine and its kernel.
    pub host: HostFacts,
    /// The virtual machine that this program made for the run. Absent for a run on the machine itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guest: Option<Guest>,
    /// Start of the measurement, RFC 3339 in UTC. Null if an imported run does not say.
    pub started: Option<String>,
    /// Time from the first deadline base to the end of the last thread. Null if an imported run
    /// does not say.
    pub duration_ns: Option<Nanos>,
    /// Why the run ended. Null if an imported run does not say.
    pub ended: Option<Ended>,
    /// One entry a measuring thread.
    pub series: Vec<Series>,
    /// All threads together. Without samples for an instrument that takes none.
    pub total: Series,
    /// Results that are no latencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
    /// What the pattern of the run shows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// What was seen of a program's threads. Absent where none were watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<Box<Watched>>,
    /// What was seen of a task set that ran, next to its analysis. Absent where none ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Box<TasksRun>>,
    /// What each load did during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<LoadRecord>,
    /// The sample that ended the run, if one did.
    #[serde(default)]
    pub threshold: Option<ThresholdHit>,
    /// The state of each `--until` target when the run ended.
    #[serde(default)]
    pub precision: Vec<PrecisionState>,
    /// What the samples allow to be said of each `--require`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<RequirementResult>,
}

impl RunRecord {
    /// Whether its times are instruction counts, and no latencies.
    pub fn is_virtual(&self) -> bool {
        self.guest.as_ref().is_some_and(Guest::is_virtual)
    }

    /// Returns the machine that it is of: its name in the inventory of a fleet (the tag `host`), else its own.
    pub fn machine(&self) -> Option<&str> {
        let own = self.host.hostname.as_deref();
        self.tags.get("host").map(String::as_str).or(own)
    }

    /// Returns how much larger a stored sample may be than its value: an import keeps what its source cut to whole units.
    pub fn cut_by(&self) -> u64 {
        let unit = self.origin.as_ref().and_then(|of| of.resolution_ns);
        unit.unwrap_or(1).saturating_sub(1)
    }

    /// Returns the most that a stored sample of this value may be.
    pub fn not_below(&self, latency_ns: u64) -> u64 {
        latency_ns.saturating_add(self.cut_by())
    }

    /// Returns the kind of latency that the total is of, where a run has several. Earlier imports do not name it: that whose threads have as many
    /// samples together and the same extremes. Else that of the first series.
    pub fn kind_of_total(&self) -> Option<&str> {
        let total = &self.total;
        let has_the_same = |kind: &&str| {
            let of = || {
                self.series
                    .iter()
                    .filter(|s| s.context.as_deref() == Some(*kind))
            };
            let count = of().map(|s| s.count).fold(0, u64::saturating_add);
            let min = of().filter_map(|s| s.min_ns).min();
            let max = of().filter_map(|s| s.max_ns).max();
            (count, min, max) == (total.count, total.min_ns, total.max_ns)
        };
        let mut kinds = self.series.iter().filter_map(|s| s.context.as_deref());
        let named = total.context.as_deref();
        let found = named.or_else(|| kinds.clone().find(has_the_same));
        found.or_else(|| kinds.next())
    }

    /// Returns the wake-ups of each thread that `irq` measured without tracing. They are not part of the total, and as good as
    /// those that are.
    pub fn untraced(&self) -> impl Iterator<Item = &Series> {
        let of_thread = self.series.iter().filter(|series| series.thread.is_some());
        of_thread.filter(|series| series.context.as_deref() == Some("untraced"))
    }

    /// Whether every check passed.
    pub fn is_valid(&self) -> bool {
        self.valid && self.checks.iter().all(Check::passed)
    }

    /// Whether a check did not pass. Of an imported run nothing was checked.
    pub fn is_invalid(&self) -> bool {
        self.origin.is_none() && !self.is_valid()
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The duration passed or the samples were taken.
    #[default]
    Completed,
    /// The wanted precision was reached.
    Precision,
    /// A sample was above the threshold.
    Threshold,
    /// A signal asked for the end.
    Interrupted,
}

choices!(Ended {
    Completed => "completed",
    Precision => "precision",
    Threshold => "threshold",
    Interrupted => "interrupted",
});

/// The figures of one thread, or of all threads together.
///
/// Missing figures are null: a skewness of constant samples, a quantile with no sample beyond it.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Series {
    /// Number of the thread, from 0. Null for the total.
    pub thread: Option<u32>,
    /// What was measured, where a run has several kinds: `irq`, `thread`, `user`. The total is of
    /// those that are `thread`, of the kind that the instrument's page names, or of all. Absent
    /// where a run has one kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// CPU that the thread was pinned to. Null for the total and for threads that could move.
    pub cpu: Option<u32>,
    /// Scheduling policy as read back from the kernel. Null for the total.
    #[serde(default)]
    pub policy: Option<String>,
    /// Time between the thread's deadlines. Null for the total.
    #[serde(default)]
    pub interval_ns: Option<Nanos>,
    /// Number of samples.
    pub count: u64,
    /// Smallest sample, exact. Imported: the lower end of the unit in which it was stated.
    pub min_ns: Option<u64>,
    /// Largest sample, exact and never clamped. Imported: the upper end of the unit.
    pub max_ns: Option<u64>,
    /// Arithmetic mean.
    pub mean_ns: Option<f64>,
    /// Standard deviation with n - 1.
    pub stddev_ns: Option<f64>,
    /// g1, the third central moment over the 1.5th power of the second (no bias correction).
    pub skewness: Option<f64>,
    /// g2, the fourth central moment over the square of the second, minus 3 (no bias correction).
    pub excess_kurtosis: Option<f64>,
    /// Quantiles from the histogram: at most `quantile_relative_error` above the exact ones.
    /// Null where fewer than one sample lies beyond.
    pub quantiles_ns: BTreeMap<String, Option<u64>>,
    /// Largest relative error of `quantiles_ns`. Null where none can be stated.
    #[serde(default)]
    pub quantile_relative_error: Option<f64>,
    /// Quantiles estimated by the P-square algorithm, in constant memory. Empty where they were not asked
    /// for: readers of older programs need the key.
    #[serde(default)]
    pub psquare_ns: BTreeMap<String, Option<f64>>,
    /// Share of the samples at or below each P-square estimate, from the histogram: what the
    /// estimate is really the quantile of. P-square has no error bound.
    #[serde(default)]
    pub psquare_shares: BTreeMap<String, Option<f64>>,
    /// Interval of the mean, with the samples' dependence taken into account.
    #[serde(default)]
    pub mean_interval_ns: Option<Interval>,
    /// Distribution-free intervals of the quantiles. Null where the samples allow none.
    #[serde(default)]
    pub quantile_intervals_ns: BTreeMap<String, Option<Interval>>,
    /// Number of independent samples that would say as much about the mean.
    #[serde(default)]
    pub effective_samples: Option<f64>,
    /// Number of independent samples that would say as much about the highest quantile that has 16
    /// samples beyond it. Of all threads, that of the thread whose samples depend most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tail_effective_samples: Option<f64>,
    /// What figures without an interval need for one, by their names: `mean`, and those of
    /// `quantiles_ns`. Absent where all have one, and in older runs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub too_short: BTreeMap<String, TooShort>,
    /// Deadlines that passed while the thread was still late for an earlier one.
    /// This and the next three are null where the source of an imported run does not say.
    pub overruns: Option<u64>,
    /// Samples that found the ring full and are in no figure. More than none: invalid. Imported: those
    /// that the source counts and does not have.
    pub lost: Option<u64>,
    /// Samples outside of the histogram's range, or before their deadline. More than none: invalid.
    pub clamped: Option<u64>,
    /// Samples of the warm-up, in no figure.
    #[serde(default)]
    pub warm_up_samples: Option<u64>,
    /// Samples above each deadline of the specification, exact.
    #[serde(default)]
    pub misses: Vec<Misses>,
}

/// A run that is too short for an interval of a figure: its samples depend on each other, or are too
/// few.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct TooShort {
    /// Samples over which they depend on each other: their number over that of independent ones that
    /// would say as much. 1 where they do not.
    pub correlation_samples: f64,
    /// Samples it takes at least.
    pub needed_samples: u64,
}

/// How many wake-ups were later than a deadline.
///
/// A stall is one sample, and the deadlines of the grid that passed meanwhile are overruns: nobody
/// was woken for them. To count the sample alone would make one long stall as good as one short one
/// ("coordinated omission", G. Tene), so `overruns` counts those that would have been too late too.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Misses {
    /// The deadline.
    pub deadline_ns: Nanos,
    /// Samples strictly later.
    pub count: u64,
    /// Overruns that were served later than that after their own deadline.
    #[serde(default)]
    pub overruns: u64,
    /// Number of independent wake-ups that would say as much about the share: misses come in
    /// bursts. Of all threads, that of the thread whose misses depend most. Null from too few
    /// wake-ups, and where none was missed: nothing is known of how misses would come.
    #[serde(default)]
    pub effective: Option<f64>,
}

impl Misses {
    /// Returns the number of wake-ups that missed the deadline, sampled or not.
    pub const fn all(&self) -> u64 {
        self.count + self.overruns
    }
}

/// One latency sample.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Sample {
    /// Time of the wake-up since the start of the run.
    pub t_ns: u64,
    /// How late the wake-up was.
    pub latency_ns: u64,
    /// CPU that the thread woke on.
    pub cpu: u32,
    /// Deadlines of the recorded time that passed before this wake-up, beyond its own.
    pub skipped: u32,
}

/// A sample of a known thread.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ThreadSample {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Time of the wake-up since the start of the run.
    pub t_ns: u64,
    /// How late the wake-up was.
    pub latency_ns: u64,
    /// CPU that the thread woke on.
    pub cpu: u32,
}

/// The sample that was above `--on-threshold`, and those around it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ThresholdHit {
    /// The threshold.
    pub threshold_ns: Nanos,
    /// The first sample above it.
    pub sample: ThreadSample,
    /// Samples of every thread before and after, by time.
    pub around: Vec<ThreadSample>,
}

/// How precise a figure was when the run ended.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PrecisionState {
    /// The target as given, such as `p99:2%`.
    pub target: String,
    /// Number of the thread, from 0.
    pub thread: u32,
    /// The figure.
    pub estimate_ns: Option<f64>,
    /// Its interval. Null while the samples allow none.
    pub interval_ns: Option<Interval>,
    /// Number of independent samples that would say as much.
    pub effective_samples: Option<f64>,
    /// Whether the interval is narrow enough.
    pub met: bool,
}
