// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `punctual watch`, which is `punctual measure watch`: its options, and what they mean.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, ValueEnum};
use punctual_measure::watch::{
    self, LARGEST_BUFFER_KIB, Matters, ProgramEnd, Taken, Target, Watch,
};
use punctual_model::Nanos;
use punctual_sys::{calls, sched};

use super::request::{self, Request};
use crate::cli::{self, CommonArgs, StatisticsArgs};
use crate::error::CliError;
use crate::exit::Exit;

/// Which stacks are taken
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum StackChoice {
    /// None
    Off,
    /// Those of the program
    User,
    /// Those of the program and of the kernel
    All,
}

impl From<StackChoice> for Taken {
    fn from(choice: StackChoice) -> Self {
        match choice {
            StackChoice::Off => Self::None,
            StackChoice::User => Self::User,
            StackChoice::All => Self::All,
        }
    }
}

/// Options of `watch`
#[derive(Args, Debug)]
#[command(mut_args(cli::own("watch", &[("priority", ORDINARY, None)])), mut_arg("priority", |arg| arg.hide(true)),
    mut_arg("cpus", |arg| arg.help(CPUS)))]
pub struct WatchArgs {
    /// Program to start and to watch, with its arguments; what it starts is watched too
    #[arg(
        value_name = "COMMAND",
        trailing_var_arg = true,
        value_parser = OsStringValueParser::new().map(OsString::from),
        conflicts_with_all = ["pid", "comm"]
    )]
    pub command: Vec<OsString>,

    /// Watch the threads of this process
    #[arg(
        long,
        value_name = "PID",
        conflicts_with = "comm",
        help_heading = "Whom"
    )]
    pub pid: Option<u32>,

    /// Watch the threads of all processes of this name
    #[arg(long, value_name = "NAME", help_heading = "Whom")]
    pub comm: Option<String>,

    /// Only threads with this number, or with this in their name (can be repeated)
    #[arg(long, value_name = "TID|NAME", help_heading = "Whom")]
    pub threads: Vec<String>,

    /// A cycle that takes longer, from its release to its end, is late [default: its period]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Cycles"
    )]
    pub deadline: Option<Nanos>,

    /// Period of the threads that matter: of a thread that waits so, this wait ends a cycle [default: found from how it waits]
    #[arg(
        long,
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "Cycles"
    )]
    pub period: Option<Nanos>,

    /// What ends a cycle: a system call in which the thread waits, such as clock_nanosleep, read or futex; or
    /// uprobe:[FILE:]SYMBOL, a function that the thread calls at the end of each cycle, before it waits
    /// or, if it is late, goes on without waiting
    /// [default: the wait that comes regularly]
    #[arg(long, value_name = "SYSCALL|uprobe:SYMBOL", help_heading = "Cycles")]
    pub cycle_at: Option<String>,

    /// Watch for this time; a program that was started is asked to end then [default: until it ends]
    #[arg(
        long,
        short = 'D',
        value_name = "TIME",
        allow_hyphen_values = true,
        help_heading = "End"
    )]
    pub duration: Option<Nanos>,

    /// Keep every cycle with its phases, in cycles.csv next to the run's record
    #[arg(long, help_heading = "Output")]
    pub raw: bool,

    /// Trace buffer of each CPU in KiB, where the run says that the kernel lost records [default: 8192, less on machines
    /// with more than 16 CPUs]
    #[arg(long, value_name = "KIB", help_heading = "System",
          value_parser = clap::value_parser!(u32).range(64..=i64::from(LARGEST_BUFFER_KIB)))]
    pub buffer: Option<u32>,

    /// Where a thread is as it waits, faults or does what real-time code should avoid: off; the functions of the program, as
    /// far as frame pointers lead; or those of the kernel too, some 6 µs each with interrupts off
    #[arg(
        long,
        value_enum,
        value_name = "WHICH",
        default_value = "user",
        help_heading = "Output"
    )]
    pub stacks: StackChoice,

    /// What is kept of response times
    #[command(flatten)]
    pub statistics: StatisticsArgs,

    /// What all instruments share
    #[command(flatten)]
    pub common: CommonArgs,
}

impl WatchArgs {
    /// Returns the program to be started, with its arguments; nothing where one is watched that runs.
    #[cfg(feature = "workbench")]
    pub(crate) fn command(&self) -> &[OsString] {
        &self.command
    }

    /// Whether a cycle ends at a function, by its name.
    #[cfg(feature = "workbench")]
    pub(crate) fn ends_at_function(&self) -> bool {
        let at = self.cycle_at.as_deref();
        at.is_some_and(|at| at.starts_with(watch::FUNCTION))
    }
}

/// The policy of who watches. Those who are watched have the one that they set themselves.
const ORDINARY: &str = "o";

const CPUS: &str = "CPUs on which the program runs, which are judged: it is not moved there [default: all online and allowed]";

/// Watches as `args` say. The exit status of a program that was started is passed on where it is not 0.
pub(crate) fn run(home: Option<&Path>, args: &WatchArgs) -> Result<Exit, CliError> {
    if args.deadline.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--deadline 0s: every cycle would be late"));
    }
    if args.period.is_some_and(Nanos::is_zero) {
        return Err(CliError::usage("--period 0s: no thread waits for that"));
    }
    if args.common.priority != sched::ordinary() {
        let error = CliError::usage("--priority: a program that is watched sets its own");
        return Err(error.hint("start it with that policy: punctual watch -- chrt -f 80 COMMAND"));
    }
    if let Some(call) = args
        .cycle_at
        .as_deref()
        .filter(|call| !call.starts_with(watch::FUNCTION) && !calls::is_known(call))
    {
        return Err(CliError::usage(format!(
            "--cycle-at {call}: there is no such system call on this machine"
        )));
    }
    let (target, whom) = match (&args.pid, &args.comm) {
        (Some(pid), _) => (Target::Process(*pid), format!("pid {pid}")),
        (None, Some(name)) => (Target::Named(name.clone()), format!("comm {name}")),
        (None, None) if args.command.is_empty() => {
            let error = CliError::usage("watch: nobody to watch is named");
            return Err(error
                .hint("name a program, -- COMMAND, or one that runs: --pid PID or --comm NAME"));
        }
        (None, None) => {
            let words = args.command.iter().map(|word| word.to_string_lossy());
            let words: Vec<_> = words.collect();
            (Target::Command(args.command.clone()), words.join(" "))
        }
    };
    let mut asked = Request::of("watch")
        .statistics(&args.statistics)
        .upto(args.duration)
        .sharing_terminal(!args.command.is_empty())
        .option("watched", whom);
    if let Some(deadline) = args.deadline {
        asked = asked.option("deadline", deadline);
    }
    if let Some(period) = args.period {
        asked = asked.option("period", period);
    }
    if let Some(kib) = args.buffer {
        asked = asked.option("buffer-kib", kib);
    }
    if let Some(call) = &args.cycle_at {
        asked = asked.option("cycle-at", call);
    }
    let watch = Watch {
        target,
        deadline: args.deadline,
        period: args.period,
        cycle_at: args.cycle_at.clone(),
        threads: args.threads.clone(),
        output_to_stderr: args.common.json,
        keep_cycles: args.raw,
        matters: Matters::OfThePeriod,
        stacks: args.stacks.into(),
        buffer_kib: args.buffer,
    };
    let mut end = None;
    let exit = request::run(home, &args.common, asked, |frame| {
        let (found, ended) = watch::run(watch, punctual_host::judge_thread, frame)?;
        end = ended;
        Ok(found)
    })?;
    Ok(end.map_or(exit, |end| passed_on(exit, &end)))
}

/// What the program said comes first: whoever starts it below this one is to see what it would see without.
fn passed_on(exit: Exit, end: &ProgramEnd) -> Exit {
    let status = match end {
        ProgramEnd::Status(status) => status,
        // Nobody can say that it went well.
        ProgramEnd::Unknown(_) => return Exit::Failed,
    };
    let said = match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(1),
        // We ended it ourselves, or the user did.
        (None, Some(2 | 15)) => 0,
        // As a shell says it.
        (None, signal) => u8::try_from(128 + signal.unwrap_or(0)).unwrap_or(1),
    };
    match said {
        0 => exit,
        said => Exit::Command(said),
    }
}
