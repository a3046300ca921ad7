// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Captures of machines: the files that `doctor` reads and `tune` changes, in one text file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use punctual_host::{Archive, Machine, Scope};
use punctual_sys::SysRoot;

use crate::files;

/// A capture larger than this would be no fixture any more.
const MOST_BYTES: usize = 256 << 10;

/// Options of `capture-machine`
#[derive(Debug, clap::Args)]
pub(crate) struct Capture {
    /// File to write
    file: PathBuf,

    /// Capture the tree below DIR instead of this machine
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// Options of `unpack-machine`
#[derive(Debug, clap::Args)]
pub(crate) struct Unpack {
    /// File that capture-machine wrote
    file: PathBuf,

    /// Directory to unpack it into, for `punctual doctor --root`
    directory: PathBuf,
}

/// Writes what decides something on this machine, without what tells whose it is.
pub(crate) fn capture(options: &Capture) -> anyhow::Result<()> {
    let sys = options
        .root
        .as_ref()
        .map_or_else(SysRoot::live, SysRoot::at);
    let machine = Machine::take(&sys, &Scope::Everything);
    let text = format!(
        "# A machine for the tests: what doctor reads and tune changes. See crates/host/src/machine/archive.rs.\n{}",
        Archive::of(&machine)
    );
    if text.len() > MOST_BYTES {
        bail!(
            "the capture has {} bytes, more than {MOST_BYTES}",
            text.len()
        );
    }
    write(&options.file, &text)?;
    println!(
        "{}: {} bytes; read it before you give it away",
        options.file.display(),
        text.len()
    );
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Makes a tree of a capture.
pub(crate) fn unpack(options: &Unpack) -> anyhow::Result<()> {
    let file = options.file.display();
    let text = files::read(&options.file).with_context(|| format!("failed to read {file}"))?;
    let archive: Archive = text
        .parse()
        .with_context(|| format!("failed to read {file}"))?;
    archive
        .unpack(&options.directory)
        .with_context(|| format!("failed to unpack {file}"))
}
