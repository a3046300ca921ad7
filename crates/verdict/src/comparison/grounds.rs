// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether there are grounds for a verdict, whatever the p-value is: runs of one length, a spread that
//! is known, steps that are finer than what matters, and something to compare with where nothing was
//! seen.

use punctual_model::{
    ComparedFigure, ComparisonScale, ComparisonVerdict, GroupFigure, Interval, Nanos, Ordered as _,
    RunRecord, Withheld, WithheldReason,
};
use punctual_stats::float;
use punctual_stats::requirement::{DEFAULT_BURST_NS, Evidence};
use punctual_stats::runs::{
    LEAST_BEYOND, LengthFault, Margin, Options, Outcome, Reach, length_fault,
};

use super::{GroupInput, Metric, RunInput};
use crate::bursts::{seen, wakeups};
use crate::number::{digits, digits_up, lasted, percent, span};

/// Takes a verdict back for which the runs give no grounds, and bounds what was never seen.
pub(super) fn judge(
    metric: &Metric,
    sides: [&GroupInput; 2],
    options: &Options,
    outcome: &Outcome,
    result: &mut ComparedFigure,
) {
    for (group, side) in sides
        .into_iter()
        .zip([&mut result.baseline, &mut result.candidate])
    {
        if let Some(bound) = bound(metric, group, side, options.confidence) {
            side.interval = Some(bound);
        }
    }
    let found = uncounted(metric, sides)
        .or_else(|| lengths(metric, sides))
        .or_else(|| spread(sides, outcome))
        .or_else(|| resolution(metric, sides, options, result))
        .or_else(|| zeros(metric, sides, options, result));
    if let Some(withheld) = found {
        result.verdict = ComparisonVerdict::TooFewRuns;
        if withheld.reason != WithheldReason::Spread {
            result.more_runs = None;
        }
        result.withheld = Some(withheld);
    }
}

fn withheld(reason: WithheldReason, detail: String) -> Option<Withheld> {
    Some(Withheld { reason, detail })
}

/// The same where the spread is that of `earlier` runs: it is of runs of their length.
pub(super) fn judge_by_earlier(
    metric: &Metric,
    sides: [&GroupInput; 2],
    earlier: &GroupInput,
    options: &Options,
    result: &mut ComparedFigure,
) {
    let found = sides
        .into_iter()
        .find_map(|side| spread_of_others(metric, earlier, side))
        .or_else(|| resolution(metric, sides, options, result));
    if let Some(withheld) = found.filter(|_| result.withheld.is_none()) {
        result.verdict = ComparisonVerdict::TooFewRuns;
        (result.withheld, result.more_runs) = (Some(withheld), None);
    }
}

/// What no run of a group has is nothing to compare, however many more runs there are.
fn uncounted(metric: &Metric, sides: [&GroupInput; 2]) -> Option<Withheld> {
    let without = |group: &&GroupInput| {
        let mut runs = group.runs.iter();
        !group.runs.is_empty() && runs.all(|run| run.value(metric).is_none())
    };
    let names: Vec<&str> = sides
        .iter()
        .copied()
        .filter(without)
        .map(|group| group.name.as_str())
        .collect();
    let of = match names.as_slice() {
        [] => return None,
        [one] => format!(" of {one}"),
        _ => String::new(),
    };
    let detail = match metric {
        Metric::Misses(limit) => format!(
            "no run{of} counted misses of {}: measure with --deadline {}",
            span(*limit),
            metric.to_string().trim_start_matches("misses:")
        ),
        _ => format!(
            "no run{of} has {metric}: it takes more samples than they have, or their files do not \
             state it"
        ),
    };
    withheld(WithheldReason::Uncounted, detail)
}

/// How a figure depends on the number of samples.
pub(crate) fn reach(metric: &Metric) -> Reach {
    match metric {
        Metric::Quantile(q) => Reach::Quantile(*q),
        // A few far samples carry a deviation, and more samples have more of them.
        Metric::Max | Metric::Min | Metric::Stddev => Reach::Extreme,
        Metric::Figure { name, .. } => {
            // So does a count grow with the run.
            let extreme = [
                "max", "min", "largest", "longest", "latest", "worst", "unpaired", "lost", "smi",
            ];
            match name.split('_').any(|word| extreme.contains(&word)) {
                true => Reach::Extreme,
                false => Reach::Free,
            }
        }
        Metric::Mean | Metric::Above(_) | Metric::Misses(_) => Reach::Free,
    }
}

/// How long a run was for a figure: wake-ups that it was to sample, and for a result that is no latency its time in ns, of an
/// instrument without samples too. More gaps in the same time make no run longer.
pub(crate) fn length(metric: &Metric, run: &RunInput) -> Option<u64> {
    let total = &run.record.total;
    match (metric, total.count) {
        (Metric::Figure { .. }, _) | (_, 0) => run.record.duration_ns.map(|ns| ns.get()),
        _ => Some(wakeups(total)),
    }
}

/// How lengths are said of a figure.
pub(crate) struct LengthWords {
    /// What runs do: `have` samples, `last` a time.
    pub(crate) runs: &'static str,
    /// What stands behind the first length.
    pub(crate) unit: &'static str,
    /// What a figure depends on.
    pub(crate) that: &'static str,
}

/// Says how lengths are said of a figure.
pub(crate) fn length_words(metric: &Metric) -> LengthWords {
    let (runs, unit, that) = match metric {
        Metric::Figure { .. } => ("last", "", "that"),
        _ => ("have", " samples", "that number"),
    };
    LengthWords { runs, unit, that }
}

/// The shortest and the longest of some runs: `1000`, `10 s to 60 s`.
pub(crate) fn lengths_said(metric: &Metric, (least, most): (u64, u64)) -> String {
    let said = |n: u64| match metric {
        Metric::Figure { .. } => lasted(Nanos::new(n)),
        _ => n.to_string(),
    };
    let (least, most) = (said(least), said(most));
    match least == most {
        true => least,
        false => format!("{least} to {most}"),
    }
}

/// The shortest and the longest run of a group that has a figure.
fn range(metric: &Metric, group: &GroupInput) -> Option<(u64, u64)> {
    let with = |run: &&RunInput| run.value(metric).is_some();
    let with = group.runs.iter().filter(with);
    let lengths: Vec<u64> = with.filter_map(|run| length(metric, run)).collect();
    Some((*lengths.iter().min()?, *lengths.iter().max()?))
}

/// How runs vary depends on their length, whatever the figure is.
fn spread_of_others(metric: &Metric, earlier: &GroupInput, side: &GroupInput) -> Option<Withheld> {
    let [a, b] = [range(metric, earlier)?, range(metric, side)?];
    length_fault(Reach::Extreme, a.0.min(b.0), a.1.max(b.1))?;
    let LengthWords { runs, unit, that } = length_words(metric);
    let detail = format!(
        "earlier runs {runs} {}{unit}, those of {} {}, and how much runs vary depends on {that}: name earlier runs that \
         are as long",
        lengths_said(metric, a),
        side.name,
        lengths_said(metric, b)
    );
    withheld(WithheldReason::Lengths, detail)
}

fn lengths(metric: &Metric, sides: [&GroupInput; 2]) -> Option<Withheld> {
    let [a, b] = [range(metric, sides[0])?, range(metric, sides[1])?];
    let fault = length_fault(reach(metric), a.0.min(b.0), a.1.max(b.1))?;
    let LengthWords { runs, unit, that } = length_words(metric);
    let runs = format!(
        "runs of {} {runs} {}{unit}, of {} {}",
        sides[0].name,
        lengths_said(metric, a),
        sides[1].name,
        lengths_said(metric, b)
    );
    let instead = match metric {
        Metric::Figure { .. } => "",
        _ => ", or compare a percentile",
    };
    let detail = match fault {
        LengthFault::Grows => {
            format!("{runs}, and {metric} depends on {that}: make all runs equally long{instead}")
        }
        LengthFault::FewBeyond { expected, samples } => format!(
            "{runs}; in the shortest {} {} beyond {metric}, but {LEAST_BEYOND} are needed: make all runs equally long, \
             or at least {samples} samples, or compare a lower percentile",
            format!("{expected:.1}").trim_end_matches(".0"),
            if expected < 2.0 {
                "sample is"
            } else {
                "samples are"
            },
        ),
    };
    withheld(WithheldReason::Lengths, detail)
}

fn spread(sides: [&GroupInput; 2], outcome: &Outcome) -> Option<Withheld> {
    if !outcome.lopsided {
        return None;
    }
    let mut of = [(sides[0], outcome.baseline), (sides[1], outcome.candidate)];
    of.order_by_key(|(_, side)| side.runs);
    let [(few, small), (many, large)] = of;
    withheld(
        WithheldReason::Spread,
        format!(
            "the {} runs of {} vary more than twice as much as the {} of {}, and are too few to \
             tell how much. Make equally many of both",
            small.runs, few.name, large.runs, many.name
        ),
    )
}

/// The width of the steps in ns in which a group states a figure.
fn step(metric: &Metric, group: &GroupInput) -> f64 {
    let of = |run: &RunInput| {
        let origin = run.record.origin.as_ref()?;
        match metric {
            Metric::Quantile(_) | Metric::Min | Metric::Max => origin.resolution_ns.map(float),
            Metric::Mean => origin.mean_error_ns.map(|error| 2.0 * error),
            _ => None,
        }
    };
    group.runs.iter().filter_map(of).fold(0.0, f64::max)
}

fn resolution(
    metric: &Metric,
    sides: [&GroupInput; 2],
    options: &Options,
    result: &ComparedFigure,
) -> Option<Withheld> {
    let steps = sides.map(|group| step(metric, group));
    let step = steps[0].max(steps[1]);
    let values = [result.baseline.estimate?, result.candidate.estimate?];
    let least = values[0].min(values[1]);
    if step <= 0.0 {
        return None;
    }
    // A value may be as little as a step below what is written, where upper ends are.
    let share = match least > step {
        true => step / (least - step),
        false => f64::INFINITY,
    };
    let of_share = |matters: f64| {
        let size = match share.is_finite() {
            true => format!("of up to {}", percent((share * 100.0).ceil() / 100.0)),
            false => "of any size".to_owned(),
        };
        (share > matters).then(|| (size, percent(matters)))
    };
    let micros = |ns: f64| format!("{} µs", digits(ns / 1e3));
    let hides = match (options.margin, options.difference) {
        (Some(Margin::Same(share) | Margin::NotWorse(share)), _) => of_share(share),
        (None, Some(matters)) => {
            (step > matters).then(|| (format!("of up to {}", micros(step)), micros(matters)))
        }
        (None, None) => of_share(options.effect),
    };
    let units = micros(step);
    match (result.verdict, hides) {
        (
            ComparisonVerdict::NotDistinguishable
            | ComparisonVerdict::Equivalent
            | ComparisonVerdict::NotWorse,
            Some((hidden, matters)),
        ) => withheld(
            WithheldReason::Resolution,
            format!(
                "below the resolution: values come in steps of {units}, which hides a change {hidden}, \
                     while {matters} matters. Measure in ns"
            ),
        ),
        (
            ComparisonVerdict::Better | ComparisonVerdict::Worse | ComparisonVerdict::Different,
            _,
        ) if steps[0] != steps[1] && (values[0] - values[1]).abs() <= step => withheld(
            WithheldReason::Resolution,
            format!(
                "below the resolution: one group has values in steps of {units}, the other in \
                     finer steps, and they differ by less than a step"
            ),
        ),
        _ => None,
    }
}

/// The bound of a share or rate of misses of which no run has any: that of the time that was measured,
/// in bursts ([`crate::bursts`]).
fn bound(
    metric: &Metric,
    group: &GroupInput,
    side: &GroupFigure,
    confidence: f64,
) -> Option<Interval> {
    if side.estimate != Some(0.0) || !never(metric, group) {
        return None;
    }
    let records = || {
        let with = group.runs.iter().filter(|run| run.value(metric).is_some());
        with.map(|run| &run.record)
    };
    let chances = |run: &RunRecord| match metric {
        Metric::Misses(_) => wakeups(&run.total),
        _ => run.total.count,
    };
    let per_sample = match metric {
        Metric::Above(_) => 1.0,
        Metric::Misses(_) => {
            let seconds = |run: &RunRecord| Some(float(run.duration_ns?.get()) / 1e9);
            let seconds = records().map(seconds).sum::<Option<f64>>()?;
            records().map(|run| float(chances(run))).sum::<f64>() / seconds
        }
        _ => return None,
    };
    let evidence = |run| seen(run, None, 0, chances(run)).seen;
    let runs: Vec<Evidence> = records()
        .map(|run| evidence(run).evidence(DEFAULT_BURST_NS))
        .collect();
    let high = Evidence::pooled(&runs).share_at_most(confidence) * per_sample;
    high.is_finite().then_some(Interval {
        low: 0.0,
        high,
        confidence,
    })
}

fn never(metric: &Metric, group: &GroupInput) -> bool {
    let mut values = group.runs.iter().filter_map(|run| run.value(metric));
    values.all(|x| x == 0.0)
}

/// No equality is claimed of a group that has nothing but zeros, unless the bounds are below what was
/// said to matter.
fn zeros(
    metric: &Metric,
    sides: [&GroupInput; 2],
    options: &Options,
    result: &ComparedFigure,
) -> Option<Withheld> {
    let undecided = matches!(
        result.verdict,
        ComparisonVerdict::TooFewRuns | ComparisonVerdict::NotDistinguishable
    );
    let figures = [&result.baseline, &result.candidate];
    let none = [0, 1].map(|at| figures[at].runs > 0 && never(metric, sides[at]));
    if result.scale != ComparisonScale::Linear || !undecided || none == [false, false] {
        return None;
    }
    let bounded = |at: usize| {
        let most = options.difference.unwrap_or(0.0);
        !none[at] || figures[at].interval.is_some_and(|ends| ends.high <= most)
    };
    if result.verdict == ComparisonVerdict::NotDistinguishable && bounded(0) && bounded(1) {
        return None;
    }
    let said = |at: usize| {
        let (group, side) = (sides[at], figures[at]);
        let with = group.runs.iter().filter_map(|run| run.value(metric));
        let with = with.filter(|x| *x != 0.0).count();
        let (never, some) = match metric {
            Metric::Misses(_) => ("never missed", "missed"),
            Metric::Above(_) => ("had no such sample", "had some"),
            _ => ("was always 0", "was above 0"),
        };
        if with > 0 {
            return format!("{} {some} in {with} of {} runs", group.name, side.runs);
        }
        match side.interval.filter(|ends| ends.high > 0.0) {
            Some(ends) => format!(
                "{} {never} (at most {}{}, if no burst lasts longer than {})",
                group.name,
                digits_up(ends.high),
                result
                    .unit
                    .strip_prefix('1')
                    .map_or_else(|| format!(" {}", result.unit), str::to_owned),
                span(Nanos::new(DEFAULT_BURST_NS))
            ),
            None => format!("{} {never}", group.name),
        }
    };
    withheld(
        WithheldReason::Zeros,
        format!("{}; {}: nothing to size a change by", said(0), said(1)),
    )
}
