// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How a run starts, is looked at, and ends. Needs no privilege.
#![expect(clippy::unwrap_used, reason = "test helpers")]

use std::time::Duration;

use punctual_measure::frame::{self, Control, RunOutcome};
use punctual_measure::pacing::{Begin, EndWith, Pacing};
use punctual_measure::wakeup;
use punctual_measure::{Sink, SinkError};
use punctual_model::{Clock, Ended, Event, Nanos, Pin, Policy, RunSpec, Sample, TimerKind};
use punctual_sys::thread::Tid;
use punctual_sys::{SysRoot, sched};

/// Keeps what it hears.
#[derive(Default)]
struct Ear {
    tids: usize,
    origin: Nanos,
    ticks: u32,
    samples: Vec<Vec<Sample>>,
}

impl Sink for Ear {
    fn event(&mut self, _event: &Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn begun(&mut self, threads: &[Tid], origin: Nanos) -> Result<(), SinkError> {
        self.tids = threads.len();
        self.origin = origin;
        Ok(())
    }

    fn tick(&mut self) -> Result<(), SinkError> {
        self.ticks += 1;
        Ok(())
    }

    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError> {
        self.samples[thread as usize].extend(samples);
        Ok(())
    }
}

fn spec() -> RunSpec {
    let cpus = sched::affinity().unwrap();
    RunSpec {
        threads: 2,
        cpus: cpus.clone(),
        pin: Pin::None,
        priority: Policy::Other { nice: 0 },
        priority_spread: false,
        interval_ns: Nanos::from_millis(1),
        distance_ns: Nanos::ZERO,
        duration_ns: None,
        samples: Some(5),
        warm_up_ns: Nanos::ZERO,
        timer: TimerKind::Nanosleep,
        clock: Clock::Monotonic,
        dma_latency_ns: None,
        mlock: false,
        housekeeping: cpus,
        raw: true,
        until: Vec::new(),
        on_threshold_ns: None,
        deadlines_ns: Vec::new(),
        loads: Vec::new(),
    }
}

fn run(spec: &RunSpec, pacing: Pacing) -> (RunOutcome, Ear) {
    let mut ear = Ear {
        samples: vec![Vec::new(); spec.threads as usize],
        ..Ear::default()
    };
    let control = Control {
        psquare: false,
        id: "pacing".to_owned(),
        stop: std::sync::Arc::default(),
        insist_on_mlock: false,
        insist_on_dma_latency: false,
        progress_every: Nanos::from_secs(1),
    };
    let setup = wakeup::setup(spec);
    let sys = SysRoot::live();
    let outcome = frame::run(&sys, &setup, &control, None, &mut ear, |frame| {
        wakeup::run(spec, pacing, frame)
    })
    .unwrap();
    (outcome, ear)
}

#[test]
fn the_first_thread_that_is_done_can_end_the_run() {
    let mut spec = spec();
    // The second thread would take a minute and a half.
    spec.distance_ns = Nanos::from_secs(18);
    let pacing = Pacing {
        tick: Duration::from_millis(5),
        end: EndWith::First,
        ..Pacing::default()
    };
    let (outcome, ear) = run(&spec, pacing);
    assert_eq!(outcome.found.ended, Ended::Completed);
    assert_eq!(outcome.found.series[0].count, 5);
    assert_eq!(outcome.found.series[1].count, 0);
    assert_eq!((ear.tids, ear.ticks), (2, 0));
}

#[test]
fn a_thread_without_a_deadline_left_does_not_end_the_run() {
    let mut spec = spec();
    // First no deadline of the other threads lies in the time, then their last one some way before its end.
    (spec.threads, spec.samples) = (3, None);
    spec.duration_ns = Some(Nanos::from_millis(400));
    let pacing = Pacing {
        tick: Duration::from_millis(5),
        end: EndWith::First,
        ..Pacing::default()
    };
    for distance in [Nanos::from_secs(18), Nanos::from_millis(130)] {
        spec.distance_ns = distance;
        let (outcome, ear) = run(&spec, pacing);
        assert_eq!(outcome.found.ended, Ended::Completed);
        let first = &outcome.found.series[0];
        // However late it was for them.
        let deadlines = first.count + first.overruns.unwrap_or(0);
        assert_eq!(deadlines, 400, "{distance}");
        assert_eq!(ear.tids, 3);
    }
}

#[test]
fn a_listener_can_ask_to_hear_of_every_look() {
    let pacing = Pacing {
        tell_ticks: true,
        ..Pacing::default()
    };
    let (_, ear) = run(&spec(), pacing);
    assert!(ear.ticks >= 1);
    assert!(ear.samples.iter().all(|samples| samples.len() == 5));
}

#[test]
fn nothing_is_taken_after_the_threshold_where_nothing_is_asked_for() {
    let mut spec = spec();
    spec.threads = 1;
    spec.on_threshold_ns = Some(Nanos::new(1));
    spec.samples = Some(100);
    let pacing = Pacing {
        after_threshold: 0,
        ..Pacing::default()
    };
    let (outcome, ear) = run(&spec, pacing);
    assert_eq!(outcome.found.ended, Ended::Threshold);
    assert_eq!(ear.samples[0].len(), 1);
}

#[test]
fn a_run_can_begin_at_a_full_second_and_its_threads_one_after_the_other() {
    let offset = Nanos::from_micros(300);
    let stagger = Nanos::from_micros(70);
    let pacing = Pacing {
        begin: Begin::FullSecond(offset),
        stagger,
        ..Pacing::default()
    };
    let (_, ear) = run(&spec(), pacing);
    for (index, samples) in (0_u64..).zip(&ear.samples) {
        let origin = ear.origin + stagger.times(index);
        let deadline = origin.get() + samples[0].t_ns - samples[0].latency_ns;
        let expected = (offset + stagger.times(index)).get();
        // Whole intervals later, where the machine stalled.
        assert_eq!((deadline - expected) % 1_000_000, 0);
        assert_eq!(
            (ear.origin + Nanos::from_millis(1) - offset).get() % 1_000_000_000,
            0
        );
    }
}
