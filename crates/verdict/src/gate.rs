// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a run was asked without `--require`: what fails its exit status fails its test cases.

use punctual_model::{Ended, Nanos, RequirementRuling, RunRecord, Series};

use crate::bursts::wakeups;
use crate::number::span;
use crate::words::plural;

/// One thing that a run was asked, and what came out.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Asked {
    /// What was asked: `deadline 100 µs`, `threshold 5 µs`.
    pub name: String,
    /// Whether the run did what was asked.
    pub met: bool,
    /// Why.
    pub detail: String,
}

/// Returns everything that `run` was asked, requirements excepted.
pub fn asked(run: &RunRecord) -> Vec<Asked> {
    threshold(run)
        .into_iter()
        .chain(deadlines(run))
        .chain(bounds(run))
        .chain(protocols(run))
        .collect()
}

/// Says what `run` was asked and does not show, or did not do: what fails its exit status, requirements included.
pub fn unmet(run: &RunRecord) -> impl Iterator<Item = String> {
    let required = run.requirements.iter().filter(|of| !of.is_met());
    let required = required.map(|of| {
        let (above, samples) = (of.above, of.samples);
        let said = match of.ruling {
            RequirementRuling::Fail => "",
            _ => "not shown, ",
        };
        let asked = &of.requirement;
        format!("{asked}: {said}{above} of {samples} wake-ups later")
    });
    let other = asked(run).into_iter().filter(|of| !of.met);
    required.chain(other.map(|of| format!("{}: {}", of.name, of.detail)))
}

/// Whether a sample passed the threshold.
fn threshold(run: &RunRecord) -> Option<Asked> {
    let met = run.ended != Some(Ended::Threshold);
    let of_spec = run.spec.as_ref().and_then(|spec| spec.on_threshold_ns);
    let limit = run.threshold.as_ref().map(|hit| hit.threshold_ns);
    let limit = limit.or(of_spec);
    if met && limit.is_none() {
        return None;
    }
    Some(Asked {
        name: match limit {
            Some(limit) => format!("threshold {}", span(limit)),
            None => "threshold".to_owned(),
        },
        met,
        detail: match met {
            true => "no sample above it".to_owned(),
            false => "a sample above it ended the run".to_owned(),
        },
    })
}

/// The deadlines that were given. What a requirement names the requirement judges, and the deadline `auto` of
/// `measure deadline` is calibrated: it is nobody's demand.
fn deadlines(run: &RunRecord) -> Vec<Asked> {
    let given = run.setup.as_ref().and_then(|s| s.options.get("deadline"));
    if given.is_some_and(|deadline| deadline.starts_with("auto")) {
        return Vec::new();
    }
    let all = || run.series.iter().chain([&run.total]);
    let mut limits: Vec<Nanos> = Vec::new();
    for misses in all().flat_map(|series| &series.misses) {
        let limit = misses.deadline_ns;
        // One about all jobs together does not stand for the deadline of each task.
        let required = run.tasks.is_none() && run.requirements.iter().any(|r| r.limit_ns == limit);
        if !required && !limits.contains(&limit) {
            limits.push(limit);
        }
    }
    let each = limits.into_iter().map(|limit| {
        let of = |series: &Series| {
            let own = series.misses.iter().find(|of| of.deadline_ns == limit);
            own.map_or((0, 0), |of| {
                (of.count.saturating_add(of.overruns), wakeups(series))
            })
        };
        // The total is of one kind of sample only, where a run has several, or of none.
        let (late, of_all) = of(&run.total);
        let parts = run.series.iter().map(of);
        let parts = parts.fold((0_u64, 0_u64), |sum, part| {
            (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))
        });
        let (late, of_all) = match late >= parts.0 && of_all > 0 {
            true => (late, of_all),
            false => parts,
        };
        Asked {
            name: format!("deadline {}", span(limit)),
            met: late == 0,
            detail: format!("{late} of {of_all} wake-ups later"),
        }
    });
    each.collect()
}

/// Each task with a bound: a job that took longer contradicts the analysis.
fn bounds(run: &RunRecord) -> Vec<Asked> {
    let Some(tasks) = &run.tasks else {
        return Vec::new();
    };
    let has_bound = |name: &str| {
        let mut checked = tasks.check.tasks.iter();
        checked.any(|task| task.name == name && task.response_ns.is_some())
    };
    let judged = tasks
        .tasks
        .iter()
        .filter(|task| task.above_bound > 0 || has_bound(&task.name));
    let each = judged.map(|task| Asked {
        name: format!("bound of task {}", task.name),
        met: task.above_bound == 0,
        detail: format!(
            "{} of {} job{} took longer than the bound by analysis",
            task.above_bound,
            task.jobs,
            plural(usize::try_from(task.jobs).unwrap_or(usize::MAX))
        ),
    });
    each.collect()
}

/// Each protocol of `measure pi` that promises to bound the wait: none of its cycles is inverted.
fn protocols(run: &RunRecord) -> Vec<Asked> {
    if run.instrument != "pi" {
        return Vec::new();
    }
    let shares = run.figures.iter().filter(|of| of.name == "inverted");
    let named = shares.filter_map(|of| Some((of.labels.get("protocol")?, of)));
    let each = named
        .filter(|(protocol, _)| *protocol != "none")
        .map(|(protocol, share)| Asked {
            name: format!("bounded wait with protocol {protocol}"),
            met: share.value.is_some_and(|share| share <= 0.0),
            detail: match share.value {
                Some(value) => format!(
                    "the medium-priority thread ran first in {:.2} % of {} cycles",
                    value * 100.0,
                    share.count
                ),
                None => "no cycle went as arranged".to_owned(),
            },
        });
    each.collect()
}
