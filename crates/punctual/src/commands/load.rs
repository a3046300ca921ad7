// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual load`: only the loads.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let stop = StopRequest::on_signals()?.flag();
    match load(args, &stop) {
        Ok(()) => Ok(Exit::Fine),
        Err(err) if args.report_to.is_some() => {
            // The measurement tells it: one error is enough.
            print(&format!("failed {err}\n"))?;
            Ok(Exit::Failed)
        }
        Err(err) => Err(CliError::failed_to("run the loads").because(err)),
    }
}

fn load(args: &LoadArgs, stop: &Arc<AtomicBool>) -> io::Result<()> {
    if let Some(parent) = args.report_to {
        punctual_sys::thread::die_with_parent(parent)?;
    }
    let cpus = match args.cpus {
        Some(cpus) => cpus,
        None => u32::try_from(sched::affinity()?.len()).unwrap_or(1),
    };
    if let Some(duration) = args.duration {
        stop_after(duration.into(), Arc::clone(stop))?;
    }
    let sys = SysRoot::live();
    if args.report_to.is_some() {
        return loads::run(&sys, &args.loads, cpus, stop, &mut io::stdout());
    }
    let names: Vec<String> = args.loads.iter().map(ToString::to_string).collect();
    remark(&format!(
        "Loading with {} on {cpus} CPUs; Ctrl-C ends it.",
        names.join(", ")
    ));
    loads::run(&sys, &args.loads, cpus, stop, &mut io::sink())
}

fn stop_after(duration: Duration, stop: Arc<AtomicBool>) -> io::Result<()> {
    let end = Instant::now() + duration;
    thread::Builder::new().spawn(move || {
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            thread::sleep(left.min(Duration::from_millis(100)));
        }
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}
