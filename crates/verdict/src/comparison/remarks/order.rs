// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What the order of the runs, their blocks and their units may have done.

use std::collections::BTreeMap;

use punctual_model::Finding;
use punctual_stats::runs::{Order, order};

use super::super::{Blocks, ComparedFigure, GroupInput, RunInput};
use crate::words::plural;

/// Blocks in which one order throughout is more than chance, or as good as.
const FEWEST: usize = 4;

/// All runs of one group before all of the other.
pub(super) fn separated(baseline: &GroupInput, group: &GroupInput) -> Option<Finding> {
    let times = |group: &GroupInput| -> Vec<f64> {
        group.runs.iter().filter_map(|run| run.started_s).collect()
    };
    (order(&times(baseline), &times(group)) == Order::Separated).then(|| {
        Finding::observed(
            "order",
            format!(
                "all runs of {} were made in one go, and all of {}: any change on the machine over \
                 time looks like an effect; mix the groups",
                baseline.name, group.name
            ),
        )
    })
}

/// Runs whose order is not known.
pub(super) fn undated(groups: &[GroupInput]) -> Option<Finding> {
    let of: Vec<String> = groups
        .iter()
        .filter_map(|group| {
            let undated = group.runs.iter().filter(|run| run.started_s.is_none());
            let undated = undated.count();
            (undated > 0).then(|| format!("{} ({undated})", group.name))
        })
        .collect();
    (!of.is_empty()).then(|| {
        Finding::observed(
            "order-unknown",
            format!(
                "runs without a start time: {}. Whether the groups were mixed in time, and drift, \
                 cannot be checked",
                of.join(", ")
            ),
        )
    })
}

/// One group always before the other inside of its blocks.
pub(super) fn always_first(
    groups: &[GroupInput],
    at: usize,
    blocks: Option<&Blocks>,
) -> Option<Finding> {
    let (baseline, group, blocks) = (groups.first()?, groups.get(at)?, blocks?);
    let mut starts: BTreeMap<u64, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, (group, of_runs)) in [(baseline, blocks.first()?), (group, blocks.get(at)?)]
        .into_iter()
        .enumerate()
    {
        for (run, block) in group.runs.iter().zip(of_runs) {
            starts.entry(*block).or_default()[side].extend(run.started_s);
        }
    }
    let both = starts
        .values()
        .filter(|sides| sides.iter().all(|side| !side.is_empty()));
    let mut before = [0_usize; 2];
    let mut all = 0;
    for sides in both {
        all += 1;
        let ends = sides.each_ref().map(|side| {
            let first = side.iter().copied().fold(f64::INFINITY, f64::min);
            let last = side.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (first, last)
        });
        before[0] += usize::from(ends[0].1 < ends[1].0);
        before[1] += usize::from(ends[1].1 < ends[0].0);
    }
    let (first, second) = match before {
        [n, _] if n == all => (baseline, group),
        [_, n] if n == all => (group, baseline),
        _ => return None,
    };
    (all >= FEWEST).then(|| {
        Finding::observed(
            "order",
            format!(
                "in all {all} blocks {} was measured before {}: what the first run of a block does \
                 to the machine (warm caches, temperature) looks like an effect; vary the order \
                 between blocks, as `punctual experiment` does",
                first.name, second.name
            ),
        )
    })
}

/// Some runs name a block and others do not, so that none is compared inside of its block.
pub(super) fn lost_blocks(groups: &[GroupInput], asked: bool) -> Option<Finding> {
    let runs = || groups.iter().flat_map(|group| &group.runs);
    let without = |run: &&RunInput| !run.record.tags.contains_key("block");
    let (all, lost) = (runs().count(), runs().filter(without).count());
    let first = runs().find(without)?;
    (asked && lost > 0 && lost < all).then(|| {
        let name = first.record.name.as_ref().unwrap_or(&first.record.id);
        Finding::observed(
            "blocks",
            format!(
                "{lost} of {all} runs {} no tag `block` (the first: {name}), so no run is compared \
                 within its block and drift between blocks counts as noise. Tag them, or leave \
                 them out",
                if lost == 1 { "has" } else { "have" }
            ),
        )
    })
}

/// Runs in blocks of one group alone, which are in no effect.
pub(super) fn unpaired(results: &[ComparedFigure]) -> Vec<Finding> {
    let mut of: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for result in results {
        let key = (
            result.baseline.group.as_str(),
            result.candidate.group.as_str(),
        );
        let most = of.entry(key).or_default();
        *most = (*most).max(result.unpaired);
    }
    let known = of.into_iter().filter(|(_, n)| *n > 0);
    known
        .map(|((baseline, candidate), n)| {
            Finding::observed(
                "unpaired",
                format!(
                    "{n} run{} of {baseline} and {candidate} {} in a block without runs of the \
                     other group, and excluded from ratios and tests",
                    plural(usize::from(n != 1) + 1),
                    if n == 1 { "is" } else { "are" }
                ),
            )
        })
        .collect()
}

/// Medians a power of 1000 apart: ns taken for µs.
pub(super) fn unit(baseline: &GroupInput, group: &GroupInput) -> Option<Finding> {
    let middle = |group: &GroupInput| -> Option<f64> {
        let of = |run: &RunInput| {
            let total = &run.record.total;
            let p50 = total.quantiles_ns.get("p50").copied().flatten();
            p50.map(punctual_stats::float)
                .or(total.mean_ns)
                .filter(|ns| *ns > 0.0)
        };
        let mut all: Vec<f64> = group.runs.iter().filter_map(of).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    let (a, b) = (middle(baseline)?, middle(group)?);
    let ratio = (a / b).max(b / a);
    // Within a factor of two of 1000, or of 1000 again.
    let thousands = (ratio.log10() / 3.0).round();
    let off = (ratio.log10() - 3.0 * thousands).abs();
    (thousands >= 1.0 && off <= 2_f64.log10()).then(|| {
        Finding::inferred(
            "unit",
            format!(
                "the medians of {} and {} differ by a factor of {ratio:.0}: was one of them read in the \
                 wrong unit (`runs import --unit`)?",
                baseline.name, group.name
            ),
        )
    })
}
