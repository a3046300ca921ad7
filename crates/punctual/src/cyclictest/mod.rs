// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual cyclictest`, the drop-in for cyclictest: its command line, its output, its exit
//! statuses, on our sampling engine.
//!
//! `punctual_peers::command` understands the line, `plan` turns it into a run, `live` listens to that
//! run and shows it, `text` and `json` render what is printed.

mod idle;
mod json;
mod live;
mod plan;
mod run;
mod status_requests;
mod tally;
mod text;
mod trace;
pub(crate) mod usage;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use punctual_peers::command::{self, Affinity, Refused};
use punctual_sys::SysRoot;

use crate::cpus::cpus;
use crate::error::CliError;
use crate::output::{print, remark};

/// What rtla exits with for an option that it does not know.
const STRICT_UNKNOWN: u8 = 129;

/// Does what `args` say, without the program's name; `home` is where `--record` keeps the run.
pub(crate) fn main(home: Option<&Path>, args: &[OsString]) -> ExitCode {
    let text = |arg: &OsString| arg.to_string_lossy().into_owned();
    let args: Vec<String> = args.iter().map(text).collect();
    let sys = SysRoot::live();
    if idle::is_restorer(&args) {
        return if idle::restorer(&sys) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
    }
    let cpus = match cpus(&sys) {
        Ok(cpus) => cpus,
        Err(err) => {
            err.print();
            return ExitCode::FAILURE;
        }
    };
    let mut options = match command::parse(&args, |list| plan::count(list, &cpus)) {
        Ok(options) => options,
        Err(refused) => return refuse(refused).into(),
    };
    // On a kernel with NUMA the original binds a thread to each CPU unless told otherwise.
    if options.affinity == Affinity::Unbound && sys.exists("/sys/devices/system/node") {
        options.affinity = Affinity::Every;
    }
    let started = run::Start {
        sys: &sys,
        cpus: &cpus,
        home,
        args: &args,
    };
    match run::run(&started, &options) {
        Ok(0) if NOT_PRINTED.load(Ordering::Relaxed) => ExitCode::FAILURE,
        Ok(status) => status.into(),
        Err(run::Failed { status, said }) => {
            drop(writeln!(io::stderr(), "{said}"));
            status.into()
        }
    }
}

/// Whether something could not be printed. The run goes on, since it may write files too, and fails at its end.
static NOT_PRINTED: AtomicBool = AtomicBool::new(false);

/// Says once that standard output cannot be written to.
fn not_printed(err: &CliError) {
    if !NOT_PRINTED.swap(true, Ordering::Relaxed) {
        err.print();
    }
}

/// Says why a command line is not carried out; returns the exit status.
fn refuse(refused: Refused) -> u8 {
    let status = match refused {
        Refused::Help => 0,
        Refused::Unknown(what, strict) => {
            remark(&format!("cyclictest: {what}"));
            if strict { STRICT_UNKNOWN } else { 0 }
        }
        Refused::Bad(said) => {
            said.iter().for_each(|text| remark(text));
            1
        }
    };
    usage();
    status
}

fn usage() {
    // Nobody is left to tell when even this cannot be printed.
    drop(print(&usage::text()));
}
