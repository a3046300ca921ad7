// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What an assessment allows to be claimed, in words: the terminal and the page take them from here, so that they say the
//! same. An upper bound is rounded up and a lower one down, never to the nearest: that would claim too much.

use punctual_model::{Assessment, Condition, DeadlineVerdict, Ended, MissRate, RealTimeClass};
use punctual_stats::samples_for_bound;

use crate::number::{digits, lasting, span};

/// Confidence of claims about misses.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// What the classes are.
pub(crate) const CLASSES: &str =
    "100 %: none missed; 95 %: at most 5 % miss; soft: more, or too few wake-ups to say";

/// A rate that users like to ask for.
const ONE_IN_A_MILLION: f64 = 1e-6;

/// What the bounds and the classes are, behind the table of deadlines.
pub fn notes(assessment: &Assessment) -> [String; 2] {
    let bursts = match assessment.burst_ns {
        Some(burst) => format!(
            "Bursts count as fewer independent misses: once in {} of run time, if none lasts longer \
             (--burst).",
            span(burst)
        ),
        None => "Bursts count as fewer independent misses where misses were seen.".to_owned(),
    };
    [
        format!(
            "At most: upper bound of the share of wake-ups that miss under the worst condition, with \
             95 % confidence, rounded up. {bursts} If no miss was seen, only this upper bound is known."
        ),
        format!(
            "Classes after Bridgers 2015, by the worst condition: {CLASSES}. No measurement can certify a deadline as safe."
        ),
    ]
}

/// The misses of a deadline under a condition.
pub fn rate<'a>(deadline: &'a DeadlineVerdict, condition: &str) -> Option<&'a MissRate> {
    deadline.misses.iter().find(|m| m.condition == condition)
}

/// The share of wake-ups that miss a deadline at most, under the worst condition.
pub fn worst(deadline: &DeadlineVerdict) -> Option<f64> {
    let shares = deadline.misses.iter().map(|m| m.share_at_most);
    shares
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .reduce(f64::max)
}

/// Writes an upper bound, rounded up to two digits: `0.0031 %`. It is never 0, which no measurement shows.
pub fn at_most(share: f64) -> String {
    percents(share, |digits| digits.ceil().max(1.0))
}

/// Writes a lower bound, rounded down to two digits: `4.3 %`.
pub fn at_least(share: f64) -> String {
    if share < 1e-14 {
        return "0 %".to_owned();
    }
    // What lacks nothing but the error of a product is whole.
    percents(share, |digits| (digits * (1.0 + 1e-12)).floor())
}

/// Writes a share of which `round` leaves two digits.
fn percents(share: f64, round: impl Fn(f64) -> f64) -> String {
    let percents = share * 100.0;
    let decimals = (0..12)
        .find(|n| percents * 10_f64.powi(*n) >= 10.0)
        .unwrap_or(12);
    let scale = 10_f64.powi(decimals);
    let decimals = usize::try_from(decimals).unwrap_or(0);
    format!("{:.decimals$} %", round(percents * scale) / scale)
}

/// The name of a class.
pub const fn class(class: RealTimeClass) -> &'static str {
    match class {
        RealTimeClass::Soft => "soft",
        RealTimeClass::NinetyFivePercent => "95 %",
        RealTimeClass::HundredPercent => "100 %",
    }
}

/// The shortest deadline that no wake-up missed, with the share that may miss it.
pub fn kept(assessment: &Assessment) -> Option<(&DeadlineVerdict, f64)> {
    let kept = assessment
        .deadlines
        .iter()
        .find(|d| d.class == Some(RealTimeClass::HundredPercent))?;
    Some((kept, worst(kept)?))
}

/// The verdict: the shortest deadline that was always kept, else that none was.
pub fn verdict(assessment: &Assessment) -> String {
    if let Some(invalid) = invalid(assessment) {
        return format!("no verdict: {invalid}");
    }
    if let Some((kept, bound)) = kept(assessment) {
        return format!(
            "no wake-up missed {}; at most {} do, with 95 % confidence.",
            span(kept.deadline_ns),
            at_most(bound)
        );
    }
    let counted = assessment.deadlines.iter().rev();
    let mut counted = counted.filter_map(|d| Some((d, worst(d)?)));
    let Some((longest, bound)) = counted.next() else {
        return "no verdict: no misses were counted.".to_owned();
    };
    let missed = longest.misses.iter().map(seen).fold(0.0, f64::max);
    let shorter = match counted.next() {
        Some(_) => ", nor for a shorter deadline",
        None => "",
    };
    format!(
        "not OK for {}{shorter}; {} % of wake-ups missed it under the worst condition, at most {} \
         with 95 % confidence.",
        span(longest.deadline_ns),
        digits(100.0 * missed),
        at_most(bound)
    )
}

/// Says that the assessment was interrupted, and how much of it was done, if it was.
pub fn incomplete(assessment: &Assessment) -> Option<String> {
    let whole = |c: &&Condition| c.run.ended != Some(Ended::Interrupted);
    let whole = assessment.conditions.iter().filter(whole).count() as u64;
    let planned = assessment.planned?;
    (whole < planned)
        .then(|| format!("INCOMPLETE: interrupted after {whole} of {planned} conditions"))
}

/// Says which run spoils every claim, if one does.
fn invalid(assessment: &Assessment) -> Option<String> {
    if assessment.valid {
        return None;
    }
    let spoilt = |c: &&Condition| !c.run.is_valid();
    let names: Vec<&str> = assessment
        .conditions
        .iter()
        .filter(spoilt)
        .map(|c| c.name.as_str())
        .collect();
    Some(format!(
        "the {} {} INVALID.",
        names.join(" and "),
        match names.len() {
            1 => "run is",
            _ => "runs are",
        }
    ))
}

#[expect(clippy::cast_precision_loss, reason = "counts")]
fn seen(rate: &MissRate) -> f64 {
    rate.missed as f64 / rate.wakeups.max(1) as f64
}

/// What the wake-ups allow to be claimed, and what more would take.
pub fn claims(assessment: &Assessment) -> String {
    if let Some(invalid) = invalid(assessment) {
        return format!("none: {invalid}");
    }
    let Some((kept, bound)) = kept(assessment) else {
        return "none: every deadline in the table was missed.".to_owned();
    };
    let needed = samples_for_bound(ONE_IN_A_MILLION, CONFIDENCE);
    let (bursts, needed) = match (assessment.burst_ns, needed) {
        (Some(burst), Some(n)) => (
            format!(", if no burst of misses lasts longer than {}", span(burst)),
            format!(
                " To claim less than one in a million takes {} without a miss under each condition.",
                lasting(burst.times(n))
            ),
        ),
        (None, Some(n)) => (
            String::new(),
            format!(
                " To claim less than one in a million takes {n} independent wake-ups without a miss."
            ),
        ),
        (_, None) => (String::new(), String::new()),
    };
    format!(
        "at most {} of the wake-ups miss {}, one in {:.0}, with 95 % confidence{bursts}: under \
         these conditions, on this boot only.{needed}",
        at_most(bound),
        span(kept.deadline_ns),
        (1.0 / bound).floor(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upper_bound_is_never_written_as_less_than_it_is() {
        for (share, text) in [
            (0.000_031_01, "0.0032 %"),
            (0.0264, "2.7 %"),
            (0.026, "2.6 %"),
            (0.001, "0.10 %"),
            (0.2301, "24 %"),
            (1.0, "100 %"),
            (0.0, "0.000000000001 %"),
        ] {
            assert_eq!(at_most(share), text);
        }
        for n in 1..2_000_u32 {
            let share = 0.9 / f64::from(n).powf(1.7);
            let written: f64 = at_most(share).trim_end_matches(" %").parse().unwrap();
            assert!(
                written >= share * 100.0 * (1.0 - 1e-12),
                "{share}: {written}"
            );
        }
    }

    #[test]
    fn a_lower_bound_is_never_written_as_more_than_it_is() {
        for (share, text) in [
            (0.043_845, "4.3 %"),
            (0.000_031_99, "0.0031 %"),
            (0.026, "2.6 %"),
            (0.29, "29 %"),
            (0.001, "0.10 %"),
            (0.2399, "23 %"),
            (1.0, "100 %"),
            (0.0, "0 %"),
        ] {
            assert_eq!(at_least(share), text);
        }
        for n in 1..2_000_u32 {
            let share = 0.9 / f64::from(n).powf(1.7);
            let written = at_least(share);
            let written: f64 = written.trim_end_matches(" %").parse().unwrap();
            assert!(
                written <= share * 100.0 * (1.0 + 1e-12),
                "{share}: {written}"
            );
        }
    }
}
