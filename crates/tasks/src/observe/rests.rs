// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What a set that is made of a run rests on: what the run saw and no analysis explains, and what it did not see.

use punctual_model::watch::{Watched, WatchedThread};
use punctual_model::{CheckStatus, Nanos, RunRecord};

/// A run watches for some time before its program begins, and after.
const AROUND: Nanos = Nanos::from_secs(1);

/// The end of each sentence on something that went wrong.
const NO_MORE: &str = "is in the set, or does not come again";

/// The remark on what was seen of a thread.
pub(super) fn cycles(name: &str, thread: &WatchedThread) -> String {
    let late = longer(thread).map_or_else(String::new, |late| format!(", {late}"));
    let missed = match thread.missed_releases {
        0 => String::new(),
        missed => format!("; {missed} more releases passed without a cycle of their own"),
    };
    format!("{name}: {} cycles{late}{missed}.", thread.cycles)
}

/// How many cycles were late, and for what.
fn longer(thread: &WatchedThread) -> Option<String> {
    let late = &thread.late;
    let limit = Nanos::new(late.limit_ns);
    // Without a cycle above its period the limit is a quantile, and nothing was late.
    let is_late = late.count > 0 && late.rule != "p99";
    is_late.then(|| {
        format!(
            "{} of them longer than the {} of {limit}",
            late.count, late.rule
        )
    })
}

/// What a set rests on that takes anything of this run.
pub(super) fn of_run(run: &RunRecord) -> Option<String> {
    let failed = run.checks.iter().filter(|c| c.status != CheckStatus::Pass);
    let failed: Vec<&str> = failed.map(|check| check.id.as_str()).collect();
    (!run.valid).then(|| {
        format!(
            "What run {} saw is right, although the run is not valid ({})",
            run.id,
            failed.join(", ")
        )
    })
}

/// What a set rests on that takes the times of this thread.
pub(super) fn of_thread(run: &RunRecord, name: &str, thread: &WatchedThread) -> Vec<String> {
    let (id, cycles) = (&run.id, thread.cycles);
    let mut all = Vec::new();
    if let Some(late) = longer(thread) {
        all.push(format!(
            "What made cycles of {name} late in run {id} ({cycles}, {late}) {NO_MORE}"
        ));
    }
    if thread.missed_releases > 0 {
        all.push(format!(
            "What let {} releases of {name} pass without a cycle in run {id} {NO_MORE}",
            thread.missed_releases
        ));
    }
    if let Some(open) = thread.open_ns {
        all.push(format!(
            "What kept {name} from ending its last cycle in run {id}, for {open}, {NO_MORE}"
        ));
    }
    let watched = run.watched.iter().flat_map(|watched| &watched.threads);
    for part in watched.filter(|of| is_part_of(of, thread)) {
        let period = part.period_ns.map(|period| format!(", each {period}"));
        all.push(format!(
            "What {name} did in run {id} as thread {}{} does not come again",
            part.thread,
            period.unwrap_or_default()
        ));
    }
    all.extend(unseen(run, name, thread));
    all
}

/// Whether this is what the same thread did at another time.
fn is_part_of(part: &WatchedThread, thread: &WatchedThread) -> bool {
    part.from_ns.is_some() && part.tid == thread.tid && part.thread != thread.thread
}

/// That a thread began late, or came to a halt, and nobody knows what it did then.
fn unseen(run: &RunRecord, name: &str, thread: &WatchedThread) -> Option<String> {
    let (period, whole) = (thread.period_ns?, run.duration_ns?);
    let releases = thread.cycles.saturating_add(thread.missed_releases);
    let covered = Nanos::new(period.get().saturating_mul(releases));
    let covered = covered + thread.open_ns.unwrap_or_default();
    // Periods that no timer says are means.
    let slack = AROUND.get() + whole.get() / 100;
    (covered.get().saturating_add(slack) < whole.get()).then(|| {
        format!(
            "{name} always does what it did in its {} cycles; they cover {covered} of the {whole} of run {}",
            thread.cycles, run.id
        )
    })
}

/// What is said of the program's threads that are no tasks.
pub(super) fn others(watched: &Watched, mut left_out: Vec<String>) -> Option<String> {
    let counted = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    left_out.extend(counted(
        watched.idle_threads,
        "that waited too seldom to be judged",
    ));
    left_out.extend(counted(
        watched.unwatched_threads,
        "beyond the number that is watched",
    ));
    (!left_out.is_empty()).then(|| {
        format!(
            "Threads of the program that are not in the set do not delay it: {}",
            left_out.join(", ")
        )
    })
}
