// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Published experiments: what they are, and their results here compared with what was published.

use serde::{Deserialize, Serialize};

use crate::assessment::RealTimeClass;
use crate::comparison::{ComparisonScale, ComparisonVerdict, Effect, Withheld};
use crate::figure::Better;
use crate::figure::Interval;
use crate::guest::Guest;
use crate::host::HostFacts;
use crate::kernel_source::RtStep;

/// The name and major version of the format that this program writes.
pub const STUDY_REPORT_FORMAT: &str = "punctual.study-report/1";

/// One or several studies as they were carried out here.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyReport {
    /// `punctual.study-report/1`.
    pub format: String,
    /// The studies.
    pub studies: Vec<StudyResult>,
}

/// The name and major version of a study as `study show --json` prints it.
pub const STUDY_FACTS_FORMAT: &str = "punctual.study-facts/1";

/// The name and major version of the list of studies.
pub const STUDY_LIST_FORMAT: &str = "punctual.studies/1";

/// The studies that come with the program, as `study list --json` prints them.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyList {
    /// `punctual.studies/1`.
    pub format: String,
    /// The studies.
    pub studies: Vec<StudyFacts>,
}

/// One study, as `study show --json` prints it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyShown {
    /// `punctual.study-facts/1`.
    pub format: String,
    /// What was published.
    #[serde(flatten)]
    pub facts: StudyFacts,
}

/// A study as it is published.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyFacts {
    /// Name, as on the command line.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// The published work.
    pub citation: String,
    /// The machine that it was made on.
    pub machine: String,
    /// What the authors did, in our words.
    pub method: String,
    /// What is done differently here, and why.
    pub differences: Vec<String>,
    /// The published tables, as printed.
    pub published: Vec<PublishedTable>,
    /// The steps of the work, and what stands for each here.
    pub steps: Vec<StudyStep>,
    /// What the authors asked, in a sentence.
    #[serde(default)]
    pub asked: String,
    /// What they found, in a sentence or two.
    #[serde(default)]
    pub found: String,
    /// Each result of the work, and where it is measured here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<StudyPaperRow>,
}

/// A result of a published work, and where it is measured here.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyPaperRow {
    /// The result, in words.
    pub text: String,
    /// Where it is measured.
    pub place: StudyPlace,
    /// What measures it; of what is not measured here the reason.
    pub how: String,
}

/// Where a result of a published work is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StudyPlace {
    /// It was measured: the store has it.
    Done,
    /// On this machine.
    Here,
    /// In guests of this machine.
    Guests,
    /// Not on this machine.
    NotHere,
}

/// A published table.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct PublishedTable {
    /// What it shows.
    pub title: String,
    /// Headings with their units.
    pub columns: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

/// In which direction the work says that a level changes a figure from the base.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum PublishedClaim {
    /// It follows from the published values.
    #[default]
    Values,
    /// Lower.
    Lower,
    /// Higher.
    Higher,
    /// It makes none.
    None,
}

/// A step of the published work.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyStep {
    /// What the authors did.
    pub text: String,
    /// What stands for it here.
    pub here: String,
}

/// One study as it was carried out here.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyResult {
    /// What was published.
    pub study: StudyFacts,
    /// Which carrying out of it, from 1. Null where runs were given that others recorded.
    pub number: Option<u32>,
    /// `quick`, `default`, `paper`, `budget` or `recorded`.
    pub scale: String,
    /// The machine that it ran on, by its first run. Null without one.
    pub host: Option<HostFacts>,
    /// How the kernels that it compares were made, where `--build` made them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub built: Vec<RtStep>,
    /// The experiments.
    pub parts: Vec<StudyPart>,
    /// What the runs say to each question.
    pub answers: Vec<StudyAnswer>,
}

/// One experiment of a study.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyPart {
    /// Its name.
    pub name: String,
    /// What it measures.
    pub title: String,
    /// Name of the experiment in the store. Null if it was not carried out.
    pub experiment: Option<String>,
    /// Runs that were planned, repeats apart.
    pub planned: u64,
    /// Valid runs.
    pub valid: u64,
    /// Runs of which a check did not pass: in no figure.
    pub invalid: u64,
    /// The first check that did not pass, of the first of these runs. Absent where all are valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_invalid: Option<String>,
    /// Runs that were not recorded.
    pub failed: u64,
    /// Why it is over. Null while it is not.
    pub finished: Option<String>,
    /// The kernels that it compares, by what their first runs found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<StudyKernel>,
    /// The solvers that it compares, by what their first runs found.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub solvers: Vec<StudySolver>,
    /// What was left out, with the reason: the whole part, or levels and measurements of it.
    pub skipped: Vec<StudySkipped>,
}

/// A kernel that a study compares.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyKernel {
    /// The level of the factor.
    pub level: String,
    /// Its release. Null where it does not say.
    pub release: Option<String>,
    /// Its preemption model, as the record of a run has it. Null where that is not known.
    pub preemption: Option<String>,
    /// The guest that it ran in. Null for a machine.
    pub guest: Option<Guest>,
}

/// A solver that a study compares.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudySolver {
    /// The level of the factor.
    pub level: String,
    /// The library's file. Null for our own.
    pub library: Option<String>,
    /// What it says of its version. Null where it does not.
    pub version: Option<String>,
    /// Which processors its code is for, by its own name. Null where it does not say.
    pub core: Option<String>,
}

/// Something that was left out.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudySkipped {
    /// What.
    pub what: String,
    /// Why.
    pub reason: String,
}

/// What the runs say to a question.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyAnswer {
    /// The question.
    pub question: String,
    /// What the work reports, in words.
    pub paper: String,
    /// What the levels are, in words with their unit, where they are numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across: Option<String>,
    /// Whether the times are instruction counts of guests, and no latencies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    /// How it was answered here, where levels are compared.
    pub method: Option<String>,
    /// The figures, with the published ones.
    pub rows: Vec<StudyRow>,
    /// Whether all cells are alike, asked once of each figure, where there are more than two.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joint: Vec<StudyJoint>,
    /// What the runs of each cell show.
    pub findings: Vec<StudyFinding>,
    /// Distributions, in bins.
    pub pictures: Vec<StudyPicture>,
    /// Figures as curves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub curves: Vec<StudyCurves>,
    /// What follows, in words.
    pub conclusion: String,
    /// Why there is no answer. Null where there is one.
    pub skipped: Option<String>,
}

/// The answer to "do the cells differ at all?" by one figure.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyJoint {
    /// The figure.
    pub figure: String,
    /// Number of cells.
    pub cells: u64,
    /// The p-value of "they are alike", corrected for the figures of the question.
    pub p: f64,
    /// Whether they differ, at 5 %.
    pub differ: bool,
}

/// One figure of one cell.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyRow {
    /// The cell, or the part of its name that differs from the base's.
    pub cell: String,
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// Which direction is good.
    pub better: Better,
    /// Runs behind it.
    pub runs: u64,
    /// The estimate over the runs. Null without a run that has it.
    pub estimate: Option<f64>,
    /// Its 95 % interval: over runs, or of the only run by its own samples. Null where there is none.
    pub interval: Option<Interval>,
    /// The standard error of the mean over runs. Null below two runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standard_error: Option<f64>,
    /// The standard deviation between runs over their mean. Null below two runs, and for a mean of 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_deviation: Option<f64>,
    /// Over the base. Null for the base, and where there is no ratio.
    pub ratio: Option<Effect>,
    /// Minus the base, in the unit. Null for the base.
    pub difference: Option<Effect>,
    /// Whether estimates of several runs are geometric means or means, and effects ratios or differences. Null where neither is.
    pub scale: Option<ComparisonScale>,
    /// P-value of "no effect", corrected for all comparisons of the question. Null for the base, and
    /// below two runs a side.
    pub p: Option<f64>,
    /// What follows. Null for the base.
    pub verdict: Option<ComparisonVerdict>,
    /// Further blocks that would decide, of recorded runs further runs of each kernel. Null for other verdicts.
    pub more_runs: Option<u64>,
    /// Why there is no verdict, where more runs would not change that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
    /// The published value. Null where there is none for this cell.
    pub published: Option<f64>,
    /// Its unit.
    pub published_unit: Option<String>,
    /// The published standard error. Null where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_error: Option<f64>,
    /// The published value over that of the base. Null without either, or for a base of 0.
    pub published_ratio: Option<f64>,
    /// Whether the direction is the published one. Null for the base.
    pub direction: Option<StudyDirection>,
    /// The real-time class, where that was asked.
    pub class: Option<RealTimeClass>,
    /// Upper end of the interval of the share of misses, where classes were asked for.
    pub at_most: Option<f64>,
}

/// Whether an effect has the direction that was published.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StudyDirection {
    /// An effect of the published direction.
    Same,
    /// An effect of the other direction, or one where none was published.
    Other,
    /// No effect was found, and one that matters would have been.
    NotDistinguishable,
    /// Too few runs to say.
    TooFewRuns,
    /// Nothing was published to compare with.
    NoClaim,
}

/// A finding of the runs of a cell.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyFinding {
    /// The cell.
    pub cell: String,
    /// The finding.
    pub id: String,
    /// Runs that have it.
    pub runs: u64,
    /// Runs of the cell.
    pub of: u64,
    /// What one of them says, in full.
    pub detail: String,
}

/// Curves of one figure in one picture.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyCurves {
    /// The figure.
    pub figure: String,
    /// Its unit.
    pub unit: String,
    /// What it is drawn against, in words.
    pub across: String,
    /// The unit of that; none where it is a number of something.
    pub across_unit: String,
    /// Whether a value holds up to the next one.
    pub stepped: bool,
    /// What is drawn, in a sentence.
    pub note: String,
    /// The curves: those of here, then the published ones.
    pub curves: Vec<StudyCurve>,
}

/// One curve.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyCurve {
    /// Its name.
    pub name: String,
    /// Whether it was published, and not measured here.
    pub published: bool,
    /// Its points, by ascending place.
    pub points: Vec<StudyPoint>,
}

/// One point of a curve.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyPoint {
    /// Its place.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// The interval of the value. Null without one.
    pub interval: Option<Interval>,
    /// Runs, or samples, behind it.
    pub count: u64,
}

/// A stretch of a distribution.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyPicture {
    /// The cell.
    pub cell: String,
    /// `head` or `tail`.
    pub part: String,
    /// Samples of the whole distribution.
    pub samples: u64,
    /// The bins, in order.
    pub bins: Vec<StudyBin>,
}

/// A bin.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct StudyBin {
    /// Lower end.
    pub from_ns: u64,
    /// Upper end.
    pub to_ns: u64,
    /// Samples in it.
    pub count: u64,
}
