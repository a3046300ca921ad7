// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual load`: only the loads.

mod alone;

use std::error::Error as _;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punctual_measure::loads::{self, LoadList, LoadSpec, Report, Role};
use punctual_model::Nanos;
use punctual_sys::{SysRoot, sched};

use self::alone::Alone;
use crate::cli::LoadArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{print, remark};
use crate::signals::StopRequest;

/// Runs the loads until the end is asked for.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, CliError> {
    if args.duration.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--duration 0: must be above 0"));
    }
    let stop = StopRequest::on_signals()?.flag();
    let loads = args.reach.over(LoadList::join(&args.loads))?;
    if loads.is_empty() {
        return Err(CliError::usage("no load given"));
    }
    let cpus = match args.cpus {
        Some(cpus) => cpus,
        None => {
            let allowed = sched::affinity().map_err(|err| cannot_run(&err))?;
            u32::try_from(allowed.len()).unwrap_or(1)
        }
    };
    let work = |say: &mut dyn FnMut(&Report) -> io::Result<()>| {
        let sys = SysRoot::live();
        if let Err(err) = loads::be_first_to_go(&sys) {
            // A program with file capabilities may not, unless root runs it.
            let why = err.source().map(|why| format!(": {why}"));
            remark(&format!(
                "Could not mark the loads for the OOM killer: {err}{}",
                why.unwrap_or_default()
            ));
        }
        loads::run(&sys, &loads, cpus, &stop, say)
    };
    let duration = args.duration.map(Duration::from);
    match args.report_to {
        Some(parent) => serve(parent, duration, &stop, work),
        None => {
            let mut alone = Alone::new(args, &loads, &stop);
            let say = &mut |report: &Report| {
                if *report == Report::Ready {
                    remark(&beginning(&loads, cpus));
                }
                alone.take(report)
            };
            work(say).map_err(|err| cannot_run(&err))?;
            alone.finish(args.json)
        }
    }
}

/// Does what a load has started this process for.
pub(crate) fn play(role: Role, args: &[OsString]) -> ExitCode {
    // Processes that only end must do so quickly.
    let stop = match role {
        Role::End => Ok(Arc::default()),
        Role::Keep => StopRequest::on_any_number_of_signals().map(|stop| stop.flag()),
        Role::Fork | Role::Linpack => StopRequest::on_signals().map(|stop| stop.flag()),
    };
    let played = stop.and_then(|stop| {
        let played = role.play(args, &stop);
        played.map_err(|err| CliError::failed_to("load").because(err))
    });
    match played {
        Ok(status) => ExitCode::from(status),
        Err(err) => {
            // One line: the load tells it as the program's last words.
            remark(&err.in_one_line());
            Exit::Failed.into()
        }
    }
}

/// Says with what the machine is loaded, and on how many CPUs unless a load has its own.
fn beginning(loads: &[LoadSpec], cpus: u32) -> String {
    let names: Vec<String> = loads.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    let on = match cpus {
        _ if loads.iter().any(|load| load.settings.cpus.is_some()) => String::new(),
        1 => " on 1 CPU".to_owned(),
        _ => format!(" on {cpus} CPUs"),
    };
    format!("Loading with {names}{on}; Ctrl-C stops.")
}

fn cannot_run(err: &io::Error) -> CliError {
    let exit = match err.kind() {
        io::ErrorKind::Unsupported => Exit::Unsupported,
        io::ErrorKind::InvalidInput => return CliError::usage(err.to_string()),
        _ => Exit::Failed,
    };
    CliError::failed_to("run the loads")
        .because(err.to_string())
        .exiting(exit)
}

/// Reports to the measurement that has started this process, and ends with it.
fn serve(
    parent: u32,
    duration: Option<Duration>,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce(&mut dyn FnMut(&Report) -> io::Result<()>) -> io::Result<()>,
) -> Result<Exit, CliError> {
    let served = punctual_sys::thread::die_with_parent(parent).and_then(|()| {
        stop_after(duration, stop)?;
        work(&mut |report| {
            let mut out = io::stdout().lock();
            out.write_all(format!("{report}\n").as_bytes())?;
            out.flush()
        })
    });
    match served {
        Ok(()) => Ok(Exit::Fine),
        Err(err) => {
            // The measurement tells it: one error is enough.
            print(&format!("{}\n", Report::refused(&err)))?;
            Ok(Exit::Failed)
        }
    }
}

fn stop_after(duration: Option<Duration>, stop: &Arc<AtomicBool>) -> io::Result<()> {
    let Some(duration) = duration else {
        return Ok(());
    };
    let stop = Arc::clone(stop);
    let end = Instant::now() + duration;
    thread::Builder::new().spawn(move || {
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            thread::sleep(left.min(Duration::from_millis(100)));
        }
        stop.store(true, Ordering::Relaxed);
    })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_cpus_is_said_only_of_loads_that_have_no_own_cpus() {
        for (loads, cpus, expected) in [
            ("cpu", 1, "Loading with cpu on 1 CPU; Ctrl-C stops."),
            ("cpu", 2, "Loading with cpu on 2 CPUs; Ctrl-C stops."),
            ("cpu@cpus=1", 2, "Loading with cpu@cpus=1; Ctrl-C stops."),
            (
                "cpu,cpu@cpus=0",
                2,
                "Loading with cpu, cpu@cpus=0; Ctrl-C stops.",
            ),
        ] {
            let list: LoadList = loads.parse().unwrap();
            assert_eq!(beginning(&list.0, cpus), expected);
        }
    }
}
