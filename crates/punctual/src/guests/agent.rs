// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! The program that guests run: the agent inside of this program, or all of this program where it was built without one.
//!
//! A guest for other processors than these gets the agent for those, which is a file: packages and archives have it in
//! `lib/punctual`, and `make agent` puts it below `target`.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punctual_kernel::boot::{Architecture, Initramfs, Program};
use punctual_model::{AgentKind, GuestAgent};
use punctual_sys::SysRoot;

use crate::error::CliError;
use crate::exit::Exit;

/// Unpacks what `PUNCTUAL_AGENT` named when this program was built, if it did.
#[cfg(feature = "agent")]
fn inside() -> Option<io::Result<Vec<u8>>> {
    static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/agent.zst"));
    (!PACKED.is_empty()).then(|| zstd::decode_all(PACKED))
}

/// A program of a first run holds none.
#[cfg(not(feature = "agent"))]
const fn inside() -> Option<io::Result<Vec<u8>>> {
    None
}

/// The program that guests run.
#[derive(Debug)]
pub(crate) struct Agent {
    kind: AgentKind,
    program: Program,
}

impl Agent {
    /// Returns what measures in guests for `architecture`.
    pub(crate) fn of(architecture: Architecture) -> Result<Self, CliError> {
        if Architecture::here() == Some(architecture) {
            return Self::here();
        }
        let path = file(architecture)?;
        let content = fs::read(&path)
            .map_err(|err| CliError::failed_to(format!("read {}", path.display())).because(err))?;
        Self::small(&path.display().to_string(), content, architecture)
    }

    /// Returns what measures in guests for these processors.
    pub(crate) fn here() -> Result<Self, CliError> {
        let (Some(architecture), Some(content)) = (Architecture::here(), inside()) else {
            return Self::whole();
        };
        let content = content.map_err(|err| cannot().because(err))?;
        Self::small("the agent in this program", content, architecture)
    }

    fn small(name: &str, content: Vec<u8>, architecture: Architecture) -> Result<Self, CliError> {
        let program = Program::linked_statically(name, content, architecture);
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

/// Returns why there is no agent for `architecture`, if so. These processors have this program.
pub(super) fn lack(architecture: Architecture) -> Option<String> {
    if Architecture::here() == Some(architecture) {
        return None;
    }
    let how = format!(
        "packages and release archives contain it, `make agent TRIPLE={}-unknown-linux-gnu` makes it",
        architecture.facts().machine
    );
    match file(architecture) {
        Ok(path) if path.is_file() => None,
        Ok(path) => Some(format!(
            "{} names no file: {}; {how}",
            variable(architecture),
            path.display()
        )),
        Err(_) => Some(format!(
            "there is no agent for guests of {architecture}; {how}"
        )),
    }
}

/// The environment variable that names the agent for `architecture`.
fn variable(architecture: Architecture) -> String {
    format!(
        "PUNCTUAL_AGENT_{}",
        architecture.facts().machine.to_uppercase()
    )
}

/// Returns the file of the agent for other processors.
fn file(architecture: Architecture) -> Result<PathBuf, CliError> {
    let variable = variable(architecture);
    if let Some(named) = env::var_os(&variable).filter(|path| !path.is_empty()) {
        return Ok(PathBuf::from(named));
    }
    let places = env::current_exe().map(|program| places(&program, architecture));
    let places = places.unwrap_or_default();
    if let Some(found) = places.iter().find(|place| place.is_file()) {
        return Ok(found.clone());
    }
    let looked = places.iter().map(|place| place.display().to_string());
    let looked = looked.collect::<Vec<_>>().join(", ");
    let what = format!("find the agent for guests of {architecture}");
    Err(CliError::failed_to(what)
        .because(format!("there is none in {looked}"))
        .exiting(Exit::Unsupported)
        .hint(format!(
            "packages and release archives contain it; in the sources, run `make agent TRIPLE={}-unknown-linux-gnu`; or \
             name it in {variable}",
            architecture.facts().machine
        )))
}

/// Where the agent for other processors may lie: next to an installed program, and where a build of the sources puts it.
fn places(program: &Path, architecture: Architecture) -> Vec<PathBuf> {
    let machine = architecture.facts().machine;
    let above = |levels| program.ancestors().nth(levels);
    let installed = above(2).map(|prefix| prefix.join(format!("lib/punctual/agent-{machine}")));
    let built = |target: &Path| target.join(format!("{machine}-unknown-linux-gnu/agent/punctual"));
    // target/TRIPLE/release/punctual, and target/debug/punctual.
    let built = [3, 2].map(|levels| above(levels).map(built));
    installed
        .into_iter()
        .chain(built.into_iter().flatten())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_for_other_processors_is_looked_for_in_packages_and_builds() {
        let places = |program: &str| -> Vec<String> {
            let places = places(Path::new(program), Architecture::Arm64);
            places
                .iter()
                .map(|path| path.display().to_string())
                .collect()
        };
        assert_eq!(
            places("/usr/bin/punctual").first().map(String::as_str),
            Some("/usr/lib/punctual/agent-aarch64")
        );
        let built = "/w/target/aarch64-unknown-linux-gnu/agent/punctual";
        for program in [
            "/w/target/x86_64-unknown-linux-gnu/release/punctual",
            "/w/target/debug/punctual",
        ] {
            assert!(
                places(program).iter().any(|place| place == built),
                "{program}"
            );
        }
        assert_eq!(variable(Architecture::Arm64), "PUNCTUAL_AGENT_AARCH64");
    }
}
