// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Preemption models: asked for, and found running.

use std::fmt;
use std::str::FromStr;

use punctual_model::HostFacts;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How far a kernel lets itself be preempted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// `PREEMPT_NONE`: only where it returns to user space.
    None,
    /// `PREEMPT_VOLUNTARY`: also where it says that it may be.
    Voluntary,
    /// `PREEMPT`: everywhere but in critical sections.
    Full,
    /// `PREEMPT_LAZY`: as full for real-time threads, as none for others until a tick.
    Lazy,
    /// `PREEMPT_RT`: also in most critical sections.
    Rt,
}

/// A word that is no preemption model.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
#[error("`{0}` is not a preemption model: none, voluntary, full, lazy or rt")]
pub struct UnknownModel(String);

impl Model {
    /// Every model, the least preemptible first.
    pub const ALL: [Self; 5] = [
        Self::None,
        Self::Voluntary,
        Self::Full,
        Self::Lazy,
        Self::Rt,
    ];

    /// Returns its name, as `preempt=` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Voluntary => "voluntary",
            Self::Full => "full",
            Self::Lazy => "lazy",
            Self::Rt => "rt",
        }
    }

    /// Returns the kernel argument that asks a dynamic kernel for this model. PREEMPT_RT is built
    /// in, or not there.
    pub fn argument(self) -> Option<String> {
        (self != Self::Rt).then(|| format!("preempt={self}"))
    }

    /// Returns the model that the last `preempt=` among kernel arguments asks for.
    pub fn asked_by<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let words = arguments.into_iter().flat_map(str::split_whitespace);
        words
            .filter_map(|word| word.strip_prefix("preempt="))
            .last()?
            .parse()
            .ok()
    }

    /// Returns the model that runs, with the evidence, or what is known in place of it. That a
    /// model was asked for is no evidence.
    ///
    /// # Errors
    ///
    /// Fails where neither the version line, debugfs nor the log says it.
    pub fn running(host: &HostFacts, log: Option<&str>) -> Result<(Self, &'static str), String> {
        if host.preempt_rt == Some(true) {
            return Ok((Self::Rt, "the kernel's version line"));
        }
        let found = host.preemption.as_deref().unwrap_or("unknown");
        if let Some(name) = found.strip_suffix(" (dynamic, from debugfs)")
            && let Ok(model) = name.parse()
        {
            return Ok((model, "debugfs"));
        }
        if found.starts_with("full (PREEMPT in") {
            return Ok((Self::Full, "the kernel's version line"));
        }
        log.and_then(|line| line.split_once("Dynamic Preempt: "))
            .and_then(|(_, name)| name.split_whitespace().next()?.parse().ok())
            .map(|model| (model, "the kernel's log"))
            .ok_or_else(|| found.to_owned())
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Model {
    type Err = UnknownModel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|model| model.name() == text);
        found.ok_or_else(|| UnknownModel(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(rt: bool, preemption: &str, log: Option<&str>) -> Result<Model, String> {
        let host = HostFacts {
            preempt_rt: Some(rt),
            preemption: Some(preemption.to_owned()),
            ..HostFacts::default()
        };
        Model::running(&host, log).map(|(model, _)| model)
    }

    #[test]
    fn a_model_is_what_the_kernel_says_and_not_what_was_asked() {
        assert_eq!(running(true, "PREEMPT_RT", None), Ok(Model::Rt));
        let debugfs = "voluntary (dynamic, from debugfs)";
        assert_eq!(running(false, debugfs, None), Ok(Model::Voluntary));
        let asked = "none (dynamic, from the command line)";
        assert_eq!(running(false, asked, None), Err(asked.to_owned()));
        let log = Some("6,300,8,-;Dynamic Preempt: full\n");
        assert_eq!(running(false, asked, log), Ok(Model::Full));
        let built = "none or voluntary (no PREEMPT in the version line)";
        assert!(running(false, built, None).is_err());
        assert!(Model::running(&HostFacts::default(), None).is_err());
    }

    #[test]
    fn the_last_argument_counts() {
        let asked = |line: &str| Model::asked_by(line.split(','));
        assert_eq!(asked("quiet,preempt=none preempt=full"), Some(Model::Full));
        assert_eq!(asked("quiet"), None);
        for model in Model::ALL {
            assert_eq!(model.name().parse(), Ok(model));
        }
        assert!("more".parse::<Model>().is_err());
    }
}
