// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run says in a sentence, the figures that carry it, and whether it may be believed.
#![expect(
    clippy::format_push_string,
    reason = "the other way has an error to handle that a string never gives"
)]

use std::cmp::Ordering;

use punctual_model::{
    Check, CheckStatus, Figure, Instrument, Nanos, RequirementRuling, RunRecord, Series,
};
use punctual_verdict::claims::at_most;
use punctual_verdict::words::open_check;

use super::guest::VIRTUAL;
use super::named::{counted, interval_in, micros, validity};
use super::parts::{Answer, KeyFigure, Reason, Tone};
use super::results::with_labels;
use super::{inversion, task_runs, watched};
use crate::chart::Validity;
use crate::clock_or_count::Times;
use crate::number::{clean, digits, events_of, percent, share};

/// Quantiles of the first screen, the best supported first.
const QUANTILES: [&str; 4] = ["p99.99", "p99.9", "p99", "p50"];

/// Says what a run says.
pub(super) fn run(run: &RunRecord, name: &str) -> Answer {
    let seen = watched::answer(run)
        .or_else(|| task_runs::answer(run, name))
        .or_else(|| inversion::answer(run, name));
    let of_watched = seen.as_ref().map(|(tone, word, ..)| (*tone, word.clone()));
    let (sentence, figures) = match (seen, run.total.count) {
        (Some((_, _, sentence, figures)), _) => (sentence, figures),
        (None, 0) => results(run, name),
        (None, _) => deadlines(run, name).unwrap_or_else(|| latencies(run, name)),
    };
    let (tone, word) = match validity(run) {
        Validity::Invalid => (Tone::Bad, "INVALID".to_owned()),
        Validity::Imported | Validity::Published => {
            (Tone::Doubtful, "imported, not checked".to_owned())
        }
        Validity::Virtual => (Tone::Doubtful, "virtual time".to_owned()),
        Validity::Valid => match of_watched {
            Some(said) if run.requirements.is_empty() => said,
            _ => ruling(run),
        },
    };
    Answer {
        tone,
        word,
        sentence,
        figures,
        validity: believed(run, None),
    }
}

/// What the requirements say of a valid run.
fn ruling(run: &RunRecord) -> (Tone, String) {
    let has = |ruling| run.requirements.iter().any(|r| r.ruling == ruling);
    if has(RequirementRuling::Fail) {
        return (Tone::Bad, "requirement failed".to_owned());
    }
    if has(RequirementRuling::Unclaimed) {
        return (Tone::Doubtful, "cannot be claimed".to_owned());
    }
    match run.requirements.is_empty() {
        true => (Tone::Plain, "valid".to_owned()),
        false => (Tone::Good, "requirements met".to_owned()),
    }
}

/// Of an instrument that is about deadlines: what was missed, by the thread that missed most.
fn deadlines(run: &RunRecord, name: &str) -> Option<(String, Vec<KeyFigure>)> {
    let shares = run.figures.iter().filter(|f| f.name == "missed_share");
    let worst = shares.clone().max_by(|a, b| by_value(a, b))?;
    let of = |name: &str| {
        let mut of = run.figures.iter().filter(|f| f.name == name);
        of.find(|f| f.labels == worst.labels)
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a deadline, in whole ns"
    )]
    let deadline = Nanos::new(of("deadline")?.value? as u64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of iterations"
    )]
    let missed = (worst.value? * worst.count as f64).round() as u64;
    let thread = match shares.count() {
        1 => String::new(),
        n => format!(" in the worst of {n} threads"),
    };
    let all = counted(worst.count, "iteration");
    let times = Times::of_run(run);
    let due = format!("missed the deadline of {}{thread}", times.span(deadline));
    let sentence = match (missed, worst.interval) {
        (0, Some(interval)) => format!(
            "{name}: none of {all} {due}; with {} confidence at most {} do.",
            percent(interval.confidence),
            at_most(interval.high)
        ),
        _ => format!(
            "{name}: {missed} of {all} ({}) {due}.",
            share(missed, worst.count)?
        ),
    };
    let mut figures: Vec<KeyFigure> = [Some(worst), of("misses_per_second")]
        .into_iter()
        .flatten()
        .filter_map(|figure| key(figure, times))
        .collect();
    let (_, latencies) = latencies(run, name);
    figures.extend(
        latencies
            .into_iter()
            .filter(|f| f.name == "p50" || f.name == "max"),
    );
    Some((sentence, figures))
}

fn latencies(run: &RunRecord, name: &str) -> (String, Vec<KeyFigure>) {
    let total = &run.total;
    let events = events_of(run).to_lowercase();
    let mut figures = Vec::new();
    // Of an imported run the order of the samples is lost, and so is every interval.
    let supported = |q: &&&str| {
        let interval = total.quantile_intervals_ns.get(**q).copied().flatten();
        let value = total.quantiles_ns.get(**q).copied().flatten();
        value.is_some() && (interval.is_some() || run.origin.is_some())
    };
    let unit = Times::of_run(run).micros();
    let best = QUANTILES.iter().find(supported);
    let max = total.max_ns.map(|ns| micros(ns as f64));
    let mut sentence = format!(
        "{name}: {}",
        counted(total.count, events.strip_suffix('s').unwrap_or(&events))
    );
    if let Some(q) = best
        && let Some(value) = total.quantiles_ns.get(*q).copied().flatten()
    {
        let share = q.trim_start_matches('p');
        sentence += &format!(", {share} % of them within {} {unit}", micros(value as f64));
    }
    // Kinds that are no latency of one thing have no figures together.
    let of_kind = |series: &Series| Some((series.max_ns?, series.context.clone()?));
    let untraced = run.untraced().filter_map(|series| series.max_ns).max();
    if let Some(max) = &max {
        sentence += &format!("; the largest was {max} {unit}");
        if untraced > total.max_ns
            && let Some(untraced) = untraced
        {
            let larger = micros(untraced as f64);
            sentence += &format!(", and {larger} {unit} while not traced");
        }
    } else if let Some((ns, kind)) = run.series.iter().filter_map(of_kind).max() {
        let max = micros(ns as f64);
        sentence += &format!("; the largest was {max} {unit} ({})", clean(&kind));
    }
    sentence.push('.');
    for q in ["p50", "p99", "p99.9"] {
        let Some(value) = total.quantiles_ns.get(q).copied().flatten() else {
            continue;
        };
        let interval = total.quantile_intervals_ns.get(q).copied().flatten();
        if interval.is_none() && run.origin.is_none() {
            continue;
        }
        let detail = match interval {
            Some(interval) => format!(
                "{}, {}",
                interval_in(&interval, unit),
                counted(total.count, "sample")
            ),
            None => format!("no interval, {}", counted(total.count, "sample")),
        };
        figures.push(KeyFigure {
            name: q.to_owned(),
            value: format!("{} {unit}", micros(value as f64)),
            detail,
        });
    }
    if let Some(max) = max {
        figures.push(KeyFigure {
            name: "max".to_owned(),
            value: format!("{max} {unit}"),
            detail: format!(
                "the largest of {}, no bound",
                counted(total.count, "sample")
            ),
        });
    }
    (sentence, figures)
}

/// The figures that say most of a run without samples.
fn results(run: &RunRecord, name: &str) -> (String, Vec<KeyFigure>) {
    let wanted = Instrument::of(&run.instrument).map_or(&[][..], |of| of.key_figures);
    let mut chosen: Vec<&Figure> = Vec::new();
    for name in wanted {
        let of_name = run.figures.iter().filter(|f| f.name == *name);
        chosen.extend(of_name.max_by(|a, b| by_value(a, b)));
    }
    if chosen.is_empty() {
        chosen.extend(run.figures.iter().filter(|f| f.value.is_some()).take(4));
    }
    let figures: Vec<KeyFigure> = chosen
        .iter()
        .filter_map(|f| key(f, Times::of_run(run)))
        .collect();
    let nothing = |check: &Check| check.id == "samples" && check.status == CheckStatus::Fail;
    let sentence = match figures.first() {
        _ if run.checks.iter().any(nothing) => format!("{name}: nothing was measured."),
        Some(first) => format!(
            "{name}: {} is {} ({}).",
            first.name, first.value, first.detail
        ),
        None => format!("{name}: no samples, and no figures."),
    };
    (sentence, figures)
}

fn by_value(a: &Figure, b: &Figure) -> Ordering {
    let value = |f: &Figure| f.value.unwrap_or(f64::NEG_INFINITY);
    value(a).total_cmp(&value(b))
}

fn key(figure: &Figure, times: Times) -> Option<KeyFigure> {
    let value = figure.value?;
    let (unit, scale) = match figure.unit.as_str() {
        "1" if figure.name.contains("share") => ("%".into(), 100.0),
        "1" => ("".into(), 1.0),
        unit => (times.of_figure(unit), 1.0),
    };
    let name = with_labels(figure, |_| true);
    let detail = match figure.interval {
        Some(interval) => format!(
            "{} interval {} .. {}, {}",
            percent(interval.confidence),
            digits(interval.low * scale),
            digits(interval.high * scale),
            counted(figure.count, "observation")
        ),
        None => counted(figure.count, "observation"),
    };
    Some(KeyFigure {
        name,
        value: format!("{} {unit}", digits(value * scale))
            .trim_end()
            .to_owned(),
        detail,
    })
}

/// Why a run may, or may not, be believed, and what the samples say of what was required of it, or of `group`.
pub(super) fn believed(run: &RunRecord, group: Option<&str>) -> Vec<Reason> {
    let mut reasons: Vec<Reason> = Vec::new();
    if run.is_virtual() {
        reasons.push(format!("{VIRTUAL}, no latency of any hardware").into());
    }
    match validity(run) {
        Validity::Valid | Validity::Virtual => {
            let checks = match run.checks.len() {
                0 => "no checks were made".to_owned(),
                n => format!("{} passed", counted(n as u64, "check")),
            };
            reasons.push(checks.into());
        }
        Validity::Imported | Validity::Published => {
            let by = run.origin.as_ref().map_or_else(
                || "another tool".to_owned(),
                |origin| match &origin.version {
                    Some(version) => format!("{} {version}", origin.tool),
                    None => origin.tool.clone(),
                },
            );
            let why = format!("whether the measurement was valid is not known: {by} made it");
            reasons.push(clean(&why).into_owned().into());
        }
        Validity::Invalid => {
            reasons.push(Reason::fault("no claim can be based on these figures"));
            let open = run.checks.iter().filter(|c| !c.passed());
            reasons.extend(open.map(|check| Reason::fault(open_check(check))));
        }
    }
    let total = &run.total;
    let mut counts = Vec::new();
    for (count, what) in [
        (total.lost, "lost"),
        (total.clamped, "clamped"),
        (
            total.overruns,
            if total.overruns == Some(1) {
                "overrun"
            } else {
                "overruns"
            },
        ),
        (total.warm_up_samples, "warm-up samples (in no figure)"),
    ] {
        counts.extend(count.map(|n| format!("{n} {what}")));
    }
    let mut untraced = run.untraced().peekable();
    if untraced.peek().is_some() {
        let overruns: u64 = untraced.filter_map(|series| series.overruns).sum();
        let said = format!("{} while not traced", counted(overruns, "overrun"));
        let warm_up = usize::from(total.warm_up_samples.is_some());
        counts.insert(counts.len() - warm_up, said);
    }
    if !counts.is_empty() && total.count > 0 {
        reasons.push(counts.join(", ").into());
    }
    for result in &run.requirements {
        reasons.push(Reason {
            text: super::requirement::requirement(result, group, Times::of_run(run)),
            is_fault: result.ruling != RequirementRuling::Pass,
        });
    }
    reasons
}
