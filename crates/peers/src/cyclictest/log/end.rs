// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What follows the samples of a log: with `-q` the summary of each thread, and what broke the run off.
//!
//! cyclictest prints the samples of a while at once, and not once more when it ends: the last ones of
//! each thread may be missing. The summary tells how many. A value that only these lines have is that of
//! a sample all the same, one of the last.

use punctual_model::{Ended, Nanos};

use super::Thread;
use crate::cyclictest::{Announced, text::Row};
use crate::error::ImportError;
use crate::imported::Imported;
use crate::lines::{nanos, number, numbers, second_run};
use crate::series::MOST_THREADS;
use crate::{SampleSink, Unit};

/// What to do with lines that contradict the samples.
const ONE_RUN: &str = "what follows the samples must be of the same run, and whole";

/// The lines behind the samples.
#[derive(Debug, Default)]
pub(super) struct End {
    /// The first of them.
    line: Option<u64>,
    summaries: Vec<Row>,
    /// What is announced of each thread and is not its interval: the same of all.
    distance: Option<Nanos>,
    tids: Vec<u64>,
    broken_thread: Option<u64>,
    /// Line and value.
    broken_by: Option<(u64, u64)>,
    stated: Vec<String>,
}

impl End {
    /// Fails where samples follow once more.
    pub(super) fn is_none(&self) -> Result<(), ImportError> {
        self.line.map_or(Ok(()), |line| Err(second_run(line)))
    }

    /// Whether the threads have summaries.
    pub(super) fn has_summaries(&self) -> bool {
        !self.summaries.is_empty()
    }

    /// Takes a summary. Its thread has lost what is counted there and not in the log.
    pub(super) fn summary(
        &mut self,
        row: Row,
        announced: &Announced,
        threads: &mut Vec<Thread>,
        unit: Option<Unit>,
        sink: &mut dyn SampleSink,
    ) -> Result<(), ImportError> {
        let taken = unit.unwrap_or(Unit::Microseconds);
        if let Some(shown) = row.unit.filter(|shown| *shown != taken) {
            let (shown_as, taken_for) = (shown.symbol(), taken.symbol());
            let reason = format!("it shows {shown_as}, and the samples were taken for {taken_for}");
            return Err(ImportError::at_line(row.line, reason).hinted(match shown {
                Unit::Nanoseconds => "import it with --unit ns",
                Unit::Microseconds => "import it with --unit us",
            }));
        }
        let (thread, next) = (row.thread, self.summaries.len());
        if usize::try_from(thread).ok() != Some(next) {
            let reason = format!("thread {thread} appears where {next} is expected");
            return Err(ImportError::at_line(row.line, reason));
        }
        self.fits(&row, announced)?;
        if next == threads.len() && announced.get(thread).is_some() {
            // None of its samples was printed.
            threads.push(Thread::default());
        }
        let Some(of) = threads.get_mut(next) else {
            let reason = format!("no samples of thread {thread} are above");
            return Err(ImportError::at_line(row.line, reason).hinted(ONE_RUN));
        };
        let Some(missing) = row.cycles.checked_sub(of.next) else {
            let reason = format!(
                "it counts {} cycles of thread {thread}, and {} are above",
                row.cycles, of.next
            );
            return Err(ImportError::at_line(row.line, reason).hinted(ONE_RUN));
        };
        let known = unprinted(&row, of.extremes(), missing)?;
        for (_, value) in &known {
            of.push(next, *value, nanos(row.line, *value, taken.ns())?, sink)?;
        }
        of.lost = Some(missing - known.len() as u64);
        if missing > 0 {
            let added = |(what, value): &(&str, u64)| {
                format!("; the {what}, {value} {}, was added", taken.symbol())
            };
            let added: String = known.iter().map(added).collect();
            let last = match missing {
                1 => "the last".to_owned(),
                n => format!("the last {n}"),
            };
            self.stated.push(format!(
                "thread {thread}: the log lacks {last} of {} samples{added}",
                row.cycles
            ));
        }
        self.line.get_or_insert(row.line);
        self.summaries.push(row);
        Ok(())
    }

    /// Refuses the summary of a thread that was announced otherwise, or not: it is of another run.
    fn fits(&mut self, row: &Row, announced: &Announced) -> Result<(), ImportError> {
        if announced.is_empty() {
            return Ok(());
        }
        let own = row.interval.checked_mul(1_000);
        let distance = announced
            .get(row.thread)
            .and_then(|ns| ns.get().checked_sub(own?))
            .map(Nanos::new)
            .ok_or_else(|| second_run(row.line))?;
        match *self.distance.get_or_insert(distance) == distance {
            true => Ok(()),
            false => Err(second_run(row.line)),
        }
    }

    /// Takes a line that says what broke the run off, if it is one.
    pub(super) fn remark(&mut self, at: u64, line: &str) -> Result<(), ImportError> {
        let named = line
            .strip_prefix("# ")
            .and_then(|rest| rest.split_once(':'));
        let Some((name, text)) = named else {
            return Ok(());
        };
        match name {
            "Thread Ids" => self.tids = numbers(at, name, text)?,
            "Break thread" => self.broken_thread = Some(number(at, name, text.trim())?),
            "Break value" => self.broken_by = Some((at, number(at, name, text.trim())?)),
            _ => return Ok(()),
        }
        self.line.get_or_insert(at);
        Ok(())
    }

    /// Counts the sample that broke the run off, where it is not among those that were printed: it is
    /// longer than all before it.
    pub(super) fn broken(
        &mut self,
        threads: &mut Vec<Thread>,
        unit_ns: u64,
        sink: &mut dyn SampleSink,
    ) -> Result<(), ImportError> {
        let Some((at, value)) = self.broken_by else {
            return Ok(());
        };
        let tid = |tid: &u64| Some(*tid) == self.broken_thread;
        let number = self.tids.iter().position(tid);
        let number = number.filter(|number| *number < MOST_THREADS);
        if let Some(number) = number.filter(|number| *number >= threads.len()) {
            threads.resize_with(number + 1, Thread::default);
        }
        let Some((number, of)) = number.and_then(|n| Some((n, threads.get_mut(n)?))) else {
            let reason = "`# Thread Ids:` and `# Break thread:` do not say which thread it was";
            return Err(ImportError::at_line(at, reason).hinted(ONE_RUN));
        };
        let mut stated = format!("break value {value}");
        if of.extremes().is_none_or(|(_, largest)| value > largest) {
            if self.has_summaries() {
                let reason = format!("the value is above the maximum of thread {number}");
                return Err(ImportError::at_line(at, reason).hinted(ONE_RUN));
            }
            of.push(number, value, nanos(at, value, unit_ns)?, sink)?;
            stated.push_str("; its sample is not in the log and was added");
        }
        self.stated.push(stated);
        Ok(())
    }

    /// Says what these lines tell of the threads.
    pub(super) fn tell(self, imported: &mut Imported) {
        // Announced is the interval with the distance in it; here it has none.
        for (summary, series) in self.summaries.iter().zip(&mut imported.series) {
            series.interval = summary.interval.checked_mul(1_000).map(Nanos::new);
        }
        for stated in self.stated {
            imported.state(stated);
        }
        imported.ended = self.broken_by.map(|_| Ended::Threshold);
    }

    /// Whether each of `threads` has a summary, or none has.
    pub(super) fn is_whole(&self, threads: usize) -> bool {
        [0, threads].contains(&self.summaries.len())
    }
}

/// Returns the extremes of a summary that are none of the samples above it, whose own are `printed`:
/// those of samples that are `missing` there.
///
/// # Errors
/// The extremes contradict the samples.
fn unprinted(
    row: &Row,
    printed: Option<(u64, u64)>,
    missing: u64,
) -> Result<Vec<(&'static str, u64)>, ImportError> {
    if row.cycles == 0 {
        return Ok(Vec::new());
    }
    let (smallest, largest) = printed.unzip();
    let is_more = largest.is_none_or(|largest| row.max > largest);
    let is_less = smallest.is_none_or(|smallest| row.min < smallest);
    // Where none was printed, one may be both.
    let is_less = is_less && (printed.is_some() || row.min != row.max);
    let left = missing.saturating_sub(is_more.into());
    let wrong = |what: &str, stated: u64, printed: Option<u64>| {
        let printed = printed.map_or_else(|| "none".to_owned(), |printed| printed.to_string());
        let thread = row.thread;
        let reason =
            format!("the {what} value of thread {thread} is {stated}, and {printed} above");
        Err(ImportError::at_line(row.line, reason).hinted(ONE_RUN))
    };
    if row.max < row.min || largest.is_some_and(|largest| row.max < largest) {
        return wrong("largest", row.max, largest);
    }
    if is_more && missing == 0 {
        return wrong("largest", row.max, largest);
    }
    if smallest.is_some_and(|smallest| row.min > smallest) || is_less && left == 0 {
        return wrong("smallest", row.min, smallest);
    }
    let largest = is_more.then_some(("largest", row.max));
    let smallest = is_less.then_some(("smallest", row.min));
    Ok(largest.into_iter().chain(smallest).collect())
}
