// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the threads did to figures, findings and checks.

use punctual_model::{Better, Check, Figure, Finding, Nanos, Series};
use punctual_stats::requirement::{DEFAULT_BURST_NS, Seen};

use super::calibrate::{self, Calibrated};
use super::neighbours::Waiting;
use super::options::{Deadline, Due, Work};
use super::pattern::{self, Evidence};
use super::status::{CpuTime, Moment};
use super::{Done, Watched};
use crate::budget::{Budgets, fair_server};
use crate::crew::ThreadReport;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame, Throttling};
use crate::rates::{scaled, share_interval};
use crate::stream::sample_checks;

/// The kind of the series that the total is of.
const RESPONSE: &str = "response";

/// The kind of the series of those that were late.
const LATENESS: &str = "lateness";

/// Sums a run up.
pub(crate) fn found(
    deadline: Deadline,
    frame: &Frame<'_>,
    watched: &[Watched],
    results: Vec<(Done, ThreadReport)>,
    budgets: &Budgets,
    waiting: &[Waiting],
) -> Result<Found, MeasureError> {
    let mut found = Found {
        ended: frame.ended(),
        faults_spoil: true,
        throttling: Throttling::IsAResult,
        ..Found::default()
    };
    let mut disturbed = Vec::new();
    let nobody = Waiting::default();
    for (index, (done, mut report)) in results.into_iter().enumerate() {
        let Some(watched) = watched.get(index) else {
            continue;
        };
        let thread = report.evidence.ready.index;
        if let Some(errno) = done.worked.failure {
            let source = errno.into();
            return Err(MeasureError::Sleep { thread, source });
        }
        report.narrow_to(done.after.usage.since(&done.before.usage));
        found
            .figures
            .extend(figures(deadline, thread, &done, watched, &report));
        found.findings.push(cpus_allowed(thread, &done, frame));
        found.findings.extend(hopeless(thread, &done.calibrated));
        let (stalls, dropped) = done.stalls.found();
        found.findings.extend(pattern::findings(&Evidence {
            thread,
            policy: report.evidence.asked_policy,
            stalls,
            dropped,
            undisturbed: done.calibrated.undisturbed,
            span: done.worked.end - done.worked.begin,
            ran: report.usage().cpu_time,
            cpu: CpuTime::between(&done.before, &done.after),
            budgets,
            fair_server: fair_server(frame.sys(), watched.pinned_to),
            waiting: waiting.get(index).unwrap_or(&nobody),
        }));
        let [response, lateness] = series(deadline, &done.calibrated, watched);
        found
            .findings
            .extend(drift(thread, &done, report.usage().cpu_time, &response));
        found.series.extend([response, lateness]);
        disturbed.push((thread, done.calibrated));
        found.threads.push(report);
    }
    summed_up(&mut found, watched);
    found.checks.push(calibration(deadline, &disturbed));
    found.checks.push(work(deadline.work, &disturbed));
    Ok(found)
}

/// Makes the total, which is of the responses, and what is stored and checked of all threads.
fn summed_up(found: &mut Found, watched: &[Watched]) {
    let tallies: Vec<_> = watched.iter().map(|w| w.stream.tally()).collect();
    found.total = figures::total(&tallies);
    let responses: Vec<Series> = found
        .series
        .iter()
        .filter(|s| s.context.as_deref() == Some(RESPONSE))
        .cloned()
        .collect();
    found.total.overruns = responses.iter().map(|s| s.overruns).sum();
    found.total.lost = responses.iter().map(|s| s.lost).sum();
    for (thread, watched) in watched.iter().enumerate() {
        for (kind, tally) in [
            (RESPONSE, watched.stream.tally()),
            (LATENESS, watched.late.lateness()),
        ] {
            found.store(format!("{thread}/{kind}"), tally);
        }
    }
    found.checks = sample_checks(&responses);
}

/// Returns the series of the responses, and that of the lateness of those that were late.
fn series(deadline: Deadline, calibrated: &Calibrated, watched: &Watched) -> [Series; 2] {
    let period = deadline.interval_of(calibrated.undisturbed);
    let mut response = watched.stream.series(Some(RESPONSE));
    response.interval_ns = period;
    response.warm_up_samples = None;
    // At full duty nothing can be skipped: each end is the next one's release.
    response.overruns = response.overruns.filter(|_| period.is_some());
    response.misses = vec![watched.late.misses(calibrated.deadline)];
    let lateness = Series {
        thread: response.thread,
        context: Some(LATENESS.to_owned()),
        cpu: response.cpu,
        policy: response.policy.clone(),
        interval_ns: period,
        ..figures::series(watched.late.lateness())
    };
    [response, lateness]
}

#[expect(clippy::cast_precision_loss, reason = "figures")]
fn figures(
    deadline: Deadline,
    thread: u32,
    done: &Done,
    watched: &Watched,
    report: &ThreadReport,
) -> Vec<Figure> {
    let calibrated = &done.calibrated;
    let own = |name: &str, unit: &str, better, value: f64| {
        Figure::single(name, unit, better, value).at("thread", thread)
    };
    let misses = watched.late.misses(calibrated.deadline);
    let releases = done.worked.iterations + misses.overruns;
    let seconds = (done.worked.end - done.worked.begin).as_secs_f64();
    let time_ns = (done.worked.end - done.worked.begin).get() as f64;
    let seen = Seen {
        samples: releases,
        above: misses.all(),
        of_one_thread: releases,
        time_ns,
        dependence_ns: misses
            .effective
            .map_or(0.0, |effective| time_ns / effective),
    };
    let trials = seen.evidence(DEFAULT_BURST_NS).effective;
    let share = share_interval(misses.all(), releases, Some(trials));
    let (missed, all) = (misses.all() as f64, releases as f64);
    let rate = (seconds > 0.0).then_some(all / seconds);
    let quiet = calibrated.quiet > 0;
    let ran = report.usage().cpu_time.as_secs_f64();
    let mut figures = vec![
        Figure {
            count: releases,
            value: (releases > 0).then(|| missed / all),
            interval: share,
            ..own("missed_share", "1", Better::Lower, 0.0)
        },
        Figure {
            count: releases,
            value: rate.map(|rate| rate * missed / all.max(1.0)),
            interval: share.zip(rate).map(|(share, rate)| scaled(share, rate)),
            ..own("misses_per_second", "1/s", Better::Lower, 0.0)
        },
        own(
            "deadline",
            "ns",
            Better::Neither,
            calibrated.deadline.get() as f64,
        ),
        Figure {
            count: calibrated.quiet,
            value: quiet.then_some(calibrated.undisturbed.get() as f64),
            min: quiet.then_some(calibrated.min.get() as f64),
            max: quiet.then_some(calibrated.max.get() as f64),
            stddev: calibrated.stddev_ns,
            ..own("undisturbed_iteration", "ns", Better::Neither, 0.0)
        },
        own(
            "additions",
            "additions",
            Better::Neither,
            calibrated.additions as f64,
        ),
        Figure {
            value: (seconds > 0.0).then(|| ran / seconds),
            ..own("cpu_share", "1", Better::Neither, 0.0)
        },
    ];
    let interval = deadline.interval_of(calibrated.undisturbed);
    figures.extend(interval.map(|time| own("interval", "ns", Better::Neither, time.get() as f64)));
    for (when, moment) in [("before", &done.before), ("after", &done.after)] {
        for (name, count) in switches(moment) {
            figures.extend(
                count.map(|n| own(name, "switches", Better::Neither, n as f64).at("when", when)),
            );
        }
    }
    figures
}

/// Returns the counts of context switches under the kernel's names.
fn switches(moment: &Moment) -> [(&'static str, Option<u64>); 2] {
    [
        ("voluntary_ctxt_switches", moment.voluntary),
        ("nonvoluntary_ctxt_switches", moment.nonvoluntary),
    ]
}

/// Says where the thread could run.
fn cpus_allowed(thread: u32, done: &Done, frame: &Frame<'_>) -> Finding {
    let list = |moment: &Moment| {
        let list = moment.allowed.clone();
        list.unwrap_or_else(|| "unknown".to_owned())
    };
    Finding::observed(
        "cpus-allowed",
        format!(
            "thread {thread}: Cpus_allowed_list was {} before the first iteration and {} after the \
             last; the program was started with {}",
            list(&done.before),
            list(&done.after),
            frame.original_cpus()
        ),
    )
}

/// Says if no iteration can be in time: its work takes longer than the deadline.
fn hopeless(thread: u32, calibrated: &Calibrated) -> Option<Finding> {
    (calibrated.deadline < calibrated.undisturbed).then(|| {
        Finding::observed(
            "deadline-shorter-than-work",
            format!(
                "thread {thread}: the deadline of {} is shorter than the work of an undisturbed \
                 iteration, {}: iterations miss it whatever the machine does",
                calibrated.deadline, calibrated.undisturbed
            ),
        )
    })
}

/// Says if iterations of the run took another time than those of the calibration, and why: `ran` is the CPU
/// time of all of them.
#[expect(clippy::cast_precision_loss, reason = "shares")]
fn drift(thread: u32, done: &Done, ran: Nanos, response: &Series) -> Option<Finding> {
    let calibrated = &done.calibrated;
    let median = response.quantiles_ns.get("p50").copied().flatten()?;
    let (was, margin) = (
        calibrated.undisturbed.get() as f64,
        (calibrated.deadline - calibrated.undisturbed).get() as f64,
    );
    let off = median as f64 - was;
    if off.abs() <= margin / 2.0 {
        return None;
    }
    let used = Nanos::new(ran.get() / done.worked.iterations.max(1));
    let waited = response.mean_ns.unwrap_or(0.0) - used.get() as f64;
    let why = cause(off, used.get() as f64 - was, waited);
    Some(Finding::observed(
        "speed-drift",
        format!(
            "thread {thread}: the median iteration of the run took {}, {:.1} % {} than the {} that it was calibrated \
             with; {used} each was CPU time (mean): {why}",
            Nanos::new(median),
            100.0 * off.abs() / was.max(1.0),
            if off < 0.0 { "less" } else { "more" },
            calibrated.undisturbed
        ),
    ))
}

/// Says what explains at least half of a median that lies `off`: that an iteration used so much `more` CPU
/// time, or that it `waited`, both of the mean iteration.
fn cause(off: f64, more: f64, waited: f64) -> &'static str {
    if more / off >= 0.5 {
        return if off < 0.0 {
            "the CPU was faster in the run"
        } else {
            "the CPU was slower in the run"
        };
    }
    if waited / off >= 0.5 {
        return "the thread waited for the rest";
    }
    "neither explains the mean iteration"
}

/// A deadline from disturbed iterations is none. One that was given does not depend on them.
fn calibration(deadline: Deadline, threads: &[(u32, Calibrated)]) -> Check {
    const ID: &str = "calibration";
    let tell = |(thread, c): &(u32, Calibrated)| match c.quiet {
        0 => format!(
            "thread {thread}: {} additions took {} of CPU time (median of {} iterations)",
            c.additions, c.undisturbed, c.tried
        ),
        _ => format!(
            "thread {thread}: {} additions took {} (median of {} iterations without a context switch, of {}; {} to \
             {})",
            c.additions, c.undisturbed, c.quiet, c.tried, c.min, c.max
        ),
    };
    let told: Vec<String> = threads.iter().map(tell).collect();
    let disturbed: Vec<String> = threads
        .iter()
        .filter_map(|(thread, c)| Some(format!("thread {thread}: {}", c.disturbance()?)))
        .collect();
    let given = matches!(deadline.due, Due::Time(_));
    if disturbed.is_empty() {
        return Check::pass(ID, told.join("; "));
    }
    let text = format!("disturbed: {}; {}", disturbed.join("; "), told.join("; "));
    if given {
        Check::pass(ID, format!("{text}; the deadline was given"))
    } else {
        Check::fail(ID, format!("{text}; give the deadline as a time"))
    }
}

/// The work must be that which was asked for: a loop of another length is another loop.
fn work(asked: Work, threads: &[(u32, Calibrated)]) -> Check {
    const ID: &str = "work";
    let Work::Time(asked) = asked else {
        return Check::pass(ID, "a number of additions was given, not a length");
    };
    let tell = |(thread, c): &(u32, Calibrated)| format!("{} on thread {thread}", c.undisturbed);
    let (met, other): (Vec<_>, Vec<_>) = threads.iter().partition(|(_, c)| c.is_length(asked));
    let limit = calibrate::LENGTH_LIMIT * 100.0;
    if other.is_empty() {
        let told: Vec<String> = met.into_iter().map(tell).collect();
        let text = format!(
            "{asked} per iteration requested; undisturbed iterations take {}",
            told.join(", ")
        );
        return Check::pass(ID, text);
    }
    let told: Vec<String> = other.into_iter().map(tell).collect();
    Check::fail(
        ID,
        format!(
            "{asked} per iteration requested, but undisturbed iterations take {}, more than \
             {limit:.0} % off: the CPU's speed changes too much to calibrate; fix the work with \
             --additions",
            told.join(", ")
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_of_another_length_than_asked_for_fails_and_says_both() {
        let took = |us: u64| Calibrated {
            undisturbed: Nanos::from_micros(us),
            ..Calibrated::default()
        };
        let asked = Work::Time(Nanos::from_micros(800));
        let check = work(asked, &[(0, took(810)), (1, took(1_600))]);
        assert!(!check.passed());
        for part in ["800 µs per iteration requested", "1.6 ms on thread 1"] {
            assert!(check.detail.contains(part), "{}", check.detail);
        }
        assert!(!check.detail.contains("thread 0"), "{}", check.detail);
        let check = work(asked, &[(0, took(810)), (1, took(760))]);
        assert!(check.passed(), "{}", check.detail);
        assert!(work(Work::Additions(7), &[(0, took(1_600))]).passed());
        assert!(!work(asked, &[(0, took(700))]).passed());
    }

    #[test]
    fn a_deadline_that_no_iteration_can_meet_is_told() {
        let calibrated = |deadline: u64| Calibrated {
            undisturbed: Nanos::from_millis(10),
            deadline: Nanos::from_millis(deadline),
            ..Calibrated::default()
        };
        assert_eq!(hopeless(0, &calibrated(10)), None);
        let finding = hopeless(3, &calibrated(1)).unwrap();
        assert!(
            finding.detail.contains("1 ms is shorter than the work"),
            "{finding:?}"
        );
    }

    #[test]
    fn a_drift_has_the_cause_that_explains_half_of_it() {
        for (off, more, waited, said) in [
            (-4.0, -3.5, 0.5, "faster"),
            (6.0, 5.5, 0.5, "slower"),
            (6.0, 0.1, 5.8, "waited"),
            // Nobody waits for less time, and a median need not be like the mean.
            (-4.0, -0.5, 0.4, "neither"),
            (6.0, 1.0, 0.1, "neither"),
        ] {
            assert!(
                cause(off, more, waited).contains(said),
                "{off} {more} {waited}"
            );
        }
    }
}
