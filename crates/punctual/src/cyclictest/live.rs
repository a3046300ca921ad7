// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The run as it is shown: cyclictest's live lines, `-v` values, pipe and status block.

use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use punctual_measure::{Sink, SinkError};
use punctual_model::{Event, Nanos, Sample};
use punctual_sys::SysRoot;
use punctual_sys::msr::smi_count;
use punctual_sys::thread::Tid;

use super::status_requests::StatusRequests;
use super::tally::{Resolution, Spikes, Tally};
use super::text::{self, Thread};
use super::trace::Trace;
use crate::error::CliError;

/// What is printed while the run goes on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Show {
    /// Nothing.
    Nothing,
    /// The lines, again and again.
    Lines,
    /// The lines, when there is a new maximum.
    NewMaxima,
    /// Every value, or the largest of each group of this size.
    Values {
        /// How many.
        of: u64,
    },
}

/// The largest value of those that `-o` takes together.
#[derive(Clone, Copy, Debug, Default)]
struct Reduced {
    seen: u64,
    value: u64,
    cycle: u64,
}

/// Listens to a run and shows it.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) setup: Setup,
    pub(super) tallies: Vec<Tally>,
    /// The thread and value that ended the run.
    pub(super) hit: Option<(usize, u64)>,
    pub(super) asked: Option<StatusRequests>,
    /// What a reader of the pipe gets.
    pub(super) piped: Option<Arc<Mutex<String>>>,
    pub(super) trace: Option<Trace>,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    origin: Nanos,
    reduced: Vec<Reduced>,
    shown_max: u64,
    /// The CPU of each thread and its interrupts at the start, where they are counted.
    smis: Vec<Option<(u32, u32)>>,
    frames: u64,
    /// Whoever read the output is gone: there is no one to print for.
    closed: bool,
}

/// What a [`Live`] is made from.
#[derive(Debug)]
pub(super) struct Setup {
    pub(super) sys: SysRoot,
    pub(super) show: Show,
    pub(super) resolution: Resolution,
    pub(super) policy: &'static str,
    pub(super) break_above: Option<u64>,
    pub(super) threads: Vec<Thread>,
    pub(super) rows: usize,
    pub(super) spikes: Spikes,
    pub(super) stagger: Nanos,
    /// Set where nobody reads the output any more.
    pub(super) stop: Arc<AtomicBool>,
}

impl Live {
    /// Makes a listener that has heard nothing.
    pub(super) fn new(setup: Setup) -> Self {
        let count = setup.threads.len();
        Self {
            // Each by itself: a copy would touch all rows of a large histogram.
            tallies: (0..count).map(|_| Tally::new(setup.rows)).collect(),
            setup,
            hit: None,
            asked: None,
            piped: None,
            trace: None,
            state: State {
                reduced: vec![Reduced::default(); count],
                ..State::default()
            },
        }
    }

    /// Counts system management interrupts from now on, of the CPU of each thread.
    pub(super) fn count_smis_of(&mut self, cpus: impl Iterator<Item = Option<u32>>) {
        self.state.smis = cpus
            .map(|cpu| cpu.and_then(|cpu| Some((cpu, smi_count(&self.setup.sys, cpu).ok()?))))
            .collect();
    }

    /// Looks at the counts. The register is read outside the loop of the measurement.
    fn look_at_smis(&mut self) {
        for (thread, before) in self.setup.threads.iter_mut().zip(&self.state.smis) {
            let now = before.and_then(|(cpu, _)| smi_count(&self.setup.sys, cpu).ok());
            if let (Some(now), Some((_, before))) = (now, before) {
                thread.smis = Some(now.wrapping_sub(*before).into());
            }
        }
    }

    /// Renders the threads' lines.
    pub(super) fn lines(&self) -> String {
        let both = self.setup.threads.iter().zip(&self.tallies).enumerate();
        both.map(|(index, (thread, tally))| {
            text::thread_line(index, thread, tally, self.setup.resolution)
        })
        .collect()
    }

    /// Prints the last state, which is what remains on the terminal.
    pub(super) fn finish(&mut self) {
        self.look_at_smis();
        match self.setup.show {
            Show::Lines => self.frame(),
            Show::NewMaxima => self.print(&format!("\x1b[{}B", self.setup.threads.len() + 2)),
            Show::Nothing | Show::Values { .. } => {}
        }
        self.answer();
    }

    fn frame(&mut self) {
        let back = format!("\x1b[{}A", self.setup.threads.len() + 2);
        let again = self.state.frames > 0 && self.setup.show == Show::Lines;
        let loadavg = self.setup.sys.read("/proc/loadavg").unwrap_or_default();
        let mut frame = if again { back.clone() } else { String::new() };
        frame += &text::policy_line(self.setup.policy, loadavg.trim());
        frame += &self.lines();
        if self.setup.show == Show::NewMaxima {
            frame += &back;
        }
        self.state.frames += 1;
        self.print(&frame);
    }

    fn print(&mut self, text: &str) {
        if self.state.closed || text.is_empty() {
            return;
        }
        let mut out = io::stdout().lock();
        let printed = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if let Err(err) = printed {
            if err.kind() != io::ErrorKind::BrokenPipe {
                let what = "write to standard output";
                super::not_printed(&CliError::failed_to(what).because(err));
            }
            // As `head` does when it has read enough: the run ends, and writes its files.
            self.state.closed = true;
            self.setup.stop.store(true, Ordering::Relaxed);
        }
    }

    fn refresh(&mut self) {
        match self.setup.show {
            Show::Lines => self.frame(),
            Show::NewMaxima => {
                let max = self.tallies.iter().map(|t| t.max).max().unwrap_or(0);
                if max > self.state.shown_max || self.state.frames == 0 {
                    self.state.shown_max = max;
                    self.frame();
                }
            }
            Show::Nothing | Show::Values { .. } => {}
        }
    }

    fn answer(&mut self) {
        if let Some(asked) = &self.asked {
            asked.answer(|| text::status(&self.lines()));
        }
        if let Some(piped) = &self.piped {
            *piped.lock().unwrap_or_else(PoisonError::into_inner) = self.lines();
        }
    }

    /// Takes one value; returns the row of `-v` that it completes.
    fn value(&mut self, index: usize, sample: &Sample) -> Option<String> {
        let value = self.setup.resolution.of(sample.latency_ns);
        let tally = self.tallies.get_mut(index)?;
        let cycle = tally.cycles;
        tally.add(value);
        if self.hit.is_none() && self.setup.break_above.is_some_and(|limit| value > limit) {
            self.hit = Some((index, value));
            if let Some(trace) = &mut self.trace {
                trace.mark(value, self.setup.break_above.unwrap_or(0));
            }
        }
        let thread = u32::try_from(index).unwrap_or(u32::MAX);
        let origin = self.state.origin + self.setup.stagger.times(thread.into());
        self.setup.spikes.look(thread, value, sample, origin.get());
        let Show::Values { of } = self.setup.show else {
            return None;
        };
        let reduced = self.state.reduced.get_mut(index)?;
        if reduced.seen == 0 || value > reduced.value {
            (reduced.value, reduced.cycle) = (value, cycle);
        }
        reduced.seen += 1;
        if reduced.seen < of {
            return None;
        }
        reduced.seen = 0;
        Some(format!(
            "{index:8}:{:8}:{:8}\n",
            reduced.cycle, reduced.value
        ))
    }
}

impl Sink for Live {
    fn event(&mut self, _event: &Event) -> Result<(), SinkError> {
        Ok(())
    }

    fn begun(&mut self, threads: &[Tid], origin: Nanos) -> Result<(), SinkError> {
        self.state.origin = origin;
        for (thread, tid) in self.setup.threads.iter_mut().zip(threads) {
            thread.tid = tid.get();
        }
        if self.setup.show == Show::Lines {
            self.frame();
        }
        Ok(())
    }

    fn samples(&mut self, thread: u32, samples: &[Sample]) -> Result<(), SinkError> {
        let rows: String = samples
            .iter()
            .filter_map(|sample| self.value(thread as usize, sample))
            .collect();
        self.print(&rows);
        Ok(())
    }

    fn tick(&mut self) -> Result<(), SinkError> {
        self.look_at_smis();
        self.refresh();
        self.answer();
        Ok(())
    }
}
