// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Words of records, and words about them.

use std::borrow::Cow;

use punctual_model::{
    Check, CheckStatus, ComparisonVerdict, RunRecord, TuningInEffect, WithheldReason,
};

/// Settings of a tuned machine that are named; more are counted.
const MOST_SETTINGS: usize = 8;

/// Makes text from a record harmless to a terminal: a run may come from elsewhere. Characters that
/// command it, or turn the direction of writing and so the order of a line, are replaced.
pub fn clean(text: &str) -> Cow<'_, str> {
    let harmful =
        |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if text.chars().any(harmful) {
        Cow::Owned(text.replace(harmful, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The text, beginning with a capital.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The ending of what there are `n` of.
pub const fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// Says how many there are: `1 run`, `12 runs`.
pub fn counted(n: u64, of: &str) -> String {
    format!("{n} {of}{}", if n == 1 { "" } else { "s" })
}

/// Says what had been changed of the machine.
pub fn tuned(tuning: &TuningInEffect) -> String {
    let mut parts = vec![format!(
        "profile {} ({})",
        clean(&tuning.profile),
        clean(&tuning.purpose)
    )];
    let settings: Vec<String> = tuning
        .settings
        .iter()
        .take(MOST_SETTINGS)
        .map(|s| format!("{} {} -> {}", clean(&s.knob), clean(&s.old), clean(&s.new)))
        .collect();
    parts.extend(settings);
    let more = tuning.settings.len().saturating_sub(MOST_SETTINGS);
    if more > 0 {
        parts.push(format!(
            "{more} more setting{}",
            if more == 1 { "" } else { "s" }
        ));
    }
    for held in &tuning.held {
        let bound = held.latency_ns.get() / 1_000;
        parts.push(format!("{} held at {bound} µs", clean(&held.knob)));
    }
    if tuning.threads_moved > 0 {
        parts.push(format!("{} threads moved", tuning.threads_moved));
    }
    if tuning.failed > 0 {
        parts.push(format!("{} unavailable", tuning.failed));
    }
    parts.join(", ")
}

/// A verdict in a word or three.
pub const fn verdict(verdict: ComparisonVerdict) -> &'static str {
    match verdict {
        ComparisonVerdict::Better => "better",
        ComparisonVerdict::Worse => "worse",
        ComparisonVerdict::Different => "different",
        ComparisonVerdict::Equivalent => "the same",
        ComparisonVerdict::NotWorse => "not worse",
        ComparisonVerdict::NotDistinguishable => "not distinguishable",
        ComparisonVerdict::TooFewRuns => "too few runs",
    }
}

/// What stands in the way of a verdict, in two words.
pub const fn obstacle(reason: WithheldReason) -> &'static str {
    match reason {
        WithheldReason::Lengths => "unequal lengths",
        WithheldReason::Spread => "unequal spread",
        WithheldReason::Resolution => "below the resolution",
        WithheldReason::Zeros => "a group with only zeros",
        WithheldReason::Uncounted => "not in all groups",
        WithheldReason::OnePlace => "nothing to compare with",
    }
}

/// Lists the checks that did not pass.
pub fn failed_checks(record: &RunRecord) -> String {
    let failed = record.checks.iter().filter(|c| !c.passed());
    failed.map(open_check).collect::<Vec<_>>().join("; ")
}

/// Says of a check that did not pass whether it failed or could not be made, and why.
pub fn open_check(check: &Check) -> String {
    let status = match check.status {
        CheckStatus::Unknown => "could not be checked",
        _ => "failed",
    };
    format!("{} {status}: {}", check.id, check.detail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\nc"), "a\u{fffd}[2Jb\u{fffd}c");
        assert_eq!(clean("µ"), "µ");
    }
}
