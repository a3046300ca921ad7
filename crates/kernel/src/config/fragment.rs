// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Fragments: some options, to be laid over a configuration.
//!
//! Lines of a configuration, and in comments two words for us: `# drop: NAME...` takes options out of the base
//! without asking for anything (the other members of a choice), `# if-there: NAME...` does not insist on options in
//! sources that do not have them. The first comment says what the fragment is for.

use super::values::{OddLine, Values, is_name};

/// Options that are wanted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Fragment {
    /// What it is for, in one line.
    pub about: String,
    /// The options and the values they are to have.
    pub wanted: Values,
    /// Options that the base is rid of.
    pub dropped: Vec<String>,
    /// Options that are only wanted where the source has them.
    pub if_there: Vec<String>,
}

/// A fragment that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name: `timerlat`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! builtin {
    ($directory:literal: $($name:literal),+ $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../fragments/", $directory, "/", $name, ".config")),
        }),+]
    };
}

/// What can be switched on.
pub const WITH: &[Builtin] = builtin!(
    "with": "bridgers2015", "hwlat", "hz-1000", "isolation", "kexec", "lockdep", "osnoise", "power-management",
    "sched-ext", "stack-check",
    "timerlat", "virtual-machine", "watchdog",
);

/// What can be switched off.
pub const WITHOUT: &[Builtin] = builtin!(
    "without": "debug", "debug-info", "modules", "osnoise", "power-management", "timerlat",
);

/// The preemption models.
pub const MODELS: &[Builtin] =
    builtin!("model": "none", "voluntary", "full", "lazy", "rt", "dynamic");

/// The base for measuring in QEMU: what it takes everywhere, and what in addition, by the directory below `arch`.
pub(crate) const TINY: &[Builtin] = builtin!("base": "tiny", "tiny-x86", "tiny-arm64");

/// Returns the base for measuring in QEMU, where there is one.
pub(crate) fn tiny(srcarch: &str) -> Option<Fragment> {
    let named = |name: &str| TINY.iter().find(|builtin| builtin.name == name);
    let mut fragment = named("tiny")?.fragment();
    fragment.add(&named(&format!("tiny-{srcarch}"))?.fragment());
    Some(fragment)
}

impl Builtin {
    /// Reads the fragment.
    pub fn fragment(&self) -> Fragment {
        // Our own files have no odd line: a test reads them all.
        Fragment::parse(self.text).unwrap_or_default()
    }
}

impl Fragment {
    /// Reads a fragment.
    ///
    /// # Errors
    ///
    /// Fails on a line that is neither an option nor a comment.
    pub fn parse(text: &str) -> Result<Self, OddLine> {
        let wanted = Values::parse(text)?;
        let mut fragment = Self {
            wanted,
            ..Self::default()
        };
        for comment in text
            .lines()
            .filter_map(|line| line.trim().strip_prefix('#'))
        {
            let comment = comment.trim();
            let names = |list: &str| -> Vec<String> {
                list.split_whitespace()
                    .map(|name| name.trim_start_matches("CONFIG_"))
                    .filter(|name| is_name(name))
                    .map(str::to_owned)
                    .collect()
            };
            if let Some(list) = comment.strip_prefix("drop:") {
                fragment.dropped.extend(names(list));
            } else if let Some(list) = comment.strip_prefix("if-there:") {
                fragment.if_there.extend(names(list));
            } else if fragment.about.is_empty() && !comment.ends_with(" is not set") {
                comment.clone_into(&mut fragment.about);
            }
        }
        Ok(fragment)
    }

    /// Adds what `other` wants, over what this one does.
    pub fn add(&mut self, other: &Self) {
        for name in &other.dropped {
            self.wanted.remove(name);
        }
        // Whoever asks for an option without an "if" insists on it, whatever comes before or after.
        let insists =
            |of: &Self, name: &String| of.wanted.mentions(name) && !of.if_there.contains(name);
        let others = other.if_there.iter().filter(|name| !insists(self, name));
        let others: Vec<String> = others.cloned().collect();
        self.if_there.retain(|name| !insists(other, name));
        self.wanted.extend(&other.wanted);
        self.dropped.extend(other.dropped.iter().cloned());
        self.if_there.extend(others);
    }

    /// Lays this over a base.
    pub fn over(&self, mut base: Values) -> Values {
        for name in &self.dropped {
            base.remove(name);
        }
        base.extend(&self.wanted);
        base
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fragment_of_the_program_can_be_read_and_says_what_it_is_for() {
        for builtin in [WITH, WITHOUT, MODELS, TINY].into_iter().flatten() {
            let fragment = Fragment::parse(builtin.text).unwrap();
            assert!(fragment.about.len() > 10, "{}", builtin.name);
            assert!(!fragment.wanted.is_empty(), "{}", builtin.name);
            for name in &fragment.dropped {
                assert!(
                    !fragment.wanted.is_on(name),
                    "{} drops {name}",
                    builtin.name
                );
            }
        }
    }

    #[test]
    fn a_fragment_replaces_other_members_of_a_choice_without_asking_for_them() {
        let base = Values::parse("CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_HZ=250").unwrap();
        let rt = MODELS.iter().find(|m| m.name == "rt").unwrap().fragment();
        let over = rt.over(base);
        assert!(!over.mentions("PREEMPT_VOLUNTARY"));
        assert_eq!((over.value("PREEMPT_RT"), over.value("HZ")), ("y", "250"));
        assert!(!rt.wanted.mentions("PREEMPT_VOLUNTARY"));
    }

    #[test]
    fn a_later_fragment_goes_over_an_earlier_one() {
        let mut all = Fragment::parse("CONFIG_A=y\n").unwrap();
        all.add(&Fragment::parse("# drop: CONFIG_A\nCONFIG_B=n\n# if-there: B\n").unwrap());
        assert!(!all.wanted.mentions("A"));
        assert_eq!(all.wanted.value("B"), "n");
        assert_eq!(all.if_there, ["B"]);
        all.add(&Fragment::parse("CONFIG_A=y\n").unwrap());
        assert_eq!(all.if_there, ["B"]);
        all.add(&Fragment::parse("CONFIG_B=y\n").unwrap());
        assert_eq!(all.if_there, [""; 0]);
        all.add(&Fragment::parse("# if-there: B C\nCONFIG_B=y\nCONFIG_C=y\n").unwrap());
        assert_eq!(all.if_there, ["C"]);
    }
}
