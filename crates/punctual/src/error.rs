// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The errors that users see: one line of what failed, its causes, and what to do.

use std::error::Error;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::iter::successors;
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseIntError};

use punctual_measure::MeasureError;
use punctual_measure::refusal::{self, LOCK_HINT, Refusal};
use punctual_model::Policy;
use punctual_store::StoreError;
use punctual_sys::SysRoot;
use punctual_sys::proc::is_in_user_namespace;
use punctual_verdict::words::clean;

use crate::exit::Exit;

/// An error for the user, with hints.
#[derive(Debug)]
pub struct CliError {
    exit: Exit,
    what: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    last_lines: Vec<String>,
    hints: Vec<String>,
}

const ORDINARY: &str =
    "to measure an ordinary thread instead, which is not a real-time measurement, add --priority o";

impl CliError {
    /// Makes an error that reads "failed to WHAT".
    pub(crate) fn failed_to(what: impl Into<String>) -> Self {
        Self::new(Exit::Failed, format!("failed to {}", what.into()))
    }

    /// Makes an error of the command line.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what.into())
    }

    /// Makes an error about what this build was made without.
    #[cfg(feature = "workbench")]
    pub(crate) fn left_out(what: &str) -> Self {
        Self::new(Exit::Unsupported, format!("{what}: not in this build"))
            .hint("`make run` leaves it out to build faster; `make build` makes the whole program")
    }

    fn new(exit: Exit, what: String) -> Self {
        Self {
            exit,
            what,
            source: None,
            last_lines: Vec::new(),
            hints: Vec::new(),
        }
    }

    /// Adds the cause.
    #[must_use]
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the last lines of the log that has more about it.
    #[must_use]
    pub(crate) fn log(mut self, last_lines: Vec<String>) -> Self {
        self.last_lines = last_lines;
        self
    }

    /// Adds a hint.
    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds the hints that there are.
    #[must_use]
    pub(crate) fn hints(mut self, hints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hints.extend(hints.into_iter().map(Into::into));
        self
    }

    /// Takes the hint to do without a real-time policy back: not every instrument can.
    #[must_use]
    pub(crate) fn real_time_only(mut self) -> Self {
        self.hints.retain(|hint| hint != ORDINARY);
        self
    }

    /// Changes the exit status.
    #[must_use]
    pub(crate) const fn exiting(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Says it of a gate, where it is one: a gate that could not look is not passed.
    #[cfg(feature = "workbench")]
    #[must_use]
    pub(crate) fn of_gate(self, is_gate: bool) -> Self {
        match is_gate {
            true => self.exiting(Exit::Unjudged),
            false => self,
        }
    }

    /// Returns the exit status.
    pub const fn exit(&self) -> Exit {
        self.exit
    }

    /// Returns what failed, without its causes.
    pub(crate) fn what(&self) -> &str {
        &self.what
    }

    /// Returns the first cause.
    pub(crate) fn cause(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|err| err as &dyn Error)
    }

    /// Says what failed and its first cause, in one line.
    pub(crate) fn in_one_line(&self) -> String {
        let cause = self.cause().map(|cause| format!(": {cause}"));
        format!("{}{}", self.what, cause.unwrap_or_default())
    }

    /// Prints the error, its causes and its hints to standard error.
    pub(crate) fn print(&self) {
        let mut lines = vec![format!("Error: {}", self.what)];
        let mut said = self.what.clone();
        let first = self.cause();
        for cause in successors(first, |err: &&dyn Error| (*err).source()) {
            let cause = cause.to_string();
            // Transparent errors repeat what they wrap.
            if cause != said {
                lines.push(format!("  caused by: {cause}"));
                said = cause;
            }
        }
        if !self.last_lines.is_empty() {
            lines.push("  last lines of its log:".to_owned());
        }
        let log = self.last_lines.iter().map(|line| format!("    {line}"));
        lines.extend(log);
        lines.extend(self.hints.iter().map(|hint| format!("Hint: {hint}")));
        // A line may cite a run, or a name, that comes from elsewhere.
        let lines: Vec<String> = lines.iter().map(|line| clean(line).into_owned()).collect();
        // Nobody is left to tell when even this cannot be printed.
        drop(writeln!(io::stderr(), "{}", lines.join("\n")));
    }
}

/// Prints an error of the command line as clap found it in `args`, in our words: `Error:`, and the
/// option by its name also where a value is not text.
pub(crate) fn print_usage(err: &clap::Error, args: &[OsString]) {
    let text = err.render();
    let text = if io::stderr().is_terminal() {
        text.ansi().to_string()
    } else {
        text.to_string()
    };
    let text = match err.source().and_then(expected) {
        Some((library, ours)) => text.replace(&library, ours),
        None => text,
    };
    let text = match not_text(args).filter(|_| err.kind() == clap::error::ErrorKind::InvalidUtf8) {
        Some(what) => format!("Error: {}: not valid UTF-8\n", clean(&what)),
        // What there is to choose from, and behind it, where it is read, that one must be chosen.
        None if err.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            format!("{text}\nError: no subcommand was given\n")
        }
        None => text.replacen("error:", "Error:", 1),
    };
    // Nobody is left to tell when even this cannot be printed.
    drop(io::stderr().write_all(text.as_bytes()));
}

/// What the standard library says of a value that it cannot read, and what was expected instead.
fn expected(source: &(dyn Error + 'static)) -> Option<(String, &'static str)> {
    let ours = match source
        .downcast_ref::<ParseIntError>()
        .map(ParseIntError::kind)
    {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "the number is out of range",
        Some(_) => "expected a whole number",
        None if source.is::<AddrParseError>() => {
            "expected an address and a port, such as 127.0.0.1:9464 or [::1]:9464"
        }
        None => return None,
    };
    Some((source.to_string(), ours))
}

/// Returns the error of a `measure` that got options of an instrument, and no instrument: clap only knows that the
/// option is none of `measure`.
#[cfg(feature = "workbench")]
pub(crate) fn without_instrument(err: &clap::Error, args: &[OsString]) -> Option<CliError> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};

    let rest = args.iter().position(|arg| arg == "measure")?;
    let rest = args.get(rest + 1..)?;
    let command = crate::cli::command();
    let measure = command.find_subcommand("measure")?;
    let names: Vec<&str> = measure
        .get_subcommands()
        .map(clap::Command::get_name)
        .filter(|name| *name != "help")
        .collect();
    let is_instrument = |arg: &OsString| names.iter().any(|name| arg == name);
    if err.kind() != ErrorKind::UnknownArgument || rest.iter().any(is_instrument) {
        return None;
    }
    let Some(ContextValue::String(option)) = err.get(ContextKind::InvalidArg) else {
        return None;
    };
    let mut line: Vec<&str> = rest.iter().filter_map(|arg| arg.to_str()).collect();
    let at = line.iter().position(|arg| arg.starts_with(option.as_str()));
    line.insert(at.unwrap_or_default(), "wakeup");
    Some(
        CliError::usage(format!(
            "measure: {option} belongs to an instrument, but none is named"
        ))
        .hint(format!(
            "wake-up latency: `punctual measure {}`; instruments: {}",
            line.join(" "),
            names.join(", ")
        )),
    )
}

/// Returns the first argument that is no text and would have to be: a path need not.
fn not_text(args: &[OsString]) -> Option<String> {
    const PATHS: [&str; 4] = ["--home", "--output", "-o", "--root"];
    let (before, arg) = args.iter().zip(args.iter().skip(1)).find(|(before, arg)| {
        let lossy = arg.to_string_lossy();
        let path = PATHS
            .iter()
            .any(|name| *before == name || lossy.starts_with(&format!("{name}=")));
        arg.to_str().is_none() && !path
    })?;
    let arg = arg.to_string_lossy();
    let named = arg.starts_with('-');
    let option = before
        .to_str()
        .filter(|before| before.starts_with('-') && !named);
    Some(option.map_or_else(|| arg.to_string(), |option| format!("{option} {arg}")))
}

/// What helps where the operating system refuses something of a store.
pub(crate) const fn of_store(
    is_full: bool,
    is_read_only: bool,
    is_denied: bool,
) -> Option<&'static str> {
    if is_full {
        Some("free some space, or put the store elsewhere with --home DIR or PUNCTUAL_HOME")
    } else if is_read_only {
        Some("its file system is read-only: use another store with --home DIR or PUNCTUAL_HOME")
    } else if is_denied {
        Some(
            "use this store as its owner or with sudo, or another one with --home DIR or PUNCTUAL_HOME",
        )
    } else {
        None
    }
}

impl From<StoreError> for CliError {
    fn from(err: StoreError) -> Self {
        let newer = matches!(err, StoreError::NewerStore { .. });
        let is_unsafe = matches!(err, StoreError::Unsafe { .. });
        let hint = if is_unsafe && is_in_user_namespace(&SysRoot::live()) {
            Some(
                "this is a user namespace, which has no number for the users outside, root among them: use a \
                 directory whose whole path belongs to users of the namespace, or run it outside",
            )
        } else if is_unsafe {
            Some(
                "use a directory of your own, inside one that only you or root can write to, with \
                 --home DIR or PUNCTUAL_HOME",
            )
        } else if newer {
            Some("use the newer program, or another store with --home DIR")
        } else {
            of_store(err.is_full(), err.is_read_only(), err.is_permission())
        };
        Self::failed_to("use the store").because(err).hints(hint)
    }
}

impl From<MeasureError> for CliError {
    fn from(err: MeasureError) -> Self {
        if let MeasureError::Spec { option, reason } = &err {
            return Self::usage(format!("{option}: {reason}"));
        }
        if let MeasureError::Load { source, .. } = &err
            && err.is_usage()
        {
            return Self::usage(format!("--load {source}"));
        }
        // What the store says of itself is clearer than that it was listening to a run.
        let err = match err {
            MeasureError::Sink(source) => match source.downcast::<StoreError>() {
                Ok(store) => return (*store).into(),
                Err(source) => MeasureError::Sink(source),
            },
            other => other,
        };
        let exit = if err.is_unsupported() {
            Exit::Unsupported
        } else {
            Exit::Failed
        };
        let hints = hints(&err);
        Self::failed_to("measure")
            .because(err)
            .exiting(exit)
            .hints(hints)
    }
}

fn hints(err: &MeasureError) -> Vec<String> {
    let mut hints = Vec::new();
    let deadline = matches!(
        err,
        MeasureError::Policy {
            policy: Policy::Deadline { .. },
            ..
        }
    );
    if deadline {
        hints.push(
            "the kernel admits SCHED_DEADLINE only with --pin none or inside an exclusive cpuset, \
             and only while bandwidth is left"
                .to_owned(),
        );
    }
    if let MeasureError::TaskPolicy { policy, .. } = err
        && matches!(policy, Policy::Deadline { .. })
    {
        hints.push(
            "the kernel admits SCHED_DEADLINE only for tasks that may use all CPUs of their root domain, so without \
             `cpus` in the set, and only while bandwidth is left: `punctual tasks check` computes that"
                .to_owned(),
        );
    }
    if let MeasureError::Affinity { source, .. } = err
        && source.kind() == std::io::ErrorKind::InvalidInput
    {
        hints.push(
            "none of these CPUs is online and free for this program now: somebody took them offline, or changed its \
             cpuset, since it began"
                .to_owned(),
        );
    }
    if let MeasureError::Unsupported { hint, .. } = err {
        hints.extend(hint.clone());
    }
    if matches!(
        err,
        MeasureError::Tracing(punctual_sys::tracefs::TracefsError::Numbers)
    ) {
        hints.push("start the container with --pid=host, or run it on the host".to_owned());
    } else if matches!(err, MeasureError::Tracing(_)) {
        // A whole file system: capabilities for scheduling and memory do not open it.
        if err.is_denied() {
            let hint = match punctual_sys::thread::is_root() {
                true => {
                    "in a container, add --volume /sys/kernel/tracing:/sys/kernel/tracing and --pid=host"
                }
                false => "run it with sudo: only root may trace",
            };
            hints.push(hint.to_owned());
        }
    } else if matches!(err, MeasureError::DmaLatency(_)) {
        // A device file: capabilities for scheduling and memory do not open it.
        hints.push(
            "run it with sudo, give your group access to /dev/cpu_dma_latency with a udev rule, or \
             leave the idle states alone with --dma-latency off"
                .to_owned(),
        );
    } else if let MeasureError::Policy { policy, .. } | MeasureError::TaskPolicy { policy, .. } =
        err
        && err.is_denied()
    {
        let said = |of: Refusal| format!("{}: {}", of.reason, of.remedy);
        hints.extend(refusal::here(*policy).into_iter().map(said));
        if policy.is_real_time() && matches!(err, MeasureError::Policy { .. }) {
            hints.push(ORDINARY.to_owned());
        }
    } else if let MeasureError::Policy {
        policy: Policy::Ext,
        ..
    } = err
    {
        hints.push(
            "SCHED_EXT needs a kernel built with CONFIG_SCHED_CLASS_EXT, Linux 6.12 or newer"
                .to_owned(),
        );
    } else if err.is_denied() {
        let is_lock = matches!(err, MeasureError::Lock(_));
        if !punctual_sys::thread::is_root() {
            let hint = if is_lock {
                LOCK_HINT
            } else {
                "run it with sudo"
            };
            hints.push(hint.to_owned());
        }
        if is_lock {
            hints.push("or leave the memory unlocked with --mlock off".to_owned());
        }
    } else if let MeasureError::Spawn(source) = err
        && source.kind() == io::ErrorKind::WouldBlock
    {
        hints.push(
            "no more threads are allowed: raise the limit on processes (`ulimit -u`), or that of the control group (pids.max)"
                .to_owned(),
        );
    }
    hints
}
