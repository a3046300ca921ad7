// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual load`: only the loads.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punctual_measure::loads::{self, Ledger, LoadList, LoadSpec, Report, Role};
use punctual_model::{LOAD_REPORT_FORMAT, LoadReport, Nanos};
use punctual_report::text;
use punctual_sys::{SysRoot, sched};

use crate::cli::LoadArgs;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{self, print, remark};
use crate::signals::StopRequest;

/// Time between the lines that say how much the loads do.
const SAY_EVERY: Duration = Duration::from_secs(1);

/// Runs the loads until the end is asked for.
pub(crate) fn run(args: &LoadArgs) -> Result<Exit, CliError> {
    if args.duration.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--duration 0: there is no time to load"));
    }
    let stop = StopRequest::on_signals()?.flag();
    let loads = args.reach.over(LoadList::join(&args.loads))?;
    if loads.is_empty() {
        return Err(CliError::usage("there is no load to run"));
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
            remark(&format!(
                "The loads are not the first to go when memory runs out: {err}"
            ));
        }
        loads::run(&sys, &loads, cpus, &stop, say)
    };
    let duration = args.duration.map(Duration::from);
    match args.report_to {
        Some(parent) => serve(parent, duration, &stop, work),
        None => {
            let names: Vec<String> = loads.iter().map(ToString::to_string).collect();
            remark(&format!(
                "Loading with {} on {cpus} CPUs; Ctrl-C ends it.",
                names.join(", ")
            ));
            let mut alone = Alone::new(args, &loads, &stop);
            work(&mut |report| alone.take(report)).map_err(|err| cannot_run(&err))?;
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
            let cause = err.cause().map(|cause| format!(": {cause}"));
            remark(&format!("{}{}", err.what(), cause.unwrap_or_default()));
            Exit::Failed.into()
        }
    }
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

/// Loads that nobody measures beside.
struct Alone<'a> {
    loads: &'a [LoadSpec],
    stop: &'a Arc<AtomicBool>,
    duration: Option<Duration>,
    says_rates: bool,
    /// From when all loads work.
    begun: Option<Begun>,
}

struct Begun {
    at: Instant,
    /// The last report: programs take their time to end after it.
    last: Instant,
    ledger: Ledger,
    /// What each load had done when it was last said, and when that was.
    said: Vec<Option<(u64, Instant)>>,
    /// Lines of the loads that have reported since.
    lines: Vec<String>,
    next: Instant,
}

impl<'a> Alone<'a> {
    fn new(args: &LoadArgs, loads: &'a [LoadSpec], stop: &'a Arc<AtomicBool>) -> Self {
        Self {
            loads,
            stop,
            duration: args.duration.map(Duration::from),
            says_rates: !args.json && !args.quiet,
            begun: None,
        }
    }

    /// Takes what the loads say. Fails, which ends them, when nobody reads the rates any more.
    fn take(&mut self, report: &Report) -> io::Result<()> {
        let now = Instant::now();
        let Some(begun) = &mut self.begun else {
            self.begun = Some(Begun {
                at: now,
                last: now,
                ledger: Ledger::open(self.loads.to_vec(), now),
                said: vec![None; self.loads.len()],
                lines: Vec::new(),
                next: now,
            });
            return stop_after(self.duration, self.stop);
        };
        // The end is not known yet: until then every silence counts.
        begun.last = now;
        begun.ledger.note(report, now, now);
        match report {
            // Whoever loads this way relies on all of them.
            Report::Unit { place, .. } => {
                if let Some(said) = begun.said.get_mut(*place) {
                    *said = None;
                }
            }
            Report::Died { .. } => self.stop.store(true, Ordering::Relaxed),
            Report::Work { place, done, .. } if self.says_rates => {
                let name = self.loads.get(*place);
                return begun.say(*place, *done, now, name);
            }
            _ => {}
        }
        Ok(())
    }

    fn finish(self, json: bool) -> Result<Exit, CliError> {
        let Some(begun) = self.begun else {
            // Interrupted before all of them worked.
            return Ok(Exit::Fine);
        };
        let loads = begun.ledger.judge(begun.last, begun.last);
        let faults: Vec<String> = loads
            .iter()
            .filter_map(|load| Some(format!("{}: {}", load.load, load.fault.as_ref()?)))
            .collect();
        let report = LoadReport {
            format: LOAD_REPORT_FORMAT.to_owned(),
            valid: faults.is_empty(),
            duration_ns: Nanos::new(
                u64::try_from((begun.last - begun.at).as_nanos()).unwrap_or(u64::MAX),
            ),
            loads,
        };
        if json {
            output::write(|out| {
                serde_json::to_writer_pretty(&mut *out, &report)?;
                writeln!(out)
            })?;
        } else {
            print(&format!("\n{}", text::loads(&report)))?;
        }
        match faults.is_empty() {
            true => Ok(Exit::Fine),
            false => Err(CliError::failed_to("keep the loads at work").because(faults.join("; "))),
        }
    }
}

impl Begun {
    /// Says once a second how much each load has done since the last time.
    fn say(
        &mut self,
        place: usize,
        done: u64,
        now: Instant,
        load: Option<&LoadSpec>,
    ) -> io::Result<()> {
        let last = place + 1 == self.said.len();
        let Some(said) = self.said.get_mut(place) else {
            return Ok(());
        };
        if now >= self.next {
            let before = said.replace((done, now));
            if let (Some((then, at)), Some(load)) = (before, load) {
                let time = now.saturating_duration_since(at).as_secs_f64();
                let rate = text::scaled(whole(done.saturating_sub(then)) / time);
                let seconds = now.saturating_duration_since(self.at).as_secs_f64();
                let unit = self.ledger.unit(place);
                self.lines
                    .push(format!("{seconds:>7.1} s  {rate:>7} {unit}/s  {load}\n"));
            }
        }
        if last && now >= self.next {
            self.next = now + SAY_EVERY;
            let mut out = io::stdout().lock();
            out.write_all(self.lines.concat().as_bytes())?;
            self.lines.clear();
            return out.flush();
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "display only")]
fn whole(n: u64) -> f64 {
    n as f64
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
