// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Results that are no latencies, what a run's pattern shows, and what its loads did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::choices;
use crate::cpu::CpuSet;
use crate::policy::Policy;
use crate::units::Nanos;

/// An interval estimate.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Probability that such intervals cover the true value, such as 0.95.
    pub confidence: f64,
}

/// What an instrument other than `wakeup` was asked for.
///
/// What every instrument has is typed; what one alone has is in `options`, in the words of its
/// command line.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Setup {
    /// CPUs that are measured.
    pub cpus: CpuSet,
    /// Scheduling policy of the measuring threads.
    pub priority: Policy,
    /// Longest time to measure. Null: as long as the instrument's own work takes.
    pub duration_ns: Option<Nanos>,
    /// Value held in `/dev/cpu_dma_latency`. Null: the file is left alone.
    pub dma_latency_ns: Option<Nanos>,
    /// Whether the process's memory is locked while it measures.
    pub mlock: bool,
    /// CPUs of everything that is not a measuring thread.
    pub housekeeping: CpuSet,
    /// Loads to run during the measurement, as given: `cpu:2`, `memory`.
    #[serde(default)]
    pub loads: Vec<String>,
    /// The instrument's own options, as its command line would say them: `deadline` is `auto:1.05`.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
}

/// One result with its unit, its number of observations, and its interval where it is an estimate.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Figure {
    /// What it is, in words that stay: `gflops`, `memcpy`, `misses_per_second`.
    pub name: String,
    /// Where it holds, such as `n` = `4000`. Together with the name it names one figure of a run.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// `GFLOPS`, `MB/s` (10^6 bytes), `ns`, `1/s`, `1` for a share or a ratio.
    pub unit: String,
    /// Which direction is good.
    #[serde(default)]
    pub better: Better,
    /// The value: the mean of the observations, unless the instrument's page says otherwise. Null
    /// where there is none.
    pub value: Option<f64>,
    /// Number of observations behind the value.
    pub count: u64,
    /// Its interval. Null where the observations allow none, or where the value is a count.
    #[serde(default)]
    pub interval: Option<Interval>,
    /// Standard deviation of the observations, with n - 1.
    #[serde(default)]
    pub stddev: Option<f64>,
    /// Smallest observation.
    #[serde(default)]
    pub min: Option<f64>,
    /// Largest observation.
    #[serde(default)]
    pub max: Option<f64>,
}

/// Which direction of a figure is good.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// Less is better: latencies, misses.
    Lower,
    /// More is better: throughput.
    Higher,
    /// Neither: a property of the machine, a cost that was chosen.
    #[default]
    Neither,
}

impl Figure {
    /// Makes a figure of one observation or of a count, without an interval.
    pub fn single(name: &str, unit: &str, better: Better, value: f64) -> Self {
        Self {
            name: name.to_owned(),
            unit: unit.to_owned(),
            better,
            value: Some(value),
            count: 1,
            ..Self::default()
        }
    }

    /// Returns the figure with a label more.
    #[must_use]
    pub fn at(mut self, label: &str, value: impl ToString) -> Self {
        self.labels.insert(label.to_owned(), value.to_string());
        self
    }
}

/// What the pattern of a run shows: a cause that can be named, or something that is missing here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Finding {
    /// Stable name, such as `rt-throttling`.
    pub id: String,
    /// How sure it is.
    pub certainty: Certainty,
    /// The evidence, in a sentence or two with figures.
    pub detail: String,
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Read or counted.
    Observed,
    /// The pattern fits and nothing else that is known does; nobody said so.
    Inferred,
}

choices!(Certainty { Observed => "observed", Inferred => "inferred" });

impl Finding {
    /// Makes a finding that was read or counted.
    pub fn observed(id: &str, detail: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            certainty: Certainty::Observed,
            detail: detail.into(),
        }
    }

    /// Makes the finding that threads were on CPUs of different capacity, which `kinds` names.
    pub fn unequal_cpus(kinds: &str) -> Self {
        Self::observed(
            "unequal-cpus",
            format!(
                "the measured CPUs differ in capacity: {kinds}. Figures of all threads together mix fast and slow CPUs: \
                 read those of each thread, or measure one kind with --cpus"
            ),
        )
    }

    /// Makes a finding that fits the pattern.
    pub fn inferred(id: &str, detail: impl Into<String>) -> Self {
        Self {
            certainty: Certainty::Inferred,
            ..Self::observed(id, detail)
        }
    }
}

/// What a load did during a run.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LoadRecord {
    /// The load as given.
    pub load: String,
    /// Work from the first report to the last, in `unit`.
    pub work: f64,
    /// What the work is counted in: `additions`, `messages`.
    pub unit: String,
    /// Work for each second of that time. Null without two reports.
    pub per_second: Option<f64>,
    /// Longest time without work of every one of its threads or processes.
    pub longest_silence_ns: Option<Nanos>,
    /// Work done in each full second, from the first report on.
    #[serde(default)]
    pub seconds: Vec<f64>,
    /// Why it counts as dead or stalled, if it does.
    #[serde(default)]
    pub fault: Option<String>,
}
