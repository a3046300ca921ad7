// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Where the store is, and whose.

use std::env;
use std::path::{Path, PathBuf};

#[cfg(feature = "workbench")]
use punctual_store::StoreError;
#[cfg(feature = "workbench")]
use punctual_sys::{
    SysRoot,
    dir::{Dir, Missing},
};

use crate::error::CliError;
#[cfg(feature = "workbench")]
use crate::output::remark;

/// Where a user's programs keep what is theirs, below the home directory.
const DATA: &str = ".local/share";

/// The store of root.
const ROOTS: &str = "/var/lib/punctual";

/// Returns the store's directory: as given, else `$PUNCTUAL_HOME`, else `$XDG_DATA_HOME/punctual` or
/// `~/.local/share/punctual`, for root `/var/lib/punctual`.
pub(crate) fn find(given: Option<&Path>) -> Result<PathBuf, CliError> {
    // Not an `env` of the option: clap would show `--home <DIR>` in the usage of every error, as if it were
    // required.
    let from_environment = || env::var_os("PUNCTUAL_HOME").map(PathBuf::from);
    if let Some(home) = given.map(Path::to_owned).or_else(from_environment) {
        if home.as_os_str().is_empty() {
            return Err(CliError::usage("--home (or PUNCTUAL_HOME) is empty")
                .hint("name a directory, or unset PUNCTUAL_HOME for the default"));
        }
        // Programs that work in other directories, such as make, get it too.
        return std::path::absolute(&home)
            .map_err(|err| CliError::failed_to("find the current directory").because(err));
    }
    if is_root() {
        return Ok(PathBuf::from(ROOTS));
    }
    // The specification asks to ignore a relative path.
    let data = env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let data = data.filter(|path| path.is_absolute()).or_else(|| {
        let home = env::var_os("HOME").map(PathBuf::from);
        Some(home.filter(|path| path.is_absolute())?.join(DATA))
    });
    data.map(|path| path.join("punctual")).ok_or_else(|| {
        let [data, home] = ["XDG_DATA_HOME", "HOME"].map(unusable);
        CliError::failed_to(format!(
            "find a directory for the store: {data}, and {home}"
        ))
        .hint("name a directory with --home DIR or PUNCTUAL_HOME")
    })
}

/// Says why a variable names no directory.
fn unusable(name: &str) -> String {
    match env::var_os(name) {
        Some(path) if !path.is_empty() => {
            format!("{name} ({}) is no absolute path", path.display())
        }
        _ => format!("{name} is not set"),
    }
}

fn is_root() -> bool {
    punctual_sys::thread::is_root()
}

/// Returns the store's directory as one that nobody else can change, to keep more than runs in it.
/// `missing` says whether it is made, for its owner alone.
#[cfg(feature = "workbench")]
pub(crate) fn own(given: Option<&Path>, missing: Missing) -> Result<PathBuf, CliError> {
    let home = find(given)?;
    Dir::trusted(&home, missing).map_err(StoreError::from)?;
    Ok(home)
}

/// Says that there is no store in `home`: an empty list looks like one without runs.
#[cfg(feature = "workbench")]
pub(crate) fn remark_if_missing(home: &Path) {
    if !home.exists() {
        remark(&format!("No store is in {}.", home.display()));
    }
}

/// Says where else runs may be, when none was found in `home`: those of `sudo punctual` are in another
/// store than those of the same user without it.
#[cfg(feature = "workbench")]
pub(crate) fn elsewhere(home: &Path) -> Option<String> {
    let sudo = env::var("SUDO_UID").ok();
    let (other, how) = match (is_root(), sudo) {
        (false, _) if std::fs::read_dir(ROOTS).is_ok() => (
            PathBuf::from(ROOTS),
            "runs made with sudo are there, and you may read them: name it with --home",
        ),
        (false, _) => (
            PathBuf::from(ROOTS),
            "runs made with sudo are there: run the same command with sudo",
        ),
        (true, Some(user)) => (
            home_of(&user)?.join(DATA).join("punctual"),
            "runs made without sudo are there: run the same command without sudo",
        ),
        (true, None) => return None,
    };
    let is_there = other != home && other.is_dir();
    is_there.then(|| format!("another store exists, {}; {how}", other.display()))
}

/// Returns the home directory of a user by number, from the file of users.
#[cfg(feature = "workbench")]
fn home_of(user: &str) -> Option<PathBuf> {
    let users = SysRoot::live().read("/etc/passwd").ok()?;
    let mut users = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let found = users.find(|fields| fields.get(2) == Some(&user))?;
    found.get(5).map(PathBuf::from)
}
