// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Tuning for every verb that tunes: from options to a plan, from a plan to a session that is
//! reverted whatever happens.
//!
//! A session that is scoped, around a command or a measurement, has a keeper: a process of its own
//! that waits at a pipe. If we are killed, the pipe closes, and the keeper reverts.

mod asked;
mod keeper;
mod left;
mod partition;
mod profile;
pub(crate) mod undone;

use std::env;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use punctual_host::apply::{Applied, OnFailure};
use punctual_host::knob::{Scope, Survey};
use punctual_host::plan::{PlanError, PlanOptions, plan};
use punctual_host::profile::Profile;
use punctual_host::session::{Claim, Left, Purpose, Session, SessionError, Tuner};
use punctual_model::{CpuSet, Hold, Nanos, Plan, TuningReport};
use punctual_sys::{HeldDmaLatency, SysRoot};

pub(crate) use self::asked::{insist, insist_on_all, is_asked, lacking, not_had, out_of_reach};
pub(crate) use self::keeper::{Keep, Watch, end_process, release, require_to_stay};
pub(crate) use self::left::{host_facts, is_awaited, remark_on_left, said_of, status_of};
pub(crate) use self::partition::{partition_of, require_within_reach};
pub(crate) use self::profile::{listed, owners, wanted as profile};
use crate::cli::{CareArgs, WishArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::recording::new_id;

/// Where the journal is, unless another place is named.
const STATE: &str = "/var/lib/punctual/tune";

/// Environment variable that names another place.
pub(crate) const STATE_VARIABLE: &str = "PUNCTUAL_TUNE_STATE";

/// The machine, and where its journal is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) sys: SysRoot,
    pub(crate) root: Option<PathBuf>,
    pub(crate) state: PathBuf,
    /// Where nobody else is to tune in between.
    claim: Option<Claim>,
}

impl Place {
    /// Returns the place that the options name: this machine, or the files in `root`.
    pub(crate) fn new(root: Option<&Path>, state: Option<&Path>) -> Self {
        // The keeper works in another directory than we do.
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let root = root.map(absolute);
        let sys = root.as_ref().map_or_else(SysRoot::live, SysRoot::at);
        Self {
            state: state.map_or_else(|| sys.full(STATE), absolute),
            root,
            sys,
            claim: None,
        }
    }

    /// Lets nobody else tune for as long as what this returns lives. Fails where somebody does, or has left what is in the way of
    /// `plan`.
    pub(crate) fn claimed(&self, purpose: &str, plan: &Plan) -> Result<Self, CliError> {
        let claim = self.tuner()?.claim(purpose)?;
        claim.nothing_is_left(plan)?;
        Ok(Self {
            claim: Some(claim),
            ..self.clone()
        })
    }

    /// Returns this machine, with the journal in its usual place.
    pub(crate) fn here() -> Self {
        let state = env::var_os(STATE_VARIABLE).map(PathBuf::from);
        Self::new(None, state.as_deref())
    }

    /// Prepares to tune.
    pub(crate) fn tuner(&self) -> Result<Tuner, CliError> {
        Ok(Tuner::new(&self.sys, &self.state)?)
    }

    /// Whether what root may do may be done here.
    pub(crate) fn privileged(&self) -> bool {
        self.root.is_some() || punctual_sys::thread::is_root()
    }

    /// Fails without the privilege to change the machine. `shows` is the command that only shows the changes.
    pub(crate) fn require_privilege(&self, shows: Option<&str>) -> Result<(), CliError> {
        if self.privileged() {
            return Ok(());
        }
        let or =
            shows.map(|shows| format!(", or `{shows}` to see the changes without making them"));
        Err(CliError::failed_to("change the machine: needs root")
            .exiting(Exit::Unsupported)
            .hint(format!("run it with sudo{}", or.unwrap_or_default())))
    }
}

/// A profile and what it means here.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    profile: Profile,
    pub(crate) plan: Plan,
    options: PlanOptions,
}

impl Prepared {
    /// Returns the profile.
    pub(crate) const fn profile(&self) -> &Profile {
        &self.profile
    }
}

/// A profile, and changes to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    /// Built in or a file; `latency` without, `isolate` with CPUs to isolate, none with settings.
    pub(crate) profile: Option<String>,
    /// CPUs to keep for real-time work, everything else being moved to the others.
    pub(crate) isolate: Option<CpuSet>,
    /// CPUs for real-time work, in place of the profile's.
    pub(crate) cpus: Option<CpuSet>,
    /// Further knobs, each with its value.
    pub(crate) set: Vec<String>,
    /// Only these knobs of the profile, all where there are none.
    pub(crate) only: Vec<String>,
    /// Not these knobs of the profile.
    pub(crate) skip: Vec<String>,
}

impl From<&WishArgs> for Wish {
    fn from(args: &WishArgs) -> Self {
        Self {
            profile: args.profile.clone(),
            isolate: args.isolate.clone(),
            cpus: args.cpus.clone(),
            set: args.set.clone(),
            only: args.only.clone(),
            skip: args.skip.clone(),
        }
    }
}

/// How careful changes are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Care {
    /// Whether what is refused for safety's sake is done all the same.
    pub(crate) yes: bool,
    /// Whether it is all settings or none.
    pub(crate) atomic: bool,
}

impl From<CareArgs> for Care {
    fn from(args: CareArgs) -> Self {
        Self {
            yes: args.yes,
            atomic: args.atomic,
        }
    }
}

/// Reads the profile, looks at the machine, and makes the plan.
pub(crate) fn prepare(place: &Place, wish: &Wish) -> Result<Prepared, CliError> {
    let profile = profile::wanted(wish)?;
    prepare_profile(place, profile, wish)
}

/// Makes the plan of a profile.
pub(crate) fn prepare_profile(
    place: &Place,
    profile: Profile,
    wish: &Wish,
) -> Result<Prepared, CliError> {
    let options = PlanOptions {
        cpus: wish.isolate.clone().or_else(|| wish.cpus.clone()),
        leave: i32::try_from(std::process::id()).into_iter().collect(),
        held: held_to_stay(place),
    };
    let survey = Survey::read(&place.sys, Scope::WithThreads, place.privileged());
    let plan = plan(&profile, &survey, &options)?;
    Ok(Prepared {
        profile,
        plan,
        options,
    })
}

/// What an applied session holds until it is reverted.
fn held_to_stay(place: &Place) -> Vec<Hold> {
    // A journal that cannot be read is an error where something is to be changed.
    let Ok(Ok(Left::Changes(journal))) = place.tuner().map(|tuner| tuner.left()) else {
        return Vec::new();
    };
    let session = journal.session();
    match session.purpose == "apply" && session.until.is_none() {
        true => status_of(&place.sys, &journal).held,
        false => Vec::new(),
    }
}

impl From<PlanError> for CliError {
    fn from(err: PlanError) -> Self {
        let hint = match err {
            PlanError::NoCpus { .. } => "name them with --isolate LIST or --cpus LIST",
            PlanError::NoHousekeeping { .. } => "leave at least one CPU for everything else",
            _ => "see /sys/devices/system/cpu/online",
        };
        Self::usage(err.to_string()).hint(hint)
    }
}

impl From<SessionError> for CliError {
    fn from(err: SessionError) -> Self {
        let (exit, hint) = match &err {
            SessionError::Unreverted { .. } => (
                Exit::Failed,
                Some("`punctual tune status` shows them, `punctual tune revert` undoes them"),
            ),
            SessionError::Record(err) if is_denied(err) => {
                (Exit::Unsupported, Some("run it with sudo"))
            }
            SessionError::Record(_)
            | SessionError::Journal(punctual_host::journal::JournalError::Damaged { .. }) => (
                Exit::Failed,
                Some(
                    "the changes are unknown; `punctual tune revert` moves what is damaged aside, \
                     and a reboot restores every setting",
                ),
            ),
            SessionError::State(err)
            | SessionError::Journal(punctual_host::journal::JournalError::State(err)) => {
                if err.is_full() {
                    (
                        Exit::Failed,
                        Some(
                            "nothing was changed, because it could not be undone; free some space, or use another \
                             --state",
                        ),
                    )
                } else if err.is_denied() {
                    (Exit::Unsupported, Some("run it with sudo"))
                } else {
                    (Exit::Failed, None)
                }
            }
            _ => (Exit::Failed, None),
        };
        let elsewhere = match &err {
            SessionError::Elsewhere { place, .. } => Some(place.where_to_revert()),
            _ => None,
        };
        let exit = if elsewhere.is_some() {
            Exit::Unsupported
        } else {
            exit
        };
        Self::failed_to("tune")
            .because(err)
            .exiting(exit)
            .hints(hint)
            .hints(elsewhere)
    }
}

/// Whether the privilege is missing.
fn is_denied(err: &SessionError) -> bool {
    match err {
        SessionError::State(err)
        | SessionError::Journal(punctual_host::journal::JournalError::State(err)) => {
            err.is_denied()
        }
        _ => false,
    }
}

/// Says what stands in the way of a plan, if anything does.
pub(crate) fn refuse(plan: &Plan, yes: bool) -> Result<(), CliError> {
    let reasons: Vec<String> = plan
        .obstacles(yes)
        .map(|refusal| format!("{}: {}", refusal.knob, refusal.reason))
        .collect();
    if reasons.is_empty() {
        return Ok(());
    }
    let error = CliError::failed_to("tune: refused for safety").because(reasons.join("; "));
    let final_word = plan.obstacles(true).next().is_some();
    Err(if final_word {
        error.hint("leave the setting out with --skip")
    } else {
        error.hint("leave the setting out with --skip, or force it with --yes")
    })
}

/// Returns the exit status of a plan that does nothing, or is only shown.
pub(crate) fn exit_of(plan: &Plan) -> Exit {
    match plan.is_out_of_reach() {
        true => Exit::Unsupported,
        false => Exit::Fine,
    }
}

/// A session around something: reverted when that ends, also if it ends us.
#[derive(Debug)]
pub(crate) struct Tuned {
    session: Option<Session>,
    watch: Watch,
    _held: Vec<HeldDmaLatency>,
}

/// What applying a plan has come to.
#[derive(Debug)]
pub(crate) enum Begun<T> {
    /// It is applied, as far as the report says.
    Applied(T, TuningReport),
    /// It was taken back: because one setting was unavailable, or because the end was asked for.
    TakenBack(TuningReport),
}

impl Tuned {
    /// Applies a plan for as long as this lives.
    pub(crate) fn begin(
        place: &Place,
        prepared: Prepared,
        purpose: &str,
        care: Care,
        stop: &dyn Fn() -> bool,
    ) -> Result<Begun<Self>, CliError> {
        refuse(&prepared.plan, care.yes)?;
        let held = prepared
            .plan
            .held
            .iter()
            .map(|hold| HeldDmaLatency::hold(&place.sys, hold.latency_ns))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|err| {
                CliError::failed_to("limit the exit latency of idle states").because(err)
            })?;
        let mut session = begin(place, prepared.plan.clone(), purpose, None)?;
        let keep = Keep::for_session(&session, place);
        let watch = match Watch::start(&keep) {
            Ok(watch) => watch,
            Err(err) => {
                session.revert()?;
                return Err(err);
            }
        };
        session.kept_by(watch.keeper())?;
        let begun = write(session, &prepared, care, stop)?;
        Ok(match begun {
            Begun::Applied(session, report) => {
                let tuned = Self {
                    session: Some(session),
                    watch,
                    _held: held,
                };
                Begun::Applied(tuned, report)
            }
            Begun::TakenBack(report) => {
                watch.done();
                Begun::TakenBack(report)
            }
        })
    }

    /// Tells the keeper which process is to end with us.
    pub(crate) fn command(&mut self, pid: u32) {
        self.watch.command(pid);
    }

    /// Takes everything back.
    pub(crate) fn end(mut self) -> Result<TuningReport, CliError> {
        let Some(session) = self.session.take() else {
            return Err(CliError::failed_to("revert: already done"));
        };
        let report = session.revert();
        // If it failed, the keeper tries once more: it is not told that all is done.
        if report.is_ok() {
            self.watch.done();
        }
        Ok(report?)
    }
}

/// Begins a session.
pub(crate) fn begin(
    place: &Place,
    plan: Plan,
    purpose: &str,
    duration: Option<Nanos>,
) -> Result<Session, CliError> {
    let now = Timestamp::now();
    let until = duration.and_then(|span| now.checked_add(std::time::Duration::from(span)).ok());
    let purpose = Purpose {
        id: new_id()?.to_string(),
        name: purpose.to_owned(),
        started: seconds(now),
        until: until.map(seconds),
        program: concat!("punctual ", env!("CARGO_PKG_VERSION")).to_owned(),
    };
    Ok(match &place.claim {
        Some(claim) => claim.begin(plan, purpose)?,
        None => place.tuner()?.begin(plan, purpose)?,
    })
}

/// Writes a moment as records have it: to the second.
pub(crate) fn seconds(at: Timestamp) -> String {
    at.round(jiff::Unit::Second).unwrap_or(at).to_string()
}

/// Makes the writes of a session, or takes them back where they are not to stay.
pub(crate) fn write(
    mut session: Session,
    prepared: &Prepared,
    care: Care,
    stop: &dyn Fn() -> bool,
) -> Result<Begun<Session>, CliError> {
    let on_failure = if care.atomic {
        OnFailure::RollBack
    } else {
        OnFailure::GoOn
    };
    let applied = session.apply(on_failure, stop).and_then(|applied| {
        if applied == Applied::Complete {
            session.follow_threads(&prepared.profile, &prepared.options, stop)?;
        }
        Ok(applied)
    });
    match applied {
        Ok(Applied::Complete) if !stop() => {
            let report = session.report();
            Ok(Begun::Applied(session, report))
        }
        Ok(Applied::Failed) => {
            let failed = session.report();
            let mut report = session.revert()?;
            let fault = failed.steps.iter().find(|step| step.is_failure());
            let name = fault.map(punctual_model::StepReport::full_name);
            report.remarks.push(format!(
                "{} could not be set, so nothing is changed (--atomic)",
                name.unwrap_or_default()
            ));
            Ok(Begun::TakenBack(report))
        }
        Ok(_) => {
            let mut report = session.revert()?;
            report
                .remarks
                .push("interrupted: everything was restored".to_owned());
            Ok(Begun::TakenBack(report))
        }
        Err(err) => {
            let report = session.revert()?;
            let error = CliError::from(err);
            Err(if report.complete {
                error.hint("everything was restored")
            } else {
                error
                    .exiting(Exit::NotRestored)
                    .hint("some settings could not be restored: see `punctual tune status`")
            })
        }
    }
}
