// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Puts the agent of guests into the program: the file that `PUNCTUAL_AGENT` names, as `make build` does. Without it
//! there is none, and guests get the whole program. The agent itself, which has no workbench, holds none.

use std::env;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

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
    let out = env::var_os("OUT_DIR").ok_or("there is no OUT_DIR")?;
    Ok(fs::write(PathBuf::from(out).join("agent"), agent)?)
}
