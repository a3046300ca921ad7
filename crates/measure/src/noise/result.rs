// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From what the threads saw and the kernel counted to figures, findings and checks.

use punctual_model::{
    Better, Check, CpuId, Figure, Finding, Nanos, Ordered as _, Sample, Series, figure_words,
};
use punctual_sys::SysRoot;

use super::counters::{Deltas, all_of, by_source};
use super::{Done, Noise, Scale, Spot, TURNS};
use crate::checks::lost_samples;
use crate::crew::ThreadReport;
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame};
use crate::rates::scaled;

/// How far the counter's rate over the run may be from that before it.
const RATE_LIMIT: f64 = 1e-4;

/// Sources that a sentence names.
const NAMED: usize = 3;

/// Sums a run up.
pub(crate) fn found(
    noise: Noise,
    rate: Option<f64>,
    scale: Scale,
    frame: &Frame<'_>,
    spots: &mut [Spot],
    results: Vec<(Done, ThreadReport)>,
    counted: &Deltas,
) -> Result<Found, MeasureError> {
    let mut found = Found {
        ended: frame.ended(),
        faults_spoil: true,
        ..Found::default()
    };
    let mut largest: Vec<Sample> = Vec::new();
    let mut rates = Vec::new();
    let (mut turns, mut backward) = (0, 0);
    for (spot, (done, mut report)) in spots.iter_mut().zip(results) {
        check_threshold(noise, scale, &done)?;
        if let Some(errno) = done.watched.failure {
            let (thread, source) = (report.evidence.ready.index, errno.into());
            return Err(MeasureError::Sleep { thread, source });
        }
        report.narrow_to(done.usage);
        let watched = scale.nanos(done.watched.ticks);
        spot.bins.finish(watched);
        let figures = figures(spot, &done, watched, counted);
        found
            .findings
            .push(sources(spot, noise, &done, watched, counted));
        found.findings.extend(without_interval(spot.cpu, &figures));
        found.figures.extend(figures);
        largest.extend(&spot.largest);
        rates.extend(
            done.around[0]
                .rate_to(&done.around[1])
                .filter(|_| rate.is_some()),
        );
        turns += done.watched.turns;
        backward += done.watched.backward;
        found.series.push(Series {
            interval_ns: None,
            overruns: None,
            warm_up_samples: None,
            ..spot.stream.series(None)
        });
        found.threads.push(report);
    }
    found.figures.extend(of_sources(counted));
    found.figures.extend(told(largest));
    found.findings.extend(unknown(frame.sys(), counted));
    let tallies: Vec<_> = spots.iter().map(|s| s.stream.tally()).collect();
    found.total = figures::total(&tallies);
    found.total.lost = found.series.iter().map(|s| s.lost).sum();
    for (n, spot) in spots.iter().enumerate() {
        found.store(n.to_string(), spot.stream.tally());
    }
    found.checks = checks(&found.series, turns);
    found.checks.push(counter(rate, &rates, backward));
    Ok(found)
}

/// A threshold near one turn makes gaps of the loop's own jitter, or of each turn.
fn check_threshold(noise: Noise, scale: Scale, done: &Done) -> Result<(), MeasureError> {
    let (threshold, cost) = (scale.ticks(noise.threshold), done.cost);
    if threshold >= cost.saturating_mul(TURNS) {
        return Ok(());
    }
    let least = scale.nanos(cost.saturating_mul(TURNS));
    // What a conversion rounds down is not enough.
    let least = least + Nanos::new(u64::from(scale.ticks(least) < cost.saturating_mul(TURNS)));
    Err(MeasureError::Spec {
        option: format!("--threshold {}", noise.threshold),
        reason: format!(
            "one turn of the loop takes {} here, and a gap must be at least {TURNS} turns long: {} or more tells \
             one from a turn",
            scale.nanos(cost),
            least
        ),
    })
}

#[expect(clippy::cast_precision_loss, reason = "figures")]
fn figures(spot: &Spot, done: &Done, watched: Nanos, counted: &Deltas) -> Vec<Figure> {
    let cpu = spot.cpu;
    let seconds = watched.as_secs_f64();
    let per_second = |n: f64| (seconds > 0.0).then(|| n / seconds);
    let own = |name: &str, unit: &str, better, value: f64| {
        Figure::single(name, unit, better, value).at("cpu", cpu)
    };
    let gaps = done.watched.gaps;
    // Those that found the ring full are in the count, and in no sum: the run is invalid then.
    let moments = spot.stream.tally().moments();
    let lost = moments.mean().unwrap_or(0.0) * moments.count() as f64 / 1e9;
    let rate_interval = spot.bins.gaps_interval();
    let mut figures = vec![
        Figure {
            count: gaps,
            value: per_second(gaps as f64),
            interval: rate_interval.and_then(|i| Some(scaled(i, per_second(1.0)?))),
            ..own("gaps_per_second", "1/s", Better::Lower, 0.0)
        },
        Figure {
            count: gaps,
            value: per_second(lost),
            interval: spot.bins.share_interval(),
            ..own("time_lost", "1", Better::Lower, 0.0)
        },
        own("time_watched", "s", Better::Neither, seconds),
        Figure {
            count: done.watched.turns,
            value: turn_of(spot, done, watched),
            ..own("loop_turn", "ns", Better::Neither, 0.0)
        },
    ];
    let usage = &done.usage;
    for (name, unit, count) in [
        ("interrupts", "interrupts", all_of(&counted.interrupts, cpu)),
        ("softirqs", "softirqs", all_of(&counted.softirqs, cpu)),
        (
            "voluntary_ctxt_switches",
            "switches",
            usage.voluntary_switches,
        ),
        (
            "nonvoluntary_ctxt_switches",
            "switches",
            usage.involuntary_switches,
        ),
    ] {
        figures.push(own(name, unit, Better::Neither, count as f64));
    }
    if let Some(count) = counted.shootdowns.get(&cpu) {
        let unit = "shootdowns";
        figures.push(own("tlb_shootdowns", unit, Better::Neither, *count as f64));
    }
    if let Some(ms) = counted.stolen_ms.get(&cpu) {
        figures.push(own("stolen_time", "ms", Better::Neither, *ms as f64));
    }
    if let Some(Ok(smi)) = counted.smi.get(&cpu) {
        figures.push(own("smi", "interrupts", Better::Lower, f64::from(*smi)));
    }
    figures
}

/// Returns what a turn without a gap takes, in ns. None without a turn.
#[expect(clippy::cast_precision_loss, reason = "figures")]
fn turn_of(spot: &Spot, done: &Done, watched: Nanos) -> Option<f64> {
    let moments = spot.stream.tally().moments();
    let lost = moments.mean().unwrap_or(0.0) * moments.count() as f64;
    let turns = done.watched.turns.checked_sub(moments.count())?;
    (turns > 0).then(|| (watched.get() as f64 - lost) / turns as f64)
}

/// Returns the counts of each source, of all measured CPUs together.
#[expect(clippy::cast_precision_loss, reason = "figures")]
fn of_sources(counted: &Deltas) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (name, unit, table) in [
        ("interrupts_of", "interrupts", &counted.interrupts),
        ("softirqs_of", "softirqs", &counted.softirqs),
    ] {
        let mut sources: Vec<_> = by_source(table).into_iter().collect();
        sources.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        figures.extend(sources.into_iter().map(|(source, count)| {
            Figure::single(name, unit, Better::Neither, count as f64).at("source", source)
        }));
    }
    figures
}

/// Returns the largest gaps of all CPUs, each with its moment.
#[expect(clippy::cast_precision_loss, reason = "figures")]
fn told(mut largest: Vec<Sample>) -> Vec<Figure> {
    largest.order_by_key(|gap| std::cmp::Reverse(gap.latency_ns));
    largest
        .into_iter()
        .take(super::LARGEST)
        .map(|gap| {
            let at = Nanos::new(gap.t_ns).as_secs_f64();
            Figure::single("largest_gap", "ns", Better::Lower, gap.latency_ns as f64)
                .at("cpu", gap.cpu)
                .at("at", format!("{at:.6} s"))
        })
        .collect()
}

/// Says how many of them there are: `1 gap`, `2 gaps`.
fn several(n: u64, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}

/// Says what was counted on a CPU in addition to its gaps.
fn sources(spot: &Spot, noise: Noise, done: &Done, watched: Nanos, counted: &Deltas) -> Finding {
    let cpu = spot.cpu;
    let mut beside: Vec<String> = Vec::new();
    let mut interrupts: Vec<_> = counted.interrupts.get(&cpu).into_iter().flatten().collect();
    interrupts.order_by_key(|(_, count)| std::cmp::Reverse(**count));
    let rest: u64 = interrupts
        .iter()
        .skip(NAMED)
        .map(|(_, count)| **count)
        .sum();
    let named = interrupts.iter().take(NAMED);
    beside.extend(named.map(|(source, n)| format!("{} {source}", several(**n, "interrupt"))));
    if rest > 0 {
        beside.push(several(rest, "other interrupt"));
    }
    match counted.shootdowns.get(&cpu) {
        None | Some(0) => {}
        Some(1) => beside.push("1 TLB shootdown, by a function call".to_owned()),
        Some(n) => beside.push(format!("{n} TLB shootdowns, by function calls")),
    }
    beside.push(several(all_of(&counted.softirqs, cpu), "softirq"));
    beside.push(match done.usage.involuntary_switches {
        1 => "1 context switch".to_owned(),
        n => format!("{n} context switches"),
    });
    if let Some(ms) = counted.stolen_ms.get(&cpu) {
        beside.push(format!("{ms} ms taken by the hypervisor"));
    }
    if let Some(Ok(smi)) = counted.smi.get(&cpu) {
        beside.push(several(u64::from(*smi), "system management interrupt"));
    }
    let whole = match noise.duty.is_full() {
        true => "",
        false => ", pauses included,",
    };
    Finding::observed(
        "noise-sources",
        format!(
            "CPU {cpu} had {} longer than {} in {watched}; in that time{whole} the kernel \
             counted on this CPU: {}. A turn of the loop without a gap took {:.1} ns",
            several(done.watched.gaps, "gap"),
            noise.threshold,
            beside.join(", "),
            turn_of(spot, done, watched).unwrap_or(0.0),
        ),
    )
}

/// Says why the estimates of a CPU have no interval.
fn without_interval(cpu: CpuId, figures: &[Figure]) -> Option<Finding> {
    let estimates = ["gaps_per_second", "time_lost"];
    let lacks = |figure: &&Figure| {
        estimates.contains(&figure.name.as_str()) && figure.count > 0 && figure.interval.is_none()
    };
    let lacking: Vec<String> = figures
        .iter()
        .filter(lacks)
        .map(|figure| figure_words(&figure.name))
        .collect();
    (!lacking.is_empty()).then(|| {
        Finding::observed(
            "no-interval",
            format!(
                "CPU {cpu}: no interval of {}: fewer than 128 bins of 10 ms, or bins that depend on each other for too long. \
                 Measure longer",
                lacking.join(" and ")
            ),
        )
    })
}

/// Says what cannot be known here.
fn unknown(sys: &SysRoot, counted: &Deltas) -> Vec<Finding> {
    let tracers = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"]
        .iter()
        .find_map(|dir| sys.read(&format!("{dir}/available_tracers")).ok());
    let tracer = match &tracers {
        Some(list) if list.split_whitespace().any(|t| t == "osnoise") => {
            "which this kernel has: rtla osnoise"
        }
        Some(_) => "which this kernel does not have",
        None => "whether this kernel has it is unknown",
    };
    let mut findings = vec![Finding::observed(
        "causes-of-single-gaps",
        format!(
            "unknown: the kernel's counts cover the whole run, and reading them in the loop would \
             itself make gaps. The osnoise tracer names the cause of each gap, {tracer}"
        ),
    )];
    let refused = counted.smi.values().find_map(|smi| smi.as_ref().err());
    findings.extend(refused.map(|why| {
        Finding::observed(
            "smi-unknown",
            format!("system management interrupts cannot be counted here: {why}"),
        )
    }));
    findings
}

/// No gap is a good result, but no turn is none.
fn checks(series: &[Series], turns: u64) -> Vec<Check> {
    let count: u64 = series.iter().map(|s| s.count).sum();
    let lost: u64 = series.iter().filter_map(|s| s.lost).sum();
    let clamped: u64 = series.iter().filter_map(|s| s.clamped).sum();
    vec![
        Check::of(
            "samples",
            turns > 0,
            format!("{count} gaps in {turns} turns of the loop"),
        ),
        lost_samples("gaps", count, lost),
        Check::of(
            "clamped-samples",
            clamped == 0,
            format!("{clamped} gaps beyond the histogram's range"),
        ),
    ]
}

/// Judges the counter: it must have gone forward, as fast as before.
fn counter(rate: Option<f64>, over_run: &[f64], backward: u64) -> Check {
    const ID: &str = "counter";
    if backward > 0 {
        return Check::fail(ID, format!("went back {backward} times"));
    }
    let Some(rate) = rate else {
        return Check::pass(
            ID,
            "CLOCK_MONOTONIC: the time stamp counter cannot serve as a clock on this machine",
        );
    };
    let off = over_run.iter().map(|r| (r / rate - 1.0).abs());
    let worst = off.fold(0.0, f64::max);
    Check::of(
        ID,
        worst <= RATE_LIMIT,
        format!(
            "time stamp counter at {:.6} MHz of CLOCK_MONOTONIC_RAW before the run, at most {:.1} ppm off \
             during it",
            rate / 1e6,
            1e6 * worst
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_that_changed_its_rate_is_refused() {
        assert!(counter(Some(2e9), &[2e9 + 1_000.0, 2e9], 0).passed());
        assert!(!counter(Some(2e9), &[2.01e9], 0).passed());
        assert!(!counter(Some(2e9), &[2e9], 1).passed());
        assert!(counter(None, &[], 0).passed());
    }

    #[test]
    fn an_estimate_without_an_interval_has_a_reason() {
        let figure = |name, interval, count| Figure {
            interval,
            count,
            ..Figure::single(name, "1", Better::Lower, 1.0)
        };
        let interval = Some(punctual_model::Interval {
            low: 0.5,
            high: 1.5,
            confidence: 0.95,
        });
        let with = |interval, count| {
            without_interval(
                1,
                &[
                    figure("gaps_per_second", interval, count),
                    figure("time_lost", None, count),
                    figure("loop_turn", None, count),
                ],
            )
        };
        let said = with(interval, 3).unwrap().detail;
        let expected = "CPU 1: no interval of share of time lost: ";
        assert!(said.starts_with(expected), "{said}");
        assert!(with(None, 3).unwrap().detail.contains(" and "));
        assert_eq!(with(None, 0), None);
    }

    #[test]
    fn counts_of_one_are_one() {
        assert_eq!(several(1, "interrupt"), "1 interrupt");
        assert_eq!(several(0, "gap"), "0 gaps");
    }

    #[test]
    fn the_largest_gaps_come_first_with_their_moment() {
        let gap = |latency_ns, cpu| Sample {
            t_ns: 1_500_000_000,
            latency_ns,
            cpu,
            skipped: 0,
        };
        let figures = told(vec![gap(5, 0), gap(9, 1)]);
        assert_eq!(figures[0].value, Some(9.0));
        assert_eq!(figures[0].labels["cpu"], "1");
        assert_eq!(figures[0].labels["at"], "1.500000 s");
    }

    #[test]
    fn what_cannot_be_known_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let sys = SysRoot::at(dir.path());
        let tracing = dir.path().join("sys/kernel/tracing");
        std::fs::create_dir_all(&tracing).unwrap();
        let mut counted = Deltas::default();
        counted.smi.insert(0, Err("no driver".to_owned()));
        for (tracers, part) in [
            (None, "has it is unknown"),
            (Some("blk function nop"), "does not have"),
            (Some("timerlat osnoise nop"), "rtla osnoise"),
        ] {
            if let Some(text) = tracers {
                std::fs::write(tracing.join("available_tracers"), text).unwrap();
            }
            let findings = unknown(&sys, &counted);
            assert!(findings[0].detail.contains(part), "{findings:?}");
            assert!(findings[1].detail.ends_with("no driver"), "{findings:?}");
        }
    }
}
