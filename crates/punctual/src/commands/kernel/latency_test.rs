// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel latency-test`: an experiment of kernels, each booted once a seed in virtual time.

mod configured;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use punctual_kernel::boot::{Architecture, SHIFT};
use punctual_kernel::guest::Model;
use punctual_kernel::latency_test::{self, Baseline, Common, Kernel, PlanError, Row};
use punctual_lab::engine::Ending;
use punctual_lab::state::{RunEnd, State};
use punctual_measure::loads::{LoadList, LoadSpec};
use punctual_model::{
    BandVerdict, GuestAgent, LATENCY_TEST_FORMAT, LatencyCell, LatencyTest, Nanos,
};
use punctual_report::document::Document;
use punctual_report::export;
use punctual_store::Store;
use punctual_verdict::bands::{chance, compare_rows, with_runs};
use punctual_verdict::comparison::GroupInput;
use punctual_verdict::select::Chosen;
use serde_json::json;

use super::kernel_store;
use crate::cli::{LatencyFailOn, LatencyTestArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::boots::Boots;
use crate::experiments::runner::Way;
use crate::experiments::{Manner, go_on, how_to_resume, of_command, results};
use crate::guests::Host;
use crate::home;
use crate::output::{self, print};
use crate::signals::StopRequest;

/// Loads that tell preemption models apart, where none are named.
const LOADS: &str = "printk:1000,fork,tmpfs";

/// Boots every kernel, compares, and says so.
pub(super) fn run(home: Option<&Path>, args: &LatencyTestArgs) -> Result<Exit, CliError> {
    let rows = rows(home, &args.kernels, &args.model)?;
    let baseline = args.baseline.as_deref();
    let baseline = baseline.map(|asked| Baseline::find(asked, &rows));
    if baseline.is_none() && args.fail_on.is_some() {
        return Err(CliError::usage(
            "--fail-on: nothing can be worse without --baseline",
        ));
    }
    if args.interval < Nanos::from_micros(100) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 100us: in virtual time the wake-up itself takes tens of them",
            args.interval
        )));
    }
    let test = Test {
        rows,
        baseline: baseline.transpose().map_err(refused)?,
        loads: loads(&args.load, args.idle)?,
        seeds: args.seeds,
        samples: args.samples,
        interval: args.interval,
        common: Common {
            append: args.append.clone(),
            time_limit: args.time_limit,
        },
        tolerance: args.tolerance.as_ref().map_or(0.0, |percent| percent.0),
        jobs: args.jobs.jobs,
        resume: args.resume.clone(),
        quiet: args.quiet,
    };
    // Before the boots: minutes of work must not end at a file that cannot be written.
    let outputs = Outputs::open(args)?;
    let result = test.carry_out(home, StopRequest::on_signals()?, |_| Ok(()))?;
    outputs.write(&result)?;
    if args.json {
        output::write(|out| json(&result, out))?;
    } else {
        print(&output::written(&Document::of_latency_test(&result)))?;
    }
    Ok(exit(args, &result))
}

/// Reads the kernels, refuses one whose configuration lacks what it is to have, and makes a row of each with each model.
pub(super) fn rows(
    home: Option<&Path>,
    words: &[String],
    models: &[Model],
) -> Result<Vec<Row>, CliError> {
    let kernels = words.iter().map(|text| Kernel::parse(text));
    let mut kernels: Vec<Kernel> = kernels
        .collect::<Result<_, _>>()
        .map_err(|err| CliError::usage(err.to_string()))?;
    for kernel in &mut kernels {
        kernel.image = kernel_store::image(home, &kernel.image);
        for fragment in &kernel.config {
            configured::require(&kernel.image, fragment)?;
        }
    }
    latency_test::rows(&kernels, models).map_err(refused)
}

/// What is booted, and how.
#[derive(Debug)]
pub(super) struct Test {
    /// Each kernel with each model.
    pub(super) rows: Vec<Row>,
    /// The row that others are compared with.
    pub(super) baseline: Option<Baseline>,
    /// A measurement each.
    pub(super) loads: Vec<Load>,
    /// Boots of each row.
    pub(super) seeds: u32,
    /// Samples of a measurement.
    pub(super) samples: u64,
    /// Time between the deadlines.
    pub(super) interval: Nanos,
    /// What all guests have.
    pub(super) common: Common,
    /// The gap that makes a verdict, as a share of the baseline.
    pub(super) tolerance: f64,
    /// Guests that run at once.
    pub(super) jobs: Option<usize>,
    /// The test to go on with.
    pub(super) resume: Option<String>,
    /// Without progress.
    pub(super) quiet: bool,
}

impl Test {
    /// Boots every kernel and compares. `begun` gets the name under which the test can be resumed, before the first boot.
    pub(super) fn carry_out(
        &self,
        home: Option<&Path>,
        stop: StopRequest,
        begun: impl FnOnce(&str) -> Result<(), CliError>,
    ) -> Result<LatencyTest, CliError> {
        let host = Host::of(architecture(&self.rows)?)?;
        let qemu = host.version()?;
        let store = Store::open(home::find(home)?)?;
        let resumed = self.resume.as_deref();
        let (experiment, mut state) =
            of_command(&store, "kernel latency-test", resumed, 0, |name| {
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
    let running = |record: &punctual_model::RunRecord| Model::running(&record.host, None).ok();
    let model = records().find_map(running).map(|(model, _)| model.name());
    let cell = LatencyCell {
        model: model.unwrap_or_else(|| row.model_name()).to_owned(),
        ..cell
    };
    with_runs(cell, records().filter(|record| record.valid))
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

fn exit(args: &LatencyTestArgs, result: &LatencyTest) -> Exit {
    let has = |verdict| result.comparisons.iter().any(|of| of.verdict == verdict);
    match args.fail_on {
        None if !result.valid => Exit::Failed,
        None => Exit::Fine,
        Some(LatencyFailOn::Worse) => {
            let judged = result.is_judged();
            let compared = !result.comparisons.is_empty() && !has(BandVerdict::Invalid);
            Exit::of_gate(
                judged && has(BandVerdict::Worse),
                judged && compared && result.valid,
            )
        }
    }
}

pub(super) fn refused(err: PlanError) -> CliError {
    match err {
        PlanError::Image { .. } => CliError::failed_to("test the kernels").because(err),
        other => CliError::usage(other.to_string()),
    }
}

/// A load, or none.
pub(super) type Load = Option<LoadSpec>;

fn name_of(load: &Load) -> String {
    load.as_ref()
        .map_or_else(|| "idle".to_owned(), ToString::to_string)
}

/// The loads, one after the other: those that tell preemption models apart where none are given.
pub(super) fn loads(given: &[LoadList], idle: bool) -> Result<Vec<Load>, CliError> {
    let default = [LOADS
        .parse::<LoadList>()
        .map_err(|err| CliError::usage(err.to_string()))?];
    let lists = match given.is_empty() && !idle {
        true => &default[..],
        false => given,
    };
    let mut loads: Vec<Load> = LoadList::join(lists).into_iter().map(Some).collect();
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

/// The files of the result, opened before the work.
struct Outputs(Vec<(PathBuf, File, Format)>);

#[derive(Clone, Copy)]
enum Format {
    Json,
    Junit,
}

impl Outputs {
    fn open(args: &LatencyTestArgs) -> Result<Self, CliError> {
        let wanted = [(&args.output, Format::Json), (&args.junit, Format::Junit)];
        let wanted = wanted
            .into_iter()
            .filter_map(|(path, format)| Some((path.as_ref()?, format)));
        let opened = wanted.map(|(path, format)| {
            let file = File::create(path).map_err(|err| cannot_write(path, err))?;
            Ok((path.clone(), file, format))
        });
        opened.collect::<Result<_, CliError>>().map(Self)
    }

    fn write(self, result: &LatencyTest) -> Result<(), CliError> {
        for (path, mut file, format) in self.0 {
            match format {
                Format::Json => json(result, &mut file),
                Format::Junit => export::junit_of_latency_test(result, &mut file),
            }
            .map_err(|err| cannot_write(&path, err))?;
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, err: io::Error) -> CliError {
    CliError::failed_to(format!("write {}", path.display())).because(err)
}

fn json(result: &LatencyTest, out: &mut dyn Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, result)?;
    writeln!(out)
}
