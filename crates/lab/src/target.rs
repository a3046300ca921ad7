// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels as levels: which machine a cell is measured in, as far as an experiment has to know it.
//!
//! A target is `here`, the machine itself, or `guest:KERNEL[,OPTION...]`, which the program boots for each
//! run. In virtual time the same guest with the same seed is the same run again, and its repetition no
//! observation: so the seed is the number of the block. Real and virtual time have a unit in common and
//! nothing else, and are never in one experiment.

use punctual_model::split_options;

/// The option of `measure` that names a target.
pub(crate) const OPTION: &str = "target";

/// The level that is this machine.
pub(crate) const HERE: &str = "here";

/// What a guest's words begin with.
const GUEST: &str = "guest:";

/// What a target's times are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Time {
    /// A clock's.
    Real,
    /// Instruction counts.
    Virtual,
}

impl Time {
    /// Says it in words.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Real => "real time",
            Self::Virtual => "virtual time",
        }
    }
}

/// Returns what the times of a target are.
///
/// # Errors
///
/// Fails with what was expected for what is no target, and for a seed that would make every block a copy.
pub(crate) fn time_of(text: &str) -> Result<Time, String> {
    if text == HERE {
        return Ok(Time::Real);
    }
    let Some(rest) = text.strip_prefix(GUEST) else {
        return Err(format!(
            "expected `here` or guest:KERNEL[,OPTION...], found `{text}`"
        ));
    };
    let options = split_options(rest);
    if options.first().is_none_or(String::is_empty) {
        return Err("expected the path of a kernel after `guest:`".to_owned());
    }
    let copies = |option: &&String| option.starts_with("seed=") && !option.contains("{block}");
    match is_virtual(text) {
        false => Ok(Time::Real),
        true => match options.iter().skip(1).find(copies) {
            Some(seed) => Err(format!(
                "`{seed}` would make every block a copy of the first: leave it out; the block \
                 number is then the seed"
            )),
            None => Ok(Time::Virtual),
        },
    }
}

/// Whether a target's times are instruction counts.
pub(crate) fn is_virtual(text: &str) -> bool {
    let mut options = split_options(text).into_iter().skip(1);
    options.any(|option| option == "virtual-time")
}

/// Gives a guest in virtual time the number of the block as its seed.
pub(crate) fn seeded(text: &str) -> String {
    let mut options = split_options(text).into_iter().skip(1);
    match is_virtual(text) && !options.any(|option| option.starts_with("seed=")) {
        true => format!("{text},seed={{block}}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_in_virtual_time_gets_a_seed_a_block() {
        assert_eq!(
            seeded("guest:k,virtual-time,append=a,,seed=1"),
            "guest:k,virtual-time,append=a,,seed=1,seed={block}"
        );
        for same in ["guest:k", "guest:k,virtual-time,seed=9{block}", HERE] {
            assert_eq!(seeded(same), same);
        }
    }

    #[test]
    fn what_is_no_target_says_what_was_expected() {
        assert_eq!(time_of("guest:k,virtual-time"), Ok(Time::Virtual));
        assert_eq!(time_of("guest:k,append=x,,virtual-time"), Ok(Time::Real));
        assert_eq!(time_of(HERE), Ok(Time::Real));
        for (text, part) in [
            ("there", "expected `here` or guest:KERNEL"),
            ("guest:,virtual-time", "path of a kernel"),
            ("guest:k,virtual-time,seed=4", "a copy of the first"),
        ] {
            let err = time_of(text).unwrap_err();
            assert!(err.contains(part), "{err}");
        }
    }
}
