// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The command line.
//!
//! The doc comments of options are their help texts; brackets in them mean "optional". What the agent
//! of a guest has too is here, and its two verbs in `agent`; all other verbs are in `workbench`.
#![cfg_attr(
    doc,
    expect(rustdoc::broken_intra_doc_links, reason = "help texts have no links")
)]

#[cfg(not(feature = "workbench"))]
mod agent;
mod loads;
mod measure;
#[cfg(feature = "workbench")]
mod workbench;

#[cfg(not(feature = "workbench"))]
pub use self::agent::{Cli, Command};
pub use self::loads::{LoadArgs, LoadOptions, LoadReach};
pub use self::measure::{
    CommonArgs, ExtraStatistic, IntervalArgs, MetricsArgs, RepeatArgs, SampleArgs, StatisticsArgs,
};
pub(crate) use self::measure::{RATES, at_least, holds, own};
#[cfg(feature = "workbench")]
pub use self::workbench::*;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser};
use punctual_model::Nanos;
use punctual_stats::requirement::Requirement;

/// A value of `--dma-latency`
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DmaLatency {
    /// Leave the file alone
    Off,
    /// Hold this value
    Hold(Nanos),
}

impl std::str::FromStr for DmaLatency {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        if s == "off" {
            return Ok(Self::Off);
        }
        let bound: Nanos = s.parse().map_err(|err| format!("{err}, or `off`"))?;
        if !bound.get().is_multiple_of(1_000)
            || bound.get() / 1_000 > i32::MAX.unsigned_abs().into()
        {
            return Err("the kernel takes whole microseconds, up to 2147s".to_owned());
        }
        Ok(Self::Hold(bound))
    }
}

/// `on` or `off`
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// One of a few names. The model knows them; clap shows them in the help and in errors.
pub(crate) fn one_of<T>(
    all: &'static [T],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + std::str::FromStr + Send + Sync + 'static,
    T::Err: std::error::Error + Send + Sync + 'static,
{
    PossibleValuesParser::new(all.iter().copied().map(name)).try_map(|name| name.parse::<T>())
}

/// A path, which may be empty: what is wrong with that says who opens it.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// A tag of a run
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Tag {
    /// Its key
    pub key: String,
    /// Its value
    pub value: String,
}

impl std::str::FromStr for Tag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (key, value) = text
            .split_once('=')
            .ok_or("has no `=`; write it as kernel=rt")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if key.is_empty() || key.len() > 50 || !key.chars().all(plain) {
            return Err(
                "the key must have 1 to 50 letters, digits, `-`, `_` or `.`, such as kernel=rt"
                    .to_owned(),
            );
        }
        Ok(Self {
            key: key.to_owned(),
            value: label(value).map_err(|err| format!("the value {err}"))?,
        })
    }
}

/// Collects tags; of a key that is given twice the last value counts.
pub(crate) fn tags(tags: &[Tag]) -> std::collections::BTreeMap<String, String> {
    tags.iter()
        .map(|tag| (tag.key.clone(), tag.value.clone()))
        .collect()
}

/// Returns the requirements as they are judged if no burst of misses lasts longer than `burst`.
pub(crate) fn under(requirements: &[Requirement], burst: Option<Nanos>) -> Vec<Requirement> {
    let judged = requirements.iter();
    match burst {
        Some(burst) => judged.map(|of| of.with_burst(burst.get())).collect(),
        None => judged.copied().collect(),
    }
}

/// Adds the times of requirements to those of which misses are counted exactly.
pub(crate) fn with_limits(deadlines: &[Nanos], requirements: &[Requirement]) -> Vec<Nanos> {
    let mut all = deadlines.to_vec();
    for limit in requirements.iter().map(|asked| Nanos::new(asked.limit_ns)) {
        if !all.contains(&limit) {
            all.push(limit);
        }
    }
    all
}

/// A name or note: it is shown in tables, so it has no control characters.
fn label(text: &str) -> Result<String, String> {
    if text.is_empty() || text.chars().count() > 200 {
        return Err("must have 1 to 200 characters".to_owned());
    }
    if text.chars().any(char::is_control) {
        return Err("must not have control characters".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dma_latency_takes_whole_microseconds_or_off() {
        assert_eq!("off".parse(), Ok(DmaLatency::Off));
        assert_eq!("0us".parse(), Ok(DmaLatency::Hold(Nanos::ZERO)));
        assert!("1ns".parse::<DmaLatency>().is_err());
        assert!("1h".parse::<DmaLatency>().is_err());
    }
}
