// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Machines compared with each other. The statistics are those of the crate `punctual-stats`, module `fleet`.

use serde::{Deserialize, Serialize};

use crate::comparison::{ComparisonScale, RefusedRun, Withheld};
use crate::figure::{Better, Finding, Interval};
use crate::history::HistoryDirection;

/// The name and major version of the format that this program writes.
pub const MACHINES_FORMAT: &str = "punctual.machines/1";

/// Machines by hardware, kernel and way of measuring, and those that are not like the others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Machines {
    /// `punctual.machines/1`.
    pub format: String,
    /// How machines were compared.
    pub method: MachinesMethod,
    /// Machines are compared inside their group.
    pub groups: Vec<MachinesGroup>,
    /// Figures that were asked for and that no two machines of any group have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The runs that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RefusedRun>,
    /// What a reader should know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<Finding>,
}

/// How machines were compared.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesMethod {
    /// Probability of any wrong outlier in all groups and figures together.
    pub level: f64,
    /// Number of figures of groups that share the level.
    pub tests: u64,
    /// Confidence of the intervals.
    pub confidence: f64,
    /// Fewest machines of a group in which outliers are looked for.
    pub least_machines: u64,
}

/// Machines of one hardware and kernel, measured in one way.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesGroup {
    /// What tells it from the other groups, or the kernel where there is one.
    pub name: String,
    /// Whether its times are instruction counts, and no latencies. Absent where they are latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// Its machines, by name.
    pub machines: Vec<ComparedMachine>,
    /// One entry a figure.
    pub figures: Vec<MachinesFigure>,
    /// The machines that are not like the others in some figure.
    pub outliers: Vec<MachinesOutlier>,
}

/// One machine of a group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ComparedMachine {
    /// Its hostname.
    pub name: String,
    /// Number of its runs.
    pub runs: u64,
}

/// One figure of all machines of a group.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesFigure {
    /// The figure.
    pub figure: String,
    /// Unit of its values.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// How values were compared.
    pub scale: ComparisonScale,
    /// Whether outliers were looked for: false where the machines are too few, or runs of unequal length.
    pub judged: bool,
    /// Why not, where it is not the number of machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The mean of the machines that are no outliers.
    pub mean: f64,
    /// Its interval.
    pub interval: Option<Interval>,
    /// Deviation between machines that are no outliers: a share on the logarithmic scale, else in the unit of
    /// the values. Null where no machine has two runs.
    pub between_machines: Option<MachinesDeviation>,
    /// Deviation between the runs of one machine.
    pub between_runs: Option<MachinesDeviation>,
    /// The p-value of "machines that are no outliers are normally distributed" (Shapiro and Francia). Null where they are too few.
    #[serde(default)]
    pub normal_p: Option<f64>,
    /// One entry for each machine of the group that has the figure.
    pub machines: Vec<MachinesValue>,
}

/// A deviation with its interval.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesDeviation {
    /// The deviation.
    pub estimate: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// A figure of one machine.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesValue {
    /// Number of the machine in its group, from 0.
    pub machine: u64,
    /// Its runs that have the figure.
    pub runs: u64,
    /// Their geometric mean on the logarithmic scale, else their mean.
    pub estimate: f64,
    /// Student's interval of it. Null with one run.
    pub interval: Option<Interval>,
    /// How far it is from the others, in deviations that its number of runs lets expect.
    pub distance: f64,
    /// Whether it is an outlier.
    pub outlier: bool,
}

/// A machine that is not like the others.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesOutlier {
    /// Its hostname.
    pub machine: String,
    /// The figures in which it is an outlier.
    pub figures: Vec<MachinesOutlierFigure>,
    /// Recorded facts and findings that it has and most others do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differs: Vec<Finding>,
}

/// A figure in which a machine is an outlier.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MachinesOutlierFigure {
    /// The figure.
    pub figure: String,
    /// The machine over the mean of the others. Null on the linear scale.
    pub ratio: Option<f64>,
    /// The machine minus the mean of the others, in the unit of the values.
    pub difference: f64,
    /// Which direction that is.
    pub direction: HistoryDirection,
}
