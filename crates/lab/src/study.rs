// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Studies: published experiments as data. What was published, what is measured here in its place, and
//! which questions are asked of both.
//!
//! A study is a file `studies/NAME.toml` with the citation, the published figures and the questions, and
//! next to it the files of its experiments, whose parameters the study's scale sets. Nothing of a study is
//! code. The format is in docs/formats/study.md.

use std::collections::BTreeMap;

use punctual_model::{PublishedClaim, PublishedTable, StudyStep};
use serde::Deserialize;

use crate::error::LabError;
use crate::file::Reader;

const FORMAT: &str = "punctual.study/1";

/// Name, text, and the texts of the experiments by name.
type BuiltIn = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// The studies that come with the program.
const BUILT_IN: [BuiltIn; 5] = [
    (
        "raju2015",
        include_str!("study/raju2015.toml"),
        &[
            ("misses", include_str!("study/raju2015-misses.toml")),
            ("stalls", include_str!("study/raju2015-stalls.toml")),
            ("kernels", include_str!("study/raju2015-kernels.toml")),
        ],
    ),
    (
        "wang2019",
        include_str!("study/wang2019.toml"),
        &[
            ("kernels", include_str!("study/wang2019-kernels.toml")),
            ("policies", include_str!("study/wang2019-policies.toml")),
            ("here", include_str!("study/wang2019-here.toml")),
        ],
    ),
    (
        "anaya2018",
        include_str!("study/anaya2018.toml"),
        &[("sweep", include_str!("study/anaya2018-sweep.toml"))],
    ),
    (
        "vasyukov2018",
        include_str!("study/vasyukov2018.toml"),
        &[
            ("irq", include_str!("study/vasyukov2018-irq.toml")),
            ("devices", include_str!("study/vasyukov2018-devices.toml")),
            ("kernels", include_str!("study/vasyukov2018-kernels.toml")),
            ("linpack", include_str!("study/vasyukov2018-linpack.toml")),
            ("engines", include_str!("study/vasyukov2018-engines.toml")),
            ("cost", include_str!("study/vasyukov2018-cost.toml")),
            ("memory", include_str!("study/vasyukov2018-memory.toml")),
            ("nodes", include_str!("study/vasyukov2018-nodes.toml")),
            ("wakeup", include_str!("study/vasyukov2018-wakeup.toml")),
        ],
    ),
    (
        "bridgers2015",
        include_str!("study/bridgers2015.toml"),
        &[
            ("sampler", include_str!("study/bridgers2015-sampler.toml")),
            ("kernels", include_str!("study/bridgers2015-kernels.toml")),
            ("arm64", include_str!("study/bridgers2015-arm64.toml")),
        ],
    ),
];

/// One published experiment.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Study {
    /// `punctual.study/1`.
    format: String,
    /// Name, as on the command line.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// The published work.
    pub citation: String,
    /// The machine and kernel that it was made on.
    pub machine: String,
    /// What the authors did, in our words.
    pub method: String,
    /// What they asked, in a sentence.
    pub asked: String,
    /// What they found, in a sentence or two.
    pub found: String,
    /// What we do differently, and why.
    pub differences: Vec<String>,
    /// The published tables, their figures as they were printed.
    #[serde(default)]
    pub published: Vec<PublishedTable>,
    /// The steps of the work, and what stands for each here.
    #[serde(default, rename = "step")]
    pub steps: Vec<StudyStep>,
    /// Every result of the work, and where it is measured here.
    #[serde(rename = "row")]
    pub rows: Vec<PaperRow>,
    /// The experiments, in the order in which they are carried out.
    #[serde(rename = "part")]
    pub parts: Vec<Part>,
    /// The parameters of the experiments, by scale.
    pub scale: Scales,
    /// What is asked of the runs.
    #[serde(rename = "question")]
    pub questions: Vec<Question>,
}

/// A result of the work, and where it is measured here.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PaperRow {
    /// The result, in words.
    pub text: String,
    /// Where it is measured.
    #[serde(rename = "where")]
    pub place: Place,
    /// The part of the study that measures it.
    pub part: Option<String>,
    /// The level of a factor of that part, as `step=performance`, or the measurement, as `measure io`: a machine that
    /// cannot have it cannot measure the row.
    pub level: Option<String>,
    /// Whether `study run --build` does it.
    #[serde(default)]
    pub built: bool,
    /// What measures it, where no part does.
    pub how: Option<String>,
    /// Why it is not measured.
    pub reason: Option<String>,
}

/// Where a result is measured.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// On the machine itself.
    Here,
    /// In guests.
    Guests,
    /// Nowhere here.
    Nowhere,
}

/// One experiment of a study.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Part {
    /// Name; the file of the experiment has it too.
    pub name: String,
    /// What it measures, in a line.
    pub title: String,
    /// What it cannot be made without.
    #[serde(default)]
    pub needs: Vec<Need>,
    /// Share of the study's time, where a budget is divided.
    #[serde(default = "one")]
    pub weight: f64,
    /// Why it is left out at the scale `quick`.
    pub not_quick: Option<String>,
}

const fn one() -> f64 {
    1.0
}

/// What a part cannot be made without.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Root: it changes settings, or traces.
    Root,
    /// A stock kernel and an RT kernel: named, or found.
    TwoKernels,
    /// A stock kernel and an RT kernel for arm64.
    TwoArm64Kernels,
}

/// The parameters of the experiments by scale. What a scale leaves out is that of the default scale.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Scales {
    /// A few minutes.
    pub default: toml::Table,
    /// Less than a minute.
    pub quick: toml::Table,
    /// What the authors took.
    pub paper: toml::Table,
}

/// Something that is asked of the runs of one part.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Question {
    /// The question, in words.
    pub text: String,
    /// How it is answered.
    #[serde(default)]
    pub kind: AnswerKind,
    /// The part whose runs answer it.
    pub part: String,
    /// The measurement of that part, where it has several.
    pub measurement: Option<String>,
    /// The figures, as `compare` names them; of [`AnswerKind::Findings`] the findings.
    pub figures: Vec<String>,
    /// The cell that others are compared with, as a level for each factor. Those of [`AnswerKind::Table`]
    /// and others: the levels that all its cells have.
    #[serde(default)]
    pub base: BTreeMap<String, String>,
    /// The factor whose other levels are compared with the base.
    pub vary: Option<String>,
    /// What the work reports, in words.
    pub paper: String,
    /// Published value of each level of the varied factor (or of each value of a figure's first label).
    #[serde(default)]
    pub published: BTreeMap<String, f64>,
    /// Published ratio to the base, by figure and level, where ratios were published.
    #[serde(default)]
    pub published_ratio: BTreeMap<String, BTreeMap<String, f64>>,
    /// The unit of the published values.
    pub published_unit: Option<String>,
    /// Published values of machines, by figure and machine, of [`AnswerKind::Table`].
    #[serde(default)]
    pub published_machines: BTreeMap<String, BTreeMap<String, f64>>,
    /// Published standard error of each level.
    #[serde(default)]
    pub published_errors: BTreeMap<String, f64>,
    /// The factor, or the label of the figures, against which they are drawn, a curve for each setting of the others.
    pub curve: Option<String>,
    /// What that is, in words with its unit.
    pub axis: Option<String>,
    /// Published curves by name: the value at each place.
    #[serde(default)]
    pub published_curves: BTreeMap<String, BTreeMap<String, f64>>,
    /// The levels of factors that it is about; all where none are named.
    #[serde(default)]
    pub among: BTreeMap<String, Vec<String>>,
    /// Whether distributions are drawn as head and tail.
    #[serde(default)]
    pub distribution: bool,
    /// In which direction the work says that the levels differ from the base.
    #[serde(default)]
    pub claim: PublishedClaim,
    /// Figures that the work says are the same, whatever the claim is of the others.
    #[serde(default)]
    pub same: Vec<String>,
    /// The smallest difference that matters, in the unit of the figures. Without it a tenth of the base does, which is
    /// nothing for what may be 0.
    pub matters: Option<f64>,
}

/// How a question is answered.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum AnswerKind {
    /// Levels are compared with a base.
    #[default]
    Compare,
    /// The estimates are shown.
    Table,
    /// Whether the runs of a cell agree.
    Agree,
    /// Which findings the runs have.
    Findings,
    /// Which real-time class the runs reach, by the deadlines that stand in place of figures.
    Classes,
    /// How precise the mean is, and how long it takes to know it to half of `matters` either way.
    Precision,
    /// The moving figures of the first run of each cell, over time.
    Moving,
}

impl Study {
    /// Returns the names of the studies that come with the program.
    pub fn names() -> Vec<&'static str> {
        BUILT_IN.iter().map(|(name, ..)| *name).collect()
    }

    /// Returns the study `name`. `None` if there is no such study.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] if its text is wrong.
    pub fn named(name: &str) -> Option<Result<Self, LabError>> {
        let (name, text, _) = BUILT_IN.iter().find(|(known, ..)| *known == name)?;
        Some(Self::parse(&format!("{name}.toml"), text))
    }

    /// Returns the text of the experiment of a part of a study that comes with the program.
    pub fn experiment(&self, part: &str) -> Option<&'static str> {
        let (.., files) = BUILT_IN.iter().find(|(known, ..)| *known == self.name)?;
        files
            .iter()
            .find(|(known, _)| *known == part)
            .map(|(_, text)| *text)
    }

    fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let reader = Reader { file, text };
        let study: Self = reader.parsed()?;
        if study.format != FORMAT {
            return Err(reader.fail(0, format!("format: expected `{FORMAT}`")));
        }
        Ok(study)
    }

    /// Returns the part of that name.
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.iter().find(|part| part.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual_model::Nanos;
    use punctual_stats::runs::Look;

    #[test]
    fn every_study_can_be_read_and_its_tables_are_whole() {
        for name in Study::names() {
            let study = Study::named(name).unwrap().unwrap();
            assert_eq!(study.name, name);
            for part in &study.parts {
                assert!(
                    study.experiment(&part.name).is_some(),
                    "{name} {}",
                    part.name
                );
            }
            for table in &study.published {
                let width = table.columns.len();
                assert!(
                    table.rows.iter().all(|row| row.len() == width),
                    "{name}: {}",
                    table.title
                );
            }
            assert!(!study.asked.is_empty() && !study.found.is_empty(), "{name}");
            for row in &study.rows {
                let text = &row.text;
                let part = row.part.as_ref().map(|part| study.part(part));
                assert!(part != Some(None), "{name}: {text}: no such part");
                // Each row says by what it is measured, or why it is not.
                let measured = row.part.is_some() || row.how.is_some();
                assert_eq!(measured, row.place != Place::Nowhere, "{name}: {text}");
                assert_eq!(
                    row.reason.is_some(),
                    row.place == Place::Nowhere,
                    "{name}: {text}"
                );
            }
            for part in &study.parts {
                let mut rows = study.rows.iter();
                let of = rows.any(|row| row.part.as_ref() == Some(&part.name));
                assert!(of, "{name}: part {} measures no row", part.name);
            }
            for question in &study.questions {
                assert!(
                    study.part(&question.part).is_some(),
                    "{name}: {}",
                    question.text
                );
                let compares = question.kind == AnswerKind::Compare;
                assert_eq!(
                    question.vary.is_some(),
                    compares,
                    "{name}: {}",
                    question.text
                );
            }
        }
    }

    #[test]
    fn the_published_figures_of_anaya_are_those_of_the_table_in_the_documentation() {
        let study = Study::named("anaya2018").unwrap().unwrap();
        let csv = include_str!("../../../docs/data/anaya2018.csv");
        let rows: Vec<Vec<&str>> = csv
            .lines()
            .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()))
            .map(|line| line.split(',').collect())
            .collect();
        assert_eq!(rows.len(), 11);
        let published: Vec<Vec<String>> = study.published[0]
            .rows
            .iter()
            .map(|row| row.iter().map(|cell| cell.replace(',', "")).collect())
            .collect();
        assert_eq!(rows, published);
    }

    #[test]
    fn the_two_tables_of_raju_are_the_curves_that_are_drawn() {
        let study = Study::named("raju2015").unwrap().unwrap();
        let drawn = study
            .questions
            .iter()
            .find(|q| !q.published_curves.is_empty());
        let curves = &drawn.unwrap().published_curves;
        for row in &study.published[0].rows {
            for (column, curve) in [(1, "untuned"), (2, "all")] {
                let published: f64 = row[column].parse().unwrap();
                assert!((curves[curve][&row[0]] - published).abs() < 1e-9, "{row:?}");
            }
        }
    }

    #[test]
    fn the_published_standard_errors_of_anaya_are_those_of_the_table() {
        let study = Study::named("anaya2018").unwrap().unwrap();
        let question = &study.questions[0];
        for row in &study.published[0].rows {
            let level = row[0].replace(',', "");
            let [mean, error] = [&row[1], &row[2]].map(|cell| cell.parse::<f64>().unwrap());
            assert!((question.published[&level] - mean).abs() < 1e-9, "{level}");
            assert!(
                (question.published_errors[&level] - error).abs() < 1e-9,
                "{level}"
            );
        }
    }

    #[test]
    fn the_runs_of_anaya_are_long_enough_to_name_a_cause_at_every_scale() {
        let scales = Study::named("anaya2018").unwrap().unwrap().scale;
        for scale in [scales.default, scales.quick, scales.paper] {
            let time: Nanos = scale["hog-time"].as_str().unwrap().parse().unwrap();
            assert!(time >= Nanos::from_millis(3_900), "{time}");
        }
    }

    #[test]
    fn the_blocks_of_the_default_scale_can_decide_a_question() {
        // The levels beside the base of each comparison.
        for (name, part, others) in [("bridgers2015", "sampler", 1), ("anaya2018", "sweep", 11)] {
            let study = Study::named(name).unwrap().unwrap();
            let blocks = study.scale.default["blocks"].as_integer().unwrap();
            let compared = study.questions.iter().filter(|of| of.part == part);
            for question in compared.filter(|of| of.vary.is_some()) {
                let tests = question.figures.len() * others;
                // All blocks on one side, at the level of runs that vary too much to find what matters, and Holm's first step.
                let least = 2.0 / 2_f64.powi(i32::try_from(blocks).unwrap());
                let p = tests as f64 * least / Look::Early.share();
                assert!(p <= 0.05, "{name}: {}: {p}", question.text);
            }
        }
    }

    #[test]
    fn the_memory_of_vasyukov_is_copied_both_ways_and_updated_at_random() {
        let study = Study::named("vasyukov2018").unwrap().unwrap();
        let figures: Vec<&String> = study.questions.iter().flat_map(|q| &q.figures).collect();
        let asked = |name: &str| {
            let mut figures = figures.iter();
            figures.any(|figure| {
                figure
                    .trim_end_matches("_largest")
                    .trim_end_matches("_smallest")
                    == name
            })
        };
        assert!(
            asked("copy_both_ways") && asked("random_update_rate"),
            "{figures:?}"
        );
        assert!(!asked("copy") && !asked("random_read_rate"), "{figures:?}");
    }

    #[test]
    fn a_wrong_study_names_the_line() {
        let err = Study::parse("x.toml", "format = \"punctual.study/1\"\nnome = 1\n");
        let err = err.unwrap_err().to_string();
        assert!(err.starts_with("x.toml, line 2:"), "{err}");
    }
}
