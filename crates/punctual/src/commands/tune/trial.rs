// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune trial`: what each knob of a profile buys on this machine.
//!
//! An experiment whose cells are nothing, every knob alone, and all of them together. The runner tunes the machine for
//! each run: a level is a part of a profile, which no option of `measure` names.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use punctual_host::profile::Profile;
use punctual_lab::engine::{Ended, Ending, slot_is_done};
use punctual_lab::file::Experiment;
use punctual_lab::plan::Invocation;
use punctual_lab::state::State;
use punctual_measure::loads::LoadSpec;
use punctual_model::{CpuSet, LeftOut, Nanos, Plan, TrialReport};
use punctual_report::document::Document;
use punctual_store::Store;
use punctual_sys::SysRoot;
use punctual_verdict::select::Chosen;
use punctual_verdict::trial::{self, Tried};
use punctual_verdict::words::counted;
use serde_json::json;
use uuid::Uuid;

use super::show;
use crate::cli::TrialArgs;
use crate::cpus::{cpus, usable};
use crate::error::CliError;
use crate::exit::Exit;
use crate::experiments::runner::{Child, Way};
use crate::experiments::{Manner, go_on, how_to_resume, of_command, results, tuned};
use crate::home;
use crate::output::{remark, remark_on};
use crate::signals::StopRequest;
use crate::tuning::{self, Begun, Care, Place, STATE_VARIABLE, Tuned, Wish};

/// The factor that the knobs are levels of.
const FACTOR: &str = "knob";
/// The level without any.
const NOTHING: &str = "nothing";
/// The name of all knobs as one treatment.
const TOGETHER: &str = "all together";
/// How long nothing is measured after a change.
const SETTLE: Duration = Duration::from_millis(50);

/// Something to try.
#[derive(Debug)]
struct Trying {
    name: String,
    profile: Profile,
    settings: u64,
}

/// Tries the knobs of a profile.
pub(super) fn run(place: &Place, home: Option<&Path>, args: &TrialArgs) -> Result<Exit, CliError> {
    place.require_privilege(Some("punctual tune plan"))?;
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
    // Of a trial that was killed a moment ago: what is changed is no part of the machine that is tried.
    if let Err(why) = tuned::settle("trial", &|| stop.is_set()) {
        return Err(CliError::failed_to("try anything").because(why));
    }
    let wish = Wish::from(&args.wish);
    let whole = tuning::prepare(place, &wish)?;
    tuning::refuse(&whole.plan, args.yes)?;
    let (tried, left_out) = treatments(place, &wish, whole.profile())?;
    if tried.is_empty() {
        remark("There is nothing to try: `punctual tune plan` says why.");
        return Ok(Exit::Unsupported);
    }
    // What somebody else changes meanwhile would be in the runs without any knob, too.
    let place = &place.claimed("trial", &whole.plan)?;
    let measured = measured(args, &whole.plan)?;
    tuning::require_within_reach(&whole.plan, Some(&measured))?;
    let loads = args.loads.chosen()?;
    let store = Store::open(home::find(home)?)?;
    let resumed = args.resume.as_deref();
    let (experiment, mut state) = of_command(&store, "tune trial", resumed, args.seed, |name| {
        text_of(name, args, &wish, (&measured, &loads), &tried)
    })?;
    if !args.quiet {
        announce(args, &tried);
    }
    let tuner = Tuner {
        place,
        wish: &wish,
        tried: &tried,
        yes: args.yes,
        stop: stop.clone(),
        failure: Mutex::default(),
    };
    let manner = Manner {
        quiet: args.quiet,
        way: Some(Way {
            boots: false,
            run: &|child, runs| tuner.run(child, runs),
        }),
        ..Manner::default()
    };
    let ending = go_on(&store, &experiment, &mut state, stop, manner)?;
    let failure = tuner.failure.into_inner();
    if let Some(err) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(err.hint(how_to_resume(&experiment)));
    }
    let complete = ending != Ending::Stopped;
    let facts = tuning::host_facts(&place.sys);
    let report = TrialReport {
        profile: whole.plan.profile.clone(),
        hostname: facts.hostname,
        kernel_release: facts.kernel_release,
        cpus: measured,
        cell_ns: args.duration,
        left_out,
        complete,
        ..found(&store, &experiment, &state, &tried, args.effect.0)?
    };
    show(&report, args.json, Document::of_trial)?;
    if complete && !report.without_valid_run().is_empty() {
        return Ok(Exit::Failed);
    }
    if complete {
        return Ok(Exit::Fine);
    }
    remark(&how_to_resume(&experiment));
    Ok(Exit::Failed)
}

/// Divides a profile into its knobs, as far as there is anything to try of them here.
fn treatments(
    place: &Place,
    wish: &Wish,
    profile: &Profile,
) -> Result<(Vec<Trying>, Vec<LeftOut>), CliError> {
    let mut names: Vec<&str> = Vec::new();
    for want in &profile.wants {
        let name = want.knob.together();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let mut tried = Vec::new();
    let mut left_out = Vec::new();
    for name in names {
        let mut part = profile.clone();
        part.wants.retain(|want| want.knob.together() == name);
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

fn settings(plan: &Plan) -> u64 {
    (plan.steps.len() + plan.held.len()) as u64
}

fn why_empty(plan: &Plan) -> String {
    match plan.skipped.first() {
        Some(skipped) if plan.satisfied == 0 => skipped.detail.clone(),
        _ => "as wanted already".to_owned(),
    }
}

/// The CPUs that are measured.
fn measured(args: &TrialArgs, plan: &Plan) -> Result<CpuSet, CliError> {
    let cpus = cpus(&SysRoot::live())?;
    match &args.measure {
        Some(list) => usable("--measure", list, &cpus),
        None if plan.cpus_rt.is_empty() => Ok(cpus.allowed),
        None => Ok(plan.cpus_rt.clone()),
    }
}

/// Writes the trial as an experiment's file. The runner sets the levels; what they come from stands in a remark, so that
/// the text is another one where that is.
fn text_of(
    name: &str,
    args: &TrialArgs,
    wish: &Wish,
    (measured, loads): (&CpuSet, &[LoadSpec]),
    tried: &[Trying],
) -> Result<String, CliError> {
    let mut options = json!({
        "cpus": measured.to_string(),
        // What the profile does to idle states must not be done by the measurement.
        "dma-latency": "off",
        "duration": format!("{}ns", args.duration.get()),
        "priority": "f:80",
        "work": format!("{}ns", args.duration.get() / 2),
    });
    if loads.iter().any(LoadSpec::reaches_consoles) {
        options["allow-console"] = true.into();
    }
    let names = [NOTHING].into_iter().chain(tried.iter().map(|t| &*t.name));
    let levels: serde_json::Map<_, _> = names.map(|name| (name.to_owned(), json!({}))).collect();
    let loads: Vec<String> = loads.iter().map(ToString::to_string).collect();
    let file = json!({
        "name": name,
        "command": "tune trial",
        "repeat-invalid": 0,
        "compare": trial::FIGURES,
        "measure": [{ "instrument": "wakeup", "options": options, "load": loads }],
        "factor": [{ "name": FACTOR, "levels": levels }],
        "stop": { "blocks": args.blocks },
    });
    let text = toml::to_string(&file);
    let text = text.map_err(|err| CliError::failed_to("plan the trial").because(err))?;
    Ok(format!("# {wish:?}\n{text}"))
}

fn announce(args: &TrialArgs, tried: &[Trying]) {
    let cells = (tried.len() as u64 + 1) * args.blocks;
    // Half as long again for the work beside the latency, and what a change and a process take.
    let span = Nanos::new(args.duration.get() * 3 / 2) + Nanos::from_millis(300);
    let knobs = tried.len() - usize::from(tried.len() > 1);
    remark(&format!(
        "Trying {} in {}: {cells} runs, about {}. Ctrl-C stops early and reports what was measured.",
        counted(knobs as u64, "knob"),
        counted(args.blocks, "block"),
        span.times(cells)
    ));
}

/// Says what the blocks that were measured whole show.
fn found(
    store: &Store,
    experiment: &Experiment,
    state: &State,
    tried: &[Trying],
    effect: f64,
) -> Result<TrialReport, CliError> {
    let plan = state.plan();
    let is_whole = |block: &u32| {
        let slots = plan.block(*block);
        let mut slots = slots.iter();
        slots.all(|slot| slot_is_done(experiment, state.attempts(), *slot))
    };
    let whole = (0..plan.blocks).take_while(is_whole).count();
    let attempts = state.attempts().iter();
    let attempts: Vec<_> = attempts
        .filter(|attempt| (attempt.slot.block as usize) < whole)
        .cloned()
        .collect();
    let metrics = trial::metrics();
    let chosen = Chosen {
        metrics: &metrics,
        ..Chosen::default()
    };
    let measurements = results::gather(store, plan, &attempts, &chosen)?;
    let groups = measurements.into_iter().flat_map(|of| of.groups).collect();
    let tried: Vec<Tried> = tried
        .iter()
        .map(|trying| Tried {
            name: trying.name.clone(),
            settings: trying.settings,
        })
        .collect();
    let report = trial::trial(&tried, groups, effect)
        .map_err(|err| CliError::failed_to("compare the runs").because(err))?;
    Ok(TrialReport {
        blocks: whole as u64,
        seed: plan.seed,
        ..report
    })
}

/// Runs in a machine that is tuned for each of them, and put back after it.
struct Tuner<'a> {
    place: &'a Place,
    wish: &'a Wish,
    tried: &'a [Trying],
    yes: bool,
    stop: StopRequest,
    /// Why the trial cannot go on.
    failure: Mutex<Option<CliError>>,
}

impl Tuner<'_> {
    fn run(&self, child: &Child<'_>, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        self.tuned(child, runs).unwrap_or_else(|err| {
            self.stop.ask();
            let end = child.unrecorded(err.what().to_owned());
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(err);
            vec![end; runs.len()]
        })
    }

    fn tuned(
        &self,
        child: &Child<'_>,
        runs: &[(Uuid, Invocation)],
    ) -> Result<Vec<Ended>, CliError> {
        let level = runs.first().and_then(|(_, what)| what.tags.get(FACTOR));
        let level = level.map_or("", String::as_str);
        if level == NOTHING {
            return Ok(self.settled(child, runs));
        }
        let trying = self.tried.iter().find(|trying| trying.name == level);
        let trying = trying.ok_or_else(|| CliError::failed_to(format!("try {level}")))?;
        let prepared = tuning::prepare_profile(self.place, trying.profile.clone(), self.wish)?;
        let care = Care {
            yes: self.yes,
            atomic: false,
        };
        let begun = Tuned::begin(self.place, prepared, "trial", care, &|| false)?;
        let Begun::Applied(tuned, _) = begun else {
            return Err(CliError::failed_to(format!("try {level}")));
        };
        let ends = self.settled(child, runs);
        let back = tuned.end()?;
        if back.complete {
            return Ok(ends);
        }
        remark_on(&Document::of_tuning(&back));
        let what = format!("put everything back after {level}: the trial ends here");
        Err(CliError::failed_to(what).exiting(Exit::NotRestored))
    }

    fn settled(&self, child: &Child<'_>, runs: &[(Uuid, Invocation)]) -> Vec<Ended> {
        std::thread::sleep(SETTLE);
        let mut runs = runs.to_vec();
        for (_, what) in &mut runs {
            // Where the run finds what it is made under.
            let state = self.place.state.display().to_string();
            what.env.insert(STATE_VARIABLE.to_owned(), state);
        }
        child.processes(&runs)
    }
}
