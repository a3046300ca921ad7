// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Whether times were read from a clock or are counts of instructions: the words for it at every unit, heading and verdict.

use std::borrow::Cow;

use punctual_model::{
    Comparison, ExperimentResults, History, HistoryLine, Machines, MachinesGroup, Nanos, RunRecord,
};

use crate::chart::Validity;
use crate::number;

/// What times are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Times {
    /// Read from a clock.
    Measured,
    /// Counts of instructions in a guest: virtual time.
    Counted,
}

impl Times {
    const fn counted(counted: bool) -> Self {
        match counted {
            true => Self::Counted,
            false => Self::Measured,
        }
    }

    /// Those of a run.
    pub(crate) fn of_run(run: &RunRecord) -> Self {
        Self::counted(run.is_virtual())
    }

    /// Those of a comparison, whose runs are all of one kind.
    pub(crate) fn of(comparison: &Comparison) -> Self {
        Self::counted(comparison.is_virtual())
    }

    /// Those of an experiment, whose runs are all of one kind too.
    pub(crate) fn of_experiment(results: &ExperimentResults) -> Self {
        let mut measurements = results.measurements.iter();
        Self::counted(measurements.any(|m| m.comparison.is_virtual()))
    }

    /// Those of the runs of a line.
    pub(crate) fn of_line(line: &HistoryLine) -> Self {
        Self::counted(line.virtual_time)
    }

    /// Those of all lines together: what is said of latencies too has no word for counts.
    pub(crate) fn of_history(history: &History) -> Self {
        let mut lines = history.lines.iter();
        Self::counted(!history.lines.is_empty() && lines.all(|line| line.virtual_time))
    }

    /// Those of the machines of a group.
    pub(crate) fn of_group(group: &MachinesGroup) -> Self {
        Self::counted(group.virtual_time)
    }

    /// Those of all groups together, as those of all lines.
    pub(crate) fn of_machines(fleet: &Machines) -> Self {
        let mut groups = fleet.groups.iter();
        Self::counted(!fleet.groups.is_empty() && groups.all(|group| group.virtual_time))
    }

    /// Those of runs: counts where all are.
    pub(crate) fn of_runs<'a>(mut runs: impl Iterator<Item = &'a RunRecord>) -> Self {
        Self::counted(runs.all(RunRecord::is_virtual))
    }

    /// Returns the unit of times in the tables and on the axes of runs, which may be of both kinds.
    pub(crate) fn micros_of<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> &'static str {
        let (counted, measured): (Vec<_>, Vec<_>) = runs.partition(|run| run.is_virtual());
        match (counted.is_empty(), measured.is_empty()) {
            (true, _) => Self::Measured.micros(),
            (false, true) => Self::Counted.micros(),
            (false, false) => "µs, virtual where marked so",
        }
    }

    /// Returns the unit of times.
    pub(crate) const fn micros(self) -> &'static str {
        match self {
            Self::Measured => "µs",
            Self::Counted => "virtual µs",
        }
    }

    /// Writes a time that was measured, or set, by the clock of the run.
    pub(crate) fn span(self, time: Nanos) -> String {
        let text = number::span(time);
        match self {
            Self::Measured => text,
            Self::Counted => text.replacen(' ', " virtual ", 1),
        }
    }

    /// Returns the unit of a figure: times and what is counted a second are by the clock of the run.
    pub(crate) fn of_figure(self, unit: &str) -> Cow<'_, str> {
        let time = ["s", "ms", "µs", "us", "ns"].contains(&unit);
        match (self, unit.strip_suffix("/s")) {
            (Self::Counted, _) if time => Cow::Owned(format!("virtual {unit}")),
            (Self::Counted, Some(what)) => Cow::Owned(format!("{what}/virtual s")),
            _ => Cow::Borrowed(unit),
        }
    }

    /// Returns a unit as it is shown, and by what values are divided for it.
    pub(crate) fn unit(self, unit: &str) -> (Cow<'_, str>, f64) {
        let (unit, scale) = number::unit(unit);
        let unit = match self {
            Self::Counted if !unit.is_empty() => Cow::Owned(format!("virtual {unit}")),
            Self::Counted | Self::Measured => Cow::Borrowed(unit),
        };
        (unit, scale)
    }

    /// Returns the heading of figures.
    pub(crate) fn heading(self, text: impl Into<String>) -> String {
        let text = text.into();
        match self {
            Self::Measured => text,
            Self::Counted => format!("{text}; virtual time: instruction counts"),
        }
    }

    /// Returns a verdict, or what else is said of figures in a few words.
    pub(crate) fn verdict(self, text: impl Into<String>) -> String {
        let text = text.into();
        match self {
            Self::Measured => text,
            Self::Counted => format!("{text} (virtual time)"),
        }
    }

    /// Whether what is drawn may be believed, where every check of it passed or did not.
    pub(crate) const fn validity(self, valid: bool) -> Validity {
        match (valid, self) {
            (false, _) => Validity::Invalid,
            (true, Self::Counted) => Validity::Virtual,
            (true, Self::Measured) => Validity::Valid,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_of_counts_say_so() {
        let (real, counted) = (Times::Measured, Times::Counted);
        let time = Nanos::from_micros(1_500);
        assert_eq!(real.span(time), "1.5 ms");
        assert_eq!(counted.span(time), "1.5 virtual ms");
        for (unit, shown) in [
            ("ns", "virtual ns"),
            ("1/s", "1/virtual s"),
            ("MB/s", "MB/virtual s"),
            ("%", "%"),
            ("1", "1"),
        ] {
            assert_eq!(real.of_figure(unit), unit);
            assert_eq!(counted.of_figure(unit), shown);
        }
    }
}
