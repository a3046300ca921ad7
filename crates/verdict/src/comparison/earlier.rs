// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Groups of one or two runs, compared with what earlier runs show of how much runs vary: a commit is seldom measured
//! more often than once.

use punctual_model::{
    ComparedFigure, ComparisonScale, ComparisonVerdict, Effect, Finding, History, HistorySeries,
    WithheldReason,
};
use punctual_stats::runs::{
    ByEarlier, Options, Pilot, Spread, by_earlier, detectable, runs_to_detect,
};
use punctual_stats::{float, holm};

use super::published::by_p;
use super::{
    CompareError, ComparisonRequest, GroupInput, grounds, interval, meaning, remarks::facts,
};
use crate::history::{HistoryRequest, history};
use crate::number::percent;
use crate::words::plural;

/// Changes that earlier runs had between them are taken out of their spread; this is the level of looking for them.
const LEVEL: f64 = 0.05;

/// Earlier runs without which their spread says too little, in degrees of freedom.
const LEAST: f64 = 4.0;

/// The remark that earlier runs cannot be read.
pub const EARLIER_UNREADABLE: &str = "earlier-unreadable";

/// Judges every figure anew by the spread of `earlier` runs, and says what that rests on.
///
/// # Errors
///
/// [`CompareError::Earlier`] where the earlier runs are of several series, or of another one than the groups.
pub(super) fn judge(
    results: &mut [ComparedFigure],
    groups: &[GroupInput],
    earlier: &GroupInput,
    asked: &ComparisonRequest,
) -> Result<Vec<Finding>, CompareError> {
    one_series(groups, earlier)?;
    let request = HistoryRequest {
        metrics: asked.metrics.clone(),
        options: punctual_stats::history::Options {
            level: LEVEL,
            seed: asked.options.seed,
            ..punctual_stats::history::Options::default()
        },
        ..HistoryRequest::default()
    };
    // Copies would show no spread at all.
    let mut observed = earlier.clone();
    meaning::without_copies(&mut observed);
    let past = history(observed, &request)?;
    let tests: Vec<Option<(Spread, ByEarlier)>> = results
        .iter()
        .map(|result| test(result, &past, asked.options.confidence))
        .collect();
    let p: Vec<Option<f64>> = tests.iter().map(|test| Some(test.as_ref()?.1.p)).collect();
    let asked_of = p.iter().flatten().count();
    for ((result, test), adjusted) in results.iter_mut().zip(&tests).zip(holm(&p)) {
        rejudge(result, *test, adjusted, asked_of, &asked.options);
        let candidate = groups
            .iter()
            .find(|group| group.name == result.candidate.group);
        if let (Ok(metric), [baseline, ..], Some(candidate)) =
            (result.figure.parse(), groups, candidate)
        {
            let sides = [baseline, candidate];
            grounds::judge_by_earlier(&metric, sides, earlier, &asked.options, result);
        }
    }
    Ok(remarks(&past, results))
}

/// Requires that all runs would be one series of a history.
fn one_series(groups: &[GroupInput], earlier: &GroupInput) -> Result<(), CompareError> {
    let mut runs = earlier.runs.iter();
    let Some(first) = runs.next() else {
        return Err(CompareError::Earlier {
            reason: "none of them can be used".to_owned(),
        });
    };
    let series = facts::of_one_series(&first.record);
    for run in runs.chain(groups.iter().flat_map(|group| &group.runs)) {
        let other = facts::of_one_series(&run.record);
        let differs = series
            .iter()
            .find(|fact| !other.contains(fact))
            .or_else(|| other.iter().find(|fact| !series.contains(fact)));
        if let Some((fact, _)) = differs {
            return Err(CompareError::Earlier {
                reason: format!(
                    "run {} and run {} differ in {fact}",
                    first.record.id, run.record.id
                ),
            });
        }
    }
    Ok(())
}

/// The difference of the two sides on the scale of the comparison.
fn difference(result: &ComparedFigure) -> Option<f64> {
    let (base, candidate) = (result.baseline.estimate?, result.candidate.estimate?);
    match result.scale {
        ComparisonScale::Linear => Some(candidate - base),
        ComparisonScale::Log => (base > 0.0 && candidate > 0.0).then(|| (candidate / base).ln()),
    }
}

fn series_of<'a>(past: &'a History, result: &ComparedFigure) -> Option<&'a HistorySeries> {
    let mut series = past.lines.iter().flat_map(|line| &line.series);
    series.find(|series| series.figure == result.figure && series.scale == result.scale)
}

fn test(result: &ComparedFigure, past: &History, confidence: f64) -> Option<(Spread, ByEarlier)> {
    let series = series_of(past, result)?;
    let spread = Spread {
        deviation: match result.scale {
            ComparisonScale::Log => series.deviation?.ln_1p(),
            ComparisonScale::Linear => series.deviation?,
        },
        freedom: series.freedom.filter(|freedom| *freedom >= LEAST)?,
    };
    let runs = [result.baseline.runs, result.candidate.runs];
    let test = by_earlier(difference(result)?, runs, spread, confidence)?;
    Some((spread, test))
}

/// The smallest change that matters, on the scale of the comparison. `None` where a baseline of 0 has no size.
fn matters(scale: ComparisonScale, base: f64, options: &Options) -> Option<f64> {
    let sized = base > 0.0;
    match (scale, options.difference) {
        (ComparisonScale::Log, None) => Some(options.effect.ln_1p()),
        (ComparisonScale::Log, Some(difference)) => sized.then(|| (difference / base).ln_1p()),
        (ComparisonScale::Linear, None) => sized.then_some(options.effect * base),
        (ComparisonScale::Linear, Some(difference)) => Some(difference),
    }
}

fn rejudge(
    result: &mut ComparedFigure,
    test: Option<(Spread, ByEarlier)>,
    adjusted: Option<f64>,
    asked: usize,
    options: &Options,
) {
    (result.smallest_p, result.arrangements, result.exact) = (None, None, None);
    (result.pairs, result.equivalence_p) = (None, None);
    (result.p, result.adjusted_p) = (test.map(|(_, test)| test.p), adjusted);
    result.interval_method = test.map(|_| "earlier".to_owned());
    result.interval_level = None;
    // What runs vary by is known now; runs of unequal length are so still.
    if result
        .withheld
        .as_ref()
        .is_some_and(|of| of.reason == WithheldReason::Spread)
    {
        result.withheld = None;
    }
    let Some((spread, test)) = test else {
        (result.ratio, result.difference) = (None, None);
        (result.verdict, result.more_runs) = (ComparisonVerdict::TooFewRuns, None);
        result.smallest_detectable = None;
        return;
    };
    let level = options.alpha / float(asked.max(1) as u64);
    let base = result.baseline.estimate.unwrap_or(0.0);
    let smallest = detectable(test.error, spread.freedom, level, options.power);
    let ends = interval(test.interval);
    let up = difference(result).unwrap_or(0.0);
    let wanted = matters(result.scale, base, options);
    match result.scale {
        ComparisonScale::Log => {
            result.ratio = Some(Effect {
                estimate: up.exp(),
                interval: Some(punctual_model::Interval {
                    low: ends.low.exp(),
                    high: ends.high.exp(),
                    ..ends
                }),
            });
            result.difference = Some(Effect {
                estimate: base * up.exp_m1(),
                interval: None,
            });
            result.smallest_detectable = smallest.map(f64::exp_m1);
        }
        ComparisonScale::Linear => {
            result.ratio = None;
            result.difference = Some(Effect {
                estimate: up,
                interval: Some(ends),
            });
            result.smallest_detectable = smallest.filter(|_| base > 0.0).map(|least| least / base);
        }
    }
    if result.withheld.is_some() {
        return;
    }
    let finds = smallest
        .zip(wanted)
        .is_some_and(|(least, wanted)| least <= wanted);
    let significant = adjusted.is_some_and(|p| p <= options.alpha);
    result.verdict = by_p(significant, result.better, up > 0.0, finds);
    let pilot = Pilot {
        variances: &[spread.deviation.powi(2); 2],
        freedom: spread.freedom,
    };
    let made = result.baseline.runs.min(result.candidate.runs);
    result.more_runs = (result.verdict == ComparisonVerdict::TooFewRuns)
        .then(|| runs_to_detect(pilot, wanted?, level, options.power))
        .flatten()
        .map(|needed| needed.saturating_sub(made).max(1));
}

fn remarks(past: &History, results: &[ComparedFigure]) -> Vec<Finding> {
    let runs: usize = past.lines.iter().map(|line| line.runs.len()).sum();
    let mut said: Vec<String> = Vec::new();
    let mut without: Vec<&str> = Vec::new();
    for result in results {
        let figure = punctual_model::figure_words(&result.figure);
        match series_of(past, result).map(|series| (series.deviation, series.freedom)) {
            Some((Some(deviation), Some(freedom))) if freedom >= LEAST => {
                let deviation = match result.scale {
                    ComparisonScale::Log => percent(deviation),
                    ComparisonScale::Linear => format!("{deviation:.3} {}", result.unit),
                };
                let words = format!("{deviation} in {figure} ({freedom:.0} degrees of freedom)");
                if !said.contains(&words) {
                    said.push(words);
                }
            }
            _ => without.push(&result.figure),
        }
    }
    let mut remarks = Vec::new();
    let unreadable = past.refused.iter().filter(|run| run.unreadable).count();
    if unreadable > 0 {
        let runs = plural(unreadable);
        let detail = format!("{unreadable} earlier run{runs} cannot be read");
        remarks.push(Finding::observed(EARLIER_UNREADABLE, detail));
    }
    if !said.is_empty() {
        remarks.push(Finding::observed(
            "earlier",
            format!(
                "{runs} earlier runs say how much runs vary: {}. The verdicts hold if runs are about normal on a logarithmic scale, if those \
                 that are compared vary as the earlier ones did, and if nothing else changed since. \
                 Where one run in ten is far slower, about twice as many are wrong as the table says",
                said.join(", ")
            ),
        ));
    }
    without.dedup();
    if !without.is_empty() {
        let figures: Vec<String> = without
            .iter()
            .map(|figure| punctual_model::figure_words(figure))
            .collect();
        remarks.push(Finding::observed(
            "earlier-unknown",
            format!(
                "the earlier runs do not say how much runs vary in {}: at least {LEAST:.0} degrees of freedom are needed",
                figures.join(", ")
            ),
        ));
    }
    remarks
}
