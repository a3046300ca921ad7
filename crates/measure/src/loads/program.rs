// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Loads that are programs: kept, watched, stopped and continued, and ended with all they started.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, PipeReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use punctual_model::{CpuSet, Policy};
use punctual_sys::keep::isolate_processes;
use punctual_sys::proc::below;
use punctual_sys::{SysRoot, process, sched};

use super::kind::Site;
use super::own::{Role, not_started};
use super::settings::{Intensity, Settings};
use super::shift::{Shift, Task};
use super::tree;
use crate::io::bytes_done;

/// Time between two looks at a program.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A program that does not say what it does is at work when it is still there after so long: the shell of a command that does not
/// exist uses the processor too.
const AT_WORK_AFTER: Duration = Duration::from_millis(200);

/// A program that works for a part of the time is stopped and continued once in each of these.
const PERIOD: Duration = Duration::from_millis(100);

/// What a program has to end by itself when it is asked to.
const GRACE: Duration = Duration::from_secs(1);

/// What its keeper has to end it.
const KEEPER_GRACE: Duration = Duration::from_secs(2);

/// How much of a program's last words is kept, in characters.
const LAST_WORDS: usize = 200;

/// A program that loads.
#[derive(Debug)]
pub(super) struct Program {
    /// The program and its arguments.
    pub(super) command: Vec<OsString>,
    /// What it reads, if anything.
    pub(super) stdin: Option<File>,
    /// What its output means.
    pub(super) speech: Speech,
}

/// What a program's output means.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Speech {
    /// A line `work TOTAL [UNIT]` says how much it has done. Until the first such line its work is
    /// the CPU time of all its processes, in milliseconds.
    Optional,
    /// The same, and only such a line is work.
    Required,
    /// Reports of fio, in JSON.
    Fio,
}

/// What a program has said.
#[derive(Debug, Default)]
struct Said {
    work: AtomicU64,
    /// How often it has said how much it did.
    times: AtomicU64,
    unit: OnceLock<String>,
    last_words: Mutex<String>,
    /// Why what it said is worth nothing.
    fault: OnceLock<String>,
}

/// Returns the program that a shell makes of `command`.
pub(super) fn shell(command: &str) -> Program {
    Program {
        command: ["sh", "-c", command].map(OsString::from).to_vec(),
        stdin: None,
        speech: Speech::Optional,
    }
}

/// Requires that a tool is installed.
///
/// # Errors
///
/// Fails with `Unsupported` when it is not, or does not run.
pub(super) fn look_for(tool: &str) -> io::Result<()> {
    let mut command = Command::new(tool);
    command.arg("--version");
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let why = match command.stderr(Stdio::null()).status() {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => format!("its --version failed with {status}"),
        Err(err) if err.kind() == io::ErrorKind::NotFound => "it is not installed".to_owned(),
        Err(err) => err.to_string(),
    };
    let what = format!("{tool} cannot be used: {why} (Debian, Ubuntu: apt-get install {tool})");
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

impl Program {
    /// Returns the one task of a load that is this program.
    pub(super) fn task(self, site: &Site<'_>) -> Vec<Task> {
        let (sys, settings) = (site.sys.clone(), site.settings.clone());
        let allowed = site.allowed.clone();
        vec![Box::new(move |shift| {
            let said = Arc::new(Said::default());
            let speech = self.speech;
            let keeper = self.start(&said)?;
            leave(&settings, &allowed)?;
            let mut watched = Watched {
                sys,
                keeper,
                said,
                speech,
                counted: 0,
                speaks: false,
                started: Instant::now(),
            };
            watched.watch(shift, settings.intensity)
        })]
    }

    /// Starts the keeper, which starts the program. The calling thread must live as long.
    fn start(self, said: &Arc<Said>) -> io::Result<Child> {
        let (stdout, write_out) = io::pipe()?;
        let (stderr, write_err) = io::pipe()?;
        let hear = match self.speech {
            Speech::Optional | Speech::Required => hear,
            Speech::Fio => hear_fio,
        };
        listen(stdout, said, hear)?;
        listen(stderr, said, note_last_words)?;
        // Without the privilege the keeper has to look after what the program starts.
        drop(isolate_processes());
        let [program, role] = Role::Keep.command().try_into().unwrap_or_default();
        Command::new(&program)
            .arg(role)
            .arg(std::process::id().to_string())
            .args(self.command)
            .stdin(self.stdin.map_or_else(Stdio::null, Stdio::from))
            .stdout(write_out)
            .stderr(write_err)
            .spawn()
            .map_err(not_started(&program))
    }
}

/// Gives back to the calling thread what its program alone is to have: whoever watches a program
/// must be able to stop it.
fn leave(settings: &Settings, allowed: &CpuSet) -> io::Result<()> {
    if settings.cpus.is_some() {
        sched::set_affinity(allowed)?;
    }
    match settings.policy {
        Some(policy) if policy.is_real_time() => sched::set_policy(above(policy)),
        _ => Ok(()),
    }
}

/// Returns a policy whose threads run before those of a real-time `policy`.
pub(super) fn above(policy: Policy) -> Policy {
    match policy {
        Policy::Fifo { priority } | Policy::RoundRobin { priority } => Policy::Fifo {
            priority: priority.saturating_add(1).min(99),
        },
        other => other,
    }
}

fn listen(
    from: PipeReader,
    said: &Arc<Said>,
    hear: fn(&Said, &mut dyn BufRead) -> io::Result<()>,
) -> io::Result<()> {
    let said = Arc::clone(said);
    // It ends when the last of the program's processes is gone, and nobody need wait for that.
    Builder::new()
        .name("load output".to_owned())
        .spawn(move || drop(hear(&said, &mut BufReader::new(from))))?;
    Ok(())
}

/// Takes the lines of a program that may say how much it has done.
fn hear(said: &Said, from: &mut dyn BufRead) -> io::Result<()> {
    each_line(from, |line| {
        let Some((total, unit)) = work_line(line) else {
            return;
        };
        if let Some(unit) = unit {
            said.unit.get_or_init(|| unit.to_owned());
        }
        said.work.store(total, Ordering::Relaxed);
        said.times.fetch_add(1, Ordering::Release);
    })
}

/// Takes the reports of fio: documents whose first and last line are a brace alone.
fn hear_fio(said: &Said, from: &mut dyn BufRead) -> io::Result<()> {
    /// Some hundred lines are usual.
    const LONGEST: usize = 4 << 20;
    let mut document = String::new();
    each_line(from, |line| {
        if line == "{" || document.len() > LONGEST {
            document.clear();
        }
        document.push_str(line);
        document.push('\n');
        if line != "}" {
            return;
        }
        match bytes_done(&document) {
            Ok(bytes) => {
                said.work.store(bytes, Ordering::Relaxed);
                said.times.fetch_add(1, Ordering::Release);
            }
            Err(err) => {
                said.fault.get_or_init(|| err.to_string());
            }
        }
        document.clear();
    })
}

/// Reads `work TOTAL [UNIT]`.
fn work_line(line: &str) -> Option<(u64, Option<&str>)> {
    let mut words = line.strip_prefix("work ")?.splitn(2, ' ');
    let total = words.next()?.parse().ok()?;
    let unit = words.next().map(str::trim).filter(|unit| {
        let fits = !unit.is_empty() && unit.chars().count() <= 40;
        fits && !unit.chars().any(char::is_control)
    });
    Some((total, unit))
}

fn note_last_words(said: &Said, from: &mut dyn BufRead) -> io::Result<()> {
    each_line(from, |line| {
        let line: String = line.trim().chars().take(LAST_WORDS).collect();
        if !line.is_empty() {
            *said
                .last_words
                .lock()
                .unwrap_or_else(PoisonError::into_inner) = line;
        }
    })
}

/// Passes each line on; of a line without end only as much as memory is good for.
fn each_line(from: &mut dyn BufRead, mut take: impl FnMut(&str)) -> io::Result<()> {
    const LONGEST: u64 = 64 << 10;
    let mut line = Vec::new();
    while from.take(LONGEST).read_until(b'\n', &mut line)? > 0 {
        take(String::from_utf8_lossy(&line).trim_end());
        line.clear();
    }
    Ok(())
}

/// A program at work.
struct Watched {
    sys: SysRoot,
    keeper: Child,
    said: Arc<Said>,
    speech: Speech,
    /// What was counted of its work.
    counted: u64,
    /// Whether it has said how much it did, so that its CPU time is none any more.
    speaks: bool,
    started: Instant,
}

impl Watched {
    fn watch(&mut self, shift: &mut Shift<'_>, intensity: Intensity) -> io::Result<()> {
        while !shift.is_over() {
            self.check_alive()?;
            self.count(shift);
            if intensity == Intensity::FULL {
                shift.pause(LOOK_EVERY);
            } else {
                shift.pause(PERIOD * intensity.percent() / 100);
                self.tell_all(process::stop);
                shift.pause(PERIOD * (100 - intensity.percent()) / 100);
                self.tell_all(process::go_on);
            }
        }
        Ok(())
    }

    fn tell_all(&self, tell: fn(u32) -> io::Result<()>) {
        for pid in below(&self.sys, self.keeper.id()) {
            // It fails when the process has ended by now.
            drop(tell(pid));
        }
    }

    fn check_alive(&mut self) -> io::Result<()> {
        if let Some(fault) = self.said.fault.get() {
            return Err(io::Error::other(fault.clone()));
        }
        let Some(status) = self.keeper.try_wait()? else {
            return Ok(());
        };
        // Its last words may still be on their way.
        std::thread::sleep(LOOK_EVERY);
        let how = match status.code() {
            Some(code @ 129..=192) => {
                format!("ended with exit status {code} (signal {})", code - 128)
            }
            Some(code) => format!("ended with exit status {code}"),
            None => format!("its keeper ended: {status}"),
        };
        let words = self.said.last_words.lock();
        let words = words.unwrap_or_else(PoisonError::into_inner);
        Err(io::Error::other(match words.is_empty() {
            true => how,
            false => format!("{how}: {words}"),
        }))
    }

    fn count(&mut self, shift: &Shift<'_>) {
        let speaks = self.said.times.load(Ordering::Acquire) > 0;
        if speaks && !self.speaks {
            self.speaks = true;
            self.counted = 0;
            if self.speech == Speech::Optional {
                let unit = self.said.unit.get().map_or("units", String::as_str);
                // It has done that since its own start, and not since anybody counted.
                self.counted = self.said.work.load(Ordering::Relaxed);
                shift.begin_again(unit);
                if self.counted > 0 {
                    shift.count(0);
                }
                return;
            }
        }
        let now = match (speaks, self.speech) {
            (true, _) => self.said.work.load(Ordering::Relaxed),
            (false, Speech::Required | Speech::Fio) => return,
            (false, Speech::Optional) if self.started.elapsed() < AT_WORK_AFTER => return,
            (false, Speech::Optional) => {
                tree::cpu_time(&self.sys, self.keeper.id()).get() / 1_000_000
            }
        };
        if now > self.counted {
            shift.count(now - self.counted);
            self.counted = now;
        }
    }

    fn ends_within(&mut self, patience: Duration) -> bool {
        let end = Instant::now() + patience;
        while Instant::now() < end {
            match self.keeper.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                _ => return true,
            }
        }
        false
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if matches!(self.keeper.try_wait(), Ok(Some(_))) {
            return;
        }
        // First politely: a program may have files to clear away.
        self.tell_all(process::ask_to_end);
        self.tell_all(process::go_on);
        if self.ends_within(GRACE) {
            return;
        }
        drop(process::ask_to_end(self.keeper.id()));
        if !self.ends_within(KEEPER_GRACE) {
            drop(self.keeper.kill());
            drop(self.keeper.wait());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loads::shift::Tally;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_line_says_how_much_was_done_and_of_what() {
        for (line, said) in [
            ("work 12", Some((12, None))),
            ("work 12 frames", Some((12, Some("frames")))),
            ("work 0 lines of text", Some((0, Some("lines of text")))),
            ("work 7 ", Some((7, None))),
            ("work -1", None),
            ("work", None),
            ("working 5", None),
            ("", None),
        ] {
            assert_eq!(work_line(line), said, "{line}");
        }
        assert_eq!(
            work_line(&format!("work 1 {}", "x".repeat(41))),
            Some((1, None))
        );
        assert_eq!(work_line("work 1 \u{1b}[2J"), Some((1, None)));
    }

    #[test]
    fn the_last_line_that_says_something_is_kept() {
        let said = Said::default();
        let mut text = "first\nsh: 1: foo: not found\n\n  \n".as_bytes();
        note_last_words(&said, &mut text).unwrap();
        assert_eq!(*said.last_words.lock().unwrap(), "sh: 1: foo: not found");
        note_last_words(&said, &mut "y".repeat(1 << 20).as_bytes()).unwrap();
        assert_eq!(said.last_words.lock().unwrap().len(), LAST_WORDS);
    }

    #[test]
    fn each_report_of_fio_says_how_much_was_done_by_then() {
        let report = |error: i32, read: u64| {
            let side = |bytes| {
                format!(
                    r#"{{"bw_bytes":0,"iops":0,"io_bytes":{bytes},"total_ios":0,"clat_ns":{{"mean":0}}}}"#
                )
            };
            let (read, write) = (side(read), side(5));
            format!(
                "{{\n\"fio version\":\"f\",\n\"jobs\":[{{\"error\":{error},\"read\":{read},\"write\":{write}}}]\n}}\n"
            )
        };
        let said = Said::default();
        let text = ["fio: a remark\n", &report(0, 0), &report(0, 95)].concat();
        hear_fio(&said, &mut text.as_bytes()).unwrap();
        assert_eq!(said.work.load(Ordering::Relaxed), 100);
        assert_eq!(said.times.load(Ordering::Relaxed), 2);
        assert_eq!(said.fault.get(), None);
        hear_fio(&said, &mut report(5, 95).as_bytes()).unwrap();
        assert_eq!(said.fault.get().unwrap(), "it met error 5");
    }

    #[test]
    fn what_a_program_did_before_it_was_heard_is_not_counted() {
        let said = Arc::<Said>::default();
        let mut watched = Watched {
            sys: SysRoot::live(),
            keeper: Command::new("sleep").arg("3600").spawn().unwrap(),
            said: Arc::clone(&said),
            speech: Speech::Optional,
            counted: 0,
            speaks: false,
            // As if long ago: it is at work by its CPU time.
            started: Instant::now() - AT_WORK_AFTER,
        };
        let (stop, tally) = (AtomicBool::new(false), Tally::default());
        let shift = Shift::begin(&stop, &tally, Intensity::FULL, Instant::now());
        let mut done = |line: &str| {
            hear(&said, &mut line.as_bytes()).unwrap();
            watched.count(&shift);
            let done = |count: &AtomicU64| count.load(Ordering::Relaxed);
            (done(&tally.work), done(&tally.steps))
        };
        tally.work.store(7, Ordering::Relaxed);
        assert_eq!(done("work 100 frames\n").0, 0);
        assert_eq!(tally.unit.get().unwrap(), "frames");
        let (work, before) = done("work 130 frames\n");
        assert_eq!(work, 30);
        assert_eq!(done("work 130 frames\n"), (30, before));
    }

    #[test]
    fn a_tool_that_is_missing_is_named_with_where_to_get_it() {
        let err = look_for("no-such-tool").unwrap_err();
        assert_eq!(err.kind(), io::ErrorKind::Unsupported);
        assert!(err.to_string().contains("it is not installed"), "{err}");
        look_for("true").unwrap();
        assert!(look_for("false").is_err());
    }

    #[test]
    fn the_watcher_of_a_real_time_program_runs_before_it() {
        let above = |text: &str| super::above(text.parse().unwrap()).to_string();
        assert_eq!(above("f:5"), "f:6");
        assert_eq!(above("r:98"), "f:99");
        assert_eq!(above("o:5"), "o:5");
    }
}
