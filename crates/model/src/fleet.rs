// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! What one command did on the hosts of an inventory.

use serde::{Deserialize, Serialize};

use crate::units::Nanos;

/// The name and major version of the format that this program writes.
pub const FLEET_FORMAT: &str = "punctual.fleet/1";

/// One command on many hosts. Every host that was asked for is in it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FleetReport {
    /// `punctual.fleet/1`.
    pub format: String,
    /// The verb: `measure`, `assess`, `doctor`, `tune` or `experiment`.
    pub verb: String,
    /// What followed the verb on each host.
    pub arguments: Vec<String>,
    /// Whether nothing was run: the hosts were only looked at.
    pub check_only: bool,
    /// When it began, RFC 3339 in UTC.
    pub started: String,
    /// How long all of it took.
    pub duration_ns: Nanos,
    /// One entry a host, in the order of the inventory.
    pub hosts: Vec<FleetHost>,
}

/// What became of one host.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct FleetHost {
    /// Its name in the inventory; also the tag `host` of its runs.
    pub host: String,
    /// How it ended.
    pub state: FleetState,
    /// Why, or the answer in a sentence. Null where there is nothing to say.
    pub detail: Option<String>,
    /// Exit status of the command on the host. Null if it did not run to its end.
    pub exit: Option<u32>,
    /// The host's architecture as `uname -m` says it. Null if it was not asked.
    pub architecture: Option<String>,
    /// User id that the command had. Null if it was not asked.
    pub uid: Option<u32>,
    /// Version of the program that ran. Null if none did.
    pub version: Option<String>,
    /// How long the command took, with fetching its runs. Null if it was not started.
    pub duration_ns: Option<Nanos>,
    /// Whether settings of the host, or the program kept on it, were changed.
    pub changed: bool,
    /// Ids of its runs that are now in the store here.
    pub runs: Vec<String>,
    /// What the command printed with `--json`. Null for verbs whose result is a run.
    pub answer: Option<serde_json::Value>,
    /// Directories that could not be removed from the host.
    pub left: Vec<String>,
}

/// How a host ended.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FleetState {
    /// The command succeeded.
    Done,
    /// It was only looked at, and the command could run.
    Checked,
    /// The command ended with 3: a requirement or deadline was not met.
    Verdict,
    /// The command ended with 6: a gate could not be judged.
    Unjudged,
    /// The command ended with 4: settings could not be restored.
    NotRestored,
    /// The command failed.
    Failed,
    /// The kernel or hardware cannot do it.
    Unsupported,
    /// The user on the host may not do it.
    NoPrivilege,
    /// No connection could be made.
    Unreachable,
    /// It stopped answering while the command ran.
    Lost,
    /// There is no program for its architecture, or it does not start there.
    WrongArchitecture,
    /// There is no room for the program or its runs.
    DiskFull,
    /// Another version of Punctual is there, or one that does not know this command.
    OtherVersion,
    /// Another measurement is in progress.
    Busy,
    /// What it sent could not be taken into the store.
    NotImported,
    /// It was not its turn before the end.
    #[default]
    NotReached,
}

impl FleetState {
    /// Returns its name in words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Checked => "can run",
            Self::Verdict => "not met",
            Self::Unjudged => "not judged",
            Self::NotRestored => "NOT RESTORED",
            Self::Failed => "failed",
            Self::Unsupported => "not supported",
            Self::NoPrivilege => "no privilege",
            Self::Unreachable => "unreachable",
            Self::Lost => "lost",
            Self::WrongArchitecture => "architecture",
            Self::DiskFull => "disk full",
            Self::OtherVersion => "other version",
            Self::Busy => "busy",
            Self::NotImported => "not imported",
            Self::NotReached => "not reached",
        }
    }

    /// Whether all is well.
    pub const fn is_fine(self) -> bool {
        matches!(self, Self::Done | Self::Checked)
    }
}
