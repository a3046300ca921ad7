// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual tune run`: a command in a tuned machine.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use punctual_model::{CpuSet, Policy};
use punctual_report::document::Document;
use punctual_sys::{SysRoot, child, process, sched};

use super::taken_back;
use crate::error::CliError;
use crate::exit::Exit;
use crate::output::{remark, remark_on};
use crate::signals::StopRequest;
use crate::tuning::{self, Begun, Care, Place, Tuned, Wish};

/// Every how often it is looked whether the end was asked for.
const LOOK: Duration = Duration::from_millis(200);
/// How long a command may take after Ctrl-C, which it gets too, before it is asked to end.
const GRACE: Duration = Duration::from_secs(1);
/// What shells add to the number of the signal that ended a command.
const BY_SIGNAL: i32 = 128;

/// Runs a command in the tuned machine, and returns its exit status. The command has the policy with which we were started.
pub(super) fn run(
    place: &Place,
    wish: &Wish,
    care: Care,
    command: &[OsString],
    policy: Option<Policy>,
) -> Result<Exit, CliError> {
    let Some((program, arguments)) = command.split_first() else {
        return Err(CliError::usage("name a command after --"));
    };
    place.require_privilege(Some("punctual tune plan"))?;
    let stop = StopRequest::on_signals()?;
    let prepared = tuning::prepare(place, wish)?;
    tuning::insist(&wish.set, &prepared.plan)?;
    if prepared.plan.is_out_of_reach() {
        return Err(tuning::out_of_reach(&prepared.plan));
    }
    let plan = prepared.plan.clone();
    let begun = Tuned::begin(place, prepared, "run", care, &|| stop.is_set())?;
    let mut tuned = match begun {
        Begun::Applied(tuned, report) => {
            remark_on(&Document::of_tuning(&report));
            tuned
        }
        Begun::TakenBack(report) => {
            remark_on(&Document::of_tuning(&report));
            return Ok(taken_back(&report, Exit::Failed));
        }
    };
    // If we are killed, the kernel asks it to end. The keeper does too: sudo makes the kernel forget.
    let mut command = Command::new(program);
    let group = tuning::partition_of(&plan).map(|group| format!("{group}/cgroup.procs"));
    let processes = group.as_ref().map(|path| place.sys.open_held(path));
    if let Some(Ok(processes)) = processes {
        child::enter_group(&mut command, processes);
    }
    let ended = child::start_asked_to_end(command.args(arguments), policy).and_then(|child| {
        tuned.command(child.id());
        if let Some(group) = &group {
            join(&place.sys, group, child.id());
        }
        wait(child, &plan.cpus_housekeeping, &stop)
    });
    let report = tuned.end()?;
    if !report.complete {
        remark_on(&Document::of_tuning(&report));
        return Ok(Exit::NotRestored);
    }
    let status = ended.map_err(|err| {
        CliError::failed_to(format!("run {}", program.to_string_lossy())).because(err)
    })?;
    Ok(exit_of(status))
}

/// A command's own exit status is ours.
fn exit_of(status: ExitStatus) -> Exit {
    let code = status
        .code()
        .or_else(|| Some(BY_SIGNAL + status.signal()?))
        .unwrap_or(1);
    Exit::Command(u8::try_from(code).unwrap_or(1))
}

/// Puts a command into the partition. It has entered it already, unless the kernel refused that: then this says why.
fn join(sys: &SysRoot, group: &str, pid: u32) {
    if let Err(err) = sys.write(group, &pid.to_string()) {
        remark(&format!(
            "The command could not be put into the partition: {err}"
        ));
    }
}

/// Waits for a command, and asks it to end when we are asked.
fn wait(
    mut child: Child,
    housekeeping: &CpuSet,
    stop: &StopRequest,
) -> std::io::Result<ExitStatus> {
    if !housekeeping.is_empty() {
        // We need no CPU of those for real-time work.
        drop(sched::set_affinity(housekeeping));
    }
    let pid = child.id();
    let (send, ended): (_, Receiver<_>) = mpsc::channel();
    std::thread::spawn(move || drop(send.send(child.wait())));
    let mut asked: Option<Instant> = None;
    loop {
        match ended.recv_timeout(LOOK) {
            Ok(status) => return status,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(std::io::Error::other("no process waits for it"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.is_set() {
            let since = asked.get_or_insert_with(Instant::now);
            if since.elapsed() >= GRACE {
                // It may have ended this very moment.
                drop(process::ask_to_end(pid));
                asked = Some(Instant::now() + Duration::from_secs(3_600));
            }
        }
    }
}
