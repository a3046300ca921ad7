// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Gaps in the time of a CPU, as a program sees them that wants nothing but that time.
//!
//! A thread a CPU reads a counter again and again. Where two readings are further apart than the
//! threshold, something else had the CPU: an interrupt, another thread, the hypervisor, the firmware.
//! That is the method of sysjitter, of rt-tests' oslat and of the kernel's osnoise tracer. What the
//! kernel counts of such things is read before and after; which of them made which gap only tracing
//! can say.

mod bins;
pub(crate) mod counters;
mod result;
mod ticker;
mod turns;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use punctual_model::{CpuId, Nanos, Progress, Sample, SeriesProgress};
use punctual_sys::thread::{self, Usage};
use punctual_sys::tsc;

pub use ticker::{Clock, Scale, Ticker, Tsc};
pub use turns::{Turns, Watched, Window};

use self::bins::Bins;
use self::counters::Counters;
use crate::crew::{Crew, Post, ThreadReport};
use crate::duty::Duty;
use crate::error::MeasureError;
use crate::frame::{Found, Frame};
use crate::stream::{LOOK_EVERY, Stream};

/// Time over which the rate of the counter is measured first. It is measured again over the run.
const RATE_SPAN: Duration = Duration::from_millis(100);

/// Gaps that the rings must take: one in this time, for seconds.
const GAP_EVERY: Nanos = Nanos::from_micros(100);

/// A threshold below this number of turns of the loop would make gaps of its own jitter.
const TURNS: u64 = 3;

/// Gaps that are listed one by one.
const LARGEST: usize = 10;

/// What to measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// A turn longer than this is a gap.
    pub threshold: Nanos,
    /// Part of each period that is watched.
    pub duty: Duty,
    /// The period, for a duty below all of the time.
    pub period: Nanos,
}

impl Noise {
    fn window(&self) -> Option<Window> {
        (!self.duty.is_full()).then(|| Window {
            runtime: self.duty.part_of(self.period),
            period: self.period,
        })
    }
}

/// What one thread reports.
#[derive(Debug)]
struct Done {
    watched: Watched,
    /// What one turn of the loop takes, in ticks.
    cost: u64,
    usage: Usage,
    /// The counter and the clock that it was measured with, around the loop.
    around: [tsc::Moment; 2],
}

/// One CPU while it is watched.
#[derive(Debug)]
struct Spot {
    cpu: CpuId,
    stream: Stream,
    bins: Bins,
    begun: Arc<AtomicU64>,
    /// The largest gaps, largest first.
    largest: Vec<Sample>,
}

impl Spot {
    fn drain(&mut self) {
        let begun = self.begun.load(Ordering::Relaxed);
        let (bins, largest) = (&mut self.bins, &mut self.largest);
        self.stream.drain(|block| {
            for gap in block {
                bins.take(
                    Nanos::new(gap.t_ns.saturating_sub(begun)),
                    Nanos::new(gap.latency_ns),
                );
                if largest.len() < LARGEST
                    || largest
                        .last()
                        .is_some_and(|l| l.latency_ns < gap.latency_ns)
                {
                    let place = largest.partition_point(|l| l.latency_ns >= gap.latency_ns);
                    largest.insert(place, *gap);
                    largest.truncate(LARGEST);
                }
            }
        });
    }
}

/// Measures with one thread a CPU of the frame's set-up.
///
/// # Errors
///
/// [`MeasureError::Spec`] where the threshold is not far above one turn of the loop; else when a
/// thread cannot be started or a sleep fails.
pub fn run(noise: Noise, frame: &mut Frame<'_>) -> Result<Found, MeasureError> {
    let sys = frame.sys().clone();
    if tsc::is_a_clock(&sys) {
        let begin = tsc::Moment::now();
        std::thread::sleep(RATE_SPAN);
        if let Some(rate) = begin.rate_to(&tsc::Moment::now()) {
            return with(noise, Tsc, Some(rate), frame);
        }
    }
    with(noise, Clock, None, frame)
}

/// Measures with `ticker`, whose rate is that of the time stamp counter, or a tick a nanosecond.
fn with<T: Ticker>(
    noise: Noise,
    ticker: T,
    rate: Option<f64>,
    frame: &mut Frame<'_>,
) -> Result<Found, MeasureError> {
    let setup = frame.setup().clone();
    let scale = rate.map_or(Scale::NANOS, Scale::of);
    let mut posts = Vec::new();
    let mut works = Vec::new();
    for (thread, cpu) in (0..).zip(setup.cpus.iter()) {
        let post = Post::on(format!("noise/{thread}"), setup.priority, cpu);
        let (mut tap, stream) = Stream::pair(thread, &post, GAP_EVERY, &frame.keep());
        let turns = Turns {
            ticker,
            scale,
            threshold: noise.threshold,
            window: noise.window(),
            origin: frame.origin(),
            duration: setup.duration_ns.unwrap_or(Nanos::MAX),
            cpu,
            stop: frame.stop_flag(),
            begun: Arc::default(),
        };
        posts.push(Spot {
            cpu,
            stream,
            bins: Bins::new(noise.window()),
            begun: Arc::clone(&turns.begun),
            largest: Vec::with_capacity(LARGEST + 1),
        });
        works.push((post, move || {
            let cost = ticker::cost_of(ticker);
            let before = (thread::usage(), tsc::Moment::now());
            let too_fine = scale.ticks(turns.threshold) < cost.saturating_mul(TURNS);
            let watched = match too_fine {
                true => Watched::default(),
                false => turns.run(&mut tap),
            };
            let after = (thread::usage(), tsc::Moment::now());
            Done {
                watched,
                cost,
                usage: after.0.since(&before.0),
                around: [before.1, after.1],
            }
        }));
    }
    let crew = Crew::assemble(works)?;
    let before = Counters::read(frame.sys(), &setup.cpus);
    frame.start(&crew)?;
    while !crew.is_done() {
        std::thread::sleep(LOOK_EVERY);
        posts.iter_mut().for_each(Spot::drain);
        if frame.is_stopped() {
            // A thread may be in a long pause.
            crew.interrupt();
        }
        frame.look(|| progress(&mut posts));
    }
    let counted = Counters::read(frame.sys(), &setup.cpus).since(&before);
    let results: Vec<(Done, ThreadReport)> = crew.join()?;
    posts.iter_mut().for_each(Spot::drain);
    frame.last(progress(&mut posts));
    result::found(noise, rate, scale, frame, &mut posts, results, &counted)
}

fn progress(spots: &mut [Spot]) -> Progress {
    Progress {
        series: spots
            .iter_mut()
            .map(|spot| SeriesProgress {
                // A gap has no deadline.
                overruns: None,
                ..spot.stream.progress()
            })
            .collect(),
        ..Progress::default()
    }
}
