// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Profiles: the settings that someone wants, independent of any machine.
//!
//! A profile is TOML:
//!
//! ```toml
//! format = "punctual.profile/1"
//! name = "mine"
//! summary = "what it is for"
//! base = "latency"            # begin with another profile's settings
//! cpus = "2-3"                # CPUs for real-time work, unless --cpus names others
//!
//! [knobs]
//! vm.swappiness = 10
//! thp.enabled = "never"
//! "irq.affinity" = "housekeeping"
//! "cpufreq.governor@rt" = "performance"
//!
//! [boot]
//! isolcpus = "managed_irq,domain,{rt}"
//! threadirqs = true
//! ```
//!
//! A number may also be `"at least 10"` or `"at most 10"`: what is so already stays as it is.
//!
//! What stands behind `@` chooses among several: CPUs (a list, `rt`, `housekeeping`, `siblings`, `all`) where a
//! knob belongs to CPUs, else the instance's name with `*` for anything. A later line for the same
//! setting wins.

pub(crate) mod arguments;
mod builtin;
mod parse;
mod value;

use punctual_model::CpuSet;

use crate::knob::Knob;

pub use builtin::{BUILT_IN, builtin};
pub use value::{CpuWord, Selector, Value, ValueError};

pub(crate) use value::glob;

/// Value of `format` in a profile.
pub const PROFILE_FORMAT: &str = "punctual.profile/1";

/// Wanted settings.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub summary: String,
    /// The profile whose settings come first.
    pub base: Option<String>,
    /// CPUs for real-time work.
    pub cpus: Option<CpuSet>,
    /// The settings, in the order in which they apply.
    pub wants: Vec<Want>,
    /// Kernel arguments.
    pub boot: Vec<BootArgument>,
}

/// One wanted setting.
#[derive(Clone, Debug)]
pub struct Want {
    /// The knob.
    pub knob: &'static Knob,
    /// Which of several; all where there is none.
    pub selector: Option<Selector>,
    /// The value.
    pub value: Value,
}

/// One kernel argument.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BootArgument {
    /// Its name.
    pub name: String,
    /// What follows the `=`, with `{rt}` and `{housekeeping}` for CPUs; none for a bare word.
    pub value: Option<String>,
}

/// A profile, or an option that stands for a line of one, is wrong.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{origin}{}: {problem}", place(.line, .key))]
pub struct ProfileError {
    /// The file, the built-in profile, or the option.
    pub origin: String,
    /// The line.
    pub line: Option<usize>,
    /// The key.
    pub key: Option<String>,
    /// What is wrong, and what was expected.
    pub problem: String,
}

fn place(line: &Option<usize>, key: &Option<String>) -> String {
    let line = line
        .map(|line| format!(", line {line}"))
        .unwrap_or_default();
    let key = key
        .as_ref()
        .map(|key| format!(", `{key}`"))
        .unwrap_or_default();
    line + &key
}

impl Profile {
    /// Reads a profile; `origin` says in errors where it comes from.
    ///
    /// # Errors
    ///
    /// Fails on what is no TOML, on an unknown key or knob, and on a value of the wrong form.
    pub fn parse(text: &str, origin: &str) -> Result<Self, ProfileError> {
        parse::profile(text, origin)
    }

    /// Makes a profile that wants nothing, to add to.
    pub fn empty(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            summary: String::new(),
            base: None,
            cpus: None,
            wants: Vec::new(),
            boot: Vec::new(),
        }
    }

    /// Puts this profile on top of its base.
    #[must_use]
    pub fn over(mut self, base: Self) -> Self {
        let mut wants = base.wants;
        wants.append(&mut self.wants);
        let mut boot = base.boot;
        boot.retain(|argument| self.boot.iter().all(|own| own.name != argument.name));
        boot.append(&mut self.boot);
        Self {
            cpus: self.cpus.or(base.cpus),
            base: None,
            wants,
            boot,
            ..self
        }
    }

    /// Adds `KNOB=VALUE`, as `--set` has it.
    ///
    /// # Errors
    ///
    /// Fails on an unknown knob and on a value of the wrong form.
    pub fn set(&mut self, setting: &str) -> Result<(), ProfileError> {
        let origin = format!("--set {setting}");
        let fail = |problem: String| ProfileError {
            origin: origin.clone(),
            line: None,
            key: None,
            problem,
        };
        let (key, text) = setting
            .split_once('=')
            .ok_or_else(|| fail("expected KNOB=VALUE, such as vm.swappiness=10".to_owned()))?;
        let want = value::want(key.trim(), text.trim()).map_err(|err| fail(err.to_string()))?;
        self.wants.push(want);
        Ok(())
    }

    /// Keeps only the knobs whose names match one of `only`, if there are any, and none of `skip`.
    /// A pattern has `*` for anything; a bare `vm` stands for all that begins with `vm.`.
    ///
    /// # Errors
    ///
    /// Fails on a pattern that matches none of this profile's knobs.
    pub fn narrow(&mut self, only: &[String], skip: &[String]) -> Result<(), ProfileError> {
        for (option, patterns) in [("--only", only), ("--skip", skip)] {
            let idle = patterns
                .iter()
                .find(|pattern| !self.wants.iter().any(|want| names(pattern, want.knob.name)));
            if let Some(pattern) = idle {
                return Err(ProfileError {
                    origin: format!("{option} {pattern}"),
                    line: None,
                    key: None,
                    problem: format!("no knob of profile {} matches", self.name),
                });
            }
        }
        let any = |patterns: &[String], name: &str| patterns.iter().any(|p| names(p, name));
        self.wants.retain(|want| {
            (only.is_empty() || any(only, want.knob.name)) && !any(skip, want.knob.name)
        });
        Ok(())
    }
}

/// Whether `pattern` stands for the knob `name`: `*` is anything, and `vm` all that begins with `vm.`.
pub fn names(pattern: &str, name: &str) -> bool {
    let below = name
        .strip_prefix(pattern)
        .is_some_and(|rest| rest.starts_with('.'));
    below || value::glob(pattern, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Profile {
        let text = "format = \"punctual.profile/1\"\nname = \"x\"\n[knobs]\nvm.swappiness = 10\n\
                    vm.stat_interval = 120\nthp.enabled = \"never\"\n[boot]\nthreadirqs = true\n";
        Profile::parse(text, "x.toml").unwrap()
    }

    fn left(profile: &Profile) -> Vec<&str> {
        profile.wants.iter().map(|want| want.knob.name).collect()
    }

    #[test]
    fn a_profile_can_be_narrowed() {
        let words = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let mut profile = sample();
        profile
            .narrow(&words(&["vm"]), &words(&["*stat*"]))
            .unwrap();
        assert_eq!(left(&profile), ["vm.swappiness"]);
        let mut profile = sample();
        profile.narrow(&[], &words(&["thp.enabled"])).unwrap();
        assert_eq!(left(&profile).len(), 2);
        let err = sample().narrow(&words(&["cpu"]), &[]).unwrap_err();
        assert_eq!(err.to_string(), "--only cpu: no knob of profile x matches");
    }

    #[test]
    fn settings_are_added_and_the_base_comes_first() {
        let mut top = Profile::empty("top");
        top.set("vm.swappiness=20").unwrap();
        top.boot.push(BootArgument {
            name: "threadirqs".to_owned(),
            value: None,
        });
        let both = top.over(sample());
        assert_eq!(both.name, "top");
        assert_eq!(both.wants.len(), 4);
        assert_eq!(both.wants[3].knob.name, "vm.swappiness");
        assert_eq!(both.boot.len(), 1);
    }

    #[test]
    fn a_wrong_setting_says_what_was_expected() {
        let mut profile = Profile::empty("x");
        for (setting, part) in [
            ("vm.swappiness", "expected KNOB=VALUE"),
            ("vm.swapiness=1", "did you mean `vm.swappiness`"),
            ("vm.swappiness=much", "a whole number"),
            ("irq.affinity=3-1", "a CPU list"),
            ("dma_latency=5", "a duration"),
        ] {
            let err = profile.set(setting).unwrap_err().to_string();
            assert!(err.starts_with(&format!("--set {setting}: ")), "{err}");
            assert!(err.contains(part), "{err}");
        }
        assert!(profile.wants.is_empty());
    }
}
