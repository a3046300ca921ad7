// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Programs that do the work: git, patch, make, dpkg-deb. How they are started, and what is said when they fail.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;

use punctual_sys::SysRoot;
use punctual_sys::child::Group;

/// Lines of a program's last words.
const LAST_WORDS: usize = 12;
/// What the shell says where there is no such program.
const NOT_FOUND: i32 = 127;

/// Packages of Debian and Ubuntu that programs are in.
const PACKAGES: &[(&str, &str)] = &[
    ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
    ("apt-get", "apt"),
    ("bison", "bison"),
    ("bzip2", "bzip2"),
    ("curl", "curl"),
    ("depmod", "kmod"),
    ("dpkg-deb", "dpkg"),
    ("flex", "flex"),
    ("git", "git"),
    ("grub-editenv", "grub-common"),
    ("gzip", "gzip"),
    ("make", "make"),
    ("patch", "patch"),
    ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
    ("xz", "xz-utils"),
    ("zstd", "zstd"),
];

/// What make runs into where something that builds kernels is not installed, and the package that has it: programs,
/// then headers.
const NEEDED: [&[(&str, &str)]; 2] = [
    &[
        ("bc", "bc"),
        ("bison", "bison"),
        ("cpio", "cpio"),
        ("flex", "flex"),
        ("gcc", "gcc"),
        ("ld", "binutils"),
        ("lz4", "lz4"),
        ("openssl", "openssl"),
        ("pahole", "pahole"),
        ("perl", "perl"),
        ("python3", "python3"),
        ("rsync", "rsync"),
        ("xz", "xz-utils"),
        ("zstd", "zstd"),
    ],
    &[
        ("elf.h", "libelf-dev"),
        ("gelf.h", "libelf-dev"),
        ("libelf.h", "libelf-dev"),
        ("openssl/", "libssl-dev"),
        ("stdio.h", "libc6-dev"),
        ("stdlib.h", "libc6-dev"),
        ("zlib.h", "zlib1g-dev"),
    ],
];

/// A program did not do what it was to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// It is not installed.
    #[error("{program} is not installed")]
    Missing {
        /// The program.
        program: String,
    },
    /// It needs something else, which is not installed.
    #[error("{program} needs {what}, which is not installed")]
    Lacks {
        /// The program.
        program: String,
        /// What is missing: a program, or a header.
        what: String,
        /// The package of Debian that has it.
        package: &'static str,
    },
    /// It could not be started, or its output not be read.
    #[error("run {program}")]
    Run {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// It failed.
    #[error("{command} ended with {how}{}", indented(said))]
    Failed {
        /// The program and its arguments.
        command: String,
        /// `status 2`, `signal 9`.
        how: String,
        /// Its exit status; none where a signal ended it.
        status: Option<i32>,
        /// Its last words.
        said: Vec<String>,
    },
    /// It was stopped because the end was asked for.
    #[error("{program} was stopped")]
    Stopped {
        /// The program.
        program: String,
    },
}

impl ToolError {
    /// Returns the package of Debian that has the missing program.
    pub fn package(&self) -> Option<&'static str> {
        match self {
            Self::Missing { program } => {
                let known = PACKAGES.iter().find(|(name, _)| name == program);
                known.map(|(_, package)| *package)
            }
            Self::Lacks { package, .. } => Some(package),
            _ => None,
        }
    }

    /// Returns what is missing, if that is what is wrong.
    pub fn missing(&self) -> Option<&str> {
        match self {
            Self::Missing { program } => Some(program),
            Self::Lacks { what, .. } => Some(what),
            _ => None,
        }
    }

    /// Whether the end was asked for.
    pub const fn is_stopped(&self) -> bool {
        matches!(self, Self::Stopped { .. })
    }
}

fn indented(lines: &[String]) -> String {
    match lines.is_empty() {
        true => String::new(),
        false => format!(": {}", lines.join(" | ")),
    }
}

/// What a program said and how it ended.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Answer {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }
}

/// Makes a command whose messages are in English and which asks nobody anything.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    prepare(&mut command);
    command
}

pub(crate) fn prepare(command: &mut Command) {
    command
        .env("LC_ALL", "C")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_EDITOR", "true")
        .env("DEBIAN_FRONTEND", "noninteractive")
        // A git that started us has told its own hooks where they are.
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null());
}

/// Runs a command that takes a moment, whatever it answers.
pub(crate) fn ask(command: &mut Command) -> Result<Answer, ToolError> {
    let output = command.output();
    let output = output.map_err(|source| not_started(command, source))?;
    Ok(Answer {
        status: output.status,
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// Makes an error of why a command could not be started.
pub(crate) fn not_started(command: &Command, source: io::Error) -> ToolError {
    let program = name(command);
    match source.kind() {
        io::ErrorKind::NotFound => ToolError::Missing { program },
        _ => ToolError::Run { program, source },
    }
}

/// Returns what a line of make says is not installed, and its package.
fn needed(line: &str) -> Option<(String, &'static str)> {
    let [programs, headers] = NEEDED;
    let line = line.trim_end();
    if let Some((_, rest)) = line.split_once("fatal error: ") {
        let header = rest.strip_suffix(": No such file or directory")?;
        let known = headers.iter().find(|(name, _)| match name.ends_with('/') {
            true => header.starts_with(name),
            false => header == *name,
        });
        return known.map(|(_, package)| (header.to_owned(), *package));
    }
    // `/bin/sh: 1: flex: not found`, `bash: flex: command not found`, `make[2]: flex: No such file or directory`.
    let endings = [
        ": not found",
        ": command not found",
        ": No such file or directory",
    ];
    let before = endings.iter().find_map(|end| line.strip_suffix(end))?;
    let (_, name) = before.rsplit_once(": ")?;
    let known = programs.iter().find(|(program, _)| *program == name)?;
    Some((name.to_owned(), known.1))
}

/// Runs a command that takes a moment, and requires success.
pub(crate) fn run(command: &mut Command) -> Result<Answer, ToolError> {
    let answer = ask(command)?;
    if answer.status.success() {
        return Ok(answer);
    }
    Err(failed_with(command, &answer))
}

/// Whether a program is there and says its version.
pub(crate) fn has(program: &str) -> bool {
    ask(command(program).arg("--version")).is_ok_and(|answer| answer.status.success())
}

/// Makes an error of an answer that is none.
pub(crate) fn failed_with(command: &Command, answer: &Answer) -> ToolError {
    let text = match answer.stderr.trim() {
        "" => answer.text(),
        text => text.to_owned(),
    };
    failed(command, answer.status, last_words(&text))
}

/// A command that may take long: it is stopped with all that it has started when the end is asked for, and its output
/// is passed on line by line and kept.
#[derive(Debug)]
pub(crate) struct Long<'a> {
    pub(crate) program: &'a str,
    pub(crate) command: Command,
    /// File that its output is added to.
    pub(crate) log: Option<&'a Path>,
}

impl<'a> Long<'a> {
    pub(crate) fn new(program: &'a str) -> Self {
        let mut command = Group::command(program);
        prepare(&mut command);
        Self {
            program,
            command,
            log: None,
        }
    }

    /// Runs it to its end, or until `stop` says so.
    pub(crate) fn run(
        mut self,
        stop: &dyn Fn() -> bool,
        mut heard: impl FnMut(&str),
    ) -> Result<(), ToolError> {
        let stopped = || ToolError::Stopped {
            program: self.program.to_owned(),
        };
        if stop() {
            return Err(stopped());
        }
        let failed_to_run = |source| ToolError::Run {
            program: self.program.to_owned(),
            source,
        };
        let mut log = match self.log {
            None => None,
            Some(path) => {
                let file = File::options().append(true).create(true).open(path);
                // Whoever follows it sees how far it is.
                Some(io::LineWriter::new(file.map_err(failed_to_run)?))
            }
        };
        let (reader, writer) = io::pipe().map_err(failed_to_run)?;
        let second = writer.try_clone().map_err(failed_to_run)?;
        self.command.stdout(writer).stderr(second);
        let mut group = Group::start(&mut self.command).map_err(failed_to_run)?;
        // The command keeps its ends of the pipe: with them here it would never end.
        self.command.stdout(Stdio::null()).stderr(Stdio::null());
        let (sender, lines) = mpsc::channel();
        let listener = std::thread::spawn(move || {
            for line in BufReader::new(reader).split(b'\n') {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut last: std::collections::VecDeque<String> = std::collections::VecDeque::new();
        let mut lacking = None;
        let note = |line: Vec<u8>| {
            let line = String::from_utf8_lossy(&line);
            if let Some(log) = &mut log {
                writeln!(log, "{line}")?;
            }
            heard(&line);
            lacking = lacking.take().or_else(|| needed(&line));
            if !line.trim().is_empty() {
                if last.len() == LAST_WORDS {
                    last.pop_front();
                }
                last.push_back(line.into_owned());
            }
            Ok(())
        };
        // Processes are this machine's, whatever is looked at otherwise. It ends when nobody holds the pipe any more: then
        // nothing that was started is left.
        let asked = group.follow(&SysRoot::live(), &lines, stop, note);
        let asked = asked.map_err(failed_to_run)?;
        drop(listener.join());
        let status = group.wait().map_err(failed_to_run)?;
        if let Some(mut log) = log {
            log.flush().map_err(failed_to_run)?;
        }
        if asked {
            return Err(stopped());
        }
        match status.code() {
            Some(0) => Ok(()),
            // A shell is there: it says that of what its script names.
            Some(NOT_FOUND)
                if self.program != "sh"
                    && last.iter().any(|line| line.contains("not found"))
                    && last.len() == 1 =>
            {
                Err(ToolError::Missing {
                    program: self.program.to_owned(),
                })
            }
            _ if self.program == "make"
                && let Some((what, package)) = lacking =>
            {
                Err(ToolError::Lacks {
                    program: self.program.to_owned(),
                    what,
                    package,
                })
            }
            _ => {
                let mut shown = Command::new(self.program);
                // Behind the shell's own: -c, the script, its name, the program.
                shown.args(self.command.get_args().skip(4));
                Err(failed(&shown, status, last.into()))
            }
        }
    }
}

pub(crate) fn name(command: &Command) -> String {
    command.get_program().to_string_lossy().into_owned()
}

pub(crate) fn failed(command: &Command, status: ExitStatus, said: Vec<String>) -> ToolError {
    use std::os::unix::process::ExitStatusExt as _;
    let how = match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no status".to_owned(),
    };
    let args = command
        .get_args()
        .map(|arg| arg.to_string_lossy().into_owned());
    let mut words = vec![name(command)];
    words.extend(args);
    ToolError::Failed {
        command: words.join(" "),
        how,
        status: status.code(),
        said,
    }
}

pub(crate) fn last_words(text: &str) -> Vec<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let first = lines.len().saturating_sub(LAST_WORDS);
    lines
        .iter()
        .skip(first)
        .map(|line| (*line).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Long<'_> {
        let mut long = Long::new("sh");
        long.command.args(["-c", script]);
        long
    }

    #[test]
    fn a_long_command_is_heard_line_by_line_and_logged() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("log");
        std::fs::write(&log, "before\n").unwrap();
        let mut heard = Vec::new();
        let mut long = shell("echo one; echo two >&2");
        long.log = Some(&log);
        long.run(&|| false, |line| heard.push(line.to_owned()))
            .unwrap();
        assert_eq!(heard, ["one", "two"]);
        assert_eq!(std::fs::read(&log).unwrap(), b"before\none\ntwo\n");
    }

    #[test]
    fn a_failure_says_what_was_run_how_it_ended_and_the_last_words() {
        let err = shell("echo much; echo 'no rule'; exit 2").run(&|| false, |_| {});
        let text = err.unwrap_err().to_string();
        assert!(
            text.starts_with("sh -c ") && text.ends_with("status 2: much | no rule"),
            "{text}"
        );
        let err = Long::new("no-such-program")
            .run(&|| false, |_| {})
            .unwrap_err();
        assert!(matches!(err, ToolError::Missing { .. }), "{err:?}");
        let err = run(&mut command("no-such-program")).unwrap_err();
        assert_eq!(err.to_string(), "no-such-program is not installed");
    }

    #[test]
    fn what_make_says_is_not_installed_is_named_with_its_package() {
        for (line, what, package) in [
            ("/bin/sh: 1: flex: not found", "flex", "flex"),
            ("bash: line 1: bison: command not found", "bison", "bison"),
            ("make[2]: bc: No such file or directory", "bc", "bc"),
            (
                "/src/tools/objtool/include/objtool/elf.h:10:10: fatal error: gelf.h: No such file or directory",
                "gelf.h",
                "libelf-dev",
            ),
            (
                "scripts/sign-file.c:25:10: fatal error: openssl/opensslv.h: No such file or directory",
                "openssl/opensslv.h",
                "libssl-dev",
            ),
        ] {
            assert_eq!(needed(line), Some((what.to_owned(), package)), "{line}");
            let dir = tempfile::tempdir().unwrap();
            let make = |end| {
                let rule = format!("all:\n\t@echo '{line}'; exit {end}\n");
                std::fs::write(dir.path().join("Makefile"), rule).unwrap();
                let mut make = Long::new("make");
                make.command.arg("-C").arg(dir.path());
                make.run(&|| false, |_| {})
            };
            let err = make(127).unwrap_err();
            assert_eq!((err.missing(), err.package()), (Some(what), Some(package)));
            // It is no error where make went on without it.
            make(0).unwrap();
        }
        for line in [
            "x.c:1: fatal error: own.h: No such file or directory",
            "vim: not found",
            "note: not found",
        ] {
            assert_eq!(needed(line), None, "{line}");
        }
    }

    #[test]
    fn a_stopped_command_leaves_nobody_behind() {
        let said = Cell::new(false);
        let long = shell("sleep 7200 & echo $!; wait");
        let mut pid = 0;
        let begun = Instant::now();
        let err = long.run(&|| said.get(), |line| {
            pid = line.parse().unwrap_or(pid);
            said.set(true);
        });
        assert!(err.unwrap_err().is_stopped());
        let hangs = Duration::from_secs(1_800);
        assert!(begun.elapsed() < hangs);
        assert!(pid > 0);
        // It lets go of the pipe a moment before it is gone.
        let gone = || {
            let status = std::fs::read(format!("/proc/{pid}/stat")).unwrap_or_default();
            status.is_empty() || String::from_utf8_lossy(&status).contains(") Z ")
        };
        while !gone() {
            assert!(begun.elapsed() < hangs, "{pid} goes on");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
