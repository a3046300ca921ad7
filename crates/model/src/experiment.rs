// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the runs of an experiment say.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, ComparisonScale};
use crate::figure::Better;
use crate::figure::Interval;
use crate::study::StudySkipped;

/// The name and major version of the format that this program writes.
pub const EXPERIMENT_RESULTS_FORMAT: &str = "punctual.experiment-results/1";

/// The results of an experiment, as far as it got.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExperimentResults {
    /// `punctual.experiment-results/1`.
    pub format: String,
    /// Name of the experiment.
    pub name: String,
    /// Seed of the order of its runs.
    pub seed: u64,
    /// Why it is over. Null while it is not.
    pub finished: Option<String>,
    /// Blocks that have runs here, those of the warm-up apart.
    pub blocks: u64,
    /// Blocks that were planned.
    pub blocks_planned: u64,
    /// The factors.
    pub factors: Vec<ExperimentFactor>,
    /// The cells, the first of which the others are compared with.
    pub cells: Vec<ExperimentCell>,
    /// One entry a measurement of the cells.
    pub measurements: Vec<MeasurementResults>,
    /// The best trade-offs (Pareto front): cells that no other cell dominates. Null where fewer than two figures have a good
    /// direction.
    pub pareto: Option<Vec<ParetoCell>>,
    /// Figures that it compares by and that no run of any measurement has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// The looks that were taken while it went on, and what they spent. Null without such a rule.
    pub sequential: Option<SequentialState>,
    /// What a fractional design cannot tell apart, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// Levels that were left out because the machine cannot have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<StudySkipped>,
}

/// When an experiment is looked at while it goes on: it ends as soon as every comparison is resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookRule {
    /// Blocks before the first look.
    pub first: u32,
    /// Blocks between looks.
    pub every: u32,
    /// Probability of a false verdict over all looks.
    pub alpha: f64,
}

/// A factor.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExperimentFactor {
    /// Its name.
    pub name: String,
    /// Names of its levels; effects are against the first.
    pub levels: Vec<String>,
}

/// A cell.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ExperimentCell {
    /// Its name, as groups of comparisons have it.
    pub name: String,
    /// A level for each factor.
    pub levels: Vec<String>,
}

/// What one measurement of the cells says.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MeasurementResults {
    /// Its name.
    pub measurement: String,
    /// Each cell compared with the first.
    pub comparison: Comparison,
    /// Main effects, then interactions of two factors. Empty where one factor is all there is: its
    /// effects are the comparisons.
    pub effects: Vec<FactorEffect>,
}

/// What an effect cannot be told from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct AliasedEffect {
    /// Of what: one entry for a main effect, two for an interaction. Levels stand in the order in which the effect has the same sign.
    pub of: Vec<LevelChange>,
    /// Its ratio is that of the effect to this power; on the linear scale its difference is so often that of the effect.
    pub power: f64,
}

/// The effect of a level, or of two together, over all cells.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FactorEffect {
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// Of what: one entry for a main effect, two for an interaction.
    pub of: Vec<LevelChange>,
    /// What else it is the effect of: the cells of a fraction cannot tell them apart, and they are tested once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliased: Vec<AliasedEffect>,
    /// How values were compared.
    pub scale: ComparisonScale,
    /// The ratio that it multiplies the figure with (of an interaction: one ratio over the other);
    /// on the linear scale the difference, in the unit. Null without a complete block.
    pub estimate: Option<f64>,
    /// Its interval. Null where the blocks are too few.
    pub interval: Option<Interval>,
    /// Two-sided p-value of "no effect". Null below two blocks.
    pub p: Option<f64>,
    /// The same after the correction for all effects of the measurement (Holm).
    pub adjusted_p: Option<f64>,
    /// Whether that is an effect at the level of the comparison.
    pub found: bool,
    /// Blocks that gave a value.
    pub blocks: u64,
    /// Blocks that did not, because a cell has no valid run.
    pub incomplete: u64,
}

/// A level in place of the first one.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct LevelChange {
    /// Name of the factor.
    pub factor: String,
    /// The level.
    pub level: String,
    /// The level that it is compared with.
    pub from: String,
}

/// A cell among those to choose from.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ParetoCell {
    /// Its name.
    pub cell: String,
    /// Its estimates.
    pub values: Vec<ParetoValue>,
    /// Whether no other cell is at least as good in everything and better in something. By the
    /// estimates as they are: cells that cannot be told apart may both be here, or one by chance.
    pub undominated: bool,
}

/// One figure of a cell.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct ParetoValue {
    /// The measurement.
    pub measurement: String,
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// The estimate. Null where the cell does not have it.
    pub estimate: Option<f64>,
}

/// Looks at an experiment while it went on, under a rule that stops it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SequentialState {
    /// Probability of a false verdict over all looks and comparisons.
    pub alpha: f64,
    /// How it is spent: `obrien_fleming`.
    pub spending: String,
    /// After how many blocks it was looked.
    pub looks: Vec<u64>,
    /// The comparisons, with what the looks found. A verdict of an effect stands only where a look
    /// found it.
    pub comparisons: Vec<SequentialComparison>,
}

/// What the looks found of one comparison.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct SequentialComparison {
    /// The measurement.
    pub measurement: String,
    /// The figure.
    pub figure: String,
    /// The cell that was compared with the first.
    pub cell: String,
    /// After how many blocks an effect was found. Null where none was.
    pub found_after: Option<u64>,
}
