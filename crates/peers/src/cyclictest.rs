// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! cyclictest of rt-tests: text, log, histogram and JSON.
//!
//! A value is the whole part of the latency in µs, or in ns with `-N`. The mean that the text
//! states is cut to a whole number once more.

pub(crate) mod hist;
pub(crate) mod json;
pub(crate) mod log;
pub(crate) mod text;

use std::collections::BTreeMap;

use punctual_model::Nanos;

use crate::Unit;
use crate::asked;
use crate::error::ImportError;
use crate::imported::Imported;
use crate::series::MOST_THREADS;

/// What the unit is taken for where the file does not state it.
pub(crate) const ASSUMED_US: &str =
    "the file does not state its unit; µs was assumed, which is wrong after cyclictest -N";

/// How the line begins that a run prints once, first.
pub(crate) const DMA_LINE: &str = "# /dev/cpu_dma_latency set to ";

/// What `-d` is where it is not asked for, in µs.
const DEFAULT_DISTANCE: Nanos = Nanos::from_micros(500);

/// What a terminal showed before the tool's first line, where a file is a copy of one: the prompt with
/// the command line, and whatever else came before or between.
#[derive(Debug, Default)]
pub(crate) struct Preamble {
    /// The first line that cyclictest does not print.
    odd: Option<u64>,
    command: Option<String>,
    /// Whether the tool's own lines have begun.
    over: bool,
}

/// What to do with a copy of a terminal that has more in it.
pub(crate) const ALONE: &str = "keep the command line and what cyclictest printed, and remove what stands before or after them";

impl Preamble {
    /// Takes a line, if it has the command line in it.
    pub(crate) fn is_command(&mut self, line: &str) -> bool {
        let found = match self.over {
            true => None,
            false => asked::shown(line, "cyclictest"),
        };
        let any = found.is_some();
        self.command = found.or_else(|| self.command.take());
        any
    }

    /// Takes a line that the tool does not print.
    ///
    /// # Errors
    /// The tool's own lines have begun.
    pub(crate) fn odd(&mut self, at: u64) -> Result<(), ImportError> {
        if self.over {
            return Err(Self::error(at));
        }
        self.odd.get_or_insert(at);
        Ok(())
    }

    /// Says that the tool's own lines begin.
    ///
    /// # Errors
    /// There were others, and no command line.
    pub(crate) fn ends(&mut self) -> Result<(), ImportError> {
        self.over = true;
        match self.odd.filter(|_| self.command.is_none()) {
            Some(at) => Err(Self::error(at)),
            None => Ok(()),
        }
    }

    fn error(at: u64) -> ImportError {
        ImportError::at_line(at, "this is not a line of cyclictest output").hinted(ALONE)
    }

    /// Returns the command line, if it is there.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// Returns the unit that was asked for, if the command line is there.
    pub(crate) fn unit(&self) -> Option<Unit> {
        let nsecs = asked::nsecs(self.command.as_deref())?;
        Some(if nsecs {
            Unit::Nanoseconds
        } else {
            Unit::Microseconds
        })
    }

    /// Gives the command line, and what follows from it.
    pub(crate) fn tell(self, imported: &mut Imported) {
        imported.command_line = self.command.or_else(|| imported.command_line.take());
        imported.ask_cyclictest();
    }
}

/// The `Thread 0 Interval: 1500` of `-v`. Each has the distance to the next thread's in it already.
#[derive(Clone, Debug, Default)]
pub(crate) struct Announced(BTreeMap<u32, Nanos>);

impl Announced {
    pub(crate) fn push(&mut self, (thread, interval): (u32, Nanos)) {
        if (thread as usize) < MOST_THREADS {
            self.0.insert(thread, interval);
        }
    }

    /// Gives the threads of a log their intervals: what is announced less the distance, which is the
    /// one that was asked for, the one between two threads, or cyclictest's own.
    pub(crate) fn tell(&self, command: Option<&str>, imported: &mut Imported) {
        let threads = u32::try_from(imported.series.len()).unwrap_or(u32::MAX);
        let asked = asked::cyclictest(command, threads);
        let asked = asked.map(|options| Nanos::from_micros(options.distance_us));
        let all: Vec<Nanos> = self.0.values().copied().collect();
        let apart = |pair: &[Nanos; 2]| pair[1].get().checked_sub(pair[0].get());
        let steps: Option<Vec<u64>> = all.array_windows().map(apart).collect();
        let seen = match steps.as_deref() {
            Some([first, rest @ ..]) if rest.iter().all(|step| step == first) => {
                Some(Nanos::new(*first))
            }
            _ => None,
        };
        let own = (all.len() == 1).then_some(DEFAULT_DISTANCE);
        let Some(distance) = asked.or(seen).or(own) else {
            return;
        };
        for series in &mut imported.series {
            let announced = self.0.get(&series.thread);
            let less = announced.and_then(|ns| ns.get().checked_sub(distance.get()));
            series.interval = less.filter(|ns| *ns > 0).map(Nanos::new);
        }
        let any = imported.series.iter().any(|s| s.interval.is_some());
        if asked.or(seen).is_none() && any {
            imported.state(
                "the interval is the announced one minus 500 µs, cyclictest's default distance \
                 (-d)",
            );
        }
    }

    /// Returns what is announced of a thread. That of a histogram has no distance.
    pub(crate) fn get(&self, thread: u32) -> Option<Nanos> {
        self.0.get(&thread).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Reads `Thread 0 Interval: 1500`.
pub(crate) fn interval_line(line: &str) -> Option<(u32, Nanos)> {
    let (thread, interval) = line.strip_prefix("Thread ")?.split_once(" Interval: ")?;
    let us: u64 = interval.trim().parse().ok()?;
    Some((
        thread.trim().parse().ok()?,
        Nanos::new(us.checked_mul(1_000)?),
    ))
}

/// Whether a line says something about the run and no figure.
pub(crate) fn is_remark(line: &str) -> bool {
    line.is_empty()
        || line.starts_with('#')
        // Ctrl-C, as a terminal shows it.
        || line == "^C"
        || ["WARN:", "INFO:", "Max CPUs = ", "Online CPUs = "]
            .iter()
            .any(|start| line.starts_with(start))
}
