// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Who made late cycles late: what they took more of than cycles in time.

use std::collections::BTreeMap;

use punctual_model::watch::{Culprit, Late, Stack};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Matters;
use super::cycle::Cause;
use super::stacks::Site;
use super::tally::{Long, Tally};
use super::who::{Name, Names};
use super::words;
use punctual_model::Ordered as _;

/// A culprit takes at least this share of the period, or of the median, more of a late cycle than of one in time; and
/// at least this long, in ns.
const fn least(matters: Matters) -> (f64, f64) {
    match matters {
        Matters::OfThePeriod => (0.05, 10_000.0),
        Matters::OfTheMedian => (0.25, 2_000.0),
    }
}

/// Culprits that are named at most.
const NAMED: usize = 12;

/// Returns which cycles of a thread count as late.
pub(super) fn late(tally: &Tally) -> Late {
    let histogram = tally.responses.histogram();
    // Of a period it is asked whether any cycle was longer; else the longest in a hundred are looked at.
    let limit = tally
        .limit()
        .filter(|_| tally.has_deadline() || tally.above > 0);
    let (limit, rule) = match limit {
        Some(limit) if tally.has_deadline() => (limit, "deadline"),
        Some(limit) => (limit, "period"),
        None => (histogram.quantile(0.99).unwrap_or(u64::MAX), "p99"),
    };
    let examined = tally.longer_than(limit).len() as u64;
    // Where the limit was not known before, and not all late ones are kept, their number is that of the histogram's buckets.
    let count = match (rule, tally.keeps_all_above(limit)) {
        ("p99", false) => histogram.count_above(limit).max(examined),
        ("p99", true) => examined,
        _ => tally.above,
    };
    Late {
        limit_ns: limit,
        rule: rule.to_owned(),
        count,
        examined,
    }
}

/// What late cycles spent on one cause.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    total: u64,
    worst: u64,
    cycles: u64,
    saved: u64,
}

/// Returns the culprits, the one first without which most late cycles would have been in time.
#[expect(clippy::cast_precision_loss, reason = "times within days")]
pub(super) fn culprits(
    tally: &Tally,
    late: &Late,
    matters: Matters,
    names: &Names,
    say: &mut dyn FnMut(&BTreeMap<Site, u64>) -> Vec<Stack>,
) -> Vec<Culprit> {
    let longs = tally.longer_than(late.limit_ns);
    if longs.is_empty() {
        return Vec::new();
    }
    // Of the longest in a hundred those that are not kept count as in time, with what they spent.
    let is_known = tally.limit() == Some(late.limit_ns);
    let of_late = if is_known {
        tally.above
    } else {
        longs.len() as u64
    };
    let in_time = tally.cycles.saturating_sub(of_late).max(1) as f64;
    let kept = sums(&longs);
    let usual = |cause: Cause| {
        let spent = tally.spent.get(&cause).copied().unwrap_or_default();
        let late = match is_known {
            true => spent.above,
            false => kept.get(&cause).copied().unwrap_or(0),
        };
        spent.total.saturating_sub(late) as f64 / in_time
    };
    let shares = shares(longs.clone(), late.limit_ns, usual);
    // Of the longest in a hundred, that they are the longest makes nobody a culprit: the whole must matter.
    let median = tally.responses.histogram().quantile(0.5).unwrap_or(0);
    let period = tally.period();
    let scale = match matters {
        Matters::OfThePeriod => period.unwrap_or(median),
        Matters::OfTheMedian => median,
    };
    let (share, at_least) = least(matters);
    let least = (share * scale as f64).max(at_least);
    let mut found: Vec<(f64, Cause, Culprit)> = shares
        .into_iter()
        .filter_map(|(cause, share)| {
            let mean = share.total as f64 / longs.len() as f64;
            let in_time_mean_ns = usual(cause);
            let excess = mean - in_time_mean_ns;
            // Rare and large counts as much as frequent and small.
            let worst = share.worst as f64 - in_time_mean_ns;
            let matters = excess >= least || (worst >= least && share.saved > 0);
            let is_more = mean > 1.2 * in_time_mean_ns;
            if !matters || !is_more {
                return None;
            }
            let said = words::say(cause, names);
            let tid = tally.spent.get(&cause).and_then(|spent| spent.tid);
            let culprit = Culprit {
                kind: said.kind.to_owned(),
                name: said.name,
                tid,
                what: said.what,
                cycles: share.cycles,
                saved: share.saved,
                total_ns: share.total,
                mean_ns: mean,
                worst_ns: share.worst,
                in_time_mean_ns,
                stacks: Vec::new(),
            };
            Some((excess, cause, culprit))
        })
        .collect();
    found.order_by(|(a_excess, _, a), (b_excess, _, b)| {
        b.saved
            .cmp(&a.saved)
            .then(b_excess.total_cmp(a_excess))
            .then_with(|| a.what.cmp(&b.what))
    });
    found.truncate(NAMED);
    let found = found.into_iter().map(|(_, cause, mut culprit)| {
        let mut sites: BTreeMap<Site, u64> = BTreeMap::new();
        let all = longs.iter().flat_map(|long| &long.sites);
        for (_, site, count) in all.filter(|(of, ..)| *of == cause) {
            *sites.entry(*site).or_default() += u64::from(*count);
        }
        culprit.stacks = say(&sites);
        culprit
    });
    found.collect()
}

/// Returns how many of the late cycles `longs` would have been in time without all that threads of this name did.
pub(super) fn in_time_without(longs: &[&Long], limit: u64, name: Name) -> u64 {
    let of = |parts: &[(Cause, u64)]| -> u64 {
        let own = parts.iter().filter(|(cause, _)| words::is_by(*cause, name));
        own.map(|(_, ns)| ns).sum()
    };
    // One cause alone, whichever it is.
    let as_one = longs.iter().map(|long| Long {
        parts: vec![(Cause::Unknown, of(&long.parts))],
        delayed: vec![(Cause::Unknown, of(&long.delayed))],
        ..(*long).clone()
    });
    let as_one: Vec<Long> = as_one.collect();
    let shares = shares(as_one.iter().collect(), limit, |_| 0.0);
    shares.values().map(|share| share.saved).sum()
}

/// Returns what each cause has of the late cycles `longs`, where cycles in time spend `usual` on it.
///
/// A cycle that begins late because the one before had not ended would have begun earlier without what made that one longer: who is to
/// blame there is so here too, as far as that delay goes, and so on along a backlog.
#[expect(clippy::cast_precision_loss, reason = "times within days")]
fn shares(
    mut longs: Vec<&Long>,
    limit: u64,
    usual: impl Fn(Cause) -> f64,
) -> FxHashMap<Cause, Share> {
    longs.sort_unstable_by_key(|long| long.number);
    let mut shares: FxHashMap<Cause, Share> = FxHashMap::default();
    let mut before: Option<(u64, FxHashMap<Cause, f64>)> = None;
    for long in longs {
        let mut excesses: FxHashMap<Cause, f64> = FxHashMap::default();
        let mut has_part: FxHashSet<Cause> = FxHashSet::default();
        for (cause, ns) in &long.parts {
            let usual = usual(*cause);
            let share = shares.entry(*cause).or_default();
            share.total += ns;
            share.worst = share.worst.max(*ns);
            if *ns as f64 > 1.5 * usual {
                has_part.insert(*cause);
            }
            excesses.insert(*cause, (*ns as f64 - usual).max(0.0));
        }
        let is_next = |(number, _): &(u64, _)| number + 1 == long.number;
        if let Some((_, causes)) = before.filter(is_next)
            && long.delay > 0
        {
            // What they did before this one began is in theirs.
            for (cause, ns) in &long.delayed {
                if let Some(excess) = excesses.get_mut(cause) {
                    *excess = (*excess - *ns as f64).max(0.0);
                }
            }
            for (cause, excess) in causes {
                *excesses.entry(cause).or_default() += excess.min(long.delay as f64);
            }
        }
        for (cause, excess) in &excesses {
            if long.response as f64 - excess <= limit as f64 {
                shares.entry(*cause).or_default().saved += 1;
                // Also where it had its part in the cycle before.
                has_part.insert(*cause);
            }
        }
        for cause in has_part {
            shares.entry(cause).or_default().cycles += 1;
        }
        before = Some((long.number, excesses));
    }
    shares
}

/// Adds up what cycles spent on each cause.
fn sums(longs: &[&Long]) -> FxHashMap<Cause, u64> {
    let mut sums = FxHashMap::default();
    for (cause, ns) in longs.iter().flat_map(|long| &long.parts) {
        *sums.entry(*cause).or_default() += ns;
    }
    sums
}
