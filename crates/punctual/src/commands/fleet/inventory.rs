// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) The Punctual developers

//! Which inventory may be obeyed: it can name programs to run here, and so can the variables next to it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use punctual_host::private_dir::{PrivateDirError, check_trusted_dir, open_trusted};

use crate::error::CliError;
use crate::tuning::owners;

/// Directories inside each other that variables may lie in; Ansible has no limit.
const DEEPEST: usize = 16;

/// Returns the path of an inventory that may be obeyed.
pub(super) fn inventory(path: &Path) -> Result<PathBuf, CliError> {
    let real = fs::canonicalize(path).map_err(|err| {
        CliError::failed_to(format!("read inventory {}", path.display())).because(err)
    })?;
    // By the name that was given too: that may be a link which somebody else can change.
    obeyed(path, "inventory")?;
    obeyed(&real, "inventory")?;
    if punctual_sys::thread::is_root() {
        around(&real)?;
    }
    Ok(real)
}

/// Checks the variables that Ansible reads next to an inventory, and that nobody else can put any there meanwhile.
fn around(inventory: &Path) -> Result<(), CliError> {
    let place = inventory.parent().unwrap_or(inventory);
    let checked = check_trusted_dir(place, &owners());
    checked.map_err(|err| refused(place, "the inventory's directory", err))?;
    for what in ["group_vars", "host_vars"] {
        let dir = place.join(what);
        // A link that leads nowhere yet is there.
        match fs::symlink_metadata(&dir) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => {}
            Err(err) => return Err(unread(&dir, what, err)),
            Ok(_) => variables(&dir, what, 0, &mut BTreeSet::new())?,
        }
    }
    Ok(())
}

/// Checks a file of variables, or a directory and all that is in it. Those in `seen` were checked before.
fn variables(
    path: &Path,
    what: &str,
    depth: usize,
    seen: &mut BTreeSet<PathBuf>,
) -> Result<(), CliError> {
    if !path.is_dir() {
        return obeyed(path, what);
    }
    check_trusted_dir(path, &owners()).map_err(|err| refused(path, what, err))?;
    let failed = |err: io::Error| unread(path, what, err);
    // A link may lead back.
    if !seen.insert(fs::canonicalize(path).map_err(failed)?) {
        return Ok(());
    }
    if depth >= DEEPEST {
        return Err(failed(io::Error::other(
            "directories are nested too deeply",
        )));
    }
    for entry in fs::read_dir(path).map_err(failed)? {
        variables(&entry.map_err(failed)?.path(), what, depth + 1, seen)?;
    }
    Ok(())
}

/// Refuses, as root, a file that somebody else could have written.
pub(super) fn obeyed(path: &Path, what: &str) -> Result<(), CliError> {
    if !punctual_sys::thread::is_root() {
        return Ok(());
    }
    let opened = open_trusted(path, &owners());
    opened.map(drop).map_err(|err| refused(path, what, err))
}

fn refused(path: &Path, what: &str, err: PrivateDirError) -> CliError {
    CliError::failed_to(format!("use {what} {} as root", path.display()))
        .because(err)
        .hint(
            "the file and every directory above it must belong to root or to you and be writable by \
             nobody else: chown, chmod go-w",
        )
}

fn unread(path: &Path, what: &str, err: io::Error) -> CliError {
    CliError::failed_to(format!("use {what} {} as root", path.display())).because(err)
}
