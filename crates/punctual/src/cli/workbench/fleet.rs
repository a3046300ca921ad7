// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Options of `fleet`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use punctual_model::{Bytes, Nanos};

use super::path;

const FLEET_HELP: &str = "\
Ansible does it: install ansible-core (2.14 or newer) and write an inventory.
Each host gets the program for its architecture, runs the command, and is left
as it was. Its runs come into the store here with the tag host=NAME: compare
them with `punctual compare tag:host=a tag:host=b`.

  punctual fleet measure --inventory hosts.ini --become -- wakeup --duration 60s
  punctual fleet doctor -i hosts.ini --hosts 'rack1:!spare' -- --fail-on high
  punctual fleet experiment -i hosts.ini --become --file a.toml -- run a.toml

Every host is a line of the result, also one that cannot be reached or stops
answering.

Exit status: 0 if the command succeeded on every host. Otherwise the first that
applies: 4 a host was not restored, 3 a requirement was not met, 1 a host failed
or was not reached, 5 not supported, 6 not judged. 5 also if Ansible is missing.";

/// What to do on the hosts
#[derive(Debug, Subcommand)]
pub enum FleetAction {
    /// Measure on each host; the runs come into the store here
    Measure(FleetArgs),
    /// Assess each host; the runs come into the store here
    Assess(FleetArgs),
    /// Find what hurts determinism on each host
    Doctor(FleetArgs),
    /// Apply, show or revert tuning on each host; the undo record stays there
    Tune(FleetArgs),
    /// Run an experiment on each host; the runs come into the store here
    Experiment(FleetArgs),
    /// Write out the Ansible collection behind these commands, for your own playbooks
    Collection {
        /// Directory to write to, such as ~/.ansible/collections; a collection already there is replaced
        #[arg(value_name = "DIR", value_parser = path())]
        dir: PathBuf,
    },
}

/// Options of a verb of `fleet`
#[derive(Args, Debug)]
#[command(after_long_help = FLEET_HELP)]
pub struct FleetArgs {
    /// Ansible inventory. It is code, as a playbook is: root accepts only a file that root or you own
    #[arg(long, short = 'i', value_name = "FILE", value_parser = path())]
    pub inventory: PathBuf,

    /// Hosts and groups of the inventory, as a pattern of Ansible [default: all]
    #[arg(long, value_name = "PATTERN", value_parser = pattern)]
    pub hosts: Option<String>,

    /// Run the command as root on the hosts, by sudo or what the inventory says
    #[arg(long, short = 'b')]
    pub r#become: bool,

    /// Run the command on one host at a time [default: on as many as --forks]
    #[arg(long)]
    pub serial: bool,

    /// Number of hosts to work on at the same time
    #[arg(long, value_name = "N", default_value_t = 25,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub forks: u32,

    /// Only check the hosts: architecture, free space, privilege
    #[arg(long)]
    pub check: bool,

    /// Program to copy to hosts of its architecture [default: this program, for its own] (can be repeated)
    #[arg(long, value_name = "FILE", help_heading = "Program", value_parser = path())]
    pub program: Vec<PathBuf>,

    /// Use the Punctual installed on each host, which must have this version
    #[arg(long, help_heading = "Program", conflicts_with_all = ["program", "keep"])]
    pub installed: bool,

    /// Keep the program on each host in this directory, so that it is copied only when it differs
    #[arg(long, value_name = "DIR", help_heading = "Program")]
    pub keep: Option<String>,

    /// Directory on the hosts for what is removed afterwards; it must allow programs [default: /tmp]
    #[arg(long, value_name = "DIR", help_heading = "Program")]
    pub base: Option<String>,

    /// File that the command reads, copied to where it runs, such as that of an experiment (can be repeated)
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub file: Vec<PathBuf>,

    /// Give up on a host whose command takes longer than this [default: never]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub timeout: Option<Nanos>,

    /// Maximum size of a host's result
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "256M",
        help_heading = "Limits"
    )]
    pub limit: Bytes,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,

    /// Show no progress, only the result
    #[arg(long, short = 'q')]
    pub quiet: bool,

    /// Arguments of the verb on each host
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
}

/// A pattern that names something. Ansible takes an empty one, as an unset variable of a script is, for all hosts.
fn pattern(text: &str) -> Result<String, String> {
    match text.split([',', ':', ' ', '\t']).all(str::is_empty) {
        true => Err("it names no host".to_owned()),
        false => Ok(text.to_owned()),
    }
}
