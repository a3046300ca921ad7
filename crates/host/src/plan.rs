// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! From a survey and a profile to the exact writes: pure, so that a plan can be made for a captured
//! machine, printed, and tested.
//!
//! The order of the writes is part of the plan. CPUs come online first and go offline last; a real-time
//! budget is lowered in its control group before it is lowered for the machine, and raised the other
//! way round. Undoing goes backwards, so it meets the same states.

mod bandwidth;
mod guards;
mod partition;
mod safety;
mod settings;
mod threads;

pub(crate) use partition::PARTITION;

use punctual_model::{
    Codec, CpuSet, Hold, KnobNote, Ordered as _, PLAN_FORMAT, Plan, PlanStep, SkipReason, Skipped,
    Target,
};

use crate::knob::{Knob, KnobKind, Part, Survey, find};
use crate::profile::{CpuWord, Profile, Value, Want};

/// What the user decides in addition to the profile.
#[derive(Clone, Debug, Default)]
pub struct PlanOptions {
    /// CPUs for real-time work, instead of the profile's own.
    pub cpus: Option<CpuSet>,
    /// Processes whose threads stay where they are: our own.
    pub leave: Vec<i32>,
    /// What an earlier session holds until it is reverted: that is as wanted.
    pub held: Vec<Hold>,
}

/// A profile means nothing on a machine.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// It is about CPUs for real-time work, and nobody says which.
    #[error("profile {profile} needs to know the CPUs for real-time work")]
    NoCpus {
        /// The profile.
        profile: String,
    },
    /// Some of the CPUs for real-time work are not there.
    #[error("CPUs {missing} are not online (online: {online})")]
    NotOnline {
        /// Those that are not there.
        missing: CpuSet,
        /// Those that are.
        online: CpuSet,
    },
    /// No CPU is left for everything else.
    #[error("no CPU is left for everything else: {cpus} are all online CPUs")]
    NoHousekeeping {
        /// The CPUs for real-time work.
        cpus: CpuSet,
    },
}

/// Makes the plan of `profile` on the machine of `survey`.
///
/// # Errors
///
/// Fails when the CPUs for real-time work are unknown or unavailable. What else is unavailable is
/// in the plan.
pub fn plan(profile: &Profile, survey: &Survey, options: &PlanOptions) -> Result<Plan, PlanError> {
    let needed = profile.wants.iter().any(divides);
    let cpus_rt = rt_cpus(profile, survey, options, needed)?;
    let mut planner = Planner {
        survey,
        leave: &options.leave,
        closes: partition::closes(&profile.wants, survey),
        plan: Plan {
            format: PLAN_FORMAT.to_owned(),
            profile: profile.name.clone(),
            hostname: survey.hostname.clone(),
            kernel_release: survey.kernel_release.clone(),
            cpus_housekeeping: survey.online.without(&cpus_rt),
            cpus_online: survey.online.clone(),
            cpus_rt,
            ..Plan::default()
        },
    };
    planner.settings(&profile.wants);
    planner.held_already(&options.held);
    planner.bandwidth(&profile.wants);
    planner.threads(&profile.wants);
    planner.partition(&profile.wants);
    planner.frequency_order();
    let mut leads: Vec<&Knob> = Vec::new();
    for lead in planner
        .plan
        .steps
        .iter()
        .filter_map(|step| find(&step.knob))
    {
        if !leads.iter().any(|known| known.name == lead.name) {
            leads.push(lead);
        }
    }
    let led = |knob: &Knob| leads.iter().any(|lead| knob.follows(lead));
    // What follows another setting is set after it: else it would not stay.
    planner
        .plan
        .steps
        .order_by_key(|step| (phase(step), find(&step.knob).is_some_and(led)));
    planner.guards();
    planner.safety();
    planner.notes();
    Ok(planner.plan)
}

/// Makes the further steps for threads that started after the plan was made: what a moved thread
/// starts inherits its CPUs, but what a thread started just before it was moved does not.
pub fn plan_threads(
    profile: &Profile,
    survey: &Survey,
    made: &Plan,
    options: &PlanOptions,
) -> Vec<PlanStep> {
    let mut planner = Planner {
        survey,
        leave: &options.leave,
        closes: false,
        plan: Plan {
            cpus_online: made.cpus_online.clone(),
            cpus_rt: made.cpus_rt.clone(),
            cpus_housekeeping: made.cpus_housekeeping.clone(),
            ..Plan::default()
        },
    };
    planner.threads(&profile.wants);
    let known = |step: &PlanStep| made.steps.iter().any(|old| old.target == step.target);
    planner.plan.steps.retain(|step| !known(step));
    planner.plan.steps
}

struct Planner<'a> {
    survey: &'a Survey,
    leave: &'a [i32],
    /// Whether a partition of version 2 is wanted, which takes its CPUs from every group.
    closes: bool,
    plan: Plan,
}

impl Planner<'_> {
    fn cpus(&self, word: &CpuWord) -> CpuSet {
        match word {
            CpuWord::Rt => self.plan.cpus_rt.clone(),
            CpuWord::Housekeeping => self.plan.cpus_housekeeping.clone(),
            CpuWord::All => self.plan.cpus_online.clone(),
            CpuWord::List(set) => set.clone(),
            CpuWord::Siblings => {
                let of = |cpu| self.survey.siblings.get(&cpu).cloned().unwrap_or_default();
                let rt = &self.plan.cpus_rt;
                let near: CpuSet = rt
                    .iter()
                    .flat_map(|cpu| of(cpu).iter().collect::<Vec<_>>())
                    .collect();
                near.without(rt)
            }
        }
    }

    /// Notes that something is unavailable, with others of the same knob and reason.
    fn skip(&mut self, knob: &str, instance: Option<&str>, reason: SkipReason, detail: &str) {
        let instance = instance.map(str::to_owned);
        let same = |s: &&mut Skipped| s.knob == knob && s.reason == reason && s.detail == detail;
        if let Some(skipped) = self.plan.skipped.iter_mut().find(same) {
            skipped.instances.extend(instance);
        } else {
            self.plan.skipped.push(Skipped {
                knob: knob.to_owned(),
                instances: instance.into_iter().collect(),
                reason,
                detail: detail.to_owned(),
            });
        }
    }

    /// Says of each knob that is used what it does.
    fn notes(&mut self) {
        let notes = knobs(&self.plan).into_iter().filter_map(find);
        self.plan.notes = notes
            .map(|knob| KnobNote {
                knob: knob.name.to_owned(),
                about: knob.about.to_owned(),
                effect: knob.effect.to_owned(),
                reversibility: knob.reversibility,
            })
            .collect();
    }

    /// Adds a step of a knob that is known by name.
    fn step(
        &mut self,
        knob: &str,
        instance: Option<String>,
        target: Target,
        codec: Codec,
        [old, new]: [String; 2],
    ) {
        self.plan.steps.push(PlanStep {
            knob: knob.to_owned(),
            instance,
            target,
            codec,
            old,
            new,
        });
    }
}

/// Names the knobs that a plan changes, each once.
pub(crate) fn knobs(plan: &Plan) -> Vec<&str> {
    let held = plan.held.iter().map(|held| &held.knob);
    let steps = plan.steps.iter().map(|step| &step.knob);
    let mut names: Vec<&str> = Vec::new();
    for name in held.chain(steps) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

/// Finds the CPUs for real-time work; none, where they are not named and not needed.
pub(crate) fn rt_cpus(
    profile: &Profile,
    survey: &Survey,
    options: &PlanOptions,
    needed: bool,
) -> Result<CpuSet, PlanError> {
    let named = options.cpus.clone().or_else(|| profile.cpus.clone());
    // Nobody has named isolated CPUs that are offline, such as siblings with `nosmt`.
    let named = named.or_else(|| Some(survey.isolated.common(&survey.online)));
    let Some(cpus) = named.filter(|set| !set.is_empty()) else {
        return if needed {
            Err(PlanError::NoCpus {
                profile: profile.name.clone(),
            })
        } else {
            Ok(CpuSet::default())
        };
    };
    let missing = cpus.without(&survey.online);
    if !missing.is_empty() {
        return Err(PlanError::NotOnline {
            missing,
            online: survey.online.clone(),
        });
    }
    if needed && survey.online.without(&cpus).is_empty() {
        return Err(PlanError::NoHousekeeping { cpus });
    }
    Ok(cpus)
}

/// Whether a setting depends on which CPUs are for real-time work.
fn divides(want: &Want) -> bool {
    let word = |word: &CpuWord| {
        matches!(
            word,
            CpuWord::Rt | CpuWord::Housekeeping | CpuWord::Siblings
        )
    };
    let selected = want.selector.as_ref().and_then(|s| s.cpus.as_ref());
    matches!(want.knob.kind, KnobKind::Partition)
        || matches!(&want.value, Value::Cpus(cpus) if word(cpus))
        || selected.is_some_and(word)
}

/// Says when a step is due: sorting by it keeps the order of the profile within each phase.
fn phase(step: &PlanStep) -> u8 {
    let up = step.new == "1" || step.new == "on";
    match find(&step.knob).map(|knob| (knob.kind, knob.part)) {
        Some((_, Part::Cpu | Part::Siblings)) if up => 0,
        Some((_, Part::Cpu | Part::Siblings)) => 6,
        Some((_, Part::Budget(_))) => 2,
        Some((_, Part::Group)) => 3,
        // What the kernel makes of the threads' CPUs because of groups is known when they are moved.
        Some((KnobKind::Partition, _)) => 4,
        Some((KnobKind::ThreadCpus(_), _)) => 5,
        _ => 1,
    }
}

/// Returns what the knob of a step is to others.
fn part(step: &PlanStep) -> Part {
    find(&step.knob).map_or(Part::Plain, |knob| knob.part)
}

#[cfg(test)]
mod tests;
