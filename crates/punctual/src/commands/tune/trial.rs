// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune trial`: what each knob of a profile buys on this machine.
//!
//! In each block every knob is tried once, alone, and all of them together, and nothing, in an order
//! drawn for the block: what drifts, or disturbs for a while, hits all of them alike. A run is one
//! value; runs are compared inside their block.

mod conclude;
mod work;

use std::path::Path;
use std::time::{Duration, Instant};

use punctual_host::profile::Profile;
use punctual_model::{LeftOut, Nanos, Plan, Policy, RunSpec, TrialReport};
use punctual_report::text;
use punctual_stats::Source;
use punctual_store::Store;

use self::conclude::{Cell, Figures};
use super::show;
use crate::cli::TrialArgs;
use crate::cpus::{cpus, on_each, usable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::home;
use crate::output::remark;
use crate::recording::{self, Job};
use crate::signals::StopRequest;
use crate::tuning::{self, Begun, Care, Place, Tuned, Wish};
use crate::view::View;

/// The name of all knobs as one treatment.
const TOGETHER: &str = "all together";
/// Knobs that only go together: the kernel ties their values to each other.
const BANDWIDTH: [&str; 4] = [
    "kernel.sched_rt_runtime_us",
    "kernel.sched_rt_period_us",
    "cgroup.rt_runtime_us",
    "cgroup.rt_period_us",
];
/// How long nothing is measured after a change.
const SETTLE: Duration = Duration::from_millis(50);

/// Something to try.
#[derive(Debug)]
pub(super) struct Trying {
    name: String,
    profile: Profile,
    settings: u64,
}

/// Tries the knobs of a profile.
pub(super) fn run(place: &Place, home: Option<&Path>, args: &TrialArgs) -> Result<Exit, CliError> {
    place.require_privilege()?;
    if place.root.is_some() {
        return Err(CliError::usage(
            "--root: a captured machine cannot be measured",
        ));
    }
    if args.duration < Nanos::from_millis(100) {
        return Err(CliError::usage(format!(
            "--duration {}: must be at least 100ms, or there is nothing to compare",
            args.duration
        )));
    }
    let stop = StopRequest::on_signals()?;
    let wish = Wish::from(&args.wish);
    let whole = tuning::prepare(place, &wish)?;
    tuning::refuse(&whole.plan, args.yes)?;
    let (tried, left_out) = treatments(place, &wish, whole.profile())?;
    if tried.is_empty() {
        remark("There is nothing to try: `punctual tune plan` says why.");
        return Ok(Exit::Unsupported);
    }
    let spec = spec(args, &whole.plan)?;
    let trial = Trial {
        place,
        store: Store::open(home::find(home)?)?,
        args,
        wish,
        spec,
        stop,
        tried,
    };
    trial.announce();
    let seed = args.seed.unwrap_or_else(seed_of_the_moment);
    let (cells, blocks) = trial.blocks(seed)?;
    let facts = tuning::host_facts(&place.sys);
    let report = TrialReport {
        profile: whole.plan.profile.clone(),
        hostname: facts.hostname,
        kernel_release: facts.kernel_release,
        cpus: trial.spec.cpus.clone(),
        cell_ns: args.duration,
        left_out,
        complete: blocks == args.blocks,
        ..conclude::report(&trial.tried, &cells, blocks, (seed, args.effect))
    };
    show(&report, args.json, text::trial)?;
    Ok(if report.complete {
        Exit::Fine
    } else {
        Exit::Failed
    })
}

fn seed_of_the_moment() -> u64 {
    // The last bits of the id are random.
    let id = uuid::Uuid::now_v7().as_u64_pair().1;
    id & 0xffff_ffff
}

/// Divides a profile into its knobs, as far as there is anything to try of them here.
fn treatments(
    place: &Place,
    wish: &Wish,
    profile: &Profile,
) -> Result<(Vec<Trying>, Vec<LeftOut>), CliError> {
    let mut names: Vec<&str> = Vec::new();
    for want in &profile.wants {
        let name = group(want.knob.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut tried = Vec::new();
    let mut left_out = Vec::new();
    for name in names {
        let mut part = profile.clone();
        part.wants.retain(|want| group(want.knob.name) == name);
        let plan = tuning::prepare_profile(place, part.clone(), wish)?.plan;
        if plan.is_empty() {
            left_out.push(LeftOut {
                knob: name.to_owned(),
                reason: why_empty(&plan),
            });
        } else {
            tried.push(Trying {
                name: name.to_owned(),
                settings: settings(&plan),
                profile: part,
            });
        }
    }
    if tried.len() > 1 {
        tried.push(Trying {
            name: TOGETHER.to_owned(),
            settings: tried.iter().map(|one| one.settings).sum(),
            profile: profile.clone(),
        });
    }
    Ok((tried, left_out))
}

fn group(knob: &'static str) -> &'static str {
    if BANDWIDTH.contains(&knob) {
        BANDWIDTH[0]
    } else {
        knob
    }
}

fn settings(plan: &Plan) -> u64 {
    (plan.steps.len() + plan.held.len()) as u64
}

fn why_empty(plan: &Plan) -> String {
    match plan.skipped.first() {
        Some(skipped) if plan.satisfied == 0 => skipped.detail.clone(),
        _ => "as wanted already".to_owned(),
    }
}

/// What is measured: what the profile does to idle states must not be done by the measurement.
fn spec(args: &TrialArgs, plan: &Plan) -> Result<RunSpec, CliError> {
    let sys = punctual_sys::SysRoot::live();
    let cpus = cpus(&sys)?;
    let measured = match &args.measure {
        Some(list) => usable("--measure", list, &cpus)?,
        None if plan.cpus_rt.is_empty() => cpus.allowed.clone(),
        None => plan.cpus_rt.clone(),
    };
    Ok(RunSpec {
        duration_ns: Some(args.duration),
        loads: args.loads.words()?,
        ..on_each(measured, &cpus, Policy::Fifo { priority: 80 })
    })
}

struct Trial<'a> {
    place: &'a Place,
    store: Store,
    args: &'a TrialArgs,
    wish: Wish,
    spec: RunSpec,
    stop: StopRequest,
    tried: Vec<Trying>,
}

impl Trial<'_> {
    fn announce(&self) {
        let cells = (self.tried.len() as u64 + 1) * self.args.blocks;
        // Half as long again for the work beside the latency, and what a change takes.
        let span = Nanos::new(self.args.duration.get() * 3 / 2) + Nanos::from_millis(300);
        remark(&format!(
            "Trying {} knobs in {} blocks: {cells} runs, about {}. Ctrl-C ends it with what there is.",
            self.tried.len() - usize::from(self.tried.len() > 1),
            self.args.blocks,
            span.times(cells)
        ));
    }

    /// Measures block after block. Returns the cells of whole blocks, and how many those are.
    fn blocks(&self, seed: u64) -> Result<(Vec<Cell>, u64), CliError> {
        let mut source = Source::new(seed);
        let mut cells = Vec::new();
        let started = Instant::now();
        for block in 0..self.args.blocks {
            let mut order: Vec<Option<usize>> =
                (0..self.tried.len()).map(Some).chain([None]).collect();
            let all = order.len();
            source.shuffle_first(&mut order, all);
            let mut found = Vec::new();
            for treatment in order {
                if self.stop.is_set() {
                    return Ok((cells, block));
                }
                found.push(self.cell(block, treatment)?);
            }
            if self.stop.is_set() {
                return Ok((cells, block));
            }
            cells.extend(found);
            if !self.args.quiet {
                let done = block + 1;
                let mean = started.elapsed().as_secs_f64() / done as f64;
                let left = mean * (self.args.blocks - done) as f64;
                remark(&format!(
                    "Block {done} of {} measured, about {left:.0} s left",
                    self.args.blocks
                ));
            }
        }
        Ok((cells, self.args.blocks))
    }

    /// Measures one treatment, or none, once.
    fn cell(&self, block: u64, treatment: Option<usize>) -> Result<Cell, CliError> {
        let Some(trying) = treatment.and_then(|at| self.tried.get(at)) else {
            let figures = self.measure(block, "nothing")?;
            return Ok(Cell {
                block,
                treatment,
                figures,
                failed: 0,
            });
        };
        let prepared = tuning::prepare_profile(self.place, trying.profile.clone(), &self.wish)?;
        let care = Care {
            yes: self.args.yes,
            atomic: false,
        };
        let begun = Tuned::begin(self.place, prepared, "trial", care, &|| false)?;
        let (tuned, report) = match begun {
            Begun::Applied(tuned, report) => (tuned, report),
            Begun::TakenBack(_) => {
                return Err(CliError::failed_to(format!("try {}", trying.name)));
            }
        };
        let figures = self.measure(block, &trying.name);
        let back = tuned.end()?;
        if !back.complete {
            remark(text::tuning(&back).trim_end());
            return Err(CliError::failed_to(format!(
                "put everything back after {}: the trial ends here",
                trying.name
            ))
            .exiting(Exit::NotRestored));
        }
        let failed = report.steps.iter().filter(|step| step.is_failure());
        Ok(Cell {
            block,
            treatment,
            figures: figures?,
            failed: failed.count() as u64,
        })
    }

    /// Measures the machine as it is: latency, then work. None if the run is invalid.
    fn measure(&self, block: u64, name: &str) -> Result<Option<Figures>, CliError> {
        std::thread::sleep(SETTLE);
        let job = Job {
            name: Some(format!("trial {name}")),
            note: Some(format!("block {block}")),
            loads: self.args.loads.chosen()?,
            ..Job::wakeup(self.spec.clone())
        };
        let sys = &self.place.sys;
        let recorded =
            recording::record_wakeup(sys, &self.store, &job, &self.stop, &mut View::Quiet)?;
        recorded.kept()?;
        let record = &recorded.record;
        if !record.valid {
            return Ok(None);
        }
        let quantile = |name: &str| {
            let value = record.total.quantiles_ns.get(name).copied().flatten();
            value.map(conclude::exact)
        };
        let span = Duration::from(Nanos::new(self.args.duration.get() / 2));
        let Some(work) = work::rate(&self.spec.cpus, span) else {
            return Ok(None);
        };
        Ok(Some(Figures {
            p50: quantile("p50"),
            p99: quantile("p99"),
            work: Some(work),
        }))
    }
}
