// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Why groups of runs cannot be compared.

use punctual_stats::runs::QuestionError;

/// The reason that there is nothing to compare.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// Fewer than two groups.
    #[error("compare runs: fewer than two groups")]
    Groups,
    /// Every run was refused.
    #[error("compare runs: none of the {count} runs is left: run {first} was refused, {reason}")]
    AllRefused {
        /// How many there were.
        count: usize,
        /// One of them.
        first: String,
        /// Why.
        reason: String,
    },
    /// No run has any of the figures.
    #[error(
        "compare runs: no run has a figure that can be compared{}",
        named(asked)
    )]
    NoFigure {
        /// The figures asked for.
        asked: Vec<String>,
    },
    /// No run has one of the figures.
    #[error("compare runs by {figure}: no run has it; available: {known}")]
    Unknown {
        /// The figure.
        figure: String,
        /// Those that the runs have.
        known: String,
    },
    /// Runs of instruments that measure different things.
    #[error(
        "compare runs: run {first} is of {first_is}, run {other} of {other_is}: their figures \
         measure different things"
    )]
    Meaning {
        /// A run.
        first: String,
        /// Its instrument.
        first_is: String,
        /// A run that measured something else.
        other: String,
        /// Its instrument.
        other_is: String,
    },
    /// A figure is stated in several units.
    #[error("compare runs by {figure}: units differ: {units}")]
    Unit {
        /// The figure.
        figure: String,
        /// The units.
        units: String,
    },
    /// Two groups have the samples of one run.
    #[error(
        "compare runs: run {run} of `{group}` has the samples of run {other} of `{other_group}`: it \
         was imported twice"
    )]
    Twice {
        /// A run.
        run: String,
        /// Its group.
        group: String,
        /// The run with the same samples.
        other: String,
        /// The group of that.
        other_group: String,
    },
    /// Earlier runs that say nothing of the others.
    #[error("compare runs by earlier ones: {reason}")]
    Earlier {
        /// Why.
        reason: String,
    },
    /// A figure is not a number.
    #[error("compare runs by {figure}")]
    Value {
        /// The figure.
        figure: String,
        /// Which value.
        source: QuestionError,
    },
}

impl CompareError {
    /// Whether there is nothing to compare, and nothing wrong with what was asked: no run is left, or none has the figure.
    pub const fn is_for_want_of_figures(&self) -> bool {
        matches!(self, Self::NoFigure { .. } | Self::AllRefused { .. })
    }
}

fn named(asked: &[String]) -> String {
    match asked.is_empty() {
        true => String::new(),
        false => format!(": {}", asked.join(", ")),
    }
}
