// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Release accuracy: how exactly a thread can begin a cycle that sleeps until shortly before its
//! deadline and spins for the rest, and what that costs.
//!
//! This is not a wake-up latency: the spinning hides what the kernel needs, at the price of CPU time.
//! Both are therefore shown together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use punctual_model::{Better, Clock, CpuId, Figure, Finding, Nanos, Progress, Sample};
use punctual_sys::clock;
use punctual_sys::timer::{Errno, Nanosleep, Sleeper as _};

use crate::crew::{Crew, Post, ThreadReport};
use crate::error::MeasureError;
use crate::figures;
use crate::frame::{Found, Frame};
use crate::stream::{Stream, Tap, sample_checks};

/// What to measure.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Release {
    /// Time between deadlines.
    pub interval: Nanos,
    /// How long before a deadline the thread asks to be woken, to spin for what is left.
    pub spin: Nanos,
}

/// What one thread does.
#[derive(Debug)]
pub struct Cycles {
    /// How.
    pub release: Release,
    /// Time zero of the run. The first deadline is one interval later.
    pub origin: Nanos,
    /// No deadline after this is waited for.
    pub end: Nanos,
    /// CPU of the thread.
    pub cpu: CpuId,
    /// Ends the loop at the next deadline.
    pub stop: Arc<AtomicBool>,
}

/// What one thread counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Wake-ups that came after the deadline: there was nothing left to spin for.
    pub late: u64,
    /// Deadlines that were waited for.
    pub cycles: u64,
    /// What the kernel said to a sleep, if that ended the loop.
    pub failure: Option<Errno>,
}

/// Measures with one thread a CPU of the frame's set-up.
///
/// # Errors
///
/// Fails when a thread cannot be started or a sleep fails.
pub fn run(release: Release, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let begun = Arc::<AtomicU64>::default();
    let mut streams = Vec::new();
    let mut works = Vec::new();
    for (thread, cpu) in (0..).zip(setup.cpus.iter()) {
        let post = Post::on(format!("release/{thread}"), setup.priority, cpu);
        let (mut tap, stream) = Stream::pair(thread, &post, release.interval, &frame.keep());
        streams.push(stream);
        let (begun, stop) = (Arc::clone(&begun), frame.stop_flag());
        let duration = setup.duration_ns;
        works.push((post, move || {
            let origin = Nanos::new(begun.load(Ordering::Relaxed));
            let cycles = Cycles {
                release,
                origin,
                end: duration.map_or(Nanos::MAX, |d| origin + d),
                cpu,
                stop,
            };
            cycles.run(&mut tap)
        }));
    }
    let crew = Crew::assemble(works)?;
    frame.start_at(&crew, |origin| begun.store(origin.get(), Ordering::Relaxed))?;
    let mut progress = || {
        streams.iter_mut().for_each(|s| s.drain(|_| ()));
        Progress {
            series: streams.iter_mut().map(Stream::progress).collect(),
            ..Progress::default()
        }
    };
    frame.attend(&crew, &mut progress);
    let results = crew.join()?;
    frame.last(progress());
    conclude(release, frame, &streams, results)
}

impl Cycles {
    /// Sleeps and spins, cycle after cycle.
    ///
    /// Hot: from the first sleep to the return this allocates nothing, locks nothing, and calls
    /// only the clock and the sleep. `tests/no_alloc.rs` holds it to that.
    pub fn run(&self, tap: &mut Tap) -> Counted {
        let mut counted = Counted::default();
        let mut sleeper = Nanosleep::new(Clock::Monotonic);
        let interval = self.release.interval;
        let mut deadline = self.origin + interval;
        while deadline <= self.end && !self.stop.load(Ordering::Relaxed) {
            match sleeper.sleep_until(deadline - self.release.spin) {
                Ok(()) => {}
                Err(Errno::INTR) => continue,
                Err(errno) => {
                    counted.failure = Some(errno);
                    break;
                }
            }
            let mut now = clock::monotonic();
            counted.late += u64::from(now >= deadline);
            while now < deadline {
                std::hint::spin_loop();
                now = clock::monotonic();
            }
            let late = now - deadline;
            let passed = late.get() / interval.get();
            // Deadlines after the end are none of this run's.
            let overran = (now.min(self.end) - deadline).get() / interval.get();
            tap.overran(overran);
            counted.cycles += 1;
            tap.push(Sample {
                t_ns: (now - self.origin).get(),
                latency_ns: late.get(),
                cpu: self.cpu,
                skipped: u32::try_from(overran).unwrap_or(u32::MAX),
            });
            deadline = deadline + interval.times(passed + 1);
        }
        counted
    }
}

#[expect(clippy::cast_precision_loss, reason = "figures")]
fn conclude(
    release: Release,
    frame: &Frame<'_>,
    streams: &[Stream],
    results: Vec<(Counted, ThreadReport)>,
) -> Result<Found, MeasureError> {
    let mut found = Found {
        ended: frame.ended(),
        faults_spoil: true,
        ..Found::default()
    };
    for (thread, (counted, report)) in (0..).zip(results) {
        if let Some(errno) = counted.failure {
            let source = errno.into();
            return Err(MeasureError::Sleep { thread, source });
        }
        let cycles = counted.cycles;
        let figure = |name: &str, unit: &str, better, value: f64| Figure {
            count: cycles,
            value: (cycles > 0).then_some(value / cycles as f64),
            ..Figure::single(name, unit, better, 0.0).at("thread", thread)
        };
        let cost = report.usage().cpu_time.get() as f64;
        found
            .figures
            .push(figure("cpu_time_per_cycle", "ns", Better::Lower, cost));
        found.figures.push(figure(
            "woken_after_deadline",
            "1",
            Better::Lower,
            counted.late as f64,
        ));
        found.threads.push(report);
    }
    found.findings = cost_of(release, streams, &found.figures)
        .into_iter()
        .collect();
    found.series = streams.iter().map(|s| s.series(None)).collect();
    let tallies: Vec<_> = streams.iter().map(Stream::tally).collect();
    found.total = figures::total(&tallies);
    found.total.overruns = found.series.iter().map(|s| s.overruns).sum();
    found.total.warm_up_samples = Some(0);
    found.total.lost = found.series.iter().map(|s| s.lost).sum();
    for (n, stream) in streams.iter().enumerate() {
        found.store(n.to_string(), stream.tally());
    }
    found.checks = sample_checks(&found.series);
    Ok(found)
}

/// Says accuracy and cost in one sentence: one without the other says nothing.
#[expect(clippy::cast_precision_loss, reason = "figures")]
fn cost_of(release: Release, streams: &[Stream], figures: &[Figure]) -> Option<Finding> {
    let tallies: Vec<_> = streams.iter().map(Stream::tally).collect();
    let all = figures::total(&tallies);
    let ns = |name: &str| all.quantiles_ns.get(name).copied().flatten();
    let p50 = ns("p50")?;
    let p99 = ns("p99").map_or_else(String::new, |p99| {
        format!(", 99 % within {}", Nanos::new(p99))
    });
    let of = |name: &'static str| figures.iter().filter(move |f| f.name == name);
    let cycles: u64 = of("cpu_time_per_cycle").map(|f| f.count).sum();
    let mean = |name| {
        let sum: f64 = of(name)
            .filter_map(|f| Some(f.value? * f.count as f64))
            .sum();
        sum / cycles.max(1) as f64
    };
    let cost = mean("cpu_time_per_cycle");
    Some(Finding::observed(
        "release-cost",
        format!(
            "half of the {cycles} cycles began within {} of their deadline{p99}, at {:.1} µs of \
             CPU time a cycle ({:.2} % of a CPU); {:.2} % woke up after the deadline, so spinning \
             did not help them",
            Nanos::new(p50),
            cost / 1e3,
            100.0 * cost / release.interval.get() as f64,
            100.0 * mean("woken_after_deadline"),
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{self, testing};
    use punctual_model::Setup;
    use punctual_sys::{SysRoot, sched};

    fn first_cpu() -> CpuId {
        sched::affinity().unwrap().iter().next().unwrap()
    }

    fn with_frame(
        measure: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
    ) -> frame::RunOutcome {
        let setup = Setup {
            cpus: std::iter::once(first_cpu()).collect(),
            duration_ns: Some(Nanos::from_millis(100)),
            ..testing::setup()
        };
        testing::run_on(&SysRoot::live(), &setup, measure).unwrap()
    }

    fn measure(spin: Nanos) -> frame::RunOutcome {
        let release = Release {
            interval: Nanos::from_millis(1),
            spin,
        };
        with_frame(|frame| run(release, frame))
    }

    #[test]
    fn every_deadline_is_a_sample_or_an_overrun() {
        let outcome = measure(Nanos::from_micros(100));
        let total = &outcome.found.total;
        assert_eq!(total.count + total.overruns.unwrap(), 100);
        assert_eq!(outcome.found.figures.len(), 2);
        assert_eq!(outcome.found.findings[0].id, "release-cost");
    }

    /// As on a busy machine, where the threads and the lock of the memory take long to be there.
    #[test]
    fn what_comes_before_the_start_is_in_no_cycle() {
        let mut head = Nanos::ZERO;
        with_frame(|frame| {
            let post = Post::on("release/0", frame.setup().priority, first_cpu());
            let crew = Crew::assemble(vec![(post, || Counted::default())])?;
            std::thread::sleep(std::time::Duration::from_millis(30));
            let ready = clock::monotonic();
            frame.start_at(&crew, |origin| head = origin.since(ready))?;
            let results = crew.join()?;
            Ok(Found {
                threads: results.into_iter().map(|(_, report)| report).collect(),
                ..Found::default()
            })
        });
        assert!(head >= frame::HEAD_START, "{head}");
    }

    #[test]
    fn spinning_costs_cpu_time_and_is_shown() {
        // Half of the time at work, whatever the machine does.
        let outcome = measure(Nanos::from_micros(500));
        let cost = outcome.found.figures.first().unwrap();
        assert_eq!(cost.name, "cpu_time_per_cycle");
        assert!(cost.value.unwrap() > 50_000.0, "{cost:?}");
    }
}
