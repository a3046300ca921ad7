// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual assess`: the main job.
//!
//! A run without a load and one under each load, and what they allow to be said
//! about deadlines.

mod beside;

use std::io;
use std::path::Path;

use punctual_measure::refusal::{self, Refusal};
use punctual_model::{
    Assessment, Condition, Nanos, Policy, RealTimeClass, RequirementResult, RunSpec,
};
use punctual_report::document::{Document, Material};
use punctual_store::Store;
use punctual_sys::{SysRoot, sched};
use punctual_verdict::assessment::assess;

use self::beside::Beside;
use crate::cli::{self, AssessArgs, with_limits};
use crate::cpus::{Cpus, cpus, on_each, usable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::metrics::Metrics;
use crate::output::{self, remark};
use crate::recording::{self, Job};
use crate::signals::StopRequest;
use crate::view::View;

/// The deadlines of the table, where none is asked for.
const DEADLINES: [Nanos; 8] = [
    Nanos::from_micros(50),
    Nanos::from_micros(100),
    Nanos::from_micros(200),
    Nanos::from_micros(500),
    Nanos::from_millis(1),
    Nanos::from_millis(2),
    Nanos::from_millis(5),
    Nanos::from_millis(10),
];

/// The policy to measure with.
const POLICY: Policy = Policy::Fifo { priority: 80 };

/// Below this a load has hardly begun, and the figures say nothing.
const LEAST: Nanos = Nanos::from_millis(500);

/// Assesses this machine.
pub(crate) fn run(home: Option<&Path>, args: &AssessArgs) -> Result<Exit, CliError> {
    if args.deadline.iter().any(|deadline| deadline.is_zero()) {
        return Err(CliError::usage("--deadline 0: must be at least 1ns"));
    }
    let sys = SysRoot::live();
    let chosen = beside::choose(&sys, args)?;
    let count = chosen.conditions.len() as u64;
    if args.duration.get() / count < LEAST.get() {
        let (duration, least) = (args.duration, LEAST.times(count));
        return Err(CliError::usage(format!(
            "--duration {duration}: must be at least {least}, for {count} conditions"
        )));
    }
    let cpus = cpus(&sys)?;
    let (policy, obstacle) = policy();
    let spec = RunSpec {
        duration_ns: Some(Nanos::new(args.duration.get() / count)),
        ..spec(args, &cpus, policy)?
    };
    let store = Store::open(home::find(home)?)?;
    let stop = StopRequest::on_signals()?;
    if let Some(obstacle) = obstacle.as_ref().filter(|_| !args.quiet && !args.json) {
        // Said before the wait too: who wants a real-time measurement need not wait for another.
        remark(&format!("NOT a real-time measurement: {obstacle}"));
    }
    if let Some(left_out) = chosen
        .left_out
        .as_ref()
        .filter(|_| !args.quiet && !args.json)
    {
        remark(&format!("Note: {left_out}"));
    }
    let mut conditions = Vec::new();
    let mut unstored = None;
    let metrics = Metrics::of(&args.metrics, "wakeup", Some("assess"))?;
    let mut view = View::pick(args.quiet, &stop);
    view.keep();
    for (number, Beside { name, loads }) in (1..).zip(chosen.conditions) {
        if stop.is_set() {
            break;
        }
        let spec = RunSpec {
            loads: loads.iter().map(ToString::to_string).collect(),
            deadlines_ns: with_limits(&spec.deadlines_ns, &args.require),
            ..spec.clone()
        };
        let job = Job {
            name: Some(format!("assess {name}")),
            requirements: cli::under(&args.require, Some(args.burst)),
            loads,
            metrics: metrics.clone(),
            explain: args.explain,
            ..Job::wakeup(spec)
        };
        view.title(&format!("assess, {name} ({number} of {count})"));
        if let Some(metrics) = &metrics {
            metrics.next("wakeup", &format!("assess {name}"), (number - 1, count));
        }
        let recorded = recording::record_wakeup(&sys, &store, &job, &stop, &mut view)?;
        if let Err(err) = recorded.kept() {
            unstored = Some(err);
        }
        conditions.push(Condition {
            name,
            run: recorded.record,
        });
    }
    view.clear();
    let interrupted = stop.is_set();
    let assessment = Assessment {
        planned: Some(count),
        left_out: chosen.left_out,
        ..assess(conditions, &spec.deadlines_ns, args.burst, obstacle)
    };
    let text = |assessment: &Assessment| {
        Document::new(&Material {
            assessments: vec![assessment.clone()],
            ..Material::default()
        })
    };
    output::show(&assessment, args.json, text).map_err(|err| {
        let ids: Vec<&str> = assessment
            .conditions
            .iter()
            .map(|c| c.run.id.as_str())
            .collect();
        match unstored {
            None => err.hint(format!(
                "the runs are kept in the store: {}",
                ids.join(", ")
            )),
            Some(_) => err.hint("the runs could not be stored either"),
        }
    })?;
    match unstored {
        Some(err) => Err(err),
        None => exit(&assessment, args, interrupted),
    }
}

/// An assessment that was cut short, or whose runs are invalid, has failed. A deadline that was
/// asked for and missed is a verdict.
fn exit(assessment: &Assessment, args: &AssessArgs, interrupted: bool) -> Result<Exit, CliError> {
    if interrupted {
        remark("Interrupted: the runs so far are recorded; the assessment is incomplete.");
        return Ok(Exit::Failed);
    }
    if !assessment.valid {
        return Ok(Exit::Failed);
    }
    let kept = |class: Option<RealTimeClass>| class == Some(RealTimeClass::HundredPercent);
    if !args.deadline.is_empty() && !assessment.deadlines.iter().all(|d| kept(d.class)) {
        return Ok(Exit::Verdict);
    }
    let mut runs = assessment.conditions.iter().map(|condition| &condition.run);
    if !runs.all(|run| run.requirements.iter().all(RequirementResult::is_met)) {
        return Ok(Exit::Verdict);
    }
    Ok(Exit::Fine)
}

fn spec(args: &AssessArgs, cpus: &Cpus, policy: Policy) -> Result<RunSpec, CliError> {
    let measured = match &args.cpus {
        Some(asked) => usable("--cpus", asked, cpus)?,
        None => cpus.allowed.clone(),
    };
    Ok(RunSpec {
        warm_up_ns: Nanos::from_millis(100),
        dma_latency_ns: Some(Nanos::ZERO),
        deadlines_ns: match args.deadline.is_empty() {
            true => DEADLINES.to_vec(),
            false => args.deadline.clone(),
        },
        ..on_each(measured, cpus, policy)
    })
}

/// Returns the policy to measure with, and what is to be said where that is no real-time policy.
fn policy() -> (Policy, Option<String>) {
    let Err(refused) = sched::tried(POLICY, None) else {
        return (POLICY, None);
    };
    let ordinary = sched::ordinary();
    // A user may not leave SCHED_IDLE.
    let policy = match sched::tried(ordinary, None) {
        Ok(()) => ordinary,
        Err(_) => sched::policy_of(0).unwrap_or(ordinary),
    };
    (policy, Some(obstacle(policy, &refused)))
}

/// Says why the policy is refused, and what would help.
fn obstacle(policy: Policy, refused: &io::Error) -> String {
    let runs_as = match policy {
        Policy::Other { nice } if nice != 0 => format!("SCHED_OTHER (niceness {nice})"),
        policy => policy.kernel_name().to_owned(),
    };
    let why = match refused.kind() {
        io::ErrorKind::PermissionDenied => refusal::here(POLICY),
        _ => Vec::new(),
    };
    let list = |part: fn(&Refusal) -> &str| why.iter().map(part).collect::<Vec<_>>().join(", and ");
    let help = match why.is_empty() {
        true => String::new(),
        false => format!(
            ": {}; for a real-time measurement {}",
            list(|of| &of.reason),
            list(|of| &of.remedy)
        ),
    };
    format!(
        "the threads run as {runs_as}, because {} was refused ({refused}){help}",
        POLICY.kernel_name()
    )
}
