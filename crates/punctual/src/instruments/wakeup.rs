// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual measure wakeup`: its options, and the specification of a run that they make on this machine.

use std::path::Path;

use clap::Args;
use punctual_model::{Clock, CpuSet, Nanos, Pin, RunSpec, TimerKind};
use punctual_stats::PrecisionTarget;
use punctual_store::Store;
use punctual_sys::SysRoot;

use super::request::{self, finish};
use crate::cli::{
    CommonArgs, IntervalArgs, StatisticsArgs, Switch, at_least, one_of, own, with_limits,
};
use crate::cpus::{Cpus, cpus, usable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::recording::{self, Job};
use crate::signals::StopRequest;
use crate::view::View;

/// Options of `measure wakeup`
#[derive(Args, Debug)]
#[command(mut_args(own("wakeup", &[])))]
pub struct WakeupArgs {
    /// Number of measuring threads [default: one for each CPU]
    #[arg(long, short = 't', value_name = "N", help_heading = "Threads",
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Option<u32>,

    /// How threads are bound: each to one CPU of the set, all to the whole set, or not at all
    #[arg(long, value_name = "HOW", default_value = "each", help_heading = "Threads",
          value_parser = one_of(Pin::ALL, Pin::name))]
    pub pin: Pin,

    /// Lower the priority by one from thread to thread
    #[arg(long, help_heading = "Threads")]
    pub priority_spread: bool,

    /// How often
    #[command(flatten)]
    pub pace: IntervalArgs,

    /// Added to the interval of each further thread
    #[arg(
        long,
        short = 'd',
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "0",
        help_heading = "Sampling"
    )]
    pub distance: Nanos,

    /// Timer to sleep with; `relative` sleeps for a span of time, all others until a deadline
    #[arg(long, value_name = "KIND", default_value = "nanosleep", help_heading = "Sampling",
          value_parser = one_of(TimerKind::ALL, TimerKind::name))]
    pub timer: TimerKind,

    /// Clock of the deadlines and time stamps
    #[arg(long, value_name = "CLOCK", default_value = "monotonic", help_heading = "Sampling",
          value_parser = one_of(Clock::ALL, Clock::name))]
    pub clock: Clock,

    /// Store every sample, not only statistics
    #[arg(long, help_heading = "Sampling")]
    pub raw: bool,

    /// Measure for this time [default: 60s, or without limit when --samples is given]
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub duration: Option<Nanos>,

    /// Take this many samples with each thread
    #[arg(long, short = 'n', value_name = "N", help_heading = "End",
          value_parser = clap::value_parser!(u64).range(1..))]
    pub samples: Option<u64>,

    /// Leave the first TIME out of the figures; its samples are counted and shown
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        default_value = "0",
        help_heading = "End"
    )]
    pub warm_up: Nanos,

    /// Stop as soon as a figure is this precise, such as p99:2% or mean:0.005us@99% (can be repeated)
    #[arg(long, value_name = "FIGURE:WIDTH", help_heading = "End")]
    pub until: Vec<PrecisionTarget>,

    /// Stop at a sample above TIME, keep the samples around it, and exit 3
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub on_threshold: Option<Nanos>,

    /// Afterwards, fill and sum fresh memory on each measured CPU for this time, without loads, and record how much: what settings cost ordinary work
    #[arg(long, value_name = "TIME", help_heading = "End")]
    pub work: Option<Nanos>,

    /// Count the samples later than TIME exactly, and exit 3 if there are any (can be repeated)
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub deadline: Vec<Nanos>,

    /// What is kept of samples
    #[command(flatten)]
    pub statistics: StatisticsArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Measured for this long when nothing is said.
const DEFAULT_DURATION: Nanos = Nanos::from_secs(60);

/// Measures wake-up latency as `args` say.
pub(super) fn run(home: Option<&Path>, args: &WakeupArgs) -> Result<Exit, CliError> {
    let sys = SysRoot::live();
    let spec = plan(args, &cpus(&sys)?)?;
    let store = Store::open(home::find(home)?)?;
    recording::check_room(&store, &spec)?;
    let stop = StopRequest::on_signals()?;
    let common = &args.common;
    let job = Job {
        psquare: args.statistics.psquare(),
        work: args.work,
        ..request::job(common, Job::wakeup(spec))?
    };
    let mut view = View::pick(common.quiet, &stop);
    view.title("wakeup");
    let recorded = recording::record_wakeup(&sys, &store, &job, &stop, &mut view)?;
    finish(&recorded, common.json, common.quiet)
}

/// Returns what `args` mean on a machine with `cpus`.
fn plan(args: &WakeupArgs, cpus: &Cpus) -> Result<RunSpec, CliError> {
    check_times(args)?;
    if !args.timer.supports(args.clock) {
        return Err(CliError::usage(format!(
            "--timer {}: its kernel interface does not support --clock {}",
            args.timer, args.clock
        ))
        .hint("nanosleep, relative and posix support every clock"));
    }
    let measured = match &args.common.cpus {
        Some(asked) => usable("--cpus", asked, cpus)?,
        None => cpus.allowed.clone(),
    };
    let threads = match args.threads {
        Some(threads) => threads,
        None => u32::try_from(measured.len()).unwrap_or(u32::MAX),
    };
    let housekeeping = match &args.common.housekeeping {
        Some(asked) => usable("--housekeeping", asked, cpus)?,
        None => housekeeping(args, threads, &measured, cpus),
    };
    check_slowest(args, threads)?;
    Ok(RunSpec {
        threads,
        cpus: measured,
        pin: args.pin,
        priority: args.common.priority,
        priority_spread: args.priority_spread,
        interval_ns: args.pace.interval,
        distance_ns: args.distance,
        duration_ns: match (args.duration, args.samples) {
            (None, None) => Some(DEFAULT_DURATION),
            (duration, _) => duration,
        },
        samples: args.samples,
        warm_up_ns: args.warm_up,
        timer: args.timer,
        clock: args.clock,
        dma_latency_ns: args.common.bound(true),
        mlock: args.common.mlock != Some(Switch::Off),
        housekeeping,
        raw: args.raw,
        until: args.until.iter().map(ToString::to_string).collect(),
        on_threshold_ns: args.on_threshold,
        deadlines_ns: with_limits(&args.deadline, &args.common.require),
        loads: args.common.loads.words()?,
    })
}

fn check_times(args: &WakeupArgs) -> Result<(), CliError> {
    args.pace.at_least(Nanos::from_micros(1)).map_err(|err| {
        err.hint("a wake-up takes some microseconds; below about 50us expect overruns, which are counted")
    })?;
    let given = [
        ("--duration", &args.duration),
        ("--on-threshold", &args.on_threshold),
    ];
    let deadlines = args
        .deadline
        .iter()
        .map(|deadline| ("--deadline", deadline));
    let given = given
        .into_iter()
        .flat_map(|(option, time)| Some(option).zip(time.as_ref()));
    for (option, time) in given.chain(deadlines) {
        at_least(option, *time, Nanos::new(1))?;
    }
    args.duration
        .map_or(Ok(()), |duration| args.pace.fits(duration))
}

/// Refuses intervals so long that the last thread would not wake up once.
fn check_slowest(args: &WakeupArgs, threads: u32) -> Result<(), CliError> {
    let last = threads.saturating_sub(1);
    let slowest = args.pace.interval + args.distance.times(last.into());
    match args.duration {
        Some(duration) if duration < slowest => Err(CliError::usage(format!(
            "--distance {}: thread {last} would have an interval of {slowest}, longer than \
             --duration {duration}, so it would have no sample",
            args.distance
        ))),
        _ => Ok(()),
    }
}

/// Picks the CPUs that no thread measures; all, where every CPU is measured.
fn housekeeping(args: &WakeupArgs, threads: u32, measured: &CpuSet, cpus: &Cpus) -> CpuSet {
    let busy: CpuSet = match args.pin {
        Pin::Each => measured.iter().take(threads as usize).collect(),
        Pin::Set => measured.clone(),
        Pin::None => cpus.allowed.clone(),
    };
    cpus.free_of(&busy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::{Cli, Command};
    use crate::instruments::Instrument;
    use clap::Parser as _;

    fn planned(options: &str) -> Result<RunSpec, String> {
        let line = format!("punctual measure wakeup {options}");
        let cli = Cli::try_parse_from(line.split_whitespace()).map_err(|err| err.to_string())?;
        let Command::Measure {
            instrument: Instrument::Wakeup(args),
            ..
        } = cli.command
        else {
            unreachable!("the line says so");
        };
        let cpus = Cpus {
            online: "0-3".parse().unwrap(),
            allowed: "0-2".parse().unwrap(),
            reachable: "0-2".parse().unwrap(),
        };
        plan(&args, &cpus).map_err(|err| format!("{err:?}"))
    }

    #[test]
    fn defaults_measure_every_allowed_cpu_for_a_minute() {
        let spec = planned("").unwrap();
        assert_eq!((spec.threads, spec.cpus.to_string()), (3, "0-2".to_owned()));
        assert_eq!(spec.duration_ns, Some(Nanos::from_secs(60)));
        assert_eq!(spec.housekeeping.to_string(), "0-2");
        assert_eq!(planned("--samples 5").unwrap().duration_ns, None);
    }

    #[test]
    fn housekeeping_avoids_the_measured_cpus() {
        assert_eq!(planned("-c 1").unwrap().housekeeping.to_string(), "0,2");
        assert_eq!(planned("-t 1").unwrap().housekeeping.to_string(), "1-2");
        assert_eq!(
            planned("--pin none").unwrap().housekeeping.to_string(),
            "0-2"
        );
    }

    #[test]
    fn bad_options_name_the_reason() {
        for (options, part) in [
            ("--interval 0", "at least 1us"),
            ("--cpus 99", "CPU 99 is not online"),
            ("--cpus 3", "may not use CPU 3"),
            ("--housekeeping 7", "CPU 7 is not online"),
            ("--priority f:100", "1 to 99"),
            ("--duration=-1s", "negative"),
            ("--duration 0", "at least 1ns"),
            ("--duration 1us", "no sample"),
            ("--timer sundial", "possible values"),
            ("--timer futex --clock tai", "does not support --clock tai"),
            ("--samples 0", "0 is not in 1.."),
            ("--threads 0", "0 is not in 1.."),
            ("--until p200:1%", "p200"),
            ("--dma-latency 1ns", "whole microseconds"),
            ("--deadline 0", "at least 1ns"),
            (
                "--distance 1s --duration 1s",
                "thread 2 would have an interval",
            ),
            ("--load disk", "not a load"),
        ] {
            let err = planned(options).unwrap_err();
            assert!(err.contains(part), "{options}: {err}");
        }
    }
}
