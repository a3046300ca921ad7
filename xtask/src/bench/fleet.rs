// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! How long five hosts take to measure for ten seconds, compared with what Ansible itself takes for the same command.
//!
//! The hosts are namespaces with sshd each (`scripts/fleet-hosts.sh`). Ours looks at each host, copies the program, measures, fetches the
//! run into the store here and leaves nothing. Theirs is `ansible -m command`, with the program there already: it fetches nothing.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::budget::Outcome;
use super::context::Context;
use super::program;

const HOSTS: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The command of both, after `measure`.
const MEASURE: [&str; 6] = [
    "wakeup",
    "--duration=10s",
    "--threads=1",
    "--priority=o",
    "--dma-latency=off",
    "--quiet",
];

pub(crate) fn beside_ansible(context: &Context) -> anyhow::Result<Outcome> {
    let hosts = Hosts::start(context)?;
    fs::copy(&context.punctual, hosts.dir.join("punctual"))
        .context("failed to copy the program to the hosts")?;
    // The keys of the hosts are known from now on, and the files of both programs are in memory.
    hosts.plainly(context, &["true"])?;
    let theirs = || {
        let command = [
            &["/mnt/punctual", "--home", "/run/theirs", "measure"],
            &MEASURE[..],
        ];
        hosts.plainly(context, &command.concat())
    };
    let count = if context.quick { 1 } else { 4 };
    let pairs = context.pairs(count, || hosts.by_fleet(context), theirs)?;
    let bytes = fs::metadata(&context.punctual).map_or(0, |file| file.len());
    context.note(&format!(
        "five namespaces of this machine; ours copies a program of {} MB and fetches the runs, theirs does not",
        bytes / 1_000_000
    ));
    Ok(Outcome::Measured {
        pairs,
        faults: vec![],
    })
}

/// Five hosts, which end with this.
struct Hosts {
    script: PathBuf,
    path: OsString,
    dir: PathBuf,
}

impl Hosts {
    fn start(context: &Context) -> anyhow::Result<Self> {
        let hosts = Self {
            script: context.root.join("scripts/fleet-hosts.sh"),
            path: path(context),
            dir: context.output.join("fleet-hosts"),
        };
        // What a bench that was killed has left there.
        if hosts.dir.exists() {
            hosts.end();
        }
        let started = Command::new(&hosts.script)
            .arg("up")
            .arg(&hosts.dir)
            .args(HOSTS)
            .status()
            .with_context(|| format!("failed to run {}", hosts.script.display()))?;
        if !started.success() {
            bail!("{} started no hosts", hosts.script.display());
        }
        Ok(hosts)
    }

    fn end(&self) {
        let mut command = Command::new(&self.script);
        command.arg("down").arg(&self.dir);
        // Whatever did not start does not end either.
        command.stderr(Stdio::null()).status().ok();
        fs::remove_dir_all(&self.dir).ok();
    }

    /// A command that runs in the network of the hosts.
    fn enter(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(&self.script);
        command.arg("enter").arg(&self.dir).arg(program);
        command.env("PATH", &self.path);
        command
    }

    fn inventory(&self) -> PathBuf {
        self.dir.join("hosts.ini")
    }

    /// Runs a command on every host by Ansible alone, and returns how long that took, in ns.
    fn plainly(&self, context: &Context, words: &[&str]) -> anyhow::Result<f64> {
        let mut command = self.enter("ansible");
        command
            .args(["all", "--forks=25", "--inventory"])
            .arg(self.inventory())
            .args(["--module-name=command", "--args"])
            .arg(words.join(" "));
        let finished = program::finish(context, &mut command)?;
        // Status 1 is an invalid run, which takes as long.
        let ran = |line: &&str| line.ends_with("rc=0 >>") || line.ends_with("rc=1 >>");
        if finished.stdout.lines().filter(ran).count() != HOSTS.len() {
            bail!(
                "ansible did not run the command on all hosts: {}",
                finished.stdout
            );
        }
        Ok(finished.wall.as_secs_f64() * 1e9)
    }

    /// Runs the command on every host by `punctual fleet`, and returns how long that took, in ns.
    fn by_fleet(&self, context: &Context) -> anyhow::Result<f64> {
        let mut command = self.enter(&context.punctual);
        command
            .env("PUNCTUAL_HOME", context.output.join("home"))
            .args(["fleet", "measure", "--json", "--quiet", "--inventory"])
            .arg(self.inventory())
            .arg("--")
            .args(MEASURE);
        let finished = program::finish(context, &mut command)?;
        program::forget_runs(context);
        let report: Value = serde_json::from_str(&finished.stdout)
            .with_context(|| format!("punctual fleet printed no JSON: {}", finished.stderr))?;
        let hosts = report["hosts"].as_array().map_or(&[][..], Vec::as_slice);
        let has_run = |host: &&Value| host["runs"].as_array().is_some_and(|runs| runs.len() == 1);
        if hosts.iter().filter(has_run).count() != HOSTS.len() {
            bail!("punctual fleet fetched no run of each host: {report:#}");
        }
        Ok(finished.wall.as_secs_f64() * 1e9)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where programs are looked for: also where the tests have their Ansible.
fn path(context: &Context) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::iter::once(context.target.join("venv/bin"));
    std::env::join_paths(std::env::split_paths(&path).chain(own)).unwrap_or(path)
}

/// Whether Ansible, an SSH server and what makes networks are there.
pub(crate) fn can_start(context: &Context) -> bool {
    let path = path(context);
    let has = |name: &str| std::env::split_paths(&path).any(|dir| dir.join(name).is_file());
    let programs = ["ansible", "ansible-playbook", "ip", "ssh"];
    programs.into_iter().all(has) && (has("sshd") || Path::new("/usr/sbin/sshd").is_file())
}
