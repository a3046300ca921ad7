// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What samples allow to be said of a requirement, as text.

use punctual_model::{Comparison, RequirementResult, RequirementRuling};

use super::layout::{clean, paragraph};
use super::number::percent;
use super::words::plural;
use crate::times::Times;

pub(super) fn requirements(comparison: &Comparison) -> Option<String> {
    if comparison.requirements.is_empty() {
        return None;
    }
    let texts = comparison
        .requirements
        .iter()
        .map(|of| requirement(&of.result, Some(&of.group), Times::of(comparison)));
    Some(texts.collect())
}

/// Says what samples allow to be said of a requirement, of a group where it has a name.
pub(crate) fn requirement(result: &RequirementResult, group: Option<&str>, times: Times) -> String {
    let ruling = match result.ruling {
        RequirementRuling::Pass => "PASS",
        RequirementRuling::Fail => "FAIL",
        RequirementRuling::Unclaimed => "CANNOT BE CLAIMED",
    };
    let of = group.map_or_else(String::new, |group| format!(" of {}", clean(group)));
    let asked = times.verdict(format!("{}{of}", clean(&result.requirement)));
    let mut parts = vec![format!("{ruling}: {asked}")];
    parts.push(counts(result));
    if let (Some(most), Some(least)) = (result.share_at_most, result.share_at_least) {
        let bounds = match least > 0.0 {
            true => format!("between {} and {}", tiny(least), tiny(most)),
            false => format!("at most {}", tiny(most)),
        };
        parts.push(format!(
            "with {} confidence {bounds} are, allowed is {}",
            percent(result.confidence),
            tiny(result.share_allowed)
        ));
    }
    if let Some(obstacle) = &result.obstacle {
        parts.push(format!(
            "nothing can be claimed because {}",
            clean(obstacle)
        ));
    }
    if let Some(samples) = result.samples_to_pass {
        parts.push(format!(
            "{samples} samples like these would show that it is met"
        ));
    }
    if let Some(samples) = result.samples_to_fail {
        parts.push(format!(
            "{samples} samples like these would show that it is not met"
        ));
    }
    let scope = match (result.ruling, result.runs) {
        (RequirementRuling::Pass, 1) => {
            ". That is a claim about this run's boot and conditions, no more"
        }
        (RequirementRuling::Pass, _) => {
            ". That is a claim about boots and conditions like those of these runs"
        }
        _ => "",
    };
    paragraph("Required", &(parts.join("; ") + scope))
}

/// What was seen of a requirement.
fn counts(result: &RequirementResult) -> String {
    let were = if result.above == 1 { "was" } else { "were" };
    let of = plural(usize::from(result.samples != 1) + 1);
    let later = format!(
        "{} of {} sample{of} {were} later",
        result.above, result.samples
    );
    let source = match result.exact {
        true => "",
        false => " (from a histogram, the bucket of the limit included)",
    };
    let runs = match result.runs {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    };
    let worth = match result.effective {
        Some(effective) if effective < result.samples => {
            let one = plural(usize::from(effective != 1) + 1);
            format!(", worth {effective} independent one{one}")
        }
        _ => String::new(),
    };
    format!("{later}{source}, in {runs}{worth}")
}

/// Writes a share with two digits, rounded up where it is none.
fn tiny(share: f64) -> String {
    let percents = share * 100.0;
    let decimals = (0..14)
        .find(|n| percents * 10_f64.powi(*n) >= 10.0)
        .unwrap_or(14);
    let text = format!("{percents:.*}", usize::try_from(decimals).unwrap_or(0));
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} %")
}
