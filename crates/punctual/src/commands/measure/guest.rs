// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! A measurement in a guest: this program is started there with the same options, and what it
//! recorded becomes a run of the store here.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::SystemTime;

use punctual_kernel::GuestTarget;
use punctual_kernel::boot::{Architecture, Initramfs, Machine, tail};
use punctual_kernel::guest::{Job, JobRun, RunAnswer};
use punctual_store::Store;

use super::carried::{Carried, LIBRARIES};
use super::watched::Shown;
use crate::error::CliError;
use crate::exit::Exit;
use crate::guests::{self, Host, Visit};
use crate::home;
use crate::instruments::{Instrument, WatchArgs, finish};
use crate::kernels::kernel_store;
use crate::metrics::Metrics;
use crate::output::remark;
use crate::recording::{self, Recorded};
use crate::signals::StopRequest;

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
    instrument.check_for_guest()?;
    let target = &GuestTarget {
        kernel: kernel_store::image(home, &target.kernel)?,
        ..target.clone()
    };
    let given: Vec<OsString> = std::env::args_os().skip(1).collect();
    let watched = instrument.watches();
    // What belongs to a program that is watched is no option of ours.
    let command = watched.map_or(&[][..], |args| args.command());
    let options = given.len().saturating_sub(command.len());
    let options = given.get(..options).unwrap_or_default();
    let (json, quiet) = (has(options, &["--json"]), has(options, &["--quiet", "-q"]));
    let mut arguments = for_guest(options)?;
    arguments.extend(instrument.for_guest(home, target.cpus)?);
    let stop = StopRequest::on_signals()?;
    let architecture = guests::architecture(&target.kernel)?;
    let carried = match watched {
        Some(args) => Some(carried(args, target, architecture)?),
        None => None,
    };
    if let Some(carried) = &carried {
        arguments = watching(arguments, carried);
    }
    let mut host = Host::of(architecture)?.for_target();
    if let Some(carried) = &carried {
        host.carry(carried.add_to(Initramfs::empty()));
    }
    let machine = guests::machine(&host, target, &stop.flag()).map_err(no_clock)?;
    let store = Store::open(home::find(home)?)?;
    let id = recording::run_id()?;
    let design = host.design(target, machine)?;
    // In virtual time every byte of the job moves the figures: the same options and seed are the same run.
    let inside = match machine {
        Machine::Virtual => UNVARIED_ID.to_owned(),
        Machine::Kvm | Machine::Tcg => id.to_string(),
    };
    let job = Job::of(vec![JobRun {
        arguments,
        id: inside,
        libraries: carried.map(|_| LIBRARIES.to_owned()),
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
    let guest = (target, &design, host.agent());
    let record = guests::record(guest, &visit, answer, started)
        .map_err(|err| CliError::failed_to("read the run of the guest").because(err))?;
    let mut record = record.ok_or_else(|| without_run(&visit, answer))?;
    record.id = id.to_string();
    let stored = guests::keep(&store, id, &visit, answer, &record);
    let recorded = Recorded::elsewhere(record, stored);
    if watched.is_none() {
        return finish(&recorded, json, quiet);
    }
    // What the program said, as far as the guest kept it: its output is no result of ours.
    let said = answer.end.said.trim_end();
    if !said.is_empty() {
        remark(said);
    }
    let exit = finish(&recorded, json, quiet)?;
    Ok(match answer.end.status {
        Some(0) | None => exit,
        Some(status) => Exit::Command(u8::try_from(status).unwrap_or(1)),
    })
}

/// Gets the program that is to be watched ready for the guest.
fn carried(
    args: &WatchArgs,
    target: &GuestTarget,
    architecture: Architecture,
) -> Result<Carried, CliError> {
    if args.command().is_empty() {
        let error = CliError::usage("--target: a guest has no processes that could be watched");
        return Err(error.hint("name the program, which is started in the guest: -- COMMAND"));
    }
    Carried::of(
        args.command(),
        target,
        architecture,
        args.ends_at_function(),
    )
}

/// Returns the command line that watches in the guest, made of ours.
fn watching(mut options: Vec<String>, carried: &Carried) -> Vec<String> {
    // The agent knows the verb by its long name.
    if options.first().is_some_and(|verb| verb == "watch") {
        options.insert(0, "measure".to_owned());
    }
    if options.last().is_some_and(|last| last == "--") {
        options.pop();
    }
    // The program's output goes where its complaints go, which is what the guest sends.
    options.push("--json".to_owned());
    options.push("--".to_owned());
    options.extend(carried.words.iter().cloned());
    options
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
