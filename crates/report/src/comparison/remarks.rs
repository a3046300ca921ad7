// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a reader of a comparison should know and no p-value says.

use std::collections::{BTreeMap, BTreeSet};

use punctual_model::{
    Check, ComparedFigure, Comparison, ComparisonMethod, ComparisonVerdict, Finding, RunRecord,
};
use punctual_stats::PValue;
use punctual_stats::runs::{Order, Scale, Trend, drift, order};

use super::{GroupInput, Metric, Table};
use crate::text::plural;

/// The remark that a figure is not told apart only because others were asked for with it.
pub(super) const CORRECTION: &str = "correction";

/// Everything there is to remark, what matters most first.
pub(super) fn remarks(
    groups: &[GroupInput],
    table: &Table,
    results: &[ComparedFigure],
    method: &ComparisonMethod,
) -> Vec<Finding> {
    let mut remarks = Vec::new();
    remarks.extend(virtual_time(groups));
    remarks.extend(groups.iter().filter_map(copies));
    remarks.extend(groups.iter().filter_map(too_few));
    remarks.extend(groups.iter().filter_map(validity));
    remarks.extend(groups.iter().filter_map(refused));
    if let Some((baseline, rest)) = groups.split_first() {
        remarks.extend(rest.iter().filter_map(|group| separated(baseline, group)));
    }
    remarks.extend(drifts(groups, table));
    remarks.extend(differences(groups));
    remarks.extend(lengths(groups, table));
    remarks.extend(missing(groups, table));
    remarks.extend(results.iter().filter_map(|one| corrected(one, method)));
    remarks.extend(outliers(results));
    remarks
}

/// A figure whose own p-value and interval say "changed" and whose verdict does not: the reader sees
/// both, and is told why.
fn corrected(result: &ComparedFigure, method: &ComparisonMethod) -> Option<Finding> {
    let undecided = matches!(
        result.verdict,
        ComparisonVerdict::NotDistinguishable | ComparisonVerdict::TooFewRuns
    );
    let (alone, together) = (result.p?, result.adjusted_p?);
    if !undecided || alone > method.alpha || together <= method.alpha {
        return None;
    }
    let detail = format!(
        "{} of {} would be told apart if it alone had been asked for ({}); of {} questions at once it is not \
         ({}), since the more one asks the more chance answers. Name it alone before new runs are made",
        result.figure,
        result.candidate.group,
        PValue(alone),
        method.tests,
        PValue(together)
    );
    Some(Finding::observed(CORRECTION, detail))
}

/// Runs that lie far from the others: each by name, or where they are many how many in which figures.
fn outliers(results: &[ComparedFigure]) -> Vec<Finding> {
    const BY_NAME: usize = 3;
    // A run is an outlier once of a figure, however many groups it is compared with.
    let mut figures: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut compared: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for result in results {
        for side in [&result.baseline, &result.candidate] {
            compared.insert((&side.group, &result.figure), side.runs);
            for run in &side.outliers {
                figures.entry(run).or_default().insert(&result.figure);
            }
        }
    }
    let remark = |detail: String| Finding::observed("outlier-run", detail);
    if figures.len() <= BY_NAME {
        let one = |(run, figures): (&&str, &BTreeSet<&str>)| {
            remark(format!(
                "run {run} lies far from the others of its group in {}; it is in all figures",
                figures.iter().copied().collect::<Vec<_>>().join(", ")
            ))
        };
        return figures.iter().map(one).collect();
    }
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for figure in figures.values().flatten() {
        *counts.entry(figure).or_default() += 1;
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(figure, outlying)| {
            let of = compared.iter().filter(|((_, name), _)| *name == figure);
            let of: u64 = of.map(|(_, runs)| runs).sum();
            format!("{figure} {outlying} of {of}")
        })
        .collect();
    let first: Vec<&str> = figures.keys().take(BY_NAME).copied().collect();
    vec![remark(format!(
        "{} runs lie far from the others of their group ({}); they are in all figures. The first: {}; --json \
         names all",
        figures.len(),
        counts.join(", "),
        first.join(", ")
    ))]
}

fn virtual_time(groups: &[GroupInput]) -> Option<Finding> {
    let detail = "all times are instruction counts of the software path, no latency of any hardware; nothing \
                  drifts there, so runs are not compared inside of blocks";
    let any = groups.iter().any(super::is_virtual);
    any.then(|| Finding::observed(Comparison::VIRTUAL_TIME, detail.to_owned()))
}

/// Runs in virtual time whose guest had the seed of another's.
fn copies(group: &GroupInput) -> Option<Finding> {
    let guests = group
        .runs
        .iter()
        .filter_map(|run| run.record.guest.as_ref());
    let seeds: Vec<u64> = guests.filter(|g| g.is_virtual()).map(|g| g.seed).collect();
    let different = seeds.iter().collect::<BTreeSet<_>>().len();
    let detail = format!(
        "{}: {} runs in virtual time have {different} seed{}: with the same one a run is a copy, and no \
         further observation",
        group.name,
        seeds.len(),
        plural(different),
    );
    (different < seeds.len()).then(|| Finding::observed("copies", detail))
}

fn too_few(group: &GroupInput) -> Option<Finding> {
    let detail = match group.runs.len() {
        0 => format!("{} has no run: nothing can be concluded", group.name),
        1 => format!(
            "{} has one run: all its samples are one observation of one boot, and nothing can be \
             concluded about another",
            group.name
        ),
        _ => return None,
    };
    Some(Finding::observed("one-run", detail))
}

fn validity(group: &GroupInput) -> Option<Finding> {
    let imported = group.runs.iter().filter(|run| run.record.origin.is_some());
    let imported = imported.count();
    let invalid = group.runs.iter().filter(|run| is_invalid(&run.record));
    let invalid = invalid.count();
    let mut parts = Vec::new();
    if invalid > 0 {
        parts.push(format!(
            "{invalid} run{} invalid and compared all the same: no claim can be based on {}",
            if invalid == 1 { " is" } else { "s are" },
            if invalid == 1 { "it" } else { "them" },
        ));
    }
    if imported > 0 {
        parts.push(format!(
            "{imported} run{} imported: whether the measurement was valid is not known",
            if imported == 1 { " was" } else { "s were" },
        ));
    }
    (!parts.is_empty())
        .then(|| Finding::observed("validity", format!("{}: {}", group.name, parts.join("; "))))
}

/// A measured run of which a check did not pass. Of an imported run nothing is known.
pub(super) fn is_invalid(run: &RunRecord) -> bool {
    run.origin.is_none() && !(run.valid && run.checks.iter().all(Check::passed))
}

fn refused(group: &GroupInput) -> Option<Finding> {
    let n = group.refused.len();
    let first = group.refused.first()?;
    let more = match n {
        1 => String::new(),
        _ => format!(" and {} more", n - 1),
    };
    Some(Finding::observed(
        "refused",
        format!(
            "{}: {n} run{} not compared: {}: {}{more}",
            group.name,
            plural(n),
            first.id,
            first.reason
        ),
    ))
}

fn separated(baseline: &GroupInput, group: &GroupInput) -> Option<Finding> {
    let times = |group: &GroupInput| -> Vec<f64> {
        group.runs.iter().filter_map(|run| run.started_s).collect()
    };
    (order(&times(baseline), &times(group)) == Order::Separated).then(|| {
        Finding::observed(
            "order",
            format!(
                "all runs of {} and all of {} were made one after the other: what changed on the \
                 machine meanwhile looks like an effect, and nothing here can tell; mix them",
                baseline.name, group.name
            ),
        )
    })
}

fn drifts(groups: &[GroupInput], table: &Table) -> Vec<Finding> {
    let found: Vec<(&Metric, Trend)> = table
        .metrics
        .iter()
        .enumerate()
        .filter_map(|(figure, metric)| {
            let columns: Vec<(Vec<f64>, Vec<f64>)> = groups
                .iter()
                .enumerate()
                .map(|(at, group)| {
                    let values = table.column(at, figure).into_iter();
                    let timed = group.runs.iter().zip(values);
                    timed
                        .filter_map(|(run, value)| Some((value?, run.started_s?)))
                        .unzip()
                })
                .collect();
            let borrowed: Vec<(&[f64], &[f64])> = columns
                .iter()
                .map(|(values, times)| (values.as_slice(), times.as_slice()))
                .collect();
            Some((metric, drift(&borrowed).ok()??))
        })
        .collect();
    // As many looks as figures.
    let level = 0.05 / table.metrics.len().max(1) as f64;
    found
        .into_iter()
        .filter(|(_, trend)| trend.p <= level)
        .map(|(metric, trend)| {
            let size = match trend.scale {
                Scale::Log => format!("{:+.1} %", trend.change * 100.0),
                Scale::Linear => format!("{:+.3}", trend.change),
            };
            Finding::observed(
                "drift",
                format!(
                    "{metric} drifts in the order of the runs, {size} from the first to the last of \
                     {} (Kendall's tau {:.2}, {})",
                    trend.runs,
                    trend.tau,
                    PValue(trend.p)
                ),
            )
        })
        .collect()
}

/// What differs between groups, or inside one, beside what was meant to: nobody here knows which
/// that is, so it is said.
fn differences(groups: &[GroupInput]) -> Option<Finding> {
    type Fact = (&'static str, fn(&RunRecord) -> Option<String>);
    const FACTS: [Fact; 10] = [
        ("instrument", |run| Some(run.instrument.clone())),
        ("machine", |run| run.host.hostname.clone()),
        ("kernel", |run| run.host.kernel_release.clone()),
        ("guest's agent", |run| {
            let guest = run.guest.as_ref()?;
            let agent = guest.agent.as_ref().map(ToString::to_string);
            Some(agent.unwrap_or_else(|| "not recorded".to_owned()))
        }),
        ("policy", |run| {
            let spec = run.spec.as_ref().map(|spec| spec.priority);
            let setup = run.setup.as_ref().map(|setup| setup.priority);
            spec.or(setup).map(|policy| policy.to_string())
        }),
        ("CPUs", |run| {
            let spec = run.spec.as_ref().map(|spec| spec.cpus.to_string());
            spec.or_else(|| run.setup.as_ref().map(|setup| setup.cpus.to_string()))
        }),
        ("interval", |run| {
            run.spec
                .as_ref()
                .map(|spec| crate::text::span(spec.interval_ns))
        }),
        ("threads", |run| {
            run.spec.as_ref().map(|spec| spec.threads.to_string())
        }),
        ("loads", |run| {
            let spec = run.spec.as_ref().map(|spec| spec.loads.join(" "));
            spec.or_else(|| run.setup.as_ref().map(|setup| setup.loads.join(" ")))
        }),
        ("dma_latency", |run| {
            let spec = run.spec.as_ref().map(|spec| spec.dma_latency_ns);
            let held = spec.or_else(|| run.setup.as_ref().map(|setup| setup.dma_latency_ns));
            held.map(|held| held.map_or_else(|| "off".to_owned(), crate::text::span))
        }),
    ];
    let parts: Vec<String> = FACTS
        .iter()
        .filter_map(|(name, fact)| {
            let of = |group: &GroupInput| -> BTreeSet<String> {
                let facts = group.runs.iter().filter_map(|run| fact(&run.record));
                facts
                    .map(|fact| match fact.is_empty() {
                        true => "none".to_owned(),
                        false => fact,
                    })
                    .collect()
            };
            let all: Vec<BTreeSet<String>> = groups.iter().map(of).collect();
            let mut together: BTreeSet<&String> = BTreeSet::new();
            all.iter().for_each(|group| together.extend(group));
            if together.len() < 2 {
                return None;
            }
            let sides: Vec<String> = groups
                .iter()
                .zip(&all)
                .filter(|(_, facts)| !facts.is_empty())
                .map(|(group, facts)| {
                    let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
                    format!("{} {}", group.name, facts.join(" and "))
                })
                .collect();
            Some(format!("{name} ({})", sides.join(", ")))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        Finding::observed(
            "differs",
            format!("the runs differ in {}", parts.join("; ")),
        )
    })
}

/// A maximum of more samples is larger for no other reason.
fn lengths(groups: &[GroupInput], table: &Table) -> Option<Finding> {
    let grows: Vec<String> = table
        .metrics
        .iter()
        .filter(|metric| metric.grows_with_samples())
        .map(ToString::to_string)
        .collect();
    let counts = groups.iter().flat_map(|group| &group.runs);
    let counts: Vec<u64> = counts.map(|run| run.record.total.count).collect();
    let (least, most) = (counts.iter().min()?, counts.iter().max()?);
    (!grows.is_empty() && *least > 0 && *most > least + least / 10).then(|| {
        Finding::observed(
            "lengths",
            format!(
                "runs have {least} to {most} samples, and {} grows with their number: it compares \
                 only runs of one length",
                grows.join(", ")
            ),
        )
    })
}

fn missing(groups: &[GroupInput], table: &Table) -> Option<Finding> {
    let parts: Vec<String> = table
        .metrics
        .iter()
        .enumerate()
        .filter_map(|(figure, metric)| {
            let without: usize = (0..groups.len())
                .map(|at| {
                    table
                        .column(at, figure)
                        .iter()
                        .filter(|v| v.is_none())
                        .count()
                })
                .sum();
            (without > 0).then(|| format!("{metric} ({without})"))
        })
        .collect();
    (!parts.is_empty()).then(|| {
        Finding::observed(
            "missing",
            format!(
                "some runs do not have a figure, for want of samples or because they measured \
                 something else: {}",
                parts.join(", ")
            ),
        )
    })
}
