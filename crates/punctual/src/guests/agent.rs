// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program that guests run: the agent inside of this program, or all of this program where it was built without one.

use punctual_kernel::boot::{Compression, Initramfs, Program};
use punctual_model::{AgentKind, GuestAgent};
use punctual_sys::SysRoot;

use crate::error::CliError;

/// What `PUNCTUAL_AGENT` named when this program was built; empty, if nothing.
static SMALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent"));

/// The program that guests run.
#[derive(Debug)]
pub(crate) struct Agent {
    kind: AgentKind,
    program: Program,
}

impl Agent {
    /// Returns what measures in guests.
    pub(crate) fn here() -> Result<Self, CliError> {
        if SMALL.is_empty() {
            return Self::whole();
        }
        let program = Program::linked_statically("the agent in this program", SMALL.to_vec());
        Ok(Self {
            kind: AgentKind::Small,
            program: program.map_err(|err| cannot().because(err))?,
        })
    }

    /// Returns all of this program, which can do in a guest what it can do here.
    pub(crate) fn whole() -> Result<Self, CliError> {
        let program = Program::own(&SysRoot::live()).map_err(|err| cannot().because(err))?;
        Ok(Self {
            kind: AgentKind::Whole,
            program,
        })
    }

    /// Begins an initial RAM file system with it.
    pub(crate) fn initramfs(&self) -> Initramfs {
        Initramfs::with_init(&self.program)
    }

    /// Returns how guests that measure get it: unpacking costs instructions, before the first sample. Of the small one they
    /// are few, of the whole one more than copying it.
    pub(crate) const fn compression(&self) -> Compression {
        match self.kind {
            AgentKind::Small => Compression::Gzip,
            AgentKind::Whole => Compression::None,
        }
    }

    /// Describes it for records.
    pub(crate) fn described(&self) -> GuestAgent {
        GuestAgent {
            kind: self.kind,
            size_bytes: self.program.size(),
            sha256: self.program.sha256(),
        }
    }
}

fn cannot() -> CliError {
    CliError::failed_to("make the guest's file system")
}
