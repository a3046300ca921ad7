// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What samples allow to be said of a requirement: the answer, what it is about, what was seen, and on
//! what it rests. The terminal and the page say it in these words.

use punctual_model::{RequirementBasis, RequirementResult, RequirementRuling};
use punctual_verdict::claims::{at_least, at_most};

use super::facts::plural;
use crate::clock_or_count::Times;
use crate::number::{lasted, lasting, percent, span, tiny};

/// Says what samples allow to be said of a requirement, of a group where it has a name.
pub(crate) fn requirement(result: &RequirementResult, group: Option<&str>, times: Times) -> String {
    let ruling = match result.ruling {
        RequirementRuling::Pass => "PASS",
        RequirementRuling::Fail => "FAIL",
        RequirementRuling::Unclaimed => "CANNOT BE CLAIMED",
    };
    let of = group.map_or_else(String::new, |group| format!(" of {group}"));
    let asked = times.verdict(format!("{}{of}", &result.requirement));
    let scope = match (result.ruling, result.rests_on, result.runs) {
        (RequirementRuling::Pass, Some(RequirementBasis::Runs), _) => {
            ", for all runs like these".to_owned()
        }
        (RequirementRuling::Pass, _, 1) => ", for this run".to_owned(),
        (RequirementRuling::Pass, _, runs) => format!(", for these {runs} runs"),
        _ => String::new(),
    };
    let mut sentences = vec![format!("{ruling}: {asked}{scope}")];
    if let Some(obstacle) = &result.obstacle {
        sentences.push(format!("Nothing can be claimed: {}", obstacle));
    }
    sentences.extend(bounds(result));
    if result.samples > 0 {
        sentences.push(counts(result));
    }
    sentences.extend(to_decide(result));
    sentences.extend(worth(result));
    sentences.extend(further_runs(result));
    sentences.join(". ") + "."
}

/// How large the share is, and may be.
fn bounds(result: &RequirementResult) -> Option<String> {
    let (most, least) = (result.share_at_most?, result.share_at_least?);
    let most = match result.rests_on {
        Some(RequirementBasis::Runs) => result.runs_over_at_most.unwrap_or(most),
        _ => most,
    };
    // Two bounds, and no interval: each is wrong with all of the probability that is left.
    let (found, each) = match (result.ruling, least > 0.0) {
        (RequirementRuling::Fail, true) => (format!("At least {}", at_least(least)), ""),
        (RequirementRuling::Fail, false) => return None,
        (_, true) => {
            let both = format!("At least {} and at most {}", at_least(least), at_most(most));
            (both, "each with ")
        }
        (_, false) => (format!("At most {}", at_most(most)), ""),
    };
    Some(format!(
        "{found} of samples are later ({each}{} confidence); {} may be",
        percent(result.confidence),
        tiny(result.share_allowed)
    ))
}

/// What was seen.
fn counts(result: &RequirementResult) -> String {
    let of = plural(usize::from(result.samples != 1) + 1);
    let later = match result.above {
        0 => format!("None of {} sample{of} was later", result.samples),
        1 => format!("1 of {} sample{of} was later", result.samples),
        n => format!("{n} of {} sample{of} were later", result.samples),
    };
    let source = match result.exact {
        true => "",
        false => " (by a histogram, the bucket of the limit included)",
    };
    let (runs, all) = match result.runs {
        1 => ("1 run".to_owned(), ""),
        n => (format!("{n} runs"), " in all"),
    };
    let time = result
        .run_time_ns
        .map_or_else(String::new, |time| format!(" of {}{all}", lasted(time)));
    format!("{later}{source}, in {runs}{time}")
}

/// How long to measure.
fn to_decide(result: &RequirementResult) -> Option<String> {
    let like = match result.above {
        0 => " without a miss",
        _ => " like this",
    };
    let said = [
        (
            result.time_to_pass_ns,
            result.samples_to_pass,
            "shows that it is met",
        ),
        (
            result.time_to_fail_ns,
            result.samples_to_fail,
            "shows that it is not met",
        ),
    ];
    said.into_iter().find_map(|(time, samples, shows)| {
        let samples = samples?;
        Some(match time {
            Some(time) => format!("Measuring {} in all{like} {shows}", lasting(time)),
            None => format!("Measuring {samples} samples in all{like} {shows}"),
        })
    })
}

/// What the samples count as, and why that may be said.
fn worth(result: &RequirementResult) -> Option<String> {
    let effective = result.effective?;
    if result.rests_on == Some(RequirementBasis::Runs) {
        return Some("Each run counts once, whatever bursts do".to_owned());
    }
    let trials = format!(
        "{effective} independent trial{}",
        plural(usize::from(effective != 1) + 1)
    );
    let Some(burst) = result.burst_ns else {
        return Some(format!(
            "They count as {trials}, by a program that expected no bursts"
        ));
    };
    let seen = result.dependence_ns.map_or_else(String::new, |seen| {
        format!("; samples were seen to come together for {}", lasting(seen))
    });
    let assumed = result
        .assumed
        .as_ref()
        .map_or_else(String::new, |assumed| format!("; {}", assumed));
    Some(format!(
        "They count as {trials}, if no burst of misses lasts longer than {} (--burst){seen}{assumed}",
        span(burst)
    ))
}

/// What it says of runs that were not made.
fn further_runs(result: &RequirementResult) -> Option<String> {
    if result.rests_on == Some(RequirementBasis::Runs) || result.obstacle.is_some() {
        return None;
    }
    let passed = result.ruling == RequirementRuling::Pass;
    let Some(most) = result.runs_over_at_most.filter(|most| *most < 1.0) else {
        return passed.then(|| "Another boot or other conditions may differ".to_owned());
    };
    let over = match result.runs_over? {
        0 => format!("none of these {} does", result.runs),
        1 => format!("1 of these {} does", result.runs),
        n => format!("{n} of these {} do", result.runs),
    };
    Some(format!(
        "Of further runs like these up to {} may exceed it: {over}",
        at_most(most)
    ))
}
