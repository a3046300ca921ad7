// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernel arguments: which a profile may ask for, how the boot loader gets them, and how they are
//! taken back.
//!
//! An existing entry is never changed where a new one can be made: the machine still boots as before.
//! The content of every file before and after is kept on disk before the first file is written, and a
//! file that someone changed since is left alone.

mod board;
mod change;
mod loader;
mod place;

use punctual_model::{ArgumentState, BOOT_PLAN_FORMAT, BootPlan, CpuSet, WantedArgument};
use punctual_sys::SysRoot;

use crate::knob::Survey;
use crate::machine::{Machine, Scope};
use crate::plan::{PlanError, PlanOptions, rt_cpus};
use crate::profile::{BootArgument, Profile, arguments};

pub use change::{BootChange, BootError, FileUndone, FilesUndone, applied, apply, revert};

pub(crate) use change::{conflicts, failed, inside, put, read_text, sync_above};
pub(crate) use place::{clear, make, temporary};

/// Returns what `profile` wants of the command line on the machine of `survey`, and how its boot
/// loader gets it.
///
/// # Errors
///
/// Fails when the CPUs for real-time work are unknown or unavailable.
pub fn plan(
    profile: &Profile,
    survey: &Survey,
    sys: &SysRoot,
    options: &PlanOptions,
) -> Result<BootPlan, PlanError> {
    let cpus_rt = rt_cpus(profile, survey, options, divides(profile))?;
    let cpus_housekeeping = survey.online.without(&cpus_rt);
    let machine = Machine::take(sys, &Scope::Judged(Some(CpuSet::default())));
    let given: Option<Vec<&str>> = survey.cmdline.as_deref().map(words);
    let arguments: Vec<WantedArgument> = profile
        .boot
        .iter()
        .map(|argument| {
            let word = word(argument, &cpus_rt, &cpus_housekeeping);
            let now = state(&word, given.as_deref());
            let implied = given
                .as_deref()
                .filter(|_| now == ArgumentState::Missing)
                .and_then(|given| arguments::implied(&word, &machine, given));
            WantedArgument {
                about: arguments::about(&argument.name).to_owned(),
                unheeded: match implied {
                    None => arguments::unheeded(&word, &machine),
                    Some(_) => None,
                },
                now: implied.map_or(now, |why| ArgumentState::Implied {
                    why: why.to_owned(),
                }),
                word,
            }
        })
        .collect();
    let mut plan = BootPlan {
        format: BOOT_PLAN_FORMAT.to_owned(),
        profile: profile.name.clone(),
        cpus_rt,
        cpus_housekeeping,
        arguments,
        loader: None,
        files: Vec::new(),
        next: Vec::new(),
        warnings: Vec::new(),
    };
    if !plan.arguments.is_empty() && !plan.is_given() {
        loader::fill(&mut plan, survey, sys);
    }
    Ok(plan)
}

/// Whether an argument depends on which CPUs are for real-time work.
fn divides(profile: &Profile) -> bool {
    let values = profile
        .boot
        .iter()
        .filter_map(|argument| argument.value.as_deref());
    values.into_iter().any(|value| value.contains('{'))
}

/// Writes an argument as it stands on the command line.
fn word(argument: &BootArgument, rt: &CpuSet, housekeeping: &CpuSet) -> String {
    match &argument.value {
        None => argument.name.clone(),
        Some(value) => {
            let value = value
                .replace("{rt}", &rt.to_string())
                .replace("{housekeeping}", &housekeeping.to_string());
            format!("{}={value}", argument.name)
        }
    }
}

/// Splits a command line into what the kernel takes: what follows `--` is init's.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let words = line.split_whitespace();
    words.take_while(|word| *word != "--").collect()
}

/// Returns the name of an argument; `-` and `_` are the same to the kernel.
pub(crate) fn name(word: &str) -> String {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    name.replace('-', "_")
}

/// Returns what follows the `=`.
fn value(word: &str) -> Option<&str> {
    word.split_once('=').map(|(_, value)| value)
}

/// Whether the CPUs of an argument are some of another one's.
fn within(word: &str, other: &str) -> bool {
    let cpus = |word| value(word)?.parse::<CpuSet>().ok();
    match (cpus(word), cpus(other)) {
        (Some(some), Some(all)) => !some.is_empty() && some.without(&all).is_empty(),
        _ => false,
    }
}

fn state(wanted: &str, given: Option<&[&str]>) -> ArgumentState {
    let Some(given) = given else {
        return ArgumentState::Unknown;
    };
    let own = name(wanted);
    // The last one wins.
    match given.iter().rfind(|word| name(word) == own) {
        None => ArgumentState::Missing,
        Some(word) if value(word) == value(wanted) => ArgumentState::Given,
        // Interrupts that are kept to fewer CPUs are kept from those for real-time work, too.
        Some(word) if own == "irqaffinity" && within(word, wanted) => ArgumentState::Given,
        Some(word) => ArgumentState::Other {
            word: (*word).to_owned(),
        },
    }
}

#[cfg(test)]
mod tests;
