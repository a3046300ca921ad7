// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The levels of a factor: values of one setting, or several settings at once.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use toml::Spanned;

use super::{OptionText, Reader, Sets, Value, is_name};
use crate::error::LabError;
use crate::target::{self, Time};
use punctual_model::Gathered as _;

/// One level of a factor.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Level {
    /// Name, for results. The value, unless the file gives another.
    pub name: String,
    /// The value. Empty where the level sets several things.
    pub value: String,
    /// What a level of [`Sets::Several`] sets.
    pub changes: Changes,
}

/// Several settings at once.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Changes {
    /// Options, in place of those of the measurement.
    pub options: BTreeMap<String, Vec<String>>,
    /// Loads, in addition to those of the measurement.
    pub loads: Vec<String>,
    /// Tuning profile.
    pub profile: Option<String>,
    /// Knobs, as `KNOB=VALUE`, over the profile.
    pub knobs: Vec<String>,
    /// Variables of the environment.
    pub env: BTreeMap<String, String>,
}

impl Changes {
    /// Returns the options of `punctual measure` that tune.
    pub fn tuning(&self) -> Vec<String> {
        let profile = self.profile.iter().map(|name| format!("--tune={name}"));
        let knobs = self.knobs.iter().map(|setting| format!("--set={setting}"));
        profile.chain(knobs).collect()
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a list of values, or a table from level names to values or to tables"
)]
pub(super) enum LevelsText {
    Values(Vec<Value>),
    Named(toml::map::Map<String, toml::Value>),
}

impl LevelsText {
    /// Whether each level is a table of settings.
    pub(super) fn are_changes(&self) -> bool {
        match self {
            Self::Values(_) => false,
            Self::Named(table) => !table.is_empty() && table.values().all(toml::Value::is_table),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangesText {
    #[serde(default)]
    options: BTreeMap<String, OptionText>,
    #[serde(default)]
    load: Vec<String>,
    tune: Option<String>,
    #[serde(default)]
    set: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, Value>,
}

impl Reader<'_> {
    pub(super) fn levels(
        &self,
        factor: &str,
        sets: &Sets,
        spanned: &Spanned<LevelsText>,
    ) -> Result<Vec<Level>, LabError> {
        let at = spanned.span().start;
        let levels: Vec<Level> = match spanned.get_ref() {
            LevelsText::Values(values) => values
                .iter()
                .map(|value| Level {
                    name: value.text(),
                    value: value.text(),
                    changes: Changes::default(),
                })
                .collect(),
            LevelsText::Named(table) => {
                let level = |(name, value): (&String, &toml::Value)| {
                    let wrong = |why: &str| {
                        self.fail(at, format!("levels of \"{factor}\": \"{name}\": {why}"))
                    };
                    let mut level = Level {
                        name: name.clone(),
                        ..Level::default()
                    };
                    match value {
                        toml::Value::String(text) => level.value.clone_from(text),
                        toml::Value::Integer(n) => level.value = n.to_string(),
                        toml::Value::Float(x) => level.value = x.to_string(),
                        toml::Value::Boolean(b) => level.value = b.to_string(),
                        toml::Value::Table(table) if *sets == Sets::Several => {
                            level.changes = self.changes(table.clone(), at, &wrong)?;
                        }
                        _ => return Err(wrong("expected a string or a number")),
                    }
                    Ok(level)
                };
                table.iter().map(level).collect::<Result<_, _>>()?
            }
        };
        let names: BTreeSet<&str> = levels.iter().map(|l| l.name.as_str()).into_set();
        if levels.len() < 2 || names.len() != levels.len() {
            let reason =
                format!("levels of \"{factor}\": expected two or more with different names");
            return Err(self.fail(at, reason));
        }
        if *sets == Sets::Target {
            self.targets(factor, &levels, at)?;
        }
        Ok(levels)
    }

    /// Refuses what is not a target, and virtual time mixed with real time.
    fn targets(&self, factor: &str, levels: &[Level], at: usize) -> Result<(), LabError> {
        let mut first: Option<(&Level, Time)> = None;
        for level in levels {
            let time = target::time_of(&level.value).map_err(|why| {
                self.fail(
                    at,
                    format!("levels of \"{factor}\": \"{}\": {why}", level.name),
                )
            })?;
            let (other, known) = *first.get_or_insert((level, time));
            if known != time {
                let reason = format!(
                    "levels of \"{factor}\": \"{}\" is in {}, \"{}\" in {}, which cannot be \
                     compared: use only one of them",
                    other.name,
                    known.name(),
                    level.name,
                    time.name()
                );
                return Err(self.fail(at, reason));
            }
        }
        Ok(())
    }

    fn changes(
        &self,
        table: toml::Table,
        at: usize,
        wrong: &dyn Fn(&str) -> LabError,
    ) -> Result<Changes, LabError> {
        let text: ChangesText = table
            .try_into()
            .map_err(|err: toml::de::Error| wrong(err.message().trim()))?;
        let setting = |text: &String| {
            let (knob, value) = text.split_once('=')?;
            let knob = knob.split_once('@').map_or(knob, |(knob, _)| knob);
            (is_name(knob) && !value.is_empty()).then_some(())
        };
        if text.set.iter().any(|text| setting(text).is_none()) {
            return Err(wrong("expected set to be a list of KNOB=VALUE"));
        }
        Ok(Changes {
            options: self.options(&text.options, at)?,
            loads: text.load,
            profile: text.tune,
            knobs: text.set,
            env: text.env.into_iter().map(|(k, v)| (k, v.text())).collect(),
        })
    }
}
