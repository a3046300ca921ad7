// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What every instrument's options are turned into, and what is done around every instrument.

use std::collections::BTreeMap;
use std::path::Path;

use punctual_measure::MeasureError;
use punctual_measure::frame::{Found, Frame};
use punctual_model::{CpuSet, Instrument, Makes, Nanos, RequirementResult, RunRecord, Setup};
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_verdict::gate;
use punctual_verdict::words::failed_checks;

use crate::cli::{self, CommonArgs, DmaLatency, SampleArgs, StatisticsArgs, Switch};
use crate::cpus::{Cpus, cpus, usable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::metrics::Metrics;
use crate::output::{self, print, remark};
use crate::recording::{Job, Recorded, record};
use crate::signals::StopRequest;
use crate::view::View;

/// CPUs that are measured when nothing is said.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Measured {
    /// Every CPU that this process may use.
    All,
    /// This number of them, from the first.
    First(u32),
    /// All but the first, which is left to everything else; that one, where there is no other.
    AllButFirst,
}

impl Measured {
    fn of(self, allowed: &CpuSet) -> CpuSet {
        match self {
            Self::All => allowed.clone(),
            Self::First(n) => allowed.iter().take(n as usize).collect(),
            Self::AllButFirst if allowed.len() > 1 => allowed.iter().skip(1).collect(),
            Self::AllButFirst => allowed.clone(),
        }
    }
}

/// What one instrument adds to [`CommonArgs`].
#[derive(Debug)]
pub(super) struct Request {
    /// Name of the subcommand and of the instrument in the record.
    instrument: &'static str,
    measured: Measured,
    /// Longest time to measure.
    duration: Option<Nanos>,
    /// Whether quantiles are estimated by P-square too.
    psquare: bool,
    /// Whether somebody else writes to the terminal meanwhile, so that there is no screen.
    shares_terminal: bool,
    /// The instrument's own options, in the words of the command line.
    options: BTreeMap<String, String>,
}

impl Request {
    /// Measures on every CPU, until the work is done.
    pub(super) const fn of(instrument: &'static str) -> Self {
        Self {
            instrument,
            measured: Measured::All,
            duration: None,
            psquare: false,
            shares_terminal: false,
            options: BTreeMap::new(),
        }
    }

    /// Measures these CPUs where none are named.
    pub(super) fn on(self, measured: Measured) -> Self {
        Self { measured, ..self }
    }

    /// Keeps these statistics of samples.
    pub(super) fn statistics(self, statistics: &StatisticsArgs) -> Self {
        Self {
            psquare: statistics.psquare(),
            ..self
        }
    }

    /// Leaves the terminal to a program that is started, if `so`.
    pub(super) const fn sharing_terminal(mut self, so: bool) -> Self {
        self.shares_terminal = so;
        self
    }

    /// Goes on for this time at most.
    pub(super) const fn upto(mut self, duration: Option<Nanos>) -> Self {
        self.duration = duration;
        self
    }

    /// Takes samples for this time, and keeps these statistics of them.
    pub(super) fn samples(self, sampling: &SampleArgs) -> Self {
        Self {
            duration: Some(sampling.duration),
            psquare: sampling.statistics.psquare(),
            ..self
        }
    }

    /// Adds an option as it was given or defaulted.
    pub(super) fn option(mut self, name: &str, value: impl ToString) -> Self {
        self.options.insert(name.to_owned(), value.to_string());
        self
    }
}

/// Instruments that need the kernel's events for what they measure.
const RECORDS_ITSELF: [&str; 2] = ["interrupts", "watch"];

/// Measures, records, and prints, with `instrument` in the middle.
pub(super) fn run(
    home: Option<&Path>,
    common: &CommonArgs,
    asked: Request,
    instrument: impl FnOnce(&mut Frame<'_>) -> Result<Found, MeasureError>,
) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let name = asked.instrument;
    if common.explain && RECORDS_ITSELF.contains(&name) {
        return Err(CliError::usage(format!(
            "--explain: {name} records the kernel's events itself"
        )));
    }
    let (psquare, quiet) = (asked.psquare, common.quiet || asked.shares_terminal);
    let setup = setup(common, asked, &cpus(&sys)?)?;
    let store = Store::open(home::find(home)?)?;
    let stop = StopRequest::on_signals()?;
    let job = Job {
        psquare,
        ..job(common, Job::of(name, setup))?
    };
    let mut view = View::pick(quiet, &stop);
    view.title(name);
    let recorded = record(&sys, &store, &job, &stop, &mut view, instrument)?;
    finish(&recorded, common.json, common.quiet)
}

/// Returns what the options mean on a machine with `cpus`.
fn setup(common: &CommonArgs, asked: Request, cpus: &Cpus) -> Result<Setup, CliError> {
    if asked.duration.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--duration 0s: must be at least 1ns"));
    }
    let measured = match &common.cpus {
        Some(list) => usable("--cpus", list, cpus)?,
        None => asked.measured.of(&cpus.allowed),
    };
    let housekeeping = match &common.housekeeping {
        Some(list) => usable("--housekeeping", list, cpus)?,
        None => cpus.free_of(&measured),
    };
    let makes = Instrument::of(asked.instrument).map(|of| of.makes);
    if makes == Some(Makes::Rates) && !common.require.is_empty() {
        return Err(CliError::usage(format!(
            "--require: judges samples of latencies, and {} keeps none",
            asked.instrument
        ))
        .hint(
            "`punctual compare --fail-on worse` judges its figures against those of other runs",
        ));
    }
    let latency = makes == Some(Makes::Latencies);
    Ok(Setup {
        cpus: measured,
        priority: common.priority,
        duration_ns: asked.duration,
        dma_latency_ns: common.bound(latency),
        mlock: common.mlock.map_or(latency, |switch| switch == Switch::On),
        housekeeping,
        loads: common.loads.words()?,
        options: asked.options,
    })
}

/// Adds to `job` what all instruments can be asked for.
pub(super) fn job(common: &CommonArgs, job: Job) -> Result<Job, CliError> {
    Ok(Job {
        name: common.name.clone(),
        note: common.note.clone(),
        tags: cli::tags(&common.tag),
        requirements: cli::under(&common.require, common.burst),
        loads: common.loads.chosen()?,
        metrics: Metrics::of(&common.metrics, job.instrument, common.name.as_deref())?,
        explain: common.explain,
        insist_on_mlock: common.mlock == Some(Switch::On),
        insist_on_dma_latency: matches!(common.dma_latency, Some(DmaLatency::Hold(_))),
        ..job
    })
}

/// Prints the run, says where it is, and turns it into an exit status.
pub(crate) fn finish(recorded: &Recorded, json: bool, quiet: bool) -> Result<Exit, CliError> {
    let record = &recorded.record;
    let printed = if json {
        output::write(|out| punctual_report::export::json_run(record, out))
    } else {
        print(&output::run(record))
    };
    if let (Err(err), Ok(path)) = (printed, recorded.kept()) {
        return Err(err.hint(format!("the run is recorded in {}", path.display())));
    }
    let path = recorded.kept()?;
    if !quiet && !json {
        print(&format!(
            "\nRecorded as {} in {}\n",
            record.id,
            path.display()
        ))?;
    }
    if json && !record.valid {
        remark(&format!("Invalid run: {}", failed_checks(record)));
    }
    Ok(exit_of(record))
}

/// Of an invalid run nothing can be claimed, not even that its threshold was passed, and that it is invalid is the reason.
fn exit_of(record: &RunRecord) -> Exit {
    if !record.valid {
        Exit::Failed
    } else if record.requirements.iter().all(RequirementResult::is_met)
        && gate::asked(record).iter().all(|asked| asked.met)
    {
        Exit::Fine
    } else {
        Exit::Verdict
    }
}

#[cfg(test)]
mod tests {
    use punctual_model::Ended;

    use super::*;

    #[test]
    fn an_invalid_run_fails_also_where_it_passed_its_threshold() {
        let run = include_str!("../../tests/stored/wakeup.json");
        let mut run: RunRecord = serde_json::from_str(run).unwrap();
        run.ended = Some(Ended::Threshold);
        for (valid, exit) in [(true, Exit::Verdict), (false, Exit::Failed)] {
            run.valid = valid;
            assert_eq!(exit_of(&run), exit);
        }
    }
}
