// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel latency-test`.

mod boots;
mod configured;
mod view;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use punctual_kernel::boot::SHIFT;
use punctual_kernel::latency_test::{
    Baseline, CellInput, Kernel, Load, PlanError, Row, Test, chance, conclude, rows,
};
use punctual_measure::loads::{LoadList, LoadSpec};
use punctual_model::{BandVerdict, GuestAgent, LATENCY_TEST_FORMAT, LatencyTest, Nanos};
use punctual_report::{export, text};

use super::stock;
use crate::cli::{LatencyFailOn, LatencyTestArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::Host;
use crate::output::{self, print};
use crate::signals::StopRequest;

/// Loads that tell preemption models apart, where none are named.
const LOADS: &str = "printk:1000,fork,tmpfs";

/// Boots every kernel, compares, and says so.
pub(super) fn run(home: Option<&Path>, args: &LatencyTestArgs) -> Result<Exit, CliError> {
    let kernels = kernels(home, &args.kernels)?;
    let rows = rows(&kernels, &args.model).map_err(refused)?;
    let baseline = args.baseline.as_deref();
    let baseline = baseline
        .map(|asked| Baseline::find(asked, &rows))
        .transpose()
        .map_err(refused)?;
    if baseline.is_none() && args.fail_on.is_some() {
        return Err(CliError::usage(
            "--fail-on: nothing can be worse without --baseline",
        ));
    }
    let test = test(args)?;
    // Before the boots: minutes of work must not end at a file that cannot be written.
    let outputs = Outputs::open(args)?;
    let stop = StopRequest::on_signals()?;
    let host = Host::here()?;
    let qemu = host.version()?;
    let measured = boots::carry_out(&host, &rows, &test, args, &stop)?;
    let result = result(
        args,
        &test,
        &rows,
        measured,
        baseline.as_ref(),
        (qemu, host.agent()),
    );
    outputs.write(&result)?;
    if args.json {
        output::write(|out| json(&result, out))?;
    } else {
        print(&text::latency_test(&result))?;
    }
    Ok(exit(args, &result))
}

fn result(
    args: &LatencyTestArgs,
    test: &Test,
    rows: &[Row],
    measured: Vec<Vec<CellInput>>,
    baseline: Option<&Baseline>,
    (qemu, agent): (String, GuestAgent),
) -> LatencyTest {
    let tolerance = args.tolerance.as_ref().map_or(0.0, |percent| percent.0);
    let (cells, comparisons) = conclude(rows, measured, baseline, tolerance);
    LatencyTest {
        format: LATENCY_TEST_FORMAT.to_owned(),
        time: "virtual-time".to_owned(),
        instruction_ns: Nanos::new(1 << SHIFT),
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
        qemu,
        agent: Some(agent),
        seeds: args.seeds,
        samples: test.samples,
        interval_ns: test.interval,
        tolerance,
        chance: chance(args.seeds),
        valid: cells.iter().all(|cell| cell.faults.is_empty()),
        cells,
        comparisons,
    }
}

/// Bands of equal kernels lie apart more often than this by chance with few seeds: a verdict on them is none.
const MOST_CHANCE: f64 = 0.05;

fn exit(args: &LatencyTestArgs, result: &LatencyTest) -> Exit {
    let has = |verdict| result.comparisons.iter().any(|of| of.verdict == verdict);
    match args.fail_on {
        None if !result.valid => Exit::Failed,
        None => Exit::Fine,
        Some(LatencyFailOn::Worse) => {
            let judged = result.chance <= MOST_CHANCE;
            let compared = !result.comparisons.is_empty() && !has(BandVerdict::Invalid);
            Exit::of_gate(
                judged && has(BandVerdict::Worse),
                judged && compared && result.valid,
            )
        }
    }
}

/// Reads the kernels, and refuses one whose configuration lacks what it is to have.
fn kernels(home: Option<&Path>, words: &[String]) -> Result<Vec<Kernel>, CliError> {
    let kernels = words.iter().map(|text| Kernel::parse(text));
    let mut kernels: Vec<Kernel> = kernels
        .collect::<Result<_, _>>()
        .map_err(|err| CliError::usage(err.to_string()))?;
    for kernel in &mut kernels {
        kernel.image = stock::image(home, &kernel.image);
        for fragment in &kernel.config {
            configured::require(&kernel.image, fragment)?;
        }
    }
    Ok(kernels)
}

fn refused(err: PlanError) -> CliError {
    match err {
        PlanError::Image { .. } => CliError::failed_to("test the kernels").because(err),
        other => CliError::usage(other.to_string()),
    }
}

fn test(args: &LatencyTestArgs) -> Result<Test, CliError> {
    let default = [LOADS
        .parse::<LoadList>()
        .map_err(|err| CliError::usage(err.to_string()))?];
    let lists = match args.load.is_empty() && !args.idle {
        true => &default[..],
        false => &args.load,
    };
    let mut loads: Vec<Load> = LoadList::join(lists).iter().map(load).collect();
    if args.idle {
        loads.push(Load {
            name: "idle".to_owned(),
            options: Vec::new(),
        });
    }
    for (at, load) in loads.iter().enumerate() {
        if loads.iter().take(at).any(|other| other.name == load.name) {
            return Err(CliError::usage(format!(
                "--load {}: given twice",
                load.name
            )));
        }
    }
    if args.interval < Nanos::from_micros(100) {
        return Err(CliError::usage(format!(
            "--interval {}: must be at least 100us: in virtual time the wake-up itself takes tens of them",
            args.interval
        )));
    }
    Ok(Test {
        loads,
        samples: args.samples,
        interval: args.interval,
        append: args.append.clone(),
        time_limit: args.time_limit,
    })
}

fn load(load: &LoadSpec) -> Load {
    let name = load.to_string();
    let mut options = vec![format!("--load={name}")];
    if load.reaches_consoles() {
        // It is the guest's console.
        options.push("--allow-console".to_owned());
    }
    Load { name, options }
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
                Format::Junit => export::junit(result, &mut file),
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
