// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the store is.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::CliError;

/// Returns the store's directory: as given, else `$XDG_DATA_HOME/punctual` or
/// `~/.local/share/punctual`, for root `/var/lib/punctual`.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, CliError> {
    if let Some(home) = given {
        if home.as_os_str().is_empty() {
            return Err(CliError::usage("--home (or PUNCTUAL_HOME) is empty")
                .hint("name a directory, or unset PUNCTUAL_HOME for the default"));
        }
        // Programs that work in other directories, such as make, are told of it too.
        return std::path::absolute(home)
            .map_err(|err| CliError::failed_to("find the current directory").because(err));
    }
    if is_root() {
        return Ok(PathBuf::from("/var/lib/punctual"));
    }
    // The specification asks to ignore a relative path.
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.filter(|path| path.is_absolute()).or_else(|| {
        let home = env::var_os("HOME").map(PathBuf::from);
        Some(home.filter(|path| path.is_absolute())?.join(".local/share"))
    });
    data.map(|path| path.join("punctual")).ok_or_else(|| {
        CliError::failed_to("find a place for the store: neither XDG_DATA_HOME nor HOME is set")
            .hint("name a directory with --home DIR or PUNCTUAL_HOME")
    })
}

fn is_root() -> bool {
    punctual_sys::thread::is_root()
}
