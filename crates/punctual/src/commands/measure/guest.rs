// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A measurement in a guest: this program is started there with the same options, and what it
//! recorded becomes a run of the store here.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::SystemTime;

use jiff::Timestamp;
use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{Design, Machine, SHIFT, tail};
use punctual_kernel::guest::{Job, JobRun, RunAnswer, run_checks};
use punctual_model::{Check, GUEST_RUN_FORMAT, Guest, GuestAgent, GuestTime, Nanos, RunRecord};
use punctual_store::{Raw, Store};

use super::watched::Shown;
use crate::commands::kernel::stock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::{self, Host, Visit};
use crate::home;
use crate::instruments::{Instrument, finish};
use crate::metrics::Metrics;
use crate::recording::{self, Recorded};
use crate::signals::StopRequest;

/// The record of a run.
const RECORD: &str = "run.json";

/// The kernel's log, kept with the run.
const CONSOLE: &str = "console.log";

/// The id that a run in virtual time has inside of the guest.
const UNVARIED_ID: &str = "00000000-0000-7000-8000-000000000000";

/// Options that are for this side: what is shown, where the run is kept, and the guest itself.
const OURS: [(&str, bool); 7] = [
    ("--target", true),
    ("--home", true),
    ("--metrics", true),
    ("--metrics-token-file", true),
    ("--json", false),
    ("--quiet", false),
    ("-q", false),
];

/// Measures in `target` as this program's own command line says.
pub(super) fn run(
    home: Option<&Path>,
    target: &GuestTarget,
    instrument: &Instrument,
) -> Result<Exit, CliError> {
    let target = &GuestTarget {
        kernel: stock::image(home, &target.kernel),
        ..target.clone()
    };
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (json, quiet) = (has(&given, &["--json"]), has(&given, &["--quiet", "-q"]));
    let arguments = for_guest(&given)?;
    let stop = StopRequest::on_signals()?;
    let host = Host::here()?;
    let machine = guests::machine(&host, target, &stop.flag()).map_err(no_clock)?;
    let store = Store::open(home::find(home)?)?;
    let id = recording::run_id()?;
    let design = target.design(machine);
    // In virtual time every byte of the job moves the figures: the same options and seed are the same run.
    let inside = match machine {
        Machine::Virtual => UNVARIED_ID.to_owned(),
        Machine::Kvm | Machine::Tcg => id.to_string(),
    };
    let job = Job::of(vec![JobRun {
        arguments,
        id: inside,
    }]);
    let metrics = Metrics::of(instrument.metrics(), instrument.name(), None)?;
    let started = SystemTime::now();
    let visit = {
        let mut shown = Shown::new(target, machine, (quiet, &stop), metrics);
        let mut watch = |stage, since| shown.tell(stage, since);
        host.visit_watched(target, &design, &job, &stop.flag(), &mut watch)?
    };
    let Some(answer) = visit.answer.runs.first() else {
        return Err(CliError::failed_to("measure in the guest"));
    };
    let mut record = record((target, &design, host.agent()), &visit, answer, started)?;
    record.id = id.to_string();
    let files = answer.files.iter();
    let files = files.map(|(name, bytes)| (name.as_str(), bytes.as_slice()));
    let log = (CONSOLE, visit.booted.console.as_slice());
    let writer = store.begin(id, Raw::Drop)?;
    let stored = writer.adopt(files.chain([log]), &record);
    let recorded = Recorded::elsewhere(record, stored);
    finish(&recorded, json, quiet)
}

/// Without KVM there is no clock that latencies could be measured with.
fn no_clock(why: String) -> CliError {
    CliError::failed_to("measure in a guest by a real clock: KVM does not work here")
        .because(why)
        .exiting(Exit::Unsupported)
        .hint("count instructions instead: append `,virtual-time` to the kernel's path")
}

/// Whether one of `options` is given.
fn has(given: &[OsString], options: &[&str]) -> bool {
    given
        .iter()
        .any(|argument| options.iter().any(|option| argument == option))
}

/// Returns the command line for the guest.
fn for_guest(given: &[OsString]) -> Result<Vec<String>, CliError> {
    let mut kept = Vec::new();
    let mut arguments = given.iter();
    while let Some(argument) = arguments.next() {
        let ours = OURS.iter().find(|(name, _)| argument == OsStr::new(name));
        match ours {
            Some((_, true)) => drop(arguments.next()),
            Some((_, false)) => {}
            None => {
                let text = argument.to_str().ok_or_else(|| {
                    CliError::usage(format!("{}: not valid UTF-8", argument.display()))
                })?;
                let assigned = |(name, value): &(&str, bool)| {
                    *value
                        && text
                            .strip_prefix(name)
                            .is_some_and(|rest| rest.starts_with('='))
                };
                if !OURS.iter().any(assigned) {
                    kept.push(text.to_owned());
                }
            }
        }
    }
    Ok(kept)
}

/// Makes the record of a run in a guest of what the guest recorded.
fn record(
    (target, design, agent): (&GuestTarget, &Design, GuestAgent),
    visit: &Visit,
    answer: &RunAnswer,
    started: SystemTime,
) -> Result<RunRecord, CliError> {
    let Some(bytes) = answer.files.get(RECORD) else {
        return Err(without_run(visit, answer));
    };
    let mut record: RunRecord = serde_json::from_slice(bytes)
        .map_err(|err| CliError::failed_to("read the run of the guest").because(err))?;
    GUEST_RUN_FORMAT.clone_into(&mut record.format);
    // The guest's calendar begins anew each time.
    record.started = Timestamp::try_from(started).ok().map(|t| t.to_string());
    record.checks.extend(run_checks(
        &visit.answer,
        answer,
        design,
        target.asked_model(),
    ));
    record.valid = record.checks.iter().all(Check::passed);
    record.guest = Some(guest(target, design, agent));
    if record.is_virtual() {
        // Lists show tags; the figures of an export must not lose it either.
        record.tags.insert("time".to_owned(), "virtual".to_owned());
    }
    Ok(record)
}

/// Describes the guest for the record.
fn guest(target: &GuestTarget, design: &Design, agent: GuestAgent) -> Guest {
    let time = match design.machine {
        Machine::Kvm => GuestTime::Real,
        Machine::Tcg => GuestTime::Emulated,
        Machine::Virtual => GuestTime::Virtual,
    };
    Guest {
        kernel: target.kernel.display().to_string(),
        time,
        instruction_ns: (time == GuestTime::Virtual).then(|| Nanos::new(1 << SHIFT)),
        command_line: design.command_line(),
        cpus: design.cpus,
        memory_bytes: design.memory.get(),
        seed: design.seed,
        agent: Some(agent),
    }
}

/// Says why a measurement in a guest made no run: in its own words, which are an error's already.
fn without_run(visit: &Visit, answer: &RunAnswer) -> CliError {
    let said = &answer.end.said;
    let exit = match answer.end.status {
        Some(2) => Exit::Usage,
        Some(5) => Exit::Unsupported,
        _ => Exit::Failed,
    };
    let mut lines: Vec<String> = said.lines().map(ToOwned::to_owned).collect();
    if lines.is_empty() {
        lines = tail(&visit.booted.console);
    }
    CliError::failed_to("measure in the guest: it produced no run")
        .log(lines)
        .exiting(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guest_gets_the_options_that_are_for_it() {
        let given = "--home /x measure --target guest:K,seed=2 wakeup --json -q --samples 9 --home=/y \
                     --target=guest:L --load printk --allow-console --tag home=--quiet-not";
        let given: Vec<OsString> = given.split_whitespace().map(Into::into).collect();
        let kept = for_guest(&given).unwrap().join(" ");
        assert_eq!(
            kept,
            "measure wakeup --samples 9 --load printk --allow-console --tag home=--quiet-not"
        );
        assert!(has(&given, &["--json"]) && has(&given, &["--quiet", "-q"]));
    }
}
