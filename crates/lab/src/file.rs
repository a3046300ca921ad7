// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The file of an experiment: TOML, every key known, every error with its line.
//!
//! docs/formats/experiment.md describes it.

mod levels;

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{Gathered as _, LookRule, Nanos};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toml::Spanned;

use self::levels::LevelsText;
pub use self::levels::{Changes, Level};
use crate::error::LabError;
use crate::target;

/// The largest file that is read, in bytes.
pub const FILE_LIMIT: u64 = 1 << 20;

/// What is varied and what is measured, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// Name, for the state and for reports.
    pub name: String,
    /// What each cell measures, in this order.
    pub measurements: Vec<Measurement>,
    /// What is varied.
    pub factors: Vec<Factor>,
    /// Combinations of levels that are left out: factor name to level name.
    pub excluded: Vec<BTreeMap<String, String>>,
    /// How the factors are crossed.
    pub design: Design,
    /// Seed of the order. Missing: made of the file's text, and recorded.
    pub seed: Option<u64>,
    /// The order of the cells in a block.
    pub order: Order,
    /// When it ends.
    pub stop: Stop,
    /// Blocks at the start that count in no result.
    pub warm_up_blocks: u32,
    /// Time between runs in which nothing is done.
    pub cool_down: Nanos,
    /// How often a run that is invalid is repeated.
    pub repeat_invalid: u32,
    /// Figures that are compared, such as `p99`.
    pub metrics: Vec<String>,
    /// What becomes of a level or a measurement that a machine cannot have.
    pub missing: Missing,
    /// The command that made it, and alone can carry it out; missing, `experiment` can.
    pub command: Option<String>,
}

/// What becomes of a level or a measurement that a machine cannot have.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Missing {
    /// It is tried, and its runs fail.
    #[default]
    Fail,
    /// It is left out, and the plan says why.
    Skip,
}

/// What a measurement cannot be made without.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// The privilege of root.
    Root,
    /// The program fio.
    Fio,
}

/// One run of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Name, where an experiment has several.
    pub name: String,
    /// Instrument, such as `wakeup`.
    pub instrument: String,
    /// Options of `punctual measure`, without their dashes. Each value is one use of the option; none
    /// is a switch.
    pub options: BTreeMap<String, Vec<String>>,
    /// Loads during it.
    pub loads: Vec<String>,
    /// Variables of its environment.
    pub env: BTreeMap<String, String>,
    /// What it cannot be made without.
    pub needs: Vec<Need>,
}

/// What is varied.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor {
    /// Name, for results.
    pub name: String,
    /// What a level sets.
    pub sets: Sets,
    /// The levels, in the order of the file. The first is the base of comparisons.
    pub levels: Vec<Level>,
    /// Line of the levels in the file, from 1.
    pub line: usize,
}

/// What the levels of a factor set.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Sets {
    /// An option of `punctual measure`.
    Option(String),
    /// A load during the measurement; `none` is none.
    Load,
    /// A tuning profile; `none` is none.
    Profile,
    /// One knob of the machine; `keep` leaves it alone.
    Knob(String),
    /// A variable of the environment; `unset` removes it.
    Env(String),
    /// The machine that it is measured in: a guest, or `here`.
    Target,
    /// Several of these at once, each level its own.
    Several,
}

/// The order of the cells in a block.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Random in each block, from the seed.
    #[default]
    Random,
    /// That of the levels in the file, the last factor fastest.
    AsWritten,
}

/// How factors are crossed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Every level with every other.
    Full,
    /// Two levels each, main effects free of each other, aliased with two-factor interactions.
    ResolutionThree,
    /// Two levels each, main effects free of two-factor interactions.
    ResolutionFour,
}

/// When an experiment ends: at the first of these that is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Blocks, without those of the warm-up. The most, where the rule is sequential.
    pub blocks: u32,
    /// Time, looked at between blocks: a block that would not fit is not begun.
    pub time: Option<Nanos>,
    /// Looks at the comparisons while it goes on, and ends it as soon as every one is resolved.
    pub sequential: Option<LookRule>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FileText {
    name: Spanned<String>,
    command: Option<String>,
    seed: Option<u64>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    design: Option<Design>,
    measure: Vec<Spanned<MeasureText>>,
    #[serde(default)]
    factor: Vec<Spanned<FactorText>>,
    #[serde(default)]
    exclude: Vec<Spanned<BTreeMap<String, Value>>>,
    stop: Spanned<StopText>,
    #[serde(default)]
    missing: Missing,
    #[serde(default)]
    warm_up_blocks: u32,
    cool_down: Option<Spanned<String>>,
    repeat_invalid: Option<u32>,
    compare: Spanned<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct MeasureText {
    name: Option<String>,
    instrument: String,
    #[serde(default)]
    options: BTreeMap<String, OptionText>,
    #[serde(default)]
    load: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
    #[serde(default)]
    needs: Vec<Need>,
}

#[derive(Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a string, a number, true, or a list of strings and numbers"
)]
enum OptionText {
    One(Value),
    Many(Vec<Value>),
}

#[derive(Clone, Deserialize)]
#[serde(untagged, expecting = "expected a string, a number, true or false")]
enum Value {
    Switch(bool),
    Integer(i64),
    Number(f64),
    Text(String),
}

impl Value {
    fn text(&self) -> String {
        match self {
            Self::Switch(on) => on.to_string(),
            Self::Integer(n) => n.to_string(),
            Self::Number(x) => x.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct FactorText {
    name: String,
    option: Option<String>,
    load: Option<bool>,
    profile: Option<bool>,
    knob: Option<String>,
    env: Option<String>,
    target: Option<bool>,
    levels: Spanned<LevelsText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct StopText {
    blocks: u32,
    time: Option<String>,
    sequential: Option<SequentialText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SequentialText {
    first: Option<u32>,
    every: Option<u32>,
    alpha: Option<f64>,
}

impl Experiment {
    /// Reads the text of `file`.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] with the line, the key and what was expected.
    pub fn parse(file: &str, text: &str) -> Result<Self, LabError> {
        let reader = Reader { file, text };
        reader.experiment(reader.parsed()?)
    }

    /// Keeps the measurements that a plan has: those that it left out are counted no more.
    #[must_use]
    pub fn only(mut self, measurements: &[String]) -> Self {
        self.measurements
            .retain(|measurement| measurements.contains(&measurement.name));
        self
    }
}

/// Turns the text into an experiment, and offsets into lines.
/// The text of a file, with its name for errors.
pub(crate) struct Reader<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl Reader<'_> {
    pub(crate) fn parsed<T: DeserializeOwned>(&self) -> Result<T, LabError> {
        toml::from_str(self.text).map_err(|err| {
            let at = err.span().map_or(0, |span| span.start);
            self.fail(at, err.message().trim())
        })
    }

    pub(crate) fn fail(&self, offset: usize, reason: impl Into<String>) -> LabError {
        LabError::File {
            file: self.file.to_owned(),
            line: self.line(offset),
            reason: reason.into(),
        }
    }

    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        before.filter(|b| **b == b'\n').count() + 1
    }

    fn experiment(&self, parsed: FileText) -> Result<Experiment, LabError> {
        let name = parsed.name.get_ref().clone();
        if !is_name(&name) {
            return Err(self.fail(
                parsed.name.span().start,
                format!("name = \"{name}\": expected 1 to 64 letters, digits, `.`, `-` or `_`"),
            ));
        }
        let measurements = self.measurements(&parsed.measure)?;
        let factors = self.factors(&parsed.factor)?;
        let excluded = self.excluded(&parsed.exclude, &factors)?;
        let cool_down = match &parsed.cool_down {
            Some(text) => self.time("cool-down", text.get_ref(), text.span().start)?,
            None => Nanos::ZERO,
        };
        if parsed.compare.get_ref().is_empty() {
            let at = parsed.compare.span().start;
            return Err(self.fail(at, "compare: expected at least one figure, such as \"p99\""));
        }
        let design = parsed.design.unwrap_or(Design::Full);
        if design != Design::Full
            && let Some((text, factor)) = parsed
                .factor
                .iter()
                .zip(&factors)
                .find(|(_, factor)| factor.levels.len() != 2)
        {
            return Err(self.fail(
                text.get_ref().levels.span().start,
                format!(
                    "factor \"{}\" has {} levels: a fractional design needs two each",
                    factor.name,
                    factor.levels.len()
                ),
            ));
        }
        Ok(Experiment {
            name,
            measurements,
            factors,
            excluded,
            design,
            seed: parsed.seed,
            order: parsed.order,
            stop: self.stop(&parsed.stop)?,
            warm_up_blocks: parsed.warm_up_blocks,
            cool_down,
            repeat_invalid: parsed.repeat_invalid.unwrap_or(1),
            metrics: parsed.compare.into_inner(),
            missing: parsed.missing,
            command: parsed.command,
        })
    }

    fn measurements(&self, texts: &[Spanned<MeasureText>]) -> Result<Vec<Measurement>, LabError> {
        if texts.is_empty() {
            return Err(self.fail(0, "measure: expected at least one [[measure]]"));
        }
        let mut names = BTreeSet::new();
        let mut all = Vec::new();
        for spanned in texts {
            let text = spanned.get_ref();
            let name = text.name.clone().unwrap_or_else(|| text.instrument.clone());
            if !names.insert(name.clone()) {
                return Err(self.fail(
                    spanned.span().start,
                    format!("measure \"{name}\" appears twice: give each a different name"),
                ));
            }
            all.push(Measurement {
                name,
                instrument: text.instrument.clone(),
                needs: text.needs.clone(),
                options: self.options(&text.options, spanned.span().start)?,
                loads: text.load.clone(),
                env: text
                    .env
                    .iter()
                    .map(|(k, v)| (k.clone(), v.text()))
                    .into_map(),
            });
        }
        Ok(all)
    }

    fn options(
        &self,
        texts: &BTreeMap<String, OptionText>,
        at: usize,
    ) -> Result<BTreeMap<String, Vec<String>>, LabError> {
        let mut options = BTreeMap::new();
        for (name, value) in texts {
            if name.starts_with('-') || !is_name(name) {
                let reason = format!("options: \"{name}\": expected the long name without dashes");
                return Err(self.fail(at, reason));
            }
            if OWN_OPTIONS.contains(&name.as_str()) {
                let reason = format!("options: \"{name}\" is reserved for the experiment");
                return Err(self.fail(at, reason));
            }
            let values = match value {
                OptionText::One(Value::Switch(true)) => Vec::new(),
                OptionText::One(Value::Switch(false)) => continue,
                OptionText::One(value) => vec![value.text()],
                OptionText::Many(values) if values.is_empty() => continue,
                OptionText::Many(values) => values.iter().map(Value::text).collect(),
            };
            if name == target::OPTION {
                for text in &values {
                    let wrong = |why| self.fail(at, format!("options: \"{name}\": {why}"));
                    target::time_of(text).map(drop).map_err(wrong)?;
                }
            }
            options.insert(name.clone(), values);
        }
        Ok(options)
    }

    fn factors(&self, texts: &[Spanned<FactorText>]) -> Result<Vec<Factor>, LabError> {
        let mut all: Vec<Factor> = Vec::new();
        for spanned in texts {
            let (text, at) = (spanned.get_ref(), spanned.span().start);
            if !is_name(&text.name) || all.iter().any(|f| f.name == text.name) {
                let reason = format!(
                    "factor \"{}\": expected a name of letters, digits, `.`, `-` or `_` that is not used twice",
                    text.name
                );
                return Err(self.fail(at, reason));
            }
            let sets = [
                text.option
                    .clone()
                    .map(|name| match name == target::OPTION {
                        true => Sets::Target,
                        false => Sets::Option(name),
                    }),
                text.load.filter(|on| *on).map(|_| Sets::Load),
                text.profile.filter(|on| *on).map(|_| Sets::Profile),
                text.knob.clone().map(Sets::Knob),
                text.env.clone().map(Sets::Env),
                text.target.filter(|on| *on).map(|_| Sets::Target),
            ];
            let mut sets = sets.into_iter().flatten();
            let first = match (sets.next(), sets.next()) {
                (Some(only), None) => only,
                (None, _) if text.levels.get_ref().are_changes() => Sets::Several,
                _ => {
                    let reason = format!(
                        "factor \"{}\": expected exactly one of option, load = true, profile = true, target = true, \
                         knob, env, or levels that are tables",
                        text.name
                    );
                    return Err(self.fail(at, reason));
                }
            };
            if let Sets::Option(name) = &first
                && OWN_OPTIONS.contains(&name.as_str())
            {
                let reason = format!("option \"{name}\" is reserved for the experiment");
                return Err(self.fail(at, reason));
            }
            let levels = self.levels(&text.name, &first, &text.levels)?;
            all.push(Factor {
                name: text.name.clone(),
                sets: first,
                levels,
                line: self.line(text.levels.span().start),
            });
        }
        Ok(all)
    }

    fn excluded(
        &self,
        texts: &[Spanned<BTreeMap<String, Value>>],
        factors: &[Factor],
    ) -> Result<Vec<BTreeMap<String, String>>, LabError> {
        let mut all = Vec::new();
        for spanned in texts {
            let mut combination = BTreeMap::new();
            for (name, level) in spanned.get_ref() {
                let level = level.text();
                let factor = factors.iter().find(|f| f.name == *name);
                let known = factor.is_some_and(|f| f.levels.iter().any(|l| l.name == level));
                if !known {
                    let reason = match factor {
                        None => format!("exclude: \"{name}\": expected the name of a factor"),
                        Some(f) => format!(
                            "exclude: {name} = \"{level}\": expected one of {}",
                            level_names(f)
                        ),
                    };
                    return Err(self.fail(spanned.span().start, reason));
                }
                combination.insert(name.clone(), level);
            }
            if combination.is_empty() {
                return Err(self.fail(spanned.span().start, "exclude: expected factors"));
            }
            all.push(combination);
        }
        Ok(all)
    }

    fn stop(&self, spanned: &Spanned<StopText>) -> Result<Stop, LabError> {
        let (text, at) = (spanned.get_ref(), spanned.span().start);
        if !(1..=100_000).contains(&text.blocks) {
            return Err(self.fail(at, "stop: blocks: expected 1 to 100000"));
        }
        let time = match &text.time {
            Some(time) => Some(self.time("stop: time", time, at)?),
            None => None,
        };
        let sequential = match &text.sequential {
            None => None,
            Some(rule) => {
                let rule = LookRule {
                    first: rule.first.unwrap_or(4),
                    every: rule.every.unwrap_or(2),
                    alpha: rule.alpha.unwrap_or(0.05),
                };
                if rule.first < 2 || rule.every == 0 || !(0.000_1..=0.5).contains(&rule.alpha) {
                    return Err(self.fail(
                        at,
                        "stop: sequential: expected first of 2 or more, every of 1 or more, alpha from 0.0001 to 0.5",
                    ));
                }
                Some(rule)
            }
        };
        Ok(Stop {
            blocks: text.blocks,
            time,
            sequential,
        })
    }

    fn time(&self, key: &str, text: &str, at: usize) -> Result<Nanos, LabError> {
        text.parse()
            .map_err(|err| self.fail(at, format!("{key} = \"{text}\": {err}")))
    }
}

/// Options that the experiment gives itself.
const OWN_OPTIONS: [&str; 9] = [
    "json", "quiet", "name", "note", "home", "tag", "load", "tune", "set",
];

fn level_names(factor: &Factor) -> String {
    let names: Vec<&str> = factor.levels.iter().map(|l| l.name.as_str()).collect();
    names.join(", ")
}

/// Whether the text may be the name of an experiment, a factor or an option.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
    (1..=64).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with('.')
}
