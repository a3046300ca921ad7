// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Kernels in a virtual machine of our own.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::check::Check;
use crate::choices;
use crate::host::HostFacts;
use crate::units::Nanos;

/// The name and major version of what `kernel boot --json` prints.
pub const GUEST_BOOT_FORMAT: &str = "punctual.guest-boot/1";

/// What counted the time of a run in a guest.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum GuestTime {
    /// The processor's clock: the guest ran on KVM.
    Real,
    /// The host's clock, under an emulator: no latencies of anything.
    Emulated,
    /// Instructions: times are instruction counts, the same at every run and on every host, and no
    /// latency of any hardware.
    Virtual,
}

/// Which program a guest ran.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AgentKind {
    /// The agent: what measures, from the same sources, optimised for size where nothing is measured.
    Small,
    /// All of the program that made the guest.
    Whole,
}

choices!(AgentKind { Small => "small", Whole => "whole" });

/// The program that was a guest's first process, and measured.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GuestAgent {
    /// Which one it was.
    pub kind: AgentKind,
    /// Its size as the guest loads it, with its libraries, in bytes.
    pub size_bytes: u64,
    /// SHA-256 of the same, in hexadecimal digits.
    pub sha256: String,
}

impl fmt::Display for GuestAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Enough digits to tell two builds apart.
        let digits = self.sha256.get(..12).unwrap_or(&self.sha256);
        write!(f, "{} {digits}", self.kind.name())
    }
}

/// The guest that a run was done in.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Guest {
    /// The kernel's image.
    pub kernel: String,
    /// SHA-256 of that file, in hexadecimal digits: a build leaves another image at the same path. Absent in runs of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_sha256: Option<String>,
    /// What counted its time.
    pub time: GuestTime,
    /// Time that an instruction takes. Null unless time is virtual.
    pub instruction_ns: Option<Nanos>,
    /// The kernel's arguments.
    pub command_line: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Memory, in bytes.
    pub memory_bytes: u64,
    /// Nodes that CPUs and memory are divided among, where there are several: topology alone, memory of all of them is equally
    /// far. Absent with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// What the machine's random numbers came from.
    pub seed: u64,
    /// What it ran. Absent in runs of older programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<GuestAgent>,
    /// Whether the kernel was unpacked before the guest began, which spares an emulated one half of its start, and moves
    /// what comes after it. Absent where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unpacked: bool,
}

impl Guest {
    /// Whether times are instruction counts.
    pub fn is_virtual(&self) -> bool {
        self.time == GuestTime::Virtual
    }
}

/// A kernel that was booted and seen to work, or not.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct GuestBoot {
    /// `punctual.guest-boot/1`.
    pub format: String,
    /// The kernel's image.
    pub kernel: String,
    /// What ran it: `kvm`, `tcg`, `virtual-time`.
    pub machine: String,
    /// The kernel's arguments.
    pub command_line: String,
    /// What the machine's random numbers came from.
    pub seed: u64,
    /// What the guest ran.
    pub agent: GuestAgent,
    /// Whether every check passed.
    pub valid: bool,
    /// What was checked, with the evidence.
    pub checks: Vec<Check>,
    /// The guest and its kernel.
    pub host: HostFacts,
    /// File systems that the kernel lacks.
    pub not_mounted: Vec<String>,
    /// When the agent was ready, by the guest's clock.
    pub guest_ready_ns: Nanos,
    /// When the agent was ready, by the host's clock.
    pub ready_ns: Option<Nanos>,
    /// How long QEMU ran, by the host's clock.
    pub took_ns: Nanos,
}
