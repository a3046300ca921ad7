// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual kernel latency-test`: an experiment of kernels, each booted once a seed in virtual time.

use std::io::{self, Write};
use std::path::Path;

use punctual_kernel::latency_test::{Baseline, Common};
use punctual_model::{BandVerdict, LatencyTest, Nanos, json};
use punctual_report::document::Document;
use punctual_report::export;

use crate::cli::{LatencyFailOn, LatencyTestArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::kernels::latency_test::{Test, loads, refused, rows};
use crate::output::{self, Destination, print};
use crate::signals::StopRequest;

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
    let mut name = String::new();
    let result = test.carry_out(home, StopRequest::on_signals()?, |begun| {
        begun.clone_into(&mut name);
        Ok(())
    })?;
    let is_taken = outputs.take_standard_output();
    // Where a file cannot be written after all, the answer is given all the same.
    let written = outputs.write(&result);
    if args.json {
        output::write(|out| json(&result, out))?;
    } else if !is_taken {
        print(&output::written(&Document::of_latency_test(&result)))?;
    }
    written.map_err(|err| {
        err.hint(format!(
            "nothing is lost: with --resume {name} and the same options no kernel is booted again"
        ))
    })?;
    Ok(exit(args, &result))
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

/// The files of the result, opened before the work. What lies there stays until the result takes its place.
struct Outputs(Vec<(Destination, Format)>);

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
        let opened = wanted.map(|(path, format)| Ok((Destination::open(path, true)?, format)));
        opened.collect::<Result<_, CliError>>().map(Self)
    }

    /// Whether a result goes to standard output, where a table would be in its way.
    fn take_standard_output(&self) -> bool {
        let mut targets = self.0.iter().map(|(target, _)| target);
        targets.any(Destination::is_standard_output)
    }

    /// Writes all that can be written, and returns the first error.
    fn write(self, result: &LatencyTest) -> Result<(), CliError> {
        let written = self.0.into_iter().map(|(target, format)| {
            let mut bytes = Vec::new();
            match format {
                Format::Json => json(result, &mut bytes),
                Format::Junit => export::junit_of_latency_test(result, &mut bytes),
            }
            .map_err(|err| target.failed(err))?;
            target.put(&bytes)
        });
        let written: Vec<Result<(), CliError>> = written.collect();
        written.into_iter().collect()
    }
}

fn json(result: &LatencyTest, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(&json::indented(result)?)?;
    writeln!(out)
}
