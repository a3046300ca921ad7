// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Puts the agent of guests into the program: the file that `PUNCTUAL_AGENT` names, as `make build` does. Without it
//! there is none, and guests get the whole program. The agent itself, which has no workbench, holds none.
//!
//! The Ansible collection of `fleet` goes in as a table of its files.

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    const VARIABLE: &str = "PUNCTUAL_AGENT";
    println!("cargo::rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_WORKBENCH").is_none() {
        return Ok(());
    }
    println!("cargo::rerun-if-env-changed={VARIABLE}");
    let agent = match env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        None => Vec::new(),
        Some(path) => {
            let path = PathBuf::from(path);
            println!("cargo::rerun-if-changed={}", path.display());
            fs::read(&path).map_err(|err| format!("{VARIABLE}: {}: {err}", path.display()))?
        }
    };
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?);
    fs::write(out.join("agent.zst"), packed(&agent)?)?;
    let top = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("there is no package")?);
    let collection = top.join("../../ansible/punctual/fleet").canonicalize()?;
    let mut files = Vec::new();
    files_below(&collection, &mut files)?;
    files.sort();
    let mut table = "&[".to_owned();
    for file in &files {
        let name = file.strip_prefix(&collection)?.display().to_string();
        write!(
            table,
            "({name:?}, include_bytes!({:?})),",
            file.display().to_string()
        )?;
    }
    table.push(']');
    Ok(fs::write(out.join("collection.rs"), table)?)
}

/// Packs the agent to a third of its size: it is unpacked where a guest needs it. Not as much in a program that is only tested.
#[cfg(feature = "agent")]
fn packed(agent: &[u8]) -> std::io::Result<Vec<u8>> {
    if agent.is_empty() {
        return Ok(Vec::new());
    }
    let level = match env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        true => 19,
        false => 1,
    };
    zstd::bulk::compress(agent, level)
}

/// Holds none: guests get the whole program, as without `PUNCTUAL_AGENT`.
#[cfg(not(feature = "agent"))]
fn packed(agent: &[u8]) -> std::io::Result<Vec<u8>> {
    if !agent.is_empty() {
        println!("cargo::warning=PUNCTUAL_AGENT is left out: this program has no feature `agent`");
    }
    Ok(Vec::new())
}

/// Collects the files below a directory. What Python leaves there, and hidden files, do not belong to it.
fn files_below(dir: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", dir.display());
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') || name == "__pycache__" {
            continue;
        }
        match path.is_dir() {
            true => files_below(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
