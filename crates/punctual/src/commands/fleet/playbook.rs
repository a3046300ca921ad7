// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Ansible at work: `ansible-playbook` with our collection, its settings, and the lines that it prints.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;

use punctual_sys::SysRoot;
use punctual_sys::child::Group;
use serde::Deserialize;

use super::collection;
use crate::error::CliError;
use crate::exit::Exit;
use crate::signals::StopRequest;

const PROGRAM: &str = "ansible-playbook";

/// The longest line of it, and the most of what it complains.
const LINE_LIMIT: u64 = 4 << 20;
const COMPLAINT_LIMIT: usize = 64 << 10;

/// Address space of each of its processes: a host that sends without an end fills that, and not this machine.
const MEMORY_KIB: u64 = 4 << 20;

/// Ends a connection whose host no longer answers, after a minute.
const KEEP_ALIVE: &str = "-o ServerAliveInterval=15 -o ServerAliveCountMax=4";

/// What a line of the callback says.
#[derive(Debug, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(super) enum Line {
    /// The hosts that were asked for.
    Hosts { hosts: Vec<String> },
    /// What a task did on a host.
    Task(Box<Task>),
    /// All is done.
    End {},
}

/// What a task did on a host.
#[derive(Debug, Deserialize)]
pub(super) struct Task {
    pub(super) host: String,
    pub(super) step: String,
    pub(super) status: String,
    pub(super) changed: bool,
    pub(super) said: Said,
    pub(super) message: String,
}

/// What an action of the collection said.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Said {
    pub(super) state: Option<String>,
    pub(super) detail: Option<String>,
    pub(super) machine: Option<String>,
    pub(super) uid: Option<u32>,
    pub(super) version: Option<String>,
    pub(super) exit: Option<u32>,
    pub(super) seconds: Option<f64>,
    pub(super) archive: Option<PathBuf>,
    pub(super) answer: Option<PathBuf>,
    pub(super) places: Vec<String>,
    pub(super) left: Vec<String>,
    /// Whether its places have runs that could not be fetched.
    pub(super) keep: bool,
}

/// How a playbook ended.
pub(super) struct Ended {
    /// Its exit status.
    pub(super) status: Option<i32>,
    /// Whether it was stopped.
    pub(super) stopped: bool,
    /// What it complained of.
    pub(super) complaint: String,
}

/// A private directory in which Ansible works, with the collection.
pub(super) struct Workshop {
    dir: tempfile::TempDir,
    program: PathBuf,
    config: Option<PathBuf>,
}

impl Workshop {
    /// Makes the directory and finds Ansible.
    pub(super) fn new() -> Result<Self, CliError> {
        let program = find(PROGRAM).ok_or_else(|| {
            CliError::failed_to("find ansible-playbook, which `punctual fleet` runs")
                .exiting(Exit::Unsupported)
                .hint("install it: sudo apt-get install ansible-core, or pipx install ansible-core")
        })?;
        let failed = |err: io::Error| CliError::failed_to("make a private directory").because(err);
        let dir = tempfile::Builder::new()
            .prefix("punctual-")
            .tempdir()
            .map_err(failed)?;
        for name in ["fetched", "local", "ssh"] {
            fs::create_dir(dir.path().join(name)).map_err(failed)?;
        }
        collection::write(&dir.path().join("collections"))?;
        Ok(Self {
            dir,
            program,
            config: None,
        })
    }

    /// Has Ansible obey this file of settings. Without one it gets none of a directory that somebody else may have made.
    pub(super) fn obey(&mut self, config: PathBuf) {
        self.config = Some(config);
    }

    /// Where what comes back from hosts is put.
    pub(super) fn fetched(&self) -> PathBuf {
        self.dir.path().join("fetched")
    }

    /// The private directory.
    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Runs a playbook of the collection, and hands each line on. `most` is the largest file that a host may send.
    pub(super) fn play(
        &self,
        playbook: &str,
        arguments: &[OsString],
        most: u64,
        stop: &StopRequest,
        mut heard: impl FnMut(Line),
    ) -> Result<Ended, CliError> {
        let failed = |err: io::Error| CliError::failed_to(format!("run {PROGRAM}")).because(err);
        let mut command = self.command(playbook, arguments, most);
        let mut group = Group::start(&mut command).map_err(failed)?;
        let (sender, lines) = mpsc::channel();
        let out = group.process().stdout.take();
        let reader = std::thread::spawn(move || read_lines(out, |line| sender.send(line).is_ok()));
        let err = group.process().stderr.take();
        let complaint = std::thread::spawn(move || last_of(err));
        let hear = |line: Vec<u8>| {
            // Whatever else is printed, such as by a plug-in of the site, is not for us.
            if let Ok(line) = serde_json::from_slice(&line) {
                heard(line);
            }
            Ok(())
        };
        let stopped = group.follow(&SysRoot::live(), &lines, &|| stop.is_set(), hear);
        let stopped = stopped.map_err(failed)?;
        drop(reader.join());
        let status = group.wait().map_err(failed)?;
        self.end_connections();
        Ok(Ended {
            status: status.code(),
            stopped,
            complaint: complaint.join().unwrap_or_default(),
        })
    }

    fn command(&self, playbook: &str, arguments: &[OsString], most: u64) -> Command {
        // The unit of a file's limit is 512 bytes in POSIX, and 1024 where the shell is bash: a cap in either.
        const LIMITED: &str = "ulimit -f \"$1\"; ulimit -v \"$2\"; shift 2; exec \"$@\"";
        let mut command = Group::command("/bin/sh");
        let collections = self.dir.path().join("collections");
        let site = env::var_os("ANSIBLE_COLLECTIONS_PATH")
            .unwrap_or_else(|| "~/.ansible/collections:/usr/share/ansible/collections".into());
        let mut paths = collections.clone().into_os_string();
        paths.push(":");
        paths.push(site);
        let book = collections
            .join("ansible_collections/punctual/fleet/playbooks")
            .join(playbook);
        command
            .args(["-c", LIMITED, "sh"])
            .arg((most / 512 + 2).to_string())
            .arg(MEMORY_KIB.to_string())
            .arg(&self.program)
            .args(arguments)
            .arg(book)
            .current_dir(self.dir.path())
            .env("ANSIBLE_COLLECTIONS_PATH", paths)
            .env("ANSIBLE_STDOUT_CALLBACK", "punctual.fleet.lines")
            .env("ANSIBLE_LOCAL_TEMP", self.dir.path().join("local"))
            .env("ANSIBLE_SSH_CONTROL_PATH_DIR", self.dir.path().join("ssh"))
            .env("ANSIBLE_RETRY_FILES_ENABLED", "False")
            // Otherwise the hosts behind a mistake would be missing, and nothing would say so.
            .env("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "True")
            .env("ANSIBLE_NOCOLOR", "1")
            .env("ANSIBLE_DEPRECATION_WARNINGS", "False")
            // Modules are not used, so no host is searched for Python.
            .env("ANSIBLE_GATHERING", "explicit")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if env::var_os("ANSIBLE_SSH_EXTRA_ARGS").is_none() {
            command.env("ANSIBLE_SSH_EXTRA_ARGS", KEEP_ALIVE);
        }
        if let Some(config) = &self.config {
            command.env("ANSIBLE_CONFIG", config);
        }
        command
    }

    /// Ends the connections that ssh keeps open for later use, and with them the last processes on the hosts.
    fn end_connections(&self) {
        let Ok(sockets) = fs::read_dir(self.dir.path().join("ssh")) else {
            return;
        };
        for socket in sockets.flatten() {
            let mut command = Command::new("ssh");
            command.args(["-O", "exit", "-S"]).arg(socket.path());
            command.arg("none").stdin(Stdio::null());
            // One that has ended meanwhile is what was asked for.
            drop(command.stdout(Stdio::null()).stderr(Stdio::null()).status());
        }
    }
}

/// Finds a program as the shell does.
fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let places = env::split_paths(&path).filter(|place| place.is_absolute());
    let mut found = places.map(|place| place.join(program));
    found.find(|path| path.is_file())
}

/// Hands on each line, without its end. A longer one than any of ours ends the reading.
fn read_lines(from: Option<impl Read>, mut each: impl FnMut(Vec<u8>) -> bool) {
    let Some(from) = from else { return };
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        match (&mut from).take(LINE_LIMIT).read_until(b'\n', &mut line) {
            Ok(1..) if line.last() == Some(&b'\n') => {
                line.pop();
                if !each(line) {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// Reads all, and keeps the end of it.
fn last_of(from: Option<impl Read>) -> String {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    let Some(mut from) = from else {
        return String::new();
    };
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        kept.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if kept.len() > COMPLAINT_LIMIT {
            kept.drain(..kept.len() - COMPLAINT_LIMIT / 2);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}
