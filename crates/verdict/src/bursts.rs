// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run saw of a limit, for whoever judges it: requirements, the table of deadlines, studies.
//!
//! The time that was measured counts, in bursts, and not the samples ([`Seen::evidence`]).

use punctual_model::{Misses, Nanos, RunRecord, Series};
use punctual_stats::requirement::{DEFAULT_BURST_NS, Seen};
use punctual_stats::{LatencyHistogram, float};

use crate::claims::{CONFIDENCE, at_most};
use crate::number::{percent, share, span};

/// Time between the samples of an imported run that does not say it: the default of cyclictest, of
/// jitterdebugger and of rtla's timerlat.
const UNSAID: Nanos = Nanos::from_millis(1);

/// What a run saw of a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenOf {
    /// The counts, and the time in which they were taken.
    pub seen: Seen,
    /// What had to be assumed, where the run does not say all of it.
    pub assumed: Option<String>,
}

/// Samples of a run above `limit`, never too few: those in its bucket are later unless the run says otherwise. `None` where
/// the file of an imported run does not say of some of its samples whether they are.
pub(crate) fn above(run: &RunRecord, histogram: &LatencyHistogram, limit: Nanos) -> Option<u64> {
    let limit = limit.get();
    let half = run.untraced().filter_map(|series| series.max_ns).max();
    let half = half.filter(|_| histogram.count() > run.total.count);
    let largest = run.total.max_ns.max(half).or_else(|| histogram.max());
    let Some(largest) = largest.filter(|max| *max > limit) else {
        return Some(0);
    };
    let next = next_above(run, limit).min(largest);
    let buckets = histogram.buckets().filter(|bucket| bucket.to_ns >= next);
    let later: u64 = buckets.map(|bucket| bucket.count).sum();
    // Those above all rows are later than every row, and for all that is known by no more than that.
    let rows_end = run.origin.as_ref().and_then(|of| of.rows_end_ns);
    let beyond = beyond_rows(run).min(histogram.count());
    let is_told = beyond == 0 || later > beyond || rows_end.is_some_and(|end| limit <= end);
    is_told.then_some(later)
}

/// The next value above `limit` that a sample of this run can be kept as: of a file in µs, whole ones or the upper ends of
/// their units.
fn next_above(run: &RunRecord, limit: u64) -> u64 {
    const US: u64 = 1_000;
    let width = run.origin.as_ref().and_then(|of| of.resolution_ns);
    match width.is_some_and(|width| width > 0 && width % US == 0) {
        true if limit % US < US - 1 => limit - limit % US + US - 1,
        _ => limit + 1,
    }
}

/// Samples of an imported run that its file counted above all of its rows. They are kept as the maximum.
pub(crate) fn beyond_rows(run: &RunRecord) -> u64 {
    let beyond = run.origin.as_ref().and(run.total.clamped);
    beyond.unwrap_or(0)
}

/// Returns what `run` saw of a limit that it counted as `deadline`, or else not: `above` of `samples`
/// were later.
pub fn seen(run: &RunRecord, deadline: Option<Nanos>, above: u64, samples: u64) -> SeenOf {
    let threads = || run.series.iter().filter(|series| series.thread.is_some());
    let longest = threads().map(wakeups).max().unwrap_or(samples);
    let of_one_thread = longest.min(samples);
    let by_interval = threads()
        .filter_map(|series| Some(float(wakeups(series)) * float(series.interval_ns?.get())))
        .reduce(f64::max);
    let lasted = run.duration_ns.filter(|lasted| *lasted > Nanos::ZERO);
    let lasted = lasted.map(|lasted| float(lasted.get()));
    let known = match (by_interval, lasted) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    let time_ns = known.unwrap_or_else(|| float(of_one_thread) * float(UNSAID.get()));
    let assumed = known.is_none().then(|| {
        "samples assumed to be 1 ms apart, the default of cyclictest and rtla; the file does not say"
            .to_owned()
    });
    let tails = run.untraced().chain([&run.total]).filter_map(of_tail);
    let worth = of_misses(run, deadline.filter(|_| above > 0)).chain(tails);
    SeenOf {
        seen: Seen {
            samples,
            above,
            of_one_thread,
            time_ns,
            dependence_ns: worth.reduce(f64::min).map_or(0.0, |least| time_ns / least),
        },
        assumed,
    }
}

/// The wake-ups that a thread was asked for.
pub fn wakeups(series: &Series) -> u64 {
    series.count.saturating_add(series.overruns.unwrap_or(0))
}

/// How many independent wake-ups the misses of each thread are worth.
fn of_misses(run: &RunRecord, deadline: Option<Nanos>) -> impl Iterator<Item = f64> {
    let all = run.series.iter().chain([&run.total]);
    let misses = all.flat_map(|series| &series.misses);
    misses
        .filter(move |misses| Some(misses.deadline_ns) == deadline && misses.all() > 0)
        .filter_map(|misses| misses.effective)
        .filter(|effective| *effective > 0.0)
}

/// How many independent samples say as much of the tail; in runs of older programs, of the mean.
fn of_tail(total: &Series) -> Option<f64> {
    let known = total.tail_effective_samples.or(total.effective_samples);
    known.filter(|effective| *effective > 0.0)
}

/// The assumption on bursts that a table of a run rests on: that of its requirements.
fn assumed(run: &RunRecord) -> Nanos {
    let asked = run.requirements.iter().find_map(|asked| asked.burst_ns);
    asked.unwrap_or(Nanos::new(DEFAULT_BURST_NS))
}

/// Writes the share of the wake-ups of a thread, or of all, that missed a deadline. None missed is no
/// share: then it is the upper bound.
pub fn missed(run: &RunRecord, series: &Series, misses: &Misses) -> Option<String> {
    let all = wakeups(series);
    if misses.all() > 0 || all == 0 {
        return share(misses.all(), all);
    }
    let evidence = seen(run, None, 0, all).seen.evidence(assumed(run).get());
    Some(format!(
        "<= {}",
        at_most(evidence.share_at_most(CONFIDENCE))
    ))
}

/// Says what such a bound is, below a table that has one.
pub fn note(run: &RunRecord) -> String {
    format!(
        "<=: upper bound if none was later, with {} confidence, if no burst of misses lasts longer than {}",
        percent(CONFIDENCE),
        span(assumed(run))
    )
}
