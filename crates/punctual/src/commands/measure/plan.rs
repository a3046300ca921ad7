// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From options and the machine to the specification of a run, or to why not.

use punctual_model::{CpuSet, Nanos, Pin, RunSpec};

use crate::cli::{DmaLatency, Switch, WakeupArgs, with_limits};
pub(super) use crate::cpus::{Cpus, usable};
use crate::error::CliError;

/// Measured for this long when nothing is said.
const DEFAULT_DURATION: Nanos = Nanos::from_secs(60);

/// Returns what `args` mean on a machine with `cpus`.
pub(crate) fn plan(args: &WakeupArgs, cpus: &Cpus) -> Result<RunSpec, CliError> {
    check_times(args)?;
    if !args.timer.supports(args.clock) {
        return Err(CliError::usage(format!(
            "--timer {}: the kernel's interface does not know --clock {}",
            args.timer, args.clock
        ))
        .hint("nanosleep, relative and posix know every clock"));
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
        priority: args.priority,
        priority_spread: args.priority_spread,
        interval_ns: args.interval,
        distance_ns: args.distance,
        duration_ns: match (args.duration, args.samples) {
            (None, None) => Some(DEFAULT_DURATION),
            (duration, _) => duration,
        },
        samples: args.samples,
        warm_up_ns: args.warm_up,
        timer: args.timer,
        clock: args.clock,
        dma_latency_ns: match args.common.dma_latency {
            None => Some(Nanos::ZERO),
            Some(DmaLatency::Hold(bound)) => Some(bound),
            Some(DmaLatency::Off) => None,
        },
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
    let too_short = |option: &str, given: Nanos, least: &str| {
        CliError::usage(format!("{option} {given}: must be at least {least}"))
    };
    if args.interval < Nanos::from_micros(1) {
        return Err(too_short("--interval", args.interval, "1us").hint(
            "a wake-up itself takes some microseconds; below about 50us expect overruns, which are counted",
        ));
    }
    for (option, given) in [
        ("--duration", args.duration),
        ("--on-threshold", args.on_threshold),
    ] {
        if given.is_some_and(Nanos::is_zero) {
            return Err(too_short(option, Nanos::ZERO, "1ns"));
        }
    }
    if args.deadline.iter().any(|deadline| deadline.is_zero()) {
        return Err(too_short("--deadline", Nanos::ZERO, "1ns"));
    }
    if let Some(duration) = args.duration
        && duration < args.interval
    {
        return Err(CliError::usage(format!(
            "--duration {duration}: shorter than --interval {}, so there would be no sample",
            args.interval
        )));
    }
    Ok(())
}

/// Refuses intervals so long that the last thread would not wake up once.
fn check_slowest(args: &WakeupArgs, threads: u32) -> Result<(), CliError> {
    let last = threads.saturating_sub(1);
    let slowest = args.interval + args.distance.times(last.into());
    match args.duration {
        Some(duration) if duration < slowest => Err(CliError::usage(format!(
            "--distance {}: thread {last} would have an interval of {slowest}, longer than \
             --duration {duration}, and so no sample",
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
    use crate::cli::{Cli, Command, Instrument};
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
            ("--cpus 3", "CPU 3 is not allowed"),
            ("--housekeeping 7", "CPU 7 is not online"),
            ("--priority f:100", "1 to 99"),
            ("--duration=-1s", "negative"),
            ("--duration 0", "at least 1ns"),
            ("--duration 1us", "no sample"),
            ("--timer sundial", "possible values"),
            ("--timer futex --clock tai", "does not know --clock tai"),
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
