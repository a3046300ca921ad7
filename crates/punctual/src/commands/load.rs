// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual load`: only the loads.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use punctual_measure::loads;
use punctual_sys::{SysRoot, sched};

use crate::cli::LoadArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{print, remark};
use crate::signals::StopRequest;

/// Runs the loads until the end is asked for.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, CliError> {
    if args.duration.is_some_and(punctual_model::Nanos::is_zero) {
        return Err(CliError::usage("--duration 0: there is no time to load"));
    }
    let failed = |err: std::io::Error| CliError::failed_to("run the loads").because(err);
    if let Some(parent) = args.report_to {
        punctual_sys::thread::die_with_parent(parent).map_err(failed)?;
    }
    let stop = StopRequest::on_signals()?.flag();
    let cpus = match args.cpus {
        Some(cpus) => cpus,
        None => u32::try_from(sched::affinity().map_err(failed)?.len()).unwrap_or(1),
    };
    if let Some(duration) = args.duration {
        let stop = std::sync::Arc::clone(&stop);
        let end = Instant::now() + Duration::from(duration);
        thread::spawn(move || {
            while Instant::now() < end {
                thread::sleep((end - Instant::now()).min(Duration::from_millis(100)));
            }
            stop.store(true, Ordering::Relaxed);
        });
    }
    let sys = SysRoot::live();
    if args.report_to.is_some() {
        let run = loads::run(&sys, &args.loads, cpus, &stop, &mut std::io::stdout());
        if let Err(err) = run {
            // The measurement tells it: one error is enough.
            print(&format!("failed {err}\n"))?;
            return Ok(Exit::Failed);
        }
        Ok(())
    } else {
        let names: Vec<String> = args.loads.iter().map(ToString::to_string).collect();
        remark(&format!(
            "Loading with {} on {cpus} CPUs; Ctrl-C ends it.",
            names.join(", ")
        ));
        loads::run(&sys, &args.loads, cpus, &stop, &mut std::io::sink())
    }
    .map_err(failed)?;
    Ok(Exit::Fine)
}
