// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! `--deepest-idle-state`: deeper idle states of the CPUs in use are switched off in sysfs, and on
//! again at the end, however that comes.
//!
//! A second process does the latter: it holds the list of what was changed and waits for the end of
//! its input, which the kernel brings about when the first one is gone, killed or not. It is started
//! before anything is changed, and no signal that asks for an end ends it.

use std::fmt;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use punctual_model::CpuSet;
use punctual_sys::{PathError, SysRoot};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag;

use crate::output::remark;

/// The option that makes the second process of this program. Nobody types it.
const RESTORE: &str = "--restore-idle-states";

const OFF: &str = "1";
const ON: &str = "0";

/// An idle state of a CPU that was on and is to be off.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct State {
    cpu: u32,
    number: u32,
}

impl State {
    fn path(self) -> String {
        format!("{}/state{}/disable", directory(self.cpu), self.number)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.cpu, self.number)
    }
}

impl FromStr for State {
    type Err = io::Error;

    fn from_str(line: &str) -> io::Result<Self> {
        let parsed = line.split_once(' ').and_then(|(cpu, number)| {
            Some(Self {
                cpu: cpu.parse().ok()?,
                number: number.parse().ok()?,
            })
        });
        parsed.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

fn directory(cpu: u32) -> String {
    format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle")
}

/// Idle states could not be switched off. Those that were are on again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum IdleError {
    #[error("{0}: {source}", source = reason(.0))]
    Sys(#[from] PathError),
    #[error("CPUs {0} have no idle states")]
    None(CpuSet),
    #[error("the process that re-enables them: {0}")]
    Process(#[from] io::Error),
}

fn reason(err: &PathError) -> String {
    let source = std::error::Error::source(err);
    source.map(ToString::to_string).unwrap_or_default()
}

/// Idle states that are off as long as this lives.
#[derive(Debug)]
pub(super) struct LimitedIdle {
    restorer: Option<Child>,
}

impl LimitedIdle {
    /// Switches off the idle states of `cpus` with a number above `deepest`.
    pub(super) fn set(sys: &SysRoot, cpus: &CpuSet, deepest: i32) -> Result<Self, IdleError> {
        let states = deeper(sys, cpus, deepest)?;
        if states.is_empty() {
            return Ok(Self { restorer: None });
        }
        let limited = Self {
            restorer: Some(start(&states)?),
        };
        for state in &states {
            sys.write(&state.path(), OFF)?;
        }
        Ok(limited)
    }

    /// Switches them on again; returns whether that succeeded. What did not was said.
    pub(super) fn lift(mut self) -> bool {
        self.finish()
    }

    fn finish(&mut self) -> bool {
        let Some(mut restorer) = self.restorer.take() else {
            return true;
        };
        drop(restorer.stdin.take());
        restorer.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for LimitedIdle {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Lists the states above `deepest` that are on.
fn deeper(sys: &SysRoot, cpus: &CpuSet, deepest: i32) -> Result<Vec<State>, IdleError> {
    let mut states = Vec::new();
    let mut any = false;
    for cpu in cpus.iter() {
        let names = sys.names(&directory(cpu))?;
        let mut numbers: Vec<u32> = names
            .iter()
            .filter_map(|name| name.strip_prefix("state")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        any |= !numbers.is_empty();
        for number in numbers {
            let state = State { cpu, number };
            if i64::from(number) > i64::from(deepest) && sys.read(&state.path())? == ON {
                states.push(state);
            }
        }
    }
    if any {
        Ok(states)
    } else {
        Err(IdleError::None(cpus.clone()))
    }
}

/// Starts the second process and tells it what will be changed; returns when it has understood.
fn start(states: &[State]) -> io::Result<Child> {
    // Our own program, also where the file was replaced since we started.
    let mut child = Command::new("/proc/self/exe")
        .args(["cyclictest", RESTORE])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let told = tell(&mut child, states);
    if let Err(err) = told {
        // Nothing was changed yet, and what it reports is on.
        drop(child.stdin.take());
        drop(child.wait());
        return Err(err);
    }
    Ok(child)
}

fn tell(child: &mut Child, states: &[State]) -> io::Result<()> {
    let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
    let input = child.stdin.as_mut().ok_or_else(gone)?;
    let list: String = states.iter().map(|state| format!("{state}\n")).collect();
    input.write_all(format!("{list}\n").as_bytes())?;
    let mut ready = [0];
    let mut output = child.stdout.take().ok_or_else(gone)?;
    output.read_exact(&mut ready)
}

/// Whether `args` ask for the second process.
pub(super) fn is_restorer(args: &[String]) -> bool {
    args.len() == 1 && args.first().is_some_and(|arg| arg == RESTORE)
}

/// Is the second process: reads what to switch on, waits for the end of input, and does it. Returns
/// whether everything is as it was.
pub(super) fn restorer(sys: &SysRoot) -> bool {
    // Handled, so that none of these ends the process, and never looked at.
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
        drop(flag::register(signal, Arc::new(AtomicBool::new(false))));
    }
    let states = match listen() {
        Ok(states) => states,
        Err(err) => {
            remark(&format!("WARN: {RESTORE}: {err}"));
            return false;
        }
    };
    let failed = restore(sys, &states);
    failed.iter().for_each(|text| remark(text));
    failed.is_empty()
}

/// Reads states up to an empty line, says that it has them, and waits for the end of input.
fn listen() -> io::Result<Vec<State>> {
    let mut input = io::stdin().lock();
    let mut states = Vec::new();
    let mut line = String::new();
    loop {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            // Whoever began this was gone before anything was changed.
            return Ok(Vec::new());
        }
        match line.trim_end() {
            "" => break,
            text => states.push(text.parse()?),
        }
    }
    let mut out = io::stdout().lock();
    out.write_all(b"+").and_then(|()| out.flush())?;
    io::copy(&mut input, &mut io::sink())?;
    Ok(states)
}

/// Switches states on; returns what could not be, in words.
fn restore(sys: &SysRoot, states: &[State]) -> Vec<String> {
    let one = |state: &State| {
        let path = state.path();
        let failed = |err: PathError| {
            Some(format!(
                "WARN: this idle state is still switched off: {err}: {}",
                reason(&err)
            ))
        };
        match sys.write(&path, ON).and_then(|()| sys.read(&path)) {
            Ok(now) if now == ON => None,
            Ok(now) => Some(format!(
                "WARN: this idle state could not be switched on: {path} is {now}"
            )),
            // A CPU that went offline has taken its states with it.
            Err(err) if err.is_missing() => None,
            Err(err) => failed(err),
        }
    };
    states.iter().rev().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two CPUs with three states, the last of CPU 1 off already.
    fn tree() -> (tempfile::TempDir, SysRoot) {
        let dir = tempfile::tempdir().unwrap();
        for (cpu, state, value) in [
            (0, 0, "0\n"),
            (0, 1, "0\n"),
            (0, 10, "0\n"),
            (1, 0, "0\n"),
            (1, 1, "0\n"),
            (1, 10, "1\n"),
        ] {
            let at = dir.path().join(format!(
                "sys/devices/system/cpu/cpu{cpu}/cpuidle/state{state}"
            ));
            std::fs::create_dir_all(&at).unwrap();
            std::fs::write(at.join("disable"), value).unwrap();
        }
        let sys = SysRoot::at(dir.path());
        (dir, sys)
    }

    fn listed(sys: &SysRoot, cpus: &str, deepest: i32) -> Vec<String> {
        let states = deeper(sys, &cpus.parse().unwrap(), deepest).unwrap();
        states.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn states_above_the_deepest_that_are_on_are_changed_and_come_back() {
        let (_dir, sys) = tree();
        assert_eq!(listed(&sys, "0-1", 0), ["0 1", "0 10", "1 1"]);
        assert_eq!(listed(&sys, "0", 1), ["0 10"]);
        assert_eq!(listed(&sys, "1", -1), ["1 0", "1 1"]);
        assert!(listed(&sys, "0-1", 10).is_empty());
        let states = deeper(&sys, &"0-1".parse().unwrap(), 0).unwrap();
        for state in &states {
            sys.write(&state.path(), OFF).unwrap();
        }
        assert!(listed(&sys, "0-1", 0).is_empty());
        assert!(restore(&sys, &states).is_empty());
        assert_eq!(listed(&sys, "0-1", 0), ["0 1", "0 10", "1 1"]);
    }

    #[test]
    fn a_state_is_said_as_it_is_read() {
        let state = State { cpu: 7, number: 3 };
        assert_eq!(state.to_string().parse::<State>().unwrap(), state);
        "7".parse::<State>().unwrap_err();
        "7 ../../x".parse::<State>().unwrap_err();
    }

    #[test]
    fn cpus_without_idle_states_are_an_error_and_a_cpu_that_left_is_none() {
        let (dir, sys) = tree();
        let none = deeper(&sys, &"2-3".parse().unwrap(), 0).unwrap_err();
        assert_eq!(none.to_string(), "CPUs 2-3 have no idle states");
        let states = deeper(&sys, &"0".parse().unwrap(), 0).unwrap();
        std::fs::remove_dir_all(dir.path().join("sys/devices/system/cpu/cpu0")).unwrap();
        assert!(restore(&sys, &states).is_empty());
    }
}
