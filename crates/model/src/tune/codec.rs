// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How values are read, compared and written.
//!
//! A knob reads differently from how it is written: `always [madvise] never`, masks with leading
//! zeros and commas, tabs between numbers, `Y` for 1. Each value has one canonical form, which
//! profiles use, journals keep and comparisons rest on; a codec leads there and back.

use serde::{Deserialize, Serialize};

use crate::cpu::{CPU_LIMIT, CpuSet};
use crate::policy::Policy;

/// The form of a knob's values.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Codec {
    /// One whole number, of any sign.
    Integer,
    /// Numbers with blanks between them, as in `kernel.printk`.
    Integers,
    /// 0 or 1, which some files read as N or Y.
    Flag,
    /// 0 or 1 of what is on when the file says 0, as `no_turbo` does.
    InvertedFlag,
    /// A word.
    Word,
    /// One of the words that the file lists, the one in brackets or parentheses.
    Choice,
    /// CPUs in a file that holds a hexadecimal mask.
    Mask,
    /// CPUs in a file that holds a list.
    List,
    /// Microseconds, or `n/a` for "no latency at all".
    ResumeLatency,
    /// A scheduling policy.
    Policy,
    /// `present` or `absent`.
    Presence,
}

/// A value that is not of its codec's form.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("`{value}` is not {expected}")]
pub struct CodecError {
    value: String,
    /// What was expected, such as `a whole number`.
    pub expected: &'static str,
}

impl Codec {
    /// Turns what the kernel shows, or what a profile says, into the canonical form.
    ///
    /// # Errors
    ///
    /// Fails on a value of another form.
    pub fn canonical(self, raw: &str) -> Result<String, CodecError> {
        let text = raw.trim();
        let fail = || CodecError {
            value: text.to_owned(),
            expected: self.expected(),
        };
        match self {
            Self::Integer => integer(text).ok_or_else(fail),
            Self::Integers => {
                let numbers: Option<Vec<String>> = text.split_whitespace().map(integer).collect();
                let numbers = numbers.filter(|numbers| !numbers.is_empty());
                Ok(numbers.ok_or_else(fail)?.join(" "))
            }
            Self::Flag => flag(text).map(|on| digit(on).to_owned()).ok_or_else(fail),
            Self::InvertedFlag => flag(text).map(|on| digit(!on).to_owned()).ok_or_else(fail),
            Self::Word => match text {
                "" => Err(fail()),
                word => Ok(word.to_owned()),
            },
            Self::Choice => match words(text) {
                Words::Chosen { active, .. } => Ok(active.to_owned()),
                Words::Plain(word) => Ok(word.to_owned()),
                Words::None => Err(fail()),
            },
            Self::Mask => parse_mask(text).map(|set| set.to_string()).ok_or_else(fail),
            Self::List => {
                let set: CpuSet = text.parse().map_err(|_| fail())?;
                Ok(set.to_string())
            }
            Self::ResumeLatency if text == "n/a" => Ok(text.to_owned()),
            Self::ResumeLatency => integer(text)
                .filter(|n| !n.starts_with('-'))
                .ok_or_else(fail),
            Self::Policy => {
                let policy: Policy = text.parse().map_err(|_| fail())?;
                Ok(policy.to_string())
            }
            Self::Presence => match text {
                "present" | "absent" => Ok(text.to_owned()),
                _ => Err(fail()),
            },
        }
    }

    /// Turns what a profile says into the canonical form.
    ///
    /// # Errors
    ///
    /// Fails on a value of another form.
    pub fn wanted(self, text: &str) -> Result<String, CodecError> {
        match self {
            // A profile says what shall be on; only the file says the opposite.
            Self::InvertedFlag => Self::Flag.canonical(text),
            Self::Mask => Self::List.canonical(text),
            Self::Choice => Self::Word.canonical(text),
            other => other.canonical(text),
        }
    }

    /// Turns the canonical form into what is written.
    pub fn written(self, canonical: &str) -> String {
        match self {
            Self::Mask => canonical
                .parse()
                .map_or_else(|_| canonical.to_owned(), |set| format_mask(&set)),
            Self::InvertedFlag => match canonical {
                "0" => "1".to_owned(),
                _ => "0".to_owned(),
            },
            // A write of no bytes does nothing: an empty list needs its newline.
            Self::List if canonical.is_empty() => "\n".to_owned(),
            _ => canonical.to_owned(),
        }
    }

    /// Returns the words that the file offers, if it lists them.
    pub fn choices(self, raw: &str) -> Option<Vec<String>> {
        match (self, words(raw.trim())) {
            (Self::Choice, Words::Chosen { all, .. }) => {
                Some(all.into_iter().map(str::to_owned).collect())
            }
            _ => None,
        }
    }

    /// Says what a value must be.
    pub const fn expected(self) -> &'static str {
        match self {
            Self::Integer => "a whole number",
            Self::Integers => "whole numbers",
            Self::Flag | Self::InvertedFlag => "on or off (or 1 or 0)",
            Self::Word | Self::Choice => "a word",
            Self::Mask => "a mask of CPUs",
            Self::List => "a list of CPUs, such as 0-3,5",
            Self::ResumeLatency => "a whole number of microseconds, or n/a for no latency at all",
            Self::Policy => "a policy: f:PRIO, r:PRIO or o",
            Self::Presence => "present or absent",
        }
    }
}

/// The words of a file.
#[derive(Debug, Eq, PartialEq)]
enum Words<'a> {
    /// Several, one of which is marked.
    Chosen { active: &'a str, all: Vec<&'a str> },
    /// One.
    Plain(&'a str),
    /// None, or several without a mark.
    None,
}

/// Takes `always [madvise] never` or `none (voluntary) full` apart.
fn words(text: &str) -> Words<'_> {
    fn unmarked(word: &str) -> Option<&str> {
        let inner = |open, close| word.strip_prefix(open)?.strip_suffix(close);
        inner('[', ']').or_else(|| inner('(', ')'))
    }
    let active = text.split_whitespace().find_map(unmarked);
    if let Some(active) = active {
        let all = text.split_whitespace();
        return Words::Chosen {
            active,
            all: all.map(|word| unmarked(word).unwrap_or(word)).collect(),
        };
    }
    let mut all = text.split_whitespace();
    match (all.next(), all.next()) {
        (Some(only), None) => Words::Plain(only),
        _ => Words::None,
    }
}

/// Whether two sets of CPUs are the same as far as `online` CPUs go: what a thread may do with a
/// CPU that is not there is no difference.
pub fn masks_agree(a: &str, b: &str, online: &CpuSet) -> bool {
    let set = |text: &str| text.parse::<CpuSet>().ok();
    match (set(a), set(b)) {
        (Some(a), Some(b)) => a.common(online) == b.common(online),
        _ => a == b,
    }
}

/// Reads a number. 128 bits hold what the kernel prints of signed and unsigned 64.
fn integer(text: &str) -> Option<String> {
    let number: i128 = text.parse().ok()?;
    Some(number.to_string())
}

fn flag(text: &str) -> Option<bool> {
    match text {
        "1" | "Y" | "y" | "on" | "true" => Some(true),
        "0" | "N" | "n" | "off" | "false" => Some(false),
        _ => None,
    }
}

const fn digit(on: bool) -> &'static str {
    if on { "1" } else { "0" }
}

/// Reads `00000000,0000000f`: groups of 32 bits, the highest first, any number of leading zeros.
fn parse_mask(text: &str) -> Option<CpuSet> {
    let mut cpus = Vec::new();
    if text.is_empty() {
        return None;
    }
    for (group, digits) in (0_u32..).zip(text.rsplit(',')) {
        let digits = digits.trim();
        let bits = u32::from_str_radix(digits, 16)
            .ok()
            .filter(|_| !digits.starts_with('+'))?;
        cpus.extend(
            (0..32)
                .filter(|bit| bits & (1 << bit) != 0)
                .map(|bit| group * 32 + bit),
        );
    }
    cpus.iter()
        .all(|cpu| *cpu < CPU_LIMIT)
        .then(|| cpus.into_iter().collect())
}

/// Writes a mask in groups of 32 bits, as the kernel reads it.
fn format_mask(set: &CpuSet) -> String {
    let groups = set.iter().max().map_or(1, |cpu| cpu / 32 + 1);
    let mut bits = vec![0_u32; groups as usize];
    for cpu in set.iter() {
        if let Some(group) = bits.get_mut((cpu / 32) as usize) {
            *group |= 1 << (cpu % 32);
        }
    }
    let mut rest = bits.iter().rev();
    let first = rest
        .next()
        .map_or_else(String::new, |group| format!("{group:x}"));
    rest.fold(first, |text, group| format!("{text},{group:08x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(codec: Codec, raw: &str) -> String {
        codec.canonical(raw).unwrap()
    }

    #[test]
    fn what_the_kernel_shows_has_one_canonical_form() {
        for (codec, raw, form) in [
            (Codec::Integer, "-1\n", "-1"),
            (Codec::Integer, "007", "7"),
            (
                Codec::Integer,
                "18446744073709551615",
                "18446744073709551615",
            ),
            (Codec::Integers, "4\t4\t1\t7\n", "4 4 1 7"),
            (Codec::Flag, "Y", "1"),
            (Codec::InvertedFlag, "0\n", "1"),
            (Codec::Choice, "always [madvise] never\n", "madvise"),
            (Codec::Choice, "none (voluntary) full", "voluntary"),
            (Codec::Choice, "none", "none"),
            (Codec::Mask, "00000000,0000000f", "0-3"),
            (Codec::Mask, "1,00000000", "32"),
            (Codec::Mask, "0", ""),
            (Codec::List, "0-3,5\n", "0-3,5"),
            (Codec::List, "\n", ""),
            (Codec::ResumeLatency, "n/a", "n/a"),
            (Codec::Policy, "f:50", "f:50"),
        ] {
            assert_eq!(canonical(codec, raw), form, "{codec:?} {raw:?}");
        }
    }

    #[test]
    fn values_of_another_form_are_refused() {
        for (codec, raw) in [
            (Codec::Integer, ""),
            (Codec::Integer, "1 2"),
            (Codec::Integers, ""),
            (Codec::Flag, "2"),
            (Codec::Choice, "always madvise"),
            (Codec::Mask, "0-3"),
            (Codec::Mask, "f,"),
            (Codec::Mask, "+f"),
            (Codec::List, "3-1"),
            (Codec::ResumeLatency, "-1"),
            (Codec::Policy, "x"),
            (Codec::Presence, "maybe"),
        ] {
            let err = codec.canonical(raw).unwrap_err().to_string();
            assert!(err.contains(codec.expected()), "{codec:?} {raw:?}: {err}");
        }
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for (codec, form, written) in [
            (Codec::Mask, "0-3", "f"),
            (Codec::Mask, "", "0"),
            (Codec::Mask, "0,33,64", "1,00000002,00000001"),
            (Codec::List, "", "\n"),
            (Codec::List, "1-3", "1-3"),
            (Codec::InvertedFlag, "1", "0"),
            (Codec::Flag, "1", "1"),
            (Codec::Integer, "-1", "-1"),
        ] {
            assert_eq!(codec.written(form), written, "{codec:?} {form:?}");
            assert_eq!(canonical(codec, written), form, "{codec:?} {form:?}");
        }
    }

    #[test]
    fn a_profile_says_turbo_on_and_the_file_no_turbo_0() {
        assert_eq!(Codec::InvertedFlag.wanted("on").unwrap(), "1");
        assert_eq!(Codec::InvertedFlag.written("1"), "0");
        assert_eq!(Codec::Mask.wanted("0-3").unwrap(), "0-3");
        assert!(Codec::Choice.wanted("").is_err());
    }

    #[test]
    fn offered_words_lose_their_brackets() {
        let offered = Codec::Choice.choices("none [mq-deadline] kyber\n").unwrap();
        assert_eq!(offered, ["none", "mq-deadline", "kyber"]);
        assert_eq!(Codec::Choice.choices("none"), None);
        assert_eq!(Codec::Word.choices("[a] b"), None);
    }

    #[test]
    fn cpus_that_are_not_there_make_no_difference() {
        let online: CpuSet = "0-7".parse().unwrap();
        assert!(masks_agree("0-255", "0-7", &online));
        assert!(!masks_agree("0-6", "0-7", &online));
    }
}
