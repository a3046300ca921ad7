// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Preemption models: asked for, and found running.

use std::fmt;
use std::str::FromStr;

use punctual_model::HostFacts;
use punctual_sys::SysRoot;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::running;

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

/// What is said of a model that a kernel was built with.
const BUILT: &str = " (its configuration)";

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

    /// Refuses a `preempt=` that is none: the kernel would pass over it.
    ///
    /// # Errors
    ///
    /// Fails with the first one.
    pub fn check<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Result<(), UnknownModel> {
        let words = arguments.into_iter().flat_map(str::split_whitespace);
        let mut asked = words.filter_map(|word| word.strip_prefix("preempt="));
        asked.try_for_each(|word| word.parse::<Self>().map(drop))
    }

    /// Lets the configuration of the running kernel say which model it was built with, where its version line leaves
    /// that open: `PREEMPT` is full or, since Linux 6.13, lazy.
    pub fn complete(host: &mut HostFacts, sys: &SysRoot) {
        let open = |found: &String| found.starts_with("full or lazy");
        if host.preemption.as_ref().is_some_and(open)
            && let Ok(values) = running(sys)
        {
            let model = match values.is_on("PREEMPT_LAZY") {
                true => Self::Lazy,
                false => Self::Full,
            };
            host.preemption = Some(format!("{model}{BUILT}"));
        }
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
        if let Some(name) = found.strip_suffix(BUILT)
            && let Ok(model) = name.parse()
        {
            return Ok((model, "the kernel's configuration"));
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

    fn found(rt: bool, preemption: &str, log: Option<&str>) -> Result<Model, String> {
        let host = HostFacts {
            preempt_rt: Some(rt),
            preemption: Some(preemption.to_owned()),
            ..HostFacts::default()
        };
        Model::running(&host, log).map(|(model, _)| model)
    }

    #[test]
    fn a_model_is_what_the_kernel_says_and_not_what_was_asked() {
        assert_eq!(found(true, "PREEMPT_RT", None), Ok(Model::Rt));
        let debugfs = "voluntary (dynamic, from debugfs)";
        assert_eq!(found(false, debugfs, None), Ok(Model::Voluntary));
        let asked = "none (dynamic, from the command line)";
        assert_eq!(found(false, asked, None), Err(asked.to_owned()));
        let log = Some("6,300,8,-;Dynamic Preempt: full\n");
        assert_eq!(found(false, asked, log), Ok(Model::Full));
        let built = "none or voluntary (no PREEMPT in the version line)";
        assert!(found(false, built, None).is_err());
        assert!(Model::running(&HostFacts::default(), None).is_err());
    }

    #[test]
    fn what_the_version_line_leaves_open_the_configuration_says() {
        let open = "full or lazy (PREEMPT in the version line)";
        assert_eq!(found(false, open, None), Err(open.to_owned()));
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let complete = || {
            let mut host = HostFacts {
                preemption: Some(open.to_owned()),
                ..HostFacts::default()
            };
            Model::complete(&mut host, &sys);
            Model::running(&host, None).map(|(model, _)| model)
        };
        assert_eq!(complete(), Err(open.to_owned()));
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        for (option, model) in [("PREEMPT", Model::Full), ("PREEMPT_LAZY", Model::Lazy)] {
            let text = format!("CONFIG_{option}=y\n");
            std::fs::write(dir.path().join("proc/config.gz"), text).unwrap();
            assert_eq!(complete(), Ok(model));
        }
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
        assert_eq!(Model::check(["quiet preempt=full", "x=preempt=y"]), Ok(()));
        let err = Model::check(["quiet", "x preempt=fullest"]).unwrap_err();
        assert!(err.to_string().starts_with("`fullest` is not"), "{err}");
    }
}
