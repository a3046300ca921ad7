// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The answer in words: the same on a terminal, on a page, in Markdown and in JSON.

use punctual_model::{
    ComparedFigure, ComparedGroup, Comparison, ComparisonAnswer, ComparisonScale,
    ComparisonVerdict, Effect, figure_words,
};

use crate::number::{digits, percent, unit};
use crate::words::verdict;

/// Figures that are named in a sentence.
const NAMED: usize = 6;

/// What all figures of a group come to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overall {
    /// Some figures are better and some worse.
    Mixed,
    /// A figure is worse, and none better.
    Worse,
    /// A figure is better, and none worse.
    Better,
    /// A figure without a good direction differs.
    Different,
    /// Some figure has too few runs for a verdict.
    TooFewRuns,
    /// The runs give no grounds for a verdict on some figure.
    Withheld,
    /// A figure is the same within the margin asked for.
    Same,
    /// A figure is not worse by the margin asked for.
    NotWorse,
    /// No figure differs by what matters.
    NotDistinguishable,
    /// There is no figure to compare.
    Nothing,
}

impl Overall {
    /// Says it in a word or three.
    pub const fn word(self) -> &'static str {
        use ComparisonVerdict as V;
        match self {
            Self::Mixed => "mixed",
            Self::Worse => verdict(V::Worse),
            Self::Better => verdict(V::Better),
            Self::Different => verdict(V::Different),
            Self::TooFewRuns => verdict(V::TooFewRuns),
            Self::Withheld => "no verdict",
            Self::Same => verdict(V::Equivalent),
            Self::NotWorse => verdict(V::NotWorse),
            Self::NotDistinguishable => verdict(V::NotDistinguishable),
            Self::Nothing => "nothing to compare",
        }
    }

    /// What the results of one group come to.
    pub fn of(results: &[&ComparedFigure]) -> Self {
        use ComparisonVerdict as V;
        let has = |verdict| results.iter().any(|result| result.verdict == verdict);
        let withheld = || {
            let mut open = results.iter().filter(|r| r.verdict == V::TooFewRuns);
            open.all(|result| result.withheld.is_some())
        };
        match () {
            () if results.is_empty() => Self::Nothing,
            () if has(V::Worse) && has(V::Better) => Self::Mixed,
            () if has(V::Worse) => Self::Worse,
            () if has(V::Better) => Self::Better,
            () if has(V::Different) => Self::Different,
            () if has(V::TooFewRuns) && withheld() => Self::Withheld,
            () if has(V::TooFewRuns) => Self::TooFewRuns,
            () if has(V::Equivalent) => Self::Same,
            () if has(V::NotWorse) => Self::NotWorse,
            () => Self::NotDistinguishable,
        }
    }
}

/// Puts the answers in.
pub(super) fn answered(mut comparison: Comparison) -> Comparison {
    comparison.answers = answers(&comparison);
    comparison
}

/// What each group is, compared with the first.
pub fn answers(comparison: &Comparison) -> Vec<ComparisonAnswer> {
    let groups = comparison.groups.iter().skip(1);
    groups.map(|group| answer(comparison, group)).collect()
}

/// The results of a group.
pub fn results<'a>(comparison: &'a Comparison, group: &str) -> Vec<&'a ComparedFigure> {
    let results = comparison.results.iter();
    results
        .filter(|result| result.candidate.group == group)
        .collect()
}

/// The sentences of a group.
pub fn sentences_of(comparison: &Comparison, group: &str) -> Vec<String> {
    let group = comparison.groups.iter().find(|known| known.name == group);
    group.map_or_else(Vec::new, |group| {
        sentences(comparison, group, &results(comparison, &group.name))
    })
}

fn answer(comparison: &Comparison, group: &ComparedGroup) -> ComparisonAnswer {
    let results = results(comparison, &group.name);
    ComparisonAnswer {
        group: group.name.clone(),
        verdict: Overall::of(&results).word().to_owned(),
        sentences: sentences(comparison, group, &results),
    }
}

fn sentences(
    comparison: &Comparison,
    group: &ComparedGroup,
    results: &[&ComparedFigure],
) -> Vec<String> {
    use ComparisonVerdict as V;
    let (name, base) = (
        group.name.as_str(),
        comparison
            .groups
            .first()
            .map_or("", |group| group.name.as_str()),
    );
    let empty = |group: &&ComparedGroup| group.runs.is_empty() && group.published.is_none();
    let sides = comparison.groups.first().into_iter().chain([group]);
    let without: Vec<&str> = sides
        .filter(empty)
        .map(|group| group.name.as_str())
        .collect();
    if !without.is_empty() {
        return vec![format!(
            "Nothing was compared: {} no valid run.",
            match without.as_slice() {
                [one] => format!("{one} has"),
                _ => format!("{} have", without.join(" and ")),
            }
        )];
    }
    let with = |verdict| -> Vec<&ComparedFigure> {
        let of = results
            .iter()
            .filter(|r| r.verdict == verdict && r.withheld.is_none());
        of.copied().collect()
    };
    let method = &comparison.method;
    let mut said = Vec::new();
    for (verdict, lead) in [
        (V::Worse, format!("{name} is worse than {base}")),
        (V::Better, format!("{name} is better than {base}")),
        (V::Different, format!("{name} differs from {base}")),
    ] {
        let of = with(verdict);
        if !of.is_empty() {
            said.push(format!("{lead} in {}.", listed(&of, changed)));
        }
    }
    let plain = |result: &ComparedFigure| figure_words(&result.figure);
    for (verdict, lead) in [
        (
            V::Equivalent,
            format!(
                "{name} is the same as {base} within {}",
                percent(method.equivalence.unwrap_or(0.0))
            ),
        ),
        (
            V::NotWorse,
            format!(
                "{name} is not worse than {base} by {}",
                percent(method.not_worse.unwrap_or(0.0))
            ),
        ),
        (
            V::NotDistinguishable,
            format!("{name} and {base} are not distinguishable"),
        ),
    ] {
        let of = with(verdict);
        if !of.is_empty() {
            said.push(format!("{lead} in {}.", listed(&of, plain)));
        }
    }
    let few = with(V::TooFewRuns);
    if !few.is_empty() {
        let lead = match said.is_empty() {
            true => format!("Too few runs to tell {name} from {base}"),
            false => "Too few runs to tell".to_owned(),
        };
        let same = few.windows(2).all(|of| more(of[0]) == more(of[1]));
        let of = match few.first() {
            Some(first) if same => listed(&few, plain) + &in_parentheses(first),
            _ => listed(&few, missing),
        };
        said.push(format!("{lead} in {of}."));
    }
    // What is withheld for the same reason is one sentence.
    let mut reasons: Vec<(&str, Vec<&ComparedFigure>)> = Vec::new();
    for result in results {
        let Some(withheld) = &result.withheld else {
            continue;
        };
        match reasons
            .iter_mut()
            .find(|(known, _)| *known == withheld.detail)
        {
            Some((_, of)) => of.push(result),
            None => reasons.push((&withheld.detail, vec![result])),
        }
    }
    for (reason, of) in reasons {
        said.push(format!("No verdict on {}: {reason}.", listed(&of, plain)));
    }
    if said.is_empty() {
        said.push("No figure could be compared.".to_owned());
    }
    said
}

/// `p50, p99 and 3 more`.
fn listed(results: &[&ComparedFigure], shown: impl Fn(&ComparedFigure) -> String) -> String {
    let named: Vec<String> = results
        .iter()
        .take(NAMED)
        .map(|result| shown(result))
        .collect();
    match results.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `p99 (x1.2, 1.18 .. 1.22)`.
fn changed(result: &ComparedFigure) -> String {
    let (unit, scale) = unit(&result.unit);
    let effect = |effect: Effect, before: &str, scale: f64, after: &str| {
        let ends = effect.interval.map_or_else(String::new, |ends| {
            format!(
                ", {} .. {}",
                digits(ends.low / scale),
                digits(ends.high / scale)
            )
        });
        format!(
            " ({before}{}{after}{ends})",
            digits(effect.estimate / scale)
        )
    };
    let said = match (result.scale, result.ratio, result.difference) {
        (ComparisonScale::Linear, _, Some(difference)) => {
            let sign = if difference.estimate > 0.0 { "+" } else { "" };
            effect(difference, sign, scale, format!(" {unit}").trim_end())
        }
        (_, Some(ratio), _) => effect(ratio, "x", 1.0, ""),
        _ => String::new(),
    };
    format!("{}{said}", figure_words(&result.figure))
}

/// `max (4 more a side)`.
fn missing(result: &ComparedFigure) -> String {
    figure_words(&result.figure) + &in_parentheses(result)
}

/// ` (4 more a side)`, or nothing where that is not known.
fn in_parentheses(result: &ComparedFigure) -> String {
    more(result).map_or_else(String::new, |more| format!(" ({more})"))
}

/// Returns how many runs would decide it, where that is known: `4 more a side`, `1 more block`.
pub fn more(result: &ComparedFigure) -> Option<String> {
    let more = result.more_runs?;
    let of = match (result.pairs, more) {
        (None, _) => "a side",
        (Some(_), 1) => "block",
        (Some(_), _) => "blocks",
    };
    Some(format!("{more} more {of}"))
}
