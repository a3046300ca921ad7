// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The values of options: a `.config`, a fragment, the difference of two.
//!
//! Both have lines `CONFIG_NAME=value` and `# CONFIG_NAME is not set`; a fragment may also say `CONFIG_NAME=n`.
//! To Kconfig an option that is not set, one that is `n` and one that is not mentioned are the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// What an option is that is not set.
pub const OFF: &str = "n";

/// Options by name, without `CONFIG_`, with their values as they stand in the file: `y`, `m`, `n`, `1000`, `"text"`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Values(BTreeMap<String, String>);

/// Why a line is not one of a configuration.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("line {line}: `{text}` is neither `CONFIG_NAME=value` nor `# CONFIG_NAME is not set`")]
pub struct OddLine {
    /// Line, from 1.
    pub line: usize,
    /// What it says, at most 80 characters of it.
    pub text: String,
}

impl Values {
    /// Reads the lines of a configuration or fragment. The last line of an option counts, as for Kconfig.
    ///
    /// # Errors
    ///
    /// Fails on a line that is neither an option nor a comment.
    pub fn parse(text: &str) -> Result<Self, OddLine> {
        let mut values = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix('#') {
                let unset = rest
                    .trim()
                    .strip_prefix("CONFIG_")
                    .and_then(|rest| rest.strip_suffix(" is not set"));
                if let Some(name) = unset.filter(|name| is_name(name)) {
                    values.set(name, OFF);
                }
                continue;
            }
            if line.is_empty() {
                continue;
            }
            let option = line
                .strip_prefix("CONFIG_")
                .and_then(|rest| rest.split_once('='));
            match option.filter(|(name, value)| is_name(name) && !value.is_empty()) {
                Some((name, value)) => values.set(name, value),
                None => {
                    return Err(OddLine {
                        line: index + 1,
                        text: line.chars().filter(|c| !c.is_control()).take(80).collect(),
                    });
                }
            }
        }
        Ok(values)
    }

    /// Gives an option its value.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// Takes an option away, as if it had never been mentioned.
    pub fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns the value of an option; [`OFF`] where it is not mentioned.
    pub fn value(&self, name: &str) -> &str {
        self.0.get(name).map_or(OFF, String::as_str)
    }

    /// Whether the option stands here at all.
    pub fn mentions(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether an option is built in or a module.
    pub fn is_on(&self, name: &str) -> bool {
        matches!(self.value(name), "y" | "m")
    }

    /// Takes all of `other`, over what is here.
    pub fn extend(&mut self, other: &Self) {
        let others = other.iter().map(|(n, v)| (n.to_owned(), v.to_owned()));
        self.0.extend(others);
    }

    /// Iterates over names and values, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(n, v)| (n.as_str(), v.as_str()))
    }

    /// Returns how many options stand here.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes the lines as Kconfig reads them.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for (name, value) in self.iter() {
            // Writing to a string does not fail.
            let _ = if value == OFF {
                writeln!(text, "# CONFIG_{name} is not set")
            } else {
                writeln!(text, "CONFIG_{name}={value}")
            };
        }
        text
    }

    /// Returns the options whose values differ: name, here, there.
    pub fn difference<'a>(&'a self, other: &'a Self) -> Vec<(&'a str, &'a str, &'a str)> {
        let names = self.0.keys().chain(other.0.keys());
        let mut names: Vec<&str> = names.map(String::as_str).collect();
        names.sort_unstable();
        names.dedup();
        names
            .into_iter()
            .map(|name| (name, self.value(name), other.value(name)))
            .filter(|(_, here, there)| here != there)
            .collect()
    }
}

/// Whether this can be the name of an option.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_line_of_an_option_counts_and_comments_do_not() {
        let text = "# a remark\nCONFIG_HZ=250\n\nCONFIG_HZ=1000\n# CONFIG_SMP is not set\nCONFIG_CMDLINE=\"a=b\"\n";
        let values = Values::parse(text).unwrap();
        assert_eq!(values.value("HZ"), "1000");
        assert_eq!(values.value("SMP"), OFF);
        assert!(values.mentions("SMP") && !values.mentions("NUMA"));
        assert_eq!(values.value("CMDLINE"), "\"a=b\"");
    }

    #[test]
    fn an_odd_line_is_named() {
        for odd in [
            "HZ=1000",
            "CONFIG_HZ",
            "CONFIG_=y",
            "CONFIG_A B=y",
            "CONFIG_X=",
        ] {
            let text = format!("CONFIG_A=y\n{odd}\n");
            let err = Values::parse(&text).unwrap_err();
            assert_eq!((err.line, err.text.as_str()), (2, odd));
        }
    }

    #[test]
    fn off_not_set_and_not_mentioned_are_no_difference() {
        let a = Values::parse("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=n").unwrap();
        let b = Values::parse("CONFIG_A=m\nCONFIG_D=y").unwrap();
        assert_eq!(a.difference(&b), [("A", "y", "m"), ("D", "n", "y")]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(
            all in proptest::collection::btree_map("[A-Z0-9_]{1,12}", "y|m|n|[1-9][0-9]{0,4}|\"[a-z =#]{0,9}\"", 0..20)
        ) {
            let mut values = Values::default();
            for (name, value) in &all {
                values.set(name, value);
            }
            prop_assert_eq!(Values::parse(&values.to_text()).unwrap(), values);
        }
    }
}
