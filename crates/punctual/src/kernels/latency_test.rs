// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! An experiment of kernels, each booted once a seed in virtual time.

mod configured;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use punctual_kernel::boot::{Architecture, SHIFT};
use punctual_kernel::guest::Model;
use punctual_kernel::latency_test::{self, Baseline, Common, Kernel, PlanError, Row};
use punctual_lab::engine::Ending;
use punctual_lab::state::{RunEnd, State};
use punctual_measure::loads::{LoadList, LoadSpec};
use punctual_model::{GuestAgent, LATENCY_TEST_FORMAT, LatencyCell, LatencyTest, Nanos, RunRecord};
use punctual_store::Store;
use punctual_verdict::bands::{chance, compare_rows, with_runs};
use punctual_verdict::comparison::GroupInput;
use punctual_verdict::select::Chosen;
use serde_json::json;

use super::kernel_store;
use crate::error::CliError;
use crate::experiments::boots::Boots;
use crate::experiments::runner::Way;
use crate::experiments::{Manner, go_on, how_to_resume, of_command, results};
use crate::guests::{self, Host};
use crate::home;
use crate::signals::StopRequest;

/// Loads that tell preemption models apart, where none are named.
const LOADS: &str = "printk:1000,fork,tmpfs";

/// Reads the kernels, refuses one whose configuration lacks what it is to have, and makes a row of each with each model.
pub(crate) fn rows(
    home: Option<&Path>,
    words: &[String],
    models: &[Model],
) -> Result<Vec<Row>, CliError> {
    let kernels = words.iter().map(|text| Kernel::parse(text));
    let mut kernels: Vec<Kernel> = kernels
        .collect::<Result<_, _>>()
        .map_err(|err| CliError::usage(err.to_string()))?;
    for kernel in &mut kernels {
        kernel.image = kernel_store::image(home, &kernel.image)?;
        for fragment in &kernel.config {
            configured::require(&kernel.image, fragment)?;
        }
    }
    latency_test::rows(&kernels, models).map_err(refused)
}

/// What is booted, and how.
#[derive(Debug)]
pub(crate) struct Test {
    /// Each kernel with each model.
    pub(crate) rows: Vec<Row>,
    /// The row that others are compared with.
    pub(crate) baseline: Option<Baseline>,
    /// A measurement each.
    pub(crate) loads: Vec<Load>,
    /// Boots of each row.
    pub(crate) seeds: u32,
    /// Samples of a measurement.
    pub(crate) samples: u64,
    /// Time between the deadlines.
    pub(crate) interval: Nanos,
    /// What all guests have.
    pub(crate) common: Common,
    /// The gap that makes a verdict, as a share of the baseline.
    pub(crate) tolerance: f64,
    /// Guests that run at once.
    pub(crate) jobs: Option<usize>,
    /// The test to go on with.
    pub(crate) resume: Option<String>,
    /// Without progress.
    pub(crate) quiet: bool,
}

impl Test {
    /// Boots every kernel and compares. `begun` gets the name under which the test can be resumed, before the first boot.
    pub(crate) fn carry_out(
        &self,
        home: Option<&Path>,
        stop: StopRequest,
        begun: impl FnOnce(&str) -> Result<(), CliError>,
    ) -> Result<LatencyTest, CliError> {
        let mut targets = self.rows.iter().map(|row| row.target(&self.common));
        targets.try_for_each(|target| guests::fits(&target))?;
        let host = Host::of(architecture(&self.rows)?)?;
        let qemu = host.version()?;
        let store = Store::open(home::find(home)?)?;
        let resumed = self.resume.as_deref();
        let (experiment, mut state) =
            of_command(&store, "kernel latency-test", resumed, Some(0), |name| {
                self.text(name)
            })?;
        begun(&experiment.name)?;
        let boots = Boots {
            host: &host,
            store: &store,
            stop: stop.clone(),
            failures: Mutex::default(),
        };
        let manner = Manner {
            quiet: self.quiet,
            jobs: self.jobs,
            way: Some(Way {
                boots: true,
                run: &|child, runs| boots.run(child, runs),
            }),
            ..Manner::default()
        };
        let ending = go_on(&store, &experiment, &mut state, stop, manner)?;
        let failures = boots.failures.into_inner();
        for failure in failures.unwrap_or_else(PoisonError::into_inner) {
            failure.print();
        }
        if ending == Ending::Stopped {
            let error = CliError::failed_to("finish the test: interrupted");
            return Err(error.hint(how_to_resume(&experiment)));
        }
        let cells = self.cells(&store, &state)?;
        Ok(self.result(cells, qemu, host.agent()))
    }

    /// Writes the test as an experiment's file: a level a row, a measurement a load, a block a seed.
    fn text(&self, name: &str) -> Result<String, CliError> {
        let rows = self.rows.as_slice();
        let target = |row: &Row| row.target(&self.common).words();
        let measure = self.loads.iter().map(|load| {
        let mut options = json!({
            "interval": format!("{}ns", self.interval.get()),
            "mlock": "on",
            "priority": "f:80",
            "samples": self.samples,
        });
        if load.as_ref().is_some_and(LoadSpec::reaches_consoles) {
            // It is the guest's console.
            options["allow-console"] = true.into();
        }
        if let [only] = rows {
            options["target"] = target(only).into();
        }
        let given: Vec<String> = load.iter().map(ToString::to_string).collect();
        json!({ "name": name_of(load), "instrument": "wakeup", "options": options, "load": given })
    });
        let level = |row: &Row| {
            let name = format!("{}:{}", row.kernel, row.model_name());
            (name, target(row).into())
        };
        let mut file = json!({
            "name": name,
            "command": "kernel latency-test",
            "compare": ["mean", "max"],
            "measure": measure.collect::<Vec<_>>(),
            "stop": { "blocks": self.seeds },
        });
        if rows.len() > 1 {
            let levels: serde_json::Map<_, _> = rows.iter().map(level).collect();
            file["factor"] = json!([{ "name": "kernel", "target": true, "levels": levels }]);
        }
        let text = toml::to_string(&file);
        text.map_err(|err| CliError::failed_to("plan the test").because(err))
    }

    /// Makes cells of what was measured, row by row.
    fn cells(&self, store: &Store, state: &State) -> Result<Vec<Vec<LatencyCell>>, CliError> {
        let chosen = Chosen {
            // What is invalid says which model ran.
            allow_invalid: true,
            ..Chosen::default()
        };
        let measurements = results::gather(store, state.plan(), state.attempts(), &chosen)?;
        let cell = |(at, row): (usize, &Row)| {
            let of_load = self.loads.iter().zip(&measurements).enumerate();
            let cells = of_load.filter_map(|(measurement, (load, of))| {
                let faults = faults(state, at, measurement);
                let empty = LatencyCell {
                    kernel: row.kernel.clone(),
                    image: row.image.display().to_string(),
                    append: row.append.clone(),
                    config: row.config.clone(),
                    load: name_of(load),
                    faults,
                    ..LatencyCell::default()
                };
                Some(filled(empty, row, of.groups.get(at)?))
            });
            cells.collect()
        };
        Ok(self.rows.iter().enumerate().map(cell).collect())
    }

    fn result(&self, cells: Vec<Vec<LatencyCell>>, qemu: String, agent: GuestAgent) -> LatencyTest {
        let base = |place: usize| self.baseline.as_ref()?.of(place, &self.rows);
        let comparisons = compare_rows(&cells, base, self.tolerance);
        let cells: Vec<LatencyCell> = cells.into_iter().flatten().collect();
        LatencyTest {
            format: LATENCY_TEST_FORMAT.to_owned(),
            time: "virtual-time".to_owned(),
            instruction_ns: Nanos::new(1 << SHIFT),
            program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
            qemu,
            agent: Some(agent),
            seeds: self.seeds,
            samples: self.samples,
            interval_ns: self.interval,
            tolerance: self.tolerance,
            chance: chance(self.seeds),
            valid: cells.iter().all(|cell| cell.faults.is_empty()),
            cells,
            comparisons,
        }
    }
}

/// Returns the processors that all kernels are for: instructions of two kinds are no measure for each other.
fn architecture(rows: &[Row]) -> Result<Architecture, CliError> {
    let first = rows.first().map(|row| row.architecture).unwrap_or_default();
    match rows.iter().find(|row| row.architecture != first) {
        None => Ok(first),
        Some(other) => {
            let why = format!(
                "{} is for {}, the first kernel for {first}: instruction counts of two architectures cannot be compared",
                other.image.display(),
                other.architecture
            );
            Err(CliError::usage(why).hint("test them with one command each"))
        }
    }
}

fn filled(cell: LatencyCell, row: &Row, group: &GroupInput) -> LatencyCell {
    let records = || group.runs.iter().map(|run| &run.record);
    let running = |record: &RunRecord| Model::running(&record.host, None).ok();
    let model = records().find_map(running).map(|(model, _)| model.name());
    let cell = LatencyCell {
        model: model.unwrap_or_else(|| row.model_name()).to_owned(),
        ..cell
    };
    let mut cell = with_runs(cell, records().filter(|record| record.valid));
    cell.faults.extend(other_image(records()));
    cell
}

/// Says that the image was built anew between runs of a cell, which are no runs of one kernel then.
fn other_image<'a>(records: impl Iterator<Item = &'a RunRecord>) -> Option<String> {
    let guests = records.filter_map(|record| record.guest.as_ref());
    let images: BTreeSet<&str> = guests
        .filter_map(|guest| guest.kernel_sha256.as_deref())
        .collect();
    (images.len() > 1).then(|| {
        format!(
            "its runs booted {} different images: the kernel was built again in between",
            images.len()
        )
    })
}

/// Why runs of a cell are missing, or support no claim.
fn faults(state: &State, cell: usize, measurement: usize) -> Vec<String> {
    let mut faults: Vec<_> = state
        .attempts()
        .iter()
        .filter(|a| (a.slot.cell as usize, a.slot.measurement as usize) == (cell, measurement))
        .filter(|a| matches!(a.end, Some(RunEnd::Failed | RunEnd::Invalid)))
        .map(|a| (a.slot.block + 1, a.detail.as_deref().unwrap_or_default()))
        .collect();
    faults.sort_unstable();
    let say = |(seed, why): (u32, &str)| format!("seed {seed}: {why}");
    faults.into_iter().map(say).collect()
}

pub(crate) fn refused(err: PlanError) -> CliError {
    match err {
        PlanError::Image { .. } => CliError::failed_to("test the kernels").because(err),
        other => CliError::usage(other.to_string()),
    }
}

/// A load, or none.
pub(crate) type Load = Option<LoadSpec>;

fn name_of(load: &Load) -> String {
    load.as_ref()
        .map_or_else(|| "idle".to_owned(), ToString::to_string)
}

/// The loads, one after the other: those that tell preemption models apart where none are given.
pub(crate) fn loads(given: &[LoadList], idle: bool) -> Result<Vec<Load>, CliError> {
    let default = [LOADS
        .parse::<LoadList>()
        .map_err(|err| CliError::usage(err.to_string()))?];
    let lists = match given.is_empty() && !idle {
        true => &default[..],
        false => given,
    };
    let loads = LoadList::join(lists);
    guests::check_loads(&loads)?;
    let mut loads: Vec<Load> = loads.into_iter().map(Some).collect();
    if idle {
        loads.push(None);
    }
    for (at, load) in loads.iter().enumerate() {
        if loads.iter().take(at).any(|other| other == load) {
            let why = format!("--load {}: given twice", name_of(load));
            return Err(CliError::usage(why));
        }
    }
    Ok(loads)
}
